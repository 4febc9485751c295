//! Graphs in: the formats in which they come, each in a file of its own; and synthetic ones out ([`GraphWriter`]).
//!
//! ```text
//! file or pipe ── source ──┬─ binary ─────────────┐
//!                          ├─ npy ────────────────┼─ weight ── EdgeSink ── Graph
//!                          └─ text ──┬─ dimacs ───┤
//!                                    ├─ edge_list ┤
//!                                    └─ matrix_market
//! ```
//!
//! All of them are read by position, in parts, by all threads; a thread hands the edges of its part to the graph. Of several faults the
//! first in the file is told, however many threads there are. What a header claims is held against the file's length before anything
//! is done about it, and memory is taken when the number of vertices is known and [`GraphOptions::admit`] has agreed.
//!
//! Graphs that are in memory already ([`read_arrays`]) go the same way from `weight` on.
//!
//! Without a wish for a type ([`Weight::Auto`]) a file is read as whole numbers; at the first weight that they do not hold, a fraction or too
//! large, the work begins again in floating-point numbers. Only the binary of edges, whose weights are whole by definition, is not read again.

mod arrays;
mod binary;
mod dimacs;
mod edge_list;
mod format;
mod matrix_market;
mod npy;
mod progress;
mod text;
mod weight;
mod write;

use std::io::Read;
use std::path::Path;

pub use arrays::{GraphArrays, read_arrays};
pub use format::GraphFormat;
pub use write::{EdgeSource, GraphWriter};

use self::progress::Progress;
use self::weight::{FileWeight, Rejected};
use crate::apsp::{EdgeError, EdgeSink, Graph, MatrixError, Weight};
use crate::io::source::Source;
use crate::io::{FormatError, Place, Problem};
use crate::observe::Observer;

/// What is to be made of a file.
#[derive(Clone, Copy)]
pub struct GraphOptions<'a> {
    /// The type of the weights. `I32` and `I16` want whole numbers, from -(2^30 - 2) to 2^30 - 2, and `Auto` is for those where all weights are
    /// such numbers, and for `F32` otherwise.
    pub weight: Weight,
    /// Whether each edge leads both ways. Both then count in [`Graph::edges`].
    pub undirected: bool,
    /// Is asked once, when the number of vertices is known and nothing has been made of it: whether there is memory for so many. What it
    /// says against it becomes the error.
    pub admit: &'a (dyn Fn(usize) -> Result<(), String> + Sync),
}

impl Default for GraphOptions<'_> {
    fn default() -> Self {
        Self { weight: Weight::Auto, undirected: false, admit: &|_| Ok(()) }
    }
}

impl std::fmt::Debug for GraphOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { weight, undirected, .. } = self;
        write!(f, "GraphOptions({weight:?}, undirected: {undirected})")
    }
}

/// A graph as it was read.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyGraph {
    /// Of whole weights.
    Whole(Graph<i32>),
    /// Of weights with fractions.
    Real(Graph<f32>),
}

impl AnyGraph {
    /// How many vertices it has.
    pub fn vertices(&self) -> usize {
        match self {
            Self::Whole(graph) => graph.weights.vertices(),
            Self::Real(graph) => graph.weights.vertices(),
        }
    }
}

/// Reads a graph; `-` is standard input. The observer is notified of bytes, as many as the file has; a pipe has no length, and is read whole
/// before anything is made of it.
///
/// ```
/// use halotile::apsp::files::graph::{AnyGraph, GraphFormat, GraphOptions, read_graph};
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("three.bin");
/// // Three vertices, two edges: 0 to 1 weighs 5, 1 to 2 weighs 7.
/// let numbers: [i32; 8] = [3, 2, 0, 1, 5, 1, 2, 7];
/// std::fs::write(&path, numbers.map(i32::to_le_bytes).as_flattened())?;
/// let AnyGraph::Whole(graph) = read_graph(&path, GraphFormat::Binary, &GraphOptions::default(), &())? else {
///     unreachable!("this format has no fractions");
/// };
/// assert_eq!((graph.weights.get(1, 2), graph.weights.get(2, 1)), (7, (1 << 30) - 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A file that cannot be opened or read, or is not what the format says: one line with the place; what `admit` says; or that the observer
/// stopped the work ([`FormatError::is_cancelled`]).
pub fn read_graph(
    path: &Path,
    format: GraphFormat,
    options: &GraphOptions<'_>,
    observer: &dyn Observer,
) -> Result<AnyGraph, FormatError> {
    read(&Source::open_or_read(path, observer)?, format, options, observer)
}

/// The same from a stream; `name` is for messages.
///
/// # Errors
/// As for [`read_graph`].
pub fn read_graph_from(
    input: impl Read,
    name: &str,
    format: GraphFormat,
    options: &GraphOptions<'_>,
    observer: &dyn Observer,
) -> Result<AnyGraph, FormatError> {
    read(&Source::from_reader(input, name, observer)?, format, options, observer)
}

fn read(
    source: &Source,
    format: GraphFormat,
    options: &GraphOptions<'_>,
    observer: &dyn Observer,
) -> Result<AnyGraph, FormatError> {
    let progress = Progress::new(observer, source.length);
    let graph = match format {
        GraphFormat::Binary => build(&binary::Binary::open(source)?, &source.name, options, &progress),
        GraphFormat::Npy => build(&npy::Npy::open(source)?, &source.name, options, &progress),
        GraphFormat::Dimacs => build(&dimacs::Dimacs::open(source)?, &source.name, options, &progress),
        GraphFormat::EdgeList => edge_list::EdgeList::open(source, &progress)
            .map_err(|error| error.explain(&source.name))
            .and_then(|list| build(&list, &source.name, options, &progress)),
        GraphFormat::MatrixMarket => {
            build(&matrix_market::MatrixMarket::open(source)?, &source.name, options, &progress)
        }
    }?;
    // The header as well.
    progress.advance(u64::MAX);
    Ok(graph)
}

/// A file whose header has been read.
trait Edges {
    fn vertices(&self) -> usize;

    /// Whether every edge stands for two, there and back.
    fn symmetric(&self) -> bool {
        false
    }

    /// Adds all edges to the sink.
    fn add_edges<T: FileWeight>(&self, sink: &EdgeSink<'_, T>, context: &ReadContext<'_>) -> Result<(), ReadError>;
}

/// What reading edges needs to know.
struct ReadContext<'p> {
    name: &'p str,
    weight: Weight,
    progress: &'p Progress<'p>,
}

impl ReadContext<'_> {
    /// Adds edges that a reader has accepted.
    fn add<T: FileWeight>(&self, sink: &EdgeSink<'_, T>, edges: &[(u64, u64, T)]) -> Result<(), ReadError> {
        sink.add_all(edges.iter().copied()).map_err(|(_, error)| self.edge_error(&error))
    }

    /// The error for an edge that a reader had accepted.
    fn edge_error(&self, error: &EdgeError) -> ReadError {
        ReadError::File(Problem::said(error.to_string()).at(self.name, Place::FILE))
    }
}

/// Why reading ends before the file does.
enum ReadError {
    /// The file is in error, or the observer asked for it.
    File(FormatError),
    /// The matrix cannot be made.
    Memory(MatrixError),
    /// A weight is no whole number, or too large a one: all of them are to be read as f32.
    RetryAsF32,
}

impl From<FormatError> for ReadError {
    fn from(error: FormatError) -> Self {
        Self::File(error)
    }
}

impl From<MatrixError> for ReadError {
    fn from(error: MatrixError) -> Self {
        Self::Memory(error)
    }
}

impl ReadError {
    fn explain(self, name: &str) -> FormatError {
        match self {
            Self::File(error) => error,
            Self::Memory(error) => {
                Problem::new(error.to_string(), "take a smaller graph or a machine with more memory")
                    .at(name, Place::FILE)
            }
            // Only a first pass ends so, and the second, as f32, has replaced it.
            Self::RetryAsF32 => Problem::new("a weight is none of i32", weight::AS_F32).at(name, Place::FILE),
        }
    }
}

impl Rejected {
    fn at(self, name: &str, place: Place) -> ReadError {
        match self {
            Self::RetryAsF32 => ReadError::RetryAsF32,
            Self::Problem(problem) => ReadError::File(problem.at(name, place)),
        }
    }
}

/// Adds all edges of a file to the sink.
fn add_all_edges<T: FileWeight>(
    file: &impl Edges,
    sink: &EdgeSink<'_, T>,
    context: &ReadContext<'_>,
    undirected: bool,
) -> Result<(), ReadError> {
    if undirected {
        sink.undirected();
    }
    file.add_edges(sink, context)
}

fn build<F: Edges>(
    file: &F,
    name: &str,
    options: &GraphOptions<'_>,
    progress: &Progress<'_>,
) -> Result<AnyGraph, FormatError> {
    let &GraphOptions { weight: asked, undirected, admit } = options;
    let vertices = file.vertices();
    admit(vertices).map_err(|text| Problem::said(text).at(name, Place::FILE))?;
    let context = ReadContext { name, weight: asked, progress };
    let undirected = undirected || file.symmetric();
    let whole =
        || Graph::<i32>::build(vertices, |sink| add_all_edges(file, sink, &context, undirected)).map(AnyGraph::Whole);
    let real =
        || Graph::<f32>::build(vertices, |sink| add_all_edges(file, sink, &context, undirected)).map(AnyGraph::Real);
    let built = match asked {
        Weight::F32 => real(),
        Weight::I32 | Weight::I16 => whole(),
        Weight::Auto => match whole() {
            Err(ReadError::RetryAsF32) => real(),
            other => other,
        },
    };
    built.map_err(|error| error.explain(name))
}

#[cfg(test)]
mod tests;
