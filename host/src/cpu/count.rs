//! How wide a count is: 16 bits hold the counts of windows of up to 65,535 cells, 32 bits those of all windows.
//!
//! The engines that keep counts from row to row ([`super::sliding_counts`], the histogram of [`super::measures`]) are written once for both.
//! Narrow counts are not for show: they are half of the memory that a row of windows goes through, and index a table whose
//! length the compiler knows.

use super::lookup::Counts;
use super::table::ALL;

/// Whether counts of windows of up to `largest` cells need 32 bits.
pub fn is_wide(largest: usize) -> bool {
    largest >= ALL
}

/// The count of a level in a window.
pub trait Count: Copy + Default + PartialEq + Ord + Into<u32> + 'static {
    /// The count of so many cells, which the caller knows to fit.
    fn of(cells: u32) -> Self;
    /// The count after a change, modulo the type's range.
    fn changed(self, by: i16) -> Self;
    /// Counts as consumers take them.
    fn group(counts: &[Self]) -> Counts<'_>;

    /// As an index.
    #[inline(always)]
    fn index(self) -> usize {
        self.into() as usize
    }
}

impl Count for u16 {
    #[inline(always)]
    fn of(cells: u32) -> u16 {
        cells as u16
    }
    #[inline(always)]
    fn changed(self, by: i16) -> u16 {
        self.wrapping_add_signed(by)
    }
    #[inline(always)]
    fn group(counts: &[u16]) -> Counts<'_> {
        Counts::Large(counts)
    }
}

impl Count for u32 {
    #[inline(always)]
    fn of(cells: u32) -> u32 {
        cells
    }
    #[inline(always)]
    fn changed(self, by: i16) -> u32 {
        self.wrapping_add_signed(i32::from(by))
    }
    #[inline(always)]
    fn group(counts: &[u32]) -> Counts<'_> {
        Counts::Wide(counts)
    }
}
