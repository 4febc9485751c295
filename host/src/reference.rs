//! The oracle: moving-window Shannon entropy straight from its definition, in f64.
//!
//! For every cell: count each value inside the window clipped to the grid, N = Σ n, and
//! H = −Σ (n/N)·ln(n/N). Nothing is shared between cells, nothing is tabulated, nothing is
//! parallel. It is meant to be obviously right; every engine is compared with it and none calls it.

use crate::grid::{Grid, GridView};

/// Entropy in nats of the `size` × `size` window (odd) around every cell, clipped at the border.
///
/// Cells equal to `nodata` are not counted; where the centre itself is nodata the result is NaN.
/// Source: C. E. Shannon, A Mathematical Theory of Communication, 1948, section 6.
///
/// ```
/// use halotile::{grid::GridView, reference};
/// let cells = [1u8, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6, 4, 5, 6, 7];
/// let h = reference::entropy(GridView::new(&cells, 4, 4)?, 5, None);
/// // The window of cell (0, 1) holds 12 cells: one 1, two 2s, three 3s, three 4s, two 5s, one 6.
/// assert_eq!(format!("{:.5}", h.row(0)[1]), "1.70455");
/// # Ok::<(), halotile::grid::ShapeError>(())
/// ```
pub fn entropy(cells: GridView<'_, u8>, size: usize, nodata: Option<u8>) -> Grid<f64> {
    Grid::from_fn(cells.rows(), cells.cols(), |row, col| entropy_at(cells, size, nodata, row, col))
        .expect("a view has at least one row and one column")
}

/// The same for the one cell at (`row`, `col`), both from 0.
///
/// Panics outside the grid, and for an even `size`.
pub fn entropy_at(cells: GridView<'_, u8>, size: usize, nodata: Option<u8>, row: usize, col: usize) -> f64 {
    assert!(size % 2 == 1, "a window has an odd size, not {size}");
    let (rows, cols, r) = (cells.rows(), cells.cols(), size / 2);
    if Some(cells.row(row)[col]) == nodata {
        return f64::NAN;
    }
    let mut count = [0u32; 256];
    for y in row.saturating_sub(r)..(row + r + 1).min(rows) {
        for &value in &cells.row(y)[col.saturating_sub(r)..(col + r + 1).min(cols)] {
            if Some(value) != nodata {
                count[value as usize] += 1;
            }
        }
    }
    let total: u32 = count.iter().sum();
    let mut h = 0.0;
    for n in count.into_iter().filter(|&n| n > 0) {
        let p = f64::from(n) / f64::from(total);
        h -= p * p.ln();
    }
    // A window of one value sums to −(1·ln 1) = −0: say 0.
    h + 0.0
}
