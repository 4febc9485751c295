//! `halotile entropy`: what to compute, and of what.

use std::path::PathBuf;

use clap::ValueHint;
use clap::builder::TypedValueParser;
use halotile::choice::Devices;
use halotile::classes::BinRule;
use halotile::entropy::{self, Base, Kernel};
use halotile::io::{InputFormat, Nodata, OutputFormat};
use halotile::measure::{Edge, Measure};
use halotile::raster::geotiff::StoredType;

use super::{
    INPUT, Loudness, MACHINE, MEASURE, OUTPUT, OutputArg, ProfileArgs, WINDOW, binning, bins, device, fraction, levels,
    measure, memory, named, one_of, side, size, threads,
};

pub(super) const ENTROPY_HELP: &str = "\
Windows are clipped at the border unless --edge says otherwise: only cells inside the grid count. A window of one class \
gives 0.

Formats: .tif and .tiff are GeoTIFF, read and written piece by piece, so that rasters may be larger than memory, as .npy is; .vrt lays GeoTIFFs \
side by side, as gdalbuildvrt makes it; .txt is \
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
grids with large windows and many classes on few cores. It says so on stderr. Of maps of more than 256 classes GPUs compute squares, and no \
renyi or hill of orders other than 0, 1 and 2; all else of them, and windows of more than 255 cells across (1023 for shannon in f32 of up to \
256 classes), are computed by the CPU.

--json prints one object: input, band (null unless GeoTIFF), output, outputs (the files), preview, mask, input_format, \
output_format, samples, rows and cols (null when there are several samples), cells, size (null for the shape of a file), \
shape, window (rows, cols and cells of it), edge, min_valid, fill_nodata, measures, levels (as given), classes (null when there are several \
samples; from: survey, levels, list or bins; nodata_cells where they were counted; table: code and, as far as they are known, \
name, values or between, and cells), unit, nodata, nodata_from, georeference_from and mask_from (the option, tag, band or file \
that says it; mask_from: the input's own mask), device, kernel (null for the CPU engine), precision, types and scales (of the \
numbers that a GeoTIFF stores and what they are multiplied by, one for each measure; null where numbers are as precision has them), threads, \
memory (as given, in bytes), peak_memory (bytes resident at most; null but on Linux), seconds (read, classes, device, compute, write, total; \
device: opening a GPU; compute: with the reading and writing that goes on meanwhile), kernel_seconds (null where no device \
took part) and cells_per_second (cells over seconds.compute).";

pub(super) const ENTROPY_EXAMPLES: &str = "\
Examples:
  halotile entropy map.txt entropy.txt
  halotile entropy nlcd.tif h.tif --size 21 --measure shannon,richness --co COMPRESS=ZSTD
  halotile entropy dem.tif h.tif --bins 32 --binning quantile --shape disk --edge reflect --memory 1GiB
  halotile entropy landcover.npy h.npy --size 21 --nodata 255 --preview h.png
  halotile entropy texture.png - --base 2 --decimals 3 | head
  halotile entropy big.npy h.npy --device cuda:0,1 --json
  halotile entropy tiles/*.tif -o h.tif --of COG --memory 4GiB";

#[derive(Debug, clap::Args)]
pub struct EntropyArgs {
    /// The grid of classes, or of numbers that become classes; - is standard input. Several GeoTIFFs with -o OUTPUT are one mosaic
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
    /// Without it seed-binary gives seed-lines in place of text. cog is a Cloud Optimized GeoTIFF: what --co LAYOUT=COG makes.
    #[arg(help_heading = OUTPUT, long = "of", value_name = "FORMAT", ignore_case = true, value_parser = output_format())]
    pub output_format: Option<Of>,
    /// Numbers that a GeoTIFF stores [default: floating point, as --precision; u8 or u16 for richness alone]
    ///
    /// u16, i16 and u8 are whole numbers of steps, from 0 to the largest result there can be, with the scale that gives results back, and take
    /// less room: entropies of 5 x 5 windows are at most 2.5e-5 off in u16. Richness is stored in steps of 1; where a file has nothing else,
    /// 0 is no data, and by default it is stored so unless PREDICTOR=3 is asked for or there may be more than 65,535 classes in a window.
    #[arg(help_heading = OUTPUT, long = "type", value_name = "TYPE", value_parser = one_of(StoredType::ALL, StoredType::name))]
    pub stored: Option<StoredType>,
    /// How a GeoTIFF is written, in GDAL's words, such as COMPRESS=ZSTD; once for each
    ///
    /// COMPRESS=DEFLATE|LZW|ZSTD|NONE, ZLEVEL=1..12 (fast to small), ZSTD_LEVEL=1..22, PREDICTOR=1|3 (2 for whole numbers), TILED=YES|NO,
    /// BLOCKXSIZE=N, BLOCKYSIZE=N, BIGTIFF=YES|NO|IF_NEEDED|IF_SAFER, SPARSE_OK=YES|NO, LAYOUT=COG, OVERVIEWS=AUTO|NONE (AUTO in a COG),
    /// OVERVIEW_RESAMPLING=AVERAGE|NEAREST, STATISTICS=YES|NO, and as GDAL's COG driver has them BLOCKSIZE=N and LEVEL=N.
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

pub(super) fn kernels() -> impl TypedValueParser<Value = KernelArg> {
    let all = halotile_lab::entropy::kernels().map(|kernel| (kernel.name(), KernelArg(Some(kernel))));
    named(&std::iter::once(("auto", KernelArg(None))).chain(all).collect::<Vec<_>>())
}

pub(super) fn shape_of_window(text: &str) -> Result<ShapeArg, String> {
    match text {
        "square" => Ok(ShapeArg::Square),
        "disk" => Ok(ShapeArg::Disk),
        "" => Err("it is square, disk or the name of a file".to_owned()),
        file => Ok(ShapeArg::File(file.into())),
    }
}

pub(super) fn decimals(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n <= 17).ok_or_else(|| "the number of decimals is from 0 to 17".to_owned())
}

pub(super) fn nodata(text: &str) -> Result<NodataArg, String> {
    if text == "none" {
        return Ok(NodataArg(None));
    }
    text.parse().map(|nodata| NodataArg(Some(nodata))).map_err(|_| "it is neither a number nor nan nor none".to_owned())
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

impl EntropyArgs {
    /// The side of windows whose shape is not a file's.
    pub fn side(&self) -> usize {
        self.size.unwrap_or(5)
    }

    /// All inputs.
    pub fn inputs(&self) -> impl Iterator<Item = &std::path::Path> {
        std::iter::once(&self.input).chain(&self.output.more).map(PathBuf::as_path)
    }

    /// The input's name; of a mosaic the first one's.
    pub fn input_name(&self) -> String {
        let name = self.input.display().to_string();
        match self.output.more.len() {
            0 => name,
            more => format!("{name} and {more} more"),
        }
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

/// What --of names: a format, and whether it is GeoTIFF with LAYOUT=COG.
#[derive(Debug, Clone, Copy)]
pub struct Of {
    pub format: OutputFormat,
    pub cog: bool,
}

fn output_format() -> impl TypedValueParser<Value = Of> {
    let formats = OutputFormat::ALL.iter().map(|&format| (format.name(), Of { format, cog: false }));
    let cog = ("cog", Of { format: OutputFormat::GeoTiff, cog: true });
    named(&formats.chain([cog]).collect::<Vec<_>>())
}
