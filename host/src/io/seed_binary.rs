//! seed-binary: samples back to back, each an `i32` width, an `i32` height (little-endian), then width · height bytes.
//!
//! Width comes first, unlike in seed-text. The samples are an iterator, so a file of many is never in memory
//! as a whole. A body is read as it arrives: a header that lies costs nothing.

use std::io::Read;

use super::error::{FormatError, Place, Problem};
use super::sample::{ReadOptions, Sample, SampleBuilder, check_shape};
use super::scan::{read_failed, read_full};

/// The samples of a seed-binary file, one after the other. After an error there are no more.
///
/// ```
/// use halotile::io::{ReadOptions, seed_binary::Samples};
/// let file = [2, 0, 0, 0, 1, 0, 0, 0, 7, 8, /* and another */ 1, 0, 0, 0, 1, 0, 0, 0, 9];
/// let samples = Samples::new(&file[..], "two.bin", ReadOptions::default()).collect::<Result<Vec<_>, _>>()?;
/// assert_eq!((samples[0].cells.get(0, 1), samples[1].cells.get(0, 0)), (8, 9));
/// # Ok::<(), halotile::io::FormatError>(())
/// ```
#[derive(Debug)]
pub struct Samples<R> {
    input: R,
    name: String,
    options: ReadOptions,
    index: usize,
    done: bool,
}

impl<R: Read> Samples<R> {
    /// Samples from `input`; `name` is for messages.
    pub fn new(input: R, name: &str, options: ReadOptions) -> Self {
        Self { input, name: name.to_owned(), options, index: 0, done: false }
    }

    fn read(&mut self) -> Result<Option<Sample>, FormatError> {
        let place = Place::sample(self.index);
        let mut header = [0u8; 8];
        match read_full(&mut self.input, &mut header, &self.name)? {
            0 if self.index == 0 => {
                return Err(Problem::new("the file is empty", "begin with width and height, 4 bytes each")
                    .at(&self.name, Place::FILE));
            }
            0 => return Ok(None),
            8 => {}
            got => {
                return Err(Problem::new(
                    format!("the file ends inside a header: {got} of 8 bytes are there"),
                    "the file is cut short, or not seed-binary",
                )
                .at(&self.name, place));
            }
        }
        let number = |at: usize| i32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (width, height) = (number(0), number(4));
        let (Ok(cols), Ok(rows)) = (u64::try_from(width), u64::try_from(height)) else {
            return Err(Problem::new(
                format!("the header promises {height} rows and {width} columns"),
                "write width and height as positive little-endian 32-bit numbers",
            )
            .at(&self.name, place));
        };
        let (rows, cols) = check_shape(rows, cols).map_err(|problem| problem.at(&self.name, place))?;
        let builder = SampleBuilder::new(rows, cols, &self.options);
        let total = builder.total();
        let bytes = body(&mut self.input, total, &self.name)?;
        if bytes.len() < total {
            return Err(Problem::new(
                format!("{} of the {total} bytes of a {rows} x {cols} grid are there", bytes.len()),
                "the file is cut short, or its header is wrong",
            )
            .at(&self.name, place));
        }
        builder
            .finish_with(bytes)
            .map(Some)
            .map_err(|(at, problem)| problem.at(&self.name, Place::cell(at / cols, at % cols).in_sample(self.index)))
    }
}

impl<R: Read> Iterator for Samples<R> {
    type Item = Result<Sample, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let sample = self.read().transpose();
        self.index += 1;
        self.done = !matches!(sample, Some(Ok(_)));
        sample
    }
}

/// Up to `total` bytes; memory grows as they come, and running out of it is an error.
pub(super) fn body(input: &mut impl Read, total: usize, name: &str) -> Result<Vec<u8>, FormatError> {
    let mut bytes = Vec::new();
    // What the first allocation takes without evidence; from there on the vector doubles as it fills.
    let first = total.min(1 << 16);
    bytes.try_reserve_exact(first).map_err(|e| read_failed(name, std::io::Error::other(e)))?;
    let limit = u64::try_from(total).unwrap_or(u64::MAX);
    input.by_ref().take(limit).read_to_end(&mut bytes).map_err(|e| read_failed(name, e))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::sample::Nodata;
    use super::*;

    fn file(samples: &[(i32, i32, &[u8])]) -> Vec<u8> {
        let bytes = |&(w, h, body): &(i32, i32, &[u8])| [&w.to_le_bytes(), &h.to_le_bytes(), body].concat();
        samples.iter().flat_map(bytes).collect()
    }

    fn last_error(bytes: &[u8], options: ReadOptions) -> String {
        let mut samples = Samples::new(bytes, "f", options);
        let e = samples.find_map(Result::err).expect("an error");
        assert!(samples.next().is_none(), "nothing comes after an error");
        e.to_string()
    }

    #[test]
    fn samples_come_one_by_one() {
        let bytes = file(&[(3, 2, &[1, 2, 3, 4, 5, 6]), (1, 1, &[255])]);
        let got: Vec<_> = Samples::new(&bytes[..], "f", ReadOptions::default()).collect::<Result<_, _>>().unwrap();
        assert_eq!((got[0].cells.rows(), got[0].cells.bytes().unwrap().row(1)), (2, &[4u8, 5, 6][..]));
        assert_eq!(got[1].cells.bytes().unwrap().as_slice(), &[255]);
        assert_eq!(got.len(), 2);
    }

    #[test]
    fn memory_follows_the_bytes_and_not_the_promise() {
        let bytes = body(&mut &[7u8; 100_000][..], 1 << 32, "f").unwrap();
        assert!(bytes.len() == 100_000 && bytes.capacity() <= 1 << 18, "{}", bytes.capacity());
    }

    #[test]
    fn every_fault_says_where_and_what_to_do() {
        let good = (1, 1, &[9][..]);
        let none = ReadOptions::default();
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
            assert_eq!(last_error(&bytes, none), expected);
        }
        let options = ReadOptions { nodata: Some(Nodata::Whole(255)), levels: Some(16) };
        let bytes = file(&[good, (2, 2, &[255, 15, 0, 16])]);
        assert_eq!(
            last_error(&bytes, options),
            "f: sample 1, row 1, column 1 (counted from 0): the value 16 is not below the 16 levels asked for; \
             ask for more levels, or name the nodata value if this is it"
        );
    }
}
