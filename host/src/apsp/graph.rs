//! The weights of a graph, made edge by edge from all threads.
//!
//! A reader that knows the number of vertices calls [`Graph::build`] and hands edges to the [`EdgeSink`] from any number of
//! threads. Of parallel edges the lightest is kept; self-loops are left out, but a negative one is remembered: it is a negative
//! cycle. Rows are guarded by locks, one a band: files mostly have their edges sorted by source, and then a thread takes a
//! lock only once in many edges.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::{Distance, Matrix, MatrixError};

/// A directed graph: the weight of the lightest edge from every vertex to every other, unreachable where there is none,
/// 0 on the diagonal. Weights may be negative.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph<T> {
    /// The weights.
    pub weights: Matrix<T>,
    /// Edges that were given, all of them.
    pub edges: u64,
    /// Whether a weight is negative.
    pub negative: bool,
    /// The largest weight of an edge that is kept; 0 where none is.
    pub heaviest: T,
    /// A vertex with an edge of negative weight to itself.
    pub negative_loop: Option<usize>,
}

/// An edge that a graph cannot have.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EdgeError {
    /// It ends at a vertex that does not exist.
    #[error("vertex {vertex} is not below the number of vertices, {vertices}")]
    Vertex {
        /// The vertex.
        vertex: u64,
        /// Vertices that there are.
        vertices: usize,
    },
    /// Its weight is NaN or too large.
    #[error("a weight is a number from -{most} to {most}, and this is {weight}")]
    Weight {
        /// The weight.
        weight: String,
        /// The most that there can be.
        most: f64,
    },
}

/// A weight as it is read: of either sign.
pub trait EdgeWeight: Distance {
    /// Whether the weight is allowed. Infinity means no edge, and is.
    fn allowed(self) -> bool;
    /// The largest weight.
    const MOST: f64;
}

impl EdgeWeight for i32 {
    const MOST: f64 = ((1 << 30) - 2) as f64;

    fn allowed(self) -> bool {
        self.unsigned_abs() < Self::UNREACHABLE.unsigned_abs()
    }
}

impl EdgeWeight for f32 {
    const MOST: f64 = f32::MAX as f64;

    fn allowed(self) -> bool {
        !self.is_nan() && self != f32::NEG_INFINITY
    }
}

/// Rows that one lock guards.
const BAND: usize = 8;

/// Takes the edges of a graph that is being built.
pub struct EdgeSink<'m, T> {
    vertices: usize,
    pitch: usize,
    bands: Vec<Mutex<&'m mut [T]>>,
    edges: AtomicU64,
    loops: AtomicU64,
    undirected: AtomicBool,
    negative: AtomicBool,
    /// The lowest vertex with a negative loop.
    negative_loop: AtomicUsize,
}

impl<T: EdgeWeight> Graph<T> {
    /// Makes a graph: `fill` hands its edges to the sink.
    ///
    /// ```
    /// use halotile::apsp::{Graph, MatrixError};
    /// let graph = Graph::<i32>::build(3, |sink| {
    ///     sink.add_all([(0, 1, 7), (0, 1, 5), (2, 2, 0)]).expect("all of them are edges");
    ///     Ok::<(), MatrixError>(())
    /// })?;
    /// assert_eq!((graph.weights.get(0, 1), graph.edges, graph.heaviest), (5, 3, 5));
    /// # Ok::<(), MatrixError>(())
    /// ```
    ///
    /// # Errors
    /// [`MatrixError`] where there is no memory for the matrix; those of `fill`.
    pub fn build<E: From<MatrixError>>(
        vertices: usize,
        fill: impl FnOnce(&EdgeSink<'_, T>) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut weights = Matrix::unreachable(vertices)?;
        let pitch = weights.pitch();
        let bands = weights.cells_mut().chunks_mut(BAND * pitch).map(Mutex::new).collect();
        let sink = EdgeSink {
            vertices,
            pitch,
            bands,
            edges: AtomicU64::new(0),
            loops: AtomicU64::new(0),
            undirected: AtomicBool::new(false),
            negative: AtomicBool::new(false),
            negative_loop: AtomicUsize::new(usize::MAX),
        };
        fill(&sink)?;
        let (mut edges, negative) = (sink.edges.into_inner(), sink.negative.into_inner());
        let back = sink.undirected.into_inner().then(|| edges - sink.loops.into_inner());
        let negative_loop = Some(sink.negative_loop.into_inner()).filter(|&vertex| vertex != usize::MAX);
        if let Some(back) = back {
            edges += back;
            weights.symmetrize();
        }
        let more = |a: T, b: T| if b > a { b } else { a };
        let of_row =
            |row: &[T]| row.iter().filter(|&&weight| weight != T::UNREACHABLE).fold(T::ZERO, |a, &b| more(a, b));
        let heaviest = weights.par_rows().map(of_row).reduce(|| T::ZERO, more);
        Ok(Self { weights, edges, negative, heaviest, negative_loop })
    }
}

impl<T: EdgeWeight> EdgeSink<'_, T> {
    /// Vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// Adds the reverse of every edge, those added before and after this call. That is done at the end: edges that
    /// end at one vertex are in as many rows as there are edges.
    pub fn undirected(&self) {
        self.undirected.store(true, Relaxed);
    }

    /// Takes edges, each from, to and weight. From any thread. The error has the number of the edge that is wrong, from 0; those before it
    /// have been taken.
    pub fn add_all(&self, edges: impl IntoIterator<Item = (u64, u64, T)>) -> Result<(), (usize, EdgeError)> {
        let vertices = self.vertices;
        let (mut count, mut loops, mut negative) = (0, 0, false);
        let mut held = None;
        for (from, to, weight) in edges {
            if let Some(vertex) = [from, to].into_iter().find(|&vertex| vertex >= vertices as u64) {
                return Err((count, EdgeError::Vertex { vertex, vertices }));
            }
            if !weight.allowed() {
                return Err((count, EdgeError::Weight { weight: weight.to_string(), most: T::MOST }));
            }
            count += 1;
            if from == to {
                loops += 1;
                if weight < T::ZERO {
                    self.negative_loop.fetch_min(from as usize, Relaxed);
                }
                continue;
            }
            negative |= weight < T::ZERO;
            let (from, to) = (from as usize, to as usize);
            let band = from / BAND;
            if held.as_ref().is_none_or(|&(number, _)| number != band) {
                // The old one first: no thread waits for a lock while it holds another.
                drop(held.take());
                held = Some((band, self.bands[band].lock().unwrap_or_else(PoisonError::into_inner)));
            }
            let (_, rows) = held.as_mut().expect("just taken");
            let cell = &mut rows[from % BAND * self.pitch + to];
            *cell = cell.nearer(weight);
        }
        self.edges.fetch_add(count as u64, Relaxed);
        self.loops.fetch_add(loops, Relaxed);
        if negative {
            self.negative.store(true, Relaxed);
        }
        Ok(())
    }
}
