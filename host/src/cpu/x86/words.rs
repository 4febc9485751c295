//! Sums of table entries as words: the low and the high parts apart, added in lanes of 16 bits, with a carry now and then.

use std::arch::x86_64::*;

use crate::cpu::lookup::BLOCK;

/// Sums of the low and the high words of 32 cells.
#[derive(Clone, Copy)]
pub struct Words {
    low: __m512i,
    high: __m512i,
}

impl Words {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn zero() -> Words {
        Words { low: _mm512_setzero_si512(), high: _mm512_setzero_si512() }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn add(&mut self, low: __m512i, high: __m512i) {
        self.low = _mm512_add_epi16(self.low, low);
        self.high = _mm512_add_epi16(self.high, high);
    }

    /// Moves what the low words have above `LOW` bits to the high words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn carry<const LOW: u32>(&mut self) {
        self.high = _mm512_add_epi16(self.high, _mm512_srli_epi16::<LOW>(self.low));
        self.low = _mm512_and_si512(self.low, _mm512_set1_epi16(((1u16 << LOW) - 1) as i16));
    }

    /// The sums of the 16 lower and the 16 upper words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn sums<const LOW: u32>(self) -> [__m512i; 2] {
        let wide = |half| _mm512_cvtepu16_epi32(half);
        let join = |low, high| _mm512_add_epi32(_mm512_slli_epi32::<LOW>(wide(high)), wide(low));
        [
            join(_mm512_castsi512_si256(self.low), _mm512_castsi512_si256(self.high)),
            join(_mm512_extracti64x4_epi64::<1>(self.low), _mm512_extracti64x4_epi64::<1>(self.high)),
        ]
    }
}

/// Adds four registers to (or stores them as) 64 sums.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn put(sums: &mut [u32; BLOCK], values: [__m512i; 4], first: bool) {
    for (sums, value) in sums.chunks_exact_mut(16).zip(values) {
        let to = sums.as_mut_ptr().cast::<__m512i>();
        // SAFETY: `to` points to the 16 sums of a chunk, for reading and for writing.
        unsafe {
            let old = if first { _mm512_setzero_si512() } else { _mm512_loadu_si512(to) };
            _mm512_storeu_si512(to, _mm512_add_epi32(old, value));
        }
    }
}

/// The permutations that put the even and the odd cells of a block back in order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn interleave() -> (__m512i, __m512i) {
    (
        _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
        _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31),
    )
}
