//! Is a result right? Compared with the definition ([`reference`]), in every cell or, where the definition would take minutes, in
//! patches: the corners, the middles of the edges and the middle of the grid. Outside the patches every cell is at least
//! a number that an entropy can be: one that nobody wrote is not, if the result was filled with something else before.

use rayon::prelude::*;

use crate::cpu::Real;
use crate::entropy::Kernel;
use crate::grid::{Grid, GridView};
use crate::reference;

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
        Some(Kernel::Naive | Kernel::Tiled | Kernel::Rung(_)) => CHECKED,
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
    /// What should be; `None` where only a number that an entropy can be was asked for.
    pub expected: Option<f64>,
}

fn describe(got: f64, expected: Option<f64>) -> String {
    match expected {
        None => format!("{got} is no entropy; the cell may not have been written"),
        Some(expected) if expected.is_nan() => format!("{got}, and nodata was expected"),
        Some(expected) => format!("{got}, and {expected} was expected ({:.1e} off)", (got - expected).abs()),
    }
}

/// The largest difference between a result and what the oracle says, NaN being equal to NaN only; or the first cell that is
/// off by more than `tolerance`.
///
/// ```
/// use halotile::bench::compare;
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
    patch(got, expected, 0, 0, tolerance)
}

/// The same where `expected` is a patch of the grid.
fn patch<T: Real + Into<f64>>(
    got: GridView<'_, T>,
    expected: &Grid<f64>,
    top: usize,
    left: usize,
    tolerance: f64,
) -> Result<f64, WrongCell> {
    let mut worst = 0.0f64;
    for r in 0..expected.rows() {
        let row = &got.row(top + r)[left..];
        for (c, (&got, &expected)) in row.iter().zip(expected.row(r)).enumerate() {
            let got: f64 = got.into();
            let difference = (got - expected).abs();
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

/// What the definition says of a grid without nodata.
pub struct Oracle {
    /// Row and column of the first cell, and the entropies from there on.
    patches: Vec<(usize, usize, Grid<f64>)>,
    whole: bool,
    /// No entropy is larger.
    most: f64,
}

impl Oracle {
    /// The results for `cells`, all below `levels`, and windows of `size` × `size` (odd).
    pub fn new(cells: GridView<'_, u8>, size: usize, levels: usize) -> Self {
        let (rows, cols) = (cells.rows(), cells.cols());
        let window = size.min(rows) * size.min(cols);
        let whole = rows.saturating_mul(cols).saturating_mul(window) <= MOST_READS;
        let places = if whole {
            vec![(0, 0, rows, cols)]
        } else {
            let side = ((MOST_READS / 9 / window) as f64).sqrt() as usize;
            let (height, width) = (side.clamp(2, PATCH).min(rows), side.clamp(2, PATCH).min(cols));
            let starts = |length: usize, patch: usize| [0, (length - patch) / 2, length - patch];
            let tops = starts(rows, height).into_iter();
            tops.flat_map(|top| starts(cols, width).map(|left| (top, left, height, width))).collect()
        };
        let compute = |(top, left, height, width): (usize, usize, usize, usize)| {
            let cell = |i| reference::entropy_at(cells, size, None, top + i / width, left + i % width);
            let values: Vec<f64> = (0..height * width).into_par_iter().map(cell).collect();
            (top, left, Grid::from_vec(values, height, width).expect("it was made in this shape"))
        };
        let most = (levels.min(window).max(1) as f64).ln();
        Self { patches: places.into_iter().map(compute).collect(), whole, most }
    }

    /// What is compared: "every cell", or "9 patches of 96 x 96 cells".
    pub fn covers(&self) -> String {
        match &self.patches[..] {
            [_] if self.whole => "every cell".to_owned(),
            patches => {
                let (_, _, first) = &patches[0];
                format!("{} patches of {} x {} cells", patches.len(), first.rows(), first.cols())
            }
        }
    }

    /// The largest difference, or the first cell that is off by more than `tolerance`.
    pub fn check(&self, values: &Values<'_>, tolerance: f64) -> Result<f64, WrongCell> {
        match values {
            Values::F32(grid) => self.check_grid(*grid, tolerance),
            Values::F64(grid) => self.check_grid(*grid, tolerance),
        }
    }

    fn check_grid<T: Real + Into<f64>>(&self, got: GridView<'_, T>, tolerance: f64) -> Result<f64, WrongCell> {
        let mut worst = 0.0f64;
        for (top, left, expected) in &self.patches {
            worst = worst.max(patch(got, expected, *top, *left, tolerance)?);
        }
        if !self.whole {
            let possible = -tolerance..=self.most + tolerance;
            let wrong = (0..got.rows()).into_par_iter().find_map_first(|row| {
                let col = got.row(row).iter().position(|&h| !possible.contains(&h.into()))?;
                Some(WrongCell { row, col, got: got.row(row)[col].into(), expected: None })
            });
            wrong.map_or(Ok(()), Err)?;
        }
        Ok(worst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::Entropy;
    use crate::generate::{Generator, Pattern};

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
}
