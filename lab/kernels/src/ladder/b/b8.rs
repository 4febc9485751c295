//! b8 = b7 + i16 cells and counters, f32 results and table.
//!
//! 2 + 4 bytes of input and output a cell instead of 8 + 8, half the counters' bytes in local memory, and no f64 but in
//! the making of the table: b7 moved four times more than its data needs. The largest step of its ladder.

use simt::global::{In, Out};
use simt::math::ln_f64;
use simt::private::Private;
use simt::{constant, kernel, shared, thread};

use super::LADDER_EXTENT;
use crate::ladder::{LEVELS, LOGS, clipped};

shared! {
    static LADDER_B8_TABLE: [f32; LOGS];
}

/// i16 cells and counters, f32 results and table; blocks of 8 × 8.
///
/// # Safety
/// As [`ladder_b7`](fn@super::ladder_b7).
#[kernel(threads = 64)]
pub unsafe fn ladder_b8(cells: In<i16>, out: Out<f32>, first: u32, count: u32, scale: f32) {
    narrow(cells, out, first, count, scale);
}

/// b8, for blocks of any shape.
#[inline(always)]
pub(super) fn narrow(cells: In<i16>, out: Out<f32>, first: u32, count: u32, scale: f32) {
    let table = shared::array::<LADDER_B8_TABLE>();
    let thread = thread::thread_idx_y() * thread::block_dim_x() + thread::thread_idx_x();
    if thread < LOGS as u32 {
        table.store(thread, ln_f64(f64::from(thread.max(1))) as f32);
    }
    thread::sync_threads();

    let (height, width) = (constant::load::<LADDER_EXTENT>(0), constant::load::<LADDER_EXTENT>(1));
    let (x, i) = (thread::index_x(), thread::index_y());
    if x >= width || i >= count {
        return;
    }
    let y = first + i;
    let (window_rows, window_cols) = (clipped(y, height), clipped(x, width));
    let cells_counted = (window_rows.len() * window_cols.len()) as u32;
    let mut counters = Private::<i16, LEVELS>::new(0);
    for wy in window_rows {
        for wx in window_cols.clone() {
            let level = cells.load(wy as usize * width as usize + wx as usize) as u32;
            counters.store(level, counters.load(level) + 1);
        }
    }
    let n_ln_n = |n: u32| n as f32 * table.load(n);
    let mut sum = 0.0;
    for level in 0..LEVELS as u32 {
        sum += n_ln_n(counters.load(level) as u32);
    }
    let h = ((n_ln_n(cells_counted) - sum) / cells_counted as f32).max(0.0) * scale;
    out.store(i as usize * width as usize + x as usize, h);
}
