//! The indices of a thread in its launch, and the barriers of its block.
//!
//! Indices and sizes are in threads or blocks, counted from 0, as in CUDA's `threadIdx` and the like.

use crate::backend;

macro_rules! indices {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            backend::$name()
        }
    )*};
}

indices! {
    /// The thread's index in its block along x.
    thread_idx_x
    /// The thread's index in its block along y.
    thread_idx_y
    /// The thread's index in its block along z.
    thread_idx_z
    /// The block's index in the grid along x.
    block_idx_x
    /// The block's index in the grid along y.
    block_idx_y
    /// The block's index in the grid along z.
    block_idx_z
    /// Threads of a block along x.
    block_dim_x
    /// Threads of a block along y.
    block_dim_y
    /// Threads of a block along z.
    block_dim_z
    /// Blocks of the grid along x.
    grid_dim_x
    /// Blocks of the grid along y.
    grid_dim_y
    /// Blocks of the grid along z.
    grid_dim_z
}

/// The thread's index in its launch along x: `block_idx_x * block_dim_x + thread_idx_x`.
#[inline(always)]
pub fn index_x() -> u32 {
    block_idx_x() * block_dim_x() + thread_idx_x()
}

/// The thread's index in its launch along y: `block_idx_y * block_dim_y + thread_idx_y`.
#[inline(always)]
pub fn index_y() -> u32 {
    block_idx_y() * block_dim_y() + thread_idx_y()
}

/// Waits until every thread of the block has arrived; their writes before are visible after.
///
/// Every thread of the block must reach the same barrier, or the block hangs (the emulator
/// reports it).
#[inline(always)]
#[track_caller]
pub fn sync_threads() {
    backend::sync_threads();
}

/// A barrier that also returns how many threads of the block passed `true`.
#[inline(always)]
#[track_caller]
pub fn sync_threads_count(predicate: bool) -> u32 {
    backend::sync_threads_count(predicate)
}

/// Orders this thread's memory accesses before it and after it, as seen by its block.
#[inline(always)]
pub fn block_fence() {
    backend::block_fence();
}

/// Orders this thread's memory accesses before it and after it, as seen by the whole device.
#[inline(always)]
pub fn device_fence() {
    backend::device_fence();
}
