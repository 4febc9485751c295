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
//! chain of "read a count, write it back" waits for itself wherever values repeat. With AVX-512, 32 columns do, whose counts of a level are
//! one register (`x86_histogram`).

use super::few::entropy_or_mark;
#[cfg(target_arch = "x86_64")]
use super::finish::Finish;
use super::finish::{extent, without};
use super::table::Fixed;
#[cfg(target_arch = "x86_64")]
use super::table::Tables;
#[cfg(target_arch = "x86_64")]
use super::x86_histogram::{Strip, WINDOWS};
use super::{Job, Summed, Tile};
use crate::isa::Isa;
#[cfg(target_arch = "x86_64")]
use crate::isa::Kind;

/// Columns that slide together.
const LANES: usize = 4;

/// How many windows slide together, sharing the cells that they see.
pub fn together<T: Summed>(isa: Isa) -> usize {
    match isa.kind() {
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 if size_of::<T::Sum>() == 4 => WINDOWS,
        _ => 1,
    }
}

/// Computes a tile.
pub fn run<T: Summed>(job: &Job<'_, T>, tile: &mut Tile<'_, T>, isa: Isa) {
    match (isa.kind(), T::Sum::single(job.tables)) {
        #[cfg(target_arch = "x86_64")]
        (Kind::Avx512, Some(tables)) => return strips(job, tile, tables),
        _ => {}
    }
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

/// Computes a tile on a machine with AVX-512, 32 columns of windows at a time.
#[cfg(target_arch = "x86_64")]
fn strips<T: Summed>(job: &Job<'_, T>, tile: &mut Tile<'_, T>, tables: &Tables<u32>) {
    let (cells, nodata) = (job.layout.task.cells, job.layout.task.nodata);
    let (rows, cols, radius) = (cells.rows(), cells.cols(), job.layout.task.size / 2);
    let (end, mut columns) = (tile.left + tile.width(), Vec::new());
    for x in (tile.left..end).step_by(WINDOWS) {
        let width = WINDOWS.min(end - x);
        let (left, right) = (x.saturating_sub(radius), cols.min(x + WINDOWS + radius));
        // Window j has the columns from x + j − radius to x + j + radius.
        columns.clear();
        columns.extend((left..right).map(|column| {
            let (first, last) = (column.saturating_sub(x + radius), (column + radius - x).min(WINDOWS - 1));
            u32::MAX >> (WINDOWS - 1 - last) & u32::MAX << first
        }));
        let mut strip = Strip::new();
        let mut finish = Finish::new(job, x, width);
        let row = |y: usize| &cells.row(y)[left..right];
        // SAFETY: an `Isa` of this kind, which the caller has, exists only on machines that have the features.
        let slide = |strip: &mut Strip, leaving: &[u8], entering: &[u8]| unsafe {
            strip.slide(leaving, entering, &columns, tables);
        };
        for y in tile.top.saturating_sub(radius)..rows.min(tile.top + radius) {
            slide(&mut strip, &[], row(y));
        }
        for i in 0..tile.rows.len() {
            let y = tile.top + i;
            let entering = if y + radius < rows { row(y + radius) } else { &[] };
            let leaving = if i > 0 && y > radius { row(y - radius - 1) } else { &[] };
            slide(&mut strip, leaving, entering);
            let out = &mut tile.rows[i][x - tile.left..][..width];
            let mut sums = strip.sums.map(T::Sum::of_single);
            match nodata {
                None => finish.plain(job, y, &sums, out),
                Some(value) => {
                    let hidden = strip.counts(value);
                    for (sum, &n) in sums.iter_mut().zip(hidden) {
                        *sum = without(job, *sum, n);
                    }
                    finish.masked(job, y, &sums, &hidden.map(u32::from), &cells.row(y)[x..][..width], value, out);
                }
            }
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
fn lanes<T: Summed, const L: usize>(job: &Job<'_, T>, tile: &mut Tile<'_, T>, x: usize) {
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
