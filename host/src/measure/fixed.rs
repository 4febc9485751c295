//! The table F(n) = n·ln n in fixed point, as the kernels take it.
//!
//! The unit 1/S is the finest in which F of the largest window fits. Every sum that a kernel forms is then exact in
//! integers, and the error of a result is that of the table's roundings: at most half a unit for each level and for
//! the whole, divided by N.

use std::sync::{Arc, Mutex, PoisonError};

/// The most recently made tables, by their keys. To make one of 65,026 entries takes milliseconds, longer than a kernel works with it, and a caller with many
/// grids, or chunks of one, needs the same ones repeatedly.
pub(crate) struct TableCache<K, V, const MOST: usize = CACHED>(Mutex<Vec<(K, Arc<V>)>>);

/// Entries of a cache.
const CACHED: usize = 4;

impl<K: PartialEq + Copy, V, const MOST: usize> TableCache<K, V, MOST> {
    /// Empty.
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// The table of this key, made by `make` where it is missing. Other threads do not wait for that.
    pub fn get(&self, key: K, make: impl FnOnce() -> V) -> Arc<V> {
        let cached = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, value)) = cached().iter().find(|(of, _)| *of == key) {
            return Arc::clone(value);
        }
        let value = Arc::new(make());
        let mut cached = cached();
        if cached.len() == MOST {
            cached.remove(0);
        }
        cached.push((key, Arc::clone(&value)));
        value
    }
}

/// F(n)·S for n = 0..len, and S. Entries above `largest` (at least 1) are 0: no window reaches them.
fn table<I>(len: usize, largest: usize, top: f64, round: impl Fn(f64) -> I) -> (Vec<I>, f64) {
    let f = |n: usize| if n == 0 { 0.0 } else { n as f64 * (n as f64).ln() };
    // A window of one cell has F = 0 only; any unit does.
    let units = if largest > 1 { (top / f(largest)).floor() } else { 1.0 };
    let entries = (0..len).map(|n| round(if n <= largest { (f(n) * units).round() } else { 0.0 })).collect();
    (entries, units)
}

/// The 32-bit table.
pub(crate) fn table_u32(len: usize, largest: usize) -> (Vec<u32>, f64) {
    table(len, largest, f64::from(u32::MAX), |value| value as u32)
}

/// Tables of 32 bits for windows of up to `size`² cells, of which no class has more than `largest`, where no window has more than `levels`
/// classes: one for all windows, and finer ones for those with few valid cells.
///
/// What a kernel sums up is N·H, at most N·ln(levels), and only that has to fit: sums may wrap. So the unit is finer by 3 to 20 times than
/// where F of the largest window fits. The error of a result is that of some roundings over N: where nodata may leave few cells of a large
/// window, those have tables of their own.
pub(crate) struct Nested {
    /// That for all windows, then the middle, then the fine one.
    pub entries: Vec<u32>,
    /// The most valid cells that the fine and the middle one are for; 0 where there is none.
    pub cells: [usize; 2],
    /// What F is multiplied by in the fine one, the middle one and that for all.
    pub units: [f64; 3],
}

/// Valid cells from which on tables for windows of up to 255 × 255 are fine enough.
const STEPS: [usize; 2] = [31 * 31, 101 * 101];

/// Valid cells up to which one table is fine enough for any number of classes: 3/8 of a unit is less than 2e-6 of a window then.
const FEW_CELLS: usize = 51 * 51;

impl Nested {
    /// Cells that the fine and the middle table are for; 0 where there is none.
    pub fn cells(size: usize, nodata: bool) -> [usize; 2] {
        let steps = if nodata { STEPS.map(|cells| if cells < size * size { cells } else { 0 }) } else { [0; 2] };
        // Where one finer table is enough it is the middle one.
        if steps[1] == 0 { [0, steps[0]] } else { steps }
    }

    /// The same for hundreds of classes and more, where windows have `least` cells or more. The error is that of as many roundings as there are classes, if
    /// those are as unlucky as can be, over N: so that the next table begins where it is about as large.
    pub fn cells_of_many(size: usize, least: usize) -> [usize; 2] {
        let all = size * size;
        if all <= FEW_CELLS {
            return [0, 0];
        }
        let times = |cells: usize, ratio: f64| (cells as f64 * ratio) as usize;
        if least > FEW_CELLS {
            let ratio = (all as f64 / least as f64).cbrt();
            [times(least, ratio), times(least, ratio * ratio)]
        } else {
            [FEW_CELLS, times(FEW_CELLS, (all as f64 / FEW_CELLS as f64).sqrt())]
        }
    }

    /// The largest error of a result in nats, before it is rounded to an f32, for windows of `least` cells or more with up to `levels` classes and these
    /// tables.
    pub fn error(size: usize, least: usize, levels: usize, [fine, middle]: [usize; 2]) -> f64 {
        let of = |from: usize, to: usize| {
            let from = from.max(least).max(4);
            // A class of one cell is exact.
            let roundings = levels.min(from / 2) as f64 + 1.0;
            let units = f64::from(u32::MAX) / (to as f64 * (levels.min(to).max(2) as f64).ln());
            if from > to { 0.0 } else { 0.5 * roundings / from as f64 / units }
        };
        of(1, fine).max(of(fine + 1, middle)).max(of(middle + 1, size * size))
    }

    /// Entries of all tables; those of the finer ones are there where they may be needed.
    pub fn len(size: usize, finer: Option<[usize; 2]>) -> usize {
        size * size + 1 + finer.map_or(0, |[fine, middle]| middle + 1 + fine + 1)
    }

    /// The tables, made or kept.
    pub fn of(size: usize, largest: usize, levels: usize, finer: Option<[usize; 2]>) -> Arc<Self> {
        type Key = (usize, usize, usize, Option<[usize; 2]>);
        static NESTED: TableCache<Key, Nested> = TableCache::new();
        NESTED.get((size, largest, levels, finer), || Self::new(size, largest, levels, finer))
    }

    fn new(size: usize, largest: usize, levels: usize, finer: Option<[usize; 2]>) -> Self {
        let all = size * size;
        let [fine, middle] = finer.unwrap_or_default();
        let mut entries = Vec::with_capacity(Self::len(size, finer));
        let mut table = |cells: usize, largest: usize| {
            let (table, units) = wrapping(cells, largest, levels, 32);
            entries.extend(table);
            units
        };
        let coarse = table(all, largest);
        let units =
            if finer.is_some() { [table(middle, largest), table(fine, largest), coarse] } else { [1.0, 1.0, coarse] };
        let [of_middle, of_fine, coarse] = units;
        Self { entries, cells: [fine, middle], units: [of_fine, of_middle, coarse] }
    }
}

/// The low 32 bits of F for up to `cells` cells, in the finest unit in which N·H of `levels` classes, by sixteens, has `bits` bits; and the unit. No window has
/// more than `largest` cells.
pub(crate) fn wrapping(cells: usize, largest: usize, levels: usize, bits: u32) -> (Vec<u32>, f64) {
    let most = largest.min(cells);
    // Kernels take classes by sixteens, so that the exact number of classes changes no bit.
    let levels = levels.next_multiple_of(16);
    // Half a thousand units are left for roundings. A window of one cell has F = 0 only; any unit does.
    let top = most as f64 * (levels.min(most) as f64).ln();
    let units = if most > 1 { ((f64::from(bits).exp2() - 513.0) / top).floor() } else { 1.0 };
    let f = |n: usize| if n == 0 || n > most { 0.0 } else { (n as f64 * (n as f64).ln() * units).round() };
    ((0..=cells).map(|n| f(n) as u64 as u32).collect(), units)
}

/// The 64-bit table. 62 bits: more than f64 resolves.
pub(crate) fn table_u64(len: usize, largest: usize) -> (Vec<u64>, f64) {
    table(len, largest, (1u64 << 62) as f64, |value| value as u64)
}

/// n·log2 n in place of n·ln n, in 62 bits, and the unit a power of two: where a power of two of classes are equally frequent, the entropy in
/// bits is exact. For that the logarithms have to be better than an f64's.
pub(crate) fn table_bits(len: usize, largest: usize) -> (Vec<u64>, f64) {
    static TABLES: TableCache<(usize, usize), (Vec<u64>, f64)> = TableCache::new();
    (*TABLES.get((len, largest), || bits(len, largest))).clone()
}

fn bits(len: usize, largest: usize) -> (Vec<u64>, f64) {
    let top = (largest.max(2) as f64).log2() * largest.max(2) as f64;
    // The largest that lets the largest entry fit.
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
/// Squaring a number doubles its logarithm, and whether the square has passed 2 is the logarithm's next bit. What is cut off a square makes the
/// later bits too small by as much, and they count for less and less.
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
pub(crate) const FINE: f64 = 800_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_made_once_and_the_oldest_makes_room() {
        let cached = TableCache::<_, _>::new();
        let made = |key: usize| {
            let mut made = false;
            let value = cached.get(key, || {
                made = true;
                10 * key
            });
            assert_eq!(*value, 10 * key);
            made
        };
        assert_eq!([0, 1, 2, 3, 0, 1, 4, 1, 0].map(made), [true, true, true, true, false, false, true, false, true]);
    }

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
            // Logarithms of a product are the sum, closer than an f64 resolves.
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

    /// Two classes in the most unlike of windows, and as many classes as there may be: N·H fits, to the last unit of roundings.
    #[test]
    fn what_wraps_comes_out_right() {
        for (size, levels, nodata) in [(3, 2, false), (21, 16, true), (51, 17, true), (255, 256, true), (255, 2, false)]
        {
            let all = size * size;
            let nested = Nested::new(size, all, levels, nodata.then(|| Nested::cells(size, true)));
            let [fine, middle] = nested.cells;
            let begins = [all + middle + 2, all + 1, 0];
            let least = if nodata { 1 } else { all / 4 };
            for n in (1..=all)
                .step_by(7)
                .chain([2, 4, 961, 962, 1924, 10_201, 10_202, 20_404])
                .filter(|n| (least..=all).contains(n))
            {
                let which = if n <= fine {
                    0
                } else if n <= middle {
                    1
                } else {
                    2
                };
                let f = |n: usize| nested.entries[begins[which] + n];
                let classes = n.min(levels);
                let even: Vec<usize> =
                    (0..classes).map(|class| n / classes + usize::from(class < n % classes)).collect();
                for counts in [vec![n], vec![1, n - 1], even] {
                    let sum = counts.iter().fold(0u32, |sum, &n| sum.wrapping_add(f(n)));
                    let h = f64::from(f(n).wrapping_sub(sum)) / nested.units[which] / n as f64;
                    let exact: f64 =
                        counts.iter().filter(|&&m| m > 0).map(|&m| m as f64 / n as f64).map(|p| -p * p.ln()).sum();
                    // A finest unit's rounding over two cells is the most for few; many classes' cancel out.
                    assert!((h - exact).abs() < 1.8e-6, "{size}, {levels}: {n} cells as {counts:?}: {h}, {exact}");
                    assert!(counts.len() > 1 || h == 0.0);
                }
            }
        }
    }

    /// As many classes as can be have the same count, which a table rounds by as much as it can.
    #[test]
    fn tables_for_hundreds_of_classes_are_as_exact_as_is_said_of_them() {
        for (size, least, levels) in
            [(21, 1, 65_536), (51, 1, 65_536), (101, 2601, 900), (101, 1, 900), (255, 16_384, 900), (255, 16_384, 300)]
        {
            let all = size * size;
            let finer = Nested::cells_of_many(size, least);
            let (nested, said) =
                (Nested::new(size, all, levels, Some(finer)), Nested::error(size, least, levels, finer));
            assert!(said < 1.9e-6 || (size, least) == (101, 1), "{size}, {least}, {levels}: {said}");
            let [fine, middle] = finer;
            let mut worst = 0.0f64;
            for count in 2..=all {
                for classes in [all / count, fine / count, middle / count, least / count, 2].map(|n| n.min(levels)) {
                    let n = count * classes;
                    if n < least.max(1) || n > all {
                        continue;
                    }
                    let (which, begin) = match n {
                        n if n <= fine => (0, all + middle + 2),
                        n if n <= middle => (1, all + 1),
                        _ => (2, 0),
                    };
                    let sum = nested.entries[begin + count].wrapping_mul(classes as u32);
                    let h = f64::from(nested.entries[begin + n].wrapping_sub(sum)) / nested.units[which] / n as f64;
                    worst = worst.max((h - (classes as f64).ln()).abs());
                }
            }
            assert!(worst <= said && worst > 0.1 * said, "{size}, {least}, {levels}: {worst}, {said}");
        }
    }

    #[test]
    fn windows_of_21_by_21_are_fine_enough_with_nodata_and_larger_ones_are_not() {
        assert!(table_u32(442, 441).1 > FINE);
        assert!(table_u32(101 * 101 + 1, 101 * 101).1 < FINE);
    }
}
