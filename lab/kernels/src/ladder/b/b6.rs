//! b6 = b5 + height and width taken out of the structure, into a small buffer of their own.
//!
//! The addresses of the arrays come as parameters of the launch, which are in constant memory, and not from a
//! load; the extent is still loaded, 8 bytes that stay in the cache. Next to no gain is expected.

use simt::global::{In, Out};
use simt::math::ln_f64;
use simt::private::Private;
use simt::{kernel, shared, thread};

use crate::ladder::{LEVELS, LOGS, clipped, entropy};

shared! {
    static LADDER_B6_TABLE: [f64; LOGS];
}

/// b5 with height and width from a buffer; blocks of 8 × 8.
///
/// # Safety
/// `extent` holds a height and a width; `cells` has height × width cells below 16, `out` `count` × width elements;
/// `first + count` is at most the height; a block has 26 threads or more.
#[kernel(threads = 64)]
pub unsafe fn ladder_b6(cells: In<f64>, out: Out<f64>, extent: In<u32>, first: u32, count: u32, scale: f64) {
    let table = shared::array::<LADDER_B6_TABLE>();
    let thread = thread::thread_idx_y() * thread::block_dim_x() + thread::thread_idx_x();
    if thread < LOGS as u32 {
        table.store(thread, ln_f64(f64::from(thread.max(1))));
    }
    thread::sync_threads();

    let (height, width) = (extent.load(0), extent.load(1));
    let (x, i) = (thread::index_x(), thread::index_y());
    if x >= width || i >= count {
        return;
    }
    let y = first + i;
    let (window_rows, window_cols) = (clipped(y, height), clipped(x, width));
    let cells_counted = (window_rows.len() * window_cols.len()) as u32;
    let mut counters = Private::<i32, LEVELS>::new(0);
    for wy in window_rows {
        for wx in window_cols.clone() {
            let level = cells.load(wy as usize * width as usize + wx as usize) as u32;
            counters.store(level, counters.load(level) + 1);
        }
    }
    let n_ln_n = |n: u32| f64::from(n) * table.load(n);
    let mut sum = 0.0;
    for level in 0..LEVELS as u32 {
        sum += n_ln_n(counters.load(level) as u32);
    }
    let h = entropy(f64::from(cells_counted), n_ln_n(cells_counted), sum) * scale;
    out.store(i as usize * width as usize + x as usize, h);
}
