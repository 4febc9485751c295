//! v6 = v1 + counters of 8 bits instead of 32.
//!
//! A count is at most 25. 16 counters then are 16 bytes of local memory a thread instead of 64, so a block's fit
//! in the cache four times better; that, not arithmetic, is the bottleneck of v1.

use simt::global::{In, Out};
use simt::private::Private;
use simt::{kernel, thread};

use crate::ladder::{LEVELS, LN, clipped, entropy};

/// i8 counters, a thread-private table of logarithms; blocks of 32 × 32.
///
/// # Safety
/// As [`ladder_v0`](fn@super::ladder_v0).
#[kernel(threads = 1024)]
pub unsafe fn ladder_v6(
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
    let mut counters = Private::<i8, LEVELS>::new(0);
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
