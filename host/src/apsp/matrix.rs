//! A square of distances, as engines take it: row i, column j is from vertex i to vertex j.
//!
//! Rows are padded to a multiple of [`SIDE`] and there are as many of them, so that tiles are whole and engines need no border cases.
//! Padding is a vertex without edges: it changes no distance.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::Distance;
use super::aligned::Aligned;
use crate::machine;

/// Rows and columns come in multiples of this.
pub const SIDE: usize = 64;

/// V × V distances, each row at a multiple of [`pitch`](Self::pitch).
#[derive(Clone)]
pub struct Matrix<T> {
    vertices: usize,
    pitch: usize,
    cells: Aligned<T>,
}

/// There is no such matrix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// No vertex.
    #[error("a graph has at least one vertex")]
    Empty,
    /// More than memory holds.
    #[error("there is no memory for the {vertices} x {vertices} distances, {}", machine::needed(*.bytes))]
    Memory {
        /// Vertices.
        vertices: usize,
        /// Bytes that they would take.
        bytes: u128,
    },
}

impl<T: Distance> Matrix<T> {
    /// Bytes that a matrix of so many vertices takes.
    pub fn bytes(vertices: usize) -> u128 {
        let pitch = vertices.div_ceil(SIDE) as u128 * SIDE as u128;
        pitch * pitch * size_of::<T>() as u128
    }

    /// No vertex reaches another; each is at distance 0 from itself.
    ///
    /// # Errors
    /// [`MatrixError`] where there are no vertices, or no memory for the distances between them.
    pub fn unreachable(vertices: usize) -> Result<Self, MatrixError> {
        if vertices == 0 {
            return Err(MatrixError::Empty);
        }
        let pitch = vertices.next_multiple_of(SIDE);
        let failed = MatrixError::Memory { vertices, bytes: Self::bytes(vertices) };
        let count = pitch.checked_mul(pitch).ok_or(failed.clone())?;
        let mut cells = Aligned::filled(count, T::UNREACHABLE).map_err(|_| failed)?;
        (0..pitch).for_each(|i| cells[i * pitch + i] = T::ZERO);
        Ok(Self { vertices, pitch, cells })
    }

    /// A matrix from what is at row i, column j: for tests and small graphs.
    ///
    /// # Errors
    /// Those of [`unreachable`](Self::unreachable).
    pub fn from_fn(vertices: usize, at: impl Fn(usize, usize) -> T) -> Result<Self, MatrixError> {
        let mut matrix = Self::unreachable(vertices)?;
        for i in 0..vertices {
            matrix.row_mut(i).iter_mut().enumerate().for_each(|(j, cell)| *cell = at(i, j));
        }
        Ok(matrix)
    }

    /// Vertices: rows and columns without padding.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// Cells from a row to the next, and the number of rows with padding: a multiple of [`SIDE`].
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// The distances from vertex `i`.
    pub fn row(&self, i: usize) -> &[T] {
        &self.cells[i * self.pitch..][..self.vertices]
    }

    /// The same to be written.
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        &mut self.cells[i * self.pitch..][..self.vertices]
    }

    /// From `i` to `j`.
    pub fn get(&self, i: usize, j: usize) -> T {
        self.row(i)[j]
    }

    /// All cells with padding, row by row.
    pub fn cells(&self) -> &[T] {
        &self.cells
    }

    /// The same to be written. Padding is left as it is: unreachable, and 0 on the diagonal.
    pub fn cells_mut(&mut self) -> &mut [T] {
        &mut self.cells
    }

    /// Makes every cell the lesser of itself and its mirror image: from i to j as from j to i.
    ///
    /// Tile by tile, on all threads: of two tiles that are each other's image one thread has both bands of rows, the upper one first.
    pub(super) fn symmetrize(&mut self) {
        let pitch = self.pitch;
        let bands: Vec<Mutex<&mut [T]>> = self.cells.chunks_mut(SIDE * pitch).map(Mutex::new).collect();
        let lock = |i: usize| bands[i].lock().unwrap_or_else(PoisonError::into_inner);
        (0..bands.len()).into_par_iter().for_each(|j| {
            let inside = |row: usize, col: usize| row * pitch + j * SIDE + col;
            let mut own = lock(j);
            for (row, col) in (0..SIDE).flat_map(|row| (0..row).map(move |col| (row, col))) {
                let nearer = own[inside(row, col)].nearer(own[inside(col, row)]);
                own[inside(row, col)] = nearer;
                own[inside(col, row)] = nearer;
            }
            drop(own);
            for i in 0..j {
                let (mut upper, mut lower) = (lock(i), lock(j));
                for row in 0..SIDE {
                    for col in 0..SIDE {
                        let (to, back) = (row * pitch + j * SIDE + col, col * pitch + i * SIDE + row);
                        let nearer = upper[to].nearer(lower[back]);
                        upper[to] = nearer;
                        lower[back] = nearer;
                    }
                }
            }
        });
    }

    /// The rows, without padding, for all threads.
    pub fn par_rows(&self) -> impl IndexedParallelIterator<Item = &[T]> {
        let vertices = self.vertices;
        self.cells.par_chunks(self.pitch).take(vertices).map(move |row| &row[..vertices])
    }

    /// The same to be written.
    pub fn par_rows_mut(&mut self) -> impl IndexedParallelIterator<Item = &mut [T]> {
        let vertices = self.vertices;
        self.cells.par_chunks_mut(self.pitch).take(vertices).map(move |row| &mut row[..vertices])
    }
}

impl<T: PartialEq> PartialEq for Matrix<T> {
    fn eq(&self, other: &Self) -> bool {
        self.vertices == other.vertices && *self.cells == *other.cells
    }
}

impl<T> std::fmt::Debug for Matrix<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Matrix({0} x {0})", self.vertices)
    }
}
