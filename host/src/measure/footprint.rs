//! The shape of a window.

use crate::entropy::MAX_SIZE;

/// The shape of a window: which cells around the centre belong to it. Rows and columns are odd, 1 to
/// [`MAX_SIZE`], the centre in their middle, and at least one cell belongs to it (not necessarily the centre).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Footprint {
    rows: usize,
    cols: usize,
    /// Row by row.
    cells: Vec<bool>,
}

/// Why something is no window.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FootprintError {
    /// A side is even, 0 or too long.
    #[error("a window has an odd number of rows and columns from 1 to {MAX_SIZE}, not {rows} x {cols}")]
    Shape {
        /// Rows given.
        rows: usize,
        /// Columns given.
        cols: usize,
    },
    /// Rows and columns do not make as many cells.
    #[error("a window of {rows} x {cols} has {} cells, not {got}", rows * cols)]
    Length {
        /// Rows given.
        rows: usize,
        /// Columns given.
        cols: usize,
        /// Cells given.
        got: usize,
    },
    /// No cell belongs to it.
    #[error("no cell belongs to the window: all of its cells are 0")]
    Empty,
}

impl Footprint {
    /// A window of `rows` × `cols` cells, row by row, true where a cell belongs to it.
    pub fn new(rows: usize, cols: usize, cells: Vec<bool>) -> Result<Self, FootprintError> {
        let odd = |n: usize| n % 2 == 1 && n <= MAX_SIZE;
        if !odd(rows) || !odd(cols) {
            return Err(FootprintError::Shape { rows, cols });
        }
        if cells.len() != rows * cols {
            return Err(FootprintError::Length { rows, cols, got: cells.len() });
        }
        if !cells.contains(&true) {
            return Err(FootprintError::Empty);
        }
        Ok(Self { rows, cols, cells })
    }

    /// The square of `size` × `size` cells.
    pub fn square(size: usize) -> Result<Self, FootprintError> {
        Self::new(size, size, vec![true; size * size])
    }

    /// The disk of `size` cells across: cells whose distance from the centre, centre to centre, is at most `size / 2`
    /// (rounded down). The same as scikit-image's `disk(size // 2)`.
    ///
    /// ```
    /// use halotile::measure::Footprint;
    /// assert_eq!(Footprint::disk(5)?.count(), 13);
    /// # Ok::<(), halotile::measure::FootprintError>(())
    /// ```
    pub fn disk(size: usize) -> Result<Self, FootprintError> {
        let radius = size / 2;
        let inside = |i: usize| (i / size).abs_diff(radius).pow(2) + (i % size).abs_diff(radius).pow(2) <= radius * radius;
        Self::new(size, size, (0..size * size).map(inside).collect())
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// True when the cell at (`row`, `col`), counted from the window's upper left corner, belongs to it.
    pub fn contains(&self, row: usize, col: usize) -> bool {
        self.cells[row * self.cols + col]
    }

    /// How many cells belong to it.
    pub fn count(&self) -> usize {
        self.cells.iter().filter(|&&cell| cell).count()
    }

    /// The side of the square that it is, if it is one and has all of its cells.
    pub fn as_square(&self) -> Option<usize> {
        (self.rows == self.cols && self.count() == self.cells.len()).then_some(self.rows)
    }
}
