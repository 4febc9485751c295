//! The shortest-path format of the 9th DIMACS challenge (`.gr`): a line a fact, and its first letter says which.
//!
//! ```text
//! c   a comment
//! p sp 3 2      vertices and arcs, before any arc
//! a 1 2 5       from, to, weight; vertices count from 1
//! ```

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::text::{Fields, Lines, MOST_VERTICES, digits, value, vertex};
use super::weight::{FileWeight, Rejected, weight};
use super::{Edges, ReadContext, ReadError};
use crate::apsp::EdgeSink;
use crate::io::quote;
use crate::io::source::Source;
use crate::io::{FormatError, Place, Problem};

/// What the line p says, and the lines after it.
pub(super) struct Dimacs<'s> {
    lines: Lines<'s>,
    place: Place,
    vertices: usize,
    arcs: u64,
}

impl<'s> Dimacs<'s> {
    pub(super) fn open(source: &'s Source) -> Result<Self, FormatError> {
        const ADVICE: &str = "write it as p sp VERTICES ARCS";
        let (mut lines, mut buffer) = (Lines::new(source)?, Vec::new());
        while let Some((at, line)) = lines.next(&mut buffer)? {
            let mut fields = Fields::<false>::new(line);
            let problem = match fields.next() {
                None => continue,
                Some(letter) if letter.starts_with(b"c") => continue,
                Some(b"p") => {
                    let rest: Vec<_> = fields.collect();
                    match rest[..] {
                        [b"sp", vertices, arcs] => match (digits(vertices), digits(arcs)) {
                            (Some(vertices @ 1..=MOST_VERTICES), Some(arcs)) => {
                                let place = lines.place(at)?;
                                return Ok(Self { lines, place, vertices: vertices as usize, arcs });
                            }
                            _ => Problem::new(
                                format!("the line promises {} vertices and {} arcs", quote(vertices), quote(arcs)),
                                format!("there can be 1 to {MOST_VERTICES} vertices"),
                            ),
                        },
                        _ => Problem::new("the line p is none of a shortest-path problem", ADVICE),
                    }
                }
                Some(other) => {
                    Problem::new(format!("the line begins with {} before there is a line p", quote(other)), ADVICE)
                }
            };
            let place = lines.place(at)?;
            return Err(problem.at(&source.name, place));
        }
        Err(Problem::new("there is no line p", ADVICE).at(&source.name, Place::FILE))
    }

    fn arc<T: FileWeight>(&self, line: &[u8], context: &ReadContext<'_>) -> Result<Option<(u64, u64, T)>, Rejected> {
        let mut fields = Fields::<false>::new(line);
        match fields.next() {
            Some(b"a") => {
                let (Some(from), Some(to), Some(length), None) =
                    (fields.next(), fields.next(), fields.next(), fields.next())
                else {
                    return Err(Problem::new("an arc has three numbers", "write it as a FROM TO WEIGHT").into());
                };
                let end = self.vertices as u64 + 1;
                Ok(Some((vertex(from, 1, end)?, vertex(to, 1, end)?, weight(value(length)?, context.weight)?)))
            }
            None => Ok(None),
            Some(letter) if letter.starts_with(b"c") => Ok(None),
            Some(b"p") => Err(Problem::new("this is a second line p", "give a file with one graph").into()),
            Some(other) => {
                let what = format!("the line begins with {}", quote(other));
                Err(Problem::new(what, "lines begin with c, p or a").into())
            }
        }
    }
}

impl Edges for Dimacs<'_> {
    fn vertices(&self) -> usize {
        self.vertices
    }

    fn add_edges<T: FileWeight>(&self, sink: &EdgeSink<'_, T>, context: &ReadContext<'_>) -> Result<(), ReadError> {
        let arcs = AtomicU64::new(0);
        self.lines.each(
            context.progress,
            1,
            Vec::new,
            |edges, line| {
                edges.extend(self.arc::<T>(line, context)?);
                Ok(())
            },
            |edges| {
                arcs.fetch_add(edges.len() as u64, Relaxed);
                context.add(sink, &edges)
            },
        )?;
        let (found, promised) = (arcs.into_inner(), self.arcs);
        if found != promised {
            let what = format!("the line promises {promised} arcs, and there are {found}");
            let problem = Problem::new(what, "the file is cut short, or the line is wrong");
            return Err(problem.at(context.name, self.place).into());
        }
        Ok(())
    }
}
