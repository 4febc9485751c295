//! Two grids compared: the largest absolute difference, where it is, and how many cells are further apart than
//! a tolerance.
//!
//! The traps other comparisons fell into: a NaN compares as "not greater" and so passes every tolerance. Here
//! NaN on one side only is an infinite difference, and NaN on both is none. Two equal infinities are no
//! difference either.

use crate::grid::{Grid, GridView};

/// A cell in which two grids differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The sample, counted from 0.
    pub sample: usize,
    /// The row, counted from 0.
    pub row: usize,
    /// The column, counted from 0.
    pub col: usize,
    /// The first grid's value.
    pub a: f64,
    /// The second grid's value.
    pub b: f64,
    /// |a − b|, infinite where only one of them is a number.
    pub size: f64,
}

/// What a comparison found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Cells compared.
    pub cells: u64,
    /// Cells that differ by more than the tolerance.
    pub above: u64,
    /// Cells where only one side is a number.
    pub unpaired_nan: u64,
    /// The largest difference, the first if there are several; `None` when all cells are equal.
    pub largest: Option<Difference>,
}

impl Comparison {
    /// No cell differs by more than the tolerance.
    pub fn agrees(&self) -> bool {
        self.above == 0
    }
}

/// Grids that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// Not of one shape.
    #[error("sample {sample} (counted from 0) has {} x {} cells in one file and {} x {} in the other", a.0, a.1, b.0, b.1)]
    Shapes {
        /// The sample, counted from 0.
        sample: usize,
        /// Rows and columns of the first.
        a: (usize, usize),
        /// Rows and columns of the second.
        b: (usize, usize),
    },
    /// Not as many samples.
    #[error("there are {a} samples in one file and {b} in the other")]
    Samples {
        /// Samples of the first.
        a: usize,
        /// Samples of the second.
        b: usize,
    },
    /// Not a tolerance.
    #[error("a tolerance is a number that is not negative, not {0}")]
    Tolerance(String),
}

/// Compares two grids.
///
/// ```
/// use halotile::{compare, grid::GridView};
/// let (a, b) = ([1.0, 2.0, f64::NAN], [1.0, 2.5, f64::NAN]);
/// let found = compare::grids(GridView::new(&a, 1, 3)?, GridView::new(&b, 1, 3)?, 1e-5)?;
/// assert_eq!(found.above, 1);
/// assert_eq!(found.largest.map(|d| (d.row, d.col, d.size)), Some((0, 1, 0.5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`CompareError`]: other shapes, or a tolerance that is none.
pub fn grids(a: GridView<'_, f64>, b: GridView<'_, f64>, tolerance: f64) -> Result<Comparison, CompareError> {
    let mut found = start(tolerance)?;
    add(&mut found, 0, a, b, tolerance)?;
    Ok(found)
}

/// Compares the samples of two files (see [`crate::io::reals::read`]) one by one, as if they were one grid.
///
/// # Errors
/// [`CompareError`]: other numbers of samples, other shapes, or a tolerance that is none.
pub fn samples(a: &[Grid<f64>], b: &[Grid<f64>], tolerance: f64) -> Result<Comparison, CompareError> {
    let mut found = start(tolerance)?;
    if a.len() != b.len() {
        return Err(CompareError::Samples { a: a.len(), b: b.len() });
    }
    for (sample, (a, b)) in a.iter().zip(b).enumerate() {
        add(&mut found, sample, a.view(), b.view(), tolerance)?;
    }
    Ok(found)
}

fn start(tolerance: f64) -> Result<Comparison, CompareError> {
    if tolerance.is_nan() || tolerance < 0.0 {
        return Err(CompareError::Tolerance(tolerance.to_string()));
    }
    Ok(Comparison { cells: 0, above: 0, unpaired_nan: 0, largest: None })
}

/// |a − b| with the rules of this module.
fn distance(a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => 0.0,
        (false, false) if a == b => 0.0,
        (false, false) => (a - b).abs(),
        _ => f64::INFINITY,
    }
}

fn add(
    found: &mut Comparison,
    sample: usize,
    a: GridView<'_, f64>,
    b: GridView<'_, f64>,
    tolerance: f64,
) -> Result<(), CompareError> {
    let (shape_a, shape_b) = ((a.rows(), a.cols()), (b.rows(), b.cols()));
    if shape_a != shape_b {
        return Err(CompareError::Shapes { sample, a: shape_a, b: shape_b });
    }
    for row in 0..a.rows() {
        for (col, (&a, &b)) in a.row(row).iter().zip(b.row(row)).enumerate() {
            let size = distance(a, b);
            // An infinite tolerance still tells numbers from NaN.
            let unpaired = a.is_nan() != b.is_nan();
            found.unpaired_nan += u64::from(unpaired);
            found.above += u64::from(size > tolerance || unpaired);
            if size > found.largest.map_or(0.0, |d| d.size) {
                found.largest = Some(Difference { sample, row, col, a, b, size });
            }
        }
    }
    found.cells += (a.rows() * a.cols()) as u64;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(a: &[f64], b: &[f64], tolerance: f64) -> Comparison {
        let view = |v| GridView::new(v, 1, a.len()).unwrap();
        grids(view(a), view(b), tolerance).unwrap()
    }

    #[test]
    fn nan_is_equal_to_nan_and_to_nothing_else() {
        let nan = f64::NAN;
        let found = compare(&[nan, 1.0, nan, 3.0], &[nan, nan, 2.0, 3.0], f64::INFINITY);
        assert_eq!((found.cells, found.above, found.unpaired_nan), (4, 2, 2));
        let largest = found.largest.unwrap();
        assert_eq!((largest.col, largest.size), (1, f64::INFINITY));
        assert!(compare(&[nan, f64::INFINITY], &[nan, f64::INFINITY], 0.0).agrees());
        assert_eq!(compare(&[f64::INFINITY], &[f64::NEG_INFINITY], 1.0).above, 1);
        assert_eq!(compare(&[0.0], &[-0.0], 0.0).largest, None);
    }

    #[test]
    fn the_largest_difference_is_found_where_it_is() {
        let a = Grid::from_fn(40, 30, |r, c| (r * c) as f64).unwrap();
        let mut b = a.clone();
        b.as_mut_slice()[17 * 30 + 4] += 0.25;
        b.as_mut_slice()[39 * 30 + 29] -= 0.5;
        b.as_mut_slice()[0] += 1e-9;
        let found = samples(&[a.clone(), a.clone()], &[a.clone(), b], 1e-5).unwrap();
        assert_eq!((found.cells, found.above), (2400, 2));
        let d = found.largest.unwrap();
        assert_eq!((d.sample, d.row, d.col, d.a, d.b, d.size), (1, 39, 29, 1131.0, 1130.5, 0.5));
        // At the tolerance is not above it.
        assert!(compare(&[1.0], &[1.5], 0.5).agrees());
    }

    #[test]
    fn what_cannot_be_compared_says_so() {
        let grid = |rows, cols| Grid::<f64>::zeros(rows, cols).unwrap();
        let message = |a: &[Grid<f64>], b: &[Grid<f64>], t| samples(a, b, t).unwrap_err().to_string();
        assert_eq!(
            message(&[grid(2, 3)], &[grid(3, 2)], 0.0),
            "sample 0 (counted from 0) has 2 x 3 cells in one file and 3 x 2 in the other"
        );
        assert_eq!(message(&[grid(2, 3)], &[], 0.0), "there are 1 samples in one file and 0 in the other");
        assert_eq!(message(&[], &[], -1.0), "a tolerance is a number that is not negative, not -1");
        assert_eq!(message(&[], &[], f64::NAN), "a tolerance is a number that is not negative, not NaN");
    }
}
