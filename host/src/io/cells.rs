//! Cells (u8) to any of the input formats but GeoTIFF, row by row: what `generate` writes, and what round trips are tested with.
//!

use std::fmt;
use std::io::{self, BufWriter, Error, ErrorKind, Write};

use super::format::{InputFormat, no_geotiff_stream};
use super::{npy_header, png};
use crate::grid::GridView;

/// Writes one grid of cells; rows come from top to bottom.
///
/// ```
/// use halotile::{grid::GridView, io::{CellWriter, InputFormat}};
/// let mut writer = CellWriter::new(InputFormat::SeedText, Vec::new(), 2, 2)?;
/// writer.rows(GridView::new(&[1, 2, 30, 4], 2, 2)?)?;
/// assert_eq!(writer.finish()?, b"2 2\n1 2\n30 4\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CellWriter<W: Write> {
    out: BufWriter<W>,
    encoding: Encoding,
    cols: usize,
    /// Rows still to come.
    left: usize,
}

enum Encoding {
    Text,
    Bytes,
    Png(png::GreyWriter),
}

impl<W: Write> fmt::Debug for CellWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CellWriter({} rows of {} columns to come)", self.left, self.cols)
    }
}

fn misuse(what: String) -> Error {
    Error::new(ErrorKind::InvalidInput, what)
}

impl<W: Write> CellWriter<W> {
    /// Begins a grid of `rows` × `cols` cells.
    ///
    /// # Errors
    /// Those of `out`; `InvalidInput` for no rows or columns, or more than the format has.
    pub fn new(format: InputFormat, out: W, rows: usize, cols: usize) -> io::Result<Self> {
        if rows == 0 || cols == 0 {
            return Err(misuse(format!("a grid needs at least one row and one column, not {rows} x {cols}")));
        }
        let too_large = || misuse(format!("{rows} x {cols} cells are too many for {format}; choose npy"));
        let mut out = BufWriter::with_capacity(1 << 18, out);
        let encoding = match format {
            InputFormat::SeedText => {
                writeln!(out, "{rows} {cols}")?;
                Encoding::Text
            }
            InputFormat::SeedBinary => {
                let number = |n| i32::try_from(n).map_err(|_| too_large());
                let (width, height) = (number(cols)?, number(rows)?);
                out.write_all(&width.to_le_bytes())?;
                out.write_all(&height.to_le_bytes())?;
                Encoding::Bytes
            }
            InputFormat::GeoTiff => return Err(misuse(no_geotiff_stream())),
            InputFormat::Npy => {
                out.write_all(&npy_header::write("|u1", rows, cols))?;
                Encoding::Bytes
            }
            InputFormat::Pgm => {
                write!(out, "P5\n{cols} {rows}\n255\n")?;
                Encoding::Bytes
            }
            InputFormat::Png => {
                let number = |n| i32::try_from(n).ok().and_then(|n| u32::try_from(n).ok()).ok_or_else(too_large);
                Encoding::Png(png::GreyWriter::new(number(rows)?, number(cols)?)?)
            }
        };
        Ok(Self { out, encoding, cols, left: rows })
    }

    /// Writes the next rows.
    ///
    /// # Errors
    /// Those of `out`; `InvalidInput` for more rows than were said, or rows of another length.
    pub fn rows(&mut self, band: GridView<'_, u8>) -> io::Result<()> {
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
        (0..band.rows()).try_for_each(|r| match &mut self.encoding {
            Encoding::Text => write_line(&mut self.out, band.row(r)),
            Encoding::Bytes => self.out.write_all(band.row(r)),
            Encoding::Png(png) => png.row(band.row(r), &mut self.out),
        })
    }

    /// Writes what is buffered and gives `out` back. Rows that did not come are an error.
    ///
    /// # Errors
    /// Those of `out`; `InvalidInput` where rows are still to come.
    pub fn finish(mut self) -> io::Result<W> {
        if self.left > 0 {
            return Err(misuse(format!("{} rows did not come", self.left)));
        }
        if let Encoding::Png(png) = self.encoding {
            png.finish(&mut self.out)?;
        }
        self.out.flush()?;
        self.out.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

fn write_line(out: &mut impl Write, cells: &[u8]) -> io::Result<()> {
    // A number and the blank behind it take 4 bytes at most.
    let mut text = [0; 4 * 1024];
    let chunks = cells.len().div_ceil(1024);
    for (i, chunk) in cells.chunks(1024).enumerate() {
        let mut at = 0;
        for &cell in chunk {
            let digits = [(cell >= 100).then_some(cell / 100), (cell >= 10).then_some(cell / 10 % 10), Some(cell % 10)];
            for digit in digits.into_iter().flatten() {
                text[at] = b'0' + digit;
                at += 1;
            }
            text[at] = b' ';
            at += 1;
        }
        if i + 1 == chunks {
            text[at - 1] = b'\n';
        }
        out.write_all(&text[..at])?;
    }
    Ok(())
}

/// Writes a whole grid; see [`CellWriter`] for one that comes in parts.
///
/// # Errors
/// Those of a [`CellWriter`]'s methods.
pub fn write_cells<W: Write>(format: InputFormat, out: W, grid: GridView<'_, u8>) -> io::Result<W> {
    let mut writer = CellWriter::new(format, out, grid.rows(), grid.cols())?;
    writer.rows(grid)?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::super::arrays::Arrays;
    use super::super::input::Input;
    use super::*;
    use crate::grid::Grid;
    use crate::numbers::Values;

    #[test]
    fn every_format_gives_back_what_it_was_given() {
        for (rows, cols) in [(1, 1), (1, 300), (70, 1), (33, 1025), (3, 2048)] {
            let grid = Grid::from_fn(rows, cols, |r, c| ((r * 31 + c * 7) ^ (c >> 3)) as u8).unwrap();
            for format in InputFormat::streams() {
                let mut file = Vec::new();
                let mut writer = CellWriter::new(format, &mut file, rows, cols).unwrap();
                for r in 0..rows {
                    writer.rows(grid.view().band(r..r + 1)).unwrap();
                }
                writer.finish().unwrap();
                let read: Vec<_> = Arrays::new(Input::stream(&file[..], "f"), format).map(Result::unwrap).collect();
                let expected = Values::U8(grid.as_slice().to_vec());
                assert!(
                    read.len() == 1 && read[0].read(0..rows, 0..cols).unwrap() == expected,
                    "{format} {rows} x {cols}"
                );
                assert!(write_cells(format, Vec::new(), grid.view()).unwrap() == file, "{format}");
            }
        }
    }

    #[test]
    fn misuse_and_failing_writers_are_errors() {
        let e = CellWriter::new(InputFormat::GeoTiff, Vec::new(), 1, 1).unwrap_err();
        assert_eq!(e.to_string(), no_geotiff_stream());
        let view = GridView::new(&[1u8, 2], 1, 2).unwrap();
        for format in InputFormat::streams() {
            let mut writer = CellWriter::new(format, Vec::new(), 2, 2).unwrap();
            writer.rows(view).unwrap();
            assert_eq!(writer.finish().unwrap_err().to_string(), "1 rows did not come", "{format}");
            let mut writer = CellWriter::new(format, Vec::new(), 2, 3).unwrap();
            let e = writer.rows(view).unwrap_err();
            assert_eq!(e.to_string(), "1 x 2 cells do not fit where 2 rows of 3 columns are to come");
            assert!(CellWriter::new(format, Vec::new(), 0, 2).is_err());
        }
        let limited = |format: &InputFormat| matches!(format, InputFormat::SeedBinary | InputFormat::Png);
        for format in InputFormat::streams().filter(limited) {
            let e = CellWriter::new(format, Vec::new(), 1, 1 << 31).unwrap_err();
            assert_eq!(e.to_string(), format!("1 x 2147483648 cells are too many for {format}; choose npy"));
        }
        /// A pipe whose reader has gone.
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for format in InputFormat::streams() {
            let e = write_cells(format, Gone, view).err().expect("an error");
            assert_eq!(e.kind(), ErrorKind::BrokenPipe, "{format}");
        }
    }
}
