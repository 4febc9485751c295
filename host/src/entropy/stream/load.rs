//! From a raster or a grid to the cells that a piece sees.
//!
//! The cells that exist are read; those beyond the edge, where the grid is extended, are copied from the ones that
//! [`Edge::seen`] names. These are always among the ones that have been read: a mirrored cell is no further from the edge than
//! the cell that sees it.
//!
//! Pieces overlap by the rows that the windows of both see. Of a raster that is decoded as a stream these would be decoded again from the beginning of
//! a block, so their codes are kept ([`Tail`]) and every row is read once.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::piece::Piece;
use crate::codes::Code;
use crate::entropy::Error;
use crate::entropy::census::check;
use crate::grid::{GridView, GridViewMut};
use crate::measure::Edge;
use crate::raster::Cells;

/// Where cells come from.
pub(super) enum CellSource<'a, C> {
    /// A raster, and where it is to be read in order, the last rows of it that were read.
    Raster(&'a dyn Cells, Option<Mutex<Tail<C>>>),
    /// A grid in memory, each value replaced by its code.
    Grid {
        /// The values.
        cells: GridView<'a, C>,
        /// The code of each, of bytes; `None` where they are codes.
        codes: Option<&'a [C; 256]>,
        /// They should be below this, which has not been checked yet.
        below: Option<usize>,
    },
}

/// The last rows that were read, as codes.
#[derive(Debug)]
pub(super) struct Tail<C> {
    /// The most rows that are kept.
    most: usize,
    rows: Range<usize>,
    codes: Vec<C>,
}

impl<C: Code> Tail<C> {
    /// Keeps so many rows.
    pub fn of(most: usize) -> Self {
        Self { most, rows: 0..0, codes: Vec::new() }
    }

    /// Rows in full width, those that were kept from here and the others from `cells`.
    fn read(&mut self, cells: &dyn Cells, rows: Range<usize>, mut out: GridViewMut<'_, C>) -> Result<(), Error> {
        let width = out.cols();
        let kept = if self.rows.contains(&rows.start) { self.rows.end.min(rows.end) - rows.start } else { 0 };
        for r in 0..kept {
            let from = (rows.start + r - self.rows.start) * width;
            out.row_mut(r).copy_from_slice(&self.codes[from..from + width]);
        }
        if kept < rows.len() {
            let interior = (kept..rows.len(), 0..width);
            cells.read_into(
                rows.start + kept..rows.end,
                0..width,
                out.reborrow().rect(interior.0, interior.1).into(),
            )?;
        }
        let keep = self.most.min(rows.len());
        self.codes.clear();
        for r in rows.len() - keep..rows.len() {
            self.codes.extend_from_slice(out.row_mut(r));
        }
        self.rows = rows.end - keep..rows.end;
        Ok(())
    }
}

impl<'a, C: Code> CellSource<'a, C> {
    /// A raster whose pieces see `overlap` rows of the one before.
    pub fn raster(cells: &'a dyn Cells, overlap: usize) -> Self {
        Self::Raster(cells, cells.in_order().then(|| Mutex::new(Tail::of(overlap))))
    }

    fn read(&self, rows: Range<usize>, cols: Range<usize>, mut out: GridViewMut<'_, C>) -> Result<(), Error> {
        match self {
            Self::Raster(cells, Some(tail)) if cols == (0..cells.cols()) => {
                tail.lock().unwrap_or_else(PoisonError::into_inner).read(*cells, rows, out)
            }
            Self::Raster(cells, _) => Ok(cells.read_into(rows, cols, out.into())?),
            Self::Grid { cells, codes, .. } => {
                let cells = cells.rect(rows, cols);
                let (width, stride) = (out.cols(), out.stride());
                out.as_strided_mut().par_chunks_mut(stride).enumerate().with_min_len(16).for_each(|(r, to)| {
                    let from = cells.row(r);
                    match codes {
                        None => to[..width].copy_from_slice(from),
                        Some(codes) => {
                            to.iter_mut().zip(from).for_each(|(to, &cell)| *to = codes[usize::from(cell.get())])
                        }
                    }
                });
                Ok(())
            }
        }
    }

    /// Fills a piece's own input.
    pub fn load(&self, piece: &mut Piece<'_>, grid: (usize, usize), edge: Edge) -> Result<(), Error> {
        if let Self::Grid { cells, below: Some(levels), .. } = self {
            let (rows, cols) = (piece.rows.clone(), piece.cols.clone());
            check(cells.rect(rows.clone(), cols.clone()), (rows.start, cols.start), *levels, None)?;
        }
        let (seen_rows, seen_cols) = piece.seen.clone();
        let Some(mut out) = piece.input_mut::<C>() else { return Ok(()) };
        let inside = |seen: &Range<isize>, len: usize| seen.start.max(0) as usize..(seen.end as usize).min(len);
        let (rows, cols) = (inside(&seen_rows, grid.0), inside(&seen_cols, grid.1));
        let (above, left) = (rows.start as isize - seen_rows.start, cols.start as isize - seen_cols.start);
        let (above, left) = (above as usize, left as usize);
        let interior = (above..above + rows.len(), left..left + cols.len());
        self.read(rows, cols, out.reborrow().rect(interior.0.clone(), interior.1.clone()))?;
        if interior == (0..out.rows(), 0..out.cols()) {
            return Ok(());
        }
        // First sideways, so that whole rows can be copied up and down.
        let column =
            |x: usize| edge.seen(seen_cols.start + x as isize, grid.1).map(|c| (c as isize - seen_cols.start) as usize);
        let sides: Vec<(usize, usize)> =
            (0..interior.1.start).chain(interior.1.end..out.cols()).filter_map(|x| Some((x, column(x)?))).collect();
        for y in interior.0.clone() {
            let row = out.row_mut(y);
            for &(to, from) in &sides {
                row[to] = row[from];
            }
        }
        let width = out.cols();
        for y in (0..interior.0.start).chain(interior.0.end..out.rows()) {
            let Some(from) = edge.seen(seen_rows.start + y as isize, grid.0) else { continue };
            let from = (from as isize - seen_rows.start) as usize;
            let stride = out.stride();
            out.as_strided_mut().copy_within(from * stride..from * stride + width, y * stride);
        }
        Ok(())
    }
}
