//! The running sums of [`super::sliding_counts`] and their transposition, with the vector units of x86-64.

use std::arch::x86_64::*;

use super::count::Count;
use super::lookup::{BLOCK, GROUP};
use super::sliding_counts::{CHANGES, Change, PAIRS, UNCHANGED};

/// The running sums of a block of cells, 16 levels a cell. Cell 16·b + 8·h + j lies at 2·(8·b + j) + h: then a register of
/// four 128-bit lanes holds two cells eight apart, and a transposition within the lanes leaves the cells in order.
#[repr(C, align(64))]
struct Running([Change; BLOCK]);

/// The 16 changes at an offset.
///
/// # Safety
/// The offset must be that of an entry.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn change(offset: u16) -> __m256i {
    debug_assert!(
        usize::from(offset) / size_of::<Change>() < PAIRS && usize::from(offset).is_multiple_of(size_of::<Change>())
    );
    // SAFETY: the caller says that 32 bytes lie there, and entries are aligned to 32.
    unsafe { _mm256_load_si256(CHANGES.as_ptr().byte_add(usize::from(offset)).cast()) }
}

/// The running sum along the cells of a block: the changes of the window's last column are added to `sum`, and those of the column that
/// the window before had first, at `left`, are subtracted.
///
/// # Safety
/// As of [`change`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn run(
    running: &mut Running,
    mut sum: __m256i,
    mut left: u16,
    incoming: &[u16; BLOCK],
    outgoing: &[u16; BLOCK],
) -> (__m256i, u16) {
    for b in 0..BLOCK / 16 {
        for h in 0..2 {
            for j in 0..8 {
                let x = 16 * b + 8 * h + j;
                // SAFETY: the caller says so of all offsets; an element of `running` is 32 bytes, aligned to 32.
                // One addition is all that waits for the cell before.
                unsafe {
                    sum = _mm256_add_epi16(sum, _mm256_sub_epi16(change(incoming[x]), change(left)));
                    _mm256_store_si256(running.0[2 * (8 * b + j) + h].0.as_mut_ptr().cast(), sum);
                }
                left = outgoing[x];
            }
        }
    }
    (sum, left)
}

/// Transposes 8 × 8 words in each of the four lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn transpose(a: [__m512i; 8]) -> [__m512i; 8] {
    let words = |i: usize| (_mm512_unpacklo_epi16(a[i], a[i + 1]), _mm512_unpackhi_epi16(a[i], a[i + 1]));
    let (b0, b1) = words(0);
    let (b2, b3) = words(2);
    let (b4, b5) = words(4);
    let (b6, b7) = words(6);
    let pairs = |x, y| (_mm512_unpacklo_epi32(x, y), _mm512_unpackhi_epi32(x, y));
    let (c0, c1) = pairs(b0, b2);
    let (c2, c3) = pairs(b1, b3);
    let (c4, c5) = pairs(b4, b6);
    let (c6, c7) = pairs(b5, b7);
    let fours = |x, y| (_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y));
    let (d0, d1) = fours(c0, c4);
    let (d2, d3) = fours(c1, c5);
    let (d4, d5) = fours(c2, c6);
    let (d6, d7) = fours(c3, c7);
    [d0, d1, d2, d3, d4, d5, d6, d7]
}

/// Adds the changes of a row to the counts of 16 levels: level l of cell x at l · stride + x. The window of cell x has
/// the changes from x to x + size.
///
/// # Safety
/// Every offset must be that of an entry of [`CHANGES`].
///
/// # Panics
/// When the counts are too few, or the windows are not a multiple of [`BLOCK`].
#[target_feature(enable = "avx512f,avx512bw")]
pub unsafe fn add_avx512<C: Count>(counts: &mut [C], stride: usize, offsets: &[u16], size: usize) {
    const { assert!(size_of::<Change>() == 32 && (size_of::<C>() == 2 || size_of::<C>() == 4)) };
    let width = (offsets.len() + 1).saturating_sub(size);
    assert!(width.is_multiple_of(BLOCK) && width <= stride && counts.len() == GROUP * stride);
    let (outgoing, incoming) = (offsets, &offsets[size - 1..]);
    let mut sum = _mm256_setzero_si256();
    for &offset in &offsets[..size - 1] {
        // SAFETY: the caller says so.
        sum = _mm256_add_epi16(sum, unsafe { change(offset) });
    }
    let mut running = Running([Change([0; GROUP]); BLOCK]);
    let mut left = UNCHANGED;
    for x in (0..width).step_by(BLOCK) {
        let (incoming, outgoing) =
            (incoming[x..].first_chunk().expect("a block"), outgoing[x..].first_chunk().expect("a block"));
        // SAFETY: the caller says that all offsets have an entry.
        (sum, left) = unsafe { run(&mut running, sum, left, incoming, outgoing) };
        for half in 0..2 {
            let transposed = |b: usize| {
                // SAFETY: 16 changes from 16·b are 8 registers of 64 bytes, aligned to 64.
                let load = |i: usize| unsafe { _mm512_load_si512(running.0.as_ptr().add(16 * b + 2 * i).cast()) };
                transpose([load(0), load(1), load(2), load(3), load(4), load(5), load(6), load(7)])
            };
            let (left, right) = (transposed(2 * half), transposed(2 * half + 1));
            for i in 0..8 {
                let levels = [
                    _mm512_shuffle_i32x4::<0b10_00_10_00>(left[i], right[i]),
                    _mm512_shuffle_i32x4::<0b11_01_11_01>(left[i], right[i]),
                ];
                for (h, level) in levels.into_iter().enumerate() {
                    // SAFETY: 32 counts from x + 32·half, at most to stride, of one of 16 levels: a register of narrow ones, two of
                    // wide ones.
                    unsafe {
                        let to = counts.as_mut_ptr().add((i + 8 * h) * stride + x + 32 * half).cast::<__m512i>();
                        if size_of::<C>() == 2 {
                            _mm512_storeu_si512(to, _mm512_add_epi16(_mm512_loadu_si512(to), level));
                        } else {
                            let halves = [_mm512_castsi512_si256(level), _mm512_extracti64x4_epi64::<1>(level)];
                            for (to, level) in [to, to.add(1)].into_iter().zip(halves) {
                                let level = _mm512_cvtepi16_epi32(level);
                                _mm512_storeu_si512(to, _mm512_add_epi32(_mm512_loadu_si512(to), level));
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Prefetches a row that will be needed soon: the stride between rows is too large for the hardware prefetcher.
#[inline]
#[target_feature(enable = "sse")]
pub fn prefetch<V>(row: &[V]) {
    for line in row.chunks(64 / size_of::<V>()) {
        _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
    }
}

/// How often each of four values occurs in each of 64 columns of at most 255 rows.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub fn occurrences_avx512<'a>(values: [u8; 4], rows: impl Iterator<Item = &'a [u8; 64]>) -> [[u8; 64]; 4] {
    let values = values.map(|value| _mm512_set1_epi8(value as i8));
    let one = _mm512_set1_epi8(1);
    let mut counts = [_mm512_setzero_si512(); 4];
    for row in rows {
        // SAFETY: a row is 64 readable bytes.
        let cells = unsafe { _mm512_loadu_si512(row.as_ptr().cast()) };
        for (n, &value) in counts.iter_mut().zip(&values) {
            *n = _mm512_mask_add_epi8(*n, _mm512_cmpeq_epi8_mask(cells, value), *n, one);
        }
    }
    let mut bytes = [[0; 64]; 4];
    for (bytes, n) in bytes.iter_mut().zip(counts) {
        // SAFETY: 64 writable bytes.
        unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), n) };
    }
    bytes
}
