//! The results, with every raw time, as they are written to JSON: one [`Record`], an object of the fields below.
//!
//! Times are in seconds, rates a second, shares from 0 to 1. What is not known, or does not apply, is null. `schema` changes
//! when a field changes its meaning or goes away.

use serde::{Deserialize, Serialize};

use super::measure::Plan;
use crate::bench::{DeviceInfo, Effort, Head, Outcome, Target, Times};
use halotile::apsp::{Distance, Weight};

/// The version of the schema.
pub const SCHEMA: u32 = 1;

/// Relaxations of 32 bits that a multiprocessor of a GPU does in a clock at most: sum and minimum as one instruction (VIADDMNMX), as
/// compute capability 9.0 and later have it. Of 16 bits they are twice as many.
pub const PER_CLOCK: f64 = 64.0;

/// Where the ceilings are from, in words.
pub const CEILING: &str = "device: multiprocessors x clock x 64 relaxations (of 16 bits 128), computed from the clock; \
                           cpu: sums and minima in registers on all threads, measured";

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
    /// A row for each kernel and number of vertices; all of a number together.
    pub results: Vec<Row>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Which edges there are: "complete" or "sparse".
    pub graph: String,
    /// The least and the largest weight.
    pub weights: (u32, u32),
    /// The type of weights and distances: "i32", "i16" or "f32".
    pub weight: String,
    /// The seed of the graph.
    pub seed: u64,
    /// How often things ran.
    pub effort: Effort,
}

/// The limits, in relaxations a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// Of all GPUs together.
    pub device: Option<f64>,
    /// Of all CPU threads together.
    pub cpu: f64,
    /// [`CEILING`].
    pub how: String,
}

impl Ceilings {
    pub(super) fn new<T: Distance>(target: &Target) -> Self {
        let of = |info: &DeviceInfo| {
            let clock = f64::from(info.clock_khz?) * 1e3;
            Some(f64::from(info.multiprocessors?) * clock * PER_CLOCK * (4 / size_of::<T>()) as f64)
        };
        let device = target.infos().iter().map(of).sum::<Option<f64>>().filter(|&sum| sum > 0.0);
        Self { device, cpu: halotile::apsp::cpu::ceiling::measure::<T>(), how: CEILING.to_owned() }
    }
}

/// A kernel or the CPU engine on a graph of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name; "cpu" is the CPU engine.
    pub kernel: String,
    /// Where it runs: "device" or "cpu".
    pub place: String,
    /// The rung that it changes something about.
    pub before: Option<String>,
    /// What it changes.
    pub idea: Option<String>,
    /// Vertices of the graph.
    pub vertices: usize,
    /// What came of it: `status` is "timed", "wrong" or "skipped", and its fields stand beside.
    #[serde(flatten)]
    pub outcome: Outcome<Timing>,
}

/// The times of a row that is right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// On devices, from the first launch to the end of the last; on the CPU the whole, by the wall clock.
    pub time: Times,
    /// On devices, the copies of the same runs.
    pub copies: Option<Times>,
    /// On devices, the same runs from host memory to host memory, by the wall clock.
    pub host_to_host: Option<Times>,
    /// The cube of the number of vertices over the median of `time`.
    pub relaxations_per_second: f64,
    /// The share that this is of the ceiling.
    pub share_of_ceiling: Option<f64>,
    /// Times faster than `before` at this size; both by the same clock (from host to host, where one of them runs on the CPU).
    pub speedup: Option<f64>,
    /// What was compared.
    pub verified: String,
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
        let weight = if plan.weight == Weight::Auto { Weight::I32 } else { plan.weight };
        Self {
            head: Head::new(SCHEMA, "apsp", target, commit),
            options: Options {
                graph: plan.graph.name().to_owned(),
                weights: plan.weights,
                weight: weight.name().to_owned(),
                seed: plan.seed,
                effort: plan.effort,
            },
            ceilings,
            results: Vec::new(),
        }
    }

    /// The row of a kernel at a number of vertices.
    pub fn row(&self, kernel: &str, vertices: usize) -> Option<&Row> {
        self.results.iter().find(|row| row.kernel == kernel && row.vertices == vertices)
    }
}
