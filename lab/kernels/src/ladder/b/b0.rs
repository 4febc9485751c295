//! b0, the baseline: matrices of f64 whose rows are found through an array of pointers, as C programs keep them.
//!
//! The kernel gets the address of a matrix. From there it loads the address of the array of rows, from that the address of a
//! row, and from that a cell: each load depends on the one before it, and the caches have to hold four arrays
//! instead of one. A cell of 16 levels takes 8 bytes. Blocks are 8 × 8: two warps, 4 rows each.
//! The counting is that of v0: 16 counters in local memory, a logarithm in f64 for every count above 0.

use simt::global::{In, Out, Pointers};
use simt::math::ln_f64;
use simt::private::Private;
use simt::{kernel, thread};

use super::Matrix;
use crate::ladder::{LEVELS, clipped, entropy};

/// f64 cells behind pointers to rows, i32 counters, a logarithm for every count above 0; blocks of 8 × 8.
///
/// # Safety
/// `cells` and `out` are matrices of pointers to rows: height, width, pointer to the array of rows. Both have the same
/// width; cells are below 16; `first` + the height of `out` is at most that of `cells`.
#[kernel(threads = 64)]
pub unsafe fn ladder_b0(cells: Pointers<Pointers<In<f64>>>, out: Pointers<Pointers<Out<f64>>>, first: u32, scale: f64) {
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
    let n_ln_n = |n: u32| f64::from(n) * ln_f64(f64::from(n));
    let mut sum = 0.0;
    for level in 0..LEVELS as u32 {
        let n = counters.load(level) as u32;
        if n > 0 {
            sum += n_ln_n(n);
        }
    }
    let h = entropy(f64::from(cells_counted), n_ln_n(cells_counted), sum) * scale;
    out.data().load(i as usize).store(x as usize, h);
}
