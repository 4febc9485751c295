//! GeoTIFF: a TIFF file whose tags say where on the earth it lies.
//!
//! ```text
//! reader ── a window of one band ── Values          sink ─── results, a band a measure ─┐
//!    │                                               └────── cells ─────────────────────┤
//!  tags ─── georeference, nodata, descriptions ───────────── writer ── blocks, encoded in parallel
//!    │                                                          │
//!  blocks ─ which strip or tile holds what ─────────────────────┘  options ── COMPRESS=, TILED=, ... in GDAL's words
//! ```
//!
//! The crates `tiff-reader` and `tiff-writer` know the container and its codecs; this module knows what GDAL makes of
//! the tags, and is the only one that sees those crates. Files are never read or held whole: a window costs its blocks,
//! a rectangle of results a batch of them. Memory beyond that is 16 bytes a block for the tables of where blocks lie,
//! 24 while a file is written.

mod blocks;
mod options;
mod reader;
mod sink;
mod tags;
mod writer;

pub use options::{BigTiff, CreationOptions, OptionError};
pub use reader::GeoTiff;
pub use sink::{GeoTiffCells, GeoTiffSink};

#[cfg(test)]
mod tests;
