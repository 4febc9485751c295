//! The reduction ladder: the sum, the least or the largest of n numbers, n being at least 1.
//!
//! ```text
//! a block combines its numbers into one:  v v v v v v v v  ->  v v v v  ->  v v  ->  v
//! its result is one of as many numbers as there were blocks, which are reduced again, until one is left
//! ```
//!
//! | file | what it changes |
//! |---|---|
//! | `reduce0` | nothing yet: threads whose number is a multiple of 2 s combine their number with the one s elements on |
//! | `reduce1` | thread t works for element 2 s t, so that the active threads are contiguous |
//! | `reduce2` | s from half a block down: the numbers are contiguous too |
//! | `reduce3` | a thread combines two numbers when it loads them |
//! | `reduce4` | the last warp synchronises by itself |
//! | `reduce5` | no loop: the block's size is a constant |
//! | `reduce6` | a thread combines many numbers, in a loop over the grid |
//! | `reduce7` | past the chapter: loads of 16 bytes, eight at a time; shuffles; a single launch |
//! | `number` | the types of numbers and the operations |
//!
//! All of them take numbers `first..first + count` of a buffer, in 64 bits. What is missing in a last block is filled with the operation's
//! identity. The order in which numbers are combined depends on the launch's shape only, so that a floating-point sum has the same
//! bits every time.
//!
//! Source: Harris, "Optimizing Parallel Reduction in CUDA" (2007).

use simt::shared::Shared;
use simt::{thread, warp};

mod number;
pub mod reduce0;
pub mod reduce1;
pub mod reduce2;
pub mod reduce3;
pub mod reduce4;
pub mod reduce5;
pub mod reduce6;
pub mod reduce7;

pub use number::{Max, Min, Number, Operation, Sum};

/// Threads of a block: of [`reduce5`] to [`reduce7`] exactly, of the others at most.
pub const REDUCE_THREADS: u32 = 256;
/// The least threads of a block: what the last warp of [`reduce4`] combines.
pub const REDUCE_THREADS_LEAST: u32 = 64;

/// The kernels of this family: rung by rung.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &ALL;

#[cfg(not(target_arch = "nvptx64"))]
const ALL: [simt::launch::KernelEntry; 8 * 9] = {
    let rungs = [
        &reduce0::KERNELS,
        &reduce1::KERNELS,
        &reduce2::KERNELS,
        &reduce3::KERNELS,
        &reduce4::KERNELS,
        &reduce5::KERNELS,
        &reduce6::KERNELS,
        &reduce7::KERNELS,
    ];
    let mut all = [reduce0::KERNELS[0]; 8 * 9];
    let mut at = 0;
    while at < all.len() {
        all[at] = rungs[at / 9][at % 9];
        at += 1;
    }
    all
};

/// The kernels of a rung that writes a number a block: `$run` for each operation and type.
macro_rules! rung {
    ($run:ident: $($name:ident $operation:ident $number:ident;)*) => {
        $(
            #[doc = concat!("Combines numbers `first..first + count` of `input`, block by block: see the module. `", stringify!($operation),
                "` of `", stringify!($number), "`.")]
            ///
            /// # Safety
            /// `input` has `first + count` elements, `out` one for each block. Blocks are of 64, 128 or 256 threads, as many as the module
            /// says, in one dimension, and have dynamic shared memory for an element a thread.
            #[simt::kernel(threads = 256)]
            pub unsafe fn $name(
                input: simt::global::In<$number>,
                out: simt::global::Out<$number>,
                first: u64,
                count: u64,
            ) {
                let combined = $run::<$crate::primer::reduce::$operation, $number>(input, first as usize, count as usize);
                if simt::thread::thread_idx_x() == 0 {
                    out.store(simt::thread::block_idx_x() as usize, combined);
                }
            }
        )*

        /// The kernels of this rung: sum, min, max, of i32, f32, f64 each.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: [simt::launch::KernelEntry; 9] = [$($name::ENTRY),*];
    };
}
use rung;

/// Number `at` of `count` from `first` on, or the identity past their end.
#[inline(always)]
fn number_or_identity<O: Operation<T>, T: Number>(
    input: simt::global::In<T>,
    first: usize,
    count: usize,
    at: usize,
) -> T {
    if at < count { input.load(first + at) } else { O::IDENTITY }
}

/// Combines elements `at` and `at + stride` into element `at`.
#[inline(always)]
fn combine_elements<O: Operation<T>, T: Number>(tile: Shared<T>, at: u32, stride: u32) {
    tile.store(at, O::combine(tile.load(at), tile.load(at + stride)));
}

/// Combines elements 0..64 into element 0, by the first warp alone: its lanes wait for each other, and for no other warp.
///
/// The chapter left the waiting out, because the lanes of a warp went in lockstep; they need not any more. All lanes take part in every
/// step, so that there is no branch; what the upper ones make is not read again.
#[inline(always)]
fn last_warp<O: Operation<T>, T: Number>(tile: Shared<T>, t: u32) -> T {
    let mut combined = tile.load(t);
    combined = warp_step::<O, T>(tile, t, 32, combined);
    combined = warp_step::<O, T>(tile, t, 16, combined);
    combined = warp_step::<O, T>(tile, t, 8, combined);
    combined = warp_step::<O, T>(tile, t, 4, combined);
    combined = warp_step::<O, T>(tile, t, 2, combined);
    warp_step::<O, T>(tile, t, 1, combined)
}

#[inline(always)]
fn warp_step<O: Operation<T>, T: Number>(tile: Shared<T>, t: u32, stride: u32, own: T) -> T {
    let combined = O::combine(own, tile.load(t + stride));
    warp::sync_warp(warp::FULL);
    tile.store(t, combined);
    warp::sync_warp(warp::FULL);
    combined
}

/// Combines a number a thread, of [`REDUCE_THREADS`]: every step written out. The first thread has the result.
#[inline(always)]
fn unrolled<O: Operation<T>, T: Number>(tile: Shared<T>, t: u32, own: T) -> T {
    const { assert!(REDUCE_THREADS == 256, "the steps below are those of 256 threads") };
    tile.store(t, own);
    thread::sync_threads();
    if t < 128 {
        combine_elements::<O, T>(tile, t, 128);
    }
    thread::sync_threads();
    if t < 64 {
        combine_elements::<O, T>(tile, t, 64);
    }
    thread::sync_threads();
    if t < warp::SIZE { last_warp::<O, T>(tile, t) } else { own }
}
