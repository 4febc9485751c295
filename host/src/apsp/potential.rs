//! Negative weights: whether there is a negative cycle, and potentials that make every weight at least 0.
//!
//! The algorithm of Bellman (1958) and Ford (1956), from a source that is no vertex and has an edge of weight 0 to each: h(j) is at most 0
//! from the start, and falls to the length of the shortest path that ends in j. Then w(i, j) + h(i) - h(j) is at least 0 for every edge,
//! and every path from i to j is longer by h(i) - h(j), so that shortest paths do not change (Johnson 1977).
//! Engines work on these weights; [`restore`] undoes the shift of distances, and floating-point ones are computed again (`dijkstra`).
//!
//! The matrix is read by blocks of columns, one a thread, and the passes are Jacobi's: all of a pass sees the h of the pass before. So the
//! result is the same for any number of threads. A pass takes only the rows whose h the last one lowered, and of these only the blocks whose
//! lightest edge could lower anything: after the first pass, which has to read everything, mostly few cells are read.
//!
//! The vertex that lowered h(j) last is the parent of j. If parents ever make a cycle, it is a negative one: along each of its edges
//! h(parent) + w <= h(child), as h(parent) may have fallen since; and when the last of its edges was set, that one held strictly.
//! Conversely, as long as parents make none, every h is the length of a path without repetitions, and after V passes, at the shortest of these:
//! nothing falls any more. So looking for a cycle after every pass (V steps) finds it at once where there is one, and the passes terminate.
//!
//! All is computed in f64. Sums of whole weights are below 2^53 and exact. A negative cycle of f32 is looked at twice: the second time each weight
//! counts as heavier by one part in 2^24, which is what rounding may have taken from it. 0.1 + 0.2 - 0.3 is a cycle of -7e-9 in f32, and that is
//! rounding, not a negative cycle. f32 is reweighted like i32, although infinity needs no protection from negative weights: what is below 0 by
//! rounding alone becomes 0, and so the engine cannot go round such a cycle again and again, and [`predecessors`](super::predecessors) sees the order
//! that it needs.

use std::fmt;

use rayon::prelude::*;

use super::{Distance, EdgeWeight, Matrix};
use crate::observe::{Cancelled, Observer};

/// A cycle of negative length, which makes shortest paths meaningless.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("vertex {vertex} is on a cycle of negative length{}: there is no shortest path through it", Shown(.cycle))]
pub struct NegativeCycle {
    /// A vertex on it, the lowest.
    pub vertex: usize,
    /// All its vertices in the direction of its edges, from `vertex`; the last edge leads back there.
    pub cycle: Vec<usize>,
}

impl NegativeCycle {
    /// An edge of negative weight from a vertex to itself.
    pub fn of_loop(vertex: usize) -> Self {
        Self { vertex, cycle: vec![vertex] }
    }
}

/// The vertices of a cycle, or their number where they are too many for a message.
struct Shown<'a>(&'a [usize]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.len() > 8 {
            return write!(f, " ({} edges)", self.0.len());
        }
        write!(f, " (")?;
        self.0.iter().try_for_each(|vertex| write!(f, "{vertex} -> "))?;
        write!(f, "{})", self.0[0])
    }
}

/// Why there are no potentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PotentialError {
    /// There is a negative cycle.
    #[error(transparent)]
    Cycle(#[from] NegativeCycle),
    /// The observer stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// A distance that does not fit its type.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the distance from {from} to {to} is {length}, beyond {most} on one side or the other")]
pub struct DistanceOverflow {
    /// From this vertex.
    pub from: usize,
    /// To this one.
    pub to: usize,
    /// The distance.
    pub length: f64,
    /// The most that there can be.
    pub most: f64,
}

/// Weights that can be shifted by potentials. Implemented for `i32` and `f32`.
pub trait Reweight: EdgeWeight {
    /// The relative errors that weights may have, each of which is tried, in ascending order.
    const TOLERANCES: &'static [f64];

    /// The weight plus this part of its magnitude; NaN or infinite where there is no edge.
    fn plus_tolerance(self, part: f64) -> f64;
    /// The nearest number of this type, none of them beyond its ends.
    fn from_f64(number: f64) -> Self;
}

impl Reweight for i32 {
    const TOLERANCES: &'static [f64] = &[0.0];

    #[inline(always)]
    fn plus_tolerance(self, _: f64) -> f64 {
        self.to_f64()
    }

    #[inline(always)]
    fn from_f64(number: f64) -> Self {
        number as i32
    }
}

impl Reweight for f32 {
    const TOLERANCES: &'static [f64] = &[0.0, f32::EPSILON as f64 / 2.0];

    // 0 · infinity is NaN, which is less than no number: no edge either way.
    #[inline(always)]
    fn plus_tolerance(self, part: f64) -> f64 {
        f64::from(self) + f64::from(self.abs()) * part
    }

    #[inline(always)]
    fn from_f64(number: f64) -> Self {
        number as f32
    }
}

/// Columns that a thread takes at a time.
const BLOCK: usize = 512;

/// No parent.
const NO_PARENT: u32 = u32::MAX;

/// The state of a block of columns: only its thread writes it.
struct Block<T> {
    /// The first column.
    first: usize,
    h: Vec<f64>,
    parent: Vec<u32>,
    /// Of each row the lightest edge into the block.
    lightest: Vec<T>,
}

impl<T: Reweight> Block<T> {
    fn new(first: usize, weights: &Matrix<T>) -> Self {
        let width = BLOCK.min(weights.vertices() - first);
        let least = |row: usize| weights.row(row)[first..][..width].iter().fold(T::UNREACHABLE, |a, &b| a.nearer(b));
        let lightest = (0..weights.vertices()).map(least).collect();
        Self { first, h: vec![0.0; width], parent: vec![NO_PARENT; width], lightest }
    }

    /// A pass over the rows that are `active`, with the potentials of the pass before.
    fn relax(&mut self, weights: &Matrix<T>, active: &[u32], before: &[f64], tolerance: f64) {
        // It falls during the pass: more is done than necessary, never less.
        let highest = self.h.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        for &row in active {
            let from = before[row as usize];
            if from + self.lightest[row as usize].to_f64() >= highest {
                continue;
            }
            let edges = &weights.row(row as usize)[self.first..][..self.h.len()];
            for ((h, parent), &weight) in self.h.iter_mut().zip(&mut self.parent).zip(edges) {
                let length = from + weight.plus_tolerance(tolerance);
                let better = length < *h;
                *h = if better { length } else { *h };
                *parent = if better { row } else { *parent };
            }
        }
    }
}

/// For each vertex a number h, at most 0, with w(i, j) + h(i) - h(j) >= 0 for every edge (for f32 up to rounding). Whole weights have whole ones.
///
/// ```
/// use halotile::apsp::{Matrix, MatrixError, potential::potentials};
/// let none = (1 << 30) - 1;
/// let weights = Matrix::from_fn(3, |i, j| [[0, 4, none], [none, 0, -3], [none, 1, 0]][i][j])?;
/// let cycle = potentials(&weights, &()).unwrap_err();
/// assert!(cycle.to_string().starts_with("vertex 1 is on a cycle of negative length (1 -> 2 -> 1)"));
/// # Ok::<(), MatrixError>(())
/// ```
///
/// # Errors
/// [`PotentialError`]: a cycle of negative length, with its vertices, or that the observer asked to stop.
pub fn potentials<T: Reweight>(weights: &Matrix<T>, observer: &dyn Observer) -> Result<Vec<f64>, PotentialError> {
    let mut tolerances = T::TOLERANCES.iter().peekable();
    loop {
        let tolerance = tolerances.next().copied().unwrap_or(0.0);
        match bellman_ford(weights, tolerance, observer) {
            Err(PotentialError::Cycle(_)) if tolerances.peek().is_some() => {}
            result => return result,
        }
    }
}

/// Relaxes until nothing falls any more, with weights as heavy as `tolerance` allows.
fn bellman_ford<T: Reweight>(
    weights: &Matrix<T>,
    tolerance: f64,
    observer: &dyn Observer,
) -> Result<Vec<f64>, PotentialError> {
    let vertices = weights.vertices();
    let firsts: Vec<usize> = (0..vertices).step_by(BLOCK).collect();
    let mut blocks: Vec<Block<T>> = firsts.into_par_iter().map(|first| Block::new(first, weights)).collect();
    let mut h = vec![0.0; vertices];
    let mut parents = vec![NO_PARENT; vertices];
    let mut active: Vec<u32> = (0..vertices as u32).collect();
    while !active.is_empty() {
        if observer.cancelled() {
            return Err(Cancelled.into());
        }
        blocks.par_iter_mut().for_each(|block| block.relax(weights, &active, &h, tolerance));
        active.clear();
        for block in &blocks {
            for (at, (&now, &parent)) in block.h.iter().zip(&block.parent).enumerate() {
                let vertex = block.first + at;
                if now < h[vertex] {
                    active.push(vertex as u32);
                    (h[vertex], parents[vertex]) = (now, parent);
                }
            }
        }
        if let Some(cycle) = cycle(&parents) {
            return Err(NegativeCycle { vertex: cycle[0], cycle }.into());
        }
    }
    Ok(h)
}

/// A cycle that parents make, in the direction from parent to child, from its lowest vertex.
fn cycle(parents: &[u32]) -> Option<Vec<usize>> {
    // The number of the walk that reached a vertex first, from 1.
    let mut walk = vec![0; parents.len()];
    for start in 0..parents.len() {
        let mut at = start;
        while walk[at] == 0 && parents[at] != NO_PARENT {
            walk[at] = start + 1;
            at = parents[at] as usize;
        }
        if walk[at] == start + 1 {
            let mut found = vec![at];
            let next = |at: usize| parents[at] as usize;
            found.extend(std::iter::successors(Some(next(at)), |&at| Some(next(at))).take_while(|&other| other != at));
            found.reverse();
            let lowest = (0..found.len()).min_by_key(|&i| found[i]).unwrap_or(0);
            found.rotate_left(lowest);
            return Some(found);
        }
    }
    None
}

/// Makes every weight w(i, j) + h(i) - h(j). One that is not below [`UNREACHABLE`](super::Distance::UNREACHABLE) then becomes that, as if there were no edge:
/// the returned value, the heaviest before that (0 without edges), is for [`width`](super::width).
pub fn reweight<T: Reweight>(weights: &mut Matrix<T>, h: &[f64]) -> f64 {
    let row = |(i, row): (usize, &mut [T])| {
        row.iter_mut().zip(h).enumerate().filter(|(_, (cell, _))| **cell != T::UNREACHABLE).fold(
            0.0,
            |heaviest: f64, (j, (cell, hj))| {
                let weight = if i == j { 0.0 } else { (cell.to_f64() + (h[i] - hj)).max(0.0) };
                let moved = T::from_f64(weight);
                *cell = if moved.allowed() { moved } else { T::UNREACHABLE };
                heaviest.max(weight)
            },
        )
    };
    weights.par_rows_mut().enumerate().map(row).reduce(|| 0.0, f64::max)
}

/// Turns distances d'(i, j) of reweighted weights into those of the original weights: d' - h(i) + h(j). What is unreachable stays so.
///
/// # Errors
/// [`DistanceOverflow`] for a distance beyond 32 bits.
pub fn restore(distances: &mut Matrix<i32>, h: &[f64]) -> Result<(), DistanceOverflow> {
    distances.par_rows_mut().enumerate().try_for_each(|(i, row)| {
        for (j, (cell, hj)) in row.iter_mut().zip(h).enumerate().filter(|(_, (cell, _))| **cell != i32::UNREACHABLE) {
            let length = cell.to_f64() - (h[i] - hj);
            *cell = i32::from_f64(length);
            if !cell.allowed() {
                return Err(DistanceOverflow { from: i, to: j, length, most: i32::MOST });
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: i32 = i32::UNREACHABLE;

    /// A hash of a pair.
    fn mix(i: usize, j: usize) -> u64 {
        let x = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (j as u64 + 1).wrapping_mul(0xd134_2543_de82_ef95);
        let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^ (x >> 32)
    }

    /// Random edges, one in `sparse`, none of which makes a negative cycle: weights that were not negative, moved by heights.
    fn moved(vertices: usize, sparse: u64) -> Matrix<i32> {
        let height = |v: usize| (mix(v, 77) % 1000) as i32;
        Matrix::from_fn(vertices, |i, j| match mix(i, j) % sparse {
            _ if i == j => 0,
            0 => (mix(j, i) % 300) as i32 + height(j) - height(i),
            _ => NONE,
        })
        .unwrap()
    }

    fn found(weights: &Matrix<i32>) -> Option<Vec<usize>> {
        match potentials(weights, &()) {
            Ok(_) => None,
            Err(PotentialError::Cycle(found)) => Some(found.cycle),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn no_weight_is_negative_afterwards_and_distances_come_back() {
        for vertices in [1, 2, 64, 100, 700] {
            for sparse in [1, 3, 40] {
                let weights = moved(vertices, sparse);
                let h = potentials(&weights, &()).unwrap();
                let mut other = weights.clone();
                let heaviest = reweight(&mut other, &h);
                let cells = || (0..vertices).flat_map(|i| (0..vertices).map(move |j| (i, j)));
                let of_edges = || cells().map(|(i, j)| other.get(i, j)).filter(|&w| w != NONE);
                assert!(of_edges().all(|w| w >= 0), "{vertices} {sparse}");
                assert_eq!(of_edges().max().map(f64::from), Some(heaviest));
                assert!(cells().all(|(i, j)| (weights.get(i, j) == NONE) == (other.get(i, j) == NONE)));
                restore(&mut other, &h).unwrap();
                assert_eq!(other, weights);
            }
        }
    }

    #[test]
    fn a_cycle_that_is_found_is_one_and_negative() {
        for (vertices, sparse, planted) in [(2, 1, &[0, 1][..]), (90, 30, &[7, 3, 80]), (1100, 900, &[900, 5, 600, 17])]
        {
            let mut weights = moved(vertices, sparse);
            assert_eq!(found(&weights), None);
            let edges = || planted.iter().zip(planted.iter().cycle().skip(1));
            edges().for_each(|(&i, &j)| weights.row_mut(i)[j] = 1);
            weights.row_mut(planted[0])[planted[1]] = -(planted.len() as i32);
            let cycle = found(&weights).expect("there is one now");
            let length: i64 =
                cycle.iter().zip(cycle.iter().cycle().skip(1)).map(|(&i, &j)| i64::from(weights.get(i, j))).sum();
            // No edge of it is missing: that would make the sum huge.
            assert!(length < 0, "{cycle:?} {length}");
            assert_eq!(cycle.iter().min(), cycle.first());
        }
    }

    #[test]
    fn a_cycle_of_length_0_is_none_and_long_ways_are_gone() {
        // A ring of 600, forwards -1, the last edge back 599: 0 in all. Backwards numbered, so that a pass goes one edge far.
        let n = 600;
        let ring = |last| {
            Matrix::from_fn(n, |i, j| match (i, j) {
                _ if i == j => 0,
                (0, j) if j == n - 1 => last,
                _ if i == j + 1 => -1,
                _ => NONE,
            })
            .unwrap()
        };
        let h = potentials(&ring(599), &()).unwrap();
        assert_eq!((h[0], h[n - 1]), (-599.0, 0.0));
        assert_eq!(found(&ring(598)).map(|cycle| cycle.len()), Some(600));
    }

    #[test]
    fn rounding_makes_no_negative_cycle() {
        let none = f32::INFINITY;
        let ring = |last: f32| {
            Matrix::from_fn(3, |i, j| [[0.0, 0.1, none], [none, 0.0, 0.2], [last, none, 0.0]][i][j]).unwrap()
        };
        let mut weights = ring(-0.3);
        let h = potentials(&weights, &()).unwrap();
        reweight(&mut weights, &h);
        assert!(weights.cells().iter().all(|&w| w >= 0.0));
        assert!(potentials(&ring(-0.300_001), &()).is_err());
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let mut weights = Matrix::from_fn(2, |i, j| if i < j { NONE - 1 } else { 0 }).unwrap();
        // As if other vertices had made these.
        let h = [0.0, -5.0];
        assert_eq!(reweight(&mut weights, &h), f64::from(NONE) + 4.0);
        assert_eq!(weights.get(0, 1), NONE);
        let mut distances = Matrix::from_fn(2, |i, j| [[0, NONE], [3, 0]][i][j]).unwrap();
        let error = restore(&mut distances, &[0.0, f64::from(NONE) + 7.0]).unwrap_err();
        assert_eq!((error.from, error.to, error.length), (1, 0, -f64::from(NONE) - 4.0));
        assert!(potentials(&weights, &Stopped).is_err());
    }

    struct Stopped;

    impl Observer for Stopped {
        fn cancelled(&self) -> bool {
            true
        }
    }

    #[test]
    fn messages_show_short_cycles() {
        assert!(
            NegativeCycle::of_loop(4).to_string().starts_with("vertex 4 is on a cycle of negative length (4 -> 4): ")
        );
        let long = NegativeCycle { vertex: 0, cycle: (0..9).collect() };
        assert!(long.to_string().starts_with("vertex 0 is on a cycle of negative length (9 edges): "));
    }
}
