//! A histogram that slides down the rows (Huang, Yang and Tang, 1979), one thread two neighbouring columns.
//!
//! ```text
//! each thread:  build the histograms of its first two windows
//!               for every row:  write F(N) − T, where T = Σ F(n_i)
//!                               for every column of the windows:
//!                                   subtract the cell that leaves above:  T −= F(n) − F(n − 1)
//!                                   add the one that enters below, likewise; nothing if they are of one level
//! ```
//!
//! T follows the counts, so a row costs 2·size updates for any number of levels.
//!
//! The obvious version gives a thread one column. Two neighbouring windows share all columns but the outermost two: so a word has the counts of one level in
//! both (16 bits each: 255² = 65,025 fits), and an update of a shared column changes both counts by one load, one addition and one store. The words of a
//! level are contiguous, a thread's in a bank of its own.
//!
//! An update depends on the store before it, which may have been to the same counter, and occupancy is low, since few threads' histograms fit on a
//! multiprocessor; so the time depends on the updates in flight and on their number of instructions. The cell that leaves and the one that enters are
//! one update. Cells are loaded four at a time. One byte permutation turns a cell into the
//! address of its counters, since a level's words are 256 bytes: byte 1 is the level, byte 0 the thread. Counts are kept as byte offsets into the differences of
//! F. And nodata is a level like others, whose part of N and T is subtracted when a row is written.
//!
//! The differences of F follow the histograms when they fit there (`shared_entries`), otherwise they are taken
//! from the table in global memory, where the caches keep its lower end.
//!
//! Windows that the grid's left or right edge clips are counted cell by cell, by the warps that have any. `sums` has the arithmetic of sums and of results.

use simt::global::{In, Out};
use simt::math::{byte_permute, funnel_shift_right};
use simt::scalar::Scalar;
use simt::shared::{self, Shared};
use simt::{four, kernel, thread, warp};

use super::columns::surveyed;

mod sums;

use sums::{Fixed, Result};

/// Threads of a block, each with two columns: as many as have words in 256 bytes.
pub const HISTOGRAM_THREADS: u32 = 64;
/// Columns of a block.
pub const HISTOGRAM_COLS: u32 = 2 * HISTOGRAM_THREADS;

/// A cell of both windows, of the first, of the second.
const BOTH: u32 = 0x0001_0001;
const FIRST: u32 = 0x0000_0001;
const SECOND: u32 = 0x0001_0000;

/// The counters of one thread and its running sums. With `NEAR` the differences of F are in shared memory.
#[derive(Clone, Copy)]
struct Histogram<A: Scalar, const NEAR: bool> {
    /// Of each level: the counts of both windows, each times [`UNIT`](Self::UNIT).
    counters: Shared<u32>,
    /// F(n) at `n`, in global memory.
    table: In<A>,
    /// F(n + 1) − F(n) at `n`, in shared memory.
    steps: Shared<A>,
    /// The thread's byte offset in the counters of a level.
    lane: u32,
    /// Σ F(n) over the levels, of both windows; and what is not in it yet: to be added, to be taken away.
    sums: [A; 2],
    pending: [[A; 2]; 2],
}

impl<A: Fixed, const NEAR: bool> Histogram<A, NEAR> {
    /// What a cell adds to its counter: near differences are found by their bytes.
    const UNIT: u32 = if NEAR { size_of::<A>() as u32 } else { 1 };

    /// F(n + 1) − F(n), for n = `count` / [`UNIT`](Self::UNIT).
    #[inline(always)]
    fn step(&self, count: u32) -> A {
        if NEAR {
            self.steps.load_at(count)
        } else {
            self.table.load(count as usize + 1).sub(self.table.load(count as usize))
        }
    }

    /// How many cells of `level` the windows have.
    #[inline(always)]
    fn counts(&self, level: u32) -> [u32; 2] {
        let both = self.counters.load_at(level << 8 | self.lane);
        [(both & 0xFFFF) / Self::UNIT, (both >> 16) / Self::UNIT]
    }

    /// The byte offset of the counters of the level that is byte `k` of four.
    #[inline(always)]
    fn offset(&self, cells: u32, k: u32) -> u32 {
        byte_permute(cells, self.lane, 0x5504 | k << 4)
    }

    /// F(n + 1) − F(n) for both counts of a word, of those that `BY` says.
    #[inline(always)]
    fn steps<const BY: u32>(&self, lower: u32) -> [A; 2] {
        [
            if BY & FIRST != 0 { self.step(lower & 0xFFFF) } else { A::ZERO },
            if BY & SECOND != 0 { self.step(lower >> 16) } else { A::ZERO },
        ]
    }

    /// Adds the differences of the last update.
    #[inline(always)]
    fn add_up(&mut self) {
        let [brought, took] = self.pending;
        self.sums = [self.sums[0].add(brought[0]).sub(took[0]), self.sums[1].add(brought[1]).sub(took[1])];
    }

    /// Counts cell `k` of four in `old` less, and in `new` more, where there are such, in the windows that `BY` says.
    ///
    /// Both counters are loaded before either is stored: of cells of one level neither changes anything. Differences of F are added up once the
    /// next cells' counters are in flight. There is no branch that lanes could take differently: on a branch inside the loop over the window's
    /// columns lanes diverge and may not reconverge before its end, which was measured to cost a factor of 100.
    #[inline(always)]
    fn exchange<const LEAVES: bool, const ENTERS: bool, const BY: u32>(&mut self, old: u32, new: u32, k: u32) {
        let (from, to) = (self.offset(old, k), self.offset(new, k));
        let by = if LEAVES && ENTERS && from == to { 0 } else { BY * Self::UNIT };
        let leaving = if LEAVES { self.counters.load_at(from) } else { 0 };
        let entering = if ENTERS { self.counters.load_at(to) } else { 0 };
        self.add_up();
        if LEAVES {
            self.counters.store_at(from, leaving.wrapping_sub(by));
            self.pending[1] = self.steps::<BY>(leaving.wrapping_sub(by));
        }
        if ENTERS {
            self.counters.store_at(to, entering.wrapping_add(by));
            self.pending[0] = self.steps::<BY>(entering);
        }
    }
}

/// The grid, the rows to compute and the window, from the kernel's parameters.
#[derive(Clone, Copy)]
struct Frame<R: Scalar> {
    cells: In<u8>,
    out: Out<R>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    size: u32,
    levels: u32,
    nodata: u32,
    shared_entries: u32,
    rows_each: u32,
    scale: R,
}

/// The columns that the two windows of a thread see.
#[derive(Clone, Copy)]
struct Columns {
    cells: In<u8>,
    cols: i32,
    /// The first, which may lie outside the grid.
    left: i32,
    /// Columns of a window; both together have one more.
    size: i32,
    /// Whether no lane of the warp sees anything outside the grid.
    inside: bool,
}

impl Columns {
    /// Word `n` of the one that begins at byte `row` and of those before and after it; or the row's last.
    #[inline(always)]
    fn word(&self, row: usize, n: i32) -> u32 {
        self.cells.cast::<u32>().load(row / 4 + n.min((self.cols - 1) >> 2) as usize)
    }

    /// Subtracts the cells of the row that begins at byte `above`, and adds those of the row at `below`, where there are such rows.
    #[inline(always)]
    fn slide<A: Fixed, const LEAVES: bool, const ENTERS: bool, const NEAR: bool>(
        &self,
        histogram: &mut Histogram<A, NEAR>,
        rows: (usize, usize),
    ) {
        if self.inside {
            self.slide_inside::<A, LEAVES, ENTERS, NEAR>(histogram, rows);
        } else {
            self.slide_clipped::<A, LEAVES, ENTERS, NEAR>(histogram, rows);
        }
    }

    /// One column of some of the windows.
    #[inline(always)]
    fn column<A: Fixed, const LEAVES: bool, const ENTERS: bool, const NEAR: bool, const BY: u32>(
        &self,
        histogram: &mut Histogram<A, NEAR>,
        (above, below): (usize, usize),
        x: i32,
    ) {
        let old = if LEAVES { self.cells.load(above + x as usize).into() } else { 0 };
        let new = if ENTERS { self.cells.load(below + x as usize).into() } else { 0 };
        histogram.exchange::<LEAVES, ENTERS, BY>(old, new, 0);
    }

    #[inline(always)]
    fn slide_inside<A: Fixed, const LEAVES: bool, const ENTERS: bool, const NEAR: bool>(
        &self,
        histogram: &mut Histogram<A, NEAR>,
        rows: (usize, usize),
    ) {
        let from = self.left + 1;
        let shift = 8 * (from & 3) as u32;
        let pair = |n: i32| {
            let old = if LEAVES { self.word(rows.0, n) } else { 0 };
            [old, if ENTERS { self.word(rows.1, n) } else { 0 }]
        };
        let (mut n, mut shared) = (from >> 2, self.size - 1);
        let (mut low, mut high) = (pair(n), pair(n + 1));
        self.column::<A, LEAVES, ENTERS, NEAR, FIRST>(histogram, rows, self.left);
        while shared > 0 {
            // Loaded ahead of its use.
            let next = pair(n + 2);
            n += 1;
            let old = funnel_shift_right(low[0], high[0], shift);
            let new = funnel_shift_right(low[1], high[1], shift);
            (low, high) = (high, next);
            // An even number of columns is shared.
            four!(K => {
                if K < 2 || shared > 2 {
                    histogram.exchange::<LEAVES, ENTERS, BOTH>(old, new, K as u32);
                }
            });
            shared -= 4;
        }
        self.column::<A, LEAVES, ENTERS, NEAR, SECOND>(histogram, rows, self.left + self.size);
    }

    #[inline(always)]
    fn slide_clipped<A: Fixed, const LEAVES: bool, const ENTERS: bool, const NEAR: bool>(
        &self,
        histogram: &mut Histogram<A, NEAR>,
        rows: (usize, usize),
    ) {
        for x in self.left.max(0)..(self.left + self.size).min(self.cols) {
            self.column::<A, LEAVES, ENTERS, NEAR, FIRST>(histogram, rows, x);
        }
        for x in (self.left + 1).max(0)..(self.left + 1 + self.size).min(self.cols) {
            self.column::<A, LEAVES, ENTERS, NEAR, SECOND>(histogram, rows, x);
        }
    }
}

#[inline(always)]
fn march<A: Fixed, R: Result<A>, const NEAR: bool>(frame: &Frame<R>, mut histogram: Histogram<A, NEAR>) {
    let &Frame { cells, out, rows, cols, stride, first, count, out_stride, size, nodata, rows_each, scale, .. } = frame;
    let x = 2 * thread::index_x();
    let begin = first + thread::block_idx_y() * rows_each;
    let end = (begin + rows_each).min(first + count);
    if begin >= end {
        return;
    }
    let r = size / 2;
    let left = x as i32 - r as i32;
    let inside = warp::warp_vote_all(warp::FULL, left >= 0 && x + 1 + r < cols);
    let columns = Columns { cells, cols: cols as i32, left, size: size as i32, inside };
    let row_at = |y: u32| y as usize * stride as usize;

    for y in begin.saturating_sub(r)..(begin + r + 1).min(rows) {
        columns.slide::<A, false, true, NEAR>(&mut histogram, (0, row_at(y)));
    }
    for y in begin..end {
        histogram.add_up();
        histogram.pending = [[A::ZERO; 2]; 2];
        let height = (y + r + 1).min(rows) - y.saturating_sub(r);
        let hidden = if nodata <= 255 { histogram.counts(nodata) } else { [0; 2] };
        let mut k = 0;
        while k < 2 && x + k < cols {
            let (x, mut sum) = (x + k, histogram.sums[k as usize]);
            let width = (x + r + 1).min(cols) - x.saturating_sub(r);
            let total = height * width - hidden[k as usize];
            let mut valid = true;
            if nodata <= 255 {
                sum = sum.sub(histogram.table.load(hidden[k as usize] as usize));
                valid = u32::from(cells.load(row_at(y) + x as usize)) != nodata;
            }
            let h = R::mean(histogram.table.load(total as usize).sub(sum), total, scale);
            out.store((y - first) as usize * out_stride as usize + x as usize, if valid { h } else { R::NAN });
            k += 1;
        }

        // Rows outside the grid neither enter nor leave; these branches are the same for the whole block.
        let (below, above) = (y + r + 1, y.wrapping_sub(r));
        let rows_of = (row_at(above), row_at(below));
        if y + 1 == end {
            return;
        } else if below < rows && above <= y {
            columns.slide::<A, true, true, NEAR>(&mut histogram, rows_of);
        } else if below < rows {
            columns.slide::<A, false, true, NEAR>(&mut histogram, rows_of);
        } else if above <= y {
            columns.slide::<A, true, false, NEAR>(&mut histogram, rows_of);
        }
    }
}

#[inline(always)]
fn histogram<A: Fixed, R: Result<A>>(frame: Frame<R>, table: In<A>) {
    let Frame { levels, shared_entries, .. } = frame;
    // Counters and differences share the dynamic memory, the counters first.
    let words = levels * HISTOGRAM_THREADS;
    let counters = shared::dynamic::<u32>().slice(0, words);
    let steps = shared::dynamic::<A>().slice(words * 4 / size_of::<A>() as u32, shared_entries);

    let t = thread::thread_idx_x();
    let mut n = t;
    while n < shared_entries {
        steps.store(n, table.load(n as usize + 1).sub(table.load(n as usize)));
        n += HISTOGRAM_THREADS;
    }
    let mut n = t;
    while n < words {
        counters.store(n, 0);
        n += HISTOGRAM_THREADS;
    }
    thread::sync_threads();

    let (lane, sums, pending) = (4 * t, [A::ZERO; 2], [[A::ZERO; 2]; 2]);
    if shared_entries > 0 {
        march::<A, R, true>(&frame, Histogram { counters, table, steps, lane, sums, pending });
    } else {
        march::<A, R, false>(&frame, Histogram { counters, table, steps, lane, sums, pending });
    }
}

/// Entropy of a `size` × `size` window, up to 256 levels, in blocks of [`HISTOGRAM_THREADS`] threads.
///
/// Block (bx, by) computes columns bx · [`HISTOGRAM_COLS`].. and the rows by · `rows_each`.. of the `count`.
/// `table` holds F(n) for n = 0..=size² in units of 1/S, then any value (it is added and subtracted again), and `scale` multiplies by what is wanted
/// over S. `shared_entries` is size² + 1 to keep the differences of the table in shared memory, or 0. Dynamic
/// shared memory: `levels` · `HISTOGRAM_THREADS` · 4 bytes, and 4 bytes for each of `shared_entries`.
///
/// Sums may wrap: only N·H has to fit. Nothing is done where `survey`, which begins with what [`entropy_columns_recode`](fn@super::entropy_columns_recode) has
/// found, has fewer than `least` sweeps; it is not read where `least` is 0.
///
/// # Safety
/// `cells` and `out` as for [`entropy_naive`](fn@super::entropy_naive); besides, `cells` is aligned to 4 bytes and `stride` is a multiple of 4; cells are
/// below `levels`, and so is `nodata` or it is above 255; `table` has size² + 2 entries; the launch has the block size and the shared memory above.
#[kernel(threads = 64, blocks = 16)]
pub unsafe fn entropy_histogram(
    cells: In<u8>,
    out: Out<f32>,
    table: In<u32>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    size: u32,
    levels: u32,
    nodata: u32,
    shared_entries: u32,
    rows_each: u32,
    survey: In<u32>,
    least: u32,
    scale: f32,
) {
    if least > 0 && surveyed(|n| survey.load(n)) < least {
        return;
    }
    let frame = Frame {
        cells,
        out,
        rows,
        cols,
        stride,
        first,
        count,
        out_stride,
        size,
        levels,
        nodata,
        shared_entries,
        rows_each,
        scale,
    };
    histogram(frame, table);
}

/// [`entropy_histogram`](fn@entropy_histogram) with a 64-bit table; 8 bytes a table entry.
///
/// For windows so large that 32 bits would be too coarse where nodata leaves few cells.
///
/// # Safety
/// As [`entropy_histogram`](fn@entropy_histogram).
#[kernel(threads = 64, blocks = 16)]
pub unsafe fn entropy_histogram_wide(
    cells: In<u8>,
    out: Out<f32>,
    table: In<u64>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    size: u32,
    levels: u32,
    nodata: u32,
    shared_entries: u32,
    rows_each: u32,
    scale: f32,
) {
    let frame = Frame {
        cells,
        out,
        rows,
        cols,
        stride,
        first,
        count,
        out_stride,
        size,
        levels,
        nodata,
        shared_entries,
        rows_each,
        scale,
    };
    histogram(frame, table);
}

/// [`entropy_histogram`](fn@entropy_histogram) with a 64-bit table and f64 results; 8 bytes a table entry.
///
/// # Safety
/// As [`entropy_histogram`](fn@entropy_histogram).
#[kernel(threads = 64, blocks = 16)]
pub unsafe fn entropy_histogram_f64(
    cells: In<u8>,
    out: Out<f64>,
    table: In<u64>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    size: u32,
    levels: u32,
    nodata: u32,
    shared_entries: u32,
    rows_each: u32,
    scale: f64,
) {
    let frame = Frame {
        cells,
        out,
        rows,
        cols,
        stride,
        first,
        count,
        out_stride,
        size,
        levels,
        nodata,
        shared_entries,
        rows_each,
        scale,
    };
    histogram(frame, table);
}
