//! Any measures in windows of any shape: a histogram that slides down the rows, one thread a column.
//!
//! ```text
//! each thread:  build the histogram of its first window
//!               for every row:  write every measure, from the counts and their sums
//!                               for every run of the window's cells, one below the other:
//!                                   take away its uppermost cell, add the one below it
//! ```
//!
//! It goes the way of the [histogram kernel](super::entropy_histogram): counters in shared memory, sums of integers that follow
//! the counts, no branch in the loop that lanes could take differently. What is new is that the window is a list of runs, the same
//! word for all lanes, and that two sums more follow the counts: Σ n², which fits 32 bits up to 255² cells, and the number of
//! counts that are not 0. They cost an addition each. The sum of F(n) = n·log2 n costs a look into a table; where no measure
//! asks for it the loop does without.
//!
//! Results come from these by [formulas](super::formula) that other kernels share.

use simt::global::{In, Out};
use simt::scalar::Scalar;
use simt::shared::{self, Shared};
use simt::{kernel, thread};

use super::formula::{Counted, Counts, Formulas, MEASURES_COMPLETE, MEASURES_FILL, Stored};

/// Threads of a block: a multiple of 64, since two warps share the words of their counters.
pub const MEASURES_THREADS: u32 = 128;

/// The counters of one thread and what follows them.
#[derive(Clone, Copy)]
struct Histogram {
    counters: Shared<u16>,
    /// Where the thread's counter of level 0 is; the next level's is `MEASURES_THREADS` further.
    column: u32,
    /// F(n) at `n`, then F(n + 1) − F(n) at `entries + n`.
    table: In<u64>,
    entries: u32,
    /// The differences once more, in shared memory.
    steps: Shared<u64>,
    /// The value that is not counted, or above 255.
    nodata: u32,
    levels: u32,
    /// Σ F(n).
    logs: u64,
    /// Σ n².
    squares: u32,
    /// How many n are not 0.
    classes: u32,
    /// N.
    total: u32,
}

impl Histogram {
    /// The count of a level.
    #[inline(always)]
    fn of(&self, level: u32) -> u32 {
        u32::from(self.counters.load(level * MEASURES_THREADS + self.column))
    }

    /// Counts one cell of `level` more, or (`LEAVES`) one less; nothing where the cell is not `inside` the grid, or nodata, but
    /// with the same motions.
    #[inline(always)]
    fn count<const LEAVES: bool, const LOGS: bool, const NEAR: bool>(&mut self, level: u32, inside: bool) {
        let at = level * MEASURES_THREADS + self.column;
        let n = self.counters.load(at);
        let counts = inside & (level != self.nodata);
        let one = u16::from(counts);
        // The smaller of the two counts, before and after.
        let (after, lower) = if LEAVES {
            let after = n.wrapping_sub(one);
            (after, u32::from(after))
        } else {
            (n.wrapping_add(one), u32::from(n))
        };
        self.counters.store(at, after);
        let (squares, classes) = (2 * lower + 1, u32::from(lower == 0));
        let (squares, classes) = if counts { (squares, classes) } else { (0, 0) };
        let logs = match (LOGS, NEAR) {
            (false, _) => 0,
            (true, true) => self.steps.load(lower),
            (true, false) => self.table.load((self.entries + lower) as usize),
        };
        let logs = if counts { logs } else { 0 };
        if LEAVES {
            self.logs = self.logs.wrapping_sub(logs);
            self.squares = self.squares.wrapping_sub(squares);
            self.classes = self.classes.wrapping_sub(classes);
            self.total = self.total.wrapping_sub(u32::from(one));
        } else {
            self.logs = self.logs.wrapping_add(logs);
            self.squares = self.squares.wrapping_add(squares);
            self.classes = self.classes.wrapping_add(classes);
            self.total = self.total.wrapping_add(u32::from(one));
        }
    }
}

impl Counts for Histogram {
    #[inline(always)]
    fn most(&self) -> u32 {
        let (mut most, mut level) = (0, 0);
        while level < self.levels {
            most = most.max(self.of(level));
            level += 1;
        }
        most
    }

    #[inline(always)]
    fn sum(&self, f: impl Fn(u32) -> f64) -> f64 {
        let (mut sum, mut level) = (0.0, 0);
        while level < self.levels {
            sum += f(self.of(level));
            level += 1;
        }
        sum
    }
}

/// The grid, the rows to compute and the window, as they come to the kernel.
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

    /// From the window around row `y` to the next.
    #[inline(always)]
    fn slide<const CLIPPED: bool, const LOGS: bool, const NEAR: bool>(
        &self,
        histogram: &mut Histogram,
        x: u32,
        y: u32,
    ) {
        let mut i = 0;
        while i < self.run_count {
            let (col, first, last) = self.run(i);
            let col = (x + col).wrapping_sub(self.centre_col);
            let (old, leaves) = self.cell::<CLIPPED>((y + first).wrapping_sub(self.centre_row), col);
            let (new, enters) = self.cell::<CLIPPED>((y + last + 1).wrapping_sub(self.centre_row), col);
            // Leaving comes first: the other way round a counter would for a moment exceed the window.
            histogram.count::<true, LOGS, NEAR>(old, leaves);
            histogram.count::<false, LOGS, NEAR>(new, enters);
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
    // Numbers below 0 are large ones here, and outside like those beyond the other end.
    let within = |from: u32, to: u32, len: u32| from < len && to < len;
    let block = thread::block_idx_x() * MEASURES_THREADS;
    let inner = within(block.wrapping_add(left), (block + MEASURES_THREADS - 1).wrapping_add(right), cols);
    let all_columns = within(x.wrapping_add(left), x.wrapping_add(right), cols);
    for y in begin..end {
        let all = all_columns && within(y.wrapping_add(top), y.wrapping_add(bottom), rows);
        let centre = frame.cell::<false>(y, x).0;
        let there = histogram.total >= frame.least
            && (centre != histogram.nodata || frame.rule & MEASURES_FILL != 0)
            && (all || frame.rule & MEASURES_COMPLETE == 0);
        let bits = if LOGS {
            let rest = histogram.table.load(histogram.total as usize).wrapping_sub(histogram.logs);
            rest as f64 * frame.unit / f64::from(histogram.total.max(1))
        } else {
            0.0
        };
        let Histogram { total, classes, squares, .. } = histogram;
        let counted = Counted { total, classes, squares, bits };
        let at = (y - first) as usize * out_stride as usize + x as usize;
        let mut p = 0;
        while p < frame.formulas.count {
            let value = if there { R::of(frame.formulas.result(p, &counted, &histogram)) } else { R::NAN };
            out.store(p as usize * count as usize * out_stride as usize + at, value);
            p += 1;
        }
        if y + 1 == end {
            return;
        }
        // The same for the whole block.
        if inner && within(y.wrapping_add(top), (y + 1).wrapping_add(bottom), rows) {
            frame.slide::<false, LOGS, NEAR>(&mut histogram, x, y);
        } else {
            frame.slide::<true, LOGS, NEAR>(&mut histogram, x, y);
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
        squares: 0,
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
#[kernel(threads = 128)]
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
#[kernel(threads = 128)]
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
