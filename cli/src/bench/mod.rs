//! `halotile bench`: opens what is asked for, has the library verify and time it, prints the table as it grows, and exports.
//!
//! ```text
//! entropy, apsp, primer, sweep    the commands: plans, and how their records are told
//! target                          devices
//! layout                          what is different in telling them
//! figures                         numbers as people read them
//! table                           the table on the terminal
//! export/                         JSON, CSV, Markdown, HTML, behind one trait
//! ```
//!
//! Everything that can be refused is refused first: kernels that do not fit, sizes that memory does not hold, files that
//! cannot be written. The files appear when all is done, a wrong kernel or not; the exit code tells of it.

pub mod apsp;
mod entropy;
pub mod export;
pub mod figures;
#[cfg(test)]
mod golden;
mod layout;
pub mod primer;
mod sweep;
mod table;
mod target;

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow, bail};
use halotile::io::write_failed;
use halotile::observe::Observer;
use halotile_lab::bench::{self, Event, Outcome, Record, Suite};

use crate::args::{BenchArgs, ExportArgs, Loudness, ProfileArgs};
use crate::console::Console;
use crate::files::Roles;
use crate::interrupt;
use crate::machine::{self, memory_available, start_threads};
use crate::outcome::{Done, Usage};
use crate::profile::{self, staged};
use crate::sink::{self, Sink};
use crate::stdout;
use export::Exporter;

pub fn run(args: &BenchArgs) -> anyhow::Result<Done> {
    let BenchArgs { profile, exports, loudness, .. } = args;
    exports.check(profile)?;
    profile::during("bench", profile, exports.overwrite, *loudness, || {
        if args.sweep.sweep { sweep::run(args) } else { entropy::kernels(args) }
    })
}

/// What a command has open while it measures.
struct Session {
    exports: Exports,
    console: Console,
    commit: Option<String>,
}

impl Session {
    /// Opens the files and starts the threads. Without `html` that option is refused by the command line.
    fn new(args: &ExportArgs, html: bool, loudness: Loudness, threads: usize) -> anyhow::Result<Self> {
        let exports = Exports::create(args, html, loudness.quiet)?;
        let console = Console::new(loudness);
        start_threads(threads)?;
        Ok(Self { exports, console, commit: args.commit() })
    }

    /// Has the library do it, and exports what comes of it.
    fn measure(self, suite: &dyn Suite) -> anyhow::Result<Done> {
        let Self { exports, console, commit } = self;
        let mut printed = Ok(());
        let unprinted = AtomicBool::new(false);
        let mut print = exports.printer(&console, &mut printed, &unprinted);
        let mut done = 0;
        let mut watch = |event: Event<'_>| match event {
            Event::Started { record, rows } => {
                print(&layout::of(record).head(record));
                console.steps(rows as u64);
            }
            Event::Begin { record, row } => console.step(&layout::of(record).name(row), done),
            Event::Done(record) => {
                done += 1;
                tell(record);
                print(&layout::of(record).step(record, &record.results));
            }
        };
        let stop = Stop { console: &console, unprinted: &unprinted };
        let result = staged("bench", || bench::run(suite, commit, &mut watch, &stop));
        console.finish();
        if let Ok(record) = &result {
            print(&layout::of(record).end(record));
        }
        drop(print);
        printed?;
        let record = result.map_err(explain)?;
        exports.write(&record)?;
        failures(&record)
    }
}

/// Says in the log what the last row was compared with.
fn tell(record: &Record) {
    let Some((row, timing)) = record.results.last().and_then(|row| Some((row, row.timing()?))) else { return };
    let by = timing.chosen.as_ref().map(|kernel| format!("{kernel}, ")).unwrap_or_default();
    let difference = timing.largest_difference.map(|off| format!(" to {off:.1e}")).unwrap_or_default();
    let (name, runs, copies) = (layout::of(record).name(row), timing.time.raw.len(), timing.copies.unwrap_or(1));
    tracing::info!("{name}: {by}{} right{difference}, {runs} timed runs, {copies} copies in turn", timing.verified);
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

/// Refuses what is larger than memory.
fn in_memory(needed: u128, what: &str, option: &str) -> anyhow::Result<()> {
    if let Some(available) = memory_available().filter(|&available| needed > available.into()) {
        let (needed, available) = (machine::needed(needed), machine::available(available.into()));
        bail!("{what} take {needed} of memory, and {available} are available; choose smaller {option}");
    }
    Ok(())
}

/// What a user can do about it. Errors of entropy are told as the program's other commands tell them, with their exit codes.
fn explain(error: bench::Error) -> anyhow::Error {
    match error {
        bench::Error::Entropy(error @ halotile::entropy::Error::Shape(_)) => anyhow!("{error}; choose smaller --sizes"),
        bench::Error::Entropy(error) => error.into(),
        error => error.into(),
    }
}

/// An error that names all rows that are wrong, each with its first wrong cell.
fn failures(record: &Record) -> anyhow::Result<Done> {
    let wrong = record.results.iter().filter_map(|row| match &row.outcome {
        Outcome::Wrong { reason } => Some(format!("{}, {reason}", layout::of(record).wrong(row))),
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
struct Exports {
    files: Vec<(&'static dyn Exporter, Sink)>,
    /// One of them is standard output: the table goes to stderr, or nowhere.
    dash: bool,
    quiet: bool,
}

impl Exports {
    fn create(args: &ExportArgs, html: bool, quiet: bool) -> anyhow::Result<Self> {
        let asked: [(&'static dyn Exporter, _); 4] = [
            (&export::Json, args.export_json.as_deref()),
            (&export::Csv, args.export_csv.as_deref()),
            (&export::Markdown, args.export_markdown.as_deref()),
            (&export::Html, args.export_html.as_deref().filter(|_| html)),
        ];
        let asked: Vec<_> = asked.into_iter().filter_map(|(to, path)| Some((to, path?))).collect();
        let dash = asked.iter().any(|(_, path)| crate::source::is_dash(path));
        let open = |(to, path): (&'static dyn Exporter, &Path)| Ok((to, Sink::create(path, args.overwrite)?));
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
    fn write(self, record: &Record) -> anyhow::Result<()> {
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
    use halotile::codes::CodesView;
    use halotile::entropy::Error;
    use halotile::grid::Grid;
    use halotile_lab::bench::{Kernels, Running, Subject, SubjectFacts, Target, Values, Way};

    use super::*;
    use crate::args::{Args, Bench, Command};

    /// The CPU engine under another name, with one cell wrong.
    struct Planted(Box<dyn Subject>);

    struct PlantedRun<'a>(Box<dyn Running + 'a>, Grid<f32>);

    impl Subject for Planted {
        fn name(&self) -> &str {
            "planted"
        }
        fn facts(&self) -> SubjectFacts {
            self.0.facts()
        }
        fn start<'a>(&'a self, way: Way, cells: CodesView<'a>) -> Result<Box<dyn Running + 'a>, Error> {
            Ok(Box::new(PlantedRun(self.0.start(way, cells)?, Grid::zeros(cells.rows(), cells.cols())?)))
        }
    }

    impl Running for PlantedRun<'_> {
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
        let exports = Exports::create(&args.exports, true, args.loudness.quiet).unwrap();
        let session = Session { exports, console: Console::new(args.loudness), commit: None };
        let suite = Kernels { plan: &plan, subjects: &subjects, target: &Target::Cpu };
        let error = session.measure(&suite).unwrap_err().to_string();
        assert!(error.starts_with("planted is wrong at 5 x 6, row 1, column 1: "), "{error}");
        assert!(error.ends_with(" off); what is wrong was not timed"), "{error}");
        let read = |path: &str| std::fs::read_to_string(Path::new(path)).unwrap();
        let record = Record::read(read(&json).as_bytes()).unwrap();
        assert!(matches!(record.results[0].outcome, Outcome::Wrong { .. }));
        assert_eq!(record.results[1].timing().unwrap().time.raw.len(), 2);
        assert!(
            layout::of(&record)
                .step(&record, &record.results[..1])
                .contains("\nplanted         WRONG: row 1, column 1: ")
        );
        assert!(read(&csv).contains("\nplanted,cpu,huang,5,6,wrong,\"row 1, column 1: "), "{}", read(&csv));
        assert!(read(&markdown).contains("| planted | **WRONG**: row 1, column 1: "));
        assert!(read(&html).contains("Wrong, and therefore not timed"));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
