//! Differences between windows along a row, and their prefix sums: any window size at the same cost, sixteen classes at a time.
//!
//! ```text
//! a warp has a strip of 128 neighbouring columns, a lane 4 of them; it marches down the rows.
//! once for every row:
//!     D(x)   += what the row adds to the window of x and not to that of x − 1, at x + r, less what it adds to that alone, at x − r − 1
//!     W(x)    = W before the strip + Σ D over the columns up to x            (in the lane, then the warp)
//!     H       = (F(N) − Σ F(n_i)) / N
//! ```
//!
//! After Perreault and Hébert (2007), whose window histogram slides sideways, one add and one subtract of a
//! column histogram a cell. Threads cannot slide sideways one after another; prefix sums of differences give every thread its window
//! at once, and their cost does not depend on the size. Prefix sums of column histograms, whose differences are windows, would also work, and
//! count each cell once and not twice; but other threads have to read them, so that shared memory is the limit; and
//! a strip would need a halo as wide as the window.
//!
//! A D is 16 counters of 16 bits in eight words. Borrows out of a low half are cancelled by the carries that made them,
//! so that words are added up as they are; a window has at most 65,025 cells, and the kernel for larger ones sums 32 bits.
//!
//! Windows beyond [`COLUMNS_SMALL`] have kernels of their own where there are up to 16 classes, and beyond [`COLUMNS_SIZE`] for more ([`large`]).
//!
//! F is looked up 16 times a cell. With random counts 32 lanes would have bank conflicts, so the
//! table is kept `copies` times, element by element, and lane l reads copy l modulo `copies`:
//! with 32 copies there are no conflicts.
//!
//! Where there are more than 16 classes, those of a tile of strips are numbered first, by a kernel of their own ([`recode`]), and one sweep over a strip
//! is made for every 16 that its tile has: partial sums are kept in the results. Each sweep knows the number of valid cells by a counter of
//! its own, since it does not see all of them; one that does takes what a map of 16 classes takes.
//!
//! Nodata may leave few cells of a large window. A table whose largest entry fits 32 bits is too coarse for them; but they need only
//! its beginning, so there are up to three: a fine one for windows of few valid cells, one for more, one for all ([`Scale`]).

use simt::global::{In, Out};
use simt::math::reciprocal_fast;
use simt::shared::Shared;
use simt::{kernel, shared, thread, unroll, warp};

mod base;
mod counters;
mod heads;
mod large;
mod logs;
mod measures;
mod parts;
mod quick;
mod recode;
mod recode_words;
mod rules;
mod strip;
mod sums;
pub(super) mod tiles;

pub use heads::*;
pub use large::*;
pub use measures::*;
pub use parts::*;
pub use quick::*;
pub use recode::*;
pub use recode_words::*;
pub use tiles::{COLUMNS_HEADER, COLUMNS_PLANE, COLUMNS_SURVEY, columns_tile_words};

use counters::{Counts, Packed, Steps};
use strip::{Finish, Frame, Windows};
pub(super) use tiles::surveyed;
use tiles::{Cut, Planes, Tiles, goes_on};

/// Threads of a block.
pub const COLUMNS_THREADS: u32 = 256;
/// Columns of a strip, which is a warp's.
pub const COLUMNS_STRIP: u32 = 128;
/// The largest window in which 16 bits count.
pub const COLUMNS_SIZE: u32 = 255;
/// The largest window of up to 16 classes for which a strip counts its base itself, and F is looked up.
pub const COLUMNS_SMALL: u32 = 127;
/// The largest window of all: 16 bits hold what 32 columns add to it.
pub const COLUMNS_WIDE_SIZE: u32 = 1023;
/// Classes that are counted at a time.
pub const COLUMNS_CLASSES: u32 = 16;
/// Classes, at most, that are counted by their own numbers: a warp has words for the heads of so many.
pub const COLUMNS_OWN: u32 = 64;

/// The number itself, through a shuffle: so that the compiler neither knows it nor recomputes it at each use.
#[inline(always)]
fn opaque(value: u32) -> u32 {
    warp::warp_shuffle_idx(warp::FULL, value, warp::lane_id(), 32).0
}

/// One of the tables of F.
#[derive(Clone, Copy)]
struct Scale {
    /// The most valid cells of a window that it is for.
    cells: u32,
    /// Where it begins, in entries.
    begin: u32,
    /// Results in units of its entries.
    scale: f32,
}

/// The tables of F as a lane sees them: its own copy in shared memory, or the ones in global memory.
#[derive(Clone, Copy)]
struct Shannon<const NEAR: bool, const NODATA: bool> {
    near: Shared<u32>,
    far: In<u32>,
    /// Bytes from an entry to the next.
    step: u32,
    /// The lane's byte offset in an entry.
    lane: u32,
    /// The finest first.
    scales: [Scale; 3],
    out: Out<f32>,
}

impl<const NEAR: bool, const NODATA: bool> Shannon<NEAR, NODATA> {
    /// The table for windows of `n` valid cells.
    #[inline(always)]
    fn scale(&self, n: u32) -> Scale {
        let [fine, middle, all] = self.scales;
        if !NODATA || n > middle.cells {
            all
        } else if n > fine.cells {
            middle
        } else {
            fine
        }
    }

    /// F(n) of a table.
    #[inline(always)]
    fn f(&self, scale: Scale, n: u32) -> u32 {
        if NEAR {
            self.near.load_at(n * self.step + (scale.begin * self.step + self.lane))
        } else {
            self.far.load((scale.begin + n) as usize)
        }
    }
}

impl<const NEAR: bool, const NODATA: bool> Shannon<NEAR, NODATA> {
    /// Σ F(n_i) of 16 classes, modulo 2^32.
    #[inline(always)]
    fn sum(&self, scale: Scale, counts: &impl Counts) -> u32 {
        let mut sum = 0u32;
        if NEAR {
            // Byte offsets of entries: tables in shared memory end before 64 KiB.
            let offsets = counts.scaled(self.step, scale.begin * self.step + self.lane);
            offsets.for_each(|offset| sum = sum.wrapping_add(self.near.load_at(offset)));
        } else {
            counts.for_each(|count| sum = sum.wrapping_add(self.f(scale, count)));
        }
        sum
    }
}

impl<C: Counts, const NEAR: bool, const NODATA: bool> Finish<C> for Shannon<NEAR, NODATA> {
    #[inline(always)]
    fn row(self, windows: &Windows<'_>, mut counts: C, steps: &[Steps; 4]) {
        let &Windows { at, is_first, is_last, .. } = windows;
        // −Σ F(n_i) over the classes before.
        let waiting = self.out.cast::<u32>();
        let mut parts = if is_first { [0; 4] } else { waiting.load4(at) };
        let mut h = [0.0; 4];
        unroll!(K in 3 2 1 0 => {
            let n = windows.cells(K as u32, &counts);
            let scale = self.scale(n);
            parts[K] = parts[K].wrapping_sub(self.sum(scale, &counts));
            if is_last {
                let rest = self.f(scale, n).wrapping_add(parts[K]);
                let entropy = rest as f32 * (reciprocal_fast(n as f32) * scale.scale);
                h[K] = if windows.is_valid(K as u32) { entropy } else { f32::NAN };
            }
            counts.subtract(&steps[K]);
        });
        if is_last {
            self.out.store4(at, h);
        } else {
            waiting.store4(at, parts);
        }
    }
}

/// The tables of F, as the kernels are given them.
#[derive(Clone, Copy)]
struct Tables {
    table: In<u32>,
    size: u32,
    nodata: u32,
    copies: u32,
    fine: u32,
    middle: u32,
    scales: [f32; 3],
    out: Out<f32>,
}

impl Tables {
    /// Copies the tables to shared memory.
    #[inline(always)]
    fn near(&self) -> Shared<u32> {
        let &Self { table, copies, .. } = self;
        let entries = self.all() + if self.nodata <= 255 { self.middle + 1 + self.fine + 1 } else { 0 };
        let near = shared::dynamic::<u32>().slice(0, entries * copies);
        let mut n = thread::thread_idx_x();
        while n < entries * copies {
            // The maximum tells the compiler that it never divides by 0.
            near.store(n, table.load((n / copies.max(1)) as usize));
            n += COLUMNS_THREADS;
        }
        thread::sync_threads();
        near
    }

    /// Entries of the table for all windows.
    #[inline(always)]
    fn all(&self) -> u32 {
        self.size * self.size + 1
    }

    /// As a lane sees them.
    #[inline(always)]
    fn finish<const NEAR: bool, const NODATA: bool>(&self, near: Shared<u32>) -> Shannon<NEAR, NODATA> {
        let &Self { table, copies, fine, middle, scales: [fine_scale, middle_scale, scale], out, .. } = self;
        let scales = [
            Scale { cells: fine, begin: self.all() + middle + 1, scale: fine_scale },
            Scale { cells: middle, begin: self.all(), scale: middle_scale },
            Scale { cells: u32::MAX, begin: 0, scale },
        ];
        let lane = (warp::lane_id() & copies.wrapping_sub(1)) * 4;
        Shannon { near, far: table, step: copies * 4, lane, scales, out }
    }
}

macro_rules! columns {
    (
        $(#[$doc:meta])* $name:ident, ($($own:ident: $type:ty),*), |$cells:ident, $cut:ident| if $goes_on:expr,
        |$frame:ident, $tables:ident, $near:ident| $march:expr
    ) => {
        $(#[$doc])*
        #[kernel(threads = 256, blocks = 2)]
        pub unsafe fn $name(
            $cells: In<u8>,
            out: Out<f32>,
            table: In<u32>,
            $($own: $type,)*
            rows: u32,
            cols: u32,
            stride: u32,
            first: u32,
            count: u32,
            out_stride: u32,
            size: u32,
            nodata: u32,
            copies: u32,
            rows_each: u32,
            fine: u32,
            middle: u32,
            fine_scale: f32,
            middle_scale: f32,
            scale: f32,
        ) {
            let $cut = Cut { rows, cols, first, count, size, rows_each };
            if !($goes_on) {
                return;
            }
            let scales = [fine_scale, middle_scale, scale];
            let $tables = Tables { table, size, nodata, copies, fine, middle, scales, out };
            let $near = $tables.near();
            let $frame =
                Frame::of_warp($cells, (rows, cols, stride), (first, count, out_stride), size, nodata, rows_each);
            if $frame.begin < $frame.end {
                $march
            }
        }
    };
}

columns! {
    /// Entropy of a `size` × `size` window of up to 16 classes, `size` being at most [`COLUMNS_SIZE`] (and fastest up to [`COLUMNS_SMALL`]), in blocks of [`COLUMNS_THREADS`]
    /// threads.
    ///
    /// Strips of [`COLUMNS_STRIP`] columns and `rows_each` rows are numbered along the rows and then down the `count` rows from `first`; each warp of the
    /// launch has the strip of its number. `table` holds F(n) for n = 0..=size², modulo 2^32 in units of
    /// 1/S, and `scale` multiplies by what is wanted over S: N·H is below 2^32 / S in all windows. Where there is nodata, windows of up to `middle`
    /// valid cells are looked up in a finer table that follows it, of `middle` + 1 entries, whose scale is `middle_scale`; and those of up to `fine`
    /// in a third, in the same way.
    ///
    /// `copies` (a power of two up to 32) copies of the tables lie in dynamic shared memory, 4 bytes an entry, 64 KiB at most; 0 leaves them in global
    /// memory.
    ///
    /// # Safety
    /// As [`entropy_naive`](fn@super::entropy_naive); besides, `cells` is aligned to 4 bytes and `stride` is a multiple of
    /// 4, `out` to 16 bytes and `out_stride` is a multiple of 4 and at least `cols` rounded up to one; cells are below 16
    /// or equal to `nodata`; `fine` ≤ `middle` ≤ size², 0 without nodata; the launch has the block size and the shared memory above.
    entropy_columns, (), |cells, _cut| if true, |frame, tables, near| match (tables.copies > 0, tables.nodata <= 255) {
        (true, false) => frame.march_few::<_, Packed, false>(tables.finish::<true, false>(near)),
        (true, true) => frame.march_few::<_, Packed, true>(tables.finish::<true, true>(near)),
        (false, false) => frame.march_few::<_, Packed, false>(tables.finish::<false, false>(near)),
        (false, true) => frame.march_few::<_, Packed, true>(tables.finish::<false, true>(near)),
    }
}

columns! {
    /// The same for any number of classes: those of each tile have been numbered by [`entropy_columns_recode`](fn@entropy_columns_recode) or
    /// [`entropy_columns_recode_words`](fn@entropy_columns_recode_words), and are counted 16 at a time.
    ///
    /// `cells` is what that kernel has written for the same grid, rows, window, `rows_each`, `strips_each`, `plane` and `planes`; `stride` is not read, and
    /// of `nodata` only whether it is above 255. A launch counts the classes of the `planes` planes from `plane` on, which are in memory; one for those
    /// before has been made with the same `out`, and results are there when the last has been. Nothing is done where the survey has found more than `most`
    /// sweeps; it is not read where `most` is the largest number. Tiles of fewer than `least` classes are left out.
    ///
    /// # Safety
    /// As [`entropy_columns`](fn@entropy_columns), but for cells and stride.
    entropy_columns_many, (strips_each: u32, most: u32, plane: u32, planes: u32, least: u32), |cells, cut| if goes_on(cells.cast(), most) && Tiles::new(cut, strips_each).has_many(cells.cast(), least), |frame, tables, near| {
        let coded = Planes { coded: cells.cast(), tiles: Tiles::new(cut, strips_each), first: plane, count: planes, least };
        match (tables.copies > 0, tables.nodata <= 255) {
            (true, false) => frame.march_many::<_, Packed, false, true>(&coded, tables.finish::<true, false>(near)),
            (true, true) => frame.march_many::<_, Packed, true, true>(&coded, tables.finish::<true, true>(near)),
            (false, false) => frame.march_many::<_, Packed, false, true>(&coded, tables.finish::<false, false>(near)),
            (false, true) => frame.march_many::<_, Packed, true, true>(&coded, tables.finish::<false, true>(near)),
        }
    }
}

columns! {
    /// The same for up to [`COLUMNS_OWN`] classes that are their own codes: `groups` times 16 of them, a sweep over the map each.
    ///
    /// Nothing has to be numbered first; but a tile that has few of the classes takes as long as one that has all. `words` has
    /// [`COLUMNS_SURVEY`](tiles::COLUMNS_SURVEY) words of a survey by [`entropy_columns_recode`](fn@entropy_columns_recode), and nothing is done where that has
    /// found at most `most` sweeps; it is not read where `most` is 0. Where `copies` is 0, the heads that
    /// [`entropy_columns_heads_groups`](fn@entropy_columns_heads_groups) makes for the same classes follow.
    ///
    /// # Safety
    /// As [`entropy_columns`](fn@entropy_columns), but that cells are below 16 · `groups`.
    entropy_columns_groups, (words: In<u32>, groups: u32, most: u32), |cells, _cut| if most == 0 || !goes_on(words, most), |frame, tables, near| {
        match (tables.copies > 0, tables.nodata <= 255) {
            (true, false) => frame.march_own::<_, false, true>(groups, tables.finish::<true, false>(near)),
            (true, true) => frame.march_own::<_, true, true>(groups, tables.finish::<true, true>(near)),
            (false, false) => frame.march_own_with::<_, false, false>(words, groups, tables.finish::<false, false>(near)),
            (false, true) => frame.march_own_with::<_, true, true>(words, groups, tables.finish::<false, true>(near)),
        }
    }
}
