//! The histograms of columns, in the layout in which the tensor cores take them.
//!
//! A region of the strip is 32 columns of results, and the 64 columns that their windows see. Lanes 8·region + 4·parity + t
//! have of every 16 columns four, and of every two levels one: the word of level 2k + parity and columns 16q + 4t .. 16q + 4t + 4 is
//! `counts[k][q]`, a byte a column. That is the B fragment of a product as it is: column 2·region + parity of B.

use simt::math::byte_permute;
use simt::unroll;

use super::super::selectors::Selectors;

/// Pairs of levels.
pub const PAIRS: usize = 8;
/// Words of four columns that a lane has of its region.
pub const WORDS: usize = 4;

/// The cells of one row that a lane counts: four columns a word.
#[derive(Clone, Copy)]
pub struct Entering(pub [Selectors; WORDS]);

/// One-hots of two levels a byte apart, in the two lowest levels of the lane's parity, as tables for `prmt`.
#[derive(Clone, Copy)]
pub struct Weights {
    /// Of levels 0 and 1, and of 2 and 3: one of each two.
    levels: [u32; 2],
    /// Of any level, in the lanes whose column of B has the numbers of valid cells; in its lowest byte.
    valid: u32,
}

impl Weights {
    /// Those of a lane; `parity` is 0 or 1.
    #[inline(always)]
    pub fn new(parity: u32) -> Self {
        Self { levels: [1 << (8 * parity), 1 << (16 + 8 * parity)], valid: 1 - parity }
    }

    /// The one-hots of level 2K + parity.
    #[inline(always)]
    fn level<const K: usize>(&self, cells: Selectors) -> u32 {
        let weights = self.levels[K % 2];
        let (low, high) = if (K / 2).is_multiple_of(2) { (weights, 0) } else { (0, weights) };
        byte_permute(low, high, if K < 4 { cells.lower() } else { cells.upper() })
    }

    /// 1 for every cell that has a level, of any group.
    #[inline(always)]
    fn valid(&self, cells: Selectors, grouped: bool) -> u32 {
        // Of 0 the first byte, and of 8 its sign, which is 0.
        byte_permute(self.valid, 0, if grouped { cells.missing() } else { cells.none() })
    }
}

/// The histograms of a lane's columns.
#[derive(Clone, Copy)]
pub struct Columns {
    pub levels: [[u32; WORDS]; PAIRS],
    /// Valid cells, where there is nodata.
    pub valid: [u32; WORDS],
}

impl Columns {
    /// Of no row.
    pub const EMPTY: Self = Self { levels: [[0; WORDS]; PAIRS], valid: [0; WORDS] };

    /// Adds one more row. Of `grouped` cells any that are not missing are valid.
    #[inline(always)]
    pub fn grow<const NODATA: bool>(&mut self, weights: &Weights, entering: &Entering, grouped: bool) {
        unroll!(Q in 0 1 2 3 => {
            unroll!(K in 0 1 2 3 4 5 6 7 => {
                self.levels[K][Q] = self.levels[K][Q].wrapping_add(weights.level::<K>(entering.0[Q]));
            });
            if NODATA {
                self.valid[Q] = self.valid[Q].wrapping_add(weights.valid(entering.0[Q], grouped));
            }
        });
    }

    /// Moves down by one row.
    #[inline(always)]
    pub fn slide<const NODATA: bool>(
        &mut self,
        weights: &Weights,
        entering: &Entering,
        leaving: &Entering,
        grouped: bool,
    ) {
        unroll!(Q in 0 1 2 3 => {
            let (new, old) = (entering.0[Q], leaving.0[Q]);
            unroll!(K in 0 1 2 3 4 5 6 7 => {
                self.levels[K][Q] =
                    self.levels[K][Q].wrapping_add(weights.level::<K>(new)).wrapping_sub(weights.level::<K>(old));
            });
            if NODATA {
                self.valid[Q] = self.valid[Q].wrapping_add(weights.valid(new, grouped)).wrapping_sub(weights.valid(old, grouped));
            }
        });
    }
}
