//! Distances out, and predecessors: V x V numbers, row by row.
//!
//! - **binary**: the source's format, 32-bit little-endian integers and nothing else; unreachable is 2^30 - 1, also where the matrix is of 16
//!   bits. There is no f32 in it.
//! - **npy**: `<i4`, `<i2` where the matrix is of 16 bits (unreachable is 2^15 - 1) or `<f4` (unreachable is infinite).
//! - **csv**: a line a row, commas between, `inf` for unreachable; up to 4096 vertices, as text of more is for no reader.
//!
//! Threads encode bands of rows and write each where it belongs, if the file has positions; then it gets its length first. A pipe
//! gets bands in their order, encoded by all threads some at a time. Predecessors are a `Matrix<i32>` like any other: -9999 stays what it is.
//!
//! [`MatrixFile`] reads rows of such a file again.

mod read;

use std::fmt;
use std::io::{Error, Write};
use std::path::Path;
use std::str::FromStr;

use rayon::prelude::*;

pub use read::MatrixFile;

use crate::apsp::{Distance, Matrix};
use crate::io::at::write_all_at;
use crate::io::format::{by_name, detect};
use crate::io::ordered::{ended, write_parts};
use crate::io::{FormatError, OutputFile, Place, Problem, UnknownFormat, npy_header};
use crate::observe::{Cancelled, Observer};

/// A format of distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DistanceFormat {
    /// 32-bit integers, row by row.
    Binary,
    /// NumPy's array file.
    Npy,
    /// Lines of numbers with commas.
    Csv,
}

impl DistanceFormat {
    /// Every format, in the order messages list them.
    pub const ALL: &'static [DistanceFormat] = &[Self::Binary, Self::Npy, Self::Csv];

    /// The format's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Npy => "npy",
            Self::Csv => "csv",
        }
    }

    /// The format that the ending of `path` stands for: `.bin`, `.npy` or `.csv`.
    ///
    /// # Errors
    /// [`UnknownFormat`] for an ending that no format has.
    pub fn detect(path: &Path) -> Result<Self, UnknownFormat> {
        detect(path, &[("bin", "binary", Self::Binary), ("npy", "npy", Self::Npy), ("csv", "csv", Self::Csv)])
    }
}

impl FromStr for DistanceFormat {
    type Err = UnknownFormat;
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        by_name(name, Self::ALL, Self::name)
    }
}

impl fmt::Display for DistanceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Most vertices of a matrix that is written as text.
pub const MOST_AS_TEXT: usize = 4096;

/// Bytes of a band, unless a row has more.
const BAND: usize = 1 << 20;

/// How the cells of a matrix become bytes.
#[derive(Clone, Copy)]
enum Encoding {
    /// As they are.
    Plain,
    /// 16 bits as 32.
    Widened,
    /// As text.
    Text,
}

/// Whether `format` has room for a matrix of so many vertices with cells of type `T`: what can be asked before there are distances.
///
/// # Errors
/// [`DistanceFormat::Binary`] for f32, and [`DistanceFormat::Csv`] for more than [`MOST_AS_TEXT`] vertices. `name` is the file's, for messages.
pub fn check<T: Distance>(vertices: usize, format: DistanceFormat, name: &str) -> Result<(), FormatError> {
    encoding::<T>(vertices, format).map(drop).map_err(|problem| problem.at(name, Place::FILE))
}

fn encoding<T: Distance>(vertices: usize, format: DistanceFormat) -> Result<Encoding, Problem> {
    match (format, T::NPY) {
        (DistanceFormat::Npy, _) | (DistanceFormat::Binary, "<i4") => Ok(Encoding::Plain),
        (DistanceFormat::Binary, "<i2") => Ok(Encoding::Widened),
        (DistanceFormat::Binary, _) => Err(Problem::new(
            "the binary format has 32-bit integers, and the distances are floating-point numbers",
            "write them as .npy",
        )),
        (DistanceFormat::Csv, _) if vertices > MOST_AS_TEXT => Err(Problem::new(
            format!("the distances between {vertices} vertices are too many for text, which ends at {MOST_AS_TEXT}"),
            "write them as .npy or .bin",
        )),
        (DistanceFormat::Csv, _) => Ok(Encoding::Text),
    }
}

/// Writes a matrix; the caller commits the file. The observer is notified of cells, V x V in all.
///
/// ```
/// use halotile::apsp::Matrix;
/// use halotile::io::OutputFile;
/// use halotile::apsp::files::distances::{DistanceFormat, MatrixFile, write_distances};
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("distances.npy");
/// let matrix = Matrix::from_fn(3, |i, j| (10 * i + j) as i32)?;
/// let mut file = OutputFile::create(&path, false)?;
/// write_distances(&matrix, DistanceFormat::Npy, &mut file, &())?;
/// file.commit()?;
/// assert_eq!(MatrixFile::open(&path)?.row(2)?, [20, 21, 22]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`check`]; a disk that is full, or a closed pipe; or that the observer stopped the work
/// ([`FormatError::is_cancelled`]).
pub fn write_distances<T: Distance>(
    matrix: &Matrix<T>,
    format: DistanceFormat,
    file: &mut OutputFile,
    observer: &dyn Observer,
) -> Result<(), FormatError> {
    let (vertices, name) = (matrix.vertices(), file.name().to_owned());
    let encoding = encoding::<T>(vertices, format).map_err(|problem| problem.at(&name, Place::FILE))?;
    let header = match format {
        DistanceFormat::Npy => npy_header::write(T::NPY, vertices, vertices),
        DistanceFormat::Binary | DistanceFormat::Csv => Vec::new(),
    };
    let cell = match encoding {
        Encoding::Plain => size_of::<T>(),
        Encoding::Widened | Encoding::Text => size_of::<i32>(),
    };
    let rows = (BAND / (vertices * cell)).max(1);
    let bands = vertices.div_ceil(rows);
    let encode = |band: usize, bytes: &mut Vec<u8>| {
        let (first, last) = (band * rows, ((band + 1) * rows).min(vertices));
        (first..last).for_each(|row| encode_row(matrix.row(row), encoding, bytes));
        ((last - first) * vertices) as u64
    };
    let written = match (encoding, file.by_position()) {
        (Encoding::Plain | Encoding::Widened, Some(file)) => {
            let line = vertices * cell;
            // What is too long for the file system is known at once.
            file.set_len((header.len() + vertices * line) as u64).and_then(|()| {
                write_all_at(file, &header, 0)?;
                (0..bands).into_par_iter().try_for_each_init(Vec::new, |bytes, band| {
                    if observer.cancelled() {
                        return Err(Error::other(Cancelled));
                    }
                    bytes.clear();
                    let cells = encode(band, bytes);
                    write_all_at(file, bytes, (header.len() + band * rows * line) as u64)?;
                    observer.advance(cells);
                    Ok(())
                })
            })
        }
        _ => file.write_all(&header).and_then(|()| write_parts(file, bands, observer, encode)),
    };
    written.map_err(|error| ended(&name, error))
}

/// Appends the bytes of a row.
fn encode_row<T: Distance>(row: &[T], encoding: Encoding, bytes: &mut Vec<u8>) {
    match (encoding, T::NPY) {
        (Encoding::Plain, "<i2") => extend(bytes, bytemuck::cast_slice::<T, u16>(row), |v| v.to_le_bytes()),
        (Encoding::Plain, _) => extend(bytes, bytemuck::cast_slice::<T, u32>(row), |v| v.to_le_bytes()),
        (Encoding::Widened, _) => extend(bytes, bytemuck::cast_slice::<T, u16>(row), |v| {
            let v = if v == u16::UNREACHABLE { i32::UNREACHABLE } else { i32::from(v) };
            v.to_le_bytes()
        }),
        (Encoding::Text, _) => {
            for (j, &cell) in row.iter().enumerate() {
                if j > 0 {
                    bytes.push(b',');
                }
                // A vector takes whatever it is given.
                let _ = match cell == T::UNREACHABLE {
                    true => write!(bytes, "inf"),
                    false => write!(bytes, "{cell}"),
                };
            }
            bytes.push(b'\n');
        }
    }
}

fn extend<T: Copy, const N: usize>(bytes: &mut Vec<u8>, row: &[T], of: impl Fn(T) -> [u8; N]) {
    bytes.extend(row.iter().flat_map(|&v| of(v)));
}

#[cfg(test)]
mod tests;
