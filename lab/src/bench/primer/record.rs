//! The results, with every raw time, as they are written to JSON: one [`Record`], an object of the fields below.
//!
//! Times are in seconds, rates a second, shares from 0 to 1. What is not known, or does not apply, is null. `schema` changes
//! when a field changes its meaning or goes away.

use serde::{Deserialize, Serialize};

use super::measure::Plan;
use crate::bench::{Effort, Head, Outcome, Target, Times, Usage};
use crate::primer::{Counted, Reading, Work};
use halotile::exec::DeviceError;

/// The version of the schema.
pub const SCHEMA: u32 = 1;

/// Multiplications with addition in f32 that a multiprocessor does in a clock: 128 since compute capability 8.6, and on 9.0.
const FMAS_PER_CLOCK: f64 = 128.0;

/// Where the ceilings are from, in words.
pub const CEILING: &str = "bytes: copy within device memory, read + written, measured; flops: multiprocessors x clock x 128 \
                           multiply-adds in f32, computed from the clock; accesses: one of a warp a clock and multiprocessor, computed; \
                           operations: what NVIDIA publishes for a clock and multiprocessor x clocks, where it does; \
                           transferred: a copy to or from page-locked memory, the faster way, measured; both ways at once may exceed it";

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
    /// A row for each case; all of a topic, size and type of numbers together.
    pub results: Vec<Row>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// The seed of the data.
    pub seed: u64,
    /// How often things ran.
    pub effort: Effort,
}

/// The limits of the device, a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// Bytes read plus bytes written by a copy within its memory.
    pub bytes: Option<f64>,
    /// Floating-point operations in f32, without tensor cores.
    pub flops: Option<f64>,
    /// Accesses of a warp to shared memory.
    pub accesses: Option<f64>,
    /// Clocks of all multiprocessors together, at the clock's highest rate.
    pub clocks: Option<f64>,
    /// Bytes between host and device, in one direction; both at once may exceed it. Measured only where something crosses the bus.
    pub transferred: Option<f64>,
    /// [`CEILING`].
    pub how: String,
}

impl Ceilings {
    /// `bus`: whether that to the host is of interest.
    pub(super) fn new(target: &Target, bus: bool) -> Result<Self, DeviceError> {
        let infos = target.infos();
        let clocks =
            infos.first().and_then(|info| Some(f64::from(info.multiprocessors?) * f64::from(info.clock_khz?) * 1e3));
        Ok(Self {
            bytes: target.copy()?,
            flops: clocks.map(|clocks| clocks * FMAS_PER_CLOCK * 2.0),
            accesses: clocks,
            clocks,
            transferred: if bus { target.bus()? } else { None },
            how: CEILING.to_owned(),
        })
    }

    /// The one for this unit.
    pub fn of(&self, unit: Unit) -> Option<f64> {
        match unit {
            Unit::Bytes => self.bytes,
            Unit::Flops => self.flops,
            Unit::Accesses => self.accesses,
            Unit::Transferred => self.transferred,
            // A case's own, if it has one.
            Unit::Operations | Unit::Launches => None,
        }
    }
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
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
}

impl Unit {
    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Flops => "flops",
            Self::Accesses => "accesses",
            Self::Transferred => "transferred",
            Self::Operations => "operations",
            Self::Launches => "launches",
        }
    }

    pub(super) fn of(work: Work) -> (Self, f64) {
        match work {
            Work::Bytes(count) => (Self::Bytes, count),
            Work::Flops(count) => (Self::Flops, count),
            Work::Accesses(count) => (Self::Accesses, count),
            Work::Transferred(count) => (Self::Transferred, count),
            Work::Operations(count) => (Self::Operations, count),
            Work::Launches(count) => (Self::Launches, count),
        }
    }
}

/// What tells a case from the others of its table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// As "offset".
    pub name: String,
    /// As "3".
    pub value: String,
}

/// A case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The topic.
    pub topic: String,
    /// The size: one to three extents.
    pub size: Vec<usize>,
    /// The type of the numbers.
    pub elements: String,
    /// The kernel.
    pub kernel: String,
    /// What else tells it from others.
    pub parameters: Vec<Parameter>,
    /// The rung that it changes something about.
    pub before: Option<String>,
    /// What it changes, or shows.
    pub idea: String,
    /// What came of it: `status` is "timed", "wrong" or "skipped", and its fields stand beside.
    #[serde(flatten)]
    pub outcome: Outcome<Timing>,
}

/// The times of a row that is right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Of a run.
    pub time: Times,
    /// What `amount` counts.
    pub unit: Unit,
    /// What a run does, at least.
    pub amount: f64,
    /// That over the median of `time`.
    pub per_second: f64,
    /// The share that this is of the ceiling.
    pub share_of_ceiling: Option<f64>,
    /// Times faster than `before` with the same parameters.
    pub speedup: Option<f64>,
    /// What ptxas says of the kernel on the GPU's architecture.
    pub usage: Option<Usage>,
    /// Sets of buffers that runs took in turn.
    pub copies: usize,
    /// What the emulator counts of the kernel's accesses, on a small case of the same parameters.
    pub counted: Option<Counted>,
    /// What else was read.
    pub readings: Vec<Reading>,
    /// What was compared with the oracle.
    pub verified: String,
}

impl Row {
    /// Its times, if it has any.
    pub fn timing(&self) -> Option<&Timing> {
        self.outcome.timed()
    }

    /// Whether another row is in the same table.
    pub fn beside(&self, other: &Row) -> bool {
        (&self.topic, &self.size, &self.elements) == (&other.topic, &other.size, &other.elements)
    }
}

impl Record {
    pub(super) fn new(plan: &Plan, target: &Target, commit: Option<String>, ceilings: Ceilings) -> Self {
        Self {
            head: Head::new(SCHEMA, "primer", target, commit),
            options: Options { seed: plan.seed, effort: plan.effort },
            ceilings,
            results: Vec::new(),
        }
    }
}
