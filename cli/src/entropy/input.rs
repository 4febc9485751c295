//! What is read: rasters, one after the other, whatever the format and wherever they come from; a mask; the window's shape.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use halotile::io::{self, FormatError, InputFormat, Nodata};
use halotile::measure::Footprint;
use halotile::raster::geotiff::GeoTiff;
use halotile::raster::{Mosaic, Raster, Rasters};

use crate::args::{EntropyArgs, ShapeArg};
use crate::console::Console;
use crate::outcome::Usage;
use crate::source::Source;

/// The longest file of a window: 4,095 lines of 4,095 numbers, with room for blanks and comments.
const LONGEST_WINDOW: u64 = 1 << 26;

/// A raster and the value that is no data in it.
pub struct InputRaster {
    pub raster: Box<dyn Raster>,
    pub nodata: Option<Nodata>,
}

/// Where rasters come from.
pub struct Input<'c> {
    /// The files that a mosaic is made of.
    pub files: Vec<PathBuf>,
    /// The first, where what is wrong with it is known before it is read.
    pub first: Option<Box<dyn Raster>>,
    others: Option<Rasters<'c>>,
}

/// Opens the input; what it is called, its format, and what comes out of it.
pub fn open<'c>(
    args: &EntropyArgs,
    format: Option<InputFormat>,
    console: &'c Console,
) -> anyhow::Result<(String, InputFormat, Input<'c>)> {
    let path = args.input.as_path();
    if format == Some(InputFormat::GeoTiff) {
        let (first, files) = geotiff(path, &args.output.more, (args.band, args.masks_count()), console)?;
        let name = first.name().to_owned();
        return Ok((name, InputFormat::GeoTiff, Input { files, first: Some(first), others: None }));
    }
    let by_position = match format {
        Some(format) => {
            Rasters::open(path, format, console)?.map(|rasters| (path.display().to_string(), format, rasters))
        }
        None => None,
    };
    let has_positions = by_position.is_some();
    let (name, format, mut rasters) = match by_position {
        Some(found) => found,
        None => {
            let source = Source::open(path, format)?;
            (source.name.clone(), source.format, source.rasters(console))
        }
    };
    // Its header is checked before anything is done; a pipe is not read before it has to be.
    let early = format == InputFormat::Npy && has_positions;
    let first = if early { rasters.next().transpose()? } else { None };
    let first = first.map(|raster| -> Box<dyn Raster> { Box::new(raster) });
    Ok((name, format, Input { files: Vec::new(), first, others: Some(rasters) }))
}

/// A GeoTIFF, a VRT of such, or several of either, and the files that a mosaic is made of; `masks`: those of the files count.
fn geotiff(
    path: &Path,
    more: &[PathBuf],
    (band, masks): (Option<usize>, bool),
    console: &Console,
) -> Result<(Box<dyn Raster>, Vec<PathBuf>), FormatError> {
    let note = |raster: &dyn Raster, bands: usize, choices: usize| {
        if band.is_none() && choices > 1 {
            let name = raster.name();
            console.note(&format!("{name}: band 1 of {bands} is taken; --band chooses another"));
        }
    };
    let chosen = band.unwrap_or(1);
    if more.is_empty() && !Mosaic::is_vrt(path) {
        let tiff = GeoTiff::open(path, chosen)?;
        note(&tiff, tiff.bands(), tiff.bands() - usize::from(tiff.has_alpha()));
        return Ok((Box::new(if masks { tiff } else { tiff.without_masks() }), Vec::new()));
    }
    let mosaic = if more.is_empty() {
        Mosaic::open_vrt(path, chosen)?
    } else {
        let paths: Vec<PathBuf> = [path.to_owned()].into_iter().chain(more.iter().cloned()).collect();
        Mosaic::of_files(&paths, chosen)?
    };
    note(&mosaic, mosaic.bands(), mosaic.bands());
    let files = mosaic.files().to_vec();
    Ok((Box::new(if masks { mosaic } else { mosaic.without_masks() }), files))
}

impl Input<'_> {
    /// The next raster.
    pub fn next(&mut self, args: &EntropyArgs) -> anyhow::Result<Option<InputRaster>> {
        let raster = match (self.first.take(), &mut self.others) {
            (Some(first), _) => first,
            (None, Some(others)) => match others.next().transpose()? {
                Some(raster) => Box::new(raster),
                None => return Ok(None),
            },
            (None, None) => return Ok(None),
        };
        // A value that no number can have takes no code.
        let nodata = args.nodata_or(raster.nodata()).filter(|&nodata| raster.value_type().can_be(nodata));
        Ok(Some(InputRaster { raster, nodata }))
    }
}

/// The mask, if there is one; files that it is made of are added to `files`.
pub fn mask(
    args: &EntropyArgs,
    files: &mut Vec<PathBuf>,
    console: &Console,
) -> anyhow::Result<Option<Box<dyn Raster>>> {
    let Some(path) = &args.mask else { return Ok(None) };
    let format = InputFormat::detect(path)?;
    if format == InputFormat::GeoTiff {
        let (mask, made_of) = geotiff(path, &[], (None, true), console)?;
        files.extend(made_of);
        return Ok(Some(mask));
    }
    let mut rasters = match Rasters::open(path, format, console)? {
        Some(rasters) => rasters,
        None => Source::open(path, Some(format))?.rasters(console),
    };
    match (rasters.next().transpose()?, rasters.next().transpose()?) {
        (Some(mask), None) => Ok(Some(Box::new(mask))),
        _ => bail!("{}: a mask is one grid, and the file holds several; give one of them", path.display()),
    }
}

/// The window.
pub fn window(args: &EntropyArgs) -> anyhow::Result<Footprint> {
    match &args.shape {
        ShapeArg::Square => Ok(Footprint::square(args.side())?),
        ShapeArg::Disk => Ok(Footprint::disk(args.side())?),
        ShapeArg::File(path) => {
            let name = path.display().to_string();
            if let Some(shape) = no_shape(path) {
                return Err(shape.into());
            }
            let text = text(path, &name)?;
            Footprint::parse(&text).with_context(|| name)
        }
    }
}

/// The error for what is neither a shape nor a file, and not meant as a file either: it has no ending and no folder.
fn no_shape(path: &Path) -> Option<Usage> {
    let name =
        path.to_str().filter(|_| path.extension().is_none() && path.components().count() == 1 && !path.exists())?;
    let near = match name.to_ascii_lowercase().as_str() {
        "circle" | "circular" | "round" | "disc" | "ball" => Some("disk"),
        "box" | "rect" | "rectangle" | "quadrat" => Some("square"),
        other => ["disk", "square"].into_iter().find(|shape| strsim::jaro(shape, other) > 0.7),
    };
    let meant = near.map(|shape| format!(" (did you mean {shape}?)")).unwrap_or_default();
    Some(Usage(format!(
        "--shape {name}: no shape and no file has this name; give square, disk or a text file of 0 and 1{meant}"
    )))
}

fn text(path: &Path, name: &str) -> anyhow::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    let read = io::open(path)?.take(LONGEST_WINDOW).read_to_string(&mut text);
    read.with_context(|| format!("{name}: the window's shape cannot be read; give a text of 0 and 1, a line a row"))?;
    Ok(text)
}
