//! Grids: rectangular arrays of cells, owned or borrowed, row-major, with a stride between rows.
//!
//! A view borrows memory and never copies it. The stride (in cells, at least the number
//! of columns) lets a view be a sub-rectangle of a larger array or the padded rows of a device
//! buffer. All shapes are written rows × columns.

use std::fmt;
use std::ops::Range;

/// Why memory cannot be seen as a grid of the shape asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// Zero rows or zero columns.
    #[error("a grid needs at least one row and one column, not {rows} x {cols}")]
    Empty {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        cols: usize,
    },
    /// The stride is smaller than a row.
    #[error("a stride of {stride} cells is shorter than a row of {cols}")]
    Stride {
        /// Stride asked for.
        stride: usize,
        /// Columns asked for.
        cols: usize,
    },
    /// There is not enough memory for the grid.
    #[error("there is not enough memory for a grid of {rows} x {cols} cells")]
    Memory {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        cols: usize,
    },
    /// The memory is too short (or, for an owned grid, not exactly right).
    #[error("{rows} x {cols} cells need {needed} values, and there are {got}")]
    Length {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        cols: usize,
        /// Values that the shape takes (`usize::MAX` when the product overflows).
        needed: usize,
        /// Values there are.
        got: usize,
    },
}

fn check(len: usize, rows: usize, cols: usize, stride: usize) -> Result<(), ShapeError> {
    if rows == 0 || cols == 0 {
        return Err(ShapeError::Empty { rows, cols });
    }
    if stride < cols {
        return Err(ShapeError::Stride { stride, cols });
    }
    let needed = (rows - 1).checked_mul(stride).and_then(|n| n.checked_add(cols)).unwrap_or(usize::MAX);
    if len < needed {
        return Err(ShapeError::Length { rows, cols, needed, got: len });
    }
    Ok(())
}

/// Where a rectangle lies in the memory of a grid. Panics when it is empty or not inside.
fn inside(rows: &Range<usize>, cols: &Range<usize>, all_rows: usize, all_cols: usize, stride: usize) -> Range<usize> {
    assert!(rows.start < rows.end && rows.end <= all_rows, "rows {rows:?} of {all_rows}");
    assert!(cols.start < cols.end && cols.end <= all_cols, "columns {cols:?} of {all_cols}");
    rows.start * stride + cols.start..(rows.end - 1) * stride + cols.end
}

/// A borrowed grid: `rows` × `cols` cells of type `T`, row `r` starting at `data[r * stride]`.
///
/// ```
/// use halotile::grid::GridView;
/// // The left 2 × 2 corner of a 2 × 3 array.
/// let data = [1u8, 2, 3, 4, 5, 6];
/// let corner = GridView::with_stride(&data, 2, 2, 3)?;
/// assert_eq!(corner.row(1), &[4, 5]);
/// # Ok::<(), halotile::grid::ShapeError>(())
/// ```
pub struct GridView<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    stride: usize,
}

// Written by hand: a derive would ask for `T: Clone`, and a view copies no cell.
impl<T> Clone for GridView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for GridView<'_, T> {}

impl<T> fmt::Debug for GridView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GridView({} x {}, stride {})", self.rows, self.cols, self.stride)
    }
}

impl<'a, T> GridView<'a, T> {
    /// Sees `data` as `rows` × `cols` cells without gaps between rows.
    ///
    /// # Errors
    /// [`ShapeError`]: no rows or columns, or data of another length.
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Result<Self, ShapeError> {
        Self::with_stride(data, rows, cols, cols)
    }

    /// Sees `data` as `rows` × `cols` cells, rows starting `stride` cells apart.
    ///
    /// # Errors
    /// [`ShapeError`]: no rows or columns, a stride that is shorter than a row, or data that is too short.
    pub fn with_stride(data: &'a [T], rows: usize, cols: usize, stride: usize) -> Result<Self, ShapeError> {
        check(data.len(), rows, cols, stride)?;
        Ok(Self { data, rows, cols, stride })
    }

    /// Number of rows, at least 1.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns, at least 1.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Cells between the starts of neighbouring rows.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The cells of row `r`. Panics when `r` is not a row.
    #[inline]
    pub fn row(&self, r: usize) -> &'a [T] {
        assert!(r < self.rows, "row {r} of a grid of {} rows", self.rows);
        &self.data[r * self.stride..][..self.cols]
    }

    /// The rows in `range` as a grid of their own. Panics when the range is empty or not inside.
    pub fn band(&self, range: Range<usize>) -> GridView<'a, T> {
        self.rect(range, 0..self.cols)
    }

    /// The rectangle of these rows and columns as a grid of its own. Panics when a range is empty or not inside.
    pub fn rect(&self, rows: Range<usize>, cols: Range<usize>) -> GridView<'a, T> {
        let data = &self.data[inside(&rows, &cols, self.rows, self.cols, self.stride)];
        GridView { data, rows: rows.len(), cols: cols.len(), stride: self.stride }
    }

    /// The memory from the first cell to the last one, gaps included.
    pub fn as_strided(&self) -> &'a [T] {
        &self.data[..(self.rows - 1) * self.stride + self.cols]
    }
}

/// A borrowed grid that can be written; otherwise like [`GridView`].
pub struct GridViewMut<'a, T> {
    data: &'a mut [T],
    rows: usize,
    cols: usize,
    stride: usize,
}

impl<T> fmt::Debug for GridViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GridViewMut({} x {}, stride {})", self.rows, self.cols, self.stride)
    }
}

impl<'a, T> GridViewMut<'a, T> {
    /// Sees `data` as `rows` × `cols` cells without gaps between rows.
    ///
    /// # Errors
    /// [`ShapeError`]: no rows or columns, or data of another length.
    pub fn new(data: &'a mut [T], rows: usize, cols: usize) -> Result<Self, ShapeError> {
        Self::with_stride(data, rows, cols, cols)
    }

    /// Sees `data` as `rows` × `cols` cells, rows starting `stride` cells apart.
    ///
    /// # Errors
    /// [`ShapeError`]: no rows or columns, a stride that is shorter than a row, or data that is too short.
    pub fn with_stride(data: &'a mut [T], rows: usize, cols: usize, stride: usize) -> Result<Self, ShapeError> {
        check(data.len(), rows, cols, stride)?;
        Ok(Self { data, rows, cols, stride })
    }

    /// Number of rows, at least 1.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns, at least 1.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Cells between the starts of neighbouring rows.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The cells of row `r`. Panics when `r` is not a row.
    #[inline]
    pub fn row_mut(&mut self, r: usize) -> &mut [T] {
        assert!(r < self.rows, "row {r} of a grid of {} rows", self.rows);
        &mut self.data[r * self.stride..][..self.cols]
    }

    /// A shorter borrow of the same cells.
    pub fn reborrow(&mut self) -> GridViewMut<'_, T> {
        GridViewMut { data: self.data, rows: self.rows, cols: self.cols, stride: self.stride }
    }

    /// The same cells, read only.
    pub fn as_view(&self) -> GridView<'_, T> {
        GridView { data: self.data, rows: self.rows, cols: self.cols, stride: self.stride }
    }

    /// The rectangle of these rows and columns as a grid of its own. Panics when a range is empty or not inside.
    pub fn rect(self, rows: Range<usize>, cols: Range<usize>) -> GridViewMut<'a, T> {
        let data = &mut self.data[inside(&rows, &cols, self.rows, self.cols, self.stride)];
        GridViewMut { data, rows: rows.len(), cols: cols.len(), stride: self.stride }
    }

    /// The first `at` rows and the others. Panics when either would be empty.
    pub fn split_rows(self, at: usize) -> (GridViewMut<'a, T>, GridViewMut<'a, T>) {
        assert!(0 < at && at < self.rows, "a cut at row {at} of {}", self.rows);
        let (cols, stride) = (self.cols, self.stride);
        let (head, tail) = self.data.split_at_mut(at * stride);
        let head = GridViewMut { data: head, rows: at, cols, stride };
        (head, GridViewMut { data: tail, rows: self.rows - at, cols, stride })
    }

    /// Its rows, top to bottom.
    pub fn into_rows(self) -> impl Iterator<Item = &'a mut [T]> {
        let (cols, rows) = (self.cols, self.rows);
        self.data.chunks_mut(self.stride).take(rows).map(move |row| &mut row[..cols])
    }

    /// A grid of one row, which is not empty.
    pub(crate) fn of_row(row: &'a mut [T]) -> Self {
        let cols = row.len();
        Self { data: row, rows: 1, cols, stride: cols }
    }

    /// The memory from the first cell to the last one, gaps included, for as long as the view had it.
    pub fn into_strided(self) -> &'a mut [T] {
        let end = (self.rows - 1) * self.stride + self.cols;
        &mut self.data[..end]
    }

    /// The memory from the first cell to the last one, gaps included.
    pub fn as_strided_mut(&mut self) -> &mut [T] {
        let end = (self.rows - 1) * self.stride + self.cols;
        &mut self.data[..end]
    }
}

/// An owned grid, `rows` × `cols`, without gaps.
#[derive(Clone, PartialEq)]
pub struct Grid<T> {
    data: Vec<T>,
    rows: usize,
    cols: usize,
}

impl<T> fmt::Debug for Grid<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Grid({} x {})", self.rows, self.cols)
    }
}

impl<T> Grid<T> {
    /// Takes `data` as `rows` × `cols` cells; its length must be exactly their product.
    ///
    /// # Errors
    /// [`ShapeError`]: no rows or columns, or data of another length.
    pub fn from_vec(data: Vec<T>, rows: usize, cols: usize) -> Result<Self, ShapeError> {
        check(data.len(), rows, cols, cols)?;
        if data.len() != rows * cols {
            return Err(ShapeError::Length { rows, cols, needed: rows * cols, got: data.len() });
        }
        Ok(Self { data, rows, cols })
    }

    /// A grid whose cell (r, c) is `value(r, c)`.
    ///
    /// # Errors
    /// Those of [`zeros`](Self::zeros).
    pub fn from_fn(rows: usize, cols: usize, mut value: impl FnMut(usize, usize) -> T) -> Result<Self, ShapeError> {
        if rows == 0 || cols == 0 {
            return Err(ShapeError::Empty { rows, cols });
        }
        let mut data = Vec::with_capacity(rows * cols);
        for r in 0..rows {
            data.extend((0..cols).map(|c| value(r, c)));
        }
        Ok(Self { data, rows, cols })
    }

    /// Number of rows, at least 1.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns, at least 1.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The cells of row `r`. Panics when `r` is not a row.
    pub fn row(&self, r: usize) -> &[T] {
        &self.data[r * self.cols..][..self.cols]
    }

    /// All cells, row after row.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// All cells, row after row, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// Gives the cells back.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// Borrows the grid.
    pub fn view(&self) -> GridView<'_, T> {
        GridView { data: &self.data, rows: self.rows, cols: self.cols, stride: self.cols }
    }

    /// Borrows the grid to write it.
    pub fn view_mut(&mut self) -> GridViewMut<'_, T> {
        GridViewMut { data: &mut self.data, rows: self.rows, cols: self.cols, stride: self.cols }
    }
}

impl<T: Clone + Default> Grid<T> {
    /// A grid of default values (zeros for numbers).
    ///
    /// # Errors
    /// [`ShapeError`]: no rows or columns, or no memory for them.
    pub fn zeros(rows: usize, cols: usize) -> Result<Self, ShapeError> {
        check(usize::MAX, rows, cols, cols)?;
        let Some(cells) = rows.checked_mul(cols) else {
            return Err(ShapeError::Length { rows, cols, needed: usize::MAX, got: 0 });
        };
        // Tried first, because a failure in `vec!` would end the program; and not filled, because `vec!` gets zeros from
        // the system without touching them.
        if Vec::<T>::new().try_reserve_exact(cells).is_err() {
            return Err(ShapeError::Memory { rows, cols });
        }
        Ok(Self { data: vec![T::default(); cells], rows, cols })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_where_they_should_be_whatever_the_stride() {
        let mut data: Vec<u32> = (0..7 * 5).collect();
        let mut view = GridViewMut::with_stride(&mut data, 7, 3, 5).unwrap();
        assert_eq!(view.reborrow().into_rows().last(), Some(&mut [30, 31, 32][..]));
        assert_eq!(view.as_view().band(2..4).row(1), &[15, 16, 17]);
        assert_eq!(view.as_view().rect(6..7, 1..3).as_strided(), &[31, 32]);
        assert_eq!(view.reborrow().rect(1..3, 2..3).as_strided_mut(), &[7, 8, 9, 10, 11, 12]);
        let (head, tail) = view.split_rows(6);
        assert_eq!((head.rows(), tail.rows(), tail.as_view().row(0)), (6, 1, &[30u32, 31, 32][..]));
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        assert!(matches!(GridView::<u8>::new(&[], 0, 3), Err(ShapeError::Empty { .. })));
        assert!(matches!(GridView::with_stride(&[0u8; 9], 3, 4, 3), Err(ShapeError::Stride { .. })));
        assert!(matches!(GridView::new(&[0u8; 5], 2, 3), Err(ShapeError::Length { needed: 6, got: 5, .. })));
        assert!(GridView::new(&[0u8; 5], usize::MAX, usize::MAX).is_err());
        // The last row needs no gap behind it.
        assert!(GridView::with_stride(&[0u8; 8], 2, 3, 5).is_ok());
    }
}
