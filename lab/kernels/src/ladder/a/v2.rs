//! v2 = v0 + the table of logarithms in shared memory.
//!
//! The block's first 26 threads write an entry each, and a barrier makes the table visible to all: one table for 1024
//! threads instead of 1024. Every thread has to reach the barrier, also those outside the grid. Lanes
//! that read different entries have bank conflicts: an f64 takes two of the 32 banks, so entries 16 apart collide.

use simt::global::{In, Out};
use simt::math::ln_f64;
use simt::private::Private;
use simt::{kernel, shared, thread};

use crate::ladder::{LEVELS, LOGS, clipped, entropy};

shared! {
    static LADDER_V2_TABLE: [f64; LOGS];
}

/// i32 counters, a table of logarithms in shared memory; blocks of 32 × 32.
///
/// # Safety
/// As [`ladder_v0`](fn@super::ladder_v0), and a block has 26 threads or more.
#[kernel(threads = 1024)]
pub unsafe fn ladder_v2(
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
    let table = shared::array::<LADDER_V2_TABLE>();
    let thread = thread::thread_idx_y() * thread::block_dim_x() + thread::thread_idx_x();
    if thread < LOGS as u32 {
        table.store(thread, ln_f64(f64::from(thread.max(1))));
    }
    thread::sync_threads();

    let (x, i) = (thread::index_x(), thread::index_y());
    if x >= cols || i >= count {
        return;
    }
    let y = first + i;
    let (window_rows, window_cols) = (clipped(y, rows), clipped(x, cols));
    let cells_counted = (window_rows.len() * window_cols.len()) as u32;
    let mut counters = Private::<i32, LEVELS>::new(0);
    for wy in window_rows {
        for wx in window_cols.clone() {
            let level = u32::from(cells.load(wy as usize * stride as usize + wx as usize));
            counters.store(level, counters.load(level) + 1);
        }
    }
    let n_ln_n = |n: u32| f64::from(n) * table.load(n);
    let mut sum = 0.0;
    for level in 0..LEVELS as u32 {
        sum += n_ln_n(counters.load(level) as u32);
    }
    let h = entropy(f64::from(cells_counted), n_ln_n(cells_counted), sum) as f32 * scale;
    out.store(i as usize * out_stride as usize + x as usize, h);
}
