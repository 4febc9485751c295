//! Classes: from a raster's numbers, whatever their type, to dense codes 0, 1, 2, …: bytes where there are few.
//!
//! Engines count classes by their codes, and every code costs them time, whether it occurs or not. Land-cover maps number their
//! classes 11, 21, .., 95, keep them in 32-bit or floating-point numbers and mark no data by −9999; elevations have no
//! classes at all until they are sorted into bins. [`Classes`] is what all of these become: a rule that gives every
//! number a code below [`levels`](Classes::levels), or that of no data, or says that it has none.
//!
//! ```text
//! survey      the values that occur are the classes: a pass over the raster finds them
//! identity    the numbers are codes already: no pass
//! from_file   a list of values, several of which may be one class: no pass
//! bins        equally wide or equally full: a pass to four
//! with_range  equally wide between bounds that are known: no pass
//! of_values, of_extent, of_edges    what was found in parts of a raster, or is known: no pass
//! ```
//!
//! There are 65,536 codes; no data takes one where it may occur. Up to 256 of them are bytes, more are 16-bit words ([`width`](Classes::width)).
//! NaN is no data everywhere.
//!
//! ```
//! use halotile::classes::Classes;
//! use halotile::io::Nodata;
//! use halotile::raster::{GridRaster, Raster};
//! use halotile::grid::Grid;
//!
//! let map = GridRaster::new("map", Grid::from_vec(vec![11u8, 95, 255, 21, 11, 95], 2, 3)?, Some(255));
//! let (classes, survey) = Classes::survey(&map, map.nodata(), &())?;
//! let mut codes = [0u8; 6];
//! classes.encode(&map.read(0..2, 0..3)?, &mut codes)?;
//! assert_eq!(codes, [0, 2, 3, 1, 0, 2]);
//! assert_eq!((classes.levels(), classes.nodata_code()), (3, Some(3)));
//! assert_eq!((survey.cells, survey.nodata), (vec![2, 1, 2], 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use serde::{Serialize, Serializer};

mod bins;
mod coded;
pub(crate) mod device;
mod encode;
mod error;
mod list;
mod parts;
mod pass;
pub(crate) mod steps;
mod survey;
#[cfg(test)]
pub(crate) mod tests;

use bins::Edges;
pub use coded::CodedRaster;
use encode::Encoder;
pub use error::{ClassesError, UnknownValue};
pub use parts::Extent;

use crate::codes::{self, BYTE_LEVELS, Code, MAX_LEVELS};
use crate::io::{Nodata, Problem};
use crate::numbers::ValueType;
use crate::observe::Observer;
use crate::raster::{Raster, Values};

/// What stands for the value of a masked cell, in an [`UnknownValue`].
pub(crate) const MASKED: &str = "hidden by a mask";

/// How bins are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinRule {
    /// All bins are equally wide, from the smallest finite value to the largest. What is infinite belongs to the first or the
    /// last bin.
    EqualWidth,
    /// All bins hold as many cells, as far as equal values allow: a value that occurs more often than a bin has room takes several,
    /// and then there are fewer bins than asked for. Exact for numbers of up to 32 bits, and for those of 64 where all lie within
    /// 2^44 of each other; otherwise edges may be lower than that by less than 2^−32 of their value (2^20, in integers).
    Quantile,
}

/// What a survey saw.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Survey {
    /// Cells of every class, by code.
    pub cells: Vec<u64>,
    /// Cells without data.
    pub nodata: u64,
}

/// Gives numbers their codes; see [the module](self).
#[derive(Debug, Clone)]
pub struct Classes {
    rule: Rule,
    levels: usize,
    nodata: Option<Nodata>,
    /// The code of no data. `None`: no data does not occur, or nothing was said about it.
    code: Option<u16>,
    /// It is known whether no data occurs.
    surveyed: bool,
    origin: Origin,
    /// Made for the first type of numbers that comes along; there is seldom a second.
    encoder: OnceLock<Encoder>,
}

/// What decides on a code.
#[derive(Debug, Clone, PartialEq)]
enum Rule {
    /// Codes of whole numbers; `None` is no data.
    Listed { codes: BTreeMap<i128, Option<u16>>, others: Others, names: Vec<Option<String>> },
    /// `equal`: all are equally wide.
    Bins { edges: Edges, equal: bool },
}

/// What becomes of numbers that are not listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    Error,
    Nodata,
    Class(u16),
}

/// Where classes come from, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    Survey,
    Identity,
    /// The list's name.
    List(String),
    Bins,
}

/// A class, for people and for JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Class {
    /// Its code.
    pub code: u16,
    /// Its name, where a list gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its values.
    #[serde(flatten)]
    pub members: Members,
}

/// The values of a class.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Members {
    /// These, ascending.
    #[serde(serialize_with = "numbers")]
    Values(Vec<i128>),
    /// All that no other class has; besides, these.
    #[serde(serialize_with = "numbers")]
    OthersAnd(Vec<i128>),
    /// From the first number (included) up to the second (not included). The first bin also has what is smaller, the last one what
    /// is its upper end or larger. NaN where there are no values at all.
    Between(f64, f64),
}

/// Whole numbers as JSON has them; those beyond 64 bits as floating-point numbers.
fn numbers<S: Serializer>(values: &[i128], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Number {
        Negative(i64),
        Positive(u64),
        Large(f64),
    }
    serializer.collect_seq(values.iter().map(|&value| match (i64::try_from(value), u64::try_from(value)) {
        (Ok(value), _) => Number::Negative(value),
        (_, Ok(value)) => Number::Positive(value),
        _ => Number::Large(value as f64),
    }))
}

impl Classes {
    /// The values that occur in the raster are the classes, in ascending order. They have to be whole numbers, in floating-point
    /// rasters too, and 65,536 at most, or 65,535 and no data. `nodata` is the value that is no data.
    ///
    /// Reads all of the raster, once, in parallel and in bounded memory. The observer is notified of the cells that were looked at.
    pub fn survey(
        raster: &dyn Raster,
        nodata: Option<Nodata>,
        observer: &dyn Observer,
    ) -> Result<(Self, Survey), ClassesError> {
        let found = survey::survey(raster, nodata, observer)?;
        let survey = Survey { cells: found.cells.values().copied().collect(), nodata: found.nodata };
        let classes = Self::of_values(found.cells.into_keys(), nodata, survey.nodata > 0)?;
        Ok((classes, survey))
    }

    /// The numbers are codes already, below `levels` (1 to 65,536). `nodata` is the value that is no data; it may be below `levels`.
    pub fn identity(levels: usize, nodata: Option<Nodata>) -> Result<Self, ClassesError> {
        check("levels", levels)?;
        let mut codes: BTreeMap<_, _> = (0..levels as i128).zip((0..=u16::MAX).map(Some)).collect();
        let inside = match nodata {
            Some(Nodata::Whole(value)) => codes.remove(&value).flatten(),
            _ => None,
        };
        let rule = Rule::Listed { codes, others: Others::Error, names: vec![None; levels] };
        let mut classes = Self::new(rule, levels, nodata, Origin::Identity);
        // One of all bytes, or of all codes, needs no code besides.
        if matches!(levels, BYTE_LEVELS | MAX_LEVELS) && inside.is_some() {
            classes.code = inside;
        } else if nodata.is_some() {
            classes.reserve()?;
        }
        Ok(classes)
    }

    /// The classes that a list in a file names. `nodata` is a value that is no data unless the list has it.
    ///
    /// The list is text, a line for a value or a range of whole numbers, ends included, then a comma and the name of the class.
    /// Lines with the same name make one class; without a name the value is a class of its own. The name `nodata` marks no data, and
    /// the value `*` stands for all numbers that are not listed: without such a line they are errors where they are met. What
    /// follows a `#` is a comment. Codes are given in the order of the lines.
    ///
    /// ```
    /// use halotile::classes::Classes;
    /// let list = "11, water\n41..43, forest   # deciduous, evergreen, mixed\n90, forest\n95\n*, nodata\n";
    /// let classes = Classes::parse(list, "nlcd.csv", None)?;
    /// assert_eq!((classes.levels(), classes.nodata_code()), (3, Some(3)));
    /// # Ok::<(), halotile::classes::ClassesError>(())
    /// ```
    pub fn from_file(path: &Path, nodata: Option<Nodata>) -> Result<Self, ClassesError> {
        let name = path.display().to_string();
        let text = list::read(path, &name)?;
        Self::parse(&text, &name, nodata)
    }

    /// The same from the list's text; `name` is for messages.
    pub fn parse(text: &str, name: &str, nodata: Option<Nodata>) -> Result<Self, ClassesError> {
        let list::List { codes, others, names, .. } = list::parse(text, name)?;
        let levels = names.len();
        let marks = others == Others::Nodata || codes.values().any(Option::is_none);
        let names = names.into_iter().map(Some).collect();
        let rule = Rule::Listed { codes, others, names };
        let mut classes = Self::new(rule, levels, nodata, Origin::List(name.to_owned()));
        if marks || nodata.is_some() {
            classes.reserve()?;
        }
        Ok(classes)
    }

    /// The same classes where `nodata` is no data: for those of a list that was read before the raster was known. A value that the
    /// list has is what the list says.
    pub fn with_nodata(mut self, nodata: Option<Nodata>) -> Result<Self, ClassesError> {
        self.nodata = nodata;
        self.encoder = OnceLock::new();
        if nodata.is_some() {
            self.reserve()?;
        }
        Ok(self)
    }

    /// `bins` bins (1 to 65,536, or 65,535 where no data occurs), laid out by `rule`. `nodata` is the value that is no data.
    ///
    /// Reads all of the raster in parallel and in bounded memory, as often as [`BinRule::passes`] says; the observer is notified of the cells
    /// that were looked at, in every pass.
    pub fn bins(
        raster: &dyn Raster,
        bins: usize,
        rule: BinRule,
        nodata: Option<Nodata>,
        observer: &dyn Observer,
    ) -> Result<Self, ClassesError> {
        check("bins", bins)?;
        Self::of_bins(bins::find(&bins::RasterPasses { raster, nodata, observer }, bins, rule)?, rule, nodata)
    }

    /// The bins that a search has found.
    fn of_bins(edges: Edges, rule: BinRule, nodata: Option<Nodata>) -> Result<Self, ClassesError> {
        let occurs = edges.nodata;
        let mut classes = Self::laid_out(edges, rule == BinRule::EqualWidth, nodata);
        classes.surveyed = true;
        if occurs {
            classes.reserve()?;
        }
        Ok(classes)
    }

    /// `bins` bins of equal width between `low` and `high`, which belongs to the last one. Smaller values are in the first bin and
    /// larger ones in the last.
    pub fn with_range(low: f64, high: f64, bins: usize, nodata: Option<Nodata>) -> Result<Self, ClassesError> {
        check("bins", bins)?;
        if !(low.is_finite() && high.is_finite() && low < high) {
            return Err(ClassesError::Bounds { low, high });
        }
        let mut classes = Self::laid_out(Edges::equal(low, high, bins), true, nodata);
        if nodata.is_some() {
            classes.reserve()?;
        }
        Ok(classes)
    }

    fn laid_out(edges: Edges, equal: bool, nodata: Option<Nodata>) -> Self {
        let levels = edges.bins();
        Self::new(Rule::Bins { edges, equal }, levels, nodata, Origin::Bins)
    }

    fn new(rule: Rule, levels: usize, nodata: Option<Nodata>, origin: Origin) -> Self {
        Self { rule, levels, nodata, code: None, surveyed: false, origin, encoder: OnceLock::new() }
    }

    /// Codes of classes are below this: 1 to 65,536.
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// The code of cells without data, if there may be any: [`levels`](Self::levels), or a code below where that is 256 or 65,536.
    pub fn nodata_code(&self) -> Option<u16> {
        self.code
    }

    /// The bytes that a code takes: 1 where all of them, with that of no data, are below 256, else 2.
    ///
    /// ```
    /// use halotile::classes::Classes;
    /// assert_eq!(Classes::of_values(0..256, None, false)?.width(), 1);
    /// assert_eq!(Classes::of_values(0..256, None, true)?.width(), 2);
    /// # Ok::<(), halotile::classes::ClassesError>(())
    /// ```
    pub fn width(&self) -> usize {
        codes::width(self.levels, self.code)
    }

    /// The classes in the order of their codes.
    pub fn describe(&self) -> Vec<Class> {
        match &self.rule {
            Rule::Bins { edges, .. } => (0..self.levels)
                .map(|bin| {
                    let from = if bin == 0 { edges.low } else { edges.inner[bin - 1] };
                    let to = edges.inner.get(bin).copied().unwrap_or(edges.high);
                    Class { code: bin as u16, name: None, members: Members::Between(from, to) }
                })
                .collect(),
            Rule::Listed { codes, others, names } => {
                let mut values = vec![Vec::new(); self.levels];
                for (&value, code) in codes {
                    if let Some(code) = code {
                        values[usize::from(*code)].push(value);
                    }
                }
                let class = |((code, name), values): ((u16, &Option<String>), Vec<i128>)| {
                    let members = match others {
                        Others::Class(others) if *others == code => Members::OthersAnd(values),
                        _ => Members::Values(values),
                    };
                    Class { code, name: name.clone(), members }
                };
                (0..=u16::MAX).zip(names).zip(values).map(class).collect()
            }
        }
    }

    /// The codes of `values`, into `out`, which has as many places for codes of the [`width`](Self::width) or more (otherwise it panics).
    pub fn encode<C: Code>(&self, values: &Values, out: &mut [C]) -> Result<(), UnknownValue> {
        self.encode_part(values, 0..values.len(), out)
    }

    /// The codes of some of the values.
    pub(crate) fn encode_part<C: Code>(
        &self,
        values: &Values,
        range: Range<usize>,
        out: &mut [C],
    ) -> Result<(), UnknownValue> {
        assert!(self.width() <= size_of::<C>(), "codes of {} levels are no bytes", self.levels);
        let encoder = self.encoder.get_or_init(|| Encoder::new(self, values.value_type()));
        if encoder.values == values.value_type() {
            encoder.encode(values, range, out)
        } else {
            Encoder::new(self, values.value_type()).encode(values, range, out)
        }
    }

    /// Makes sure that there is a code for no data.
    pub(crate) fn reserve(&mut self) -> Result<(), ClassesError> {
        if self.code.is_none() {
            self.code = Some(u16::try_from(self.levels).map_err(|_| ClassesError::NoRoom)?);
            self.encoder = OnceLock::new();
        }
        Ok(())
    }

    /// The same where numbers of this type may be NaN, if there is room.
    pub(crate) fn reserve_for(&mut self, values: ValueType) {
        if values.is_real() && !self.surveyed {
            // Without room a NaN is an error where it is met.
            let _ = self.reserve();
        }
    }

    /// What to say of a number that has no code.
    pub(crate) fn problem(&self, unknown: &UnknownValue) -> Problem {
        let value = &unknown.value;
        match &self.origin {
            _ if value == "NaN" => Problem::new(
                "the value is NaN, which is no data, and 65536 classes leave no code for it",
                "take 65535 classes or fewer",
            ),
            _ if value == MASKED => Problem::new(
                "the file's own mask says that there is no data, and 65536 classes leave no code for it",
                "take 65535 classes or fewer, or leave masks out of account",
            ),
            Origin::Survey | Origin::Bins => Problem::new(
                format!("the value {value} was not there when the file was looked through"),
                "let nothing change the file, and try again",
            ),
            Origin::Identity => Problem::new(
                format!("the value {value} is no level from 0 to {}", self.levels - 1),
                "ask for more levels or for none, or name the nodata value if this is it",
            ),
            Origin::List(list) => {
                Problem::new(format!("the value {value} is not listed in {list}"), "list it, or add a line *,nodata")
            }
        }
    }
}

fn check(what: &'static str, got: usize) -> Result<(), ClassesError> {
    if (1..=MAX_LEVELS).contains(&got) { Ok(()) } else { Err(ClassesError::Count { what, most: MAX_LEVELS, got }) }
}
