//! From a graph to its distances: the order of the steps, and their types.

use std::time::Instant;

use rayon::prelude::*;

use super::device::SolveError;
use super::potential::{self, DistanceOverflow, NegativeCycle, PotentialError, Reweight};
use super::predecessors::{self, FindError};
use super::width::{self, OverflowRisk};
use super::{Distance, Graph, Kernel, Matrix, MatrixError, Weight, cpu, device, dijkstra};
use crate::apsp::files::graph::AnyGraph;
use crate::engine::Engine;
use crate::exec::DeviceError;
use crate::machine;
use crate::observe::{Cancelled, Observer};
use crate::profile::stage;

/// Shortest paths between all vertices: the options.
///
/// ```
/// use halotile::apsp::{Apsp, Distances, Graph, MatrixError};
/// use halotile::engine::Engine;
/// let graph = Graph::<i32>::build(4, |sink| {
///     sink.add_all([(0, 1, 5), (1, 2, -2), (0, 2, 4)]).expect("vertices from 0 to 3");
///     Ok::<(), MatrixError>(())
/// })?;
/// let solution = Apsp::new().predecessors(true).run(&Engine::Cpu, graph, &())?;
/// let Distances::I32(distances) = &solution.distances else { unreachable!("whole weights have whole distances") };
/// assert_eq!(distances.row(0), [0, 5, 3, 1_073_741_823]);
/// assert_eq!(solution.path(0, 2), Some(vec![0, 1, 2]));
/// assert_eq!(solution.path(0, 3), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Apsp {
    weight: Weight,
    predecessors: bool,
    kernel: Option<Kernel>,
    memory: Option<u128>,
}

/// Why there are no distances.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no memory for a matrix.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// More memory is needed than there may be.
    #[error("{vertices} vertices need {} of memory, and there are {}", machine::needed(*.needed), machine::available(*.available))]
    Memory {
        /// Vertices.
        vertices: usize,
        /// Bytes that are needed: [`memory_needed`].
        needed: u128,
        /// Bytes that there may be.
        available: u128,
    },
    /// There is a negative cycle.
    #[error(transparent)]
    Cycle(#[from] NegativeCycle),
    /// Distances may be too long for their type.
    #[error(transparent)]
    OverflowRisk(#[from] OverflowRisk),
    /// With negative edges: one is too long for its type.
    #[error(transparent)]
    Overflow(#[from] DistanceOverflow),
    /// Whole distances of weights that are not whole.
    #[error("the weights are floating-point numbers, and {} are asked for", .0.name())]
    Fractions(Weight),
    /// The kernel does not do this work.
    #[error("kernel {kernel} cannot do this: {reason}")]
    Misfit {
        /// The kernel.
        kernel: Kernel,
        /// Why not.
        reason: String,
    },
    /// A device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The observer stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<SolveError> for Error {
    fn from(error: SolveError) -> Self {
        match error {
            SolveError::Device(error) => error.into(),
            SolveError::Memory(error) => error.into(),
            SolveError::Cancelled(error) => error.into(),
            SolveError::Misfit { kernel, reason } => Self::Misfit { kernel, reason },
        }
    }
}

impl From<PotentialError> for Error {
    fn from(error: PotentialError) -> Self {
        match error {
            PotentialError::Cycle(error) => error.into(),
            PotentialError::Cancelled(error) => error.into(),
        }
    }
}

impl From<FindError> for Error {
    fn from(error: FindError) -> Self {
        match error {
            FindError::Memory(error) => error.into(),
            FindError::Cancelled(error) => error.into(),
        }
    }
}

impl From<Graph<i32>> for AnyGraph {
    fn from(graph: Graph<i32>) -> Self {
        Self::Whole(graph)
    }
}

impl From<Graph<f32>> for AnyGraph {
    fn from(graph: Graph<f32>) -> Self {
        Self::Real(graph)
    }
}

/// The distance from every vertex to every other.
#[derive(Debug, Clone, PartialEq)]
pub enum Distances {
    /// Whole numbers; 2^30 - 1 where there is no path.
    I32(Matrix<i32>),
    /// The same in 16 bits, where that was asked for; 2^15 - 1 where there is no path. Not where there are negative weights: of these, distances may
    /// be negative, and they are `I32` again.
    I16(Matrix<u16>),
    /// Floating-point numbers; infinite where there is no path.
    F32(Matrix<f32>),
}

/// The result, and how it was computed.
#[derive(Debug, Clone)]
pub struct Solution {
    /// The distances.
    pub distances: Distances,
    /// For row i and column j the vertex before j on a shortest path from i, or [`predecessors::NONE`]; if asked for.
    pub predecessors: Option<Matrix<i32>>,
    /// What was done.
    pub report: Report,
}

impl Solution {
    /// The vertices on a shortest path, both ends among them; none where there is no path.
    ///
    /// # Panics
    /// If there are no predecessors, or not so many vertices.
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let before = self.predecessors.as_ref().expect("predecessors have been asked for").row(from);
        predecessors::reconstruct_path(before, from, to).expect("our own predecessors lead back")
    }
}

/// What was done, for reports.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Report {
    /// Vertices.
    pub vertices: usize,
    /// Edges that were given.
    pub edges: u64,
    /// The type that distances were computed in: `I32`, `I16` or `F32`.
    pub weight: Weight,
    /// The kernel; none for the CPU engine.
    pub kernel: Option<Kernel>,
    /// Whether there were negative weights.
    pub negative: bool,
    /// Seconds for potentials and reweighting.
    pub potential: f64,
    /// Seconds to choose the type, and to change to it and back.
    pub width: f64,
    /// Seconds of the engine, with all copies, and also when its result did not fit.
    pub compute: f64,
    /// Seconds for predecessors.
    pub paths: f64,
    /// The devices' report, where they did it.
    pub device: Option<device::Report>,
}

impl Report {
    /// The relaxations that Floyd and Warshall's algorithm is defined with, V^3, in a second of the engine.
    pub fn relaxations_per_second(&self) -> f64 {
        (self.vertices as f64).powi(3) / self.compute
    }
}

/// Bytes of memory that distances between so many vertices take at most, with the weights they are made of. Predecessors may take more for a
/// while: lists of edges, which only graphs of equal weights make long.
///
/// ```
/// use halotile::apsp::{Weight, memory_needed};
/// assert_eq!(memory_needed(16_384, Weight::Auto, false), 1 << 30);
/// assert_eq!(memory_needed(16_384, Weight::I32, true), 3 << 30);
/// ```
pub fn memory_needed(vertices: usize, weight: Weight, predecessors: bool) -> u128 {
    let (wide, narrow) = (Matrix::<i32>::bytes(vertices), Matrix::<u16>::bytes(vertices));
    match (weight, predecessors) {
        // In place; 16 bits are tried where there is room.
        (Weight::Auto | Weight::I32 | Weight::F32, false) => wide,
        (Weight::Auto | Weight::I32 | Weight::F32, true) => 3 * wide,
        (Weight::I16, false) => wide + narrow,
        (Weight::I16, true) => 2 * wide + narrow,
    }
}

impl Apsp {
    /// Distances in the type that [`Weight::Auto`] chooses, without predecessors, by the fastest kernel.
    pub fn new() -> Self {
        Self::default()
    }

    /// The type of the distances.
    pub fn weight(self, weight: Weight) -> Self {
        Self { weight, ..self }
    }

    /// Whether predecessors are wanted too.
    pub fn predecessors(self, predecessors: bool) -> Self {
        Self { predecessors, ..self }
    }

    /// The kernel; none for the fastest. An algorithm [from outside](Kernel::Custom) may run on the CPU.
    pub fn kernel(self, kernel: Option<Kernel>) -> Self {
        Self { kernel, ..self }
    }

    /// Bytes of memory that may be taken, those of the graph among them; none for as many as there are.
    pub fn memory(self, memory: Option<u128>) -> Self {
        Self { memory, ..self }
    }

    /// Computes. The graph's matrix is reused for the result. `observer` is notified of each vertex that is done, V of them in each stage
    /// ([`Observer::begin`]): `computing`, and `finding paths`.
    ///
    /// # Errors
    /// [`Error`]: too little memory, a negative cycle, weights or distances that the type of weights does not hold, a kernel that does not
    /// fit, a device that fails, or that the observer asked to stop.
    pub fn run(&self, engine: &Engine, graph: impl Into<AnyGraph>, observer: &dyn Observer) -> Result<Solution, Error> {
        let graph = graph.into();
        self.admit(graph.vertices())?;
        let run = Run { options: self, engine, observer };
        match (graph, self.weight) {
            (AnyGraph::Whole(graph), Weight::F32) => run.real(floating(&graph)?),
            (AnyGraph::Whole(graph), _) => run.whole(graph),
            (AnyGraph::Real(graph), Weight::Auto | Weight::F32) => run.real(graph),
            (AnyGraph::Real(_), weight) => Err(Error::Fractions(weight)),
        }
    }

    /// Whether so many vertices are within the memory that may be taken.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn admit(&self, vertices: usize) -> Result<(), Error> {
        let needed = memory_needed(vertices, self.weight, self.predecessors);
        match self.memory {
            Some(available) if needed > available => Err(Error::Memory { vertices, needed, available }),
            _ => Ok(()),
        }
    }
}

/// The graph in floating-point numbers.
fn floating(graph: &Graph<i32>) -> Result<Graph<f32>, MatrixError> {
    let mut weights = Matrix::unreachable(graph.weights.vertices())?;
    weights.par_rows_mut().zip(graph.weights.par_rows()).for_each(|(to, from)| {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = from.to_f64() as f32);
    });
    let Graph { edges, negative, heaviest, negative_loop, .. } = *graph;
    Ok(Graph { weights, edges, negative, heaviest: heaviest as f32, negative_loop })
}

/// A copy. All threads take part, unlike in `clone`.
fn copy<T: Distance>(matrix: &Matrix<T>) -> Result<Matrix<T>, MatrixError> {
    let mut copy = Matrix::unreachable(matrix.vertices())?;
    copy.par_rows_mut().zip(matrix.par_rows()).for_each(|(to, from)| to.copy_from_slice(from));
    Ok(copy)
}

/// Weights none of which is negative.
struct Prepared<T> {
    weights: Matrix<T>,
    /// The potentials by which they were shifted, if they were.
    h: Option<Vec<f64>>,
    heaviest: f64,
    report: Report,
}

/// One computation.
#[derive(Clone, Copy)]
struct Run<'a> {
    options: &'a Apsp,
    engine: &'a Engine,
    observer: &'a dyn Observer,
}

impl Run<'_> {
    fn whole(self, graph: Graph<i32>) -> Result<Solution, Error> {
        let Prepared { mut weights, h, heaviest, mut report } = self.prepare(graph)?;
        if self.options.weight == Weight::I16 {
            let start = Instant::now();
            let narrow = width::narrow(&weights)?;
            drop(weights);
            report.width += start.elapsed().as_secs_f64();
            report.weight = Weight::I16;
            return self.short(narrow, h, heaviest, report);
        }
        report.weight = Weight::I32;
        let short = match self.options.weight {
            Weight::Auto => self.try_short(&weights, heaviest, &mut report)?,
            _ => None,
        };
        let (mut distances, weights) = match (self.options.predecessors, short) {
            (false, None) => (self.solved(weights, heaviest, true, &mut report)?, None),
            (true, None) => (self.solved(copy(&weights)?, heaviest, true, &mut report)?, Some(weights)),
            (false, Some(short)) => {
                timed("widen distances", &mut report.width, || width::widen(&short, &mut weights));
                (weights, None)
            }
            (true, Some(short)) => {
                let mut distances = Matrix::unreachable(weights.vertices())?;
                timed("widen distances", &mut report.width, || width::widen(&short, &mut distances));
                (distances, Some(weights))
            }
        };
        let predecessors = self.paths(weights, &distances, &mut report)?;
        if let Some(h) = h {
            timed("restore potentials", &mut report.potential, || potential::restore(&mut distances, &h))?;
        }
        Ok(Solution { distances: Distances::I32(distances), predecessors, report })
    }

    fn real(self, graph: Graph<f32>) -> Result<Solution, Error> {
        let given = (self.options.predecessors || graph.negative).then(|| copy(&graph.weights)).transpose()?;
        let Prepared { weights, h, heaviest, mut report } = self.prepare(graph)?;
        report.weight = Weight::F32;
        let mut distances = weights;
        self.solve(&mut distances, &mut report)?;
        if h.is_none() {
            timed("check distances", &mut report.width, || width::check(&distances, heaviest))?;
        }
        let Some(given) = given else {
            return Ok(Solution { distances: Distances::F32(distances), predecessors: None, report });
        };
        self.observer.begin("finding paths", given.vertices() as u64);
        let trees = timed("shortest-path trees", &mut report.paths, || {
            dijkstra::shortest_path_trees(&given, h.as_deref(), &mut distances, self.observer)
        })?;
        let predecessors = self.options.predecessors.then_some(trees);
        Ok(Solution { distances: Distances::F32(distances), predecessors, report })
    }

    /// 16 bits throughout.
    fn short(
        self,
        weights: Matrix<u16>,
        h: Option<Vec<f64>>,
        heaviest: f64,
        mut report: Report,
    ) -> Result<Solution, Error> {
        let kept = self.options.predecessors.then(|| copy(&weights)).transpose()?;
        let distances = self.solved(weights, heaviest, true, &mut report)?;
        let predecessors = self.paths(kept, &distances, &mut report)?;
        let Some(h) = h else { return Ok(Solution { distances: Distances::I16(distances), predecessors, report }) };
        let mut wide = Matrix::unreachable(distances.vertices())?;
        timed("widen distances", &mut report.width, || width::widen(&distances, &mut wide));
        timed("restore potentials", &mut report.potential, || potential::restore(&mut wide, &h))?;
        Ok(Solution { distances: Distances::I32(wide), predecessors, report })
    }

    /// Removes negative weights.
    fn prepare<T: Reweight>(self, graph: Graph<T>) -> Result<Prepared<T>, Error> {
        let Graph { mut weights, edges, negative, heaviest, negative_loop } = graph;
        let negative = negative || negative_loop.is_some();
        let mut report = Report { vertices: weights.vertices(), edges, negative, ..Report::default() };
        if let Some(vertex) = negative_loop {
            return Err(NegativeCycle::of_loop(vertex).into());
        }
        if !negative {
            return Ok(Prepared { weights, h: None, heaviest: heaviest.to_f64(), report });
        }
        let start = Instant::now();
        let _stage = stage("potentials");
        let h = potential::potentials(&weights, self.observer)?;
        let heaviest = potential::reweight(&mut weights, &h);
        report.potential = start.elapsed().as_secs_f64();
        Ok(Prepared { weights, h: Some(h), heaviest, report })
    }

    /// Distances in 16 bits, where they are likely to fit, and do.
    fn try_short(
        self,
        weights: &Matrix<i32>,
        heaviest: f64,
        report: &mut Report,
    ) -> Result<Option<Matrix<u16>>, Error> {
        let able = match self.engine {
            Engine::Cpu => self.options.kernel.is_none(),
            Engine::Devices(devices) => {
                self.options.kernel.is_none_or(|kernel| kernel == Kernel::Tiled)
                    && devices.iter().all(|device| device.limits().arch >= SHORT_ARCH)
            }
        };
        let room = Matrix::<i32>::bytes(weights.vertices()) + Matrix::<u16>::bytes(weights.vertices());
        let room = self.options.memory.is_none_or(|memory| room <= memory);
        if !able || !room || !timed("look at weights", &mut report.width, || width::likely_to_fit(weights, heaviest)) {
            return Ok(None);
        }
        let Ok(narrow) = timed("narrow weights", &mut report.width, || width::narrow(weights)) else { return Ok(None) };
        match self.solved(narrow, heaviest, false, report) {
            Ok(distances) => {
                report.weight = Weight::I16;
                Ok(Some(distances))
            }
            Err(error @ (Error::OverflowRisk(_) | Error::Misfit { .. })) => {
                tracing::info!("32 bits after all: {error}");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Distances in place of weights, and checked; `thoroughly` where there is no alternative left.
    fn solved<T: Distance + Into<f64>>(
        self,
        mut weights: Matrix<T>,
        heaviest: f64,
        thoroughly: bool,
        report: &mut Report,
    ) -> Result<Matrix<T>, Error> {
        self.solve(&mut weights, report)?;
        timed("check distances", &mut report.width, || {
            let resolve = |risk| if thoroughly { width::resolve(&weights, risk) } else { Err(risk) };
            width::check(&weights, heaviest).or_else(resolve)
        })?;
        Ok(weights)
    }

    fn solve<T: Distance>(self, matrix: &mut Matrix<T>, report: &mut Report) -> Result<(), Error> {
        self.observer.begin("computing", matrix.vertices() as u64);
        let misfit = |kernel, reason: &str| Err(Error::Misfit { kernel, reason: reason.to_owned() });
        let start = Instant::now();
        let _stage = stage("distances");
        match (self.engine, self.options.kernel) {
            (Engine::Cpu, None) => cpu::solve(matrix, self.observer)?,
            (Engine::Cpu, Some(kernel @ Kernel::Custom(custom))) if !kernel.on_device() => {
                custom.algorithm().solve(T::any(matrix), &[], self.observer)?;
                report.kernel = Some(kernel);
            }
            (Engine::Cpu, Some(kernel)) => return misfit(kernel, "it runs on a device"),
            (Engine::Devices(_), Some(kernel)) if !kernel.on_device() => return misfit(kernel, "it runs on the CPU"),
            (Engine::Devices(devices), kernel) => {
                let kernel = kernel.unwrap_or(Kernel::Tiled);
                report.device = Some(device::solve(matrix, kernel, devices, self.observer)?);
                report.kernel = Some(kernel);
            }
        }
        report.compute += start.elapsed().as_secs_f64();
        Ok(())
    }

    fn paths<T: Distance + Ord>(
        self,
        weights: Option<Matrix<T>>,
        distances: &Matrix<T>,
        report: &mut Report,
    ) -> Result<Option<Matrix<i32>>, Error> {
        let Some(weights) = weights else { return Ok(None) };
        self.observer.begin("finding paths", weights.vertices() as u64);
        Ok(Some(timed("predecessors", &mut report.paths, || predecessors::find(&weights, distances, self.observer))?))
    }
}

/// The compute capability from which GPUs have 16-bit lanes: 10 · major + minor.
const SHORT_ARCH: u32 = 90;

/// Does something as a stage of this thread, and adds the seconds that it took.
fn timed<T>(name: &'static str, seconds: &mut f64, what: impl FnOnce() -> T) -> T {
    let _stage = stage(name);
    let start = Instant::now();
    let result = what();
    *seconds += start.elapsed().as_secs_f64();
    result
}
