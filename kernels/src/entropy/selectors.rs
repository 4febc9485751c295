//! Four cells as selectors: what kernels that count on the tensor cores make one-hots of.
//!
//! Four cells become a selector, four bits a cell, and `prmt` with it looks four cells up in a table of eight bytes. Cells of levels 8–15 have the top bit
//! set, for which `prmt` gives the sign of the byte, here 0; a second selector with these bits flipped serves the upper eight levels.

use simt::math::{byte_permute, select_bits};

/// Selectors of four cells, four bits a cell: in the lower half those of levels 0..8, in the upper half of levels 8..16. 8 and more stands for none.
#[derive(Clone, Copy)]
pub struct Selectors(pub u32);

impl Selectors {
    /// Of four packed bytes. Of bytes above 15 the lower half counts, unless they `MAY_MISS`: 255 means none then, and others do not occur.
    #[inline(always)]
    pub fn new<const MAY_MISS: bool>(bytes: u32) -> Self {
        // Neighbouring bytes' lower halves, packed in bytes 0 and 2.
        let low = |word: u32| select_bits(0x0F0F_0F0F, word, word >> 4);
        let first = low(bytes);
        let second = if MAY_MISS {
            // A byte of 255 must not become level 15: its upper half says that it is none.
            low((bytes ^ 0x0808_0808) | (bytes >> 4 & 0x0F0F_0F0F))
        } else {
            first ^ 0x8888_8888
        };
        Self(byte_permute(first, second, 0x6420))
    }

    /// Of four packed bytes of which those of 16 levels count, as levels 0 to 15: the ones from `group` on, which is a multiple of 16 and in every byte. Others
    /// are none, but not [missing](Self::missing); 255 is. No level is above 127.
    #[inline(always)]
    pub fn of_group(bytes: u32, group: u32) -> Self {
        let own = bytes ^ group;
        // Bit 4 of a byte: set when its upper half is not 0. No carry leaves a byte.
        let other = ((own >> 4 & 0x0F0F_0F0F) + 0x0F0F_0F0F) & 0x1010_1010;
        // 8 for what is none, 9 where it is missing.
        let none = (other >> 1) | (bytes >> 7 & 0x0101_0101);
        let first = (own & 0x0F0F_0F0F & !(other - (other >> 4))) | none;
        Self::packed(first, first ^ (!other >> 1 & 0x0808_0808))
    }

    /// The lower halves of bytes side by side.
    #[inline(always)]
    fn packed(first: u32, second: u32) -> Self {
        // Neighbouring bytes' lower halves, packed in bytes 0 and 2.
        let low = |word: u32| select_bits(0x0F0F_0F0F, word, word >> 4);
        Self(byte_permute(low(first), low(second), 0x6420))
    }

    /// 8 for each cell that is [none](Self::none) and in no group either, 0 for others: four bits a cell.
    #[inline(always)]
    pub fn missing(self) -> u32 {
        self.none() & self.lower() << 3
    }

    /// The selector of levels 0..8.
    #[inline(always)]
    pub fn lower(self) -> u32 {
        self.0
    }

    /// That of levels 8..16.
    #[inline(always)]
    pub fn upper(self) -> u32 {
        self.0 >> 16
    }

    /// 8 for each cell that is none, 0 for others: four bits a cell.
    #[inline(always)]
    pub fn none(self) -> u32 {
        self.lower() & self.upper() & 0x8888
    }
}
