//! GeoTIFF: a TIFF file whose tags say where on the earth it lies.
//!
//! ```text
//! reader ── a window of one band ── Values          sink ─── results, a band a measure ─┐
//!    │                                               └────── cells ─────────────────────┤
//!    ├──── tags ─ georeference, nodata, scale ─ description ─ writer ── blocks in the file's order
//!    │                                                          ├── cutter ── the cells of a block; statistics ── what they are alike
//!    │                                                          ├── overviews ── a half, a quarter, ... of rows and columns
//!    │                                                          ├── encoders ── blocks on their way, by all threads
//!    │                                                          │   encode ── from the cells of a block to its bytes
//!    │                                                          ├── file ── where blocks lie, and the directories: as they come, or as a COG
//!  image ── layout ─ how samples are stored                     │
//!    │      tables ─ where blocks lie in the file            options ── COMPRESS=, TILED=, ... in GDAL's words
//!    │      blocks ─ which strip or tile holds what ────────────┘
//!  stored ─ results as floating-point numbers or as whole numbers of steps; results ─ back again
//! validity ─ masks and alpha bands, in the file and beside it
//!  source ─ bytes of the file, by position
//!  decode ─ from the bytes of a block to the cells of a band
//! ```
//!
//! `tiff-reader` reads the directories, `tiff-writer` writes them; blocks are decoded here, by the codecs' own crates, so that none has to
//! be held whole. This module knows what GDAL makes of the tags, and is the only one that sees those crates. Files are never
//! read or held whole: a window costs its blocks or rows, a rectangle of results the blocks that are being encoded. Memory beyond that is 16 bytes a block
//! for the tables of where blocks lie, 24 while a file is written.

mod blocks;
mod cutter;
mod decode;
mod description;
mod encode;
mod encoders;
mod file;
mod image;
mod layout;
mod options;
mod overviews;
mod reader;
mod results;
mod sink;
mod source;
mod statistics;
mod stored;
mod tables;
mod tags;
mod validity;
mod writer;

pub use description::Description;
pub use options::{BigTiff, CreationOptions, OptionError};
pub use reader::GeoTiff;
pub use sink::{GeoTiffCells, GeoTiffSink};
pub use stored::{Stored, StoredType};

use tiff_reader::TiffError;

use crate::io::{FormatError, Place, Problem};

fn damaged(what: impl AsRef<str>) -> Problem {
    Problem::new(what, "the file is damaged: copy or make it again")
}

fn convert(what: impl AsRef<str>) -> Problem {
    Problem::new(what, "convert it, as with gdal_translate -co COMPRESS=DEFLATE")
}

/// An error of `tiff-reader`, in one line.
fn explain(error: TiffError, name: &str) -> FormatError {
    let file = Place::FILE;
    match error {
        TiffError::Io(error, _) => FormatError::from_io(name, "reading failed", error, "check the disk and the file"),
        TiffError::InvalidMagic | TiffError::UnsupportedVersion(_) | TiffError::InvalidBigTiffHeader(_) => {
            Problem::new("this is not a TIFF file", "name a GeoTIFF").at(name, file)
        }
        TiffError::OffsetOutOfBounds { offset, length, data_len } => {
            damaged(format!("{length} bytes from byte {offset} on should be there, and the file has {data_len}"))
                .at(name, file)
        }
        other => damaged(other.to_string()).at(name, file),
    }
}

#[cfg(test)]
mod tests;
