//! The adders of [`super::bits`] with the vector units of x86-64: a register is 512 windows' bits, an adder two instructions.

use std::arch::x86_64::*;

use super::bits::{AT_ONCE, BitOffset, ROW, WORDS};
use crate::part::STRIP;

/// A bit for each of the cells of a row: 1 where it has the value.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub fn equal_avx512(row: &[u8; 64 * ROW], value: u8) -> [u64; ROW] {
    let value = _mm512_set1_epi8(value as i8);
    let mut bits = [0; ROW];
    for (bits, cells) in bits.iter_mut().zip(row.as_chunks::<64>().0) {
        // SAFETY: 64 readable bytes.
        *bits = _mm512_cmpeq_epi8_mask(unsafe { _mm512_loadu_si512(cells.as_ptr().cast()) }, value);
    }
    bits
}

/// A full adder: `sum` becomes the sum of the three, and what comes back is their carry.
#[inline]
#[target_feature(enable = "avx512f")]
fn adder(sum: &mut __m512i, a: __m512i, b: __m512i) -> __m512i {
    let carry = _mm512_ternarylogic_epi64::<0b1110_1000>(*sum, a, b);
    *sum = _mm512_ternarylogic_epi64::<0b1001_0110>(*sum, a, b);
    carry
}

/// The bits of 512 windows from an offset on.
#[inline]
#[target_feature(enable = "avx512f")]
fn shifted(bits: &[u64], at: BitOffset) -> __m512i {
    let words: &[u64; 2 * WORDS] = bits[at.word as usize..].first_chunk().expect("two copies of a row");
    let (low, high) =
        // SAFETY: the first and the last eight of sixteen words.
        unsafe { (_mm512_loadu_si512(words.as_ptr().cast()), _mm512_loadu_si512(words.as_ptr().add(WORDS).cast())) };
    // A shift by 64 leaves nothing.
    let low = _mm512_srl_epi64(low, _mm_cvtsi32_si128(at.shift as i32));
    let high = _mm512_sll_epi64(high, _mm_cvtsi32_si128(64 - at.shift as i32));
    // (low or high) xor flip.
    _mm512_ternarylogic_epi64::<0b0101_0110>(low, high, _mm512_set1_epi64(at.flip as i64))
}

/// Adds the bits at some offsets, fewer than 2^DIGITS of them and a multiple of [`AT_ONCE`], less `less`, to counts.
///
/// # Panics
/// When the bits end before those of an offset.
#[target_feature(enable = "avx512f,avx512bw")]
pub fn add_avx512<const DIGITS: usize>(bits: &[u64], offsets: &[BitOffset], less: u16, counts: &mut [u16; STRIP]) {
    let mut digits = [_mm512_setzero_si512(); DIGITS];
    for p in offsets.as_chunks::<AT_ONCE>().0 {
        let mut ones = |i: usize| adder(&mut digits[0], shifted(bits, p[i]), shifted(bits, p[i + 1]));
        let carries = [ones(0), ones(2), ones(4), ones(6)];
        let fours = [adder(&mut digits[1], carries[0], carries[1]), adder(&mut digits[1], carries[2], carries[3])];
        let mut carry = adder(&mut digits[2], fours[0], fours[1]);
        for digit in &mut digits[3..] {
            let next = _mm512_and_si512(*digit, carry);
            *digit = _mm512_xor_si512(*digit, carry);
            carry = next;
        }
    }
    let mut words = [[0u64; WORDS]; DIGITS];
    for (words, digit) in words.iter_mut().zip(digits) {
        // SAFETY: 64 writable bytes.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), digit) };
    }
    let less = _mm512_set1_epi16(less as i16);
    for (word, counts) in counts.as_chunks_mut::<64>().0.iter_mut().enumerate() {
        let mut numbers = _mm512_setzero_si512();
        for (digit, words) in words.iter().enumerate() {
            numbers = _mm512_mask_add_epi8(numbers, words[word], numbers, _mm512_set1_epi8((1u8 << digit) as i8));
        }
        let halves = [_mm512_castsi512_si256(numbers), _mm512_extracti64x4_epi64::<1>(numbers)];
        for (counts, numbers) in counts.as_chunks_mut::<32>().0.iter_mut().zip(halves) {
            let change = _mm512_sub_epi16(_mm512_cvtepu8_epi16(numbers), less);
            // SAFETY: 64 bytes to read and to write.
            unsafe {
                let to = counts.as_mut_ptr().cast::<__m512i>();
                _mm512_storeu_si512(to, _mm512_add_epi16(_mm512_loadu_si512(to), change));
            }
        }
    }
}

/// A full adder, as [`adder`].
#[inline]
#[target_feature(enable = "avx2")]
fn adder_avx2(sum: &mut __m256i, a: __m256i, b: __m256i) -> __m256i {
    let half = _mm256_xor_si256(*sum, a);
    let carry = _mm256_or_si256(_mm256_and_si256(*sum, a), _mm256_and_si256(half, b));
    *sum = _mm256_xor_si256(half, b);
    carry
}

/// The bits of 256 windows from `word` words behind an offset on.
#[inline]
#[target_feature(enable = "avx2")]
fn shifted_avx2(bits: &[u64], at: BitOffset, word: usize) -> __m256i {
    let words: &[u64; 2 * WORDS] = bits[at.word as usize..].first_chunk().expect("two copies of a row");
    let load = |copy: usize| {
        let words: &[u64; 4] = words[copy * WORDS + word..].first_chunk().expect("half a copy");
        // SAFETY: 32 readable bytes.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    };
    // A shift by 64 leaves nothing.
    let low = _mm256_srl_epi64(load(0), _mm_cvtsi32_si128(at.shift as i32));
    let high = _mm256_sll_epi64(load(1), _mm_cvtsi32_si128(64 - at.shift as i32));
    _mm256_xor_si256(_mm256_or_si256(low, high), _mm256_set1_epi64x(at.flip as i64))
}

/// [`add_avx512`] with half as wide registers.
///
/// # Panics
/// As there.
#[target_feature(enable = "avx2")]
pub fn add_avx2<const DIGITS: usize>(bits: &[u64], offsets: &[BitOffset], less: u16, counts: &mut [u16; STRIP]) {
    let less = _mm256_set1_epi16(less as i16);
    // Byte i of a register gets byte i / 8 of 32 bits, of which bit i % 8 is looked at.
    let spread = _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
    let single = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    for (half, counts) in counts.as_chunks_mut::<{ STRIP / 2 }>().0.iter_mut().enumerate() {
        let mut digits = [_mm256_setzero_si256(); DIGITS];
        for p in offsets.as_chunks::<AT_ONCE>().0 {
            let from = |i: usize| shifted_avx2(bits, p[i], half * WORDS / 2);
            let mut ones = |i: usize| adder_avx2(&mut digits[0], from(i), from(i + 1));
            let carries = [ones(0), ones(2), ones(4), ones(6)];
            let [a, b] =
                [[carries[0], carries[1]], [carries[2], carries[3]]].map(|[a, b]| adder_avx2(&mut digits[1], a, b));
            let mut carry = adder_avx2(&mut digits[2], a, b);
            for digit in &mut digits[3..] {
                let next = _mm256_and_si256(*digit, carry);
                *digit = _mm256_xor_si256(*digit, carry);
                carry = next;
            }
        }
        let mut words = [[0u32; WORDS]; DIGITS];
        for (words, digit) in words.iter_mut().zip(digits) {
            // SAFETY: 32 writable bytes.
            unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), digit) };
        }
        for (word, counts) in counts.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let mut numbers = _mm256_setzero_si256();
            for words in words.iter().rev() {
                let bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(words[word] as i32), spread);
                let ones = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, single), single);
                // Twice what there is, plus 1 where all bits are 1.
                numbers = _mm256_sub_epi8(_mm256_add_epi8(numbers, numbers), ones);
            }
            let halves = [_mm256_castsi256_si128(numbers), _mm256_extracti128_si256::<1>(numbers)];
            for (counts, numbers) in counts.as_chunks_mut::<16>().0.iter_mut().zip(halves) {
                let change = _mm256_sub_epi16(_mm256_cvtepu8_epi16(numbers), less);
                // SAFETY: 32 bytes to read and to write.
                unsafe {
                    let to = counts.as_mut_ptr().cast::<__m256i>();
                    _mm256_storeu_si256(to, _mm256_add_epi16(_mm256_loadu_si256(to), change));
                }
            }
        }
    }
}
