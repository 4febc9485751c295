//! `halotile generate grid`: a synthetic grid, made band by band so that it may be larger than memory. A GeoTIFF is made by rows of
//! tiles, and those in pieces, so that even a grid of few and long rows is.

use std::io::{self, BufWriter};

use anyhow::{Context, bail};
use halotile::grid::GridView;
use halotile::io::{CellWriter, InputFormat, write_failed};
use halotile::observe::Observer;
use halotile::raster::geotiff::{CreationOptions, GeoTiffCells};
use halotile_lab::generate::Generator;
use rayon::prelude::*;

use crate::args::GridArgs;
use crate::console::Console;
use crate::interrupt;
use crate::outcome::{Done, Usage};
use crate::sink::{self, Sink};
use crate::source::{is_dash, name_the_format};

/// Cells of a band, unless a row has more.
const BAND: usize = 1 << 22;
/// Cells that a thread makes at a time.
const TASK: usize = 1 << 14;

pub fn run(args: &GridArgs) -> anyhow::Result<Done> {
    let console = Console::new(args.loudness);
    let format = match args.output_format {
        Some(format) => format,
        None if is_dash(&args.output) => InputFormat::SeedText,
        None => InputFormat::detect_written(&args.output).map_err(|error| name_the_format(error, "--of"))?,
    };
    let creation = CreationOptions::parse(&args.creation_options).map_err(|error| Usage(format!("--co: {error}")))?;
    if format != InputFormat::GeoTiff && !args.creation_options.is_empty() {
        return Err(Usage(format!("--co is for GeoTIFF, and the format is {format}; leave it out")).into());
    }
    let generator = Generator::new(args.pattern, args.seed, args.levels)?;
    let sink = Sink::create(&args.output, args.overwrite)?;
    let sink = match format {
        InputFormat::GeoTiff => write_blocks(args, &generator, &creation, sink, &console)?,
        format => write_rows(args, &generator, format, sink, &console)?,
    };
    sink::commit([sink])?;
    Ok(Done::Success)
}

/// The number of cells, if a grid may have so many: more than any reader of ours takes is an error.
fn total(args: &GridArgs, name: &str) -> anyhow::Result<u64> {
    let total = args.rows.checked_mul(args.cols).map(|cells| cells as u64).filter(|&cells| cells <= 1 << 40);
    total.with_context(|| {
        let GridArgs { rows, cols, .. } = args;
        format!("{name}: {rows} x {cols} cells are more than the 2^40 that a grid may have; make fewer")
    })
}

fn buffer(cells: usize, cols: usize, name: &str) -> anyhow::Result<Vec<u8>> {
    let mut buffer = Vec::new();
    if buffer.try_reserve_exact(cells).is_err() {
        bail!("{name}: there is not enough memory for a row of {cols} cells; make more rows of fewer columns");
    }
    buffer.resize(cells, 0);
    Ok(buffer)
}

/// Makes the rectangle of `cols` columns that begins at (`top`, `left`).
fn fill(generator: &Generator, cells: &mut [u8], cols: usize, top: usize, left: usize) {
    cells.par_chunks_mut(cols).enumerate().for_each(|(r, row)| {
        row.par_chunks_mut(TASK).enumerate().for_each(|(i, part)| {
            generator.fill_row((top + r) as u64, (left + i * TASK) as u64, part);
        });
    });
}

fn write_blocks(
    args: &GridArgs,
    generator: &Generator,
    plain: &CreationOptions,
    sink: Sink,
    console: &Console,
) -> anyhow::Result<Sink> {
    let (rows, cols, name) = (args.rows, args.cols, sink.name());
    let total = total(args, &name)?;
    let creation = sink.directory().map(|directory| plain.clone().scratch_in(directory));
    let creation = creation.as_ref().unwrap_or(plain);
    let mut tiff = GeoTiffCells::new(console.watch(sink), &name, rows, cols, None, creation)?;
    let (height, width) = tiff.block();
    let across = ((BAND / height.min(rows) / width).max(1) * width).min(cols);
    let mut cells = buffer(height.min(rows) * across, across, &name)?;
    console.cells("making", total);
    for top in (0..rows).step_by(height) {
        for left in (0..cols).step_by(across) {
            if interrupt::requested() {
                return Err(interrupt::Interrupted.into());
            }
            let (height, width) = (height.min(rows - top), across.min(cols - left));
            let cells = &mut cells[..height * width];
            fill(generator, cells, width, top, left);
            tiff.write(top, left, GridView::new(cells, height, width)?)?;
            console.advance(cells.len() as u64);
        }
    }
    Ok(tiff.finish()?.into_inner())
}

fn write_rows(
    args: &GridArgs,
    generator: &Generator,
    format: InputFormat,
    sink: Sink,
    console: &Console,
) -> anyhow::Result<Sink> {
    let (rows, cols, name) = (args.rows, args.cols, sink.name());
    let total = total(args, &name)?;
    let file = BufWriter::new(console.watch(sink));
    let mut writer = CellWriter::new(format, file, rows, cols).map_err(|e| write_failed(&name, e))?;
    let band = (BAND / cols).clamp(1, rows);
    let mut cells = buffer(band * cols, cols, &name)?;
    console.cells("making", total);
    for first in (0..rows).step_by(band) {
        if interrupt::requested() {
            return Err(interrupt::Interrupted.into());
        }
        let count = band.min(rows - first);
        let cells = &mut cells[..count * cols];
        fill(generator, cells, cols, first, 0);
        writer.rows(GridView::new(cells, count, cols)?).map_err(|e| write_failed(&name, e))?;
        console.advance(cells.len() as u64);
    }
    let file = writer.finish().and_then(|file| file.into_inner().map_err(io::IntoInnerError::into_error));
    Ok(file.map_err(|e| write_failed(&name, e))?.into_inner())
}
