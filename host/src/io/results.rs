//! Results (f32 or f64) to text, seed-lines or NPY, band by band as they are computed.
//!
//! - **text**: the second report's `%12.5f `: every value right-aligned in 7 + decimals characters, a blank
//!   behind each, a line a row. Samples are parted by an empty line.
//! - **seed-lines**: the first report's `width,height,v,v,...,`: a comma behind every value, a line a sample.
//! - **npy**: C order, little-endian, elements from a multiple of 64 bytes on; one sample.
//!
//! NaN is `nan` in text. Digits are made by `decimal`, tens of thousands of cells a task on rayon's threads,
//! and written in order: the text of a large grid is several times its size in memory and should be limited by
//! the disk. A task is a range of cells rather than of rows, because a grid may have ten rows of ten million
//! columns.

use std::io::{self, Error, ErrorKind, Write};
use std::marker::PhantomData;
use std::ops::Range;

use rayon::prelude::*;

use super::decimal;
use super::format::{OutputFormat, no_geotiff_stream};
use super::npy_header;
use crate::grid::GridView;

/// Cells a task formats.
const TASK: usize = 1 << 15;
/// Tasks whose text is held at a time.
const TASKS: usize = 64;

#[cfg(feature = "geotiff")]
mod sealed {
    /// The bound is the crate's own affair: it lets results go into a TIFF.
    pub trait Sealed: tiff_writer::TiffWriteSample + bytemuck::NoUninit {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

#[cfg(not(feature = "geotiff"))]
mod sealed {
    /// Without a bound: there are no TIFFs for results to go into.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A number that results are made of: f32 or f64.
pub trait Number: sealed::Sealed + Copy + Send + Sync + 'static {
    /// NumPy's name of the type.
    const DESCR: &'static str;
    /// Not a number: the result where there is none.
    const NAN: Self;
    /// The value, exactly.
    fn to_f64(self) -> f64;
    /// The number that is nearest to a value.
    fn nearest(value: f64) -> Self;
    /// Appends the bytes of numbers, the lowest of each first.
    fn append(numbers: &[Self], bytes: &mut Vec<u8>);
}

impl Number for f32 {
    const DESCR: &'static str = "<f4";
    const NAN: Self = f32::NAN;
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn nearest(value: f64) -> Self {
        value as f32
    }
    fn append(numbers: &[Self], bytes: &mut Vec<u8>) {
        append(numbers, bytes, |number| number.to_le_bytes());
    }
}

impl Number for f64 {
    const DESCR: &'static str = "<f8";
    const NAN: Self = f64::NAN;
    fn to_f64(self) -> f64 {
        self
    }
    fn nearest(value: f64) -> Self {
        value
    }
    fn append(numbers: &[Self], bytes: &mut Vec<u8>) {
        append(numbers, bytes, |number| number.to_le_bytes());
    }
}

/// Appends numbers, the lowest byte of each first: as they lie in memory where that is their order there.
fn append<T: bytemuck::NoUninit, const N: usize>(
    numbers: &[T],
    bytes: &mut Vec<u8>,
    lowest_first: impl Fn(&T) -> [u8; N],
) {
    if cfg!(target_endian = "little") {
        bytes.extend_from_slice(bytemuck::cast_slice(numbers));
    } else {
        numbers.iter().for_each(|number| bytes.extend_from_slice(&lowest_first(number)));
    }
}

/// Writes results of type `T`: for every sample [`begin`](Self::begin), then [`rows`](Self::rows) from top to bottom;
/// at the end [`finish`](Self::finish).
///
/// ```
/// use halotile::{grid::GridView, io::{OutputFormat, ResultWriter}};
/// let mut writer = ResultWriter::new(OutputFormat::Text, Vec::new(), 5)?;
/// writer.begin(2, 2)?;
/// writer.rows(GridView::new(&[1.5, 0.0], 1, 2)?)?;
/// writer.rows(GridView::new(&[f64::NAN, 2.25], 1, 2)?)?;
/// let text = String::from_utf8(writer.finish()?)?;
/// assert_eq!(text, "     1.50000      0.00000 \n         nan      2.25000 \n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ResultWriter<T, W> {
    out: W,
    format: OutputFormat,
    decimals: usize,
    samples: usize,
    cols: usize,
    /// Rows of the current sample still to come.
    left: usize,
    texts: Vec<Vec<u8>>,
    number: PhantomData<T>,
}

fn misuse(what: String) -> Error {
    Error::new(ErrorKind::InvalidInput, what)
}

impl<T: Number, W: Write> ResultWriter<T, W> {
    /// A writer to `out`, which needs no buffer of its own. `decimals` (0..=17) counts in text and seed-lines.
    ///
    /// # Errors
    /// `InvalidInput` for more than 17 decimals, and for a GeoTIFF, which needs a file to seek in.
    pub fn new(format: OutputFormat, out: W, decimals: usize) -> io::Result<Self> {
        if decimals > decimal::MOST {
            return Err(misuse(format!("{decimals} decimals are more than the {} there can be", decimal::MOST)));
        }
        if format == OutputFormat::GeoTiff {
            return Err(misuse(no_geotiff_stream()));
        }
        Ok(Self { out, format, decimals, samples: 0, cols: 0, left: 0, texts: Vec::new(), number: PhantomData })
    }

    /// Begins a sample.
    ///
    /// # Errors
    /// Those of `out`; `InvalidInput` where rows of the sample before are still to come, for no rows or columns, and for a second sample of an NPY file.
    pub fn begin(&mut self, rows: usize, cols: usize) -> io::Result<()> {
        self.all_rows_came()?;
        if rows == 0 || cols == 0 {
            return Err(misuse(format!("a grid needs at least one row and one column, not {rows} x {cols}")));
        }
        (self.cols, self.left) = (cols, rows);
        let first = self.samples == 0;
        self.samples += 1;
        match self.format {
            OutputFormat::Text if first => Ok(()),
            OutputFormat::Text => self.out.write_all(b"\n"),
            OutputFormat::SeedLines => write!(self.out, "{cols},{rows},"),
            OutputFormat::Npy if first => self.out.write_all(&npy_header::write(T::DESCR, rows, cols)),
            OutputFormat::Npy | OutputFormat::GeoTiff => {
                Err(misuse("an NPY file holds one sample, and there are more; choose seed-lines or text".to_owned()))
            }
        }
    }

    /// Writes the next rows of the sample.
    ///
    /// # Errors
    /// Those of `out`; `InvalidInput` for more rows than were said, or rows of another length.
    pub fn rows(&mut self, band: GridView<'_, T>) -> io::Result<()> {
        if band.cols() != self.cols || band.rows() > self.left {
            return Err(misuse(format!(
                "{} x {} cells do not fit where {} rows of {} columns are to come",
                band.rows(),
                band.cols(),
                self.left,
                self.cols
            )));
        }
        self.left -= band.rows();
        let cells = band.rows() * band.cols();
        let (format, decimals) = (self.format, self.decimals);
        self.texts.resize_with(TASKS.min(cells.div_ceil(TASK)), Vec::new);
        for first in (0..cells).step_by(TASK * TASKS) {
            let tasks = (cells - first).div_ceil(TASK).min(TASKS);
            let texts = &mut self.texts[..tasks];
            texts.par_iter_mut().enumerate().for_each(|(i, text)| {
                text.clear();
                let start = first + i * TASK;
                encode(band, start..(start + TASK).min(cells), format, decimals, text);
            });
            texts.iter().try_for_each(|text| self.out.write_all(text))?;
        }
        if self.left == 0 && self.format == OutputFormat::SeedLines {
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Flushes and gives `out` back. Rows that did not come are an error.
    ///
    /// # Errors
    /// Those of `out`; `InvalidInput` where rows are still to come.
    pub fn finish(mut self) -> io::Result<W> {
        self.all_rows_came()?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn all_rows_came(&self) -> io::Result<()> {
        if self.left > 0 {
            return Err(misuse(format!("{} rows of sample {} did not come", self.left, self.samples - 1)));
        }
        Ok(())
    }
}

/// Appends the cells `range` (counted along the rows) as `format` has them.
fn encode<T: Number>(
    band: GridView<'_, T>,
    range: Range<usize>,
    format: OutputFormat,
    decimals: usize,
    out: &mut Vec<u8>,
) {
    let cols = band.cols();
    let mut at = range.start;
    while at < range.end {
        let (row, col) = (at / cols, at % cols);
        let end = cols.min(col + range.end - at);
        let values = &band.row(row)[col..end];
        match format {
            // `new` takes no GeoTIFF.
            OutputFormat::Npy | OutputFormat::GeoTiff => T::append(values, out),
            OutputFormat::SeedLines => {
                for v in values {
                    decimal::push(out, v.to_f64(), decimals, 0);
                    out.push(b',');
                }
            }
            OutputFormat::Text => {
                for v in values {
                    decimal::push(out, v.to_f64(), decimals, decimals + 7);
                    out.push(b' ');
                }
                if end == cols {
                    out.push(b'\n');
                }
            }
        }
        at += end - col;
    }
}

/// Writes one grid; see [`ResultWriter`] for several, or for parts.
///
/// # Errors
/// Those of a [`ResultWriter`]'s methods.
pub fn write_results<T: Number, W: Write>(
    format: OutputFormat,
    out: W,
    grid: GridView<'_, T>,
    decimals: usize,
) -> io::Result<W> {
    let mut writer = ResultWriter::new(format, out, decimals)?;
    writer.begin(grid.rows(), grid.cols())?;
    writer.rows(grid)?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    fn text(format: OutputFormat, grid: GridView<'_, f64>, decimals: usize) -> String {
        String::from_utf8(write_results(format, Vec::new(), grid, decimals).unwrap()).unwrap()
    }

    #[test]
    fn the_formats_of_the_reports() {
        let grid = Grid::from_vec(vec![1.522955126, 1.70455, 0.0, f64::NAN, -1e-17, 5.5], 2, 3).unwrap();
        assert_eq!(
            text(OutputFormat::Text, grid.view(), 5),
            "     1.52296      1.70455      0.00000 \n         nan      0.00000      5.50000 \n"
        );
        assert_eq!(text(OutputFormat::SeedLines, grid.view(), 5), "3,2,1.52296,1.70455,0.00000,nan,0.00000,5.50000,\n");
        assert_eq!(
            text(OutputFormat::Text, grid.view(), 1),
            "     1.5      1.7      0.0 \n     nan      0.0      5.5 \n"
        );
        assert_eq!(text(OutputFormat::Text, grid.view(), 0), "      2       2       0 \n    nan       0       6 \n");
    }

    #[test]
    fn tasks_and_bands_leave_no_seam() {
        // Wide enough that tasks end inside rows, and more than one round of tasks.
        let (rows, cols) = (3, TASK * TASKS / 2 + 12_345);
        let grid = Grid::from_fn(rows, cols, |r, c| ((r * cols + c) % 9973) as f32 / 1000.0).unwrap();
        let whole = write_results(OutputFormat::Text, Vec::new(), grid.view(), 3).unwrap();
        let mut expected = Vec::with_capacity(whole.len());
        for r in 0..rows {
            for v in grid.row(r) {
                decimal::push(&mut expected, f64::from(*v), 3, 10);
                expected.push(b' ');
            }
            expected.push(b'\n');
        }
        assert!(whole == expected);
        let mut writer = ResultWriter::new(OutputFormat::SeedLines, Vec::new(), 3).unwrap();
        writer.begin(rows, cols).unwrap();
        writer.rows(grid.view().band(0..1)).unwrap();
        writer.rows(grid.view().band(1..3)).unwrap();
        assert!(
            writer.finish().unwrap() == write_results(OutputFormat::SeedLines, Vec::new(), grid.view(), 3).unwrap()
        );
    }

    #[test]
    fn several_samples() {
        let (a, b) = ([1.0, 2.0], [3.0]);
        let write = |format| -> io::Result<String> {
            let mut writer = ResultWriter::<f64, _>::new(format, Vec::new(), 1)?;
            writer.begin(1, 2)?;
            writer.rows(GridView::new(&a, 1, 2).unwrap())?;
            writer.begin(1, 1)?;
            writer.rows(GridView::new(&b, 1, 1).unwrap())?;
            Ok(String::from_utf8_lossy(&writer.finish()?).into_owned())
        };
        assert_eq!(write(OutputFormat::SeedLines).unwrap(), "2,1,1.0,2.0,\n1,1,3.0,\n");
        assert_eq!(write(OutputFormat::Text).unwrap(), "     1.0      2.0 \n\n     3.0 \n");
        assert_eq!(
            write(OutputFormat::Npy).unwrap_err().to_string(),
            "an NPY file holds one sample, and there are more; choose seed-lines or text"
        );
    }

    #[test]
    fn npy_is_what_numpy_writes() {
        let grid = Grid::from_vec(vec![1.0f32, -2.5], 1, 2).unwrap();
        let bytes = write_results(OutputFormat::Npy, Vec::new(), grid.view(), 5).unwrap();
        let dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }";
        let expected = [
            b"\x93NUMPY\x01\x00\x76\x00",
            format!("{dictionary:<117}\n").as_bytes(),
            &[0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0],
        ]
        .concat();
        assert_eq!(bytes, expected);
    }

    #[test]
    fn strides_are_minded_and_misuse_is_an_error() {
        let data = [1.0, 2.0, 9.0, 3.0, 4.0, 9.0];
        let view = GridView::with_stride(&data, 2, 2, 3).unwrap();
        assert_eq!(text(OutputFormat::SeedLines, view, 0), "2,2,1,2,3,4,\n");
        let message = |e: io::Result<()>| e.unwrap_err().to_string();
        let mut writer = ResultWriter::<f64, _>::new(OutputFormat::Text, Vec::new(), 5).unwrap();
        writer.begin(3, 2).unwrap();
        writer.rows(view).unwrap();
        assert_eq!(message(writer.rows(view)), "2 x 2 cells do not fit where 1 rows of 2 columns are to come");
        assert_eq!(message(writer.begin(1, 1)), "1 rows of sample 0 did not come");
        assert_eq!(message(writer.finish().map(drop)), "1 rows of sample 0 did not come");
        let e = ResultWriter::<f64, _>::new(OutputFormat::Text, Vec::new(), 18).unwrap_err();
        assert_eq!(e.to_string(), "18 decimals are more than the 17 there can be");
    }
}
