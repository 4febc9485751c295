//! From cells to the histograms of columns: a byte for a pair of levels.
//!
//! Four cells become a selector, four bits a cell, and `prmt` with it looks four cells up in a table of eight bytes:
//! their weights in one pair of levels. Cells of levels 8–15 have the top bit set, for which `prmt` gives the sign of the byte,
//! here 0; a second selector with these bits flipped serves the upper eight levels. Eight permutations make the
//! one-hots of four cells, where shifts would take three for each cell.

use simt::math::{byte_permute, select_bits};

use super::{COUNTED, INSIDE, Mode, PAIRS, RADIX};

/// The weights of two levels as tables for `prmt`: of the levels 0 and 1, and of 2 and 3.
pub const WEIGHTS: [u32; 2] = [RADIX << 8 | 1, RADIX << 24 | 1 << 16];

/// Four cells as selectors for `prmt`, four bits a cell: in the lower half those of levels 0..8, in the upper half of levels
/// 8..16. 8 and more stands for none.
#[derive(Clone, Copy)]
pub struct Cells(u32);

impl Cells {
    /// No cell at all.
    pub const NONE: Self = Self(0x8888_8888);

    /// Of four packed bytes; in mode `COUNTED` 255 means none.
    #[inline(always)]
    pub fn new<const MODE: Mode>(bytes: u32) -> Self {
        // Neighbouring bytes' lower halves, packed in bytes 0 and 2.
        let low = |word: u32| select_bits(0x0F0F_0F0F, word, word >> 4);
        let first = low(bytes);
        let second = if MODE == INSIDE {
            first ^ 0x8888_8888
        } else {
            // A byte of 255 must not become level 15: its upper half says that it is none.
            low((bytes ^ 0x0808_0808) | (bytes >> 4 & 0x0F0F_0F0F))
        };
        Self(byte_permute(first, second, 0x6420))
    }

    /// The pairs' weights: a word for a pair, a byte for a cell.
    #[inline(always)]
    fn pairs(self, [first, second]: [u32; 2]) -> [u32; PAIRS] {
        let (low, high) = (self.0, self.0 >> 16);
        [
            byte_permute(first, 0, low),
            byte_permute(second, 0, low),
            byte_permute(0, first, low),
            byte_permute(0, second, low),
            byte_permute(first, 0, high),
            byte_permute(second, 0, high),
            byte_permute(0, first, high),
            byte_permute(0, second, high),
        ]
    }

    /// 1 in the byte of a cell that is one.
    #[inline(always)]
    fn ones(self) -> u32 {
        const ONES: u32 = 0x0101_0101;
        byte_permute(ONES, ONES, self.0).wrapping_add(byte_permute(ONES, ONES, self.0 >> 16))
    }
}

/// The histogram of four columns over up to five rows: a word for a pair of levels, a byte for a column. Five cells weigh at
/// most 5 · 26, so that no byte overflows.
#[derive(Clone, Copy)]
pub struct Columns {
    pub pairs: [u32; PAIRS],
    /// Cells counted; only in mode `COUNTED`.
    pub cells: u32,
}

impl Columns {
    /// Of no row.
    pub const EMPTY: Self = Self { pairs: [0; PAIRS], cells: 0 };

    /// Adds one more row.
    #[inline(always)]
    pub fn grow<const MODE: Mode>(&mut self, entering: Cells, weights: [u32; 2]) {
        let new = entering.pairs(weights);
        let mut p = 0;
        while p < PAIRS {
            self.pairs[p] = self.pairs[p].wrapping_add(new[p]);
            p += 1;
        }
        if MODE == COUNTED {
            self.cells = self.cells.wrapping_add(entering.ones());
        }
    }

    /// Moves down by one row.
    #[inline(always)]
    pub fn slide<const MODE: Mode>(&mut self, entering: Cells, leaving: Cells, weights: [u32; 2]) {
        let (new, old) = (entering.pairs(weights), leaving.pairs(weights));
        let mut p = 0;
        while p < PAIRS {
            self.pairs[p] = self.pairs[p].wrapping_add(new[p]).wrapping_sub(old[p]);
            p += 1;
        }
        if MODE == COUNTED {
            self.cells = self.cells.wrapping_add(entering.ones()).wrapping_sub(leaving.ones());
        }
    }
}
