//! A stored array seen as a raster: windows of it are read by position, never the whole.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::{Georeference, Raster, Values};
use crate::io::source::Source;
use crate::io::stored::StoredArray;
use crate::io::{FormatError, Nodata, Place, check_shape, npy_header};
use crate::numbers::ValueType;

/// A 2-D array of a file, in C or in Fortran order, of any type of numbers. Booleans are bytes, 0 and 1.
///
/// ```
/// use halotile::grid::GridView;
/// use halotile::io::{InputFormat, write_cells};
/// use halotile::raster::{Raster, StoredRaster, Values};
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("map.npy");
/// std::fs::write(&path, write_cells(InputFormat::Npy, Vec::new(), GridView::new(&[1, 2, 3, 4, 5, 6], 2, 3)?)?)?;
/// let map = StoredRaster::npy(&path)?.expect("a regular file");
/// assert_eq!(map.read(0..2, 1..3)?, Values::U8(vec![2, 3, 5, 6]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StoredRaster {
    array: StoredArray,
}

impl fmt::Debug for StoredRaster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StoredArray { source, rows, cols, encoding, .. } = &self.array;
        write!(f, "StoredRaster({:?}, {rows} x {cols}, {:?})", source.name, encoding.value_type)
    }
}

impl StoredRaster {
    /// Opens an NPY file. None when `path` is no regular file (a pipe has no positions).
    ///
    /// # Errors
    /// What is not an NPY file of a 2-D array of numbers, or is cut short or too long.
    pub fn npy(path: &Path) -> Result<Option<Self>, FormatError> {
        let Some(source) = Source::open(path)? else { return Ok(None) };
        let mut input = source.reader(0);
        let header = npy_header::read(&mut input, &source.name)?;
        let start = input.position();
        let shape = check_shape(header.rows, header.cols);
        let shape = shape.and_then(|shape| header.check_length(source.length - start).map(|()| shape));
        let (rows, cols) = shape.map_err(|problem| problem.at(&source.name, Place::FILE))?;
        let array = StoredArray { start, rows, cols, encoding: (&header).into(), source: Arc::new(source) };
        Ok(Some(Self { array }))
    }
}

impl Raster for StoredRaster {
    fn name(&self) -> &str {
        &self.array.source.name
    }

    fn rows(&self) -> usize {
        self.array.rows
    }

    fn cols(&self) -> usize {
        self.array.cols
    }

    fn value_type(&self) -> ValueType {
        self.array.encoding.value_type
    }

    fn block(&self) -> (usize, usize) {
        self.array.block()
    }

    fn nodata(&self) -> Option<Nodata> {
        None
    }

    fn georeference(&self) -> Option<&Georeference> {
        None
    }

    fn read(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Values, FormatError> {
        self.array.read(rows, cols)
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

    fn opened(bytes: &[u8]) -> Result<Option<StoredRaster>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npy");
        std::fs::write(&path, bytes).unwrap();
        StoredRaster::npy(&path).map_err(|e| e.to_string().replace(&path.display().to_string(), "f"))
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
        assert!(StoredRaster::npy("-".as_ref()).unwrap().is_none());
        #[cfg(unix)]
        assert!(StoredRaster::npy("/dev/null".as_ref()).unwrap().is_none());
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
        assert!(StoredRaster::npy("/nowhere/a.npy".as_ref()).unwrap_err().to_string().contains("check the name"));
    }
}
