//! Are distances right? Compared with Dijkstra's (1959), which shares nothing with the engines: from every vertex of a small graph, and
//! from vertices all over a large one, where it takes V² steps for each.
//!
//! Of a large graph every other cell is at most the weight of its edge and the way over any of the first of these vertices: what an
//! engine has left undone mostly is more.

use rayon::prelude::*;

use super::edges::Edges;
use halotile::apsp::{Distance, Matrix};

/// Graphs up to this size are compared from every vertex.
const SMALL: usize = 512;
/// Vertices that distances from are compared, at most, in larger ones.
const MOST_SOURCES: usize = 64;
/// Steps that they may take together, unless it is [`LEAST_SOURCES`] that do.
const MOST_STEPS: usize = 1 << 33;
const LEAST_SOURCES: usize = 8;
/// Vertices that the ways over are looked at.
const WAYS: usize = 4;

/// What is right.
pub(super) struct Oracle {
    /// Vertices, and the distances from each.
    rows: Vec<(usize, Vec<f64>)>,
    vertices: usize,
}

impl Oracle {
    pub fn new<T: Distance>(edges: &Edges<T>) -> Self {
        let vertices = edges.vertices;
        let sources = if vertices <= SMALL {
            vertices
        } else {
            (MOST_STEPS / vertices.pow(2)).clamp(LEAST_SOURCES, MOST_SOURCES)
        };
        // Neither all at the same place of a tile nor none in the last.
        let source = |number: usize| (number + 1) * vertices / sources - 1;
        let rows = (0..sources).into_par_iter().map(|number| (source(number), dijkstra(edges, source(number))));
        Self { rows: rows.collect(), vertices }
    }

    /// What is compared: "every cell", or rows.
    pub fn covers(&self) -> String {
        match self.rows.len() {
            all if all == self.vertices => "every cell".to_owned(),
            some => {
                format!("the distances from {some} vertices; no cell above its edge or the way over {WAYS} vertices")
            }
        }
    }

    /// The longest distance that it knows.
    pub fn longest(&self) -> f64 {
        self.rows.iter().flat_map(|(_, row)| row).copied().filter(|d| d.is_finite()).fold(0.0, f64::max)
    }

    /// Says what is wrong with `got`, if anything is. Distances may be off by the share `relative`.
    pub fn check<T: Distance>(&self, edges: &Edges<T>, got: &Matrix<T>, relative: f64) -> Result<(), String> {
        for (i, expected) in &self.rows {
            for (j, (got, &expected)) in got.row(*i).iter().zip(expected).enumerate() {
                let got = got.to_f64();
                let right = got == expected || (got - expected).abs() <= relative * expected;
                if !right {
                    return Err(format!("from {i} to {j}: {got}, and {expected} was expected"));
                }
            }
        }
        if self.rows.len() < self.vertices {
            self.check_bounds(edges, got, relative)?;
        }
        Ok(())
    }

    fn check_bounds<T: Distance>(&self, edges: &Edges<T>, got: &Matrix<T>, relative: f64) -> Result<(), String> {
        let ways = &self.rows[..WAYS];
        let wrong = got.par_rows().enumerate().find_map_first(|(i, row)| {
            row.iter().enumerate().find_map(|(j, cell)| {
                let over = ways.iter().map(|(over, on)| row[*over].to_f64() + on[j]);
                let bound = over.fold(edges.cell(i, j).to_f64(), f64::min);
                let cell = cell.to_f64();
                // NaN is below nothing.
                let right = (0.0..=bound * (1.0 + relative)).contains(&cell);
                (!right).then(|| format!("from {i} to {j}: {cell}, and at most {bound} was expected"))
            })
        });
        wrong.map_or(Ok(()), Err)
    }
}

/// Distances from `source`: the nearest vertex that is left is final, and its edges are looked at. Without a queue: there are about
/// as many edges as steps to find the nearest.
fn dijkstra<T: Distance>(edges: &Edges<T>, source: usize) -> Vec<f64> {
    let vertices = edges.vertices;
    let mut distances = vec![f64::INFINITY; vertices];
    distances[source] = 0.0;
    let mut left: Vec<usize> = (0..vertices).collect();
    loop {
        let near = |a: &usize, b: &usize| distances[left[*a]].total_cmp(&distances[left[*b]]);
        let Some(at) = (0..left.len()).min_by(near) else { return distances };
        let nearest = left.swap_remove(at);
        let so_far = distances[nearest];
        if so_far.is_infinite() {
            return distances;
        }
        for &vertex in &left {
            if let Some(weight) = edges.weight(nearest, vertex) {
                distances[vertex] = distances[vertex].min(so_far + f64::from(weight));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GraphKind, Plan};
    use super::*;
    use halotile::apsp::{cpu, reference};

    fn edges(graph: GraphKind, vertices: usize) -> Edges<i32> {
        Edges::new(&Plan { graph, ..Plan::default() }, vertices, |weight| weight as i32)
    }

    #[test]
    fn dijkstra_and_floyd_agree() {
        for graph in GraphKind::ALL {
            let edges = edges(graph, 150);
            let floyd = reference::distances(150, |i, j| edges.cell(i, j).to_f64());
            let oracle = Oracle::new(&edges);
            assert_eq!(oracle.covers(), "every cell");
            for (i, row) in &oracle.rows {
                assert_eq!(row[..], floyd[i * 150..][..150], "{graph:?}, from {i}");
            }
        }
    }

    #[test]
    fn wrong_cells_are_found_in_small_graphs_and_in_large_ones() {
        for (vertices, covers) in [(100, "every cell"), (600, "the distances from 64 vertices; ")] {
            let edges = edges(GraphKind::Sparse, vertices);
            let oracle = Oracle::new(&edges);
            assert!(oracle.covers().starts_with(covers), "{}", oracle.covers());
            let mut right = Matrix::unreachable(vertices).unwrap();
            edges.fill(&mut right);
            assert!(oracle.check(&edges, &right, 0.0).is_err());
            cpu::solve(&mut right, &()).unwrap();
            assert_eq!(oracle.check(&edges, &right, 0.0), Ok(()));
            // The last vertex is looked at in every graph; the first in small ones only, and then what is too large.
            let (last, first) = (vertices - 1, 0);
            for (i, wrong) in [(last, -1), (last, 1), (first, i32::UNREACHABLE / 2)] {
                let mut matrix = right.clone();
                matrix.row_mut(i)[vertices / 2] += wrong;
                let found = oracle.check(&edges, &matrix, 0.0).unwrap_err();
                assert!(found.starts_with(&format!("from {i} to {}: ", vertices / 2)), "{found}");
            }
        }
    }
}
