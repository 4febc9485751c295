//! Random whole runs of the program, disturbed and checked: `cargo xtask soak`.
//!
//! ```text
//! map ──── a grid of numbers and what its file says of it ── files ── as GeoTIFF, NPY, PNG, PGM or text
//! case ─── options for it ──────── oracle ── what the definition says, cell by cell, in f64
//! graph ── the same for shortest paths
//! disturb ─ signals, full disks, limits, closed pipes, a second writer, a reader, an input that is cut
//! run ───── starts the program, waits, and looks at how it ended, at what it said and at what it left
//! ```
//!
//! Nothing here comes from the library but the writers of GeoTIFF and PNG, and the reader of results in GeoTIFF: the oracle is code of its own.
//!
//! A run is right when its exit code is one that the help names (or it died of the signal that was sent), stderr has only lines that begin
//! with the program's name, no temporary file is left, and the output is whole and right, or absent, or what was there before.

mod case;
mod disturb;
mod files;
mod graph;
mod map;
mod oracle;
mod run;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::cases::SplitMix64;

/// Choices by a seed.
pub struct Random(SplitMix64);

impl Random {
    /// The numbers that a seed stands for.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64(seed))
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.0.next() % end as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn number(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// True every other time.
    pub fn flip(&mut self) -> bool {
        self.once_in(2)
    }

    /// One of these.
    pub fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// What is run, and for how long.
pub struct Plan {
    /// The program.
    pub bin: PathBuf,
    /// How long runs are begun.
    pub time: Duration,
    /// The seed of the first run; run i has this plus i.
    pub seed: u64,
    /// Runs at a time.
    pub jobs: usize,
    /// One run and no more: that of the seed.
    pub once: bool,
}

/// How a run came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ended {
    /// Done, and right in so many cells.
    Right(u64),
    /// Refused, as it had to be.
    Refused,
    /// Stopped by what disturbed it, as it may be.
    Stopped,
}

/// Runs of a kind.
#[derive(Default)]
struct Count {
    runs: u64,
    right: u64,
    refused: u64,
    stopped: u64,
    failures: u64,
}

/// Runs until the time is over. Returns the number of failures; each has printed its seed, its folder and its command lines.
pub fn soak(plan: &Plan) -> Result<u64> {
    let folder = tempfile::Builder::new().prefix("halotile-soak-").tempdir().context("cannot make a folder")?;
    let bin = std::fs::canonicalize(&plan.bin).with_context(|| format!("no program {}", plan.bin.display()))?;
    let tools = disturb::Tools::find(folder.path());
    println!("seed {}, {} at a time, {} minutes; {tools}", plan.seed, plan.jobs, plan.time.as_secs() / 60);
    let (next, cells) = (AtomicU64::new(plan.seed), AtomicU64::new(0));
    let counts = Mutex::new(BTreeMap::<&'static str, Count>::new());
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..plan.jobs {
            scope.spawn(|| {
                while begun.elapsed() < plan.time {
                    let seed = next.fetch_add(1, Relaxed);
                    if plan.once && seed > plan.seed {
                        break;
                    }
                    let (kind, ended) = one(seed, folder.path(), &bin, &tools);
                    let mut counts = counts.lock().expect("no run panics while it counts");
                    let count = counts.entry(kind).or_default();
                    count.runs += 1;
                    match ended {
                        Ok(Ended::Right(checked)) => {
                            count.right += 1;
                            cells.fetch_add(checked, Relaxed);
                        }
                        Ok(Ended::Refused) => count.refused += 1,
                        Ok(Ended::Stopped) => count.stopped += 1,
                        Err(error) => {
                            count.failures += 1;
                            println!("FAILED: {kind}, seed {seed}: {error:#}");
                        }
                    }
                }
            });
        }
    });
    let counts = counts.into_inner()?;
    println!("{:<24} {:>8} {:>8} {:>8} {:>8} {:>8}", "kind", "runs", "right", "refused", "stopped", "failures");
    let mut sum = Count::default();
    let line = |kind: &str, c: &Count| {
        println!("{kind:<24} {:>8} {:>8} {:>8} {:>8} {:>8}", c.runs, c.right, c.refused, c.stopped, c.failures);
    };
    for (kind, count) in &counts {
        line(kind, count);
        sum.runs += count.runs;
        sum.right += count.right;
        sum.refused += count.refused;
        sum.stopped += count.stopped;
        sum.failures += count.failures;
    }
    line("all", &sum);
    println!("{} cells checked in {:.1} minutes", cells.into_inner(), begun.elapsed().as_secs_f64() / 60.0);
    tools.close();
    if sum.failures > 0 {
        println!("the folders of failures are kept in {}", folder.keep().display());
    }
    Ok(sum.failures)
}

/// A run in a folder of its own, which stays where it fails.
fn one(seed: u64, folder: &Path, bin: &Path, tools: &disturb::Tools) -> (&'static str, Result<Ended>) {
    let mut random = Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let place = folder.join(format!("run-{seed}"));
    if let Err(error) = std::fs::create_dir(&place) {
        return ("none", Err(error.into()));
    }
    let runner = run::Runner::new(bin, &place);
    let (kind, ended) = match random.below(20) {
        0..=2 => ("paths", graph::run(&mut random, &runner)),
        3 => ("large", case::large(&mut random, &runner)),
        4 => ("refused", case::refused(&mut random, &runner)),
        5..=9 => ("entropy", case::plain(&mut random, &runner)),
        _ => disturb::run(&mut random, &runner, tools),
    };
    let ended = ended.with_context(|| format!("{}; {}", place.display(), runner.said()));
    if ended.is_ok() {
        // What is left there is no part of the result.
        let _ = std::fs::remove_dir_all(&place);
    }
    (kind, ended)
}
