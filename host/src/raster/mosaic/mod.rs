//! Mosaics: GeoTIFFs side by side, seen as one raster.
//!
//! ```text
//! part of file b ┐                       where parts overlap, the last one is seen,
//! part of file a ┴─ cells, part by part   but for its cells without data, through which those below show;
//!                                         where there is none, no data: by value, or masked
//! ```
//!
//! Cells of a part without data are, in a list of files (`list`), those with the file's value for no data, those that its mask hides, and NaN; in a VRT (`vrt`)
//! those that its source says, as GDAL reads it.
//!
//! Windows are read part by part: what a window sees across a seam costs the blocks on both sides. Files are opened when they are needed, and the ones used
//! last are kept open, as many as a window may see, so that a mosaic may have more files than a process may open, and all of them together keep blocks in no
//! more memory than one file would. Each is opened once at the beginning: a file that is missing or does not fit is found before anything is computed.

mod list;
mod vrt;

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use rayon::prelude::*;

use self::vrt::{Rect, Source, Vrt};
use super::cell::{Cell, each};
use super::geotiff::GeoTiff;
use super::{Georeference, Origins, Raster, Values, sidecar};
use crate::io::{FormatError, Nodata, Place, Problem};
use crate::numbers::ValueType;

/// The most files that are open at a time.
const OPEN: usize = 64;
/// Bytes for the blocks of all files that are open, unless something else is said, and those that one should have.
const BUDGET: usize = 256 << 20;
const ENOUGH: usize = 8 << 20;
/// The longest text of a virtual raster: some 120,000 files.
const LONGEST: u64 = 1 << 26;
/// Virtual rasters of virtual rasters: one that names itself has no end.
const DEEPEST: usize = 3;

/// A part of a file, and the cells of the mosaic that it is.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    band: usize,
    /// Rows and columns of the file.
    shape: (usize, usize),
    /// Its first row and column in the file.
    from: (usize, usize),
    rows: Range<usize>,
    cols: Range<usize>,
    through: Through,
    /// The file has a mask.
    masked: bool,
}

/// Which cells of a part show what lies below.
#[derive(Debug, Clone, Copy, Default)]
struct Through {
    /// Those with this value.
    value: Option<Nodata>,
    /// NaN.
    nan: bool,
    /// Those that the file's mask hides.
    mask: bool,
}

/// Several GeoTIFFs as one raster.
///
/// ```
/// use halotile::grid::GridView;
/// use halotile::io::OutputFile;
/// use halotile::raster::geotiff::{CreationOptions, GeoTiffCells};
/// use halotile::raster::{Mosaic, Raster, Values};
/// let dir = tempfile::tempdir()?;
/// for (name, cells) in [("a.tif", [1, 2]), ("b.tif", [3, 4])] {
///     let mut out = OutputFile::create(&dir.path().join(name), false)?;
///     let mut file = GeoTiffCells::new(&mut out, name, 1, 2, None, &CreationOptions::default())?;
///     file.write(0, 0, GridView::new(&cells, 1, 2)?)?;
///     file.finish()?;
///     out.commit()?;
/// }
/// let source = |name, left| {
///     format!("<SimpleSource><SourceFilename relativeToVRT=\"1\">{name}</SourceFilename>\
///              <DstRect xOff=\"{left}\" yOff=\"0\" xSize=\"2\" ySize=\"1\"/></SimpleSource>")
/// };
/// let vrt = format!(
///     "<VRTDataset rasterXSize=\"4\" rasterYSize=\"1\"><VRTRasterBand dataType=\"Byte\" band=\"1\">{}{}</VRTRasterBand></VRTDataset>",
///     source("a.tif", 0),
///     source("b.tif", 2),
/// );
/// let path = dir.path().join("ab.vrt");
/// std::fs::write(&path, vrt)?;
/// assert_eq!(Mosaic::open_vrt(&path, 1)?.read(0..1, 1..3)?, Values::U8(vec![2, 3]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Mosaic {
    name: String,
    shape: (usize, usize),
    bands: usize,
    value_type: ValueType,
    nodata: Option<Nodata>,
    georeference: Option<Georeference>,
    items: Vec<(String, String)>,
    origins: Origins,
    /// From the lowest to the topmost.
    parts: Vec<Part>,
    block: (usize, usize),
    in_order: bool,
    /// Cells that the files' masks hide, and gaps, have no data.
    masked: bool,
    /// Gaps have no data: they may have a value that is some.
    hides: bool,
    /// Cells with a part's value for no data have none: of the mosaic there is no such value.
    hides_values: bool,
    /// Files, also those that its files are made of.
    files: Vec<PathBuf>,
    is_vrt: bool,
    /// Masks of files are of use at all.
    keeps_masks: bool,
    depth: usize,
    /// Bytes for the blocks of all files that are open, and how many may be.
    cache: Option<(usize, usize)>,
    open: Mutex<LruCache<usize, Arc<dyn Raster>>>,
}

impl fmt::Debug for Mosaic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, shape: (rows, cols), parts, value_type, .. } = self;
        write!(f, "Mosaic({name:?}, {rows} x {cols}, {value_type:?}, {} parts)", parts.len())
    }
}

impl Mosaic {
    /// Whether a file's name ends as those of virtual rasters do.
    pub fn is_vrt(path: &Path) -> bool {
        path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("vrt"))
    }

    /// A band, counted from 1, of a virtual raster of GDAL's (VRT) that lays GeoTIFFs side by side: simple and complex sources of whole cells, with their own
    /// values for no data, from parts of files to places in the raster, by names relative to the VRT or not; sources may be VRT too. Where there is no source
    /// there is the VRT's value for no data, or 0 where it has none.
    ///
    /// # Errors
    /// What is not such a file, computes its cells, or has sources that are not there, of another type, or smaller than said.
    pub fn open_vrt(path: &Path, band: usize) -> Result<Self, FormatError> {
        Self::vrt(path, band, 0)
    }

    /// One without parts.
    fn empty(name: String) -> Self {
        Self {
            name,
            shape: (1, 1),
            bands: 1,
            value_type: ValueType::U8,
            nodata: None,
            georeference: None,
            items: Vec::new(),
            origins: Origins::default(),
            parts: Vec::new(),
            block: (1, 1),
            in_order: false,
            masked: false,
            hides: false,
            hides_values: false,
            files: Vec::new(),
            is_vrt: false,
            keeps_masks: true,
            depth: 0,
            cache: None,
            open: Mutex::new(LruCache::new(NonZeroUsize::MIN)),
        }
    }

    /// Shares bytes among the files that are open: those that a window may see, or fewer.
    fn share(&mut self, bytes: usize) {
        // A window may lie across a seam, and see twice as many.
        let seen = (2 * self.side_by_side()).min(OPEN);
        let open = NonZeroUsize::new((bytes / ENOUGH).min(seen)).unwrap_or(NonZeroUsize::MIN);
        self.cache = Some((bytes, open.get()));
        *self.open.get_mut().unwrap_or_else(PoisonError::into_inner) = LruCache::new(open);
    }

    fn vrt(path: &Path, band: usize, depth: usize) -> Result<Self, FormatError> {
        let name = path.display().to_string();
        let at_file = |problem: Problem| problem.at(&name, Place::FILE);
        if depth > DEEPEST {
            let what = "virtual rasters lie within one another without end";
            return Err(at_file(Problem::new(what, "make it of GeoTIFFs, as with gdalbuildvrt")));
        }
        let text = text(path, &name)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let vrt = Vrt::parse(&text, band, folder).map_err(at_file)?;
        let mut mosaic = Self {
            shape: vrt.shape,
            bands: vrt.bands,
            value_type: vrt.value_type,
            nodata: vrt.nodata.map(|nodata| in_type(nodata, vrt.value_type)),
            items: vrt.items,
            origins: Origins { nodata: vrt.nodata.map(|_| "the VRT".to_owned()), ..Origins::default() },
            masked: vrt.masked,
            is_vrt: true,
            keeps_masks: vrt.masked || vrt.sources.iter().any(|source| source.by_mask),
            depth,
            ..Self::empty(name.clone())
        };
        let mut place = None;
        for source in vrt.sources {
            let (raster, files) = mosaic.raster(&source.path, source.band).map_err(|error| error.named_by(&name))?;
            mosaic.files.extend(files);
            let part = mosaic.part(source, raster.as_ref()).map_err(at_file)?;
            mosaic.see(raster.as_ref());
            place = place.or_else(|| raster.georeference().cloned());
            mosaic.parts.extend(part);
        }
        mosaic.hides = mosaic.masked;
        if mosaic.masked {
            mosaic.origins.mask = Some("masks of its files".to_owned());
        }
        mosaic.georeference = placed(place, vrt.srs.as_deref(), vrt.geotransform, &name);
        mosaic.origins.georeference = mosaic.georeference.as_ref().map(|_| "the VRT".to_owned());
        mosaic.share(BUDGET);
        Ok(mosaic)
    }

    /// The same without what its files say of cells without data: masks, and in a list of files the values by which those below show. Gaps of a list stay
    /// without data.
    #[must_use]
    pub fn without_masks(mut self) -> Self {
        (self.masked, self.origins.mask) = (false, None);
        if !self.is_vrt {
            self.hides_values = false;
            self.parts
                .iter_mut()
                .for_each(|part| part.through = Through { nan: part.through.nan, ..Through::default() });
        }
        self
    }

    /// The files that it is made of, also those of a VRT within it.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// How many bands there are.
    pub fn bands(&self) -> usize {
        self.bands
    }

    /// Where a source lies; none where it lies outside.
    fn part(&self, source: Source, raster: &dyn Raster) -> Result<Option<Part>, Problem> {
        let Source { path, band, from, to, transparent, by_mask } = source;
        let value = transparent.map(|nodata| in_type(nodata, self.value_type));
        let through = Through { value, nan: value == Some(Nodata::Nan), mask: by_mask };
        let shown = path.display();
        if raster.value_type() != self.value_type {
            let (ours, its) = (self.value_type.name(), raster.value_type().name());
            let what = format!("its numbers are {ours}, and those of {shown} are {its}");
            return Err(Problem::new(what, "make a file of it: gdal_translate FILE.vrt FILE.tif"));
        }
        let whole = [0, 0, raster.rows(), raster.cols()];
        let from = from.unwrap_or(whole);
        let to = to.unwrap_or([0, 0, self.shape.0, self.shape.1]);
        let end = |rect: Rect| (rect[0] + rect[2], rect[1] + rect[3]);
        if end(from).0 > whole[2] || end(from).1 > whole[3] {
            let what =
                format!("{shown} has {} rows and {} columns, and more of them are asked for", whole[2], whole[3]);
            return Err(Problem::new(what, "make the VRT again, as with gdalbuildvrt"));
        }
        if from[2..] != to[2..] {
            let what = format!(
                "{} x {} cells of {shown} become {} x {}: sizes of cells differ",
                from[2], from[3], to[2], to[3]
            );
            return Err(Problem::new(what, "make a file of it: gdal_translate FILE.vrt FILE.tif"));
        }
        // What lies beyond the raster is not seen.
        let (rows, cols) = (to[0]..end(to).0.min(self.shape.0), to[1]..end(to).1.min(self.shape.1));
        if rows.is_empty() || cols.is_empty() {
            return Ok(None);
        }
        let masked = raster.has_mask();
        let shape = (whole[2], whole[3]);
        Ok(Some(Part { path, band, shape, from: (from[0], from[1]), rows, cols, through, masked }))
    }

    /// Takes notice of how a file is stored.
    fn see(&mut self, raster: &dyn Raster) {
        let (rows, cols) = raster.block();
        self.block = (self.block.0.max(rows), self.block.1.max(cols));
        self.in_order |= raster.in_order();
    }

    /// Opens a file; also the files that it is or is made of.
    fn raster(&self, path: &Path, band: usize) -> Result<(Box<dyn Raster>, Vec<PathBuf>), FormatError> {
        let mut files = vec![path.to_owned()];
        if Self::is_vrt(path) {
            let mut mosaic = Self::vrt(path, band, self.depth + 1)?;
            if let Some((bytes, open)) = self.cache {
                mosaic.set_cache_bytes(bytes / open)?;
            }
            files.extend(mosaic.files.iter().cloned());
            return Ok((Box::new(if self.keeps_masks { mosaic } else { mosaic.without_masks() }), files));
        }
        let tiff = GeoTiff::open(path, band)?;
        let mut tiff = if self.keeps_masks { tiff } else { tiff.without_masks() };
        if let Some((bytes, open)) = self.cache {
            tiff.share_cache_bytes(bytes, open)?;
        }
        Ok((Box::new(tiff), files))
    }

    /// A part's file, opened now unless it is open.
    fn opened(&self, index: usize) -> Result<Arc<dyn Raster>, FormatError> {
        let open = || self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(raster) = open().get(&index) {
            return Ok(raster.clone());
        }
        let Part { path, band, shape, .. } = &self.parts[index];
        let raster: Arc<dyn Raster> = self.raster(path, *band)?.0.into();
        if raster.value_type() != self.value_type || (raster.rows(), raster.cols()) != *shape {
            let changed = Problem::new("the file was another one before", "let it be while it is read");
            return Err(changed.at(&path.display().to_string(), Place::FILE));
        }
        open().put(index, raster.clone());
        Ok(raster)
    }

    /// Files that may be open.
    fn most_open(&self) -> usize {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).cap().get()
    }

    /// The parts that have cells of a rectangle, from the lowest on, with those rows and columns.
    fn over(
        &self,
        rows: &Range<usize>,
        cols: &Range<usize>,
    ) -> impl Iterator<Item = (usize, Range<usize>, Range<usize>)> {
        let both = |a: &Range<usize>, b: &Range<usize>| a.start.max(b.start)..a.end.min(b.end);
        let (rows, cols) = (rows.clone(), cols.clone());
        self.parts.iter().enumerate().filter_map(move |(index, part)| {
            let (rows, cols) = (both(&part.rows, &rows), both(&part.cols, &cols));
            (!rows.is_empty() && !cols.is_empty()).then_some((index, rows, cols))
        })
    }

    /// The most files that a row of the mosaic goes through.
    fn side_by_side(&self) -> usize {
        let mut ends: Vec<(usize, i64)> =
            self.parts.iter().flat_map(|part| [(part.rows.start, 1), (part.rows.end, -1)]).collect();
        ends.sort_unstable();
        let depths = ends.iter().scan(0i64, |depth, &(_, change)| {
            *depth += change;
            Some(*depth)
        });
        depths.max().unwrap_or(0).max(1) as usize
    }
}

impl Part {
    /// Rows and columns of the file that are these of the mosaic.
    fn inside(&self, rows: &Range<usize>, cols: &Range<usize>) -> (Range<usize>, Range<usize>) {
        let along =
            |range: &Range<usize>, first: usize, from: usize| range.start - first + from..range.end - first + from;
        (along(rows, self.rows.start, self.from.0), along(cols, self.cols.start, self.from.1))
    }
}

/// The place that a virtual raster says, with the words that its files have for the coordinate reference system.
fn placed(
    files: Option<Georeference>,
    srs: Option<&str>,
    geotransform: Option<[f64; 6]>,
    name: &str,
) -> Option<Georeference> {
    let mut place = Georeference { rpc: None, ..files.unwrap_or_default() };
    match srs.map(sidecar::epsg) {
        Some(Some((_, code))) if place.epsg() == Some(code) => {}
        Some(Some((kind, code))) => place.set_epsg(kind, code),
        Some(None) if place.key_directory.is_none() => {
            tracing::warn!("{name}: its coordinate reference system has no code of the EPSG registry, and is not kept");
        }
        // The files' own words, which `gdalbuildvrt` has taken over.
        Some(None) | None => {}
    }
    match geotransform {
        Some(transformation) => place.set_geotransform(transformation),
        None => (place.pixel_scale, place.tiepoints, place.transformation) = (None, None, None),
    }
    (!place.is_empty()).then_some(place)
}

fn text(path: &Path, name: &str) -> Result<String, FormatError> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let read = crate::io::open(path)?.take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|e| FormatError::from_io(name, "reading failed", e, "check the disk and the file"))?;
    if bytes.len() as u64 > LONGEST {
        let what = format!("the VRT is longer than {} MiB", LONGEST >> 20);
        return Err(Problem::new(what, "make it of fewer files").at(name, Place::FILE));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A value for no data as numbers of the type have it.
fn in_type(nodata: Nodata, of: ValueType) -> Nodata {
    if of == ValueType::F32 { nodata.as_f32() } else { nodata }
}

/// Numbers of a type, all of them the value for no data; without one 0, or NaN where `nan`.
fn filled(of: ValueType, count: usize, nodata: Option<Nodata>, nan: bool) -> Values {
    let real = || match nodata {
        Some(nodata) => nodata.to_f64(),
        None if nan => f64::NAN,
        None => 0.0,
    };
    macro_rules! whole {
        ($($variant:ident)*) => {
            match of {
                $(ValueType::$variant => {
                    Values::$variant(vec![nodata.and_then(Cell::nodata).unwrap_or_default(); count])
                })*
                ValueType::F32 => Values::F32(vec![real() as f32; count]),
                ValueType::F64 => Values::F64(vec![real(); count]),
            }
        };
    }
    whole!(U8 I8 U16 I16 U32 I32 U64 I64)
}

/// Where a part of a rectangle lies in it: the first row and column, and the columns of the rectangle and of the part.
#[derive(Clone, Copy)]
struct Spot {
    top: usize,
    left: usize,
    width: usize,
    part: usize,
}

impl Spot {
    /// Lays cells over others, but for those that let them show.
    fn lay<T: Copy>(self, over: &mut [T], cells: &[T], shows_below: Option<&[bool]>) {
        for (i, row) in cells.chunks(self.part).enumerate() {
            let below = &mut over[(self.top + i) * self.width + self.left..][..row.len()];
            let Some(shows_below) = shows_below else {
                below.copy_from_slice(row);
                continue;
            };
            for ((below, &cell), &shows) in below.iter_mut().zip(row).zip(&shows_below[i * self.part..]) {
                if !shows {
                    *below = cell;
                }
            }
        }
    }
}

impl Through {
    /// Marks cells that have the value, or are NaN.
    fn mark(self, cells: &Values, marked: &mut [bool]) {
        fn of<T: Cell>(through: Through, cells: &[T], marked: &mut [bool]) {
            let value = through.value.and_then(T::nodata);
            for (marked, &cell) in marked.iter_mut().zip(cells) {
                *marked |= value == Some(cell) || through.nan && cell.is_nan();
            }
        }
        if self.value.is_some() || self.nan {
            each!(cells, cells => of(self, cells, marked));
        }
    }

    /// Whether any cell may.
    fn any(self) -> bool {
        self.value.is_some() || self.nan || self.mask
    }
}

impl Raster for Mosaic {
    fn name(&self) -> &str {
        &self.name
    }

    fn rows(&self) -> usize {
        self.shape.0
    }

    fn cols(&self) -> usize {
        self.shape.1
    }

    fn value_type(&self) -> ValueType {
        self.value_type
    }

    fn block(&self) -> (usize, usize) {
        (self.block.0.min(self.shape.0), self.block.1.min(self.shape.1))
    }

    fn in_order(&self) -> bool {
        self.in_order
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

    fn origins(&self) -> Origins {
        self.origins.clone()
    }

    fn has_mask(&self) -> bool {
        self.hides || self.hides_values || self.masked && self.parts.iter().any(|part| part.masked)
    }

    fn set_cache_bytes(&mut self, bytes: usize) -> Result<(), FormatError> {
        self.share(bytes);
        (self.block, self.in_order) = ((1, 1), false);
        for index in 0..self.parts.len() {
            let Part { path, band, .. } = &self.parts[index];
            let (raster, _) = self.raster(path, *band)?;
            self.see(raster.as_ref());
        }
        Ok(())
    }

    fn read(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Values, FormatError> {
        assert!(rows.start < rows.end && rows.end <= self.shape.0, "rows {rows:?} of {}", self.shape.0);
        assert!(cols.start < cols.end && cols.end <= self.shape.1, "columns {cols:?} of {}", self.shape.1);
        let mut values = filled(self.value_type, rows.len() * cols.len(), self.nodata, !self.is_vrt);
        let seen: Vec<_> = self.over(&rows, &cols).collect();
        let read = |(index, rows, cols): &(usize, Range<usize>, Range<usize>)| {
            let part = &self.parts[*index];
            let (rows, cols) = part.inside(rows, cols);
            let file = self.opened(*index)?;
            let cells = file.read(rows.clone(), cols.clone())?;
            let shows_below = part.through.any().then(|| {
                let own = if part.through.mask { file.masked(rows, cols)? } else { None };
                let mut marked = own.unwrap_or_else(|| vec![false; cells.len()]);
                part.through.mark(&cells, &mut marked);
                Ok::<_, FormatError>(marked)
            });
            Ok((cells, shows_below.transpose()?))
        };
        let mut lay = |(_, own_rows, own_cols): &(usize, Range<usize>, Range<usize>),
                       (cells, shows_below): (Values, Option<Vec<bool>>)| {
            let (top, left) = (own_rows.start - rows.start, own_cols.start - cols.start);
            let spot = Spot { top, left, width: cols.len(), part: own_cols.len() };
            macro_rules! lay {
                ($($variant:ident)*) => {
                    match (&mut values, &cells) {
                        $((Values::$variant(values), Values::$variant(cells)) => spot.lay(values, cells, shows_below.as_deref()),)*
                        // Types are compared when a file is opened.
                        _ => {}
                    }
                };
            }
            lay!(U8 I8 U16 I16 U32 I32 U64 I64 F32 F64);
        };
        // A file may have fewer blocks here than there are threads. Where there is little memory for open files they are read one after the other.
        if seen.len() > 1 && seen.len() <= self.most_open() {
            let all = seen.par_iter().map(read).collect::<Result<Vec<_>, FormatError>>()?;
            seen.iter().zip(all).for_each(|(part, cells)| lay(part, cells));
        } else {
            seen.iter().try_for_each(|part| read(part).map(|cells| lay(part, cells)))?;
        }
        Ok(values)
    }

    fn masked(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Option<Vec<bool>>, FormatError> {
        if !self.has_mask() {
            return Ok(None);
        }
        // Where there is no file there is no cell that would have data, and where files overlap it is enough that one has.
        let mut masked = vec![true; rows.len() * cols.len()];
        for (index, own_rows, own_cols) in self.over(&rows, &cols) {
            let part = &self.parts[index];
            let (file_rows, file_cols) = part.inside(&own_rows, &own_cols);
            let mut hidden = vec![false; own_rows.len() * own_cols.len()];
            if part.masked && self.masked || self.hides_values && part.through.any() {
                let file = self.opened(index)?;
                if let Some(own) = file.masked(file_rows.clone(), file_cols.clone())?.filter(|_| self.masked) {
                    hidden = own;
                }
                if self.hides_values {
                    part.through.mark(&file.read(file_rows, file_cols)?, &mut hidden);
                }
            }
            let (top, left) = (own_rows.start - rows.start, own_cols.start - cols.start);
            let spot = Spot { top, left, width: cols.len(), part: own_cols.len() };
            spot.lay(&mut masked, &vec![false; hidden.len()], Some(&hidden));
        }
        Ok(Some(masked))
    }
}

#[cfg(test)]
mod tests;
