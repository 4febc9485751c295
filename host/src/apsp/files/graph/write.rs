//! Synthetic graphs to every format, in the order in which they are made and without a table of them.

use std::io::Write;

use super::GraphFormat;
use crate::apsp::Distance;
use crate::io::ordered::{ended, write_parts};
use crate::io::{FormatError, Place, Problem, decimal, npy_header};
use crate::observe::{Cancelled, Observer};

/// Bytes of a part of a matrix, unless a row has more.
const PART: usize = 1 << 20;

/// A graph that is made part by part and row by row, each the same whenever it is asked for.
pub trait EdgeSource: Sync {
    /// Vertices, 1 to 2^31 - 1.
    fn vertices(&self) -> usize;

    /// Edges, counted.
    ///
    /// # Errors
    /// The observer stopped the work.
    fn edges(&self, observer: &dyn Observer) -> Result<u64, Cancelled>;

    /// Parts that the edges come in.
    fn parts(&self) -> usize;

    /// The edges of a part: from, to, weight.
    fn part(&self, part: usize, take: impl FnMut(u32, u32, i32));

    /// The edges from a vertex: to, weight.
    fn row(&self, from: usize, take: impl FnMut(u32, i32));
}

/// Writes a graph that is made while it is written.
///
/// ```
/// use halotile::apsp::files::graph::{EdgeSource, GraphFormat, GraphWriter};
/// use halotile::observe::{Cancelled, Observer};
///
/// /// From each of three vertices to the next.
/// struct Ring;
///
/// impl EdgeSource for Ring {
///     fn vertices(&self) -> usize {
///         3
///     }
///     fn edges(&self, _observer: &dyn Observer) -> Result<u64, Cancelled> {
///         Ok(3)
///     }
///     fn parts(&self) -> usize {
///         1
///     }
///     fn part(&self, _part: usize, mut take: impl FnMut(u32, u32, i32)) {
///         (0..3).for_each(|from| take(from, (from + 1) % 3, 5));
///     }
///     fn row(&self, from: usize, mut take: impl FnMut(u32, i32)) {
///         take((from as u32 + 1) % 3, 5);
///     }
/// }
///
/// let mut file = Vec::new();
/// GraphWriter::new(&Ring, GraphFormat::Dimacs, "ring.gr", &())?.write(&mut file, &())?;
/// assert_eq!(file, b"p sp 3 3\na 1 2 5\na 2 3 5\na 3 1 5\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GraphWriter<'g, G> {
    generator: &'g G,
    format: GraphFormat,
    name: String,
    edges: u64,
}

impl<'g, G: EdgeSource> GraphWriter<'g, G> {
    /// Counts the edges, which most formats begin with. `name` is the file's, for messages.
    ///
    /// # Errors
    /// More edges than [`GraphFormat::Binary`] can count, 2^31 - 1; or the observer stopped the work.
    pub fn new(
        generator: &'g G,
        format: GraphFormat,
        name: &str,
        observer: &dyn Observer,
    ) -> Result<Self, FormatError> {
        let edges = match format {
            GraphFormat::Npy | GraphFormat::EdgeList => 0,
            _ => generator.edges(observer).map_err(|_| FormatError::cancelled(name))?,
        };
        if format == GraphFormat::Binary && i32::try_from(edges).is_err() {
            let what = format!("the binary format has room for {} edges, and the graph has {edges}", i32::MAX);
            return Err(Problem::new(what, "write it as .npy").at(name, Place::FILE));
        }
        Ok(Self { generator, format, name: name.to_owned(), edges })
    }

    /// Writes all of it. The observer is notified of vertices: as many as the graph has.
    ///
    /// # Errors
    /// A disk that is full, or a closed pipe; or the observer stopped the work ([`FormatError::is_cancelled`]).
    pub fn write(&self, out: &mut dyn Write, observer: &dyn Observer) -> Result<(), FormatError> {
        let (vertices, edges) = (self.generator.vertices(), self.edges);
        let header = match self.format {
            // Both are below 2^31.
            GraphFormat::Binary => [(vertices as i32).to_le_bytes(), (edges as i32).to_le_bytes()].concat(),
            GraphFormat::Dimacs => format!("p sp {vertices} {edges}\n").into_bytes(),
            GraphFormat::EdgeList => b"from,to,weight\n".to_vec(),
            GraphFormat::MatrixMarket => {
                format!("%%MatrixMarket matrix coordinate integer general\n{vertices} {vertices} {edges}\n")
                    .into_bytes()
            }
            GraphFormat::Npy => npy_header::write(<i32 as Distance>::NPY, vertices, vertices),
        };
        let rows = (PART / (vertices * size_of::<i32>())).max(1);
        let parts = match self.format {
            GraphFormat::Npy => vertices.div_ceil(rows),
            _ => self.generator.parts(),
        };
        let make = |part: usize, bytes: &mut Vec<u8>| {
            match self.format {
                GraphFormat::Npy => {
                    (part * rows..((part + 1) * rows).min(vertices)).for_each(|row| self.row(row, bytes));
                }
                _ => self.generator.part(part, |from, to, weight| self.edge(from, to, weight, bytes)),
            }
            // Parts are of about the same size, and numbers of vertices are below 2^31.
            let until = |part: usize| part as u64 * vertices as u64 / parts as u64;
            until(part + 1) - until(part)
        };
        let written = out.write_all(&header).and_then(|()| write_parts(out, parts, observer, make));
        written.and_then(|()| out.flush()).map_err(|error| ended(&self.name, error))
    }

    /// Appends an edge.
    fn edge(&self, from: u32, to: u32, weight: i32, bytes: &mut Vec<u8>) {
        let (first, blank) = match self.format {
            // Vertices are below 2^31.
            GraphFormat::Binary => {
                return [from as i32, to as i32, weight].iter().for_each(|v| bytes.extend(v.to_le_bytes()));
            }
            GraphFormat::Dimacs => {
                bytes.extend(b"a ");
                (1, b' ')
            }
            GraphFormat::EdgeList => (0, b','),
            GraphFormat::MatrixMarket | GraphFormat::Npy => (1, b' '),
        };
        let vertex = |v: u32| f64::from(v) + f64::from(first);
        for (number, end) in [(vertex(from), blank), (vertex(to), blank), (f64::from(weight), b'\n')] {
            decimal::push(bytes, number, 0, 0);
            bytes.push(end);
        }
    }

    /// Appends a row of the matrix.
    fn row(&self, row: usize, bytes: &mut Vec<u8>) {
        let mut cells = vec![i32::UNREACHABLE; self.generator.vertices()];
        cells[row] = i32::ZERO;
        self.generator.row(row, |to, weight| cells[to as usize] = weight);
        bytes.extend(cells.iter().flat_map(|cell| cell.to_le_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vertices, and the edges that are listed.
    struct List(usize, Vec<(u32, u32, i32)>);

    impl EdgeSource for List {
        fn vertices(&self) -> usize {
            self.0
        }

        fn edges(&self, _observer: &dyn Observer) -> Result<u64, Cancelled> {
            Ok(self.1.len() as u64)
        }

        fn parts(&self) -> usize {
            1
        }

        fn part(&self, _part: usize, mut take: impl FnMut(u32, u32, i32)) {
            self.1.iter().for_each(|&(from, to, weight)| take(from, to, weight));
        }

        fn row(&self, from: usize, mut take: impl FnMut(u32, i32)) {
            self.1.iter().filter(|edge| edge.0 as usize == from).for_each(|&(_, to, weight)| take(to, weight));
        }
    }

    /// A graph of which only the number of edges is known.
    struct Counted(u64);

    impl EdgeSource for Counted {
        fn vertices(&self) -> usize {
            46_342
        }

        fn edges(&self, _observer: &dyn Observer) -> Result<u64, Cancelled> {
            Ok(self.0)
        }

        fn parts(&self) -> usize {
            0
        }

        fn part(&self, _part: usize, _take: impl FnMut(u32, u32, i32)) {}

        fn row(&self, _from: usize, _take: impl FnMut(u32, i32)) {}
    }

    fn written(source: &List, format: GraphFormat) -> Vec<u8> {
        let mut file = Vec::new();
        GraphWriter::new(source, format, "g", &()).unwrap().write(&mut file, &()).unwrap();
        file
    }

    #[test]
    fn files_are_what_the_formats_say() {
        let chain = List(2, vec![(0, 1, -7)]);
        let numbers = |numbers: &[i32]| numbers.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
        assert_eq!(written(&chain, GraphFormat::Binary), numbers(&[2, 1, 0, 1, -7]));
        assert_eq!(written(&chain, GraphFormat::EdgeList), b"from,to,weight\n0,1,-7\n");
        let banner = "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 -7\n";
        assert_eq!(written(&chain, GraphFormat::MatrixMarket), banner.as_bytes());
        let matrix = [npy_header::write("<i4", 2, 2), numbers(&[0, -7, 1_073_741_823, 0])].concat();
        assert_eq!(written(&chain, GraphFormat::Npy), matrix);
        assert_eq!(written(&List(5, Vec::new()), GraphFormat::Dimacs), b"p sp 5 0\n");
    }

    #[test]
    fn more_edges_than_a_format_counts_are_refused() {
        let many = Counted(2_147_534_622);
        let e = GraphWriter::new(&many, GraphFormat::Binary, "g.bin", &()).map(drop).unwrap_err();
        assert_eq!(
            e.to_string(),
            "g.bin: the binary format has room for 2147483647 edges, and the graph has 2147534622; write it as .npy"
        );
        assert!(GraphWriter::new(&many, GraphFormat::MatrixMarket, "g.mtx", &()).is_ok());
    }
}
