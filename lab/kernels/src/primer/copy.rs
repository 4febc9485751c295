//! Copies at an offset and with a stride: the cost of accesses to global memory that are misaligned or not contiguous.
//!
//! A warp's access is served in sectors of 32 bytes. 32 numbers of 4 bytes that begin at a line take 4 of them; that begin anywhere
//! else, 5; with a stride of 8 or more numbers every lane has a sector for itself.

use simt::global::{In, Out};
use simt::{kernel, thread};

/// Threads of a block.
pub const COPY_THREADS: u32 = 256;

/// The thread's number in the launch.
#[inline(always)]
fn number() -> usize {
    thread::block_idx_x() as usize * COPY_THREADS as usize + thread::thread_idx_x() as usize
}

/// `out[i + offset] = input[i + offset]`, a thread an element.
///
/// # Safety
/// `input` and `out` have `count + offset` elements; threads are [`COPY_THREADS`] a block and at least `count` in all, in one dimension.
#[kernel(threads = 256)]
pub unsafe fn primer_copy_offset(input: In<f32>, out: Out<f32>, count: u32, offset: u32) {
    let i = number();
    if i < count as usize {
        let at = i + offset as usize;
        out.store(at, input.load(at));
    }
}

/// `out[i · stride] = input[i · stride]`, a thread an element.
///
/// # Safety
/// `input` and `out` have `count · stride` elements; threads as for [`primer_copy_offset`](fn@primer_copy_offset).
#[kernel(threads = 256)]
pub unsafe fn primer_copy_stride(input: In<f32>, out: Out<f32>, count: u32, stride: u32) {
    let i = number();
    if i < count as usize {
        let at = i * stride as usize;
        out.store(at, input.load(at));
    }
}

/// The kernels of this file.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[primer_copy_offset::ENTRY, primer_copy_stride::ENTRY];
