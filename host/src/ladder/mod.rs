//! The ladders: moving-window entropy step by step, each step a rung that can be run, verified and timed beside the one
//! before it.
//!
//! | rungs | what they are | where |
//! |---|---|---|
//! | v0..v9, b0..b9 and ours | kernels | `device` and `launch`, and `kernels/src/ladder` |
//! | v10..v13, b10 | functions on the CPU | `cpu` |
//! | v14 | plans over several devices and the CPU | `plan` |
//!
//! All of them compute 5 × 5 windows of up to 16 levels without nodata, as their sources do; borders are right in all.

use std::hash::{Hash, Hasher};

pub(crate) mod cpu;
pub(crate) mod device;
pub(crate) mod launch;
pub(crate) mod plan;

/// A rung: one step of a ladder.
#[derive(Debug)]
pub struct Rung {
    /// Its name: "v7".
    pub name: &'static str,
    /// The name of the rung (or production kernel) that it changes something about.
    pub before: Option<&'static str>,
    /// What it changes, in a few words.
    pub idea: &'static str,
    pub(crate) how: How,
}

/// What runs a rung.
#[derive(Debug)]
pub(crate) enum How {
    /// A kernel.
    Device(device::DeviceRung),
    /// A function on the CPU.
    Cpu(cpu::CpuRung),
    /// A plan over devices and the CPU.
    Plan(plan::PlanRung),
}

// A rung is its name: there are no two of one name.
impl PartialEq for Rung {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
impl Eq for Rung {}
impl Hash for Rung {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// All rungs, each ladder in order.
pub fn rungs() -> impl Iterator<Item = &'static Rung> {
    [device::RUNGS, cpu::RUNGS, plan::RUNGS].into_iter().flatten()
}
