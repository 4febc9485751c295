//! Table lookups with the vector units of x86-64.
//!
//! AVX-512 can look 64 entries of 16 bits up inside two registers (`vpermi2w`), 32 at a time, many
//! times faster than from memory. A 31-bit entry is two such words, and the low words have so few
//! bits that several can be added before a carry must be moved ([`flush_after`]).
//!
//! - Windows of at most 63 cells: the whole table sits in four registers.
//! - Larger windows, and small ones whose counts have 16 bits: neighbouring cells have neighbouring counts, so the 64 entries between *two* cells'
//!   counts often serve all 32 cells; they are loaded from the table at that place. Where the counts
//!   spread further, arithmetic gives the same integers ([`super::log`]).
//! - Counts of 32 bits: arithmetic alone.

use std::arch::x86_64::*;

use super::log::{Log, PIECES, WITHIN};
use super::lookup::{BLOCK, Group};
use super::table::{LIMB, LIMBS, Tables};

/// How many low parts 16-bit lanes can add, on top of what a carry leaves there. (The first 16 of 12
/// bits find nothing there yet.)
const fn flush_after(low_bits: u32) -> usize {
    match low_bits {
        12 => 16,
        13 => 7,
        14 => 3,
        _ => 1,
    }
}

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
fn put(sums: &mut [u32; BLOCK], values: [__m512i; 4], first: bool) {
    for (sums, value) in sums.chunks_exact_mut(16).zip(values) {
        let to = sums.as_mut_ptr().cast::<__m512i>();
        // SAFETY: `to` points to the 16 sums of a chunk, for reading and for writing.
        unsafe {
            let old = if first { _mm512_setzero_si512() } else { _mm512_loadu_si512(to) };
            _mm512_storeu_si512(to, _mm512_add_epi32(old, value));
        }
    }
}

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

/// The permutations that put the even and the odd cells of a block back in order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn interleave() -> (__m512i, __m512i) {
    (
        _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
        _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31),
    )
}

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

/// Where the counts of a quarter of the levels spread too far for the table, how many times 32 cells go without a look:
/// an unpredictable branch costs as much as the arithmetic.
const ROUGH: usize = 15;

/// Sums of n·e and of the rest of F(n) for 32 cells ([`super::log`]), the even and the odd ones.
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
        let middle = (usize::from(left) + usize::from(right)) / 2;
        let base = if self.short { 0 } else { middle.saturating_sub(32) };
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
                    let (left, right) = unsafe { (*counts.get_unchecked(at + 3), *counts.get_unchecked(at + 28)) };
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

/// Slides the column counts of all planes down a row, 64 columns at a time: the two rows are read once
/// and not once a level.
///
/// # Panics
/// When a plane, or a row, is too short.
#[target_feature(enable = "avx512f,avx512bw")]
pub fn slide_avx512(columns: &mut [u8], stride: usize, values: &[u8], entering: &[u8], leaving: &[u8]) {
    assert!(entering.len() == leaving.len() && entering.len().is_multiple_of(64) && entering.len() <= stride);
    assert!(!values.is_empty() && (values.len() - 1) * stride + entering.len() <= columns.len());
    let one = _mm512_set1_epi8(1);
    for x in (0..entering.len()).step_by(64) {
        // SAFETY: both rows are `entering.len()` long, a multiple of 64 above x.
        let (new, old) = unsafe {
            (_mm512_loadu_si512(entering.as_ptr().add(x).cast()), _mm512_loadu_si512(leaving.as_ptr().add(x).cast()))
        };
        for (plane, &value) in values.iter().enumerate() {
            let value = _mm512_set1_epi8(value as i8);
            // SAFETY: `columns` reaches to the end of the last plane's columns, as asserted.
            unsafe {
                let to = columns.as_mut_ptr().add(plane * stride + x).cast::<__m512i>();
                let n = _mm512_loadu_si512(to);
                let n = _mm512_mask_add_epi8(n, _mm512_cmpeq_epi8_mask(new, value), n, one);
                let n = _mm512_mask_sub_epi8(n, _mm512_cmpeq_epi8_mask(old, value), n, one);
                _mm512_storeu_si512(to, n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::flush_after;

    #[test]
    fn low_words_do_not_overflow_before_their_carry() {
        for bits in 12..=15 {
            let left = if bits == 12 { 0 } else { (1 << bits) - 1 };
            assert!(left + flush_after(bits) * ((1 << bits) - 1) <= 0xffff, "{bits} bits");
        }
        // With 12 bits nothing is left because one flush is enough for any group.
        assert_eq!(flush_after(12), crate::cpu::lookup::GROUP);
    }
}
