//! Rows of a file of distances or predecessors, read where they lie: never the whole of it.
//!
//! Which of the two formats it is the file says itself: NPY begins with a byte string that no matrix of distances or
//! predecessors begins with, as the first cell is the one from vertex 0 to itself.

use std::path::Path;

use crate::io::source::Source;
use crate::io::{FormatError, Place, Problem, npy_header};
use crate::numbers::ValueType;

/// Bytes of a number.
const CELL: u64 = 4;

/// A file with a matrix of 32-bit integers, V x V: the source's binary, or NPY (`<i4`, C order).
///
/// ```
/// use halotile::apsp::files::distances::MatrixFile;
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("distances.bin");
/// std::fs::write(&path, [0i32, 5, 7, 0].map(i32::to_le_bytes).as_flattened())?;
/// let file = MatrixFile::open(&path)?;
/// assert_eq!((file.vertices(), file.row(1)?, file.get(0, 1)?), (2, vec![7, 0], 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MatrixFile {
    source: Source,
    /// Where the first number is.
    start: u64,
    vertices: usize,
}

impl MatrixFile {
    /// Opens a file.
    ///
    /// # Errors
    /// What is no regular file, is cut short or too long, or an NPY file of anything but a square of `<i4` in C order.
    pub fn open(path: &Path) -> Result<Self, FormatError> {
        let name = path.display().to_string();
        let here = |problem: Problem| problem.at(&name, Place::FILE);
        let Some(source) = Source::open(path)? else {
            return Err(here(Problem::new("rows are read from a file, not from a pipe", "name a file")));
        };
        let mut head = Vec::new();
        if source.read(0, 6, &mut head)? != b"\x93NUMPY" {
            let cells = source.length / CELL;
            let vertices = cells.isqrt();
            if vertices == 0 || vertices * vertices * CELL != source.length {
                let what = format!("{} bytes are no square of 32-bit numbers", source.length);
                return Err(here(Problem::new(what, "the file is cut short, or not what apsp writes")));
            }
            return Ok(Self { start: 0, vertices: vertices as usize, source });
        }
        let mut input = source.reader(0);
        let header = npy_header::read(&mut input, &name)?;
        let start = input.position();
        if (header.value_type, header.big_endian, header.fortran) != (ValueType::I32, false, false) {
            let what = "the array is not one of 32-bit little-endian integers in C order";
            return Err(here(Problem::new(what, "give the file as apsp wrote it")));
        }
        let (rows, cols) = (header.rows, header.cols);
        if rows != cols || rows == 0 {
            let what = format!("the array has {rows} rows and {cols} columns");
            return Err(here(Problem::new(what, "a matrix of vertices is square, and has a row at least")));
        }
        header.check_length(source.length - start).map_err(here)?;
        Ok(Self { start, vertices: rows as usize, source })
    }

    /// Vertices: rows and columns.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// The numbers of vertex `i`'s row.
    ///
    /// # Errors
    /// [`FormatError`] where the file cannot be read, or has become shorter.
    ///
    /// # Panics
    /// If `i` is no vertex.
    pub fn row(&self, i: usize) -> Result<Vec<i32>, FormatError> {
        assert!(i < self.vertices, "vertex {i} of {}", self.vertices);
        self.numbers(i * self.vertices, self.vertices)
    }

    /// The number in row `i`, column `j`.
    ///
    /// # Errors
    /// Those of [`row`](Self::row).
    ///
    /// # Panics
    /// If one of them is no vertex.
    pub fn get(&self, i: usize, j: usize) -> Result<i32, FormatError> {
        assert!(i.max(j) < self.vertices, "vertices {i} and {j} of {}", self.vertices);
        self.numbers(i * self.vertices + j, 1).map(|numbers| numbers[0])
    }

    fn numbers(&self, first: usize, count: usize) -> Result<Vec<i32>, FormatError> {
        let mut bytes = vec![0; count * CELL as usize];
        self.source.read_exact(&mut bytes, self.start + first as u64 * CELL)?;
        let (cells, _) = bytes.as_chunks();
        Ok(cells.iter().map(|&cell| i32::from_le_bytes(cell)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(descr: &str, fortran: &str, shape: &str, bytes: usize) -> Vec<u8> {
        let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        let mut file = [b"\x93NUMPY\x01\x00\x76\x00", format!("{text:<117}\n").as_bytes()].concat();
        file.resize(128 + bytes, 0);
        file
    }

    #[test]
    fn every_fault_says_what_and_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d");
        let give = "give the file as apsp wrote it";
        let kind = "the array is not one of 32-bit little-endian integers in C order";
        for (bytes, expected) in [
            (
                vec![],
                "0 bytes are no square of 32-bit numbers; the file is cut short, or not what apsp writes".to_owned(),
            ),
            (
                vec![0; 8],
                "8 bytes are no square of 32-bit numbers; the file is cut short, or not what apsp writes".to_owned(),
            ),
            (
                vec![0; 17],
                "17 bytes are no square of 32-bit numbers; the file is cut short, or not what apsp writes".to_owned(),
            ),
            (npy("<f4", "False", "(2, 2)", 16), format!("{kind}; {give}")),
            (npy(">i4", "False", "(2, 2)", 16), format!("{kind}; {give}")),
            (npy("<i4", "True", "(2, 2)", 16), format!("{kind}; {give}")),
            (npy("<i2", "False", "(2, 2)", 8), format!("{kind}; {give}")),
            (
                npy("<i4", "False", "(2, 3)", 24),
                "the array has 2 rows and 3 columns; a matrix of vertices is square, and has a row at least".to_owned(),
            ),
            (
                npy("<i4", "False", "(0, 0)", 0),
                "the array has 0 rows and 0 columns; a matrix of vertices is square, and has a row at least".to_owned(),
            ),
            (
                npy("<i4", "False", "(2, 2)", 15),
                "the file ends after 3 of 4 elements; the file is cut short; copy it again".to_owned(),
            ),
            (
                npy("<i4", "False", "(2, 2)", 20),
                "there is more after the 2 x 2 elements of the array; save one array a file".to_owned(),
            ),
            (
                npy("<i4", "False", "(4294967296, 4294967296)", 15),
                "the file ends after 3 of 18446744073709551616 elements; the file is cut short; copy it again"
                    .to_owned(),
            ),
        ] {
            std::fs::write(&path, &bytes).unwrap();
            let e = MatrixFile::open(&path).unwrap_err().to_string();
            assert_eq!(e, format!("{}: {expected}", path.display()));
        }
        let e = MatrixFile::open("-".as_ref()).unwrap_err();
        assert_eq!(e.to_string(), "-: rows are read from a file, not from a pipe; name a file");
        let e = MatrixFile::open(&dir.path().join("none")).unwrap_err().to_string();
        assert!(
            e.ends_with("none: the file cannot be opened: No such file or directory (os error 2); check the name"),
            "{e}"
        );
        // One that has become shorter since.
        std::fs::write(&path, [0; 16]).unwrap();
        let file = MatrixFile::open(&path).unwrap();
        assert_eq!((file.vertices(), file.get(1, 1).unwrap()), (2, 0));
        std::fs::write(&path, [0; 12]).unwrap();
        assert_eq!(
            file.row(1).unwrap_err().to_string(),
            format!(
                "{}: reading failed: the file has become shorter; check the disk or the program that feeds the pipe",
                path.display()
            )
        );
    }
}
