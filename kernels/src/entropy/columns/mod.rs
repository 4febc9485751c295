//! Column histograms and their prefix sums along the row: any window for the price of one, sixteen classes at a time.
//!
//! ```text
//! a block owns 4·threads neighbouring columns, each thread 4 of them; it marches down the rows.
//! for every row:
//!     each column's histogram of the `size` rows around:  C += onehot(entering) − onehot(leaving)
//!     P(x) = Σ C over the columns up to x                 (in the thread, the warp, the block)
//!     window histogram of x = P(x + r) − P(x − r − 1)
//!     H = (F(N) − Σ F(n_i)) / N
//! ```
//!
//! After Perreault and Hébert (2007), whose window histogram slides sideways, one add and one subtract of a
//! column histogram a cell. Threads cannot slide sideways one after another; prefix sums give each its window
//! at once, and their cost does not depend on the size either.
//!
//! A column's histogram is 16 counters of 8 bits in four words (255 rows fit), a prefix 16 of 16 bits
//! in eight. Prefixes may wrap: a window has at most 65,025 cells, so the difference is right, and a
//! borrow out of the low half of a word is paid back by the carry that made it.
//!
//! F is looked up 16 times a cell. With random counts 32 lanes would meet in the same banks, so the
//! table is kept `copies` times, element by element, and lane l reads copy l modulo `copies`:
//! with 32 copies there is no conflict.
//!
//! Where there are more than 16 classes a block first looks which of them its tile has ([`codes`]), numbers those, and sweeps over the tile
//! once for every 16: sums of parts wait in the place of the results. Each sweep knows the number of valid cells by a counter of
//! its own, since it does not see all of them.
//!
//! Nodata may leave few cells of a large window. A table whose largest entry fits 32 bits is too coarse for them; but they need only
//! its beginning, so there are up to three: a fine one for windows of few valid cells, one for more, one for all ([`Scale`]).

use simt::bits::reciprocal_fast;
use simt::global::{In, Out};
use simt::shared::Shared;
use simt::{kernel, shared, thread, warp};

mod codes;
mod counters;
mod march;
mod measures;

pub use measures::*;

use counters::Prefix;
use march::{Finish, Frame, Windows};

use crate::unroll::four;

/// Threads of a block.
pub const COLUMNS_THREADS: u32 = 256;
/// Columns of a block, its halo included: it writes `COLUMNS_WIDTH` − (`size` − 1) of them.
pub const COLUMNS_WIDTH: u32 = 4 * COLUMNS_THREADS;
/// Classes that are counted at a time.
pub const COLUMNS_CLASSES: u32 = 16;
/// Words of dynamic shared memory that come before the table where there are more classes: counts of valid cells.
pub const COLUMNS_VALID: u32 = COLUMNS_WIDTH + WARPS;

const WARPS: u32 = COLUMNS_THREADS / 32;

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
    fn sum(&self, scale: Scale, counts: &Prefix) -> u32 {
        let (mut sum, mut w) = (0u32, 0);
        while w < 8 {
            sum = sum.wrapping_add(self.f(scale, counts[w] & 0xFFFF)).wrapping_add(self.f(scale, counts[w] >> 16));
            w += 1;
        }
        sum
    }

    /// The result of window `k`: F(N) − Σ F(n_i) over N.
    #[inline(always)]
    fn entropy(&self, windows: &Windows<'_>, k: u32, scale: Scale, n: u32, rest: u32) -> f32 {
        let h = rest as f32 * (reciprocal_fast(n as f32) * scale.scale);
        if NODATA && !windows.is_valid(k) { f32::NAN } else { h }
    }
}

impl<const NEAR: bool, const NODATA: bool> Finish for Shannon<NEAR, NODATA> {
    #[inline(always)]
    fn row(self, windows: &Windows<'_>) {
        let &Windows { at, is_first, is_last, .. } = windows;
        let mut h = [0.0; 4];
        if is_first && is_last {
            // Not written out: that takes a tenth longer.
            let mut k = 0;
            while k < 4 {
                let (counts, n) = windows.window(k as u32);
                let scale = self.scale(n);
                let rest = self.f(scale, n).wrapping_sub(self.sum(scale, &counts));
                h[k] = self.entropy(windows, k as u32, scale, n, rest);
                k += 1;
            }
            self.out.store4(at, h);
            return;
        }
        // −Σ F(n_i) over the classes before.
        let waiting = self.out.cast::<u32>();
        let mut parts = if is_first { [0; 4] } else { waiting.load4(at) };
        four!(K => {
            let (counts, n) = windows.window(K as u32);
            let scale = self.scale(n);
            parts[K] = parts[K].wrapping_sub(self.sum(scale, &counts));
            h[K] = self.entropy(windows, K as u32, scale, n, self.f(scale, n).wrapping_add(parts[K]));
        });
        if is_last {
            self.out.store4(at, h);
        } else {
            waiting.store4(at, parts);
        }
    }
}

/// The tables of F, as both kernels are given them.
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
    /// Copies the tables to shared memory, behind `words` words of other things there.
    #[inline(always)]
    fn near(&self, words: u32) -> Shared<u32> {
        let &Self { table, copies, .. } = self;
        let entries = self.all() + if self.nodata <= 255 { self.middle + 1 + self.fine + 1 } else { 0 };
        let near = shared::dynamic::<u32>().slice(words, entries * copies);
        let mut n = thread::thread_idx_x();
        while n < entries * copies {
            // The maximum tells the compiler that it never divides by 0.
            near.store(n, table.load((n / copies.max(1)) as usize));
            n += COLUMNS_THREADS;
        }
        near
    }

    /// Entries of the table for all windows.
    #[inline(always)]
    fn all(&self) -> u32 {
        self.size * self.size + 1
    }

    /// As a lane sees them. The first barrier of the march comes before they are read.
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

/// Entropy of a `size` × `size` window of up to 16 classes, in blocks of [`COLUMNS_THREADS`] threads.
///
/// Block (bx, by) computes the `COLUMNS_WIDTH − 2·halo` columns from bx · that on, halo being size / 2 + 1 rounded up
/// to a multiple of 4, and the rows by · `rows_each`.. of the `count`. `table` holds F(n) for n = 0..=size², modulo 2^32 in units of
/// 1/S, and `scale` multiplies by what is wanted over S: N·H is below 2^32 / S in all windows. Where there is nodata, windows of up to `middle`
/// valid cells are looked up in a finer table that follows it, of `middle` + 1 entries, whose scale is `middle_scale`; and those of up to `fine`
/// in a third, in the same way.
///
/// `copies` (a power of two up to 32) copies of the tables lie in dynamic shared memory, 4 bytes an entry; 0 leaves them in global memory.
///
/// # Safety
/// As [`entropy_naive`](fn@super::entropy_naive); besides, `cells` is aligned to 4 bytes and `stride` is a multiple of
/// 4, `out` to 16 bytes and `out_stride` is a multiple of 4 and at least `cols` rounded up to one; cells are below 16
/// or equal to `nodata`; `fine` ≤ `middle` ≤ size², 0 without nodata; the launch has the block size and the shared memory above.
#[kernel(threads = 256, blocks = 3)]
pub unsafe fn entropy_columns(
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
    copies: u32,
    rows_each: u32,
    fine: u32,
    middle: u32,
    fine_scale: f32,
    middle_scale: f32,
    scale: f32,
) {
    let _ = levels;
    let scales = [fine_scale, middle_scale, scale];
    let tables = Tables { table, size, nodata, copies, fine, middle, scales, out };
    let near = tables.near(0);
    let frame = Frame::of_block(cells, (rows, cols, stride), (first, count, out_stride), size, nodata, rows_each);
    match (copies > 0, nodata <= 255) {
        (true, false) => frame.march_few::<_, false>(tables.finish::<true, false>(near)),
        (true, true) => frame.march_few::<_, true>(tables.finish::<true, true>(near)),
        (false, false) => frame.march_few::<_, false>(tables.finish::<false, false>(near)),
        (false, true) => frame.march_few::<_, true>(tables.finish::<false, true>(near)),
    }
}

/// The same for up to 256 `levels`: those of a tile are numbered, and counted 16 at a time. The tables lie behind [`COLUMNS_VALID`] words of
/// dynamic shared memory.
///
/// # Safety
/// As [`entropy_columns`](fn@entropy_columns), but that cells are below `levels` or equal to `nodata`.
#[kernel(threads = 256, blocks = 2)]
pub unsafe fn entropy_columns_many(
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
    copies: u32,
    rows_each: u32,
    fine: u32,
    middle: u32,
    fine_scale: f32,
    middle_scale: f32,
    scale: f32,
) {
    let scales = [fine_scale, middle_scale, scale];
    let tables = Tables { table, size, nodata, copies, fine, middle, scales, out };
    let near = tables.near(COLUMNS_VALID);
    let valid = shared::dynamic::<u32>().slice(0, COLUMNS_VALID);
    let frame = Frame::of_block(cells, (rows, cols, stride), (first, count, out_stride), size, nodata, rows_each);
    match (copies > 0, nodata <= 255) {
        (true, false) => frame.march_many::<_, false>(tables.finish::<true, false>(near), levels, valid),
        (true, true) => frame.march_many::<_, true>(tables.finish::<true, true>(near), levels, valid),
        (false, false) => frame.march_many::<_, false>(tables.finish::<false, false>(near), levels, valid),
        (false, true) => frame.march_many::<_, true>(tables.finish::<false, true>(near), levels, valid),
    }
}
