//! Vectors of distances for the body of the product (`tile`): five operations for any width.

use bytemuck::Pod;

/// A register of distances.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "there are vectors on x86-64 only"))]
pub trait Vector: Copy {
    /// The type of its lanes.
    type Cell: Pod;
    /// The number of its lanes.
    const LANES: usize;

    /// The cells at `from`.
    ///
    /// # Safety
    /// The machine has the instructions, and `from` points to as many cells. It need not be aligned.
    unsafe fn load(from: *const Self::Cell) -> Self;

    /// Stores the cells at `to`.
    ///
    /// # Safety
    /// As [`load`](Self::load), for writing.
    unsafe fn store(self, to: *mut Self::Cell);

    /// A [replicated](Lanes::replicate) cell in all lanes.
    ///
    /// # Safety
    /// The machine has the instructions.
    unsafe fn splat(word: u32) -> Self;

    /// Lane by lane, the sum of two distances.
    ///
    /// # Safety
    /// The machine has the instructions.
    unsafe fn plus(self, other: Self) -> Self;

    /// Lane by lane, the lesser.
    ///
    /// # Safety
    /// The machine has the instructions.
    unsafe fn nearer(self, other: Self) -> Self;
}

/// The vectors of a distance. This seals [`Distance`](crate::apsp::Distance): engines know no other.
pub trait Lanes: Sized {
    /// 32 bytes of them.
    #[cfg(target_arch = "x86_64")]
    type Avx2: Vector<Cell = Self>;
    /// 64 bytes of them.
    #[cfg(target_arch = "x86_64")]
    type Avx512: Vector<Cell = Self>;

    /// The cell, as often as 32 bits hold it: to be loaded into all lanes at once. (The broadcast load of 16 bits takes a slot among
    /// the additions.)
    fn replicate(self) -> u32;

    /// The cell of a replicated word.
    fn first_lane(word: u32) -> Self;
}

macro_rules! lanes {
    ($($t:ty: $avx2:ident, $avx512:ident, $replicate:expr, $first:expr;)*) => {$(
        impl Lanes for $t {
            #[cfg(target_arch = "x86_64")]
            type Avx2 = super::x86::$avx2;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = super::x86::$avx512;

            #[inline(always)]
            fn replicate(self) -> u32 {
                $replicate(self)
            }

            #[inline(always)]
            fn first_lane(word: u32) -> Self {
                $first(word)
            }
        }
    )*};
}
lanes! {
    i32: I32x8, I32x16, |cell| cell as u32, |word| word as i32;
    u16: U16x16, U16x32, |cell| u32::from(cell) * 0x1_0001, |word| word as u16;
    f32: F32x8, F32x16, f32::to_bits, f32::from_bits;
}
