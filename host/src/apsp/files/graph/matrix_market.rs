//! Matrix Market's coordinate format (`.mtx`): the entry of row i, column j is the weight of the edge from i to j; both count from 1.
//!
//! ```text
//! %%MatrixMarket matrix coordinate real general
//! % comments
//! 3 3 2         rows, columns, entries
//! 1 2 5.5       row, column, weight (none where the matrix is a pattern: then all weights are 1)
//! ```
//!
//! The entries of a symmetric matrix count both ways. Entries that are 0 are edges of weight 0. Skew-symmetric and Hermitian matrices and
//! complex numbers are no graphs, and dense arrays are left to NPY.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::text::{Fields, Lines, MOST_VERTICES, digits, value, vertex};
use super::weight::{FileWeight, Rejected, weight};
use super::{Edges, ReadContext, ReadError};
use crate::apsp::EdgeSink;
use crate::io::quote;
use crate::io::source::Source;
use crate::io::{FormatError, Place, Problem, Value};

/// What the first lines say, and the lines after them.
pub(super) struct MatrixMarket<'s> {
    lines: Lines<'s>,
    /// Of the line with the sizes.
    place: Place,
    vertices: usize,
    entries: u64,
    pattern: bool,
    symmetric: bool,
}

/// Whether the matrix is a pattern, and symmetric.
fn banner(line: &[u8]) -> Result<(bool, bool), Problem> {
    let lower = line.to_ascii_lowercase();
    let words: Vec<_> = Fields::<false>::new(&lower).collect();
    let [b"%%matrixmarket", object, format, field, symmetry] = words[..] else {
        let what = "the file does not begin with a line %%MatrixMarket and four words";
        return Err(Problem::new(what, "write %%MatrixMarket matrix coordinate real general"));
    };
    let reject = |word, advice: &str| Err(Problem::new(format!("{} is not read", quote(word)), advice));
    if object != b"matrix" {
        return reject(object, "save a matrix");
    }
    if format != b"coordinate" {
        return reject(format, "save the matrix in coordinate format, or as .npy");
    }
    if !matches!(field, b"real" | b"double" | b"integer" | b"pattern") {
        return reject(field, "weights are real, integer or pattern");
    }
    if !matches!(symmetry, b"general" | b"symmetric") {
        return reject(symmetry, "save all entries, as general");
    }
    Ok((field == b"pattern", symmetry == b"symmetric"))
}

/// Rows, which are as many as columns, and entries.
fn sizes(line: &[u8]) -> Result<(usize, u64), Problem> {
    let words: Vec<_> = Fields::<false>::new(line).collect();
    let numbers: Vec<u64> = words.iter().filter_map(|word| digits(word)).collect();
    let (&[rows, cols, entries], 3) = (&numbers[..], words.len()) else {
        let what = format!("{} is not the size of a matrix", quote(line.trim_ascii()));
        return Err(Problem::new(what, "write rows, columns and entries"));
    };
    if rows != cols {
        let what = format!("the matrix has {rows} rows and {cols} columns");
        return Err(Problem::new(what, "a matrix of weights is square"));
    }
    if !(1..=MOST_VERTICES).contains(&rows) {
        let what = format!("the line promises {rows} vertices");
        return Err(Problem::new(what, format!("there can be 1 to {MOST_VERTICES}")));
    }
    Ok((rows as usize, entries))
}

fn is_comment(line: &[u8]) -> bool {
    line.iter().find(|byte| !byte.is_ascii_whitespace()).is_none_or(|&byte| byte == b'%')
}

impl<'s> MatrixMarket<'s> {
    pub(super) fn open(source: &'s Source) -> Result<Self, FormatError> {
        let (mut lines, mut buffer) = (Lines::new(source)?, Vec::new());
        let first = lines.next(&mut buffer)?.map_or(&[][..], |(_, line)| line);
        let (pattern, symmetric) = banner(first).map_err(|problem| problem.at(&source.name, Place::line(1)))?;
        while let Some((at, line)) = lines.next(&mut buffer)? {
            if is_comment(line) {
                continue;
            }
            let (sizes, place) = (sizes(line), lines.place(at)?);
            let (vertices, entries) = sizes.map_err(|problem| problem.at(&source.name, place))?;
            return Ok(Self { lines, place, vertices, entries, pattern, symmetric });
        }
        let problem = Problem::new("there is no line with the size", "write rows, columns and entries");
        Err(problem.at(&source.name, Place::FILE))
    }

    fn entry<T: FileWeight>(&self, line: &[u8], context: &ReadContext<'_>) -> Result<Option<(u64, u64, T)>, Rejected> {
        let mut fields = Fields::<false>::new(line);
        let Some(row) = fields.next().filter(|row| !row.starts_with(b"%")) else { return Ok(None) };
        let col = fields.next();
        let number = if self.pattern { Some(Value::Whole(1)) } else { fields.next().map(value).transpose()? };
        let (Some(col), Some(number), None) = (col, number, fields.next()) else {
            let what =
                if self.pattern { "an entry of a pattern has two numbers" } else { "an entry has three numbers" };
            return Err(Problem::new(what, "write row, column and, unless it is a pattern, weight").into());
        };
        let end = self.vertices as u64 + 1;
        Ok(Some((vertex(row, 1, end)?, vertex(col, 1, end)?, weight(number, context.weight)?)))
    }
}

impl Edges for MatrixMarket<'_> {
    fn vertices(&self) -> usize {
        self.vertices
    }

    fn symmetric(&self) -> bool {
        self.symmetric
    }

    fn add_edges<T: FileWeight>(&self, sink: &EdgeSink<'_, T>, context: &ReadContext<'_>) -> Result<(), ReadError> {
        let entries = AtomicU64::new(0);
        self.lines.each(
            context.progress,
            1,
            Vec::new,
            |edges, line| {
                edges.extend(self.entry::<T>(line, context)?);
                Ok(())
            },
            |edges| {
                entries.fetch_add(edges.len() as u64, Relaxed);
                context.add(sink, &edges)
            },
        )?;
        let (found, promised) = (entries.into_inner(), self.entries);
        if found != promised {
            let what = format!("the line promises {promised} entries, and there are {found}");
            let problem = Problem::new(what, "the file is cut short, or the line is wrong");
            return Err(problem.at(context.name, self.place).into());
        }
        Ok(())
    }
}
