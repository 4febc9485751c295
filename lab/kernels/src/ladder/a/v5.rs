//! v5 = v4 + the table read through a texture.
//!
//! The texture unit fetches elements of 4 bytes at most, so the entries are f32; sums stay in f64. It has a path of its own to
//! the first-level cache, which was separate in early GPUs: today both are one, and the
//! time of v4 is expected, but for half the bytes of an entry.

use simt::global::{In, Out};
use simt::private::Private;
use simt::texture::Texture1d;
use simt::{kernel, thread};

use crate::ladder::{LEVELS, clipped, entropy};

/// i32 counters, an f32 table of logarithms through a texture; blocks of 32 × 32.
///
/// # Safety
/// As [`ladder_v0`](fn@super::ladder_v0); `table` holds ln n for n up to 25, and 0 for 0.
#[kernel(threads = 1024)]
pub unsafe fn ladder_v5(
    cells: In<u8>,
    out: Out<f32>,
    table: Texture1d<f32>,
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
    let n_ln_n = |n: u32| f64::from(n) * f64::from(table.fetch(n as i32));
    let mut sum = 0.0;
    for level in 0..LEVELS as u32 {
        sum += n_ln_n(counters.load(level) as u32);
    }
    let h = entropy(f64::from(cells_counted), n_ln_n(cells_counted), sum) as f32 * scale;
    out.store(i as usize * out_stride as usize + x as usize, h);
}
