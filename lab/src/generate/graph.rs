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
mod tests {
    use std::collections::BTreeSet;

    use halotile::apsp::files::graph::{AnyGraph, GraphFormat, GraphOptions, GraphWriter, read_graph_from};

    use super::*;

    fn make(shape: GraphShape, vertices: usize) -> GraphGenerator {
        GraphGenerator::new(shape, vertices, 1..=100, 7).unwrap()
    }

    fn edges(generator: &GraphGenerator) -> Vec<(u32, u32, i32)> {
        let mut edges = Vec::new();
        (0..generator.parts()).for_each(|part| generator.part(part, |from, to, weight| edges.push((from, to, weight))));
        edges
    }

    /// By rows, as they have to be: ascending, and each with the weight that the parts say.
    fn by_rows(generator: &GraphGenerator) -> Vec<(u32, u32, i32)> {
        let mut edges = Vec::new();
        (0..generator.vertices())
            .for_each(|from| generator.row(from, |to, weight| edges.push((from as u32, to, weight))));
        assert!(edges.is_sorted());
        edges
    }

    fn pairs(shape: GraphShape, vertices: usize) -> Vec<(u32, u32)> {
        edges(&make(shape, vertices)).into_iter().map(|(from, to, _)| (from, to)).collect()
    }

    #[test]
    fn shapes_are_what_they_are_called() {
        assert_eq!(pairs(GraphShape::Chain, 4), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(pairs(GraphShape::Ring, 3), [(0, 1), (1, 2), (2, 0)]);
        assert_eq!(pairs(GraphShape::Star, 3), [(0, 1), (0, 2), (1, 0), (2, 0)]);
        assert_eq!(pairs(GraphShape::Complete, 3), [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]);
        // 0 1 2
        // 3 4
        assert_eq!(
            pairs(GraphShape::Grid, 5),
            [(0, 1), (0, 3), (1, 0), (1, 2), (1, 4), (2, 1), (3, 0), (3, 4), (4, 1), (4, 3)]
        );
        assert_eq!(
            pairs(GraphShape::Hypercube, 6),
            [
                (0, 1),
                (0, 2),
                (0, 4),
                (1, 0),
                (1, 3),
                (1, 5),
                (2, 0),
                (2, 3),
                (3, 1),
                (3, 2),
                (4, 0),
                (4, 5),
                (5, 1),
                (5, 4)
            ]
        );
        for (name, shape) in GraphShape::NAMED {
            assert_eq!(pairs(shape, 1), [], "{name}");
            for vertices in [2, 63, 64, 65, 1000] {
                let generator = make(shape, vertices);
                assert_eq!(edges(&generator), by_rows(&generator), "{name} {vertices}");
                assert_eq!(generator.edges(&()).unwrap(), edges(&generator).len() as u64, "{name} {vertices}");
            }
        }
    }

    #[test]
    fn any_number_of_random_edges_is_made_exactly() {
        for vertices in [1, 2, 3, 5, 64, 400] {
            let most = vertices as u64 * (vertices as u64 - 1);
            for count in [0, 1, most / 100, most / FEW, most / FEW + 1, most / 2, most.saturating_sub(1), most] {
                let generator = make(GraphShape::Edges(count.min(most)), vertices);
                let mut edges = edges(&generator);
                edges.sort_unstable();
                assert_eq!(edges, by_rows(&generator), "{count} of {vertices}");
                let distinct: BTreeSet<_> = edges.iter().map(|&(from, to, _)| (from, to)).collect();
                assert_eq!((edges.len(), distinct.len() as u64), (distinct.len(), count.min(most)));
                assert!(edges.iter().all(|&(from, to, _)| from != to && from.max(to) < vertices as u32));
            }
        }
    }

    /// All sets of two edges of three vertices, over many seeds.
    #[test]
    fn all_sets_of_edges_are_as_likely() {
        let mut seen = std::collections::BTreeMap::new();
        const SEEDS: u64 = 15_000;
        for seed in 0..SEEDS {
            let generator = GraphGenerator::new(GraphShape::Edges(2), 3, 1..=1, seed).unwrap();
            *seen.entry(by_rows(&generator)).or_insert(0u64) += 1;
        }
        // 15 sets; five standard deviations.
        assert_eq!(seen.len(), 15);
        for (set, count) in seen {
            assert!(count.abs_diff(SEEDS / 15) < 155, "{set:?}: {count}");
        }
    }

    #[test]
    fn densities_and_weights_are_spread_as_they_should() {
        let vertices = 1000;
        for density in [0.0, 0.01, 0.5, 1.0] {
            let generator = make(GraphShape::Density(density), vertices);
            let edges = edges(&generator);
            let expected = density * 999_000.0;
            let deviation = (expected * (1.0 - density)).sqrt();
            assert!((edges.len() as f64 - expected).abs() <= 5.0 * deviation, "{density}: {}", edges.len());
            assert_eq!(generator.edges(&()).unwrap(), edges.len() as u64);
        }
        let generator = GraphGenerator::new(GraphShape::Complete, vertices, -3..=6, 1).unwrap();
        let mut count = [0u32; 10];
        edges(&generator).iter().for_each(|&(_, _, weight)| count[(weight + 3) as usize] += 1);
        assert!(count.iter().all(|&n| n.abs_diff(99_900) < 1_500), "{count:?}");
        let wide = GraphGenerator::new(GraphShape::Complete, 50, -MOST..=MOST, 1).unwrap();
        let (low, high) = edges(&wide).iter().fold((0, 0), |(l, h), &(_, _, w)| (w.min(l), w.max(h)));
        assert!(low < -1_000_000_000 && high > 1_000_000_000 && low >= -MOST && high <= MOST, "{low} {high}");
    }

    #[test]
    fn graphs_never_change_and_seeds_differ() {
        let generator = make(GraphShape::Edges(5), 1000);
        assert_eq!(edges(&generator), EDGES);
        let digest = |edges: &[(u32, u32, i32)]| {
            edges.iter().fold(0xcbf2_9ce4_8422_2325, |h, &(from, to, weight)| {
                [from, to, weight.cast_unsigned()]
                    .iter()
                    .fold(h, |h: u64, &v| (h ^ u64::from(v)).wrapping_mul(0x100_0000_01b3))
            })
        };
        assert_eq!(digest(&edges(&make(GraphShape::Density(0.3), 200))), DIGEST);
        let other = GraphGenerator::new(GraphShape::Edges(5), 1000, 1..=100, 8).unwrap();
        assert_ne!(edges(&other), EDGES);
    }

    // Both worked out by another program from what the module says.
    const EDGES: [(u32, u32, i32); 5] =
        [(981, 397, 90), (508, 677, 14), (53, 448, 57), (335, 272, 65), (760, 245, 100)];
    const DIGEST: u64 = 0xa3c6_36ce_9fc7_33f1;

    #[test]
    fn a_graph_in_memory_has_the_same_edges() {
        for shape in [GraphShape::Edges(3000), GraphShape::Edges(30_000), GraphShape::Grid] {
            let generator = make(shape, 200);
            let graph = generator.graph().unwrap();
            let edges = edges(&generator);
            assert_eq!(graph.edges, edges.len() as u64);
            assert!(edges.iter().all(|&(from, to, weight)| graph.weights.get(from as usize, to as usize) == weight));
        }
    }

    #[test]
    fn what_cannot_be_made_says_so() {
        let fails =
            |shape, vertices, weights| GraphGenerator::new(shape, vertices, weights, 0).unwrap_err().to_string();
        assert_eq!(fails(GraphShape::Ring, 0, 1..=1), "a graph has 1 to 2147483647 vertices, not 0");
        assert_eq!(fails(GraphShape::Ring, 1 << 31, 1..=1), "a graph has 1 to 2147483647 vertices, not 2147483648");
        assert_eq!(fails(GraphShape::Edges(7), 3, 1..=1), "between 3 vertices there are at most 6 edges, not 7");
        assert_eq!(fails(GraphShape::Density(1.5), 3, 1..=1), "a density is from 0 to 1, not 1.5");
        assert_eq!(fails(GraphShape::Density(f64::NAN), 3, 1..=1), "a density is from 0 to 1, not NaN");
        #[expect(clippy::reversed_empty_ranges, reason = "it is what is refused")]
        let reversed = 5..=3;
        assert_eq!(
            fails(GraphShape::Ring, 3, reversed),
            "weights are a range within -1073741822..1073741822, not 5..3"
        );
        assert_eq!(
            fails(GraphShape::Ring, 3, 0..=MOST + 1),
            "weights are a range within -1073741822..1073741822, not 0..1073741823"
        );
        struct Stop;
        impl Observer for Stop {
            fn cancelled(&self) -> bool {
                true
            }
        }
        assert_eq!(make(GraphShape::Density(0.5), 100).edges(&Stop), Err(Cancelled));
    }

    fn written(generator: &GraphGenerator, format: GraphFormat) -> Vec<u8> {
        let mut file = Vec::new();
        GraphWriter::new(generator, format, "g", &()).unwrap().write(&mut file, &()).unwrap();
        file
    }

    fn read(bytes: &[u8], format: GraphFormat) -> Graph<i32> {
        match read_graph_from(bytes, "g", format, &GraphOptions::default(), &()) {
            Ok(AnyGraph::Whole(graph)) => graph,
            other => panic!("{format}: {other:?}"),
        }
    }

    #[test]
    fn what_is_generated_is_read_from_every_format() {
        let random = |shape: &GraphShape| matches!(shape, GraphShape::Edges(_) | GraphShape::Density(_));
        let numbered = [GraphShape::Edges(1000), GraphShape::Edges(60_000), GraphShape::Density(0.3)];
        for shape in numbered.into_iter().chain(GraphShape::NAMED.map(|(_, shape)| shape)) {
            for vertices in [2, 300, 601].into_iter().filter(|&v| v > 2 || !random(&shape)) {
                let generator = GraphGenerator::new(shape, vertices, -9..=9, 5).unwrap();
                let wanted = generator.graph().unwrap();
                for &format in GraphFormat::ALL {
                    let got = read(&written(&generator, format), format);
                    // A list of edges does not say how many vertices there are.
                    if format != GraphFormat::EdgeList || got.weights.vertices() == vertices {
                        assert!(got == wanted, "{shape:?} {vertices} {format}");
                    }
                    assert_eq!(got.edges, wanted.edges, "{shape:?} {vertices} {format}");
                }
            }
        }
    }
}
