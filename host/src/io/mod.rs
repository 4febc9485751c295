//! Files: grids of cells in, results out, each format in a file of its own.
//!
//! ```text
//! any input format ── arrays ── StoredArray: where the numbers are     results ── decimal ── text, seed-lines
//!                       │                                                └────── npy_header ── npy
//!          headers, text and pictures, each in a file of its own        cells ──── every input format
//!                                                                       preview ── a picture with a legend
//!                     atomic ── the file all of it goes to, temporary until it is finished
//! ```
//!
//! `raster` sees the arrays as [`Rasters`](crate::raster::Rasters), `reals` as numbers of any kind that are compared. Files that are read and
//! written by position, from all threads, have `at` and `source`: arrays, and the graphs and distances of [`apsp`](crate::apsp).
//!
//! PNG and GeoTIFF are cargo features. `no_png` stands in for `png` where that is left out.
//!
//! Readers take files and any `Read`, so that a pipe works like a file. They trust nothing: memory
//! grows with what has arrived, and whatever the bytes, the outcome is a grid or one line of error ([`FormatError`]).
//! Writers take any `Write` and are handed band after band.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

pub(crate) mod arrays;
pub(crate) mod at;
pub mod atomic;
mod cells;
pub(crate) mod decimal;
mod error;
pub(crate) mod format;
mod growing;
pub(crate) mod input;
mod lines;
#[cfg(not(feature = "png"))]
mod no_png;
pub(crate) mod npy_header;
pub(crate) mod ordered;
mod pgm;
#[cfg(feature = "png")]
mod png;
#[cfg(feature = "png")]
pub mod preview;
pub mod reals;
mod results;
pub(crate) mod scan;
mod seed_binary;
mod seed_text;
pub(crate) mod source;
pub(crate) mod stored;
mod temporary;
pub(crate) mod value;

#[cfg(not(feature = "png"))]
use no_png as png;

pub use atomic::{OutputFile, destination, write_failed};
pub use cells::{CellWriter, write_cells};
pub use error::{FormatError, Place, one_line};
pub(crate) use error::{Problem, quote};
pub use format::{InputFormat, OutputFormat, UnknownFormat};
pub use results::{Number, ResultWriter, write_results};
pub(crate) use value::Value;
pub use value::{Nodata, NodataError};

/// What is said where a stream was to be read as a GeoTIFF: its parts lie anywhere in it.
pub(crate) fn geotiff_from_pipe(name: &str) -> FormatError {
    let from_pipe = || Problem::new("a GeoTIFF is read from a file, not from a pipe", "name the file");
    format::GEOTIFF.problem().unwrap_or_else(from_pipe).at(name, Place::FILE)
}

/// Opens `path` to be read; `-` is standard input. A file that becomes shorter while it is read is an error of the reading.
///
/// # Errors
/// [`FormatError`] where the file cannot be opened.
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
