//! Vectors of x86-64. All have the minimum as one instruction: unsigned for 16 bits, where the sum of two that are unreachable has all
//! of them.

use std::arch::x86_64::*;

use super::vector::Vector;

macro_rules! vectors {
    ($($name:ident: $lanes:literal $cell:ty as $register:ty,
        $load:ident, $store:ident, $splat:expr, $plus:ident, $nearer:ident;)*) => {$(
        #[derive(Clone, Copy)]
        pub struct $name($register);

        // The functions take the instruction set of the function that they are inlined into.
        impl Vector for $name {
            type Cell = $cell;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn load(from: *const $cell) -> Self {
                // SAFETY: the caller says that there are as many cells, and the instructions.
                Self(unsafe { $load(from.cast()) })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $cell) {
                // SAFETY: as above.
                unsafe { $store(to.cast(), self.0) }
            }

            #[inline(always)]
            unsafe fn splat(word: u32) -> Self {
                // SAFETY: the caller says that there are the instructions.
                Self(unsafe { $splat(word) })
            }

            #[inline(always)]
            unsafe fn plus(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $plus(self.0, other.0) })
            }

            #[inline(always)]
            unsafe fn nearer(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $nearer(self.0, other.0) })
            }
        }
    )*};
}
vectors! {
    I32x8: 8 i32 as __m256i, _mm256_loadu_si256, _mm256_storeu_si256, |w| _mm256_set1_epi32(w as i32),
        _mm256_add_epi32, _mm256_min_epi32;
    U16x16: 16 u16 as __m256i, _mm256_loadu_si256, _mm256_storeu_si256, |w| _mm256_set1_epi32(w as i32),
        _mm256_add_epi16, _mm256_min_epu16;
    F32x8: 8 f32 as __m256, _mm256_loadu_ps, _mm256_storeu_ps, |w| _mm256_set1_ps(f32::from_bits(w)),
        _mm256_add_ps, _mm256_min_ps;
    I32x16: 16 i32 as __m512i, _mm512_loadu_si512, _mm512_storeu_si512, |w| _mm512_set1_epi32(w as i32),
        _mm512_add_epi32, _mm512_min_epi32;
    U16x32: 32 u16 as __m512i, _mm512_loadu_si512, _mm512_storeu_si512, |w| _mm512_set1_epi32(w as i32),
        _mm512_add_epi16, _mm512_min_epu16;
    F32x16: 16 f32 as __m512, _mm512_loadu_ps, _mm512_storeu_ps, |w| _mm512_set1_ps(f32::from_bits(w)),
        _mm512_add_ps, _mm512_min_ps;
}
