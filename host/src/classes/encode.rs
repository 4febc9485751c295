//! From numbers to codes, fast.
//!
//! ```text
//! bytes that are their own codes     a copy, and a look at the largest
//! 8 and 16 bits                      a table of all numbers
//! wider, classes close together      a table from the smallest class to the largest (land cover in i32 or f32)
//! wider, classes far apart           binary search, unless the number is the one before (land cover comes in patches)
//! wider, bins                        a guess by arithmetic, then the edges decide; a search where widths differ
//! ```
//!
//! Tables hold 32 bits a number: the code, or [`NO_CODE`], which no code has. Codes come out as bytes or words, as they are asked for. The loops only
//! collect it; where one turns up, the numbers are scanned again for the first. No data is in the table like any other number, or met where the table
//! does not reach.

use std::ops::Range;

use super::bins::Edges;
use super::{Classes, Others, Rule, UnknownValue};
use crate::codes::Code;
use crate::numbers::ValueType;
use crate::raster::Values;
use crate::raster::cell::{Cell, each, of_type};

/// What is no class.
const NO_CODE: u32 = 1 << 16;

/// The longest table of numbers wider than 16 bits.
const SPAN: i128 = 1 << 18;

/// How numbers of one type become codes. Numbers are kept as their keys.
#[derive(Debug, Clone)]
pub(super) struct Encoder {
    pub values: ValueType,
    method: Method,
    /// The number that is no data.
    nodata: Option<u64>,
    /// The code of no data.
    nodata_code: u32,
    /// The code of numbers that nothing was said about.
    others: u32,
    /// Bytes below this are their own codes, and others have none.
    bytes_below: Option<usize>,
}

#[derive(Debug, Clone)]
enum Method {
    /// The codes of the numbers from `low` on, one apart.
    Table { low: u64, codes: Vec<u32> },
    /// Numbers, ascending, and their codes.
    Search { keys: Vec<u64>, codes: Vec<u32> },
    /// The code is the bin; `scale`: bins for each one of value, a guess.
    Bins { edges: Edges, scale: f64 },
}

impl Classes {
    /// The codes of no data and of numbers that nothing was said about.
    fn code_of_others(&self) -> (u32, u32) {
        let nodata = self.nodata_code().map_or(NO_CODE, u32::from);
        let others = match &self.rule {
            Rule::Listed { others: Others::Class(code), .. } => u32::from(*code),
            Rule::Listed { others: Others::Nodata, .. } => nodata,
            Rule::Listed { others: Others::Error, .. } | Rule::Bins { .. } => NO_CODE,
        };
        (nodata, others)
    }

    /// The code of a number, or [`NO_CODE`]: the reference for all methods of encoding.
    pub(super) fn code_of<T: Cell>(&self, number: T) -> u32 {
        let (nodata_code, others) = self.code_of_others();
        let is_nodata = || self.nodata.and_then(T::nodata).is_some_and(|nodata| nodata.key() == number.key());
        match &self.rule {
            _ if number.is_nan() => nodata_code,
            Rule::Bins { edges, .. } if !is_nodata() => edges.bin(number.to_f64()) as u32,
            Rule::Bins { .. } => nodata_code,
            Rule::Listed { codes, .. } => match codes.get(&number.value().whole().unwrap_or(i128::MIN)) {
                Some(listed) => listed.map_or(nodata_code, u32::from),
                None if is_nodata() => nodata_code,
                None => others,
            },
        }
    }
}

impl Encoder {
    pub fn new(classes: &Classes, values: ValueType) -> Self {
        of_type!(values, T => Self::of::<T>(classes, values))
    }

    fn of<T: Cell>(classes: &Classes, values: ValueType) -> Self {
        let (nodata_code, others) = classes.code_of_others();
        let nodata = classes.nodata.and_then(T::nodata).map(T::key);
        let code = |code: Option<u16>| code.map_or(nodata_code, u32::from);
        let of = |number: T| classes.code_of(number);
        let method = match &classes.rule {
            _ if T::WIDTH <= 16 => {
                let codes = (0..1u64 << T::WIDTH).map(|key| of(T::of_key(key))).collect();
                Method::Table { low: 0, codes }
            }
            Rule::Bins { edges, equal } => {
                let scale = edges.bins() as f64 / (edges.high - edges.low);
                Method::Bins { edges: edges.clone(), scale: if *equal && scale.is_finite() { scale } else { 0.0 } }
            }
            Rule::Listed { codes, .. } => {
                let known = || codes.iter().filter_map(|(&number, &code)| Some((number, T::exact(number)?, code)));
                let (low, high) = (known().next(), known().next_back());
                match low.zip(high) {
                    Some(((low, at, _), (high, ..))) if high - low < SPAN => {
                        let code = |number: i128| T::exact(number).map_or(NO_CODE, of);
                        Method::Table { low: at.key(), codes: (low..=high).map(code).collect() }
                    }
                    _ => {
                        let (keys, codes) = known().map(|(_, number, code_of)| (number.key(), code(code_of))).unzip();
                        Method::Search { keys, codes }
                    }
                }
            }
        };
        let bytes_below = match &method {
            Method::Table { codes, .. } if values == ValueType::U8 => {
                let below = codes.iter().zip(0..).take_while(|(code, value)| **code == *value).count();
                codes[below..].iter().all(|&code| code == NO_CODE).then_some(below)
            }
            _ => None,
        };
        Self { values, method, nodata, nodata_code, others, bytes_below }
    }

    /// The codes of the numbers in `range`.
    pub fn encode<C: Code>(&self, values: &Values, range: Range<usize>, out: &mut [C]) -> Result<(), UnknownValue> {
        if let (Values::U8(values), Some(below)) = (values, self.bytes_below) {
            let values = &values[range.clone()];
            // Written for the vectoriser; the table finds out which it was.
            if usize::from(values.iter().fold(0, |max, &value| max.max(value))) < below {
                out.iter_mut().zip(values).for_each(|(out, &value)| *out = C::low(value.into()));
                return Ok(());
            }
        }
        each!(values, values => self.encode_slice(&values[range], out))
    }

    fn encode_slice<T: Cell, C: Code>(&self, values: &[T], out: &mut [C]) -> Result<(), UnknownValue> {
        let nodata = self.nodata.map(T::of_key);
        // A number that the method does not know.
        let rest = |value: T| {
            if value.is_nan() || Some(value) == nodata { self.nodata_code } else { self.others }
        };
        let index = match &self.method {
            Method::Table { low, codes } => {
                let low = T::of_key(*low);
                map(values, out, |value| match codes.get(value.offset(low)) {
                    Some(&code) => code,
                    None => rest(value),
                })
            }
            Method::Search { keys, codes } => {
                let mut last = None;
                map(values, out, |value| match last {
                    Some((known, code)) if known == value => code,
                    _ => {
                        let code = match keys.binary_search(&value.key()) {
                            Ok(at) if !value.is_nan() => codes[at],
                            _ => rest(value),
                        };
                        last = Some((value, code));
                        code
                    }
                })
            }
            Method::Bins { edges, scale } => {
                let inner = &edges.inner[..];
                map(values, out, |value| {
                    if value.is_nan() || Some(value) == nodata {
                        return self.nodata_code;
                    }
                    let value = value.to_f64();
                    if *scale == 0.0 {
                        return edges.bin(value) as u32;
                    }
                    let mut bin = (((value - edges.low) * scale) as usize).min(inner.len());
                    while bin > 0 && value < inner[bin - 1] {
                        bin -= 1;
                    }
                    while bin < inner.len() && value >= inner[bin] {
                        bin += 1;
                    }
                    bin as u32
                })
            }
        };
        match index {
            None => Ok(()),
            Some(index) => Err(UnknownValue { index, value: values[index].value().show() }),
        }
    }
}

/// Writes the low bits of every code; the first number that has none.
#[inline]
fn map<T: Copy, C: Code>(values: &[T], out: &mut [C], mut code: impl FnMut(T) -> u32) -> Option<usize> {
    assert_eq!(values.len(), out.len(), "a code for every number");
    let mut all = 0;
    for (out, &value) in out.iter_mut().zip(values) {
        let code = code(value);
        *out = C::low(code);
        all |= code;
    }
    if all & NO_CODE == 0 { None } else { values.iter().position(|&value| code(value) == NO_CODE) }
}
