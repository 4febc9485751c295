//! What stands in for `png` where the cargo feature `png` is left out: reading and writing are errors that name the feature.

use std::io::{self, Error, ErrorKind, Write};

use super::error::{FormatError, Place, Problem};
use super::format::PNG;
use super::input::Input;
use super::stored::StoredArray;

fn excluded() -> Problem {
    PNG.problem().unwrap_or_else(|| Problem::said("there is no PNG here"))
}

pub(super) fn read(input: &mut Input<'_>) -> Result<StoredArray, FormatError> {
    Err(excluded().at(&input.name(), Place::FILE))
}

/// A writer that cannot be made.
pub(super) enum GreyWriter {}

impl GreyWriter {
    pub(super) fn new(_rows: u32, _cols: u32) -> io::Result<Self> {
        Err(Error::new(ErrorKind::Unsupported, excluded().to_string()))
    }

    pub(super) fn row(&mut self, _pixels: &[u8], _out: &mut impl Write) -> io::Result<()> {
        match *self {}
    }

    pub(super) fn finish(self, _out: &mut impl Write) -> io::Result<()> {
        match self {}
    }
}
