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

/// n·log2 n in place of n·ln n, in 62 bits, and the unit a power of two: where a power of two of classes are equally frequent, the entropy in
/// bits is exactly what it should be. For that the logarithms have to be better than an f64's.
pub(crate) fn table_bits(len: usize, largest: usize) -> (Vec<u64>, f64) {
    let top = (largest.max(2) as f64).log2() * largest.max(2) as f64;
    // As large as lets the largest entry fit.
    let places = 61 - top.log2().floor() as u32;
    // F(2^k·m) = 2^k·F(m) + k·2^k·m: rounded for odd numbers alone, so that this holds to the last unit.
    let entry = |n: usize| {
        let twos = n.trailing_zeros();
        let odd = (n >> twos) as u64;
        let exact = u128::from(odd) * log2(odd);
        let rounded = ((exact >> (FRACTION - places - 1)) as u64).div_ceil(2);
        (rounded << twos) + (u64::from(twos) * n as u64) * (1 << places)
    };
    let entries = (0..len).map(|n| if (1..=largest).contains(&n) { entry(n) } else { 0 }).collect();
    (entries, f64::from(places).exp2())
}

/// Bits behind the point of [`log2`].
const FRACTION: u32 = 64;

/// The logarithm of a number from 1 to 2^32 in fixed point, short by less than 2^−61.
///
/// To square a number doubles its logarithm, and whether it has passed 2 is the logarithm's next bit. What is cut off a square makes the
/// rest of the bits too small by as much, and they count for less and less.
fn log2(n: u64) -> u128 {
    let whole = n.ilog2();
    let mut x = u128::from(n) << (63 - whole);
    let mut log = u128::from(whole);
    for _ in 0..FRACTION {
        x = (x * x) >> 63;
        let passed = x >> 64;
        log = log << 1 | passed;
        x >>= passed;
    }
    log
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
    fn logarithms_are_better_than_those_of_an_f64() {
        for n in [1u64, 2, 3, 5, 7, 10, 255, 289, 65_024, 65_025] {
            let log = log2(n) as f64 / f64::from(FRACTION).exp2();
            assert!((log - (n as f64).log2()).abs() <= 4e-16 * log, "{n}: {log}");
            // Those of a product are the sum, as an f64 could not tell.
            let (product, sum) = (log2(3 * n), log2(3) + log2(n));
            assert!(product.abs_diff(sum) < 16, "{n}: {product} {sum}");
        }
    }

    #[test]
    fn classes_that_are_equally_frequent_have_whole_bits() {
        for largest in [25usize, 256, 289, 65_025] {
            let (entries, units) = table_bits(largest + 1, largest);
            for (n, k) in (1..=largest).flat_map(|n| (0..16).map(move |k| (n, k))).filter(|(n, k)| n << k <= largest) {
                let all = n << k;
                let bits = (entries[all] - (entries[n] << k)) as f64 / (units * all as f64);
                assert_eq!(bits, k as f64, "{n} of each of 2^{k}");
            }
        }
    }

    #[test]
    fn bits_of_powers_of_two_are_exact() {
        for largest in [1usize, 2, 25, 256, 65_025] {
            let (entries, units) = table_bits(largest + 1, largest);
            assert_eq!(units.log2().fract(), 0.0);
            assert!(entries.is_sorted() && entries[largest] < 1 << 62, "{largest}");
            for k in (0..17).filter(|k| 1 << k <= largest) {
                let exact = (k << k) as f64 * units;
                assert_eq!(entries[1 << k] as f64, exact, "2^{k} of {largest}");
            }
        }
    }

    #[test]
    fn windows_of_21_by_21_are_fine_enough_with_nodata_and_larger_ones_are_not() {
        assert!(table_u32(442, 441).1 > FINE);
        assert!(table_u32(101 * 101 + 1, 101 * 101).1 < FINE);
    }
}
