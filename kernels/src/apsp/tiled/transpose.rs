//! Transposes a matrix into the layout of `rest`'s left factor: depth by depth, every distance repeated to fill a word.
//!
//! Between rounds the column panel is written that way by the kernel that makes it. Factors copied from the host, when a matrix is larger
//! than the device's memory, are transposed here: 32 x 32 words at a time through shared memory, whose rows are a word longer so that a
//! column's words are in different banks.

use simt::global::{In, Out};
use simt::{kernel, shared, thread};

use super::super::words::{Halves, Whole, Words};

/// Rows and words of a row that a block transposes.
pub const TRANSPOSE_TILE: u32 = 32;

shared! {
    static APSP_TURN: [u32; 1056];
}

#[inline(always)]
fn transpose<W: Words>(matrix: In<u32>, pitch: u32, transposed: Out<u32>, transposed_pitch: u32) {
    let tile = shared::array::<APSP_TURN>();
    let (x, y) = (thread::thread_idx_x() % TRANSPOSE_TILE, thread::thread_idx_x() / TRANSPOSE_TILE);
    let (word, row) = (thread::block_idx_x() * TRANSPOSE_TILE, thread::block_idx_y() * TRANSPOSE_TILE);
    let mut i = y;
    while i < TRANSPOSE_TILE {
        tile.store(
            i * (TRANSPOSE_TILE + 1) + x,
            matrix.load((row + i) as usize * pitch as usize + (word + x) as usize),
        );
        i += 8;
    }
    thread::sync_threads();
    let mut i = y;
    while i < TRANSPOSE_TILE {
        let cells = tile.load(x * (TRANSPOSE_TILE + 1) + i);
        let mut part = 0;
        while part < W::CELLS {
            let depth = (word + i) * W::CELLS + part;
            transposed.store(
                depth as usize * transposed_pitch as usize + (row + x) as usize,
                W::broadcast(W::extract(cells, part)),
            );
            part += 1;
        }
        i += 8;
    }
}

/// Transposes a matrix of 32-bit numbers, whole or floating-point. Block (x, y) transposes words 32 x.. of rows 32 y...
///
/// # Safety
/// `matrix` has so many rows of `pitch` words, `transposed` a row of `transposed_pitch` words, at least as many as there are rows, for each of its columns.
#[kernel(threads = 256)]
pub unsafe fn apsp_turn_32(matrix: In<u32>, pitch: u32, transposed: Out<u32>, transposed_pitch: u32) {
    transpose::<Whole>(matrix, pitch, transposed, transposed_pitch);
}

/// Transposes a matrix of 16-bit integers, two in a word.
///
/// # Safety
/// As [`apsp_turn_32`](fn@apsp_turn_32); `transposed` has a row for each distance of a row, two for a word.
#[kernel(threads = 256)]
pub unsafe fn apsp_turn_16(matrix: In<u32>, pitch: u32, transposed: Out<u32>, transposed_pitch: u32) {
    transpose::<Halves>(matrix, pitch, transposed, transposed_pitch);
}
