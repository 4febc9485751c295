//! The second matrix: the vertex before the last on a shortest path.
//!
//! It is computed from the weights and distances of any engine, at no cost to engines. The vertex before j on a
//! shortest path from i is a u with d(i, u) + w(u, j) = d(i, j): the edge (u, j) is *tight* for i. Looking at every u for every
//! pair would be as much work as finding the distances. But a part of a shortest path is one (Bellman's principle), so that only edges with
//! w(u, j) = d(u, j) can end one, the *useful* ones; and of these few end at each vertex: in a complete graph of random weights about ln V.
//!
//! 1. The vertex before j is i where the edge (i, j) is as short as the distance; otherwise the first u with a useful, tight edge of positive length,
//!    d(i, u) < d(i, j).
//! 2. The others have only tight edges of length 0. A breadth-first search from the vertices that have theirs, along edges of length 0
//!    between vertices of the same distance, gives each the vertex that it is found from.
//!
//! Every walk ends: a step of the first kind ends at i or goes to a lesser distance, and one of the second goes to the same distance and a vertex
//! that was found earlier. No vertex is left out: a shortest path to it from i ends with edges of length 0, and before these is i or a vertex
//! whose last edge is positive. Its lengths add up because every edge on it is tight.
//!
//! All of this holds for whole numbers. Floating-point ones have trees instead: the module `dijkstra`.
//!
//! Columns are cut into blocks, one a thread, which scans all rows for them: so useful edges are kept for a few columns only. There
//! may be V of them for each column where all edges weigh the same.

use rayon::prelude::*;

use super::MatrixError;
use super::{Distance, Matrix};
use crate::observe::{Cancelled, Observer};

/// Where there is no predecessor: from a vertex to itself, and where there is no path. The number is scipy's.
pub const NONE: i32 = -9999;

/// Not found yet.
const PENDING: i32 = i32::MIN;

/// Columns of a block: enough for a thread to read rows efficiently, few enough for all threads to have some.
const BLOCK: (usize, usize) = (64, 512);

/// Why there are no predecessors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// There is no memory for them.
    #[error(transparent)]
    Memory(#[from] MatrixError),
    /// The observer stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// A row of predecessors that does not lead back to its source: not one of this library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the predecessors from vertex {from} do not lead from {to} back to it: they {}", match .before {
    Some(before) => format!("have {before} before {at}"),
    None => "go round in a circle".to_owned(),
})]
pub struct BrokenPath {
    /// Where the path begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// The vertex whose predecessor is not a vertex.
    pub at: usize,
    /// What its predecessor is; none where the predecessors form a cycle.
    pub before: Option<i32>,
}

/// The vertices on a shortest path, both ends among them; none where there is no path. `predecessors` is the row of predecessors of vertex `from`.
///
/// ```
/// use halotile::apsp::predecessors::reconstruct_path;
/// let predecessors = [-9999, 2, 0, -9999];
/// assert_eq!(reconstruct_path(&predecessors, 0, 1), Ok(Some(vec![0, 2, 1])));
/// assert_eq!(reconstruct_path(&predecessors, 0, 3), Ok(None));
/// assert!(reconstruct_path(&[-9999, 1], 0, 1).is_err());
/// ```
///
/// # Errors
/// [`BrokenPath`] where a predecessor is no vertex, or they form a cycle.
///
/// # Panics
/// If there are not so many vertices.
pub fn reconstruct_path(predecessors: &[i32], from: usize, to: usize) -> Result<Option<Vec<usize>>, BrokenPath> {
    let broken = |at, before| Err(BrokenPath { from, to, at, before });
    let mut path = vec![to];
    let mut at = to;
    while at != from {
        at = match predecessors[at] {
            NONE if at == to => return Ok(None),
            other => match usize::try_from(other).ok().filter(|&vertex| vertex < predecessors.len()) {
                Some(vertex) => vertex,
                None => return broken(at, Some(other)),
            },
        };
        if path.len() == predecessors.len() {
            return broken(at, None);
        }
        path.push(at);
    }
    path.reverse();
    Ok(Some(path))
}

/// For every row i and column j the vertex before j on a shortest path from i; [`NONE`] where i is j and where there is no path. Every walk ends,
/// and its length is the distance. `weights` are those that `distances` were made of: none is negative. Whole numbers only, whose
/// sums are exact: floating-point ones are not [`Ord`]. `observer` is notified of V vertices in all.
///
/// ```
/// use halotile::apsp::{Matrix, cpu, predecessors};
/// let none = (1 << 30) - 1;
/// let weights = Matrix::from_fn(3, |i, j| [[0, 2, 9], [none, 0, 0], [none, none, 0]][i][j])?;
/// let mut distances = weights.clone();
/// cpu::solve(&mut distances, &())?;
/// let before = predecessors::find(&weights, &distances, &())?;
/// assert_eq!([before.row(0), before.row(2)], [[-9999, 0, 1], [-9999; 3]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`FindError`]: no memory for the matrix, or that the observer asked to stop.
pub fn find<T: Distance + Ord>(
    weights: &Matrix<T>,
    distances: &Matrix<T>,
    observer: &dyn Observer,
) -> Result<Matrix<i32>, FindError> {
    let vertices = weights.vertices();
    let mut found = Matrix::<i32>::unreachable(vertices)?;
    let (least, most) = BLOCK;
    let width = (vertices / rayon::current_num_threads() / 4).clamp(least, most);
    let mut blocks: Vec<Vec<&mut [i32]>> = Vec::new();
    blocks.resize_with(vertices.div_ceil(width), || Vec::with_capacity(vertices));
    let pitch = found.pitch();
    for row in found.cells_mut().chunks_mut(pitch).take(vertices) {
        blocks.iter_mut().zip(row[..vertices].chunks_mut(width)).for_each(|(block, part)| block.push(part));
    }
    let graph = Input { weights, distances };
    blocks.into_par_iter().enumerate().try_for_each(|(number, mut rows)| {
        if observer.cancelled() {
            return Err(Cancelled);
        }
        graph.find_last_edges(number * width, &mut rows);
        observer.advance(rows[0].len() as u64);
        Ok(())
    })?;
    let pending: Vec<bool> = found.par_rows().map(|row| row.contains(&PENDING)).collect();
    if pending.contains(&true) {
        let zero_edges = graph.zero_edges();
        found.par_rows_mut().zip(pending).enumerate().try_for_each(|(i, (row, pending))| {
            if observer.cancelled() {
                return Err(Cancelled);
            }
            if pending {
                graph.search_zero_edges(i, row, &zero_edges);
            }
            Ok(())
        })?;
    }
    Ok(found)
}

/// The input.
#[derive(Clone, Copy)]
struct Input<'a, T> {
    weights: &'a Matrix<T>,
    distances: &'a Matrix<T>,
}

/// Edges of weight 0: from which vertex, to which.
type ZeroEdges = Vec<(u32, Vec<u32>)>;

impl<T: Distance + Ord> Input<'_, T> {
    /// The first rule, for the columns from `first` on: `rows` has a part of every row.
    fn find_last_edges(self, first: usize, rows: &mut [&mut [i32]]) {
        let vertices = self.weights.vertices();
        let width = rows[0].len();
        let mut incoming: Vec<Vec<(u32, T)>> = vec![Vec::new(); width];
        for u in 0..vertices {
            let (edges, lengths) = (&self.weights.row(u)[first..][..width], &self.distances.row(u)[first..][..width]);
            for ((edge, length), incoming) in edges.iter().zip(lengths).zip(&mut incoming) {
                if edge == length && *edge > T::ZERO && *edge < T::UNREACHABLE {
                    incoming.push((u as u32, *edge));
                }
            }
        }
        for (i, row) in rows.iter_mut().enumerate() {
            let lengths = self.distances.row(i);
            let edges = &self.weights.row(i)[first..][..width];
            for (at, before) in row.iter_mut().enumerate() {
                let length = lengths[first + at];
                *before = if first + at == i || length == T::UNREACHABLE {
                    NONE
                } else if edges[at] == length {
                    i as i32
                } else {
                    tight_edge(lengths, &incoming[at], length).map_or(PENDING, |u| u as i32)
                };
            }
        }
    }

    /// The edges of weight 0.
    fn zero_edges(self) -> ZeroEdges {
        let of_row = |(u, row): (usize, &[T])| {
            let to = row.iter().enumerate().filter(|&(j, &w)| w == T::ZERO && j != u).map(|(j, _)| j as u32).collect();
            (u as u32, to)
        };
        self.weights.par_rows().enumerate().map(of_row).filter(|(_, to): &(u32, Vec<u32>)| !to.is_empty()).collect()
    }

    /// The second rule, for row `i`.
    fn search_zero_edges(self, i: usize, row: &mut [i32], zero_edges: &ZeroEdges) {
        let lengths = self.distances.row(i);
        let mut left = row.iter().filter(|&&before| before == PENDING).count();
        let has_its_own = |&at: &usize| {
            let u = zero_edges[at].0 as usize;
            u == i || row[u] >= 0
        };
        let mut queue: Vec<usize> = (0..zero_edges.len()).filter(has_its_own).collect();
        let mut next = 0;
        while left > 0 && next < queue.len() {
            let (u, to) = &zero_edges[queue[next]];
            next += 1;
            for &j in to {
                let j = j as usize;
                if row[j] == PENDING && lengths[*u as usize] == lengths[j] {
                    row[j] = *u as i32;
                    left -= 1;
                    // Continues the search from there.
                    queue.extend(zero_edges.binary_search_by_key(&(j as u32), |&(u, _)| u));
                }
            }
        }
        debug_assert_eq!(left, 0, "a shortest path to each begins with a vertex that has its own");
    }
}

/// Of the edges that end at a vertex, the one that ends a path of `length`. `lengths` are the distances from the vertex where it begins.
#[inline]
fn tight_edge<T: Distance + Ord>(lengths: &[T], incoming: &[(u32, T)], length: T) -> Option<u32> {
    let tight = |&&(u, edge): &&(u32, T)| lengths[u as usize].plus(edge) == length;
    incoming.iter().find(tight).map(|&(u, _)| u)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apsp::cpu;

    fn found<T: Distance + Ord>(weights: &Matrix<T>) -> (Matrix<T>, Matrix<i32>) {
        let mut distances = weights.clone();
        cpu::solve(&mut distances, &()).unwrap();
        let before = find(weights, &distances, &()).unwrap();
        (distances, before)
    }

    /// The length of every walk beside the distance.
    fn lengths<T: Distance + Ord>(weights: &Matrix<T>) -> Vec<(f64, f64)> {
        let (distances, before) = found(weights);
        let n = weights.vertices();
        let pair = |(i, j): (usize, usize)| {
            let distance = distances.get(i, j).to_f64();
            assert_eq!(before.get(i, j) == NONE, i == j || distance.is_infinite(), "{i} {j}");
            let path = reconstruct_path(before.row(i), i, j).unwrap();
            let edges = |path: Vec<usize>| path.windows(2).map(|edge| weights.get(edge[0], edge[1]).to_f64()).sum();
            (path.map_or(f64::INFINITY, edges), distance)
        };
        (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(pair).collect()
    }

    #[test]
    fn zeros_that_go_in_circles() {
        let none = i32::UNREACHABLE;
        // Two circles of zeros, an edge to the first, one between them, a tail that comes back.
        let edges = [
            (0, 1, 4),
            (1, 2, 0),
            (2, 3, 0),
            (3, 1, 0),
            (2, 5, 6),
            (5, 4, 0),
            (4, 6, 0),
            (6, 5, 0),
            (6, 0, 1),
            (3, 1, 0),
        ];
        let weights = Matrix::from_fn(8, |i, j| {
            let edge = edges.iter().find(|edge| (edge.0, edge.1) == (i, j));
            edge.map_or(if i == j { 0 } else { none }, |edge| edge.2)
        })
        .unwrap();
        assert!(lengths(&weights).into_iter().all(|(walked, distance)| walked == distance));
        let (_, before) = found(&weights);
        assert_eq!(before.row(0), [NONE, 0, 1, 2, 5, 2, 4, NONE]);
        // A complete graph of nothing but zeros: every edge is direct. A chain of zeros against the order of numbers: found step by step.
        let (_, before) = found(&Matrix::from_fn(70, |_, _| 0u16).unwrap());
        assert!((0..70).all(|i| (0..70).all(|j| before.get(i, j) == if i == j { NONE } else { i as i32 })));
        let chain = Matrix::from_fn(70, |i, j| if i == j || i == j + 1 { 0 } else { none }).unwrap();
        let (_, before) = found(&chain);
        assert!((0..70).all(|i| (0..70).all(|j| before.get(i, j) == if j < i { j as i32 + 1 } else { NONE })));
    }

    #[test]
    fn the_first_of_several_is_taken() {
        let none = i32::UNREACHABLE;
        let rows = [[0, 1, 1, none], [none, 0, none, 1], [none, none, 0, 1], [none, none, none, 0]];
        assert_eq!(found(&Matrix::from_fn(4, |i, j| rows[i][j]).unwrap()).1.row(0), [NONE, 0, 0, 1]);
    }

    #[test]
    fn what_no_engine_makes_is_told() {
        assert_eq!(reconstruct_path(&[NONE, 2, 1], 0, 1).unwrap_err().before, None);
        assert_eq!(reconstruct_path(&[NONE, 2, NONE], 0, 1).unwrap_err().before, Some(NONE));
        let error = reconstruct_path(&[NONE, 7], 0, 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the predecessors from vertex 0 do not lead from 1 back to it: they have 7 before 1"
        );
    }
}
