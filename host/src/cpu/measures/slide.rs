//! Sliding: the counts of several neighbouring columns' windows, and their sums, down the rows of a tile.

use super::finish::{Counted, finish};
use super::{ALL, Job};
use crate::cpu::Real;
use crate::grid::GridView;
use crate::measure::window::{Needs, Reach, Stretch};
use crate::part::Tiles;

/// Columns that slide together: one chain of "read a count, write it back" waits for itself wherever values repeat.
const LANES: usize = 4;

/// Computes a tile.
pub fn run<T: Real>(job: &Job<'_>, tile: &mut Tiles<'_, T>) {
    // Each combination is a loop of its own, which does nothing that nobody asked for.
    let columns = match job.window.needs {
        Needs { logs: false, squares: false, classes: false } => columns::<T, false, false, false>,
        Needs { logs: false, squares: false, classes: true } => columns::<T, false, false, true>,
        Needs { logs: false, squares: true, classes: false } => columns::<T, false, true, false>,
        Needs { logs: false, squares: true, classes: true } => columns::<T, false, true, true>,
        Needs { logs: true, squares: false, classes: false } => columns::<T, true, false, false>,
        Needs { logs: true, squares: false, classes: true } => columns::<T, true, false, true>,
        Needs { logs: true, squares: true, classes: false } => columns::<T, true, true, false>,
        Needs { logs: true, squares: true, classes: true } => columns::<T, true, true, true>,
    };
    columns(job, tile);
}

fn columns<T: Real, const LOGS: bool, const SQUARES: bool, const CLASSES: bool>(
    job: &Job<'_>,
    tile: &mut Tiles<'_, T>,
) {
    let Reach { left, right, .. } = job.window.reach;
    let (end, cols) = (tile.left + tile.width(), job.task.cells.cols());
    let mut x = tile.left;
    while x < end {
        let unclipped = x as isize + left >= 0 && (x + LANES - 1) as isize + right < cols as isize;
        if unclipped && x + LANES <= end {
            lanes::<T, LOGS, SQUARES, CLASSES, LANES>(job, tile, x);
            x += LANES;
        } else {
            lanes::<T, LOGS, SQUARES, CLASSES, 1>(job, tile, x);
            x += 1;
        }
    }
}

/// The counts of one window.
type Counts = [u16; 256];

/// What is kept of the counts of `L` windows; apart from them, so that it can stay in registers.
#[derive(Clone, Copy)]
struct Sums<const L: usize> {
    /// Cells inside the grid, the same for all windows.
    area: usize,
    logs: [u64; L],
    squares: [u32; L],
    classes: [u32; L],
}

/// Slides the windows of `L` columns from `x`. With more than one, none of them may be clipped at the left or the right.
fn lanes<T: Real, const LOGS: bool, const SQUARES: bool, const CLASSES: bool, const L: usize>(
    job: &Job<'_>,
    tile: &mut Tiles<'_, T>,
    x: usize,
) {
    let (cells, window, nodata) = (job.task.cells, job.window, job.task.nodata);
    let steps = &*job.steps;
    let reach = window.reach;
    let all_columns = x as isize + reach.left >= 0 && (x + L - 1) as isize + reach.right < cells.cols() as isize;
    let mut counts = [[0u16; 256]; L];
    let mut sums = Sums { area: 0, logs: [0; L], squares: [0; L], classes: [0; L] };
    for stretch in &window.cells {
        let values = clipped::<L>(cells, tile.top, x, stretch);
        enter::<LOGS, SQUARES, CLASSES, L>(values, &mut counts, &mut sums, steps);
    }
    let height = tile.height();
    for i in 0..height {
        let y = tile.top + i;
        let all_rows = y as isize + reach.top >= 0 && y as isize + reach.bottom < cells.rows() as isize;
        let missing = window.complete && !(all_columns && all_rows);
        for j in 0..L {
            let counted = counted(&mut counts[j], nodata, &sums, j);
            let there = !missing && counted.total >= window.least && Some(cells.row(y)[x + j]) != nodata;
            for (plane, rows) in window.planes.iter().zip(&mut tile.planes) {
                rows[i][x + j - tile.left] = if there {
                    T::from_f64(finish(plane, window, &counted, &counts[j][..job.task.levels]))
                } else {
                    T::NAN
                };
            }
            if let Some(value) = nodata {
                counts[j][usize::from(value)] = counted.nodata;
            }
        }
        if i + 1 == height {
            break;
        }
        for stretch in &window.leaving {
            let values = clipped::<L>(cells, y, x, stretch);
            leave::<LOGS, SQUARES, CLASSES, L>(values, &mut counts, &mut sums, steps);
        }
        for stretch in &window.entering {
            let values = clipped::<L>(cells, y + 1, x, stretch);
            enter::<LOGS, SQUARES, CLASSES, L>(values, &mut counts, &mut sums, steps);
        }
    }

    /// Lane `j` without nodata, which was counted like a class; its count is taken out, to be put back.
    #[inline(always)]
    fn counted<const L: usize>(counts: &mut Counts, nodata: Option<u8>, sums: &Sums<L>, j: usize) -> Counted {
        let nodata = nodata.map_or(0, |value| std::mem::take(&mut counts[usize::from(value)]));
        Counted {
            nodata,
            total: (sums.area - usize::from(nodata)) as u32,
            logs: sums.logs[j],
            squares: sums.squares[j].wrapping_sub(u32::from(nodata).pow(2)),
            classes: sums.classes[j].wrapping_sub(u32::from(nodata > 0)),
        }
    }
}

/// The cells of a stretch that lie inside the grid, for windows in row `y` from column `x` on: with `L` windows, `L` − 1 more
/// than the stretch has.
#[inline(always)]
fn clipped<'a, const L: usize>(cells: GridView<'a, u8>, y: usize, x: usize, stretch: &Stretch) -> &'a [u8] {
    match y.checked_add_signed(stretch.row) {
        Some(row) if row < cells.rows() => {
            let first = x as isize + stretch.col;
            let inside = |at: isize| at.clamp(0, cells.cols() as isize) as usize;
            &cells.row(row)[inside(first)..inside(first + (stretch.len + L - 1) as isize)]
        }
        _ => &[],
    }
}

#[inline(always)]
fn enter<const LOGS: bool, const SQUARES: bool, const CLASSES: bool, const L: usize>(
    values: &[u8],
    counts: &mut [Counts; L],
    sums: &mut Sums<L>,
    steps: &[u64; ALL],
) {
    sums.area += (values.len() + 1).saturating_sub(L);
    for values in values.windows(L) {
        for j in 0..L {
            let count = &mut counts[j][usize::from(values[j])];
            let n = *count;
            *count = n.wrapping_add(1);
            if LOGS {
                sums.logs[j] = sums.logs[j].wrapping_add(steps[usize::from(n)]);
            }
            if SQUARES {
                sums.squares[j] = sums.squares[j].wrapping_add(2 * u32::from(n) + 1);
            }
            if CLASSES {
                sums.classes[j] += u32::from(n == 0);
            }
        }
    }
}

#[inline(always)]
fn leave<const LOGS: bool, const SQUARES: bool, const CLASSES: bool, const L: usize>(
    values: &[u8],
    counts: &mut [Counts; L],
    sums: &mut Sums<L>,
    steps: &[u64; ALL],
) {
    sums.area -= (values.len() + 1).saturating_sub(L);
    for values in values.windows(L) {
        for j in 0..L {
            let count = &mut counts[j][usize::from(values[j])];
            let n = count.wrapping_sub(1);
            *count = n;
            if LOGS {
                sums.logs[j] = sums.logs[j].wrapping_sub(steps[usize::from(n)]);
            }
            if SQUARES {
                sums.squares[j] = sums.squares[j].wrapping_sub(2 * u32::from(n) + 1);
            }
            if CLASSES {
                sums.classes[j] = sums.classes[j].wrapping_sub(u32::from(n == 0));
            }
        }
    }
}
