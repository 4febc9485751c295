//! The second matrix: the vertex before the last on a shortest path.

use super::MatrixError;
use super::{Distance, Matrix};
use crate::observe::{Cancelled, Observer};

/// Where there is no predecessor: from a vertex to itself, and where there is no path. The number is scipy's.
pub const NONE: i32 = -9999;

/// Why there are none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// There is no memory for them.
    #[error(transparent)]
    Memory(#[from] MatrixError),
    /// The observer stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// For every row i and column j the vertex before j on a shortest path from i to j. Every walk ends.
/// `weights` are those that `distances` were made of: none is negative.
pub fn find<T: Distance>(
    weights: &Matrix<T>,
    distances: &Matrix<T>,
    observer: &dyn Observer,
) -> Result<Matrix<i32>, FindError> {
    let _ = (weights, distances, observer);
    unimplemented!("being built")
}
