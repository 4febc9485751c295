//! Closing the pivot tile: plain Floyd-Warshall in registers.
//!
//! A thread has 8 x 8 distances of the tile, 4 x 4 at four places. At step k the threads that have a part of row k or column k put it into shared memory,
//! and every thread loads from there what it needs; two such buffers alternate, so that a step has one barrier. Which of a
//! thread's registers hold row k has to be known at compile time: steps are unrolled for the eight rows that a thread has.

use simt::global::Out;
use simt::shared::Shared;
use simt::{eight, kernel, shared, thread};

use super::super::words::{Halves, Real, Whole, Words};
use super::{PIVOTS, Spot};

shared! {
    // Two rows, two columns.
    static APSP_LINES: [u32; 512];
}

/// The pivot tile: its position in the matrix, and in the panels.
#[derive(Clone, Copy)]
pub(super) struct PivotTile {
    pub matrix: Out<u32>,
    /// Words from a row of the matrix to the next.
    pub pitch: u32,
    /// The tile's first row in the matrix.
    pub row: u32,
    /// The tile's first column in the matrix, in distances.
    pub col: u32,
    pub column_panel: Out<u32>,
    /// Words from a depth of the column panel to the next.
    pub column_pitch: u32,
    pub row_panel: Out<u32>,
}

/// One step: `$k` is the pivot, whose row and column are the thread's `$own` if its spot is that of `$k`.
macro_rules! step {
    ($w:ident, $cells:ident, $spot:ident, $lines:ident, $quad:ident, $own:ident) => {{
        let parity = $own as u32 % 2;
        let (row, column): (Shared<u32>, Shared<u32>) =
            ($lines.slice(parity * PIVOTS, PIVOTS), $lines.slice((2 + parity) * PIVOTS, PIVOTS));
        if $spot.row == 4 * $quad {
            let cells = $cells[$own];
            row.store4($spot.word, [cells[0], cells[1], cells[2], cells[3]]);
            row.store4(64 + $spot.word, [cells[4], cells[5], cells[6], cells[7]]);
        }
        if $spot.word == 4 * $quad {
            let cells = $cells.map(|row| row[$own]);
            column.store4($spot.row, [cells[0], cells[1], cells[2], cells[3]]);
            column.store4(64 + $spot.row, [cells[4], cells[5], cells[6], cells[7]]);
        }
        thread::sync_threads();
        let a = [column.load4($spot.row), column.load4(64 + $spot.row)];
        let b = [row.load4($spot.word), row.load4(64 + $spot.word)];
        eight!(I => {
            eight!(J => {
                $cells[I][J] = $w::relax_one($cells[I][J], a[I / 4][I % 4], b[J / 4][J % 4]);
            });
        });
    }};
}

/// Four steps that begin at pivot `64 * $half + 4 * $quad`.
macro_rules! four_steps {
    ($w:ident, $cells:ident, $spot:ident, $lines:ident, $quad:ident, $($own:literal)*) => {$({
        const OWN: usize = $own;
        step!($w, $cells, $spot, $lines, $quad, OWN);
    })*};
}

impl PivotTile {
    /// Closes it, and writes it to the matrix and both panels.
    #[inline(always)]
    pub fn close<W: Words>(self) {
        let spot = Spot::own();
        let lines = shared::array::<APSP_LINES>();
        let at = |i: usize, piece: u32| {
            let word = (self.col + 64 * piece + spot.word) / W::CELLS;
            (self.row + spot.row(i)) as usize * self.pitch as usize + word as usize
        };
        let mut cells = [[0u32; 8]; 8];
        eight!(I => {
            eight!(J => {
                let j = J as u32 % 4;
                let word = self.matrix.load(at(I, J as u32 / 4) + (j / W::CELLS) as usize);
                cells[I][J] = W::extract(word, j % W::CELLS);
            });
        });
        let mut quad = 0;
        while quad < 16 {
            four_steps!(W, cells, spot, lines, quad, 0 1 2 3);
            quad += 1;
        }
        quad = 0;
        while quad < 16 {
            four_steps!(W, cells, spot, lines, quad, 4 5 6 7);
            quad += 1;
        }
        eight!(I => {
            eight!(J => {
                let j = J as u32 % 4;
                if j.is_multiple_of(W::CELLS) {
                    let word = if W::CELLS == 1 { cells[I][J] } else { cells[I][J] | cells[I][(J + 1) % 8] << 16 };
                    let (at, piece) = (at(I, J as u32 / 4), J as u32 / 4);
                    self.matrix.store(at + (j / W::CELLS) as usize, word);
                    // The row panel has the matrix's pitch.
                    let word_of_row = (self.col + 64 * piece + spot.word) / W::CELLS + j / W::CELLS;
                    self.row_panel.store(spot.row(I) as usize * self.pitch as usize + word_of_row as usize, word);
                }
                let depth = spot.word + 64 * (J as u32 / 4) + j;
                let at = depth as usize * self.column_pitch as usize + (self.row + spot.row(I)) as usize;
                self.column_panel.store(at, W::broadcast(cells[I][J]));
            });
        });
    }
}

macro_rules! entry {
    ($name:ident, $words:ident, $arch:literal, $what:literal) => {
        #[doc = concat!("Closes the pivot tile whose first row is `row` and first column `col`, of ", $what, ", and writes it to both panels. One block.")]
        ///
        /// # Safety
        /// `matrix` has rows of `pitch` words, a multiple of 128, and all of the tile; `column_panel` has 128 rows of `column_pitch` words, which are
        /// more than the tile's last row; `row_panel` has 128 rows of `pitch` words. Distances are at most the unreachable one, and none is negative.
        #[kernel(threads = 256, blocks = 2, arch = $arch)]
        pub unsafe fn $name(
            matrix: Out<u32>,
            pitch: u32,
            row: u32,
            col: u32,
            column_panel: Out<u32>,
            column_pitch: u32,
            row_panel: Out<u32>,
        ) {
            PivotTile { matrix, pitch, row, col, column_panel, column_pitch, row_panel }.close::<$words>();
        }
    };
}
entry!(apsp_pivot_i32, Whole, 75, "32-bit integers");
entry!(apsp_pivot_u16, Halves, 90, "16-bit integers");
entry!(apsp_pivot_f32, Real, 75, "32-bit floating-point numbers");
