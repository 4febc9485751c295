//! v0, the baseline: one thread a cell, straight from the definition.
//!
//! A thread counts its window's levels in 16 counters of its own, then adds up n·ln n, calling the logarithm in f64
//! for each count above 0. The counters are indexed by a cell's value, so they cannot be in registers: they are in local
//! memory. Neighbouring threads read neighbouring cells, and 25 reads of a cell come from the cache but for the first.
//!
//! The logarithms are expected to cost most: up to 17 of them, each some 30 instructions in f64.

use simt::global::{In, Out};
use simt::math::ln_f64;
use simt::private::Private;
use simt::{kernel, thread};

use crate::ladder::{LEVELS, clipped, entropy};

/// i32 counters, a logarithm in f64 for every count above 0; blocks of 32 × 32.
///
/// # Safety
/// `cells` holds `rows` rows of at least `cols` cells below 16, `stride` apart; `out` holds `count` rows of at least
/// `cols` elements, `out_stride` apart; `first + count` is at most `rows`.
#[kernel(threads = 1024)]
pub unsafe fn ladder_v0(
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
    let n_ln_n = |n: u32| f64::from(n) * ln_f64(f64::from(n));
    let mut sum = 0.0;
    for level in 0..LEVELS as u32 {
        let n = counters.load(level) as u32;
        if n > 0 {
            sum += n_ln_n(n);
        }
    }
    let h = entropy(f64::from(cells_counted), n_ln_n(cells_counted), sum) as f32 * scale;
    out.store(i as usize * out_stride as usize + x as usize, h);
}
