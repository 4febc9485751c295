//! seed-binary: samples back to back, each an `i32` width, an `i32` height (little-endian), then width · height bytes.
//!
//! Width comes first, unlike in seed-text. The samples are read one by one, so a file of many is never in memory as a whole, and one that has
//! positions not even a sample of it.

use super::error::{FormatError, Place, Problem};
use super::input::Input;
use super::scan::read_full;
use super::stored::{Encoding, StoredArray};
use super::value::check_shape;
use crate::numbers::ValueType;

/// Reads the next sample, the one with this index; `None` at the end of the file.
pub(super) fn read(input: &mut Input<'_>, index: usize) -> Result<Option<StoredArray>, FormatError> {
    let (name, place) = (input.name(), Place::sample(index));
    let mut header = [0u8; 8];
    match read_full(input, &mut header, &name)? {
        0 if index == 0 => {
            return Err(
                Problem::new("the file is empty", "begin with width and height, 4 bytes each").at(&name, Place::FILE)
            );
        }
        0 => return Ok(None),
        8 => {}
        got => {
            return Err(Problem::new(
                format!("the file ends inside a header: {got} of 8 bytes are there"),
                "the file is cut short, or not seed-binary",
            )
            .at(&name, place));
        }
    }
    let number = |at: usize| i32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (width, height) = (number(0), number(4));
    let (Ok(cols), Ok(rows)) = (u64::try_from(width), u64::try_from(height)) else {
        return Err(Problem::new(
            format!("the header promises {height} rows and {width} columns"),
            "write width and height as positive little-endian 32-bit numbers",
        )
        .at(&name, place));
    };
    let (rows, cols) = check_shape(rows, cols).map_err(|problem| problem.at(&name, place))?;
    let total = (rows * cols) as u64;
    let body = input.body(total)?;
    if body.length < total {
        return Err(Problem::new(
            format!("{} of the {total} bytes of a {rows} x {cols} grid are there", body.length),
            "the file is cut short, or its header is wrong",
        )
        .at(&name, place));
    }
    let array = StoredArray::new(body.source, body.start, (rows, cols), Encoding::native(ValueType::U8));
    Ok(Some(StoredArray { sample: Some(index), ..array }))
}

#[cfg(test)]
mod tests {
    use super::super::InputFormat;
    use super::super::arrays::Arrays;
    use super::*;
    use crate::numbers::Values;

    fn samples(bytes: &[u8]) -> Arrays<'_> {
        Arrays::new(Input::stream(bytes, "f"), InputFormat::SeedBinary)
    }

    fn file(samples: &[(i32, i32, &[u8])]) -> Vec<u8> {
        let bytes = |&(w, h, body): &(i32, i32, &[u8])| [&w.to_le_bytes(), &h.to_le_bytes(), body].concat();
        samples.iter().flat_map(bytes).collect()
    }

    fn last_error(bytes: &[u8]) -> String {
        let mut samples = samples(bytes);
        let e = samples.find_map(Result::err).expect("an error");
        assert!(samples.next().is_none(), "nothing comes after an error");
        e.to_string()
    }

    #[test]
    fn samples_come_one_by_one() {
        let bytes = file(&[(3, 2, &[1, 2, 3, 4, 5, 6]), (1, 1, &[255])]);
        let got: Vec<_> = samples(&bytes).collect::<Result<_, _>>().unwrap();
        assert_eq!((got[0].rows, got[0].read(1..2, 0..3).unwrap()), (2, Values::U8(vec![4, 5, 6])));
        assert_eq!(got[1].read(0..1, 0..1).unwrap(), Values::U8(vec![255]));
        assert_eq!((got.len(), got[1].place(0, 0)), (2, Place { sample: Some(1), ..Place::cell(0, 0) }));
    }

    #[test]
    fn every_fault_says_where_and_what_to_do() {
        let good = (1, 1, &[9][..]);
        for (bytes, expected) in [
            (vec![], "f: the file is empty; begin with width and height, 4 bytes each"),
            (
                [file(&[good]), vec![1, 0, 0]].concat(),
                "f: sample 1 (counted from 0): the file ends inside a header: 3 of 8 bytes are there; \
                 the file is cut short, or not seed-binary",
            ),
            (
                file(&[good, (3, 2, &[1, 2, 3, 4])]),
                "f: sample 1 (counted from 0): 4 of the 6 bytes of a 2 x 3 grid are there; \
                 the file is cut short, or its header is wrong",
            ),
            (
                file(&[(0, 2, &[])]),
                "f: sample 0 (counted from 0): the header promises 2 rows and 0 columns; \
                 a grid needs at least one of each",
            ),
            (
                file(&[(-3, 2, &[])]),
                "f: sample 0 (counted from 0): the header promises 2 rows and -3 columns; \
                 write width and height as positive little-endian 32-bit numbers",
            ),
            (
                file(&[(i32::MAX, i32::MAX, &[])]),
                "f: sample 0 (counted from 0): the header promises 2147483647 rows and 2147483647 columns, \
                 more than the 2^40 cells a grid may have; correct the header",
            ),
        ] {
            assert_eq!(last_error(&bytes), expected);
        }
    }
}
