//! b3 = b0 + a table of logarithms in shared memory.
//!
//! As v2: the block's first 26 threads write an entry each, then a barrier. A block has 64 threads here and not 1024, so
//! the table is made 16 times as often. It was still the best of the four places in this report, and is what
//! the next rungs build on.

use simt::global::{In, Out, Pointers};
use simt::math::ln_f64;
use simt::private::Private;
use simt::{kernel, shared, thread};

use super::Matrix;
use crate::ladder::{LEVELS, LOGS, clipped, entropy};

shared! {
    static LADDER_B3_TABLE: [f64; LOGS];
}

/// b0 with a table of logarithms in shared memory; blocks of 8 × 8.
///
/// # Safety
/// As [`ladder_b0`](fn@super::ladder_b0), and a block has 26 threads or more.
#[kernel(threads = 64)]
pub unsafe fn ladder_b3(cells: Pointers<Pointers<In<f64>>>, out: Pointers<Pointers<Out<f64>>>, first: u32, scale: f64) {
    let table = shared::array::<LADDER_B3_TABLE>();
    let thread = thread::thread_idx_y() * thread::block_dim_x() + thread::thread_idx_x();
    if thread < LOGS as u32 {
        table.store(thread, ln_f64(f64::from(thread.max(1))));
    }
    thread::sync_threads();

    let (cells, out) = (Matrix(cells), Matrix(out));
    let (x, i) = (thread::index_x(), thread::index_y());
    if x >= out.width() || i >= out.height() {
        return;
    }
    let y = first + i;
    let (window_rows, window_cols) = (clipped(y, cells.height()), clipped(x, cells.width()));
    let cells_counted = (window_rows.len() * window_cols.len()) as u32;
    let mut counters = Private::<i32, LEVELS>::new(0);
    for wy in window_rows {
        for wx in window_cols.clone() {
            let level = cells.data().load(wy as usize).load(wx as usize) as u32;
            counters.store(level, counters.load(level) + 1);
        }
    }
    let n_ln_n = |n: u32| f64::from(n) * table.load(n);
    let mut sum = 0.0;
    for level in 0..LEVELS as u32 {
        sum += n_ln_n(counters.load(level) as u32);
    }
    let h = entropy(f64::from(cells_counted), n_ln_n(cells_counted), sum) * scale;
    out.data().load(i as usize).store(x as usize, h);
}
