//! `cargo xtask fuzz`: searches for inputs that break a promise.
//!
//! The targets are functions of the crate `halotile-fuzz`; libFuzzer calls them, millions of times, with inputs that it changes a little
//! each time and keeps where they reach new code. One program has all targets, so that there is one thing to build. libFuzzer's
//! source comes with the crate `libfuzzer-sys` and takes a C++ compiler. What counts coverage is a pass of LLVM that stable rustc has; so
//! the search needs no other toolchain than the tests. cargo-fuzz would add nothing but another thing to install, and wants a nightly one.
//!
//! Inputs that the search has kept lie below the target directory, and the next run goes on from them; `fuzz/corpus` is only read. A
//! finding is written there too: mend the fault, and put the input into `fuzz/regressions/TARGET/`, where `cargo test` runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, bail};

use crate::workspace::{cargo, output, print, root, succeed, target_dir};

/// What rustc is told: coverage of edges by counters, and the table of where they are. The rest are checks that the search is for.
const FLAGS: [&str; 7] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
    "-Cforce-frame-pointers=yes",
];

/// What a target's process may take, in MiB: the limits of single targets are far lower and are checked by the targets themselves.
const RESIDENT: u64 = 2048;

/// Seconds after which one input counts as a hang.
const LONGEST: u64 = 20;

#[derive(clap::Args)]
pub struct Options {
    /// Only this target
    target: Option<String>,
    /// Seconds for each target
    #[arg(long, value_name = "S", default_value = "60", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Targets that run at a time; by default one a core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=256))]
    jobs: Option<u64>,
    /// Look for errors of memory too, with AddressSanitizer: half as fast
    #[arg(long)]
    address_sanitizer: bool,
}

/// What came of a target.
#[derive(Default)]
struct Outcome {
    name: String,
    executions: u64,
    /// Edges that the inputs it began with reach, and those that it ended with do.
    coverage: [u64; 2],
    resident: u64,
    seconds: f64,
    crashes: usize,
    /// Where libFuzzer's own report lies.
    log: PathBuf,
}

pub fn run(options: &Options) -> Result<()> {
    let names = targets(options.target.as_deref())?;
    compiler()?;
    let built = target_dir()?.join(if options.address_sanitizer { "fuzz-asan" } else { "fuzz" });
    let engine = build(&built, options.address_sanitizer)?;
    let jobs = match options.jobs {
        Some(jobs) => jobs as usize,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    // From the end, so that they run in their order.
    let waiting = Mutex::new(names.into_iter().rev().collect::<Vec<_>>());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let worker = || -> Result<()> {
            loop {
                let Some(name) = waiting.lock().expect("no worker has panicked").pop() else { return Ok(()) };
                let outcome = search(&engine, &built, &name, options.seconds)?;
                print(&line(&outcome))?;
                done.lock().expect("no worker has panicked").push(outcome);
            }
        };
        print(&heading())?;
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker has panicked"))
    })?;
    report(&done.into_inner()?)
}

/// All targets, or the one asked for: the folders of `fuzz/corpus`, of which there is one a target (a test looks).
fn targets(only: Option<&str>) -> Result<Vec<String>> {
    let corpus = root().join("fuzz/corpus");
    let mut names = Vec::new();
    for entry in fs::read_dir(&corpus).with_context(|| format!("cannot read {}", corpus.display()))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    match only {
        Some(name) if !names.iter().any(|known| known == name) => {
            bail!("there is no target {name}; the targets are {}", names.join(", "))
        }
        Some(name) => Ok(vec![name.to_owned()]),
        None => Ok(names),
    }
}

/// Whether there is a compiler for libFuzzer, which is C++.
pub fn compiler() -> Result<()> {
    let name = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    match output(Command::new(&name).arg("--version")) {
        Ok(_) => Ok(()),
        Err(error) => bail!(
            "libFuzzer is built by a C++ compiler, and {name} does not run ({error:#}). Install one:\n  \
             cargo xtask tools --fuzz\nor name one in CXX"
        ),
    }
}

/// Builds the program; returns where it is.
fn build(built: &Path, address_sanitizer: bool) -> Result<PathBuf> {
    let host = output(Command::new("rustc").arg("-vV"))?;
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let mut flags = FLAGS.to_vec();
    let mut build = cargo();
    if address_sanitizer {
        // Stable rustc has it, and calls it unstable.
        flags.push("-Zsanitizer=address");
        build.env("RUSTC_BOOTSTRAP", "1");
    }
    // With a target named, build scripts and macros are compiled without the flags.
    build.args(["build", "--quiet", "--package", "halotile-fuzz", "--bin", "fuzz-engine", "--features", "libfuzzer"]);
    build.args(["--profile", "fuzz", "--target", host, "--target-dir"]).arg(built);
    succeed(build.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")))?;
    Ok(built.join(host).join("fuzz/fuzz-engine"))
}

/// Runs one target.
fn search(engine: &Path, built: &Path, name: &str, seconds: u64) -> Result<Outcome> {
    let kept = built.join("corpus").join(name);
    let crashes = built.join("crashes").join(name);
    for folder in [&kept, &crashes] {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let before = count(&crashes);
    let log = built.join(format!("{name}.log"));
    let file = fs::File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
    let mut command = Command::new(engine);
    command.env("HALOTILE_FUZZ", name).env("RUST_BACKTRACE", "1").current_dir(built);
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-rss_limit_mb={RESIDENT}"));
    command.arg(format!("-timeout={LONGEST}")).args(["-print_final_stats=1", "-max_len=8192"]);
    command.arg(format!("-artifact_prefix={}/", crashes.display())).arg(&kept);
    let seeds = ["corpus", "regressions"].map(|kind| root().join("fuzz").join(kind).join(name));
    command.args(seeds.iter().filter(|folder| folder.is_dir()));
    let begun = std::time::Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    let status = command.status().with_context(|| format!("cannot run {}", engine.display()))?;
    let mut outcome = parse(&String::from_utf8_lossy(&fs::read(&log)?));
    (outcome.name, outcome.seconds, outcome.log) = (name.to_owned(), begun.elapsed().as_secs_f64(), log);
    outcome.crashes = count(&crashes) - before.min(count(&crashes));
    // The same finding has the same name.
    outcome.crashes = outcome.crashes.max(usize::from(!status.success()));
    Ok(outcome)
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// The figures in what libFuzzer says.
fn parse(log: &str) -> Outcome {
    let stat = |name: &str| {
        let found = log.lines().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name)?.strip_prefix(':'));
        found.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    };
    // `#123 INITED cov: 45 ft: 67 ...`, and the like with the last line that has it.
    let covered = |line: &str| line.split_once("cov: ")?.1.split_whitespace().next()?.parse().ok();
    let first = log.lines().find(|line| line.contains("INITED")).and_then(covered).unwrap_or(0);
    let last = log.lines().filter(|line| line.starts_with('#')).filter_map(covered).next_back().unwrap_or(first);
    Outcome {
        executions: stat("number_of_executed_units"),
        coverage: [first, last],
        resident: stat("peak_rss_mb"),
        ..Outcome::default()
    }
}

fn heading() -> String {
    format!(
        "{:<20} {:>12} {:>10} {:>8} {:>8} {:>8} {:>9}\n",
        "target", "executions", "a second", "edges", "new", "crashes", "peak MiB"
    )
}

fn line(outcome: &Outcome) -> String {
    let Outcome { name, executions, coverage: [first, last], resident, seconds, crashes, .. } = outcome;
    let rate = *executions as f64 / seconds.max(1e-3);
    format!(
        "{name:<20} {executions:>12} {rate:>10.0} {last:>8} {:>8} {crashes:>8} {resident:>9}\n",
        last - first.min(last)
    )
}

/// The total; an error where there was a finding.
fn report(outcomes: &[Outcome]) -> Result<()> {
    let executions: u64 = outcomes.iter().map(|outcome| outcome.executions).sum();
    let found: Vec<_> = outcomes.iter().filter(|outcome| outcome.crashes > 0).collect();
    print(&format!("{} targets, {executions} executions, {} with findings\n", outcomes.len(), found.len()))?;
    if found.is_empty() {
        return Ok(());
    }
    let told: Vec<_> = found.iter().map(|outcome| format!("{} ({})", outcome.name, outcome.log.display())).collect();
    bail!("there are findings: {}; the inputs are in the folder crashes beside the reports", told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_in_a_report() {
        let log = "INFO: seed corpus\n#5\tINITED cov: 120 ft: 130 corp: 4/40b\n#900\tNEW    cov: 150 ft: 160\n\
                   #1000\tDONE   cov: 151 ft: 161\nstat::number_of_executed_units: 1000\nstat::peak_rss_mb:   61\n";
        let outcome = parse(log);
        assert_eq!((outcome.executions, outcome.coverage, outcome.resident), (1000, [120, 151], 61));
        let line = line(&Outcome { name: "png".into(), seconds: 2.0, ..outcome });
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["png", "1000", "500", "151", "31", "0", "61"]);
        assert_eq!(parse("panicked before anything was done").coverage, [0, 0]);
    }

    #[test]
    fn targets_are_the_folders_of_the_corpus() {
        assert!(targets(None).unwrap().contains(&"geotiff".to_owned()));
        assert!(targets(Some("nothing")).unwrap_err().to_string().contains("the targets are"));
    }
}
