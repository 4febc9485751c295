//! Numbers as files and people write them, exactly: a value, the one that means no data, and the shapes that grids may have.

use std::str::FromStr;

use super::error::Problem;

/// The most cells a grid read from a file may have: a terabyte of them. It stops headers that are noise.
pub(crate) const MAX_CELLS: u64 = 1 << 40;

/// A value that means "no data here", in whatever type the file has.
///
/// ```
/// use halotile::io::Nodata;
/// assert_eq!("-9999.0".parse(), Ok(Nodata::Whole(-9999)));
/// assert_eq!("nan".parse(), Ok(Nodata::Nan));
/// assert_eq!(Nodata::from(0.5), Nodata::Fraction(0.5));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Nodata {
    /// A whole number; wide enough for every integer type.
    Whole(i128),
    /// A number with a fraction, or too large for a whole one, or infinite.
    Fraction(f64),
    /// Not a number.
    Nan,
}

impl From<f64> for Nodata {
    fn from(value: f64) -> Self {
        match Value::from(value) {
            Value::Whole(v) => Nodata::Whole(v),
            Value::Real(v) if v.is_nan() => Nodata::Nan,
            Value::Real(v) => Nodata::Fraction(v),
        }
    }
}

/// A text that is no number and so no nodata value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a number; a nodata value is a number or nan")]
pub struct NodataError(String);

impl FromStr for Nodata {
    type Err = NodataError;
    fn from_str(text: &str) -> Result<Self, NodataError> {
        if let Ok(whole) = text.parse() {
            return Ok(Nodata::Whole(whole));
        }
        text.parse::<f64>().map(Nodata::from).map_err(|_| NodataError(text.to_owned()))
    }
}

impl Nodata {
    /// The value that a text in GDAL's metadata means, which may have been written by Microsoft's C library, with its
    /// ways to say NaN and infinity (`1.#QNAN`, `-1.#IND`, `-1.#INF`).
    pub(crate) fn as_gdal_writes(text: &str) -> Option<Self> {
        let text = text.trim();
        let Some((one, special)) = text.split_once(".#") else { return text.parse().ok() };
        let special = special.to_ascii_uppercase();
        match one {
            "1" | "+1" | "-1" if special.starts_with("INF") => {
                Some(Nodata::Fraction(if one == "-1" { f64::NEG_INFINITY } else { f64::INFINITY }))
            }
            "1" | "+1" | "-1" if ["QNAN", "SNAN", "IND"].iter().any(|nan| special.starts_with(nan)) => {
                Some(Nodata::Nan)
            }
            _ => None,
        }
    }

    /// The nearest f64; NaN for no number.
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Nodata::Whole(v) => v as f64,
            Nodata::Fraction(v) => v,
            Nodata::Nan => f64::NAN,
        }
    }

    /// The value as an f32 file would hold it: −3.4028235e38 typed by hand has to match the f32 nearest to it.
    pub(crate) fn as_f32(self) -> Self {
        match self {
            Nodata::Whole(v) => Nodata::from(f64::from(v as f32)),
            Nodata::Fraction(v) => Nodata::from(f64::from(v as f32)),
            Nodata::Nan => Nodata::Nan,
        }
    }
}

/// A number from a file, exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    Whole(i128),
    Real(f64),
}

impl From<f64> for Value {
    fn from(v: f64) -> Self {
        // 2^126 and all below convert exactly.
        if v.fract() == 0.0 && v.abs() < 8.5e37 { Value::Whole(v as i128) } else { Value::Real(v) }
    }
}

impl Value {
    /// The number that `token` spells.
    pub(crate) fn parse(token: &[u8]) -> Result<Self, Problem> {
        let text = std::str::from_utf8(token).ok();
        if let Some(whole) = text.and_then(|t| t.parse().ok()) {
            return Ok(Value::Whole(whole));
        }
        text.and_then(|t| t.parse::<f64>().ok())
            .map(Value::from)
            .ok_or_else(|| Problem::new(format!("{} is not a number", super::error::quote(token)), "correct the file"))
    }

    /// The whole number that it is.
    pub(crate) fn whole(self) -> Option<i128> {
        match self {
            Value::Whole(v) => Some(v),
            Value::Real(_) => None,
        }
    }

    pub(crate) fn show(self) -> String {
        match self {
            Value::Whole(v) => v.to_string(),
            Value::Real(v) if v.is_nan() => "NaN".to_owned(),
            Value::Real(v) if v.is_finite() && (v.abs() >= 1e16 || v.abs() < 1e-5) => format!("{v:e}"),
            Value::Real(v) => v.to_string(),
        }
    }
}

/// Rows and columns from a header, when a grid can have them.
pub(crate) fn check_shape(rows: u64, cols: u64) -> Result<(usize, usize), Problem> {
    if rows == 0 || cols == 0 {
        return Err(Problem::new(
            format!("the header promises {rows} rows and {cols} columns"),
            "a grid needs at least one of each",
        ));
    }
    let fits = rows.checked_mul(cols).is_some_and(|n| n <= MAX_CELLS && usize::try_from(n).is_ok());
    match (usize::try_from(rows), usize::try_from(cols)) {
        (Ok(rows), Ok(cols)) if fits => Ok((rows, cols)),
        _ => Err(Problem::new(
            format!("the header promises {rows} rows and {cols} columns, more than the 2^40 cells a grid may have"),
            "correct the header",
        )),
    }
}

/// What to say when an allocation fails.
pub(crate) fn out_of_memory(rows: usize, cols: usize) -> Problem {
    Problem::new(
        format!("there is not enough memory for a grid of {rows} rows and {cols} columns"),
        "take a smaller grid or a machine with more memory",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodata_of_every_kind_is_read_and_matched() {
        assert_eq!(Nodata::from(255.0), Nodata::Whole(255));
        assert_eq!("18446744073709551615".parse(), Ok(Nodata::Whole(i128::from(u64::MAX))));
        assert_eq!("-inf".parse(), Ok(Nodata::Fraction(f64::NEG_INFINITY)));
        assert_eq!(
            "none".parse::<Nodata>().unwrap_err().to_string(),
            "\"none\" is not a number; a nodata value is a number or nan"
        );
    }

    #[test]
    fn shapes_no_grid_can_have() {
        let what = |rows, cols| check_shape(rows, cols).unwrap_err();
        assert_eq!(
            what(0, 4),
            Problem::new("the header promises 0 rows and 4 columns", "a grid needs at least one of each")
        );
        for (rows, cols) in [(1 << 31, 1 << 31), (u64::MAX, u64::MAX), ((1 << 40) + 1, 1)] {
            assert_eq!(
                what(rows, cols),
                Problem::new(
                    format!(
                        "the header promises {rows} rows and {cols} columns, more than the 2^40 cells a grid may have"
                    ),
                    "correct the header"
                )
            );
        }
        assert!(check_shape(1 << 20, 1 << 20).is_ok());
    }
}
