//! What numbers of a band are alike: how many there are, the least and the largest, their mean and standard deviation.
//!
//! They are those of the numbers that are stored, as GDAL has them, so that of results in whole numbers they are in steps. Blocks are summed up each by itself,
//! while they are in the cache, and joined in the order of the file, so that nothing depends on who computed what when. Within a block the sums are of differences from
//! its first number, in several lanes; blocks are joined by the formula of Chan, Golub and LeVeque (Updating formulae and a pairwise algorithm for computing
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
        match of {
            StoredType::F32 => sum(rows, |bytes| f64::from(f32::from_ne_bytes(bytes)), |number| !number.is_nan()),
            StoredType::F64 => sum(rows, f64::from_ne_bytes, |number| !number.is_nan()),
            StoredType::U8 => sum(rows, |bytes| f64::from(u8::from_ne_bytes(bytes)), |number| Some(number) != nodata),
            StoredType::U16 => sum(rows, |bytes| f64::from(u16::from_ne_bytes(bytes)), |number| Some(number) != nodata),
            StoredType::I16 => sum(rows, |bytes| f64::from(i16::from_ne_bytes(bytes)), |number| Some(number) != nodata),
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
        // Four digits, as GDAL has it; but what is not all is less than 100.
        let share = if self.count < self.all { format!("{:.4}", share.min(99.9999)) } else { "100".to_owned() };
        items.push(("STATISTICS_VALID_PERCENT", share));
        items
    }
}

#[inline(always)]
fn sum<'a, const N: usize>(
    rows: impl Iterator<Item = &'a [u8]>,
    number: impl Fn([u8; N]) -> f64,
    is_there: impl Fn(f64) -> bool,
) -> Statistics {
    let mut rows = rows.peekable();
    let first =
        |row: &&[u8]| row.as_chunks::<N>().0.iter().map(|&bytes| number(bytes)).find(|&number| is_there(number));
    // Near to all others, so that squares lose nothing.
    let near = rows.peek().and_then(first).unwrap_or(0.0);
    let (mut count, mut sums, mut squares) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let (mut least, mut most) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
    let mut add = |lane: usize, bytes: [u8; N]| {
        let number = number(bytes);
        let there = is_there(number);
        let apart = if there { number - near } else { 0.0 };
        count[lane] += if there { 1.0 } else { 0.0 };
        sums[lane] += apart;
        squares[lane] += apart * apart;
        let (low, high) = if there { (number, number) } else { (f64::INFINITY, f64::NEG_INFINITY) };
        least[lane] = if low < least[lane] { low } else { least[lane] };
        most[lane] = if high > most[lane] { high } else { most[lane] };
    };
    let mut all = 0;
    for row in rows {
        let (groups, rest) = row.as_chunks::<N>().0.as_chunks::<LANES>();
        all += (groups.len() * LANES + rest.len()) as u64;
        for group in groups {
            for (lane, &bytes) in group.iter().enumerate() {
                add(lane, bytes);
            }
        }
        rest.iter().enumerate().for_each(|(lane, &bytes)| add(lane, bytes));
    }
    let (there, sum): (f64, f64) = (count.iter().sum(), sums.iter().sum());
    if there == 0.0 {
        return Statistics { all, ..Statistics::default() };
    }
    Statistics {
        count: there as u64,
        all,
        least: least.into_iter().fold(f64::INFINITY, f64::min),
        most: most.into_iter().fold(f64::NEG_INFINITY, f64::max),
        mean: near + sum / there,
        squares: (squares.iter().sum::<f64>() - sum * sum / there).max(0.0),
    }
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
