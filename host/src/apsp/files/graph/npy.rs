//! A square matrix of weights as an NPY file: the entry of row i, column j is the weight of the edge from i to j.
//!
//! There is no edge where a floating-point number is infinite or NaN, or an integer is 2^30 - 1 or more; nor on the diagonal, unless it
//! is negative. Zeros beside the diagonal are edges of weight 0: a file has to say where there are none, as every number could be a
//! weight.
//!
//! A part is a few rows, or columns in Fortran order. Edges are taken row by row of the graph: in the order of the file where that is
//! the same, and across it otherwise.

use super::weight::{FileWeight, weight};
use super::{Edges, ReadContext, ReadError};
use crate::apsp::EdgeSink;
use crate::io::npy_header::{self, Header};
use crate::io::source::Source;
use crate::io::{FormatError, Place, Problem, Value};
use crate::raster::cell::of_type;

/// Bytes of a part.
const PART: usize = 1 << 20;
/// Rows of a part are a multiple of this: it is what one lock of the graph guards.
const ROWS: usize = 8;

/// A file with a header that is true.
pub(super) struct Npy<'s> {
    source: &'s Source,
    header: Header,
    /// Where the first number is.
    start: u64,
    vertices: usize,
}

/// A type of numbers.
pub(super) trait Number: Copy + Send + Sync {
    const SIZE: usize;
    /// From `SIZE` bytes.
    fn decode(bytes: &[u8], big_endian: bool) -> Self;
    /// The weight, or none where there is no edge.
    fn entry(self) -> Option<Value>;
}

macro_rules! number {
    ($($t:ty, $entry:expr;)*) => {$(
        impl Number for $t {
            const SIZE: usize = size_of::<$t>();
            #[inline(always)]
            fn decode(bytes: &[u8], big_endian: bool) -> Self {
                let mut raw = [0; size_of::<$t>()];
                raw.copy_from_slice(bytes);
                if big_endian { <$t>::from_be_bytes(raw) } else { <$t>::from_le_bytes(raw) }
            }
            #[inline(always)]
            fn entry(self) -> Option<Value> {
                $entry(self)
            }
        }
    )*};
}

/// Integers from here on are no edge.
const NONE: i32 = (1 << 30) - 1;

number! {
    u8, |v| Some(Value::Whole(i128::from(v)));
    i8, |v| Some(Value::Whole(i128::from(v)));
    u16, |v| Some(Value::Whole(i128::from(v)));
    i16, |v| Some(Value::Whole(i128::from(v)));
    u32, |v| (v < NONE as u32).then_some(Value::Whole(i128::from(v)));
    i32, |v| (v < NONE).then_some(Value::Whole(i128::from(v)));
    u64, |v| (v < NONE as u64).then_some(Value::Whole(i128::from(v)));
    i64, |v| (v < i64::from(NONE)).then_some(Value::Whole(i128::from(v)));
    f32, |v: f32| f64::from(v).entry();
    f64, |v: f64| (!v.is_nan() && v != f64::INFINITY).then(|| Value::from(v));
}

/// Whether it is a weight below 0.
#[inline(always)]
pub(super) fn negative(value: Value) -> bool {
    match value {
        Value::Whole(v) => v < 0,
        Value::Real(v) => v < 0.0,
    }
}

impl<'s> Npy<'s> {
    pub(super) fn open(source: &'s Source) -> Result<Self, FormatError> {
        let here = |problem: Problem| problem.at(&source.name, Place::FILE);
        let mut input = source.reader(0);
        let header = npy_header::read(&mut input, &source.name)?;
        let start = input.position();
        let (rows, cols) = (header.rows, header.cols);
        if rows != cols {
            let what = format!("the array has {rows} rows and {cols} columns");
            return Err(here(Problem::new(what, "a matrix of weights is square")));
        }
        if rows == 0 {
            return Err(here(Problem::new("the array is empty", "a graph has at least one vertex")));
        }
        if header.is_bool {
            let advice = "save weights, and 2^30 - 1 or infinity where there is no edge";
            return Err(here(Problem::new("the array is one of booleans", advice)));
        }
        header.check_length(source.length - start).map_err(here)?;
        // As many bytes are there.
        Ok(Self { source, header, start, vertices: rows as usize })
    }

    fn numbers<N: Number, T: FileWeight>(
        &self,
        sink: &EdgeSink<'_, T>,
        context: &ReadContext<'_>,
    ) -> Result<(), ReadError> {
        let (line, fortran, big_endian) = (self.vertices * N::SIZE, self.header.fortran, self.header.big_endian);
        let lines = (PART / line).max(1).next_multiple_of(ROWS);
        context.progress.parts(self.source, self.vertices.div_ceil(lines), |part, buffer| {
            let first = part * lines;
            let count = lines.min(self.vertices - first);
            let bytes = self.source.read(self.start + (first * line) as u64, (count * line) as u64, buffer)?;
            let mut refused = None;
            // The edge that entry n of line o is, and what is no weight where it is found.
            let mut edge = |o: usize, n: usize, from: usize, to: usize| {
                let entry = N::decode(&bytes[o * line + n * N::SIZE..][..N::SIZE], big_endian).entry()?;
                if from == to && !negative(entry) {
                    return None;
                }
                match weight::<T>(entry, context.weight) {
                    Ok(weight) => Some((from as u64, to as u64, weight)),
                    Err(why) => {
                        refused.get_or_insert((o, n, why));
                        None
                    }
                }
            };
            let taken = if fortran {
                (0..self.vertices).try_for_each(|n| sink.add_all((0..count).filter_map(|o| edge(o, n, n, first + o))))
            } else {
                (0..count).try_for_each(|o| sink.add_all((0..self.vertices).filter_map(|n| edge(o, n, first + o, n))))
            };
            if let Some((o, n, why)) = refused {
                let (row, col) = if fortran { (n, first + o) } else { (first + o, n) };
                return Err(why.at(&self.source.name, Place::cell(row, col)));
            }
            taken.map_err(|(_, error)| context.edge_error(&error))?;
            context.progress.advance(bytes.len() as u64);
            Ok(())
        })
    }
}

impl Edges for Npy<'_> {
    fn vertices(&self) -> usize {
        self.vertices
    }

    fn add_edges<T: FileWeight>(&self, sink: &EdgeSink<'_, T>, context: &ReadContext<'_>) -> Result<(), ReadError> {
        of_type!(self.header.value_type, N => self.numbers::<N, T>(sink, context))
    }
}
