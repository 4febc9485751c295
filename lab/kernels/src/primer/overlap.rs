//! Work of adjustable length for each number of an array, which hides copies.
//!
//! ```text
//! for _ in 0..8 · rounds
//!     x = x · x + c
//! ```
//!
//! With c near -2 the iteration stays in [-2, 2] and is chaotic: every step affects the result, where one that converges would give the
//! same after a few. Each step is rounded once, so that a CPU gets the same bits. A step depends on the one before; a multiprocessor
//! hides that latency behind its other warps.

use simt::global::{In, Out};
use simt::math::fused_multiply_add;
use simt::{kernel, thread};

/// Threads of a block.
pub const OVERLAP_THREADS: u32 = 256;
/// Steps of a round.
pub const OVERLAP_STEPS: u32 = 8;
/// What a step adds.
pub const OVERLAP_C: f32 = -1.9;

/// Computes `count` numbers from `first` on, a thread a number.
///
/// # Safety
/// `input` and `out` have `first + count` elements, of which those from `first` on are used by nothing else during the launch; threads are
/// [`OVERLAP_THREADS`] a block and at least `count` in all, in one dimension.
#[kernel(threads = 256)]
pub unsafe fn primer_overlap(input: In<f32>, out: Out<f32>, first: u64, count: u64, rounds: u32) {
    let i = thread::block_idx_x() as usize * OVERLAP_THREADS as usize + thread::thread_idx_x() as usize;
    if i < count as usize {
        let at = first as usize + i;
        let mut x = input.load(at);
        let mut round = 0;
        while round < rounds {
            let mut step = 0;
            while step < OVERLAP_STEPS {
                x = fused_multiply_add(x, x, OVERLAP_C);
                step += 1;
            }
            round += 1;
        }
        out.store(at, x);
    }
}

/// The kernels of this file.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[primer_overlap::ENTRY];
