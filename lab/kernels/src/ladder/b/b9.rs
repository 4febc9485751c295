//! b9 = b8 in blocks of other shapes: 256 × 4 was the best of those that the report tried.
//!
//! A warp of an 8 × 8 block reads 8 neighbouring cells of each of 4 rows; of one that is 32 wide or wider, 32 neighbours of one
//! row, which is 64 contiguous bytes. And 64 threads a block leave a multiprocessor at half occupancy, since it holds 2048 threads but
//! only 32 blocks. The code is identical to b8; only its launch bounds differ.

use simt::global::{In, Out};
use simt::kernel;

use super::b8::narrow;

/// b8 in blocks of any shape with up to 1024 threads.
///
/// # Safety
/// As [`ladder_b7`](fn@super::ladder_b7).
#[kernel(threads = 1024)]
pub unsafe fn ladder_b9(cells: In<i16>, out: Out<f32>, first: u32, count: u32, scale: f32) {
    narrow(cells, out, first, count, scale);
}
