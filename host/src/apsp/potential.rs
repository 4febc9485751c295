//! Negative weights: whether there is a negative cycle, and potentials that make every weight at least 0.

use super::Matrix;

/// A vertex on a negative cycle, which makes shortest paths meaningless.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("vertex {vertex} is on a cycle of negative length: there is no shortest path through it")]
pub struct NegativeCycle {
    /// The vertex.
    pub vertex: usize,
}

/// For each vertex a number h with w(i, j) + h(i) - h(j) >= 0 for every edge.
pub fn potentials(weights: &Matrix<i32>) -> Result<Vec<i64>, NegativeCycle> {
    let _ = weights;
    unimplemented!("being built")
}
