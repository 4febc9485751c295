//! Any measures in windows of any shape: a histogram that slides down the rows, one thread a column.
//!
//! ```text
//! each thread:  build the histogram of its first window
//!               for every row:  write every measure, from the counts and their sums
//!                               for every run of the window's cells, one below the other:
//!                                   subtract its uppermost cell, add the one below it
//! ```
//!
//! It follows the [histogram kernel](super::entropy_histogram): counters in shared memory, sums of integers that follow
//! the counts, no branch in the loop that lanes could take differently, one update for the cell that leaves and the one that enters, nodata counted like
//! a level and subtracted from the sums of a row. New is that the window is a list of runs, the same
//! word for all lanes, whose cells' offsets a block keeps, and that two more sums follow the counts: Σ n², which fits 32 bits up to 255² cells, and the number of
//! counts that are not 0. They cost an addition each. The sum of F(n) = n·log2 n costs a lookup in a table; where no measure
//! needs it the loop leaves it out.
//!
//! Results are computed from these by [formulas](super::formula) that other kernels share; `counters` has the counts of a thread and their sums.

use simt::global::{In, Out};
use simt::scalar::Scalar;
use simt::{kernel, shared, thread};

use super::formula::{Counted, Formulas, MEASURES_COMPLETE, MEASURES_FILL, Stored};

mod counters;

use counters::Histogram;

/// Threads of a block: a multiple of 64, since two warps share the words of their counters.
pub const MEASURES_THREADS: u32 = 128;

/// Runs whose offsets a block keeps.
const RUNS: u32 = 510;
/// Runs that are loaded ahead.
const AHEAD: u32 = 2;

/// Static shared memory of a block, in bytes.
pub const MEASURES_STATIC: u32 = 4096;

shared! {
    /// The offsets of the first cell of each run and of the one below its last, in bytes from the window's upper left corner: in the lower and in the upper half.
    static MEASURES_OFFSETS: [u64; 512];
}

/// The grid, the rows to compute and the window, from the kernel's parameters.
#[derive(Clone, Copy)]
struct Frame<R: Scalar> {
    cells: In<u8>,
    out: Out<R>,
    runs: In<u32>,
    formulas: Formulas,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    run_count: u32,
    centre_row: u32,
    centre_col: u32,
    top: u32,
    bottom: u32,
    left: u32,
    right: u32,
    rule: u32,
    least: u32,
    rows_each: u32,
    unit: f64,
}

impl<R: Scalar> Frame<R> {
    /// The cell at (`row`, `col`), which may be outside where windows are `CLIPPED`, and whether it is inside.
    #[inline(always)]
    fn cell<const CLIPPED: bool>(&self, row: u32, col: u32) -> (u32, bool) {
        let inside = !CLIPPED || (row < self.rows) & (col < self.cols);
        let (row, col) = if CLIPPED { (row.min(self.rows - 1), col.min(self.cols - 1)) } else { (row, col) };
        (u32::from(self.cells.load(row as usize * self.stride as usize + col as usize)), inside)
    }

    /// A run's column, and its first and last row, from the window's upper left corner.
    #[inline(always)]
    fn run(&self, i: u32) -> (u32, u32, u32) {
        let run = self.runs.load(i as usize);
        (run & 255, run >> 8 & 255, run >> 16 & 255)
    }

    /// From the window around row `y` to the next, some of which may be outside the grid.
    #[inline(always)]
    fn slide_clipped<const LOGS: bool, const NEAR: bool>(&self, histogram: &mut Histogram, x: u32, y: u32) {
        let mut i = 0;
        while i < self.run_count {
            let (col, first, last) = self.run(i);
            let col = (x + col).wrapping_sub(self.centre_col);
            let (old, leaves) = self.cell::<true>((y + first).wrapping_sub(self.centre_row), col);
            let (new, enters) = self.cell::<true>((y + last + 1).wrapping_sub(self.centre_row), col);
            // Leaving comes first: otherwise a counter would temporarily exceed the window.
            histogram.count::<true, LOGS, NEAR>(old, leaves);
            histogram.count::<false, LOGS, NEAR>(new, enters);
            i += 1;
        }
    }

    /// Computes the offsets of the first [`RUNS`] runs, for the block.
    #[inline(always)]
    fn keep_offsets(&self) {
        let offsets = shared::array::<MEASURES_OFFSETS>();
        let mut i = thread::thread_idx_x();
        while i < (self.run_count + AHEAD).min(RUNS + AHEAD) {
            let (col, first, last) = self.run(i.min(self.run_count - 1));
            let of = |row: u32| u64::from(row.wrapping_mul(self.stride).wrapping_add(col));
            offsets.store(i, of(first) | of(last + 1) << 32);
            i += MEASURES_THREADS;
        }
    }

    /// Whether there are offsets for all of them, and they fit.
    #[inline(always)]
    fn has_offsets(&self) -> bool {
        self.run_count <= RUNS && self.stride < 1 << 23
    }

    /// From the window around row `y` to the next, where all of both is inside. The cells of the next run are loaded while those of this one are
    /// counted, and so are the offsets of the run after it.
    #[inline(always)]
    fn slide_inside<const LOGS: bool, const NEAR: bool>(&self, histogram: &mut Histogram, x: u32, y: u32) {
        let offsets = shared::array::<MEASURES_OFFSETS>();
        let corner = (y.wrapping_sub(self.centre_row)) as usize * self.stride as usize
            + x.wrapping_sub(self.centre_col) as usize;
        let cells = |both: u64| {
            let cell = |offset: u32| u32::from(self.cells.load(corner + offset as usize));
            (cell(both as u32), cell((both >> 32) as u32))
        };
        let (mut now, mut then) = (cells(offsets.load(0)), offsets.load(1));
        let mut i = 0;
        while i < self.run_count {
            let next = cells(then);
            then = offsets.load(i + AHEAD);
            histogram.exchange::<LOGS, NEAR>(now.0, now.1);
            now = next;
            i += 1;
        }
    }
}

#[inline(always)]
fn march<R: Stored, const LOGS: bool, const NEAR: bool>(frame: &Frame<R>, mut histogram: Histogram) {
    let &Frame { out, rows, cols, first, count, out_stride, top, bottom, left, right, .. } = frame;
    let x = thread::index_x();
    let begin = first + thread::block_idx_y() * frame.rows_each;
    let end = (begin + frame.rows_each).min(first + count);
    if x >= cols || begin >= end {
        return;
    }
    let mut i = 0;
    while i < frame.run_count {
        let (col, first, last) = frame.run(i);
        for row in first..last + 1 {
            let (row, col) = ((begin + row).wrapping_sub(frame.centre_row), (x + col).wrapping_sub(frame.centre_col));
            let (level, inside) = frame.cell::<true>(row, col);
            histogram.count::<false, LOGS, NEAR>(level, inside);
        }
        i += 1;
    }
    // Numbers below 0 wrap to large ones, and are outside like those beyond the other end.
    let within = |from: u32, to: u32, len: u32| from < len && to < len;
    let block = thread::block_idx_x() * MEASURES_THREADS;
    let inner = within(block.wrapping_add(left), (block + MEASURES_THREADS - 1).wrapping_add(right), cols);
    let all_columns = within(x.wrapping_add(left), x.wrapping_add(right), cols);
    for y in begin..end {
        let valid = histogram.valid();
        let all = all_columns && within(y.wrapping_add(top), y.wrapping_add(bottom), rows);
        let centre = frame.cell::<false>(y, x).0;
        let there = valid.total >= frame.least
            && (centre != histogram.nodata || frame.rule & MEASURES_FILL != 0)
            && (all || frame.rule & MEASURES_COMPLETE == 0);
        let bits = if LOGS {
            let rest = valid.table.load(valid.total as usize).wrapping_sub(valid.logs);
            rest as f64 * frame.unit / f64::from(valid.total.max(1))
        } else {
            0.0
        };
        let Histogram { total, classes, squares, .. } = valid;
        let counted = Counted { total, classes, squares, bits };
        let at = (y - first) as usize * out_stride as usize + x as usize;
        let mut p = 0;
        while p < frame.formulas.count {
            let value = if there { R::of(frame.formulas.result(p, &counted, &valid)) } else { R::NAN };
            out.store(p as usize * count as usize * out_stride as usize + at, value);
            p += 1;
        }
        if y + 1 == end {
            return;
        }
        // The same for the whole block.
        if inner && frame.has_offsets() && within(y.wrapping_add(top), (y + 1).wrapping_add(bottom), rows) {
            frame.slide_inside::<LOGS, NEAR>(&mut histogram, x, y);
        } else {
            frame.slide_clipped::<LOGS, NEAR>(&mut histogram, x, y);
        }
    }
}

#[inline(always)]
fn measures<R: Stored>(frame: &Frame<R>, table: In<u64>, entries: u32, levels: u32, nodata: u32, shared_entries: u32) {
    // Counters and differences share the dynamic memory, the counters first.
    let counters = shared::dynamic::<u16>().slice(0, levels * MEASURES_THREADS);
    let steps = shared::dynamic::<u64>().slice(levels * MEASURES_THREADS / 4, shared_entries);
    let t = thread::thread_idx_x();
    let mut n = t;
    while n < shared_entries {
        steps.store(n, table.load((entries + n) as usize));
        n += MEASURES_THREADS;
    }
    // Lane l of warps 2a and 2a + 1: the two halves of word 32a + l.
    let column = (t / 64 * 32 + t % 32) * 2 + t / 32 % 2;
    for level in 0..levels {
        counters.store(level * MEASURES_THREADS + column, 0);
    }
    frame.keep_offsets();
    thread::sync_threads();

    let histogram = Histogram {
        counters,
        column,
        table,
        entries,
        steps,
        nodata,
        levels,
        logs: 0,
        pending: [0; 2],
        squares: 0,
        doubled: 0,
        classes: 0,
        total: 0,
    };
    match (entries > 1, shared_entries > 0) {
        (false, _) => march::<R, false, false>(frame, histogram),
        (true, false) => march::<R, true, false>(frame, histogram),
        (true, true) => march::<R, true, true>(frame, histogram),
    }
}

/// Measures of windows of any shape, up to 256 levels, in blocks of [`MEASURES_THREADS`] threads.
///
/// Block (bx, by) computes columns bx · `MEASURES_THREADS`.. and the rows by · `rows_each`.. of the `count`. Plane p of the
/// results begins at element p · `count` · `out_stride` of `out`.
///
/// The window: `runs` holds its runs, a column in bits 0–7, its first row in bits 8–15 and its last in bits 16–23, counted
/// from the window's upper left corner; the centre is at (`centre_row`, `centre_col`) there. All of its cells are in the rows
/// `top`..=`bottom` and columns `left`..=`right` counted from the centre (numbers below 0 wrapped). A result is NaN where fewer
/// than `least` (at least 1) cells are counted, where the centre is nodata unless `rule` has [`MEASURES_FILL`](super::MEASURES_FILL), and if it has
/// [`MEASURES_COMPLETE`](super::MEASURES_COMPLETE) where a cell of the window is outside the grid.
///
/// `table` holds F(n) for n below `entries`, one more than the window has cells, in units of `unit`; then F(n + 1) − F(n), the last of
/// them 0. If `entries` is 1 no measure needs F, and `table` holds two zeros. `shared_entries` is `entries` to keep the
/// differences in shared memory, or 0. `planes` holds [`MEASURES_WORDS`](super::MEASURES_WORDS) words for each of `plane_count` outputs, `orders` the tables that
/// they point to, an entry for each n from 0 to the cells of the window. Dynamic shared memory: `levels` ·
/// `MEASURES_THREADS` · 2 bytes, and 8 bytes for each of `shared_entries`.
///
/// # Safety
/// `cells` as for [`entropy_naive`](fn@super::entropy_naive), and `out` with `plane_count` times as much; cells are below `levels`, and so
/// is `nodata` or it is above 255; the buffers are as said above, and the launch has the block size and the shared
/// memory above.
#[kernel(threads = 128, blocks = 6)]
pub unsafe fn entropy_measures(
    cells: In<u8>,
    out: Out<f32>,
    table: In<u64>,
    runs: In<u32>,
    planes: In<u64>,
    orders: In<f64>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    run_count: u32,
    plane_count: u32,
    centre_row: u32,
    centre_col: u32,
    top: u32,
    bottom: u32,
    left: u32,
    right: u32,
    rule: u32,
    least: u32,
    entries: u32,
    levels: u32,
    nodata: u32,
    shared_entries: u32,
    rows_each: u32,
    unit: f64,
) {
    let frame = Frame {
        cells,
        out,
        runs,
        formulas: Formulas { planes, orders, count: plane_count },
        rows,
        cols,
        stride,
        first,
        count,
        out_stride,
        run_count,
        centre_row,
        centre_col,
        top,
        bottom,
        left,
        right,
        rule,
        least,
        rows_each,
        unit,
    };
    measures(&frame, table, entries, levels, nodata, shared_entries);
}

/// [`entropy_measures`](fn@entropy_measures) with f64 results.
///
/// # Safety
/// As [`entropy_measures`](fn@entropy_measures).
#[kernel(threads = 128, blocks = 6)]
pub unsafe fn entropy_measures_f64(
    cells: In<u8>,
    out: Out<f64>,
    table: In<u64>,
    runs: In<u32>,
    planes: In<u64>,
    orders: In<f64>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    run_count: u32,
    plane_count: u32,
    centre_row: u32,
    centre_col: u32,
    top: u32,
    bottom: u32,
    left: u32,
    right: u32,
    rule: u32,
    least: u32,
    entries: u32,
    levels: u32,
    nodata: u32,
    shared_entries: u32,
    rows_each: u32,
    unit: f64,
) {
    let frame = Frame {
        cells,
        out,
        runs,
        formulas: Formulas { planes, orders, count: plane_count },
        rows,
        cols,
        stride,
        first,
        count,
        out_stride,
        run_count,
        centre_row,
        centre_col,
        top,
        bottom,
        left,
        right,
        rule,
        least,
        rows_each,
        unit,
    };
    measures(&frame, table, entries, levels, nodata, shared_entries);
}
