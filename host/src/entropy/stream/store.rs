//! Storing a piece's results.

use rayon::prelude::*;

use super::piece::{Output, Piece};
use crate::entropy::Error;
use crate::exec::queue::Writable;
use crate::grid::{GridView, GridViewMut};
use crate::numbers::Real;
use crate::raster::ResultSink;

/// Where results are stored.
pub(super) enum Destination<'a, T> {
    /// A file, or another sink that takes them piece by piece.
    Sink(Box<dyn ResultSink<T> + 'a>),
    /// Grids in memory, one a plane.
    Grids(Vec<GridViewMut<'a, T>>),
    /// In place: devices have copied them.
    InPlace,
}

impl<T: Real> Destination<'_, T> {
    /// Stores a piece's results, except those within `border` of the grid's edges (top, bottom, left, right), which become
    /// nodata.
    pub fn store(
        &mut self,
        piece: &mut Piece<'_>,
        planes: usize,
        grid: (usize, usize),
        border: Option<[usize; 4]>,
    ) -> Result<(), Error> {
        if let Some(border) = border {
            mask_border::<T>(piece, planes, grid, border);
        }
        let (rows, cols) = (piece.rows.clone(), piece.cols.clone());
        match self {
            Self::InPlace => {}
            Self::Sink(sink) => {
                let Some(views) = piece.planes::<T>(planes) else { return Ok(()) };
                let views: Vec<GridView<'_, T>> = views.iter().map(GridViewMut::as_view).collect();
                sink.write(rows.start, cols.start, &views)?;
            }
            Self::Grids(grids) => {
                let Some(views) = piece.planes::<T>(planes) else { return Ok(()) };
                for (grid, view) in grids.iter_mut().zip(&views) {
                    let from = view.as_view();
                    let mut to = grid.reborrow().rect(rows.clone(), cols.clone());
                    let (width, stride) = (to.cols(), to.stride());
                    // New memory costs a page fault every 4 KiB on its first write: all cores take them, along a long
                    // row too.
                    to.as_strided_mut().par_chunks_mut(stride).enumerate().for_each(|(r, to)| {
                        let pieces = to[..width].par_chunks_mut(1 << 16).zip(from.row(r).par_chunks(1 << 16));
                        pieces.for_each(|(to, from)| to.copy_from_slice(from));
                    });
                }
            }
        }
        Ok(())
    }
}

impl<T> Destination<'_, T> {
    /// Finishes the sink.
    pub fn finish(self) -> Result<(), Error> {
        match self {
            Self::Sink(sink) => Ok(sink.finish()?),
            Self::Grids(_) | Self::InPlace => Ok(()),
        }
    }
}

/// Sets results within `border` of the grid's edges to nodata.
fn mask_border<T: Real>(piece: &mut Piece<'_>, planes: usize, grid: (usize, usize), border: [usize; 4]) {
    let (top, left, width) = (piece.rows.start, piece.cols.start, piece.cols.len());
    let [above, below, before, behind] = border;
    let clear = |y: usize, row: &mut [T]| {
        let all = top + y < above || top + y + below >= grid.0;
        for (x, value) in row.iter_mut().enumerate() {
            if all || left + x < before || left + x + behind >= grid.1 {
                *value = T::NAN;
            }
        }
    };
    let rows = piece.rows.len();
    match &mut piece.output {
        Output::Pooled(memory) => {
            let numbers = &mut memory.as_mut_slice::<T>()[..planes * rows * width];
            numbers.chunks_exact_mut(width).enumerate().for_each(|(i, row)| clear(i % rows, row));
        }
        Output::InPlace(targets) => {
            let mut y = 0;
            for target in targets {
                if let Writable::Borrowed(bytes) = &mut target.memory {
                    for row in bytes.chunks_mut(target.pitch).take(target.rows) {
                        clear(y, bytemuck::cast_slice_mut(&mut row[..target.width]));
                        y += 1;
                    }
                }
            }
        }
        Output::InFlight => {}
    }
}
