//! What numbers of a band are alike: how many there are, the least and the largest, their mean and standard deviation.
//!
//! They are those of the numbers that are stored, as GDAL has them, so that of results in whole numbers they are in steps. Blocks are summed up each by itself,
//! while they are in the cache, and joined in the order of the file, so that nothing depends on who computed what when. Within a block floating-point numbers are
//! summed up as differences from its first one, in several lanes, whole ones exactly; blocks are joined by the formula of Chan, Golub and LeVeque (Updating formulae and a pairwise algorithm for computing
//! sample variances, 1979).

use super::stored::StoredType;

/// Numbers that are summed up side by side.
const LANES: usize = 8;

/// Of the numbers of a part, those without data left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Statistics {
    count: u64,
    /// All numbers, those without data too.
    all: u64,
    least: f64,
    most: f64,
    mean: f64,
    /// The sum of the squares of differences from the mean.
    squares: f64,
}

impl Default for Statistics {
    fn default() -> Self {
        Self { count: 0, all: 0, least: f64::INFINITY, most: f64::NEG_INFINITY, mean: 0.0, squares: 0.0 }
    }
}

impl Statistics {
    /// Of nothing but no data.
    pub(super) fn nothing(cells: usize) -> Self {
        Self { all: cells as u64, ..Self::default() }
    }

    /// Of rows of numbers as they are stored, in the byte order of the machine.
    pub(super) fn of<'a>(of: StoredType, nodata: Option<f64>, rows: impl Iterator<Item = &'a [u8]>) -> Self {
        // Whole numbers below 2^16.
        let nodata = nodata.map(|number| number as i64);
        match of {
            StoredType::F32 => real(rows, f32::from_ne_bytes, [f32::INFINITY, f32::NEG_INFINITY]),
            StoredType::F64 => real(rows, f64::from_ne_bytes, [f64::INFINITY, f64::NEG_INFINITY]),
            StoredType::U8 => whole(rows, |bytes| u8::from_ne_bytes(bytes).into(), nodata),
            StoredType::U16 => whole(rows, |bytes| u16::from_ne_bytes(bytes).into(), nodata),
            StoredType::I16 => whole(rows, |bytes| i16::from_ne_bytes(bytes).into(), nodata),
        }
    }

    /// Those of both parts.
    pub(super) fn with(self, other: Self) -> Self {
        let all = self.all + other.all;
        match (self.count, other.count) {
            (0, _) => Self { all, ..other },
            (_, 0) => Self { all, ..self },
            (mine, others) => {
                let (mine, others) = (mine as f64, others as f64);
                let apart = other.mean - self.mean;
                Self {
                    count: self.count + other.count,
                    all,
                    least: self.least.min(other.least),
                    most: self.most.max(other.most),
                    mean: self.mean + apart * others / (mine + others),
                    squares: self.squares + other.squares + apart * apart * mine * others / (mine + others),
                }
            }
        }
    }

    /// Names and values of GDAL's metadata.
    pub(super) fn items(&self) -> Vec<(&'static str, String)> {
        let share = 100.0 * self.count as f64 / self.all.max(1) as f64;
        let mut items = Vec::new();
        if self.count > 0 {
            let deviation = (self.squares / self.count as f64).sqrt();
            items.extend([
                ("STATISTICS_MAXIMUM", self.most.to_string()),
                ("STATISTICS_MEAN", self.mean.to_string()),
                ("STATISTICS_MINIMUM", self.least.to_string()),
                ("STATISTICS_STDDEV", deviation.to_string()),
            ]);
        }
        // What is not all is less than 100.
        let share = if self.count < self.all { format!("{:.4}", share.min(99.9999)) } else { "100".to_owned() };
        items.push(("STATISTICS_VALID_PERCENT", share));
        items
    }
}

/// Of floating-point numbers, of which NaN is no data.
#[inline(always)]
fn real<'a, F: Copy + PartialOrd + Into<f64>, const N: usize>(
    rows: impl Iterator<Item = &'a [u8]>,
    number: fn([u8; N]) -> F,
    [highest, lowest]: [F; 2],
) -> Statistics {
    let value = |&bytes: &[u8; N]| -> f64 { number(bytes).into() };
    let first = |numbers: &[[u8; N]]| numbers.iter().map(value).find(|number| !number.is_nan());
    // Near to all others, so that squares lose nothing: the first number that there is.
    let mut nearby = None;
    let mut of_all = Statistics::default();
    let (mut sum, mut squares) = (0.0, 0.0);
    for row in rows {
        let numbers = row.as_chunks::<N>().0;
        of_all.all += numbers.len() as u64;
        nearby = nearby.or_else(|| first(numbers));
        let Some(near) = nearby else { continue };
        // As if there were no NaN, which a sum shows.
        let (mut sums, mut powers) = ([0.0; LANES], [0.0; LANES]);
        let (mut least, mut most) = ([highest; LANES], [lowest; LANES]);
        let (groups, rest) = numbers.as_chunks::<LANES>();
        let mut add = |lane: usize, bytes: [u8; N]| {
            let number = number(bytes);
            let apart = number.into() - near;
            sums[lane] += apart;
            powers[lane] += apart * apart;
            least[lane] = if number < least[lane] { number } else { least[lane] };
            most[lane] = if number > most[lane] { number } else { most[lane] };
        };
        for group in groups {
            for (lane, &bytes) in group.iter().enumerate() {
                add(lane, bytes);
            }
        }
        rest.iter().enumerate().for_each(|(lane, &bytes)| add(lane, bytes));
        let of_row: f64 = sums.iter().sum();
        if !of_row.is_nan() {
            of_all.count += numbers.len() as u64;
            sum += of_row;
            squares += powers.iter().sum::<f64>();
            of_all.least = least.into_iter().map(F::into).fold(of_all.least, f64::min);
            of_all.most = most.into_iter().map(F::into).fold(of_all.most, f64::max);
            continue;
        }
        for number in numbers.iter().map(value).filter(|number| !number.is_nan()) {
            of_all.count += 1;
            sum += number - near;
            squares += (number - near) * (number - near);
            of_all.least = of_all.least.min(number);
            of_all.most = of_all.most.max(number);
        }
    }
    if of_all.count > 0 {
        let count = of_all.count as f64;
        of_all.mean = nearby.unwrap_or(0.0) + sum / count;
        of_all.squares = (squares - sum * sum / count).max(0.0);
    }
    of_all
}

/// Of whole numbers of 16 bits or fewer, exactly.
#[inline(always)]
fn whole<'a, const N: usize>(
    rows: impl Iterator<Item = &'a [u8]>,
    number: fn([u8; N]) -> i32,
    nodata: Option<i64>,
) -> Statistics {
    let nodata = nodata.and_then(|nodata| i32::try_from(nodata).ok()).unwrap_or(i32::MAX);
    let (mut all, mut count, mut sum, mut squares) = (0, 0i64, 0i64, 0i64);
    let (mut least, mut most) = (i32::MAX, i32::MIN);
    for row in rows {
        let numbers = row.as_chunks::<N>().0;
        all += numbers.len() as u64;
        for &bytes in numbers {
            let number = number(bytes);
            let there = number != nodata;
            let counted = if there { number } else { 0 };
            count += i64::from(there);
            sum += i64::from(counted);
            // Below 2^32.
            squares += i64::from(counted) * i64::from(counted);
            least = least.min(if there { number } else { i32::MAX });
            most = most.max(if there { number } else { i32::MIN });
        }
    }
    if count == 0 {
        return Statistics { all, ..Statistics::default() };
    }
    // Differences of large numbers: exact before they are divided.
    let apart = i128::from(count) * i128::from(squares) - i128::from(sum) * i128::from(sum);
    let (least, most, mean) = (least.into(), most.into(), sum as f64 / count as f64);
    Statistics { count: count as u64, all, least, most, mean, squares: apart as f64 / count as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition, in two passes.
    fn defined(numbers: &[f64]) -> [f64; 4] {
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / count;
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        [least, numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max), mean, variance.sqrt()]
    }

    fn found(statistics: Statistics) -> [f64; 4] {
        let Statistics { count, least, most, mean, squares, .. } = statistics;
        [least, most, mean, (squares / count as f64).sqrt()]
    }

    fn near(a: [f64; 4], b: [f64; 4]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-7 * b.abs().max(1e-3))
    }

    #[test]
    fn parts_joined_are_those_of_the_definition() {
        let mut random = fastrand::Rng::with_seed(3);
        for (offset, scale) in [(0.0, 1.0), (1e6, 1e-2), (-3.0, 40.0)] {
            let numbers: Vec<f64> = (0..1003).map(|_| offset + scale * random.f64()).collect();
            let holes: Vec<f64> = numbers.iter().map(|&n| if random.u8(..) < 60 { f64::NAN } else { n }).collect();
            let there: Vec<f64> = holes.iter().copied().filter(|n| !n.is_nan()).collect();
            for length in [1, 7, 8, 100, 1003] {
                let parts = holes.chunks(length).map(|part| {
                    let rows: Vec<&[u8]> = part.chunks(13).map(bytemuck::cast_slice).collect();
                    Statistics::of(StoredType::F64, None, rows.into_iter())
                });
                let joined = parts.fold(Statistics::nothing(0), Statistics::with);
                assert!(near(found(joined), defined(&there)), "{:?} {:?}", found(joined), defined(&there));
                assert_eq!((joined.count, joined.all), (there.len() as u64, 1003));
            }
        }
    }

    #[test]
    fn a_first_row_without_data_costs_no_digits() {
        let numbers: Vec<f64> = (0..1000).map(|i| 1e7 + f64::from(i % 7) * 1e-3).collect();
        let nothing = [f64::NAN; 5];
        let rows = [bytemuck::cast_slice(&nothing), bytemuck::cast_slice(&numbers)];
        let statistics = Statistics::of(StoredType::F64, None, rows.into_iter());
        assert!(near(found(statistics), defined(&numbers)), "{:?} {:?}", found(statistics), defined(&numbers));
        assert_eq!((statistics.count, statistics.all), (1000, 1005));
    }

    #[test]
    fn every_type_has_its_value_for_no_data() {
        let of = |of, nodata, bytes: &[u8]| {
            let statistics = Statistics::of(of, nodata, [bytes].into_iter());
            (statistics.count, statistics.least, statistics.most)
        };
        assert_eq!(of(StoredType::U8, Some(255.0), &[3, 255, 9]), (2, 3.0, 9.0));
        assert_eq!(of(StoredType::U8, None, &[3, 255, 9]), (3, 3.0, 255.0));
        assert_eq!(of(StoredType::U16, Some(65_535.0), bytemuck::cast_slice(&[3u16, 65_535])), (1, 3.0, 3.0));
        assert_eq!(of(StoredType::I16, Some(-32_768.0), bytemuck::cast_slice(&[3i16, -32_768, 1])), (2, 1.0, 3.0));
        assert_eq!(of(StoredType::F32, None, bytemuck::cast_slice(&[0.5f32, f32::NAN])), (1, 0.5, 0.5));
    }

    #[test]
    fn items_are_named_as_gdal_names_them() {
        let two = Statistics::of(StoredType::U8, Some(0.0), [&[0, 1, 3, 0][..]].into_iter());
        let items = two.items().into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
        assert_eq!(
            items,
            [
                "STATISTICS_MAXIMUM=3",
                "STATISTICS_MEAN=2",
                "STATISTICS_MINIMUM=1",
                "STATISTICS_STDDEV=1",
                "STATISTICS_VALID_PERCENT=50.0000"
            ]
        );
        assert_eq!(Statistics::nothing(9).items(), [("STATISTICS_VALID_PERCENT", "0.0000".to_owned())]);
        let share = Statistics { count: 999_999_999, all: 1_000_000_000, ..two };
        assert_eq!(share.items()[4].1, "99.9999");
    }
}
