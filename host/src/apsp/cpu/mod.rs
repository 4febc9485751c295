//! All-pairs shortest paths on the CPU: blocked Floyd-Warshall (Venkataraman, Sahni and Mukhopadhyaya 2003), on all cores of
//! the current rayon pool.
//!
//! A pass relaxes the paths over some vertices K, 256 or 64 of them. First the *pivot*, the square of the rows and columns K,
//! is closed: by passes of 64, and those by Floyd's three loops. Then the rows K become min-plus products of the pivot and themselves. Then
//! every other row is relaxed through them: by the product of its part in the columns K, as it was, and the rows K. (The usual form
//! multiplies this part by the pivot first. There is no need: the rows K have been.) Nearly all of the time is this last step, where no row
//! depends on another.
//!
//! | file | what |
//! |---|---|
//! | `panels` | packing the rows K for products, and back |
//! | `tile` | closing and the product, for every instruction set |
//! | `vector`, `x86` | the vectors that it is done in |
//! | `ceiling` | the compute ceiling of the machine |
//!
//! The usual form stores the matrix as tiles of 64 × 64 and takes 64 vertices at a time. Here the matrix keeps its layout, as in products of
//! matrices (Goto and van de Geijn 2008): both factors, which are read repeatedly, are packed into contiguous memory, and of
//! the result each cell is loaded and stored once for 256 vertices, not four times. That is 10 % faster than tiles, which have to be packed
//! and unpacked besides.
//!
//! The sums compared for a cell depend only on the matrix: the result is bit-identical for all instruction sets and any
//! number of threads, in floating point too.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;

use super::aligned::Aligned;
use super::{Distance, Matrix, SIDE};
use crate::isa::Isa;
use crate::observe::{Cancelled, Observer};

#[doc(hidden)]
pub mod ceiling;
mod panels;
#[cfg(test)]
mod tests;
mod tile;
pub(super) mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

use panels::{pack, unpack};
use tile::{CELLS, DEPTH, Left, Operations};

/// Rows from which on deep passes pay: in smaller matrices the pivots would be too large a part of the whole.
const DEEP: usize = 1024;

/// Makes distances of weights, in place. No weight is negative. `observer` is notified of each finished vertex k: V of them in all. Cancelled,
/// the matrix is neither weights nor distances.
///
/// ```
/// use halotile::apsp::{Distance, Matrix, cpu};
/// // A ring of 100 vertices.
/// let weight = |i: usize, j: usize| if i == j { 0 } else if (i + 1) % 100 == j { 2 } else { u16::UNREACHABLE };
/// let mut matrix = Matrix::from_fn(100, weight)?;
/// cpu::solve(&mut matrix, &()).expect("nothing cancels");
/// assert_eq!((matrix.get(3, 5), matrix.get(5, 3)), (4, 196));
/// # Ok::<(), halotile::apsp::MatrixError>(())
/// ```
pub fn solve<T: Distance>(matrix: &mut Matrix<T>, observer: &dyn Observer) -> Result<(), Cancelled> {
    let depth = if matrix.pitch() < DEEP { SIDE } else { DEPTH };
    solve_with(matrix, Isa::best(), depth, observer)
}

/// [`solve`] with a given instruction set and a given number of vertices a pass.
fn solve_with<T: Distance>(
    matrix: &mut Matrix<T>,
    isa: Isa,
    depth: usize,
    observer: &dyn Observer,
) -> Result<(), Cancelled> {
    let (vertices, side) = (matrix.vertices(), matrix.pitch());
    let progress = Progress { vertices, observer, stopped: AtomicBool::new(false) };
    Passes::new(Operations::of(isa), side, depth).run(matrix.cells_mut(), side, Some(&progress))
}

/// The observer, and whether it has stopped the work.
struct Progress<'o> {
    vertices: usize,
    observer: &'o dyn Observer,
    /// It has stopped the work, and some was left out.
    stopped: AtomicBool,
}

impl Progress<'_> {
    fn continues(&self) -> bool {
        let stopped = self.stopped.load(Relaxed) || self.observer.cancelled();
        if stopped {
            self.stopped.store(true, Relaxed);
        }
        !stopped
    }

    /// One more of the `parts` of a pass is done.
    fn advance(&self, pass: &Range<usize>, done: &AtomicUsize, parts: usize) {
        let vertices = pass.end.min(self.vertices) - pass.start;
        let before = done.fetch_add(1, Relaxed);
        self.observer.advance((vertices * (before + 1) / parts - vertices * before / parts) as u64);
    }
}

/// The passes over a matrix, and what they need beside it.
struct Passes<T> {
    operations: Operations<T>,
    /// Vertices of a pass.
    depth: usize,
    /// Rows that a thread takes at a time.
    rows: usize,
    /// The pivot, row by row.
    pivot: Vec<T>,
    /// The same as a left factor.
    left: Vec<Left>,
    /// The pivot's rows as panels.
    right: Aligned<T>,
    /// The passes that close pivots larger than a tile.
    inner: Option<Box<Passes<T>>>,
}

impl<T: Distance> Passes<T> {
    /// For matrices of `side` rows or less, in passes of `depth` vertices. Both are multiples of [`SIDE`].
    fn new(operations: Operations<T>, side: usize, depth: usize) -> Self {
        // Few enough that no thread waits long for the last one; more than 32 save nothing.
        let rows = (side / (4 * rayon::current_num_threads())).clamp(operations.rows, 32);
        Self {
            operations,
            depth,
            rows: 1 << rows.ilog2(),
            pivot: vec![T::ZERO; depth * depth],
            left: vec![[0; DEPTH]; depth],
            right: numbers(depth * side),
            inner: (depth > SIDE).then(|| Box::new(Self::new(operations, depth, SIDE))),
        }
    }

    fn run(&mut self, cells: &mut [T], side: usize, progress: Option<&Progress<'_>>) -> Result<(), Cancelled> {
        for k in (0..side).step_by(self.depth) {
            self.pass(cells, side, k..side.min(k + self.depth), progress);
            if progress.is_some_and(|progress| progress.stopped.load(Relaxed)) {
                return Err(Cancelled);
            }
        }
        Ok(())
    }

    /// Relaxes the paths over vertices `over`.
    fn pass(&mut self, cells: &mut [T], side: usize, over: Range<usize>, progress: Option<&Progress<'_>>) {
        let Self { operations, rows, ref mut pivot, ref mut left, ref mut right, ref mut inner, .. } = *self;
        let (depth, cols) = (over.len(), operations.cols);
        let band = &cells[over.start * side..over.end * side];

        let pivot = &mut pivot[..depth * depth];
        for (to, row) in pivot.chunks_exact_mut(depth).zip(band.chunks_exact(side)) {
            to.copy_from_slice(&row[over.clone()]);
        }
        match inner {
            Some(inner) => inner.run(pivot, depth, None).expect("nothing cancels"),
            None => operations.close(pivot.first_chunk_mut::<CELLS>().expect("a pivot is a tile")),
        }
        let (pivot, left) = (&*pivot, &mut left[..depth]);
        pack_left(pivot, depth, 0..depth, left);

        let left = &*left;
        let of_pivot = |panel: usize| over.contains(&(panel * cols));
        let right = &mut right[..depth * side];
        let copy = || numbers(depth * cols);
        right.par_chunks_exact_mut(depth * cols).enumerate().for_each_init(copy, |copy, (number, panel)| {
            if of_pivot(number) {
                pack(pivot, depth, number * cols - over.start, panel, cols);
            } else {
                pack(band, side, number * cols, panel, cols);
                copy.copy_from_slice(panel);
                operations.product(panel, cols, left, copy);
            }
        });

        let right = &*right;
        let (parts, done) = (side / rows, AtomicUsize::new(0));
        let left = || vec![[0; DEPTH]; rows];
        cells.par_chunks_exact_mut(rows * side).enumerate().for_each_init(left, |left, (number, band)| {
            if progress.is_some_and(|progress| !progress.continues()) {
                return;
            }
            let top = number * rows;
            if over.contains(&top) {
                unpack(right, depth, cols, top - over.start, band, side);
            } else {
                pack_left(band, side, over.clone(), left);
                for (panel, first) in right.chunks_exact(depth * cols).zip((0..).step_by(cols)) {
                    operations.product(&mut band[first..], side, left, panel);
                }
            }
            if let Some(progress) = progress {
                progress.advance(&over, &done, parts);
            }
        });
    }
}

/// These are few compared with the matrix.
fn numbers<T: Distance>(count: usize) -> Aligned<T> {
    Aligned::filled(count, T::ZERO).expect("there is memory for a part of the matrix")
}

/// Columns of rows, as a left factor.
fn pack_left<T: Distance>(rows: &[T], pitch: usize, cols: Range<usize>, to: &mut [Left]) {
    for (to, row) in to.iter_mut().zip(rows.chunks_exact(pitch)) {
        to.iter_mut().zip(&row[cols.clone()]).for_each(|(to, &cell)| *to = cell.replicate());
    }
}
