//! The bytes of a file of a graph, to be read at any position from any thread; and what all threads tell the observer.
//!
//! What has no positions (standard input, a named pipe) is read into memory first. Memory grows with what has arrived.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::io::at::{self, read_exact_at};
use crate::io::scan::{read_failed, read_some};
use crate::io::{FormatError, Place, Problem};
use crate::machine;
use crate::observe::Observer;

/// Bytes that are asked for at a time where they come through a pipe.
const PIECE: usize = 1 << 20;

/// A file, or what came through a pipe.
pub(super) struct Source {
    pub(super) name: String,
    content: Content,
    pub(super) length: u64,
}

enum Content {
    File(File),
    Memory(Vec<u8>),
}

impl Source {
    /// Opens `path`; `-` is standard input.
    pub(super) fn open(path: &Path, observer: &dyn Observer) -> Result<Self, FormatError> {
        let name = path.display().to_string();
        // Says what is wrong with the name.
        let input = crate::io::open(path)?;
        if path.as_os_str() == "-" || std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
            return Self::from_reader(input, &name, observer);
        }
        let (file, length) = at::open(path).map_err(|e| read_failed(&name, e))?;
        Ok(Self { name, content: Content::File(file), length })
    }

    /// Reads all that comes.
    pub(super) fn from_reader(mut input: impl Read, name: &str, observer: &dyn Observer) -> Result<Self, FormatError> {
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
        Ok(Self { name: name.to_owned(), length: bytes.len() as u64, content: Content::Memory(bytes) })
    }

    /// Appends the bytes from `at` on to `buffer`: `count` of them, or as many as there are.
    pub(super) fn append(&self, at: u64, count: u64, buffer: &mut Vec<u8>) -> Result<(), FormatError> {
        let count = count.min(self.length.saturating_sub(at)) as usize;
        match &self.content {
            Content::Memory(bytes) => buffer.extend_from_slice(&bytes[at as usize..][..count]),
            Content::File(file) => {
                let before = buffer.len();
                buffer.resize(before + count, 0);
                read_exact_at(file, &mut buffer[before..], at).map_err(|e| read_failed(&self.name, e))?;
            }
        }
        Ok(())
    }

    /// The same in place of what is in `buffer`.
    pub(super) fn read<'b>(&self, at: u64, count: u64, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], FormatError> {
        // A buffer keeps its length while parts are alike: nothing is cleared for them to be written over.
        let count = count.min(self.length.saturating_sub(at)) as usize;
        match &self.content {
            Content::File(file) if buffer.len() >= count => {
                read_exact_at(file, &mut buffer[..count], at).map_err(|e| read_failed(&self.name, e))?;
            }
            _ => {
                buffer.clear();
                self.append(at, count as u64, buffer)?;
            }
        }
        Ok(&buffer[..count])
    }
}

/// Progress for the observer, and its cancellation. A file that is read twice is not counted for more than its length.
pub(super) struct Progress<'o> {
    observer: &'o dyn Observer,
    left: AtomicU64,
}

impl<'o> Progress<'o> {
    pub(super) fn new(observer: &'o dyn Observer, bytes: u64) -> Self {
        Self { observer, left: AtomicU64::new(bytes) }
    }

    /// So many more bytes are done.
    pub(super) fn advance(&self, bytes: u64) {
        let before = self.left.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_sub(bytes)));
        let told = before.map_or(0, |left| left.min(bytes));
        if told > 0 {
            self.observer.advance(told);
        }
    }

    /// Does `each` for the parts of a file on all threads, with a buffer to use. Of what fails, the first in the file is reported.
    pub(super) fn parts<E: Send + From<FormatError>>(
        &self,
        source: &Source,
        parts: usize,
        each: impl Fn(usize, &mut Vec<u8>) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let done = (0..parts).into_par_iter().map_init(Vec::new, |buffer, part| {
            if self.observer.cancelled() {
                return Err(FormatError::cancelled(&source.name).into());
            }
            each(part, buffer)
        });
        done.find_map_first(Result::err).map_or(Ok(()), Err)
    }
}
