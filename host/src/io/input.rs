//! A file that is read from its beginning on, and whose bodies of numbers stay where they are if they have a position.
//!
//! ```text
//! regular file    headers and text are read one after the other; a body is known by its place in the file
//! pipe            the same; a body is read into memory, as much of it as a checked header asks for and no more
//! ```
//!
//! So a format is read by one function wherever it comes from: it reads a header, asks for the [`body`](Input::body) that the header
//! promises, and compares what is there with the promise.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::error::FormatError;
use super::scan::read_failed;
use super::source::Source;
use crate::observe::{Cancelled, Observer};

/// What is read, and how far.
pub(crate) struct Input<'a> {
    name: String,
    from: From<'a>,
}

enum From<'a> {
    /// A regular file, and where the next byte is. The observer is notified of what is read one after the other.
    File(Arc<Source>, u64, &'a dyn Observer),
    Stream(Box<dyn Read + 'a>),
}

/// Bytes that follow each other.
pub(crate) struct Body {
    pub(crate) source: Arc<Source>,
    pub(crate) start: u64,
    /// How many there are: as many as were asked for, or fewer where the file ends.
    pub(crate) length: u64,
}

impl<'a> Input<'a> {
    /// Opens a regular file. None where `path` names something that has no positions.
    pub(crate) fn open(path: &Path, observer: &'a dyn Observer) -> Result<Option<Self>, FormatError> {
        let Some(source) = Source::open(path)? else { return Ok(None) };
        Ok(Some(Self { name: source.name.clone(), from: From::File(Arc::new(source), 0, observer) }))
    }

    /// What a stream gives; `name` is for messages.
    pub(crate) fn stream(input: impl Read + 'a, name: &str) -> Self {
        Self { name: name.to_owned(), from: From::Stream(Box::new(input)) }
    }

    /// Its name, for messages.
    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }

    /// Takes back the bytes that were read last.
    pub(crate) fn give_back(&mut self, bytes: Vec<u8>) {
        match &mut self.from {
            From::File(_, at, _) => *at -= bytes.len() as u64,
            From::Stream(stream) => {
                let rest = std::mem::replace(stream, Box::new(std::io::empty()));
                *stream = Box::new(std::io::Cursor::new(bytes).chain(rest));
            }
        }
    }

    /// Passes `count` bytes, or as many as there are. Memory grows as they come, and running out of it is an error.
    pub(crate) fn body(&mut self, count: u64) -> Result<Body, FormatError> {
        match &mut self.from {
            From::File(source, at, _) => {
                let (start, length) = (*at, count.min(source.length.saturating_sub(*at)));
                *at += length;
                Ok(Body { source: Arc::clone(source), start, length })
            }
            From::Stream(stream) => {
                let mut bytes = Vec::new();
                // What the first allocation takes without evidence; from there on the vector doubles as it fills.
                let first = count.min(1 << 16) as usize;
                let read = bytes.try_reserve_exact(first).map_err(std::io::Error::other);
                read.and_then(|()| stream.take(count).read_to_end(&mut bytes))
                    .map_err(|e| read_failed(&self.name, e))?;
                let source = Arc::new(Source::memory(&self.name, bytes));
                Ok(Body { start: 0, length: source.length, source })
            }
        }
    }

    /// All bytes that are left.
    pub(crate) fn rest(&mut self) -> Result<Vec<u8>, FormatError> {
        let mut bytes = Vec::new();
        let name = self.name();
        self.read_to_end(&mut bytes).map_err(|e| read_failed(&name, e))?;
        Ok(bytes)
    }
}

impl Read for Input<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        match &mut self.from {
            From::Stream(stream) => stream.read(bytes),
            From::File(source, at, observer) => {
                if observer.cancelled() {
                    return Err(std::io::Error::other(Cancelled));
                }
                let count = source.reader(*at).read(bytes)?;
                *at += count as u64;
                observer.advance(count as u64);
                Ok(count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes after a header is the same bytes from a file and from a stream, also if some were read ahead.
    #[test]
    fn bodies_are_found_wherever_the_bytes_come_from() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"head0123456789tail").unwrap();
        let opened = Input::open(file.path(), &()).unwrap().expect("a regular file");
        for mut input in [opened, Input::stream(&b"head0123456789tail"[..], "f")] {
            let mut ahead = vec![0; 7];
            input.read_exact(&mut ahead).unwrap();
            input.give_back(ahead.split_off(4));
            let body = input.body(10).unwrap();
            let mut bytes = [0; 3];
            body.source.read_exact(&mut bytes, body.start + 7).unwrap();
            assert_eq!((body.length, &bytes), (10, b"789"));
            let (body, mut bytes) = (input.body(9).unwrap(), [0; 4]);
            body.source.read_exact(&mut bytes, body.start).unwrap();
            assert_eq!((body.length, &bytes), (4, b"tail"));
            assert_eq!((input.body(1).unwrap().length, input.rest().unwrap().len()), (0, 0));
        }
    }

    #[test]
    fn memory_follows_the_bytes_and_not_the_promise() {
        let body = Input::stream(&[7; 100_000][..], "f").body(1 << 40).unwrap();
        assert_eq!((body.start, body.length), (0, 100_000));
    }
}
