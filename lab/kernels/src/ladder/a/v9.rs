//! v9 = v7 + the cells from a halo tile in shared memory.
//!
//! A block of 32 × 32 threads loads 32 × 32 cells, one each, and after a barrier the inner 28 × 28 threads compute
//! their windows from the tile: a ring of 2 cells is its halo. A cell is read from global memory 1.3 times instead of 25.
//! But those 25 were hits in the cache; the cost is the barrier, and a quarter of the threads that only load.
//!
//! The published source kept this rung's counters thread-private, in local memory, and so it was slower than v7 for the reason
//! of v6. Here they are in shared memory as in v7, so that the tile is the only difference.

use simt::global::{In, Out};
use simt::private::Private;
use simt::{kernel, shared, thread};

use crate::ladder::{LEVELS, LN_F32, RADIUS, clipped, entropy};

/// Rows and columns of a tile, and of a block.
const TILE: u32 = 32;
/// Rows and columns that a block writes.
pub const LADDER_V9_INNER: u32 = TILE - 2 * RADIUS;
const THREADS: u32 = TILE * TILE;

shared! {
    static LADDER_V9_CELLS: [u8; THREADS as usize];
    static LADDER_V9_COUNTERS: [i8; LEVELS * THREADS as usize];
}

/// v7 with its cells from a tile; blocks of 32 × 32 that write [`LADDER_V9_INNER`] × [`LADDER_V9_INNER`] cells.
///
/// # Safety
/// As [`ladder_v0`](fn@super::ladder_v0), and blocks are 32 × 32.
#[kernel(threads = 1024)]
pub unsafe fn ladder_v9(
    cells: In<u8>,
    out: Out<f32>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    scale: f32,
) {
    let (column, row) = (thread::thread_idx_x(), thread::thread_idx_y());
    let thread = row * TILE + column;
    // Where the thread's cell is, from 0 less the halo on. (Wrapping: what is above or left of the grid is far outside.)
    let x = (thread::block_idx_x() * LADDER_V9_INNER + column).wrapping_sub(RADIUS);
    let i = (thread::block_idx_y() * LADDER_V9_INNER + row).wrapping_sub(RADIUS);
    let y = first.wrapping_add(i);
    let tile = shared::array::<LADDER_V9_CELLS>();
    if x < cols && y < rows {
        tile.store(thread, cells.load(y as usize * stride as usize + x as usize));
    }
    thread::sync_threads();

    let inside = |at: u32| (RADIUS..TILE - RADIUS).contains(&at);
    if !inside(column) || !inside(row) || x >= cols || i >= count {
        return;
    }
    let mut table = Private::new(0.0);
    table.write(&LN_F32);
    let (window_rows, window_cols) = (clipped(y, rows), clipped(x, cols));
    let cells_counted = (window_rows.len() * window_cols.len()) as u32;
    let counters = shared::array::<LADDER_V9_COUNTERS>();
    let counter = |level: u32| level * THREADS + thread;
    for level in 0..LEVELS as u32 {
        counters.store(counter(level), 0);
    }
    for wy in window_rows {
        for wx in window_cols.clone() {
            let level = u32::from(tile.load((wy + row - y) * TILE + wx + column - x));
            counters.store(counter(level), counters.load(counter(level)) + 1);
        }
    }
    // The product in f32, the sum in f64.
    let n_ln_n = |n: u32| f64::from(n as f32 * table.load(n));
    let mut sum = 0.0;
    for level in 0..LEVELS as u32 {
        sum += n_ln_n(counters.load(counter(level)) as u32);
    }
    let h = entropy(f64::from(cells_counted), n_ln_n(cells_counted), sum) as f32 * scale;
    out.store(i as usize * out_stride as usize + x as usize, h);
}
