//! The naive kernel, its cells read from a tile in shared memory.
//!
//! A block of 32 × 8 threads first loads its 32 × 8 cells with a halo of `size / 2` cells on every
//! side, each cell once; then each thread counts its window in the tile. Cells outside the grid
//! are left out by clipping the window, not by a marker, so all 256 values can be levels.

use simt::global::{In, Out};
use simt::{kernel, shared, thread};

use super::naive::n_log2_n;

/// Columns of a tile, without its halo.
pub const TILE_COLS: u32 = 32;
/// Rows of a tile, without its halo.
pub const TILE_ROWS: u32 = 8;

/// Entropy of a `size` × `size` window from halo tiles, in blocks of [`TILE_COLS`] × [`TILE_ROWS`] threads.
///
/// `scale` multiplies the entropy in bits. Dynamic shared memory:
/// (`TILE_COLS` + `size` − 1) · (`TILE_ROWS` + `size` − 1) bytes.
///
/// # Safety
/// As [`entropy_naive`](fn@super::entropy_naive), and the launch has the block shape and the shared memory above.
#[kernel(threads = 256)]
pub unsafe fn entropy_tiled(
    cells: In<u8>,
    out: Out<f32>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    size: u32,
    nodata: u32,
    scale: f32,
) {
    let tile = shared::dynamic::<u8>();
    let r = size / 2;
    // The maximum tells the compiler that it never divides by 0.
    let (width, height) = ((TILE_COLS + 2 * r).max(1), TILE_ROWS + 2 * r);
    // The tile's first cell, halo included, in the grid.
    let left = (thread::block_idx_x() * TILE_COLS) as i32 - r as i32;
    let top = (first + thread::block_idx_y() * TILE_ROWS) as i32 - r as i32;

    let thread = thread::thread_idx_y() * TILE_COLS + thread::thread_idx_x();
    let mut at = thread;
    while at < width * height {
        let (y, x) = (top + (at / width) as i32, left + (at % width) as i32);
        if y >= 0 && x >= 0 && y < rows as i32 && x < cols as i32 {
            tile.store(at, cells.load(y as usize * stride as usize + x as usize));
        }
        at += TILE_COLS * TILE_ROWS;
    }
    thread::sync_threads();

    let (x, i) = (thread::index_x(), thread::index_y());
    if x >= cols || i >= count {
        return;
    }
    let y = first + i;
    let mut counts = [0u16; 256];
    let mut total = 0u32;
    for wy in y.saturating_sub(r)..(y + r + 1).min(rows) {
        let row = (wy as i32 - top) as u32 * width;
        for wx in x.saturating_sub(r)..(x + r + 1).min(cols) {
            let level = tile.load(row + (wx as i32 - left) as u32);
            if u32::from(level) != nodata {
                counts[level as usize] += 1;
                total += 1;
            }
        }
    }
    let mut sum = 0.0;
    for &n in &counts {
        sum += n_log2_n(u32::from(n));
    }
    let centre = tile.load((thread::thread_idx_y() + r) * width + thread::thread_idx_x() + r);
    let h = if u32::from(centre) == nodata {
        f32::NAN
    } else {
        ((n_log2_n(total) - sum) / f64::from(total)).max(0.0) as f32 * scale
    };
    out.store(i as usize * out_stride as usize + x as usize, h);
}
