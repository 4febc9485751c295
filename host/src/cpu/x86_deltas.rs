//! The running sums of [`super::deltas`] and their transposition, with the vector units of x86-64.

use std::arch::x86_64::*;

use super::deltas::{CHANGES, Change, PAIRS};
use super::lookup::{BLOCK, GROUP};

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

/// Runs along the cells of a block: to `sum` come the changes of the window's last column, and those of its first go.
///
/// # Safety
/// As of [`change`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn run(running: &mut Running, mut sum: __m256i, come: &[u16; BLOCK], go: &[u16; BLOCK]) -> __m256i {
    for b in 0..BLOCK / 16 {
        for h in 0..2 {
            for j in 0..8 {
                let x = 16 * b + 8 * h + j;
                // SAFETY: the caller says so of all offsets; an element of `running` is 32 bytes, aligned to 32.
                unsafe {
                    sum = _mm256_add_epi16(sum, change(come[x]));
                    _mm256_store_si256(running.0[2 * (8 * b + j) + h].0.as_mut_ptr().cast(), sum);
                    sum = _mm256_sub_epi16(sum, change(go[x]));
                }
            }
        }
    }
    sum
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
/// When the counts or the offsets are too few, or `stride` is not a multiple of [`BLOCK`].
#[target_feature(enable = "avx512f,avx512bw")]
pub unsafe fn add_avx512(counts: &mut [u16], stride: usize, offsets: &[u16], size: usize) {
    const { assert!(size_of::<Change>() == 32) };
    assert!(stride.is_multiple_of(BLOCK) && counts.len() == GROUP * stride && offsets.len() == stride + size - 1);
    let (go, come) = (offsets, &offsets[size - 1..]);
    let mut sum = _mm256_setzero_si256();
    for &offset in &offsets[..size - 1] {
        // SAFETY: the caller says so.
        sum = _mm256_add_epi16(sum, unsafe { change(offset) });
    }
    let mut running = Running([Change([0; GROUP]); BLOCK]);
    for x in (0..stride).step_by(BLOCK) {
        let (come, go) = (come[x..].first_chunk().expect("a block"), go[x..].first_chunk().expect("a block"));
        // SAFETY: the caller says that all offsets have an entry.
        sum = unsafe { run(&mut running, sum, come, go) };
        for half in 0..2 {
            let turned = |b: usize| {
                // SAFETY: 16 changes from 16·b are 8 registers of 64 bytes, aligned to 64.
                let load = |i: usize| unsafe { _mm512_load_si512(running.0.as_ptr().add(16 * b + 2 * i).cast()) };
                transpose([load(0), load(1), load(2), load(3), load(4), load(5), load(6), load(7)])
            };
            let (left, right) = (turned(2 * half), turned(2 * half + 1));
            for i in 0..8 {
                let levels = [
                    _mm512_shuffle_i32x4::<0b10_00_10_00>(left[i], right[i]),
                    _mm512_shuffle_i32x4::<0b11_01_11_01>(left[i], right[i]),
                ];
                for (h, level) in levels.into_iter().enumerate() {
                    // SAFETY: 32 counts from x + 32·half, at most stride, of one of 16 levels.
                    unsafe {
                        let to = counts.as_mut_ptr().add((i + 8 * h) * stride + x + 32 * half).cast::<__m512i>();
                        _mm512_storeu_si512(to, _mm512_add_epi16(_mm512_loadu_si512(to), level));
                    }
                }
            }
        }
    }
}

/// Asks for a row that will be needed soon: rows lie too far apart for the hardware to guess.
#[inline]
#[target_feature(enable = "sse")]
pub fn prefetch(row: &[u8]) {
    for line in row.chunks(64) {
        _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
    }
}
