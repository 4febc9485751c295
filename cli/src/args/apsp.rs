//! What can be asked of shortest paths.

use std::path::PathBuf;

use clap::ValueHint;
use clap::builder::TypedValueParser;
use halotile::apsp::Weight;
use halotile::apsp::files::distances::DistanceFormat;
use halotile::apsp::files::graph::GraphFormat;
use halotile::choice::Devices;
use halotile_lab::apsp::Kernel;

use super::{Loudness, ProfileArgs, device, memory, named, one_of, threads};

pub const APSP_HELP: &str = "\
Of parallel edges the lightest counts. An edge from a vertex to itself counts for nothing, unless it is negative: then it is a negative cycle, \
for which, as for every other, there are no shortest paths. Other negative weights are welcome. In f32 a cycle is negative if it still is \
with every weight heavier by 2^-24 of it: 0.1 + 0.2 - 0.3 is none.

Input: .bin is binary (32-bit little-endian integers: vertices, edges, then from, to and weight of each edge, vertices counted from \
0); .gr is DIMACS; .csv, .tsv, .txt and .edges are edge lists; .mtx is Matrix Market; .npy is a square matrix of weights. Output: .bin is binary \
(32-bit integers, row by row, 1073741823 where there is no path), .npy (there f32 is infinite where there is no path, and i16 32767), .csv \
for small graphs.

--paths writes for row i and column j the vertex before j on a shortest path from i, and -9999 where there is none; halotile path \
reads that.

--weight auto takes whole numbers where all weights are whole, and f32 otherwise; whole distances are computed in 16 bits where that is faster \
and proves exact, and written in 32 in any case.

Memory: 4 bytes for every pair of vertices, 12 with --paths. Where --memory or the machine has less, nothing is begun. In f32 negative weights \
take as much as --paths, and lists of the edges that matter come on top, few in most graphs.

--kernel: threads runs on the CPU; naive, blocked32 and blocked64 are steps to read and compare, on devices, in i32, of which blocked64 takes several; tiled is \
what is taken without it.

--device auto takes cuda:0 where a GPU, with its start and all copies, should be done before the CPU.

--json prints one object: input, output, paths (null unless given), input_format, output_format, paths_format, vertices, edges (as read; of \
undirected graphs both ways), undirected, negative (whether a weight is), weight (the type of the distances), computed (the type they were \
computed in: i16 where that was enough), device, kernel (null for the CPU engine), threads, memory (needed, allowed and peak, in bytes; peak is \
null but on Linux), seconds (read, device, potential, width, compute, paths, write, total; potential: what negative weights take; width: \
choosing the type and proving it), device_seconds (compute and copies; null where no device took part) and relaxations_per_second \
(the cube of vertices over seconds.compute).

Examples:
  halotile apsp roads.gr distances.npy
  halotile apsp graph.bin distances.bin --paths paths.npy && halotile path paths.npy 0 17
  halotile apsp links.csv - --undirected --weight f32 | head";

pub const PATH_HELP: &str = "\
Without a path from I to J the exit code is 1.

--json prints one object: from, to, and path, the list of vertices.

Example:
  halotile apsp graph.bin distances.bin --paths paths.npy && halotile path paths.npy 0 17";

#[derive(Debug, clap::Args)]
pub struct ApspArgs {
    /// The graph; - is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub input: PathBuf,
    /// The distances; - is standard output
    #[arg(value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Also write predecessors, from which halotile path makes paths: .npy or .bin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub paths: Option<PathBuf>,
    /// Where to compute: auto, cpu, cuda, cuda:0,1 (several GPUs share the matrix), emulator
    #[arg(long, default_value = "auto", value_parser = device)]
    pub device: Devices,
    /// The kernel that a device runs; threads is a rung on the CPU; auto takes the fastest
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = kernels())]
    pub kernel: KernelArg,
    /// Type of the weights and distances: i32 (up to 1073741822), i16 (up to 32766), f32
    #[arg(long, default_value = "auto", value_parser = one_of(Weight::ALL, Weight::name))]
    pub weight: Weight,
    /// Every edge leads both ways
    #[arg(long)]
    pub undirected: bool,
    /// Format of INPUT [default: by its name's ending]
    #[arg(long = "if", value_name = "FORMAT", value_parser = one_of(GraphFormat::ALL, GraphFormat::name))]
    pub input_format: Option<GraphFormat>,
    /// Format of OUTPUT [default: by its name's ending; csv for -]
    #[arg(long = "of", value_name = "FORMAT", value_parser = one_of(DistanceFormat::ALL, DistanceFormat::name))]
    pub output_format: Option<DistanceFormat>,
    /// Memory that matrices may take, as 512MiB, 1.5G (times 1024) or 2GB (times 1000) [default: what is free]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<usize>,
    /// CPU threads, 0 to 1024; 0 for as many as there are cores
    #[arg(long, value_name = "N", default_value = "0", value_parser = threads)]
    pub threads: usize,
    #[command(flatten)]
    pub profile: ProfileArgs,
    /// Replace OUTPUT, the paths and the profile if they exist
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub loudness: Loudness,
    /// Print what was done, and how fast, as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct PathArgs {
    /// What --paths of halotile apsp wrote
    #[arg(value_hint = ValueHint::FilePath)]
    pub paths: PathBuf,
    /// The first vertex, counted from 0
    pub from: usize,
    /// The last vertex
    pub to: usize,
    /// A vertex a line
    #[arg(long, conflicts_with = "json")]
    pub lines: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `--kernel`; none stands for auto.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelArg(pub Option<Kernel>);

fn kernels() -> impl TypedValueParser<Value = KernelArg> {
    let all = Kernel::ALL.map(|kernel| (kernel.name(), KernelArg(Some(kernel))));
    named(&std::iter::once(("auto", KernelArg(None))).chain(all).collect::<Vec<_>>())
}
