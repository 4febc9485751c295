//! v1 = v0 + a table of the 26 logarithms in thread-private memory, instead of calling the logarithm.
//!
//! Every thread writes a table of its own: 26 stores of f64 before it reads its first cell. The idea is
//! that a table in registers would be the fastest memory; but it is indexed by a count, so it is in local memory, 208
//! bytes a thread. The stores are expected to cost more than 17 logarithms did, and they do: v1 is slower than v0.

use simt::global::{In, Out};
use simt::private::Private;
use simt::{kernel, thread};

use crate::ladder::{LEVELS, LN, clipped, entropy};

/// i32 counters, a thread-private table of logarithms; blocks of 32 × 32.
///
/// # Safety
/// As [`ladder_v0`](fn@super::ladder_v0).
#[kernel(threads = 1024)]
pub unsafe fn ladder_v1(
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
    let (x, i) = (thread::index_x(), thread::index_y());
    if x >= cols || i >= count {
        return;
    }
    let mut table = Private::new(0.0);
    table.write(&LN);
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
