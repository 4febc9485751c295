//! Table lookups with the vector units of x86-64.
//!
//! AVX-512 can look 64 entries of 16 bits up inside two registers (`vpermi2w`), 32 at a time, many
//! times faster than from memory. A 31-bit entry is two such words, and the low words have so few
//! bits that several can be added before a carry must be moved (`flush_after`).
//!
//! - Windows of at most 63 cells: the whole table sits in four registers.
//! - Larger windows, and small ones whose counts have 16 bits: neighbouring cells have neighbouring counts, so the 64 entries between *two* cells'
//!   counts often serve all 32 cells; they are loaded from the table at that place. Where the counts
//!   spread further, arithmetic gives the same integers ([`super::log`]).
//! - Counts of 32 bits: arithmetic alone.
//!
//! | file | what |
//! |---|---|
//! | `words` | sums of 32 cells as two words each, and blocks of sums |
//! | `small` | counts of 8 bits: the whole table in registers, in words or in limbs |
//! | `large` | counts of 16 bits: stretches of the table |
//! | `arithmetic` | counts of 32 bits, and those that no stretch serves |
//!
//! Here is the sliding of column counts.

use std::arch::x86_64::*;

mod arithmetic;
mod large;
mod small;
mod words;

pub use arithmetic::{Far, Wide, entries_avx512, wide_avx512};
pub use large::{Stretches, large_avx512};
pub use small::{small_avx512, small64_avx512};
pub use words::Words;

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
