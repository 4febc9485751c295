//! Windows of up to 31 × 31 and 16 levels, with the tensor cores adding up the columns.
//!
//! ```text
//! a warp owns a strip of 128 neighbouring columns and marches down the rows; for every row:
//!     each column's histogram of `size` rows, a byte a level:  C += onehot(entering) − onehot(leaving)
//!     the sum over the windows' columns, for all of them at once:  D = (band matrix of 128s) · C + (the lane's address in the table)
//!     Σ F(n_i) by 16 lookups at the addresses D
//! ```
//!
//! As in [`tensor`](super::tensor) the product is the address, in a table that is kept 32 times, one copy a lane and bank: a row for each n. There a
//! pair of levels is one number; the counts of larger windows have no room for that, so each level has a lookup of its own, 16 for a cell.
//!
//! What is new is which number lies where:
//!
//! * **Results are the rows of D, levels its columns.** The band matrix is A, and the same for all levels: 16 registers for good. C is B, and
//!   where B has a byte, the lane that keeps it counts that column and level: nothing moves between lanes.
//! * **Four regions at a time.** Of B's eight columns two are levels of the strip's first 32 columns, two of the next and so on: after eight products
//!   with the next two levels each, a lane has all 16 levels of its own four results, and adds them up by itself. With eight levels in B's columns, four
//!   lanes would have to add up what they have. The price: regions count their halos apart, 64 columns for 32 results.
//! * **Rows that leave come from shared memory** (see `ring`), packed as selectors when they entered.
//!
//! The grid's border is marched over likewise, in units of fewer rows: there N is computed, or counted where there is nodata.
//! 16 warps of 128 registers are faster than 20 of 96, and leave more shared memory for tables; where valid cells are counted 20 are faster.

use simt::global::{In, Out};
use simt::shared;
use simt::{kernel, thread, warp};

use super::lane_table::{self, ROW};
use super::measure::{Double, Measure, Single, lane_address};
use super::units::{UNIT_COLS, Units};
use super::{NOTHING, admits};

pub use self::codes::*;

use self::counts::Weights;
use self::ring::{ROW_BYTES, Ring};
use self::strip::{Strip, bands};

mod codes;
mod counts;
mod ring;
mod strip;

/// Threads of a block of [`entropy_band`](fn@entropy_band) at most.
pub const BAND_THREADS: u32 = 512;
/// Threads of a block of [`entropy_band_counted`](fn@entropy_band_counted) at most.
pub const BAND_COUNTED_THREADS: u32 = 640;
/// Columns that a warp writes.
pub const BAND_COLS: u32 = UNIT_COLS;
/// The largest window.
pub const BAND_SIZE: u32 = 31;

/// Dynamic shared memory of a block of so many warps for `size` × `size` windows, in bytes.
pub const fn band_bytes(size: u32, warps: u32) -> u32 {
    (size * size + 1) * ROW + warps * (size + 2) * ROW_BYTES
}

/// Units of work of a launch: warps take one after another.
pub fn band_units(grid: (u32, u32), kept: (u32, u32), size: u32, each: (u32, u32)) -> u32 {
    Units::new(grid, kept, size / 2, each).count()
}

/// Copies the table to shared memory, and what the warps of a launch have in common: strips without a place.
#[inline(always)]
fn strips<M: Measure>(
    cells: In<u8>,
    out: Out<M::Result>,
    table: In<M::Entry>,
    (rows, cols, stride): (u32, u32, u32),
    (first, out_stride): (u32, u32),
    (size, nodata): (u32, u32),
    measure: M,
) -> (Strip<M>, u32) {
    let entries = size * size + 1;
    let near = lane_table::fill(table, entries, M::row).cast();
    thread::sync_threads();
    let lane = warp::lane_id();
    let slots = size + 2;
    // The shuffle tells ptxas that all lanes have the same.
    let warp_index = warp::warp_shuffle_idx(warp::FULL, thread::thread_idx_x() / 32, 0, 32).0;
    let ring_words = slots * ROW_BYTES / 4;
    let ring = shared::dynamic::<u32>().slice(entries * (ROW / 4) + warp_index * ring_words, ring_words);
    // ptxas copies a word that it knows to be one into four registers before each product. It does not see through shuffles, and keeps their results.
    let address = [0, 1, 2, 3].map(|i| warp::warp_shuffle_xor(warp::FULL, lane_address::<M>(near, lane ^ i), i, 32).0);
    let strip = Strip {
        cells,
        origin: 0,
        seen: (rows as i32, cols as i32),
        out,
        table: near,
        ring: Ring::new(ring, slots, lane),
        weights: Weights::new(lane / 4 % 2),
        bands: bands(lane, size / 2),
        address,
        radius: (size / 2) as i32,
        rows: rows as i32,
        cols: cols as i32,
        stride,
        out_row: -(first as i32),
        out_col: 0,
        out_stride,
        nodata,
        measure,
        lane,
        x: 0,
    };
    (strip, warp_index)
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn band<M: Measure, const NODATA: bool>(
    cells: In<u8>,
    out: Out<M::Result>,
    table: In<M::Entry>,
    (rows, cols, stride): (u32, u32, u32),
    (first, count, out_stride): (u32, u32, u32),
    size: u32,
    nodata: u32,
    (rows_each, border_each): (u32, u32),
    measure: M,
    (found, records): (In<u32>, u32),
) {
    if !admits(found, records, if NODATA { nodata } else { NOTHING }) {
        return;
    }
    let grid = (rows, cols, stride);
    let (strip, warp_index) = strips(cells, out, table, grid, (first, out_stride), (size, nodata), measure);
    let warps = thread::block_dim_x() / 32;
    // Neighbours go to different multiprocessors, so that each has its share of the border.
    let mut unit = warp_index * thread::grid_dim_x() + thread::block_idx_x();
    let units = Units::new((rows, cols), (first, count), size / 2, (rows_each, border_each));
    let all = units.count();
    while unit < all {
        let work = units.get(unit);
        let here = Strip { x: (work.strip * BAND_COLS) as i32, ..strip };
        here.march_groups::<NODATA>(&work);
        unit += warps * thread::grid_dim_x();
    }
}

macro_rules! bands {
    ($(
        $(#[$doc:meta])*
        $name:ident, $threads:literal threads, nodata $nodata:literal, $result:ty, $entry:ty,
        |$formula:ident, $scale:ident: $real:ty| $measure:expr;
    )*) => {$(
        $(#[$doc])*
        #[kernel(threads = $threads, blocks = 1, arch = 80)]
        pub unsafe fn $name(
            cells: In<u8>,
            out: Out<$result>,
            table: In<$entry>,
            rows: u32,
            cols: u32,
            stride: u32,
            first: u32,
            count: u32,
            out_stride: u32,
            size: u32,
            nodata: u32,
            rows_each: u32,
            border_each: u32,
            $formula: u32,
            $scale: $real,
            found: In<u32>,
            records: u32,
        ) {
            let (frame, kept, each) = ((rows, cols, stride), (first, count, out_stride), (rows_each, border_each));
            band::<_, $nodata>(cells, out, table, frame, kept, size, nodata, each, $measure, (found, records));
        }
    )*};
}

bands! {
    /// Entropy of a `size` × `size` window of up to 16 levels without nodata, `size` being odd and at most [`BAND_SIZE`], in blocks of up to [`BAND_THREADS`]
    /// threads, on the tensor cores.
    ///
    /// Any number of blocks works; as many as run at once is best, and [`band_units`] warps. `table` holds F(n) for n = 0..=size² in units of 1/S, modulo
    /// 2^32, and `scale` multiplies by what is wanted over S: N·H is below 2^32 / S in all windows. `formula` is not read. Dynamic shared memory:
    /// [`band_bytes`]. `found` and `records` are those of [`entropy_tensor`](fn@super::entropy_tensor).
    ///
    /// # Safety
    /// As [`entropy_naive`](fn@super::entropy_naive); besides, `cells` is aligned to 4 bytes and `stride` is a multiple of
    /// 4, `out` to 16 bytes and `out_stride` is a multiple of 4 and at least `cols` rounded up to one; the launch has the block size and the shared memory above;
    /// `nodata` is above 255; `found` has `records` records. Cells that are no levels give meaningless results, and do no other harm.
    entropy_band, 512 threads, nodata false, f32, u32, |formula, scale: f32| Single::<true, false>::new(formula, scale);

    /// [`entropy_band`](fn@entropy_band) for grids with cells that are nodata, in blocks of up to [`BAND_COUNTED_THREADS`] threads.
    ///
    /// # Safety
    /// As [`entropy_band`](fn@entropy_band); `nodata` may be at most 255, and cells are below 16 or equal to it.
    entropy_band_counted, 640 threads, nodata true, f32, u32, |formula, scale: f32| Single::<true, false>::new(formula, scale);

    /// [`entropy_band`](fn@entropy_band) for another measure: `formula`, one of the numbers `ONE_SUM_…`, says what `table` and `scale` are for.
    ///
    /// # Safety
    /// As [`entropy_band`](fn@entropy_band).
    entropy_band_measures, 512 threads, nodata false, f32, u32, |formula, scale: f32| Single::<false, false>::new(formula, scale);

    /// The same for grids with nodata.
    ///
    /// # Safety
    /// As [`entropy_band_counted`](fn@entropy_band_counted).
    entropy_band_measures_counted, 640 threads, nodata true, f32, u32, |formula, scale: f32| Single::<false, false>::new(formula, scale);

    /// [`entropy_band`](fn@entropy_band) in f64: `table` has entries of 64 bits.
    ///
    /// # Safety
    /// As [`entropy_band`](fn@entropy_band).
    entropy_band_f64, 512 threads, nodata false, f64, u64, |formula, scale: f64| Double::<false>::new(formula, scale);

    /// The same for grids with nodata, in blocks of up to [`BAND_THREADS`] threads.
    ///
    /// # Safety
    /// As [`entropy_band_counted`](fn@entropy_band_counted).
    entropy_band_f64_counted, 512 threads, nodata true, f64, u64, |formula, scale: f64| Double::<false>::new(formula, scale);

    /// [`entropy_band`](fn@entropy_band) for up to 112 classes, 16 at a time: `table` has units for so many, and `formula` has how many groups of 16 there are from bit
    /// [`ONE_SUM_GROUPS`](super::ONE_SUM_GROUPS) on.
    ///
    /// # Safety
    /// As [`entropy_band`](fn@entropy_band).
    entropy_band_many, 512 threads, nodata false, f32, u32,
        |formula, scale: f32| Single::<true, true>::new(formula, scale);

    /// The same for grids with nodata, which is no class, in blocks of up to [`BAND_THREADS`] threads.
    ///
    /// # Safety
    /// As [`entropy_band_counted`](fn@entropy_band_counted), but that cells are below 16 · groups or equal to `nodata`.
    entropy_band_many_counted, 512 threads, nodata true, f32, u32,
        |formula, scale: f32| Single::<true, true>::new(formula, scale);

    /// [`entropy_band_measures`](fn@entropy_band_measures) for up to 48 classes: as [`entropy_band_many`](fn@entropy_band_many), with the measure in the lower bits of
    /// `formula`.
    ///
    /// # Safety
    /// As [`entropy_band`](fn@entropy_band).
    entropy_band_many_measures, 512 threads, nodata false, f32, u32,
        |formula, scale: f32| Single::<false, true>::new(formula, scale);

    /// The same for grids with nodata.
    ///
    /// # Safety
    /// As [`entropy_band_many_counted`](fn@entropy_band_many_counted).
    entropy_band_many_measures_counted, 512 threads, nodata true, f32, u32,
        |formula, scale: f32| Single::<false, true>::new(formula, scale);

    /// [`entropy_band_many`](fn@entropy_band_many) in f64: `table` has entries of 64 bits.
    ///
    /// # Safety
    /// As [`entropy_band`](fn@entropy_band).
    entropy_band_many_f64, 512 threads, nodata false, f64, u64,
        |formula, scale: f64| Double::<true>::new(formula, scale);

    /// The same for grids with nodata.
    ///
    /// # Safety
    /// As [`entropy_band_many_counted`](fn@entropy_band_many_counted).
    entropy_band_many_f64_counted, 512 threads, nodata true, f64, u64,
        |formula, scale: f64| Double::<true>::new(formula, scale);
}
