//! The one error of the input and output layer, and the places it names.
//!
//! Every message is one line of the same make, `file: place: what is wrong; what to do`, so that a
//! program can print it as it is. Whatever comes out of a file (a token, a chunk name) or out of the
//! operating system passes [`one_line`] first: control characters and invisible ones are escaped, so no input can
//! break the line, paint on the terminal or make it show a name backwards. The error is boxed because readers return it from their
//! innermost loops, where a `Result` has to stay small.

use std::fmt;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::observe::Cancelled;

/// Where in a file something is wrong. Whatever is not known stays `None`.
///
/// Samples, rows, columns and edges are counted from 0, lines from 1 (as editors count them).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// The sample, in formats that hold several.
    pub sample: Option<usize>,
    /// The row of the grid.
    pub row: Option<usize>,
    /// The column of the grid.
    pub col: Option<usize>,
    /// The line of a text file.
    pub line: Option<u64>,
    /// The edge, in a binary file of a graph.
    pub edge: Option<u64>,
}

impl Place {
    /// The file as a whole.
    pub(crate) const FILE: Place = Place { sample: None, row: None, col: None, line: None, edge: None };

    pub(crate) fn line(line: u64) -> Self {
        Place { line: Some(line), ..Self::FILE }
    }

    pub(crate) fn row(row: usize) -> Self {
        Place { row: Some(row), ..Self::FILE }
    }

    pub(crate) fn cell(row: usize, col: usize) -> Self {
        Place { row: Some(row), col: Some(col), ..Self::FILE }
    }

    pub(crate) fn edge(edge: u64) -> Self {
        Place { edge: Some(edge), ..Self::FILE }
    }

    pub(crate) fn sample(sample: usize) -> Self {
        Place { sample: Some(sample), ..Self::FILE }
    }

    pub(crate) fn on_line(self, line: u64) -> Self {
        Place { line: Some(line), ..self }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wide = |index: usize| index as u64;
        let counted = [
            ("sample", self.sample.map(wide)),
            ("row", self.row.map(wide)),
            ("column", self.col.map(wide)),
            ("edge", self.edge),
        ];
        let mut gap = "";
        for (noun, index) in counted.into_iter().filter_map(|(noun, index)| Some((noun, index?))) {
            write!(f, "{gap}{noun} {index}")?;
            gap = ", ";
        }
        if !gap.is_empty() {
            f.write_str(" (counted from 0)")?;
        }
        if let Some(line) = self.line {
            write!(f, "{gap}line {line}")?;
        }
        Ok(())
    }
}

/// Why a file cannot be read or written: one line that names the file, the place, the fault and the remedy.
///
/// ```
/// use halotile::{io::InputFormat, raster::Rasters};
/// let mut rasters = Rasters::from_reader(&b"1 2\n7 x\n"[..], InputFormat::SeedText, "map.txt");
/// assert_eq!(
///     rasters.next().expect("one or an error").unwrap_err().to_string(),
///     "map.txt: row 0, column 1 (counted from 0), line 2: \"x\" is not a number; correct the file"
/// );
/// ```
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FormatError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    file: String,
    place: Place,
    problem: Problem,
    io: Option<std::io::Error>,
}

impl fmt::Display for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file)?;
        if self.place != Place::FILE {
            write!(f, "{}: ", self.place)?;
        }
        self.problem.fmt(f)
    }
}

impl FormatError {
    /// The file's name as the message shows it.
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// Where in the file.
    pub fn place(&self) -> Place {
        self.0.place
    }

    /// What the operating system said, when it was the one to object.
    pub fn io(&self) -> Option<&std::io::Error> {
        self.0.io.as_ref()
    }

    /// Whether it is no fault at all: the observer stopped the work.
    pub fn is_cancelled(&self) -> bool {
        self.io().and_then(std::io::Error::get_ref).is_some_and(|e| e.is::<Cancelled>())
    }

    /// The same of a file that another one names.
    #[cfg(feature = "geotiff")]
    pub(crate) fn named_by(mut self, file: &str) -> Self {
        self.0.file = format!("{}: its source {}", one_line(file), self.0.file);
        self
    }

    /// The same, at a place.
    pub(crate) fn placed(mut self, place: Place) -> Self {
        self.0.place = place;
        self
    }

    /// The observer stopped the work on a file.
    pub(crate) fn cancelled(file: &str) -> Self {
        let mut made = Problem::said(Cancelled.to_string()).at(file, Place::FILE);
        made.0.io = Some(std::io::Error::other(Cancelled));
        made
    }

    /// Reading or writing itself failed.
    pub(crate) fn from_io(file: &str, doing: &str, error: std::io::Error, advice: &str) -> Self {
        let mut made = Problem::new(format!("{doing}: {error}"), advice).at(file, Place::FILE);
        made.0.io = Some(error);
        made
    }
}

/// A fault and its remedy, before its place is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    what: String,
    advice: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if !self.advice.is_empty() {
            write!(f, "; {}", self.advice)?;
        }
        Ok(())
    }
}

impl Problem {
    pub(crate) fn new(what: impl AsRef<str>, advice: impl AsRef<str>) -> Self {
        Problem { what: one_line(what.as_ref()), advice: one_line(advice.as_ref()) }
    }

    /// One whose text has the remedy in it, or needs none.
    pub(crate) fn said(text: impl AsRef<str>) -> Self {
        Problem { what: one_line(text.as_ref()), advice: String::new() }
    }

    pub(crate) fn at(self, file: &str, place: Place) -> FormatError {
        FormatError(Box::new(Inner { file: one_line(file), place, problem: self, io: None }))
    }
}

/// The text as one line of visible characters: controls (`\n`, U+001B) and format characters (the byte order mark, overrides of direction
/// such as U+202E, joiners and spaces of no width, separators of lines and paragraphs) are escaped. For everything that a message shows.
///
/// ```
/// assert_eq!(halotile::io::one_line("a\u{202e}gpj.exe\n"), "a\\u{202e}gpj.exe\\n");
/// ```
pub fn one_line(text: &str) -> String {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator};
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        // All of them are beyond ASCII but for its controls.
        let unseen = match c.is_ascii() {
            true => c.is_ascii_control(),
            false => matches!(c.general_category(), Control | Format | LineSeparator | ParagraphSeparator),
        };
        if unseen {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

/// A piece of a file in quotes, cut to a length that a message can bear.
pub(crate) fn quote(bytes: &[u8]) -> String {
    const SHOWN: usize = 32;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)]);
    let cut: String = text.chars().take(SHOWN).collect();
    let dots = if cut.len() < bytes.len() && text.chars().count() > SHOWN { "..." } else { "" };
    format!("\"{}{dots}\"", one_line(&cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_like_a_sentence() {
        assert_eq!(Place::cell(3, 17).to_string(), "row 3, column 17 (counted from 0)");
        assert_eq!(Place::row(3).on_line(5).to_string(), "row 3 (counted from 0), line 5");
        assert_eq!(Place::line(5).to_string(), "line 5");
        assert_eq!(Place::edge(7).to_string(), "edge 7 (counted from 0)");
        assert_eq!(
            Place { sample: Some(2), ..Place::cell(0, 1) }.to_string(),
            "sample 2, row 0, column 1 (counted from 0)"
        );
    }

    #[test]
    fn what_was_stopped_is_told_from_what_failed() {
        let stopped = FormatError::cancelled("f");
        assert_eq!(stopped.to_string(), "f: stopped before the work was done");
        assert!(stopped.is_cancelled());
        assert!(!FormatError::from_io("f", "reading failed", std::io::Error::other("x"), "y").is_cancelled());
    }

    #[test]
    fn no_input_breaks_the_line() {
        let e = Problem::new("a\nb\u{1b}[31m", "c\rd").at("x\ny", Place::FILE);
        assert_eq!(e.to_string(), "x\\ny: a\\nb\\u{1b}[31m; c\\rd");
        let hidden = "\u{feff}a\u{202e}b\u{2066}c\u{200b}d\u{2028}e\u{2029}f\u{ad}g\u{85}h\u{e0001}";
        let shown = r"\u{feff}a\u{202e}b\u{2066}c\u{200b}d\u{2028}e\u{2029}f\u{ad}g\u{85}h\u{e0001}";
        assert_eq!(one_line(hidden), shown);
        // Letters of all scripts stay, with their accents, and so do spaces that are seen.
        let letters = "e\u{301} é 地図 карта خريطة नक्शा \u{3000}\u{a0}🗺\u{fe0f}";
        assert_eq!(one_line(letters), letters);
        assert_eq!(quote(b"\xff\x00"), "\"\u{fffd}\\u{0}\"");
        assert_eq!(quote(&[b'7'; 100]), format!("\"{}...\"", "7".repeat(32)));
        assert_eq!(quote(&[b'7'; 32]), format!("\"{}\"", "7".repeat(32)));
    }
}
