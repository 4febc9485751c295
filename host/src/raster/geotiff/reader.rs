//! One band of a GeoTIFF as a raster, read window by window.
//!
//! [`Image`] reads cells. Around it:
//!
//! - Everything that can be refused is refused on opening, in words that say what to do: no window fails later because of a codec or a
//!   type that is not read.
//! - A block that is not in the file (GDAL's `SPARSE_OK`) holds the nodata value, as GDAL has it, not zeros.
//! - The limits are the file's own: tables of blocks may take as many bytes as the file has, which a raster of 10^11 cells needs
//!   and a short file that promises much cannot use.
//!
//! The file is read by position, through one handle, so that several threads may ask for windows at once. It is not mapped into memory: a file
//! that another program cuts short is an error with a name, and not a signal.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tiff_reader::source::SharedSource;
use tiff_reader::{OpenOptions, ParseBudgets, TiffError, TiffFile};

use super::image::Image;
use super::source::FileSource;
use super::tags::{GdalMetadata, Scale};
use super::validity::Found;
use super::{damaged, explain, tags, validity};
use crate::io::{FormatError, Nodata, Place, Problem, geotiff_from_pipe};
use crate::numbers::ValueType;
use crate::raster::cell::each;
use crate::raster::sidecar::{self, Metadata};
use crate::raster::{Georeference, Origins, Raster, Values};

/// One band of a GeoTIFF.
///
/// ```
/// use halotile::grid::GridView;
/// use halotile::io::OutputFile;
/// use halotile::raster::geotiff::{CreationOptions, GeoTiff, GeoTiffCells};
/// use halotile::raster::{Raster, Values};
/// use halotile::numbers::ValueType;
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("map.tif");
/// let mut out = OutputFile::create(&path, false)?;
/// let mut cells = GeoTiffCells::new(&mut out, "map.tif", 2, 3, None, &CreationOptions::default())?;
/// cells.write(0, 0, GridView::new(&[1, 2, 3, 4, 5, 6], 2, 3)?)?;
/// cells.finish()?;
/// out.commit()?;
///
/// let map = GeoTiff::open(&path, 1)?;
/// assert_eq!((map.rows(), map.cols(), map.value_type()), (2, 3, ValueType::U8));
/// assert_eq!(map.read(1..2, 1..3)?, Values::U8(vec![5, 6]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct GeoTiff {
    name: String,
    image: Image,
    /// Counted from 0.
    band: usize,
    nodata: Option<Nodata>,
    georeference: Option<Georeference>,
    /// Of its metadata.
    items: Vec<(String, String)>,
    scale: Option<Scale>,
    /// Some blocks of the band are not in the file, and what they hold is not 0.
    sparse: bool,
    /// The last band says how opaque the others are.
    alpha: bool,
    mask: Option<Mask>,
    origins: Origins,
}

/// A band that is 0 where another has no data.
struct Mask {
    image: Image,
    /// Counted from 0.
    band: usize,
}

impl fmt::Debug for GeoTiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, band, image, .. } = self;
        write!(f, "GeoTiff({name:?}, band {} of {image:?})", band + 1)
    }
}

impl GeoTiff {
    /// Opens the first image of a file. Bands are counted from 1, as GDAL counts them.
    ///
    /// Read are classic TIFF and BigTIFF of either byte order, in strips or tiles, with the samples of a cell side by side or in planes;
    /// whole numbers of 1 to 32 and 64 bits (signed: 8, 16, 32 and 64), and floating point of 16, 24, 32 and 64; uncompressed, Deflate, LZW
    /// (old-style LZW too), PackBits, Zstandard and LERC, with any predictor.
    ///
    /// # Errors
    /// What is not a GeoTIFF that is read, has no such band, is damaged, or is no regular file.
    pub fn open(path: &Path, band: usize) -> Result<Self, FormatError> {
        let name = path.display().to_string();
        // Without a look at it first, opening a FIFO would wait for a writer.
        if path.as_os_str() == "-" || std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
            return Err(geotiff_from_pipe(&name));
        }
        crate::io::open(path)?;
        let source: SharedSource = Arc::new(FileSource::open(path).map_err(|e| explain(e, &name))?);
        let mut tiff = Self::from_source(source, name, band)?;
        tiff.read_sidecars(path)?;
        Ok(tiff)
    }

    /// A band of a file's first image, and the mask that the file has for it.
    pub(super) fn from_source(source: SharedSource, name: String, band: usize) -> Result<Self, FormatError> {
        let file = parse(&source).map_err(|e| explain(e, &name))?;
        let at_file = |problem: Problem| problem.at(&name, Place::FILE);
        let ifd = file.ifd(0).map_err(|_| at_file(damaged("the file has no image")))?;
        let image = Image::open(&source, &file, ifd, &name)?;
        check_band(band, image.bands()).map_err(at_file)?;
        let (nodata, georeference) = (tags::nodata(ifd, &name), tags::georeference(ifd));
        let mut origins = Origins {
            nodata: nodata.is_some().then(|| "the tag GDAL_NODATA".to_owned()),
            georeference: georeference.is_some().then(|| "the file's tags".to_owned()),
            mask: None,
        };
        let found = validity::inside(&file, &name, band, image.bands(), image.value_type());
        let mask = found.map(|found| {
            let (index, band, origin) = match found {
                Found::Inside { image, band } => (image, band, "a mask in the file".to_owned()),
                Found::Alpha(band) => (0, band, format!("alpha, band {band}")),
            };
            let ifd = file.ifd(index).map_err(|_| at_file(damaged("the mask is not in the file")))?;
            let image = Image::open(&source, &file, ifd, &format!("{name} ({origin})"))?;
            origins.mask = Some(origin);
            Ok(Mask { image, band: band - 1 })
        });
        let (mask, alpha) = (mask.transpose()?, validity::has_alpha(ifd));
        let (band, sparse) = (band - 1, false);
        let GdalMetadata { items, scale } = tags::metadata(ifd, band, &name);
        let mut tiff =
            Self { name, image, band, nodata: None, georeference, items, scale, sparse, alpha, mask, origins };
        tiff.set_nodata(nodata);
        Ok(tiff)
    }

    /// What files beside this one say: its value for no data, its place, its mask.
    fn read_sidecars(&mut self, path: &Path) -> Result<(), FormatError> {
        let (nodata, georeference, items, origins) =
            (self.nodata, self.georeference.take(), std::mem::take(&mut self.items), std::mem::take(&mut self.origins));
        let mut metadata = Metadata { nodata, georeference, items, origins };
        sidecar::apply(&mut metadata, path, self.band + 1);
        (self.georeference, self.items, self.origins) = (metadata.georeference, metadata.items, metadata.origins);
        // Scans all blocks.
        if metadata.nodata != self.nodata {
            self.set_nodata(metadata.nodata);
        }

        let Some(beside) = validity::beside(path) else { return Ok(()) };
        let name = beside.display().to_string();
        let source: SharedSource = Arc::new(FileSource::open(&beside).map_err(|e| explain(e, &name))?);
        let file = parse(&source).map_err(|e| explain(e, &name))?;
        let at_file = |problem: Problem| problem.at(&name, Place::FILE);
        let Some(band) = validity::band_beside(&file, &name, self.band + 1) else {
            let band = self.band + 1;
            tracing::warn!("{name}: its metadata do not say that it is a mask of band {band}; it does not count");
            return Ok(());
        };
        let ifd = file.ifd(0).map_err(|_| at_file(damaged("the file has no image")))?;
        let image = Image::open(&source, &file, ifd, &name)?;
        check_band(band, image.bands()).map_err(at_file)?;
        if (image.rows(), image.cols()) != (self.rows(), self.cols()) {
            let what = format!(
                "the mask has {} rows and {} columns, and its raster {} and {}",
                image.rows(),
                image.cols(),
                self.rows(),
                self.cols()
            );
            return Err(at_file(Problem::new(what, "make it again, or move it away")));
        }
        self.mask = Some(Mask { image, band: band - 1 });
        self.origins.mask = Some(name);
        Ok(())
    }

    fn set_nodata(&mut self, nodata: Option<Nodata>) {
        self.nodata = nodata.map(|nodata| match self.image.value_type() {
            ValueType::F32 => nodata.as_f32(),
            _ => nodata,
        });
        self.sparse = !matches!(self.nodata, None | Some(Nodata::Whole(0)))
            && (0..self.image.blocks().count()).any(|block| !self.image.is_stored(self.band, block));
    }

    /// The same without the masks of the file: every cell has data that is not the value for no data.
    #[must_use]
    pub fn without_masks(mut self) -> Self {
        (self.mask, self.origins.mask) = (None, None);
        self
    }

    /// True when the last band is alpha: how opaque the others are.
    pub fn has_alpha(&self) -> bool {
        self.alpha
    }

    /// How many bands the file has.
    pub fn bands(&self) -> usize {
        self.image.bands()
    }

    /// [`set_cache_bytes`](Raster::set_cache_bytes) where so many files share `all` bytes.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn share_cache_bytes(&mut self, all: usize, shares: usize) -> Result<(), FormatError> {
        let Some(mask) = &mut self.mask else { return self.image.share_cache_bytes(all, shares) };
        // By what a cell takes in each.
        let (ours, masks) = (self.image.value_type().bytes(), mask.image.value_type().bytes());
        let own = all / (ours + masks) * ours;
        mask.image.share_cache_bytes(all - own, shares)?;
        self.image.share_cache_bytes(own, shares)
    }

    pub(super) fn scale(&self) -> Option<Scale> {
        self.scale
    }

    /// Puts what GDAL sees into the cells of blocks that are not in the file.
    fn fill(&self, values: &mut Values, rows: &Range<usize>, cols: &Range<usize>) {
        let Some(nodata) = self.nodata else { return };
        let left_out = |block: &usize| !self.image.is_stored(self.band, *block);
        for block in self.image.blocks().over(rows, cols).filter(|block| left_out(&block.index)) {
            let across = block.cols.start.max(cols.start) - cols.start..block.cols.end.min(cols.end) - cols.start;
            for row in block.rows.start.max(rows.start)..block.rows.end.min(rows.end) {
                let start = (row - rows.start) * cols.len();
                set(values, start + across.start..start + across.end, nodata);
            }
        }
    }
}

/// Bands are counted from 1.
fn check_band(band: usize, bands: usize) -> Result<(), Problem> {
    if (1..=bands).contains(&band) {
        return Ok(());
    }
    let count = if bands == 1 { "1 band".to_owned() } else { format!("{bands} bands, counted from 1") };
    Err(Problem::new(format!("there is no band {band}: the file has {count}"), "choose another band"))
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads the tags.
fn parse(source: &SharedSource) -> Result<TiffFile, TiffError> {
    // No honest file has more in its tags than there is in the file.
    let budget = usize::try_from(source.len()).unwrap_or(usize::MAX).saturating_add(1 << 16);
    let options = OpenOptions {
        // Blocks are not read by this crate.
        block_cache_bytes: 0,
        block_cache_slots: 1,
        parse_budgets: ParseBudgets {
            max_ifds: 10_000,
            max_ifd_entries: 4096,
            max_tag_value_bytes: budget,
            max_metadata_value_bytes: budget,
        },
        decode_output_bytes: 0,
    };
    TiffFile::from_source_with_options(source.clone(), options)
}

/// Sets a stretch of cells to the nodata value, or what is nearest to it in their type.
fn set(values: &mut Values, range: Range<usize>, nodata: Nodata) {
    // What `as` does with a real number (0 for NaN, the ends for what is beyond them) is what GDAL does.
    let real = nodata.to_f64();
    macro_rules! whole {
        ($v:ident, $t:ty) => {
            $v[range].fill(match nodata {
                Nodata::Whole(v) => v.clamp(<$t>::MIN.into(), <$t>::MAX.into()) as $t,
                Nodata::Fraction(_) | Nodata::Nan => real.round() as $t,
            })
        };
    }
    match values {
        Values::U8(v) => whole!(v, u8),
        Values::I8(v) => whole!(v, i8),
        Values::U16(v) => whole!(v, u16),
        Values::I16(v) => whole!(v, i16),
        Values::U32(v) => whole!(v, u32),
        Values::I32(v) => whole!(v, i32),
        Values::U64(v) => whole!(v, u64),
        Values::I64(v) => whole!(v, i64),
        Values::F32(v) => v[range].fill(real as f32),
        Values::F64(v) => v[range].fill(real),
    }
}

impl Raster for GeoTiff {
    fn name(&self) -> &str {
        &self.name
    }

    fn rows(&self) -> usize {
        self.image.rows()
    }

    fn cols(&self) -> usize {
        self.image.cols()
    }

    fn value_type(&self) -> ValueType {
        self.image.value_type()
    }

    fn block(&self) -> (usize, usize) {
        self.image.unit()
    }

    fn in_order(&self) -> bool {
        self.image.in_order() || self.mask.as_ref().is_some_and(|mask| mask.image.in_order())
    }

    fn nodata(&self) -> Option<Nodata> {
        self.nodata
    }

    fn georeference(&self) -> Option<&Georeference> {
        self.georeference.as_ref()
    }

    fn items(&self) -> &[(String, String)] {
        &self.items
    }

    fn set_cache_bytes(&mut self, bytes: usize) -> Result<(), FormatError> {
        self.share_cache_bytes(bytes, 1)
    }

    fn has_mask(&self) -> bool {
        self.mask.is_some()
    }

    fn origins(&self) -> Origins {
        self.origins.clone()
    }

    fn masked(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Option<Vec<bool>>, FormatError> {
        let Some(Mask { image, band }) = &self.mask else { return Ok(None) };
        let values = image.read(*band, rows, cols)?;
        Ok(Some(each!(&values, values => values.iter().map(is_zero).collect())))
    }

    fn read(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Values, FormatError> {
        assert!(rows.start < rows.end && rows.end <= self.rows(), "rows {rows:?} of {}", self.rows());
        assert!(cols.start < cols.end && cols.end <= self.cols(), "columns {cols:?} of {}", self.cols());
        let mut values = self.image.read(self.band, rows.clone(), cols.clone())?;
        if self.sparse {
            self.fill(&mut values, &rows, &cols);
        }
        Ok(values)
    }
}
