//! Counts of 16 bits: the 64 entries of the table around two of 32 cells, and arithmetic where the others' counts lie beyond.

use std::arch::x86_64::*;

use super::arithmetic::Far;
use super::words::{Words, put};
use crate::cpu::lookup::{ANCHORS, BLOCK, Group, ROUGH, stretch_around};
use crate::cpu::table::{Tables, flush_after};

/// 16-bit counts, lookups in the stretch of the table around one of them. How many of them are not 0 is added to `classes`, where they are
/// asked for.
///
/// # Safety
/// `counts` must hold `(group.levels - 1) * group.stride + sums.len()` values, and the length of
/// `sums` must be a multiple of [`BLOCK`].
#[target_feature(enable = "avx512f,avx512bw")]
pub unsafe fn large_avx512(
    counts: &[u16],
    group: Group<'_>,
    tables: &Tables<u32>,
    sums: &mut [u32],
    classes: Option<&mut [u32]>,
) {
    // SAFETY: passed on.
    unsafe {
        match (tables.low_bits, classes) {
            (12, None) => large_words::<12, false>(counts, group, tables, sums, &mut []),
            (13, None) => large_words::<13, false>(counts, group, tables, sums, &mut []),
            (14, None) => large_words::<14, false>(counts, group, tables, sums, &mut []),
            (15, None) => large_words::<15, false>(counts, group, tables, sums, &mut []),
            (12, Some(classes)) => large_words::<12, true>(counts, group, tables, sums, classes),
            (13, Some(classes)) => large_words::<13, true>(counts, group, tables, sums, classes),
            (14, Some(classes)) => large_words::<14, true>(counts, group, tables, sums, classes),
            (15, Some(classes)) => large_words::<15, true>(counts, group, tables, sums, classes),
            (bits, _) => unreachable!("{bits} low bits"),
        }
    }
}

/// A table as words, of which 64 that follow each other are looked up in registers.
#[derive(Clone, Copy)]
pub struct Stretches<'a> {
    low: &'a [u16],
    high: &'a [u16],
    /// Entries of both.
    entries: usize,
    /// Whether the first 64 are all that there are.
    short: bool,
}

impl<'a> Stretches<'a> {
    /// Those of F(n).
    #[inline]
    pub fn of(tables: &'a Tables<u32>) -> Self {
        let (low, high) = (&*tables.low, &*tables.high);
        Self { low, high, entries: low.len().min(high.len()), short: tables.log.is_none() }
    }

    /// The words for 32 counts, if all are in the stretch around two of them.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn look_up(&self, n: __m512i, left: u16, right: u16) -> Option<(__m512i, __m512i)> {
        let base = stretch_around(left, right, self.short);
        let index = _mm512_sub_epi16(n, _mm512_set1_epi16(base as i16));
        let near = _mm512_cmplt_epu16_mask(index, _mm512_set1_epi16(64));
        if near != !0 || base + 64 > self.entries {
            return None;
        }
        let load = |table: &[u16], at: usize| {
            // SAFETY: both tables have at least base + 64 entries, and `at` is `base` or `base + 32`.
            unsafe { _mm512_loadu_si512(table.as_ptr().add(at).cast()) }
        };
        Some((
            _mm512_permutex2var_epi16(load(self.low, base), index, load(self.low, base + 32)),
            _mm512_permutex2var_epi16(load(self.high, base), index, load(self.high, base + 32)),
        ))
    }
}

/// [`large_avx512`] for one width of the low words, with or without classes.
///
/// # Safety
/// As there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn large_words<const LOW: u32, const CLASSES: bool>(
    counts: &[u16],
    group: Group<'_>,
    tables: &Tables<u32>,
    sums: &mut [u32],
    classes: &mut [u32],
) {
    let one = _mm512_set1_epi16(1);
    let (stretches, nothing) = (Stretches::of(tables), Far::of(tables));
    let mut rough = 0;
    for (b, sums) in sums.chunks_exact_mut(BLOCK).enumerate() {
        let mut values = [_mm512_setzero_si512(); 4];
        let mut present = [_mm512_setzero_si512(); 2];
        for half in 0..2 {
            let mut words = Words::zero();
            let mut far = nothing;
            if rough > 0 {
                rough -= 1;
                for g in 0..group.levels {
                    let at = g * group.stride + b * BLOCK + half * 32;
                    // SAFETY: the caller says that every level has as many counts as there are sums.
                    let n = unsafe { _mm512_loadu_si512(counts.as_ptr().add(at).cast()) };
                    if CLASSES {
                        present[half] = _mm512_add_epi16(present[half], _mm512_min_epu16(n, one));
                    }
                    far.add(n);
                }
                let far = far.sums();
                (values[2 * half], values[2 * half + 1]) = (far[0], far[1]);
                continue;
            }
            let mut spread = 0;
            let mut g = 0;
            while g < group.levels {
                let end = group.levels.min(g + flush_after(LOW));
                while g < end {
                    let at = g * group.stride + b * BLOCK + half * 32;
                    g += 1;
                    // SAFETY: the caller says that every level has as many counts as there are sums.
                    let n = unsafe { _mm512_loadu_si512(counts.as_ptr().add(at).cast()) };
                    if CLASSES {
                        present[half] = _mm512_add_epi16(present[half], _mm512_min_epu16(n, one));
                    }
                    // SAFETY: as above.
                    let left = unsafe { *counts.get_unchecked(at + ANCHORS[0]) };
                    // SAFETY: as above.
                    let right = unsafe { *counts.get_unchecked(at + ANCHORS[1]) };
                    match stretches.look_up(n, left, right) {
                        Some((low, high)) => words.add(low, high),
                        None => {
                            far.add(n);
                            spread += 1;
                        }
                    }
                }
                words.carry::<LOW>();
            }
            if 4 * spread >= group.levels {
                rough = ROUGH;
            }
            let (near, far) = (words.sums::<LOW>(), far.sums());
            values[2 * half] = _mm512_add_epi32(near[0], far[0]);
            values[2 * half + 1] = _mm512_add_epi32(near[1], far[1]);
        }
        put(sums.try_into().expect("a block of sums"), values, group.first);
        if CLASSES {
            let [left, right] = present;
            let values = [
                _mm512_cvtepu16_epi32(_mm512_castsi512_si256(left)),
                _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64::<1>(left)),
                _mm512_cvtepu16_epi32(_mm512_castsi512_si256(right)),
                _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64::<1>(right)),
            ];
            put((&mut classes[b * BLOCK..][..BLOCK]).try_into().expect("a block of classes"), values, group.first);
        }
    }
}
