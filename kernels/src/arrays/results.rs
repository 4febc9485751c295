//! Copies of results: from the layout of the entropy kernels to any strides, and nodata near the edge.

use simt::global::{In, Out};
use simt::{kernel, thread};

use super::{ARRAYS_THREADS, Array, GridStride, WIDTH};

/// Copies `rows` × `cols` numbers of `kind`'s width, 4 or 8 bytes: from element `from_first` on, rows `from_stride` apart, to where the
/// strides of `to` say.
///
/// # Safety
/// `from` and `to` hold what is said of them; no two numbers of `to` share an address; blocks have
/// [`ARRAYS_THREADS`] threads, in one dimension.
#[kernel(threads = 256)]
pub unsafe fn arrays_place(
    from: In<u8>,
    to: Out<u8>,
    kind: u32,
    from_first: u64,
    from_stride: u64,
    first: u64,
    row: u64,
    col: u64,
    rows: u32,
    cols: u32,
) {
    let (source, target) = (Array { first: from_first, row: from_stride, col: 1 }, Array { first, row, col });
    let mut cursor = GridStride::new(cols);
    while cursor.row < rows {
        let (from_index, to_index) = (source.at(cursor.row, cursor.col), target.at(cursor.row, cursor.col));
        if kind & WIDTH == 4 {
            to.cast::<u32>().store(to_index, from.cast::<u32>().load(from_index));
        } else {
            to.cast::<u64>().store(to_index, from.cast::<u64>().load(from_index));
        }
        cursor.step();
    }
}

/// Sets the numbers of `kind`'s width, 4 or 8 bytes, that lie within `above`, `below`, `before` and `behind` of an edge to `value`.
///
/// # Safety
/// `out` holds what its strides say, no two numbers at one address; blocks have [`ARRAYS_THREADS`] threads, in one dimension.
#[kernel(threads = 256)]
pub unsafe fn arrays_rim(
    out: Out<u8>,
    kind: u32,
    first: u64,
    row: u64,
    col: u64,
    rows: u32,
    cols: u32,
    above: u32,
    below: u32,
    before: u32,
    behind: u32,
    value: u64,
) {
    let array = Array { first, row, col };
    let t = thread::thread_idx_x();
    let mut y = thread::block_idx_x();
    while y < rows {
        let whole = y < above || y + below >= rows || before + behind >= cols;
        let count = if whole { cols } else { before + behind };
        let mut i = t;
        while i < count {
            let x = if whole || i < before { i } else { cols - behind + (i - before) };
            if kind & WIDTH == 4 {
                out.cast::<u32>().store(array.at(y, x), value as u32);
            } else {
                out.cast::<u64>().store(array.at(y, x), value);
            }
            i += ARRAYS_THREADS;
        }
        y += thread::grid_dim_x();
    }
}
