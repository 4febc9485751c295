//! One band of a GeoTIFF as a raster, read window by window.
//!
//! `tiff-reader` finds and decodes the blocks under a window, in parallel, and keeps some of them. Around it:
//!
//! - Everything that can be refused is refused on opening, in words that say what to do: no window fails later because of a codec or a
//!   type that is not read.
//! - A block that is not in the file (GDAL's `SPARSE_OK`) holds the nodata value, as GDAL has it, not zeros.
//! - The limits are the file's own: tables of blocks may take as many bytes as the file has, which a raster of 10^11 cells needs
//!   and a short file that promises much cannot use; and a block may take [`MOST_OF_A_BLOCK`] bytes.
//!
//! The file is read by position, through one handle, so that several threads may ask for windows at once.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytemuck::Pod;
use tiff_core::Compression;
use tiff_reader::source::{FileSource, SharedSource};
use tiff_reader::{Ifd, OpenOptions, ParseBudgets, RasterLayout, TagValue, TiffError, TiffFile};

use super::blocks::Blocks;
use super::tags;
use crate::io::{FormatError, Nodata, Place, Problem, check_shape, geotiff_from_pipe};
use crate::raster::{Georeference, Raster, ValueType, Values};

/// Bytes that a decoded block may take. A file in one strip is one block.
const MOST_OF_A_BLOCK: usize = 1 << 30;
/// Bytes of decoded blocks that are kept unless [`Raster::keep`] says otherwise.
const KEPT: usize = 64 << 20;

/// One band of a GeoTIFF.
///
/// ```
/// use halotile::grid::GridView;
/// use halotile::io::OutputFile;
/// use halotile::raster::geotiff::{CreationOptions, GeoTiff, GeoTiffCells};
/// use halotile::raster::{Raster, ValueType, Values};
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
    source: SharedSource,
    file: TiffFile,
    /// Counted from 0.
    band: usize,
    bands: usize,
    blocks: Blocks,
    /// Bytes of a decoded block.
    block_bytes: usize,
    /// The number of the band's first block.
    first: usize,
    value_type: ValueType,
    nodata: Option<Nodata>,
    georeference: Option<Georeference>,
    /// Some blocks of the band are not in the file, and what they hold is not 0.
    sparse: bool,
}

impl fmt::Debug for GeoTiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, band, bands, blocks, value_type, .. } = self;
        write!(f, "GeoTiff({name:?}, band {} of {bands}, {value_type:?}, {blocks:?})", band + 1)
    }
}

impl GeoTiff {
    /// Opens the first image of a file. Bands are counted from 1, as GDAL counts them.
    ///
    /// Read are classic TIFF and BigTIFF of either byte order, in strips or tiles, with the samples of a cell side by side or in planes;
    /// whole numbers of 1 to 16, 32 and 64 bits (signed: 8, 16, 32 and 64), and floating point of 32 and 64; uncompressed, Deflate, LZW,
    /// PackBits, Zstandard and LERC, with any predictor.
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
        let source: SharedSource = Arc::new(FileSource::open(path).map_err(|e| explain(e, &name, None))?);
        Self::from_source(source, name, band)
    }

    pub(super) fn from_source(source: SharedSource, name: String, band: usize) -> Result<Self, FormatError> {
        // How large blocks are is not known yet.
        let file = parse(&source, KEPT, 1 << 17).map_err(|e| explain(e, &name, None))?;
        let at_file = |problem: Problem| problem.at(&name, Place::FILE);
        let ifd = file.ifd(0).map_err(|_| at_file(damaged("the file has no image")))?;
        supported(ifd).map_err(at_file)?;
        let layout = ifd.raster_layout().map_err(|e| explain(e, &name, None))?;
        let bands = layout.samples_per_pixel;
        if band == 0 || band > bands {
            let count = if bands == 1 { "1 band".to_owned() } else { format!("{bands} bands, counted from 1") };
            return Err(at_file(Problem::new(
                format!("there is no band {band}: the file has {count}"),
                "choose another band",
            )));
        }
        check_shape(layout.height as u64, layout.width as u64).map_err(at_file)?;
        let (blocks, block_bytes) = blocks(ifd, &layout).map_err(at_file)?;
        let apart = layout.planar_configuration == 2;
        check_tables(ifd, blocks, if apart { bands } else { 1 }).map_err(at_file)?;
        let value_type = value_type(&layout);
        let nodata = tags::nodata(ifd, &name).map(|nodata| match value_type {
            ValueType::F32 => nodata.as_f32(),
            _ => nodata,
        });
        let georeference = tags::georeference(ifd);
        let first = if apart { (band - 1) * blocks.count() } else { 0 };
        let sparse = !matches!(nodata, None | Some(Nodata::Whole(0)))
            && Tables::of(ifd).is_some_and(|tables| (first..first + blocks.count()).any(|i| tables.left_out(i)));
        Ok(Self {
            name,
            source,
            file,
            band: band - 1,
            bands,
            blocks,
            block_bytes,
            first,
            value_type,
            nodata,
            georeference,
            sparse,
        })
    }

    /// How many bands the file has.
    pub fn bands(&self) -> usize {
        self.bands
    }

    /// Puts what GDAL sees into the cells of blocks that are not in the file.
    fn fill(&self, values: &mut Values, rows: &Range<usize>, cols: &Range<usize>) {
        let tables = self.file.ifd(0).ok().and_then(Tables::of);
        let (Some(tables), Some(nodata)) = (tables, self.nodata) else {
            return;
        };
        for block in self.blocks.over(rows, cols).filter(|block| tables.left_out(self.first + block.index)) {
            let across = block.cols.start.max(cols.start) - cols.start..block.cols.end.min(cols.end) - cols.start;
            for row in block.rows.start.max(rows.start)..block.rows.end.min(rows.end) {
                let start = (row - rows.start) * cols.len();
                set(values, start + across.start..start + across.end, nodata);
            }
        }
    }
}

/// Reads the tags. `kept` bytes of decoded blocks will be kept, each of `block` bytes.
fn parse(source: &SharedSource, kept: usize, block: usize) -> Result<TiffFile, TiffError> {
    // No honest file has more in its tags than there is in the file.
    let budget = usize::try_from(source.len()).unwrap_or(usize::MAX).saturating_add(1 << 16);
    let options = OpenOptions {
        block_cache_bytes: kept,
        // The cache makes room for so many at once.
        block_cache_slots: (kept / block.max(1)).clamp(1, 1 << 16),
        parse_budgets: ParseBudgets {
            max_ifds: 10_000,
            max_ifd_entries: 4096,
            max_tag_value_bytes: budget,
            max_metadata_value_bytes: budget,
        },
        // Blocks are held to their limit on opening, and windows are as large as their caller makes them.
        decode_output_bytes: isize::MAX as usize,
    };
    TiffFile::from_source_with_options(source.clone(), options)
}

fn damaged(what: impl AsRef<str>) -> Problem {
    Problem::new(what, "the file is damaged: copy or make it again")
}

fn convert(what: impl AsRef<str>) -> Problem {
    Problem::new(what, "convert it, as with gdal_translate -co COMPRESS=DEFLATE")
}

/// Refuses what `tiff-reader` would refuse for each block again, or would change.
fn supported(ifd: &Ifd) -> Result<(), Problem> {
    use Compression::{Deflate, DeflateOld, Lerc, Lzw, None, PackBits, Zstd};
    match Compression::from_code(ifd.compression()) {
        Some(None | Deflate | DeflateOld | Lzw | PackBits | Zstd | Lerc) => {}
        other => {
            let name = other.map_or("a codec that is not known", Compression::name);
            return Err(convert(format!("its blocks are compressed with {name} ({})", ifd.compression())));
        }
    }
    // Its samples share cells.
    if ifd.photometric_interpretation() == Some(6) {
        return Err(convert("its samples are colours (YCbCr), not classes"));
    }
    Ok(())
}

fn value_type(layout: &RasterLayout) -> ValueType {
    match (layout.sample_format, layout.bits_per_sample) {
        (3, ..=32) => ValueType::F32,
        (3, _) => ValueType::F64,
        (2, ..=8) => ValueType::I8,
        (2, ..=16) => ValueType::I16,
        (2, ..=32) => ValueType::I32,
        (2, _) => ValueType::I64,
        (_, ..=8) => ValueType::U8,
        (_, ..=16) => ValueType::U16,
        (_, ..=32) => ValueType::U32,
        (..) => ValueType::U64,
    }
}

/// The blocks of a plane, and the bytes that one takes in memory.
fn blocks(ifd: &Ifd, layout: &RasterLayout) -> Result<(Blocks, usize), Problem> {
    let (rows, cols) = (layout.height, layout.width);
    let (height, width) = match (ifd.is_tiled(), ifd.tile_height(), ifd.tile_width()) {
        (true, Some(height), Some(width)) => (height as usize, width as usize),
        (true, ..) => (0, 0),
        (false, ..) => ((ifd.rows_per_strip() as usize).min(rows), cols),
    };
    if height == 0 || width == 0 {
        return Err(damaged(format!("its blocks have {height} rows and {width} columns")));
    }
    let samples = if layout.planar_configuration == 2 { 1 } else { layout.samples_per_pixel };
    // Four factors below 2^32, 2^32, 2^16 and 9.
    let bytes = height as u128 * width as u128 * samples as u128 * layout.bytes_per_sample as u128;
    match usize::try_from(bytes).ok().filter(|&bytes| bytes <= MOST_OF_A_BLOCK) {
        Some(bytes) => Ok((Blocks { rows, cols, height, width }, bytes)),
        None => Err(Problem::new(
            format!("its blocks of {height} x {width} cells take {bytes} bytes each, more than {MOST_OF_A_BLOCK}"),
            "cut it into smaller ones, as with gdal_translate -co TILED=YES",
        )),
    }
}

/// Where blocks lie, and how long they are in the file.
struct Tables<'a> {
    offsets: &'a TagValue,
    lengths: &'a TagValue,
}

impl<'a> Tables<'a> {
    fn of(ifd: &'a Ifd) -> Option<Self> {
        let [offsets, lengths] = if ifd.is_tiled() {
            [tiff_core::TAG_TILE_OFFSETS, tiff_core::TAG_TILE_BYTE_COUNTS]
        } else {
            [tiff_core::TAG_STRIP_OFFSETS, tiff_core::TAG_STRIP_BYTE_COUNTS]
        };
        Some(Self { offsets: &ifd.tag(offsets)?.value, lengths: &ifd.tag(lengths)?.value })
    }

    /// Whether block `index` is not in the file. The tables have been checked.
    fn left_out(&self, index: usize) -> bool {
        let zero = |table: &TagValue| match table {
            TagValue::Byte(v) => v[index] == 0,
            TagValue::Short(v) => v[index] == 0,
            TagValue::Long(v) => v[index] == 0,
            TagValue::Long8(v) => v[index] == 0,
            _ => false,
        };
        zero(self.offsets) || zero(self.lengths)
    }
}

fn check_tables(ifd: &Ifd, blocks: Blocks, planes: usize) -> Result<(), Problem> {
    let tables = Tables::of(ifd).ok_or_else(|| damaged("the file does not say where its blocks are"))?;
    let wanted = blocks.count() as u128 * planes as u128;
    for (table, of) in [(tables.offsets, "offsets"), (tables.lengths, "lengths")] {
        let is_table = matches!(table, TagValue::Byte(_) | TagValue::Short(_) | TagValue::Long(_) | TagValue::Long8(_));
        if !is_table || u128::from(table.count()) != wanted {
            return Err(damaged(format!("the file has {wanted} blocks, and {of} of {}", table.count())));
        }
    }
    Ok(())
}

/// An error of `tiff-reader`, in one line with the block's place.
fn explain(error: TiffError, name: &str, blocks: Option<Blocks>) -> FormatError {
    let file = Place::FILE;
    match error {
        TiffError::Io(error, _) => FormatError::from_io(name, "reading failed", error, "check the disk and the file"),
        TiffError::InvalidMagic | TiffError::UnsupportedVersion(_) | TiffError::InvalidBigTiffHeader(_) => {
            Problem::new("this is not a TIFF file", "name a GeoTIFF").at(name, file)
        }
        TiffError::UnsupportedBitsPerSample(bits) => {
            convert(format!("samples of {bits} bits of its kind are not read")).at(name, file)
        }
        TiffError::UnsupportedSampleFormat(5 | 6) => convert("its samples are complex numbers").at(name, file),
        TiffError::UnsupportedSampleFormat(format) => {
            convert(format!("samples of format {format} are not known")).at(name, file)
        }
        TiffError::UnsupportedPredictor(predictor) => {
            convert(format!("predictor {predictor} does not go with its samples")).at(name, file)
        }
        TiffError::DecompressionFailed { index, reason } => {
            let place = blocks.map_or(file, |blocks| {
                let block = blocks.block(index % blocks.count());
                Place::cell(block.rows.start, block.cols.start)
            });
            damaged(format!("the block that begins there cannot be decoded ({reason})")).at(name, place)
        }
        TiffError::DecodeOutputAllocationFailed { requested, .. } => {
            Problem::new(format!("there is not enough memory for {requested} bytes"), "ask for less at a time")
                .at(name, file)
        }
        TiffError::OffsetOutOfBounds { offset, length, data_len } => {
            damaged(format!("{length} bytes from byte {offset} on should be there, and the file has {data_len}"))
                .at(name, file)
        }
        other => damaged(other.to_string()).at(name, file),
    }
}

/// The numbers that the bytes are, in this machine's order.
fn typed<T: Pod>(bytes: &[u8]) -> Result<Vec<T>, TiffError> {
    let mut values = Vec::new();
    let count = bytes.len() / size_of::<T>();
    values
        .try_reserve_exact(count)
        .map_err(|e| TiffError::DecodeOutputAllocationFailed { requested: bytes.len(), reason: e.to_string() })?;
    values.resize(count, T::zeroed());
    // A copy and not a cast: bytes may lie anywhere, wider numbers not.
    bytemuck::cast_slice_mut::<T, u8>(&mut values).copy_from_slice(bytes);
    Ok(values)
}

/// Sets a stretch of cells to the nodata value, or what is nearest to it in their type.
fn set(values: &mut Values, range: Range<usize>, nodata: Nodata) {
    // What `as` does with a real number (0 for NaN, the ends for what is beyond them) is what GDAL does.
    let real = match nodata {
        Nodata::Whole(v) => v as f64,
        Nodata::Fraction(v) => v,
        Nodata::Nan => f64::NAN,
    };
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
        self.blocks.rows
    }

    fn cols(&self) -> usize {
        self.blocks.cols
    }

    fn value_type(&self) -> ValueType {
        self.value_type
    }

    fn block(&self) -> (usize, usize) {
        (self.blocks.height, self.blocks.width)
    }

    fn nodata(&self) -> Option<Nodata> {
        self.nodata
    }

    fn georeference(&self) -> Option<&Georeference> {
        self.georeference.as_ref()
    }

    fn keep(&mut self, bytes: usize) {
        // The cache is as large as it was made, so the tags are read again. Where that fails (a disk that has gone), the next
        // window will say so.
        // One block at least: it has to be in memory once anyway, and would be decoded again for every window.
        if let Ok(file) = parse(&self.source, bytes.max(self.block_bytes), self.block_bytes) {
            self.file = file;
        }
    }

    fn read(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Values, FormatError> {
        assert!(rows.start < rows.end && rows.end <= self.rows(), "rows {rows:?} of {}", self.rows());
        assert!(cols.start < cols.end && cols.end <= self.cols(), "columns {cols:?} of {}", self.cols());
        let read = || {
            let (height, width) = (rows.len(), cols.len());
            let bytes = self.file.read_band_window_bytes(0, self.band, rows.start, cols.start, height, width)?;
            Ok(match self.value_type {
                ValueType::U8 => Values::U8(bytes),
                ValueType::I8 => Values::I8(typed(&bytes)?),
                ValueType::U16 => Values::U16(typed(&bytes)?),
                ValueType::I16 => Values::I16(typed(&bytes)?),
                ValueType::U32 => Values::U32(typed(&bytes)?),
                ValueType::I32 => Values::I32(typed(&bytes)?),
                ValueType::U64 => Values::U64(typed(&bytes)?),
                ValueType::I64 => Values::I64(typed(&bytes)?),
                ValueType::F32 => Values::F32(typed(&bytes)?),
                ValueType::F64 => Values::F64(typed(&bytes)?),
            })
        };
        let mut values = read().map_err(|e| explain(e, &self.name, Some(self.blocks)))?;
        if self.sparse {
            self.fill(&mut values, &rows, &cols);
        }
        Ok(values)
    }
}
