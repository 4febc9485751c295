//! The arrays of a file of any format but GeoTIFF, one after the other: the only way from such a file to numbers.
//!
//! ```text
//! file or pipe ── Input ──┬─ npy_header ──┐
//!                         ├─ seed_binary ─┼─ a body, left where it is ──┐
//!                         ├─ pgm (P5) ────┘                            │
//!                         ├─ png ─────────── pixels, decoded ──────────┼── StoredArray
//!                         ├─ pgm (P2) ────┬─ Growing ──────────────────┘
//!                         └─ seed_text ───┘
//! ```

use super::error::{FormatError, Place};
use super::format::InputFormat;
use super::input::Input;
use super::stored::{Encoding, StoredArray};
use super::value::check_shape;
use super::{geotiff_from_pipe, npy_header, pgm, png, scan, seed_binary, seed_text};

/// The arrays of a file: one, or in seed-binary one or more. After an error there are no more.
pub(crate) struct Arrays<'a> {
    input: Input<'a>,
    format: InputFormat,
    /// How many have come.
    index: usize,
    done: bool,
}

impl<'a> Arrays<'a> {
    pub(crate) fn new(input: Input<'a>, format: InputFormat) -> Self {
        Self { input, format, index: 0, done: false }
    }

    fn read(&mut self) -> Result<Option<StoredArray>, FormatError> {
        let input = &mut self.input;
        match self.format {
            InputFormat::SeedBinary => return seed_binary::read(input, self.index),
            _ if self.index > 0 => return Ok(None),
            InputFormat::SeedText => seed_text::read(input),
            InputFormat::Npy => npy(input),
            InputFormat::Png => png::read(input),
            InputFormat::Pgm => pgm::read(input),
            InputFormat::GeoTiff => Err(geotiff_from_pipe(&input.name())),
        }
        .map(Some)
    }
}

impl Iterator for Arrays<'_> {
    type Item = Result<StoredArray, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let array = self.read().transpose();
        self.index += 1;
        self.done = !matches!(array, Some(Ok(_)));
        array
    }
}

/// NPY: a header, then the elements without gaps. Bytes after the last one are an error: `numpy.load` ignores them, but then it goes unnoticed
/// that a file held two arrays or that its header was wrong.
fn npy(input: &mut Input<'_>) -> Result<StoredArray, FormatError> {
    let name = input.name();
    let header = npy_header::read(input, &name)?;
    let (rows, cols) = check_shape(header.rows, header.cols).map_err(|problem| problem.at(&name, Place::FILE))?;
    // At most 2^40 numbers of 8 bytes.
    let body = input.body((rows * cols * header.value_type.bytes()) as u64)?;
    let more = scan::read_some(input, &mut [0], &name)?;
    header.check_length(body.length + more as u64).map_err(|problem| problem.at(&name, Place::FILE))?;
    Ok(StoredArray::new(body.source, body.start, (rows, cols), Encoding::from(&header)))
}
