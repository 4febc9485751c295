//! The kernels for use: blocked Floyd-Warshall with tiles in registers.
//!
//! ```text
//! round k, pivots 128 k .. 128 k + 127:
//!     pivot     closes the pivot tile: plain Floyd-Warshall in the registers of one block, row and column k broadcast through shared memory
//!     panels    pivot row and pivot column: products with the closed tile
//!     rest      every other tile: the lesser of itself and column panel x row panel; then the block that has the next pivot tile closes it
//! ```
//!
//! A product has no dependency inside: d(k, k) is 0, so that the closed pivot times a row tile contains the row tile. The rest of
//! the algorithm is a matrix product in which + is min and x is +, and it is written as one: a block makes 128 x 128 words, a thread 8 x 8
//! of them in registers, in four pieces of 4 x 4, and both factors come through shared memory, 8 deep, in two buffers, loaded
//! four words at a time. For each 64 results a thread then loads 16 words, so that the loads cost a sixteenth of the issue slots and neither
//! they nor shared memory are the limit: arithmetic is.
//!
//! A matrix larger than the memory of the devices is processed block by block: then `rest` makes products of blocks, whose left
//! factors `transpose` prepares.
//!
//! Departures from the obvious version:
//! - `panels` writes both panels again, in the layout of `rest`: depth by depth, the column panel transposed, and with 16 bits every
//!   distance of it twice in a word. `rest` copies them to shared memory unchanged; and it reads no memory that it writes.
//! - The next pivot tile is closed by the block that has just made it, while the others work: 128 steps of one block would otherwise be
//!   on the critical path. That block's tile is the first, so that it is not the last one too. The panels of two rounds alternate.
//! - There are no bounds checks: the host pads matrices to whole tiles.
//!
//! Source: Venkataraman, Sahni, Mukhopadhyaya, "A Blocked All-Pairs Shortest-Paths Algorithm" (2003); Katz and Kider, "All-Pairs
//! Shortest-Paths for Large Graphs on the GPU" (2008).

mod panels;
mod pivot;
mod product;
mod rest;
mod transpose;

pub use panels::*;
pub use pivot::*;
pub use rest::*;
pub use transpose::*;

/// Pivots of a round: rows and columns of a pivot tile.
pub const PIVOTS: u32 = 128;
/// Rows, and words of a row, that a block makes.
pub const TILE: u32 = 128;
/// Threads of a block.
pub const TILED_THREADS: u32 = 256;
/// The value that means no tile.
pub const NONE: u32 = u32::MAX;

/// The kernels of this family.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[
    apsp_pivot_i32::ENTRY,
    apsp_pivot_u16::ENTRY,
    apsp_pivot_f32::ENTRY,
    apsp_panels_i32::ENTRY,
    apsp_panels_u16::ENTRY,
    apsp_panels_f32::ENTRY,
    apsp_rest_i32::ENTRY,
    apsp_rest_u16::ENTRY,
    apsp_rest_f32::ENTRY,
    apsp_turn_32::ENTRY,
    apsp_turn_16::ENTRY,
];

/// `$body` with `$i` the constants 0 and 4: where the two pieces of a thread's words begin.
macro_rules! pieces {
    ($i:ident => $body:block) => {
        simt::unroll!($i in 0 4 => $body)
    };
}
use pieces;

/// Where a thread's results are in its block's tile: rows `row..row + 4` and 64 more, and words `word..word + 4`, and 64 more.
///
/// The lanes of a warp are arranged 4 x 8, so that a warp's loads of either factor have few addresses.
#[derive(Clone, Copy)]
struct Spot {
    row: u32,
    word: u32,
}

impl Spot {
    #[inline(always)]
    fn own() -> Self {
        let t = simt::thread::thread_idx_x();
        let (warp, lane) = (t / 32, t % 32);
        Self { row: 4 * (warp / 2 * 4 + lane / 8), word: 4 * (warp % 2 * 8 + lane % 8) }
    }

    /// The row of result `i` of 0..8.
    #[inline(always)]
    fn row(self, i: usize) -> u32 {
        self.row + 64 * (i as u32 / 4) + i as u32 % 4
    }
}
