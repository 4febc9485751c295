//! `halotile bench entropy`: opens what is asked for, has the library verify and time it, prints the table as it grows, and exports.
//! `apsp` does so for `halotile bench apsp`, `sweep` for `--sweep`.
//!
//! ```text
//! figures     numbers as people read them: the columns of all tables
//! table       the table on the terminal
//! export/     JSON, CSV, Markdown, HTML, behind one trait
//! apsp        shortest paths: what is different about them
//! sweep       a table over all settings, and the largest steps in it
//! ```
//!
//! Everything that can be refused is refused first: kernels that do not fit, sizes that memory does not hold, files that
//! cannot be written. The files appear when all is done, a wrong kernel or not; the exit code tells of it.

pub mod apsp;
pub mod export;
pub mod figures;
#[cfg(test)]
mod golden;
pub mod primer;
mod sweep;
mod table;

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow, bail};
use halotile::choice::Devices;
use halotile::entropy::Error;
use halotile::exec::DeviceError;
use halotile::io::write_failed;
use halotile::observe::Observer;
use halotile_lab::bench::{self, Event, Outcome, Plan, Record, Subject, Target};

use crate::args::{BenchArgs, ExportArgs, ProfileArgs};
use crate::console::Console;
use crate::engine;
use crate::files::Roles;
use crate::interrupt;
use crate::machine::{self, memory_available, start_threads};
use crate::outcome::{Done, Usage};
use crate::profile::{self, staged};
use crate::sink::{self, Sink};
use crate::stdout;
use export::Exporter;

/// Sizes of the grids: one that fits in every cache, one in between, one that fits in none.
const SIZES: [(usize, usize); 3] = [(400, 400), (2560, 2560), (10_240, 10_240)];
/// The emulator takes some microseconds for a cell.
const EMULATED: [(usize, usize); 1] = [(64, 64)];
/// A launch cannot be stopped, and this many cells take the emulator up to a minute.
const MOST_EMULATED: usize = 1 << 20;

pub fn run(args: &BenchArgs) -> anyhow::Result<Done> {
    let BenchArgs { profile, exports, loudness, .. } = args;
    exports.check(profile)?;
    profile::during("bench", profile, exports.overwrite, *loudness, || {
        if args.sweep.sweep { sweep::run(args) } else { kernels(args) }
    })
}

fn kernels(args: &BenchArgs) -> anyhow::Result<Done> {
    let exports = exports(args)?;
    let console = Console::new(args.loudness);
    start_threads(args.threads)?;
    let target = open(&args.device, &console)?;
    let plan = args.plan(if matches!(target, Target::Emulator(_)) { &EMULATED } else { &SIZES });
    check(&plan.shapes, &target)?;
    let mut subjects = bench::kernels(&plan, &target);
    if let Some(names) = &args.kernels.0 {
        subjects.retain(|subject| names.contains(&subject.name()));
        for subject in &subjects {
            if let Some(misfit) = plan.misfit(subject.as_ref())? {
                let advice = match misfit {
                    Error::KernelOnCpu(_) => "; choose --device cuda or emulator",
                    _ => "",
                };
                return Err(Usage(format!("{misfit}{advice}")).into());
            }
        }
    }
    let done = measure(&plan, &subjects, &target, args.exports.commit(), exports, &console);
    drop(subjects);
    staged("close devices", || drop(target));
    done
}

fn exports(args: &BenchArgs) -> anyhow::Result<Exports<Record>> {
    Exports::create(&args.exports, [&export::Csv, &export::Markdown], Some(&export::Html), args.loudness.quiet)
}

/// Has the library do it, and exports what comes of it.
fn measure(
    plan: &Plan,
    subjects: &[Box<dyn Subject>],
    target: &Target,
    commit: Option<String>,
    exports: Exports<Record>,
    console: &Console,
) -> anyhow::Result<Done> {
    let (mut done, mut shape, mut printed) = (0, None, Ok(()));
    let unprinted = AtomicBool::new(false);
    let mut print = exports.printer(console, &mut printed, &unprinted);
    let mut watch = |event: Event<'_>| match event {
        Event::Started { record, rows } => {
            print(&table::head(record));
            console.steps(rows as u64);
        }
        Event::Begin { kernel, rows, cols } => console.step(&format!("{kernel}, {rows} x {cols}"), done),
        Event::Done(row) => {
            done += 1;
            if let Some(timing) = row.timing() {
                tracing::info!(
                    "{} at {} x {}: {} right to {:.1e}, {} timed runs, {} copies in turn",
                    row.kernel,
                    row.rows,
                    row.cols,
                    timing.verified,
                    timing.largest_difference,
                    timing.time.raw.len(),
                    timing.copies.unwrap_or(1)
                );
            }
            let new = shape.replace((row.rows, row.cols)) != shape;
            print(&(if new { table::shape(row) } else { String::new() } + &table::line(row)));
        }
    };
    let stop = Stop { console, unprinted: &unprinted };
    let result = staged("bench", || bench::run(plan, subjects, target, commit, &mut watch, &stop));
    console.finish();
    drop(print);
    printed?;
    let record = result.map_err(explain)?;
    exports.write(&record)?;
    failures(&record)
}

/// Stops the work on Ctrl-C, and when the table's reader is gone. (The bar counts rows, not the cells that an observer hears of.)
struct Stop<'a> {
    console: &'a Console,
    unprinted: &'a AtomicBool,
}

impl Observer for Stop<'_> {
    fn cancelled(&self) -> bool {
        self.console.cancelled() || self.unprinted.load(Ordering::Relaxed)
    }
}

/// The devices asked for. With auto a GPU, if there is one.
fn open(device: &Devices, console: &Console) -> Result<Target, DeviceError> {
    let cuda = |ordinals: &[usize]| -> Result<Target, DeviceError> {
        let gpus = ordinals.iter().map(|&ordinal| engine::open_gpu(ordinal));
        Ok(Target::Cuda(gpus.collect::<Result<_, DeviceError>>()?))
    };
    match device {
        Devices::Cpu => Ok(Target::Cpu),
        Devices::Cuda(ordinals) => cuda(ordinals),
        Devices::Emulator(count) => {
            Ok(Target::Emulator((0..*count).map(engine::open_emulated).collect::<Result<_, _>>()?))
        }
        Devices::Auto => Ok(cuda(&[0]).unwrap_or_else(|error| {
            console.note(&format!("device auto: cpu, because {error}"));
            Target::Cpu
        })),
    }
}

/// Sizes that cannot be done, before anything is allocated.
fn check(shapes: &[(usize, usize)], target: &Target) -> anyhow::Result<()> {
    for &(rows, cols) in shapes {
        let cells = rows * cols;
        if matches!(target, Target::Emulator(_)) && cells > MOST_EMULATED {
            return Err(Usage(format!(
                "{rows} x {cols} cells are more than the {MOST_EMULATED} that the emulator takes here; \
                 choose smaller --sizes"
            ))
            .into());
        }
        // A byte for the cell, and its result, of which f64 is the largest.
        in_memory(cells as u128 * 9, &format!("{rows} x {cols} cells and their results"), "--sizes")?;
    }
    Ok(())
}

/// Refuses what is larger than memory.
fn in_memory(needed: u128, what: &str, option: &str) -> anyhow::Result<()> {
    if let Some(available) = memory_available().filter(|&available| needed > available.into()) {
        let (needed, available) = (machine::needed(needed), machine::available(available.into()));
        bail!("{what} take {needed} of memory, and {available} are available; choose smaller {option}");
    }
    Ok(())
}

fn explain(error: Error) -> anyhow::Error {
    match &error {
        Error::Shape(_) => anyhow!("{error}; choose smaller --sizes"),
        _ => error.into(),
    }
}

/// An error that names everything that is wrong, with its first wrong cell.
fn failures(record: &Record) -> anyhow::Result<Done> {
    wrong(
        record
            .results
            .iter()
            .map(|row| (format!("{} is wrong at {} x {}", row.kernel, row.rows, row.cols), &row.outcome)),
    )
}

/// An error that names all rows that are wrong.
fn wrong<'a, T: 'a>(rows: impl Iterator<Item = (String, &'a Outcome<T>)>) -> anyhow::Result<Done> {
    let wrong = rows.filter_map(|(row, outcome)| match outcome {
        Outcome::Wrong { reason } => Some(format!("{row}, {reason}")),
        _ => None,
    });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() { Ok(Done::Success) } else { bail!("{}; what is wrong was not timed", wrong.join("; ")) }
}

impl ExportArgs {
    /// Refuses two exports in one file, or the profile in one of them.
    fn check(&self, profile: &ProfileArgs) -> Result<(), Usage> {
        Roles::default()
            .written("--export-json", self.export_json.as_deref())
            .written("--export-csv", self.export_csv.as_deref())
            .written("--export-markdown", self.export_markdown.as_deref())
            .written("--export-html", self.export_html.as_deref())
            .written("the profile", profile.profile.as_deref())
            .check()
    }

    /// The commit that the record names.
    fn commit(&self) -> Option<String> {
        self.commit.clone().or_else(|| option_env!("HALOTILE_COMMIT").map(str::to_owned))
    }
}

/// The files to be made of a record, all of them open.
struct Exports<R: 'static> {
    files: Vec<(&'static dyn Exporter<R>, Sink)>,
    /// One of them is standard output: the table goes to stderr, or nowhere.
    dash: bool,
    quiet: bool,
}

impl<R: serde::Serialize> Exports<R> {
    /// As JSON, and in the formats that know what was computed; without `html` that option is refused by the command line.
    fn create(
        args: &ExportArgs,
        [csv, markdown]: [&'static dyn Exporter<R>; 2],
        html: Option<&'static dyn Exporter<R>>,
        quiet: bool,
    ) -> anyhow::Result<Self> {
        let asked: [(Option<&'static dyn Exporter<R>>, _); 4] = [
            (Some(&export::Json), &args.export_json),
            (Some(csv), &args.export_csv),
            (Some(markdown), &args.export_markdown),
            (html, &args.export_html),
        ];
        let asked: Vec<_> = asked.into_iter().filter_map(|(to, path)| Some((to?, path.as_deref()?))).collect();
        let dash = asked.iter().any(|(_, path)| crate::source::is_dash(path));
        let open = |(to, path): (_, &Path)| Ok((to, Sink::create(path, args.overwrite)?));
        let files = asked.into_iter().map(open).collect::<anyhow::Result<_>>()?;
        Ok(Self { files, dash, quiet })
    }

    /// What prints pieces of the table. The first failure is the one to tell, in `printed`, and stops the work.
    fn printer<'a>(
        &'a self,
        console: &'a Console,
        printed: &'a mut anyhow::Result<()>,
        unprinted: &'a AtomicBool,
    ) -> impl FnMut(&str) + 'a {
        move |text| {
            if printed.is_ok() {
                *printed = self.print(console, text);
                unprinted.store(printed.is_err(), Ordering::Relaxed);
            }
        }
    }

    /// Prints a piece of the table where it belongs.
    fn print(&self, console: &Console, text: &str) -> anyhow::Result<()> {
        console.aside(|| match (self.dash, self.quiet) {
            (true, true) => Ok(()),
            (true, false) => {
                // A line that cannot be written is lost, as all of stderr's are.
                let _ = std::io::stderr().write_all(text.as_bytes());
                Ok(())
            }
            _ => interrupt::waiting(|| stdout::print(text.as_bytes())),
        })
    }

    /// Writes all of them, then lets them appear.
    fn write(self, record: &R) -> anyhow::Result<()> {
        let mut sinks = Vec::new();
        for (exporter, mut sink) in self.files {
            let mut bytes = Vec::new();
            exporter.write(record, &mut bytes).with_context(|| sink.name())?;
            let written = interrupt::waiting(|| sink.write_all(&bytes).and_then(|()| sink.flush()));
            written.map_err(|e| write_failed(&sink.name(), e))?;
            sinks.push(sink);
        }
        sink::commit(sinks)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use halotile::grid::{Grid, GridView};
    use halotile_lab::bench::{Facts, Run, Values, Way};

    use super::*;
    use crate::args::{Args, Bench, Command};

    /// The CPU engine under another name, with one cell wrong.
    struct Planted(Box<dyn Subject>);

    struct PlantedRun<'a>(Box<dyn Run + 'a>, Grid<f32>);

    impl Subject for Planted {
        fn name(&self) -> &str {
            "planted"
        }
        fn facts(&self) -> Facts {
            self.0.facts()
        }
        fn start<'a>(&'a self, way: Way, cells: GridView<'a, u8>) -> Result<Box<dyn Run + 'a>, Error> {
            Ok(Box::new(PlantedRun(self.0.start(way, cells)?, Grid::zeros(cells.rows(), cells.cols())?)))
        }
    }

    impl Run for PlantedRun<'_> {
        fn run(&mut self, observer: &dyn Observer) -> Result<f64, Error> {
            self.0.run(observer)
        }
        fn result(&mut self) -> Result<Values<'_>, Error> {
            let Values::F32(right) = self.0.result()? else { panic!("the CPU engine gives f32") };
            self.1 = Grid::from_fn(right.rows(), right.cols(), |r, c| right.row(r)[c]).unwrap();
            self.1.as_mut_slice()[7] += 0.01;
            Ok(Values::F32(self.1.view()))
        }
    }

    /// The files are written, the others timed, and the run has failed.
    #[test]
    fn a_wrong_kernel_is_told_of_and_fails_the_run() {
        let directory = std::env::temp_dir().join(format!("halotile-bench-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
        let (json, csv, markdown, html) = (path("r.json"), path("r.csv"), path("r.md"), path("r.html"));
        let command = "halotile bench entropy --device cpu --sizes 5x6 --runs 2 --overwrite -q";
        let options = [
            ("--export-json", &json),
            ("--export-csv", &csv),
            ("--export-markdown", &markdown),
            ("--export-html", &html),
        ];
        let options = options.iter().flat_map(|(option, path)| [*option, path.as_str()]);
        let args = Args::parse_from(command.split(' ').chain(options));
        let Command::Bench { what: Bench::Entropy(args) } = args.command else { panic!("another command") };
        let plan = args.plan(&[]);
        let subjects: Vec<Box<dyn Subject>> =
            vec![Box::new(Planted(bench::cpu_engine(&plan))), bench::cpu_engine(&plan)];
        let exports = exports(&args).unwrap();
        let console = Console::new(args.loudness);
        let error = measure(&plan, &subjects, &Target::Cpu, None, exports, &console).unwrap_err().to_string();
        assert!(error.starts_with("planted is wrong at 5 x 6, row 1, column 1: "), "{error}");
        assert!(error.ends_with(" off); what is wrong was not timed"), "{error}");
        let read = |path: &str| std::fs::read_to_string(Path::new(path)).unwrap();
        let record: Record = serde_json::from_str(&read(&json)).unwrap();
        assert!(matches!(record.results[0].outcome, Outcome::Wrong { .. }));
        assert_eq!(record.results[1].timing().unwrap().time.raw.len(), 2);
        assert!(table::line(&record.results[0]).starts_with("planted         WRONG: row 1, column 1: "));
        assert!(read(&csv).contains("\nplanted,cpu,,5,6,wrong,\"row 1, column 1: "), "{}", read(&csv));
        assert!(read(&markdown).contains("| planted | **WRONG**: row 1, column 1: "));
        assert!(read(&html).contains("Wrong, and therefore not timed"));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
