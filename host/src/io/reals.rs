//! Results read back: text, seed-lines and NPY as f64, and the formats of cells too, for comparing anything
//! with anything.
//!
//! `.txt` may be results as text, seed-lines or seed-text; [`RealFormat::AnyText`] looks at the first line: a
//! comma makes it seed-lines, two whole numbers and nothing else a seed-text header, anything else text.
//! (Results written with no decimals and two columns look like seed-text: name the format then.) In text an
//! empty line parts samples, as the writer puts it.

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use super::arrays::Arrays;
use super::error::{FormatError, Place, Problem, quote};
use super::format::{InputFormat, OutputFormat, UnknownFormat};
use super::input::Input;
use super::scan::{Scanner, read_full};
use super::value::check_shape;
use crate::grid::Grid;
use crate::observe::Observer;

/// A format that numbers of any kind can be read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RealFormat {
    /// Text, seed-lines or seed-text, by the first line.
    AnyText,
    /// A format of results.
    Results(OutputFormat),
    /// A format of cells.
    Cells(InputFormat),
}

impl RealFormat {
    /// The format that the ending of `path` stands for.
    ///
    /// # Errors
    /// [`UnknownFormat`] for an ending that no format has.
    pub fn detect(path: &Path) -> Result<Self, UnknownFormat> {
        InputFormat::detect(path).map(|format| match format {
            InputFormat::SeedText => Self::AnyText,
            InputFormat::Npy => Self::Results(OutputFormat::Npy),
            InputFormat::GeoTiff => Self::Results(OutputFormat::GeoTiff),
            other => Self::Cells(other),
        })
    }
}

impl FromStr for RealFormat {
    type Err = UnknownFormat;
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let results = name.parse().map(Self::Results);
        results.or_else(|_: UnknownFormat| name.parse().map(Self::Cells)).map_err(|error| match error {
            UnknownFormat::Name { name, .. } => UnknownFormat::Name {
                name,
                known: "text, seed-lines, npy, geotiff, seed-text, seed-binary, png, pgm".to_owned(),
            },
            other => other,
        })
    }
}

impl fmt::Display for RealFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AnyText => f.pad("text"),
            Self::Results(format) => format.fmt(f),
            Self::Cells(format) => format.fmt(f),
        }
    }
}

/// Reads every sample of a file as f64; `name` is for messages.
///
/// ```
/// use halotile::io::reals::{RealFormat, read};
/// let text = "     1.52295      1.70455 \n         nan      0.00000 \n";
/// let grids = read(RealFormat::AnyText, text.as_bytes(), "h.txt")?;
/// assert_eq!(grids[0].row(0), &[1.52295, 1.70455]);
/// assert!(grids[0].row(1)[0].is_nan());
/// # Ok::<(), halotile::io::FormatError>(())
/// ```
///
/// # Errors
/// [`FormatError`] with the place in the file: what cannot be read, is no number, or has rows of several lengths.
pub fn read(format: RealFormat, input: impl Read, name: &str) -> Result<Vec<Grid<f64>>, FormatError> {
    read_input(format, Input::stream(input, name), &())
}

/// The same of a file: arrays are converted where they lie, and need no room beside the numbers. None where `path` names no regular file.
/// The observer is notified of bytes that have been read, and may stop the work.
///
/// # Errors
/// As for [`read`], and what opening says. GeoTIFF is for [`GeoTiff`](crate::raster::geotiff::GeoTiff), as an error says.
pub fn read_file(
    format: RealFormat,
    path: &Path,
    observer: &dyn Observer,
) -> Result<Option<Vec<Grid<f64>>>, FormatError> {
    Input::open(path, observer)?.map(|input| read_input(format, input, observer)).transpose()
}

fn read_input(
    format: RealFormat,
    mut input: Input<'_>,
    observer: &dyn Observer,
) -> Result<Vec<Grid<f64>>, FormatError> {
    let name = &*input.name();
    let format = match format {
        RealFormat::AnyText => {
            let mut head = vec![0; 4096];
            let length = read_full(&mut input, &mut head, name)?;
            head.truncate(length);
            let format = look_at(&head);
            input.give_back(head);
            format
        }
        format => format,
    };
    let cells = match format {
        RealFormat::AnyText | RealFormat::Results(OutputFormat::Text) => return text(input, name),
        RealFormat::Results(OutputFormat::SeedLines) => return seed_lines(input, name),
        RealFormat::Results(OutputFormat::GeoTiff) => InputFormat::GeoTiff,
        RealFormat::Results(OutputFormat::Npy) => InputFormat::Npy,
        RealFormat::Cells(format) => format,
    };
    Arrays::new(input, cells).map(|array| array?.reals(observer)).collect()
}

fn look_at(head: &[u8]) -> RealFormat {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let line = head.split(|&b| b == b'\n').next().unwrap_or_default();
    let mut tokens = line.split(u8::is_ascii_whitespace).filter(|t| !t.is_empty());
    let whole = |token: Option<&[u8]>| token.is_some_and(|t| t.iter().all(u8::is_ascii_digit));
    if line.contains(&b',') {
        RealFormat::Results(OutputFormat::SeedLines)
    } else if whole(tokens.next()) && whole(tokens.next()) && tokens.next().is_none() {
        RealFormat::Cells(InputFormat::SeedText)
    } else {
        RealFormat::Results(OutputFormat::Text)
    }
}

fn grid(values: Vec<f64>, rows: usize, cols: usize, name: &str) -> Result<Grid<f64>, FormatError> {
    Grid::from_vec(values, rows, cols)
        .map_err(|e| Problem::new(e.to_string(), "report this as a defect").at(name, Place::FILE))
}

/// Takes one number; the allocation grows by doubling, and its failure is an error.
fn push(values: &mut Vec<f64>, token: &[u8]) -> Result<(), Problem> {
    let number = std::str::from_utf8(token).ok().and_then(|t| t.parse().ok());
    let number = number.ok_or_else(|| Problem::new(format!("{} is not a number", quote(token)), "correct the file"))?;
    values.try_reserve(1).map_err(|_| {
        Problem::new(format!("there is not enough memory for more than {} values", values.len()), "take a smaller grid")
    })?;
    values.push(number);
    Ok(())
}

fn empty(name: &str) -> FormatError {
    Problem::new("the file is empty", "give a file of numbers").at(name, Place::FILE)
}

/// Rows of numbers; an empty line begins another sample.
fn text(input: impl Read, name: &str) -> Result<Vec<Grid<f64>>, FormatError> {
    let mut scan = Scanner::new(input, name);
    scan.start()?;
    let mut grids = Vec::new();
    while scan.skip_lines()?.is_some() {
        let (mut values, mut rows, mut cols) = (Vec::new(), 0, 0);
        while scan.skip_blanks()?.is_some_and(|byte| byte != b'\n') {
            let (line, before) = (scan.line(), values.len());
            while scan.skip_blanks()?.is_some_and(|byte| byte != b'\n') {
                let place = Place::cell(rows, values.len() - before).on_line(line);
                push(&mut values, scan.token(None)?).map_err(|problem| problem.at(name, place))?;
            }
            let found = values.len() - before;
            if rows > 0 && found != cols {
                let s = if found == 1 { "" } else { "s" };
                let what = format!("{found} value{s} where the rows above have {cols}");
                return Err(Problem::new(what, "correct the row").at(name, Place::row(rows).on_line(line)));
            }
            cols = found;
            rows += 1;
            if scan.peek()?.is_some() {
                scan.bump();
            }
        }
        grids.push(grid(values, rows, cols, name)?);
    }
    if grids.is_empty() { Err(empty(name)) } else { Ok(grids) }
}

/// `width,height,v,v,...,` lines.
fn seed_lines(input: impl Read, name: &str) -> Result<Vec<Grid<f64>>, FormatError> {
    let mut scan = Scanner::new(input, name);
    scan.start()?;
    let mut grids = Vec::new();
    while scan.skip_lines()?.is_some() {
        let place = Place::sample(grids.len()).on_line(scan.line());
        let mut shape = [0u64; 2];
        for (number, what) in shape.iter_mut().zip(["width", "height"]) {
            let token = field(&mut scan)?;
            let value = token.and_then(|t| std::str::from_utf8(t).ok()?.parse().ok());
            *number = value.ok_or_else(|| {
                Problem::new(format!("the line has no {what}"), "begin it with width,height,").at(name, place)
            })?;
        }
        let (rows, cols) = check_shape(shape[1], shape[0]).map_err(|problem| problem.at(name, place))?;
        let mut values = Vec::new();
        while let Some(token) = field(&mut scan)? {
            // One too many is enough to know; the rest of a line of noise is not kept.
            if values.len() == rows * cols {
                let what = format!("there are more than the {rows} x {cols} values promised");
                return Err(Problem::new(what, "correct width and height").at(name, place));
            }
            let cell = Place { sample: Some(grids.len()), ..Place::cell(values.len() / cols, values.len() % cols) };
            push(&mut values, token).map_err(|problem| problem.at(name, cell))?;
        }
        if values.len() < rows * cols {
            let what = format!("{} of the {rows} x {cols} values promised are there", values.len());
            return Err(Problem::new(what, "complete the line or correct width and height").at(name, place));
        }
        grids.push(grid(values, rows, cols, name)?);
    }
    if grids.is_empty() { Err(empty(name)) } else { Ok(grids) }
}

/// The next of the line's fields, each of which a comma ends; `None` at the end of the line.
fn field<'a, R: Read>(scan: &'a mut Scanner<'_, R>) -> Result<Option<&'a [u8]>, FormatError> {
    if matches!(scan.skip_blanks()?, None | Some(b'\n')) {
        return Ok(None);
    }
    scan.field().map(Some)
}

#[cfg(test)]
mod tests {
    use super::super::write_results;
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        let written = Grid::from_fn(5, 7, |r, c| if (r, c) == (2, 3) { f64::NAN } else { (r * 7 + c) as f64 / 8.0 });
        let written = written.unwrap();
        for &format in OutputFormat::STREAMS {
            let file = write_results(format, Vec::new(), written.view(), 5).unwrap();
            let mut formats = vec![RealFormat::Results(format)];
            if format != OutputFormat::Npy {
                formats.push(RealFormat::AnyText);
            }
            for format in formats {
                let got = read(format, &file[..], "f").unwrap();
                assert_eq!((got.len(), got[0].rows(), got[0].cols()), (1, 5, 7));
                let bits = |g: &Grid<f64>| g.as_slice().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert!(bits(&got[0]) == bits(&written), "{format}");
            }
        }
    }

    #[test]
    fn samples_and_first_lines_are_told_apart() {
        let any = |text: &str| read(RealFormat::AnyText, text.as_bytes(), "f").unwrap();
        assert_eq!(any("2 2\n1 2\n3 4\n")[0].row(1), &[3.0, 4.0]);
        assert_eq!(any("2.0 2\n1 2\n")[0].row(0), &[2.0, 2.0]);
        assert_eq!(any("1,2,0.5,-1,\n\n2,1,7,8\n").len(), 2);
        let two = any("1.0 2.0\n3.0 4.0\n\n5.0\n6.0\n7.0");
        assert_eq!((two.len(), two[1].rows(), two[1].cols()), (2, 3, 1));
        assert_eq!(RealFormat::detect("a.npy".as_ref()), Ok(RealFormat::Results(OutputFormat::Npy)));
        assert_eq!(RealFormat::detect("a.txt".as_ref()), Ok(RealFormat::AnyText));
        assert_eq!("pgm".parse(), Ok(RealFormat::Cells(InputFormat::Pgm)));
        assert_eq!(
            "tif".parse::<RealFormat>().unwrap_err().to_string(),
            "no format is called \"tif\"; the formats are text, seed-lines, npy, geotiff, seed-text, seed-binary, png, pgm"
        );
    }

    #[test]
    fn every_fault_says_where_and_what_to_do() {
        for (text, expected) in [
            ("", "f: the file is empty; give a file of numbers"),
            (
                "1.0 2.0\n1.0\n",
                "f: row 1 (counted from 0), line 2: 1 value where the rows above have 2; correct the row",
            ),
            (
                "1.0\n1.0 2.0\n",
                "f: row 1 (counted from 0), line 2: 2 values where the rows above have 1; correct the row",
            ),
            (
                "1.0 2.0\n1.0 x\n",
                "f: row 1, column 1 (counted from 0), line 2: \"x\" is not a number; correct the file",
            ),
            ("a,1,\n", "f: sample 0 (counted from 0), line 1: the line has no width; begin it with width,height,"),
            ("3,\n", "f: sample 0 (counted from 0), line 1: the line has no height; begin it with width,height,"),
            (
                "1,1,5,\n2,2,1,2,3,\n",
                "f: sample 1 (counted from 0), line 2: 3 of the 2 x 2 values promised are there; \
                 complete the line or correct width and height",
            ),
            (
                "2,1,1,2,3,\n",
                "f: sample 0 (counted from 0), line 1: there are more than the 1 x 2 values promised; \
                 correct width and height",
            ),
            ("2,1,1,,\n", "f: sample 0, row 0, column 1 (counted from 0): \"\" is not a number; correct the file"),
            (
                "2147483648,2147483648,\n",
                "f: sample 0 (counted from 0), line 1: the header promises 2147483648 rows and 2147483648 columns, \
                 more than the 2^40 cells a grid may have; correct the header",
            ),
        ] {
            assert_eq!(read(RealFormat::AnyText, text.as_bytes(), "f").unwrap_err().to_string(), expected);
        }
    }
}
