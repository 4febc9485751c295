//! Is a result right? Compared with the definition ([`reference`]), in every cell or, where the definition would take minutes, in
//! patches: the corners, the middles of the edges and the middle of the grid; and in single cells at random, where they are asked for.
//! Outside the patches every cell is at least a number that a result can be, and nodata exactly where the cell has no data: a cell that was
//! not written is not, if the result was filled with something else before.

use rayon::prelude::*;

use crate::generate::mix;
use halotile::codes::{Code, CodesView};
use halotile::entropy::Kernel;
use halotile::grid::{Grid, GridView};
use halotile::measure::{Footprint, Measure};
use halotile::numbers::Real;
use halotile::reference::{self, Windows};

use super::subject::Values;

/// Largest difference that a rung, or a kernel written to check others, may have from the oracle, in nats.
const CHECKED: f64 = 1e-5;
/// The same for the kernels that are chosen by themselves, and for the CPU engine.
const PRODUCTION: f64 = 2e-6;
/// The same for their f64 results.
const DOUBLE: f64 = 1e-12;

/// Cells that the definition may read for a whole grid; it takes about a nanosecond for each.
const MOST_READS: usize = 1 << 28;
/// The side of a patch, unless windows are too large for so many.
const PATCH: usize = 96;

/// Largest difference from the oracle, in nats, that `kernel` may have; `None` stands for the one chosen by itself, and for
/// the CPU engine.
pub fn tolerance(kernel: Option<Kernel>, f64: bool) -> f64 {
    match kernel {
        _ if f64 => DOUBLE,
        Some(Kernel::Naive | Kernel::Tiled | Kernel::Custom(_)) => CHECKED,
        _ => PRODUCTION,
    }
}

/// A cell that is wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("row {row}, column {col}: {}", describe(*.got, *.expected))]
pub struct WrongCell {
    /// Its row, from 0.
    pub row: usize,
    /// Its column, from 0.
    pub col: usize,
    /// What is there.
    pub got: f64,
    /// What should be; `None` where only a number that a result can be was asked for.
    pub expected: Option<f64>,
}

fn describe(got: f64, expected: Option<f64>) -> String {
    match expected {
        None => format!("{got} is no possible result; the cell may not have been written"),
        Some(expected) if expected.is_nan() => format!("{got}, and nodata was expected"),
        Some(expected) => format!("{got}, and {expected} was expected ({:.1e} off)", (got - expected).abs()),
    }
}

/// The largest difference between a result and what the oracle says, NaN being equal to NaN only; or the first cell that is
/// off by more than `tolerance`.
///
/// ```
/// use halotile_lab::bench::compare;
/// use halotile::grid::Grid;
/// let (got, expected) = (Grid::from_vec(vec![1f32, 2.5], 1, 2)?, Grid::from_vec(vec![1f64, 2.0], 1, 2)?);
/// assert_eq!(compare(got.view(), &expected, 0.5), Ok(0.5));
/// assert_eq!(compare(got.view(), &expected, 0.1).unwrap_err().col, 1);
/// # Ok::<(), halotile::grid::ShapeError>(())
/// ```
pub fn compare<T: Real + Into<f64>>(
    got: GridView<'_, T>,
    expected: &Grid<f64>,
    tolerance: f64,
) -> Result<f64, WrongCell> {
    patch(got, expected, 0, 0, tolerance, false)
}

/// The same where `expected` is a patch of the grid; `relative`: differences are by the number expected, where that is above 1.
fn patch<T: Real + Into<f64>>(
    got: GridView<'_, T>,
    expected: &Grid<f64>,
    top: usize,
    left: usize,
    tolerance: f64,
    relative: bool,
) -> Result<f64, WrongCell> {
    let mut worst = 0.0f64;
    for r in 0..expected.rows() {
        let row = &got.row(top + r)[left..];
        for (c, (&got, &expected)) in row.iter().zip(expected.row(r)).enumerate() {
            let got: f64 = got.into();
            let unit = if relative { expected.max(1.0) } else { 1.0 };
            let difference = (got - expected).abs() / unit;
            let right = if expected.is_nan() { got.is_nan() } else { difference <= tolerance };
            // NaN is within no tolerance.
            if !right {
                return Err(WrongCell { row: top + r, col: left + c, got, expected: Some(expected) });
            }
            // Of a number and nodata there is none.
            worst = worst.max(if difference.is_nan() { 0.0 } else { difference });
        }
    }
    Ok(worst)
}

/// What results are by definition: of which measure, in which windows (clipped at the border), over which codes.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub footprint: Footprint,
    pub measure: Measure,
    /// Cells are below this, or nodata.
    pub levels: usize,
    /// Cells of this value are not counted.
    pub nodata: Option<u16>,
}

impl Definition {
    /// Shannon's entropy of cells that all have data.
    pub fn entropy(footprint: Footprint, levels: usize) -> Self {
        Self { footprint, measure: Measure::Shannon, levels, nodata: None }
    }

    /// The result of one cell.
    fn at(&self, cells: CodesView<'_>, row: usize, col: usize) -> f64 {
        match cells {
            CodesView::Bytes(cells) => self.at_in(cells, row, col),
            CodesView::Words(cells) => self.at_in(cells, row, col),
        }
    }

    fn at_in<C: Code>(&self, cells: GridView<'_, C>, row: usize, col: usize) -> f64 {
        let Self { footprint, measure, nodata, .. } = self;
        let nodata = nodata.and_then(C::of);
        match (footprint.as_square(), measure) {
            // The same, found several times faster.
            (Some(size), Measure::Shannon) => reference::entropy_at(cells, size, nodata, row, col),
            _ => {
                let windows = Windows { nodata, ..Windows::of(footprint) };
                reference::measures_at(cells, &windows, &[*measure], row, col)[0]
            }
        }
    }

    /// From the smallest result to the largest, of windows with up to so many cells.
    fn possible(&self, window: usize) -> (f64, f64) {
        let most = self.levels.min(window).max(1) as f64;
        match self.measure {
            Measure::Shannon | Measure::Renyi(_) => (0.0, most.ln()),
            Measure::Simpson => (0.0, 1.0 - 1.0 / most),
            Measure::Evenness => (0.0, 1.0),
            Measure::Richness | Measure::Hill(_) => (1.0, most),
        }
    }

    /// The first cell that has what no result can be.
    fn impossible<T: Real + Into<f64>, C: Code>(
        &self,
        got: GridView<'_, T>,
        cells: GridView<'_, C>,
        tolerance: f64,
    ) -> Option<WrongCell> {
        let window = self.footprint.rows().min(got.rows()) * self.footprint.cols().min(got.cols());
        let (least, most) = self.possible(window);
        let slack = if self.is_relative() { tolerance * most } else { tolerance };
        let possible = least - slack..=most + slack;
        let hidden = |cell: C| Some(cell.get()) == self.nodata;
        let right = |value: f64, cell| if hidden(cell) { value.is_nan() } else { possible.contains(&value) };
        (0..got.rows()).into_par_iter().find_map_first(|row| {
            let both = || got.row(row).iter().map(|&value| value.into()).zip(cells.row(row));
            let (col, (got, &cell)) = both().enumerate().find(|&(_, (value, &cell))| !right(value, cell))?;
            Some(WrongCell { row, col, got, expected: hidden(cell).then_some(f64::NAN) })
        })
    }

    /// Hill's numbers are right to so many digits, all others to so many places.
    fn is_relative(&self) -> bool {
        matches!(self.measure, Measure::Hill(_))
    }
}

/// How much of a grid is compared with the definition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// Cells that the definition may read for the whole grid, or else for the patches.
    pub reads: usize,
    /// Single cells beside the patches.
    pub scattered: usize,
    /// What their places depend on.
    pub seed: u64,
}

/// What the definition says of a grid.
pub struct Oracle<'a> {
    cells: CodesView<'a>,
    definition: Definition,
    /// Row and column of the first cell, and the results from there on: all of the grid, or patches and then single cells.
    patches: Vec<(usize, usize, Grid<f64>)>,
    whole: bool,
}

impl<'a> Oracle<'a> {
    /// The entropies of `cells`, all below `levels`, in windows of `size` × `size` (odd).
    pub fn new(cells: impl Into<CodesView<'a>>, size: usize, levels: usize) -> Self {
        let footprint = Footprint::square(size).expect("the size has been checked");
        Self::of(cells, Definition::entropy(footprint, levels), Sample { reads: MOST_READS, scattered: 0, seed: 0 })
    }

    /// What `definition` says of so much of `cells`.
    pub(super) fn of(cells: impl Into<CodesView<'a>>, definition: Definition, sample: Sample) -> Self {
        let cells = cells.into();
        let (rows, cols) = (cells.rows(), cells.cols());
        let window = definition.footprint.rows().min(rows) * definition.footprint.cols().min(cols);
        let whole = rows.saturating_mul(cols).saturating_mul(window) <= sample.reads;
        let places = if whole {
            vec![(0, 0, rows, cols)]
        } else {
            let side = ((sample.reads / 9 / window) as f64).sqrt() as usize;
            let (height, width) = (side.clamp(2, PATCH).min(rows), side.clamp(2, PATCH).min(cols));
            let starts = |length: usize, patch: usize| [0, (length - patch) / 2, length - patch];
            let tops = starts(rows, height).into_iter();
            let patches = tops.flat_map(|top| starts(cols, width).map(|left| (top, left, height, width)));
            let random = |i: usize| mix(sample.seed.wrapping_add(mix(i as u64)));
            let below = |i: usize, length: usize| (random(i) % length as u64) as usize;
            let single = |i: usize| (below(2 * i, rows), below(2 * i + 1, cols), 1, 1);
            patches.chain((0..sample.scattered).map(single)).collect()
        };
        let compute = |(top, left, height, width): (usize, usize, usize, usize)| {
            let cell = |i| definition.at(cells, top + i / width, left + i % width);
            let values: Vec<f64> = (0..height * width).into_par_iter().map(cell).collect();
            (top, left, Grid::from_vec(values, height, width).expect("it was made in this shape"))
        };
        let patches = places.into_par_iter().map(compute).collect();
        Self { cells, definition, patches, whole }
    }

    /// What is compared: "every cell", "9 patches of 96 x 96 cells", or that "and 256 cells at random".
    pub fn covers(&self) -> String {
        if self.whole {
            return "every cell".to_owned();
        }
        let (patches, scattered) = self.patches.split_at(self.patches.len().min(9));
        let first = &patches[0].2;
        let text = format!("{} patches of {} x {} cells", patches.len(), first.rows(), first.cols());
        if scattered.is_empty() { text } else { format!("{text} and {} cells at random", scattered.len()) }
    }

    /// The largest difference, or the first cell that is off by more than `tolerance`.
    pub fn check(&self, values: &Values<'_>, tolerance: f64) -> Result<f64, WrongCell> {
        match values {
            Values::F32(grid) => self.check_grid(*grid, tolerance),
            Values::F64(grid) => self.check_grid(*grid, tolerance),
        }
    }

    fn check_grid<T: Real + Into<f64>>(&self, got: GridView<'_, T>, tolerance: f64) -> Result<f64, WrongCell> {
        let Self { cells, definition, patches, whole } = self;
        let relative = definition.is_relative();
        let mut worst = 0.0f64;
        for (top, left, expected) in patches {
            worst = worst.max(patch(got, expected, *top, *left, tolerance, relative)?);
        }
        if !whole {
            let impossible = match *cells {
                CodesView::Bytes(cells) => definition.impossible(got, cells, tolerance),
                CodesView::Words(cells) => definition.impossible(got, cells, tolerance),
            };
            impossible.map_or(Ok(()), Err)?;
        }
        Ok(worst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Generator, Pattern};
    use halotile::entropy::Entropy;

    fn cells(rows: usize, cols: usize) -> Grid<u8> {
        Generator::new(Pattern::Random, 1, 16).unwrap().grid(rows, cols).unwrap()
    }

    #[test]
    fn every_cell_of_a_small_grid_is_looked_at() {
        let cells = cells(41, 37);
        let oracle = Oracle::new(cells.view(), 5, 16);
        assert_eq!(oracle.covers(), "every cell");
        let right: Grid<f32> = Entropy::new().compute(cells.view()).unwrap();
        assert!(oracle.check(&Values::F32(right.view()), 2e-6).unwrap() < 2e-6);
        for at in [0, 36, 41 * 37 - 1, 700] {
            let mut wrong = right.clone();
            wrong.as_mut_slice()[at] += 1e-4;
            let found = oracle.check(&Values::F32(wrong.view()), 2e-6).unwrap_err();
            assert_eq!((found.row, found.col), (at / 37, at % 37));
            wrong.as_mut_slice()[at] = f32::NAN;
            assert!(oracle.check(&Values::F32(wrong.view()), 2e-6).is_err());
        }
    }

    #[test]
    fn of_a_large_grid_the_patches_and_what_nobody_wrote() {
        let (rows, cols, size) = (1100, 900, 21);
        let cells = cells(rows, cols);
        let oracle = Oracle::new(cells.view(), size, 16);
        assert_eq!(oracle.covers(), "9 patches of 96 x 96 cells");
        let right: Grid<f32> = Entropy::new().size(size).compute(cells.view()).unwrap();
        oracle.check(&Values::F32(right.view()), 2e-6).unwrap();
        // The last corner, the middle, the middle of the left edge.
        for (row, col) in [(rows - 1, cols - 1), (rows / 2, cols / 2), (rows / 2, 0)] {
            let mut wrong = right.clone();
            wrong.as_mut_slice()[row * cols + col] += 1e-4;
            let found = oracle.check(&Values::F32(wrong.view()), 2e-6).unwrap_err();
            assert_eq!((found.row, found.col, found.expected.is_some()), (row, col, true));
        }
        for unwritten in [f32::NAN, f32::from_bits(0x7E7E_7E7E), -1.0, 2.8] {
            let mut wrong = right.clone();
            wrong.as_mut_slice()[200 * cols + 250] = unwritten;
            let found = oracle.check(&Values::F32(wrong.view()), 2e-6).unwrap_err();
            assert_eq!((found.row, found.col, found.expected), (200, 250, None));
        }
    }

    #[test]
    fn large_windows_are_checked_in_smaller_patches() {
        let cells = cells(600, 600);
        let oracle = Oracle::new(cells.view(), 255, 16);
        assert_eq!(oracle.covers(), "9 patches of 21 x 21 cells");
        let right: Grid<f64> = Entropy::new().size(255).compute(cells.view()).unwrap();
        oracle.check(&Values::F64(right.view()), 1e-12).unwrap();
    }

    #[test]
    fn any_measure_with_nodata_is_checked_in_patches_and_single_cells() {
        let (rows, cols) = (300, 280);
        let grid = cells(rows, cols);
        let hidden = |at: usize| at.is_multiple_of(20);
        let codes = |row: usize, col: usize| if hidden(row * cols + col) { 255 } else { grid.row(row)[col] };
        let grid = Grid::from_fn(rows, cols, codes).unwrap();
        let footprint = Footprint::disk(9).unwrap();
        let hill = Measure::Hill(2.0);
        let definition = Definition { footprint: footprint.clone(), measure: hill, levels: 16, nodata: Some(255) };
        let oracle = Oracle::of(grid.view(), definition, Sample { reads: 1 << 16, scattered: 40, seed: 1 });
        assert_eq!(oracle.covers(), "9 patches of 9 x 9 cells and 40 cells at random");
        let entropy = Entropy::new().footprint(footprint).measures([hill]).levels(16).nodata(255);
        let right: Grid<f32> = entropy.compute(grid.view()).unwrap();
        assert!(oracle.check(&Values::F32(right.view()), 2e-6).unwrap() < 2e-6);
        let found = |at: usize, value: f32| {
            let mut wrong = right.clone();
            wrong.as_mut_slice()[at] = value;
            oracle.check(&Values::F32(wrong.view()), 2e-6).map_err(|cell| (cell.row * cols + cell.col, cell.expected))
        };
        // Hill's numbers are right to so many digits: about 10 here.
        let (row, col, expected) = oracle.patches[9..].iter().find(|(.., value)| !value.row(0)[0].is_nan()).unwrap();
        let (single, number) = (row * cols + col, expected.row(0)[0]);
        assert!(number > 8.0 && found(single, (number * (1.0 + 1.5e-6)) as f32).is_ok());
        assert_eq!(found(single, (number * (1.0 + 3e-6)) as f32), Err((single, Some(number))));
        // Between the patches: a number where there is no data, none where there is, and what no result can be.
        let between = 60 * cols + 40;
        assert!(hidden(between) && !hidden(between + 1));
        assert!(matches!(found(between, 3.0), Err((at, Some(expected))) if at == between && expected.is_nan()));
        for value in [f32::NAN, 0.99, 16.1] {
            assert_eq!(found(between + 1, value), Err((between + 1, None)), "{value}");
        }
        assert!(found(between + 1, 3.0).is_ok(), "it is in no patch");
    }
}
