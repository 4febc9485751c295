//! v8 = v7 + the cells read through a two-dimensional texture.
//!
//! The texture unit computes addresses and its cache holds what is near in both directions, which is what a window
//! wants. But the 25 reads of a warp hit the first-level cache anyway, and a fetch takes longer than a load
//! does: little is expected, and the report measured little. (It would also give zeros outside the grid; but 0 is a
//! level, so windows are clipped as before.)

use simt::global::Out;
use simt::private::Private;
use simt::texture::Texture2d;
use simt::{kernel, shared, thread};

use crate::ladder::{LEVELS, LN_F32, clipped, entropy};

/// Threads of a block, along a row.
const THREADS: u32 = 512;

shared! {
    static LADDER_V8_COUNTERS: [i8; LEVELS * THREADS as usize];
}

/// v7 with its cells from a texture; blocks of 512 × 1.
///
/// # Safety
/// As [`ladder_v7`](fn@super::ladder_v7); `cells` is of `cols` × `rows` cells.
#[kernel(threads = 512)]
pub unsafe fn ladder_v8(
    cells: Texture2d<u8>,
    out: Out<f32>,
    rows: u32,
    cols: u32,
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
    table.write(&LN_F32);
    let y = first + i;
    let (window_rows, window_cols) = (clipped(y, rows), clipped(x, cols));
    let cells_counted = (window_rows.len() * window_cols.len()) as u32;
    let counters = shared::array::<LADDER_V8_COUNTERS>();
    let counter = |level: u32| level * THREADS + thread::thread_idx_x();
    for level in 0..LEVELS as u32 {
        counters.store(counter(level), 0);
    }
    for wy in window_rows {
        for wx in window_cols.clone() {
            let level = u32::from(cells.fetch(wx as i32, wy as i32));
            counters.store(counter(level), counters.load(counter(level)) + 1);
        }
    }
    // The product in f32, the sum in f64.
    let n_ln_n = |n: u32| f64::from(n as f32 * table.load(n));
    let mut sum = 0.0;
    for level in 0..LEVELS as u32 {
        sum += n_ln_n(counters.load(counter(level)) as u32);
    }
    let h = entropy(f64::from(cells_counted), n_ln_n(cells_counted), sum) as f32 * scale;
    out.store(i as usize * out_stride as usize + x as usize, h);
}
