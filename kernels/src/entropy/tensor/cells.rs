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
//!
//! Up to 32 levels are two groups of sixteen. The upper half of a selector then has, besides, the cell's group, and a cell is none in the other one.

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
    /// Of the code of nodata, which is any byte and above 255 if there is none, beside levels of so many groups.
    #[inline(always)]
    pub fn new<const GROUPS: usize>(nodata: u32) -> Self {
        // Afterwards the top bit of a byte says whether it is nodata. If nodata is below what levels may be, it is made the last of them, and
        // the levels become the others. Of two groups level 15 becomes another too, by a carry: the one that nodata has left.
        let last = 16 * GROUPS as u32 - 1;
        let (flip, add) = if nodata <= last {
            (nodata ^ last, 0x80 - last)
        } else if nodata < 128 {
            (0, 0x7F - last)
        } else {
            (0, 0)
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
    pub fn new<const MODE: Mode, const GROUPS: usize>(bytes: u32, marking: Marking) -> Self {
        let packed = |bytes: u32| select_bits(0x0F0F, bytes, bytes >> 12);
        if MODE != COUNTED && GROUPS == 1 {
            return Self(packed(bytes));
        }
        let bytes = if MODE == COUNTED { bytes ^ marking.flip } else { bytes };
        let marked = if MODE == COUNTED { bytes.wrapping_add(marking.add) } else { bytes };
        // The upper halves of bytes, in the selectors' order: the top bit is the flag, the lowest the group. The bits between are anything.
        Self(byte_permute(packed(bytes), select_bits(0xF0F0_0000, marked, marked << 12), 0x7610))
    }

    /// The top bit of the selectors of cells that are nodata or in another group.
    #[inline(always)]
    fn none<const MODE: Mode, const GROUPS: usize>(self, group: usize) -> u32 {
        let nodata = if MODE == COUNTED { self.0 >> 16 } else { 0 };
        let other = match (GROUPS, group) {
            (1, _) => 0,
            (_, 0) => self.0 >> 13,
            _ => !(self.0 >> 13),
        };
        (nodata | other) & TOP
    }

    /// The weights of a group's pairs: a word for a pair, a byte for a cell.
    #[inline(always)]
    fn pairs<const MODE: Mode, const GROUPS: usize>(self, group: usize, [first, second, _]: [u32; 3]) -> [u32; PAIRS] {
        let none = self.none::<MODE, GROUPS>(group);
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
pub struct Columns<const GROUPS: usize> {
    /// By group.
    pub pairs: [[u32; PAIRS]; GROUPS],
    /// Cells that are nodata; only in mode `COUNTED`.
    pub none: u32,
}

impl<const GROUPS: usize> Columns<GROUPS> {
    /// Of no row.
    pub const EMPTY: Self = Self { pairs: [[0; PAIRS]; GROUPS], none: 0 };

    /// Adds one more row.
    #[inline(always)]
    pub fn grow<const MODE: Mode>(&mut self, entering: Cells, tables: [u32; 3]) {
        let mut g = 0;
        while g < GROUPS {
            let new = entering.pairs::<MODE, GROUPS>(g, tables);
            let mut p = 0;
            while p < PAIRS {
                self.pairs[g][p] = self.pairs[g][p].wrapping_add(new[p]);
                p += 1;
            }
            g += 1;
        }
        if MODE == COUNTED {
            self.none = self.none.wrapping_add(entering.marks(tables)).wrapping_sub(tables[2]);
        }
    }

    /// Moves down by one row.
    #[inline(always)]
    pub fn slide<const MODE: Mode>(&mut self, entering: Cells, leaving: Cells, tables: [u32; 3]) {
        let mut g = 0;
        while g < GROUPS {
            let new = entering.pairs::<MODE, GROUPS>(g, tables);
            let old = leaving.pairs::<MODE, GROUPS>(g, tables);
            let mut p = 0;
            while p < PAIRS {
                self.pairs[g][p] = self.pairs[g][p].wrapping_add(new[p]).wrapping_sub(old[p]);
                p += 1;
            }
            g += 1;
        }
        if MODE == COUNTED {
            self.none = self.none.wrapping_add(entering.marks(tables)).wrapping_sub(leaving.marks(tables));
        }
    }
}
