//! `halotile generate grid`: a synthetic grid, made band by band so that it may be larger than memory.

use std::io::{self, BufWriter};

use anyhow::{Context, bail};
use halotile::generate::Generator;
use halotile::grid::GridView;
use halotile::io::{CellWriter, InputFormat, write_failed};
use halotile::observe::Observer;
use rayon::prelude::*;

use crate::args::GridArgs;
use crate::console::Console;
use crate::interrupt;
use crate::outcome::Done;
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
        None => InputFormat::detect(&args.output).map_err(|error| name_the_format(error, "--of"))?,
    };
    let generator = Generator::new(args.pattern, args.seed, args.levels)?;
    let sink = Sink::create(&args.output, args.overwrite)?;
    sink::commit([write(args, &generator, format, sink, &console)?])?;
    Ok(Done::Well)
}

fn write(
    args: &GridArgs,
    generator: &Generator,
    format: InputFormat,
    sink: Sink,
    console: &Console,
) -> anyhow::Result<Sink> {
    let (rows, cols, name) = (args.rows, args.cols, sink.name());
    // More than any reader of ours takes.
    let total = rows.checked_mul(cols).filter(|&cells| cells as u64 <= 1 << 40);
    let total = total.with_context(|| {
        format!("{name}: {rows} x {cols} cells are more than the 2^40 that a grid may have; make fewer")
    })?;
    let file = BufWriter::new(console.watch(sink));
    let mut writer = CellWriter::new(format, file, rows, cols).map_err(|e| write_failed(&name, e))?;
    let band = (BAND / cols).clamp(1, rows);
    let mut cells = Vec::new();
    if cells.try_reserve_exact(band * cols).is_err() {
        bail!("{name}: there is not enough memory for a row of {cols} cells; make more rows of fewer columns");
    }
    cells.resize(band * cols, 0);
    console.cells("making", total as u64);
    for first in (0..rows).step_by(band) {
        if interrupt::requested() {
            return Err(interrupt::Interrupted.into());
        }
        let count = band.min(rows - first);
        let cells = &mut cells[..count * cols];
        cells.par_chunks_mut(cols).enumerate().for_each(|(r, row)| {
            row.par_chunks_mut(TASK).enumerate().for_each(|(i, part)| {
                generator.fill_row((first + r) as u64, (i * TASK) as u64, part);
            });
        });
        writer.rows(GridView::new(cells, count, cols)?).map_err(|e| write_failed(&name, e))?;
        console.advance(cells.len() as u64);
    }
    let file = writer.finish().and_then(|file| file.into_inner().map_err(io::IntoInnerError::into_error));
    Ok(file.map_err(|e| write_failed(&name, e))?.into_inner())
}
