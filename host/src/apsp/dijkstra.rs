//! Floating-point weights: shortest paths source by source, in f64 (Dijkstra 1959; with potentials, Johnson 1977).
//!
//! An engine adds in f32 and in its own order, so that its distances differ from their paths' lengths by rounding: which edge ends a path cannot be
//! told from them alone, and where weights were shifted by potentials far larger than themselves, what is left of them is no distance any more. But
//! they show which edges matter. An edge (u, v) that is heavier than d(u, v), by more than V roundings may account for, is on no shortest path, and
//! few are not: of a complete graph of random weights about V ln V. Over those Dijkstra's algorithm finds the tree of each source, in f64: every walk
//! along it ends, also over edges of weight 0 and those that vanish in a sum.
//!
//! With negative weights the distances are those of the trees as well, added up from the weights as they were given, and rounded once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::potential::DistanceOverflow;
use super::predecessors::NONE;
use super::{Distance, Error, Matrix};
use crate::observe::{Cancelled, Observer};

/// The edges that may be on a shortest path, from each vertex: to which, and the weight.
struct CandidateEdges<'a> {
    edges: Vec<Vec<(u32, f32)>>,
    /// The potentials, where there are negative weights.
    h: Option<&'a [f64]>,
}

/// The buffers of a source's search, reused for the next.
struct Scratch {
    /// The tentative distance of each vertex, of weights that are not negative.
    tentative: Vec<f64>,
    /// The same of the original weights.
    lengths: Vec<f64>,
    before: Vec<i32>,
    /// The priority queue, of distances as bits: the order of numbers that are not negative is that of their bits.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
}

/// Predecessors of `weights`, as the module `predecessors` describes them. `distances` are an engine's; with potentials `h` those of the reweighted
/// weights, and they are replaced by the trees' distances of the original weights.
pub(super) fn shortest_path_trees(
    weights: &Matrix<f32>,
    h: Option<&[f64]>,
    distances: &mut Matrix<f32>,
    observer: &dyn Observer,
) -> Result<Matrix<i32>, Error> {
    let vertices = weights.vertices();
    let mut found = Matrix::<i32>::unreachable(vertices)?;
    let candidates = CandidateEdges::of(weights, h, distances);
    let scratch = || Scratch {
        tentative: vec![f64::INFINITY; vertices],
        lengths: vec![f64::INFINITY; vertices],
        before: vec![NONE; vertices],
        queue: BinaryHeap::new(),
    };
    let rows = found.par_rows_mut().zip(distances.par_rows_mut()).enumerate();
    rows.try_for_each_init(scratch, |scratch, (source, (before, distances))| {
        if observer.cancelled() {
            return Err(Error::from(Cancelled));
        }
        candidates.search(source, scratch);
        before.copy_from_slice(&scratch.before);
        if h.is_some() {
            for (to, (distance, &length)) in distances.iter_mut().zip(&scratch.lengths).enumerate() {
                *distance = length as f32;
                if distance.is_infinite() && length.is_finite() {
                    return Err(DistanceOverflow { from: source, to, length, most: f32::MAX.into() }.into());
                }
            }
        }
        observer.advance(1);
        Ok(())
    })?;
    Ok(found)
}

impl<'a> CandidateEdges<'a> {
    fn of(weights: &Matrix<f32>, h: Option<&'a [f64]>, distances: &Matrix<f32>) -> Self {
        // Each sum of a path of V edges may be off by a part of it, and where weights were shifted, each weight by a part of the shift.
        let part = 2.0 * weights.vertices() as f64 * f64::from(f32::EPSILON);
        let heaviest = |row: &[f32]| row.iter().filter(|w| w.is_finite()).fold(0.0f32, |a, w| a.max(w.abs()));
        let shift = h.map_or(0.0, |h| {
            let heaviest = weights.par_rows().map(heaviest).reduce(|| 0.0, f32::max);
            f64::from(heaviest) + 2.0 * h.iter().fold(0.0, |most: f64, h| most.max(h.abs()))
        });
        let row = |(u, (weights, distances)): (usize, (&[f32], &[f32]))| {
            let may_matter = |&(v, (&weight, &distance)): &(usize, (&f32, &f32))| {
                let own = shifted_by(h, u, v, weight);
                v != u && weight.is_finite() && own <= f64::from(distance) * (1.0 + part) + part * shift
            };
            let kept = weights.iter().zip(distances).enumerate().filter(may_matter);
            kept.map(|(v, (&weight, _))| (v as u32, weight)).collect()
        };
        Self { edges: weights.par_rows().zip(distances.par_rows()).enumerate().map(row).collect(), h }
    }

    fn search(&self, source: usize, scratch: &mut Scratch) {
        let Scratch { tentative, lengths, before, queue } = scratch;
        tentative.fill(f64::INFINITY);
        lengths.fill(f64::INFINITY);
        before.fill(NONE);
        (tentative[source], lengths[source]) = (0.0, 0.0);
        queue.push(Reverse((0, source as u32)));
        while let Some(Reverse((distance, u))) = queue.pop() {
            let (distance, u) = (f64::from_bits(distance), u as usize);
            if distance > tentative[u] {
                continue;
            }
            for &(v, weight) in &self.edges[u] {
                let (to, on) = (v as usize, distance + shifted_by(self.h, u, v as usize, weight));
                if on < tentative[to] {
                    tentative[to] = on;
                    lengths[to] = lengths[u] + f64::from(weight);
                    before[to] = u as i32;
                    queue.push(Reverse((on.to_bits(), v)));
                }
            }
        }
    }
}

/// A weight shifted by potentials; what rounding makes negative is 0.
#[inline]
fn shifted_by(h: Option<&[f64]>, u: usize, v: usize, weight: f32) -> f64 {
    h.map_or(weight.to_f64(), |h| (weight.to_f64() + h[u] - h[v]).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apsp::predecessors::reconstruct_path;
    use crate::apsp::{cpu, reference};

    const NONE_F: f32 = f32::INFINITY;

    fn mix(i: usize, j: usize) -> u64 {
        fastrand::Rng::with_seed((i << 32 | j) as u64).u64(..)
    }

    /// Walks along the trees, compared with the definition.
    fn check(weights: &Matrix<f32>) {
        let mut distances = weights.clone();
        cpu::solve(&mut distances, &()).unwrap();
        let before = shortest_path_trees(weights, None, &mut distances, &()).unwrap();
        let n = weights.vertices();
        let expected = reference::distances(n, |i, j| weights.get(i, j).to_f64());
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let wanted = expected[i * n + j];
            assert_eq!(before.get(i, j) == NONE, i == j || wanted.is_infinite(), "{i} {j}");
            let path = reconstruct_path(before.row(i), i, j).unwrap();
            let edges = |path: Vec<usize>| path.windows(2).map(|e| weights.get(e[0], e[1]).to_f64()).sum();
            let walked: f64 = path.map_or(f64::INFINITY, edges);
            assert!(walked == wanted || (walked - wanted).abs() <= 1e-12 * wanted, "{i} {j}: {walked} for {wanted}");
        }
    }

    #[test]
    fn walks_end_and_are_as_long_as_the_distance() {
        for n in [1, 2, 65, 200] {
            // Sparse, tenths with zeros among them; of sizes so different that some vanish in sums; and complete.
            let sparse = |i: usize, j: usize, of: &dyn Fn(u64) -> f32| match mix(i, j) {
                _ if i == j => 0.0,
                x if x % n as u64 >= 3 => NONE_F,
                x => of(x >> 32),
            };
            let tenths = |x: u64| (x % 10) as f32 * 0.1;
            let scattered = |x: u64| [0.0, 1e-9, 0.01, 0.3, 100.0, 1e7][(x % 6) as usize];
            check(&Matrix::from_fn(n, |i, j| sparse(i, j, &tenths)).unwrap());
            check(&Matrix::from_fn(n, |i, j| sparse(i, j, &scattered)).unwrap());
            let complete = |i, j| if i == j { 0.0 } else { (mix(i, j) >> 40) as f32 * 1e-6 };
            check(&Matrix::from_fn(n, complete).unwrap());
        }
    }

    #[test]
    fn nothing_is_lost_beside_potentials_that_are_far_larger() {
        // From 1 it is far below nothing, and from 0 half a step: moved by potentials, 0.5 would be 1e8 + 0.5, which is 1e8 in f32.
        let rows = [[0.0, NONE_F, 0.5], [NONE_F, 0.0, -1e8], [NONE_F, NONE_F, 0.0]];
        let weights = Matrix::from_fn(3, |i, j| rows[i][j]).unwrap();
        let h = [0.0, 0.0, -1e8];
        let mut moved = weights.clone();
        crate::apsp::potential::reweight(&mut moved, &h);
        cpu::solve(&mut moved, &()).unwrap();
        let before = shortest_path_trees(&weights, Some(&h), &mut moved, &()).unwrap();
        assert_eq!((moved.get(0, 2), moved.get(1, 2), moved.get(2, 0)), (0.5, -1e8, NONE_F));
        assert_eq!((before.get(0, 2), before.get(1, 2), before.get(2, 1)), (0, 1, NONE));
    }
}
