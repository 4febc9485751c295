//! What the options of `halotile entropy` say together, and where they contradict each other: all of it before anything is read.

use std::path::{Path, PathBuf};

use halotile::choice::Devices;
use halotile::entropy::{Entropy, Kernel, Place};
use halotile::io::{InputFormat, OutputFormat, UnknownFormat};
use halotile::measure::{Edge, Measure};
use halotile::raster::geotiff::CreationOptions;

use crate::args::{EntropyArgs, ShapeArg};
use crate::files::Roles;
use crate::outcome::Usage;
use crate::sink;
use crate::source::{self, is_dash};

/// What stands for the name of a measure in the output's.
const MEASURE: &str = "{measure}";

/// What the command line says of files.
#[derive(Debug)]
pub struct Files {
    /// `None`: standard input says it itself.
    pub input: Option<InputFormat>,
    /// Text stands for seed-lines where the input is seed-binary and text was not asked for.
    pub output: OutputFormat,
    /// One file, or one a measure.
    pub outputs: Vec<PathBuf>,
    pub creation: CreationOptions,
}

fn fail<T>(what: impl Into<String>) -> Result<T, Usage> {
    Err(Usage(what.into()))
}

/// Finds contradictions.
pub fn check(args: &EntropyArgs) -> Result<Files, Usage> {
    if args.json && is_dash(&args.output) {
        return fail("--json and the output - would both go to standard output; name a file for the output");
    }
    if args.output.is_guessed {
        let (input, output) = (args.input.display(), args.output.display());
        return fail(format!(
            "{input} ... {output}: several inputs are one mosaic, and -o names its output; give -o OUTPUT"
        ));
    }
    let input = input_format(args)?;
    let output = output_format(args)?;
    let outputs = outputs(args, output)?;
    if args.preview.as_deref().is_some_and(is_dash) {
        return fail("a preview goes to a file, not to standard output; name one after --preview");
    }
    roles(args, &outputs).check()?;
    // A name without an ending may be a device's.
    let other = |preview: &&PathBuf| preview.extension().is_some_and(|ending| !ending.eq_ignore_ascii_case("png"));
    if let Some(preview) = args.preview.as_ref().filter(other) {
        return fail(format!("{}: a preview is a PNG picture; end its name in .png", preview.display()));
    }
    window(args)?;
    let cog = args.output_format.filter(|of| of.cog).map(|_| "LAYOUT=COG".to_owned());
    let options: Vec<String> = args.creation_options.iter().cloned().chain(cog).collect();
    let creation = CreationOptions::parse(&options).map_err(|error| Usage(format!("--co: {error}")))?;
    if output != OutputFormat::GeoTiff && !args.creation_options.is_empty() {
        return fail(format!("--co is for GeoTIFF, and the output's format is {output}; leave it out"));
    }
    if output != OutputFormat::GeoTiff && args.stored.is_some() {
        return fail(format!(
            "--type is for GeoTIFF, and the output's format is {output}; leave it out, or choose --precision for NPY"
        ));
    }
    if let Some(kernel) = args.kernel.0 {
        fits(args, kernel, input)?;
    }
    Ok(Files { input, output, outputs, creation })
}

/// What each file is for.
fn roles<'a>(args: &'a EntropyArgs, outputs: &'a [PathBuf]) -> Roles<'a> {
    let shape = match &args.shape {
        ShapeArg::File(path) => Some(path.as_path()),
        ShapeArg::Square | ShapeArg::Disk => None,
    };
    Roles::default()
        .read("the input", args.inputs())
        .read("the mask", args.mask.as_deref())
        .read("the list of classes", args.classes.as_deref())
        .read("the window's shape", shape)
        .written("the output", outputs.iter().map(PathBuf::as_path))
        .written("the preview", args.preview.as_deref())
        .written("the profile", args.profile.profile.as_deref())
}

/// Refuses outputs that are files which a mosaic is made of.
pub fn parts(args: &EntropyArgs, files: &[PathBuf], outputs: &[PathBuf]) -> Result<(), Usage> {
    Roles::default()
        .read("a file of the mosaic", files.iter().map(PathBuf::as_path))
        .written("the output", outputs.iter().map(PathBuf::as_path))
        .written("the preview", args.preview.as_deref())
        .written("the profile", args.profile.profile.as_deref())
        .check()
}

fn input_format(args: &EntropyArgs) -> Result<Option<InputFormat>, Usage> {
    let format = match args.input_format {
        Some(format) => Some(format),
        None if is_dash(&args.input) => None,
        None => Some(detect(&args.input, "--if")?),
    };
    let is_tiff = format == Some(InputFormat::GeoTiff);
    if is_tiff && is_dash(&args.input) {
        return fail("a GeoTIFF is read from a file, not from standard input; name the file");
    }
    for more in &args.output.more {
        let its = if is_dash(more) { None } else { args.input_format.or(InputFormat::detect(more).ok()) };
        if !is_tiff || its != Some(InputFormat::GeoTiff) {
            let other = if is_tiff { more } else { &args.input };
            return fail(format!(
                "{}: several inputs are one mosaic of GeoTIFFs, and this is none; name one input, or GeoTIFFs",
                source::name_of(other)
            ));
        }
    }
    if args.band.is_some() && !is_tiff {
        return fail("--band chooses a band of a GeoTIFF, and the input is none; leave it out");
    }
    if let Some(mask) = &args.mask {
        if is_dash(mask) {
            return fail("a mask is read from a file, not from standard input; name one after --mask");
        }
        InputFormat::detect(mask).map_err(|error| match error {
            UnknownFormat::Ending { .. } => Usage(format!(
                "{}: the mask's name does not say its format; end it in .tif, .npy, .png, .pgm or .txt",
                mask.display()
            )),
            _ => Usage(error.to_string()),
        })?;
    }
    Ok(format)
}

fn detect(path: &Path, option: &str) -> Result<InputFormat, Usage> {
    InputFormat::detect(path).map_err(|error| source::name_the_format(error, option))
}

fn output_format(args: &EntropyArgs) -> Result<OutputFormat, Usage> {
    let format = match args.output_format {
        Some(of) => of.format,
        None if is_dash(&args.output) => OutputFormat::Text,
        None => OutputFormat::detect(&args.output).map_err(|error| source::name_the_format(error, "--of"))?,
    };
    if format == OutputFormat::GeoTiff && is_dash(&args.output) {
        return fail("a GeoTIFF goes to a file, not to standard output; name one");
    }
    Ok(format)
}

/// The files that measures go to.
fn outputs(args: &EntropyArgs, format: OutputFormat) -> Result<Vec<PathBuf>, Usage> {
    let measures = &args.measures;
    let twice = measures.iter().enumerate().find(|(i, measure)| measures[..*i].contains(measure));
    if let Some((_, measure)) = twice {
        return fail(format!("--measure names {measure} twice; leave one of them"));
    }
    let name = args.output.to_str().filter(|name| name.contains(MEASURE));
    match name {
        // A colon is no part of a file's name everywhere.
        Some(name) => {
            let of = |measure: &Measure| name.replace(MEASURE, &measure.to_string().replace(':', "-")).into();
            Ok(measures.iter().map(of).collect())
        }
        None if measures.len() > 1 && format != OutputFormat::GeoTiff => fail(format!(
            "{}: a file of the format {format} holds one measure, and there are {}; \
             put {MEASURE} into the output's name, or choose --of geotiff",
            sink::name_of(&args.output),
            measures.len()
        )),
        None => Ok(vec![args.output.clone()]),
    }
}

/// The window and what is made of its results.
fn window(args: &EntropyArgs) -> Result<(), Usage> {
    if matches!(args.shape, ShapeArg::File(_)) && args.size.is_some() {
        return fail("a file for --shape says how large the window is; leave out --size");
    }
    let measures = Entropy::new().measures(args.measures.clone()).validate();
    measures.map_err(|error| Usage(format!("--measure: {error}")))?;
    if args.normalize {
        if args.levels.or(args.bins).is_none() && args.classes.is_none() {
            return fail(
                "--normalize divides by the logarithm of the number of classes; give --levels, --bins or --classes",
            );
        }
        if !args.measures.contains(&Measure::Shannon) {
            return fail("--normalize changes shannon alone, and --measure does not name it; leave it out");
        }
    }
    Ok(())
}

/// A kernel asked for by name.
fn fits(args: &EntropyArgs, kernel: Kernel, input: Option<InputFormat>) -> Result<(), Usage> {
    match (&args.device, kernel.place()) {
        (Devices::Cpu, Place::Device) => {
            return fail(format!(
                "kernel {kernel} runs on a device, not in the CPU engine; leave out --kernel or choose --device cuda or emulator"
            ));
        }
        (Devices::Cuda(_) | Devices::Emulator(_), Place::Cpu) => {
            return fail(format!(
                "kernel {kernel} is a function on the CPU; leave out --device or choose --device cpu"
            ));
        }
        _ => {}
    }
    if !matches!(kernel, Kernel::Custom(_)) {
        return Ok(());
    }
    // Rungs are there to be compared with each other, at the one thing that all of them do.
    let other = if args.measures != [Measure::Shannon] {
        "--measure"
    } else if args.shape != ShapeArg::Square {
        "--shape"
    } else if args.edge != Edge::Shrink {
        "--edge"
    } else if args.min_valid > 0.0 {
        "--min-valid"
    } else if args.fill_nodata {
        "--fill-nodata"
    } else if args.memory.is_some() {
        "--memory"
    } else if input == Some(InputFormat::GeoTiff) {
        return fail(format!(
            "kernel {kernel} is a rung, which takes grids in memory, and a GeoTIFF is read piece by piece; leave out --kernel"
        ));
    } else {
        return Ok(());
    };
    fail(format!(
        "kernel {kernel} is a rung: it computes Shannon's entropy in clipped squares, of grids in memory; leave out --kernel or {other}"
    ))
}
