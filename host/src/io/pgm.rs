//! PGM, Netpbm's grey picture: `P5` (bytes) or `P2` (text), width, height, largest value, then the pixels.
//!
//! ```text
//! P2
//! # a comment runs to the end of its line
//! 3 2
//! 255
//! 0 1 2
//! 5 5 1
//! ```
//!
//! The largest value may be up to 65,535 and is checked, not scaled by: pixels are cells as they stand. Beyond 255 the pixels of `P5` are two
//! bytes each, the higher one first. Netpbm
//! lets several pictures follow one another in a file; a second one is an error here, as is anything else after
//! the first.

use std::fmt::Display;
use std::io::Read;

use super::error::{FormatError, Place, Problem, quote};
use super::growing::Growing;
use super::input::Input;
use super::lines::Lines;
use super::scan::Scanner;
use super::stored::{Encoding, StoredArray};
use super::value::{Value, check_shape};
use crate::numbers::ValueType;

/// Reads a PGM picture.
pub(super) fn read(input: &mut Input<'_>) -> Result<StoredArray, FormatError> {
    let name = &*input.name();
    let mut scan = Scanner::new(&mut *input, name);
    let plain = magic(&mut scan)?;
    let width = header_number(&mut scan, "width")?;
    let height = header_number(&mut scan, "height")?;
    let largest = header_number(&mut scan, "largest value")?;
    let place = Place::line(scan.line());
    let largest = match u16::try_from(largest) {
        Ok(largest @ 1..) => largest,
        _ => {
            let what = format!("the largest value is {largest}");
            return Err(Problem::new(what, "it has to be from 1 to 65535").at(name, place));
        }
    };
    let (rows, cols) = check_shape(height, width).map_err(|problem| problem.at(name, place))?;
    if plain {
        return plain_pixels(&mut scan, (rows, cols), largest);
    }
    // Exactly one blank parts the header from the pixels, which may look like blanks themselves.
    if scan.peek()?.is_some() {
        scan.bump();
    }
    let ahead = scan.into_ahead();
    input.give_back(ahead);
    raw_pixels(input, name, (rows, cols), largest)
}

/// True for P2, false for P5.
fn magic<R: Read>(scan: &mut Scanner<'_, R>) -> Result<bool, FormatError> {
    let name = scan.name();
    let mut letters = [0u8; 2];
    for (got, letter) in letters.iter_mut().enumerate() {
        match scan.peek()? {
            Some(byte) => *letter = byte,
            None if got == 0 => {
                return Err(Problem::new("the file is empty", "give a PGM picture").at(name, Place::FILE));
            }
            None => break,
        }
        scan.bump();
    }
    let other = |what: &str| {
        let advice = "convert it, for example: magick in.pnm -colorspace Gray -depth 8 out.pgm";
        Err(Problem::new(format!("the picture is {what}, not grey"), advice).at(name, Place::FILE))
    };
    match &letters {
        b"P2" => Ok(true),
        b"P5" => Ok(false),
        b"P1" | b"P4" => other("black and white (PBM)"),
        b"P3" | b"P6" => other("in colour (PPM)"),
        b"P7" => other("of the kind PAM"),
        _ => Err(Problem::new("this is not a PGM file", "give the format by name if it is another one")
            .at(name, Place::FILE)),
    }
}

/// Passes blanks, line ends and comments; the byte after them.
fn skip<R: Read>(scan: &mut Scanner<'_, R>) -> Result<Option<u8>, FormatError> {
    loop {
        match scan.skip_lines()? {
            Some(b'#') => {
                while scan.peek()?.is_some_and(|byte| byte != b'\n') {
                    scan.bump();
                }
            }
            other => return Ok(other),
        }
    }
}

fn header_number<R: Read>(scan: &mut Scanner<'_, R>, what: &str) -> Result<u64, FormatError> {
    skip(scan)?;
    let (name, place) = (scan.name(), Place::line(scan.line()));
    let token = scan.token(Some(b'#'))?;
    let problem = if token.is_empty() {
        Problem::new(format!("the header ends before the {what}"), "the file is cut short or damaged")
    } else if token.iter().all(u8::is_ascii_digit) {
        return Ok(std::str::from_utf8(token).ok().and_then(|t| t.parse().ok()).unwrap_or(u64::MAX));
    } else {
        Problem::new(format!("the {what} is {}, not a number", quote(token)), "correct the header")
    };
    Err(problem.at(name, place))
}

fn cut_short(got: usize, (rows, cols): (usize, usize)) -> Problem {
    Problem::new(
        format!("the file ends after {got} of {} pixels", rows * cols),
        "the file is cut short, or its header is wrong",
    )
}

fn more((rows, cols): (usize, usize)) -> Problem {
    Problem::new(format!("there is more after the {rows} x {cols} pixels"), "give a file with one picture")
}

fn raw_pixels(
    input: &mut Input<'_>,
    name: &str,
    shape: (usize, usize),
    largest: u16,
) -> Result<StoredArray, FormatError> {
    let value_type = if largest > 255 { ValueType::U16 } else { ValueType::U8 };
    let (width, total) = (value_type.bytes() as u64, (shape.0 * shape.1) as u64);
    let body = input.body(total * width)?;
    if body.length < total * width {
        return Err(cut_short((body.length / width) as usize, shape).at(name, Place::FILE));
    }
    // A line end after the pixels is common and harmless.
    if Scanner::new(input, name).skip_lines()?.is_some() {
        return Err(more(shape).at(name, Place::FILE));
    }
    let encoding = Encoding { big_endian: true, ..Encoding::native(value_type) };
    Ok(StoredArray { largest: Some(largest), ..StoredArray::new(body.source, body.start, shape, encoding) })
}

fn plain_pixels<R: Read>(
    scan: &mut Scanner<'_, R>,
    shape: (usize, usize),
    largest: u16,
) -> Result<StoredArray, FormatError> {
    let (name, (rows, cols)) = (scan.name(), shape);
    let (mut pixels, mut lines, mut last) = (Growing::new(rows, cols), Lines::default(), 0);
    for row in 0..rows {
        for col in 0..cols {
            if skip(scan)?.is_none() {
                return Err(cut_short(pixels.len(), shape).at(name, Place::line(scan.line())));
            }
            let line = scan.line();
            if line != last {
                lines.begin(row * cols + col, line);
                last = line;
            }
            let taken = match scan.short_number() {
                Some(pixel) if u16::from(pixel) <= largest => pixels.push_byte(pixel),
                Some(pixel) => Err(too_large(pixel, largest)),
                None => Value::parse(scan.token(Some(b'#'))?).and_then(|value| match value {
                    Value::Whole(pixel) if pixel > largest.into() => Err(too_large(pixel, largest)),
                    Value::Real(pixel) if pixel > largest.into() => Err(too_large(value.show(), largest)),
                    other => pixels.push(other),
                }),
            };
            taken.map_err(|problem| problem.at(name, Place::cell(row, col).on_line(line)))?;
        }
    }
    if skip(scan)?.is_some() {
        return Err(more(shape).at(name, Place::line(scan.line())));
    }
    Ok(pixels.finish(name, lines))
}

/// What to say of a pixel that the header excludes.
pub(super) fn too_large(pixel: impl Display, largest: u16) -> Problem {
    Problem::new(format!("the value {pixel} is above the largest value {largest} of the header"), "correct the header")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Values;

    /// All of a picture.
    fn read_from(input: impl Read) -> Result<Values, FormatError> {
        let array = read(&mut Input::stream(input, "f"))?;
        array.read(0..array.rows, 0..array.cols)
    }

    fn read_bytes(bytes: &[u8]) -> Result<Values, FormatError> {
        read_from(bytes)
    }

    #[test]
    fn both_kinds_are_read() {
        for file in [
            &b"P2\n3 2\n255\n0 1 2\n10 32 255\n"[..],
            b"P2#c\n3#c\n2 # 9 9\n255#\n0 1 2 10 # 7\n32\n255",
            b"P5\n# made by hand\n3 2\n255\n\x00\x01\x02\x0a\x20\xff",
            b"P5 3 2 255 \x00\x01\x02\x0a\x20\xff\n",
        ] {
            assert_eq!(read_bytes(file).unwrap(), Values::U8(vec![0, 1, 2, 10, 32, 255]));
        }
    }

    #[test]
    fn pixels_may_have_16_bits() {
        for file in [
            &b"P2 3 2 65535\n0 1 255\n256 900 65535\n"[..],
            b"P5 3 2 65535\n\x00\x00\x00\x01\x00\xff\x01\x00\x03\x84\xff\xff",
        ] {
            assert_eq!(read_bytes(file).unwrap(), Values::U16(vec![0, 1, 255, 256, 900, 65_535]));
        }
        // Longer than a buffer, and in bytes that come one by one.
        let pixels: Vec<u8> = (0..70_000u32).flat_map(|i| ((i % 700) as u16).to_be_bytes()).collect();
        let file = [&b"P5 700 100 1000\n"[..], &pixels].concat();
        assert_eq!(read_bytes(&file).unwrap(), Values::U16((0..70_000u32).map(|i| (i % 700) as u16).collect()));
        struct Trickle<'a>(&'a [u8]);
        impl Read for Trickle<'_> {
            fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
                let n = self.0.len().min(out.len()).min(1);
                out[..n].copy_from_slice(&self.0[..n]);
                self.0 = &self.0[n..];
                Ok(n)
            }
        }
        let got = read_from(Trickle(b"P5 2 2 300\n\x00\x07\x00\x08\x00\x09\x00\xff"));
        assert_eq!(got.unwrap(), Values::U16(vec![7, 8, 9, 255]));
        // By no means a PGM's, but what some programs write for no data.
        assert_eq!(read_bytes(b"P2 2 1 300\n-9999 300").unwrap(), Values::I16(vec![-9999, 300]));
    }

    #[test]
    fn every_fault_says_where_and_what_to_do() {
        let grey = "convert it, for example: magick in.pnm -colorspace Gray -depth 8 out.pgm";
        for (bytes, expected) in [
            (&b""[..], "f: the file is empty; give a PGM picture".to_owned()),
            (b"P", "f: this is not a PGM file; give the format by name if it is another one".to_owned()),
            (b"BM..", "f: this is not a PGM file; give the format by name if it is another one".to_owned()),
            (b"P6 1 1", format!("f: the picture is in colour (PPM), not grey; {grey}")),
            (b"P4 1 1", format!("f: the picture is black and white (PBM), not grey; {grey}")),
            (b"P7\n", format!("f: the picture is of the kind PAM, not grey; {grey}")),
            (b"P5\n3", "f: line 2: the header ends before the height; the file is cut short or damaged".to_owned()),
            (b"P5 3 -2 255", "f: line 1: the height is \"-2\", not a number; correct the header".to_owned()),
            (b"P5 3 2 0 ", "f: line 1: the largest value is 0; it has to be from 1 to 65535".to_owned()),
            (b"P5 3 2\n65536\n", "f: line 2: the largest value is 65536; it has to be from 1 to 65535".to_owned()),
            (
                b"P5 1 2 300\n\x01\x02\x01",
                "f: the file ends after 1 of 2 pixels; the file is cut short, or its header is wrong".to_owned(),
            ),
            (
                b"P5 2 1 300\n\x01\x2c\x01\x2d",
                "f: row 0, column 1 (counted from 0): the value 301 is above the largest value 300 of the header; \
                 correct the header"
                    .to_owned(),
            ),
            (
                b"P5 0 2 255\n",
                "f: line 1: the header promises 2 rows and 0 columns; a grid needs at least one of each".to_owned(),
            ),
            (
                b"P5 2147483648 2147483648 255\n",
                "f: line 1: the header promises 2147483648 rows and 2147483648 columns, more than the 2^40 cells \
                 a grid may have; correct the header"
                    .to_owned(),
            ),
            (
                b"P5 2 2 255\n\x01\x02\x03",
                "f: the file ends after 3 of 4 pixels; the file is cut short, or its header is wrong".to_owned(),
            ),
            (
                b"P2 2 2 255\n1\n2",
                "f: line 3: the file ends after 2 of 4 pixels; the file is cut short, or its header is wrong"
                    .to_owned(),
            ),
            (
                b"P5 1 1 255\n\x01P5",
                "f: there is more after the 1 x 1 pixels; give a file with one picture".to_owned(),
            ),
            (
                b"P2 1 1 255\n1\n2",
                "f: line 3: there is more after the 1 x 1 pixels; give a file with one picture".to_owned(),
            ),
            (
                b"P5 2 1 9\n\x01\x0a",
                "f: row 0, column 1 (counted from 0): the value 10 is above the largest value 9 of the header; \
                 correct the header"
                    .to_owned(),
            ),
            (
                b"P2 2 1 9\n1 10",
                "f: row 0, column 1 (counted from 0), line 2: the value 10 is above the largest value 9 of the header; \
                 correct the header"
                    .to_owned(),
            ),
            (
                b"P2 2 1 255\n1 x",
                "f: row 0, column 1 (counted from 0), line 2: \"x\" is not a number; correct the file".to_owned(),
            ),
            (
                b"P2 2 1 255\n1 300",
                "f: row 0, column 1 (counted from 0), line 2: the value 300 is above the largest value 255 of the header; \
                 correct the header"
                    .to_owned(),
            ),
        ] {
            assert_eq!(read_bytes(bytes).unwrap_err().to_string(), expected);
        }
    }
}
