//! Bins: classes of values between edges.
//!
//! Whatever the rule, bin k holds the values from inner edge k − 1 (included) to inner edge k (not included); the first bin has no
//! lower end and the last one no upper end. So a bin is told by comparisons alone, and no rounding of a quotient
//! decides on which side of an edge a value falls.
//!
//! Quantiles are selected by digits, as a radix sort would find them. A pass finds the smallest and the largest key; the next one counts
//! the values by the first 20 bits of what their keys are above the smallest; and the next ones, in the few buckets where a
//! quantile lies, by as many of the following bits as there are counters for ([`Counting`]): 12 at least for up to 255 edges.
//! That is exact for 32 bits after three passes. With 64 bits it ends after four, with 44 bits known and 20 open, and
//! the edge is the lowest number that begins like the quantile. Thousands of bins have more counters and three passes more.
//! Numbers of 8 and 16 bits need one pass.

use super::{BinRule, ClassesError, pass};
use crate::io::Nodata;
use crate::numbers::ValueType;
use crate::observe::Observer;
use crate::raster::cell::{Cell, each, of_type};
use crate::raster::{Raster, Values};

/// What passes count.
struct Counting {
    /// Counters of a pass, in all buckets together.
    buckets: usize,
    /// Passes that count, at most.
    passes: usize,
}

impl Counting {
    /// For so many bins.
    fn of(bins: usize) -> Self {
        match bins {
            // 20 bits, and 12 in each of the following passes.
            ..=256 => Self { buckets: 1 << 20, passes: 3 },
            // 22 bits, and 5 in each of the following.
            _ => Self { buckets: 1 << 22, passes: 6 },
        }
    }
}

/// Edges and what they were made from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Edges {
    /// Ascending, each once; one fewer than there are bins.
    pub inner: Vec<f64>,
    /// The smallest and the largest value, or the bounds given.
    pub low: f64,
    pub high: f64,
    /// No data occurs, as far as it was looked for.
    pub nodata: bool,
}

impl Edges {
    /// Bins of equal width.
    pub fn equal(low: f64, high: f64, bins: usize) -> Self {
        let (width, bins_f) = (high - low, bins as f64);
        let edge = |k: f64| match width * bins_f {
            // Multiplied before it is divided: the edges of whole numbers come out as exactly as they can.
            all if all.is_finite() => low + width * k / bins_f,
            _ => low * (1.0 - k / bins_f) + high * (k / bins_f),
        };
        let mut inner: Vec<f64> = (1..bins).map(|k| edge(k as f64)).filter(|&edge| edge > low).collect();
        inner.sort_by(f64::total_cmp);
        // Nearer together than numbers lie: fewer bins.
        inner.dedup();
        Self { inner, low, high, nodata: false }
    }

    /// One bin without values.
    pub fn nothing(nodata: bool) -> Self {
        Self { inner: Vec::new(), low: f64::NAN, high: f64::NAN, nodata }
    }

    /// Bins.
    pub fn bins(&self) -> usize {
        self.inner.len() + 1
    }

    /// The bin of a value that is a number.
    pub fn bin(&self, value: f64) -> usize {
        self.inner.partition_point(|&edge| edge <= value)
    }
}

impl BinRule {
    /// How often the raster is read at most to find the edges of so many bins.
    pub fn passes(self, values: ValueType, bins: usize) -> usize {
        match self {
            Self::EqualWidth => 1,
            Self::Quantile if values.bytes() <= 2 => 1,
            Self::Quantile if values.bytes() == 4 => {
                if bins <= 256 {
                    3
                } else {
                    4
                }
            }
            Self::Quantile => 1 + Counting::of(bins).passes,
        }
    }
}

/// Numbers that can be scanned, wherever they are. What is masked and what is no data counts for nothing.
pub(super) trait Passes {
    /// What messages call them.
    fn name(&self) -> &str;

    /// Their type.
    fn value_type(&self) -> ValueType;

    /// The smallest and the largest.
    fn extent(&self) -> Result<Extent, ClassesError>;

    /// Adds to `counts` how many there are of every digit, a run of counters for each of the prefixes; whether there is no data.
    fn count(&self, digits: &Digits<'_>, counts: &mut [u64]) -> Result<bool, ClassesError>;
}

/// Those of a raster.
pub(super) struct RasterPasses<'a> {
    pub raster: &'a dyn Raster,
    pub nodata: Option<Nodata>,
    pub observer: &'a dyn Observer,
}

impl Passes for RasterPasses<'_> {
    fn name(&self) -> &str {
        self.raster.name()
    }

    fn value_type(&self) -> ValueType {
        self.raster.value_type()
    }

    fn extent(&self) -> Result<Extent, ClassesError> {
        let mut extent = Extent::NOTHING;
        let scan = |piece: &pass::Piece<'_>| Ok(each!(&piece.values, values => Extent::of_values(values, self.nodata)));
        pass::map_reduce(self.raster, self.observer, scan, |found| {
            extent.merge(found);
            Ok(())
        })?;
        Ok(extent)
    }

    fn count(&self, digits: &Digits<'_>, counts: &mut [u64]) -> Result<bool, ClassesError> {
        let mut skipped = false;
        let scan = |piece: &pass::Piece<'_>| Ok(each!(&piece.values, values => digits.count(values, self.nodata)));
        pass::map_reduce(self.raster, self.observer, scan, |(found, missing)| {
            found.into_iter().for_each(|(at, cells)| counts[at as usize] += u64::from(cells));
            skipped |= missing;
            Ok(())
        })?;
        Ok(skipped)
    }
}

/// Looks for the edges of `bins` bins.
pub(super) fn find(numbers: &dyn Passes, bins: usize, rule: BinRule) -> Result<Edges, ClassesError> {
    match rule {
        BinRule::EqualWidth => equal(numbers, bins),
        BinRule::Quantile => quantiles(numbers, bins),
    }
}

/// The smallest and largest value, and what else there is.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// Keys of the finite ones; the first is larger where there is none.
    pub finite: (u64, u64),
    /// The same of all, infinite ones among them.
    pub all: (u64, u64),
    pub nodata: bool,
}

impl Extent {
    pub const NOTHING: Extent = Extent { finite: (u64::MAX, 0), all: (u64::MAX, 0), nodata: false };

    /// Takes in what has been found elsewhere.
    pub fn merge(&mut self, found: Extent) {
        let wider = |a: (u64, u64), b: (u64, u64)| (a.0.min(b.0), a.1.max(b.1));
        self.finite = wider(self.finite, found.finite);
        self.all = wider(self.all, found.all);
        self.nodata |= found.nodata;
    }

    fn of_values<T: Cell>(values: &[T], nodata: Option<Nodata>) -> Self {
        let nodata = nodata.and_then(T::nodata);
        let mut extent = Self::NOTHING;
        let (mut low, mut high): (Option<T>, Option<T>) = (None, None);
        for &value in values {
            if value.is_nan() || Some(value) == nodata {
                extent.nodata = true;
            } else if low.is_none_or(|low| value < low) || high.is_none_or(|high| value > high) {
                // Seldom: only where a new extreme turns up.
                let key = value.key();
                extent.all = (extent.all.0.min(key), extent.all.1.max(key));
                if value.to_f64().is_finite() {
                    low = Some(low.filter(|&low| low <= value).unwrap_or(value));
                    high = Some(high.filter(|&high| high >= value).unwrap_or(value));
                }
            }
        }
        extent.finite = low.zip(high).map_or(extent.finite, |(low, high)| (low.key(), high.key()));
        extent
    }
}

fn equal(numbers: &dyn Passes, bins: usize) -> Result<Edges, ClassesError> {
    let super::Extent { finite, infinite, nodata } = extent(numbers)?;
    match finite {
        Some((low, high)) => Ok(Edges { nodata, ..Edges::equal(low, high, bins) }),
        None if infinite => Err(ClassesError::Infinite { name: numbers.name().to_owned() }),
        None => Ok(Edges::nothing(nodata)),
    }
}

/// The same for others than the bins of one raster.
pub(super) fn extent(numbers: &dyn Passes) -> Result<super::Extent, ClassesError> {
    let Extent { finite: (low, high), all, nodata } = numbers.extent()?;
    let number = |key| of_key(numbers.value_type(), key);
    let finite = (low <= high).then(|| (number(low), number(high)));
    // Keys beyond those of the finite ones.
    let infinite = all.0 <= all.1 && (finite.is_none() || (low, high) != all);
    Ok(super::Extent { finite, infinite, nodata })
}

/// Values whose keys begin alike, among which quantiles are still looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Bucket {
    /// The first bits of their keys.
    prefix: u64,
    /// How many values lie below all of them.
    below: u64,
}

fn quantiles(numbers: &dyn Passes, bins: usize) -> Result<Edges, ClassesError> {
    let type_of = numbers.value_type();
    let mut skipped = false;
    let (mut low, mut high) = match type_of.bytes() {
        1 => (0, 0xff),
        2 => (0, 0xffff),
        _ => {
            let extent = numbers.extent()?;
            skipped = extent.nodata;
            extent.all
        }
    };
    if low > high {
        return Ok(Edges::nothing(skipped));
    }
    let width = 64 - (high - low).leading_zeros();
    let (mut prefixes, mut known) = (vec![0], 0);
    // The ranks of the edges, and how far they are known.
    let mut homes: Vec<(u64, Bucket)> = Vec::new();
    let Counting { buckets, passes } = Counting::of(bins);
    for _ in 0..passes {
        let more = (buckets / prefixes.len()).ilog2().min(width - known);
        let digits = Digits { low, span: high - low, rest: width - known - more, more, prefixes: &prefixes };
        let mut counts = vec![0u64; prefixes.len() << more];
        skipped |= numbers.count(&digits, &mut counts)?;
        if known == 0 {
            let total: u64 = counts.iter().sum();
            if total == 0 {
                return Ok(Edges::nothing(skipped));
            }
            // The first is the smallest value, the last the largest.
            let rank = |k: usize| (u128::from(total) * k as u128 / bins as u128) as u64;
            let ranks = (0..bins).map(rank).chain([total - 1]);
            homes = ranks.map(|rank| (rank, Bucket { prefix: 0, below: 0 })).collect();
        }
        // Ranks ascend, so in a bucket the search goes on where the one before has ended.
        let mut last: Option<(Bucket, usize, u64)> = None;
        for (rank, home) in &mut homes {
            // A file that changes between passes may lack what it had: any bucket is as good as any other.
            let bucket = prefixes.binary_search(&home.prefix).unwrap_or(0);
            let counts = &counts[bucket << more..][..1 << more];
            let (mut digit, mut below) = match last {
                Some((bucket, digit, below)) if bucket == *home => (digit, below),
                _ => (0, home.below),
            };
            while digit < counts.len() && *rank >= below + counts[digit] {
                below += counts[digit];
                digit += 1;
            }
            last = Some((*home, digit, below));
            *home = Bucket { prefix: home.prefix << more | digit.min(counts.len() - 1) as u64, below };
        }
        known += more;
        prefixes = homes.iter().map(|(_, home)| home.prefix).collect();
        prefixes.dedup();
        if known == width {
            break;
        }
    }
    let keys: Vec<u64> = homes.iter().map(|(_, home)| low + (home.prefix << (width - known))).collect();
    if type_of.bytes() <= 2 {
        (low, high) = (keys[0], keys[keys.len() - 1]);
    }
    let (low, high) = (of_key(type_of, low), of_key(type_of, high));
    let inner = keys[1..keys.len() - 1].iter().map(|&key| of_key(type_of, key));
    let mut inner: Vec<f64> = inner.filter(|&edge| edge > low).collect();
    inner.dedup();
    Ok(Edges { inner, low, high, nodata: skipped })
}

/// What a pass counts: of every key less `low`, the `more` bits before the last `rest` ones, where those before them are one of
/// `prefixes`.
pub(super) struct Digits<'a> {
    pub low: u64,
    /// The largest key less the smallest.
    pub span: u64,
    pub rest: u32,
    pub more: u32,
    /// Ascending.
    pub prefixes: &'a [u64],
}

impl Digits<'_> {
    /// Counters that are not 0 and where they are, and whether there is no data.
    fn count<T: Cell>(&self, values: &[T], nodata: Option<Nodata>) -> (Vec<(u32, u32)>, bool) {
        let nodata = nodata.and_then(T::nodata);
        let mut counts = vec![0u32; self.prefixes.len() << self.more];
        let mut skipped = false;
        for &value in values {
            if value.is_nan() || Some(value) == nodata {
                skipped = true;
                continue;
            }
            // Always within, unless the file changes between passes.
            let first = value.key().saturating_sub(self.low).min(self.span) >> self.rest;
            if let Ok(bucket) = self.prefixes.binary_search(&(first >> self.more)) {
                counts[bucket << self.more | (first & ((1 << self.more) - 1)) as usize] += 1;
            }
        }
        let occupied = counts.into_iter().enumerate().filter(|(_, cells)| *cells > 0);
        (occupied.map(|(at, cells)| (at as u32, cells)).collect(), skipped)
    }
}

/// The number with this key, as an f64.
fn of_key(values: ValueType, key: u64) -> f64 {
    of_type!(values, T => T::of_key(key).to_f64())
}
