//! Rasters: grids of numbers that need not fit in memory, read window by window and written piece by piece.
//!
//! A [`Raster`] gives the numbers of any rectangle, in the type that the file has them in; what they mean as classes is
//! [`Classes`](crate::classes)' business. A [`ResultSink`] takes finished rectangles of results. Between the two lies the
//! streaming plan (`entropy::stream`), which never asks how either of them stores anything: it only asks for the shape of
//! their blocks, because to read or write half a compressed block costs as much as a whole one.

pub(crate) mod cell;
pub(crate) mod georeference;
#[cfg(feature = "geotiff")]
pub mod geotiff;
pub(crate) mod mask;
#[cfg(feature = "geotiff")]
mod mosaic;
#[cfg(feature = "geotiff")]
mod sidecar;
mod stored;
mod writer;

use std::ops::Range;

use crate::codes::{CodesGrid, CodesMut};
use crate::grid::{Grid, GridView};
use crate::io::{FormatError, Nodata, Place, Problem};
use crate::numbers::ValueType;

pub use crate::numbers::Values;
pub use georeference::Georeference;
pub use mask::{MaskError, MaskedRaster, check_mask, set_cache_bytes};
#[cfg(feature = "geotiff")]
pub use mosaic::Mosaic;
pub use stored::{Rasters, StoredRaster};
pub use writer::WriterSink;

/// What a raster's meaning comes from, in words for messages: a tag, a file beside it, a band. `None` where nothing says it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins {
    /// The value for no data.
    pub nodata: Option<String>,
    /// The place on the earth.
    pub georeference: Option<String>,
    /// The mask that the file has of its own.
    pub mask: Option<String>,
}

/// A grid of numbers that can be read window by window, by several threads at once.
pub trait Raster: Send + Sync {
    /// What messages call it: the file's name.
    fn name(&self) -> &str;

    /// Rows, at least 1.
    fn rows(&self) -> usize;

    /// Columns, at least 1.
    fn cols(&self) -> usize;

    /// The type of its numbers: [`read`](Self::read) gives the variant of [`Values`] with the same name.
    fn value_type(&self) -> ValueType;

    /// Rows and columns of the blocks it is stored in: windows made of whole blocks are the cheapest.
    fn block(&self) -> (usize, usize);

    /// The value that means "no data here", if the file names one.
    fn nodata(&self) -> Option<Nodata>;

    /// Where it lies, if the file says so.
    fn georeference(&self) -> Option<&Georeference>;

    /// What else the file, or one beside it, says of the whole raster: names and values, GDAL's metadata.
    fn items(&self) -> &[(String, String)] {
        &[]
    }

    /// Where messages say that a cell is: its row and column, and the line or the sample where the file has such.
    fn place(&self, row: usize, col: usize) -> Place {
        Place::cell(row, col)
    }

    /// True where blocks are decoded as streams, because they are too large to be kept: windows are cheapest when they are asked for one
    /// after the other, from top to bottom, and rows of the last ones are kept for what they share with the next.
    fn in_order(&self) -> bool {
        false
    }

    /// Bytes that it may take in memory from now on for all that it holds between windows and while it decodes, so that a block that two
    /// windows share need not be decoded twice. It may change [`block`](Self::block) and [`in_order`](Self::in_order). Rasters that decode
    /// nothing take no notice.
    ///
    /// # Errors
    /// Blocks that cannot be decoded in so little memory; the message says how much would do.
    fn set_cache_bytes(&mut self, bytes: usize) -> Result<(), FormatError> {
        let _ = bytes;
        Ok(())
    }

    /// The numbers of a rectangle. Panics when it is empty or not inside.
    fn read(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Values, FormatError>;

    /// True where the file has a mask of its own, so that [`masked`](Self::masked) may name cells.
    fn has_mask(&self) -> bool {
        false
    }

    /// What in the file, or beside it, its meaning comes from.
    fn origins(&self) -> Origins {
        Origins::default()
    }

    /// Which cells of a rectangle have no data whatever their values, in the order of [`read`](Self::read); `None` where
    /// nothing says so. Masks and alpha bands of files do, and so does [`MaskedRaster`].
    fn masked(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Option<Vec<bool>>, FormatError> {
        let _ = (rows, cols);
        Ok(None)
    }
}

/// A raster whose numbers have become codes of classes: what the engines read.
pub trait Cells: Sync {
    /// What messages call it: the file's name.
    fn name(&self) -> &str;

    /// Rows, at least 1.
    fn rows(&self) -> usize;

    /// Columns, at least 1.
    fn cols(&self) -> usize;

    /// Rows and columns of the blocks it is stored in.
    fn block(&self) -> (usize, usize);

    /// True where windows are cheapest when they are asked for from top to bottom, as [`Raster::in_order`] has it.
    fn in_order(&self) -> bool {
        false
    }

    /// Bytes that a cell takes while it is read, beside its code.
    fn bytes_per_cell(&self) -> usize;

    /// Codes are below this (1..=65,536), or the one for nodata.
    fn levels(&self) -> usize;

    /// The code of cells without data, if there may be any.
    fn nodata_code(&self) -> Option<u16>;

    /// Writes the codes of a rectangle to `out`, which has its shape and codes of the [`width`](crate::codes::width) that these take, or
    /// more. Panics when it is not inside.
    fn read_into(&self, rows: Range<usize>, cols: Range<usize>, out: CodesMut<'_>) -> Result<(), FormatError>;
}

/// All of a raster as f64 (64-bit integers beyond 2^53 are rounded), for what needs it whole. Of a GeoTIFF that has scales they are what is
/// stored, and its `results` what that stands for.
///
/// # Errors
/// What reading says, and too little memory.
pub fn whole(raster: &dyn Raster) -> Result<Grid<f64>, FormatError> {
    let (rows, cols) = (raster.rows(), raster.cols());
    let memory =
        |e: &dyn std::fmt::Display| Problem::new(e.to_string(), "compare parts of it").at(raster.name(), Place::FILE);
    let mut all: Vec<f64> = Vec::new();
    all.try_reserve_exact(rows.saturating_mul(cols)).map_err(|e| memory(&e))?;
    // Rows of whole blocks, so that each is decoded once.
    let band = raster.block().0.clamp(1, rows);
    for first in (0..rows).step_by(band) {
        raster.read(first..rows.min(first + band), 0..cols)?.append_to(&mut all);
    }
    Grid::from_vec(all, rows, cols).map_err(|e| memory(&e))
}

/// Takes results, rectangle by rectangle.
pub trait ResultSink<T>: Send {
    /// Rows and columns of the blocks it stores: a rectangle handed over begins at a multiple of them, and ends at one or at the
    /// grid's edge.
    fn block(&self) -> (usize, usize);

    /// True when it takes nothing but whole rows.
    fn whole_rows(&self) -> bool;

    /// Bytes that it keeps in memory between rectangles, beside copies of the last ones. Where there are some, rectangles that are narrower than
    /// the grid are no higher than a block.
    fn kept_bytes(&self) -> usize {
        0
    }

    /// Takes a rectangle, the first cell of which is at (`top`, `left`): a view a measure, in their order. Rectangles come in
    /// rows of rectangles, left to right in each, from top to bottom. An error may be that of a rectangle which came before.
    fn write(&mut self, top: usize, left: usize, planes: &[GridView<'_, T>]) -> Result<(), FormatError>;

    /// Writes what must come last. Nothing is written afterwards.
    fn finish(self: Box<Self>) -> Result<(), FormatError>;
}

/// A grid in memory, seen as a raster.
#[derive(Debug, Clone)]
pub struct GridRaster {
    name: String,
    cells: CodesGrid,
    nodata: Option<Nodata>,
}

impl GridRaster {
    /// `cells` under a name for messages; `nodata` is the value that is no data.
    pub fn new(name: impl Into<String>, cells: impl Into<CodesGrid>, nodata: Option<u16>) -> Self {
        Self { name: name.into(), cells: cells.into(), nodata: nodata.map(|value| Nodata::Whole(value.into())) }
    }
}

impl Raster for GridRaster {
    fn name(&self) -> &str {
        &self.name
    }

    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cols(&self) -> usize {
        self.cells.cols()
    }

    fn value_type(&self) -> ValueType {
        match self.cells {
            CodesGrid::Bytes(_) => ValueType::U8,
            CodesGrid::Words(_) => ValueType::U16,
        }
    }

    fn block(&self) -> (usize, usize) {
        (1, self.cells.cols())
    }

    fn nodata(&self) -> Option<Nodata> {
        self.nodata
    }

    fn georeference(&self) -> Option<&Georeference> {
        None
    }

    fn read(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Values, FormatError> {
        fn part<T: Copy>(view: GridView<'_, T>) -> Vec<T> {
            let mut values = Vec::with_capacity(view.rows() * view.cols());
            (0..view.rows()).for_each(|r| values.extend_from_slice(view.row(r)));
            values
        }
        Ok(match &self.cells {
            CodesGrid::Bytes(grid) => Values::U8(part(grid.view().rect(rows, cols))),
            CodesGrid::Words(grid) => Values::U16(part(grid.view().rect(rows, cols))),
        })
    }
}
