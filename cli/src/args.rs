//! The command line: every argument, its help, its default and the check that one value alone allows; a file a command.
//!
//! The man pages and the completions are made from this as well.

mod apsp;
mod bench_apsp;
mod bench_entropy;
mod bench_primer;
mod compare;
mod entropy;
mod graph;
mod grid;
mod occupancy;
mod output;
mod parsers;
mod profile;
mod sweep;

use clap::{ArgAction, Parser, Subcommand};
use clap_complete::Shell;

pub use apsp::{ApspArgs, PathArgs};
pub use bench_apsp::BenchApspArgs;
use bench_entropy::{BENCH_EXAMPLES, BENCH_HELP};
pub use bench_entropy::{BenchArgs, EffortArgs, ExportArgs};
pub use bench_primer::{BenchPrimerArgs, BenchTopicArgs};
use compare::COMPARE_HELP;
pub use compare::CompareArgs;
use entropy::{ENTROPY_EXAMPLES, ENTROPY_HELP};
pub use entropy::{EntropyArgs, Precision, ShapeArg};
pub use graph::GraphArgs;
pub use grid::GridArgs;
use grid::{GRID_HELP, side};
use occupancy::OCCUPANCY_HELP;
pub use occupancy::{BlockArg, OccupancyArgs};
pub use output::OutputArg;
use parsers::{
    binning, bins, device, fraction, levels, levels_of_bytes, measure, memory, named, one_of, size, threads,
};
pub use profile::ProfileArgs;
pub use sweep::SweepArgs;

/// Moving-window entropy of 2-D grids, on the CPU and on NVIDIA GPUs.
#[derive(Debug, Parser)]
#[command(name = "halotile", version, propagate_version = true, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

// Long lines are wrapped to the terminal's width.
const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed (compare: there is a difference), 2 wrong command line, \
3 the device asked for is not there, 130 interrupted.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Shannon entropy of the window around every cell
    #[command(after_help = ENTROPY_EXAMPLES, after_long_help = format!("{ENTROPY_HELP}\n\n{ENTROPY_EXAMPLES}"))]
    Entropy(EntropyArgs),
    /// Shortest paths between all vertices of a graph
    #[command(after_long_help = apsp::APSP_HELP)]
    Apsp(ApspArgs),
    /// The vertices on a shortest path
    #[command(after_long_help = apsp::PATH_HELP)]
    Path(PathArgs),
    /// The kernels that --kernel of halotile entropy takes
    #[command(after_help = crate::kernels::list())]
    Kernels,
    /// The GPUs of this machine, or why CUDA is off
    #[command(after_long_help = DEVICES_HELP)]
    Devices(DevicesArgs),
    /// Make a synthetic grid or graph
    Generate {
        #[command(subcommand)]
        what: Generate,
    },
    /// The largest difference between two files, and where it is
    #[command(after_long_help = COMPARE_HELP)]
    Compare(CompareArgs),
    /// How many blocks of a kernel a multiprocessor runs at once, and what limits them
    #[command(after_long_help = OCCUPANCY_HELP)]
    Occupancy(OccupancyArgs),
    /// Verify and time every way to compute something
    Bench {
        #[command(subcommand)]
        what: Bench,
    },
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  halotile completions bash > ~/.local/share/bash-completion/completions/halotile"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print a man page
    #[command(after_help = "Examples:\n  halotile man | man -l -\n  halotile man entropy > halotile-entropy.1")]
    Man {
        /// The command that the page is about [default: the program as a whole]
        command: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum Generate {
    /// A grid of classes: the same for the same seed, on every machine
    #[command(after_long_help = GRID_HELP)]
    Grid(GridArgs),
    /// A weighted directed graph: the same for the same seed, on every machine
    #[command(after_long_help = graph::GRAPH_HELP)]
    Graph(GraphArgs),
}

#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Kernels, rungs of the ladders and the CPU engine, beside the limit of the machine
    #[command(after_long_help = format!("{BENCH_HELP}\n\n{}\n\n{BENCH_EXAMPLES}", sweep::HELP))]
    Entropy(BenchArgs),
    /// All-pairs shortest paths: kernels, rungs and the CPU engine, beside the limit of the machine
    #[command(after_long_help = bench_apsp::HELP)]
    Apsp(BenchApspArgs),
    /// Copies that begin at an offset: bandwidth against alignment
    #[command(after_long_help = bench_primer::HELP)]
    Copy(BenchTopicArgs),
    /// Copies with gaps: bandwidth against stride
    #[command(after_long_help = bench_primer::HELP)]
    Stride(BenchTopicArgs),
    /// Bank conflicts: shared memory against the stride of what lanes load
    #[command(after_long_help = bench_primer::HELP)]
    Banks(BenchTopicArgs),
    /// The ladder of reductions: sums, least and largest numbers
    #[command(after_long_help = bench_primer::HELP)]
    Reduce(BenchTopicArgs),
    /// The ladder of transposes
    #[command(after_long_help = bench_primer::HELP)]
    Transpose(BenchTopicArgs),
    /// The ladder of matrix multiplications, in f32
    #[command(after_long_help = bench_primer::HELP)]
    Matmul(BenchTopicArgs),
    /// Instructions: operations a clock, and clocks until a result can be used
    #[command(after_long_help = bench_primer::HELP)]
    Instructions(BenchTopicArgs),
    /// Branches: lanes of a warp, and whole warps, that go different ways
    #[command(after_long_help = bench_primer::HELP)]
    Divergence(BenchTopicArgs),
    /// Transfers between host and device: ordinary, page-locked, write-combined and mapped memory, by size
    #[command(after_long_help = bench_primer::HELP)]
    Transfer(BenchTopicArgs),
    /// Copies that hide behind kernels: the same work cut in pieces, on 1 to 16 streams
    #[command(after_long_help = bench_primer::HELP)]
    Overlap(BenchTopicArgs),
    /// Clocks: blocks that time themselves, what a launch costs, one kernel by every clock
    #[command(after_long_help = bench_primer::HELP)]
    Clock(BenchTopicArgs),
    /// All topics of the optimisation primer, in one record
    #[command(after_long_help = bench_primer::HELP)]
    Primer(BenchPrimerArgs),
}

const DEVICES_HELP: &str = "\
--json prints one object: cpu (threads), cuda (off: why, or null; version: what the driver supports; devices: \
ordinal, name, compute_capability, multiprocessors, memory and memory_free in bytes, shared_per_block in \
bytes, clock_khz, copy_bytes_per_second, null unless measured; a device that cannot be used has ordinal and error) \
and emulator (shared_per_block and memory in bytes).

Example:
  halotile devices --measure";

/// How much is said on stderr.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Loudness {
    /// Say nothing but errors: no progress, no notes
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say what is done and how long it takes; twice: in more detail
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
}

// Groups of options in the help.
const INPUT: &str = "Input";
const WINDOW: &str = "Window";
const MEASURE: &str = "Measure";
const OUTPUT: &str = "Output";
const MACHINE: &str = "Machine";

#[derive(Debug, clap::Args)]
pub struct DevicesArgs {
    /// Also measure how fast each GPU copies within its memory
    #[arg(long)]
    pub measure: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }
}
