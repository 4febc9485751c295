//! The results, with every raw time, as they are written to JSON: one [`Record`] for every benchmark, an object of the fields below.
//!
//! Times are in seconds, rates a second, shares from 0 to 1. What is not known, or does not apply, is null. `schema` changes
//! when a field changes its meaning or goes away; records of earlier schemas are still read (`upgrade`).

use serde::{Deserialize, Serialize};

use super::fields::Fields;
use super::machine::Head;
use super::measure::Effort;
use super::sweep::Cliff;
use super::times::Times;
use crate::primer::{Counted, Reading};
use crate::resources;

/// The version of the schema.
pub const SCHEMA: u32 = 3;

/// What was measured: the machine, the options, the ceilings and the results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What all records begin with.
    #[serde(flatten)]
    pub head: Head,
    /// What was asked for.
    pub options: Options,
    /// The limits.
    pub ceilings: Ceilings,
    /// A row for each case; all of a table together.
    pub results: Vec<Row>,
    /// Of a sweep the largest ratios between neighbours, the largest first; [`MOST_CLIFFS`](super::sweep::MOST_CLIFFS) at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cliffs: Vec<Cliff>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// What all rows have in common: of entropy `size`, `levels` and `pattern`; of paths `graph`, `weights` (the least and the largest) and
    /// `weight` (their type); of a sweep `rows`, `cols`, `pattern`, `nodata_code` and `axes`.
    pub work: Fields,
    /// What the data depend on.
    pub seed: u64,
    /// How often things ran.
    pub effort: Effort,
}

/// The limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// Those that are known.
    pub limits: Vec<Limit>,
    /// Where they are from, in words.
    pub how: String,
}

/// A limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Of what: "device" or "cpu".
    pub place: String,
    /// What it counts.
    pub unit: Unit,
    /// So many a second.
    pub per_second: f64,
}

impl Ceilings {
    /// Those that are known among these, each with its place.
    pub fn new(how: &str, limits: impl IntoIterator<Item = (&'static str, Unit, Option<f64>)>) -> Self {
        let known =
            |(place, unit, rate): (&str, Unit, _)| Some(Limit { place: place.to_owned(), unit, per_second: rate? });
        Self { limits: limits.into_iter().filter_map(known).collect(), how: how.to_owned() }
    }

    /// The one of this place and unit.
    pub fn of(&self, place: &str, unit: Unit) -> Option<f64> {
        let found = self.limits.iter().find(|limit| limit.place == place && limit.unit == unit);
        found.map(|limit| limit.per_second)
    }
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Cells of a grid.
    Cells,
    /// Relaxations of shortest paths.
    Relaxations,
    /// Bytes read and written.
    Bytes,
    /// Floating-point operations in f32.
    Flops,
    /// Accesses of a warp to shared memory.
    Accesses,
    /// Bytes between host and device.
    Transferred,
    /// Operations of a lane.
    Operations,
    /// Launches of a kernel.
    Launches,
    /// Clocks of all multiprocessors together.
    Clocks,
}

impl Unit {
    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cells => "cells",
            Self::Relaxations => "relaxations",
            Self::Bytes => "bytes",
            Self::Flops => "flops",
            Self::Accesses => "accesses",
            Self::Transferred => "transferred",
            Self::Operations => "operations",
            Self::Launches => "launches",
            Self::Clocks => "clocks",
        }
    }
}

/// A case: a kernel, rung or engine, and what it worked on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What all rows of its table have: of entropy `rows` and `cols`; of paths `vertices`; of the primer `topic`, `size` (one to three
    /// extents) and `elements`; of a sweep `levels`, `nodata`, `measure`, `shape` and `precision`.
    pub of: Fields,
    /// Its name; "cpu" is the CPU engine, "auto" the library's own choice.
    pub kernel: String,
    /// Where it runs: "device", "cpu" or "both".
    pub place: String,
    /// What else tells it from the others of its table; of a sweep the window's `size`.
    pub parameters: Fields,
    /// The rung (or kernel) that it changes something about.
    pub before: Option<String>,
    /// What it changes, or shows.
    pub idea: Option<String>,
    /// What came of it: `status` is "timed", "wrong" or "skipped", and its fields stand beside.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Outcome {
    /// It is right, and these are its times.
    Timed(Box<Timing>),
    /// It is wrong, and was not timed.
    Wrong {
        /// The first cell that is wrong, or what the emulator found.
        reason: String,
    },
    /// It does not do this work, or not on this device.
    Skipped {
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// Of what did not run.
    pub fn nothing() -> Self {
        Self::Skipped { reason: "there is nothing to time".to_owned() }
    }
}

/// The times of a row that is right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The kernels alone, by the device's clock; or, of what runs on the CPU, the whole.
    pub time: Times,
    /// From host memory to host memory, by the wall clock, for what has both.
    pub host_to_host: Option<Times>,
    /// The copies between host and device of the same runs, where they stand apart.
    pub transfers: Option<Times>,
    /// What `amount` counts.
    pub unit: Unit,
    /// What a run does, at least.
    pub amount: f64,
    /// That over the median of `time`.
    pub per_second: f64,
    /// The share that this is of the ceiling.
    pub share_of_ceiling: Option<f64>,
    /// Times faster than `before` in the same table with the same parameters; both by the same clock (from host to host, where one of them
    /// is no kernel of a device).
    pub speedup: Option<f64>,
    /// The share of the GPU's threads that is there at once.
    pub occupancy: Option<f64>,
    /// What ptxas says of the kernel on the GPU's architecture.
    pub usage: Option<Usage>,
    /// Copies of the data, each with a result of its own, that runs took in turn so that the cache does not flatter.
    pub copies: Option<usize>,
    /// Bytes of all these copies; `devices[0].l2_bytes` is the cache.
    pub copies_bytes: Option<usize>,
    /// The kernel that did the work, where the library chose it; null for the CPU engine.
    pub chosen: Option<String>,
    /// What the emulator counts of the kernel's accesses, on a small case of the same parameters.
    pub counted: Option<Counted>,
    /// What else was read.
    pub readings: Vec<Reading>,
    /// What was compared with the oracle: "every cell", or patches.
    pub verified: String,
    /// The largest difference found.
    pub largest_difference: Option<f64>,
}

impl Timing {
    /// Of runs that do so much each; nothing else is known.
    pub fn new(time: Times, unit: Unit, amount: f64) -> Self {
        Self {
            per_second: amount / time.median,
            time,
            host_to_host: None,
            transfers: None,
            unit,
            amount,
            share_of_ceiling: None,
            speedup: None,
            occupancy: None,
            usage: None,
            copies: None,
            copies_bytes: None,
            chosen: None,
            counted: None,
            readings: Vec::new(),
            verified: String::new(),
            largest_difference: None,
        }
    }
}

/// What a kernel uses, as ptxas reported it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Registers a thread.
    pub registers: u32,
    /// Static shared memory a block, in bytes.
    pub shared_bytes: u32,
    /// Stack a thread, in bytes.
    pub stack_bytes: u32,
    /// Bytes of spilled registers, stored and loaded.
    pub spill_bytes: u32,
}

impl Usage {
    /// Of a kernel on an architecture, as `sm_90`.
    pub(super) fn of(kernel: &str, architecture: &str) -> Option<Self> {
        let used = resources::kernel(kernel, architecture)?;
        Some(Self {
            registers: used.registers,
            shared_bytes: used.shared_bytes,
            stack_bytes: used.stack_bytes,
            spill_bytes: used.spill_stores + used.spill_loads,
        })
    }
}

impl Row {
    /// Its times, if it has any.
    pub fn timing(&self) -> Option<&Timing> {
        match &self.outcome {
            Outcome::Timed(timing) => Some(timing),
            _ => None,
        }
    }

    /// How many times faster than `before` it is: by the clock of the times if both have the same, from host to host otherwise.
    pub(super) fn speedup_over(&self, before: &Row) -> Option<f64> {
        let (ours, theirs) = (self.timing()?, before.timing()?);
        if ours.time.clock == theirs.time.clock {
            return Some(theirs.time.median / ours.time.median);
        }
        let whole = |timing: &Timing| timing.host_to_host.as_ref().unwrap_or(&timing.time).median;
        Some(whole(theirs) / whole(ours))
    }
}

impl Record {
    /// The tables: rows that are of the same stand together.
    pub fn tables(&self) -> impl Iterator<Item = &[Row]> {
        self.results.chunk_by(|a, b| a.of == b.of)
    }

    /// The row that `row` changes something about, among those that are there.
    pub(super) fn before(&self, row: &Row) -> Option<&Row> {
        let before = row.before.as_deref()?;
        let same = |other: &&Row| other.of == row.of && other.parameters == row.parameters && other.kernel == before;
        self.results.iter().find(same)
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::Machine;
    use super::super::times::Clock;
    use super::*;

    fn row(kernel: &str, time: Times, host_to_host: Option<f64>) -> Row {
        let host_to_host = host_to_host.map(|seconds| Times::new(Clock::Wall, vec![seconds]));
        let timing = Timing { host_to_host, ..Timing::new(time, Unit::Cells, 1.0) };
        Row {
            of: Fields::default().with("rows", 1).with("cols", 2),
            kernel: kernel.into(),
            place: "cpu".into(),
            parameters: Fields::default().with("z", "1").with("a", "2"),
            before: None,
            idea: None,
            outcome: Outcome::Timed(Box::new(timing)),
        }
    }

    #[test]
    fn speedups_compare_times_of_one_clock() {
        let v8 = row("v8", Times::new(Clock::Device, vec![0.5]), Some(4.0));
        let v9 = row("v9", Times::new(Clock::Device, vec![0.25]), Some(2.0));
        let v10 = row("v10", Times::new(Clock::Wall, vec![1.0]), None);
        assert_eq!(v9.speedup_over(&v8), Some(2.0));
        assert_eq!(v10.speedup_over(&v9), Some(2.0));
        let wrong = Row { outcome: Outcome::Wrong { reason: "x".into() }, ..v8.clone() };
        assert_eq!(v9.speedup_over(&wrong), None);
    }

    #[test]
    fn a_record_is_one_object_with_the_head_first_and_comes_back_in_order() {
        let machine = Machine { cpu: None, threads: 2, instruction_set: None, system: "linux, x86_64".into() };
        let head = Head {
            schema: SCHEMA,
            what: "entropy".into(),
            halotile: "0.1.0".into(),
            commit: Some("abc".into()),
            time: "2026-11-21T09:30:00Z".into(),
            machine,
            devices: Vec::new(),
        };
        let work = Fields::default().with("size", 5).with("levels", 16).with("pattern", "random");
        let ceilings = Ceilings::new("how", [("device", Unit::Bytes, None), ("cpu", Unit::Bytes, Some(0.1))]);
        assert_eq!((ceilings.limits.len(), ceilings.of("cpu", Unit::Bytes)), (1, Some(0.1)));
        let options = Options { work, seed: u64::MAX, effort: Effort::default() };
        let mut results = vec![row("v1", Times::new(Clock::Wall, vec![0.3]), Some(0.7))];
        for reason in ["row 1, column 2: 3", "it takes windows of 5 x 5"].map(str::to_owned) {
            results.push(Row { outcome: Outcome::Wrong { reason: reason.clone() }, ..results[0].clone() });
            results.push(Row { outcome: Outcome::Skipped { reason }, ..results[0].clone() });
        }
        let record = Record { head, options, ceilings, results, cliffs: Vec::new() };
        let json = serde_json::to_string(&record).unwrap();
        assert!(json.starts_with("{\"schema\":3,\"what\":\"entropy\",\"halotile\":\""), "{json}");
        let names = ["commit", "time", "machine", "devices", "options", "ceilings", "results"];
        let at = names.map(|name| json.find(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{name}: {json}")));
        assert!(at.is_sorted(), "{json}");
        assert!(json.contains("\"parameters\":{\"z\":\"1\",\"a\":\"2\"},\"before\":null"), "{json}");
        assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
        assert_eq!(Record::read(json.as_bytes()).unwrap(), record);
    }
}
