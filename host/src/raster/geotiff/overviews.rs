//! Overviews: the raster at a half, a quarter, an eighth, ... of its rows and columns, for programs that show all of it.
//!
//! A cell of an overview stands for four of the level below, fewer at the right and the bottom edge: their average, of those that have data, or the first of
//! them (`Halve`). Levels end with the first that has 512 rows and columns or fewer, as GDAL's do.
//!
//! Rectangles come in rows of rectangles, from top to bottom. A level holds one row of its blocks in the making, over the full width, and hands it on when it
//! is whole: to the file, and halved to the next level. So all levels take the memory of one row of blocks of the raster, and results are seen once.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind};

use rayon::prelude::*;

use super::blocks::Blocks;
use crate::grid::GridView;
use crate::io::{FormatError, Number, Place, Problem, write_failed};

/// Rows and columns of the smallest overview, at most.
const SMALLEST: usize = 512;

/// Makes a row of a level of two of the level below, which are one and the same where there is but one. The last cell is of two where their number is odd.
pub(super) type Halve<T> = fn([&[T]; 2], &mut [T]);

/// What takes rows of blocks: of which level, counted from 1, their first row, and their planes.
pub(super) type Take<'a, T> = dyn FnMut(usize, usize, &[GridView<'_, T>]) -> Result<(), FormatError> + 'a;

/// The average of the cells that are numbers, or no number.
pub(super) fn average<T: Number>(below: [&[T]; 2], row: &mut [T]) {
    let [upper, lower] = below.map(<[T]>::as_chunks::<2>);
    // As if all were numbers, several at a time; where one is not, nothing comes of it, and it is done again.
    let sum = |cells: [T; 4]| cells.map(T::to_f64).into_iter().sum::<f64>();
    for ((place, &[a, b]), &[c, d]) in row.iter_mut().zip(upper.0).zip(lower.0) {
        *place = T::nearest(sum([a, b, c, d]) * 0.25);
    }
    for ((place, &[a, b]), &[c, d]) in row.iter_mut().zip(upper.0).zip(lower.0) {
        if place.to_f64().is_nan() {
            *place = average_of_some([a, b, c, d]);
        }
    }
    if let (&[a], &[c], Some(place)) = (upper.1, lower.1, row.last_mut()) {
        *place = average_of_some([a, a, c, c]);
    }
}

fn average_of_some<T: Number>(cells: [T; 4]) -> T {
    let there = || cells.iter().map(|cell| cell.to_f64()).filter(|cell| !cell.is_nan());
    // 0 / 0 is no number.
    T::nearest(there().sum::<f64>() / there().count() as f64)
}

/// The first of the cells: what is no quantity has no average.
pub(super) fn first<T: Copy>(below: [&[T]; 2], row: &mut [T]) {
    for (place, cells) in row.iter_mut().zip(below[0].chunks(2)) {
        *place = cells[0];
    }
}

/// The shapes of a raster's overviews, from the largest to the smallest, in blocks as its own.
pub(super) fn shapes(whole: Blocks) -> Vec<Blocks> {
    let halved = |of: &Blocks| {
        let larger = of.rows > SMALLEST || of.cols > SMALLEST;
        larger.then(|| Blocks { rows: of.rows.div_ceil(2), cols: of.cols.div_ceil(2), ..*of })
    };
    std::iter::successors(halved(&whole), halved).collect()
}

/// A row of blocks of a level.
struct Band<T> {
    planes: Vec<Vec<T>>,
    /// How many of its cells are still to come, in each plane.
    missing: usize,
}

/// A level that is being made.
struct Level<T> {
    blocks: Blocks,
    /// The first row of the first of `bands`.
    top: usize,
    /// What has been begun: one row of blocks, or several where rectangles are higher than blocks and narrower than the raster.
    bands: VecDeque<Band<T>>,
    /// What was handed on last: its memory is used again.
    spare: Option<Vec<Vec<T>>>,
}

/// What all levels have in common.
struct Making<T> {
    planes: usize,
    blank: T,
    halve: Halve<T>,
    name: String,
}

/// The overviews of a raster that comes piece by piece.
pub(super) struct Overviews<T> {
    levels: Vec<Level<T>>,
    making: Making<T>,
}

impl<T: Copy + Send + Sync> Overviews<T> {
    /// Overviews of these shapes, of a raster of so many planes; `blank` is any cell.
    pub(super) fn new(shapes: &[Blocks], planes: usize, blank: T, halve: Halve<T>, name: &str) -> Self {
        let level = |&blocks: &Blocks| Level { blocks, top: 0, bands: VecDeque::new(), spare: None };
        let making = Making { planes, blank, halve, name: name.to_owned() };
        Self { levels: shapes.iter().map(level).collect(), making }
    }

    /// Bytes that they take where rectangles are as wide as the raster, or no higher than a block.
    pub(super) fn bytes(&self) -> usize {
        let cells = self.levels.iter().map(|level| level.rows(0).saturating_mul(level.blocks.cols));
        cells.fold(0, usize::saturating_add).saturating_mul(self.making.planes * size_of::<T>())
    }

    /// Takes a rectangle of the raster, whose first cell is at an even row and column, and hands on what became whole.
    pub(super) fn add(
        &mut self,
        corner: (usize, usize),
        planes: &[GridView<'_, T>],
        take: &mut Take<'_, T>,
    ) -> Result<(), FormatError> {
        self.making.add(&mut self.levels, 1, corner, planes, take)
    }
}

impl<T> Level<T> {
    /// Rows of the row of blocks that begins with `top`.
    fn rows(&self, top: usize) -> usize {
        self.blocks.height.min(self.blocks.rows.saturating_sub(top))
    }
}

impl<T: Copy + Send + Sync> Making<T> {
    /// Halves a rectangle of the level below into the first of `levels`, which has this number.
    fn add(
        &self,
        levels: &mut [Level<T>],
        number: usize,
        (top, left): (usize, usize),
        planes: &[GridView<'_, T>],
        take: &mut Take<'_, T>,
    ) -> Result<(), FormatError> {
        let Some((level, smaller)) = levels.split_first_mut() else { return Ok(()) };
        let (rows, cols) = planes.first().map_or((0, 0), |plane| (plane.rows(), plane.cols()));
        let out_of_order = || {
            let error = Error::new(ErrorKind::InvalidInput, format!("row {top}, column {left} came out of order"));
            write_failed(&self.name, error)
        };
        let Blocks { height, cols: width, .. } = level.blocks;
        let (mut row, end) = (top / 2, (top + rows).div_ceil(2));
        let (left, right) = (left / 2, (left + cols).div_ceil(2));
        while row < end {
            let begun = row.checked_sub(level.top).ok_or_else(out_of_order)? / height;
            while level.bands.len() <= begun {
                self.begin(level)?;
            }
            let start = level.top + begun * height;
            let until = end.min(start + level.rows(start));
            let band = &mut level.bands[begun];
            let cells = until.saturating_sub(row) * (right - left);
            band.missing = band.missing.checked_sub(cells).filter(|_| cells > 0).ok_or_else(out_of_order)?;
            let part = (row - start) * width..(until - start) * width;
            for (made, plane) in band.planes.iter_mut().zip(planes) {
                made[part.clone()].par_chunks_mut(width).enumerate().for_each(|(i, made)| {
                    let first = 2 * (row + i) - top;
                    (self.halve)([plane.row(first), plane.row((first + 1).min(rows - 1))], &mut made[left..right]);
                });
            }
            row = until;
            while let Some(band) = level.bands.pop_front_if(|band| band.missing == 0) {
                let rows = level.rows(level.top);
                let views = band.planes.iter().map(|plane| GridView::new(&plane[..rows * width], rows, width));
                let views = views.collect::<Result<Vec<_>, _>>().map_err(|error| self.too_large(&error))?;
                take(number, level.top, &views)?;
                self.add(smaller, number + 1, (level.top, 0), &views, take)?;
                level.top += rows;
                level.spare = Some(band.planes);
            }
        }
        Ok(())
    }

    /// Makes room for the row of blocks after those that were begun.
    fn begin(&self, level: &mut Level<T>) -> Result<(), FormatError> {
        let missing = level.rows(level.top + level.bands.len() * level.blocks.height) * level.blocks.cols;
        let mut planes = level.spare.take().unwrap_or_default();
        while planes.len() < self.planes {
            let mut plane = Vec::new();
            plane.try_reserve_exact(missing).map_err(|error| self.too_large(&error))?;
            plane.resize(missing, self.blank);
            planes.push(plane);
        }
        level.bands.push_back(Band { planes, missing });
        Ok(())
    }

    fn too_large(&self, error: &dyn std::fmt::Display) -> FormatError {
        let advice = "choose a smaller BLOCKYSIZE, or no overviews with OVERVIEWS=NONE";
        Problem::new(format!("there is no memory for overviews: {error}"), advice).at(&self.name, Place::FILE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    const NAN: f64 = f64::NAN;

    #[test]
    fn levels_end_with_512_rows_and_columns() {
        let shapes = |rows, cols| {
            let shapes = shapes(Blocks { rows, cols, height: 256, width: 128 });
            assert!(shapes.iter().all(|shape| (shape.height, shape.width) == (256, 128)));
            shapes.iter().map(|shape| (shape.rows, shape.cols)).collect::<Vec<_>>()
        };
        assert_eq!(shapes(512, 512), []);
        assert_eq!(shapes(513, 1), [(257, 1)]);
        assert_eq!(shapes(1000, 2049), [(500, 1025), (250, 513), (125, 257)]);
    }

    #[test]
    fn cells_without_data_do_not_count() {
        let mut row = [0.0; 3];
        average([&[1.0, NAN, NAN, NAN, 5.0], &[2.0, 6.0, NAN, NAN, 7.0]], &mut row);
        assert!(row[0] == 3.0 && row[1].is_nan() && row[2] == 6.0, "{row:?}");
        let mut row = [0u8; 3];
        first([&[1, 2, 3, 4, 5], &[6, 7, 8, 9, 1]], &mut row);
        assert_eq!(row, [1, 3, 5]);
    }

    /// The level above a grid, cell by cell.
    fn above(grid: &Grid<f64>) -> Grid<f64> {
        let (rows, cols) = (grid.rows(), grid.cols());
        Grid::from_fn(rows.div_ceil(2), cols.div_ceil(2), |r, c| {
            let cells = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(down, across)| (2 * r + down, 2 * c + across));
            let inside = cells.into_iter().filter(|&(r, c)| r < rows && c < cols);
            let there: Vec<f64> = inside.map(|(r, c)| grid.row(r)[c]).filter(|cell| !cell.is_nan()).collect();
            there.iter().sum::<f64>() / there.len() as f64
        })
        .unwrap()
    }

    #[test]
    fn pieces_of_any_shape_make_the_levels_of_the_whole() {
        for (rows, cols) in [(1, 600), (577, 3), (513, 1100), (1040, 529)] {
            let cell = |r: usize, c: usize| {
                if (r * 7 + c * 3).is_multiple_of(5) { NAN } else { (r * 31 + c * 17 % 64) as f64 }
            };
            let planes = [0, 5].map(|more| Grid::from_fn(rows, cols, |r, c| cell(r, c + more)).unwrap());
            let whole = Blocks { rows, cols, height: 16, width: 32 };
            let shapes = shapes(whole);
            for (high, wide) in [(16, 32), (48, 96), (512, 2048)] {
                let mut overviews = Overviews::new(&shapes, 2, 0.0, average, "h");
                let mut made: Vec<[Vec<f64>; 2]> = vec![Default::default(); shapes.len()];
                let most = overviews.bytes();
                for top in (0..rows).step_by(high) {
                    for left in (0..cols).step_by(wide) {
                        let part = |grid: &'_ Grid<f64>| -> Grid<f64> {
                            let (rows, cols) = (top..rows.min(top + high), left..cols.min(left + wide));
                            Grid::from_fn(rows.len(), cols.len(), |r, c| grid.row(top + r)[left + c]).unwrap()
                        };
                        let parts = [part(&planes[0]), part(&planes[1])];
                        let views = [parts[0].view(), parts[1].view()];
                        let mut take = |level: usize, top: usize, planes: &[GridView<'_, f64>]| {
                            for (made, plane) in made[level - 1].iter_mut().zip(planes) {
                                assert_eq!(made.len(), top * plane.cols());
                                (0..plane.rows()).for_each(|r| made.extend_from_slice(plane.row(r)));
                            }
                            Ok(())
                        };
                        overviews.add((top, left), &views, &mut take).unwrap();
                    }
                }
                let spare = overviews.levels.iter().flat_map(|level| level.spare.iter().flatten());
                let taken = overviews.levels.iter().all(|level| level.bands.is_empty()) as usize;
                // Where pieces are as wide as the raster or as high as its blocks there is one row of blocks of each level.
                assert!(high > 16 && wide < cols || spare.map(|plane| 8 * plane.len()).sum::<usize>() * taken == most);
                let mut expected = planes.clone();
                for (made, shape) in made.iter().zip(&shapes) {
                    expected = expected.map(|grid| above(&grid));
                    for (made, expected) in made.iter().zip(&expected) {
                        assert_eq!((expected.rows(), expected.cols()), (shape.rows, shape.cols));
                        let same = made
                            .iter()
                            .zip(expected.as_slice())
                            .all(|(a, b)| (a - b).abs() < 1e-9 || a.is_nan() && b.is_nan());
                        assert!(same && made.len() == expected.as_slice().len(), "{rows} x {cols}, {high} x {wide}");
                    }
                }
            }
        }
    }

    #[test]
    fn pieces_that_come_twice_are_an_error() {
        let shapes = shapes(Blocks { rows: 600, cols: 64, height: 16, width: 32 });
        let grid = Grid::from_fn(16, 32, |_, _| 1.0).unwrap();
        let add = |corners: &[(usize, usize)]| {
            let mut overviews = Overviews::new(&shapes, 1, 0.0, average, "h");
            corners.iter().try_for_each(|&corner| overviews.add(corner, &[grid.view()], &mut |_, _, _| Ok(())))
        };
        add(&[(0, 0), (0, 32), (16, 0), (16, 32), (32, 0)]).unwrap();
        let said = add(&[(0, 0), (0, 32), (16, 0), (16, 32), (16, 0)]).unwrap_err().to_string();
        assert!(said.contains("row 16, column 0 came out of order"), "{said}");
        assert!(add(&[(0, 0), (0, 32), (0, 32), (0, 32), (0, 32)]).is_err());
    }
}
