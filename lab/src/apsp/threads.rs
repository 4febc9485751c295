//! Plain Floyd-Warshall with threads: the rows are dealt out evenly, with a barrier after every k.
//!
//! In step k every thread needs row k, which one of them has. Its owner copies it before the barrier that ends step k - 1, into
//! one of two alternating buffers: while some still read row k - 1 from one, row k goes to the other. So a barrier a step is
//! enough, and no thread reads rows of another.

use std::sync::{Barrier, PoisonError, RwLock};

use halotile::apsp::{Distance, Matrix};
use halotile::observe::{Cancelled, Observer};

/// What all threads read in a step.
struct Pivot<T> {
    row: Vec<T>,
    /// The work ends here. Beside the row, so that all threads learn of it in the same step.
    stop: bool,
}

/// Makes distances of weights, in place, as the rung [`Kernel::Threads`](super::Kernel::Threads) does: with as many
/// threads of its own as the current rayon pool has. No weight is negative. `observer` is notified of each finished vertex k: V of them in
/// all. Cancelled, the matrix is neither weights nor distances.
///
/// ```
/// use halotile::apsp::{Distance, Matrix};
/// use halotile_lab::apsp::threads;
/// let weights = [[0, 3, 9], [i32::UNREACHABLE, 0, 4], [1, i32::UNREACHABLE, 0]];
/// let mut matrix = Matrix::from_fn(3, |i, j| weights[i][j])?;
/// threads(&mut matrix, &()).expect("nothing cancels");
/// assert_eq!((matrix.row(0), matrix.row(1)), ([0, 3, 7].as_slice(), [5, 0, 4].as_slice()));
/// # Ok::<(), halotile::apsp::MatrixError>(())
/// ```
pub fn threads<T: Distance>(matrix: &mut Matrix<T>, observer: &dyn Observer) -> Result<(), Cancelled> {
    let (vertices, pitch) = (matrix.vertices(), matrix.pitch());
    if observer.cancelled() {
        return Err(Cancelled);
    }
    let share = vertices.div_ceil(rayon::current_num_threads());
    let pivot = |row: &[T]| RwLock::new(Pivot { row: row.to_vec(), stop: false });
    let pivots = [pivot(matrix.row(0)), pivot(matrix.row(0))];
    let barrier = Barrier::new(vertices.div_ceil(share));
    std::thread::scope(|scope| {
        for (number, rows) in matrix.cells_mut()[..vertices * pitch].chunks_mut(share * pitch).enumerate() {
            let (pivots, barrier) = (&pivots, &barrier);
            scope.spawn(move || {
                let top = number * share;
                for k in 0..vertices {
                    let pivot = pivots[k % 2].read().unwrap_or_else(PoisonError::into_inner);
                    if pivot.stop {
                        break;
                    }
                    for row in rows.chunks_exact_mut(pitch) {
                        let via = row[k];
                        for (cell, &on) in row.iter_mut().zip(&pivot.row) {
                            *cell = cell.nearer(via.plus(on));
                        }
                    }
                    drop(pivot);
                    let next = (k + 1).checked_sub(top).and_then(|row| rows.chunks_exact(pitch).nth(row));
                    if let Some(next) = next {
                        let mut pivot = pivots[(k + 1) % 2].write().unwrap_or_else(PoisonError::into_inner);
                        pivot.row.copy_from_slice(&next[..vertices]);
                        pivot.stop = observer.cancelled();
                    }
                    if barrier.wait().is_leader() {
                        observer.advance(1);
                    }
                }
            });
        }
    });
    let stopped = pivots.into_iter().any(|pivot| pivot.into_inner().unwrap_or_else(PoisonError::into_inner).stop);
    if stopped { Err(Cancelled) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    /// Counts vertices, and stops once there are so many.
    struct Until(AtomicU64, u64);

    impl Observer for Until {
        fn advance(&self, vertices: u64) {
            self.0.fetch_add(vertices, Relaxed);
        }

        fn cancelled(&self) -> bool {
            self.0.load(Relaxed) >= self.1
        }
    }

    #[test]
    fn observers_hear_of_every_vertex_and_can_stop_the_work() {
        let ring =
            || Matrix::from_fn(150, |i, j| if (i + 1) % 150 == j { 3 } else { i32::UNREACHABLE * i32::from(i != j) });
        let all = Until(AtomicU64::new(0), u64::MAX);
        threads(&mut ring().unwrap(), &all).unwrap();
        assert_eq!(all.0.into_inner(), 150);
        for stop in [0, 1, 70] {
            let some = Until(AtomicU64::new(0), stop);
            assert_eq!(threads(&mut ring().unwrap(), &some), Err(Cancelled));
            let heard = some.0.into_inner();
            // Two more steps may have begun before the thread that calls the observer notices the first.
            assert!((stop..stop + 3).contains(&heard), "{heard} of {stop}");
        }
    }
}
