//! A band of a GeoTIFF as the results that its numbers stand for.

use super::reader::GeoTiff;
use super::tags::Scale;
use crate::grid::Grid;
use crate::io::{FormatError, Nodata};
use crate::raster::{Raster, whole};

impl GeoTiff {
    /// All of the band as f64. Where the file has a scale or an offset for it, as what its numbers stand for, and NaN for the value for no data;
    /// else as they are stored. Masks do not count; 64-bit integers beyond 2^53 are rounded first.
    ///
    /// ```
    /// use halotile::grid::GridView;
    /// use halotile::io::OutputFile;
    /// use halotile::raster::geotiff::{CreationOptions, Description, GeoTiff, GeoTiffSink, Stored, StoredType};
    /// use halotile::raster::ResultSink;
    /// let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("h.tif");
    /// let mut out = OutputFile::create(&path, false)?;
    /// let bands = Description::of(&["entropy"]).stored(&[Stored::up_to(StoredType::U8, 0.5)]);
    /// let mut sink = GeoTiffSink::<f64, _>::new(&mut out, "h.tif", (1, 2), &bands, None, &CreationOptions::default())?;
    /// sink.write(0, 0, &[GridView::new(&[0.5, f64::NAN], 1, 2)?])?;
    /// Box::new(sink).finish()?;
    /// out.commit()?;
    /// let results = GeoTiff::open(&path, 1)?.results()?;
    /// assert!(results.row(0)[0] == 0.5 && results.row(0)[1].is_nan());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What reading says, and too little memory.
    pub fn results(&self) -> Result<Grid<f64>, FormatError> {
        let mut grid = whole(self)?;
        let Some(Scale { scale, offset }) = self.scale() else { return Ok(grid) };
        let nodata = self.nodata().map(Nodata::to_f64);
        for number in grid.as_mut_slice() {
            *number = if Some(*number) == nodata { f64::NAN } else { *number * scale + offset };
        }
        Ok(grid)
    }
}
