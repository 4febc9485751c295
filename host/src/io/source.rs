//! Bytes that are read at any position from any thread: those of a file, or what came through a pipe and is kept in memory.
//!
//! ```text
//! open            a regular file: bytes stay where they are until they are asked for
//! open_or_read    what has no positions (standard input, a named pipe) is read into memory first, which grows with what has arrived
//! reader          the same bytes one after the other, for headers
//! ```

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::at::read_exact_at;
use super::error::{FormatError, Place, Problem};
use super::scan::{read_failed, read_some};
use crate::machine;
use crate::observe::Observer;

/// Bytes that are asked for at a time where they come through a pipe.
const PIECE: usize = 1 << 20;

/// A file, or what came through a pipe.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    content: Content,
    pub(crate) length: u64,
}

#[derive(Debug)]
enum Content {
    File(File),
    Memory(Vec<u8>),
}

impl Source {
    /// Opens a regular file. None where `path` names something that has no positions.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, FormatError> {
        if path.as_os_str() == "-" || std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
            return Ok(None);
        }
        let (file, length) = super::open_file(path)?;
        Ok(Some(Self { name: path.display().to_string(), content: Content::File(file), length }))
    }

    /// Opens `path`, or reads all of it where it has no positions; `-` is standard input.
    pub(crate) fn open_or_read(path: &Path, observer: &dyn Observer) -> Result<Self, FormatError> {
        match Self::open(path)? {
            Some(source) => Ok(source),
            None => Self::from_reader(super::open(path)?, &path.display().to_string(), observer),
        }
    }

    /// Bytes that are in memory.
    pub(crate) fn memory(name: &str, bytes: Vec<u8>) -> Self {
        Self { name: name.to_owned(), length: bytes.len() as u64, content: Content::Memory(bytes) }
    }

    /// True where the bytes are still in the file.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.content, Content::File(_))
    }

    /// Reads all that comes.
    pub(crate) fn from_reader(mut input: impl Read, name: &str, observer: &dyn Observer) -> Result<Self, FormatError> {
        let (mut bytes, mut piece) = (Vec::new(), vec![0; PIECE]);
        loop {
            if observer.cancelled() {
                return Err(FormatError::cancelled(name));
            }
            let got = read_some(&mut input, &mut piece, name)?;
            if got == 0 {
                break;
            }
            bytes.try_reserve(got).map_err(|_| {
                let what = format!("there is no memory for more than {}", machine::available(bytes.len() as u128));
                Problem::new(what, "give a file in place of a pipe: it is read in parts").at(name, Place::FILE)
            })?;
            bytes.extend_from_slice(&piece[..got]);
        }
        Ok(Self::memory(name, bytes))
    }

    /// Fills `bytes` with those from `at` on, all of which are there.
    pub(crate) fn read_exact(&self, bytes: &mut [u8], at: u64) -> Result<(), FormatError> {
        match &self.content {
            Content::File(file) => read_exact_at(file, bytes, at).map_err(|e| read_failed(&self.name, e)),
            Content::Memory(content) => {
                bytes.copy_from_slice(&content[at as usize..][..bytes.len()]);
                Ok(())
            }
        }
    }

    /// Appends the bytes from `at` on to `buffer`: `count` of them, or as many as there are.
    pub(crate) fn append(&self, at: u64, count: u64, buffer: &mut Vec<u8>) -> Result<(), FormatError> {
        let (before, count) = (buffer.len(), count.min(self.length.saturating_sub(at)) as usize);
        if let Content::Memory(bytes) = &self.content {
            buffer.extend_from_slice(&bytes[at as usize..][..count]);
            return Ok(());
        }
        buffer.resize(before + count, 0);
        self.read_exact(&mut buffer[before..], at)
    }

    /// The same in place of what is in `buffer`.
    pub(crate) fn read<'b>(&self, at: u64, count: u64, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], FormatError> {
        // A buffer keeps its length while parts are alike: nothing is cleared for them to be written over.
        let count = count.min(self.length.saturating_sub(at)) as usize;
        if buffer.len() >= count {
            self.read_exact(&mut buffer[..count], at)?;
        } else {
            buffer.clear();
            self.append(at, count as u64, buffer)?;
        }
        Ok(&buffer[..count])
    }

    /// The bytes from `at` on, one after the other.
    pub(crate) fn reader(&self, at: u64) -> SourceReader<'_> {
        SourceReader { source: self, at }
    }
}

/// See [`Source::reader`].
pub(crate) struct SourceReader<'s> {
    source: &'s Source,
    at: u64,
}

impl SourceReader<'_> {
    /// Where the next byte is.
    pub(crate) fn position(&self) -> u64 {
        self.at
    }
}

impl Read for SourceReader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let count = (bytes.len() as u64).min(self.source.length.saturating_sub(self.at)) as usize;
        match &self.source.content {
            Content::File(file) => read_exact_at(file, &mut bytes[..count], self.at)?,
            Content::Memory(content) => bytes[..count].copy_from_slice(&content[self.at as usize..][..count]),
        }
        self.at += count as u64;
        Ok(count)
    }
}
