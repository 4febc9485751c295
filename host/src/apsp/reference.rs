//! The definition, which everything is compared with: Floyd's three loops (Floyd 1962, Algorithm 97), in f64, not optimised.
//!
//! Sums of whole numbers below 2^53 are exact, so that integers are compared for equality.

use super::{Distance, Matrix};

/// The distance from every vertex to every other, row by row; infinite where there is no path. `weight(i, j)` is that of the edge
/// from i to j, infinite where there is none. There must be no negative cycle.
///
/// ```
/// let weights = [[0.0, 3.0, 9.0], [f64::INFINITY, 0.0, 4.0], [f64::INFINITY; 3]];
/// let distances = halotile::apsp::reference::distances(3, |i, j| weights[i][j]);
/// assert_eq!(distances, [0.0, 3.0, 7.0, f64::INFINITY, 0.0, 4.0, f64::INFINITY, f64::INFINITY, 0.0]);
/// ```
pub fn distances(vertices: usize, weight: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let n = vertices;
    let mut d: Vec<f64> = (0..n * n).map(|at| if at / n == at % n { 0.0 } else { weight(at / n, at % n) }).collect();
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                d[i * n + j] = d[i * n + j].min(d[i * n + k] + d[k * n + j]);
            }
        }
    }
    d
}

/// The first cell in which a matrix differs from the definition by more than `relative` of it: row, column, the cell, the definition's value.
pub fn first_difference<T: Distance>(
    matrix: &Matrix<T>,
    expected: &[f64],
    relative: f64,
) -> Option<(usize, usize, f64, f64)> {
    let n = matrix.vertices();
    (0..n * n).find_map(|at| {
        let (got, wanted) = (matrix.get(at / n, at % n).to_f64(), expected[at]);
        let right = got == wanted || (got - wanted).abs() <= relative * wanted.abs();
        (!right).then_some((at / n, at % n, got, wanted))
    })
}
