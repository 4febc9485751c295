//! Matrix multiply, C = A · B in f32 on CUDA cores: from a thread an element to tiles in registers.
//!
//! | rung | from | what it changes |
//! |---|---|---|
//! | [`primer_matmul0`](fn@primer_matmul0) | | a thread an element of C, everything from global memory |
//! | [`primer_matmul1`](fn@primer_matmul1) | matmul0 | tiles of 16 × 16 of both factors in shared memory: a sixteenth of the loads from global memory |
//! | [`primer_matmul2`](fn@primer_matmul2) | matmul1 | 16 elements a thread in registers (Volkov): one load from shared memory for an operation, not two |
//! | [`primer_sgemm`](fn@primer_sgemm) | matmul2 | 8 × 8 elements a thread, 16-byte accesses, two buffers: a load for every 16 operations |
//! | [`primer_sgemm_wide`](fn@primer_sgemm_wide) | sgemm | 8 × 16 elements a thread: a load for every 21 |
//!
//! # What all of them take
//! A is m × k, B is k × n and C is m × n, dense and row-major, except in matmul2, which is column-major throughout. Extents are at least 1
//! and at most 2^31 − 1, and need not be multiples of anything: elements outside count as 0 and are not written.
//!
//! Blocks are numbered in one dimension, since a grid has no more than 65,535 of them along y. Every element is one chain of fused
//! multiply-adds from 0, with k rising.

mod matmul0;
mod matmul1;
mod matmul2;
mod sgemm;

pub use matmul0::*;
pub use matmul1::*;
pub use matmul2::*;
pub use sgemm::*;

/// Rows, and columns, of the tiles of matmul0 and matmul1, and of their blocks' threads.
pub const MATMUL_TILE: u32 = 16;

/// Where the block's tile begins: tiles of `height` by `width`, numbered along lines that are `extent` long.
#[inline(always)]
fn corner(height: u32, width: u32, extent: u32) -> (u32, u32) {
    let (block, across) = (simt::thread::block_idx_x(), extent.div_ceil(width).max(1));
    (block / across * height, block % across * width)
}

/// The kernels of the topic.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[
    primer_matmul0::ENTRY,
    primer_matmul1::ENTRY,
    primer_matmul2::ENTRY,
    primer_sgemm::ENTRY,
    primer_sgemm_wide::ENTRY,
];
