//! The changes of 16 levels along a row ([`sliding_counts`](crate::cpu::sliding_counts)), transposed and added to their counts.

use super::Lanes;
use crate::cpu::count::Count;
use crate::cpu::lookup::{BLOCK, GROUP};
use crate::cpu::sliding_counts::{CHANGES, Change, PAIRS, UNCHANGED};

/// Cells of a register of 16-bit counts.
const STEP: usize = 16;

/// The 16 changes at an offset.
///
/// # Safety
/// The machine must have the instruction set, and the offset must be that of an entry.
#[inline(always)]
unsafe fn change<L: Lanes>(offset: u16) -> L {
    debug_assert!(
        usize::from(offset) / size_of::<Change>() < PAIRS && usize::from(offset).is_multiple_of(size_of::<Change>())
    );
    // SAFETY: the caller says that an entry lies there, of 32 bytes.
    unsafe { L::load(CHANGES.as_ptr().byte_add(usize::from(offset)).cast()) }
}

/// From 16 levels of 8 cells to 8 cells of 16 levels: level i in the lower lane, level 8 + i in the upper one.
#[inline(always)]
fn transpose<L: Lanes>(a: &[L]) -> [L; 8] {
    let [b0, b1] = a[0].zip16(a[1]);
    let [b2, b3] = a[2].zip16(a[3]);
    let [b4, b5] = a[4].zip16(a[5]);
    let [b6, b7] = a[6].zip16(a[7]);
    let [c0, c1] = b0.zip32(b2);
    let [c2, c3] = b1.zip32(b3);
    let [c4, c5] = b4.zip32(b6);
    let [c6, c7] = b5.zip32(b7);
    let [d0, d1] = c0.zip64(c4);
    let [d2, d3] = c1.zip64(c5);
    let [d4, d5] = c2.zip64(c6);
    let [d6, d7] = c3.zip64(c7);
    [d0, d1, d2, d3, d4, d5, d6, d7]
}

/// Adds changes to the 16 counts at an address.
///
/// # Safety
/// 16 counts must be readable and writable there.
#[inline(always)]
unsafe fn add_to<L: Lanes, C: Count>(counts: *mut C, changes: L) {
    const { assert!(size_of::<C>() == 2 || size_of::<C>() == 4) };
    let to = counts.cast::<u8>();
    // SAFETY: the caller says so: a register of narrow ones, two of wide ones.
    unsafe {
        if size_of::<C>() == 2 {
            L::load(to).add16(changes).store(to);
        } else {
            let [lower, upper] = changes.widen();
            L::load(to).add32(lower).store(to);
            L::load(to.add(32)).add32(upper).store(to.add(32));
        }
    }
}

/// Adds the changes of a row to the counts of 16 levels: level l of cell x at l · stride + x. The window of cell x has
/// the changes from x to x + size.
///
/// # Safety
/// The machine must have the instruction set, and every offset must be that of an entry of [`CHANGES`].
///
/// # Panics
/// When the counts are too few, or the windows are not a multiple of [`BLOCK`].
#[inline(always)]
pub unsafe fn add<L: Lanes, C: Count>(counts: &mut [C], stride: usize, offsets: &[u16], size: usize) {
    const { assert!(size_of::<Change>() == 32 && BLOCK.is_multiple_of(STEP)) };
    let width = (offsets.len() + 1).saturating_sub(size);
    assert!(width.is_multiple_of(BLOCK) && width <= stride && counts.len() == GROUP * stride);
    let (outgoing, incoming) = (offsets, &offsets[size - 1..]);
    // SAFETY: the caller says so, also below.
    let mut sum = unsafe { L::zero() };
    for &offset in &offsets[..size - 1] {
        // SAFETY: as above.
        sum = sum.add16(unsafe { change(offset) });
    }
    let mut left = UNCHANGED;
    for x in (0..width).step_by(STEP) {
        let incoming: &[u16; STEP] = incoming[x..].first_chunk().expect("a step");
        let outgoing: &[u16; STEP] = outgoing[x..].first_chunk().expect("a step");
        let mut cells = [sum; STEP];
        for i in 0..STEP {
            // What the window's last column brings, less what the column has that the window before had first. One addition is all
            // that waits for the cell before.
            // SAFETY: the caller says that all offsets have an entry.
            sum = sum.add16(unsafe { change::<L>(incoming[i]).sub16(change(left)) });
            cells[i] = sum;
            left = outgoing[i];
        }
        let (one, two) = cells.split_at(STEP / 2);
        let (one, two) = (transpose(one), transpose(two));
        for level in 0..GROUP / 2 {
            let [lower, upper] = one[level].lanes(two[level]);
            // SAFETY: 16 counts from x, at most to stride, of one of 16 levels.
            unsafe {
                add_to(counts.as_mut_ptr().add(level * stride + x), lower);
                add_to(counts.as_mut_ptr().add((level + GROUP / 2) * stride + x), upper);
            }
        }
    }
}
