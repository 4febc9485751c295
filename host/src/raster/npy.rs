//! An NPY file as a raster: windows of it are read by position, never the whole.
//!
//! ```text
//! C order        rows one after the other: a window of whole rows is one stretch of the file, any other a stretch a row
//! Fortran order  columns one after the other: a window is a stretch a column, which `columns` reads and transposes
//! ```

mod columns;

use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::ops::Range;
use std::path::Path;

use bytemuck::Pod;
use rayon::prelude::*;

use super::{Georeference, Raster, Values};
use crate::io::at::read_exact_at;
use crate::io::npy_header::{self, Kind};
use crate::io::{FormatError, Nodata, Place, Problem, check_shape};
use crate::numbers::ValueType;

/// A 2-D array of an NPY file, in C or in Fortran order. Booleans are bytes, 0 and 1.
///
/// ```
/// use halotile::grid::GridView;
/// use halotile::io::{InputFormat, write_cells};
/// use halotile::raster::{NpyRaster, Raster, Values};
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("map.npy");
/// std::fs::write(&path, write_cells(InputFormat::Npy, Vec::new(), GridView::new(&[1, 2, 3, 4, 5, 6], 2, 3)?)?)?;
/// let map = NpyRaster::open(&path)?.expect("a regular file");
/// assert_eq!(map.read(0..2, 1..3)?, Values::U8(vec![2, 3, 5, 6]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NpyRaster {
    name: String,
    file: File,
    /// Where the first number is.
    start: u64,
    rows: usize,
    cols: usize,
    value_type: ValueType,
    is_bool: bool,
    big_endian: bool,
    fortran: bool,
}

impl fmt::Debug for NpyRaster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, rows, cols, value_type, .. } = self;
        write!(f, "NpyRaster({name:?}, {rows} x {cols}, {value_type:?})")
    }
}

impl NpyRaster {
    /// Opens a file. None when `path` is no regular file (a pipe has no positions).
    ///
    /// # Errors
    /// As for [`io::npy::read`](crate::io::npy::read): what is not an NPY file of a 2-D array of numbers, or is cut short or too long.
    pub fn open(path: &Path) -> Result<Option<Self>, FormatError> {
        let name = path.display().to_string();
        if path.as_os_str() == "-" || std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
            return Ok(None);
        }
        // Says what is wrong with the name.
        crate::io::open(path)?;
        let broken = |e| FormatError::from_io(&name, "reading failed", e, "check the disk");
        let file = File::open(path).map_err(broken)?;
        let mut counted = Counted(BufReader::new(&file), 0);
        let header = npy_header::read(&mut counted, &name)?;
        let at_file = |problem: Problem| problem.at(&name, Place::FILE);
        let shape = npy_header::two_dimensions(&header.shape).and_then(|(rows, cols)| check_shape(rows, cols));
        let (rows, cols) = shape.map_err(at_file)?;
        let value_type = match (header.kind, header.size) {
            (Kind::Bool | Kind::Unsigned, 1) => ValueType::U8,
            (Kind::Signed, 1) => ValueType::I8,
            (Kind::Unsigned, 2) => ValueType::U16,
            (Kind::Signed, 2) => ValueType::I16,
            (Kind::Unsigned, 4) => ValueType::U32,
            (Kind::Signed, 4) => ValueType::I32,
            (Kind::Unsigned, _) => ValueType::U64,
            (Kind::Signed, _) => ValueType::I64,
            (Kind::Float, 4) => ValueType::F32,
            (Kind::Float | Kind::Bool, _) => ValueType::F64,
        };
        let (start, size) = (counted.1, value_type.bytes() as u64);
        // At most 2^40 numbers of 8 bytes.
        let (total, there) = ((rows * cols) as u64, file.metadata().map_err(broken)?.len().saturating_sub(start));
        if there < total * size {
            let what = format!("the file ends after {} of {total} elements", there / size);
            return Err(at_file(Problem::new(what, "the file is cut short; copy it again")));
        }
        if there > total * size {
            let what = format!("there is more after the {rows} x {cols} elements of the array");
            return Err(at_file(Problem::new(what, "save one array a file")));
        }
        let (is_bool, big_endian, fortran) = (header.kind == Kind::Bool, header.big_endian, header.fortran);
        Ok(Some(Self { name, file, start, rows, cols, value_type, is_bool, big_endian, fortran }))
    }

    /// The numbers of a rectangle; `swap` turns the bytes of one.
    fn numbers<T: Pod + Send + Sync>(
        &self,
        rows: Range<usize>,
        cols: Range<usize>,
        swap: fn(T) -> T,
    ) -> Result<Vec<T>, FormatError> {
        let mut values = self.zeroed(rows.len() * cols.len())?;
        let swap = (self.big_endian != cfg!(target_endian = "big")).then_some(swap);
        if self.fortran {
            self.read_columns(rows, cols, &mut values, swap)?;
            return Ok(values);
        }
        // Whole rows are one stretch; many of them are read in pieces, side by side.
        let width = cols.len();
        let piece = if width == self.cols { width * ((1 << 20) / width).max(1) } else { width };
        values.par_chunks_mut(piece).enumerate().try_for_each(|(i, part)| {
            let row = rows.start + i * (piece / width);
            self.read_stretch(row * self.cols + cols.start, part)?;
            if let Some(swap) = swap {
                part.iter_mut().for_each(|v| *v = swap(*v));
            }
            Ok(())
        })?;
        Ok(values)
    }

    /// Numbers that follow each other in the file, from the one with this index on, their bytes as they are there.
    fn read_stretch<T: Pod>(&self, first: usize, numbers: &mut [T]) -> Result<(), FormatError> {
        let at = self.start + (first * size_of::<T>()) as u64;
        read_exact_at(&self.file, bytemuck::cast_slice_mut(numbers), at)
            .map_err(|e| FormatError::from_io(&self.name, "reading failed", e, "check the disk and the file"))
    }

    /// Room for so many numbers.
    fn zeroed<T: Pod>(&self, count: usize) -> Result<Vec<T>, FormatError> {
        let mut values: Vec<T> = Vec::new();
        values.try_reserve_exact(count).map_err(|_| {
            Problem::new(format!("there is not enough memory for {count} numbers"), "ask for less at a time")
                .at(&self.name, Place::FILE)
        })?;
        values.resize(count, T::zeroed());
        Ok(values)
    }
}

/// Counts what is read.
struct Counted<R>(R, u64);

impl<R: std::io::Read> std::io::Read for Counted<R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let got = self.0.read(bytes)?;
        self.1 += got as u64;
        Ok(got)
    }
}

impl Raster for NpyRaster {
    fn name(&self) -> &str {
        &self.name
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn cols(&self) -> usize {
        self.cols
    }

    fn value_type(&self) -> ValueType {
        self.value_type
    }

    fn block(&self) -> (usize, usize) {
        if self.fortran { columns::block(self.rows, self.cols, self.value_type.bytes()) } else { (1, self.cols) }
    }

    fn nodata(&self) -> Option<Nodata> {
        None
    }

    fn georeference(&self) -> Option<&Georeference> {
        None
    }

    fn read(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Values, FormatError> {
        assert!(rows.start < rows.end && rows.end <= self.rows, "rows {rows:?} of {}", self.rows);
        assert!(cols.start < cols.end && cols.end <= self.cols, "columns {cols:?} of {}", self.cols);
        Ok(match self.value_type {
            ValueType::U8 => {
                let mut bytes = self.numbers(rows, cols, |v: u8| v)?;
                if self.is_bool {
                    bytes.iter_mut().for_each(|v| *v = u8::from(*v != 0));
                }
                Values::U8(bytes)
            }
            ValueType::I8 => Values::I8(self.numbers(rows, cols, |v| v)?),
            ValueType::U16 => Values::U16(self.numbers(rows, cols, u16::swap_bytes)?),
            ValueType::I16 => Values::I16(self.numbers(rows, cols, i16::swap_bytes)?),
            ValueType::U32 => Values::U32(self.numbers(rows, cols, u32::swap_bytes)?),
            ValueType::I32 => Values::I32(self.numbers(rows, cols, i32::swap_bytes)?),
            ValueType::U64 => Values::U64(self.numbers(rows, cols, u64::swap_bytes)?),
            ValueType::I64 => Values::I64(self.numbers(rows, cols, i64::swap_bytes)?),
            ValueType::F32 => Values::F32(self.numbers(rows, cols, |v: f32| f32::from_bits(v.to_bits().swap_bytes()))?),
            ValueType::F64 => Values::F64(self.numbers(rows, cols, |v: f64| f64::from_bits(v.to_bits().swap_bytes()))?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let length = u16::try_from(text.len()).unwrap().to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], text.as_bytes(), data].concat()
    }

    fn opened(bytes: &[u8]) -> Result<Option<NpyRaster>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npy");
        std::fs::write(&path, bytes).unwrap();
        NpyRaster::open(&path).map_err(|e| e.to_string().replace(&path.display().to_string(), "f"))
    }

    /// Windows of one cell, of part of some rows, of whole rows, and all of it.
    const WINDOWS: [[usize; 4]; 5] = [[0, 1, 0, 1], [29, 30, 40, 41], [3, 17, 5, 40], [7, 20, 0, 41], [0, 30, 0, 41]];

    macro_rules! check {
        ($t:ty, $variant:ident, $name:literal) => {
            let value = |r: usize, c: usize| ((r * 41 + c) as i64 * 123_456_789 - 77_000_000_000) as $t;
            for (order, big, fortran) in
                [("<", false, "False"), (">", true, "False"), ("<", false, "True"), (">", true, "True")]
            {
                let encode = |v: $t| if big { v.to_be_bytes() } else { v.to_le_bytes() };
                let place = |i: usize| if fortran == "True" { (i % 30, i / 30) } else { (i / 41, i % 41) };
                let data: Vec<u8> = (0..30 * 41).map(place).flat_map(|(r, c)| encode(value(r, c))).collect();
                let bytes = npy(&format!("{order}{}", $name), fortran, "(30, 41)", &data);
                let raster = opened(&bytes).unwrap().unwrap();
                assert_eq!((raster.rows(), raster.cols(), raster.value_type()), (30, 41, ValueType::$variant));
                for [top, bottom, left, right] in WINDOWS {
                    let wanted = (top..bottom).flat_map(|r| (left..right).map(move |c| value(r, c))).collect();
                    assert_eq!(
                        raster.read(top..bottom, left..right).unwrap(),
                        Values::$variant(wanted),
                        "{order} {fortran}"
                    );
                }
            }
        };
    }

    #[test]
    fn windows_of_every_type_and_byte_order() {
        check!(u8, U8, "u1");
        check!(i8, I8, "i1");
        check!(u16, U16, "u2");
        check!(i16, I16, "i2");
        check!(u32, U32, "u4");
        check!(i32, I32, "i4");
        check!(u64, U64, "u8");
        check!(i64, I64, "i8");
        check!(f32, F32, "f4");
        check!(f64, F64, "f8");
        let bools = opened(&npy("|b1", "False", "(1, 3)", &[0, 1, 7])).unwrap().unwrap();
        assert_eq!(bools.read(0..1, 0..3).unwrap(), Values::U8(vec![0, 1, 1]));
        let bools = opened(&npy("|b1", "True", "(3, 1)", &[0, 1, 7])).unwrap().unwrap();
        assert_eq!(bools.read(0..3, 0..1).unwrap(), Values::U8(vec![0, 1, 1]));
        // More whole rows than one piece has.
        let data: Vec<u8> = (0..3 << 20).map(|i: u32| (i % 251) as u8).collect();
        let large = opened(&npy("|u1", "False", "(3072, 1024)", &data)).unwrap().unwrap();
        assert_eq!(large.read(1..3071, 0..1024).unwrap(), Values::U8(data[1024..3071 * 1024].to_vec()));
    }

    /// Stretches read a column at a time and with what lies between them, of one stripe and of several.
    #[test]
    fn windows_of_long_columns() {
        let value = |r: usize, c: usize| (r * 7 + c * 131) as u16;
        for (rows, cols) in [(9000, 700), (5, 300_000), (300_000, 5)] {
            let data: Vec<u8> = (0..rows * cols).flat_map(|i| value(i % rows, i / rows).to_le_bytes()).collect();
            let raster = opened(&npy("<u2", "True", &format!("({rows}, {cols})"), &data)).unwrap().unwrap();
            let (far, wide) = (rows - rows / 9, cols - cols / 8);
            for (r, c) in [
                (0..rows, 0..cols),
                (0..rows, cols / 3..wide),
                (rows / 8..far, 1..cols),
                (rows / 2..rows / 2 + rows / 5, 0..wide),
                (rows - 1..rows, 0..cols),
                (far - 1..far, wide - 1..wide),
            ] {
                let wanted: Vec<u16> = r.clone().flat_map(|r| c.clone().map(move |c| value(r, c))).collect();
                assert!(
                    raster.read(r.clone(), c.clone()).unwrap() == Values::U16(wanted),
                    "{rows} x {cols}: {r:?} {c:?}"
                );
            }
        }
    }

    #[test]
    fn what_has_no_windows_is_left_to_others() {
        assert!(NpyRaster::open("-".as_ref()).unwrap().is_none());
        #[cfg(unix)]
        assert!(NpyRaster::open("/dev/null".as_ref()).unwrap().is_none());
    }

    #[test]
    fn every_fault_is_found_on_opening() {
        let error = |bytes: &[u8]| opened(bytes).unwrap_err();
        assert_eq!(
            error(&npy("<i4", "False", "(2, 3)", &[0; 23])),
            "f: the file ends after 5 of 6 elements; the file is cut short; copy it again"
        );
        assert_eq!(
            error(&npy("<i4", "False", "(2, 3)", &[0; 25])),
            "f: there is more after the 2 x 3 elements of the array; save one array a file"
        );
        assert_eq!(
            error(&npy("<i4", "True", "(2, 3)", &[0; 23])),
            "f: the file ends after 5 of 6 elements; the file is cut short; copy it again"
        );
        assert!(error(b"PK").contains("not an NPY file"));
        assert!(error(&npy("<c8", "False", "(2, 3)", &[0; 48])).contains("are not read"));
        assert!(error(&npy("|u1", "False", "(6,)", &[0; 6])).contains("not two dimensions"));
        assert!(error(&npy("<f8", "False", "(1048576, 1048577)", &[])).contains("more than the 2^40 cells"));
        assert!(NpyRaster::open("/nowhere/a.npy".as_ref()).unwrap_err().to_string().contains("check the name"));
    }
}
