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
//! Results are formed in f64, whatever they are stored as: a sliding window has hundreds of steps, and its results a few
//! divisions and logarithms. Each output is a *plane* of [`MEASURES_WORDS`] words: which formula, and its constants.

use core::f64::consts::LN_2;

use simt::bits::{exp_f64, ln_f64};
use simt::global::{In, Out};
use simt::scalar::Scalar;
use simt::shared::{self, Shared};
use simt::{kernel, thread};

/// A rule of [`entropy_measures`](fn@entropy_measures): no result where a cell of the window is outside the grid.
pub const MEASURES_COMPLETE: u32 = 1;
/// Another: a result also where the centre is nodata.
pub const MEASURES_FILL: u32 = 2;
/// Threads of a block: a multiple of 64, since two warps share the words of their counters.
pub const MEASURES_THREADS: u32 = 128;

/// Words of a plane: its formula (one of the numbers below, and [`MEASURES_NUMBER`]), the bits of the scale, the bits of the order
/// α, and where its table begins.
pub const MEASURES_WORDS: u32 = 4;
/// Added to a formula whose result's exponential is asked for.
pub const MEASURES_NUMBER: u32 = 16;
/// (F(N) − Σ F(n)) / N, in bits.
pub const MEASURES_SHANNON: u32 = 0;
/// The same in nats over ln S.
pub const MEASURES_EVENNESS: u32 = 1;
/// 1 − Σ n² / N².
pub const MEASURES_SIMPSON: u32 = 2;
/// ln S.
pub const MEASURES_CLASSES: u32 = 3;
/// ln (N² / Σ n²).
pub const MEASURES_SQUARES: u32 = 4;
/// ln (N / max n).
pub const MEASURES_MOST: u32 = 5;
/// ln (Σ n^α / N^α) / (1 − α), the table holding n^α.
pub const MEASURES_POWER: u32 = 6;
/// ln (1 + (Σ W(n) − W(N)) / N^α) / (1 − α), the table holding W(n) = n^α − n.
pub const MEASURES_NEAR: u32 = 7;
/// α/(1 − α)·ln (m/N) + ln (Σ (n/m)^α) / (1 − α) with m = max n, the table holding ln n.
pub const MEASURES_STEEP: u32 = 8;

/// What results are stored as.
trait Stored: Scalar {
    const NAN: Self;
    fn of(value: f64) -> Self;
}

impl Stored for f32 {
    const NAN: f32 = f32::NAN;
    #[inline(always)]
    fn of(value: f64) -> f32 {
        value as f32
    }
}

impl Stored for f64 {
    const NAN: f64 = f64::NAN;
    #[inline(always)]
    fn of(value: f64) -> f64 {
        value
    }
}

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

    /// The count of the most frequent class.
    #[inline(always)]
    fn most(&self) -> u32 {
        let (mut most, mut level) = (0, 0);
        while level < self.levels {
            most = most.max(self.of(level));
            level += 1;
        }
        most
    }

    /// The result of plane `p`; at least one cell is counted. `bits` is Shannon's entropy, where that is kept.
    #[inline(always)]
    fn result(&self, p: u32, planes: In<u64>, orders: In<f64>, bits: f64) -> f64 {
        let word = |i: u32| planes.load((p * MEASURES_WORDS + i) as usize);
        let (formula, scale, order) = (word(0) as u32, f64::from_bits(word(1)), f64::from_bits(word(2)));
        let table = word(3) as usize;
        let at = |n: u32| orders.load(table + n as usize);
        let (number, formula) = (formula >= MEASURES_NUMBER, formula % MEASURES_NUMBER);
        let n = f64::from(self.total);
        if formula == MEASURES_SIMPSON {
            // The difference is exact, so one class gives exactly 0.
            let all = u64::from(self.total) * u64::from(self.total);
            return all.wrapping_sub(u64::from(self.squares)) as f64 / all as f64;
        }
        let most = if formula == MEASURES_MOST || formula == MEASURES_STEEP { self.most() } else { 1 };
        let mut sum = 0.0;
        if formula >= MEASURES_POWER {
            let mut level = 0;
            while level < self.levels {
                let n = self.of(level);
                if formula != MEASURES_STEEP {
                    sum += at(n);
                } else if n > 0 {
                    sum += exp_f64(order * (at(n) - at(most)));
                }
                level += 1;
            }
        }
        // The logarithm of what; times what, plus what. One logarithm for all formulas keeps the kernel small.
        let rest = 1.0 - order;
        let (of, times, plus) = match formula {
            MEASURES_EVENNESS | MEASURES_CLASSES => (f64::from(self.classes), 1.0, 0.0),
            MEASURES_SQUARES => (n * n / f64::from(self.squares), 1.0, 0.0),
            MEASURES_MOST => (n / f64::from(most), 1.0, 0.0),
            MEASURES_POWER => (sum / at(self.total), 1.0 / rest, 0.0),
            MEASURES_STEEP => (sum, 1.0 / rest, order / rest * (at(most) - at(self.total))),
            MEASURES_NEAR => {
                let x = (sum - at(self.total)) / (n + at(self.total));
                // 1 + x is rounded; ln(1 + x) / x changes so slowly that it may be taken at the rounded place.
                let near = 1.0 + x;
                if near == 1.0 { (1.0, 0.0, x / rest) } else { (near, x / (near - 1.0) / rest, 0.0) }
            }
            _ => (1.0, 0.0, if number { bits * LN_2 } else { bits }),
        };
        if number && (MEASURES_CLASSES..=MEASURES_MOST).contains(&formula) {
            return of;
        }
        let value = ln_f64(of) * times + plus;
        if formula == MEASURES_EVENNESS {
            return if self.classes == 1 { 0.0 } else { bits * LN_2 / value };
        }
        // 0 times something negative is −0: adding 0 makes it 0.
        if number { exp_f64(value) } else { value * scale + 0.0 }
    }
}

/// The grid, the rows to compute and the window, as they come to the kernel.
#[derive(Clone, Copy)]
struct Frame<R: Scalar> {
    cells: In<u8>,
    out: Out<R>,
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
        let at = (y - first) as usize * out_stride as usize + x as usize;
        let mut p = 0;
        while p < frame.plane_count {
            let value = if there { R::of(histogram.result(p, frame.planes, frame.orders, bits)) } else { R::NAN };
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
/// than `least` (at least 1) cells are counted, where the centre is nodata unless `rule` has [`MEASURES_FILL`], and if it has
/// [`MEASURES_COMPLETE`] where a cell of the window is outside the grid.
///
/// `table` holds F(n) for n below `entries`, one more than the window has cells, in units of `unit`; then F(n + 1) − F(n), the last of
/// them 0. If `entries` is 1 no measure needs F, and `table` holds two zeros. `shared_entries` is `entries` to keep the
/// differences in shared memory, or 0. `planes` holds [`MEASURES_WORDS`] words for each of `plane_count` outputs, `orders` the tables that
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
        planes,
        orders,
        rows,
        cols,
        stride,
        first,
        count,
        out_stride,
        run_count,
        plane_count,
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
        planes,
        orders,
        rows,
        cols,
        stride,
        first,
        count,
        out_stride,
        run_count,
        plane_count,
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
