//! From a raster or a grid to the cells that a piece sees.
//!
//! The cells that exist are read; those beyond the edge, where the grid goes on, are copied from the ones that
//! [`Edge::seen`] names. These are always among the ones that have been read: a mirrored cell is no further from the edge than
//! the cell that sees it.

use std::ops::Range;

use rayon::prelude::*;

use super::piece::Piece;
use crate::entropy::Error;
use crate::entropy::census::check;
use crate::grid::{GridView, GridViewMut};
use crate::measure::Edge;
use crate::raster::Cells;

/// Where cells come from.
pub(super) enum From<'a> {
    /// A raster.
    Raster(&'a dyn Cells),
    /// A grid in memory, each value replaced by its code.
    Grid {
        /// The values.
        cells: GridView<'a, u8>,
        /// The code of each; `None` where they are codes.
        codes: Option<&'a [u8; 256]>,
        /// They should be below this, and nobody has looked yet.
        below: Option<usize>,
    },
}

impl From<'_> {
    fn read(&self, rows: Range<usize>, cols: Range<usize>, mut out: GridViewMut<'_, u8>) -> Result<(), Error> {
        match self {
            Self::Raster(cells) => Ok(cells.read_into(rows, cols, out)?),
            Self::Grid { cells, codes, .. } => {
                let cells = cells.rect(rows, cols);
                let (width, stride) = (out.cols(), out.stride());
                out.as_strided_mut().par_chunks_mut(stride).enumerate().with_min_len(16).for_each(|(r, to)| {
                    let from = cells.row(r);
                    match codes {
                        None => to[..width].copy_from_slice(from),
                        Some(codes) => to.iter_mut().zip(from).for_each(|(to, &cell)| *to = codes[usize::from(cell)]),
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
        let Some(mut out) = piece.input_mut() else { return Ok(()) };
        let inside = |seen: &Range<isize>, len: usize| seen.start.max(0) as usize..(seen.end as usize).min(len);
        let (rows, cols) = (inside(&seen_rows, grid.0), inside(&seen_cols, grid.1));
        let (above, left) = (rows.start as isize - seen_rows.start, cols.start as isize - seen_cols.start);
        let (above, left) = (above as usize, left as usize);
        let there = (above..above + rows.len(), left..left + cols.len());
        self.read(rows, cols, out.reborrow().rect(there.0.clone(), there.1.clone()))?;
        if there == (0..out.rows(), 0..out.cols()) {
            return Ok(());
        }
        // First sideways, so that whole rows can be copied up and down.
        let column =
            |x: usize| edge.seen(seen_cols.start + x as isize, grid.1).map(|c| (c as isize - seen_cols.start) as usize);
        let sides: Vec<(usize, usize)> =
            (0..there.1.start).chain(there.1.end..out.cols()).filter_map(|x| Some((x, column(x)?))).collect();
        for y in there.0.clone() {
            let row = out.row_mut(y);
            for &(to, from) in &sides {
                row[to] = row[from];
            }
        }
        let width = out.cols();
        for y in (0..there.0.start).chain(there.0.end..out.rows()) {
            let Some(from) = edge.seen(seen_rows.start + y as isize, grid.0) else { continue };
            let from = (from as isize - seen_rows.start) as usize;
            let stride = out.stride();
            out.as_strided_mut().copy_within(from * stride..from * stride + width, y * stride);
        }
        Ok(())
    }
}
