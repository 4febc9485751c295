//! All measures that come from sums over a window's counts, in squares of up to 16 classes: at the cost of Shannon's entropy.
//!
//! The [march](super::strip) is that of [`entropy_columns`](fn@super::entropy_columns); what follows the counts are the integers of
//! [`entropy_measures`](fn@crate::entropy::entropy_measures), Σ F(n) in 62 bits, Σ n² and how many n are not 0, and the formulas are the
//! same, so results are bit-identical (except where a formula adds up numbers that are no integers). There is no sum that slides: each is
//! computed from 16 counts.

use simt::global::{In, Out};
use simt::shared::Shared;
use simt::{kernel, shared, thread, unroll, warp};

use super::COLUMNS_THREADS;
use super::counters::{Counts as _, Packed, Steps};
use super::strip::{Finish, Frame, Windows};
use crate::entropy::formula::{Counted, Counts, Formulas, MEASURES_COMPLETE, MEASURES_FILL, Stored};

shared! {
    /// The four windows of each thread.
    static COLUMNS_WINDOWS: [u32; 8192];
}

/// The index of the first half of a thread's window k.
#[inline(always)]
fn index(k: u32, t: u32) -> u32 {
    4 * (2 * k * COLUMNS_THREADS + t)
}

/// Counts of 16 classes, to be added up.
#[derive(Clone, Copy)]
struct Sums([u32; 8]);

/// Both counts of a word.
#[inline(always)]
fn halves(word: u32) -> [u32; 2] {
    [word & 0xFFFF, word >> 16]
}

impl Sums {
    #[inline(always)]
    fn squares(&self) -> u32 {
        let (mut squares, mut w) = (0u32, 0);
        while w < 8 {
            let [low, high] = halves(self.0[w]);
            squares = squares.wrapping_add(low * low).wrapping_add(high * high);
            w += 1;
        }
        squares
    }

    #[inline(always)]
    fn classes(&self) -> u32 {
        let (mut both, mut w) = (0, 0);
        while w < 8 {
            // Bit 15 of a half: set when any bit of it is. No carry leaves a half.
            let nonzero = ((self.0[w] & 0x7FFF_7FFF) + 0x7FFF_7FFF) | self.0[w];
            both += nonzero >> 15 & 0x0001_0001;
            w += 1;
        }
        let [low, high] = halves(both);
        low + high
    }
}

impl Counts for Sums {
    #[inline(always)]
    fn most(&self) -> u32 {
        let (mut most, mut w) = (0, 0);
        while w < 8 {
            let [low, high] = halves(self.0[w]);
            most = most.max(low).max(high);
            w += 1;
        }
        most
    }

    #[inline(always)]
    fn sum(&self, f: impl Fn(u32) -> f64) -> f64 {
        let (mut sum, mut w) = (0.0, 0);
        while w < 8 {
            let [low, high] = halves(self.0[w]);
            sum += f(low) + f(high);
            w += 1;
        }
        sum
    }
}

/// The table of F(n) = n·log2 n in 62 bits, as a lane sees it, and the sums made of counts.
#[derive(Clone, Copy)]
struct Measures<R: Stored, const LOGS: bool, const NEAR: bool> {
    near: Shared<u64>,
    far: In<u64>,
    /// Bytes from an entry to the next, and the lane's byte offset in an entry.
    step: u32,
    lane: u32,
    unit: f64,
    formulas: Formulas,
    rule: u32,
    least: u32,
    out: Out<R>,
    /// Elements from a plane of results to the next.
    plane: usize,
}

impl<R: Stored, const LOGS: bool, const NEAR: bool> Measures<R, LOGS, NEAR> {
    #[inline(always)]
    fn f(&self, n: u32) -> u64 {
        if NEAR { self.near.load_at(n * self.step + self.lane) } else { self.far.load(n as usize) }
    }
}

impl<R: Stored, const LOGS: bool, const NEAR: bool> Finish<Packed> for Measures<R, LOGS, NEAR> {
    #[inline(always)]
    fn row(self, windows: &Windows<'_>, mut window: Packed, steps: &[Steps; 4]) {
        let &Windows { frame, y, at, .. } = windows;
        let r = (frame.size / 2) as i32;
        let rows_inside = y >= r && y + r < frame.rows;
        // One window after another, not unrolled: the formulas are large. Arrays indexed at run time cannot be in
        // registers; so the counts are in shared memory, each lane's apart.
        let waiting = shared::array::<COLUMNS_WINDOWS>();
        let t = thread::thread_idx_x();
        unroll!(K in 3 2 1 0 => {
            let [a, b, c, d, e, f, g, h] = window.0;
            waiting.store4(index(K as u32, t), [a, b, c, d]);
            waiting.store4(index(K as u32, t) + 4 * COLUMNS_THREADS, [e, f, g, h]);
            window.subtract(&steps[K]);
        });
        let mut k = 0;
        // A row of results may end where the grid's does.
        while k < 4 && windows.x + (k as i32) < frame.cols {
            let ([a, b, c, d], [e, f, g, h]) =
                (waiting.load4(index(k, t)), waiting.load4(index(k, t) + 4 * COLUMNS_THREADS));
            let counts = [a, b, c, d, e, f, g, h];
            let total = windows.cells(k, &Packed(counts));
            let (mut logs, mut w) = (0u64, 0);
            while LOGS && w < 8 {
                let [low, high] = halves(counts[w]);
                logs = logs.wrapping_add(self.f(low)).wrapping_add(self.f(high));
                w += 1;
            }
            let sums = Sums(counts);
            let x = windows.x + k as i32;
            let all = rows_inside && x >= r && x + r < frame.cols;
            let there = total >= self.least
                && (windows.is_valid(k) || self.rule & MEASURES_FILL != 0)
                && (all || self.rule & MEASURES_COMPLETE == 0);
            let bits =
                if LOGS { self.f(total).wrapping_sub(logs) as f64 * self.unit / f64::from(total.max(1)) } else { 0.0 };
            let counted = Counted { total, classes: sums.classes(), squares: sums.squares(), bits };
            let mut p = 0;
            while p < self.formulas.count {
                let value = if there { R::of(self.formulas.result(p, &counted, &sums)) } else { R::NAN };
                self.out.store(p as usize * self.plane + at + k as usize, value);
                p += 1;
            }
            k += 1;
        }
    }
}

/// The parameters of both kernels besides their output.
#[derive(Clone, Copy)]
struct Given {
    table: In<u64>,
    entries: u32,
    copies: u32,
    formulas: Formulas,
    rule: u32,
    least: u32,
    unit: f64,
}

#[inline(always)]
fn measures<R: Stored>(frame: &Frame, heads: In<u32>, out: Out<R>, count: u32, given: Given) {
    let Given { table, entries, copies, formulas, rule, least, unit } = given;
    let near = shared::dynamic::<u64>().slice(0, entries * copies);
    let mut n = thread::thread_idx_x();
    while n < entries * copies {
        // The maximum tells the compiler that it never divides by 0.
        near.store(n, table.load((n / copies.max(1)) as usize));
        n += COLUMNS_THREADS;
    }
    thread::sync_threads();
    if frame.begin >= frame.end {
        return;
    }
    let lane = (warp::lane_id() & copies.wrapping_sub(1)) * 8;
    let (step, far) = (copies * 8, table);
    let plane = count as usize * frame.out_stride as usize;
    macro_rules! march {
        ($logs:literal, $near:literal) => {{
            let finish: Measures<R, $logs, $near> =
                Measures { near, far, step, lane, unit, formulas, rule, least, out, plane };
            frame.march_with::<_, Packed, true>(heads, finish)
        }};
    }
    match (entries > 1, copies > 0) {
        (false, _) => march!(false, false),
        (true, false) => march!(true, false),
        (true, true) => march!(true, true),
    }
}

macro_rules! measuring {
    ($(#[$doc:meta])* $name:ident, $real:ident) => {
        $(#[$doc])*
        #[kernel(threads = 256, blocks = 2)]
        pub unsafe fn $name(
            cells: In<u8>,
            out: Out<$real>,
            table: In<u64>,
            planes: In<u64>,
            orders: In<f64>,
            heads: In<u32>,
            rows: u32,
            cols: u32,
            stride: u32,
            first: u32,
            count: u32,
            out_stride: u32,
            plane_count: u32,
            rule: u32,
            least: u32,
            entries: u32,
            size: u32,
            nodata: u32,
            copies: u32,
            rows_each: u32,
            unit: f64,
        ) {
            let frame =
                Frame::of_warp(cells, (rows, cols, stride), (first, count, out_stride), size, nodata, rows_each);
            let formulas = Formulas { planes, orders, count: plane_count };
            measures::<$real>(&frame, heads, out, count, Given { table, entries, copies, formulas, rule, least, unit });
        }
    };
}

measuring! {
    /// Measures of a `size` × `size` window of up to 16 classes, `size` being at most [`COLUMNS_SIZE`](super::COLUMNS_SIZE), in blocks of [`COLUMNS_THREADS`] threads that lie as those of
    /// [`entropy_columns`](fn@super::entropy_columns).
    ///
    /// `planes`, `plane_count`, `orders`, `rule`, `least` and `unit` are those of [`entropy_measures`](fn@crate::entropy::entropy_measures), and so are
    /// the results. `table` holds F(n) for n below `entries`, which is size² + 1, or 1 where no plane needs F. `copies` (a power of two up to 16)
    /// copies of it lie in dynamic shared memory, 8 bytes an entry; 0 leaves it in global memory. `heads` are those of
    /// [`entropy_columns_heads`](fn@super::entropy_columns_heads).
    ///
    /// # Safety
    /// As [`entropy_columns`](fn@super::entropy_columns), but that `out` need not be aligned to more than its elements, and holds `plane_count` · `count` rows
    /// of `out_stride` elements, at least `cols`; and `planes`, `orders` are as
    /// [`entropy_measures`](fn@crate::entropy::entropy_measures) has them.
    entropy_columns_measures, f32
}

measuring! {
    /// [`entropy_columns_measures`](fn@entropy_columns_measures) with f64 results.
    ///
    /// # Safety
    /// As [`entropy_columns_measures`](fn@entropy_columns_measures).
    entropy_columns_measures_f64, f64
}
