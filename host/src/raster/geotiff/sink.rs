//! Results and classes to a GeoTIFF.

use std::fmt;
use std::io::{Seek, Write};

use super::cutter::Conversion;
use super::description::Description;
use super::options::{CreationOptions, Resampling};
use super::overviews::{average, first};
use super::stored::{Stored, StoredType};
use super::tags;
use super::writer::{BlockWriter, Image};
use crate::grid::GridView;
use crate::io::{FormatError, Number};
use crate::raster::{Georeference, ResultSink};

/// Writes results: a band for each measure, described, in planes; cells without data are NaN, or have the number that
/// is stored for them ([`Stored`]), and the file says so.
///
/// ```
/// use halotile::grid::GridView;
/// use halotile::io::OutputFile;
/// use halotile::raster::geotiff::{CreationOptions, Description, GeoTiff, GeoTiffSink};
/// use halotile::raster::{Raster, ResultSink, Values};
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("h.tif");
/// let mut out = OutputFile::create(&path, false)?;
/// let options = CreationOptions::parse(&["COMPRESS=LZW"])?;
/// let bands = Description::of(&["entropy", "classes"]).unit(0, "nats");
/// let mut sink = GeoTiffSink::<f32, _>::new(&mut out, "h.tif", (1, 2), &bands, None, &options)?;
/// sink.write(0, 0, &[GridView::new(&[0.5, f32::NAN], 1, 2)?, GridView::new(&[2.0, 1.0], 1, 2)?])?;
/// Box::new(sink).finish()?;
/// out.commit()?;
/// assert_eq!(GeoTiff::open(&path, 2)?.read(0..1, 0..2)?, Values::F32(vec![2.0, 1.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct GeoTiffSink<T, W: Write + Seek> {
    writer: BlockWriter<T, W>,
    description: Description,
}

impl<T, W: Write + Seek> fmt::Debug for GeoTiffSink<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GeoTiffSink({:?})", self.writer)
    }
}

impl<T: Number, W: Write + Seek> GeoTiffSink<T, W> {
    /// A file in `out`, called `name` in messages, for results of `shape` (rows, columns) with the bands of `description`. Blocks
    /// go to `out` as they come, the tags with [`finish`](ResultSink::finish); of a Cloud Optimized GeoTIFF everything does.
    ///
    /// # Errors
    /// `out` that has no positions (a pipe), options that do not go with the type of the numbers, a shape that a TIFF cannot have, and failed writes.
    pub fn new(
        out: W,
        name: &str,
        shape: (usize, usize),
        description: &Description,
        georeference: Option<&Georeference>,
        options: &CreationOptions,
    ) -> Result<Self, FormatError> {
        let tags = georeference.map(tags::of_georeference).unwrap_or_default();
        let stored = description.all_stored();
        let one = stored.as_ref().and_then(|stored| stored.first().copied());
        let shared = vec![tags::of_nodata(one.map_or("nan", Stored::nodata))];
        let (rows, cols) = shape;
        let as_it_comes = if size_of::<T>() == 4 { StoredType::F32 } else { StoredType::F64 };
        let summed = (one.map_or(as_it_comes, Stored::stored_type), one.and_then(Stored::nodata_number));
        let image = Image {
            name,
            rows,
            cols,
            planes: description.bands(),
            tags,
            shared,
            beyond: T::NAN,
            is_nothing: |value: T| value.to_f64().is_nan(),
            stored: stored.map(|bands| Conversion { bands, push: Stored::push }),
            summed: options.statistics.then_some(summed),
            halve: if options.resampling == Some(Resampling::Nearest) { first } else { average },
        };
        let is_real = one.is_none_or(|band| band.stored_type().is_real());
        let options = if is_real { options.clone() } else { options.clone().for_whole_results() };
        let writer = BlockWriter::new(out, image, &options)?;
        Ok(Self { writer, description: description.clone() })
    }
}

impl<T: Number, W: Write + Seek + Send> ResultSink<T> for GeoTiffSink<T, W> {
    fn block(&self) -> (usize, usize) {
        self.writer.block()
    }

    fn whole_rows(&self) -> bool {
        !self.writer.is_tiled()
    }

    fn kept_bytes(&self) -> usize {
        self.writer.kept_bytes()
    }

    fn write(&mut self, top: usize, left: usize, planes: &[GridView<'_, T>]) -> Result<(), FormatError> {
        self.writer.write(top, left, planes)
    }

    fn finish(self: Box<Self>) -> Result<(), FormatError> {
        let Self { writer, description } = *self;
        writer.finish(|statistics| description.tags(statistics).into()).map(drop)
    }
}

/// Writes classes: one band of bytes.
pub struct GeoTiffCells<W: Write + Seek>(BlockWriter<u8, W>);

impl<W: Write + Seek> fmt::Debug for GeoTiffCells<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GeoTiffCells({:?})", self.0)
    }
}

impl<W: Write + Seek> GeoTiffCells<W> {
    /// A file in `out`, called `name` in messages, for `rows` × `cols` cells. The place is a made-up one if none is given: programs that draw
    /// maps open the file, in the middle of Europe.
    ///
    /// # Errors
    /// As for [`GeoTiffSink::new`].
    pub fn new(
        out: W,
        name: &str,
        rows: usize,
        cols: usize,
        georeference: Option<&Georeference>,
        options: &CreationOptions,
    ) -> Result<Self, FormatError> {
        let made_up = tags::made_up(rows, cols);
        let tags = tags::of_georeference(georeference.unwrap_or(&made_up));
        // Without a nodata value, readers see 0 where a block was left out.
        let image = Image {
            name,
            rows,
            cols,
            planes: 1,
            tags,
            shared: Vec::new(),
            beyond: 0,
            is_nothing: |cell| cell == 0,
            stored: None,
            summed: None,
            // Classes have no average.
            halve: first,
        };
        BlockWriter::new(out, image, options).map(Self)
    }

    /// Rows and columns of the file's blocks.
    pub fn block(&self) -> (usize, usize) {
        self.0.block()
    }

    /// Takes a rectangle of whole blocks, the first cell of which is at (`top`, `left`): it begins at multiples of
    /// [`block`](Self::block) and ends at some or at the grid's edge.
    ///
    /// # Errors
    /// Failed writes, and rectangles that are no whole blocks or have come before: of those that came before this one, too.
    pub fn write(&mut self, top: usize, left: usize, cells: GridView<'_, u8>) -> Result<(), FormatError> {
        self.0.write(top, left, &[cells])
    }

    /// Writes the tags and gives the file back.
    ///
    /// # Errors
    /// Failed writes, and blocks that did not come.
    pub fn finish(self) -> Result<W, FormatError> {
        self.0.finish(|_| Vec::new())
    }
}
