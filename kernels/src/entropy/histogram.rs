//! A histogram that slides down the rows (Huang, Yang and Tang, 1979), one thread a column.
//!
//! ```text
//! each thread:  build the histogram of its first window
//!               for every row:  write F(N) − T, where T = Σ F(n_i)
//!                               for every column of the window:
//!                                   add the cell that enters below:  T += F(n + 1) − F(n)
//!                                   take away the one that leaves above, likewise
//! ```
//!
//! T follows the counts, so a row costs 2·size updates whatever the number of levels.
//! The histograms lie in shared memory, 16 bits a counter (255² = 65,025 fits). Neighbouring lanes
//! must not share a bank, and two counters do share a word: so the word of lane l holds the counters of lane l
//! of *two warps*, and every access of a warp touches 32 banks.
//!
//! The differences of F lie behind the histograms when they fit there (`shared_entries`), otherwise they are taken
//! from the table in global memory, where the caches keep its lower end.

use simt::bits::reciprocal_fast;
use simt::global::{In, Out};
use simt::scalar::Scalar;
use simt::shared::{self, Shared};
use simt::{kernel, thread};

/// Threads of a block: a multiple of 64, since two warps share the words of their counters.
pub const HISTOGRAM_THREADS: u32 = 128;

/// The integers that Σ F(n) is kept in: 32 bits where that is exact enough, otherwise 64.
trait Fixed: Scalar {
    const ZERO: Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
}

/// The arithmetic of results: `rest / n · scale`, `rest` being F(n) − Σ F(n_i).
trait Result<A>: Scalar {
    const NAN: Self;
    fn mean(rest: A, n: u32, scale: Self) -> Self;
}

macro_rules! fixed {
    ($($t:ty)*) => {$(
        impl Fixed for $t {
            const ZERO: $t = 0;
            #[inline(always)]
            fn add(self, other: $t) -> $t {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: $t) -> $t {
                self.wrapping_sub(other)
            }
        }
    )*};
}
fixed!(u32 u64);

impl Result<u32> for f32 {
    const NAN: f32 = f32::NAN;
    #[inline(always)]
    fn mean(rest: u32, n: u32, scale: f32) -> f32 {
        rest as f32 * (reciprocal_fast(n as f32) * scale)
    }
}

impl Result<u64> for f32 {
    const NAN: f32 = f32::NAN;
    #[inline(always)]
    fn mean(rest: u64, n: u32, scale: f32) -> f32 {
        rest as f32 * (reciprocal_fast(n as f32) * scale)
    }
}

impl Result<u64> for f64 {
    const NAN: f64 = f64::NAN;
    #[inline(always)]
    fn mean(rest: u64, n: u32, scale: f64) -> f64 {
        rest as f64 / f64::from(n) * scale
    }
}

/// The counters of one thread and its running sum.
#[derive(Clone, Copy)]
struct Histogram<A: Scalar> {
    counters: Shared<u16>,
    /// Where the thread's counter of level 0 is; the next level's is `HISTOGRAM_THREADS` further.
    column: u32,
    /// F(n) at `n`, in global memory.
    table: In<A>,
    /// F(n + 1) − F(n) at `n`, in shared memory.
    steps: Shared<A>,
    /// The value that is not counted, or above 255.
    nodata: u32,
    /// Σ F(n) over the levels.
    sum: A,
    /// Cells counted.
    total: u32,
}

impl<A: Fixed> Histogram<A> {
    /// F(n + 1) − F(n).
    #[inline(always)]
    fn step<const NEAR: bool>(&self, n: u32) -> A {
        if NEAR { self.steps.load(n) } else { self.table.load(n as usize + 1).sub(self.table.load(n as usize)) }
    }

    /// Counts one cell of `level` more, or (`LEAVES`) one less.
    ///
    /// Without a branch that lanes could take differently: on a branch inside the loop over the window's
    /// columns lanes part and may not meet again before its end, which was measured to cost a factor of 100. So
    /// nodata goes through the same motions in its own counter and leaves the sum alone.
    #[inline(always)]
    fn count<const LEAVES: bool, const NEAR: bool, const NODATA: bool>(&mut self, level: u32) {
        let at = level * HISTOGRAM_THREADS + self.column;
        let n = self.counters.load(at);
        let counts = !NODATA || level != self.nodata;
        let (after, lower) = if LEAVES {
            let after = n.wrapping_sub(counts as u16);
            (after, after)
        } else {
            (n.wrapping_add(counts as u16), n)
        };
        self.counters.store(at, after);
        let step = self.step::<NEAR>(u32::from(lower));
        let step = if counts { step } else { A::ZERO };
        if LEAVES {
            self.sum = self.sum.sub(step);
            self.total -= u32::from(counts);
        } else {
            self.sum = self.sum.add(step);
            self.total += u32::from(counts);
        }
    }
}

/// The grid, the rows to compute and the window, as they come to the kernel.
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

#[inline(always)]
fn march<A: Fixed, R: Result<A>, const NEAR: bool, const NODATA: bool>(frame: &Frame<R>, mut histogram: Histogram<A>) {
    let &Frame { cells, out, rows, cols, stride, first, count, out_stride, size, rows_each, scale, .. } = frame;
    let x = thread::index_x();
    let begin = first + thread::block_idx_y() * rows_each;
    let end = (begin + rows_each).min(first + count);
    if x >= cols || begin >= end {
        return;
    }
    let r = size / 2;
    let (left, right) = (x.saturating_sub(r), (x + r + 1).min(cols));
    let row_at = |y: u32| y as usize * stride as usize;
    let level = |row: usize, wx: u32| u32::from(cells.load(row + wx as usize));

    for y in begin.saturating_sub(r)..(begin + r + 1).min(rows) {
        for wx in left..right {
            histogram.count::<false, NEAR, NODATA>(level(row_at(y), wx));
        }
    }
    for y in begin..end {
        let rest = histogram.table.load(histogram.total as usize).sub(histogram.sum);
        let mut h = R::mean(rest, histogram.total, scale);
        if NODATA && level(row_at(y), x) == histogram.nodata {
            h = R::NAN;
        }
        out.store((y - first) as usize * out_stride as usize + x as usize, h);

        // Rows outside the grid neither enter nor leave; these branches are the same for the whole block.
        let (below, above) = (y + r + 1, y.wrapping_sub(r));
        let (into, from) = (row_at(below), row_at(above));
        if y + 1 == end {
            return;
        } else if below < rows && above <= y {
            // Leaving comes first: the other way round a counter would for a moment exceed the window.
            for wx in left..right {
                let (old, new) = (level(from, wx), level(into, wx));
                histogram.count::<true, NEAR, NODATA>(old);
                histogram.count::<false, NEAR, NODATA>(new);
            }
        } else if below < rows {
            for wx in left..right {
                histogram.count::<false, NEAR, NODATA>(level(into, wx));
            }
        } else if above <= y {
            for wx in left..right {
                histogram.count::<true, NEAR, NODATA>(level(from, wx));
            }
        }
    }
}

#[inline(always)]
fn histogram<A: Fixed, R: Result<A>>(frame: Frame<R>, table: In<A>) {
    let Frame { levels, nodata, shared_entries, .. } = frame;
    // Counters and differences share the dynamic memory, the counters first.
    let counter_bytes = levels * HISTOGRAM_THREADS * 2;
    let counters = shared::dynamic::<u16>().slice(0, levels * HISTOGRAM_THREADS);
    let steps = shared::dynamic::<A>().slice(counter_bytes / size_of::<A>() as u32, shared_entries);

    let t = thread::thread_idx_x();
    let mut n = t;
    while n < shared_entries {
        steps.store(n, table.load(n as usize + 1).sub(table.load(n as usize)));
        n += HISTOGRAM_THREADS;
    }
    // Lane l of warps 2a and 2a + 1: the two halves of word 32a + l.
    let column = (t / 64 * 32 + t % 32) * 2 + t / 32 % 2;
    for level in 0..levels {
        counters.store(level * HISTOGRAM_THREADS + column, 0);
    }
    thread::sync_threads();

    let histogram = Histogram { counters, column, table, steps, nodata, sum: A::ZERO, total: 0 };
    match (shared_entries > 0, nodata <= 255) {
        (true, false) => march::<A, R, true, false>(&frame, histogram),
        (true, true) => march::<A, R, true, true>(&frame, histogram),
        (false, false) => march::<A, R, false, false>(&frame, histogram),
        (false, true) => march::<A, R, false, true>(&frame, histogram),
    }
}

/// Entropy of a `size` × `size` window, up to 256 levels, in blocks of [`HISTOGRAM_THREADS`] threads.
///
/// Block (bx, by) computes columns bx · `HISTOGRAM_THREADS`.. and the rows by · `rows_each`.. of the `count`.
/// `table` holds F(n) for n = 0..=size² in units of 1/S, and `scale` multiplies by what is wanted
/// over S. `shared_entries` is size² to keep the differences of the table in shared memory, or 0. Dynamic
/// shared memory: `levels` · `HISTOGRAM_THREADS` · 2 bytes, and 4 bytes for each of `shared_entries`.
///
/// # Safety
/// `cells` and `out` as for [`entropy_naive`](fn@super::entropy_naive); cells are below `levels`, and so is `nodata` or it
/// is above 255; `table` has size² + 1 entries; the launch has the block size and the shared memory above.
#[kernel(threads = 128)]
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

/// [`entropy_histogram`](fn@entropy_histogram) with a 64-bit table; 8 bytes a table entry.
///
/// For windows so large that 32 bits would be spread too thin where nodata leaves few cells.
///
/// # Safety
/// As [`entropy_histogram`](fn@entropy_histogram).
#[kernel(threads = 128)]
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
#[kernel(threads = 128)]
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
