//! b5 = b3 + one array for all rows, instead of an array of pointers to them.
//!
//! Row y begins at element y · width: a multiplication replaces a load on which the load of a cell depends. The
//! matrix stays a structure in global memory, with its height, its width and now one pointer.

use simt::global::{In, Out, Pointers};
use simt::math::ln_f64;
use simt::private::Private;
use simt::{kernel, shared, thread};

use super::Matrix;
use crate::ladder::{LEVELS, LOGS, clipped, entropy};

shared! {
    static LADDER_B5_TABLE: [f64; LOGS];
}

/// b3 with each matrix in one array; blocks of 8 × 8.
///
/// # Safety
/// `cells` and `out` are matrices: height, width, pointer to height × width elements. Both have the same width; cells are
/// below 16; `first` + the height of `out` is at most that of `cells`; and a block has 26 threads or more.
#[kernel(threads = 64)]
pub unsafe fn ladder_b5(cells: Pointers<In<f64>>, out: Pointers<Out<f64>>, first: u32, scale: f64) {
    let table = shared::array::<LADDER_B5_TABLE>();
    let thread = thread::thread_idx_y() * thread::block_dim_x() + thread::thread_idx_x();
    if thread < LOGS as u32 {
        table.store(thread, ln_f64(f64::from(thread.max(1))));
    }
    thread::sync_threads();

    let (cells, out) = (Matrix(cells), Matrix(out));
    let (x, i) = (thread::index_x(), thread::index_y());
    let width = cells.width();
    if x >= width || i >= out.height() {
        return;
    }
    let y = first + i;
    let (window_rows, window_cols) = (clipped(y, cells.height()), clipped(x, width));
    let cells_counted = (window_rows.len() * window_cols.len()) as u32;
    let mut counters = Private::<i32, LEVELS>::new(0);
    for wy in window_rows {
        for wx in window_cols.clone() {
            let level = cells.data().load(wy as usize * width as usize + wx as usize) as u32;
            counters.store(level, counters.load(level) + 1);
        }
    }
    let n_ln_n = |n: u32| f64::from(n) * table.load(n);
    let mut sum = 0.0;
    for level in 0..LEVELS as u32 {
        sum += n_ln_n(counters.load(level) as u32);
    }
    let h = entropy(f64::from(cells_counted), n_ln_n(cells_counted), sum) * scale;
    out.data().store(i as usize * width as usize + x as usize, h);
}
