//! A part of the output: a rectangle of the grid that one worker fills.
//!
//! ```text
//! rows of the grid     one view:   whole rows lie behind one another in memory
//! columns of the grid  a view a row: between two rows of a strip lie the neighbours' cells, which belong to another part
//! ```
//!
//! So a part is a list of views, top to bottom. The obvious single view of a strip would reach over memory that another
//! thread writes. Strips are cut where a grid is wide and flat, so the list is short.
//!
//! A worker on the CPU cuts its part further, into tiles, and takes them in parallel ([`Part::for_each_tile`]).

use std::ops::Range;

use rayon::prelude::*;

use crate::grid::GridViewMut;
use crate::observe::{Cancelled, Observer};

/// Along what a grid is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Into bands of whole rows.
    Rows,
    /// Into strips of columns.
    Columns,
}

/// A rectangle of the output.
pub struct Part<'a, T> {
    /// Its first row in the grid.
    pub top: usize,
    /// Its first column in the grid.
    pub left: usize,
    cols: usize,
    /// Its rows, top to bottom.
    views: Vec<GridViewMut<'a, T>>,
}

impl<'a, T> Part<'a, T> {
    /// The rows from `top` on, in full width.
    pub fn band(top: usize, rows: GridViewMut<'a, T>) -> Self {
        Self::at(top, 0, rows)
    }

    /// The rectangle whose first cell is at (`top`, `left`).
    pub fn at(top: usize, left: usize, cells: GridViewMut<'a, T>) -> Self {
        Self { top, left, cols: cells.cols(), views: vec![cells] }
    }

    pub fn rows(&self) -> usize {
        self.views.iter().map(GridViewMut::rows).sum()
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    pub fn cells(&self) -> usize {
        self.rows() * self.cols
    }

    /// Its length along an axis.
    pub fn len(&self, axis: Axis) -> usize {
        match axis {
            Axis::Rows => self.rows(),
            Axis::Columns => self.cols,
        }
    }

    /// The first `at` rows or columns, and the others. Neither may be empty.
    pub fn split(self, axis: Axis, at: usize) -> (Self, Self) {
        assert!(0 < at && at < self.len(axis), "a cut at {at} of {}", self.len(axis));
        let Self { top, left, cols, views } = self;
        let (mut first, mut second) = (Vec::new(), Vec::new());
        match axis {
            Axis::Rows => {
                let mut wanted = at;
                for view in views {
                    let rows = view.rows();
                    if wanted == 0 {
                        second.push(view);
                    } else if rows <= wanted {
                        first.push(view);
                    } else {
                        let (head, tail) = view.split_rows(wanted);
                        first.push(head);
                        second.push(tail);
                    }
                    wanted -= rows.min(wanted);
                }
                (Self { top, left, cols, views: first }, Self { top: top + at, left, cols, views: second })
            }
            Axis::Columns => {
                for view in views {
                    for row in view.into_rows() {
                        let (head, tail) = row.split_at_mut(at);
                        first.push(GridViewMut::of_row(head));
                        second.push(GridViewMut::of_row(tail));
                    }
                }
                (
                    Self { top, left, cols: at, views: first },
                    Self { top, left: left + at, cols: cols - at, views: second },
                )
            }
        }
    }

    /// Cuts into pieces of `each` rows or columns; the last may be shorter.
    pub fn cut(self, axis: Axis, each: usize) -> Vec<Self> {
        let mut pieces = Vec::with_capacity(self.len(axis).div_ceil(each));
        let mut left = self;
        while left.len(axis) > each {
            let (head, tail) = left.split(axis, each);
            pieces.push(head);
            left = tail;
        }
        pieces.push(left);
        pieces
    }

    /// A rectangle of it, `rows` and `cols` counted from its own corner.
    pub fn rect(&mut self, rows: Range<usize>, cols: Range<usize>) -> Part<'_, T> {
        let (top, left) = (self.top + rows.start, self.left + cols.start);
        let mut views = Vec::new();
        let mut first = 0;
        for view in &mut self.views {
            let height = view.rows();
            let (from, to) = (rows.start.max(first), rows.end.min(first + height));
            if from < to {
                views.push(view.reborrow().rect(from - first..to - first, cols.clone()));
            }
            first += height;
        }
        Part { top, left, cols: cols.len(), views }
    }

    /// Its views, top to bottom.
    pub fn into_views(self) -> Vec<GridViewMut<'a, T>> {
        self.views
    }

    /// Its views with the row, counted from its own top, at which each starts.
    pub fn views_mut(&mut self) -> impl Iterator<Item = (usize, &mut GridViewMut<'a, T>)> {
        self.views.iter_mut().scan(0, |first, view| {
            let at = *first;
            *first += view.rows();
            Some((at, view))
        })
    }
}

/// A rectangle of the output, as rows: what one thread fills at a time.
pub struct Tile<'a, T> {
    pub top: usize,
    pub left: usize,
    pub rows: Vec<&'a mut [T]>,
}

impl<T> Tile<'_, T> {
    pub fn width(&self) -> usize {
        self.rows[0].len()
    }
}

/// Columns of a tile: enough that the halo of common windows costs little, few enough that the
/// counts of 16 levels stay in the first-level cache.
pub(crate) const STRIP: usize = 512;

/// Most rows of a tile. Its time bounds how long a cancelled task still runs: 131,072 cells are some
/// 50 ms at the slowest.
pub(crate) const BAND: usize = 256;

/// Windows of more rows than this are large: a tile has far more rows and columns around it than within it, so it has to be larger.
pub(crate) const SMALL: usize = 255;

/// Columns of a tile for large windows, where the engine takes any width: the counts of 16 levels stay in the second-level cache.
pub(crate) const LARGE_STRIP: usize = 2048;

/// Most rows of a tile for large windows. Twice as many gain nothing for 1,001 × 1,001 cells.
pub(crate) const LARGE_BAND: usize = 1024;

/// Rows of a band of tiles, so many of which lie side by side.
fn band(rows: usize, across: usize, size: usize) -> usize {
    // Every thread should get several tiles, but a band pays for its halo rows: a few windows high.
    let tiles = 4 * rayon::current_num_threads();
    if size <= SMALL {
        return rows.div_ceil(tiles).clamp(BAND.min(32.max(2 * size)), BAND);
    }
    rows.div_ceil(tiles.div_ceil(across)).clamp(BAND, LARGE_BAND)
}

impl<T: Send> Part<'_, T> {
    /// Has all its tiles filled by `work`, for windows of `size`, on the current rayon pool. Every thread that takes a tile
    /// makes what it needs with `init`.
    pub fn for_each_tile<S>(
        self,
        size: usize,
        observer: &dyn Observer,
        init: impl Fn() -> S + Sync + Send + Copy,
        work: impl Fn(&mut S, &mut Tile<'_, T>) + Sync + Send,
    ) -> Result<(), Cancelled> {
        let Self { top, left, cols, ref views, .. } = self;
        let band = band(self.rows(), 1, size);
        let firsts = views.iter().scan(top, |first, view| {
            let at = *first;
            *first += view.rows();
            Some(at)
        });
        let firsts: Vec<usize> = firsts.collect();
        firsts.into_par_iter().zip(self.views).try_for_each(|(first, mut view)| {
            let stride = view.stride();
            view.as_strided_mut().par_chunks_mut(band * stride).enumerate().try_for_each(|(b, cells)| {
                let mut tiles: Vec<Tile<'_, T>> = (0..cols)
                    .step_by(STRIP)
                    .map(|at| Tile { top: first + b * band, left: left + at, rows: Vec::with_capacity(band) })
                    .collect();
                for row in cells.chunks_mut(stride) {
                    for (tile, part) in tiles.iter_mut().zip(row[..cols].chunks_mut(STRIP)) {
                        tile.rows.push(part);
                    }
                }
                tiles.into_par_iter().try_for_each_init(init, |scratch, mut tile| {
                    if observer.cancelled() {
                        return Err(Cancelled);
                    }
                    work(scratch, &mut tile);
                    observer.advance((tile.rows.len() * tile.width()) as u64);
                    Ok(())
                })
            })
        })
    }
}

/// The same rectangle of several outputs, as rows: what one thread fills at a time where there are several results a cell.
pub struct Tiles<'a, T> {
    pub top: usize,
    pub left: usize,
    /// The rows of each output.
    pub planes: Vec<Vec<&'a mut [T]>>,
}

impl<T> Tiles<'_, T> {
    pub fn height(&self) -> usize {
        self.planes[0].len()
    }

    pub fn width(&self) -> usize {
        self.planes[0][0].len()
    }
}

/// [`Part::for_each_tile`] for several outputs of one shape, the first cell of each at (`top`, `left`), in tiles of `strip` columns for
/// windows of `size` rows. At least one output.
pub(crate) fn for_each_tile_of<T: Send, S>(
    (top, left): (usize, usize),
    mut planes: Vec<GridViewMut<'_, T>>,
    (size, strip): (usize, usize),
    observer: &dyn Observer,
    init: impl Fn() -> S + Sync + Send + Copy,
    work: impl Fn(&mut S, &mut Tiles<'_, T>) -> Result<(), Cancelled> + Sync + Send,
) -> Result<(), Cancelled> {
    let (rows, cols) = (planes[0].rows(), planes[0].cols());
    let band = band(rows, cols.div_ceil(strip), size);
    let mut bands = Vec::with_capacity(rows.div_ceil(band));
    for _ in 1..rows.div_ceil(band) {
        let (heads, tails) = planes.into_iter().map(|plane| plane.split_rows(band)).unzip();
        bands.push(heads);
        planes = tails;
    }
    bands.push(planes);
    bands.into_par_iter().enumerate().try_for_each(|(b, planes): (usize, Vec<GridViewMut<'_, T>>)| {
        let mut tiles: Vec<Tiles<'_, T>> = (0..cols)
            .step_by(strip)
            .map(|at| Tiles { top: top + b * band, left: left + at, planes: Vec::with_capacity(planes.len()) })
            .collect();
        for plane in planes {
            tiles.iter_mut().for_each(|tile| tile.planes.push(Vec::with_capacity(band)));
            for row in plane.into_rows() {
                for (tile, part) in tiles.iter_mut().zip(row.chunks_mut(strip)) {
                    tile.planes.last_mut().expect("it has just been pushed").push(part);
                }
            }
        }
        tiles.into_par_iter().try_for_each_init(init, |scratch, mut tile| {
            if observer.cancelled() {
                return Err(Cancelled);
            }
            work(scratch, &mut tile)?;
            observer.advance((tile.height() * tile.width()) as u64);
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes 1000·row + column into every cell of a part.
    fn number(mut part: Part<'_, u32>) {
        let (top, left) = (part.top, part.left);
        for (first, view) in part.views_mut() {
            for r in 0..view.rows() {
                for (c, cell) in view.row_mut(r).iter_mut().enumerate() {
                    assert_eq!(*cell, 0, "written twice");
                    *cell = ((top + first + r) * 1000 + left + c) as u32;
                }
            }
        }
    }

    #[test]
    fn whatever_is_cut_and_cut_again_covers_every_cell_once() {
        let mut data = vec![0u32; 9 * 20];
        let whole = Part::band(0, GridViewMut::with_stride(&mut data, 9, 17, 20).unwrap());
        let (upper, lower) = whole.split(Axis::Rows, 4);
        number(upper);
        for mut strip in lower.cut(Axis::Columns, 6) {
            let cols = strip.cols();
            assert_eq!((strip.rows(), strip.cells()), (5, 5 * cols));
            number(strip.rect(0..5, 0..2));
            let (head, tail) = strip.split(Axis::Rows, 3);
            for mut part in [head, tail] {
                let rows = part.rows();
                number(part.rect(0..rows, 2..cols));
            }
        }
        for (r, row) in data.chunks(20).enumerate() {
            let numbered = |c| if c < 17 { (r * 1000 + c) as u32 } else { 0 };
            assert!(row.iter().enumerate().all(|(c, &cell)| cell == numbered(c)), "row {r}: {row:?}");
        }
    }

    #[test]
    fn tiles_of_strips_know_where_they_are() {
        let mut data = vec![0u32; 40 * 700];
        let whole = Part::band(0, GridViewMut::new(&mut data, 40, 700).unwrap());
        for part in whole.cut(Axis::Columns, 650) {
            let tile = |_: &mut (), tile: &mut Tile<'_, u32>| {
                for (r, row) in tile.rows.iter_mut().enumerate() {
                    for (c, cell) in row.iter_mut().enumerate() {
                        *cell += ((tile.top + r) * 1000 + tile.left + c) as u32;
                    }
                }
            };
            part.for_each_tile(5, &(), || (), tile).unwrap();
        }
        assert!(data.iter().enumerate().all(|(i, &cell)| cell as usize == i / 700 * 1000 + i % 700));
    }

    #[test]
    fn tiles_of_several_outputs_know_where_they_are() {
        let mut data = [vec![0u32; 300 * 700], vec![0u32; 300 * 700]];
        let planes = data.iter_mut().map(|data| GridViewMut::with_stride(data, 300, 690, 700).unwrap()).collect();
        let tile = |_: &mut (), tile: &mut Tiles<'_, u32>| {
            for (p, rows) in tile.planes.iter_mut().enumerate() {
                for (r, row) in rows.iter_mut().enumerate() {
                    for (c, cell) in row.iter_mut().enumerate() {
                        *cell += (p * 1_000_000 + (tile.top + r) * 1000 + tile.left + c) as u32;
                    }
                }
            }
            Ok(())
        };
        for_each_tile_of((5, 7), planes, (5, STRIP), &(), || (), tile).unwrap();
        for (p, data) in data.iter().enumerate() {
            for (i, &cell) in data.iter().enumerate() {
                let (row, col) = (i / 700, i % 700);
                let numbered = p * 1_000_000 + (row + 5) * 1000 + col + 7;
                assert_eq!(cell as usize, if col < 690 { numbered } else { 0 }, "({row}, {col}) of {p}");
            }
        }
    }
}
