//! The bytes of a block as they are in the file: a stream that reads by position, some at a time.
//!
//! Codecs wrap the errors of what they read from in errors of their own, or only say that they failed. So the error of the file is put aside
//! where it happens, for the caller to find: a disk that fails is not a damaged block.

use std::io::{self, BufRead, ErrorKind, Read};
use std::sync::{Arc, OnceLock};

use tiff_reader::TiffError;
use tiff_reader::source::SharedSource;

/// Bytes that are read at once.
pub(crate) const CHUNK: usize = 256 << 10;

/// Where the error of a file is left.
pub(crate) type Failure = Arc<OnceLock<TiffError>>;

/// A stretch of a file.
pub(crate) struct Stored {
    source: SharedSource,
    at: u64,
    left: u64,
    /// The lowest bit of a byte comes first.
    reversed: bool,
    chunk: Vec<u8>,
    used: usize,
    failure: Failure,
}

impl Stored {
    /// `length` bytes from `at` on.
    pub(crate) fn new(source: SharedSource, (at, length): (u64, u64), reversed: bool) -> Self {
        Self { source, at, left: length, reversed, chunk: Vec::new(), used: 0, failure: Failure::default() }
    }

    /// What has gone wrong with the file, if something has.
    pub(crate) fn failure(&self) -> Failure {
        self.failure.clone()
    }
}

impl BufRead for Stored {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.used == self.chunk.len() && self.left > 0 {
            let length = self.left.min(CHUNK as u64) as usize;
            self.used = 0;
            // Given back before there is another.
            self.chunk = Vec::new();
            self.chunk = self.source.read_exact_at(self.at, length).map_err(|error| {
                let told = io::Error::other(error.to_string());
                let _ = self.failure.set(error);
                told
            })?;
            if self.reversed {
                self.chunk.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
            }
            self.at += length as u64;
            self.left -= length as u64;
        }
        Ok(&self.chunk[self.used..])
    }

    fn consume(&mut self, amount: usize) {
        self.used = (self.used + amount).min(self.chunk.len());
    }
}

impl Read for Stored {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let there = self.fill_buf()?;
        let amount = there.len().min(out.len());
        out[..amount].copy_from_slice(&there[..amount]);
        self.consume(amount);
        Ok(amount)
    }
}

/// What a stream says that has no more bytes, though there should be some.
pub(crate) fn ends_early() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "its data end early")
}
