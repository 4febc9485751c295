//! `cargo xtask raster-test`'s hand in the library: it reads rasters and writes results for `tests/python/raster_files.py`, which
//! knows from rasterio (GDAL) what they must be.
//!
//! Rasters are read in windows that fit no block; results are written from NPY files, two blocks down and three across at a time.

use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use halotile::grid::GridView;
use halotile::io::{InputFormat, Nodata, Number, OutputFile};
use halotile::numbers::ValueType;
use halotile::raster::geotiff::{CreationOptions, Description, GeoTiff, GeoTiffSink};
use halotile::raster::{Raster, Rasters, ResultSink, StoredRaster, Values};
use serde_json::json;

/// Reads and writes rasters through the library.
#[derive(Parser)]
enum Command {
    /// Print what a band is, as JSON, and write its numbers, lowest byte first
    Read {
        input: PathBuf,
        /// The band, from 1
        band: usize,
        /// Gets the numbers
        numbers: PathBuf,
        /// Only these cells, as rows and columns FIRST END FIRST END
        #[arg(long, num_args = 4)]
        window: Option<Vec<usize>>,
    },
    /// Write results to a GeoTIFF
    Write {
        output: PathBuf,
        /// A file with one measure's results, f32 or f64, and the band's description
        #[arg(long = "band", num_args = 2, value_names = ["NPY", "DESCRIPTION"], required = true)]
        bands: Vec<String>,
        /// The GeoTIFF that lies where the results lie
        #[arg(long)]
        like: Option<PathBuf>,
        #[arg(long)]
        co: Vec<String>,
    },
}

fn main() -> Result<()> {
    match Command::parse() {
        Command::Read { input, band, numbers, window } => read(&input, band, &numbers, window.as_deref()),
        Command::Write { output, bands, like, co } => {
            let (files, descriptions): (Vec<&Path>, Vec<&str>) =
                bands.chunks_exact(2).map(|band| (Path::new(&band[0]), band[1].as_str())).unzip();
            let rasters = files.iter().map(|file| npy(file)).collect::<Result<Vec<_>>>()?;
            let like = like.map(|path| GeoTiff::open(&path, 1)).transpose()?;
            let job = Job { output: &output, rasters: &rasters, descriptions: &descriptions, like: like.as_ref() };
            let options = CreationOptions::parse(&co)?;
            match rasters[0].value_type() {
                ValueType::F32 => write(&job, &options, |values| match values {
                    Values::F32(values) => Ok(values),
                    _ => bail!("the bands are of several types"),
                }),
                ValueType::F64 => write(&job, &options, |values| match values {
                    Values::F64(values) => Ok(values),
                    _ => bail!("the bands are of several types"),
                }),
                other => bail!("{other:?} are no results"),
            }
        }
    }
}

fn npy(path: &Path) -> Result<StoredRaster> {
    let rasters = Rasters::open(path, InputFormat::Npy, &())?;
    let raster = rasters.with_context(|| format!("{}: it has no windows", path.display()))?.next();
    Ok(raster.context("NPY is one raster")??)
}

fn read(input: &Path, band: usize, numbers: &Path, window: Option<&[usize]>) -> Result<()> {
    let mut tiff = GeoTiff::open(input, band)?;
    let (block_rows, block_cols) = tiff.block();
    // A few blocks of the smaller files, none of the larger ones.
    tiff.set_cache_bytes(100_000)?;
    let (rows, cols) = match window {
        Some(&[top, bottom, left, right]) => (top..bottom, left..right),
        _ => (0..tiff.rows(), 0..tiff.cols()),
    };
    ensure!(rows.end <= tiff.rows() && cols.end <= tiff.cols(), "the window is not inside");
    let size = tiff.value_type().bytes();
    let mut all = vec![0; rows.len() * cols.len() * size];
    for part in pieces(&rows, 97) {
        for across in pieces(&cols, 131) {
            let bytes = bytes(&tiff.read(part.clone(), across.clone())?);
            for (row, line) in part.clone().zip(bytes.chunks_exact(across.len() * size)) {
                let at = ((row - rows.start) * cols.len() + across.start - cols.start) * size;
                all[at..at + line.len()].copy_from_slice(line);
            }
        }
    }
    std::fs::write(numbers, all).with_context(|| format!("cannot write {}", numbers.display()))?;
    let nodata = tiff.nodata().map(|nodata| match nodata {
        Nodata::Whole(v) => v.to_string(),
        Nodata::Fraction(v) => format!("{v:e}"),
        Nodata::Nan => "nan".to_owned(),
    });
    let place = tiff.georeference().map(|g| {
        json!({
            "pixel_scale": g.pixel_scale, "tiepoints": g.tiepoints, "transformation": g.transformation,
            "key_directory": g.key_directory, "key_doubles": g.key_doubles, "key_text": g.key_text,
        })
    });
    let info = json!({
        "rows": tiff.rows(), "cols": tiff.cols(), "bands": tiff.bands(), "type": tiff.value_type().name(),
        "block": [block_rows, block_cols], "nodata": nodata, "place": place,
    });
    writeln!(std::io::stdout(), "{info}")?;
    Ok(())
}

/// `range` in pieces of `length`.
fn pieces(range: &Range<usize>, length: usize) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = range.end;
    range.clone().step_by(length).map(move |first| first..end.min(first + length))
}

fn bytes(values: &Values) -> Vec<u8> {
    macro_rules! of {
        ($v:expr) => {
            $v.iter().flat_map(|v| v.to_le_bytes()).collect()
        };
    }
    match values {
        Values::U8(v) => v.clone(),
        Values::I8(v) => of!(v),
        Values::U16(v) => of!(v),
        Values::I16(v) => of!(v),
        Values::U32(v) => of!(v),
        Values::I32(v) => of!(v),
        Values::U64(v) => of!(v),
        Values::I64(v) => of!(v),
        Values::F32(v) => of!(v),
        Values::F64(v) => of!(v),
    }
}

/// What is to be written where.
struct Job<'a> {
    output: &'a Path,
    rasters: &'a [StoredRaster],
    descriptions: &'a [&'a str],
    like: Option<&'a GeoTiff>,
}

fn write<T: Number>(job: &Job<'_>, options: &CreationOptions, typed: fn(Values) -> Result<Vec<T>>) -> Result<()> {
    let (rows, cols) = (job.rasters[0].rows(), job.rasters[0].cols());
    let mut file = OutputFile::create(job.output, true)?;
    let name = job.output.display().to_string();
    let place = job.like.and_then(|like| like.georeference());
    let mut sink =
        GeoTiffSink::<T, _>::new(&mut file, &name, (rows, cols), &Description::of(job.descriptions), place, options)?;
    let (height, width) = ResultSink::<T>::block(&sink);
    for down in pieces(&(0..rows), 2 * height) {
        for across in pieces(&(0..cols), 3 * width) {
            let planes = job.rasters.iter().map(|raster| typed(raster.read(down.clone(), across.clone())?));
            let planes = planes.collect::<Result<Vec<_>>>()?;
            let views = planes.iter().map(|plane| GridView::new(plane, down.len(), across.len()));
            sink.write(down.start, across.start, &views.collect::<Result<Vec<_>, _>>()?)?;
        }
    }
    Box::new(sink).finish()?;
    Ok(file.commit()?)
}
