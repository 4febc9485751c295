//! Edges as lines of two or three columns: from, to and weight (1 where there is no third), parted by commas, tabs or blanks.
//!
//! Vertices are whole numbers from 0, and there are as many as the largest says. A first line of names is the
//! header; lines that begin with `#` or `%` are comments. All lines have as many columns as the first one with numbers.
//!
//! Nothing says how many vertices there are, so that the file is gone through twice: once for the largest, once for the edges. Keeping the
//! edges would take as much memory as the text.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::progress::Progress;
use super::text::{Fields, Lines, MOST_VERTICES, value, vertex};
use super::weight::{FileWeight, Rejected, weight};
use super::{Edges, ReadContext, ReadError};
use crate::apsp::EdgeSink;
use crate::io::source::Source;
use crate::io::{Place, Problem, Value};

/// The lines after the header.
pub(super) struct EdgeList<'s> {
    lines: Lines<'s>,
    columns: usize,
    vertices: usize,
}

/// From, to and the field of the weight.
type Line<'l> = (u64, u64, Option<&'l [u8]>);

fn is_comment(line: &[u8]) -> bool {
    let first = line.iter().find(|byte| !byte.is_ascii_whitespace());
    first.is_none_or(|byte| matches!(byte, b'#' | b'%'))
}

/// Whether a field names a column: what is not a number, and no damaged one either.
fn is_name(field: &[u8]) -> bool {
    let letter = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'"') || !byte.is_ascii();
    field.first().is_some_and(letter) && value(field).is_err()
}

/// Most columns that are counted.
const MANY: usize = 100;

impl<'s> EdgeList<'s> {
    pub(super) fn open(source: &'s Source, progress: &Progress<'_>) -> Result<Self, ReadError> {
        let (mut ahead, mut buffer) = (Lines::new(source)?, Vec::new());
        let (mut lines, mut columns, mut header) = (ahead.clone(), None, false);
        while let Some((at, line)) = ahead.next(&mut buffer)? {
            if is_comment(line) {
                continue;
            }
            if !header && Fields::<true>::new(line).all(is_name) {
                header = true;
                lines = ahead.clone();
                continue;
            }
            let found = Fields::<true>::new(line).take(MANY).count();
            if !(2..=3).contains(&found) {
                let what = format!("the line has {}", count(found));
                let problem = Problem::new(what, "an edge has from, to and, if there are weights, a weight");
                return Err(problem.at(&source.name, ahead.place(at)?).into());
            }
            columns = Some(found);
            break;
        }
        let Some(columns) = columns else {
            let problem = Problem::new("there are no edges", "give lines of from, to and weight");
            return Err(problem.at(&source.name, Place::FILE).into());
        };
        let mut list = Self { lines, columns, vertices: 0 };
        let largest = AtomicU64::new(0);
        list.lines.each(
            progress,
            2,
            || 0,
            |most, line| {
                if let Some((from, to, _)) = list.fields(line)? {
                    *most = from.max(to).max(*most);
                }
                Ok(())
            },
            |most| {
                largest.fetch_max(most, Relaxed);
                Ok(())
            },
        )?;
        // Below MOST_VERTICES.
        list.vertices = largest.into_inner() as usize + 1;
        Ok(list)
    }

    /// None where the line is no edge.
    #[inline(always)]
    fn fields<'l>(&self, line: &'l [u8]) -> Result<Option<Line<'l>>, Problem> {
        let mut fields = Fields::<true>::new(line);
        let Some(from) = fields.next().filter(|field| !matches!(field.first(), Some(b'#' | b'%'))) else {
            return Ok(None);
        };
        let (to, weight) = (fields.next(), if self.columns == 3 { fields.next() } else { None });
        match (to, weight.is_some() || self.columns == 2, fields.next()) {
            (Some(to), true, None) => {
                Ok(Some((vertex(from, 0, MOST_VERTICES)?, vertex(to, 0, MOST_VERTICES)?, weight)))
            }
            _ => Err(self.misshapen(line)),
        }
    }

    #[cold]
    fn misshapen(&self, line: &[u8]) -> Problem {
        let found = Fields::<true>::new(line).take(MANY).count();
        let what = format!("the line has {}, and the first edge has {}", count(found), self.columns);
        Problem::new(what, "correct the line")
    }
}

fn count(fields: usize) -> String {
    match fields {
        1 => "1 column".to_owned(),
        MANY => format!("{MANY} columns or more"),
        n => format!("{n} columns"),
    }
}

impl Edges for EdgeList<'_> {
    fn vertices(&self) -> usize {
        self.vertices
    }

    fn add_edges<T: FileWeight>(&self, sink: &EdgeSink<'_, T>, context: &ReadContext<'_>) -> Result<(), ReadError> {
        self.lines.each(
            context.progress,
            2,
            Vec::new,
            |edges: &mut Vec<(u64, u64, T)>, line| {
                if let Some((from, to, field)) = self.fields(line).map_err(Rejected::Problem)? {
                    let number = field.map_or(Ok(Value::Whole(1)), value)?;
                    edges.push((from, to, weight(number, context.weight)?));
                }
                Ok(())
            },
            |edges| context.add(sink, &edges),
        )
    }
}
