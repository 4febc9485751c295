//! b2 = b0 + a table of logarithms in thread-private memory.
//!
//! As v1: each thread writes 26 entries of f64 into local memory for the 17 that it reads.

use simt::global::{In, Out, Pointers};
use simt::private::Private;
use simt::{kernel, thread};

use super::Matrix;
use crate::ladder::{LEVELS, LN, clipped, entropy};

/// b0 with a thread-private table of logarithms; blocks of 8 × 8.
///
/// # Safety
/// As [`ladder_b0`](fn@super::ladder_b0).
#[kernel(threads = 64)]
pub unsafe fn ladder_b2(cells: Pointers<Pointers<In<f64>>>, out: Pointers<Pointers<Out<f64>>>, first: u32, scale: f64) {
    let (cells, out) = (Matrix(cells), Matrix(out));
    let (x, i) = (thread::index_x(), thread::index_y());
    if x >= out.width() || i >= out.height() {
        return;
    }
    let mut table = Private::new(0.0);
    table.write(&LN);
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
