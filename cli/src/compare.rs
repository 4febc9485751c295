//! `halotile compare`: the largest difference between two files.

use std::io::BufReader;
use std::path::Path;

use anyhow::Context;
use halotile::compare::{self, Comparison};
use halotile::grid::Grid;
use halotile::io::reals::{self, RealFormat};
use halotile::io::{self, OutputFormat};
use halotile::raster::geotiff::GeoTiff;
use serde_json::{Value, json};

use crate::args::{CompareArgs, Loudness};
use crate::console::Console;
use crate::outcome::{Done, Usage};
use crate::source::{is_dash, name_of, name_the_format};
use crate::stdout;

pub fn run(args: &CompareArgs) -> anyhow::Result<Done> {
    let (format_a, format_b) = match args.formats.as_slice() {
        [] => (None, None),
        [both] => (Some(*both), Some(*both)),
        [a, b] => (Some(*a), Some(*b)),
        more => return Err(Usage(format!("--if is given {} times; give it once or twice", more.len())).into()),
    };
    if is_dash(&args.a) && is_dash(&args.b) {
        return Err(Usage("only one of the files can be standard input".to_owned()).into());
    }
    let console = Console::new(Loudness { quiet: false, verbose: 0 });
    let a = read(&args.a, format_a, &console)?;
    let b = read(&args.b, format_b, &console)?;
    let both = || format!("{} and {}", name_of(&args.a), name_of(&args.b));
    let found = compare::samples(&a, &b, args.tolerance).with_context(both)?;
    console.finish();
    let text = if args.json { json(args, &found).to_string() + "\n" } else { text(args, &found) };
    stdout::print(text.as_bytes())?;
    Ok(if found.agrees() { Done::Success } else { Done::Different })
}

fn read(path: &Path, format: Option<RealFormat>, console: &Console) -> anyhow::Result<Vec<Grid<f64>>> {
    let format = match format {
        Some(format) => format,
        None if is_dash(path) => RealFormat::AnyText,
        None => RealFormat::detect(path).map_err(|error| name_the_format(error, "--if"))?,
    };
    console.bytes(&format!("reading {}", name_of(path)));
    if format == RealFormat::Results(OutputFormat::GeoTiff) {
        // Its bands are the samples.
        let bands = GeoTiff::open(path, 1)?.bands();
        return Ok((1..=bands).map(|band| GeoTiff::open(path, band)?.results()).collect::<Result<_, _>>()?);
    }
    match reals::read_file(format, path, console)? {
        Some(grids) => Ok(grids),
        None => Ok(reals::read(format, BufReader::new(console.count(io::open(path)?)), &name_of(path))?),
    }
}

fn text(args: &CompareArgs, found: &Comparison) -> String {
    let Comparison { cells, above, unpaired_nan, largest } = *found;
    let largest = match largest {
        None => "no difference".to_owned(),
        Some(d) => {
            let sample = if d.sample > 0 { format!("sample {}, ", d.sample) } else { String::new() };
            let (row, col, size) = (d.row, d.col, d.size);
            format!(
                "largest difference {size:.3e} at {sample}row {row}, column {col} (counted from 0): {} and {}",
                d.a, d.b
            )
        }
    };
    let nan = if unpaired_nan > 0 { format!(", {unpaired_nan} of them NaN on one side only") } else { String::new() };
    format!("{largest}\n{above} of {cells} cells differ by more than {:e}{nan}\n", args.tolerance)
}

fn json(args: &CompareArgs, found: &Comparison) -> Value {
    let largest = found
        .largest
        .map(|d| json!({ "sample": d.sample, "row": d.row, "col": d.col, "a": d.a, "b": d.b, "difference": d.size }));
    json!({
        "a": args.a.display().to_string(),
        "b": args.b.display().to_string(),
        "cells": found.cells,
        "tolerance": args.tolerance,
        "above": found.above,
        "unpaired_nan": found.unpaired_nan,
        "largest": largest,
    })
}
