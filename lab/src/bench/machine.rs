//! What all records begin with: the version, the time, the machine and its devices.

use serde::{Deserialize, Serialize};

use super::record::SCHEMA;
use super::target::Target;
use halotile::cpu;

/// What all records begin with: what was measured, when and where. Its fields stand beside the record's others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The version of the record's schema.
    pub schema: u32,
    /// What is measured: "entropy", "apsp", "primer", "sweep".
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
    pub(super) fn new(what: &str, target: &Target, commit: Option<String>) -> Self {
        Self {
            schema: SCHEMA,
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

impl DeviceInfo {
    /// Clocks of all its multiprocessors together in a second, at most.
    pub(super) fn clocks(&self) -> Option<f64> {
        Some(f64::from(self.multiprocessors?) * (f64::from(self.clock_khz?) * 1e3))
    }
}

impl Machine {
    /// This one.
    fn here() -> Self {
        Self {
            cpu: cpu_name(),
            threads: rayon::current_num_threads(),
            instruction_set: cpu::bench::instruction_sets().pop().map(|set| format!("{set:?}")),
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
