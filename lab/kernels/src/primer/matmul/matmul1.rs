//! Tiles of both factors in shared memory.
//!
//! A block loads 16 × 16 elements of A and of B, a thread one of each, and uses every one 16 times. Two loads from shared memory for one
//! multiply-add are the bottleneck now.

use simt::global::{In, Out};
use simt::math::fused_multiply_add;
use simt::{kernel, shared, thread};

use super::{MATMUL_TILE, corner};

shared! {
    static PRIMER_MATMUL1_A: [f32; 256];
    static PRIMER_MATMUL1_B: [f32; 256];
}

/// C = A · B by tiles, a thread an element.
///
/// # Safety
/// As for [`primer_matmul0`](fn@super::primer_matmul0).
#[kernel(threads = 256)]
pub unsafe fn primer_matmul1(a: In<f32>, b: In<f32>, c: Out<f32>, m: u32, n: u32, k: u32) {
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (tile_a, tile_b) = (shared::array::<PRIMER_MATMUL1_A>(), shared::array::<PRIMER_MATMUL1_B>());
    let (row, col) = corner(MATMUL_TILE, MATMUL_TILE, n);
    let (row, col) = (row + y, col + x);
    let mut sum = 0.0;
    let mut at = 0;
    while at < k {
        let (a_col, b_row) = (at + x, at + y);
        let of_a = if row < m && a_col < k { a.load(row as usize * k as usize + a_col as usize) } else { 0.0 };
        let of_b = if b_row < k && col < n { b.load(b_row as usize * n as usize + col as usize) } else { 0.0 };
        tile_a.store(y * MATMUL_TILE + x, of_a);
        tile_b.store(y * MATMUL_TILE + x, of_b);
        thread::sync_threads();
        for i in 0..MATMUL_TILE {
            sum = fused_multiply_add(tile_a.load(y * MATMUL_TILE + i), tile_b.load(i * MATMUL_TILE + x), sum);
        }
        thread::sync_threads();
        at += MATMUL_TILE;
    }
    if row < m && col < n {
        c.store(row as usize * n as usize + col as usize, sum);
    }
}
