//! The graph of a benchmark: whether there is an edge, and its weight, are a hash of its two ends.

use rayon::prelude::*;

use super::Plan;
use crate::generate::at_lattice;
use halotile::apsp::{Distance, Matrix};

/// Edges from a vertex of a sparse graph, on average.
const DEGREE: u64 = 8;

/// Which edges there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphKind {
    /// All.
    Complete,
    /// 8 from each vertex, on average, to any other.
    Sparse,
}

impl GraphKind {
    /// All kinds, in the order in which messages list them.
    pub const ALL: [GraphKind; 2] = [Self::Complete, Self::Sparse];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Sparse => "sparse",
        }
    }
}

/// The edges of a graph of so many vertices.
#[derive(Clone, Copy)]
pub(super) struct Edges<T> {
    pub vertices: usize,
    graph: GraphKind,
    seed: u64,
    least: u32,
    span: u64,
    of: fn(u32) -> T,
}

impl<T: Distance> Edges<T> {
    /// Those of `plan`; `of` makes a weight from a number within the plan's limits.
    pub fn new(plan: &Plan, vertices: usize, of: fn(u32) -> T) -> Self {
        let (least, most) = plan.weights;
        Self { vertices, graph: plan.graph, seed: plan.seed, least, span: u64::from(most - least) + 1, of }
    }

    /// The weight of the edge from `i` to `j`.
    #[inline]
    pub fn weight(&self, i: usize, j: usize) -> Option<u32> {
        let hash = at_lattice(self.seed, i as i64, j as i64);
        // The lower half for whether, the upper half for how much: what is below n is hash * n / 2^32.
        let below = |half: u64, n: u64| (half * n) >> 32;
        let there = match self.graph {
            GraphKind::Complete => true,
            GraphKind::Sparse => below(hash & 0xFFFF_FFFF, self.vertices as u64) < DEGREE,
        };
        (there && i != j).then(|| self.least + below(hash >> 32, self.span) as u32)
    }

    /// What the matrix has there before any path is known.
    pub fn cell(&self, i: usize, j: usize) -> T {
        if i == j { T::ZERO } else { self.weight(i, j).map_or(T::UNREACHABLE, self.of) }
    }

    /// Makes `matrix` that of the weights.
    pub fn fill(&self, matrix: &mut Matrix<T>) {
        matrix.par_rows_mut().enumerate().for_each(|(i, row)| {
            row.iter_mut().enumerate().for_each(|(j, cell)| *cell = self.cell(i, j));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_have_as_many_edges_as_they_should_and_weights_within_their_limits() {
        let plan = |graph| Plan { graph, weights: (3, 7), ..Plan::default() };
        let weights = |graph| {
            let edges = Edges::new(&plan(graph), 500, |weight| weight as i32);
            (0..500 * 500).filter_map(|at| edges.weight(at / 500, at % 500)).collect::<Vec<_>>()
        };
        let complete = weights(GraphKind::Complete);
        assert_eq!(complete.len(), 500 * 499);
        for weight in 3..=7 {
            let count = complete.iter().filter(|&&w| w == weight).count();
            assert!((45_000..55_000).contains(&count), "{count} of {weight}");
        }
        assert_eq!((complete.iter().min(), complete.iter().max()), (Some(&3), Some(&7)));
        assert!((3_600..4_400).contains(&weights(GraphKind::Sparse).len()));
    }

    #[test]
    fn another_seed_is_another_graph() {
        let cells = |seed| {
            let edges = Edges::new(&Plan { seed, ..Plan::default() }, 40, |weight| weight as u16);
            let mut matrix = Matrix::unreachable(40).unwrap();
            edges.fill(&mut matrix);
            matrix
        };
        assert!(cells(1) == cells(1) && cells(1) != cells(2));
    }
}
