//! The types of memory elements and of shuffled values.

use crate::backend;

/// A number that global and shared memory can hold: 8 to 64 bits, integer or floating.
///
/// Implemented for `u8 i8 u16 i16 u32 i32 u64 i64 f32 f64`; closed to others, because each needs
/// its own load and store instruction.
pub trait Scalar: Copy + PartialEq + Send + Sync + 'static + backend::Access {}

macro_rules! scalars {
    ($($t:ty)*) => {$( impl Scalar for $t {} )*};
}
scalars!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// A 32-bit number that vector accesses move four of at a time.
pub trait Word: Scalar + backend::AccessWord {}
impl Word for u32 {}
impl Word for i32 {}
impl Word for f32 {}

/// A value that a warp shuffle moves: one 32-bit word, or two.
pub trait Shuffle: Copy {
    /// `[u32; 1]` or `[u32; 2]`.
    type Words: AsMut<[u32]>;
    /// The value's bits, low word first.
    fn to_words(self) -> Self::Words;
    /// The value that has these bits.
    fn from_words(words: Self::Words) -> Self;
}

macro_rules! shuffle_words {
    ($($t:ty: $to:expr, $from:expr;)*) => {$(
        impl Shuffle for $t {
            type Words = [u32; 1];
            #[inline(always)]
            fn to_words(self) -> [u32; 1] {
                [$to(self)]
            }
            #[inline(always)]
            fn from_words([word]: [u32; 1]) -> Self {
                $from(word)
            }
        }
    )*};
}
shuffle_words! {
    u32: core::convert::identity, core::convert::identity;
    i32: i32::cast_unsigned, u32::cast_signed;
    f32: f32::to_bits, f32::from_bits;
}

macro_rules! shuffle_pairs {
    ($($t:ty: $to:expr, $from:expr;)*) => {$(
        impl Shuffle for $t {
            type Words = [u32; 2];
            #[inline(always)]
            fn to_words(self) -> [u32; 2] {
                let bits: u64 = $to(self);
                [bits as u32, (bits >> 32) as u32]
            }
            #[inline(always)]
            fn from_words([low, high]: [u32; 2]) -> Self {
                $from(u64::from(low) | u64::from(high) << 32)
            }
        }
    )*};
}
shuffle_pairs! {
    u64: core::convert::identity, core::convert::identity;
    i64: i64::cast_unsigned, u64::cast_signed;
    f64: f64::to_bits, f64::from_bits;
}
