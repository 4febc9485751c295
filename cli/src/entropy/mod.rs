//! `halotile entropy`: open a raster, settle its classes, compute and write; until there are no more; then
//! let the files appear.
//!
//! ```text
//! check      the options against each other
//! input      the raster, the mask, the window's shape
//! classing   from numbers to classes
//! filling    values that look like no data
//! output     the files and the preview
//! stored     the numbers of a GeoTIFF
//! summary    what was done
//! ```
//!
//! Everything that can be refused is refused first: the options against each other, the input's name, the outputs (their
//! temporary files are made), the devices. Only then is the input read. Reading, computing and writing go on at the same time, piece by
//! piece, but for the rungs of the ladders, which take grids in memory.

use std::io::{BufWriter, Write};
use std::time::Instant;

use anyhow::{anyhow, bail};
use halotile::choice::Workload;
use halotile::classes::CodedRaster;
use halotile::entropy::{Entropy, Error, Kernel, Report};
use halotile::grid::Grid;
use halotile::io::preview::Preview;
use halotile::io::{InputFormat, Number, OutputFormat, write_failed};
use halotile::measure::{Footprint, Measure};
use halotile::numbers::Real;
use halotile::profile::stage;
use halotile::raster::geotiff::StoredType;
use halotile::raster::{self, Cells, Raster, ResultSink, check_mask};

mod check;
mod classing;
mod filling;
mod input;
mod output;
mod stored;
mod summary;

use check::Files;
use classing::Classing;
use halotile::classes::Classes;
use input::{Input, InputRaster};
use output::{Described, Outputs};
use summary::{Summary, Window};

use crate::args::{EntropyArgs, Precision};
use crate::console::Console;
use crate::engine::Chooser;
use crate::outcome::Done;
use crate::profile::{self, staged};
use crate::sink::{self, Sink};
use crate::{machine, report, stdout};

/// Decoded blocks that are kept so that the next piece finds them: this part of the memory that there is.
const CACHE_SHARE: usize = 16;

/// The files and devices of a run, all of them open, and what is to be computed.
struct Job<'a> {
    args: &'a EntropyArgs,
    console: &'a Console,
    name: String,
    input: Input<'a>,
    /// Opened again for every sample but the first.
    mask: Option<Box<dyn Raster>>,
    several: bool,
    format: OutputFormat,
    outputs: Vec<Sink>,
    preview: Option<Sink>,
    creation: halotile::raster::geotiff::CreationOptions,
    list: Option<Classes>,
    window: Footprint,
    chooser: Chooser,
    summary: Summary,
}

pub fn run(args: &EntropyArgs) -> anyhow::Result<Done> {
    let files = check::check(args)?;
    if args.json {
        // Said before the work, not after it.
        stdout::open()?;
    }
    profile::during("entropy", &args.profile, args.overwrite, args.loudness, || finish(args, files))
}

fn finish(args: &EntropyArgs, files: Files) -> anyhow::Result<Done> {
    let start = Instant::now();
    let console = Console::new(args.loudness);
    let threads = machine::start_threads(args.threads)?;
    let window = input::window(args)?;
    let list = classing::list(args)?;
    console.bytes("reading");
    let (name, input_format, mut input) = input::open(args, files.input, &console)?;
    // What is wrong with the mask is said before anything is done.
    let mask = input::mask(args, &mut input.files, &console)?;
    check::parts(args, &input.files, &files.outputs)?;
    if let (Some(mask), Some(raster)) = (&mask, &input.first)
        && let Some(unknown) = check_mask(raster.as_ref(), mask.as_ref())?
    {
        console.note(&unknown);
    }
    let format = match (files.output, input_format) {
        // Its own text has a line a sample.
        (OutputFormat::Text, InputFormat::SeedBinary) if args.output_format.is_none() => OutputFormat::SeedLines,
        (format, _) => format,
    };
    let outputs = files.outputs.iter().map(|path| Sink::create(path, args.overwrite)).collect::<Result<Vec<_>, _>>()?;
    let preview = args.preview.as_deref().map(|path| Sink::create(path, args.overwrite)).transpose()?;
    let chooser = Chooser::new(&args.device, args.kernel.0)?;
    let of_type = args.stored.filter(|&of| of == StoredType::F64).map(|_| Precision::F64);
    let precision = args.precision.or(args.kernel.0.map(Precision::of)).or(of_type).unwrap_or(match format {
        OutputFormat::Npy | OutputFormat::GeoTiff => Precision::F32,
        OutputFormat::Text | OutputFormat::SeedLines => Precision::F64,
    });
    let summary = Summary {
        input: args.input_name(),
        band: (input_format == InputFormat::GeoTiff).then_some(args.band.unwrap_or(1)),
        output: args.output.display().to_string(),
        outputs: files.outputs.iter().map(|path| path.display().to_string()).collect(),
        preview: args.preview.as_ref().map(|path| path.display().to_string()),
        mask: args.mask.as_ref().map(|path| path.display().to_string()),
        input_format: input_format.name(),
        output_format: format.name(),
        size: (!matches!(args.shape, crate::args::ShapeArg::File(_))).then_some(args.side()),
        shape: args.shape.name(),
        window: Window { rows: window.rows(), cols: window.cols(), cells: window.count() },
        edge: args.edge.name(),
        min_valid: args.min_valid,
        fill_nodata: args.fill_nodata,
        measures: args.measures.iter().map(Measure::to_string).collect(),
        levels: args.levels,
        unit: unit(args),
        precision: precision.name(),
        threads,
        memory: args.memory,
        ..Summary::default()
    };
    let job = Job {
        args,
        console: &console,
        name,
        input,
        mask,
        several: input_format == InputFormat::SeedBinary,
        format,
        outputs,
        preview,
        creation: files.creation.for_windows(window.count()),
        list,
        window,
        chooser,
        summary,
    };
    let mut summary = match precision {
        Precision::F32 => work::<f32>(job),
        Precision::F64 => work::<f64>(job),
    }?;
    console.finish();
    summary.peak_memory = machine::peak_memory();
    summary.seconds.total = start.elapsed().as_secs_f64();
    summary::report(&summary);
    if args.json {
        report::print(&summary)?;
    }
    Ok(Done::Success)
}

/// The results' unit.
fn unit(args: &EntropyArgs) -> &'static str {
    if args.normalize { "evenness" } else { args.base.unit() }
}

/// The measures and the units of their numbers; none where they are shares or numbers of classes.
fn described(args: &EntropyArgs) -> Vec<Described> {
    let unit = |measure: &Measure| match measure {
        Measure::Shannon if args.normalize => None,
        Measure::Shannon | Measure::Renyi(_) => Some(args.base.unit()),
        _ => None,
    };
    args.measures.iter().map(|measure| Described { name: measure.to_string(), unit: unit(measure) }).collect()
}

/// What is computed, as far as the options say.
fn entropy(args: &EntropyArgs, window: &Footprint) -> Entropy {
    Entropy::new()
        .footprint(window.clone())
        .measures(args.measures.clone())
        .min_valid(args.min_valid)
        .fill(args.fill_nodata)
        .base(args.base)
        .normalize(args.normalize)
        .kernel(args.kernel.0)
        .edge(args.edge)
}

fn work<T: Real + Number>(job: Job<'_>) -> anyhow::Result<Summary> {
    let Job { args, console, name, mut input, mut mask, several, format, outputs, preview: preview_sink, list, .. } =
        job;
    let (mut chooser, mut summary, window) = (job.chooser, job.summary, job.window);
    let (apart, fit) = (outputs.len() > 1, job.creation.fits_whole_numbers());
    let mut outputs = Outputs::<T>::new(outputs, format, described(args), job.creation, args.decimals, console)?;
    let entropy = entropy(args, &window);
    let (mut preview, mut levels) = (None, 1);
    loop {
        let start = Instant::now();
        if several || summary.samples == 0 {
            console.bytes("reading");
        }
        let Some(mut source) = staged("read", || input.next(args))? else { break };
        if several && (matches!(format, OutputFormat::Npy | OutputFormat::GeoTiff) || preview_sink.is_some()) {
            alone(&mut input, args, format, &name)?;
        }
        summary.seconds.read += start.elapsed().as_secs_f64();
        let nodata = args.nodata_or(source.raster.nodata());
        summary.assume(nodata, args.nodata.is_some(), source.raster.origins());

        let mut mask = if summary.samples == 0 { mask.take() } else { input::mask(args, &mut Vec::new(), console)? };
        if let Some(memory) = args.memory {
            let mask = mask.as_mut().map(|mask| -> &mut dyn Raster { mask.as_mut() });
            raster::set_cache_bytes(source.raster.as_mut(), mask, memory / CACHE_SHARE)?;
        }
        let start = Instant::now();
        let begun = stage("classes");
        let classing = Classing::of(&source, mask.as_deref(), args, list.as_ref(), console)?;
        if summary.samples == 0 {
            classing.tell(&name);
            filling::hint(&source, &classing, args, console)?;
        }
        let given = classing.levels(args);
        let entropy = entropy.clone().levels(given.filter(|_| args.normalize));
        let InputRaster { raster, .. } = source;
        let items = summary.items(args, raster.items());
        let cells = CodedRaster::new(raster, classing.classes.clone(), mask)
            .map_err(|error| classing::explain(error, &name))?;
        drop(begun);
        summary.seconds.classes += start.elapsed().as_secs_f64();
        summary.samples += 1;
        let (rows, cols) = (cells.rows(), cells.cols());
        summary.cells += rows * cols;
        let first = summary.samples == 1;
        (summary.rows, summary.cols) = if first { (Some(rows), Some(cols)) } else { (None, None) };
        summary.classes = first.then(|| classing.report());

        if format == OutputFormat::GeoTiff {
            let stored = stored::stored(args, (apart, fit), (cells.levels(), window.count()))?;
            stored::tell(&stored, args, &mut summary, console);
            outputs.describe(items, stored);
        }
        if preview_sink.is_some() {
            preview = Some(Preview::new(rows, cols)?);
        }
        let mut run = Run {
            args,
            entropy: &entropy,
            window: &window,
            cells: &cells,
            name: &name,
            console,
            chooser: &mut chooser,
        };
        let report = run.run::<T>(&mut outputs, &mut preview, &mut summary)?;
        levels = given.unwrap_or(report.levels);
        summary.kernel = report.kernel.map(Kernel::name).or(summary.kernel);
        // Without bands no device took part.
        if report.bands > 0 {
            *summary.kernel_seconds.get_or_insert(0.0) += report.kernel_seconds;
        }
    }
    let start = Instant::now();
    let begun = stage("finish files");
    let mut sinks = outputs.finish()?;
    if let (Some(preview), Some(sink)) = (preview, preview_sink) {
        let (max, unit) = scale(args, levels, &window);
        sinks.push(draw(preview, sink, max, unit)?);
    }
    sink::commit(sinks)?;
    drop(begun);
    summary.seconds.write += start.elapsed().as_secs_f64();
    summary.seconds.device = chooser.seconds;
    staged("close devices", || drop(chooser));
    summary.cells_per_second = summary.cells as f64 / summary.seconds.compute;
    Ok(summary)
}

/// Makes sure that there is no other sample, where the output takes but one.
fn alone(input: &mut Input<'_>, args: &EntropyArgs, format: OutputFormat, name: &str) -> anyhow::Result<()> {
    match (input.next(args)?, format) {
        (None, _) => Ok(()),
        (Some(_), OutputFormat::Npy) => {
            bail!("{name}: there are several samples, and an NPY file holds one; choose --of seed-lines")
        }
        (Some(_), OutputFormat::GeoTiff) => {
            bail!("{name}: there are several samples, and a GeoTIFF holds one; choose --of seed-lines")
        }
        (Some(_), _) => bail!("{name}: there are several samples, and a preview shows one; leave out --preview"),
    }
}

/// One raster's computation.
struct Run<'a> {
    args: &'a EntropyArgs,
    entropy: &'a Entropy,
    window: &'a Footprint,
    cells: &'a CodedRaster,
    name: &'a str,
    console: &'a Console,
    chooser: &'a mut Chooser,
}

impl Run<'_> {
    fn run<T: Real + Number>(
        &mut self,
        outputs: &mut Outputs<'_, T>,
        preview: &mut Option<Preview>,
        summary: &mut Summary,
    ) -> anyhow::Result<Report> {
        let (rows, cols) = (self.cells.rows(), self.cells.cols());
        let bytes = size_of::<T>() * self.args.measures.len();
        let size = self.window.rows().max(self.window.cols());
        let sums = self.entropy.comes_from_sums();
        let workload = || Workload { cells: rows * cols, size, levels: self.cells.levels(), bytes, sums };
        let mut chosen = self.chooser.engine(workload, self.console)?;
        let start = Instant::now();
        let begun = stage("compute");
        let report = loop {
            self.console.cells("computing", (rows * cols) as u64);
            let sink = outputs.sink((rows, cols), self.cells.georeference(), preview.as_mut())?;
            let result = match self.args.kernel.0 {
                Some(Kernel::Custom(_)) => self.in_memory(&chosen.engine, sink)?,
                _ => self.entropy.stream(&chosen.engine, self.cells, sink, self.args.memory, self.console),
            };
            match result {
                Ok(report) => break report,
                // A grid that no kernel takes, or a device that is not up to it: the CPU engine takes any.
                Err(error) if error.is_for_cpu() && !outputs.begun() => {
                    match self.chooser.fall_back(&error.to_string(), self.console) {
                        Some(cpu) => chosen = cpu,
                        None => return Err(explain(error, self.name)),
                    }
                }
                Err(error) => return Err(explain(error, self.name)),
            }
        };
        drop(begun);
        let seconds = start.elapsed().as_secs_f64();
        summary.seconds.compute += seconds;
        tracing::debug!(
            "computed {rows} x {cols} cells in {seconds:.6} s on {}, in {} bands, {} cells of them on the CPU",
            chosen.name,
            report.bands,
            report.cpu_cells
        );
        summary.device = chosen.name;
        Ok(report)
    }

    /// A rung, which takes and gives whole grids.
    fn in_memory<T: Real + Number>(
        &self,
        engine: &halotile::entropy::Engine,
        mut sink: Box<dyn ResultSink<T> + '_>,
    ) -> anyhow::Result<Result<Report, Error>> {
        let (rows, cols) = (self.cells.rows(), self.cells.cols());
        if self.cells.classes().width() > 1 {
            bail!(
                "{}: kernel {} is a rung, which counts up to 256 classes, no data among them; leave out --kernel",
                self.name,
                self.args.kernel.0.map_or("", Kernel::name)
            );
        }
        let memory = |error| anyhow!("{}: {error}; take a smaller grid or leave out --kernel", self.name);
        let mut codes = Grid::<u8>::zeros(rows, cols).map_err(memory)?;
        self.cells.read_into(0..rows, 0..cols, codes.view_mut().into())?;
        let mut results = Grid::<T>::zeros(rows, cols).map_err(memory)?;
        let entropy = self.entropy.clone().nodata(self.cells.nodata_code());
        let report = match entropy.compute_into(engine, codes.view(), results.view_mut(), self.console) {
            Ok(report) => report,
            Err(error) => return Ok(Err(error)),
        };
        let band = sink.block().0.clamp(1, rows);
        for first in (0..rows).step_by(band) {
            sink.write(first, 0, &[results.view().band(first..rows.min(first + band))])?;
        }
        sink.finish()?;
        Ok(Ok(report))
    }
}

/// Says what to do about it, where that is something that an option does.
fn explain(error: Error, name: &str) -> anyhow::Error {
    let advice = match &error {
        Error::KernelMisfit { .. } => "choose another kernel or auto",
        Error::NoKernel { .. } | Error::TooWide { .. } => "choose --device cpu",
        Error::Memory { .. } => "allow more with --memory, or take a smaller window",
        Error::Threads(_) => "allow more processes or memory (ulimit -u, ulimit -v), or fewer --threads",
        // It names the file that it is about.
        Error::File(_) => return error.into(),
        _ => return anyhow::Error::from(error).context(name.to_owned()),
    };
    anyhow!("{name}: {error}; {advice}")
}

/// The largest value that a measure can have in windows of `cells` cells with so many `levels`, in its unit.
fn bound(args: &EntropyArgs, measure: Measure, levels: usize, cells: usize) -> f64 {
    // More classes than cells do not occur at once.
    let bound = measure.bound(levels.min(cells));
    match measure {
        Measure::Shannon if args.normalize => bound / (levels.max(2) as f64).ln(),
        Measure::Shannon | Measure::Renyi(_) => bound / args.base.ln(),
        _ => bound,
    }
}

/// The largest value that the first measure can have with so many classes, for the preview, and what heads its legend.
fn scale(args: &EntropyArgs, levels: usize, window: &Footprint) -> (f64, &'static str) {
    let measure = args.measures[0];
    let unit = match measure {
        Measure::Shannon => unit(args),
        Measure::Renyi(_) => args.base.unit(),
        Measure::Simpson => "simpson",
        Measure::Richness | Measure::Hill(_) => "classes",
        Measure::Evenness => "evenness",
    };
    (bound(args, measure, levels, window.count()), unit)
}

fn draw(preview: Preview, mut sink: Sink, max: f64, unit: &str) -> anyhow::Result<Sink> {
    let name = sink.name();
    let mut file = BufWriter::new(&mut sink);
    preview.write(&mut file, max, unit).and_then(|()| file.flush()).map_err(|e| write_failed(&name, e))?;
    drop(file);
    Ok(sink)
}
