//! All-pairs shortest paths, the rungs: naive, blocked by 32, blocked by 64. The kernels for use are `kernels/src/apsp/tiled`.
//!
//! | rung | from | what it changes |
//! |---|---|---|
//! | [`apsp_naive`](fn@apsp_naive) | | a launch for every k, a thread a cell, everything from global memory |
//! | [`apsp_blocked32_phase1`](fn@apsp_blocked32_phase1), 2, 3 | naive | 32 k at a time: tiles of 32 × 32 in shared memory, a thread a cell |
//! | [`apsp_blocked64_phase1`](fn@apsp_blocked64_phase1), 2, 3 | blocked32 | tiles of 64 × 64, four cells a thread; rows of tiles on several devices |
//!
//! # Blocked Floyd-Warshall
//! The matrix is cut into tiles of B × B. A round takes B vertices at once, those of the tile on the diagonal, in three launches
//! (Venkataraman, Sahni and Mukhopadhyaya 2003; on a GPU: Katz and Kider 2008):
//!
//! ```text
//!     . c .     phase 1   p: the pivot tile by itself, B steps with a barrier after each
//!     r p r     phase 2   r, c: pivot row and pivot column, each from itself and p
//!     . c .     phase 3   the rest: d(i, j) = min(d(i, j), c(i, k) + r(k, j)) over the B k, nearly all of the work
//! ```
//!
//! After phase 1 the pivot tile holds the distances over its own vertices. That makes phase 2 a product like phase 3, min
//! for + and + for ×, of tiles as they were before it: no step depends on another one.
//!
//! # What all of them take
//! Distances of i32, none negative, `i32` 2^30 − 1 where there is no path: the sum of two of these does not overflow. The diagonal is 0.
//! Rows are `pitch` cells apart. Tiles are whole: padding is vertices without edges. A buffer that a launch writes is an
//! [`Out`](simt::global::Out) where it is read as well.

mod blocked32;
mod blocked64;
mod naive;

pub use blocked32::*;
pub use blocked64::*;
pub use naive::*;

/// Number `at` of those that are not `pivot`.
#[inline(always)]
fn beside(pivot: u32, at: u32) -> u32 {
    at + u32::from(at >= pivot)
}

/// The kernels of the ladder.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[
    apsp_naive::ENTRY,
    apsp_blocked32_phase1::ENTRY,
    apsp_blocked32_phase2::ENTRY,
    apsp_blocked32_phase3::ENTRY,
    apsp_blocked64_phase1::ENTRY,
    apsp_blocked64_phase2::ENTRY,
    apsp_blocked64_phase3::ENTRY,
];
