//! A picture of results: the grid in colours, with a legend, as a PNG.
//!
//! The grid comes band by band and is averaged as it comes, so that the preview of a grid of any size takes a
//! few megabytes: the longer side ends up at no more than 1024 pixels, each the mean of the box of cells it
//! stands for. Small grids are enlarged by a whole number until the longer side has at least 256. A side much
//! longer than the other is averaged more coarsely than it (ten rows of ten million columns stay ten rows).
//! Cells without a value (NaN) do not count; a pixel without any is grey. Colours: see `colour`; the legend
//! beside the map: see `legend`.

use std::io::{self, Error, ErrorKind, Write};

use super::png;
use super::results::Number;
use crate::grid::GridView;

mod canvas;
mod colour;
mod font;
mod legend;

use canvas::Canvas;

/// Most pixels along the longer side of the map.
const LONGEST: usize = 1024;
/// Fewest pixels along the longer side, unless 1:1 has more.
const SHORTEST: usize = 256;
/// A side is not averaged to fewer pixels than this.
const NARROWEST: usize = 64;
/// Fewest pixels along any side.
const THINNEST: usize = 24;
/// Empty space around everything.
const MARGIN: usize = 16;

/// Gathers a grid and draws it.
///
/// ```
/// use halotile::{grid::GridView, io::preview::Preview};
/// let mut preview = Preview::new(2, 2)?;
/// preview.rows(GridView::new(&[0.0f32, 1.0, f32::NAN, 2.0], 2, 2)?)?;
/// let mut png = Vec::new();
/// preview.write(&mut png, 2.25, "nats")?;
/// assert!(png.starts_with(b"\x89PNG"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Preview {
    rows: usize,
    cols: usize,
    /// Rows that have come.
    done: usize,
    /// Cells a pixel, down and across.
    box_rows: usize,
    box_cols: usize,
    /// Pixels across.
    width: usize,
    /// For every pixel the sum of its cells and how many there were.
    sums: Vec<(f64, u64)>,
}

impl Preview {
    /// For a grid of `rows` × `cols` cells.
    ///
    /// # Errors
    /// `InvalidInput` where there are no rows or no columns.
    pub fn new(rows: usize, cols: usize) -> io::Result<Self> {
        if rows == 0 || cols == 0 {
            let what = format!("a grid needs at least one row and one column, not {rows} x {cols}");
            return Err(Error::new(ErrorKind::InvalidInput, what));
        }
        let factor = rows.max(cols).div_ceil(LONGEST);
        let cells_a_pixel = |side: usize| factor.min((side / NARROWEST).max(1));
        let (box_rows, box_cols) = (cells_a_pixel(rows), cells_a_pixel(cols));
        let (height, width) = (rows.div_ceil(box_rows), cols.div_ceil(box_cols));
        Ok(Self { rows, cols, done: 0, box_rows, box_cols, width, sums: vec![(0.0, 0); height * width] })
    }

    /// Takes the next rows, from top to bottom.
    ///
    /// # Errors
    /// `InvalidInput` where there are more rows than were said, or rows of another length.
    pub fn rows<T: Number>(&mut self, band: GridView<'_, T>) -> io::Result<()> {
        let left = self.rows - self.done;
        if band.cols() != self.cols || band.rows() > left {
            let (rows, cols) = (band.rows(), band.cols());
            let what =
                format!("{rows} x {cols} cells do not fit where {left} rows of {} columns are to come", self.cols);
            return Err(Error::new(ErrorKind::InvalidInput, what));
        }
        self.add(self.done, 0, band);
        self.done += band.rows();
        Ok(())
    }

    /// Takes a rectangle, the first cell of which is at (`top`, `left`), in place of [`rows`](Self::rows): rectangles may come in
    /// any order.
    ///
    /// # Errors
    /// `InvalidInput` where cells lie outside of the grid.
    pub fn rect<T: Number>(&mut self, top: usize, left: usize, cells: GridView<'_, T>) -> io::Result<()> {
        let fits = |start: usize, len: usize, all: usize| start.checked_add(len).is_some_and(|end| end <= all);
        if !fits(top, cells.rows(), self.rows) || !fits(left, cells.cols(), self.cols) {
            let what = format!(
                "{} x {} cells at row {top} and column {left} do not fit into {} x {}",
                cells.rows(),
                cells.cols(),
                self.rows,
                self.cols
            );
            return Err(Error::new(ErrorKind::InvalidInput, what));
        }
        self.add(top, left, cells);
        Ok(())
    }

    fn add<T: Number>(&mut self, top: usize, left: usize, cells: GridView<'_, T>) {
        // Cells up to the end of the first pixel, which may have begun in another rectangle.
        let head = (self.box_cols - left % self.box_cols).min(cells.cols());
        for r in 0..cells.rows() {
            let first = (top + r) / self.box_rows * self.width + left / self.box_cols;
            let (head, tail) = cells.row(r).split_at(head);
            let parts = std::iter::once(head).chain(tail.chunks(self.box_cols));
            for (pixel, cells) in self.sums[first..].iter_mut().zip(parts) {
                for value in cells.iter().map(|v| v.to_f64()).filter(|v| !v.is_nan()) {
                    pixel.0 += value;
                    pixel.1 += 1;
                }
            }
        }
    }

    /// Draws what has come: 0 in the darkest colour, `max` in the lightest. `unit` (lower-case letters) heads
    /// the legend.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(self, out: impl Write, max: f64, unit: &str) -> io::Result<()> {
        let canvas = self.draw(max, unit);
        png::write_colours(out, canvas.width(), canvas.height(), canvas.bytes())
    }

    fn draw(&self, max: f64, unit: &str) -> Canvas {
        let colours = colour::table();
        let (height, width) = (self.sums.len() / self.width, self.width);
        let zoom = SHORTEST.div_ceil(height.max(width));
        // A map of a few rows is stretched until it can be seen.
        let (zoom_y, zoom_x) = (zoom.max(THINNEST.div_ceil(height)), zoom.max(THINNEST.div_ceil(width)));
        let gaps = self.sums.iter().any(|&(_, count)| count == 0);
        let legend = legend::Legend::new(max, unit, gaps, height * zoom_y);
        let map_width = width * zoom_x;
        let mut canvas =
            Canvas::new(map_width + 3 * MARGIN + legend.width(), 2 * MARGIN + legend.height().max(height * zoom_y));
        for (i, &(sum, count)) in self.sums.iter().enumerate() {
            let (y, x) = (i / width, i % width);
            let shade = if count == 0 { colour::NODATA } else { colours[colour::index(sum / count as f64, max)] };
            canvas.fill(MARGIN + x * zoom_x, MARGIN + y * zoom_y, zoom_x, zoom_y, shade);
        }
        legend.draw(&mut canvas, 2 * MARGIN + map_width, MARGIN, &colours);
        canvas
    }
}

/// Draws a whole grid; see [`Preview`] for one that comes in parts.
///
/// # Errors
/// Those of `out`.
pub fn write_png<T: Number>(grid: GridView<'_, T>, max: f64, unit: &str, out: impl Write) -> io::Result<()> {
    let mut preview = Preview::new(grid.rows(), grid.cols())?;
    preview.rows(grid)?;
    preview.write(out, max, unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    /// Width, height and the colour at a pixel of the map.
    fn drawn(grid: &Grid<f64>, max: f64) -> (Canvas, Vec<[u8; 3]>) {
        let mut preview = Preview::new(grid.rows(), grid.cols()).unwrap();
        for r in 0..grid.rows() {
            preview.rows(grid.view().band(r..r + 1)).unwrap();
        }
        (preview.draw(max, "nats"), colour::table())
    }

    #[test]
    fn small_grids_are_enlarged_cell_by_cell() {
        let grid = Grid::from_vec(vec![0.0, 1.0, f64::NAN, 2.0], 2, 2).unwrap();
        let (canvas, colours) = drawn(&grid, 2.0);
        let at = |y, x| canvas.pixel(MARGIN + x, MARGIN + y);
        assert_eq!((at(0, 0), at(127, 127)), (colours[0], colours[0]));
        assert_eq!((at(0, 128), at(127, 255)), (colours[128], colours[128]));
        assert_eq!((at(128, 0), at(255, 255)), (colour::NODATA, colours[255]));
        assert_eq!(at(0, 256), canvas::PAPER);
    }

    #[test]
    fn large_grids_are_averaged_and_flat_ones_keep_their_rows() {
        // Boxes of 2 x 2 with the mean 1 of 0 and 2, and NaN that does not count.
        let grid = Grid::from_fn(1500, 1200, |r, c| match (r % 2, c % 2) {
            (0, 0) => f64::NAN,
            (0, _) => 1.0,
            (_, 0) => 0.0,
            _ => 2.0,
        });
        let (canvas, colours) = drawn(&grid.unwrap(), 2.0);
        assert!(canvas.height() == 750 + 2 * MARGIN);
        assert_eq!(canvas.pixel(MARGIN + 599, MARGIN + 749), colours[128]);
        let flat = Preview::new(10, 10_000_000).unwrap();
        assert_eq!((flat.width, flat.sums.len()), (1024, 10_240));
    }

    #[test]
    fn rectangles_make_the_same_picture_as_rows() {
        let grid = Grid::from_fn(2100, 1300, |r, c| if r % 7 == c % 5 { f64::NAN } else { (r * 3 + c % 11) as f64 });
        let grid = grid.unwrap();
        let (rows, _) = drawn(&grid, 6000.0);
        let mut tiled = Preview::new(2100, 1300).unwrap();
        for left in (0..1300).step_by(97).rev() {
            for top in (0..2100).step_by(101) {
                let cells = grid.view().rect(top..2100.min(top + 101), left..1300.min(left + 97));
                tiled.rect(top, left, cells).unwrap();
            }
        }
        assert!(tiled.draw(6000.0, "nats").bytes() == rows.bytes());
        for (top, left) in [(2100, 0), (0, 1300), (usize::MAX, 0)] {
            let error = tiled.rect(top, left, grid.view().rect(0..1, 0..1)).unwrap_err();
            assert!(error.to_string().ends_with("do not fit into 2100 x 1300"), "{error}");
        }
    }

    #[test]
    fn every_size_and_scale_makes_a_picture() {
        for (rows, cols) in [(1, 1), (1, 5000), (3, 2000), (300, 1), (257, 255), (1025, 3)] {
            for max in [2.7726, 0.0, f64::NAN, f64::INFINITY, -1.0, 1e9, 1e-9, 1e300] {
                let grid = Grid::from_fn(rows, cols, |r, c| (r + c) as f32 * 0.001).unwrap();
                let mut file = Vec::new();
                write_png(grid.view(), max, "Bits \u{1f980}/cell", &mut file).unwrap();
                let decoder = ::png::Decoder::new(io::Cursor::new(&file));
                let info = decoder.read_info().unwrap();
                assert!(info.info().width < 1500 && info.info().height < 1200);
            }
        }
        assert!(Preview::new(0, 3).is_err());
        let mut preview = Preview::new(1, 2).unwrap();
        let e = preview.rows(GridView::new(&[1.0; 3], 1, 3).unwrap()).unwrap_err();
        assert_eq!(e.to_string(), "1 x 3 cells do not fit where 1 rows of 2 columns are to come");
    }
}
