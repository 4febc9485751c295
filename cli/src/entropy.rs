//! `halotile entropy`: read a sample, compute, write, until there are no more; then let the files appear.
//!
//! Everything that can be refused is refused first: the options against each other, the input's name, the outputs (their
//! temporary files are made), the devices. Only then is the input read.

use std::io::{self, BufWriter, Write};
use std::time::Instant;

use anyhow::{Context, anyhow, bail};
use halotile::cpu::Real;
use halotile::entropy::{Entropy, Error, Kernel, Place, Report};
use halotile::grid::{Grid, GridView};
use halotile::io::preview::Preview;
use halotile::io::{InputFormat, Nodata, Number, OutputFormat, ReadOptions, ResultWriter, Sample, write_failed};
use rayon::prelude::*;
use serde::Serialize;

use crate::args::{DeviceArg, EntropyArgs, Precision};
use crate::console::{Console, Watched};
use crate::engine::{Chooser, Load};
use crate::outcome::{Done, Usage};
use crate::sink::{self, Sink};
use crate::source::{self, Source, is_dash};

/// Cells that are written at a time.
const WRITTEN_AT_ONCE: usize = 1 << 21;

/// What `--json` prints.
#[derive(Debug, Default, Serialize)]
struct Summary {
    input: String,
    output: String,
    preview: Option<String>,
    input_format: &'static str,
    output_format: &'static str,
    samples: usize,
    rows: Option<usize>,
    cols: Option<usize>,
    cells: usize,
    size: usize,
    levels: Option<usize>,
    unit: &'static str,
    nodata: Option<String>,
    device: String,
    kernel: Option<&'static str>,
    precision: &'static str,
    threads: usize,
    seconds: Seconds,
    kernel_seconds: Option<f64>,
    cells_per_second: f64,
}

#[derive(Debug, Default, Serialize)]
struct Seconds {
    read: f64,
    device: f64,
    compute: f64,
    write: f64,
    total: f64,
}

/// The files and devices of a run, all of them open.
struct Job<'a> {
    args: &'a EntropyArgs,
    console: &'a Console,
    source: Source,
    format: OutputFormat,
    output: Sink,
    preview: Option<Sink>,
    chooser: Chooser,
}

pub fn run(args: &EntropyArgs) -> anyhow::Result<Done> {
    let start = Instant::now();
    check(args)?;
    let console = Console::new(args.loudness);
    // Said outright: left to itself, rayon takes any number from its environment variable.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if args.threads == 0 { cores } else { args.threads };
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().context("no threads can be started")?;
    let source = Source::open(&args.input, args.input_format)?;
    let format = output_format(args, source.format)?;
    let output = Sink::create(&args.output, args.overwrite)?;
    let preview = args.preview.as_deref().map(|path| Sink::create(path, args.overwrite)).transpose()?;
    let chooser = Chooser::new(&args.device, args.kernel.0)?;
    let precision = args.precision.or(args.kernel.0.map(Precision::of)).unwrap_or(match format {
        OutputFormat::Npy | OutputFormat::GeoTiff => Precision::F32,
        OutputFormat::Text | OutputFormat::SeedLines => Precision::F64,
    });
    let job = Job { args, console: &console, source, format, output, preview, chooser };
    let mut summary = match precision {
        Precision::F32 => work::<f32>(job),
        Precision::F64 => work::<f64>(job),
    }?;
    console.finish();
    summary.precision = precision.name();
    summary.seconds.total = start.elapsed().as_secs_f64();
    report(&summary);
    if args.json {
        let json = serde_json::to_string(&summary).context("the summary cannot be written as JSON")?;
        writeln!(io::stdout(), "{json}").map_err(|e| write_failed("standard output", e))?;
    }
    Ok(Done::Well)
}

/// What the parser cannot see.
fn check(args: &EntropyArgs) -> Result<(), Usage> {
    let fail = |what: &str| Err(Usage(what.to_owned()));
    if args.json && is_dash(&args.output) {
        return fail("--json and the output - would both go to standard output; name a file for the output");
    }
    if let Some(preview) = &args.preview {
        if is_dash(preview) {
            return fail("a preview goes to a file, not to standard output; name one after --preview");
        }
        if sink::same_file(preview, &args.output) {
            return Err(Usage(format!("{}: output and preview are one file; name two", preview.display())));
        }
    }
    match (&args.device, args.kernel.0.map(|kernel| (kernel.place(), kernel))) {
        (DeviceArg::Cpu, Some((Place::Device, kernel))) => Err(Usage(format!(
            "kernel {kernel} runs on a device, not in the CPU engine; leave out --kernel or choose --device cuda or emulator"
        ))),
        (DeviceArg::Cuda(_) | DeviceArg::Emulator(_), Some((Place::Cpu, kernel))) => {
            Err(Usage(format!("kernel {kernel} is a function on the CPU; leave out --device or choose --device cpu")))
        }
        _ => Ok(()),
    }
}

fn output_format(args: &EntropyArgs, input: InputFormat) -> Result<OutputFormat, Usage> {
    if let Some(format) = args.output_format {
        return Ok(format);
    }
    let by_name = match is_dash(&args.output) {
        true => Ok(OutputFormat::Text),
        false => OutputFormat::detect(&args.output),
    };
    match (by_name, input) {
        // Its own text has a line a sample.
        (Ok(OutputFormat::Text), InputFormat::SeedBinary) => Ok(OutputFormat::SeedLines),
        (by_name, _) => by_name.map_err(|error| source::name_the_format(error, "--of")),
    }
}

fn work<T: Real + Number>(job: Job<'_>) -> anyhow::Result<Summary> {
    let Job { args, console, source, format, output, preview: preview_sink, mut chooser } = job;
    let mut summary = Summary {
        input: args.input.display().to_string(),
        output: args.output.display().to_string(),
        preview: args.preview.as_ref().map(|path| path.display().to_string()),
        input_format: source.format.name(),
        output_format: format.name(),
        size: args.size,
        levels: args.levels,
        unit: args.unit(),
        nodata: args.nodata.0.map(show),
        threads: rayon::current_num_threads(),
        ..Summary::default()
    };
    let name = source.name.clone();
    let several = source.format == InputFormat::SeedBinary;
    let options = ReadOptions { nodata: args.nodata.0, levels: args.levels };
    let mut samples = source.samples(options, console);
    let mut writer = Output::<T>::new(output, format, args.decimals, console)?;
    let mut preview = None;
    let mut levels = 1;
    loop {
        let start = Instant::now();
        if several || summary.samples == 0 {
            console.bytes("reading");
        }
        let Some(sample) = samples.next().transpose()? else { break };
        if several && (format == OutputFormat::Npy || preview_sink.is_some()) {
            match samples.next() {
                None => {}
                Some(Err(error)) => return Err(error.into()),
                Some(Ok(_)) if format == OutputFormat::Npy => {
                    bail!("{name}: there are several samples, and an NPY file holds one; choose --of seed-lines")
                }
                Some(Ok(_)) => bail!("{name}: there are several samples, and a preview shows one; leave out --preview"),
            }
        }
        summary.seconds.read += start.elapsed().as_secs_f64();

        let (rows, cols) = (sample.cells.rows(), sample.cells.cols());
        let (grid, report) = compute::<T>(args, &sample, &mut chooser, console, &name, &mut summary)?;
        summary.samples += 1;
        levels = report.levels;
        summary.cells += rows * cols;
        (summary.rows, summary.cols) = if summary.samples == 1 { (Some(rows), Some(cols)) } else { (None, None) };
        summary.kernel = report.kernel.map(Kernel::name).or(summary.kernel);
        // Without bands no device took part.
        if report.bands > 0 {
            *summary.kernel_seconds.get_or_insert(0.0) += report.kernel_seconds;
        }

        let start = Instant::now();
        if preview_sink.is_some() {
            preview = Some(Preview::new(rows, cols)?);
        }
        writer.sample(grid.view(), preview.as_mut())?;
        summary.seconds.write += start.elapsed().as_secs_f64();
    }
    let start = Instant::now();
    let output = writer.finish()?;
    let preview = match (preview, preview_sink) {
        (Some(preview), Some(sink)) => Some(draw(preview, sink, args, levels)?),
        _ => None,
    };
    sink::commit([output].into_iter().chain(preview))?;
    summary.seconds.write += start.elapsed().as_secs_f64();
    summary.seconds.device = chooser.seconds;
    summary.cells_per_second = summary.cells as f64 / summary.seconds.compute;
    Ok(summary)
}

fn compute<T: Real>(
    args: &EntropyArgs,
    sample: &Sample,
    chooser: &mut Chooser,
    console: &Console,
    name: &str,
    summary: &mut Summary,
) -> anyhow::Result<(Grid<T>, Report)> {
    let cells = sample.cells.view();
    let (rows, cols) = (cells.rows(), cells.cols());
    let load = || {
        let highest = || sample.cells.as_slice().par_iter().copied().filter(|&cell| Some(cell) != sample.nodata).max();
        let levels = args.levels.unwrap_or_else(|| highest().map_or(1, |cell| usize::from(cell) + 1));
        Load { cells: rows * cols, size: args.size, levels, bytes: size_of::<T>() }
    };
    let mut chosen = chooser.engine(load, console)?;
    let mut grid =
        Grid::zeros(rows, cols).map_err(|error| anyhow!("{name}: {error}; take a smaller grid or --precision f32"))?;
    let entropy = args.entropy().nodata(sample.nodata);
    let start = Instant::now();
    let mut run = |chosen: &crate::engine::Chosen| {
        console.cells("computing", (rows * cols) as u64);
        entropy.compute_into(&chosen.engine, cells, grid.view_mut(), console)
    };
    let mut result = run(&chosen);
    // A grid that no kernel takes, or a device that is not up to it: the CPU engine takes any.
    if let Err(error @ (Error::NoKernel { .. } | Error::TooWide { .. } | Error::Device(_))) = &result
        && let Some(cpu) = chooser.fall_back(&error.to_string(), console)
    {
        chosen = cpu;
        result = run(&chosen);
    }
    let report = result.map_err(|error| explain(error, name))?;
    let seconds = start.elapsed().as_secs_f64();
    summary.seconds.compute += seconds;
    tracing::debug!(
        "computed {rows} x {cols} cells in {seconds:.6} s on {}, in {} bands, {} cells of them on the CPU",
        chosen.name,
        report.bands,
        report.cpu_cells
    );
    summary.device = chosen.name;
    Ok((grid, report))
}

fn show(nodata: Nodata) -> String {
    match nodata {
        Nodata::Whole(value) => value.to_string(),
        Nodata::Fraction(value) => value.to_string(),
        Nodata::Nan => "nan".to_owned(),
    }
}

/// Says what to do about it, where that is something that an option does.
fn explain(error: Error, name: &str) -> anyhow::Error {
    let advice = match &error {
        Error::KernelMisfit { .. } => "choose another kernel or auto",
        Error::NoKernel { .. } | Error::TooWide { .. } => "choose --device cpu",
        _ => return anyhow::Error::from(error).context(name.to_owned()),
    };
    anyhow!("{name}: {error}; {advice}")
}

fn draw(preview: Preview, mut sink: Sink, args: &EntropyArgs, levels: usize) -> anyhow::Result<Sink> {
    let entropy: Entropy = args.entropy();
    let mut file = BufWriter::new(&mut sink.file);
    preview
        .write(&mut file, entropy.max_value(levels), args.unit())
        .and_then(|()| file.flush())
        .map_err(|e| write_failed(&args.preview.as_deref().map(sink::name_of).unwrap_or_default(), e))?;
    drop(file);
    Ok(sink)
}

/// The file that results go to, band by band.
struct Output<'c, T> {
    writer: ResultWriter<T, BufWriter<Watched<'c, Sink>>>,
    name: String,
    console: &'c Console,
}

impl<'c, T: Number> Output<'c, T> {
    fn new(sink: Sink, format: OutputFormat, decimals: usize, console: &'c Console) -> anyhow::Result<Self> {
        let name = sink.name();
        let file = BufWriter::with_capacity(1 << 16, console.watch(sink));
        let writer = ResultWriter::new(format, file, decimals).map_err(|e| write_failed(&name, e))?;
        Ok(Self { writer, name, console })
    }

    fn sample(&mut self, grid: GridView<'_, T>, mut preview: Option<&mut Preview>) -> anyhow::Result<()> {
        let (rows, cols) = (grid.rows(), grid.cols());
        self.console.cells("writing", (rows * cols) as u64);
        self.writer.begin(rows, cols).map_err(|e| write_failed(&self.name, e))?;
        let band = (WRITTEN_AT_ONCE / cols).max(1);
        for first in (0..rows).step_by(band) {
            let band = grid.band(first..rows.min(first + band));
            self.writer.rows(band).map_err(|e| write_failed(&self.name, e))?;
            if let Some(preview) = &mut preview {
                preview.rows(band)?;
            }
            halotile::observe::Observer::advance(self.console, (band.rows() * cols) as u64);
        }
        Ok(())
    }

    fn finish(self) -> anyhow::Result<Sink> {
        let file = self.writer.finish().and_then(|file| file.into_inner().map_err(io::IntoInnerError::into_error));
        Ok(file.map_err(|e| write_failed(&self.name, e))?.into_inner())
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What `-v` tells.
fn report(summary: &Summary) {
    let Seconds { read, device, compute, write, total } = summary.seconds;
    tracing::info!(
        "seconds: read {read:.3}, open device {device:.3}, compute {compute:.3}, write {write:.3}, total {total:.3}"
    );
    let seconds = summary.kernel_seconds.map(|seconds| format!(" for {seconds:.6} s")).unwrap_or_default();
    let kernel = summary.kernel.map(|kernel| format!(", kernel {kernel}{seconds}"));
    let grids = match (summary.rows, summary.cols) {
        (Some(rows), Some(cols)) => format!("{rows} x {cols} cells"),
        _ => format!("{} cells of {} samples", summary.cells, summary.samples),
    };
    tracing::info!(
        "{grids} in {} on {}{}, {} threads: {:.1} Mcell/s",
        summary.precision,
        summary.device,
        kernel.unwrap_or_default(),
        summary.threads,
        summary.cells_per_second / 1e6
    );
}
