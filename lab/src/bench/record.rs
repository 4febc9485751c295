//! The results, with every raw time, as they are written to JSON: one [`Record`], an object of the fields below.
//!
//! Times are in seconds, rates a second, shares from 0 to 1. What is not known, or does not apply, is null. `schema` changes
//! when a field changes its meaning or goes away.

use serde::{Deserialize, Serialize};

use super::measure::{Effort, Plan};
use super::target::Target;
use crate::resources;
use halotile::cpu;
use halotile::entropy::Place;

/// The version of the schema.
pub const SCHEMA: u32 = 2;

/// Bytes that every entropy in f32 at least moves for a cell: one read, four written. Shares of the copy ceiling count
/// these, whatever a kernel moves.
pub const BYTES_PER_CELL: usize = 5;

/// How the ceilings are measured, in words.
pub const CEILING: &str = "device: copy within device memory, bytes read + written; cpu: 1 byte read, 4 written a cell";

/// What was measured: the machine, the options, the ceilings and the results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What all records begin with.
    #[serde(flatten)]
    pub head: Head,
    /// What was asked for.
    pub options: Options,
    /// The limits, measured in the same run.
    pub ceilings: Ceilings,
    /// A row for each kernel and shape; all of a shape together.
    pub results: Vec<Row>,
}

/// What the records of all benchmarks begin with: what was measured, when and where. Its fields stand beside the record's others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The version of the record's schema.
    pub schema: u32,
    /// What is measured: "entropy", "apsp", "primer".
    pub what: String,
    /// The version of halotile.
    pub halotile: String,
    /// The commit that it was built from.
    pub commit: Option<String>,
    /// When it began, in UTC, as 2026-11-21T09:30:00Z.
    pub time: String,
    /// The machine.
    pub machine: Machine,
    /// The devices; none where all runs on the CPU. Kernels alone are timed on the first.
    pub devices: Vec<DeviceInfo>,
}

impl Head {
    /// Of a measurement that begins now, on this machine.
    pub(super) fn new(schema: u32, what: &str, target: &Target, commit: Option<String>) -> Self {
        Self {
            schema,
            what: what.to_owned(),
            halotile: env!("CARGO_PKG_VERSION").to_owned(),
            commit,
            time: now(),
            machine: Machine::here(),
            devices: target.infos(),
        }
    }
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The CPU's name, where the system tells.
    pub cpu: Option<String>,
    /// CPU threads that took part.
    pub threads: usize,
    /// The instruction set that the CPU engine chose.
    pub instruction_set: Option<String>,
    /// The operating system and the processor's family: "linux, x86_64".
    pub system: String,
}

/// A device. Of an emulated one only the name is known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// Its number and name: "cuda:0 (NVIDIA H200)".
    pub name: String,
    /// "9.0".
    pub compute_capability: Option<String>,
    /// Multiprocessors.
    pub multiprocessors: Option<u32>,
    /// The clock of the multiprocessors, at most, in kHz.
    pub clock_khz: Option<u32>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The second-level cache, in bytes.
    pub l2_bytes: Option<u64>,
    /// The CUDA version that the driver supports: "13.0".
    pub cuda_version: Option<String>,
    /// The driver's own version, "580.159.04".
    pub driver_version: Option<String>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// The window's side, in cells.
    pub size: usize,
    /// Values are below this.
    pub levels: usize,
    /// The pattern of the cells.
    pub pattern: String,
    /// The seed of the cells.
    pub seed: u64,
    /// How often things ran.
    pub effort: Effort,
}

/// The limits, measured in the same run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// Bytes read plus bytes written in a second by a copy on the first GPU.
    pub device_copy: Option<f64>,
    /// The same by all CPU threads together, reading one byte and writing four for each cell.
    pub cpu_copy: f64,
    /// [`CEILING`].
    pub how: String,
}

/// A kernel, rung or engine on a grid of one shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name; "cpu" is the CPU engine.
    pub kernel: String,
    /// Where it runs: "device", "cpu" or "both".
    pub place: String,
    /// The rung (or kernel) that it changes something about.
    pub before: Option<String>,
    /// What it changes.
    pub idea: Option<String>,
    /// Rows of the grid.
    pub rows: usize,
    /// Columns of the grid.
    pub cols: usize,
    /// What came of it: `status` is "timed", "wrong" or "skipped", and its fields stand beside.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Outcome<T = Timing> {
    /// It is right, and these are its times.
    Timed(Box<T>),
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

impl<T> Outcome<T> {
    /// The times, if there are any.
    pub fn timed(&self) -> Option<&T> {
        match self {
            Self::Timed(timing) => Some(timing),
            _ => None,
        }
    }
}

/// The times of a row that is right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The kernel alone, by the device's clock; or, of what runs on the CPU, the whole.
    pub time: Times,
    /// From host memory to host memory, for kernels that have both.
    pub host_to_host: Option<Times>,
    /// Cells a second at the median of `time`.
    pub cells_per_second: f64,
    /// The share of the copy ceiling at the median of `time`: [`BYTES_PER_CELL`] a cell over what was measured.
    pub share_of_copy: Option<f64>,
    /// Times faster than `before` at this shape; both by the same clock (from host to host, where one of them is no kernel of a
    /// device).
    pub speedup: Option<f64>,
    /// The share of the GPU's threads that is there at once.
    pub occupancy: Option<f64>,
    /// What ptxas says of the kernel on the GPU's architecture.
    pub usage: Option<Usage>,
    /// Copies of the grid, each with a result of its own, that launches took in turn so that the cache does not flatter.
    pub copies: Option<usize>,
    /// Bytes of all these copies; `devices[0].l2_bytes` is the cache.
    pub copies_bytes: Option<usize>,
    /// What was compared with the definition: "every cell", or patches.
    pub verified: String,
    /// The largest difference found, in nats.
    pub largest_difference: f64,
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

/// What measured a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Events on the device (in the emulator: how long it took to emulate).
    Device,
    /// The wall clock.
    Wall,
}

/// Times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// What measured them.
    pub clock: Clock,
    /// The middle one, or the mean of the middle two.
    pub median: f64,
    /// The shortest.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// All of them, in order.
    pub raw: Vec<f64>,
}

impl Times {
    /// Of at least one time.
    pub fn new(clock: Clock, raw: Vec<f64>) -> Self {
        let mut sorted = raw.clone();
        sorted.sort_by(f64::total_cmp);
        let half = sorted.len() / 2;
        let median =
            if sorted.len().is_multiple_of(2) { (sorted[half - 1] + sorted[half]) / 2.0 } else { sorted[half] };
        Self { clock, median, min: sorted[0], max: sorted[sorted.len() - 1], raw }
    }

    /// How many times faster `ours` are than `theirs`, each the times and those from host to host, if there are any: by the clock of the
    /// times if it is the same, from host to host otherwise.
    pub(super) fn speedup(ours: (&Times, Option<&Times>), theirs: (&Times, Option<&Times>)) -> f64 {
        if ours.0.clock == theirs.0.clock {
            return theirs.0.median / ours.0.median;
        }
        let whole = |(times, whole): (&Times, Option<&Times>)| whole.unwrap_or(times).median;
        whole(theirs) / whole(ours)
    }
}

impl Row {
    /// Its times, if it has any.
    pub fn timing(&self) -> Option<&Timing> {
        self.outcome.timed()
    }

    /// How many times faster than `before` it is, by a clock that both have.
    pub(super) fn speedup_over(&self, before: &Row) -> Option<f64> {
        let (ours, theirs) = (self.timing()?, before.timing()?);
        Some(Times::speedup((&ours.time, ours.host_to_host.as_ref()), (&theirs.time, theirs.host_to_host.as_ref())))
    }
}

impl Record {
    pub(super) fn new(plan: &Plan, target: &Target, commit: Option<String>, ceilings: Ceilings) -> Self {
        Self {
            head: Head::new(SCHEMA, "entropy", target, commit),
            options: Options {
                size: plan.size,
                levels: plan.levels,
                pattern: plan.pattern.name().to_owned(),
                seed: plan.seed,
                effort: plan.effort,
            },
            ceilings,
            results: Vec::new(),
        }
    }

    /// The row of a kernel at a shape.
    pub fn row(&self, kernel: &str, rows: usize, cols: usize) -> Option<&Row> {
        self.results.iter().find(|row| row.kernel == kernel && (row.rows, row.cols) == (rows, cols))
    }
}

impl Machine {
    /// This one.
    fn here() -> Self {
        Self {
            cpu: cpu_name(),
            threads: rayon::current_num_threads(),
            instruction_set: cpu::bench::instruction_sets().pop(),
            system: format!("{}, {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

/// The time in UTC, as 2026-11-21T09:30:00Z.
fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The CPU's name, where Linux tells it.
fn cpu_name() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "))?;
    Some(line.1.trim().to_owned())
}

pub(super) fn place_name(place: Place) -> &'static str {
    match place {
        Place::Device => "device",
        Place::Cpu => "cpu",
        Place::Both => "both",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle_two() {
        let times = Times::new(Clock::Wall, vec![4.0, 1.0, 3.0, 9.0]);
        assert_eq!((times.median, times.min, times.max), (3.5, 1.0, 9.0));
        assert_eq!(times.raw, [4.0, 1.0, 3.0, 9.0]);
        assert_eq!(Times::new(Clock::Wall, vec![2.0, 1.0, 5.0]).median, 2.0);
    }

    fn row(kernel: &str, time: Times, host_to_host: Option<f64>) -> Row {
        let timing = Timing {
            time,
            host_to_host: host_to_host.map(|seconds| Times::new(Clock::Wall, vec![seconds])),
            cells_per_second: 1.0,
            share_of_copy: None,
            speedup: None,
            occupancy: None,
            usage: None,
            copies: None,
            copies_bytes: None,
            verified: "every cell".into(),
            largest_difference: 0.0,
        };
        let outcome = Outcome::Timed(Box::new(timing));
        Row { kernel: kernel.into(), place: "cpu".into(), before: None, idea: None, rows: 1, cols: 1, outcome }
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
    fn a_record_is_one_object_with_the_head_first() {
        let head = Head::new(SCHEMA, "entropy", &Target::Cpu, Some("abc".into()));
        let options =
            Options { size: 5, levels: 16, pattern: "random".into(), seed: u64::MAX, effort: Effort::default() };
        let ceilings = Ceilings { device_copy: None, cpu_copy: 0.1, how: CEILING.into() };
        let time = Times::new(Clock::Wall, vec![0.3]);
        let record = Record { head, options, ceilings, results: vec![row("v1", time, Some(0.7))] };
        let json = serde_json::to_string(&record).unwrap();
        let begin = "{\"schema\":2,\"what\":\"entropy\",\"halotile\":\"";
        assert!(json.starts_with(begin), "{json}");
        let names = ["commit", "time", "machine", "devices", "options", "ceilings", "results"];
        let at = names.map(|name| json.find(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{name}: {json}")));
        assert!(at.is_sorted(), "{json}");
        assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
    }

    #[test]
    fn a_row_is_one_flat_object_and_comes_back() {
        for outcome in [
            row("v1", Times::new(Clock::Device, vec![0.5]), Some(1.0)).outcome,
            Outcome::Wrong { reason: "row 1, column 2: 3".into() },
            Outcome::Skipped { reason: "it takes windows of 5 x 5".into() },
        ] {
            let row = Row { outcome, ..row("v1", Times::new(Clock::Wall, vec![1.0]), None) };
            let json = serde_json::to_value(&row).unwrap();
            assert!(json["status"].is_string() && json["kernel"] == "v1", "{json}");
            assert_eq!(serde_json::from_value::<Row>(json).unwrap(), row);
        }
    }
}
