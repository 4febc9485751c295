//! Rung naive: every element directly from its index to the other.
//!
//! Reads run along rows and coalesce. A warp's write goes down a column: 32 elements in 32 rows of `out`, each a sector of 32
//! bytes for one element.

use simt::global::{In, Out};
use simt::scalar::Scalar;
use simt::{kernel, thread};

use super::{Matrix, TRANSPOSE_THREADS_Y, TRANSPOSE_TILE};

#[inline(always)]
fn naive<T: Scalar>(matrix: Matrix<T>) {
    let (row, col) = matrix.own_tile();
    let col = col + thread::thread_idx_x();
    let mut y = thread::thread_idx_y();
    while y < TRANSPOSE_TILE {
        if matrix.has(row + y, col) {
            let element = matrix.input.load(matrix.index(row + y, col));
            matrix.out.store(matrix.transposed_index(row + y, col), element);
        }
        y += TRANSPOSE_THREADS_Y;
    }
}

macro_rules! entry {
    ($name:ident, $item:ty, $bytes:literal) => {
        #[doc = concat!("Transposes elements of ", $bytes, " without a detour, a tile a block.")]
        ///
        /// # Safety
        /// `input` and `out` have `rows · cols` elements; there is a block of [`TRANSPOSE_TILE`] x [`TRANSPOSE_THREADS_Y`] threads
        /// for each tile of [`TRANSPOSE_TILE`] x [`TRANSPOSE_TILE`], along x.
        #[kernel(threads = 256)]
        pub unsafe fn $name(input: In<$item>, out: Out<$item>, rows: u32, cols: u32) {
            naive(Matrix { input, out, rows, cols });
        }
    };
}
entry!(primer_transpose_naive_u8, u8, "1 byte");
entry!(primer_transpose_naive_u16, u16, "2 bytes");
entry!(primer_transpose_naive_u32, u32, "4 bytes");
entry!(primer_transpose_naive_u64, u64, "8 bytes");
