//! Between counting and measuring: the trait of what takes the counts of the engines by planes.
//!
//! How the counts of a row of windows come about depends on the window and on the instruction set ([`super::planes`],
//! [`super::sliding_counts`], [`super::bits`]); what is made of them depends on what is measured ([`super::finish`] for Shannon's entropy alone,
//! [`super::measures`] for all else). Both are compiled together for each instruction set.

use super::lookup::Group;
#[cfg(target_arch = "x86_64")]
use super::x86_sliding_counts;
use crate::isa::Isa;
#[cfg(target_arch = "x86_64")]
use crate::isa::Kind;

/// Takes the counts of a tile's windows, row by row and group of levels by group.
///
/// Several rows may be in flight: each has a slot. A row is added to group by group, then finished.
pub trait Consumer {
    /// Makes room for `slots` rows of `padded` cells, a multiple of [`super::lookup::BLOCK`].
    fn reserve(&mut self, slots: usize, padded: usize);
    /// Prefetches what finishing row `i` of the tile takes.
    fn prefetch(&self, isa: Isa, i: usize);
    /// Takes a group of levels. The first that a row gets says so.
    fn add(&mut self, isa: Isa, slot: usize, group: Group<'_>);
    /// Instead of any group, where no level occurs.
    fn add_empty(&mut self, slot: usize);
    /// Writes the results of row `i` of the tile. `nodata`: how many cells of each window are nodata, where any may be.
    fn finish(&mut self, slot: usize, i: usize, nodata: Option<&[u32]>);
}

/// Prefetches a row that will be needed soon: the stride between rows is too large for the hardware prefetcher.
#[inline(always)]
pub fn prefetch<V>(isa: Isa, row: &[V]) {
    match isa.kind() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this kind exists only on machines that have the features.
        Kind::Avx512 => unsafe { x86_sliding_counts::prefetch(row) },
        _ => {
            let _ = row;
        }
    }
}
