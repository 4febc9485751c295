//! The first look at a grid: which values it holds.
//!
//! Levels cost time and table space in every engine, and land-cover codes are seldom 0, 1, 2, … So the
//! grid is looked through once: always for its largest value (the pace of memory), and only if that is
//! no small number for every value that occurs.

use rayon::prelude::*;

use super::Error;
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
    /// Looks through `cells` and chooses. `compact` asks for a nodata code right behind the levels.
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

    /// The same where it is known which values occur, and that they may.
    pub fn of_present(present: &[bool; 256], nodata: Option<u8>, compact: bool) -> Self {
        let mut valid = *present;
        let nodata = nodata.filter(|&nodata| std::mem::take(&mut valid[usize::from(nodata)]));
        let max = (0..=255u8).rfind(|&value| valid[usize::from(value)]);
        Self::choose(max, nodata, compact, || valid)
    }

    /// Chooses by the largest value, a nodata that occurs and, where it comes to that, all values that do beside it.
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

    /// What is known of a grid that nobody has looked through: that its cells are below `levels`, if [`check`] finds them so.
    /// `None` where looking through it first is worth its time.
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
            Some(codes) => Coded::Copy(recode(cells, codes)?),
            None => Coded::Same(cells),
        })
    }
}

/// Cells below the number of levels, or nodata.
pub(crate) enum Coded<'a> {
    /// They were so from the beginning.
    Same(GridView<'a, u8>),
    /// Numbered anew.
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

/// A copy of `cells` with every value replaced by its code.
fn recode(cells: GridView<'_, u8>, codes: &[u8; 256]) -> Result<Grid<u8>, ShapeError> {
    let mut coded = Grid::zeros(cells.rows(), cells.cols())?;
    coded.as_mut_slice().par_chunks_mut(cells.cols()).enumerate().for_each(|(r, row)| {
        for (code, &value) in row.iter_mut().zip(cells.row(r)) {
            *code = codes[usize::from(value)];
        }
    });
    Ok(coded)
}

/// What `look` finds in all cells, in parallel, in runs that are neither too short for a loop nor too long for one thread, whatever
/// rows are.
fn in_runs<R: Send>(
    cells: GridView<'_, u8>,
    look: impl Fn(&[u8]) -> R + Sync + Send,
    nothing: impl Fn() -> R + Sync + Send,
    join: impl Fn(R, R) -> R + Sync + Send,
) -> R {
    const RUN: usize = 1 << 16;
    if cells.stride() == cells.cols() {
        return cells.as_strided().par_chunks(RUN).map(look).reduce(nothing, join);
    }
    let rows = (0..cells.rows()).into_par_iter().with_min_len(RUN.div_ceil(cells.cols()));
    rows.map(|r| look(cells.row(r))).reduce(nothing, join)
}

/// The largest value that is not nodata, and whether nodata occurs.
fn extremes(cells: GridView<'_, u8>, nodata: Option<u8>) -> (Option<u8>, bool) {
    let look = |run: &[u8]| match nodata {
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
    let (max, valid, hits) = in_runs(cells, look, || (0, false, false), |a, b| (a.0.max(b.0), a.1 | b.1, a.2 | b.2));
    (valid.then_some(max), hits)
}

/// Which values occur, nodata left out.
fn present(cells: GridView<'_, u8>, nodata: Option<u8>) -> [bool; 256] {
    let look = |run: &[u8]| {
        let mut seen = [false; 256];
        for &value in run {
            seen[usize::from(value)] = true;
        }
        seen
    };
    let mut all = in_runs(cells, look, || [false; 256], |a, b| std::array::from_fn(|i| a[i] | b[i]));
    if let Some(nodata) = nodata {
        all[usize::from(nodata)] = false;
    }
    all
}

/// An error if a value is neither below `levels` nor `nodata`. `cells` are a part of a grid, from (`top`, `left`) on.
pub(crate) fn check(
    cells: GridView<'_, u8>,
    place: (usize, usize),
    levels: usize,
    nodata: Option<u8>,
) -> Result<(), Error> {
    match extremes(cells, nodata).0 {
        Some(max) if usize::from(max) >= levels => Err(first_above(cells, place, levels, nodata)),
        _ => Ok(()),
    }
}

/// The error for the first value, in reading order, that is too large.
fn first_above(cells: GridView<'_, u8>, (top, left): (usize, usize), levels: usize, nodata: Option<u8>) -> Error {
    for row in 0..cells.rows() {
        let above = |value: u8| usize::from(value) >= levels && Some(value) != nodata;
        if let Some(col) = cells.row(row).iter().position(|&value| above(value)) {
            return Error::Value { row: top + row, col: left + col, value: cells.row(row)[col], levels };
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
