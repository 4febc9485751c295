//! The histogram engine: one histogram that slides down a column of windows, after Huang, Yang and Tang
//! (A fast two-dimensional median filtering algorithm, 1979), with S = Σ n·ln n kept up to date.
//!
//! ```text
//! for each column of the tile:
//!     count the window above its first cell
//!     for each row:
//!         every cell v that enters:  S += F(n_v + 1) − F(n_v), n_v += 1
//!         H = (F(N) − S) / N
//!         every cell v that leaves:  S −= F(n_v) − F(n_v − 1), n_v −= 1
//! ```
//!
//! The work a cell grows with the window and does not depend on the number of levels. S is an integer
//! and cannot drift. Deviations: the window slides down, not right, so that the cells that enter
//! and leave lie side by side in memory; and several neighbouring columns slide together, because one
//! chain of "read a count, write it back" waits for itself wherever values repeat.

use super::few::entropy_or_mark;
use super::finish::{extent, without};
use super::table::Fixed;
use super::{Job, Real, Tile};

/// Columns that slide together.
const LANES: usize = 4;

/// Computes a tile.
pub fn run<T: Real>(job: &Job<'_, T>, tile: &mut Tile<'_, T>) {
    let (radius, cols) = (job.layout.task.size / 2, job.layout.task.cells.cols());
    let (start, end) = (tile.left, tile.left + tile.width());
    let mut x = start;
    while x < end {
        if x >= radius && x + LANES <= end && x + LANES + radius <= cols {
            lanes::<T, LANES>(job, tile, x);
            x += LANES;
        } else {
            lanes::<T, 1>(job, tile, x);
            x += 1;
        }
    }
}

/// The counts of one window. Its sum is kept apart from them, so that it can stay in a register.
type Counts = [u16; 256];

#[inline(always)]
fn enter<S: Fixed, const L: usize>(row: &[u8], counts: &mut [Counts; L], sums: &mut [S; L], step: &[S; 1 << 16]) {
    for values in row.windows(L) {
        for j in 0..L {
            let count = &mut counts[j][usize::from(values[j])];
            sums[j] = sums[j].plus(step[usize::from(*count)]);
            *count = count.wrapping_add(1);
        }
    }
}

#[inline(always)]
fn leave<S: Fixed, const L: usize>(row: &[u8], counts: &mut [Counts; L], sums: &mut [S; L], step: &[S; 1 << 16]) {
    for values in row.windows(L) {
        for j in 0..L {
            let count = &mut counts[j][usize::from(values[j])];
            *count = count.wrapping_sub(1);
            sums[j] = sums[j].minus(step[usize::from(*count)]);
        }
    }
}

/// Slides the windows of `L` columns from `x`. With more than one, none of them may be clipped at the
/// left or the right.
fn lanes<T: Real, const L: usize>(job: &Job<'_, T>, tile: &mut Tile<'_, T>, x: usize) {
    let cells = job.layout.task.cells;
    let (rows, cols, radius) = (cells.rows(), cells.cols(), job.layout.task.size / 2);
    let width = extent(x, radius, cols);
    let left = x.saturating_sub(radius);
    let step = &*job.tables.step;
    let mut counts = [[0; 256]; L];
    let mut sums = [T::Sum::default(); L];
    let row = |y: usize| &cells.row(y)[left..][..width + L - 1];
    for y in tile.top.saturating_sub(radius)..rows.min(tile.top + radius) {
        enter(row(y), &mut counts, &mut sums, step);
    }
    for i in 0..tile.rows.len() {
        let y = tile.top + i;
        if y + radius < rows {
            enter(row(y + radius), &mut counts, &mut sums, step);
        }
        let area = width * extent(y, radius, rows);
        let out = &mut tile.rows[i][x - tile.left..][..L];
        for j in 0..L {
            out[j] = match job.layout.task.nodata {
                None => entropy_or_mark(job.tables, area, sums[j]),
                Some(value) if cells.row(y)[x + j] == value => T::NAN,
                Some(value) => {
                    let n = counts[j][usize::from(value)];
                    entropy_or_mark(job.tables, area - usize::from(n), without(job, sums[j], n))
                }
            };
        }
        if y >= radius {
            leave(row(y - radius), &mut counts, &mut sums, step);
        }
    }
}
