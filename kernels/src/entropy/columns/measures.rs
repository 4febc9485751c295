//! All measures that come from sums over a window's counts, in squares of up to 16 classes: at the cost of Shannon's entropy.
//!
//! The [march](super::strip) is that of [`entropy_columns`](fn@super::entropy_columns); what follows the counts are the integers of
//! [`entropy_measures`](fn@crate::entropy::entropy_measures), Σ F(n) in 62 bits, Σ n² and how many n are not 0, and the formulas are the
//! same, so results are bit-identical (except where a formula adds up numbers that are no integers). There is no sum that slides: each is
//! computed from 16 counts. One measure alone whose formula is short has kernels of its own, with the same bits ([`quick`](super::quick)).

use simt::global::{In, Out};
use simt::{kernel, shared, thread, unroll};

use super::COLUMNS_THREADS;
use super::counters::Counts as _;
use super::counters::{Packed, Steps};
use super::logs::{self, Logs};
use super::rules::Rules;
use super::strip::{Finish, Frame, Windows};
use super::sums::Sums;
use crate::entropy::formula::{Counted, Formulas, Stored};

shared! {
    /// The four windows of each thread.
    static COLUMNS_WINDOWS: [u32; 8192];
}

/// The index of the first half of a thread's window k.
#[inline(always)]
fn index(k: u32, t: u32) -> u32 {
    4 * (2 * k * COLUMNS_THREADS + t)
}

/// Sums made of counts, and any formulas.
#[derive(Clone, Copy)]
struct Measures<R: Stored, const LOGS: bool, const NEAR: bool> {
    logs: Logs<NEAR>,
    unit: f64,
    formulas: Formulas,
    rules: Rules,
    out: Out<R>,
    /// Elements from a plane of results to the next.
    plane: usize,
}

impl<R: Stored, const LOGS: bool, const NEAR: bool> Finish<Packed> for Measures<R, LOGS, NEAR> {
    #[inline(always)]
    fn row(self, windows: &Windows<'_>, mut window: Packed, steps: &[Steps; 4]) {
        let &Windows { frame, at, .. } = windows;
        // One window after another, not unrolled: the formulas are large. Arrays indexed at run time cannot be in
        // registers; so the counts are in shared memory, each lane's apart.
        let rules = self.rules.of_row(windows);
        let (waiting, t) = (shared::array::<COLUMNS_WINDOWS>(), thread::thread_idx_x());
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
            let sums = Sums(counts);
            let bits =
                if LOGS { self.logs.rest(total, &counts) as f64 * self.unit / f64::from(total.max(1)) } else { 0.0 };
            let there = rules.has_result(windows, k, total);
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

/// The parameters of a kernel for measures besides its output.
#[derive(Clone, Copy)]
pub(super) struct Given {
    pub table: In<u64>,
    pub entries: u32,
    pub copies: u32,
    pub formulas: Formulas,
    pub rules: Rules,
    pub unit: f64,
    /// Rows of a plane of results.
    pub count: u32,
}

#[inline(always)]
fn measures<R: Stored>(frame: &Frame, heads: In<u32>, out: Out<R>, given: Given) {
    let Given { table, entries, copies, formulas, rules, unit, count } = given;
    let near = logs::copied(table, entries, copies);
    if frame.begin >= frame.end {
        return;
    }
    let plane = count as usize * frame.out_stride as usize;
    macro_rules! march {
        ($logs:literal, $near:literal) => {{
            let logs = Logs::new(near, table, copies);
            let finish: Measures<R, $logs, $near> = Measures { logs, unit, formulas, rules, out, plane };
            frame.march_with::<_, Packed, true>(heads, finish)
        }};
    }
    match (entries > 1, copies > 0) {
        (false, _) => march!(false, false),
        (true, false) => march!(true, false),
        (true, true) => march!(true, true),
    }
}

/// A kernel for measures, and the function that does its work.
macro_rules! measuring {
    ($(#[$doc:meta])* $name:ident, $real:ident, $work:path) => {
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
            let given = Given { table, entries, copies, formulas, rules: Rules { rule, least }, unit, count };
            $work(&frame, heads, out, given);
        }
    };
}
pub(super) use measuring;

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
    entropy_columns_measures, f32, measures
}

measuring! {
    /// [`entropy_columns_measures`](fn@entropy_columns_measures) with f64 results.
    ///
    /// # Safety
    /// As [`entropy_columns_measures`](fn@entropy_columns_measures).
    entropy_columns_measures_f64, f64, measures
}
