//! Files: grids of cells in, results out, each format in a file of its own.
//!
//! ```text
//! bytes ── scan ──┬─ seed_text ──┐                      results ── decimal ── text, seed-lines
//!                 ├─ pgm ────────┤                         └────── npy_header ── npy
//!                 ├─ seed_binary ┼─ sample ── Sample    cells ──── every input format
//!                 ├─ npy ────────┤                      preview ── a picture with a legend
//!                 └─ png ────────┘                      atomic ─── the file all of it goes to, temporary until it is finished
//! ```
//!
//! Files that are read and written by position, from all threads, have `at`: rasters, and the graphs and distances of [`apsp`](crate::apsp).
//!
//! Readers take any `Read`, so that a pipe works like a file, and a name for their messages. They trust nothing: memory
//! grows with what has arrived, and whatever the bytes, the outcome is a grid or one line of error ([`FormatError`]).
//! Writers take any `Write` and are handed band after band.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

pub(crate) mod at;
pub mod atomic;
mod cells;
pub(crate) mod decimal;
mod error;
pub(crate) mod format;
pub mod npy;
pub(crate) mod npy_header;
pub(crate) mod ordered;
pub mod pgm;
pub mod png;
pub mod preview;
pub mod reals;
mod results;
mod sample;
pub(crate) mod scan;
pub mod seed_binary;
pub mod seed_text;
pub(crate) mod source;
pub(crate) mod stored;
mod temporary;

pub use atomic::{OutputFile, destination, write_failed};
pub use cells::{CellWriter, write_cells};
pub use error::{FormatError, Place, one_line};
pub(crate) use error::{Problem, quote};
pub use format::{InputFormat, OutputFormat, UnknownFormat};
pub use results::{Number, ResultWriter, write_results};
pub use sample::{Nodata, NodataError, ReadOptions, Sample};
pub(crate) use sample::{Value, check_shape};

/// Reads every sample of a file: one, or in seed-binary one or more. [`seed_binary::Samples`] reads those one by one. A GeoTIFF is
/// read by [`raster::geotiff`](crate::raster::geotiff), which needs the file; here it is an error.
///
/// ```
/// use halotile::io::{self, InputFormat, Nodata, ReadOptions};
/// let options = ReadOptions { nodata: Some(Nodata::Whole(-9999)), levels: Some(16) };
/// let samples = io::read(InputFormat::SeedText, &b"1 3\n4 -9999 7\n"[..], "map.txt", &options)?;
/// assert_eq!(samples[0].cells.bytes().map(|cells| cells.row(0)), Some(&[4, 16, 7][..]));
/// assert_eq!(samples[0].nodata, Some(16));
/// # Ok::<(), io::FormatError>(())
/// ```
pub fn read(
    format: InputFormat,
    input: impl Read,
    name: &str,
    options: &ReadOptions,
) -> Result<Vec<Sample>, FormatError> {
    let one = |sample| vec![sample];
    match format {
        InputFormat::SeedText => seed_text::read(input, name, options).map(one),
        InputFormat::SeedBinary => seed_binary::Samples::new(input, name, *options).collect(),
        InputFormat::Npy => npy::read(input, name, options).map(one),
        InputFormat::Png => png::read(input, name, options).map(one),
        InputFormat::Pgm => pgm::read(input, name, options).map(one),
        InputFormat::GeoTiff => Err(geotiff_from_pipe(name)),
    }
}

/// What is said where a stream was to be read as a GeoTIFF: its parts lie anywhere in it.
pub(crate) fn geotiff_from_pipe(name: &str) -> FormatError {
    Problem::new("a GeoTIFF is read from a file, not from a pipe", "name the file").at(name, Place::FILE)
}

/// Opens `path` to be read; `-` is standard input. A file that becomes shorter while it is read is an error of the reading.
pub fn open(path: &Path) -> Result<Box<dyn Read + Send>, FormatError> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(std::io::stdin()));
    }
    let (file, length) = open_file(path)?;
    Ok(Box::new(at::LengthChecked::new(file, length)))
}

/// Opens the file that `path` names. With it comes its length.
pub(crate) fn open_file(path: &Path) -> Result<(File, u64), FormatError> {
    at::open(path).map_err(|e| {
        let advice = match e.kind() {
            ErrorKind::NotFound => "check the name",
            ErrorKind::PermissionDenied => "ask for permission to read it",
            ErrorKind::IsADirectory => "name a file",
            _ => "check the file",
        };
        FormatError::from_io(&path.display().to_string(), "the file cannot be opened", e, advice)
    })
}

#[cfg(test)]
mod tests;
