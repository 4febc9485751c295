//! What the options of `halotile apsp` say together, and where they contradict each other: all of it before anything is read.

use halotile::apsp::Weight;
use halotile::apsp::files::distances::DistanceFormat;
use halotile::apsp::files::graph::GraphFormat;
use halotile::choice::Devices;
use halotile_lab::apsp::Kernel;

use crate::args::ApspArgs;
use crate::files::Roles;
use crate::outcome::Usage;
use crate::source::{is_dash, name_the_format};

/// What the command line says of files.
#[derive(Debug, Clone, Copy)]
pub struct Files {
    pub input: GraphFormat,
    pub output: DistanceFormat,
    /// That of the predecessors, where they are wanted.
    pub paths: Option<DistanceFormat>,
}

fn fail<T>(what: impl Into<String>) -> Result<T, Usage> {
    Err(Usage(what.into()))
}

/// Finds contradictions.
pub fn check(args: &ApspArgs) -> Result<Files, Usage> {
    if args.json && is_dash(&args.output) {
        return fail("--json and the output - would both go to standard output; name a file for the output");
    }
    let input = match args.input_format {
        Some(format) => format,
        None if is_dash(&args.input) => return fail("standard input does not say its format; name it with --if"),
        None => GraphFormat::detect(&args.input).map_err(|error| name_the_format(error, "--if"))?,
    };
    let output = match args.output_format {
        Some(format) => format,
        None if is_dash(&args.output) => DistanceFormat::Csv,
        None => DistanceFormat::detect(&args.output).map_err(|error| name_the_format(error, "--of"))?,
    };
    if output == DistanceFormat::Binary && args.weight == Weight::F32 {
        return fail("the binary format has whole numbers, and --weight f32 has none; choose another format");
    }
    let paths = match &args.paths {
        None => None,
        Some(path) if is_dash(path) => {
            return fail("predecessors go to a file, not to standard output; name one after --paths");
        }
        Some(path) => match DistanceFormat::detect(path) {
            Ok(format @ (DistanceFormat::Npy | DistanceFormat::Binary)) => Some(format),
            _ => {
                let name = path.display();
                return fail(format!("{name}: the name does not say the format of paths; end it in .npy or .bin"));
            }
        },
    };
    Roles::default()
        .read("the graph", [args.input.as_path()])
        .written("the distances", [args.output.as_path()])
        .written("the predecessors", args.paths.as_deref())
        .written("the profile", args.profile.profile.as_deref())
        .check()?;
    match (args.kernel.0, &args.device) {
        (Some(kernel), Devices::Cpu) if kernel.on_device() => fail(format!(
            "kernel {kernel} runs on a device, not on the CPU; leave out --kernel or choose --device cuda or emulator"
        )),
        (Some(kernel @ Kernel::Threads), Devices::Cuda(_) | Devices::Emulator(_)) => {
            fail(format!("kernel {kernel} runs on the CPU; leave out --device or choose --device cpu"))
        }
        _ => Ok(Files { input, output, paths }),
    }
}
