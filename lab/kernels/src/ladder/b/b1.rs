//! b1 = b0 + a table of logarithms in global memory.
//!
//! A load that hits the first-level cache, for each logarithm. But b0 is bound by pointers and cells, not by arithmetic, so
//! little is expected: the report saw 3 %.

use simt::global::{In, Out, Pointers};
use simt::private::Private;
use simt::{kernel, thread};

use super::Matrix;
use crate::ladder::{LEVELS, clipped, entropy};

/// b0 with a table of logarithms in global memory; blocks of 8 × 8.
///
/// # Safety
/// As [`ladder_b0`](fn@super::ladder_b0); `table` holds ln n for n up to 25, and 0 for 0.
#[kernel(threads = 64)]
pub unsafe fn ladder_b1(
    cells: Pointers<Pointers<In<f64>>>,
    out: Pointers<Pointers<Out<f64>>>,
    table: In<f64>,
    first: u32,
    scale: f64,
) {
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
    let n_ln_n = |n: u32| f64::from(n) * table.load(n as usize);
    let mut sum = 0.0;
    for level in 0..LEVELS as u32 {
        sum += n_ln_n(counters.load(level) as u32);
    }
    let h = entropy(f64::from(cells_counted), n_ln_n(cells_counted), sum) * scale;
    out.data().load(i as usize).store(x as usize, h);
}
