//! F(n) = n·log2 n in fixed point for windows of so many cells that a count takes 32 bits, as
//! [`table_bits`](super::fixed::table_bits) has it for smaller ones.
//!
//! ```text
//! n = 2^k·m, m odd:   F(n) = 2^k·F(m) + k·2^k·m       in units of 2^−places, modulo 2^64
//! ```
//!
//! Only F(N) − Σ F(n) = N·H is looked at, at most N·log2 of the number of classes: that has to fit 63 bits, F itself has not. So the unit is
//! nearly as fine as it is for windows of 255 × 255 cells, which counts for windows that nodata leaves few cells of: with 5 of 1,001 × 1,001 cells
//! a result is 4e-13 bits off at the most, with 5 of 4,095 × 4,095 cells 6e-12. The logarithm is an f64's: what it is off by grows with n,
//! and so does what results are divided by.
//!
//! A table has an entry for each number of cells that a window has within the grid, 8 MB of them for 1,001 × 1,001. It is made on all
//! cores, in milliseconds (in 0.1 s where it is largest), and the last one is kept for the next call.

use std::sync::Arc;

use rayon::prelude::*;

use super::fixed::TableCache;
use crate::codes::MAX_LEVELS;

/// Digits of F behind the point, for windows of up to `count` cells.
fn places(count: usize) -> u32 {
    // Above all differences, also where the cells are a power of two.
    63 - (count * MAX_LEVELS.ilog2() as usize + 1).next_power_of_two().ilog2()
}

/// What F is multiplied by, for windows of up to `count` cells.
pub(super) fn units(count: usize) -> f64 {
    f64::from(places(count)).exp2()
}

/// F(n) for n = 0..`len`, in the unit for windows of up to `count` cells; made or kept.
pub(crate) fn table(len: usize, count: usize) -> Arc<Vec<u64>> {
    // One alone: those of the largest windows take 134 MB.
    static TABLES: TableCache<(usize, u32), Vec<u64>, 1> = TableCache::new();
    let places = places(count);
    TABLES.get((len, places), || (0..len).into_par_iter().map(|n| entry(n, places)).collect())
}

/// F(n), modulo 2^64.
fn entry(n: usize, places: u32) -> u64 {
    if n == 0 {
        return 0;
    }
    let twos = n.trailing_zeros();
    let odd = (n >> twos) as f64;
    let exact = odd * odd.log2();
    // The digits before the point and those behind it: together they are too many for an f64.
    let whole = (exact as u64) << places;
    let rest = ((exact - exact.floor()) * f64::from(places).exp2()).round() as u64;
    (whole.wrapping_add(rest) << twos).wrapping_add((u64::from(twos) * n as u64) << places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::fixed::table_bits;

    /// The unit of 1,001 × 1,001 cells, and the table of 255 × 255 that was made by integers alone.
    #[test]
    fn entries_are_those_of_smaller_windows_as_far_as_these_go() {
        let places = places(1001 * 1001);
        assert_eq!((places, units(1001 * 1001)), (39, 39f64.exp2()));
        let (small, of_small) = table_bits(65_026, 65_025);
        for (n, &small) in small.iter().enumerate() {
            let (this, that) = (entry(n, places) as f64 / 39f64.exp2(), small as f64 / of_small);
            // Half a unit of an odd number, as many times as that is in n.
            let rounding = f64::from(n.max(1).trailing_zeros()).exp2() / 39f64.exp2();
            assert!((this - that).abs() <= 5e-16 * that + rounding, "F({n}): {this}, {that}");
        }
    }

    #[test]
    fn classes_that_are_equally_frequent_have_whole_bits() {
        for size in [257, 1001, 4095] {
            let places = places(size * size);
            for (n, k) in (1..=size * size).step_by(997).flat_map(|n| (0..9).map(move |k| (n, k))) {
                if n << k <= size * size {
                    let difference = entry(n << k, places).wrapping_sub(entry(n, places) << k);
                    assert_eq!(
                        difference,
                        ((k * n) as u64) << (k as u32 + places),
                        "{n} of each of 2^{k}, size {size}"
                    );
                }
            }
        }
    }

    /// The largest difference, of as many classes as there can be, is no negative number.
    #[test]
    fn differences_fit() {
        for count in [65_536, 1001 * 1001, 4095 * 4095] {
            let each = count / MAX_LEVELS;
            let places = places(count);
            let difference = entry(each * MAX_LEVELS, places).wrapping_sub(entry(each, places) * MAX_LEVELS as u64);
            assert!(difference.cast_signed() > 0);
            assert_eq!(difference as f64 / units(count) / (each * MAX_LEVELS) as f64, 16.0);
        }
    }
}
