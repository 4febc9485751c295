//! F(n) by arithmetic ([`log`](crate::cpu::log)): for counts of 16 bits that are far apart, for counts of 32 bits, and for tables.

use std::arch::x86_64::*;

use super::words::{interleave, put};
use crate::cpu::log::{Log, PIECES, WITHIN};
use crate::cpu::lookup::{BLOCK, Group};
use crate::cpu::table::Tables;

/// Sums of n·e and of the rest of F(n) for 32 cells ([`log`](crate::cpu::log)), the even and the odd ones.
#[derive(Clone, Copy)]
pub struct Far {
    k: __m512i,
    cube: __m512,
    pieces: [[__m512; 2]; 3],
    /// In f32, exactly: a window has fewer than 2^16 cells, and e is below 16.
    exponents: [__m512; 2],
    rests: [__m512i; 2],
}

impl Far {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn of(tables: &Tables<u32>) -> Far {
        // Without arithmetic the table is that of a window of at most 63 cells: its first 64 entries are all there are.
        Far::of_log(tables.log.as_ref().unwrap_or(&Log::NOTHING))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn of_log(log: &Log) -> Far {
        // SAFETY: 16 coefficients from 0 and from 16 of 32.
        let load = |c: &[f32; PIECES]| unsafe { [_mm512_loadu_ps(c.as_ptr()), _mm512_loadu_ps(c.as_ptr().add(16))] };
        let [c0, c1, c2] = &log.coefficients;
        Far {
            k: _mm512_set1_epi32(log.k as i32),
            cube: _mm512_set1_ps(log.cube),
            pieces: [load(c0), load(c1), load(c2)],
            exponents: [_mm512_setzero_ps(); 2],
            rests: [_mm512_setzero_si512(); 2],
        }
    }

    /// Adds F(n) for 32 counts, as [`Log::entry`] computes it.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn add(&mut self, n: __m512i) {
        // F(0) = F(1) = 0.
        let n = _mm512_max_epu16(n, _mm512_set1_epi16(1));
        let parted = [_mm512_and_si512(n, _mm512_set1_epi32(0xffff)), _mm512_srli_epi32::<16>(n)];
        for (i, n) in parted.into_iter().enumerate() {
            let n = _mm512_cvtepi32_ps(n);
            self.exponents[i] = _mm512_fmadd_ps(n, _mm512_getexp_ps(n), self.exponents[i]);
            self.rests[i] = _mm512_add_epi32(self.rests[i], self.rest(n));
        }
    }

    /// What F(n) has besides the exponent's part, for 16 counts.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn rest(&self, n: __m512) -> __m512i {
        let bits = _mm512_castps_si512(n);
        let piece = _mm512_srli_epi32::<WITHIN>(bits);
        let [c0, c1, c2] = self.pieces.map(
            #[inline(always)]
            |[low, high]| _mm512_permutex2var_ps(low, piece, high),
        );
        // Those of 1, or (bits and the lowest).
        let t = _mm512_castsi512_ps(_mm512_ternarylogic_epi32::<0b1111_1000>(
            _mm512_set1_epi32(1f32.to_bits() as i32),
            bits,
            _mm512_set1_epi32((1 << WITHIN) - 1),
        ));
        let p = _mm512_fmadd_ps(_mm512_fmadd_ps(_mm512_fmadd_ps(self.cube, t, c2), t, c1), t, c0);
        // To the nearest, ties to even: the process keeps the default rounding mode.
        _mm512_cvt_roundps_epi32::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(_mm512_mul_ps(n, p))
    }

    /// The sums of the 16 lower and the 16 upper cells.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn sums(self) -> [__m512i; 2] {
        let sum = |exponents, rest| _mm512_add_epi32(_mm512_mullo_epi32(_mm512_cvtps_epi32(exponents), self.k), rest);
        let (even, odd) = (sum(self.exponents[0], self.rests[0]), sum(self.exponents[1], self.rests[1]));
        let (left, right) = interleave();
        [_mm512_permutex2var_epi32(even, left, odd), _mm512_permutex2var_epi32(even, right, odd)]
    }
}

/// Sums of F(n) for 16 counts of 32 bits.
#[derive(Clone, Copy)]
pub struct Wide {
    by: Far,
    /// Σ n·e, as an integer: for an f32 it may be too large.
    exponents: __m512i,
    rests: __m512i,
}

impl Wide {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn of(log: &Log) -> Wide {
        Wide { by: Far::of_log(log), exponents: _mm512_setzero_si512(), rests: _mm512_setzero_si512() }
    }

    /// Adds F(n), as [`Log::entry`] computes it. For 0 all products are 0.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn add(&mut self, n: __m512i) {
        let real = _mm512_cvtepi32_ps(n);
        let biased = _mm512_srli_epi32::<{ f32::MANTISSA_DIGITS - 1 }>(_mm512_castps_si512(real));
        let exponent = _mm512_sub_epi32(biased, _mm512_set1_epi32(f32::MAX_EXP - 1));
        self.exponents = _mm512_add_epi32(self.exponents, _mm512_mullo_epi32(n, exponent));
        self.rests = _mm512_add_epi32(self.rests, self.by.rest(real));
    }

    /// The sums, modulo 2^32.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn sums(self) -> __m512i {
        _mm512_add_epi32(_mm512_mullo_epi32(self.exponents, self.by.k), self.rests)
    }
}

/// F(n) from n = `first` on, the bits that `mask` has.
#[target_feature(enable = "avx512f,avx512bw")]
pub fn entries_avx512(log: &Log, first: u32, mask: u32, entries: &mut [u32]) {
    let nothing = Wide::of(log);
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (entries, n) in entries.chunks_mut(16).zip((first..).step_by(16)) {
        let mut sums = nothing;
        sums.add(_mm512_add_epi32(_mm512_set1_epi32(n as i32), lanes));
        let values = _mm512_and_si512(sums.sums(), _mm512_set1_epi32(mask as i32));
        let there = ((1u32 << entries.len()) - 1) as __mmask16;
        // SAFETY: only as many are written as there are.
        unsafe { _mm512_mask_storeu_epi32(entries.as_mut_ptr().cast(), there, values) };
    }
}

/// 32-bit counts, by arithmetic: those of neighbouring cells are too far apart for a stretch of the table. How many of them are not 0 is added to
/// `classes`, where they are asked for.
///
/// # Safety
/// `counts` must hold `(group.levels - 1) * group.stride + sums.len()` values, and the length of
/// `sums` must be a multiple of [`BLOCK`].
#[target_feature(enable = "avx512f,avx512bw")]
pub unsafe fn wide_avx512(
    counts: &[u32],
    group: Group<'_>,
    tables: &Tables<u32>,
    sums: &mut [u32],
    classes: Option<&mut [u32]>,
) {
    // SAFETY: passed on.
    unsafe {
        match classes {
            None => wide_counts::<false>(counts, group, tables, sums, &mut []),
            Some(classes) => wide_counts::<true>(counts, group, tables, sums, classes),
        }
    }
}

/// [`wide_avx512`] with or without classes.
///
/// # Safety
/// As there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn wide_counts<const CLASSES: bool>(
    counts: &[u32],
    group: Group<'_>,
    tables: &Tables<u32>,
    sums: &mut [u32],
    classes: &mut [u32],
) {
    let nothing = Wide::of(tables.log.as_ref().unwrap_or(&Log::NOTHING));
    let one = _mm512_set1_epi32(1);
    for (b, sums) in sums.chunks_exact_mut(BLOCK).enumerate() {
        let (mut values, mut present) = ([_mm512_setzero_si512(); 4], [_mm512_setzero_si512(); 4]);
        for (quarter, (value, present)) in values.iter_mut().zip(&mut present).enumerate() {
            let mut these = nothing;
            for g in 0..group.levels {
                let at = g * group.stride + b * BLOCK + quarter * 16;
                // SAFETY: the caller says that every level has as many counts as there are sums.
                let n = unsafe { _mm512_loadu_si512(counts.as_ptr().add(at).cast()) };
                these.add(n);
                if CLASSES {
                    *present = _mm512_add_epi32(*present, _mm512_min_epu32(n, one));
                }
            }
            *value = these.sums();
        }
        put(sums.try_into().expect("a block of sums"), values, group.first);
        if CLASSES {
            put((&mut classes[b * BLOCK..][..BLOCK]).try_into().expect("a block of classes"), present, group.first);
        }
    }
}
