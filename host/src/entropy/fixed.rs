//! The table F(n) = n·ln n in fixed point, as the kernels take it.
//!
//! The unit 1/S is as fine as lets F of the largest window fit. Every sum that a kernel forms is then exact in
//! integers, and the error of a result is that of the table's roundings: at most half a unit for each level and for
//! the whole, divided by N.

/// F(n)·S for n = 0..len, and S. Entries above `largest` (at least 1) are 0: no window reaches them.
fn table<I>(len: usize, largest: usize, top: f64, round: impl Fn(f64) -> I) -> (Vec<I>, f64) {
    let f = |n: usize| if n == 0 { 0.0 } else { n as f64 * (n as f64).ln() };
    // A window of one cell has F = 0 only; any unit does.
    let units = if largest > 1 { (top / f(largest)).floor() } else { 1.0 };
    let entries = (0..len).map(|n| round(if n <= largest { (f(n) * units).round() } else { 0.0 })).collect();
    (entries, units)
}

/// The 32-bit table.
pub(super) fn table_u32(len: usize, largest: usize) -> (Vec<u32>, f64) {
    table(len, largest, f64::from(u32::MAX), |value| value as u32)
}

/// The 64-bit table. 62 bits: more than f64 resolves.
pub(crate) fn table_u64(len: usize, largest: usize) -> (Vec<u64>, f64) {
    table(len, largest, (1u64 << 62) as f64, |value| value as u64)
}

/// The least S with which a 32-bit table is exact enough where nodata leaves few cells of a large window.
///
/// Few cells are the worst case, for example four in two pairs: three roundings of half a unit over 4, 0.375/S.
pub(super) const FINE: f64 = 800_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_window_fits_and_the_next_unit_would_not() {
        for size in [1usize, 3, 5, 21, 101, 255] {
            let n = size * size;
            let (entries, units) = table_u32(n + 1, n);
            assert_eq!(entries[..2], [0, 0]);
            assert!(entries.is_sorted(), "size {size}");
            if n > 1 {
                let f = n as f64 * (n as f64).ln();
                assert!(f * units <= f64::from(u32::MAX) && f * (units + 1.0) > f64::from(u32::MAX), "size {size}");
            }
        }
    }

    #[test]
    fn windows_of_21_by_21_are_fine_enough_with_nodata_and_larger_ones_are_not() {
        assert!(table_u32(442, 441).1 > FINE);
        assert!(table_u32(101 * 101 + 1, 101 * 101).1 < FINE);
    }
}
