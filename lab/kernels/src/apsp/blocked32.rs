//! Blocked by 32, a thread a cell: the textbook's kernels.
//!
//! A block loads its tiles into shared memory, where each of their cells is read 32 times: global memory, the bottleneck of `naive`, is
//! touched once in 32 steps. The bottleneck here is shared memory, with two loads for one relaxation.

use simt::global::Out;
use simt::shared::Shared;
use simt::{kernel, shared, thread};

use super::beside;

/// Rows and columns of a tile, and of a block's threads.
pub const BLOCKED32_SIDE: u32 = 32;

const CELLS: usize = (BLOCKED32_SIDE * BLOCKED32_SIDE) as usize;

shared! {
    static APSP_BLOCKED32_FIRST: [i32; CELLS];
    static APSP_BLOCKED32_SECOND: [i32; CELLS];
}

/// The thread's column and row in a tile, and its index in the tile.
#[inline(always)]
fn own() -> (u32, u32, u32) {
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    (x, y, y * BLOCKED32_SIDE + x)
}

/// The index of the thread's cell of tile (`row`, `column`).
#[inline(always)]
fn index(row: u32, column: u32, pitch: u32) -> usize {
    let (x, y, _) = own();
    (row * BLOCKED32_SIDE + y) as usize * pitch as usize + (column * BLOCKED32_SIDE + x) as usize
}

/// The thread's cell of the product of two tiles, or `cell` where that is less.
#[inline(always)]
fn product(cell: i32, a: Shared<i32>, b: Shared<i32>) -> i32 {
    let (x, y, _) = own();
    let mut cell = cell;
    for k in 0..BLOCKED32_SIDE {
        cell = cell.min(a.load(y * BLOCKED32_SIDE + k).wrapping_add(b.load(k * BLOCKED32_SIDE + x)));
    }
    cell
}

/// The pivot tile of a round, in one block of 32 × 32 threads.
///
/// # Safety
/// `distances` is a matrix of whole tiles, as in the module's text, of more than `round` rows of tiles; the launch is as above.
#[kernel(threads = 1024)]
pub unsafe fn apsp_blocked32_phase1(distances: Out<i32>, pitch: u32, round: u32) {
    let tile = shared::array::<APSP_BLOCKED32_FIRST>();
    let (x, y, own) = own();
    let mut cell = distances.load(index(round, round, pitch));
    tile.store(own, cell);
    thread::sync_threads();
    for k in 0..BLOCKED32_SIDE {
        let via = tile.load(y * BLOCKED32_SIDE + k).wrapping_add(tile.load(k * BLOCKED32_SIDE + x));
        // Row k and column k do not change in step k: no thread writes what another thread reads.
        if via < cell {
            cell = via;
            tile.store(own, cell);
        }
        thread::sync_threads();
    }
    distances.store(index(round, round, pitch), cell);
}

/// Pivot row (y = 0) and pivot column (y = 1) of a round: a block of 32 × 32 threads for every tile beside the pivot.
///
/// # Safety
/// As [`apsp_blocked32_phase1`](fn@apsp_blocked32_phase1), which has run; blocks are (tiles in a row − 1) × 2.
#[kernel(threads = 1024, blocks = 2)]
pub unsafe fn apsp_blocked32_phase2(distances: Out<i32>, pitch: u32, round: u32) {
    let (pivot, tile) = (shared::array::<APSP_BLOCKED32_FIRST>(), shared::array::<APSP_BLOCKED32_SECOND>());
    let (.., own) = own();
    let other = beside(round, thread::block_idx_x());
    let is_row = thread::block_idx_y() == 0;
    let at = if is_row { index(round, other, pitch) } else { index(other, round, pitch) };
    let cell = distances.load(at);
    pivot.store(own, distances.load(index(round, round, pitch)));
    tile.store(own, cell);
    thread::sync_threads();
    let cell = if is_row { product(cell, pivot, tile) } else { product(cell, tile, pivot) };
    distances.store(at, cell);
}

/// All other tiles of a round, a block of 32 × 32 threads for each.
///
/// # Safety
/// As [`apsp_blocked32_phase2`](fn@apsp_blocked32_phase2), which has run; blocks are (tiles in a row − 1) squared.
#[kernel(threads = 1024, blocks = 2)]
pub unsafe fn apsp_blocked32_phase3(distances: Out<i32>, pitch: u32, round: u32) {
    let (column, row) = (shared::array::<APSP_BLOCKED32_FIRST>(), shared::array::<APSP_BLOCKED32_SECOND>());
    let (.., own) = own();
    let (i, j) = (beside(round, thread::block_idx_y()), beside(round, thread::block_idx_x()));
    column.store(own, distances.load(index(i, round, pitch)));
    row.store(own, distances.load(index(round, j, pitch)));
    let cell = distances.load(index(i, j, pitch));
    thread::sync_threads();
    distances.store(index(i, j, pitch), product(cell, column, row));
}
