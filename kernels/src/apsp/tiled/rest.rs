//! Phase 3: every other tile, the lesser of itself and column panel x row panel; and the next pivot on the way.
//!
//! Nearly all of the work. It also multiplies blocks of matrices larger than a device's memory: `depth`
//! need not be that of a round.

use simt::global::{In, Out};
use simt::{eight, kernel, thread};

use super::super::words::{Halves, Real, Whole, Words};
use super::pivot::PivotTile;
use super::product::{Straight, product};
use super::{PIVOTS, Spot, TILE};

#[derive(Clone, Copy)]
struct Phase3 {
    matrix: Out<u32>,
    pitch: u32,
    column_panel: In<u32>,
    column_pitch: u32,
    row_panel: In<u32>,
    row_pitch: u32,
    depth: u32,
}

impl Phase3 {
    #[inline(always)]
    fn tile<W: Words>(self, tile_row: u32, tile_word: u32) {
        let spot = Spot::own();
        let pitch = self.pitch as usize;
        let (row, word) = ((tile_row * TILE) as usize, (tile_word * TILE) as usize);
        let at = |i: usize, j: usize| (row + spot.row(i) as usize) * pitch + word + spot.word as usize + 16 * j;
        let mut results = [[0; 8]; 8];
        eight!(I => {
            let (first, second) = (self.matrix.load4(at(I, 0)), self.matrix.load4(at(I, 4)));
            results[I] = [first[0], first[1], first[2], first[3], second[0], second[1], second[2], second[3]];
        });
        product::<W, 8>(
            &mut results,
            Straight::<_, 128> { memory: self.column_panel, at: row, pitch: self.column_pitch as usize },
            Straight::<_, 128> { memory: self.row_panel, at: word, pitch: self.row_pitch as usize },
            self.depth,
        );
        eight!(I => {
            let r = results[I];
            self.matrix.store4(at(I, 0), [r[0], r[1], r[2], r[3]]);
            self.matrix.store4(at(I, 4), [r[4], r[5], r[6], r[7]]);
        });
    }
}

macro_rules! entry {
    ($name:ident, $words:ident, $arch:literal, $what:literal) => {
        #[doc = concat!("Makes tiles of 128 x 128 words of ", $what, " be the lesser of themselves and the product of the panels, and closes the next pivot tile.")]
        ///
        /// Block (x, y) makes tile row (y + `first_row`) modulo `rows` and tile column (x + `first_word`) modulo `words`, but for the tile row
        /// `pivot_row`, and for the tile column `pivot_word`. The block that has made the tile with row `next_row` and column `next_col`, in distances,
        /// closes the pivot tile there, and writes it to the panels `next_column` and `next_row_panel`. Each of the four may be
        /// [`NONE`](super::NONE).
        ///
        /// # Safety
        /// `matrix` has `rows` · 128 rows of `pitch` words and `words` · 128 is at most `pitch`; `column_panel` has `depth` rows of `column_pitch` words, of
        /// which there are at least as many as rows, `row_panel` `depth` rows of `row_pitch` words, at least `words` · 128; `depth` is a
        /// multiple of 8 and not 0. The next panels are as for [`apsp_pivot_i32`](fn@super::apsp_pivot_i32), and are not the other ones.
        #[kernel(threads = 256, blocks = 2, arch = $arch)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name(
            matrix: Out<u32>,
            pitch: u32,
            column_panel: In<u32>,
            column_pitch: u32,
            row_panel: In<u32>,
            row_pitch: u32,
            depth: u32,
            rows: u32,
            words: u32,
            first_row: u32,
            first_word: u32,
            pivot_row: u32,
            pivot_word: u32,
            next_row: u32,
            next_col: u32,
            next_column_panel: Out<u32>,
            next_row_panel: Out<u32>,
        ) {
            let tile_row = (thread::block_idx_y() + first_row) % rows.max(1);
            let tile_word = (thread::block_idx_x() + first_word) % words.max(1);
            if tile_row == pivot_row || tile_word == pivot_word {
                return;
            }
            let phase3 = Phase3 { matrix, pitch, column_panel, column_pitch, row_panel, row_pitch, depth };
            phase3.tile::<$words>(tile_row, tile_word);
            if tile_row * TILE == next_row && tile_word == next_col / (TILE * <$words>::CELLS) {
                // Written by the block's other threads.
                thread::sync_threads();
                let next = PivotTile {
                    matrix,
                    pitch,
                    row: next_row,
                    col: next_col,
                    column_panel: next_column_panel,
                    column_pitch,
                    row_panel: next_row_panel,
                };
                next.close::<$words>();
            }
        }
    };
}
entry!(apsp_rest_i32, Whole, 75, "32-bit integers");
entry!(apsp_rest_u16, Halves, 90, "16-bit integers");
entry!(apsp_rest_f32, Real, 75, "32-bit floating-point numbers");

const _: () = assert!(PIVOTS == TILE, "a tile of words has a whole number of pivot tiles");
