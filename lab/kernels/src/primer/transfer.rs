//! A copy over the bus by a kernel: one side is in the host's memory, which the kernel reads or writes in place (zero-copy).
//!
//! Threads go over the bytes 16 at a time, neighbours next to each other, so that whole lines cross the bus. An access takes more
//! than a microsecond; as many blocks as run at once have megabytes in flight, of which the bus needs a tenth.

use simt::global::{In, Out};
use simt::{kernel, thread};

/// Threads of a block.
pub const TRANSFER_THREADS: u32 = 256;
/// Bytes of a thread's access.
pub const TRANSFER_WIDTH: usize = 16;

/// `out[i] = input[i]`.
///
/// # Safety
/// `input` and `out` have `bytes` bytes, of which one may lie in mapped host memory; blocks have [`TRANSFER_THREADS`] threads, in one
/// dimension, and there is at least one.
#[kernel(threads = 256)]
pub unsafe fn primer_transfer(input: In<u8>, out: Out<u8>, bytes: u64) {
    let bytes = bytes as usize;
    let thread = thread::block_idx_x() as usize * TRANSFER_THREADS as usize + thread::thread_idx_x() as usize;
    let threads = thread::grid_dim_x() as usize * TRANSFER_THREADS as usize;
    let (words_in, words_out) = (input.cast::<u32>(), out.cast::<u32>());
    let whole = bytes / TRANSFER_WIDTH;
    let mut i = thread;
    while i < whole {
        words_out.store4(4 * i, words_in.load4(4 * i));
        i += threads;
    }
    // The bytes that make no whole access.
    let at = whole * TRANSFER_WIDTH + thread;
    if at < bytes {
        out.store(at, input.load(at));
    }
}

/// The kernels of this file.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[primer_transfer::ENTRY];
