//! seed-text: `rows columns` on the first line, then every row on a line of its own, numbers between blanks.
//!
//! ```text
//! 2 3
//! 0 1 2
//! 5 5 1
//! ```
//!
//! Lines may end in CR LF, numbers may be padded, empty lines are passed over, and a whole number may be
//! written `3.0`, as many programs do. Everything else is an error that names row, column and
//! line: a row cut short must not quietly borrow from the next one, so line ends count.

use std::io::Read;

use super::error::{FormatError, Place, Problem, quote};
use super::growing::Growing;
use super::input::Input;
use super::lines::Lines;
use super::scan::Scanner;
use super::stored::StoredArray;
use super::value::{Value, check_shape};

/// Reads a seed-text grid.
pub(super) fn read(input: &mut Input<'_>) -> Result<StoredArray, FormatError> {
    let name = &*input.name();
    let mut scan = Scanner::new(input, name);
    scan.start()?;
    let (rows, cols) = header(&mut scan)?;
    let (mut numbers, mut lines) = (Growing::new(rows, cols), Lines::default());
    for row in 0..rows {
        if scan.skip_lines()?.is_none() {
            return Err(Problem::new(
                format!("the file ends after {row} of {rows} rows"),
                "add the missing rows or correct the header",
            )
            .at(name, Place::line(scan.line())));
        }
        lines.begin(row * cols, scan.line());
        read_row(&mut scan, &mut numbers, row, cols)?;
    }
    if scan.skip_lines()?.is_some() {
        let line = scan.line();
        return Err(Problem::new(
            format!("{} stands after the last of the {rows} rows", quote(scan.token(None)?)),
            "delete it or correct the header",
        )
        .at(name, Place::line(line)));
    }
    Ok(numbers.finish(name, lines))
}

fn header<R: Read>(scan: &mut Scanner<'_, R>) -> Result<(usize, usize), FormatError> {
    const ADVICE: &str = "begin with a line of two numbers, rows and columns";
    if scan.skip_lines()?.is_none() {
        return Err(Problem::new("the file is empty", ADVICE).at(scan.name(), Place::FILE));
    }
    let place = Place::line(scan.line());
    let mut shape = [0u64; 2];
    for (found, number) in shape.iter_mut().enumerate() {
        if matches!(scan.skip_blanks()?, None | Some(b'\n')) {
            return Err(Problem::new(format!("the header has {found} of its 2 numbers"), ADVICE).at(scan.name(), place));
        }
        let token = scan.token(None)?;
        // u64 takes a sign, "+4"; a number too large for it is too large for a grid as well.
        let value = std::str::from_utf8(token).ok().filter(|t| t.bytes().all(|b| b.is_ascii_digit()));
        let Some(value) = value.map(|t| t.parse().unwrap_or(u64::MAX)) else {
            let what = format!("{} in the header is not a number of rows or columns", quote(token));
            return Err(Problem::new(what, ADVICE).at(scan.name(), place));
        };
        *number = value;
    }
    let more = scan.count_tokens()?;
    if more > 0 {
        return Err(
            Problem::new(format!("the header has {} numbers instead of 2", 2 + more), ADVICE).at(scan.name(), place)
        );
    }
    check_shape(shape[0], shape[1]).map_err(|problem| problem.at(scan.name(), place))
}

fn read_row<R: Read>(
    scan: &mut Scanner<'_, R>,
    numbers: &mut Growing,
    row: usize,
    cols: usize,
) -> Result<(), FormatError> {
    let (name, line) = (scan.name(), scan.line());
    for col in 0..cols {
        if matches!(scan.skip_blanks()?, None | Some(b'\n')) {
            return Err(wrong_count(col, cols).at(name, Place::row(row).on_line(line)));
        }
        let taken = match scan.short_number() {
            Some(number) => numbers.push_byte(number),
            None => Value::parse(scan.token(None)?).and_then(|value| numbers.push(value)),
        };
        taken.map_err(|problem| problem.at(name, Place::cell(row, col).on_line(line)))?;
    }
    match scan.count_tokens()? {
        0 => Ok(()),
        more => Err(wrong_count(cols.saturating_add(more), cols).at(name, Place::row(row).on_line(line))),
    }
}

fn wrong_count(found: usize, expected: usize) -> Problem {
    let s = if found == 1 { "" } else { "s" };
    Problem::new(
        format!("{found} value{s} where the header promises {expected}"),
        "correct the row or the number of columns in the header",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Values;

    fn read_bytes(text: &[u8]) -> Result<StoredArray, FormatError> {
        read(&mut Input::stream(text, "f"))
    }

    fn read_str(text: &str) -> Result<StoredArray, FormatError> {
        read_bytes(text.as_bytes())
    }

    #[test]
    fn what_a_grid_may_look_like() {
        for text in [
            "2 3\n1 2 3\n40 50 255\n",
            "2 3\n1 2 3\n40 50 255",
            "\u{feff}2 3\r\n1 2 3\r\n40 50 255\r\n\r\n",
            "\n  2\t3  \n\n1   2 3  \n\n\t40 050 +255\n \n",
            "2 3\n1.0 2 3e0\n40 50 255.",
        ] {
            let got = read_str(text).unwrap();
            assert_eq!((got.rows, got.cols), (2, 3), "{text:?}");
            assert_eq!(got.read(0..2, 0..3).unwrap(), Values::U8(vec![1, 2, 3, 40, 50, 255]), "{text:?}");
        }
    }

    #[test]
    fn every_fault_says_where_and_what_to_do() {
        let begin = "begin with a line of two numbers, rows and columns";
        let row = "correct the row or the number of columns in the header";
        for (text, expected) in [
            ("", format!("f: the file is empty; {begin}")),
            (" \n\n", format!("f: the file is empty; {begin}")),
            ("3\n1\n", format!("f: line 1: the header has 1 of its 2 numbers; {begin}")),
            ("\n2 2 2\n", format!("f: line 2: the header has 3 numbers instead of 2; {begin}")),
            ("2 x\n", format!("f: line 1: \"x\" in the header is not a number of rows or columns; {begin}")),
            ("-2 2\n", format!("f: line 1: \"-2\" in the header is not a number of rows or columns; {begin}")),
            (
                "0 4\n",
                "f: line 1: the header promises 0 rows and 4 columns; a grid needs at least one of each".to_owned(),
            ),
            (
                "2147483648 2147483648\n1",
                "f: line 1: the header promises 2147483648 rows and 2147483648 columns, more than the 2^40 cells \
                 a grid may have; correct the header"
                    .to_owned(),
            ),
            (
                "99999999999999999999 1\n1",
                "f: line 1: the header promises 18446744073709551615 rows and 1 columns, more than the 2^40 cells \
                 a grid may have; correct the header"
                    .to_owned(),
            ),
            (
                "2 3\n1 2 3\n1 2\n",
                format!("f: row 1 (counted from 0), line 3: 2 values where the header promises 3; {row}"),
            ),
            ("2 2\n1\n1 2\n", format!("f: row 0 (counted from 0), line 2: 1 value where the header promises 2; {row}")),
            ("1 2\n1 2 3 4", format!("f: row 0 (counted from 0), line 2: 4 values where the header promises 2; {row}")),
            (
                "3 1\n1\n2\n",
                "f: line 4: the file ends after 2 of 3 rows; add the missing rows or correct the header".to_owned(),
            ),
            (
                "1 1\n1\n\nx y",
                "f: line 4: \"x\" stands after the last of the 1 rows; delete it or correct the header".to_owned(),
            ),
            (
                "1 2\n0.5 9007199254740993",
                "f: row 0, column 1 (counted from 0), line 2: no type of numbers has the value 9007199254740993 and those \
                 before it exactly; give whole numbers of up to 64 bits, or reclassify the grid"
                    .to_owned(),
            ),
            (
                "1 2\nabc 2",
                "f: row 0, column 0 (counted from 0), line 2: \"abc\" is not a number; correct the file".to_owned(),
            ),
            ("\u{feff}", format!("f: the file is empty; {begin}")),
        ] {
            assert_eq!(read_str(text).unwrap_err().to_string(), expected, "{text:?}");
        }
        let utf16 = read_bytes(b"\xff\xfe1\0 \0").unwrap_err();
        assert_eq!(utf16.to_string(), "f: line 1: the text is UTF-16; save it as plain ASCII or UTF-8");
        let noise = read_bytes(b"\xef\xef").unwrap_err();
        assert_eq!(noise.to_string(), "f: line 1: this is not text; give the format by name if it is another one");
    }

    #[test]
    fn numbers_of_any_type_have_their_place() {
        let got = read_str("\n3 2\n0 -9999\n\n70000 4\n 5 nan\n").unwrap();
        let Values::F32(numbers) = got.read(0..3, 0..2).unwrap() else { panic!("f32 holds all of them") };
        assert_eq!(numbers[..5], [0.0, -9999.0, 70_000.0, 4.0, 5.0]);
        assert!(numbers[5].is_nan());
        assert_eq!([0, 1, 2].map(|row| got.place(row, 1).line), [Some(3), Some(5), Some(6)]);
    }
}
