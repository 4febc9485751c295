//! A piece: a rectangle of the output, on its way from its cells to its results.

use std::ops::Range;

use crate::codes::Code;
use crate::exec::HostMemory;
use crate::exec::queue::{Readable, Target};
use crate::grid::{GridView, GridViewMut};

/// A piece of the output. It owns its memory, from thread to thread and to the device and back.
pub(super) struct Piece<'m> {
    /// Its place in the order in which pieces are read and written, from 0.
    pub index: usize,
    /// Its rows of the grid.
    pub rows: Range<usize>,
    /// Its columns of the grid.
    pub cols: Range<usize>,
    /// The rows and columns that its windows see: its own and the halo. Where the grid is extended, they reach beyond its edge.
    pub seen: (Range<isize>, Range<isize>),
    /// Cells from a row to the next in `input`.
    pub pitch: usize,
    /// The cells seen, by their codes.
    pub input: Input<'m>,
    /// The results.
    pub output: Output<'m>,
}

/// The cells of a piece.
pub(super) enum Input<'m> {
    /// In memory of the pool.
    Pooled(HostMemory),
    /// In place, because devices copy from there directly.
    InPlace(&'m [u8]),
    /// In flight.
    InFlight,
}

/// The results of a piece.
pub(super) enum Output<'m> {
    /// In memory of the pool: plane after plane without gaps.
    Pooled(HostMemory),
    /// In place, because devices copy to there directly: of the one plane, rows from top to bottom.
    InPlace(Vec<Target<'m>>),
    /// In flight.
    InFlight,
}

impl Piece<'_> {
    /// Cells of the output.
    pub fn cells(&self) -> usize {
        self.rows.len() * self.cols.len()
    }

    /// Rows and columns seen.
    pub fn seen_shape(&self) -> (usize, usize) {
        (self.seen.0.len(), self.seen.1.len())
    }

    /// The piece's own first row and column, counted in what it sees.
    pub fn first(&self) -> (usize, usize) {
        let inset = |own: usize, seen: isize| (own as isize - seen) as usize;
        (inset(self.rows.start, self.seen.0.start), inset(self.cols.start, self.seen.1.start))
    }

    /// The input's memory as rows to be written; `None` where it is not of the pool.
    pub fn input_mut<C: Code>(&mut self) -> Option<GridViewMut<'_, C>> {
        let (rows, cols) = self.seen_shape();
        let pitch = self.pitch;
        match &mut self.input {
            Input::Pooled(memory) => GridViewMut::with_stride(memory.as_mut_slice(), rows, cols, pitch).ok(),
            Input::InPlace(_) | Input::InFlight => None,
        }
    }

    /// The cells seen and, to be filled, the planes of results; `None` where the memory is not of the pool.
    pub fn both<T: bytemuck::Pod, C: Code>(
        &mut self,
        planes: usize,
    ) -> Option<(GridView<'_, C>, Vec<GridViewMut<'_, T>>)> {
        let (rows, cols) = self.seen_shape();
        let (Input::Pooled(input), Output::Pooled(output)) = (&self.input, &mut self.output) else { return None };
        let cells = GridView::with_stride(input.as_slice(), rows, cols, self.pitch).ok()?;
        Some((cells, split_planes(output, planes, self.rows.len(), self.cols.len())))
    }

    /// The planes of results; `None` where the memory is not of the pool.
    pub fn planes<T: bytemuck::Pod>(&mut self, planes: usize) -> Option<Vec<GridViewMut<'_, T>>> {
        match &mut self.output {
            Output::Pooled(output) => Some(split_planes(output, planes, self.rows.len(), self.cols.len())),
            Output::InPlace(_) | Output::InFlight => None,
        }
    }
}

impl<'m> Input<'m> {
    /// Moves the memory to a copy.
    pub fn take(&mut self) -> Option<Readable<'m>> {
        match std::mem::replace(self, Self::InFlight) {
            Self::Pooled(memory) => Some(Readable::Owned(memory)),
            Self::InPlace(bytes) => Some(Readable::Borrowed(bytes)),
            Self::InFlight => None,
        }
    }
}

impl<'m> From<Readable<'m>> for Input<'m> {
    fn from(memory: Readable<'m>) -> Self {
        match memory {
            Readable::Owned(memory) => Self::Pooled(memory),
            Readable::Borrowed(bytes) => Self::InPlace(bytes),
        }
    }
}

fn split_planes<T: bytemuck::Pod>(
    memory: &mut HostMemory,
    planes: usize,
    rows: usize,
    cols: usize,
) -> Vec<GridViewMut<'_, T>> {
    let numbers = &mut memory.as_mut_slice::<T>()[..planes * rows * cols];
    let plane = |numbers| GridViewMut::new(numbers, rows, cols).expect("a piece is not empty");
    numbers.chunks_exact_mut(rows * cols).map(plane).collect()
}
