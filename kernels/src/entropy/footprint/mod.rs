//! Windows of any shape and 16 classes at a time, counted bit by bit on the tensor cores: here of up to 25 columns and 31 rows, in [`large`] of up to 193 columns.
//!
//! ```text
//! a warp owns 32 columns and marches down, two rows of results at a time:
//!     two rows of cells enter: a bit a cell for each class, made of ballots of the bits of their codes
//!     counts = (the window, a bit a cell) · (bits of the classes)          up to 32 rows of 32 columns, 256 bits a product
//!     Σ F(n_i) by 16 lookups a result, at the counts' places in a table
//! ```
//!
//! The tensor cores count how many bits a row of A and a column of B have in common. Of a window and a class that is the class's count: the shape of the
//! window is data, and costs nothing. Nothing is kept up to date from row to row but the bits of the cells, and those stay in registers:
//!
//! * **A row of cells has one place in the products for good.** Bits of a row are loaded into the place of one that no window sees any longer. So the
//!   places turn around below the window, and the window is what moves: A is read from a table in shared memory, from another place in each step.
//! * **Rows of A are 8 neighbouring results of two rows**, each the window's rows, shifted by as many columns. 32 columns of bits have room for
//!   them and windows of 25.
//! * **Columns of B are two classes of four regions of 8 results.** After eight products a lane has all 16 classes of its own two results, and adds them up by
//!   itself, as in [`band`](super::band).
//! * **Ballots turn cells into bits**: one of each bit of the code for 32 cells. A lane makes the bits of its classes of those, a few logic operations for 32
//!   cells each.
//!
//! The table of F is kept 32 times, one copy a lane and bank. Of more than 16 classes a strip is marched over once for every sixteen, and sums wait in the
//! results. Where there is nodata, and at the grid's border, the bits of valid cells are a class more.
//!
//! Devices of compute capability 8.x and 9.0 multiply 256 bits in the time of 32 bytes. What came before, products of bytes by the rows in which the window changes,
//! took four times as long for a disk 21 across.

use simt::global::{In, Out};
use simt::shared::{self, Shared};
use simt::{kernel, thread, warp};

use self::strip::{PLACE, STRIP, Strip};
use super::lane_table::{self, ROW};
use super::one_sum::OneSum;
use super::units::{UNIT_COLS, Units};

mod large;
mod strip;

/// Threads of a block at most, of the kernel that keeps `places` rows of cells: the more bits a lane has, the fewer.
pub const fn footprint_threads(places: u32) -> u32 {
    match places {
        8 => 768,
        16 => 640,
        _ => 512,
    }
}

/// How many columns a window may have.
pub const FOOTPRINT_COLS: u32 = 2 * FOOTPRINT_HALO + 1;
/// Columns of cells before the first result of a region, in the bits that it sees.
pub const FOOTPRINT_HALO: u32 = 12;
/// Warps that share a unit of work.
pub const FOOTPRINT_TEAM: u32 = UNIT_COLS / STRIP;

/// Rows that windows may have in the kernel that keeps `places` rows of cells.
pub const fn footprint_rows(places: u32) -> u32 {
    // Two rows of results see one more.
    places - 1
}

/// Dynamic shared memory of a block for windows of `full` cells and a kernel that keeps `places` rows of cells, in bytes.
pub const fn footprint_bytes(full: u32, places: u32) -> u32 {
    (full + 1) * ROW + 2 * places * PLACE
}

/// Units of work of a launch: teams of [`FOOTPRINT_TEAM`] warps take one after another.
pub fn footprint_units(grid: (u32, u32), kept: (u32, u32), radius: u32, each: (u32, u32)) -> u32 {
    Units::new(grid, kept, radius, each).count()
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn footprint<const CHUNKS: usize>(
    cells: In<u8>,
    out: Out<f32>,
    table: In<u32>,
    (rows, cols, stride): (u32, u32, u32),
    (first, count, out_stride): (u32, u32, u32),
    window: In<u32>,
    (window_rows, radius, full): (u32, u32, u32),
    nodata: u32,
    (rows_each, border_each): (u32, u32),
    (formula, scale): (u32, f32),
) {
    let lane = warp::lane_id();
    let (places, entries) = (8 * CHUNKS as u32, full + 1);
    let near = lane_table::fill(table, entries, |q| [q.wrapping_neg(); 4]);
    let shifted = shared::dynamic::<u32>().slice(entries * (ROW / 4), 2 * places * (PLACE / 4));
    shift(shifted, window, window_rows, places);
    thread::sync_threads();

    // The shuffle tells ptxas that all lanes have the same.
    let warp_index = warp::warp_shuffle_idx(warp::FULL, thread::thread_idx_x() / 32, 0, 32).0;
    let (sum, groups) = OneSum::of_formula(formula, scale);
    let strip = Strip::<CHUNKS> {
        cells,
        out,
        table: near,
        window: shifted.cast(),
        address: near.address() + 4 * lane,
        full,
        reach: (window_rows / 2) as i32,
        rows: rows as i32,
        cols: cols as i32,
        stride,
        out_row: -(first as i32),
        out_stride,
        nodata,
        sum,
        groups,
        lane,
        x: 0,
    };
    let teams = thread::block_dim_x() / (32 * FOOTPRINT_TEAM);
    // Neighbours go to different multiprocessors, so that each has its share of the border.
    let mut unit = warp_index / FOOTPRINT_TEAM * thread::grid_dim_x() + thread::block_idx_x();
    let units = Units::new((rows, cols), (first, count), radius, (rows_each, border_each));
    let all = units.count();
    while unit < all {
        let work = units.get(unit);
        let here = Strip { x: (work.strip * UNIT_COLS + warp_index % FOOTPRINT_TEAM * STRIP) as i32, ..strip };
        here.march_groups(&work);
        unit += teams * thread::grid_dim_x();
    }
}

/// The rows of the window for each place that a row of cells may have, twice around, and for each of eight neighbouring results: for a result and the one
/// below it.
#[inline(always)]
fn shift(shifted: Shared<u32>, window: In<u32>, window_rows: u32, places: u32) {
    let mut at = thread::thread_idx_x();
    while at < 2 * places * (PLACE / 4) {
        let (place, result, below) = (at / (PLACE / 4), at / 2 % 8, at % 2);
        let row = (place + places - below) % places;
        let bits = if row < window_rows { window.load(row as usize) } else { 0 };
        shifted.store(at, bits << result);
        at += thread::block_dim_x();
    }
}

/// Rows of results that a block of the kernels for large windows computes at a time: two a warp.
pub const FOOTPRINT_BATCH: u32 = 16;
/// Threads of their blocks.
pub const FOOTPRINT_WIDE_THREADS: u32 = 256;

/// How many columns windows may have in the kernel for large ones that has so many words of 32 columns on each side.
pub const fn footprint_wide_cols(halo: u32) -> u32 {
    64 * halo + 1
}

/// Words of a row of such a window. The bit of the centre's column is `32 · halo + 31`.
pub const fn footprint_wide_words(halo: u32) -> u32 {
    large::window_words(halo)
}

/// Dynamic shared memory of their blocks for windows of `rows` rows and so many entries of tables, in bytes.
pub const fn footprint_wide_bytes(entries: u32, rows: u32, halo: u32) -> u32 {
    let window = (9 * large::chunks(rows) + 1) * large::window_words(halo);
    4 * (entries + window + slots(rows) * large::row_words(halo))
}

/// Rows of cells that a block of theirs keeps.
const fn slots(rows: u32) -> u32 {
    rows + FOOTPRINT_BATCH - 1
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn footprint_wide<const HALO: usize>(
    cells: In<u8>,
    out: Out<f32>,
    table: In<u32>,
    (rows, cols, stride): (u32, u32, u32),
    (first, count, out_stride): (u32, u32, u32),
    window: In<u32>,
    (window_rows, radius, full): (u32, u32, u32),
    nodata: u32,
    (rows_each, border_each): (u32, u32),
    (formula, scale): (u32, f32),
    (finer, finer_scale): (u32, f32),
) {
    let (t, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let memory = shared::dynamic::<u32>();
    let entries = full + 1 + if finer > 0 { finer + 1 } else { 0 };
    let near = memory.slice(0, entries);
    let mut at = t;
    while at < entries {
        near.store(at, table.load(at as usize).wrapping_neg());
        at += threads;
    }
    // Rows of the window from the one above its first on, until the last chunk is full.
    let (words, chunks) = (large::window_words(HALO as u32), large::chunks(window_rows));
    let all = (8 * chunks + 1) * words;
    let kept = memory.slice(entries, all);
    let mut at = t;
    while at < all {
        let is_there = at >= words && at < (window_rows + 1) * words;
        kept.store(at, if is_there { window.load((at - words) as usize) } else { 0 });
        at += threads;
    }
    thread::sync_threads();
    // What a word of a chunk's nine rows and the word behind it have in common is 0 where there is nothing to count.
    let parts = memory.slice(entries + all, chunks * words);
    let mut at = t;
    while at < chunks * words {
        let mut bits = 0;
        let mut row = 0;
        while row < 9 {
            let word = at / words * 8 * words + row * words + at % words;
            bits |= kept.load(word) | if at % words + 1 < words { kept.load(word + 1) } else { 0 };
            row += 1;
        }
        parts.store(at, bits);
        at += threads;
    }
    thread::sync_threads();

    let (sum, groups) = OneSum::of_formula(formula, scale);
    let slots = slots(window_rows);
    let strip = large::Strip::<HALO> {
        cells,
        out,
        table: near,
        finer,
        finer_scale,
        window: kept,
        parts,
        bits: memory.slice(entries + all + chunks * words, slots * large::row_words(HALO as u32)),
        slots,
        full,
        window_rows,
        rows: rows as i32,
        cols: cols as i32,
        stride,
        out_row: -(first as i32),
        out_stride,
        nodata,
        sum,
        groups,
        lane: warp::lane_id(),
        // The shuffle tells ptxas that all lanes have the same.
        warp: warp::warp_shuffle_idx(warp::FULL, t / 32, 0, 32).0,
        x: 0,
    };
    let units = Units::new((rows, cols), (first, count), radius, (rows_each, border_each));
    let mut unit = thread::block_idx_x();
    let all = units.count();
    while unit < all {
        let work = units.get(unit);
        large::Strip { x: (work.strip * UNIT_COLS) as i32, ..strip }.march_groups(&work);
        unit += thread::grid_dim_x();
    }
}

macro_rules! footprints {
    ($(
        $(#[$doc:meta])*
        $name:ident, $of:ident $part:literal, $threads:literal threads, $blocks:literal blocks
        $(, |$finer:ident, $finer_scale:ident|)?;
    )*) => {$(
        $(#[$doc])*
        #[kernel(threads = $threads, blocks = $blocks, arch = 80)]
        pub unsafe fn $name(
            cells: In<u8>,
            out: Out<f32>,
            table: In<u32>,
            rows: u32,
            cols: u32,
            stride: u32,
            first: u32,
            count: u32,
            out_stride: u32,
            window: In<u32>,
            window_rows: u32,
            radius: u32,
            full: u32,
            nodata: u32,
            rows_each: u32,
            border_each: u32,
            formula: u32,
            scale: f32,
            $($finer: u32, $finer_scale: f32,)?
        ) {
            let (frame, kept, each) = ((rows, cols, stride), (first, count, out_stride), (rows_each, border_each));
            let (shape, measure) = ((window_rows, radius, full), (formula, scale));
            $of::<$part>(cells, out, table, frame, kept, window, shape, nodata, each, measure $(, ($finer, $finer_scale))?);
        }
    )*};
}

footprints! {
    /// A measure of a window of any shape of up to 7 rows and [`FOOTPRINT_COLS`] columns, both odd, in blocks of up to
    /// [`footprint_threads`] threads, a multiple of 32 · [`FOOTPRINT_TEAM`], on the tensor cores.
    ///
    /// `window` has a word for each of `window_rows` rows: bit [`FOOTPRINT_HALO`] is the centre's column. It has `full` cells, none more than `radius` rows or
    /// columns from the centre. Any number of blocks works; as many as run at once is best, and [`footprint_units`] teams. `table` holds Q(n) for n = 0..=`full`,
    /// and `formula` and `scale` are as for [`entropy_band_measures`](fn@super::entropy_band_measures), with how many groups of 16 classes there are from bit
    /// [`ONE_SUM_GROUPS`](super::ONE_SUM_GROUPS) on where there is more than one. Dynamic shared memory: [`footprint_bytes`] of 8 places.
    ///
    /// # Safety
    /// As [`entropy_naive`](fn@super::entropy_naive); besides, the launch has the block size and the shared memory above. Cells that are no classes are not
    /// counted, and `nodata` may be any byte, or above 255.
    entropy_footprint_7, footprint 1, 768 threads, 1 blocks;

    /// [`entropy_footprint_7`](fn@entropy_footprint_7) for up to 15 rows; 16 places.
    ///
    /// # Safety
    /// As [`entropy_footprint_7`](fn@entropy_footprint_7).
    entropy_footprint_15, footprint 2, 640 threads, 1 blocks;

    /// The same for up to 23 rows; 24 places.
    ///
    /// # Safety
    /// As [`entropy_footprint_7`](fn@entropy_footprint_7).
    entropy_footprint_23, footprint 3, 512 threads, 1 blocks;

    /// The same for up to 31 rows; 32 places.
    ///
    /// # Safety
    /// As [`entropy_footprint_7`](fn@entropy_footprint_7).
    entropy_footprint_31, footprint 4, 512 threads, 1 blocks;

    /// The same for windows of up to 65 columns and as many rows as shared memory has room for, in blocks of [`FOOTPRINT_WIDE_THREADS`] threads, each of which takes
    /// one unit of [`footprint_units`] after another.
    ///
    /// `window` has [`footprint_wide_words`] words for each row. Of windows of up to `finer` valid cells, if that is not 0, `table` has Q in another unit from entry
    /// `full` + 1 on, and what 1/N is multiplied by for those is `finer_scale`. Dynamic shared memory: [`footprint_wide_bytes`].
    ///
    /// # Safety
    /// As [`entropy_footprint_7`](fn@entropy_footprint_7).
    entropy_footprint_wide_65, footprint_wide 1, 256 threads, 2 blocks, |finer, finer_scale|;

    /// [`entropy_footprint_wide_65`](fn@entropy_footprint_wide_65) for up to 129 columns.
    ///
    /// # Safety
    /// As [`entropy_footprint_7`](fn@entropy_footprint_7).
    entropy_footprint_wide_129, footprint_wide 2, 256 threads, 2 blocks, |finer, finer_scale|;

    /// The same for up to 193 columns.
    ///
    /// # Safety
    /// As [`entropy_footprint_7`](fn@entropy_footprint_7).
    entropy_footprint_wide_193, footprint_wide 3, 256 threads, 2 blocks, |finer, finer_scale|;
}
