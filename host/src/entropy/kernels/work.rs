//! The work that kernels are chosen for: a window over a grid of codes.

use halotile_kernels::entropy as kernels;

use super::one_sum;
use crate::entropy::census::Coding;
use crate::grid::GridView;
use crate::measure::fixed::Nested;
use crate::measure::window::Window;
use crate::numbers::Real;

/// What decides which kernels fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::entropy) struct Work {
    pub size: usize,
    /// Of the whole grid.
    pub rows: usize,
    pub cols: usize,
    pub levels: usize,
    /// Whether there are nodata cells; their code is then `levels` or below it, or any byte where the kernel does not count nodata like a level.
    pub nodata: bool,
    /// Cells of the largest window that fits in the whole grid.
    pub largest: usize,
    pub f64: bool,
    /// Where more than Shannon's entropy in a square is asked for: the runs of the window, to which its work is proportional. `size` is the
    /// longer side of its shape then.
    pub runs: Option<usize>,
    /// Cells of the window.
    pub cells: usize,
    /// Whether a measure needs Σ n·log n.
    pub logs: bool,
    /// Whether the window is a square.
    pub square: bool,
    /// How many measures are asked for, where each comes from one sum over the counts and any valid cells are enough, around valid ones.
    pub one_sum: Option<usize>,
    /// Whether all measures come from Σ n·log n, Σ n², and how many classes there are.
    pub sums: bool,
    /// Where codes are words: all of them are below this, those of no data too. They may be any, and `levels` of them occur.
    pub words: Option<usize>,
}

impl Work {
    pub fn new<T: Real>(cells: GridView<'_, u8>, coding: &Coding, size: usize) -> Self {
        Self::of_shape::<T>((cells.rows(), cells.cols()), coding, size)
    }

    /// The same for a grid of so many rows and columns.
    pub fn of_shape<T: Real>((rows, cols): (usize, usize), coding: &Coding, size: usize) -> Self {
        Self {
            size,
            rows,
            cols,
            levels: coding.levels,
            nodata: coding.nodata.is_some(),
            largest: size.min(rows) * size.min(cols),
            f64: size_of::<T>() == 8,
            runs: None,
            cells: size * size,
            logs: true,
            square: true,
            one_sum: Some(1),
            sums: true,
            words: None,
        }
    }

    /// A single window of so many cells a side over 16 levels without nodata.
    pub fn of_sixteen_levels(size: usize, f64: bool) -> Self {
        Self {
            size,
            rows: size,
            cols: size,
            levels: 16,
            nodata: false,
            largest: size * size,
            f64,
            runs: None,
            cells: size * size,
            logs: true,
            square: true,
            one_sum: Some(1),
            sums: true,
            words: None,
        }
    }

    /// The same for codes of 16 bits, with those of no data below `span`.
    pub fn of_words(self, nodata: bool, span: usize) -> Self {
        Self { nodata, words: Some(span), ..self }
    }

    /// The same for any measures in a window of any shape.
    pub fn of_window<T: Real>(shape: (usize, usize), coding: &Coding, window: &Window) -> Self {
        let shape_of = window.footprint();
        let (size, square) = (shape_of.rows().max(shape_of.cols()), shape_of.as_square().is_some());
        let whole = Self::of_shape::<T>(shape, coding, size);
        let (runs, cells, logs) = (Some(window.runs.len()), shape_of.count(), window.needs.logs);
        let work = Self { runs, cells, logs, square, largest: whole.largest.min(cells), ..whole };
        Self { one_sum: one_sum::planes_of(window, &work), sums: window.comes_from_sums(), ..work }
    }

    /// Launches of a kernel that computes one measure at a time.
    pub fn launches(&self) -> f64 {
        self.one_sum.unwrap_or(1) as f64
    }

    /// True where the kernel that counts the border cell by cell has too much of it: such a cell takes it 17 times as long as
    /// another, and the sliding kernel takes 1.45 times as long for each (measured on an H200: they break even at some 170 rows).
    pub fn has_much_border(&self) -> bool {
        42 * (4 * self.cols + 7 * self.rows) > self.rows * self.cols
    }

    /// Sweeps of the columns kernel where every tile has all classes.
    pub fn sweeps(&self) -> usize {
        self.levels.div_ceil(kernels::COLUMNS_CLASSES as usize).max(1)
    }

    /// True where the classes of tiles are numbered first.
    pub fn is_coded(&self) -> bool {
        self.sweeps() > 1 || self.words.is_some()
    }

    /// Whether the kernels for small windows on the tensor cores take them.
    pub fn has_small_windows(&self) -> bool {
        self.size <= kernels::BAND_SIZE as usize
    }

    /// Bytes of a cell.
    pub fn cell_bytes(&self) -> usize {
        if self.words.is_some() { size_of::<u16>() } else { size_of::<u8>() }
    }

    /// Planes of codes that are in memory at a time.
    pub fn planes(&self) -> usize {
        // Tiles of more classes than these planes number are rare, and need many sweeps over each.
        const MOST: usize = 4;
        self.levels.div_ceil(kernels::COLUMNS_PLANE as usize).clamp(1, MOST)
    }

    /// Valid cells of the smallest window: at a corner of the grid.
    pub fn least(&self) -> usize {
        let corner = |len: usize| (self.size / 2 + 1).min(len);
        if self.nodata { 1 } else { corner(self.rows) * corner(self.cols) }
    }

    /// Valid cells that finer tables of F are for, where there are some.
    pub fn finer(&self) -> Option<[usize; 2]> {
        match self.words {
            None => self.nodata.then(|| Nested::cells(self.size, true)),
            Some(_) => {
                let cells = Nested::cells_of_many(self.size, self.least());
                (self.nodata || cells != [0, 0]).then_some(cells)
            }
        }
    }

    /// Counters that a histogram needs: nodata has one of its own.
    pub fn counters(&self) -> u32 {
        (self.levels + usize::from(self.nodata)) as u32
    }
}
