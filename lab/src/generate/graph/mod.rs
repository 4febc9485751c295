//! Synthetic graphs: the same for a seed on every platform, whatever the number of threads and whichever part is asked for.
//!
//! Whether there is an edge from i to j, and its weight, is a function of (seed, i, j) and the shape, so that parts and rows of a graph come out without
//! the rest of it. All randomness is that of the grids: SplitMix64's mixing function on coordinates.
//!
//! A number of random edges is the hard one: exactly E of the V(V - 1) ordered pairs, all sets of E as likely, and no table of pairs. Let a
//! secret permutation number the pairs, and take the first E. The permutation is a Feistel network whose halves are the two numbers that
//! a pair is, each taken modulo what it is below (Black and Rogaway, 2002, "Ciphers with Arbitrary Finite Domains", the generalised
//! network): it maps pairs to pairs, and runs backwards as well. So there are two ways to the same edges: number after number to its
//! pair, in no order, where edges are few; and pair after pair, asked for its number, where they are many, or where a row is wanted.

use std::ops::{Range, RangeInclusive};

use rayon::prelude::*;

use super::{GOLDEN, mix};
use halotile::apsp::files::graph::EdgeSource;
use halotile::apsp::{Graph, MatrixError};
use halotile::observe::{Cancelled, Observer};

/// Which vertices are joined. There are no loops and no parallel edges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GraphShape {
    /// So many of the ordered pairs of vertices, any as likely as any other.
    Edges(u64),
    /// Each ordered pair of vertices with this probability, 0 to 1.
    Density(f64),
    /// From each vertex to the next.
    Chain,
    /// The same, and from the last to the first.
    Ring,
    /// Rows of a square, the last perhaps not full; from each vertex to those beside, above and below.
    Grid,
    /// Between vertices whose numbers differ in one bit.
    Hypercube,
    /// From vertex 0 to all others, and back.
    Star,
    /// From each vertex to all others.
    Complete,
}

impl GraphShape {
    /// The shapes that need no number, in the order messages list them.
    pub const NAMED: [(&'static str, GraphShape); 6] = [
        ("chain", Self::Chain),
        ("ring", Self::Ring),
        ("grid", Self::Grid),
        ("hypercube", Self::Hypercube),
        ("star", Self::Star),
        ("complete", Self::Complete),
    ];
}

/// What graph cannot be generated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GraphShapeError {
    /// Not a number of vertices.
    #[error("a graph has 1 to 2147483647 vertices, not {0}")]
    Vertices(usize),
    /// More edges than pairs.
    #[error("between {vertices} vertices there are at most {most} edges, not {edges}")]
    Edges {
        /// Vertices.
        vertices: usize,
        /// Ordered pairs of them.
        most: u64,
        /// Edges that were asked for.
        edges: u64,
    },
    /// Not a probability.
    #[error("a density is from 0 to 1, not {0}")]
    Density(f64),
    /// No range of weights.
    #[error("weights are a range within -1073741822..1073741822, not {low}..{high}")]
    Weights {
        /// The lowest weight asked for.
        low: i32,
        /// The highest.
        high: i32,
    },
}

/// The largest weight.
const MOST: i32 = (1 << 30) - 2;
/// Edges, or pairs that are looked at, of a part.
const PART: u64 = 1 << 16;
/// Rounds of the network.
const ROUNDS: usize = 6;
/// Where there are so many pairs to an edge or fewer, it is quicker to look at all pairs: their edges are then in order, and readers like that.
const FEW: u64 = 8;

/// Makes the edges of a synthetic graph.
///
/// ```
/// use halotile_lab::generate::graph::{GraphGenerator, GraphShape};
/// let ring = GraphGenerator::new(GraphShape::Ring, 4, 3..=3, 0)?;
/// let mut edges = Vec::new();
/// (0..ring.parts()).for_each(|part| ring.part(part, |from, to, weight| edges.push((from, to, weight))));
/// assert_eq!(edges, [(0, 1, 3), (1, 2, 3), (2, 3, 3), (3, 0, 3)]);
/// # Ok::<(), halotile_lab::generate::graph::GraphShapeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct GraphGenerator {
    shape: GraphShape,
    vertices: u64,
    low: i32,
    /// Weights that there are.
    weights: u64,
    /// Columns of the grid.
    cols: u64,
    /// One seed a use.
    weight_key: u64,
    density_key: u64,
    round_keys: [u64; ROUNDS],
}

/// Bits to 0..below, evenly to one part in 2^32: numbers of vertices are below 2^31.
#[inline(always)]
fn scaled(bits: u64, below: u64) -> u64 {
    ((u128::from(bits) * u128::from(below)) >> 64) as u64
}

impl GraphGenerator {
    /// A graph of `vertices` (1 to 2^31 - 1) vertices with edges that weigh `weights`, which may be negative; within ±(2^30 - 2).
    pub fn new(
        shape: GraphShape,
        vertices: usize,
        weights: RangeInclusive<i32>,
        seed: u64,
    ) -> Result<Self, GraphShapeError> {
        if !(1..=i32::MAX as usize).contains(&vertices) {
            return Err(GraphShapeError::Vertices(vertices));
        }
        let (low, high) = weights.into_inner();
        if low > high || low < -MOST || high > MOST {
            return Err(GraphShapeError::Weights { low, high });
        }
        let most = vertices as u64 * (vertices as u64 - 1);
        match shape {
            GraphShape::Edges(edges) if edges > most => {
                return Err(GraphShapeError::Edges { vertices, most, edges });
            }
            GraphShape::Density(density) if !(0.0..=1.0).contains(&density) => {
                return Err(GraphShapeError::Density(density));
            }
            _ => {}
        }
        let base = mix(seed.wrapping_add(GOLDEN));
        let key = |i: u64| mix(base.wrapping_add((i + 1).wrapping_mul(GOLDEN)));
        let vertices = vertices as u64;
        let root = vertices.isqrt();
        Ok(Self {
            shape,
            vertices,
            low,
            weights: u64::from(high.abs_diff(low)) + 1,
            cols: if root * root < vertices { root + 1 } else { root },
            weight_key: key(0),
            density_key: key(1),
            round_keys: std::array::from_fn(|i| key(2 + i as u64)),
        })
    }

    /// How many vertices there are.
    pub fn vertices(&self) -> usize {
        self.vertices as usize
    }

    /// How many edges there are. Those of a density are counted, which takes as long as making them.
    pub fn edges(&self, observer: &dyn Observer) -> Result<u64, Cancelled> {
        match self.shape {
            GraphShape::Edges(edges) => Ok(edges),
            GraphShape::Complete => Ok(self.vertices * (self.vertices - 1)),
            _ => (0..self.parts())
                .into_par_iter()
                .try_fold(
                    || 0,
                    |mut count, part| {
                        if observer.cancelled() {
                            return Err(Cancelled);
                        }
                        self.part(part, |_, _, _| count += 1);
                        Ok(count)
                    },
                )
                .try_reduce(|| 0, |a, b| Ok(a + b)),
        }
    }

    /// The number of edges where they are made number by number.
    fn few(&self) -> Option<u64> {
        match self.shape {
            GraphShape::Edges(edges) if edges < self.vertices * (self.vertices - 1) / FEW => Some(edges),
            _ => None,
        }
    }

    /// Vertices whose edges are one part.
    fn rows(&self) -> u64 {
        let work = match self.shape {
            GraphShape::Edges(_) | GraphShape::Density(_) | GraphShape::Complete => self.vertices,
            GraphShape::Hypercube => u64::from(u64::BITS - self.vertices.leading_zeros()),
            GraphShape::Chain | GraphShape::Ring | GraphShape::Grid | GraphShape::Star => 4,
        };
        (PART / work.max(1)).max(1)
    }

    /// Parts that the edges are made in.
    pub fn parts(&self) -> usize {
        match self.few() {
            Some(edges) => edges.div_ceil(PART) as usize,
            None => self.vertices.div_ceil(self.rows()) as usize,
        }
    }

    /// Hands over the edges of one part: from, to and weight. Where they are not [few random ones](GraphShape::Edges), they come sorted.
    pub fn part(&self, part: usize, mut take: impl FnMut(u32, u32, i32)) {
        let range =
            |length: u64, end: u64| -> Range<u64> { part as u64 * length..((part as u64 + 1) * length).min(end) };
        match self.few() {
            Some(edges) => {
                for number in range(PART, edges) {
                    let (from, other) = self.pair(number);
                    // Vertices are below 2^31.
                    take(from as u32, after(from, other) as u32, self.weight(from, other));
                }
            }
            None => range(self.rows(), self.vertices)
                .for_each(|from| self.of_row(from, |to, weight| take(from as u32, to, weight))),
        }
    }

    /// Hands over the edges from one vertex: to, in ascending order, and weight.
    ///
    /// # Panics
    /// If `from` is no vertex.
    pub fn row(&self, from: usize, take: impl FnMut(u32, i32)) {
        assert!((from as u64) < self.vertices, "vertex {from} of {}", self.vertices);
        self.of_row(from as u64, take);
    }

    fn of_row(&self, from: u64, mut take: impl FnMut(u32, i32)) {
        let n = self.vertices;
        let mut join = |to: u64| {
            if to < n && to != from {
                take(to as u32, self.weight(from, before(from, to)));
            }
        };
        match self.shape {
            GraphShape::Edges(edges) => {
                (0..n - 1).filter(|&other| self.number(from, other) < edges).for_each(|other| join(after(from, other)));
            }
            GraphShape::Density(density) => {
                // Exact: a power of two changes no digit.
                let threshold = (density * 2f64.powi(64)) as u128;
                let key = self.density_key;
                let chosen = |other: &u64| {
                    u128::from(mix(key.wrapping_add(self.index(from, *other).wrapping_mul(GOLDEN)))) < threshold
                };
                (0..n - 1).filter(chosen).for_each(|other| join(after(from, other)));
            }
            GraphShape::Chain => join(from + 1),
            GraphShape::Ring => join((from + 1) % n),
            GraphShape::Grid => {
                let (col, last) = (from % self.cols, self.cols - 1);
                from.checked_sub(self.cols).into_iter().for_each(&mut join);
                (col > 0).then(|| from - 1).into_iter().for_each(&mut join);
                (col < last).then_some(from + 1).into_iter().for_each(&mut join);
                join(from + self.cols);
            }
            GraphShape::Hypercube => {
                let bits = || 0..u64::BITS - (n - 1).leading_zeros();
                bits().rev().filter(|bit| from >> bit & 1 == 1).for_each(|bit| join(from ^ 1 << bit));
                bits().filter(|bit| from >> bit & 1 == 0).for_each(|bit| join(from ^ 1 << bit));
            }
            GraphShape::Star if from > 0 => join(0),
            GraphShape::Star | GraphShape::Complete => (0..n).for_each(join),
        }
    }

    /// All edges as a graph.
    pub fn graph(&self) -> Result<Graph<i32>, MatrixError> {
        Graph::build(self.vertices(), |sink| {
            (0..self.parts()).into_par_iter().for_each_init(Vec::new, |edges, part| {
                edges.clear();
                self.part(part, |from, to, weight| edges.push((u64::from(from), u64::from(to), weight)));
                let added = sink.add_all(edges.iter().copied());
                debug_assert_eq!(added, Ok(()), "vertices and weights are within their bounds");
            });
            Ok(())
        })
    }

    /// Where a pair is when pairs lie row by row; `other` leaves out `from` itself.
    fn index(&self, from: u64, other: u64) -> u64 {
        from * (self.vertices - 1) + other
    }

    fn weight(&self, from: u64, other: u64) -> i32 {
        let bits = mix(self.weight_key.wrapping_add(self.index(from, other).wrapping_mul(GOLDEN)));
        // Below 2^31, so that the sum is within the range of weights.
        (i64::from(self.low) + scaled(bits, self.weights) as i64) as i32
    }

    /// What a round adds to one half, from the other.
    #[inline(always)]
    fn round(&self, round: usize, half: u64, below: u64) -> u64 {
        scaled(mix(self.round_keys[round].wrapping_add(half.wrapping_mul(GOLDEN))), below)
    }

    /// The pair that has a number.
    fn pair(&self, number: u64) -> (u64, u64) {
        let (a, b) = (self.vertices, self.vertices - 1);
        let (mut from, mut other) = (number / b, number % b);
        for round in (0..ROUNDS).step_by(2) {
            from += self.round(round, other, a);
            from -= if from >= a { a } else { 0 };
            other += self.round(round + 1, from, b);
            other -= if other >= b { b } else { 0 };
        }
        (from, other)
    }

    /// The number that a pair has.
    #[inline(always)]
    fn number(&self, mut from: u64, mut other: u64) -> u64 {
        let (a, b) = (self.vertices, self.vertices - 1);
        for round in (0..ROUNDS).step_by(2).rev() {
            let less = self.round(round + 1, from, b);
            other = if other < less { other + b - less } else { other - less };
            let less = self.round(round, other, a);
            from = if from < less { from + a - less } else { from - less };
        }
        self.index(from, other)
    }
}

/// The vertex that comes `other`th when `from` is left out; and back.
fn after(from: u64, other: u64) -> u64 {
    other + u64::from(other >= from)
}

fn before(from: u64, to: u64) -> u64 {
    to - u64::from(to > from)
}

impl EdgeSource for GraphGenerator {
    fn vertices(&self) -> usize {
        self.vertices()
    }

    fn edges(&self, observer: &dyn Observer) -> Result<u64, Cancelled> {
        self.edges(observer)
    }

    fn parts(&self) -> usize {
        self.parts()
    }

    fn part(&self, part: usize, take: impl FnMut(u32, u32, i32)) {
        self.part(part, take);
    }

    fn row(&self, from: usize, take: impl FnMut(u32, i32)) {
        self.row(from, take);
    }
}

#[cfg(test)]
mod tests;
