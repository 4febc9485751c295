//! The header of an NPY file: magic, version, length, and a Python dictionary literal.
//!
//! ```text
//! \x93NUMPY 1 0 <u16 length> {'descr': '<u2', 'fortran_order': False, 'shape': (3, 4), }     \n
//! ```
//!
//! Versions 2 and 3 have a 32-bit length. Why this is not the crate `npyz` (0.9, otherwise good): it allocates what the
//! length field says (up to 4 GiB) before reading, multiplies the shape without checking for overflow,
//! and parses any Python literal by recursion, so that a file of brackets overflows the stack. We need
//! three keys of known types; anything else is an error that says so.

use std::io::Read;

use super::error::{FormatError, Place, Problem, one_line, quote};
use super::scan::read_full;
use crate::numbers::ValueType;

/// Longest header we read. NumPy itself writes 128 bytes for a plain array and refuses to parse more than 10,000.
const LONGEST: usize = 1 << 16;

/// What the header says, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    /// Booleans are bytes.
    pub(crate) value_type: ValueType,
    pub(crate) is_bool: bool,
    pub(crate) big_endian: bool,
    pub(crate) fortran: bool,
    /// What does not fit a `u64` is `u64::MAX`.
    pub(crate) rows: u64,
    pub(crate) cols: u64,
}

impl Header {
    /// Holds what the header claims against the bytes that follow it.
    pub(crate) fn check_length(&self, there: u64) -> Result<(), Problem> {
        let Self { rows, cols, .. } = self;
        let (there, size) = (u128::from(there), self.value_type.bytes() as u128);
        let total = u128::from(*rows) * u128::from(*cols);
        // A header may claim more than any number holds.
        let wanted = total.saturating_mul(size);
        if there < wanted {
            let what = format!("the file ends after {} of {total} elements", there / size);
            return Err(Problem::new(what, "the file is cut short; copy it again"));
        }
        if there > wanted {
            let what = format!("there is more after the {rows} x {cols} elements of the array");
            return Err(Problem::new(what, "save one array a file"));
        }
        Ok(())
    }
}

fn damaged(what: impl AsRef<str>) -> Problem {
    Problem::new(what, "the file is damaged, or not NPY")
}

/// Reads the header and leaves `input` at the first element.
pub(crate) fn read(input: &mut impl Read, name: &str) -> Result<Header, FormatError> {
    let here = |problem: Problem| problem.at(name, Place::FILE);
    let mut start = [0u8; 8];
    let got = read_full(input, &mut start, name)?;
    if got == 0 {
        return Err(here(Problem::new("the file is empty", "save an array with numpy.save")));
    }
    if got < start.len() || start[..6] != *b"\x93NUMPY" {
        return Err(here(Problem::new("this is not an NPY file", "save the array with numpy.save")));
    }
    let length_bytes = match start[6] {
        1 => 2,
        2 | 3 => 4,
        v => {
            let what = format!("NPY version {v}.{} is not known", start[7]);
            return Err(here(Problem::new(what, "save it as version 1, 2 or 3")));
        }
    };
    let mut length = [0u8; 4];
    if read_full(input, &mut length[..length_bytes], name)? < length_bytes {
        return Err(here(damaged("the file ends inside its header")));
    }
    let length = u32::from_le_bytes(length);
    let length = usize::try_from(length).ok().filter(|&n| n <= LONGEST).ok_or_else(|| {
        here(damaged(format!("the header claims to be {length} bytes long, more than the {LONGEST} that make sense")))
    })?;
    let mut text = vec![0; length];
    if read_full(input, &mut text, name)? < length {
        return Err(here(damaged("the file ends inside its header")));
    }
    parse(&text).map_err(here)
}

/// A cursor over the dictionary literal.
struct Literal<'a> {
    left: &'a [u8],
}

impl<'a> Literal<'a> {
    fn skip_blanks(&mut self) {
        self.left = self.left.trim_ascii_start();
    }

    /// Takes `byte` if it comes next.
    fn take(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let found = self.left.first() == Some(&byte);
        if found {
            self.left = &self.left[1..];
        }
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), Problem> {
        if self.take(byte) {
            return Ok(());
        }
        let found = if self.left.is_empty() { "its end".to_owned() } else { quote(self.left) };
        Err(damaged(format!("the header has {found} where a {:?} belongs", char::from(byte))))
    }

    /// A string in single or double quotes. Escapes do not occur in the names and types we know.
    fn string(&mut self) -> Result<&'a [u8], Problem> {
        self.skip_blanks();
        let quoted = self.left.split_first().filter(|(q, _)| matches!(q, b'\'' | b'"'));
        let found = quoted.and_then(|(q, rest)| Some((rest, rest.iter().position(|b| b == q)?)));
        let Some((rest, end)) = found else {
            return Err(damaged(format!("the header has {} where a string belongs", quote(self.left))));
        };
        self.left = &rest[end + 1..];
        Ok(&rest[..end])
    }

    /// Letters and digits.
    fn word(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let end = self.left.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(self.left.len());
        let (word, rest) = self.left.split_at(end);
        self.left = rest;
        word
    }
}

fn parse(text: &[u8]) -> Result<Header, Problem> {
    let mut literal = Literal { left: text };
    let (mut element, mut fortran, mut shape) = (None, None, None);
    literal.expect(b'{')?;
    while !literal.take(b'}') {
        let key = literal.string()?;
        literal.expect(b':')?;
        match key {
            b"descr" => element = Some(parse_type(&mut literal)?),
            b"fortran_order" => {
                fortran = Some(match literal.word() {
                    b"True" => true,
                    b"False" => false,
                    other => {
                        return Err(damaged(format!("fortran_order is {}, not True or False", quote(other))));
                    }
                });
            }
            b"shape" => shape = Some(parse_shape(&mut literal)?),
            other => return Err(damaged(format!("the header has an unknown key {}", quote(other)))),
        }
        if !literal.take(b',') {
            literal.expect(b'}')?;
            break;
        }
    }
    let missing = |key: &str| damaged(format!("the header has no {key}"));
    let (value_type, is_bool, big_endian) = element.ok_or_else(|| missing("descr"))?;
    let fortran = fortran.ok_or_else(|| missing("fortran_order"))?;
    let (rows, cols) = two_dimensions(&shape.ok_or_else(|| missing("shape"))?)?;
    Ok(Header { value_type, is_bool, big_endian, fortran, rows, cols })
}

fn parse_type(literal: &mut Literal<'_>) -> Result<(ValueType, bool, bool), Problem> {
    use ValueType::*;
    const ADVICE: &str = "convert it to one of u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, bool";
    literal.skip_blanks();
    if literal.left.first() == Some(&b'[') {
        return Err(Problem::new("the elements are records", "save one field as an array of its own"));
    }
    let text = literal.string()?;
    let unknown = || Problem::new(format!("elements of type {} are not read", quote(text)), ADVICE);
    let (&order, rest) = text.split_first().ok_or_else(unknown)?;
    let value_type = match rest {
        b"b1" | b"u1" => U8,
        b"i1" => I8,
        b"u2" => U16,
        b"i2" => I16,
        b"u4" => U32,
        b"i4" => I32,
        b"u8" => U64,
        b"i8" => I64,
        b"f4" => F32,
        b"f8" => F64,
        _ => return Err(unknown()),
    };
    let big_endian = match order {
        b'<' => false,
        b'>' => true,
        b'|' if value_type.bytes() == 1 => false,
        _ => return Err(unknown()),
    };
    Ok((value_type, rest == b"b1", big_endian))
}

fn parse_shape(literal: &mut Literal<'_>) -> Result<Vec<u64>, Problem> {
    let mut shape = Vec::new();
    literal.expect(b'(')?;
    while !literal.take(b')') {
        let word = literal.word();
        // Python 2 wrote long integers as `3L`.
        let digits = word.strip_suffix(b"L").unwrap_or(word);
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            let found = if word.is_empty() { literal.left } else { word };
            return Err(damaged(format!("the shape has {} where a number belongs", quote(found))));
        }
        shape.push(std::str::from_utf8(digits).ok().and_then(|d| d.parse().ok()).unwrap_or(u64::MAX));
        if !literal.take(b',') {
            literal.expect(b')')?;
            break;
        }
    }
    Ok(shape)
}

/// Rows and columns of a 2-D shape.
fn two_dimensions(shape: &[u64]) -> Result<(u64, u64), Problem> {
    if let &[rows, cols] = shape {
        return Ok((rows, cols));
    }
    let list: Vec<String> = shape.iter().take(8).map(u64::to_string).collect();
    let list = one_line(&list.join(", "));
    let comma = if shape.len() == 1 { "," } else { "" };
    let dots = if shape.len() > 8 { ", ..." } else { "" };
    Err(Problem::new(
        format!("the array has the shape ({list}{comma}{dots}), not two dimensions"),
        "save one 2-D array, rows x columns",
    ))
}

/// A version 1.0 header for a 2-D array in C order, padded so that the elements begin at a multiple of 64 bytes.
pub(crate) fn write(descr: &str, rows: usize, cols: usize) -> Vec<u8> {
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows}, {cols}), }}");
    // Magic, version and length are 10 bytes; a line end closes the header.
    let padded = (10 + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', padded - 11 - text.len()));
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    // Two 20-digit numbers at most: the length is 118 or 182.
    bytes.extend([(text.len() & 0xff) as u8, (text.len() >> 8) as u8]);
    bytes.extend(text.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: u8, text: &str) -> Vec<u8> {
        let mut bytes = vec![0x93, b'N', b'U', b'M', b'P', b'Y', version, 0];
        let length = u32::try_from(text.len()).unwrap().to_le_bytes();
        bytes.extend(if version == 1 { &length[..2] } else { &length[..] });
        bytes.extend(text.as_bytes());
        bytes
    }

    #[test]
    fn headers_of_every_version_are_read() {
        let value_type = ValueType::I32;
        let expected = Header { value_type, is_bool: false, big_endian: true, fortran: true, rows: 3, cols: 40 };
        for version in 1..=3 {
            for text in [
                "{'descr': '>i4', 'fortran_order': True, 'shape': (3, 40), }   \n",
                "{\"shape\":(3L,40L,),\"descr\":\">i4\",\"fortran_order\":True}",
            ] {
                assert_eq!(read(&mut &file(version, text)[..], "f").unwrap(), expected, "{version} {text}");
            }
        }
    }

    #[test]
    fn our_own_headers_are_aligned_and_read_back() {
        for (rows, cols) in [(1, 1), (123_456_789, 987_654_321), (1 << 40, 1)] {
            let bytes = write("<f8", rows, cols);
            assert_eq!(bytes.len() % 64, 0);
            assert_eq!(bytes.last(), Some(&b'\n'));
            let got = read(&mut &bytes[..], "f").unwrap();
            assert_eq!((got.rows, got.cols), (rows as u64, cols as u64));
            assert_eq!((got.value_type, got.big_endian, got.fortran), (ValueType::F64, false, false));
        }
    }

    #[test]
    fn every_fault_says_what_and_what_to_do() {
        let ok = "'fortran_order': False, 'shape': (1, 1)";
        let types = "convert it to one of u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, bool";
        let bad = "the file is damaged, or not NPY";
        for (bytes, expected) in [
            (vec![], "f: the file is empty; save an array with numpy.save".to_owned()),
            (b"\x93NUM".to_vec(), "f: this is not an NPY file; save the array with numpy.save".to_owned()),
            (b"GIF89a..".to_vec(), "f: this is not an NPY file; save the array with numpy.save".to_owned()),
            (file(9, ""), "f: NPY version 9.0 is not known; save it as version 1, 2 or 3".to_owned()),
            (b"\x93NUMPY\x01\x00\x10".to_vec(), format!("f: the file ends inside its header; {bad}")),
            (b"\x93NUMPY\x01\x00\x10\x00{".to_vec(), format!("f: the file ends inside its header; {bad}")),
            (
                b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(),
                format!("f: the header claims to be 4294967295 bytes long, more than the 65536 that make sense; {bad}"),
            ),
            (file(1, "(1, 2)"), format!("f: the header has \"(1, 2)\" where a '{{' belongs; {bad}")),
            (file(1, "{'descr'"), format!("f: the header has its end where a ':' belongs; {bad}")),
            (file(1, "{descr: 1}"), format!("f: the header has \"descr: 1}}\" where a string belongs; {bad}")),
            (file(1, "{}"), format!("f: the header has no descr; {bad}")),
            (file(1, "{'descr': '|u1', 'shape': (1, 1)}"), format!("f: the header has no fortran_order; {bad}")),
            (file(1, "{'descr': '|u1', 'fortran_order': True}"), format!("f: the header has no shape; {bad}")),
            (file(1, "{'fortran_order': 0}"), format!("f: fortran_order is \"0\", not True or False; {bad}")),
            (file(1, "{'color': 0}"), format!("f: the header has an unknown key \"color\"; {bad}")),
            (file(1, "{'shape': (-1, 2)}"), format!("f: the shape has \"-1, 2)}}\" where a number belongs; {bad}")),
            (
                file(1, &format!("{{'descr': '<f2', {ok}}}")),
                format!("f: elements of type \"<f2\" are not read; {types}"),
            ),
            (
                file(1, &format!("{{'descr': '|i4', {ok}}}")),
                format!("f: elements of type \"|i4\" are not read; {types}"),
            ),
            (
                file(1, &format!("{{'descr': [('a', '<i4')], {ok}}}")),
                "f: the elements are records; save one field as an array of its own".to_owned(),
            ),
        ] {
            assert_eq!(read(&mut &bytes[..], "f").unwrap_err().to_string(), expected);
        }
        let what = |shape: &[u64]| two_dimensions(shape).unwrap_err().at("f", Place::FILE).to_string();
        assert_eq!(
            what(&[7]),
            "f: the array has the shape (7,), not two dimensions; save one 2-D array, rows x columns"
        );
        assert_eq!(what(&[]), "f: the array has the shape (), not two dimensions; save one 2-D array, rows x columns");
        assert_eq!(
            what(&[1, 2, 3]),
            "f: the array has the shape (1, 2, 3), not two dimensions; save one 2-D array, rows x columns"
        );
        // Brackets without end are no recursion.
        assert!(read(&mut &file(2, &"[({".repeat(20_000))[..], "f").is_err());
    }
}
