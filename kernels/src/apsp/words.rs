//! The packing of distances in 32-bit words, and how words are added and compared: the one difference between the kernels for 32-bit integers,
//! 16-bit integers and floating-point numbers.
//!
//! A word is one distance of 32 bits, or two of 16 that lie side by side in a row. In every case the step of the algorithm, the lesser of c
//! and a + b, is one or two instructions: on compute capability 9.0 `VIADDMNMX` for integers, two of 16 bits at a time as well.

use simt::math::{add_u16x2, min_u16x2};

/// Distances in words.
pub(super) trait Words: Copy {
    /// Distances in a word.
    const CELLS: u32;

    /// The lesser of `c` and `a + b`, distance by distance.
    fn relax(c: u32, a: u32, b: u32) -> u32;

    /// The same for one distance in a word of its own.
    fn relax_one(c: u32, a: u32, b: u32) -> u32;

    /// A distance of a word in a word to itself.
    #[inline(always)]
    fn extract(word: u32, at: u32) -> u32 {
        if Self::CELLS == 1 { word } else { word >> (16 * at) & 0xFFFF }
    }

    /// A distance, repeated to fill a word.
    #[inline(always)]
    fn broadcast(one: u32) -> u32 {
        if Self::CELLS == 1 { one } else { one * 0x0001_0001 }
    }
}

/// 32-bit integers.
#[derive(Clone, Copy)]
pub(super) struct Whole;

impl Words for Whole {
    const CELLS: u32 = 1;

    #[inline(always)]
    fn relax(c: u32, a: u32, b: u32) -> u32 {
        // ptxas fuses these two into one instruction; a comparison and a choice it would not.
        (a.cast_signed().wrapping_add(b.cast_signed())).min(c.cast_signed()).cast_unsigned()
    }

    #[inline(always)]
    fn relax_one(c: u32, a: u32, b: u32) -> u32 {
        Self::relax(c, a, b)
    }
}

/// Two unsigned 16-bit integers.
#[derive(Clone, Copy)]
pub(super) struct Halves;

impl Words for Halves {
    const CELLS: u32 = 2;

    #[inline(always)]
    fn relax(c: u32, a: u32, b: u32) -> u32 {
        min_u16x2(add_u16x2(a, b), c)
    }

    #[inline(always)]
    fn relax_one(c: u32, a: u32, b: u32) -> u32 {
        Whole::relax(c, a, b)
    }
}

/// 32-bit floating-point numbers.
#[derive(Clone, Copy)]
pub(super) struct Real;

impl Words for Real {
    const CELLS: u32 = 1;

    #[inline(always)]
    fn relax(c: u32, a: u32, b: u32) -> u32 {
        (f32::from_bits(a) + f32::from_bits(b)).min(f32::from_bits(c)).to_bits()
    }

    #[inline(always)]
    fn relax_one(c: u32, a: u32, b: u32) -> u32 {
        Self::relax(c, a, b)
    }
}
