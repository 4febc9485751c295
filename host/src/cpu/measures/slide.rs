//! Sliding: the counts of several neighbouring columns' windows, and their sums, down the rows of a tile.

use super::Job;
use super::finish::{Counted, Logs, Precision, finish, most};
use super::tables::{Steps, Tables};
use crate::cpu::count::is_wide;
use crate::measure::window::{Needs, Plane, Reach, Window};
use crate::numbers::Real;
use crate::observe::Cancelled;
use crate::part::Tiles;

/// Columns that slide together: one chain of "read a count, write it back" waits for itself wherever values repeat.
pub const LANES: usize = 4;

/// Computes a tile, unless the work is to stop.
pub fn run<T: Real>(job: &Job<'_>, tile: &mut Tiles<'_, T>) -> Result<(), Cancelled> {
    if is_wide(job.layout.largest) { tile_of::<T, u32>(job, tile) } else { tile_of::<T, u16>(job, tile) }
}

fn tile_of<T: Real, C: Steps>(job: &Job<'_>, tile: &mut Tiles<'_, T>) -> Result<(), Cancelled> {
    // Each combination is a loop of its own, which keeps only what is needed.
    let columns = match job.window.needs {
        Needs { logs: false, squares: false, classes: false, .. } => columns::<T, C, false, false, false>,
        Needs { logs: false, squares: false, classes: true, .. } => columns::<T, C, false, false, true>,
        Needs { logs: false, squares: true, classes: false, .. } => columns::<T, C, false, true, false>,
        Needs { logs: false, squares: true, classes: true, .. } => columns::<T, C, false, true, true>,
        Needs { logs: true, squares: false, classes: false, .. } => columns::<T, C, true, false, false>,
        Needs { logs: true, squares: false, classes: true, .. } => columns::<T, C, true, false, true>,
        Needs { logs: true, squares: true, classes: false, .. } => columns::<T, C, true, true, false>,
        Needs { logs: true, squares: true, classes: true, .. } => columns::<T, C, true, true, true>,
    };
    columns(job, tile)
}

fn columns<T: Real, C: Steps, const LOGS: bool, const SQUARES: bool, const CLASSES: bool>(
    job: &Job<'_>,
    tile: &mut Tiles<'_, T>,
) -> Result<(), Cancelled> {
    let Reach { left, right, .. } = job.window.reach;
    let (end, cols) = (tile.left + tile.width(), job.layout.task.cells.cols());
    let mut x = tile.left;
    while x < end {
        let unclipped = x as isize + left >= 0 && (x + LANES - 1) as isize + right < cols as isize;
        if unclipped && x + LANES <= end {
            lanes::<T, C, LOGS, SQUARES, CLASSES, LANES>(job, tile, x)?;
            x += LANES;
        } else {
            lanes::<T, C, LOGS, SQUARES, CLASSES, 1>(job, tile, x)?;
            x += 1;
        }
    }
    Ok(())
}

/// The counts of one window.
pub type Counts<C> = [C; 256];

/// What is kept of the counts of `L` windows; apart from them, so that it can stay in registers.
#[derive(Clone, Copy)]
struct Sums<const L: usize> {
    /// Cells inside the grid, the same for all windows.
    area: usize,
    logs: [u64; L],
    squares: [u64; L],
    classes: [u32; L],
}

/// Slides the windows of `L` columns from `x`. With more than one, none of them may be clipped at the left or the right.
fn lanes<T: Real, C: Steps, const LOGS: bool, const SQUARES: bool, const CLASSES: bool, const L: usize>(
    job: &Job<'_>,
    tile: &mut Tiles<'_, T>,
    x: usize,
) -> Result<(), Cancelled> {
    let (cells, window) = (job.layout.task.cells, job.window);
    let Reach { top, bottom, left, right } = window.reach;
    let steps = C::table(job.tables);
    let inside = |from: isize, to: isize, len: usize| from >= 0 && to < len as isize;
    let all_columns = inside(x as isize + left, (x + L - 1) as isize + right, cells.cols());
    let mut counts = [[C::default(); 256]; L];
    let mut sums = Sums { area: 0, logs: [0; L], squares: [0; L], classes: [0; L] };
    for stretch in &window.cells {
        let values = stretch.clipped::<_, L>(cells, tile.top, x);
        enter::<C, LOGS, SQUARES, CLASSES, L>(values, &mut counts, &mut sums, steps);
    }
    let (height, mut look) = (tile.height(), 0);
    for i in 0..height {
        if i == look {
            if job.observer.cancelled() {
                return Err(Cancelled);
            }
            look += job.rows_at_once;
        }
        let y = tile.top + i;
        let all = all_columns && inside(y as isize + top, y as isize + bottom, cells.rows());
        results(job, tile, (i, x), &mut counts, &sums, window.complete && !all);
        if i + 1 == height {
            break;
        }
        // Most windows lie inside the grid, and so does the next row's: then a stretch is where it always is.
        if all && inside(0, (y + 1) as isize + bottom, cells.rows()) {
            let (flat, here) = (cells.as_strided(), y * cells.stride() + x);
            for &(at, len) in &job.leaving {
                let values = &flat[here.wrapping_add_signed(at)..][..len + L - 1];
                leave::<C, LOGS, SQUARES, CLASSES, L>(values, &mut counts, &mut sums, steps);
            }
            for &(at, len) in &job.entering {
                let values = &flat[(here + cells.stride()).wrapping_add_signed(at)..][..len + L - 1];
                enter::<C, LOGS, SQUARES, CLASSES, L>(values, &mut counts, &mut sums, steps);
            }
        } else {
            for stretch in &window.leaving {
                let values = stretch.clipped::<_, L>(cells, y, x);
                leave::<C, LOGS, SQUARES, CLASSES, L>(values, &mut counts, &mut sums, steps);
            }
            for stretch in &window.entering {
                let values = stretch.clipped::<_, L>(cells, y + 1, x);
                enter::<C, LOGS, SQUARES, CLASSES, L>(values, &mut counts, &mut sums, steps);
            }
        }
    }
    Ok(())
}

/// Writes the results of row `i` of the tile for the columns from `x` on; none where they are `missing`.
#[inline(always)]
fn results<T: Real, C: Steps, const L: usize>(
    job: &Job<'_>,
    tile: &mut Tiles<'_, T>,
    (i, x): (usize, usize),
    counts: &mut [Counts<C>; L],
    sums: &Sums<L>,
    missing: bool,
) {
    let (window, levels) = (job.window, job.layout.task.levels);
    // Nodata is counted like a class; here it is taken out, and afterwards put back.
    let nodata: [C; L] = match job.layout.task.nodata {
        None => [C::default(); L],
        Some(value) => std::array::from_fn(|j| std::mem::take(&mut counts[j][usize::from(value)])),
    };
    let total = nodata.map(|n| (sums.area - n.index()) as u32);
    let full = |n: C| job.tables.entry(n.index());
    let counted = Counted {
        total: &total,
        logs: Logs::Double(&std::array::from_fn::<_, L, _>(|j| sums.logs[j].wrapping_sub(full(nodata[j])))),
        squares: &std::array::from_fn::<_, L, _>(|j| sums.squares[j].wrapping_sub((nodata[j].index() as u64).pow(2))),
        classes: &std::array::from_fn::<_, L, _>(|j| {
            sums.classes[j].wrapping_sub(u32::from(nodata[j] != C::default()))
        }),
        most: &std::array::from_fn::<_, L, _>(|j| if window.needs.most { most(&counts[j][..levels]) } else { 0 }),
    };
    let centres = &job.layout.task.cells.row(tile.top + i)[x..][..L];
    let there: [bool; L] = std::array::from_fn(|j| {
        !missing && total[j] >= window.least && (window.fill || Some(centres[j]) != job.layout.task.nodata)
    });
    for (plane, rows) in window.planes.iter().zip(&mut tile.planes) {
        let out = &mut rows[i][x - tile.left..][..L];
        let mut values = [0.0; L];
        finish_lanes::<C, L>(plane, window, job.tables, &counted, counts, levels, &mut values, Precision::of::<T>());
        for j in 0..L {
            out[j] = if there[j] { T::from_f64(values[j]) } else { T::NAN };
        }
    }
    if let Some(value) = job.layout.task.nodata {
        for j in 0..L {
            counts[j][usize::from(value)] = nodata[j];
        }
    }
}

/// Not inlined: formulas are many, and the loops over cells want the registers.
#[inline(never)]
#[allow(clippy::too_many_arguments)]
fn finish_lanes<C: Steps, const L: usize>(
    plane: &Plane,
    window: &Window,
    tables: &Tables,
    counted: &Counted<'_>,
    counts: &[Counts<C>],
    levels: usize,
    values: &mut [f64],
    precision: Precision,
) {
    finish::<Counts<C>, L>(plane, window, tables, counted, counts, levels, values, precision);
}

#[inline(always)]
fn enter<C: Steps, const LOGS: bool, const SQUARES: bool, const CLASSES: bool, const L: usize>(
    values: &[u8],
    counts: &mut [Counts<C>; L],
    sums: &mut Sums<L>,
    steps: C::Table<'_>,
) {
    sums.area += (values.len() + 1).saturating_sub(L);
    for values in values.windows(L) {
        for j in 0..L {
            let count = &mut counts[j][usize::from(values[j])];
            let n = *count;
            *count = n.changed(1);
            if LOGS {
                sums.logs[j] = sums.logs[j].wrapping_add(C::step(steps, n));
            }
            if SQUARES {
                sums.squares[j] = sums.squares[j].wrapping_add(2 * n.index() as u64 + 1);
            }
            if CLASSES {
                sums.classes[j] += u32::from(n == C::default());
            }
        }
    }
}

#[inline(always)]
fn leave<C: Steps, const LOGS: bool, const SQUARES: bool, const CLASSES: bool, const L: usize>(
    values: &[u8],
    counts: &mut [Counts<C>; L],
    sums: &mut Sums<L>,
    steps: C::Table<'_>,
) {
    sums.area -= (values.len() + 1).saturating_sub(L);
    for values in values.windows(L) {
        for j in 0..L {
            let count = &mut counts[j][usize::from(values[j])];
            let n = count.changed(-1);
            *count = n;
            if LOGS {
                sums.logs[j] = sums.logs[j].wrapping_sub(C::step(steps, n));
            }
            if SQUARES {
                sums.squares[j] = sums.squares[j].wrapping_sub(2 * n.index() as u64 + 1);
            }
            if CLASSES {
                sums.classes[j] = sums.classes[j].wrapping_sub(u32::from(n == C::default()));
            }
        }
    }
}
