//! How the counts of 16 levels change from a row to the next, and the sums of that along a row.

use crate::cpu::count::Count;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::cpu::lanes;
use crate::cpu::lookup::{BLOCK, GROUP};
#[cfg(target_arch = "x86_64")]
use crate::cpu::x86_sliding_counts;
use crate::isa::{Isa, Kind};

/// The lane of a cell that is of no level of a group: one behind the last.
const NONE: u8 = GROUP as u8;

/// Bytes of a table entry.
const ENTRY: u16 = 2 * GROUP as u16;

/// The offset of the entry for no change.
pub const UNCHANGED: u16 = offset(NONE, NONE);

/// Where the entry for a cell of lane `entering` and one of lane `leaving` lies in [`CHANGES`], in bytes.
const fn offset(entering: u8, leaving: u8) -> u16 {
    (entering as u16 * (GROUP as u16 + 1) + leaving as u16) * ENTRY
}

/// The changes of the 16 counts of a group when one cell enters and one leaves.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
pub struct Change(pub [i16; GROUP]);

/// Pairs of lanes, [`NONE`] among them.
pub const PAIRS: usize = (GROUP + 1) * (GROUP + 1);

/// All changes, at [`offset`].
pub static CHANGES: [Change; PAIRS] = {
    let mut changes = [Change([0; GROUP]); PAIRS];
    let mut i = 0;
    while i < PAIRS {
        let (entering, leaving) = (i / (GROUP + 1), i % (GROUP + 1));
        if entering < GROUP {
            changes[i].0[entering] += 1;
        }
        if leaving < GROUP {
            changes[i].0[leaving] -= 1;
        }
        i += 1;
    }
    changes
};

/// The lane of a plane among the 16 from `base`.
#[inline(always)]
fn lane(plane: u8, base: u8) -> u8 {
    plane.wrapping_sub(base).min(NONE)
}

/// Where the changes of a row lie, for the 16 planes from `base`.
#[inline(always)]
pub(super) fn changes(offsets: &mut [u16], entering: Option<&[u8]>, leaving: Option<&[u8]>, base: u8) {
    match (entering, leaving) {
        (Some(entering), Some(leaving)) => {
            for ((offset, &new), &old) in offsets.iter_mut().zip(entering).zip(leaving) {
                *offset = self::offset(lane(new, base), lane(old, base));
            }
        }
        (Some(entering), None) => {
            for (offset, &new) in offsets.iter_mut().zip(entering) {
                *offset = self::offset(lane(new, base), NONE);
            }
        }
        (None, Some(leaving)) => {
            for (offset, &old) in offsets.iter_mut().zip(leaving) {
                *offset = self::offset(NONE, lane(old, base));
            }
        }
        (None, None) => offsets.fill(UNCHANGED),
    }
}

/// How many cells of a row are of the 16 planes from `base`.
#[inline(always)]
pub(super) fn members(planes: Option<&[u8]>, base: u8) -> u32 {
    // A row is short enough for 16 bits: a tile's width and a window's.
    u32::from(planes.unwrap_or_default().iter().fold(0u16, |n, &plane| n + u16::from(lane(plane, base) < NONE)))
}

/// Adds the changes of a row to the window counts of 16 planes.
#[inline(always)]
pub(super) fn add_changes<C: Count>(isa: Isa, counts: &mut [C], stride: usize, offsets: &[u16], size: usize) {
    match isa.kind() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this kind exists only on machines that have the features; all offsets were made by `offset`,
        // of lanes up to NONE.
        Kind::Avx512 => unsafe { x86_sliding_counts::add_avx512(counts, stride, offsets, size) },
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        // SAFETY: as above.
        Kind::Avx2 | Kind::Neon => unsafe { lanes::add_changes(counts, stride, offsets, size) },
        _ => add_plain(counts, stride, offsets, size),
    }
}

/// [`add_changes`] in loops.
#[inline(always)]
fn add_plain<C: Count>(counts: &mut [C], stride: usize, offsets: &[u16], size: usize) {
    let change = |offset: u16| &CHANGES[usize::from(offset / ENTRY)].0;
    let (outgoing, incoming) = (offsets, &offsets[size - 1..]);
    let mut sum = [0i16; GROUP];
    for &offset in &offsets[..size - 1] {
        sum.iter_mut().zip(change(offset)).for_each(|(sum, change)| *sum += change);
    }
    let mut running = [[0i16; GROUP]; BLOCK];
    for x in (0..incoming.len()).step_by(BLOCK) {
        for (i, running) in running.iter_mut().enumerate() {
            sum.iter_mut().zip(change(incoming[x + i])).for_each(|(sum, change)| *sum += change);
            *running = sum;
            sum.iter_mut().zip(change(outgoing[x + i])).for_each(|(sum, change)| *sum -= change);
        }
        for level in 0..GROUP {
            let counts = &mut counts[level * stride + x..][..BLOCK];
            counts.iter_mut().zip(&running).for_each(|(count, running)| *count = count.changed(running[level]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::PADDING;
    use super::*;

    #[test]
    fn every_pair_of_lanes_has_its_change() {
        for entering in 0..=NONE {
            for leaving in 0..=NONE {
                let at = usize::from(offset(entering, leaving));
                assert_eq!(at % size_of::<Change>(), 0);
                let Change(change) = CHANGES[at / size_of::<Change>()];
                for (lane, &change) in change.iter().enumerate() {
                    let truth = i16::from(lane == usize::from(entering)) - i16::from(lane == usize::from(leaving));
                    assert_eq!(change, truth, "lane {lane} of ({entering}, {leaving})");
                }
            }
        }
    }

    /// Windows of any width, narrower and wider than a block, counts of both widths, on every instruction set: what the definition says.
    #[test]
    fn changes_are_added_up_along_the_row() {
        fn check<C: Count + std::fmt::Debug>(width: usize, size: usize) {
            let mut state = (width * 4097 + size) as u64;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as u8
            };
            let pairs: Vec<(u8, u8)> =
                (0..width + size - 1).map(|_| (next() % (NONE + 1), next() % (NONE + 1))).collect();
            let offsets: Vec<u16> = pairs.iter().map(|&(new, old)| offset(new, old)).collect();
            let stride = width + PADDING;
            for isa in Isa::available() {
                let mut counts = vec![C::of(40_000); GROUP * stride];
                add_changes(isa, &mut counts, stride, &offsets, size);
                for (lane, x) in (0..GROUP).flat_map(|lane| (0..width).map(move |x| (lane, x))).step_by(7) {
                    let window = &pairs[x..x + size];
                    let new = window.iter().filter(|pair| usize::from(pair.0) == lane).count();
                    let old = window.iter().filter(|pair| usize::from(pair.1) == lane).count();
                    let truth = C::of((40_000 + new - old) as u32);
                    assert_eq!(counts[lane * stride + x], truth, "lane {lane}, cell {x}, size {size}, {isa:?}");
                }
            }
        }
        for (width, size) in [(64, 1), (64, 9), (128, 255), (192, 257), (64, 1001), (1024, 4095)] {
            check::<u16>(width, size);
            check::<u32>(width, size);
        }
    }
}
