//! Transposing a matrix: `out[c][r] = input[r][c]`, for elements of 1, 2, 4 and 8 bytes.
//!
//! Nothing is computed, so that the ladder is about memory alone, and its ceiling is a copy. A warp that reads along a row has to write
//! along a column, and there every element is in a line of its own. Every rung but the first transposes a tile in shared memory, which has no lines
//! to fill, so that reads and writes both run along rows.
//!
//! | rung | file | what it changes |
//! |---|---|---|
//! | naive | `naive` | reads along rows, writes along columns |
//! | unpadded | `tiled` | a tile of 32 x 32 goes through shared memory; its columns are all in one bank |
//! | padded | `tiled` | a row of the tile is an element longer: its columns are in all banks |
//! | diagonal | `tiled` | blocks that run together take tiles along a diagonal |
//! | wide | `wide` | 16 bytes a lane, four accesses in flight, swizzled tiles without padding |
//!
//! Elements are moved, not interpreted: floating-point numbers are moved as the integers of their size.
//!
//! Blocks are numbered along x alone, because there may be 2³¹ of them there and only 65535 along y.
//!
//! Source: Ruetsch and Micikevicius, "Optimizing Matrix Transpose in CUDA" (2009), for all but the last rung.

use simt::global::{In, Out};
use simt::scalar::Scalar;
use simt::thread;

mod naive;
mod tiled;
mod wide;

pub use naive::*;
pub use tiled::*;
pub use wide::*;

/// Rows and columns of a tile, in all rungs but `wide`; also threads of a block along x.
pub const TRANSPOSE_TILE: u32 = 32;
/// Threads of a block along y, in all rungs but `wide`: each has four elements of a tile's column.
pub const TRANSPOSE_THREADS_Y: u32 = 8;

/// The kernels of this family.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[
    primer_transpose_naive_u8::ENTRY,
    primer_transpose_naive_u16::ENTRY,
    primer_transpose_naive_u32::ENTRY,
    primer_transpose_naive_u64::ENTRY,
    primer_transpose_unpadded_u8::ENTRY,
    primer_transpose_unpadded_u16::ENTRY,
    primer_transpose_unpadded_u32::ENTRY,
    primer_transpose_unpadded_u64::ENTRY,
    primer_transpose_padded_u8::ENTRY,
    primer_transpose_padded_u16::ENTRY,
    primer_transpose_padded_u32::ENTRY,
    primer_transpose_padded_u64::ENTRY,
    primer_transpose_diagonal_u8::ENTRY,
    primer_transpose_diagonal_u16::ENTRY,
    primer_transpose_diagonal_u32::ENTRY,
    primer_transpose_diagonal_u64::ENTRY,
    primer_transpose_wide_u8::ENTRY,
    primer_transpose_wide_u16::ENTRY,
    primer_transpose_wide_u32::ENTRY,
    primer_transpose_wide_u64::ENTRY,
];

/// A matrix and its transpose.
#[derive(Clone, Copy)]
struct Matrix<T> {
    /// `rows` x `cols`, row by row.
    input: In<T>,
    /// `cols` x `rows`, row by row.
    out: Out<T>,
    rows: u32,
    cols: u32,
}

impl<T: Scalar> Matrix<T> {
    #[inline(always)]
    fn has(self, row: u32, col: u32) -> bool {
        row < self.rows && col < self.cols
    }

    /// The index of an element of `input`.
    #[inline(always)]
    fn index(self, row: u32, col: u32) -> usize {
        row as usize * self.cols as usize + col as usize
    }

    /// Its index in `out`.
    #[inline(always)]
    fn transposed_index(self, row: u32, col: u32) -> usize {
        col as usize * self.rows as usize + row as usize
    }

    /// First row and column of the block's tile, where blocks take tiles row by row.
    #[inline(always)]
    fn own_tile(self) -> (u32, u32) {
        let across = self.cols.div_ceil(TRANSPOSE_TILE).max(1);
        let block = thread::block_idx_x();
        (block / across * TRANSPOSE_TILE, block % across * TRANSPOSE_TILE)
    }
}
