//! Blocked by 64, four cells a thread: the source's kernels, also for its version over several devices.
//!
//! ```text
//!     block of 32 x 32 threads, tile of 64 x 64        thread (x, y) has the cells (x, y), (x + 32, y), (x, y + 32), (x + 32, y + 32)
//! ```
//!
//! Four cells in two rows and two columns take four loads from shared memory for four relaxations, where one cell takes two for one.
//! Neighbouring threads still have neighbouring columns, so that there are no bank conflicts. Tiles four times as large halve what
//! comes from global memory; three of them are the 48 KiB that every GPU gives a block.
//!
//! Phase 2 gives a block one tile of the pivot row and the one of the pivot column that mirrors it, so that the pivot tile is loaded once
//! for both. Phase 3 has its own tile in shared memory too, as in the source: no other thread reads it, and in the loop it is in registers.
//!
//! `c.min(a + b)`, without a branch, is one instruction on sm_90 and later (VIADDMNMX), two before.
//!
//! # Several devices
//! A device has some rows of tiles, its band. Phase 1 and the pivot row of phase 2 are done redundantly on every device: the pivot
//! row, as it was before the round, is all that they exchange. It is where `pivot` says: in the band on the
//! device whose row it is, in a buffer of its own on the others.

use simt::global::Out;
use simt::shared::Shared;
use simt::{kernel, shared, thread};

use super::beside;

/// Rows and columns of a tile.
pub const BLOCKED64_SIDE: u32 = 64;
/// Rows and columns of a block's threads, and what is between the cells of one of them.
pub const BLOCKED64_THREADS: u32 = 32;

const CELLS: usize = (BLOCKED64_SIDE * BLOCKED64_SIDE) as usize;

shared! {
    static APSP_BLOCKED64_FIRST: [i32; CELLS];
    static APSP_BLOCKED64_SECOND: [i32; CELLS];
    static APSP_BLOCKED64_THIRD: [i32; CELLS];
}

/// The thread's four cells of a tile.
type Four = [i32; 4];

/// Columns and rows of the thread's four cells.
#[inline(always)]
fn own() -> [(u32, u32); 4] {
    let (x, y, step) = (thread::thread_idx_x(), thread::thread_idx_y(), BLOCKED64_THREADS);
    [(x, y), (x + step, y), (x, y + step), (x + step, y + step)]
}

/// A tile in global memory.
#[derive(Clone, Copy)]
struct Tile {
    cells: Out<i32>,
    start: usize,
    pitch: usize,
}

impl Tile {
    /// The one that begins at row `row` of `cells`, `column` tiles from the left.
    #[inline(always)]
    fn new(cells: Out<i32>, row: u32, column: u32, pitch: u32) -> Self {
        let start = row as usize * pitch as usize + (column * BLOCKED64_SIDE) as usize;
        Self { cells, start, pitch: pitch as usize }
    }

    /// Copies it to shared memory. Returns the thread's cells.
    #[inline(always)]
    fn load(self, to: Shared<i32>) -> Four {
        let four = own().map(|(x, y)| self.cells.load(self.start + y as usize * self.pitch + x as usize));
        let mut i = 0;
        while i < 4 {
            let (x, y) = own()[i];
            to.store(y * BLOCKED64_SIDE + x, four[i]);
            i += 1;
        }
        four
    }

    /// Writes the thread's cells.
    #[inline(always)]
    fn store(self, four: Four) {
        let mut i = 0;
        while i < 4 {
            let (x, y) = own()[i];
            self.cells.store(self.start + y as usize * self.pitch + x as usize, four[i]);
            i += 1;
        }
    }
}

/// Relaxes the paths over `k`: those to the thread's two rows and from there to its two columns.
#[inline(always)]
fn over(k: u32, a: Shared<i32>, b: Shared<i32>) -> Four {
    let [(x, y), .., (x2, y2)] = own();
    let (to, to2) = (a.load(y * BLOCKED64_SIDE + k), a.load(y2 * BLOCKED64_SIDE + k));
    let (on, on2) = (b.load(k * BLOCKED64_SIDE + x), b.load(k * BLOCKED64_SIDE + x2));
    [to.wrapping_add(on), to.wrapping_add(on2), to2.wrapping_add(on), to2.wrapping_add(on2)]
}

/// The thread's cells of the product of two tiles, or `four` where these are less.
#[inline(always)]
fn product(four: Four, a: Shared<i32>, b: Shared<i32>) -> Four {
    let mut four = four;
    for k in 0..BLOCKED64_SIDE {
        let via = over(k, a, b);
        four = [four[0].min(via[0]), four[1].min(via[1]), four[2].min(via[2]), four[3].min(via[3])];
    }
    four
}

/// The pivot tile of a round, in one block of 32 × 32 threads.
///
/// # Safety
/// `pivot` holds the rows of tile row `round`, as in the module's text, from its row `row` on, whole tiles; the launch is as above.
#[kernel(threads = 1024)]
pub unsafe fn apsp_blocked64_phase1(pivot: Out<i32>, pitch: u32, round: u32, row: u32) {
    let shared = shared::array::<APSP_BLOCKED64_FIRST>();
    let tile = Tile::new(pivot, row, round, pitch);
    let mut four = tile.load(shared);
    thread::sync_threads();
    for k in 0..BLOCKED64_SIDE {
        let via = over(k, shared, shared);
        let mut i = 0;
        while i < 4 {
            // Row k and column k do not change in step k: no thread writes what another thread reads.
            if via[i] < four[i] {
                four[i] = via[i];
                let (x, y) = own()[i];
                shared.store(y * BLOCKED64_SIDE + x, via[i]);
            }
            i += 1;
        }
        thread::sync_threads();
    }
    tile.store(four);
}

/// Pivot row and pivot column of a round: for every tile of the row beside the pivot a block of 32 × 32 threads, which also has
/// the tile of the column that mirrors it, if that is in the band.
///
/// # Safety
/// `pivot`, `row` and `round` as in [`apsp_blocked64_phase1`](fn@apsp_blocked64_phase1), which has run. `band` holds `count` rows of tiles, the
/// first of them row `from` of the whole, as in the module's text; `pivot` is the same memory if and only if row `round` is among them.
/// Blocks are tiles in a row − 1.
#[kernel(threads = 1024)]
pub unsafe fn apsp_blocked64_phase2(
    band: Out<i32>,
    pivot: Out<i32>,
    pitch: u32,
    round: u32,
    row: u32,
    from: u32,
    count: u32,
) {
    let middle = shared::array::<APSP_BLOCKED64_FIRST>();
    let (along, down) = (shared::array::<APSP_BLOCKED64_SECOND>(), shared::array::<APSP_BLOCKED64_THIRD>());
    let other = beside(round, thread::block_idx_x());
    // The same for all of the block. What is above the band is far below it after the subtraction.
    let below = other.wrapping_sub(from);
    let has_column = below < count;

    Tile::new(pivot, row, round, pitch).load(middle);
    let in_row = Tile::new(pivot, row, other, pitch);
    let in_column = Tile::new(band, below.wrapping_mul(BLOCKED64_SIDE), round, pitch);
    let (right, mut left) = (in_row.load(along), [0; 4]);
    if has_column {
        left = in_column.load(down);
    }
    thread::sync_threads();
    in_row.store(product(right, middle, along));
    if has_column {
        in_column.store(product(left, down, middle));
    }
}

/// All other tiles of the band in a round, a block of 32 × 32 threads for each.
///
/// # Safety
/// As [`apsp_blocked64_phase2`](fn@apsp_blocked64_phase2), which has run; blocks are tiles in a row − 1 along x, and along y as many as the
/// band has rows of tiles besides row `round`.
#[kernel(threads = 1024, blocks = 2)]
pub unsafe fn apsp_blocked64_phase3(band: Out<i32>, pivot: Out<i32>, pitch: u32, round: u32, row: u32, from: u32) {
    let (column, along) = (shared::array::<APSP_BLOCKED64_FIRST>(), shared::array::<APSP_BLOCKED64_SECOND>());
    let itself = shared::array::<APSP_BLOCKED64_THIRD>();
    // A pivot row above the band is far below it after the subtraction: then none is left out.
    let i = beside(round.wrapping_sub(from), thread::block_idx_y()) * BLOCKED64_SIDE;
    let j = beside(round, thread::block_idx_x());
    Tile::new(band, i, round, pitch).load(column);
    Tile::new(pivot, row, j, pitch).load(along);
    let tile = Tile::new(band, i, j, pitch);
    let four = tile.load(itself);
    thread::sync_threads();
    tile.store(product(four, column, along));
}
