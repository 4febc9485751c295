//! Rungs unpadded, padded and diagonal: a tile of 32 x 32 goes through shared memory.
//!
//! A warp stores a row of the input's tile in shared memory, and after the barrier loads a column of it, which is a row of the output.
//!
//! - *unpadded*: a row of the tile is 32 elements. With 4 bytes, all of a column are in one bank, and the load takes 32 wavefronts; with 8 bytes
//!   16 for each half of the warp, with 2 bytes 16, with 1 byte 8.
//! - *padded*: a row is 33 elements. The next row's element is in the next bank, and with every size a column is in 32 banks.
//! - *diagonal*: on GT200 memory was interleaved over 8 partitions by address, 256 bytes at a time, and blocks that wrote one column of tiles all
//!   waited for one partition. Blocks that follow each other take tiles of different rows and columns here. Today's hardware hashes addresses:
//!   the rung is kept to show that it gains nothing any more.
//!
//! Departure from the textbook: it writes the diagonal for square matrices as (x, (x + y) mod n), and for others by the block's linear
//! number. Blocks are numbered linearly here anyway, and then both are one formula.

use simt::global::{In, Out};
use simt::scalar::Scalar;
use simt::shared::Shared;
use simt::{kernel, shared, thread};

use super::{Matrix, TRANSPOSE_THREADS_Y, TRANSPOSE_TILE};

shared! {
    static PRIMER_TRANSPOSE_UNPADDED_U8: [u8; 1024];
    static PRIMER_TRANSPOSE_UNPADDED_U16: [u16; 1024];
    static PRIMER_TRANSPOSE_UNPADDED_U32: [u32; 1024];
    static PRIMER_TRANSPOSE_UNPADDED_U64: [u64; 1024];
    static PRIMER_TRANSPOSE_PADDED_U8: [u8; 1056];
    static PRIMER_TRANSPOSE_PADDED_U16: [u16; 1056];
    static PRIMER_TRANSPOSE_PADDED_U32: [u32; 1056];
    static PRIMER_TRANSPOSE_PADDED_U64: [u64; 1056];
}

impl<T: Scalar> Matrix<T> {
    /// First row and column of the block's tile, where blocks take tiles along diagonals.
    #[inline(always)]
    fn diagonal_tile(self) -> (u32, u32) {
        let across = self.cols.div_ceil(TRANSPOSE_TILE).max(1);
        let down = self.rows.div_ceil(TRANSPOSE_TILE).max(1);
        let block = thread::block_idx_x();
        let row = block % down;
        (row * TRANSPOSE_TILE, (block / down + row) % across * TRANSPOSE_TILE)
    }

    /// Transposes the tile that begins there, in shared memory with `pitch` elements from a row to the next.
    #[inline(always)]
    fn transpose(self, (row, col): (u32, u32), tile: Shared<T>, pitch: u32) {
        let (x, own_y) = (thread::thread_idx_x(), thread::thread_idx_y());
        let mut y = own_y;
        while y < TRANSPOSE_TILE {
            if self.has(row + y, col + x) {
                tile.store(y * pitch + x, self.input.load(self.index(row + y, col + x)));
            }
            y += TRANSPOSE_THREADS_Y;
        }
        thread::sync_threads();
        let mut y = own_y;
        while y < TRANSPOSE_TILE {
            if self.has(row + x, col + y) {
                self.out.store(self.transposed_index(row + x, col + y), tile.load(x * pitch + y));
            }
            y += TRANSPOSE_THREADS_Y;
        }
    }
}

/// Elements from a row of the tile to the next, unpadded and padded.
const BARE: u32 = TRANSPOSE_TILE;
const PADDED: u32 = TRANSPOSE_TILE + 1;

macro_rules! entry {
    ($name:ident, $item:ty, $bytes:literal, $tile:ident, $pitch:expr, $which:ident) => {
        #[doc = concat!("Transposes elements of ", $bytes, " through shared memory, a tile a block.")]
        ///
        /// # Safety
        /// As for [`primer_transpose_naive_u8`](fn@super::primer_transpose_naive_u8).
        #[kernel(threads = 256)]
        pub unsafe fn $name(input: In<$item>, out: Out<$item>, rows: u32, cols: u32) {
            let matrix = Matrix { input, out, rows, cols };
            matrix.transpose(matrix.$which(), shared::array::<$tile>(), $pitch);
        }
    };
}
entry!(primer_transpose_unpadded_u8, u8, "1 byte", PRIMER_TRANSPOSE_UNPADDED_U8, BARE, own_tile);
entry!(primer_transpose_unpadded_u16, u16, "2 bytes", PRIMER_TRANSPOSE_UNPADDED_U16, BARE, own_tile);
entry!(primer_transpose_unpadded_u32, u32, "4 bytes", PRIMER_TRANSPOSE_UNPADDED_U32, BARE, own_tile);
entry!(primer_transpose_unpadded_u64, u64, "8 bytes", PRIMER_TRANSPOSE_UNPADDED_U64, BARE, own_tile);
entry!(primer_transpose_padded_u8, u8, "1 byte", PRIMER_TRANSPOSE_PADDED_U8, PADDED, own_tile);
entry!(primer_transpose_padded_u16, u16, "2 bytes", PRIMER_TRANSPOSE_PADDED_U16, PADDED, own_tile);
entry!(primer_transpose_padded_u32, u32, "4 bytes", PRIMER_TRANSPOSE_PADDED_U32, PADDED, own_tile);
entry!(primer_transpose_padded_u64, u64, "8 bytes", PRIMER_TRANSPOSE_PADDED_U64, PADDED, own_tile);
entry!(primer_transpose_diagonal_u8, u8, "1 byte", PRIMER_TRANSPOSE_PADDED_U8, PADDED, diagonal_tile);
entry!(primer_transpose_diagonal_u16, u16, "2 bytes", PRIMER_TRANSPOSE_PADDED_U16, PADDED, diagonal_tile);
entry!(primer_transpose_diagonal_u32, u32, "4 bytes", PRIMER_TRANSPOSE_PADDED_U32, PADDED, diagonal_tile);
entry!(primer_transpose_diagonal_u64, u64, "8 bytes", PRIMER_TRANSPOSE_PADDED_U64, PADDED, diagonal_tile);
