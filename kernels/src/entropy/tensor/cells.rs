//! From cells to the histograms of columns: a byte for a pair of levels.
//!
//! Four cells become a selector, four bits a cell, and `prmt` with it looks four cells up in a table of eight bytes:
//! their weights in one pair of levels. Cells of levels 8–15 have the top bit set, for which `prmt` gives the sign of the byte,
//! here 0; the selector with these bits flipped serves the upper eight levels. Eight permutations make the
//! one-hots of four cells, where shifts would take three for each cell.
//!
//! The second cell is in the third place and the third in the second: so one shift by 12 brings all four together. Words of
//! columns have that order too; the tensor cores do not mind, if the band matrix has it.
//!
//! Where there is nodata a flag for each cell is in the upper half of the selector, and set in the lower half for both selectors. Whatever
//! byte nodata is, [`Marking`] makes it one of which one bit tells: an exclusive or and an addition in a word, no comparison.

use simt::math::{byte_permute, select_bits};

use super::{COUNTED, Mode, PAIRS, radix};

/// What is looked up by `prmt`: the weights of the levels 0 and 1 in the pair that they are, of 2 and 3, and what [`Cells::marks`] is made of.
pub const fn tables(side: usize) -> [u32; 3] {
    [radix(side) << 8 | 1, radix(side) << 24 | 1 << 16, 0xFEFE_FEFE]
}

/// The top bit of each of four selectors.
const TOP: u32 = 0x8888;

/// How the cells that are nodata are found.
#[derive(Clone, Copy)]
pub struct Marking {
    flip: u32,
    add: u32,
}

impl Marking {
    /// Of the code of nodata: any byte; above 255 there is none.
    #[inline(always)]
    pub fn new(nodata: u32) -> Self {
        // Afterwards the top bit of a byte says whether it is nodata. Levels are below 16; if nodata is too, it is made 15, and the levels
        // become the others.
        let (flip, add) = match nodata {
            0..16 => (nodata ^ 15, 0x71),
            16..128 => (0, 0x70),
            _ => (0, 0),
        };
        Self { flip: flip * 0x0101_0101, add: add * 0x0101_0101 }
    }
}

/// Four cells as a selector for `prmt`, four bits a cell, in the lower half.
#[derive(Clone, Copy)]
pub struct Cells(u32);

impl Cells {
    /// Cells of level 0.
    pub const ZERO: Self = Self(0);

    /// Of four packed bytes.
    #[inline(always)]
    pub fn new<const MODE: Mode>(bytes: u32, marking: Marking) -> Self {
        let packed = |bytes: u32| select_bits(0x0F0F, bytes, bytes >> 12);
        if MODE != COUNTED {
            return Self(packed(bytes));
        }
        let bytes = bytes ^ marking.flip;
        let marked = bytes.wrapping_add(marking.add);
        // The flags' places are those of the selectors in the upper half; the bits around them are anything.
        Self(byte_permute(packed(bytes), select_bits(0xF0F0_0000, marked, marked << 12), 0x7610))
    }

    /// The pairs' weights: a word for a pair, a byte for a cell.
    #[inline(always)]
    fn pairs<const MODE: Mode>(self, [first, second, _]: [u32; 3]) -> [u32; PAIRS] {
        let none = if MODE == COUNTED { self.0 >> 16 & TOP } else { 0 };
        let (low, high) = (self.0 | none, (self.0 ^ TOP) | none);
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

    /// A byte for each cell, 255 where it is nodata and 254 where it is not. Only in mode `COUNTED`.
    #[inline(always)]
    pub fn marks(self, [_, _, marks]: [u32; 3]) -> u32 {
        byte_permute(marks, marks, self.0 >> 16)
    }
}

/// The histogram of four columns over up to five rows: a word for a pair of levels, a byte for a column. Five cells weigh at
/// most 5 · 26, so that no byte overflows.
#[derive(Clone, Copy)]
pub struct Columns {
    pub pairs: [u32; PAIRS],
    /// Cells that are nodata; only in mode `COUNTED`.
    pub none: u32,
}

impl Columns {
    /// Of no row.
    pub const EMPTY: Self = Self { pairs: [0; PAIRS], none: 0 };

    /// Adds one more row.
    #[inline(always)]
    pub fn grow<const MODE: Mode>(&mut self, entering: Cells, tables: [u32; 3]) {
        let new = entering.pairs::<MODE>(tables);
        let mut p = 0;
        while p < PAIRS {
            self.pairs[p] = self.pairs[p].wrapping_add(new[p]);
            p += 1;
        }
        if MODE == COUNTED {
            self.none = self.none.wrapping_add(entering.marks(tables)).wrapping_sub(tables[2]);
        }
    }

    /// Moves down by one row.
    #[inline(always)]
    pub fn slide<const MODE: Mode>(&mut self, entering: Cells, leaving: Cells, tables: [u32; 3]) {
        let (new, old) = (entering.pairs::<MODE>(tables), leaving.pairs::<MODE>(tables));
        let mut p = 0;
        while p < PAIRS {
            self.pairs[p] = self.pairs[p].wrapping_add(new[p]).wrapping_sub(old[p]);
            p += 1;
        }
        if MODE == COUNTED {
            self.none = self.none.wrapping_add(entering.marks(tables)).wrapping_sub(leaving.marks(tables));
        }
    }
}
