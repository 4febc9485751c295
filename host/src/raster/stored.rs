//! The arrays of a file seen as rasters: windows of them are read by position.

use std::fmt;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use super::{Georeference, Raster, Values};
use crate::io::arrays::Arrays;
use crate::io::input::Input;
use crate::io::stored::StoredArray;
use crate::io::{FormatError, InputFormat, Nodata, Place};
use crate::numbers::ValueType;
use crate::observe::Observer;

/// The rasters of a file of any format but GeoTIFF, which [`GeoTiff`](super::geotiff::GeoTiff) opens: one, or in seed-binary one or more, each read
/// when it is asked for. After an error there are no more.
///
/// NPY, raw PGM and seed-binary stay in the file, if it is a regular one. Text and pictures are decoded into memory, where numbers take the
/// narrowest type that has all of them exactly; and what comes through a pipe is kept there as it comes.
///
/// ```
/// use halotile::io::InputFormat;
/// use halotile::raster::{Raster, Rasters, Values};
/// let mut rasters = Rasters::from_reader(&b"2 2\n11 95\n-9999 95\n"[..], InputFormat::SeedText, "map.txt");
/// let map = rasters.next().expect("text is one raster")?;
/// assert_eq!(map.read(0..2, 0..1)?, Values::I16(vec![11, -9999]));
/// assert!(rasters.next().is_none());
/// # Ok::<(), halotile::io::FormatError>(())
/// ```
pub struct Rasters<'a>(Arrays<'a>);

impl fmt::Debug for Rasters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rasters(..)")
    }
}

impl<'a> Rasters<'a> {
    /// Those of a regular file. None where `path` names something that has no positions, as a pipe. The observer is notified of bytes that
    /// are read one after the other, and may stop that.
    ///
    /// # Errors
    /// What opening says.
    pub fn open(path: &Path, format: InputFormat, observer: &'a dyn Observer) -> Result<Option<Self>, FormatError> {
        Ok(Input::open(path, observer)?.map(|input| Self(Arrays::new(input, format))))
    }

    /// Those of a stream; `name` is for messages.
    pub fn from_reader(input: impl Read + 'a, format: InputFormat, name: &str) -> Self {
        Self(Arrays::new(Input::stream(input, name), format))
    }
}

impl Iterator for Rasters<'_> {
    type Item = Result<StoredRaster, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map(|array| StoredRaster { array }))
    }
}

/// A 2-D array of a file, in C or in Fortran order, of any type of numbers. Booleans are bytes, 0 and 1.
pub struct StoredRaster {
    array: StoredArray,
}

impl fmt::Debug for StoredRaster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StoredArray { source, rows, cols, encoding, .. } = &self.array;
        write!(f, "StoredRaster({:?}, {rows} x {cols}, {:?})", source.name, encoding.value_type)
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

    fn place(&self, row: usize, col: usize) -> Place {
        self.array.place(row, col)
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

    fn opened(bytes: &[u8]) -> Result<StoredRaster, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npy");
        std::fs::write(&path, bytes).unwrap();
        let mut rasters = Rasters::open(&path, InputFormat::Npy, &()).unwrap().expect("a regular file");
        rasters.next().expect("an array").map_err(|e| e.to_string().replace(&path.display().to_string(), "f"))
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
                let raster = opened(&bytes).unwrap();
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
        let bools = opened(&npy("|b1", "False", "(1, 3)", &[0, 1, 7])).unwrap();
        assert_eq!(bools.read(0..1, 0..3).unwrap(), Values::U8(vec![0, 1, 1]));
        let bools = opened(&npy("|b1", "True", "(3, 1)", &[0, 1, 7])).unwrap();
        assert_eq!(bools.read(0..3, 0..1).unwrap(), Values::U8(vec![0, 1, 1]));
        // More whole rows than one piece has.
        let data: Vec<u8> = (0..3 << 20).map(|i: u32| (i % 251) as u8).collect();
        let large = opened(&npy("|u1", "False", "(3072, 1024)", &data)).unwrap();
        assert_eq!(large.read(1..3071, 0..1024).unwrap(), Values::U8(data[1024..3071 * 1024].to_vec()));
    }

    /// Stretches read a column at a time and with what lies between them, of one stripe and of several.
    #[test]
    fn windows_of_long_columns() {
        let value = |r: usize, c: usize| (r * 7 + c * 131) as u16;
        for (rows, cols) in [(9000, 700), (5, 300_000), (300_000, 5)] {
            let data: Vec<u8> = (0..rows * cols).flat_map(|i| value(i % rows, i / rows).to_le_bytes()).collect();
            let raster = opened(&npy("<u2", "True", &format!("({rows}, {cols})"), &data)).unwrap();
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
        assert!(Rasters::open("-".as_ref(), InputFormat::Npy, &()).unwrap().is_none());
        #[cfg(unix)]
        assert!(Rasters::open("/dev/null".as_ref(), InputFormat::Npy, &()).unwrap().is_none());
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
        assert!(
            Rasters::open("/nowhere/a.npy".as_ref(), InputFormat::Npy, &())
                .unwrap_err()
                .to_string()
                .contains("check the name")
        );
    }
}
