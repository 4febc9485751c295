//! Sixteen counters in a few words: of a column's cells, and of all columns up to one.

use simt::bits::{byte_permute, dot4, shift_left_clamped};

/// 16 counters of 8 bits: class 4w + b in byte b of word w.
pub type Column = [u32; 4];
/// 16 counters of 16 bits: word 2w holds classes 4w and 4w + 2, word 2w + 1 classes 4w + 1 and 4w + 3.
pub type Prefix = [u32; 8];

/// Cell `k` of four packed ones, less `base` / 8, as a histogram of one; nothing for what is not 0 to 15 then. `base` is a multiple of 128
/// below 15 · 128: 255 is nothing.
#[inline(always)]
pub fn one_hot(cells: u32, k: u32, base: u32) -> Column {
    let eight = 8 << (8 * k);
    let mut words = [0; 4];
    let mut w = 0;
    while w < 4 {
        words[w] = shift_left_clamped(1, dot4(cells, eight, 0u32.wrapping_sub(base + 32 * w as u32)));
        w += 1;
    }
    words
}

/// Counts cell `k` of `entering` and no longer that of `leaving`.
#[inline(always)]
pub fn slide(column: &mut Column, entering: u32, leaving: u32, k: u32, base: u32) {
    let (new, old) = (one_hot(entering, k, base), one_hot(leaving, k, base));
    let mut w = 0;
    while w < 4 {
        column[w] = column[w].wrapping_add(new[w]).wrapping_sub(old[w]);
        w += 1;
    }
}

#[inline(always)]
pub fn add_column(prefix: &mut Prefix, column: Column) {
    let mut w = 0;
    while w < 4 {
        prefix[2 * w] = prefix[2 * w].wrapping_add(byte_permute(column[w], 0, 0x4240));
        prefix[2 * w + 1] = prefix[2 * w + 1].wrapping_add(byte_permute(column[w], 0, 0x4341));
        w += 1;
    }
}

#[inline(always)]
pub fn add(a: &mut Prefix, b: &Prefix) {
    let mut w = 0;
    while w < 8 {
        a[w] = a[w].wrapping_add(b[w]);
        w += 1;
    }
}

/// The sum of all counters. The halves cannot overflow: all counters of a window together are at most 65,025.
#[inline(always)]
pub fn total(prefix: &Prefix) -> u32 {
    let mut both = 0u32;
    let mut w = 0;
    while w < 8 {
        both = both.wrapping_add(prefix[w]);
        w += 1;
    }
    (both & 0xFFFF) + (both >> 16)
}
