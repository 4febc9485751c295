//! Blocks of registers, after Volkov: 16 elements a thread.
//!
//! Matrices are column-major. A block of 16 × 4 threads makes a strip of C, 64 rows and 16 columns; a thread has a row of it in 16
//! registers. Elements of A come straight from global memory, neighbours to neighbouring lanes, and are used 16 times from a register; only B
//! goes through shared memory, 16 × 16 at a time. Its tile is transposed, so that the 16 elements of a step are contiguous for all threads;
//! its rows are padded to 17, so that a column of B, which half a warp loads, goes to different banks.
//!
//! Column-major C = A · B is row-major C' = B' · A': a row-major caller swaps the factors, and m and n.
//!
//! Source: Volkov and Demmel, "Benchmarking GPUs to Tune Dense Linear Algebra" (2008).

use simt::global::{In, Out};
use simt::math::fused_multiply_add;
use simt::{eight, kernel, shared, thread};

use super::corner;

/// Rows of a strip, and threads of its block: 16 along x, 4 along y.
pub const MATMUL2_ROWS: u32 = 64;
/// Columns of a strip.
pub const MATMUL2_COLS: u32 = 16;
/// Elements from a row of the tile to the next.
const PITCH: u32 = 17;

shared! {
    static PRIMER_MATMUL2_B: [f32; 272];
}

/// C = A · B column by column, a thread 16 elements.
///
/// # Safety
/// `a` has k columns of `m` elements, `b` n columns of `k`, `c` n columns of `m`; blocks are 16 × 4 threads, and there is one for each strip.
#[kernel(threads = 64)]
pub unsafe fn primer_matmul2(a: In<f32>, b: In<f32>, c: Out<f32>, m: u32, n: u32, k: u32) {
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let tile = shared::array::<PRIMER_MATMUL2_B>();
    let (col, row) = corner(MATMUL2_COLS, MATMUL2_ROWS, m);
    let row = row + y * 16 + x;
    let mut sums = [0f32; 16];
    let mut at = 0;
    while at < k {
        let mut j = y;
        while j < 16 {
            let inside = at + x < k && col + j < n;
            let index = (col + j) as usize * k as usize + (at + x) as usize;
            tile.store(x * PITCH + j, if inside { b.load(index) } else { 0.0 });
            j += 4;
        }
        thread::sync_threads();
        for i in 0..16 {
            let inside = row < m && at + i < k;
            let of_a = if inside { a.load((at + i) as usize * m as usize + row as usize) } else { 0.0 };
            eight!(J => {
                let j = i * PITCH + J as u32;
                sums[J] = fused_multiply_add(of_a, tile.load(j), sums[J]);
                sums[J + 8] = fused_multiply_add(of_a, tile.load(j + 8), sums[J + 8]);
            });
        }
        thread::sync_threads();
        at += 16;
    }
    if row < m {
        let store = |j: usize, sum: f32| {
            if col + (j as u32) < n {
                c.store((col as usize + j) * m as usize + row as usize, sum);
            }
        };
        eight!(J => {
            store(J, sums[J]);
            store(J + 8, sums[J + 8]);
        });
    }
}
