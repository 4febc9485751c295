//! How many cells of each window lie inside the grid: N, where there is no nodata.

use std::ops::Range;

use crate::cpu::TileRect;
use crate::cpu::lookup::BLOCK;
use crate::grid::GridView;
use crate::measure::window::Window;

/// The numbers of cells for the windows of a row of a tile. They are the same in all rows in which the same rows of the window lie
/// inside the grid.
pub struct Areas<'a> {
    window: &'a Window,
    /// Of the grid.
    shape: (usize, usize),
    rect: TileRect,
    /// Cells of the shape.
    pub all: u32,
    /// The rows of the shape, from its upper end, that lie inside the grid.
    inside: (usize, usize),
    /// How many cells the shape has inside in the columns before each of its columns.
    before: Vec<u32>,
    /// Of a rectangle without holes: columns that lie inside the grid, for each column of the tile.
    widths: Vec<u32>,
    /// A number for each column of the tile, then zeros up to whole blocks.
    areas: Vec<u32>,
    /// As in [`Row`].
    same: Range<usize>,
    least: u32,
}

/// The numbers of a row of a tile.
pub struct Row<'a> {
    /// One for each column of the tile, then zeros up to whole blocks.
    pub areas: &'a [u32],
    /// Columns around the tile's middle that have the same number.
    pub same: Range<usize>,
    /// The least number of a column.
    pub least: u32,
}

impl<'a> Areas<'a> {
    /// For the windows of a tile.
    pub fn new(window: &'a Window, cells: GridView<'_, u8>, rect: TileRect) -> Self {
        let footprint = window.footprint();
        let before = vec![0; footprint.cols() + 1];
        let areas = vec![0; rect.width.next_multiple_of(BLOCK)];
        let width = |x| {
            let (first, end) = inside(x, footprint.cols(), cells.cols());
            (end - first) as u32
        };
        let whole = footprint.count() == footprint.rows() * footprint.cols();
        let widths = if whole { (rect.left..rect.left + rect.width).map(width).collect() } else { Vec::new() };
        Self {
            window,
            shape: (cells.rows(), cells.cols()),
            rect,
            all: window.footprint().count() as u32,
            inside: (0, 0),
            before,
            widths,
            areas,
            same: 0..0,
            least: 0,
        }
    }

    /// The numbers for row `y` of the grid.
    pub fn of_row(&mut self, y: usize) -> Row<'_> {
        let height = self.window.footprint().rows();
        let rows = inside(y, height, self.shape.0);
        if rows != self.inside {
            self.inside = rows;
            if self.widths.is_empty() {
                self.count(rows);
            } else {
                let high = (rows.1 - rows.0) as u32;
                self.areas.iter_mut().zip(&self.widths).for_each(|(area, &wide)| *area = high * wide);
            }
            let areas = &self.areas[..self.rect.width];
            self.least = areas.iter().copied().fold(u32::MAX, u32::min);
            let (left, right) = areas.split_at(self.rect.width / 2);
            let all = right[0];
            let left = left.iter().rev().take_while(|&&area| area == all).count();
            let right = right.iter().take_while(|&&area| area == all).count();
            self.same = self.rect.width / 2 - left..self.rect.width / 2 + right;
        }
        Row { areas: &self.areas, same: self.same.clone(), least: self.least }
    }

    /// Makes the numbers of a shape of which so many rows lie before the grid and so many not behind it.
    fn count(&mut self, rows: (usize, usize)) {
        let width = self.window.footprint().cols();
        self.before.fill(0);
        for run in &self.window.runs {
            let (first, end) = (usize::from(run.first).max(rows.0), (usize::from(run.last) + 1).min(rows.1));
            self.before[usize::from(run.col) + 1] += end.saturating_sub(first) as u32;
        }
        for col in 0..width {
            self.before[col + 1] += self.before[col];
        }
        for (x, area) in self.areas[..self.rect.width].iter_mut().enumerate() {
            let (first, end) = inside(self.rect.left + x, width, self.shape.1);
            *area = self.before[end] - self.before[first];
        }
    }
}

/// How many of `len` rows (columns) of a shape around `at` lie before the grid and how many not behind it.
fn inside(at: usize, len: usize, grid: usize) -> (usize, usize) {
    ((len / 2).saturating_sub(at), len.min(grid + len / 2 - at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;
    use crate::measure::cases::cases;

    #[test]
    fn areas_are_the_cells_inside() {
        for case in cases().into_iter().filter(|case| case.footprint.count() < 500).step_by(5) {
            let (rows, cols) = (case.cells.rows(), case.cells.cols());
            let (window, footprint) = (case.window(), &case.footprint);
            let left = cols / 3;
            let rect = TileRect { top: 0, left, height: rows, width: cols - left };
            let mut areas = Areas::new(&window, case.cells.view(), rect);
            let truth: Grid<u32> = Grid::from_fn(rows, cols, |y, x| {
                let cells = (0..footprint.rows()).flat_map(|r| (0..footprint.cols()).map(move |c| (r, c)));
                let inside = cells.filter(|&(r, c)| footprint.contains(r, c)).filter(|&(r, c)| {
                    let (row, col) = (y + r, x + c);
                    (footprint.rows() / 2..rows + footprint.rows() / 2).contains(&row)
                        && (footprint.cols() / 2..cols + footprint.cols() / 2).contains(&col)
                });
                inside.count() as u32
            })
            .unwrap();
            for y in 0..rows {
                let Row { areas: got, same, least } = areas.of_row(y);
                assert_eq!(got[..cols - left], truth.row(y)[left..], "row {y}, {}", case.name);
                assert!(got.len().is_multiple_of(BLOCK) && got[cols - left..].iter().all(|&n| n == 0));
                let middle = (cols - left) / 2;
                assert_eq!(got[..cols - left].iter().min(), Some(&least), "row {y}, {}", case.name);
                assert!(same.contains(&middle), "row {y}, {}", case.name);
                assert!(got[same].iter().all(|&n| n == got[middle]), "row {y}, {}", case.name);
            }
        }
    }
}
