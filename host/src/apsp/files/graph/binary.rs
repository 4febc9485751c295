//! The source's binary: little-endian 32-bit numbers V and E, then from, to and weight of E edges; vertices count from 0.
//!
//! The file's length says whether E is true before anything is done about it. A part of 2^16 edges is read and taken at a time, by each
//! thread; edges are mostly sorted by source, and then threads work on rows of their own.

use super::weight::FileWeight;
use super::{Edges, ReadContext, ReadError};
use crate::apsp::{EdgeError, EdgeSink};
use crate::io::source::Source;
use crate::io::{FormatError, Place, Problem, Value};

/// Bytes of V and E, and of an edge.
const HEADER: u64 = 8;
const EDGE: u64 = 12;
/// Edges of a part.
const PART: u64 = 1 << 16;

/// A file with a header that is true.
pub(super) struct Binary<'s> {
    source: &'s Source,
    vertices: usize,
    edges: u64,
}

fn number(bytes: &[u8]) -> i32 {
    let mut raw = [0; 4];
    raw.copy_from_slice(bytes);
    i32::from_le_bytes(raw)
}

/// From, to and weight. A negative vertex becomes one that no graph has.
#[inline(always)]
fn edge<T: FileWeight>(bytes: &[u8]) -> (u64, u64, T) {
    let vertex = |bytes| u64::from(number(bytes).cast_unsigned());
    (vertex(&bytes[..4]), vertex(&bytes[4..8]), T::from_i32(number(&bytes[8..12])))
}

impl<'s> Binary<'s> {
    pub(super) fn open(source: &'s Source) -> Result<Self, FormatError> {
        let here = |problem: Problem| problem.at(&source.name, Place::FILE);
        let make = "it begins with the numbers of vertices and edges, 32 bits each";
        if source.length < HEADER {
            let what = if source.length == 0 { "the file is empty" } else { "the file ends inside its header" };
            return Err(here(Problem::new(what, make)));
        }
        let mut header = Vec::new();
        let header = source.read(0, HEADER, &mut header)?;
        let (vertices, edges) = (number(&header[..4]), number(&header[4..]));
        let vertices = usize::try_from(vertices).ok().filter(|&v| v > 0).ok_or_else(|| {
            let what = format!("the header promises {vertices} vertices");
            here(Problem::new(what, "a graph has at least one; the file is damaged, or not in this format"))
        })?;
        let edges = u64::try_from(edges).map_err(|_| {
            let what = format!("the header promises {edges} edges");
            here(Problem::new(what, "the file is damaged, or not in this format"))
        })?;
        let body = source.length - HEADER;
        if body < edges * EDGE {
            let what = format!("the file ends after {} of {edges} edges", body / EDGE);
            return Err(here(Problem::new(what, "it is cut short; copy it again")));
        }
        if body > edges * EDGE {
            let what = format!("there are {} more bytes after the {edges} edges", body - edges * EDGE);
            return Err(here(Problem::new(what, "the header is wrong, or the file is not in this format")));
        }
        Ok(Self { source, vertices, edges })
    }

    /// What is wrong with an edge.
    fn explain<T: FileWeight>(&self, at: u64, bytes: &[u8], error: &EdgeError) -> FormatError {
        let (from, to, weight) = (number(&bytes[..4]), number(&bytes[4..8]), number(&bytes[8..12]));
        let problem = match error {
            EdgeError::Vertex { .. } => Problem::new(
                format!("it leads from {from} to {to}, and the vertices are 0 to {}", self.vertices - 1),
                "correct the edge, or the number of vertices",
            ),
            EdgeError::Weight { .. } => T::too_large(Value::Whole(i128::from(weight))),
        };
        problem.at(&self.source.name, Place::edge(at))
    }
}

impl Edges for Binary<'_> {
    fn vertices(&self) -> usize {
        self.vertices
    }

    fn add_edges<T: FileWeight>(&self, sink: &EdgeSink<'_, T>, context: &ReadContext<'_>) -> Result<(), ReadError> {
        let parts = self.edges.div_ceil(PART) as usize;
        context.progress.parts(self.source, parts, |part, buffer| {
            let first = part as u64 * PART;
            let count = PART.min(self.edges - first);
            let bytes = self.source.read(HEADER + first * EDGE, count * EDGE, buffer)?;
            sink.add_all(bytes.chunks_exact(EDGE as usize).map(edge::<T>))
                .map_err(|(n, error)| self.explain::<T>(first + n as u64, &bytes[n * EDGE as usize..], &error))?;
            context.progress.advance(bytes.len() as u64);
            Ok(())
        })
    }
}
