//! The formats that are written from beginning to end, as a sink.

use std::fmt;
use std::io::Write;

use super::ResultSink;
use crate::grid::GridView;
use crate::io::{FormatError, Number, OutputFormat, Place, Problem, ResultWriter, write_failed};

/// Results as text, seed-lines or NPY: whole rows, one measure.
///
/// ```
/// use halotile::grid::GridView;
/// use halotile::io::OutputFormat;
/// use halotile::raster::{ResultSink, WriterSink};
/// let mut file = Vec::new();
/// let mut sink = WriterSink::new(OutputFormat::SeedLines, &mut file, "h.txt", 1, (2, 2))?;
/// sink.write(0, 0, &[GridView::new(&[1.5, 0.0, f64::NAN, 2.0], 2, 2)?])?;
/// Box::new(sink).finish()?;
/// assert_eq!(file, b"2,2,1.5,0.0,nan,2.0,\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WriterSink<T, W> {
    writer: ResultWriter<T, W>,
    name: String,
    cols: usize,
    /// The row that comes next.
    next: usize,
}

impl<T, W> fmt::Debug for WriterSink<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WriterSink({:?}, row {} of {} columns comes next)", self.name, self.next, self.cols)
    }
}

impl<T: Number, W: Write> WriterSink<T, W> {
    /// A sink to `out`, called `name` in messages, for results of `shape` (rows, columns); `decimals` counts in text and seed-lines.
    ///
    /// # Errors
    /// GeoTIFF ([`GeoTiffSink`](super::geotiff::GeoTiffSink) is its sink), more than 17 decimals, and failed writes.
    pub fn new(
        format: OutputFormat,
        out: W,
        name: &str,
        decimals: usize,
        shape: (usize, usize),
    ) -> Result<Self, FormatError> {
        let (rows, cols) = shape;
        let begun = ResultWriter::new(format, out, decimals).and_then(|mut writer| {
            writer.begin(rows, cols)?;
            Ok(writer)
        });
        let writer = begun.map_err(|e| write_failed(name, e))?;
        Ok(Self { writer, name: name.to_owned(), cols, next: 0 })
    }
}

impl<T: Number, W: Write + Send> ResultSink<T> for WriterSink<T, W> {
    fn block(&self) -> (usize, usize) {
        (1, self.cols)
    }

    fn whole_rows(&self) -> bool {
        true
    }

    fn write(&mut self, top: usize, left: usize, planes: &[GridView<'_, T>]) -> Result<(), FormatError> {
        let &[rows] = planes else {
            let what = format!("{} measures came, and the format holds one", planes.len());
            return Err(Problem::new(what, "choose one, or GeoTIFF").at(&self.name, Place::FILE));
        };
        if (top, left) != (self.next, 0) {
            let what = format!("row {top}, column {left} came where row {} was to come", self.next);
            return Err(Problem::new(what, "write whole rows from top to bottom").at(&self.name, Place::FILE));
        }
        self.writer.rows(rows).map_err(|e| write_failed(&self.name, e))?;
        self.next += rows.rows();
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), FormatError> {
        self.writer.finish().map(drop).map_err(|e| write_failed(&self.name, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;
    use crate::io::format::no_geotiff_stream;
    use crate::io::write_results;

    #[test]
    fn bands_make_the_file_that_the_whole_makes() {
        let grid = Grid::from_fn(7, 5, |r, c| (r * 5 + c) as f32 / 3.0).unwrap();
        for &format in OutputFormat::STREAMS {
            let mut file = Vec::new();
            let mut sink: Box<dyn ResultSink<f32> + '_> =
                Box::new(WriterSink::new(format, &mut file, "h", 4, (7, 5)).unwrap());
            assert_eq!((sink.block(), sink.whole_rows()), ((1, 5), true));
            for rows in [0..3, 3..4, 4..7] {
                sink.write(rows.start, 0, &[grid.view().band(rows)]).unwrap();
            }
            sink.finish().unwrap();
            assert_eq!(file, write_results(format, Vec::new(), grid.view(), 4).unwrap(), "{format}");
        }
    }

    #[test]
    fn misuse_is_an_error() {
        let sink = || WriterSink::<f64, _>::new(OutputFormat::Npy, Vec::new(), "h", 5, (3, 2)).unwrap();
        let view = |rows, cols| GridView::new(&[0.0; 6], rows, cols).unwrap();
        let error = |top, left, planes: &[GridView<'_, f64>]| sink().write(top, left, planes).unwrap_err().to_string();
        assert_eq!(
            error(0, 0, &[view(1, 2), view(1, 2)]),
            "h: 2 measures came, and the format holds one; choose one, or GeoTIFF"
        );
        assert_eq!(
            error(1, 0, &[view(1, 2)]),
            "h: row 1, column 0 came where row 0 was to come; write whole rows from top to bottom"
        );
        assert!(error(0, 1, &[view(1, 1)]).contains("column 1 came"));
        assert!(error(0, 0, &[view(2, 3)]).contains("do not fit"));
        let mut short = sink();
        short.write(0, 0, &[view(2, 2)]).unwrap();
        assert!(Box::new(short).finish().unwrap_err().to_string().contains("1 rows of sample 0 did not come"));
        let new = |format, decimals| {
            WriterSink::<f64, _>::new(format, Vec::new(), "h", decimals, (1, 1)).unwrap_err().to_string()
        };
        assert!(new(OutputFormat::GeoTiff, 5).contains(&no_geotiff_stream()));
        assert!(new(OutputFormat::Text, 18).contains("18 decimals"));
    }
}
