//! Graphs as text: lines, found in parts of a file by all threads, and the fields and numbers in them.
//!
//! A line belongs to the part in which it begins, however far it reaches. Lines are not counted: the number that a message needs is found
//! by counting the line ends before it, once there is something to say.

use super::ReadError;
use super::progress::Progress;
use super::weight::Rejected;
use crate::io::quote;
use crate::io::source::Source;
use crate::io::{FormatError, Place, Problem, Value};

/// Bytes of a part.
const PART: u64 = 1 << 20;
/// Bytes that are scanned for the end of a line at first, and at most.
const STEP: u64 = 1 << 10;
const LONGEST: u64 = 1 << 20;

/// Vertices that can be numbered: predecessors are 32-bit numbers with a sign.
pub(super) const MOST_VERTICES: u64 = i32::MAX as u64;

/// The lines of a file from `start` on.
#[derive(Clone)]
pub(super) struct Lines<'s> {
    pub(super) source: &'s Source,
    start: u64,
}

impl<'s> Lines<'s> {
    /// All lines, without the mark that some programs put before the first.
    pub(super) fn new(source: &'s Source) -> Result<Self, FormatError> {
        let mut head = Vec::new();
        let start = match source.read(0, 3, &mut head)? {
            [0xef, 0xbb, 0xbf] => 3,
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                let problem = Problem::new("the text is UTF-16", "save it as plain ASCII or UTF-8");
                return Err(problem.at(&source.name, Place::line(1)));
            }
            _ => 0,
        };
        Ok(Self { source, start })
    }

    /// Takes the next line off, without its end; none at the end of the file. With where it begins.
    pub(super) fn next<'b>(&mut self, buffer: &'b mut Vec<u8>) -> Result<Option<(u64, &'b [u8])>, FormatError> {
        let at = self.start;
        if at >= self.source.length {
            return Ok(None);
        }
        buffer.clear();
        self.extend(at, 0, buffer)?;
        self.start = at + buffer.len() as u64;
        Ok(Some((at, buffer.strip_suffix(b"\n").unwrap_or(buffer))))
    }

    /// Appends what follows byte `from` of a line that begins at `line`, to the line's end.
    fn extend(&self, line: u64, from: u64, buffer: &mut Vec<u8>) -> Result<(), FormatError> {
        let (mut at, mut step) = (line + from, STEP);
        loop {
            let before = buffer.len();
            self.source.append(at, step, buffer)?;
            if let Some(end) = buffer[before..].iter().position(|&byte| byte == b'\n') {
                buffer.truncate(before + end + 1);
                return Ok(());
            }
            at += step;
            if at >= self.source.length {
                return Ok(());
            }
            if at - line > LONGEST {
                let problem = Problem::new(
                    format!("the line is longer than {LONGEST} bytes"),
                    "the file is damaged, or not in this format",
                );
                return Err(problem.at(&self.source.name, self.place(line)?));
            }
            step = (2 * step).min(LONGEST);
        }
    }

    /// The line that begins at `at`.
    pub(super) fn place(&self, at: u64) -> Result<Place, FormatError> {
        let (mut number, mut buffer) = (1, Vec::new());
        for from in (0..at).step_by(PART as usize) {
            let bytes = self.source.read(from, PART.min(at - from), &mut buffer)?;
            number += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        }
        Ok(Place::line(number))
    }

    /// Goes through all lines: for every part a `take` is made and handed its lines, without their ends, then `done` has it.
    /// Of what is wrong the first in the file is reported. `share` of the bytes is reported to the observer: a half of those of a file that is gone
    /// through twice.
    pub(super) fn each<S>(
        &self,
        progress: &Progress<'_>,
        share: u64,
        start: impl Fn() -> S + Sync,
        take: impl Fn(&mut S, &[u8]) -> Result<(), Rejected> + Sync,
        done: impl Fn(S) -> Result<(), ReadError> + Sync,
    ) -> Result<(), ReadError> {
        let parts = (self.source.length - self.start.min(self.source.length)).div_ceil(PART) as usize;
        progress.parts(self.source, parts, |part, buffer| {
            let (mut at, bytes) = self.part(part as u64, buffer)?;
            let told = bytes.len() as u64 / share;
            let mut state = start();
            for line in bytes.split_inclusive(|&byte| byte == b'\n') {
                if let Err(refused) = take(&mut state, line.strip_suffix(b"\n").unwrap_or(line)) {
                    return Err(self.stop(refused, at)?);
                }
                at += line.len() as u64;
            }
            done(state)?;
            progress.advance(told);
            Ok(())
        })
    }

    /// What is wrong with the line at `at`.
    fn stop(&self, refused: Rejected, at: u64) -> Result<ReadError, FormatError> {
        // That weights are to be read as f32 needs no place.
        let place = if matches!(refused, Rejected::RetryAsF32) { Place::FILE } else { self.place(at)? };
        Ok(refused.at(&self.source.name, place))
    }

    /// The lines that begin in a part, and where the first does.
    fn part<'b>(&self, part: u64, buffer: &'b mut Vec<u8>) -> Result<(u64, &'b [u8]), FormatError> {
        let first = self.start + part * PART;
        let last = (first + PART).min(self.source.length);
        // The byte before tells whether a line begins with the part.
        let from = if part == 0 { first } else { first - 1 };
        buffer.clear();
        self.source.append(from, last - from, buffer)?;
        let skipped = match part {
            0 => 0,
            _ => match buffer.iter().position(|&byte| byte == b'\n') {
                Some(end) if from + (end as u64) + 1 < last => end + 1,
                // None begins here.
                _ => return Ok((last, &[])),
            },
        };
        if buffer.last() != Some(&b'\n') && last < self.source.length {
            let begun = buffer.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            let line = from + begun as u64;
            self.extend(line, last - line, buffer)?;
        }
        Ok((from + skipped as u64, &buffer[skipped..]))
    }
}

/// The fields of a line: parted by blanks, and by a comma where `COMMAS`.
pub(super) struct Fields<'l, const COMMAS: bool> {
    left: &'l [u8],
}

#[inline(always)]
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

impl<'l, const COMMAS: bool> Fields<'l, COMMAS> {
    pub(super) fn new(line: &'l [u8]) -> Self {
        let mut fields = Self { left: line };
        fields.skip_blanks();
        fields
    }

    #[inline(always)]
    fn skip_blanks(&mut self) {
        while let Some((_, rest)) = self.left.split_first().filter(|(byte, _)| is_blank(**byte)) {
            self.left = rest;
        }
    }
}

impl<'l, const COMMAS: bool> Iterator for Fields<'l, COMMAS> {
    type Item = &'l [u8];

    #[inline(always)]
    fn next(&mut self) -> Option<&'l [u8]> {
        if self.left.is_empty() {
            return None;
        }
        let ends = |&byte: &u8| is_blank(byte) || COMMAS && byte == b',';
        let (field, rest) = self.left.split_at(self.left.iter().position(ends).unwrap_or(self.left.len()));
        self.left = rest;
        self.skip_blanks();
        if COMMAS && self.left.first() == Some(&b',') {
            self.left = &self.left[1..];
            self.skip_blanks();
        }
        Some(field)
    }
}

/// The number that digits spell, up to 18 of them.
#[inline(always)]
pub(super) fn digits(field: &[u8]) -> Option<u64> {
    if field.is_empty() || field.len() > 18 {
        return None;
    }
    let mut number = 0;
    for &byte in field {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    Some(number)
}

/// A vertex of a format that numbers them from `first` to below `end`; the result is from 0.
#[inline(always)]
pub(super) fn vertex(field: &[u8], first: u64, end: u64) -> Result<u64, Problem> {
    let number = digits(field).filter(|number| (first..end).contains(number));
    number.map(|number| number - first).ok_or_else(|| no_vertex(field, first, end))
}

#[cold]
fn no_vertex(field: &[u8], first: u64, end: u64) -> Problem {
    let what = format!("{} is not a vertex", quote(field));
    Problem::new(what, format!("vertices are numbered from {first} to {}", end - 1))
}

/// The weight that a field spells.
#[inline(always)]
pub(super) fn value(field: &[u8]) -> Result<Value, Problem> {
    let (sign, rest) = match field.split_first() {
        Some((b'-', rest)) => (-1, rest),
        _ => (1, field),
    };
    match digits(rest) {
        Some(number) => Ok(Value::Whole(i128::from(sign * number as i64))),
        None => value_slowly(field),
    }
}

#[cold]
fn value_slowly(field: &[u8]) -> Result<Value, Problem> {
    match Value::parse(field)? {
        Value::Real(real) if !real.is_finite() => {
            let what = format!("the weight {} is none that an edge can have", Value::Real(real).show());
            Err(Problem::new(what, "leave out edges that are not there"))
        }
        value => Ok(value),
    }
}

impl From<Problem> for Rejected {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}
