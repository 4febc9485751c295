//! Graphs that are in memory already: a square matrix of weights as a [`Raster`], or edges in arrays.
//!
//! What an entry means is what it means in an NPY file (see `npy`): there is no edge where a floating-point number is infinite or NaN, or an
//! integer is 2^30 − 1 or more, nor on the diagonal, unless it is negative; zeros beside it are edges. Edges in arrays all are edges, zeros
//! and infinities as in text.

use rayon::prelude::*;

use super::npy::{Number, negative};
use super::weight::{FileWeight, Rejected, weight};
use super::{AnyGraph, Edges, GraphOptions, ReadContext, ReadError, build, progress::Progress};
use crate::apsp::EdgeSink;
use crate::io::{FormatError, Place, Problem};
use crate::observe::Observer;
use crate::raster::cell::{Cell, each};
use crate::raster::{Raster, Values};

/// Numbers of a part, about.
const PART: usize = 1 << 18;

/// Rows of a part are a multiple of this: it is what one lock of the graph guards.
const ROWS: usize = 8;

/// A graph in memory.
#[derive(Clone, Copy)]
pub enum GraphArrays<'a> {
    /// The weight from i to j at row i, column j.
    Matrix(&'a dyn Raster),
    /// Edges: where they begin and end, and what they weigh. Of parallel ones the lightest counts.
    Edges {
        /// Vertices, numbered from 0.
        vertices: usize,
        /// Where each begins.
        sources: &'a [u64],
        /// Where each ends; as many.
        targets: &'a [u64],
        /// What they weigh: one row with as many columns.
        weights: &'a dyn Raster,
    },
}

/// Makes a graph of what is in memory. The observer is notified of bytes of weights.
///
/// ```
/// use halotile::grid::Grid;
/// use halotile::apsp::files::graph::{AnyGraph, GraphArrays, GraphOptions, read_arrays};
/// use halotile::raster::GridRaster;
/// let weights = GridRaster::new("weights", Grid::from_vec(vec![0u8, 5, 9, 0], 2, 2)?, None);
/// let AnyGraph::Whole(graph) = read_arrays(GraphArrays::Matrix(&weights), &GraphOptions::default(), &())? else {
///     unreachable!("bytes have no fractions");
/// };
/// assert_eq!((graph.weights.get(0, 1), graph.weights.get(1, 0)), (5, 9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A matrix that is not square, an edge that ends nowhere, a weight that is none: with its place. What `admit` says, or that the observer stopped
/// the work ([`FormatError::is_cancelled`]).
pub fn read_arrays(
    arrays: GraphArrays<'_>,
    options: &GraphOptions<'_>,
    observer: &dyn Observer,
) -> Result<AnyGraph, FormatError> {
    match arrays {
        GraphArrays::Matrix(raster) => {
            let (rows, cols) = (raster.rows(), raster.cols());
            if rows != cols {
                let what = format!("the array has {rows} rows and {cols} columns");
                return Err(Problem::new(what, "a matrix of weights is square").at(raster.name(), Place::FILE));
            }
            let bytes = (rows * cols * raster.value_type().bytes()) as u64;
            build(&Matrix { raster, observer }, raster.name(), options, &Progress::new(observer, bytes))
        }
        GraphArrays::Edges { vertices, sources, targets, weights } => {
            let name = weights.name();
            if sources.len() != weights.cols() || targets.len() != weights.cols() {
                let what = format!(
                    "there are {} edges by where they begin, {} by where they end and {} by what they weigh",
                    sources.len(),
                    targets.len(),
                    weights.cols()
                );
                return Err(Problem::new(what, "give as many of each").at(name, Place::FILE));
            }
            let bytes = (sources.len() * weights.value_type().bytes()) as u64;
            let list = List { vertices, sources, targets, weights, observer };
            build(&list, name, options, &Progress::new(observer, bytes))
        }
    }
}

/// Does `part` for each part, on all threads; of several errors the first one is returned.
fn parts(
    name: &str,
    count: usize,
    observer: &dyn Observer,
    part: impl Fn(usize) -> Result<(), ReadError> + Sync,
) -> Result<(), ReadError> {
    let stopped = || ReadError::File(FormatError::cancelled(name));
    let done = |i| if observer.cancelled() { Err(stopped()) } else { part(i) };
    (0..count).into_par_iter().map(done).find_map_first(Result::err).map_or(Ok(()), Err)
}

/// A square of weights.
struct Matrix<'a> {
    raster: &'a dyn Raster,
    observer: &'a dyn Observer,
}

impl Edges for Matrix<'_> {
    fn vertices(&self) -> usize {
        self.raster.rows()
    }

    fn add_edges<T: FileWeight>(&self, sink: &EdgeSink<'_, T>, context: &ReadContext<'_>) -> Result<(), ReadError> {
        let vertices = self.vertices();
        let rows = (PART / vertices).max(1).next_multiple_of(ROWS);
        parts(context.name, vertices.div_ceil(rows), self.observer, |part| {
            let own = part * rows..vertices.min((part + 1) * rows);
            let values = self.raster.read(own.clone(), 0..vertices)?;
            each!(&values, numbers => own.zip(numbers.chunks(vertices)).try_for_each(|(from, row)| {
                add_row(sink, context, from, row)
            }))?;
            context.progress.advance((values.len() * values.value_type().bytes()) as u64);
            Ok(())
        })
    }
}

/// The edges of a row.
fn add_row<N: Number, T: FileWeight>(
    sink: &EdgeSink<'_, T>,
    context: &ReadContext<'_>,
    from: usize,
    row: &[N],
) -> Result<(), ReadError> {
    let mut refused = None;
    let edges = row.iter().enumerate().filter_map(|(to, number)| {
        let entry = number.entry()?;
        if from == to && !negative(entry) {
            return None;
        }
        match weight::<T>(entry, context.weight) {
            Ok(weight) => Some((from as u64, to as u64, weight)),
            Err(why) => {
                refused.get_or_insert((to, why));
                None
            }
        }
    });
    let taken = sink.add_all(edges);
    if let Some((to, why)) = refused {
        return Err(why.at(context.name, Place::cell(from, to)));
    }
    taken.map_err(|(_, error)| context.edge_error(&error))
}

/// Edges one after the other.
struct List<'a> {
    vertices: usize,
    sources: &'a [u64],
    targets: &'a [u64],
    weights: &'a dyn Raster,
    observer: &'a dyn Observer,
}

impl Edges for List<'_> {
    fn vertices(&self) -> usize {
        self.vertices
    }

    fn add_edges<T: FileWeight>(&self, sink: &EdgeSink<'_, T>, context: &ReadContext<'_>) -> Result<(), ReadError> {
        parts(context.name, self.sources.len().div_ceil(PART), self.observer, |part| {
            let own = part * PART..self.sources.len().min((part + 1) * PART);
            let values: Values = self.weights.read(0..1, own.clone())?;
            let at = |i: usize| Place::edge((own.start + i) as u64);
            let weights = each!(&values, numbers => {
                let of = |(i, number): (usize, &_)| weigh(*number, context).map_err(|why| why.at(context.name, at(i)));
                numbers.iter().enumerate().map(of).collect::<Result<Vec<T>, ReadError>>()
            })?;
            let ends = self.sources[own.clone()].iter().zip(&self.targets[own.clone()]);
            let edges = ends.zip(weights).map(|((&from, &to), weight)| (from, to, weight));
            let taken = sink.add_all(edges);
            taken.map_err(|(i, error)| ReadError::File(Problem::said(error.to_string()).at(context.name, at(i))))?;
            context.progress.advance((values.len() * values.value_type().bytes()) as u64);
            Ok(())
        })
    }
}

/// What an edge weighs.
fn weigh<N: Cell, T: FileWeight>(number: N, context: &ReadContext<'_>) -> Result<T, Rejected> {
    weight(number.value(), context.weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apsp::Weight;
    use crate::classes::tests::Numbers;
    use crate::grid::Grid;
    use crate::raster::GridRaster;

    const NONE: i32 = (1 << 30) - 1;

    fn of(arrays: GraphArrays<'_>) -> Result<AnyGraph, FormatError> {
        read_arrays(arrays, &GraphOptions::default(), &())
    }

    /// Rows of weights, a matrix larger than a part among them.
    #[test]
    fn a_matrix_is_read_as_from_a_file() {
        let size = 700;
        let at = |i: usize, j: usize| ((i * 31 + j * 17) % 101) as u8;
        let raster = GridRaster::new("m", Grid::from_fn(size, size, at).unwrap(), None);
        let AnyGraph::Whole(graph) = of(GraphArrays::Matrix(&raster)).unwrap() else { panic!("whole numbers") };
        let wanted = |i, j| if i == j { 0 } else { i32::from(at(i, j)) };
        assert!((0..size).all(|i| (0..size).all(|j| graph.weights.get(i, j) == wanted(i, j))));

        let inf = f64::INFINITY;
        let raster = Numbers::new(2, 2, Values::F64(vec![0.0, inf, f64::NAN, -0.0]));
        let AnyGraph::Whole(graph) = of(GraphArrays::Matrix(&raster)).unwrap() else { panic!("whole numbers") };
        assert_eq!((graph.edges, graph.weights.get(0, 1), graph.weights.get(1, 0)), (0, NONE, NONE));
        let raster = Numbers::new(2, 2, Values::F32(vec![0.0, 0.5, 2.0, 0.0]));
        let AnyGraph::Real(graph) = of(GraphArrays::Matrix(&raster)).unwrap() else { panic!("fractions") };
        assert_eq!((graph.weights.get(0, 1), graph.weights.get(1, 0)), (0.5, 2.0));
    }

    #[test]
    fn edges_are_all_edges() {
        let weights = Numbers::line(Values::I64(vec![4, 0, 3, 9]));
        let arrays =
            GraphArrays::Edges { vertices: 3, sources: &[0, 1, 0, 2], targets: &[1, 2, 1, 2], weights: &weights };
        let AnyGraph::Whole(graph) = of(arrays).unwrap() else { panic!("whole numbers") };
        assert_eq!(graph.edges, 4);
        assert_eq!((graph.weights.get(0, 1), graph.weights.get(1, 2), graph.weights.get(2, 0)), (3, 0, NONE));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let said = |arrays| of(arrays).unwrap_err().to_string();
        let flat = Numbers::new(1, 2, Values::U8(vec![1, 2]));
        assert_eq!(
            said(GraphArrays::Matrix(&flat)),
            "numbers: the array has 1 rows and 2 columns; a matrix of weights is square"
        );
        let large = Numbers::new(2, 2, Values::I64(vec![0, 1, -1 << 40, 0]));
        let whole = GraphOptions { weight: Weight::I32, ..GraphOptions::default() };
        let refused = read_arrays(GraphArrays::Matrix(&large), &whole, &()).unwrap_err().to_string();
        assert!(refused.starts_with("numbers: row 1, column 0 (counted from 0): the weight -10"));
        let weights = Numbers::line(Values::F64(vec![1.0, f64::NEG_INFINITY]));
        let edges = |sources| GraphArrays::Edges { vertices: 2, sources, targets: &[1, 0], weights: &weights };
        assert!(said(edges(&[0, 1])).starts_with("numbers: edge 1 (counted from 0): the weight -inf"));
        assert!(said(edges(&[0])).starts_with("numbers: there are 1 edges by where they begin, 2 by"));
        let weights = Numbers::line(Values::F64(vec![1.0, 2.0]));
        let edges = GraphArrays::Edges { vertices: 2, sources: &[0, 2], targets: &[1, 0], weights: &weights };
        assert_eq!(said(edges), "numbers: edge 1 (counted from 0): vertex 2 is not below the number of vertices, 2");
    }
}
