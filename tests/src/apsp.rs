//! The table of graphs, and the runner that every engine for shortest paths goes through.
//!
//! Small graphs are compared with the definition (`halotile::apsp::reference`), graphs of a shape with what mathematics says: there the
//! distance is a formula of the two vertices, and the graphs can be as large as one likes.

use halotile::apsp::predecessors::{NONE, reconstruct_path};
use std::sync::Arc;

use halotile::apsp::device::{self, SolveError};
use halotile::apsp::{Distance, Matrix, reference};
use halotile::exec::Device;
pub use halotile_lab::apsp::Kernel;

/// A graph: the weight of the edge from i to j, where there is one.
pub struct Case {
    /// What to call it in messages.
    pub name: String,
    /// How many vertices.
    pub vertices: usize,
    weight: Box<dyn Fn(usize, usize) -> Option<i32> + Sync>,
    /// The distance where there is a formula.
    distance: Option<Formula>,
}

type Formula = Box<dyn Fn(usize, usize) -> Option<i32> + Sync>;

/// Sizes around the tiles of all engines.
pub const SIZES: [usize; 17] = [1, 2, 3, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 192, 255, 256, 257];

/// A matrix of one of the types.
pub enum AnyMatrix<'m> {
    /// 32-bit integers.
    I32(&'m mut Matrix<i32>),
    /// 16-bit integers.
    U16(&'m mut Matrix<u16>),
    /// Floating-point numbers.
    F32(&'m mut Matrix<f32>),
}

impl AnyMatrix<'_> {
    /// Distances by a kernel.
    pub fn solve(&mut self, kernel: Kernel, devices: &[Arc<dyn Device>]) -> Result<(), SolveError> {
        match self {
            Self::I32(matrix) => halotile_lab::apsp::solve(matrix, kernel, devices, &()),
            Self::U16(matrix) => halotile_lab::apsp::solve(matrix, kernel, devices, &()),
            Self::F32(matrix) => halotile_lab::apsp::solve(matrix, kernel, devices, &()),
        }
        .map(drop)
    }

    /// Distances in blocks.
    pub fn solve_in_blocks(&mut self, side: usize, devices: &[Arc<dyn Device>]) -> Result<(), SolveError> {
        match self {
            Self::I32(matrix) => device::solve_in_blocks(matrix, devices, side, &()),
            Self::U16(matrix) => device::solve_in_blocks(matrix, devices, side, &()),
            Self::F32(matrix) => device::solve_in_blocks(matrix, devices, side, &()),
        }
        .map(drop)
    }
}

/// A hash of a pair: random numbers that need no state.
fn mix(i: usize, j: usize, seed: u64) -> u64 {
    let mut x = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (j as u64).wrapping_mul(0xd134_2543_de82_ef95) ^ seed;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Random graphs of so many vertices: sparse, dense, complete, in parts that no edge joins, of small weights with many zeros, and without
/// any edge. They have no negative weight.
pub fn random(vertices: usize) -> Vec<Case> {
    let n = vertices;
    type Weight = Box<dyn Fn(usize, usize) -> Option<i32> + Sync>;
    let case = |name: &str, weight: Weight| Case {
        name: format!("{name}, {n} vertices"),
        vertices: n,
        weight,
        distance: None,
    };
    let below = move |i, j, seed, most: u64| (mix(i, j, seed) >> 33) % most;
    vec![
        case("sparse", Box::new(move |i, j| (below(i, j, 1, n as u64) < 3).then(|| below(i, j, 2, 100) as i32 + 1))),
        case("dense", Box::new(move |i, j| (below(i, j, 3, 10) < 7).then(|| below(i, j, 4, 1000) as i32 + 1))),
        case("complete, heavy", Box::new(move |i, j| Some(below(i, j, 5, 1_000_000) as i32 + 1))),
        case(
            "disconnected",
            Box::new(move |i, j| (i % 3 == j % 3 && below(i, j, 6, 10) < 3).then(|| below(i, j, 7, 50) as i32 + 1)),
        ),
        case("zeros", Box::new(move |i, j| (below(i, j, 8, n as u64) < 5).then(|| below(i, j, 9, 3) as i32))),
        case("no edges", Box::new(|_, _| None)),
    ]
}

/// Graphs whose distances are known: chain, ring, grid, hypercube, star, complete. All edges weigh 3.
pub fn shapes(vertices: usize) -> Vec<Case> {
    const W: i32 = 3;
    let n = vertices;
    let case = |name: &str, joined: Box<dyn Fn(usize, usize) -> bool + Sync>, distance: Formula| Case {
        name: format!("{name}, {n} vertices"),
        vertices: n,
        weight: Box::new(move |i, j| (i != j && joined(i, j)).then_some(W)),
        distance: Some(distance),
    };
    let cols = (1..).find(|side| side * side >= n).unwrap_or(1);
    vec![
        case("chain", Box::new(|i, j| j == i + 1), Box::new(|i, j| (j >= i).then(|| (j - i) as i32 * W))),
        case("ring", Box::new(move |i, j| j == (i + 1) % n), Box::new(move |i, j| Some(((j + n - i) % n) as i32 * W))),
        case(
            "grid",
            Box::new(move |i, j| (i / cols).abs_diff(j / cols) + (i % cols).abs_diff(j % cols) == 1),
            Box::new(move |i, j| Some(((i / cols).abs_diff(j / cols) + (i % cols).abs_diff(j % cols)) as i32 * W)),
        ),
        case(
            "hypercube",
            Box::new(|i, j| (i ^ j).count_ones() == 1),
            // Clearing bits first leads over smaller numbers, so that it does not matter where the vertices end.
            Box::new(|i, j| Some((i ^ j).count_ones() as i32 * W)),
        ),
        case(
            "star",
            Box::new(|i, j| i == 0 || j == 0),
            Box::new(|i, j| {
                Some(if i == j {
                    0
                } else if i == 0 || j == 0 {
                    W
                } else {
                    2 * W
                })
            }),
        ),
        case("complete", Box::new(|_, _| true), Box::new(|i, j| Some(if i == j { 0 } else { W }))),
    ]
}

impl Case {
    /// Its weights, as engines take them.
    pub fn weights<T: Distance>(&self, of: impl Fn(i32) -> T + Sync) -> Matrix<T> {
        use rayon::prelude::*;
        let mut matrix = Matrix::unreachable(self.vertices).expect("a case fits in memory");
        matrix.par_rows_mut().enumerate().for_each(|(i, row)| {
            for (j, cell) in row.iter_mut().enumerate().filter(|&(j, _)| j != i) {
                *cell = (self.weight)(i, j).map_or(T::UNREACHABLE, &of);
            }
        });
        matrix
    }

    /// Compares distances with what they should be; `relative` is the share of a distance that they may be off by.
    pub fn compare<T: Distance>(&self, got: &Matrix<T>, relative: f64) -> Result<(), String> {
        use rayon::prelude::*;
        let n = self.vertices;
        let difference = match &self.distance {
            Some(formula) => got.par_rows().enumerate().find_map_first(|(i, row)| {
                row.iter().enumerate().find_map(|(j, got)| {
                    let (got, wanted) = (got.to_f64(), formula(i, j).map_or(f64::INFINITY, f64::from));
                    let right = got == wanted || (got - wanted).abs() <= relative * wanted;
                    (!right).then_some((i, j, got, wanted))
                })
            }),
            None => {
                let weight = |i, j| (self.weight)(i, j).map_or(f64::INFINITY, f64::from);
                reference::first_difference(got, &reference::distances(n, weight), relative)
            }
        };
        match difference {
            Some((i, j, got, wanted)) => Err(format!("{}: from {i} to {j} it is {wanted}, not {got}", self.name)),
            None => Ok(()),
        }
    }

    /// Runs kernels on the case: in 32-bit integers, and unless `only_i32` in floating-point numbers, and in 16 bits where distances fit. Returns how
    /// often.
    pub fn check_types<E: From<String>>(
        &self,
        only_i32: bool,
        mut solve: impl FnMut(&mut AnyMatrix<'_>) -> Result<(), E>,
    ) -> Result<usize, E> {
        let mut matrix = self.weights(|weight| weight);
        solve(&mut AnyMatrix::I32(&mut matrix))?;
        self.compare(&matrix, 0.0)?;
        if only_i32 {
            return Ok(1);
        }
        let mut matrix = self.weights(|weight| weight as f32);
        solve(&mut AnyMatrix::F32(&mut matrix))?;
        self.compare(&matrix, 1e-6).map_err(|wrong| format!("f32: {wrong}"))?;
        // A chain of 4097 vertices is not too long, and heavy edges are.
        if self.name.starts_with("complete, heavy") {
            return Ok(2);
        }
        let mut matrix = self.weights(|weight| weight as u16);
        solve(&mut AnyMatrix::U16(&mut matrix))?;
        self.compare(&matrix, 0.0).map_err(|wrong| format!("u16: {wrong}"))?;
        Ok(3)
    }

    /// Runs an engine on the case in 32-bit integers, and compares.
    pub fn check(&self, solve: impl FnOnce(&mut Matrix<i32>)) -> Result<(), String> {
        let mut matrix = self.weights(|weight| weight);
        solve(&mut matrix);
        self.compare(&matrix, 0.0)
    }
}

/// Follows every walk that predecessors make: it ends, its edges are there, and its length is the distance, up to `relative` of it. Where there is
/// no path there is no predecessor.
pub fn check_paths<T: Distance>(
    weights: &Matrix<T>,
    distances: &Matrix<T>,
    predecessors: &Matrix<i32>,
    relative: f64,
) -> Result<(), String> {
    use rayon::prelude::*;
    predecessors.par_rows().enumerate().try_for_each(|(from, before)| {
        for (to, &last) in before.iter().enumerate() {
            let distance = distances.get(from, to).to_f64();
            let nothing = from == to || distance.is_infinite();
            if (last == NONE) != nothing {
                return Err(format!("from {from} to {to} it is {distance}, and the predecessor {last}"));
            }
            let path = reconstruct_path(before, from, to).map_err(|broken| broken.to_string())?;
            let edge = |edge: &[usize]| weights.get(edge[0], edge[1]).to_f64();
            let length = path.map_or(f64::INFINITY, |path| path.windows(2).map(edge).sum());
            if length != distance && (length - distance).abs() > relative * distance.abs() {
                return Err(format!("the walk from {from} to {to} is {length} long, the distance {distance}"));
            }
        }
        Ok(())
    })
}

/// Distances from a vertex by the algorithm of Bellman and Ford, along edges (from, to, weight): a few lines that know negative weights and
/// share nothing with the library. None where there is a negative cycle that the vertex reaches.
pub fn bellman_ford(vertices: usize, edges: &[(usize, usize, i64)], from: usize) -> Option<Vec<Option<i64>>> {
    let mut distance = vec![None; vertices];
    distance[from] = Some(0);
    for _ in 0..=vertices {
        let mut changed = false;
        for &(from, to, weight) in edges {
            let Some(way) = distance[from].map(|d: i64| d + weight) else { continue };
            if distance[to].is_none_or(|d| way < d) {
                (distance[to], changed) = (Some(way), true);
            }
        }
        if !changed {
            return Some(distance);
        }
    }
    None
}

/// The length of a path by the lightest edges between its vertices; none where there is no edge.
pub fn length(path: &[usize], edges: &[(usize, usize, i64)]) -> Option<i64> {
    let lightest =
        |from: usize, to: usize| edges.iter().filter(|edge| (edge.0, edge.1) == (from, to)).map(|edge| edge.2).min();
    path.windows(2).map(|pair| lightest(pair[0], pair[1])).sum()
}
