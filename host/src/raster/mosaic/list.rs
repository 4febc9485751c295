//! A mosaic of files that say themselves where they lie.
//!
//! Their cells have to be those of one grid: the same coordinate reference system, the same size, and corners a whole number of cells apart. The mosaic reaches
//! from the outermost corner to the opposite one. Gaps are masked. Where all files have one value for no data, the mosaic has it too; otherwise cells that have their
//! file's are masked as well.

use std::path::{Path, PathBuf};

use super::{BUDGET, Mosaic, Part, Through, in_type};
use crate::io::{FormatError, Nodata, Place, Problem};
use crate::raster::Georeference;
use crate::raster::geotiff::GeoTiff;
use crate::raster::mask::{at, in_cells};

/// Corners may be so far from those of cells, in cells: programs write coordinates with a few digits.
const TOLERANCE: f64 = 0.01;
/// Overlaps are looked for among so many files; among more there may be gaps.
const COMPARED: usize = 1 << 11;

/// A file, where its first cell lies in cells of the first file, and its shape.
struct Placed {
    path: PathBuf,
    nodata: Option<Nodata>,
    masked: bool,
    top: i64,
    left: i64,
    rows: usize,
    cols: usize,
}

impl Mosaic {
    /// A band, counted from 1, of files of one grid, each of which says where it lies. Where they overlap the last one is seen, but for its cells without
    /// data.
    ///
    /// # Errors
    /// No file, and files that do not open, have no such band, say no place, or differ in the type of numbers, the coordinate reference system, the size of
    /// cells, or where these begin: the error says which, and in what.
    pub fn of_files(paths: &[PathBuf], band: usize) -> Result<Self, FormatError> {
        let Some(first) = paths.first() else {
            return Err(Problem::new("there is no file to make a mosaic of", "name some").at("mosaic", Place::FILE));
        };
        let name = match paths.len() - 1 {
            0 => first.display().to_string(),
            more => format!("{} and {more} more", first.display()),
        };
        let mut mosaic = Self::empty(name);
        (mosaic.masked, mosaic.bands) = (true, bands(first, band)?);
        let mut files = Vec::new();
        let mut whole: Option<(Georeference, [f64; 6])> = None;
        for path in paths {
            let (raster, made_of) = mosaic.raster(path, band)?;
            mosaic.files.extend(made_of);
            let shown = path.display().to_string();
            let differs = |what: String, advice: &str| Problem::new(what, advice).at(&shown, Place::FILE);
            let place = raster.georeference().cloned().unwrap_or_default();
            let Some(transformation) = place.geotransform() else {
                let what = "the file does not say where it lies, so that it has no place in a mosaic".to_owned();
                return Err(differs(what, "give it one, as with gdal_edit.py -a_ullr"));
            };
            let (ours, origin) = whole.get_or_insert_with(|| {
                mosaic.value_type = raster.value_type();
                (place.clone(), transformation)
            });
            if raster.value_type() != mosaic.value_type {
                let (its, ours) = (raster.value_type().name(), mosaic.value_type.name());
                let what = format!("its numbers are {its}, and those of {} are {ours}", first.display());
                return Err(differs(what, "convert it, as with gdal_translate -ot"));
            }
            if let Some((its, ours)) = other_system(&place, ours) {
                let what =
                    format!("its coordinate reference system is {its}, and that of {} is {ours}", first.display());
                return Err(differs(what, "project it, as with gdalwarp -t_srs"));
            }
            let (rows, cols) = (raster.rows(), raster.cols());
            let place_of = |corner| {
                let (here, there) = (at(transformation, corner), at(*origin, (0.0, 0.0)));
                in_cells(*origin, (here.0 - there.0, here.1 - there.1))
            };
            let (left, top) = place_of((0.0, 0.0));
            let (right, bottom) = place_of((cols as f64, rows as f64));
            let near = |number: f64, whole: f64| (number - whole).abs() <= TOLERANCE;
            if !(near(right - left, cols as f64) && near(bottom - top, rows as f64)) {
                let size = |t: [f64; 6]| match (t[2], t[4]) {
                    (0.0, 0.0) => format!("{} x {}", t[1], t[5]),
                    _ => format!("({}, {}) x ({}, {})", t[1], t[4], t[2], t[5]),
                };
                let what = format!(
                    "its cells are {}, and those of {} {}",
                    size(transformation),
                    first.display(),
                    size(*origin)
                );
                return Err(differs(what, "resample it, as with gdalwarp -tr"));
            }
            if !(near(left, left.round()) && near(top, top.round())) || left.abs() > 1e12 || top.abs() > 1e12 {
                // Adding 0 takes the sign from −0.
                let (left, top) = (left + 0.0, top + 0.0);
                let what = format!("it begins {left} columns and {top} rows from {}, no whole number", first.display());
                return Err(differs(what, "bring it to the same grid, as with gdalwarp -tap"));
            }
            mosaic.see(raster.as_ref());
            let masked = raster.has_mask();
            let (top, left) = (top.round() as i64, left.round() as i64);
            files.push(Placed { path: path.clone(), nodata: raster.nodata(), masked, top, left, rows, cols });
        }
        let least = |of: fn(&Placed) -> i64| files.iter().map(of).min().unwrap_or(0);
        let most = |of: fn(&Placed) -> i64| files.iter().map(of).max().unwrap_or(0);
        let (top, left) = (least(|file| file.top), least(|file| file.left));
        let (bottom, right) = (most(|file| file.top + file.rows as i64), most(|file| file.left + file.cols as i64));
        let longest = i64::from(i32::MAX);
        if bottom - top > longest || right - left > longest {
            let what = format!("the files lie {} rows and {} columns apart", bottom - top, right - left);
            return Err(Problem::new(what, "make mosaics of neighbours").at(&mosaic.name, Place::FILE));
        }
        mosaic.shape = ((bottom - top) as usize, (right - left) as usize);
        let common = files.first().and_then(|file| file.nodata);
        let value_type = mosaic.value_type;
        let is_common = |nodata: &Nodata| value_type.can_be(*nodata) && files.iter().all(|file| file.nodata == common);
        let common = common.filter(is_common);
        mosaic.nodata = common.map(|nodata| in_type(nodata, value_type));
        mosaic.hides = has_gaps(&files, mosaic.shape);
        mosaic.hides_values = common.is_none() && files.iter().any(|file| file.nodata.is_some());
        mosaic.origins.nodata = common.map(|_| "its files".to_owned());
        mosaic.parts.extend(files.into_iter().map(|file| {
            let Placed { path, nodata, masked, rows, cols, .. } = file;
            let (row, col) = ((file.top - top) as usize, (file.left - left) as usize);
            let value = nodata.map(|nodata| in_type(nodata, value_type));
            // NaN is always no data.
            let through = Through { value, nan: value_type.is_real(), mask: masked };
            let shape = (rows, cols);
            Part { path, band, shape, from: (0, 0), rows: row..row + rows, cols: col..col + cols, through, masked }
        }));
        if mosaic.parts.iter().any(|part| part.masked) {
            mosaic.origins.mask = Some("masks of its files".to_owned());
        }
        if let Some((mut place, origin)) = whole {
            let (x, y) = at(origin, (left as f64, top as f64));
            place.set_geotransform([x, origin[1], origin[2], y, origin[4], origin[5]]);
            mosaic.georeference = Some(Georeference { rpc: None, ..place });
            mosaic.origins.georeference = Some("its files".to_owned());
        }
        mosaic.share(BUDGET);
        Ok(mosaic)
    }
}

/// How many bands a file has.
fn bands(path: &Path, band: usize) -> Result<usize, FormatError> {
    if Mosaic::is_vrt(path) {
        Ok(Mosaic::open_vrt(path, band)?.bands())
    } else {
        Ok(GeoTiff::open(path, band)?.bands())
    }
}

/// What two coordinate reference systems are called, where they are not the same.
fn other_system(its: &Georeference, ours: &Georeference) -> Option<(String, String)> {
    let words = |place: &Georeference| (place.key_directory.clone(), place.key_doubles.clone(), place.key_text.clone());
    let same = match (its.epsg(), ours.epsg()) {
        (Some(its), Some(ours)) => its == ours,
        _ => words(its) == words(ours),
    };
    let of = |place: &Georeference| match place.epsg() {
        Some(code) => format!("EPSG:{code}"),
        None if place.key_directory.is_none() => "none".to_owned(),
        None => "one without a code".to_owned(),
    };
    (!same).then(|| (of(its), of(ours)))
}

/// Whether cells of the mosaic may be in no file.
fn has_gaps(files: &[Placed], (rows, cols): (usize, usize)) -> bool {
    let cells: u128 = files.iter().map(|file| file.rows as u128 * file.cols as u128).sum();
    let apart = |a: &Placed, b: &Placed| {
        let along = |a: i64, length: usize, b: i64, other: usize| a + length as i64 <= b || b + other as i64 <= a;
        along(a.top, a.rows, b.top, b.rows) || along(a.left, a.cols, b.left, b.cols)
    };
    let overlap = || files.iter().enumerate().any(|(i, a)| files[..i].iter().any(|b| !apart(a, b)));
    cells != rows as u128 * cols as u128 || files.len() > COMPARED || overlap()
}
