//! Shortest paths of a matrix, dense or sparse.

use halotile::apsp::files::graph::{AnyGraph, GraphArrays, GraphOptions, read_arrays};
use halotile::apsp::{Apsp, Distance, Distances, Matrix, Solution, Weight, memory_needed};
use halotile::choice::{Devices, Vertices};
use halotile::engine::Engine;
use halotile::machine::{self, memory_available};
use halotile::observe::Observer;
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

use crate::array::Array;
use crate::devices::{named, open};
use crate::error::Fault;
use crate::run::{WorkEstimate, run};

/// A graph in NumPy's arrays.
enum GraphInput {
    Matrix(Array),
    /// Vertices; sources, targets and weights, each an array of one row.
    Edges(usize, [Array; 3]),
}

impl GraphInput {
    fn vertices(&self) -> usize {
        match self {
            Self::Matrix(matrix) => matrix.rows(),
            Self::Edges(vertices, _) => *vertices,
        }
    }

    fn solve(&self, options: &PathOptions, engine: &Engine, watch: &dyn Observer) -> Result<Solution, Fault> {
        let graph_options =
            GraphOptions { weight: options.weight, undirected: !options.directed, ..GraphOptions::default() };
        let graph = match self {
            // SAFETY: the caller of `apsp` holds the arrays until it returns.
            Self::Matrix(matrix) => unsafe {
                read_arrays(GraphArrays::Matrix(&matrix.raster("graph", None)), &graph_options, watch)
            },
            Self::Edges(vertices, [sources, targets, weights]) => {
                let ends = |array: &Array| {
                    // SAFETY: as above.
                    unsafe { array.row::<u64>() }
                        .ok_or_else(|| Fault::Value("indices are 64 bits wide, without gaps".into()))
                };
                let (sources, targets) = (ends(sources)?, ends(targets)?);
                // SAFETY: as above.
                let weights = &unsafe { weights.raster("graph", None) };
                let edges = GraphArrays::Edges { vertices: *vertices, sources, targets, weights };
                // Callers have matrices, whose entries have no numbers.
                return match read_arrays(edges, &graph_options, watch) {
                    Ok(graph) => options.run(graph, engine, watch),
                    Err(error) => Err(match error.place().edge.map(|edge| (edge, edge as usize)) {
                        Some((edge, i)) if i < sources.len() => {
                            let cell = format!("row {}, column {} ", sources[i], targets[i]);
                            Fault::Value(error.to_string().replacen(&format!("edge {edge} "), &cell, 1))
                        }
                        _ => error.into(),
                    }),
                };
            }
        }?;
        options.run(graph, engine, watch)
    }
}

/// The number of vertices; where edges begin, where they end, and what they weigh.
type Edges<'py> = (usize, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

struct PathOptions {
    weight: Weight,
    directed: bool,
    predecessors: bool,
}

impl PathOptions {
    fn run(&self, graph: AnyGraph, engine: &Engine, watch: &dyn Observer) -> Result<Solution, Fault> {
        let apsp = Apsp::new().weight(self.weight).predecessors(self.predecessors);
        Ok(apsp.run(engine, graph, watch)?)
    }
}

fn weight_named(name: &str) -> PyResult<Weight> {
    match name {
        "auto" => Ok(Weight::Auto),
        "i32" => Ok(Weight::I32),
        "f32" => Ok(Weight::F32),
        other => Err(PyValueError::new_err(format!("weight={other:?}: \"auto\", \"i32\" or \"f32\""))),
    }
}

/// Says what is wrong with options, and whether there is too little memory for so many vertices and `results` bytes for each pair of them: before
/// anything large is made.
#[pyfunction]
#[pyo3(signature = (vertices, results, *, predecessors, weight, device))]
pub fn admit(vertices: usize, results: u128, predecessors: bool, weight: &str, device: &str) -> PyResult<()> {
    let weight = weight_named(weight)?;
    named(device)?;
    // More than any machine holds, and few enough to be multiplied.
    let counted = vertices.min(1 << 48);
    let needed = memory_needed(counted, weight, predecessors) + (counted as u128).pow(2).saturating_mul(results);
    match memory_available().map(u128::from).filter(|&available| needed > available) {
        None => Ok(()),
        Some(available) => Err(PyMemoryError::new_err(format!(
            "graph: {vertices} vertices need {} of memory, and {} are free; take a smaller graph or a machine with more memory",
            machine::needed(needed),
            machine::available(available)
        ))),
    }
}

/// Copies a matrix to an array of NumPy's, `out`, as `of` makes numbers of distances.
fn copy<T: Distance, N: crate::array::Number>(
    matrix: &Matrix<T>,
    out: Array,
    of: impl Fn(T) -> N + Sync,
) -> Result<(), Fault> {
    // SAFETY: the array is new, and nothing else refers to it.
    let view =
        unsafe { out.view_mut::<N>() }.filter(|out| (out.rows(), out.cols()) == (matrix.vertices(), matrix.vertices()));
    let view = view.ok_or_else(|| Fault::Value("the results' array has gaps or another shape".into()))?;
    let rows: Vec<_> = view.into_rows().collect();
    rows.into_par_iter().zip(matrix.par_rows()).for_each(|(to, from)| {
        to.iter_mut().zip(from).for_each(|(to, &from)| *to = of(from));
    });
    Ok(())
}

/// A distance as a floating-point number, infinite where there is none.
fn real<T: Distance>(distance: T) -> f64 {
    if distance == T::UNREACHABLE { f64::INFINITY } else { distance.to_f64() }
}

/// A solution on its way to arrays: the caller has made none yet, because their type was not known.
#[pyclass(frozen, module = "halotile._native")]
pub struct Paths(Solution);

impl Paths {
    fn pairs(&self) -> u64 {
        (self.0.report.vertices as u64).saturating_pow(2)
    }
}

#[pymethods]
impl Paths {
    /// The type of distances that holds them exactly: `int32` or `float32`.
    #[getter]
    fn dtype(&self) -> &'static str {
        match self.0.distances {
            Distances::I32(_) | Distances::I16(_) => "int32",
            Distances::F32(_) => "float32",
        }
    }

    /// Writes the distances to an array of V x V numbers of the type int32, float32 or float64: infinite where there is no path, and in
    /// whole numbers 2^30 - 1.
    fn distances(&self, py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<()> {
        use halotile::numbers::ValueType::{F32, F64, I32};
        let out = Array::of(out)?;
        let wide = |distance: u16| {
            if distance == <u16 as Distance>::UNREACHABLE {
                <i32 as Distance>::UNREACHABLE
            } else {
                i32::from(distance)
            }
        };
        run(py, self.pairs(), None, None, |_| match (&self.0.distances, out.values()) {
            (Distances::I32(matrix), I32) => copy(matrix, out, |distance| distance),
            (Distances::I16(matrix), I32) => copy(matrix, out, wide),
            (Distances::F32(matrix), F32) => copy(matrix, out, |distance| distance),
            (Distances::I32(matrix), F64) => copy(matrix, out, real),
            (Distances::I16(matrix), F64) => copy(matrix, out, real),
            (Distances::F32(matrix), F64) => copy(matrix, out, real),
            _ => Err(Fault::Value("distances are of the type dtype, or float64".into())),
        })
    }

    /// Writes the predecessors, if they were asked for, to an array of V x V numbers of the type int32.
    fn predecessors(&self, py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<()> {
        let out = Array::of(out)?;
        let Some(matrix) = &self.0.predecessors else {
            return Err(PyValueError::new_err("predecessors were not asked for"));
        };
        run(py, self.pairs(), None, None, |_| copy(matrix, out, |before| before))
    }
}

/// The shortest paths of a matrix (an array), or of edges (the number of vertices and three arrays of one row: from, to, weight). Returns them
/// and what was done.
#[pyfunction]
#[pyo3(signature = (matrix, edges, *, directed, predecessors, weight, device, threads))]
#[allow(clippy::too_many_arguments)]
pub fn apsp<'py>(
    py: Python<'py>,
    matrix: Option<&Bound<'py, PyAny>>,
    edges: Option<Edges<'py>>,
    directed: bool,
    predecessors: bool,
    weight: &str,
    device: &str,
    threads: Option<usize>,
) -> PyResult<(Paths, Bound<'py, PyDict>)> {
    let input = match (matrix, &edges) {
        (Some(matrix), None) => GraphInput::Matrix(Array::of(matrix)?),
        (None, Some((vertices, sources, targets, weights))) => {
            GraphInput::Edges(*vertices, [Array::of(sources)?, Array::of(targets)?, Array::of(weights)?])
        }
        _ => return Err(PyTypeError::new_err("a matrix or edges")),
    };
    let options = PathOptions { weight: weight_named(weight)?, directed, predecessors };
    let devices = named(device)?;
    let vertices = input.vertices();
    let pairs = (vertices as u64).saturating_pow(2);
    let operations =
        if matches!(devices, Devices::Emulator(_)) { u64::MAX } else { pairs.saturating_mul(vertices as u64) };
    let (opened, solution) = run(py, WorkEstimate { steps: pairs, operations }, threads, None, |watch| {
        let recommendation = |open| Vertices(vertices).recommend(rayon::current_num_threads(), open);
        let mut opened = open(&devices, 0, watch, recommendation)?;
        let mut solution = input.solve(&options, &opened.engine, watch);
        if let Err(Fault::Paths(error @ halotile::apsp::Error::Device(_))) = &solution
            && let Some(cpu) = opened.fall_back(error.to_string())
        {
            opened = cpu;
            solution = input.solve(&options, &opened.engine, watch);
        }
        Ok((opened, solution?))
    })?;
    let info = PyDict::new(py);
    info.set_item("device", opened.name)?;
    info.set_item("why", opened.automatic.map(|automatic| automatic.why))?;
    info.set_item("weight", solution.report.weight.name())?;
    Ok((Paths(solution), info))
}
