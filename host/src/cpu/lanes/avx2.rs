//! [`Lanes`] by AVX2, and what is made of them.

use std::arch::x86_64::*;

use super::{Lanes, changes, lookups};
use crate::cpu::count::Count;
use crate::cpu::lookup::Group;
use crate::cpu::table::Tables;

/// A register: exists only where there is AVX2.
#[derive(Clone, Copy)]
struct Register(__m256i);

/// Wraps instructions whose only condition is AVX2, which a register proves.
macro_rules! register {
    ($value:expr) => {
        // SAFETY: there is a register, so there is AVX2.
        Register(unsafe { $value })
    };
}

impl Lanes for Register {
    /// How far the bytes lie behind the start of each quarter of the table, with the highest bit set where they are not in it: `vpshufb`
    /// gives zero for those.
    type Index = [Self; 4];

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller says that there is AVX2.
        Self(unsafe { _mm256_setzero_si256() })
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller says that there is AVX2, and 32 bytes.
        Self(unsafe { _mm256_loadu_si256(from.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller says that there are 32 bytes.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }
    #[inline(always)]
    fn add16(self, other: Self) -> Self {
        register!(_mm256_add_epi16(self.0, other.0))
    }
    #[inline(always)]
    fn sub16(self, other: Self) -> Self {
        register!(_mm256_sub_epi16(self.0, other.0))
    }
    #[inline(always)]
    fn add32(self, other: Self) -> Self {
        register!(_mm256_add_epi32(self.0, other.0))
    }
    #[inline(always)]
    fn sub16_all(self, word: u16) -> Self {
        register!(_mm256_sub_epi16(self.0, _mm256_set1_epi16(word as i16)))
    }
    #[inline(always)]
    fn shift_right16(self, bits: u32) -> Self {
        register!(_mm256_srl_epi16(self.0, _mm_cvtsi32_si128(bits as i32)))
    }
    #[inline(always)]
    fn shift_left32(self, bits: u32) -> Self {
        register!(_mm256_sll_epi32(self.0, _mm_cvtsi32_si128(bits as i32)))
    }
    #[inline(always)]
    fn low_bits16(self, bits: u32) -> Self {
        register!(_mm256_and_si256(self.0, _mm256_set1_epi16(((1u32 << bits) - 1) as i16)))
    }
    #[inline(always)]
    fn zip8(self, other: Self) -> [Self; 2] {
        [register!(_mm256_unpacklo_epi8(self.0, other.0)), register!(_mm256_unpackhi_epi8(self.0, other.0))]
    }
    #[inline(always)]
    fn zip16(self, other: Self) -> [Self; 2] {
        [register!(_mm256_unpacklo_epi16(self.0, other.0)), register!(_mm256_unpackhi_epi16(self.0, other.0))]
    }
    #[inline(always)]
    fn zip32(self, other: Self) -> [Self; 2] {
        [register!(_mm256_unpacklo_epi32(self.0, other.0)), register!(_mm256_unpackhi_epi32(self.0, other.0))]
    }
    #[inline(always)]
    fn zip64(self, other: Self) -> [Self; 2] {
        [register!(_mm256_unpacklo_epi64(self.0, other.0)), register!(_mm256_unpackhi_epi64(self.0, other.0))]
    }
    #[inline(always)]
    fn lanes(self, other: Self) -> [Self; 2] {
        [
            register!(_mm256_permute2x128_si256::<0x20>(self.0, other.0)),
            register!(_mm256_permute2x128_si256::<0x31>(self.0, other.0)),
        ]
    }
    #[inline(always)]
    fn widen(self) -> [Self; 2] {
        [
            register!(_mm256_cvtepi16_epi32(_mm256_castsi256_si128(self.0))),
            register!(_mm256_cvtepi16_epi32(_mm256_extracti128_si256::<1>(self.0))),
        ]
    }
    #[inline(always)]
    fn below_64(self) -> bool {
        // SAFETY: there is a register, so there is AVX2.
        unsafe { _mm256_testz_si256(self.0, _mm256_set1_epi16(!63)) == 1 }
    }
    #[inline(always)]
    fn narrow(self, other: Self) -> Self {
        register!(_mm256_packus_epi16(self.0, other.0))
    }
    #[inline(always)]
    fn index(self) -> Self::Index {
        [self.behind(0), self.behind(16), self.behind(32), self.behind(48)]
    }
    #[inline(always)]
    unsafe fn look_up(table: *const u8, index: Self::Index) -> Self {
        let [a, b, c, d] = index;
        // SAFETY: the caller says that there are 64 bytes.
        let (a, b) = unsafe { (a.in_16(table), b.in_16(table.add(16))) };
        // SAFETY: as above.
        let (c, d) = unsafe { (c.in_16(table.add(32)), d.in_16(table.add(48))) };
        register!(_mm256_or_si256(_mm256_or_si256(a.0, b.0), _mm256_or_si256(c.0, d.0)))
    }
}

impl Register {
    /// How far bytes below 64 lie behind `start`: with the highest bit set where that is before it, or by 16 and more.
    #[inline(always)]
    fn behind(self, start: i8) -> Self {
        register!(_mm256_adds_epu8(_mm256_sub_epi8(self.0, _mm256_set1_epi8(start)), _mm256_set1_epi8(0x70)))
    }

    /// The bytes of a table that lie so far behind its start, zero where the highest bit is set.
    ///
    /// # Safety
    /// 16 bytes must be readable there.
    #[inline(always)]
    unsafe fn in_16(self, table: *const u8) -> Self {
        // SAFETY: the caller says so.
        register!(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(table.cast())), self.0))
    }
}

/// [`lookups::small`].
///
/// # Safety
/// As there.
#[target_feature(enable = "avx2")]
pub unsafe fn small(counts: &[u8], group: Group<'_>, tables: &Tables<u32>, sums: &mut [u32]) {
    // SAFETY: passed on.
    unsafe { lookups::small::<Register>(counts, group, tables, sums) }
}

/// [`lookups::large`].
///
/// # Safety
/// As there.
#[target_feature(enable = "avx2")]
pub unsafe fn large(counts: &[u16], group: Group<'_>, tables: &Tables<u32>, sums: &mut [u32]) {
    // SAFETY: passed on.
    unsafe { lookups::large::<Register>(counts, group, tables, sums) }
}

/// [`changes::add`].
///
/// # Safety
/// As there.
#[target_feature(enable = "avx2")]
pub unsafe fn add_changes<C: Count>(counts: &mut [C], stride: usize, offsets: &[u16], size: usize) {
    // SAFETY: passed on.
    unsafe { changes::add::<Register, C>(counts, stride, offsets, size) }
}
