//! Floyd's outermost loop on the host, the two inner ones a launch: a thread a cell.
//!
//! In step k nothing changes in row k and column k, because d(k, k) is 0: so the matrix is updated in place, in any order of
//! threads. Every step reads the whole matrix, and mostly writes little of it: it is bound by memory, with three accesses for one
//! relaxation.

use simt::global::Out;
use simt::{kernel, thread};

/// Columns and rows of a block's cells.
pub const NAIVE_BLOCK: [u32; 2] = [32, 8];

/// Step `k`: relaxes all paths over vertex `k`. In blocks of [`NAIVE_BLOCK`] threads.
///
/// # Safety
/// `distances` has `vertices` rows of `vertices` cells, `pitch` apart, as in the module's text; `k` is below `vertices`; the launch has the
/// block shape above.
#[kernel(threads = 256)]
pub unsafe fn apsp_naive(distances: Out<i32>, vertices: u32, pitch: u32, k: u32) {
    let (j, i) = (thread::index_x(), thread::index_y());
    if i >= vertices || j >= vertices {
        return;
    }
    let at = |i: u32, j: u32| i as usize * pitch as usize + j as usize;
    let via = distances.load(at(i, k)).wrapping_add(distances.load(at(k, j)));
    if via < distances.load(at(i, j)) {
        distances.store(at(i, j), via);
    }
}
