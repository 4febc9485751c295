//! NPY: NumPy's array file. A header (see `npy_header`), then the elements without gaps.
//!
//! Read: 2-D arrays of booleans, integers of 8 to 64 bits, f32 and f64, either byte order, C or Fortran order,
//! versions 1 to 3. A Fortran array is read as its transpose and transposed afterwards, in blocks that fit the
//! cache. Bytes after the last element are an error: `numpy.load` ignores them, but then it goes unnoticed that a
//! file held two arrays or that its header was wrong.

use std::io::Read;

use super::error::{FormatError, Place, Problem};
use super::npy_header::{self, Header};
use super::sample::{Nodata, ReadOptions, Sample, SampleBuilder, Value, check_shape, out_of_memory};
use super::scan::{read_full, read_some};
use super::seed_binary::body;
use crate::codes::CodesGrid;
use crate::grid::Grid;
use crate::numbers::ValueType;

/// Bytes read at a time, a multiple of every element's size.
const CHUNK: usize = 1 << 16;

/// An element type: how it is decoded, and its value.
trait Element: Copy {
    const SIZE: usize;
    /// From `SIZE` bytes.
    fn decode(bytes: &[u8], big_endian: bool) -> Self;
    /// The value when it is a whole number 0..=255.
    fn small(self) -> Option<u8>;
    fn value(self) -> Value;
    fn real(self) -> f64;
}

macro_rules! element {
    ($($t:ty, $small:expr, $value:expr;)*) => {$(
        impl Element for $t {
            const SIZE: usize = size_of::<$t>();
            #[inline]
            fn decode(bytes: &[u8], big_endian: bool) -> Self {
                let mut raw = [0; size_of::<$t>()];
                raw.copy_from_slice(bytes);
                if big_endian { <$t>::from_be_bytes(raw) } else { <$t>::from_le_bytes(raw) }
            }
            #[inline]
            fn small(self) -> Option<u8> {
                $small(self)
            }
            fn value(self) -> Value {
                $value(self)
            }
            fn real(self) -> f64 {
                self as f64
            }
        }
    )*};
}

element! {
    u8, Some, |v| Value::Whole(i128::from(v));
    i8, |v| u8::try_from(v).ok(), |v| Value::Whole(i128::from(v));
    u16, |v| u8::try_from(v).ok(), |v| Value::Whole(i128::from(v));
    i16, |v| u8::try_from(v).ok(), |v| Value::Whole(i128::from(v));
    u32, |v| u8::try_from(v).ok(), |v| Value::Whole(i128::from(v));
    i32, |v| u8::try_from(v).ok(), |v| Value::Whole(i128::from(v));
    u64, |v| u8::try_from(v).ok(), |v| Value::Whole(i128::from(v));
    i64, |v| u8::try_from(v).ok(), |v| Value::Whole(i128::from(v));
    // `as` cuts off and saturates, so that only a whole number 0..=255 survives the way there and back.
    f32, |v: f32| (f32::from(v as u8) == v).then_some(v as u8), |v| Value::from(f64::from(v));
    f64, |v: f64| (f64::from(v as u8) == v).then_some(v as u8), Value::from;
}

/// Calls `$call::<T>` with the element type that a header names.
macro_rules! dispatch {
    ($header:expr, $call:ident ( $($arg:expr),* )) => {
        dispatch!(@ $header, $call($($arg),*); U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64)
    };
    (@ $header:expr, $call:ident $args:tt; $($variant:ident $t:ty),*) => {
        match $header.value_type {
            $(ValueType::$variant => dispatch!(@@ $call, $t, $args),)*
        }
    };
    (@@ $call:ident, $t:ty, ($($arg:expr),*)) => { $call::<$t, _>($($arg),*) };
}

/// Reads an NPY file as cells; `name` is for messages.
///
/// ```
/// use halotile::io::{self, InputFormat};
/// let grid = halotile::grid::Grid::from_vec(vec![1u8, 2, 3], 1, 3)?;
/// let file = io::write_cells(InputFormat::Npy, Vec::new(), grid.view())?;
/// let sample = io::npy::read(&file[..], "map.npy", &Default::default())?;
/// assert_eq!(sample.cells, grid.into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(mut input: impl Read, name: &str, options: &ReadOptions) -> Result<Sample, FormatError> {
    let (header, rows, cols) = start(&mut input, name)?;
    // A Fortran array is read as the C array of its transpose.
    let (outer, inner) = if header.fortran { (cols, rows) } else { (rows, cols) };
    let mut options = *options;
    if header.value_type == ValueType::F32 {
        options.nodata = options.nodata.map(Nodata::as_f32);
    }
    let builder = SampleBuilder::new(outer, inner, &options);
    let sample = if header.value_type == ValueType::U8 && !header.is_bool {
        read_bytes(&mut input, name, &header, builder)
    } else {
        dispatch!(header, read_elements(&mut input, name, &header, builder))
    }?;
    ended(&mut input, name, rows, cols)?;
    let cells = match sample.cells {
        cells if !header.fortran => cells,
        CodesGrid::Bytes(cells) => transpose(&cells, name)?.into(),
        CodesGrid::Words(cells) => transpose(&cells, name)?.into(),
    };
    Ok(Sample { cells, nodata: sample.nodata })
}

/// Reads an NPY file of any of the types as f64 (64-bit integers beyond 2^53 are rounded); `name` is for messages.
pub fn read_reals(mut input: impl Read, name: &str) -> Result<Grid<f64>, FormatError> {
    let (header, rows, cols) = start(&mut input, name)?;
    let (outer, inner) = if header.fortran { (cols, rows) } else { (rows, cols) };
    let grid = dispatch!(header, read_as_f64(&mut input, name, &header, outer, inner))?;
    ended(&mut input, name, rows, cols)?;
    if header.fortran { transpose(&grid, name) } else { Ok(grid) }
}

fn start(input: &mut impl Read, name: &str) -> Result<(Header, usize, usize), FormatError> {
    let header = npy_header::read(input, name)?;
    let (rows, cols) = check_shape(header.rows, header.cols).map_err(|problem| problem.at(name, Place::FILE))?;
    Ok((header, rows, cols))
}

/// Where element `index` of the file lies in the array.
fn place_of(index: usize, inner: usize, fortran: bool) -> Place {
    let (outer, inner) = (index / inner, index % inner);
    if fortran { Place::cell(inner, outer) } else { Place::cell(outer, inner) }
}

fn cut_short(got: usize, total: usize, name: &str) -> FormatError {
    Problem::new(format!("the file ends after {got} of {total} elements"), "the file is cut short; copy it again")
        .at(name, Place::FILE)
}

fn ended(input: &mut impl Read, name: &str, rows: usize, cols: usize) -> Result<(), FormatError> {
    match read_some(input, &mut [0u8], name)? {
        0 => Ok(()),
        _ => Err(Problem::new(
            format!("there is more after the {rows} x {cols} elements of the array"),
            "save one array a file",
        )
        .at(name, Place::FILE)),
    }
}

fn read_bytes(
    input: &mut impl Read,
    name: &str,
    header: &Header,
    builder: SampleBuilder,
) -> Result<Sample, FormatError> {
    let (total, inner) = (builder.total(), builder.cols());
    let bytes = body(input, total, name)?;
    if bytes.len() < total {
        return Err(cut_short(bytes.len(), total, name));
    }
    builder.finish_with(bytes).map_err(|(at, problem)| problem.at(name, place_of(at, inner, header.fortran)))
}

/// Hands chunk after chunk of decoded bytes to `take` until `total` elements have come.
fn chunks<R: Read>(
    input: &mut R,
    name: &str,
    size: usize,
    total: usize,
    mut take: impl FnMut(&[u8]) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    let mut buffer = vec![0; CHUNK];
    let mut done = 0;
    while done < total {
        let wanted = (total - done).min(CHUNK / size);
        let got = read_full(input, &mut buffer[..wanted * size], name)? / size;
        take(&buffer[..got * size])?;
        done += got;
        if got < wanted {
            return Err(cut_short(done, total, name));
        }
    }
    Ok(())
}

fn read_elements<T: Element, R: Read>(
    input: &mut R,
    name: &str,
    header: &Header,
    mut builder: SampleBuilder,
) -> Result<Sample, FormatError> {
    let (total, inner, is_bool) = (builder.total(), builder.cols(), header.is_bool);
    chunks(input, name, T::SIZE, total, |bytes| {
        for bytes in bytes.chunks_exact(T::SIZE) {
            let element = T::decode(bytes, header.big_endian);
            let taken = match element.small() {
                Some(cell) if is_bool => builder.push(u8::from(cell != 0)),
                Some(cell) => builder.push(cell),
                None => builder.push_value(element.value()),
            };
            if let Err(problem) = taken {
                return Err(problem.at(name, place_of(builder.len(), inner, header.fortran)));
            }
        }
        Ok(())
    })?;
    builder.finish().map_err(|problem| problem.at(name, Place::FILE))
}

fn read_as_f64<T: Element, R: Read>(
    input: &mut R,
    name: &str,
    header: &Header,
    outer: usize,
    inner: usize,
) -> Result<Grid<f64>, FormatError> {
    let mut values = Vec::new();
    let here = |problem: Problem| problem.at(name, Place::FILE);
    chunks(input, name, T::SIZE, outer * inner, |bytes| {
        values.try_reserve(bytes.len() / T::SIZE).map_err(|_| here(out_of_memory(outer, inner)))?;
        // Any byte but 0 is true, as NumPy has it.
        let truth = |value: f64| if value == 0.0 { 0.0 } else { 1.0 };
        let numbers = bytes.chunks_exact(T::SIZE).map(|bytes| T::decode(bytes, header.big_endian).real());
        if header.is_bool {
            values.extend(numbers.map(truth))
        } else {
            values.extend(numbers)
        }
        Ok(())
    })?;
    Grid::from_vec(values, outer, inner).map_err(|e| here(Problem::new(e.to_string(), "report this as a defect")))
}

fn transpose<T: Copy>(grid: &Grid<T>, name: &str) -> Result<Grid<T>, FormatError> {
    const BLOCK: usize = 64;
    let (rows, cols, from) = (grid.cols(), grid.rows(), grid.as_slice());
    let mut to = Vec::new();
    to.try_reserve_exact(from.len()).map_err(|_| out_of_memory(rows, cols).at(name, Place::FILE))?;
    to.extend_from_slice(from);
    for top in (0..rows).step_by(BLOCK) {
        for left in (0..cols).step_by(BLOCK) {
            for r in top..(top + BLOCK).min(rows) {
                for c in left..(left + BLOCK).min(cols) {
                    to[r * cols + c] = from[c * rows + r];
                }
            }
        }
    }
    Grid::from_vec(to, rows, cols)
        .map_err(|e| Problem::new(e.to_string(), "report this as a defect").at(name, Place::FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, fortran: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
        let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let length = u16::try_from(text.len()).unwrap().to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], text.as_bytes(), elements].concat()
    }

    /// The numbers 0..6 encoded as `descr` says.
    fn encode(descr: &str, values: &[f64]) -> Vec<u8> {
        let mut all = Vec::new();
        for &v in values {
            let mut bytes = match &descr[1..] {
                "b1" | "u1" => vec![v as u8],
                "i1" => (v as i8).to_le_bytes().to_vec(),
                "u2" => (v as u16).to_le_bytes().to_vec(),
                "i2" => (v as i16).to_le_bytes().to_vec(),
                "u4" => (v as u32).to_le_bytes().to_vec(),
                "i4" => (v as i32).to_le_bytes().to_vec(),
                "u8" => (v as u64).to_le_bytes().to_vec(),
                "i8" => (v as i64).to_le_bytes().to_vec(),
                "f4" => (v as f32).to_le_bytes().to_vec(),
                "f8" => v.to_le_bytes().to_vec(),
                other => panic!("{other}"),
            };
            if descr.starts_with('>') {
                bytes.reverse();
            }
            all.extend(bytes);
        }
        all
    }

    const ALL: [&str; 20] = [
        "|u1", "|i1", "<u1", ">i1", "<u2", ">u2", "<i2", ">i2", "<u4", ">u4", "<i4", ">i4", "<u8", ">u8", "<i8", ">i8",
        "<f4", ">f4", "<f8", ">f8",
    ];

    fn read_bytes(bytes: &[u8], nodata: Option<Nodata>) -> Result<Sample, FormatError> {
        read(bytes, "f", &ReadOptions { nodata, levels: None })
    }

    #[test]
    fn every_byte_but_0_is_true_to_every_reader() {
        let file = file("|b1", "False", "(1, 4)", &[0, 1, 2, 255]);
        assert_eq!(read_bytes(&file, None).unwrap().cells.bytes().unwrap().row(0), [0, 1, 1, 1]);
        assert_eq!(read_reals(&file[..], "f").unwrap().row(0), [0.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn every_type_and_order_is_read() {
        for descr in ALL {
            let elements = encode(descr, &[0.0, 1.0, 2.0, 30.0, 40.0, 127.0]);
            let c = read_bytes(&file(descr, "False", "(2, 3)", &elements), None).unwrap();
            assert_eq!(
                (c.cells.bytes().unwrap().row(0), c.cells.bytes().unwrap().row(1)),
                (&[0u8, 1, 2][..], &[30u8, 40, 127][..]),
                "{descr}"
            );
            let f = file(descr, "True", "(2, 3)", &elements);
            let cells = read_bytes(&f, None).unwrap().cells;
            let cells = cells.bytes().unwrap();
            assert_eq!((cells.row(0), cells.row(1)), (&[0u8, 2, 40][..], &[1u8, 30, 127][..]), "{descr}");
            assert_eq!(read_reals(&f[..], "f").unwrap().row(1), &[1.0, 30.0, 127.0], "{descr}");
        }
        let bools = read_bytes(&file("|b1", "False", "(1, 3)", &[0, 1, 7]), None).unwrap();
        assert_eq!(bools.cells.bytes().unwrap().as_slice(), &[0, 1, 1]);
    }

    #[test]
    fn arrays_larger_than_a_chunk_arrive_whole() {
        let values: Vec<f64> = (0..300 * 201).map(|i| f64::from(i % 251)).collect();
        let bytes = file(">i2", "True", "(300, 201)", &encode(">i2", &values));
        let got = read_bytes(&bytes, None).unwrap();
        for (r, c) in [(0, 0), (299, 0), (17, 200), (299, 200)] {
            assert_eq!(f64::from(got.cells.get(r, c)), values[c * 300 + r]);
        }
    }

    #[test]
    fn nodata_of_every_kind() {
        let cells = |bytes: &[u8], nodata| {
            let s = read_bytes(bytes, Some(nodata)).unwrap();
            (s.cells.bytes().unwrap().as_slice().to_vec(), s.nodata)
        };
        let nan = file("<f4", "False", "(1, 3)", &encode("<f4", &[1.0, f64::NAN, 3.0]));
        assert_eq!(cells(&nan, Nodata::Nan), (vec![1, 255, 3], Some(255)));
        let low = file("<f4", "False", "(1, 2)", &encode("<f4", &[f64::from(f32::MIN), 3.0]));
        assert_eq!(cells(&low, "-3.40282347e+38".parse().unwrap()), (vec![255, 3], Some(255)));
        let minus = file("<i2", "False", "(1, 2)", &encode("<i2", &[-9999.0, 255.0]));
        assert_eq!(cells(&minus, Nodata::Whole(-9999)), (vec![254, 255], Some(254)));
        let top = file("<u8", "False", "(1, 2)", &[[255; 8], [0; 8]].concat());
        assert_eq!(cells(&top, Nodata::Whole(i128::from(u64::MAX))), (vec![255, 0], Some(255)));
    }

    #[test]
    fn every_fault_says_where_and_what_to_do() {
        let value = "reclassify the grid, or name the nodata value if this is it";
        for (bytes, expected) in [
            (
                file("<f8", "False", "(2, 2)", &encode("<f8", &[1.0, 2.0, 0.5, 3.0])),
                format!("f: row 1, column 0 (counted from 0): the value 0.5 is not a whole number; {value}"),
            ),
            (
                file("<f8", "True", "(2, 2)", &encode("<f8", &[1.0, 2.0, f64::NAN, 3.0])),
                format!("f: row 0, column 1 (counted from 0): the value NaN is not a whole number; {value}"),
            ),
            (
                file("<f4", "False", "(1, 1)", &encode("<f4", &[f64::INFINITY])),
                format!("f: row 0, column 0 (counted from 0): the value inf is not a whole number; {value}"),
            ),
            (
                file("<f8", "False", "(1, 1)", &encode("<f8", &[1e300])),
                format!("f: row 0, column 0 (counted from 0): the value 1e300 is not a whole number; {value}"),
            ),
            (
                file("<i2", "False", "(1, 2)", &encode("<i2", &[1.0, -1.0])),
                format!("f: row 0, column 1 (counted from 0): the value -1 is not in 0..=65535; {value}"),
            ),
            (
                file("<u8", "False", "(1, 1)", &[255; 8]),
                format!(
                    "f: row 0, column 0 (counted from 0): the value 18446744073709551615 is not in 0..=65535; {value}"
                ),
            ),
            (
                file("|u1", "False", "(2, 3)", &[1, 2, 3]),
                "f: the file ends after 3 of 6 elements; the file is cut short; copy it again".to_owned(),
            ),
            (
                file("<i4", "False", "(2, 3)", &[1, 0, 0, 0, 2, 0, 0]),
                "f: the file ends after 1 of 6 elements; the file is cut short; copy it again".to_owned(),
            ),
            (
                file("|u1", "False", "(1, 2)", &[1, 2, 3]),
                "f: there is more after the 1 x 2 elements of the array; save one array a file".to_owned(),
            ),
            (
                file("|u1", "False", "(0, 2)", &[]),
                "f: the header promises 0 rows and 2 columns; a grid needs at least one of each".to_owned(),
            ),
            (
                file("|u1", "False", "(2147483648, 2147483648)", &[]),
                "f: the header promises 2147483648 rows and 2147483648 columns, more than the 2^40 cells \
                 a grid may have; correct the header"
                    .to_owned(),
            ),
            (
                file("|u1", "False", "(3,)", &[1, 2, 3]),
                "f: the array has the shape (3,), not two dimensions; save one 2-D array, rows x columns".to_owned(),
            ),
        ] {
            assert_eq!(read_bytes(&bytes, None).unwrap_err().to_string(), expected);
        }
        let options = ReadOptions { nodata: None, levels: Some(16) };
        let e = read(&file("|u1", "True", "(2, 2)", &[1, 2, 16, 3])[..], "f", &options).unwrap_err();
        assert_eq!(
            e.to_string(),
            "f: row 0, column 1 (counted from 0): the value 16 is not below the 16 levels asked for; \
             ask for more levels, or name the nodata value if this is it"
        );
    }
}
