//! Rows of a file of distances or predecessors, read where they lie: never the whole of it.
//!
//! Which of the two formats it is the file says itself: NPY begins with a byte string that no matrix of distances or
//! predecessors begins with, as the first cell is the one from vertex 0 to itself.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::io::at::{self, read_exact_at};
use crate::io::npy_header::{self, Kind};
use crate::io::scan::read_failed;
use crate::io::{FormatError, Place, Problem};

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
    name: String,
    file: File,
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
        if std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) || path.as_os_str() == "-" {
            return Err(here(Problem::new("rows are read from a file, not from a pipe", "name a file")));
        }
        // Says what is wrong with the name.
        crate::io::open(path)?;
        let (mut file, length) = at::open(path).map_err(|e| read_failed(&name, e))?;
        let mut head = Vec::new();
        file.by_ref().take((1 << 16) + 12).read_to_end(&mut head).map_err(|e| read_failed(&name, e))?;
        if !head.starts_with(b"\x93NUMPY") {
            let cells = length / CELL;
            let vertices = cells.isqrt();
            if vertices == 0 || vertices * vertices * CELL != length {
                let what = format!("{length} bytes are no square of 32-bit numbers");
                return Err(here(Problem::new(what, "the file is cut short, or not what apsp writes")));
            }
            return Ok(Self { start: 0, vertices: vertices as usize, name, file });
        }
        let mut rest = head.as_slice();
        let header = npy_header::read(&mut rest, &name)?;
        let start = (head.len() - rest.len()) as u64;
        let (rows, cols) = npy_header::two_dimensions(&header.shape).map_err(here)?;
        if (header.kind, header.size, header.big_endian, header.fortran) != (Kind::Signed, CELL as usize, false, false)
        {
            let what = "the array is not one of 32-bit little-endian integers in C order";
            return Err(here(Problem::new(what, "give the file as apsp wrote it")));
        }
        if rows != cols || rows == 0 {
            let what = format!("the array has {rows} rows and {cols} columns");
            return Err(here(Problem::new(what, "a matrix of vertices is square, and has a row at least")));
        }
        // A header may claim more than any number holds.
        let wanted = (u128::from(rows) * u128::from(cols)).checked_mul(u128::from(CELL));
        if wanted != Some(u128::from(length - start)) {
            let what = format!("{} bytes are not {rows} x {cols} numbers of 32 bits", length - start);
            return Err(here(Problem::new(what, "the file is cut short, or its header is wrong")));
        }
        Ok(Self { start, vertices: rows as usize, name, file })
    }

    /// Vertices: rows and columns.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// The numbers of vertex `i`'s row.
    ///
    /// # Panics
    /// If `i` is no vertex.
    pub fn row(&self, i: usize) -> Result<Vec<i32>, FormatError> {
        assert!(i < self.vertices, "vertex {i} of {}", self.vertices);
        self.numbers(i * self.vertices, self.vertices)
    }

    /// The number in row `i`, column `j`.
    ///
    /// # Panics
    /// If one of them is no vertex.
    pub fn get(&self, i: usize, j: usize) -> Result<i32, FormatError> {
        assert!(i.max(j) < self.vertices, "vertices {i} and {j} of {}", self.vertices);
        self.numbers(i * self.vertices + j, 1).map(|numbers| numbers[0])
    }

    fn numbers(&self, first: usize, count: usize) -> Result<Vec<i32>, FormatError> {
        let mut bytes = vec![0; count * CELL as usize];
        let at = self.start + first as u64 * CELL;
        read_exact_at(&self.file, &mut bytes, at).map_err(|e| read_failed(&self.name, e))?;
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
                "15 bytes are not 2 x 2 numbers of 32 bits; the file is cut short, or its header is wrong".to_owned(),
            ),
            (
                npy("<i4", "False", "(4294967296, 4294967296)", 15),
                "15 bytes are not 4294967296 x 4294967296 numbers of 32 bits; \
                 the file is cut short, or its header is wrong"
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
