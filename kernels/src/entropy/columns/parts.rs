//! Parts of measures: the whole numbers that most measures come from, of any number of classes, 16 at a time.
//!
//! ```text
//! a sweep:   adds what its 16 classes contribute to each window: Σ F(n) in 62 bits, Σ n², how many n are not 0, Σ n
//! last:      a thread a cell makes results of them, by any formulas
//! ```
//!
//! [`entropy_columns_measures`](fn@super::entropy_columns_measures) has all counts of a window at once, and computes results from them. Sweeps of 16 classes
//! have not; what they know has to wait, and all of it is sums. They are 16 bytes a cell: written and read once for every sweep, which is hidden
//! behind counting. The number of valid cells is one of them, so no sweep has to count the cells of all classes, as those for Shannon's entropy alone do, whose
//! table depends on it.
//!
//! Parts are in memory as Σ F of all cells, then Σ n² of all cells, then Σ n · 65,536 and how many n are not 0: both at most 65,025. Results are
//! computed as [`entropy_measures`](fn@crate::entropy::entropy_measures) computes them from the same whole numbers, so their bits are the same.

use simt::global::{In, Out};
use simt::shared::Shared;
use simt::{kernel, thread, unroll};

use super::COLUMNS_THREADS;
use super::counters::{Counts as _, Packed, Steps};
use super::logs::{self, Logs};
use super::strip::{Finish, Frame, Windows};
use super::sums::Sums;
use super::tiles::{Cut, Planes, Tiles, goes_on};
use crate::entropy::formula::{Counted, Counts, Formulas, MEASURES_COMPLETE, MEASURES_FILL, Stored};

/// Words of the parts of a window.
pub const COLUMNS_PARTS: u32 = 4;

/// Where parts are: of `plane` windows.
#[derive(Clone, Copy)]
struct Parts {
    /// The first word.
    begin: usize,
    plane: usize,
}

impl Parts {
    /// The words of window `at`: of Σ F, of which there are two, of Σ n², and of what is left.
    #[inline(always)]
    fn at(self, at: usize) -> [usize; 3] {
        let Self { begin, plane } = self;
        [begin + 2 * at, begin + 2 * plane + at, begin + 3 * plane + at]
    }
}

/// Adds to parts.
#[derive(Clone, Copy)]
struct Adding<const LOGS: bool, const NEAR: bool> {
    logs: Logs<NEAR>,
    sums: Out<u32>,
    parts: Parts,
}

impl<const LOGS: bool, const NEAR: bool> Finish<Packed> for Adding<LOGS, NEAR> {
    #[inline(always)]
    fn row(self, windows: &Windows<'_>, mut counts: Packed, steps: &[Steps; 4]) {
        let &Windows { at, is_first, .. } = windows;
        let [f, squares, rest] = self.parts.at(at);
        let (mut fs, mut all_squares, mut all_rest) = ([[0; 4]; 2], [0; 4], [0; 4]);
        if !is_first {
            if LOGS {
                fs = [self.sums.load4(f), self.sums.load4(f + 4)];
            }
            (all_squares, all_rest) = (self.sums.load4(squares), self.sums.load4(rest));
        }
        unroll!(K in 3 2 1 0 => {
            let sums = Sums(counts.0);
            if LOGS {
                let [low, high] = [fs[K / 2][K % 2 * 2], fs[K / 2][K % 2 * 2 + 1]];
                let sum = (u64::from(high) << 32 | u64::from(low)).wrapping_add(self.logs.sum(&counts.0));
                (fs[K / 2][K % 2 * 2], fs[K / 2][K % 2 * 2 + 1]) = (sum as u32, (sum >> 32) as u32);
            }
            all_squares[K] = all_squares[K].wrapping_add(sums.squares());
            all_rest[K] = all_rest[K].wrapping_add(counts.total() << 16 | sums.classes());
            counts.subtract(&steps[K]);
        });
        if LOGS {
            self.sums.store4(f, fs[0]);
            self.sums.store4(f + 4, fs[1]);
        }
        self.sums.store4(squares, all_squares);
        self.sums.store4(rest, all_rest);
    }
}

/// What both kernels that count are given: the table, its entries and copies, and where parts go.
#[derive(Clone, Copy)]
struct Given {
    table: In<u64>,
    entries: u32,
    copies: u32,
    sums: Out<u32>,
    parts: Parts,
}

impl Given {
    #[inline(always)]
    fn adding<const LOGS: bool, const NEAR: bool>(self, near: Shared<u64>) -> Adding<LOGS, NEAR> {
        Adding { logs: Logs::new(near, self.table, self.copies), sums: self.sums, parts: self.parts }
    }
}

macro_rules! counting {
    (
        $(#[$doc:meta])* $name:ident, ($($own:ident: $type:ty),*), |$cells:ident, $words:ident| if $goes_on:expr,
        |$frame:ident, $cut:ident, $finish:ident| $march:expr
    ) => {
        $(#[$doc])*
        #[kernel(threads = 256, blocks = 2)]
        pub unsafe fn $name(
            $cells: In<u8>,
            $words: In<u32>,
            sums: Out<u32>,
            table: In<u64>,
            $($own: $type,)*
            rows: u32,
            cols: u32,
            stride: u32,
            first: u32,
            count: u32,
            out_stride: u32,
            size: u32,
            nodata: u32,
            entries: u32,
            copies: u32,
            rows_each: u32,
            parts: u32,
        ) {
            if !($goes_on) {
                return;
            }
            let near = logs::copied(table, entries, copies);
            let $frame =
                Frame::of_warp($cells, (rows, cols, stride), (first, count, out_stride), size, nodata, rows_each);
            if $frame.begin >= $frame.end {
                return;
            }
            let $cut = Cut { rows, cols, first, count, size, rows_each };
            let parts = Parts { begin: 4 * parts as usize, plane: count as usize * out_stride as usize };
            let given = Given { table, entries, copies, sums, parts };
            macro_rules! march {
                ($logs:literal, $near:literal) => {{
                    let $finish = given.adding::<$logs, $near>(near);
                    $march
                }};
            }
            match (given.entries > 1, given.copies > 0) {
                (false, _) => march!(false, false),
                (true, false) => march!(true, false),
                (true, true) => march!(true, true),
            }
        }
    };
}

counting! {
    /// Parts of measures of a `size` × `size` window of up to [`COLUMNS_OWN`](super::COLUMNS_OWN) classes, `size` being at most
    /// [`COLUMNS_SIZE`](super::COLUMNS_SIZE), in blocks of [`COLUMNS_THREADS`] threads that lie as those of [`entropy_columns`](fn@super::entropy_columns).
    ///
    /// `words` has the words of a survey, which [`entropy_columns_groups`](fn@super::entropy_columns_groups) reads in the same way, then the heads that
    /// [`entropy_columns_heads_groups`](fn@super::entropy_columns_heads_groups) makes for the `groups` groups of classes. From element 4 · `parts` of `sums` on
    /// parts are written, [`COLUMNS_PARTS`] words for each of the `count` · `out_stride` windows. `table` holds F(n) for n below `entries`, which is size² + 1,
    /// or 1 where no plane needs F, of which there are no sums then. `copies` (a power of two up to 16) copies of it lie in dynamic shared memory, 8 bytes
    /// an entry; 0 leaves it in global memory.
    ///
    /// # Safety
    /// As [`entropy_columns_groups`](fn@super::entropy_columns_groups); `sums` is aligned to 16 bytes and has room for parts; it may be
    /// the memory of `words`, where parts begin behind all that is read.
    entropy_columns_parts, (groups: u32, most: u32), |cells, words| if most == 0 || !goes_on(words, most),
    |frame, _cut, finish| frame.march_own_with::<_, true, false>(words, groups, finish)
}

counting! {
    /// The same for any number of classes, from the codes that [`entropy_columns_recode`](fn@super::entropy_columns_recode) or
    /// [`entropy_columns_recode_words`](fn@super::entropy_columns_recode_words) makes as `words`, read as
    /// [`entropy_columns_many`](fn@super::entropy_columns_many) reads them: that has the other parameters. `cells` and `stride` are not read.
    ///
    /// # Safety
    /// As [`entropy_columns_many`](fn@super::entropy_columns_many) and [`entropy_columns_parts`](fn@entropy_columns_parts).
    entropy_columns_parts_many, (strips_each: u32, most: u32, plane: u32, planes: u32), |cells, words| if goes_on(words, most),
    |frame, cut, finish| {
        let coded = Planes { coded: words, tiles: Tiles::new(cut, strips_each), first: plane, count: planes, least: 0 };
        frame.march_many::<_, Packed, true, false>(&coded, finish)
    }
}

/// No counts: the formulas that parts are enough for ask for none.
struct None;

impl Counts for None {
    #[inline(always)]
    fn most(&self) -> u32 {
        1
    }

    #[inline(always)]
    fn sum(&self, _: impl Fn(u32) -> f64) -> f64 {
        0.0
    }
}

/// The cell that a thread has, and what its results depend on besides parts.
#[derive(Clone, Copy)]
struct Results<R> {
    words: In<u32>,
    parts: Parts,
    out: Out<R>,
    /// Elements from a plane of results to the next.
    plane: usize,
    table: In<u64>,
    entries: u32,
    formulas: Formulas,
    unit: f64,
}

impl<R: Stored> Results<R> {
    /// Makes element `to` of window `from`, if that has results.
    #[inline(always)]
    fn store(self, (from, to): (usize, usize), mut is_there: bool, least: u32) {
        let [f, squares, rest] = self.parts.at(from);
        let (squares, rest) = (self.words.load(squares), self.words.load(rest));
        let (total, classes) = (rest >> 16, rest & 0xFFFF);
        is_there &= total >= least;
        let bits = if self.entries > 1 {
            let sum = u64::from(self.words.load(f + 1)) << 32 | u64::from(self.words.load(f));
            self.table.load(total as usize).wrapping_sub(sum) as f64 * self.unit / f64::from(total.max(1))
        } else {
            0.0
        };
        let counted = Counted { total, classes, squares, bits };
        let mut p = 0;
        while p < self.formulas.count {
            let value = if is_there { R::of(self.formulas.result(p, &counted, &None)) } else { R::NAN };
            self.out.store(p as usize * self.plane + to, value);
            p += 1;
        }
    }
}

macro_rules! results {
    ($(#[$doc:meta])* $name:ident, $real:ident) => {
        $(#[$doc])*
        #[kernel(threads = 256)]
        pub unsafe fn $name(
            cells: In<u8>,
            out: Out<$real>,
            words: In<u32>,
            table: In<u64>,
            planes: In<u64>,
            orders: In<f64>,
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
            wide: u32,
            parts: u32,
            unit: f64,
        ) {
            let across = cols.div_ceil(COLUMNS_THREADS).max(1);
            let (block, r) = (thread::block_idx_x(), size / 2);
            let (row, x) = (block / across, block % across * COLUMNS_THREADS + thread::thread_idx_x());
            if x >= cols || row >= count {
                return;
            }
            let y = first + row;
            let mut is_there = true;
            if nodata <= 0xFFFF && rule & MEASURES_FILL == 0 {
                let at = y as usize * stride as usize + x as usize;
                let cell = if wide != 0 { u32::from(cells.cast::<u16>().load(at)) } else { u32::from(cells.load(at)) };
                is_there = cell != nodata;
            }
            if rule & MEASURES_COMPLETE != 0 {
                is_there &= y >= r && y + r < rows && x >= r && x + r < cols;
            }
            let stride_of_parts = cols.div_ceil(4) as usize * 4;
            let parts = Parts { begin: 4 * parts as usize, plane: count as usize * stride_of_parts };
            let formulas = Formulas { planes, orders, count: plane_count };
            let plane = count as usize * out_stride as usize;
            let results = Results { words, parts, out, plane, table, entries, formulas, unit };
            let element = |stride: usize| row as usize * stride + x as usize;
            results.store((element(stride_of_parts), element(out_stride as usize)), is_there, least);
        }
    };
}

results! {
    /// Results from parts, in blocks of [`COLUMNS_THREADS`] threads: a thread a cell, in rows of as many blocks as it takes.
    ///
    /// `words` and `parts` are those of [`entropy_columns_parts`](fn@entropy_columns_parts), and so are the other parameters, but that `planes`, `plane_count`,
    /// `orders`, `rule`, `least` and `unit` are those of [`entropy_measures`](fn@crate::entropy::entropy_measures). No formula needs a maximum or a
    /// power of counts. With `wide` not 0 cells have 16 bits, and so has `nodata`; 65,536 and more mean that there is none.
    ///
    /// # Safety
    /// Parts of all windows have been made; the rest is as for [`entropy_measures`](fn@crate::entropy::entropy_measures).
    entropy_columns_results, f32
}

results! {
    /// [`entropy_columns_results`](fn@entropy_columns_results) in f64.
    ///
    /// # Safety
    /// As [`entropy_columns_results`](fn@entropy_columns_results).
    entropy_columns_results_f64, f64
}
