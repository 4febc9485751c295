//! From numbers of any type to cells: the checks every reader shares.
//!
//! A cell is a `u8`. A number becomes one when it is whole, 0..=255 and below `levels`, or when it equals the
//! nodata value, which may be anything (−9999, NaN). A nodata value inside 0..=255 keeps its code. One outside gets
//! a code that no valid cell has; which codes are free is known only at the end of the file, so the intake
//! starts with 255 (or `levels`, which no valid cell reaches) and moves the nodata cells read so far
//! out of the way when a valid cell turns up with that code. That costs a pass over the cells, and
//! happens at most 256 times, in practice never.
//!
//! Memory grows with the cells that have arrived, never with what a header promises, and an
//! allocation that fails is an error, not an abort.

use std::str::FromStr;

use super::error::Problem;
use crate::grid::Grid;

/// The most cells a grid read from a file may have: a terabyte of them. It stops headers that are noise.
pub(crate) const MAX_CELLS: u64 = 1 << 40;

/// A grid of cells as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The cells.
    pub cells: Grid<u8>,
    /// The code of cells without data. `None` when no nodata value was asked for, or one that no cell can have or has.
    pub nodata: Option<u8>,
}

/// What a reader should know about the values of a grid.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ReadOptions {
    /// The value that means "no data here".
    pub nodata: Option<Nodata>,
    /// Valid values are below this number (1..=256). Without it they are 0..=255.
    pub levels: Option<usize>,
}

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

    fn is(self, nodata: Nodata) -> bool {
        match (self, nodata) {
            (Value::Whole(v), Nodata::Whole(n)) => v == n,
            (Value::Real(v), Nodata::Fraction(n)) => v == n,
            (Value::Real(v), Nodata::Nan) => v.is_nan(),
            _ => false,
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

/// Takes the cells of one sample.
pub(crate) struct Intake {
    rows: usize,
    cols: usize,
    nodata: Option<Nodata>,
    levels: usize,
    /// The code of nodata cells, once there is one.
    code: Option<u8>,
    /// The cells that go straight in: valid ones that do not have the code lent to nodata cells.
    pass: [bool; 256],
    cells: Vec<u8>,
}

impl Intake {
    /// For a grid that [`check_shape`] has passed.
    pub(crate) fn new(rows: usize, cols: usize, options: &ReadOptions) -> Self {
        let levels = options.levels.unwrap_or(256).min(256);
        let mut pass = [false; 256];
        pass[..levels].fill(true);
        let code = match options.nodata {
            Some(Nodata::Whole(v)) => u8::try_from(v).ok(),
            _ => None,
        };
        if let Some(code) = code {
            pass[usize::from(code)] = true;
        }
        Self { rows, cols, nodata: options.nodata, levels, code, pass, cells: Vec::new() }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    /// Cells of the whole grid.
    pub(crate) fn total(&self) -> usize {
        self.rows * self.cols
    }

    /// Cells taken so far.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Takes a cell 0..=255.
    #[inline]
    pub(crate) fn push(&mut self, cell: u8) -> Result<(), Problem> {
        if self.pass[usize::from(cell)] && self.cells.len() < self.cells.capacity() {
            self.cells.push(cell);
            return Ok(());
        }
        self.push_slowly(cell)
    }

    #[cold]
    fn push_slowly(&mut self, cell: u8) -> Result<(), Problem> {
        self.grow()?;
        if !self.pass[usize::from(cell)] {
            self.admit(cell)?;
        }
        self.cells.push(cell);
        Ok(())
    }

    /// Room for one more cell.
    fn grow(&mut self) -> Result<(), Problem> {
        let len = self.cells.len();
        if len == self.cells.capacity() {
            let more = len.max(1 << 16).min(self.total().saturating_sub(len)).max(1);
            self.cells.try_reserve_exact(more).map_err(|_| out_of_memory(self.rows, self.cols))?;
        }
        Ok(())
    }

    /// Makes way for a cell that does not pass, or says why it is none.
    fn admit(&mut self, cell: u8) -> Result<(), Problem> {
        if usize::from(cell) >= self.levels {
            return Err(self.too_high(cell));
        }
        // A valid cell with the code that nodata cells were lent: they move.
        let lent = self.code;
        self.pass[usize::from(cell)] = true;
        let code = self.free_code(Some(cell))?;
        for other in self.cells.iter_mut().filter(|other| Some(**other) == lent) {
            *other = code;
        }
        Ok(())
    }

    fn too_high(&self, cell: u8) -> Problem {
        Problem::new(
            format!("the value {cell} is not below the {} levels asked for", self.levels),
            "ask for more levels, or name the nodata value if this is it",
        )
    }

    /// Lends nodata cells a code that no cell so far has, nor the one about to be taken.
    fn free_code(&mut self, next: Option<u8>) -> Result<u8, Problem> {
        let mut taken = [false; 256];
        self.cells.iter().for_each(|&cell| taken[usize::from(cell)] = true);
        if let Some(next) = next {
            taken[usize::from(next)] = true;
        }
        // From `levels` up no valid cell will ever come; otherwise the highest codes are the rarest.
        let code = (self.levels..256).chain((0..self.levels.min(256)).rev()).find(|&code| !taken[code]);
        let Some(code) = code.and_then(|code| u8::try_from(code).ok()) else {
            return Err(Problem::new(
                "all 256 values occur, so that none is left to mark the nodata cells",
                "merge two classes, or choose one of 0..=255 as nodata",
            ));
        };
        self.pass[usize::from(code)] = false;
        self.code = Some(code);
        Ok(code)
    }

    /// Takes any number.
    pub(crate) fn value(&mut self, value: Value) -> Result<(), Problem> {
        if self.nodata.is_some_and(|nodata| value.is(nodata)) {
            self.grow()?;
            let code = match self.code {
                Some(code) => code,
                None => self.free_code(None)?,
            };
            self.cells.push(code);
            return Ok(());
        }
        match value {
            Value::Whole(v) => match u8::try_from(v) {
                Ok(cell) => self.push(cell),
                Err(_) => Err(Problem::new(
                    format!("the value {} is not in 0..=255", value.show()),
                    "reclassify the grid, or name the nodata value if this is it",
                )),
            },
            Value::Real(_) => Err(Problem::new(
                format!("the value {} is not a whole number", value.show()),
                "reclassify the grid, or name the nodata value if this is it",
            )),
        }
    }

    /// Takes the bytes of a whole grid at once; on error, the index of the cell at fault.
    pub(crate) fn bytes(mut self, bytes: Vec<u8>) -> Result<Sample, (usize, Problem)> {
        // Bytes are no nodata from outside 0..=255, so no code is lent and whatever does not pass is too high.
        if let Some(at) = bytes.iter().position(|&cell| !self.pass[usize::from(cell)]) {
            return Err((at, self.too_high(bytes[at])));
        }
        self.cells = bytes;
        self.finish().map_err(|problem| (0, problem))
    }

    /// The sample, when every cell has come.
    pub(crate) fn finish(self) -> Result<Sample, Problem> {
        let cells = Grid::from_vec(self.cells, self.rows, self.cols)
            .map_err(|e| Problem::new(e.to_string(), "report this as a defect"))?;
        Ok(Sample { cells, nodata: self.code })
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

    fn options(nodata: Option<Nodata>, levels: Option<usize>) -> ReadOptions {
        ReadOptions { nodata, levels }
    }

    fn take(values: &[i128], options: ReadOptions) -> Result<Sample, Problem> {
        let mut intake = Intake::new(1, values.len(), &options);
        values.iter().try_for_each(|&v| intake.value(Value::Whole(v)))?;
        intake.finish()
    }

    #[test]
    fn nodata_inside_the_range_keeps_its_code() {
        let got = take(&[1, 255, 3], options(Some(Nodata::Whole(255)), Some(16))).unwrap();
        assert_eq!((got.cells.as_slice(), got.nodata), (&[1, 255, 3][..], Some(255)));
    }

    #[test]
    fn nodata_outside_gets_a_code_that_no_cell_has() {
        let got = take(&[1, -9999, 3], options(Some(Nodata::Whole(-9999)), Some(16))).unwrap();
        assert_eq!((got.cells.as_slice(), got.nodata), (&[1, 16, 3][..], Some(16)));
        // 255, then 254, turn out to be taken.
        let got = take(&[-1, 7, 255, -1, 254, 253, -1], options(Some(Nodata::Whole(-1)), None)).unwrap();
        assert_eq!((got.cells.as_slice(), got.nodata), (&[252, 7, 255, 252, 254, 253, 252][..], Some(252)));
        // A value asked for that no cell has leaves nothing behind.
        assert_eq!(take(&[1, 2], options(Some(Nodata::Whole(-1)), None)).unwrap().nodata, None);
    }

    #[test]
    fn the_last_free_code_is_found_and_then_there_is_none() {
        let mut values: Vec<i128> = (0..255).rev().collect();
        values.insert(0, 1000);
        values.push(1000);
        let nodata = options(Some(Nodata::Whole(1000)), None);
        let got = take(&values, nodata).unwrap();
        assert_eq!((got.nodata, got.cells.as_slice()[0], got.cells.as_slice()[256]), (Some(255), 255, 255));
        values.push(255);
        assert_eq!(
            take(&values, nodata).unwrap_err(),
            Problem::new(
                "all 256 values occur, so that none is left to mark the nodata cells",
                "merge two classes, or choose one of 0..=255 as nodata"
            )
        );
    }

    #[test]
    fn nodata_of_every_kind_is_read_and_matched() {
        assert_eq!(Nodata::from(255.0), Nodata::Whole(255));
        assert_eq!("18446744073709551615".parse(), Ok(Nodata::Whole(i128::from(u64::MAX))));
        assert_eq!("-inf".parse(), Ok(Nodata::Fraction(f64::NEG_INFINITY)));
        assert_eq!(
            "none".parse::<Nodata>().unwrap_err().to_string(),
            "\"none\" is not a number; a nodata value is a number or nan"
        );
        assert!(Value::Real(f64::NAN).is(Nodata::Nan));
        assert!(!Value::Whole(0).is(Nodata::Nan));
        let lowest = "-3.4028235e38".parse::<Nodata>().unwrap();
        assert!(Value::from(f64::from(f32::MIN)).is(lowest.as_f32()));
    }

    #[test]
    fn memory_follows_the_cells_and_not_the_promise() {
        let mut intake = Intake::new(1 << 20, 1 << 20, &ReadOptions::default());
        (0..100_000).try_for_each(|_| intake.push(1)).unwrap();
        assert!(intake.cells.capacity() <= 1 << 18, "{}", intake.cells.capacity());
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
