//! From numbers of any type to cells: the checks every reader shares.
//!
//! A cell is a byte, and from the first one beyond 255 on all are 16-bit words. A number becomes one when it is whole, 0..=65535
//! and below `levels`, or when it equals the
//! nodata value, which may be anything (−9999, NaN). A nodata value inside 0..=65535 keeps its code. One outside gets
//! a code that no valid cell has; which codes are free is known only at the end of the file, so the builder
//! starts with 255 (or `levels`, which no valid cell reaches) and moves the nodata cells read so far
//! out of the way when a valid cell turns up with that code. That costs a pass over the cells, and
//! happens as often as there are values at most, in practice never.
//!
//! Memory grows with the cells that have arrived, never with what a header promises, and an
//! allocation that fails is an error, not an abort.

use std::str::FromStr;

use super::error::Problem;
use crate::codes::CodesGrid;
use crate::grid::Grid;

/// The most cells a grid read from a file may have: a terabyte of them. It stops headers that are noise.
pub(crate) const MAX_CELLS: u64 = 1 << 40;

/// Values of 16 bits.
const WORDS: usize = 1 << 16;

/// A grid of cells as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The cells.
    pub cells: CodesGrid,
    /// The code of cells without data. `None` when no nodata value was asked for, or one that no cell can have or has.
    pub nodata: Option<u16>,
}

/// What a reader should know about the values of a grid.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ReadOptions {
    /// The value that means "no data here".
    pub nodata: Option<Nodata>,
    /// Valid values are below this number (1..=65,536). Without it they are 0..=65,535.
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

/// Builds one sample, cell by cell.
pub(crate) struct SampleBuilder {
    rows: usize,
    cols: usize,
    nodata: Option<Nodata>,
    levels: usize,
    /// The code of nodata cells, once there is one.
    code: Option<u16>,
    /// The code was chosen here, and is not the file's: it changes when a valid cell has it.
    provisional: bool,
    /// The bytes that are stored as they come: valid ones that are not the provisional code of nodata cells.
    direct: [bool; 256],
    cells: CellBuffer,
}

/// The cells so far.
enum CellBuffer {
    Bytes(Vec<u8>),
    /// From the first cell above 255 on.
    Words(Vec<u16>),
}

impl SampleBuilder {
    /// For a grid that [`check_shape`] has passed.
    pub(crate) fn new(rows: usize, cols: usize, options: &ReadOptions) -> Self {
        let levels = options.levels.unwrap_or(WORDS).min(WORDS);
        let code = match options.nodata {
            Some(Nodata::Whole(v)) => u16::try_from(v).ok(),
            _ => None,
        };
        let direct = std::array::from_fn(|cell| cell < levels || code.map(usize::from) == Some(cell));
        let cells = CellBuffer::Bytes(Vec::new());
        Self { rows, cols, nodata: options.nodata, levels, code, provisional: false, direct, cells }
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

    /// Cells so far.
    pub(crate) fn len(&self) -> usize {
        match &self.cells {
            CellBuffer::Bytes(cells) => cells.len(),
            CellBuffer::Words(cells) => cells.len(),
        }
    }

    /// Appends a cell 0..=255.
    #[inline]
    pub(crate) fn push(&mut self, cell: u8) -> Result<(), Problem> {
        if let CellBuffer::Bytes(cells) = &mut self.cells
            && self.direct[usize::from(cell)]
            && cells.len() < cells.capacity()
        {
            cells.push(cell);
            return Ok(());
        }
        self.push_word(cell.into())
    }

    /// Appends a cell 0..=65535.
    pub(crate) fn push_word(&mut self, cell: u16) -> Result<(), Problem> {
        let level = usize::from(cell) < self.levels;
        if self.provisional && self.code == Some(cell) && level {
            self.recode_nodata(cell)?;
        } else if !(level || self.code == Some(cell) && !self.provisional) {
            return Err(self.too_high(cell));
        }
        self.add(cell)
    }

    /// Adds a cell that is known to be fine.
    fn add(&mut self, cell: u16) -> Result<(), Problem> {
        if let CellBuffer::Bytes(cells) = &mut self.cells {
            match u8::try_from(cell) {
                Ok(cell) => {
                    grow(cells, self.rows, self.cols)?;
                    cells.push(cell);
                    return Ok(());
                }
                Err(_) => self.widen()?,
            }
        }
        if let CellBuffer::Words(cells) = &mut self.cells {
            grow(cells, self.rows, self.cols)?;
            cells.push(cell);
        }
        Ok(())
    }

    /// Converts the cells so far from bytes to words.
    fn widen(&mut self) -> Result<(), Problem> {
        if let CellBuffer::Bytes(cells) = &self.cells {
            let mut words = Vec::new();
            words.try_reserve(cells.len() + 1).map_err(|_| out_of_memory(self.rows, self.cols))?;
            words.extend(cells.iter().copied().map(u16::from));
            self.cells = CellBuffer::Words(words);
        }
        Ok(())
    }

    /// Gives nodata cells another code, since a valid cell has their provisional one.
    fn recode_nodata(&mut self, cell: u16) -> Result<(), Problem> {
        if cell < 256 {
            self.direct[usize::from(cell)] = true;
        }
        let code = self.free_code(Some(cell))?;
        match &mut self.cells {
            CellBuffer::Bytes(cells) => {
                let (from, to) = (cell as u8, code as u8);
                cells.iter_mut().filter(|other| **other == from).for_each(|other| *other = to);
            }
            CellBuffer::Words(cells) => {
                cells.iter_mut().filter(|other| **other == cell).for_each(|other| *other = code)
            }
        }
        Ok(())
    }

    fn too_high(&self, cell: u16) -> Problem {
        Problem::new(
            format!("the value {cell} is not below the {} levels asked for", self.levels),
            "ask for more levels, or name the nodata value if this is it",
        )
    }

    /// Chooses a provisional code for nodata cells that no cell so far has, nor the next one: a byte, as long as there are only bytes and one of
    /// them is free.
    fn free_code(&mut self, next: Option<u16>) -> Result<u16, Problem> {
        let mut taken = vec![false; WORDS];
        match &self.cells {
            CellBuffer::Bytes(cells) => cells.iter().for_each(|&cell| taken[usize::from(cell)] = true),
            CellBuffer::Words(cells) => cells.iter().for_each(|&cell| taken[usize::from(cell)] = true),
        }
        if let Some(next) = next {
            taken[usize::from(next)] = true;
        }
        let levels = self.levels;
        // From `levels` up no valid cell will ever come; otherwise the highest codes are the rarest.
        let below = |most: usize| (levels..most).chain((0..levels.min(most)).rev()).find(|&code| !taken[code]);
        let byte = below(256).filter(|_| matches!(self.cells, CellBuffer::Bytes(_)));
        let Some(code) = byte.or_else(|| below(WORDS)).and_then(|code| u16::try_from(code).ok()) else {
            return Err(Problem::new(
                "all 65536 values occur, so that none is left to mark the nodata cells",
                "merge two classes, or choose one of 0..=65535 as nodata",
            ));
        };
        match self.direct.get_mut(usize::from(code)) {
            Some(direct) => *direct = false,
            None => self.widen()?,
        }
        (self.code, self.provisional) = (Some(code), true);
        Ok(code)
    }

    /// Appends any number.
    pub(crate) fn push_value(&mut self, value: Value) -> Result<(), Problem> {
        if self.nodata.is_some_and(|nodata| value.is(nodata)) {
            let code = match self.code {
                Some(code) => code,
                None => self.free_code(None)?,
            };
            return self.add(code);
        }
        match value {
            Value::Whole(v) => match u16::try_from(v) {
                Ok(cell) => self.push_word(cell),
                Err(_) => Err(Problem::new(
                    format!("the value {} is not in 0..=65535", value.show()),
                    "reclassify the grid, or name the nodata value if this is it",
                )),
            },
            Value::Real(_) => Err(Problem::new(
                format!("the value {} is not a whole number", value.show()),
                "reclassify the grid, or name the nodata value if this is it",
            )),
        }
    }

    /// Makes the sample of the bytes of a whole grid; on error, the index of the cell at fault.
    pub(crate) fn finish_with(mut self, bytes: Vec<u8>) -> Result<Sample, (usize, Problem)> {
        // Bytes are no nodata from outside 0..=255, so there is no provisional code, and a byte that is not stored directly is too high.
        if let Some(at) = bytes.iter().position(|&cell| !self.direct[usize::from(cell)]) {
            return Err((at, self.too_high(bytes[at].into())));
        }
        self.cells = CellBuffer::Bytes(bytes);
        self.finish().map_err(|problem| (0, problem))
    }

    /// The sample, when all its cells are in.
    pub(crate) fn finish(self) -> Result<Sample, Problem> {
        let (rows, cols) = (self.rows, self.cols);
        let cells = match self.cells {
            CellBuffer::Bytes(cells) => Grid::from_vec(cells, rows, cols).map(CodesGrid::Bytes),
            CellBuffer::Words(cells) => Grid::from_vec(cells, rows, cols).map(CodesGrid::Words),
        };
        let cells = cells.map_err(|e| Problem::new(e.to_string(), "report this as a defect"))?;
        // A value that no cell of bytes can have needs no code.
        let nodata = self.code.filter(|&code| code < 256 || cells.bytes().is_none());
        Ok(Sample { cells, nodata })
    }
}

/// Room for one more cell of a grid of so many rows and columns.
fn grow<C>(cells: &mut Vec<C>, rows: usize, cols: usize) -> Result<(), Problem> {
    let len = cells.len();
    if len == cells.capacity() {
        let more = len.max(1 << 16).min((rows * cols).saturating_sub(len)).max(1);
        cells.try_reserve_exact(more).map_err(|_| out_of_memory(rows, cols))?;
    }
    Ok(())
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
        let mut builder = SampleBuilder::new(1, values.len(), &options);
        values.iter().try_for_each(|&v| builder.push_value(Value::Whole(v)))?;
        builder.finish()
    }

    #[test]
    fn nodata_inside_the_range_keeps_its_code() {
        let got = take(&[1, 255, 3], options(Some(Nodata::Whole(255)), Some(16))).unwrap();
        assert_eq!((got.cells.bytes().unwrap().as_slice(), got.nodata), (&[1, 255, 3][..], Some(255)));
    }

    #[test]
    fn nodata_outside_gets_a_code_that_no_cell_has() {
        let got = take(&[1, -9999, 3], options(Some(Nodata::Whole(-9999)), Some(16))).unwrap();
        assert_eq!((got.cells.bytes().unwrap().as_slice(), got.nodata), (&[1, 16, 3][..], Some(16)));
        // 255, then 254, turn out to be taken.
        let got = take(&[-1, 7, 255, -1, 254, 253, -1], options(Some(Nodata::Whole(-1)), None)).unwrap();
        assert_eq!(
            (got.cells.bytes().unwrap().as_slice(), got.nodata),
            (&[252, 7, 255, 252, 254, 253, 252][..], Some(252))
        );
        // A value asked for that no cell has leaves nothing behind.
        assert_eq!(take(&[1, 2], options(Some(Nodata::Whole(-1)), None)).unwrap().nodata, None);
    }

    #[test]
    fn cells_beyond_255_make_all_of_them_words() {
        let got = take(&[1, 255, 256, 0], options(None, None)).unwrap();
        assert_eq!((got.cells, got.nodata), (Grid::from_vec(vec![1u16, 255, 256, 0], 1, 4).unwrap().into(), None));
        // A provisional byte stays the code of nodata until a cell has it too; nodata above 255 is kept as it is.
        let got = take(&[-1, 1000, 255, -1, 65_535], options(Some(Nodata::Whole(-1)), None)).unwrap();
        let expected = vec![65_534u16, 1000, 255, 65_534, 65_535];
        assert_eq!((got.cells, got.nodata), (Grid::from_vec(expected, 1, 5).unwrap().into(), Some(65_534)));
        let got = take(&[5, 9999, 7], options(Some(Nodata::Whole(9999)), Some(300))).unwrap();
        assert_eq!((got.cells.get(0, 1), got.nodata), (9999, Some(9999)));
        assert_eq!(take(&[5, 7], options(Some(Nodata::Whole(9999)), Some(300))).unwrap().nodata, None);
        for (values, what) in [
            ([5, 300], "the value 300 is not below the 300 levels asked for"),
            ([5, 65_536], "the value 65536 is not in 0..=65535"),
            ([5, -2], "the value -2 is not in 0..=65535"),
        ] {
            let error = take(&values, options(None, Some(300))).unwrap_err().at("f", super::super::error::Place::FILE);
            assert!(error.to_string().starts_with(&format!("f: {what};")), "{error}");
        }
    }

    #[test]
    fn the_last_free_code_is_found_and_then_there_is_none() {
        let mut values: Vec<i128> = (0..255).rev().collect();
        values.insert(0, -1);
        values.push(-1);
        let nodata = options(Some(Nodata::Whole(-1)), None);
        let got = take(&values, nodata).unwrap();
        assert_eq!(
            (got.nodata, got.cells.bytes().unwrap().as_slice()[0], got.cells.bytes().unwrap().as_slice()[256]),
            (Some(255), 255, 255)
        );
        // All bytes occur: cells become words.
        values.push(255);
        let got = take(&values, nodata).unwrap();
        assert_eq!((got.nodata, got.cells.get(0, 0), got.cells.get(0, 1)), (Some(65_535), 65_535, 254));
        let mut values: Vec<i128> = (0..65_535).collect();
        values.insert(7, -1);
        let nodata = options(Some(Nodata::Whole(-1)), None);
        let got = take(&values, nodata).unwrap();
        assert_eq!((got.nodata, got.cells.get(0, 7), got.cells.get(0, 65_535)), (Some(65_535), 65_535, 65_534));
        values.push(65_535);
        assert_eq!(
            take(&values, nodata).unwrap_err(),
            Problem::new(
                "all 65536 values occur, so that none is left to mark the nodata cells",
                "merge two classes, or choose one of 0..=65535 as nodata"
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
        let mut builder = SampleBuilder::new(1 << 20, 1 << 20, &ReadOptions::default());
        (0..100_000).try_for_each(|_| builder.push(1)).unwrap();
        let CellBuffer::Bytes(cells) = &builder.cells else { panic!("bytes are bytes") };
        assert!(cells.capacity() <= 1 << 18, "{}", cells.capacity());
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
