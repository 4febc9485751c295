//! Counts of 8 bits: windows of at most 63 cells have 64 entries, which sit in registers.

use std::arch::x86_64::*;

use super::words::{Words, interleave, put};
use crate::cpu::lookup::{BLOCK, Group};
use crate::cpu::table::{LIMB, LIMBS, Tables, flush_after};

/// Byte-sized counts, all lookups in registers. How many of them are not 0 is added to `classes`, where they are asked for.
///
/// # Safety
/// `counts` must hold `(group.levels - 1) * group.stride + sums.len()` values, and the length of
/// `sums` must be a multiple of [`BLOCK`].
#[target_feature(enable = "avx512f,avx512bw")]
pub unsafe fn small_avx512(
    counts: &[u8],
    group: Group<'_>,
    tables: &Tables<u32>,
    sums: &mut [u32],
    classes: Option<&mut [u32]>,
) {
    // SAFETY: passed on.
    unsafe {
        match (tables.low_bits, tables.largest <= 31, classes) {
            (12, true, None) => small_words::<12, true, false>(counts, group, tables, sums, &mut []),
            (12, false, None) => small_words::<12, false, false>(counts, group, tables, sums, &mut []),
            (12, true, Some(classes)) => small_words::<12, true, true>(counts, group, tables, sums, classes),
            (12, false, Some(classes)) => small_words::<12, false, true>(counts, group, tables, sums, classes),
            (bits, ..) => unreachable!("{bits} bits for windows of at most 63 cells"),
        }
    }
}

/// [`small_avx512`] for one width of the low words, for tables of one or two registers, with or without classes.
///
/// # Safety
/// As there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn small_words<const LOW: u32, const SHORT: bool, const CLASSES: bool>(
    counts: &[u8],
    group: Group<'_>,
    tables: &Tables<u32>,
    sums: &mut [u32],
    classes: &mut [u32],
) {
    let load = |table: &[u16], at: usize| {
        let part: &[u16; 32] = table[at..][..32].try_into().expect("32 entries");
        // SAFETY: `part` is 64 readable bytes.
        unsafe { _mm512_loadu_si512(part.as_ptr().cast()) }
    };
    let (low0, high0) = (load(&tables.low, 0), load(&tables.high, 0));
    let (low1, high1) = (load(&tables.low, 32), load(&tables.high, 32));
    // A word's bits above the index are ignored: the upper byte of a word need not be cleared.
    let look = |n: __m512i| {
        if SHORT {
            (_mm512_permutexvar_epi16(n, low0), _mm512_permutexvar_epi16(n, high0))
        } else {
            (_mm512_permutex2var_epi16(low0, n, low1), _mm512_permutex2var_epi16(high0, n, high1))
        }
    };
    let (left, right) = interleave();
    for (b, sums) in sums.chunks_exact_mut(BLOCK).enumerate() {
        let (mut even, mut odd) = (Words::zero(), Words::zero());
        let mut present = _mm512_setzero_si512();
        let mut g = 0;
        while g < group.levels {
            let end = group.levels.min(g + flush_after(LOW));
            while g < end {
                // SAFETY: the caller says that every level has as many counts as there are sums.
                let n = unsafe { _mm512_loadu_si512(counts.as_ptr().add(g * group.stride + b * BLOCK).cast()) };
                let (low, high) = look(n);
                even.add(low, high);
                let (low, high) = look(_mm512_srli_epi16::<8>(n));
                odd.add(low, high);
                if CLASSES {
                    present = _mm512_add_epi8(present, _mm512_min_epu8(n, _mm512_set1_epi8(1)));
                }
                g += 1;
            }
            even.carry::<LOW>();
            odd.carry::<LOW>();
        }
        let ([e0, e1], [o0, o1]) = (even.sums::<LOW>(), odd.sums::<LOW>());
        let values = [
            _mm512_permutex2var_epi32(e0, left, o0),
            _mm512_permutex2var_epi32(e0, right, o0),
            _mm512_permutex2var_epi32(e1, left, o1),
            _mm512_permutex2var_epi32(e1, right, o1),
        ];
        put(sums.try_into().expect("a block of sums"), values, group.first);
        if CLASSES {
            let values = [
                _mm512_cvtepu8_epi32(_mm512_castsi512_si128(present)),
                _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<1>(present)),
                _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<2>(present)),
                _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<3>(present)),
            ];
            put((&mut classes[b * BLOCK..][..BLOCK]).try_into().expect("a block of classes"), values, group.first);
        }
    }
}

/// [`small_avx512`] for 64-bit sums: an entry is six limbs, and none of their sums over a group needs a carry.
///
/// # Safety
/// As of [`small_avx512`].
#[target_feature(enable = "avx512f,avx512bw")]
pub unsafe fn small64_avx512(counts: &[u8], group: Group<'_>, tables: &Tables<u64>, sums: &mut [u64]) {
    // SAFETY: passed on.
    unsafe {
        match tables.largest <= 31 {
            true => small_limbs::<true>(counts, group, tables, sums),
            false => small_limbs::<false>(counts, group, tables, sums),
        }
    }
}

/// [`small64_avx512`] for tables of one or two registers a limb.
///
/// # Safety
/// As there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn small_limbs<const SHORT: bool>(counts: &[u8], group: Group<'_>, tables: &Tables<u64>, sums: &mut [u64]) {
    let limbs = tables.limbs.as_ref().expect("byte-sized counts come with a table in limbs");
    // SAFETY: 64 entries of 16 bits.
    let load = |limb: usize, at: usize| unsafe { _mm512_loadu_si512(limbs[limb].as_ptr().add(at).cast()) };
    let (mut lower, mut upper) = ([_mm512_setzero_si512(); LIMBS], [_mm512_setzero_si512(); LIMBS]);
    for limb in 0..LIMBS {
        (lower[limb], upper[limb]) = (load(limb, 0), load(limb, 32));
    }
    let (left, right) = interleave();
    for (b, sums) in sums.chunks_exact_mut(BLOCK).enumerate() {
        // The even and the odd cells.
        let mut words = [[_mm512_setzero_si512(); LIMBS]; 2];
        for g in 0..group.levels {
            // SAFETY: the caller says that every level has as many counts as there are sums.
            let n = unsafe { _mm512_loadu_si512(counts.as_ptr().add(g * group.stride + b * BLOCK).cast()) };
            for (words, n) in words.iter_mut().zip([n, _mm512_srli_epi16::<8>(n)]) {
                for limb in 0..LIMBS {
                    let entry = if SHORT {
                        _mm512_permutexvar_epi16(n, lower[limb])
                    } else {
                        _mm512_permutex2var_epi16(lower[limb], n, upper[limb])
                    };
                    words[limb] = _mm512_add_epi16(words[limb], entry);
                }
            }
        }
        // Two limbs as one of 32 bits: 16 cells a register, the even and the odd of the lower half, then of the upper.
        let joined = |words: &[__m512i; LIMBS], pair: usize| {
            let (low, high) = (words[2 * pair], words[2 * pair + 1]);
            let join = |low, high| {
                let high = _mm512_slli_epi32::<LIMB>(_mm512_cvtepu16_epi32(high));
                _mm512_add_epi32(_mm512_cvtepu16_epi32(low), high)
            };
            [
                join(_mm512_castsi512_si256(low), _mm512_castsi512_si256(high)),
                join(_mm512_extracti64x4_epi64::<1>(low), _mm512_extracti64x4_epi64::<1>(high)),
            ]
        };
        let mut pairs = [[_mm512_setzero_si512(); 4]; LIMBS / 2];
        for (pair, quarters) in pairs.iter_mut().enumerate() {
            let ([e0, e1], [o0, o1]) = (joined(&words[0], pair), joined(&words[1], pair));
            *quarters = [
                _mm512_permutex2var_epi32(e0, left, o0),
                _mm512_permutex2var_epi32(e0, right, o0),
                _mm512_permutex2var_epi32(e1, left, o1),
                _mm512_permutex2var_epi32(e1, right, o1),
            ];
        }
        for (quarter, sums) in sums.chunks_exact_mut(16).enumerate() {
            let half = |register, upper: bool| match upper {
                false => _mm512_castsi512_si256(register),
                true => _mm512_extracti64x4_epi64::<1>(register),
            };
            for (upper, sums) in [false, true].into_iter().zip(sums.chunks_exact_mut(8)) {
                let wide = |pair: usize| _mm512_cvtepu32_epi64(half(pairs[pair][quarter], upper));
                let value = _mm512_add_epi64(
                    _mm512_add_epi64(wide(0), _mm512_slli_epi64::<{ 2 * LIMB }>(wide(1))),
                    _mm512_slli_epi64::<{ 4 * LIMB }>(wide(2)),
                );
                let to = sums.as_mut_ptr().cast::<__m512i>();
                // SAFETY: `to` points to the 8 sums of a chunk, for reading and for writing.
                unsafe {
                    let old = if group.first { _mm512_setzero_si512() } else { _mm512_loadu_si512(to) };
                    _mm512_storeu_si512(to, _mm512_add_epi64(old, value));
                }
            }
        }
    }
}
