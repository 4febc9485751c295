//! The census of a grid: which values it holds.
//!
//! Levels cost time and table space in every engine, and land-cover codes are seldom 0, 1, 2, … So the
//! grid is scanned once: always for its largest value (at the bandwidth of memory), and only if that is
//! not small for every value that occurs.

use rayon::prelude::*;

use super::{BYTE_LEVELS, Error};
use crate::codes::{Code, CodesView};
use crate::grid::{Grid, GridView, ShapeError};

/// Levels up to which a code of its own would gain nothing: the fastest engines take this many.
pub(super) const FEW: usize = 16;

/// How cells are numbered for the engines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Coding {
    /// Cells are below this, or nodata.
    pub levels: usize,
    /// The code that is not counted; `None` when no cell has it.
    pub nodata: Option<u8>,
    /// The code of every value, where it is not the value itself.
    pub codes: Option<Box<[u8; 256]>>,
}

impl Coding {
    /// Scans `cells` and chooses. `compact` asks for a nodata code next to the levels.
    ///
    /// With `levels` given, a value that is neither below it nor `nodata` is an error.
    pub fn of(
        cells: GridView<'_, u8>,
        levels: Option<usize>,
        nodata: Option<u8>,
        compact: bool,
    ) -> Result<Self, Error> {
        let (max, has_nodata) = extremes(cells, nodata);
        if let Some(levels) = levels
            && max.is_some_and(|max| usize::from(max) >= levels)
        {
            return Err(first_above(cells, (0, 0), levels, nodata));
        }
        let nodata = nodata.filter(|_| has_nodata);
        Ok(Self::choose(max, nodata, compact, || present(cells, nodata)))
    }

    /// The same where it is known which values occur, and that they are allowed.
    pub fn of_present(present: &[bool; 256], nodata: Option<u8>, compact: bool) -> Self {
        let mut valid = *present;
        let nodata = nodata.filter(|&nodata| std::mem::take(&mut valid[usize::from(nodata)]));
        let max = (0..=255u8).rfind(|&value| valid[usize::from(value)]);
        Self::choose(max, nodata, compact, || valid)
    }

    /// Chooses by the largest value, a nodata that occurs and, where needed, all values that occur beside it.
    fn choose(max: Option<u8>, nodata: Option<u8>, compact: bool, present: impl FnOnce() -> [bool; 256]) -> Self {
        let levels = max.map_or(1, |max| usize::from(max) + 1);
        if levels > FEW {
            let present = present();
            let count = present.iter().filter(|&&is| is).count();
            if count < levels {
                return Self::dense(&present, nodata);
            }
        }
        if compact && nodata.is_some_and(|code| usize::from(code) > levels) {
            let mut present = [false; 256];
            present[..levels].fill(true);
            return Self::dense(&present, nodata);
        }
        Self { levels, nodata, codes: None }
    }

    /// What is known of a grid that has not been scanned: that its cells are below `levels`, if [`check`] finds them so.
    /// `None` where scanning it first is worth its time.
    pub fn promised(levels: Option<usize>, nodata: Option<u8>) -> Option<Self> {
        let levels = levels.filter(|&levels| levels <= FEW && nodata.is_none())?;
        Some(Self { levels, nodata: None, codes: None })
    }

    /// Numbers the values that occur from 0 on, and nodata behind them.
    fn dense(present: &[bool; 256], nodata: Option<u8>) -> Self {
        let mut codes = Box::new([0; 256]);
        let mut levels = 0;
        for value in (0..256).filter(|&value| present[value]) {
            codes[value] = levels as u8;
            levels += 1;
        }
        // Nodata is one of the 256 values and no level, so there is a code left.
        let code = nodata.map(|value| {
            codes[usize::from(value)] = levels as u8;
            levels as u8
        });
        Self { levels: levels.max(1), nodata: code, codes: Some(codes) }
    }
}

impl Coding {
    /// The cells by their codes: themselves, or a copy.
    pub fn coded<'a>(&self, cells: GridView<'a, u8>) -> Result<Coded<'a>, ShapeError> {
        Ok(match &self.codes {
            Some(codes) => Coded::Copy(bytes_of(cells, |value| codes[usize::from(value)])?),
            None => Coded::Same(cells),
        })
    }
}

/// A copy of words, all of which are bytes.
pub(crate) fn narrowed(cells: GridView<'_, u16>) -> Result<Grid<u8>, ShapeError> {
    bytes_of(cells, |word| word as u8)
}

/// Cells below the number of levels, or nodata.
pub(crate) enum Coded<'a> {
    /// Unchanged.
    Same(GridView<'a, u8>),
    /// Recoded.
    Copy(Grid<u8>),
}

impl Coded<'_> {
    pub fn view(&self) -> GridView<'_, u8> {
        match self {
            Self::Same(view) => *view,
            Self::Copy(grid) => grid.view(),
        }
    }
}

/// A copy of `cells` with every value replaced by a byte.
fn bytes_of<C: Code>(cells: GridView<'_, C>, byte: impl Fn(C) -> u8 + Sync) -> Result<Grid<u8>, ShapeError> {
    let mut bytes = Grid::zeros(cells.rows(), cells.cols())?;
    bytes.as_mut_slice().par_chunks_mut(cells.cols()).enumerate().for_each(|(r, row)| {
        row.iter_mut().zip(cells.row(r)).for_each(|(to, &value)| *to = byte(value));
    });
    Ok(bytes)
}

/// Combines what `map` returns for runs of all cells, in parallel; runs are neither too short for a loop nor too long for one thread, for
/// any shape of rows.
fn in_runs<C: Code, R: Send>(
    cells: GridView<'_, C>,
    map: impl Fn(&[C]) -> R + Sync + Send,
    identity: impl Fn() -> R + Sync + Send,
    combine: impl Fn(R, R) -> R + Sync + Send,
) -> R {
    const RUN: usize = 1 << 16;
    if cells.stride() == cells.cols() {
        return cells.as_strided().par_chunks(RUN).map(map).reduce(identity, combine);
    }
    let rows = (0..cells.rows()).into_par_iter().with_min_len(RUN.div_ceil(cells.cols()));
    rows.map(|r| map(cells.row(r))).reduce(identity, combine)
}

/// The largest value that is not nodata, and whether nodata occurs.
fn extremes(cells: GridView<'_, u8>, nodata: Option<u8>) -> (Option<u8>, bool) {
    let map = |run: &[u8]| match nodata {
        // Both loops are written for the vectoriser: no early exit, no branch on a value.
        None => (run.iter().fold(0, |max, &value| max.max(value)), true, false),
        Some(nodata) => {
            let (mut max, mut valid, mut hits) = (0, 0u8, 0u8);
            for &value in run {
                let hit = u8::from(value == nodata);
                max = max.max(value & hit.wrapping_sub(1));
                valid |= hit ^ 1;
                hits |= hit;
            }
            (max, valid != 0, hits != 0)
        }
    };
    let (max, valid, hits) = in_runs(cells, map, || (0, false, false), |a, b| (a.0.max(b.0), a.1 | b.1, a.2 | b.2));
    (valid.then_some(max), hits)
}

/// Which values occur, nodata left out.
fn present(cells: GridView<'_, u8>, nodata: Option<u8>) -> [bool; 256] {
    let map = |run: &[u8]| {
        let mut seen = [false; 256];
        for &value in run {
            seen[usize::from(value)] = true;
        }
        seen
    };
    let mut all = in_runs(cells, map, || [false; 256], |a, b| std::array::from_fn(|i| a[i] | b[i]));
    if let Some(nodata) = nodata {
        all[usize::from(nodata)] = false;
    }
    all
}

/// How cells are numbered that are words: by any numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordCoding {
    /// How many there may be.
    pub levels: usize,
    /// The one that is not counted; `None` when no cell has it.
    pub nodata: Option<u16>,
    /// All of them are below this.
    pub span: usize,
}

impl WordCoding {
    /// Codes below `levels`, and one for no data.
    pub fn below(levels: usize, nodata: Option<u16>) -> Self {
        Self { levels, nodata, span: levels.max(nodata.map_or(0, |code| usize::from(code) + 1)) }
    }
}

/// What is known of a grid of words: which values occur.
pub(crate) struct Words {
    /// Not [`nodata`](Self::nodata).
    present: Vec<bool>,
    /// As of bytes: one more than the largest where that is small, else as many as occur.
    pub levels: usize,
    /// The value without data, if it occurs.
    pub nodata: Option<u16>,
}

/// The map from words to bytes.
pub(crate) struct Numbers {
    /// Of every word.
    bytes: Vec<u8>,
    /// The number of the value without data.
    pub nodata: Option<u8>,
}

impl Words {
    /// Scans `cells`. With `levels` given, a value that is neither below it nor `nodata` is an error.
    pub fn of(cells: GridView<'_, u16>, levels: Option<usize>, nodata: Option<u16>) -> Result<Self, Error> {
        let map = |run: &[u16]| {
            let mut seen = vec![false; u16::LEVELS];
            run.iter().for_each(|&value| seen[usize::from(value)] = true);
            seen
        };
        let join = |mut a: Vec<bool>, b: Vec<bool>| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a |= b);
            a
        };
        let mut present = in_runs(cells, map, || vec![false; u16::LEVELS], join);
        let nodata = nodata.filter(|&value| std::mem::take(&mut present[usize::from(value)]));
        let max = present.iter().rposition(|&is| is);
        if let (Some(levels), Some(max)) = (levels, max)
            && max >= levels
        {
            return Err(first_above(cells, (0, 0), levels, nodata));
        }
        let levels = match max.map_or(1, |max| max + 1) {
            few @ ..=FEW => few,
            _ => present.iter().filter(|&&is| is).count(),
        };
        Ok(Self { present, levels, nodata })
    }

    /// The words as codes.
    pub fn coding(&self) -> WordCoding {
        let largest = self.present.iter().rposition(|&is| is).max(self.nodata.map(usize::from));
        WordCoding { levels: self.levels, nodata: self.nodata, span: largest.map_or(1, |code| code + 1) }
    }

    /// Numbers that are bytes, if so many are enough.
    pub fn as_bytes(&self) -> Option<Numbers> {
        let most = BYTE_LEVELS - usize::from(self.nodata.is_some());
        if self.levels > most {
            return None;
        }
        let few = self.present[FEW..].iter().all(|&is| !is);
        let (mut bytes, mut next) = (vec![0; u16::LEVELS], 0u8);
        for (value, byte) in bytes.iter_mut().enumerate().filter(|(value, _)| self.present[*value]) {
            *byte = if few { value as u8 } else { next };
            next = next.wrapping_add(1);
        }
        let nodata = self.nodata.map(|value| {
            bytes[usize::from(value)] = self.levels as u8;
            self.levels as u8
        });
        Some(Numbers { bytes, nodata })
    }
}

impl Numbers {
    /// A copy of `cells` with every value's number.
    pub fn of(&self, cells: GridView<'_, u16>) -> Result<Grid<u8>, ShapeError> {
        bytes_of(cells, |value| self.bytes[usize::from(value)])
    }
}

/// An error if a value is neither below `levels` nor `nodata`. `cells` are a part of a grid, from (`top`, `left`) on.
pub(crate) fn check<C: Code>(
    cells: GridView<'_, C>,
    place: (usize, usize),
    levels: usize,
    nodata: Option<C>,
) -> Result<(), Error> {
    let above = match C::view(cells) {
        CodesView::Bytes(cells) => {
            extremes(cells, nodata.and_then(|code| u8::of(code.get()))).0.is_some_and(|max| usize::from(max) >= levels)
        }
        // No word is above all levels that there can be.
        CodesView::Words(_) if levels == u16::LEVELS => false,
        CodesView::Words(cells) => {
            let (levels, nodata) = (levels as u16, nodata.map_or(0, C::get));
            let map = |run: &[u16]| run.iter().fold(false, |any, &code| any | ((code >= levels) & (code != nodata)));
            in_runs(cells, map, || false, |a, b| a | b)
        }
    };
    if above { Err(first_above(cells, place, levels, nodata)) } else { Ok(()) }
}

/// The error for the first value, in reading order, that is too large.
fn first_above<C: Code>(
    cells: GridView<'_, C>,
    (top, left): (usize, usize),
    levels: usize,
    nodata: Option<C>,
) -> Error {
    for row in 0..cells.rows() {
        let above = |value: C| usize::from(value.get()) >= levels && Some(value) != nodata;
        if let Some(col) = cells.row(row).iter().position(|&value| above(value)) {
            return Error::Value { row: top + row, col: left + col, value: cells.row(row)[col].get(), levels };
        }
    }
    unreachable!("the largest value was at least {levels}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coding(cells: &[u8], levels: Option<usize>, nodata: Option<u8>, compact: bool) -> Result<Coding, Error> {
        Coding::of(GridView::new(cells, 2, cells.len() / 2).unwrap(), levels, nodata, compact)
    }

    #[test]
    fn small_values_stay_as_they_are() {
        assert_eq!(coding(&[0, 3, 15, 3], None, None, true).unwrap(), Coding { levels: 16, nodata: None, codes: None });
        // Nodata that no cell has is no nodata.
        assert_eq!(coding(&[0, 3, 15, 3], None, Some(9), true).unwrap().nodata, None);
        assert_eq!(coding(&[0, 3, 255, 3], None, Some(255), false).unwrap().levels, 4);
    }

    #[test]
    fn scattered_codes_become_dense_ones() {
        let coding = coding(&[11, 95, 21, 95, 250, 11], None, Some(250), false).unwrap();
        assert_eq!((coding.levels, coding.nodata), (3, Some(3)));
        let codes = coding.codes.unwrap();
        assert_eq!([codes[11], codes[21], codes[95], codes[250]], [0, 1, 2, 3]);
    }

    #[test]
    fn all_values_and_nothing_but_nodata_have_codes_too() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(coding(&all, None, None, true).unwrap().levels, 256);
        let of_255 = coding(&all, None, Some(7), true).unwrap();
        assert_eq!((of_255.levels, of_255.nodata), (255, Some(255)));
        let nothing = coding(&[4; 6], None, Some(4), true).unwrap();
        assert_eq!((nothing.levels, nothing.nodata.is_some()), (1, true));
    }

    #[test]
    fn which_values_occur_is_all_there_is_to_know() {
        for (cells, nodata) in [
            (&[0, 3, 15, 3][..], None),
            (&[0, 3, 255, 3], Some(255)),
            (&[11, 95, 21, 95, 250, 11], Some(250)),
            (&[11, 95, 21, 95], Some(250)),
            (&[4; 6], Some(4)),
            (&[4, 4, 9, 4], Some(4)),
        ] {
            for compact in [false, true] {
                let mut present = [false; 256];
                cells.iter().for_each(|&value| present[usize::from(value)] = true);
                let expected = coding(cells, None, nodata, compact).unwrap();
                assert_eq!(Coding::of_present(&present, nodata, compact), expected, "{cells:?} {nodata:?}");
            }
        }
    }

    #[test]
    fn a_value_above_the_levels_is_named_by_its_place() {
        let error = coding(&[1, 2, 3, 1, 16, 17], Some(16), None, false).unwrap_err();
        assert!(matches!(error, Error::Value { row: 1, col: 1, value: 16, levels: 16 }), "{error}");
        assert!(coding(&[1, 2, 3, 1, 99, 3], Some(16), Some(99), false).is_ok());
    }
}
