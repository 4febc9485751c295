//! Pivot row and pivot column: products with the closed pivot tile.
//!
//! Row tiles are pivot x tile, column tiles tile x pivot. A block reads all of its tile before it writes any of it. Both are written to the
//! matrix, and to the panels that `rest` reads. Where another device owns the pivot row, it receives the row
//! panel from there and makes only its column panel.

use simt::global::Out;
use simt::shared::Shared;
use simt::{eight, kernel, thread};

use super::super::words::{Halves, Real, Whole, Words};
use super::product::{Factor, Straight, product};
use super::{PIVOTS, Spot, TILE, pieces};

/// Tile of a pivot column as a left factor: stored row by row, and transposed on the way to shared memory. A thread has four neighbours in a
/// row.
#[derive(Clone, Copy)]
struct Transposed<W> {
    matrix: Out<u32>,
    /// The first word of the tile.
    at: usize,
    pitch: usize,
    words: core::marker::PhantomData<W>,
}

impl<W: Words> Factor for Transposed<W> {
    #[inline(always)]
    fn fetch(self, depth: u32) -> [u32; 4] {
        let t = thread::thread_idx_x();
        let word = (depth + t % 2 * 4) / W::CELLS;
        let at = self.at + (t / 2) as usize * self.pitch + word as usize;
        if W::CELLS == 1 {
            return self.matrix.load4(at);
        }
        let words = [self.matrix.load(at), self.matrix.load(at + 1)];
        [0, 1, 2, 3].map(|i| W::broadcast(W::extract(words[i / 2], i as u32 % 2)))
    }

    #[inline(always)]
    fn put(self, words: [u32; 4], buffer: Shared<u32>) {
        let t = thread::thread_idx_x();
        let at = t % 2 * 4 * TILE + t / 2;
        buffer.store(at, words[0]);
        buffer.store(at + TILE, words[1]);
        buffer.store(at + 2 * TILE, words[2]);
        buffer.store(at + 3 * TILE, words[3]);
    }
}

#[derive(Clone, Copy)]
struct Panels {
    matrix: Out<u32>,
    pitch: u32,
    /// First row of the pivot tile in the matrix; [`NONE`](super::NONE) where it is on another device.
    row: u32,
    /// First column of the pivot tile, in distances.
    col: u32,
    column_panel: Out<u32>,
    column_pitch: u32,
    row_panel: Out<u32>,
}

impl Panels {
    /// Words `128 * tile ..` of the pivot row.
    #[inline(always)]
    fn row_tile<W: Words>(self, tile: u32, unreachable: u32) {
        let spot = Spot::own();
        let word = tile * TILE;
        let pivot_word = self.col / W::CELLS;
        if W::CELLS == 1 && word == pivot_word {
            return;
        }
        let mut results = [[unreachable; 8]; 8];
        let pitch = self.pitch as usize;
        let at = self.row as usize * pitch + word as usize;
        product::<W, 8>(
            &mut results,
            Straight::<_, 128> { memory: self.column_panel, at: self.row as usize, pitch: self.column_pitch as usize },
            Straight::<_, 128> { memory: self.matrix, at, pitch },
            PIVOTS,
        );
        eight!(I => {
            pieces!(P => {
                let word = word + spot.word + 16 * P as u32;
                // The pivot tile is closed, and the blocks of the column read it.
                if W::CELLS == 1 || word.wrapping_sub(pivot_word) >= PIVOTS / W::CELLS {
                    let row = spot.row(I) as usize;
                    let four = [results[I][P], results[I][P + 1], results[I][P + 2], results[I][P + 3]];
                    self.matrix.store4((self.row as usize + row) * pitch + word as usize, four);
                    self.row_panel.store4(row * pitch + word as usize, four);
                }
            });
        });
    }

    /// Rows `128 * tile ..` of the pivot column, N words a thread and row.
    #[inline(always)]
    fn column_tile<W: Words, const N: usize, const WIDTH: u32>(self, tile: u32, unreachable: u32) {
        let spot = Spot::own();
        let row = tile * TILE;
        if row == self.row {
            return;
        }
        let (pitch, word) = (self.pitch as usize, (self.col / W::CELLS) as usize);
        let mut results = [[unreachable; N]; 8];
        let at = row as usize * pitch + word;
        product::<W, N>(
            &mut results,
            Transposed::<W> { matrix: self.matrix, at, pitch, words: core::marker::PhantomData },
            Straight::<_, WIDTH> { memory: self.row_panel, at: word, pitch },
            PIVOTS,
        );
        eight!(I => {
            pieces!(P => {
                if P < N {
                    let four = [results[I][P], results[I][P + 1], results[I][P + 2], results[I][P + 3]];
                    let word = (spot.word + 16 * P as u32) as usize;
                    self.matrix.store4(at + spot.row(I) as usize * pitch + word, four);
                }
            });
        });
        // Four rows of a column are neighbours in the panel.
        eight!(J => {
            if J < N {
                let mut part = 0;
                while part < W::CELLS {
                    let depth = (spot.word + 64 * (J as u32 / 4) + J as u32 % 4) * W::CELLS + part;
                    let at = depth as usize * self.column_pitch as usize + (row + spot.row) as usize;
                    let one = |i: usize| W::broadcast(W::extract(results[i][J], part));
                    self.column_panel.store4(at, [one(0), one(1), one(2), one(3)]);
                    self.column_panel.store4(at + 64, [one(4), one(5), one(6), one(7)]);
                    part += 1;
                }
            }
        });
    }
}

macro_rules! entry {
    ($name:ident, $words:ident, $n:literal, $width:literal, $unreachable:literal, $arch:literal, $what:literal) => {
        #[doc = concat!("Pivot row and pivot column of ", $what, ": the first `row_tiles` blocks make 128 words each of the row, the others 128 rows each of the column.")]
        ///
        /// # Safety
        /// As for [`apsp_pivot_i32`](fn@super::apsp_pivot_i32), which has run before, for all tiles that the blocks make; `row` is
        /// [`NONE`](super::NONE) only without `row_tiles`, and then `row_panel` is complete.
        #[kernel(threads = 256, blocks = 2, arch = $arch)]
        pub unsafe fn $name(
            matrix: Out<u32>,
            pitch: u32,
            row: u32,
            col: u32,
            column_panel: Out<u32>,
            column_pitch: u32,
            row_panel: Out<u32>,
            row_tiles: u32,
        ) {
            let panels = Panels { matrix, pitch, row, col, column_panel, column_pitch, row_panel };
            let block = thread::block_idx_x();
            if block < row_tiles {
                panels.row_tile::<$words>(block, $unreachable);
            } else {
                panels.column_tile::<$words, $n, $width>(block - row_tiles, $unreachable);
            }
        }
    };
}
entry!(apsp_panels_i32, Whole, 8, 128, 0x3FFF_FFFF, 75, "32-bit integers");
entry!(apsp_panels_u16, Halves, 4, 64, 0x7FFF_7FFF, 90, "16-bit integers");
entry!(apsp_panels_f32, Real, 8, 128, 0x7F80_0000, 75, "32-bit floating-point numbers");
