//! v3 = v0 + the table of logarithms in constant memory.
//!
//! Constant memory is 64 KiB behind a cache of its own that broadcasts one word at a time to a warp. Made for words that all lanes
//! read together, it serves one address after the other when they differ; and they do when lanes
//! look up different counts. It is expected to be no better than shared memory.

use simt::global::{In, Out};
use simt::private::Private;
use simt::{constant, kernel, thread};

use crate::ladder::{LEVELS, LN, clipped, entropy};

constant! {
    static LADDER_LN: [f64; 26] = LN;
}

/// i32 counters, a table of logarithms in constant memory; blocks of 32 × 32.
///
/// # Safety
/// As [`ladder_v0`](fn@super::ladder_v0).
#[kernel(threads = 1024)]
pub unsafe fn ladder_v3(
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
    let n_ln_n = |n: u32| f64::from(n) * constant::load::<LADDER_LN>(n);
    let mut sum = 0.0;
    for level in 0..LEVELS as u32 {
        sum += n_ln_n(counters.load(level) as u32);
    }
    let h = entropy(f64::from(cells_counted), n_ln_n(cells_counted), sum) as f32 * scale;
    out.store(i as usize * out_stride as usize + x as usize, h);
}
