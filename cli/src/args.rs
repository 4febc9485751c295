//! The command line: every argument, its help, its default and the check that one value alone allows.
//!
//! The man pages and the completions are made from this as well.

mod apsp;
mod bench_apsp;
mod bench_primer;
mod graph;
mod profile;
mod sweep;

use std::ops::Deref;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, ArgMatches, FromArgMatches, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use halotile::choice::{Devices, UnknownDevices};
use halotile::classes::BinRule;
use halotile::entropy::{self, Base, Entropy, Kernel};
use halotile::io::reals::RealFormat;
use halotile::io::{InputFormat, Nodata, OutputFormat};
use halotile::measure::{Edge, Measure};
use halotile::occupancy::Architecture;
use halotile_lab::bench::{CPU_ENGINE, Effort, Plan, Repeat};
use halotile_lab::generate::Pattern;
use halotile_lab::resources;

pub use apsp::{ApspArgs, PathArgs};
pub use bench_apsp::BenchApspArgs;
pub use bench_primer::{BenchPrimerArgs, BenchTopicArgs};
pub use graph::GraphArgs;
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

const ENTROPY_HELP: &str = "\
Windows are clipped at the border unless --edge says otherwise: only cells inside the grid count. A window of one class \
gives 0.

Formats: .tif and .tiff are GeoTIFF, read and written piece by piece, so that rasters may be larger than memory, as .npy is; .txt is \
seed-text in (a line \"rows columns\", then the rows) and text out; .bin is seed-binary (32-bit width and height, then \
bytes; any number of samples, a line of output each); .npy; .png and .pgm (grey of 8 or 16 bits). Standard input without --if is \
told by its first bytes.

Classes: the values that occur, up to 65536 (65535 and no data), whatever they are (11, 21, .., 95; -3; 40000); a first pass over the raster finds \
them, which --levels (values are 0 to N - 1) and --classes spare. NaN is always no data. A list for --classes is text: \
lines VALUE, VALUE,CLASS or FROM..TO,CLASS, where lines with the same CLASS make one class and the class nodata is no data; \
*,CLASS is for all other values, which are errors without it; # begins a comment. --bins sorts numbers into bins, \
fractions too: equally wide from the smallest to the largest, or with --binning quantile equally full.

Measures, p being a class's share of the valid cells of the window: shannon -sum p ln p, simpson 1 - sum p^2, richness \
(the number of classes), evenness (shannon over the logarithm of richness), renyi:A and hill:Q of any order. Several measures \
are bands of one GeoTIFF; or files, where OUTPUT holds {measure}: h-{measure}.npy becomes h-shannon.npy and so on.

--device auto takes cuda:0 where a GPU, with its start and all copies, should be done before the CPU: large \
grids with large windows and many classes on few cores. It says so on stderr. Of maps of more than 256 classes GPUs compute shannon in \
squares in f32; other measures of them, and windows of more than 255 cells across (1023 for shannon in f32 of up to 256 classes), are \
computed by the CPU.

--json prints one object: input, band (null unless GeoTIFF), output, outputs (the files), preview, mask, input_format, \
output_format, samples, rows and cols (null when there are several samples), cells, size (null for the shape of a file), \
shape, window (rows, cols and cells of it), edge, min_valid, fill_nodata, measures, levels (as given), classes (null when there are several \
samples; from: survey, levels, list or bins; nodata_cells where they were counted; table: code and, as far as they are known, \
name, values or between, and cells), unit, nodata, nodata_from, georeference_from and mask_from (the option, tag, band or file \
that says it; mask_from: the input's own mask), device, kernel (null for the CPU engine), precision, threads, memory (as \
given, in bytes), peak_memory (bytes resident at most; null but on Linux), seconds (read, classes, device, compute, write, total; \
device: opening a GPU; compute: with the reading and writing that goes on meanwhile), kernel_seconds (null where no device \
took part) and cells_per_second (cells over seconds.compute).";

const ENTROPY_EXAMPLES: &str = "\
Examples:
  halotile entropy map.txt entropy.txt
  halotile entropy nlcd.tif h.tif --size 21 --measure shannon,richness --co COMPRESS=ZSTD
  halotile entropy dem.tif h.tif --bins 32 --binning quantile --shape disk --edge reflect --memory 1GiB
  halotile entropy landcover.npy h.npy --size 21 --nodata 255 --preview h.png
  halotile entropy texture.png - --base 2 --decimals 3 | head
  halotile entropy big.npy h.npy --device cuda:0,1 --json";

const DEVICES_HELP: &str = "\
--json prints one object: cpu (threads), cuda (off: why, or null; version: what the driver supports; devices: \
ordinal, name, compute_capability, multiprocessors, memory and memory_free in bytes, shared_per_block in \
bytes, clock_khz, copy_bytes_per_second, null unless measured; a device that cannot be used has ordinal and error) \
and emulator (shared_per_block and memory in bytes).

Example:
  halotile devices --measure";

const GRID_HELP: &str = "\
Examples:
  halotile generate grid --rows 1000 --cols 1000 --pattern clustered --seed 42 map.png
  halotile generate grid --rows 4 --cols 4 - | halotile entropy - -
  halotile generate grid --rows 100000 --cols 100000 --co COMPRESS=ZSTD map.tif";

const COMPARE_HELP: &str = "\
Any format of cells or of results can be compared with any other. NaN equals NaN and nothing else.

--json prints one object: a, b, cells, tolerance, above, unpaired_nan and largest (null when the \
files are equal, otherwise sample, row, col, a, b and difference; what is not finite is null).

Example:
  halotile compare cpu.npy gpu.npy --tolerance 1e-5";

const OCCUPANCY_HELP: &str = "\
No GPU is needed: registers and static shared memory are those that NVIDIA's assembler gave the kernel, which the \
library knows for most architectures; for the others it takes those of the newest before it, and says so. The driver of a \
GPU compiles kernels itself, and may give them other registers.

Without --block and --shared, blocks are those that halotile launches the kernel in for 5 x 5 windows of 16 levels. With \
--all-blocks and --svg, dynamic shared memory is the same for all sizes.

--json prints one object: kernel, arch, reported_for (the architecture of the report), block, threads, registers (a \
thread), max_threads, shared_static, shared_dynamic, shared_reserved (bytes), blocks, active_warps, occupancy (0 to 1), \
limits (blocks that each resource allows: warps, blocks, registers, shared_memory; null for any number), limited_by, \
misfit (null, or why there are 0 blocks) and all_blocks (null, or for every size what depends on it).

Examples:
  halotile occupancy sliding
  halotile occupancy naive --arch sm_75 --block 32,8 --shared 4096
  halotile occupancy columns --all-blocks --svg columns.svg";

const BENCH_HELP: &str = "\
Every kernel is compared with the definition before it is timed: every cell of a small grid, nine patches of a large \
one. One that is wrong stands in the table as WRONG, without a time, and the exit code is 1.

The table: \"median ms\" is of the kernel alone, by the device's clock (launches take several copies of the grid in turn, so \
that a small one does not come out of the cache); on the CPU it is of the whole, by the wall clock. \"host ms\" is from \
host memory to host memory, \"of copy\" the share of the copy bandwidth measured in the same run, 5 bytes a cell. \"regs\" and \
\"spill B\" are ptxas's, of the GPU's architecture; \"occupancy\" is the share of the GPU's threads that is there at once; \
\"faster\" is than the rung before (or the kernel that it changes), by the same clock.

Without --runs and --min-time everything is timed 30 times, but 3 times are enough if they take 2 seconds. With \
several devices kernels alone are timed on the first, runs from host to host on all. In the emulator times say nothing of a GPU.

--export-json writes one object with every raw time: schema, what, halotile, commit, time, machine, devices, options, \
ceilings and results (of (rows, cols), kernel, place, parameters, before, idea, status, and reason, or time, host_to_host and the \
rest of the table). --export-csv writes a row for each kernel and size, --export-markdown a table, --export-html one page \
with charts that needs no network.";

const BENCH_EXAMPLES: &str = "\
Examples:
  halotile bench entropy
  halotile bench entropy --device cuda --kernels v0..v9,sliding --export-html ladder.html
  halotile bench entropy --device cpu --kernels cpu --sizes 4000x6000 --size 21 --levels 256
  halotile bench entropy --device emulator --sizes 64 --runs 1 --export-json - -q
  halotile bench entropy --sweep --export-json sweep.json
  halotile bench entropy --sweep --sizes 2000 --sweep-levels 16,17,32 --sweep-measures shannon --device cpu";

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

#[derive(Debug, clap::Args)]
pub struct EntropyArgs {
    /// The grid of classes, or of numbers that become classes; - is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub input: PathBuf,
    #[command(flatten)]
    pub loudness: Loudness,

    /// Format of INPUT [default: by its name's ending]
    #[arg(help_heading = INPUT, long = "if", value_name = "FORMAT", value_parser = one_of(InputFormat::ALL, InputFormat::name))]
    pub input_format: Option<InputFormat>,
    /// Band of a GeoTIFF, from 1 [default: 1]
    #[arg(help_heading = INPUT, long, value_name = "N", value_parser = side)]
    pub band: Option<usize>,
    /// Value of cells that are not counted, any number or nan [default: the file's own]
    ///
    /// The result there is nan. Masks and alpha bands of the file count beside it; none turns all of that off.
    #[arg(help_heading = INPUT, long, value_name = "V|none", allow_hyphen_values = true, value_parser = nodata)]
    pub nodata: Option<NodataArg>,
    /// A raster of the same size: cells where it is 0 or no data are not counted
    ///
    /// They have no result. It lies where the input lies, as far as both say where.
    #[arg(help_heading = INPUT, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub mask: Option<PathBuf>,
    /// Number of classes, 1 to 65536, which are the values below it [default: what occurs]
    ///
    /// A value of N or more is an error. Spares a pass over the raster.
    #[arg(help_heading = INPUT, long, value_name = "N", value_parser = levels)]
    pub levels: Option<usize>,
    /// A list of classes, and of the values that each has
    #[arg(help_heading = INPUT, long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "levels")]
    pub classes: Option<PathBuf>,
    /// Sort the numbers into so many classes, 1 to 65536
    #[arg(help_heading = INPUT, long, value_name = "N", value_parser = bins, conflicts_with_all = ["levels", "classes"])]
    pub bins: Option<usize>,
    /// How bins are laid out: equal (all as wide) or quantile (all as full) [default: equal]
    #[arg(help_heading = INPUT, long, value_name = "equal|quantile", requires = "bins", value_parser = binning())]
    pub binning: Option<BinRule>,

    /// Side of the window in cells: odd, 1 to 4095 [default: 5]
    ///
    /// Devices take up to 255, and 1023 for Shannon's entropy of up to 256 classes in f32; the CPU takes the others.
    #[arg(help_heading = WINDOW, short, long, value_name = "N", value_parser = size)]
    pub size: Option<usize>,
    /// Shape of the window
    ///
    /// square; disk: cells at most half of --size, rounded down, from the centre; or a text file of 0 and 1, a line a row.
    #[arg(help_heading = WINDOW, long, value_name = "square|disk|FILE", default_value = "square", value_parser = shape_of_window)]
    pub shape: ShapeArg,
    /// What windows see beyond the edge of the grid
    ///
    /// Nothing (shrink); nothing, and no result where they reach beyond it (nodata); or the grid goes on, mirrored with its edge cells
    /// twice (symmetric) or once (reflect), or by its edge cells (replicate).
    #[arg(help_heading = WINDOW, long, default_value = "shrink", value_parser = one_of(Edge::ALL, Edge::name))]
    pub edge: Edge,
    /// Share of the window's cells that have to be valid, 0 to 1, for a result
    ///
    /// Cells beyond the edge are not valid.
    #[arg(help_heading = WINDOW, long, value_name = "FRACTION", default_value = "0", value_parser = fraction)]
    pub min_valid: f64,
    /// Results also for cells without data: those of the valid cells in their windows
    #[arg(help_heading = WINDOW, long)]
    pub fill_nodata: bool,

    /// What to compute, one or several: shannon, simpson, richness, evenness, renyi:A, hill:Q
    #[arg(help_heading = MEASURE, long = "measure", value_name = "NAME[,NAME...]", value_delimiter = ',', default_value = "shannon", value_parser = measure)]
    pub measures: Vec<Measure>,
    /// Base of the logarithm: e for nats, 2 for bits, 10 for hartleys
    #[arg(help_heading = MEASURE, long, default_value = "e", value_parser = named(&[("e", Base::E), ("2", Base::Two), ("10", Base::Ten)]))]
    pub base: Base,
    /// Divide shannon by the logarithm of the number of classes, so that it is from 0 to 1
    ///
    /// Needs --levels, --bins or --classes: the number is what --levels says, that of the list's classes, or that of the bins that were made,
    /// which are fewer than asked for where values repeat.
    #[arg(help_heading = MEASURE, long)]
    pub normalize: bool,

    #[command(flatten)]
    pub output: OutputArg,
    /// Format of OUTPUT [default: by its name's ending; text for -]
    ///
    /// Without it seed-binary gives seed-lines in place of text.
    #[arg(help_heading = OUTPUT, long = "of", value_name = "FORMAT", value_parser = one_of(OutputFormat::ALL, OutputFormat::name))]
    pub output_format: Option<OutputFormat>,
    /// How a GeoTIFF is written, in GDAL's words, such as COMPRESS=ZSTD; once for each
    ///
    /// COMPRESS=DEFLATE|LZW|ZSTD|NONE, ZLEVEL=1..9, PREDICTOR=1|3, TILED=YES|NO, BLOCKXSIZE=N, BLOCKYSIZE=N,
    /// BIGTIFF=YES|NO|IF_NEEDED|IF_SAFER, SPARSE_OK=YES|NO.
    #[arg(help_heading = OUTPUT, long = "co", value_name = "KEY=VALUE")]
    pub creation_options: Vec<String>,
    /// Decimals in text and seed-lines, 0 to 17
    #[arg(help_heading = OUTPUT, long, value_name = "N", default_value = "5", value_parser = decimals)]
    pub decimals: usize,
    /// Also draw the result, with a legend, to this PNG file
    #[arg(help_heading = OUTPUT, long, value_name = "PNG", value_hint = ValueHint::FilePath)]
    pub preview: Option<PathBuf>,
    /// Replace OUTPUT, the preview and the profile if they exist
    #[arg(help_heading = OUTPUT, long)]
    pub overwrite: bool,
    /// Print what was done, and how fast, as one JSON object on stdout
    #[arg(help_heading = OUTPUT, long)]
    pub json: bool,

    /// Where to compute: auto, cpu, cuda, cuda:0,1 (several GPUs share the rows), emulator
    #[arg(help_heading = MACHINE, long, default_value = "auto", value_parser = device)]
    pub device: Devices,
    /// The kernel that a device runs, or a rung of a ladder; halotile kernels lists them
    ///
    /// auto takes the fastest that fits.
    #[arg(help_heading = MACHINE, long, value_name = "NAME", default_value = "auto", value_parser = kernels(), hide_possible_values = true)]
    pub kernel: KernelArg,
    /// Precision of the computation [default: that of --kernel; else f64 for text, f32 for npy]
    #[arg(help_heading = MACHINE, long, value_parser = named(&[("f32", Precision::F32), ("f64", Precision::F64)]))]
    pub precision: Option<Precision>,
    /// CPU threads, 0 to 1024; 0 for as many as there are cores
    #[arg(help_heading = MACHINE, long, value_name = "N", default_value = "0", value_parser = threads)]
    pub threads: usize,
    /// Memory that the program may take, as 512MiB [default: 4 GiB, less where less is enough]
    ///
    /// 1.5G is times 1024, 2GB times 1000. Text, PNG and what comes through a pipe are in memory besides.
    #[arg(help_heading = MACHINE, long, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<usize>,
    #[command(flatten, next_help_heading = MACHINE)]
    pub profile: ProfileArgs,
}

// Groups of options in the help.
const INPUT: &str = "Input";
const WINDOW: &str = "Window";
const MEASURE: &str = "Measure";
const OUTPUT: &str = "Output";
const MACHINE: &str = "Machine";

/// The place for results: OUTPUT, or what -o names in its place.
#[derive(Debug)]
pub struct OutputArg(PathBuf);

/// Both ways to say it, of which one is there.
#[derive(Debug, clap::Args)]
struct OutputPlaces {
    /// The results; - is standard output. {measure} in it stands for the name of each measure
    #[arg(value_hint = ValueHint::FilePath, required_unless_present = "named_output")]
    output: Option<PathBuf>,
    /// The results, in place of OUTPUT
    #[arg(help_heading = OUTPUT, id = "named_output", short = 'o', long = "output", value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    named: Option<PathBuf>,
}

impl Deref for OutputArg {
    type Target = PathBuf;

    fn deref(&self) -> &PathBuf {
        &self.0
    }
}

impl FromArgMatches for OutputArg {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let OutputPlaces { output, named } = OutputPlaces::from_arg_matches(matches)?;
        // The parser has seen to it that one is there.
        named.or(output).map(Self).ok_or_else(|| clap::Error::new(clap::error::ErrorKind::MissingRequiredArgument))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for OutputArg {
    fn augment_args(command: clap::Command) -> clap::Command {
        OutputPlaces::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        OutputPlaces::augment_args_for_update(command)
    }
}

#[derive(Debug, clap::Args)]
pub struct DevicesArgs {
    /// Also measure how fast each GPU copies within its memory
    #[arg(long)]
    pub measure: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct GridArgs {
    /// The file to make; - is standard output
    #[arg(value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Rows, at least 1
    #[arg(long, value_name = "N", value_parser = side)]
    pub rows: usize,
    /// Columns, at least 1
    #[arg(long, value_name = "N", value_parser = side)]
    pub cols: usize,
    /// Number of classes, 1 to 256
    #[arg(long, value_name = "N", default_value = "16", value_parser = levels_of_bytes)]
    pub levels: usize,
    /// What the grid depends on, 0 to 2^64 - 1
    #[arg(long, value_name = "N", default_value = "0")]
    pub seed: u64,
    /// random: independent cells; clustered: like a land-cover map; constant: one class
    #[arg(long, default_value = "random", value_parser = named(&Pattern::ALL.map(|p| (p.name(), p))))]
    pub pattern: Pattern,
    /// Format of OUTPUT [default: by its name's ending; seed-text for -]
    #[arg(long = "of", value_name = "FORMAT", value_parser = one_of(InputFormat::ALL, InputFormat::name))]
    pub output_format: Option<InputFormat>,
    /// How a GeoTIFF is written, in GDAL's words: COMPRESS=DEFLATE|LZW|ZSTD|NONE, ZLEVEL=1..9, PREDICTOR=1|2, TILED=YES|NO, BLOCKXSIZE=N,
    /// BLOCKYSIZE=N, BIGTIFF=YES|NO|IF_NEEDED|IF_SAFER, SPARSE_OK=YES|NO; once for each
    #[arg(long = "co", value_name = "KEY=VALUE")]
    pub creation_options: Vec<String>,
    /// Replace OUTPUT if it exists
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub loudness: Loudness,
}

#[derive(Debug, clap::Args)]
pub struct CompareArgs {
    /// The first file; - is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub a: PathBuf,
    /// The second file; - is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub b: PathBuf,
    /// Largest absolute difference that is none
    #[arg(long, value_name = "X", default_value = "1e-5", allow_hyphen_values = true, value_parser = tolerance)]
    pub tolerance: f64,
    /// Format of both files; given twice: of A, then of B [default: by their names' endings]
    #[arg(long = "if", value_name = "FORMAT", value_parser = real_formats())]
    pub formats: Vec<RealFormat>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct OccupancyArgs {
    /// A kernel: the name that --kernel of halotile entropy takes, or that of its PTX entry
    #[arg(value_parser = PossibleValuesParser::new(occupied()), hide_possible_values = true)]
    pub kernel: String,
    /// Threads of a block along x and y [default: what halotile launches]
    #[arg(long, value_name = "X[,Y]", value_parser = block)]
    pub block: Option<BlockArg>,
    /// Dynamic shared memory of a block in bytes [default: what halotile launches]
    #[arg(long, value_name = "BYTES")]
    pub shared: Option<u32>,
    /// The architecture of the GPU
    #[arg(long, default_value = "sm_90", value_parser = one_of(Architecture::ALL, |arch| arch.name))]
    pub arch: Architecture,
    /// Also print a chart of all sizes of blocks
    #[arg(long)]
    pub all_blocks: bool,
    /// Draw the chart of all sizes to this SVG file; - is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,
    /// Replace the SVG file if it exists
    #[arg(long, requires = "svg")]
    pub overwrite: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `--block`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockArg {
    pub x: u32,
    pub y: u32,
}

impl BlockArg {
    pub fn threads(self) -> u32 {
        self.x * self.y
    }

    /// In words: "32 x 8 threads".
    pub fn describe(self) -> String {
        match self {
            Self { x: 1, y: 1 } => "1 thread".to_owned(),
            Self { x, y: 1 } => format!("{x} threads"),
            Self { x, y } => format!("{x} x {y} threads"),
        }
    }
}

#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    /// What to time: all, or a list of names: cpu (the CPU engine), kernels, rungs, ranges of rungs (v0..v9)
    #[arg(long, value_name = "all|LIST", default_value = "all", value_parser = bench_kernels)]
    pub kernels: KernelList,
    /// Sizes of the grids, 400 or 300x500 (rows x columns) [default: 400,2560,10240; in the emulator 64; of --sweep 4096, on the CPU
    /// 1024]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = shape)]
    pub sizes: Vec<(usize, usize)>,
    /// Where to run: auto (cuda:0 if it is there), cpu, cuda, cuda:0,1, emulator
    #[arg(long, default_value = "auto", value_parser = device)]
    pub device: Devices,
    /// The grids' cells. random: independent; clustered: like a land-cover map; constant: one class
    #[arg(long, default_value = "random", value_parser = named(&Pattern::ALL.map(|p| (p.name(), p))))]
    pub pattern: Pattern,
    /// Number of classes, 1 to 256
    #[arg(long, value_name = "N", default_value = "16", value_parser = levels_of_bytes)]
    pub levels: usize,
    /// Side of the square window in cells: odd, 1 to 4095
    #[arg(long, value_name = "N", default_value = "5", value_parser = size)]
    pub size: usize,
    /// What the grids depend on, 0 to 2^64 - 1
    #[arg(long, value_name = "N", default_value = "0")]
    pub seed: u64,
    #[command(flatten)]
    pub effort: EffortArgs,
    /// CPU threads, 0 to 1024; 0 for as many as there are cores
    #[arg(long, value_name = "N", default_value = "0", value_parser = threads)]
    pub threads: usize,
    #[command(flatten)]
    pub exports: ExportArgs,
    #[command(flatten)]
    pub profile: ProfileArgs,
    #[command(flatten)]
    pub loudness: Loudness,
    #[command(flatten)]
    pub sweep: SweepArgs,
}

/// How often benchmarks run.
#[derive(Debug, clap::Args)]
pub struct EffortArgs {
    /// Runs before the timed ones [default: 5, fewer if they take half a second]
    #[arg(long, value_name = "N", value_parser = repeats)]
    pub warmup: Option<usize>,
    /// Timed runs of each, 1 to 100000
    #[arg(long, value_name = "N", conflicts_with = "min_time", value_parser = repeats_of_one)]
    pub runs: Option<usize>,
    /// Time each for so many seconds, and 3 times at least
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub min_time: Option<f64>,
}

/// Where a benchmark's record goes.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// The commit that the record names [default: the one that was built, if the build was told]
    #[arg(long, value_name = "HASH")]
    pub commit: Option<String>,
    /// Write the record as JSON, with every raw time; - is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub export_json: Option<PathBuf>,
    /// Write a row for each kernel and size as CSV
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub export_csv: Option<PathBuf>,
    /// Write a table for each size as Markdown
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub export_markdown: Option<PathBuf>,
    /// Write a page with charts and tables, in one file that needs no network
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub export_html: Option<PathBuf>,
    /// Replace the exported files and the profile if they exist
    #[arg(long)]
    pub overwrite: bool,
}

/// `--kernels`: the names in the order of the table; none stands for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelList(pub Option<Vec<&'static str>>);

/// `--nodata`: a type of its own because the parser gives `Option` a meaning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodataArg(pub Option<Nodata>);

/// `--shape`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShapeArg {
    Square,
    Disk,
    File(PathBuf),
}

impl ShapeArg {
    /// As it is given.
    pub fn name(&self) -> String {
        match self {
            Self::Square => "square".to_owned(),
            Self::Disk => "disk".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }
}

/// `--kernel`; none stands for auto.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelArg(pub Option<Kernel>);

/// `--precision`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    F32,
    F64,
}

/// A parser of one of a few names, which messages and completions list.
fn named<T: Copy + Send + Sync + 'static>(values: &[(&'static str, T)]) -> impl TypedValueParser<Value = T> + use<T> {
    let values = values.to_vec();
    let names = PossibleValuesParser::new(values.iter().map(|&(name, _)| name).collect::<Vec<_>>());
    names.try_map(move |given| {
        values.iter().find(|(name, _)| *name == given).map(|&(_, value)| value).ok_or("there is no such value")
    })
}

/// A parser of one of these by its name.
fn one_of<T: Copy + Send + Sync + 'static>(
    values: &[T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> + use<T> {
    named(&values.iter().map(|&value| (name(value), value)).collect::<Vec<_>>())
}

fn kernels() -> impl TypedValueParser<Value = KernelArg> {
    let all = halotile_lab::entropy::kernels().map(|kernel| (kernel.name(), KernelArg(Some(kernel))));
    named(&std::iter::once(("auto", KernelArg(None))).chain(all).collect::<Vec<_>>())
}

/// What `halotile occupancy` knows: every kernel of a device, and every entry of the PTX.
fn occupied() -> Vec<&'static str> {
    let kernels = halotile_lab::entropy::kernels().filter(|kernel| kernel.entry().is_some()).map(Kernel::name);
    kernels.chain(resources::kernels()).collect()
}

fn block(text: &str) -> Result<BlockArg, String> {
    let (x, y) = text.split_once(',').unwrap_or((text, "1"));
    let side = |text: &str| text.parse().ok().filter(|&threads| threads > 0);
    let block = side(x).zip(side(y)).filter(|(x, y): &(u32, u32)| x.checked_mul(*y).is_some());
    let block = block.map(|(x, y)| BlockArg { x, y });
    block.ok_or_else(|| "a block is X or X,Y threads, whole numbers of at least 1, 1024 together at most".to_owned())
}

fn real_formats() -> impl TypedValueParser<Value = RealFormat> {
    let names = ["text", "seed-lines", "npy", "geotiff", "seed-text", "seed-binary", "png", "pgm"];
    PossibleValuesParser::new(names).try_map(|name| name.parse::<RealFormat>())
}

/// A number, checked by the library's own rules for an [`Entropy`].
fn checked(text: &str, set: impl Fn(Entropy, usize) -> Entropy) -> Result<usize, String> {
    let number = text.parse().map_err(|_| "it is not a whole number".to_owned())?;
    set(Entropy::new(), number).validate().map_err(|error| error.to_string())?;
    Ok(number)
}

fn size(text: &str) -> Result<usize, String> {
    checked(text, Entropy::size)
}

fn levels(text: &str) -> Result<usize, String> {
    checked(text, |entropy, number| entropy.levels(number))
}

/// For generators and benchmarks, whose cells are bytes.
fn levels_of_bytes(text: &str) -> Result<usize, String> {
    match levels(text)? {
        levels @ ..=entropy::BYTE_LEVELS => Ok(levels),
        levels => Err(format!("the number of levels is from 1 to {}, not {levels}", entropy::BYTE_LEVELS)),
    }
}

fn bins(text: &str) -> Result<usize, String> {
    let bins = text.parse().ok().filter(|n| (1..=entropy::MAX_LEVELS).contains(n));
    bins.ok_or_else(|| "the number of bins is from 1 to 65536".to_owned())
}

fn binning() -> impl TypedValueParser<Value = BinRule> {
    named(&[("equal", BinRule::EqualWidth), ("quantile", BinRule::Quantile)])
}

fn shape_of_window(text: &str) -> Result<ShapeArg, String> {
    match text {
        "square" => Ok(ShapeArg::Square),
        "disk" => Ok(ShapeArg::Disk),
        "" => Err("it is square, disk or the name of a file".to_owned()),
        file => Ok(ShapeArg::File(file.into())),
    }
}

fn measure(text: &str) -> Result<Measure, String> {
    text.parse().map_err(|error: halotile::measure::UnknownMeasure| error.to_string())
}

fn fraction(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|f| (0.0..=1.0).contains(f)).ok_or_else(|| "the fraction is from 0 to 1".to_owned())
}

/// Bytes: a number, and a unit if it is not bytes.
fn memory(text: &str) -> Result<usize, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = text[..text.len() - unit.len()].parse::<f64>().ok();
    let unit = unit.trim().to_ascii_lowercase();
    let power = |letter: &str| ["", "k", "m", "g", "t"].iter().position(|known| *known == letter);
    let factor = match unit.as_str() {
        "" | "b" => Some(1.0),
        unit => match (unit.strip_suffix("ib"), unit.strip_suffix('b')) {
            (Some(letter), _) => power(letter).map(|power| 1024f64.powi(power as i32)),
            (_, Some(letter)) => power(letter).map(|power| 1000f64.powi(power as i32)),
            _ => power(unit).map(|power| 1024f64.powi(power as i32)),
        },
    };
    let bytes = number.zip(factor).map(|(number, factor)| number * factor);
    let bytes = bytes.filter(|bytes| (1.0..9e18).contains(bytes) && *bytes <= usize::MAX as f64);
    bytes.map(|bytes| bytes as usize).ok_or_else(|| "it is no size such as 512MiB, 1.5G or 2000000000".to_owned())
}

fn decimals(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n <= 17).ok_or_else(|| "the number of decimals is from 0 to 17".to_owned())
}

/// More threads than any machine has cores would only keep each other waiting.
fn threads(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n <= 1024).ok_or_else(|| "the number of threads is from 0 to 1024".to_owned())
}

fn side(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| "it is not a whole number of at least 1".to_owned())
}

/// The names that `--kernels` takes, in the order of the table.
fn bench_names() -> Vec<&'static str> {
    std::iter::once(CPU_ENGINE).chain(halotile_lab::entropy::kernels().map(Kernel::name)).collect()
}

fn bench_kernels(text: &str) -> Result<KernelList, String> {
    if text == "all" {
        return Ok(KernelList(None));
    }
    let names = bench_names();
    let mut chosen = vec![false; names.len()];
    for part in text.split(',') {
        match names.iter().position(|name| *name == part) {
            Some(i) => chosen[i] = true,
            None => range(part, &names)?.into_iter().for_each(|i| chosen[i] = true),
        }
    }
    Ok(KernelList(Some(names.into_iter().zip(chosen).filter_map(|(name, is)| is.then_some(name)).collect())))
}

/// Where the names from `v0..v9` are: those of the same letters with a number in between.
fn range(text: &str, names: &[&str]) -> Result<Vec<usize>, String> {
    let split = |name: &str| {
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
        Some((letters.to_owned(), name[letters.len()..].parse::<u32>().ok()?))
    };
    let found = text.split_once("..").and_then(|(from, to)| {
        let ((ladder, from), (other, to)) = (split(from)?, split(to)?);
        let within = |name: &str| split(name).is_some_and(|(l, n)| l == ladder && (from..=to).contains(&n));
        (ladder == other).then(|| (0..names.len()).filter(|&i| within(names[i])).collect::<Vec<_>>())
    });
    found
        .filter(|found| !found.is_empty())
        .ok_or_else(|| format!("there is no kernel {text:?}; the names are all, {}", names.join(", ")))
}

/// The most cells of a benchmark's grid.
const MOST_CELLS: u64 = 1 << 34;

fn shape(text: &str) -> Result<(usize, usize), String> {
    let (rows, cols) = text.split_once('x').unwrap_or((text, text));
    let number = |text: &str| text.parse::<u64>().ok().filter(|&n| n > 0);
    let (Some(rows), Some(cols)) = (number(rows), number(cols)) else {
        return Err("a size is a number of at least 1, or rows x columns as 300x500".to_owned());
    };
    match rows.checked_mul(cols).filter(|&cells| cells <= MOST_CELLS) {
        Some(_) => Ok((rows as usize, cols as usize)),
        None => Err(format!("{rows} x {cols} cells are more than the 2^34 that a benchmark's grid may have")),
    }
}

fn repeats(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n <= 100_000).ok_or_else(|| "the number of runs is from 0 to 100000".to_owned())
}

fn repeats_of_one(text: &str) -> Result<usize, String> {
    repeats(text).ok().filter(|n| *n > 0).ok_or_else(|| "the number of runs is from 1 to 100000".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|s| (0.0..=3600.0).contains(s));
    seconds.ok_or_else(|| "the number of seconds is from 0 to 3600".to_owned())
}

fn tolerance(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|&t| t >= 0.0).ok_or_else(|| "a tolerance is a number that is not negative".to_owned())
}

fn nodata(text: &str) -> Result<NodataArg, String> {
    if text == "none" {
        return Ok(NodataArg(None));
    }
    text.parse().map(|nodata| NodataArg(Some(nodata))).map_err(|_| "it is neither a number nor nan nor none".to_owned())
}

fn device(text: &str) -> Result<Devices, String> {
    text.parse().map_err(|error: UnknownDevices| error.to_string())
}

impl Precision {
    /// The one that a kernel computes in.
    pub fn of(kernel: Kernel) -> Self {
        if kernel.is_f64() { Self::F64 } else { Self::F32 }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

impl EffortArgs {
    /// As the library takes it.
    fn effort(&self) -> Effort {
        self.effort_or(Effort::default())
    }

    /// The same with another default.
    fn effort_or(&self, otherwise: Effort) -> Effort {
        let mut effort = otherwise;
        if let Some(warmup) = self.warmup {
            effort.warmup = Repeat::times(warmup);
        }
        if let Some(runs) = self.runs {
            effort.timed = Repeat::times(runs);
        }
        if let Some(seconds) = self.min_time {
            effort.timed = Repeat { least: 3, most: 100_000, seconds };
        }
        effort
    }
}

impl BenchArgs {
    /// What the library is to do; `sizes` where the command line has none.
    pub fn plan(&self, sizes: &[(usize, usize)]) -> Plan {
        let shapes = if self.sizes.is_empty() { sizes } else { &self.sizes };
        let Self { pattern, seed, levels, size, .. } = *self;
        Plan { shapes: shapes.to_vec(), pattern, seed, levels, size, effort: self.effort.effort() }
    }
}

impl EntropyArgs {
    /// The side of windows whose shape is not a file's.
    pub fn side(&self) -> usize {
        self.size.unwrap_or(5)
    }

    /// The value for no data, where the file says `own`.
    pub fn nodata_or(&self, own: Option<Nodata>) -> Option<Nodata> {
        self.nodata.map_or(own, |given| given.0)
    }

    /// Whether masks and alpha bands of the input's file count: `--nodata none` turns off whatever says that cells have no data.
    pub fn masks_count(&self) -> bool {
        !matches!(self.nodata, Some(NodataArg(None)))
    }
}

const _: () = assert!(entropy::MAX_SIZE == 4095 && entropy::MAX_LEVELS == 65536, "the help says so");

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn kernels_are_named_one_by_one_and_by_ranges() {
        let chosen = |text: &str| bench_kernels(text).map(|list| list.0.unwrap_or_default());
        assert_eq!(bench_kernels("all"), Ok(KernelList(None)));
        // In the order of the table, each once.
        assert_eq!(chosen("sliding,cpu,naive,cpu"), Ok(vec!["cpu", "naive", "sliding"]));
        for wrong in ["", "fastest", "cpu,", "v9999..v99999", "naive..tiled", "cpu..", "..", "v0..b9"] {
            let error = chosen(wrong).expect_err(wrong);
            assert!(error.contains("the names are all, cpu, naive, tiled, "), "{error}");
        }
        let names = ["cpu", "v0", "v1", "v2", "v10", "b1", "sliding"];
        assert_eq!(range("v1..v10", &names), Ok(vec![2, 3, 4]));
        assert_eq!(range("b0..b9", &names), Ok(vec![5]));
        assert!(range("v3..v9", &names).is_err());
    }

    #[test]
    fn sizes_are_squares_or_rows_by_columns() {
        assert_eq!(shape("400"), Ok((400, 400)));
        assert_eq!(shape("300x500"), Ok((300, 500)));
        assert_eq!(shape("131072"), Ok((131_072, 131_072)));
        for wrong in [
            "",
            "0",
            "12x",
            "x12",
            "0x5",
            "3x4x5",
            "-3",
            "4.5",
            "131073",
            "99999999999999999999",
            "4294967296x4294967296",
        ] {
            assert!(shape(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_of_memory_have_units() {
        for (text, bytes) in [
            ("1000", 1000),
            ("512MiB", 512 << 20),
            ("1.5G", 3 << 29),
            ("2GB", 2_000_000_000),
            ("64 k", 65536),
            ("1TiB", 1 << 40),
            ("7b", 7),
        ] {
            assert_eq!(memory(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "G", "-1", "1.2.3", "5X", "5kB2", "0", "99999999999T", "nan", "inf", "1e9", "iB"] {
            assert!(memory(wrong).is_err(), "{wrong}");
        }
    }
}
