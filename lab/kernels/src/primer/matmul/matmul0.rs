//! A thread an element, everything from global memory.
//!
//! Two loads for one multiply-add. Lanes of a row share the element of A, and their elements of B are neighbours, so that the first-level
//! cache serves much of it; the number of its accesses is the bottleneck.

use simt::global::{In, Out};
use simt::math::fused_multiply_add;
use simt::{kernel, thread};

use super::{MATMUL_TILE, corner};

/// C = A · B, a thread an element.
///
/// # Safety
/// `a`, `b`, `c` are as in the module's text; blocks are [`MATMUL_TILE`] × [`MATMUL_TILE`] threads, and there is one for each tile.
#[kernel(threads = 256)]
pub unsafe fn primer_matmul0(a: In<f32>, b: In<f32>, c: Out<f32>, m: u32, n: u32, k: u32) {
    let (row, col) = corner(MATMUL_TILE, MATMUL_TILE, n);
    let (row, col) = (row + thread::thread_idx_y(), col + thread::thread_idx_x());
    if row >= m || col >= n {
        return;
    }
    let (row, col, n, k) = (row as usize, col as usize, n as usize, k as usize);
    let mut sum = 0.0;
    let mut at = 0;
    while at < k {
        sum = fused_multiply_add(a.load(row * k + at), b.load(at * n + col), sum);
        at += 1;
    }
    c.store(row * n + col, sum);
}
