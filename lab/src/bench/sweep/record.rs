//! The results of a sweep, with every raw time, as they are written to JSON: one [`Record`], an object of the fields below.
//!
//! Times are in seconds, rates a second, shares from 0 to 1. What is not known, or does not apply, is null. `schema` changes
//! when a field changes its meaning or goes away.

use serde::{Deserialize, Serialize};

use super::axes::{Axes, Setting};
use super::cliffs::Cliff;
use super::measure::{NODATA, Plan};
use crate::bench::{Ceilings, Effort, Head, Outcome, Target, Times};

/// The version of the schema.
pub const SCHEMA: u32 = 1;

/// What was measured: the machine, the options, the ceilings, the results and the worst cliffs between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What all records begin with; `what` is "sweep".
    #[serde(flatten)]
    pub head: Head,
    /// What was asked for.
    pub options: Options,
    /// The limits, measured in the same run.
    pub ceilings: Ceilings,
    /// A row for each setting, in the order of [`Axes::settings`].
    pub results: Vec<Row>,
    /// The largest ratios between neighbours, the largest first; [`MOST_CLIFFS`](super::MOST_CLIFFS) at most.
    pub cliffs: Vec<Cliff>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Rows of the grid.
    pub rows: usize,
    /// Columns of the grid.
    pub cols: usize,
    /// The pattern of the cells.
    pub pattern: String,
    /// The seed of the cells.
    pub seed: u64,
    /// The code of cells without data, where there are any: 5 in 100, at random (and those that have this code as their class, where there
    /// are 256 classes).
    pub nodata_code: u8,
    /// The axes.
    pub axes: Axes,
    /// How often things ran.
    pub effort: Effort,
}

/// A setting and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What was asked for.
    #[serde(flatten)]
    pub setting: Setting,
    /// The kernel that did the work, as the library chose it; null for the CPU engine, and where nothing was computed.
    pub kernel: Option<String>,
    /// What came of it: `status` is "timed", "wrong" or "skipped", and its fields stand beside.
    #[serde(flatten)]
    pub outcome: Outcome<Timing>,
}

impl Row {
    /// Its times, if it has any.
    pub fn timing(&self) -> Option<&Timing> {
        self.outcome.timed()
    }

    /// True for two that differ in the window's size alone, and stand beside each other in the table.
    pub fn beside(&self, other: &Self) -> bool {
        Setting { size: other.setting.size, ..self.setting } == other.setting
    }
}

/// The times of a setting whose results are right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// From call to return, by the wall clock.
    pub time: Times,
    /// Cells a second at the median.
    pub cells_per_second: f64,
    /// The share of the copy ceiling at the median: 1 byte read and the bytes of a result (4 or 8) written a cell, over what was measured.
    pub share_of_copy: Option<f64>,
    /// What was compared with the definition.
    pub verified: String,
    /// The largest difference found: in nats, or by Hill's number.
    pub largest_difference: f64,
}

impl Record {
    pub(super) fn new(plan: &Plan, target: &Target, commit: Option<String>, ceilings: Ceilings) -> Self {
        Self {
            head: Head::new(SCHEMA, "sweep", target, commit),
            options: Options {
                rows: plan.rows,
                cols: plan.cols,
                pattern: plan.pattern.name().to_owned(),
                seed: plan.seed,
                nodata_code: NODATA,
                axes: plan.axes.clone(),
                effort: plan.effort,
            },
            ceilings,
            results: Vec::new(),
            cliffs: Vec::new(),
        }
    }

    /// The bytes a second that a copy moves where the work is done: on the device, or else on the CPU. `None` in the emulator.
    pub fn copy(&self) -> Option<f64> {
        if self.head.devices.is_empty() { Some(self.ceilings.cpu_copy) } else { self.ceilings.device_copy }
    }
}
