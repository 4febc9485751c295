//! All-pairs shortest paths on the CPU: blocked Floyd-Warshall (Venkataraman, Sahni and Mukhopadhyaya 2003), on all cores of
//! the current rayon pool.
//!
//! The matrix is cut into tiles of [`SIDE`] × [`SIDE`]. In round k the tile (k, k), the pivot, is closed by Floyd's three loops; then the
//! other tiles of its row and its column become min-plus products with it; then every other tile (i, j) takes what is nearer through
//! the product of (i, k) and (k, j). Nearly all of the time is this last step, where no tile depends on another.
//!
//! | file | what |
//! |---|---|
//! | `layout` | from rows to tiles and back, in place |
//! | `tile` | what is done with tiles, for every instruction set |
//! | `vector`, `x86` | the vectors that it is done in |
//! | `ceiling` | what the machine could do if memory took no time |
//! | `threads` | the rung that is the source's |
//!
//! Tiles are stored one behind the other: in a matrix of rows whose length is a power of two, the 64 rows of a tile would fall on the
//! same few lines of the cache. No second matrix is needed for that (`layout`). The row and the column of tiles are copied once a
//! round, so that products read them aligned and no two threads meet in a tile that one of them writes.
//!
//! Which sums are compared for a cell depends on nothing but the matrix: the result is the same for all instruction sets and any
//! number of threads, in floating point too.

use rayon::prelude::*;

use super::{Distance, Matrix, SIDE};
use crate::cpu::isa::Isa;
use crate::observe::{Cancelled, Observer};

pub(crate) mod ceiling;
mod layout;
#[cfg(test)]
mod tests;
mod threads;
mod tile;
pub(super) mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use threads::threads;
use tile::{CELLS, Operations, Tile, spread};

/// Makes distances of weights, in place. No weight is negative. `observer` hears of each finished vertex k: V of them in all. Cancelled,
/// the matrix is neither weights nor distances.
///
/// ```
/// use halotile::apsp::{Distance, Matrix, cpu};
/// // A ring of 100 vertices.
/// let weight = |i: usize, j: usize| if i == j { 0 } else if (i + 1) % 100 == j { 2 } else { u16::UNREACHABLE };
/// let mut matrix = Matrix::from_fn(100, weight)?;
/// cpu::solve(&mut matrix, &()).expect("nobody cancels");
/// assert_eq!((matrix.get(3, 5), matrix.get(5, 3)), (4, 196));
/// # Ok::<(), halotile::apsp::MatrixError>(())
/// ```
pub fn solve<T: Distance>(matrix: &mut Matrix<T>, observer: &dyn Observer) -> Result<(), Cancelled> {
    solve_with(matrix, Isa::best(), observer)
}

/// [`solve`] with a say in the instruction set.
fn solve_with<T: Distance>(matrix: &mut Matrix<T>, isa: Isa, observer: &dyn Observer) -> Result<(), Cancelled> {
    let (vertices, across) = (matrix.vertices(), matrix.pitch() / SIDE);
    let cells = matrix.cells_mut();
    layout::to_tiles(cells, across);
    let (tiles, _) = cells.as_chunks_mut::<CELLS>();
    let mut round = Round::new(across, Operations::of(isa));
    for k in 0..across {
        if observer.cancelled() {
            return Err(Cancelled);
        }
        round.run(k, tiles);
        observer.advance(SIDE.min(vertices - k * SIDE) as u64);
    }
    layout::to_rows(cells, across);
    Ok(())
}

/// What rounds need beside the matrix.
struct Round<T> {
    /// Tiles in a row.
    across: usize,
    operations: Operations<T>,
    /// The column of tiles, as left factors.
    column: Vec<Tile<u32>>,
    /// The row of tiles, as right factors.
    row: Vec<Tile<T>>,
}

impl<T: Distance> Round<T> {
    fn new(across: usize, operations: Operations<T>) -> Self {
        Self { across, operations, column: vec![Tile::filled(0); across], row: vec![Tile::filled(T::ZERO); across] }
    }

    /// Takes the ways over the vertices of tile `k` into account.
    fn run(&mut self, k: usize, tiles: &mut [[T; CELLS]]) {
        let Self { across, operations, column, row } = self;
        let across = *across;
        let at = k * across + k;
        let mut pivot = Tile(tiles[at]);
        operations.close(&mut pivot);
        tiles[at] = pivot.0;
        let spread_pivot = spread(&pivot.0);

        let (above, rest) = tiles.split_at_mut(k * across);
        let (band, below) = rest.split_at_mut(across);
        let of_row = || {
            band.par_iter_mut().zip(&mut *row).enumerate().filter(|&(j, _)| j != k).for_each(|(_, (tile, copy))| {
                copy.0 = *tile;
                operations.product(tile, &spread_pivot, copy);
                copy.0 = *tile;
            });
        };
        let (copies_above, copies_below) = column.split_at_mut(k);
        let of_column = || {
            let above = above.par_chunks_mut(across).zip(copies_above);
            let below = below.par_chunks_mut(across).zip(&mut copies_below[1..]);
            above.chain(below).for_each(|(band, copy)| {
                let tile = &mut band[k];
                *copy = spread(tile);
                operations.product(tile, copy, &pivot);
                *copy = spread(tile);
            });
        };
        rayon::join(of_row, of_column);

        let (row, column) = (&*row, &*column);
        tiles.par_iter_mut().enumerate().for_each(|(at, tile)| {
            let (i, j) = (at / across, at % across);
            if i != k && j != k {
                operations.product(tile, &column[i], &row[j]);
            }
        });
    }
}
