//! What is read: a raster piece by piece, or samples, each a grid in memory that is seen as a raster; a mask; the window's shape.

use std::path::Path;

use anyhow::{Context, bail};
use halotile::io::{self, FormatError, InputFormat, Nodata, ReadOptions, Sample};
use halotile::measure::Footprint;
use halotile::raster::geotiff::GeoTiff;
use halotile::raster::{GridRaster, Raster, StoredRaster};

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
    /// The nodata value is not the file's, but one chosen in reading that no other cell has.
    pub provisional: bool,
    /// All of it is in memory, and its values were compared with `--levels`.
    pub in_memory: bool,
}

/// Where rasters come from.
pub enum Input<'c> {
    /// One that is read piece by piece.
    Raster(Option<Box<dyn Raster>>),
    /// Grids, one after the other.
    Samples { name: String, samples: Box<dyn Iterator<Item = Result<Sample, FormatError>> + 'c> },
}

/// Opens the input; what it is called, its format, and what comes out of it.
pub fn open<'c>(
    args: &EntropyArgs,
    format: Option<InputFormat>,
    console: &'c Console,
) -> anyhow::Result<(String, InputFormat, Input<'c>)> {
    if let Some(format) = format
        && let Some(raster) = by_pieces(&args.input, format, args.band, args.masks_count(), console)?
    {
        return Ok((raster.name().to_owned(), format, Input::Raster(Some(raster))));
    }
    let source = Source::open(&args.input, format)?;
    let (name, format) = (source.name.clone(), source.format);
    let options = ReadOptions { nodata: args.nodata_or(None), levels: args.levels };
    let samples = source.samples(options, console);
    Ok((name.clone(), format, Input::Samples { name, samples }))
}

/// A file that can be read piece by piece, as pipes cannot. `masks`: those of the file count.
fn by_pieces(
    path: &Path,
    format: InputFormat,
    band: Option<usize>,
    masks: bool,
    console: &Console,
) -> Result<Option<Box<dyn Raster>>, FormatError> {
    Ok(match format {
        InputFormat::GeoTiff => {
            let mut tiff = GeoTiff::open(path, band.unwrap_or(1))?;
            let choices = tiff.bands() - usize::from(tiff.has_alpha());
            if band.is_none() && choices > 1 {
                let (name, bands) = (tiff.name(), tiff.bands());
                console.note(&format!("{name}: band 1 of {bands} is taken; --band chooses another"));
            }
            if !masks {
                tiff = tiff.without_masks();
            }
            Some(Box::new(tiff))
        }
        InputFormat::Npy => StoredRaster::npy(path)?.map(|raster| -> Box<dyn Raster> { Box::new(raster) }),
        _ => None,
    })
}

impl Input<'_> {
    /// The next raster.
    pub fn next(&mut self, args: &EntropyArgs) -> anyhow::Result<Option<InputRaster>> {
        match self {
            Self::Raster(raster) => Ok(raster.take().map(|raster| {
                let nodata = args.nodata_or(raster.nodata());
                // A value that no number can have takes no code.
                let nodata = nodata.filter(|&nodata| raster.value_type().can_be(nodata));
                InputRaster { raster, nodata, provisional: false, in_memory: false }
            })),
            Self::Samples { name, samples } => {
                let Some(Sample { cells, nodata }) = samples.next().transpose()? else { return Ok(None) };
                let raster = GridRaster::new(name.clone(), cells, nodata);
                let provisional = raster.nodata().is_some() && raster.nodata() != args.nodata_or(None);
                let nodata = raster.nodata();
                Ok(Some(InputRaster { raster: Box::new(raster), nodata, provisional, in_memory: true }))
            }
        }
    }
}

/// The mask, if there is one.
pub fn mask(args: &EntropyArgs, console: &Console) -> anyhow::Result<Option<Box<dyn Raster>>> {
    let Some(path) = &args.mask else { return Ok(None) };
    let name = path.display().to_string();
    let format = InputFormat::detect(path)?;
    if let Some(raster) = by_pieces(path, format, None, true, console)? {
        return Ok(Some(raster));
    }
    let mut samples = io::read(format, io::open(path)?, &name, &ReadOptions::default())?;
    match (samples.pop(), samples.pop()) {
        (Some(Sample { cells, .. }), None) => Ok(Some(Box::new(GridRaster::new(name, cells, None)))),
        _ => bail!("{name}: a mask is one grid, and the file holds several; give one of them"),
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
