//! The primer: the classic ladders of GPU optimisation, each rung a kernel of its own, verified and measured.
//!
//! A [`Topic`] is a page of it: a ladder (reduction, transpose, matrix multiply) or a probe (copies at an offset or a stride, banks
//! of shared memory). It makes [`Case`]s, one for each rung and kind of data. The benchmark ([`bench::primer`](crate::bench::primer))
//! starts a case on a device, runs it once, has it checked against its oracle, and only then times it.
//!
//! | file | what |
//! |---|---|
//! | `data` | random numbers for cases, and buffers that launches take in turn |
//! | `predict` | what the emulator counts of a case: bank conflicts, sectors |
//!
//! A file of its own for every topic.

use std::fmt::Debug;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use simt::launch::KernelEntry;

use crate::bench::Clock;
use halotile::exec::{Device, DeviceError, Limits};

pub mod banks;
pub mod clock;
pub mod copy;
mod data;
pub mod divergence;
pub mod instructions;
pub mod matmul;
pub mod overlap;
mod predict;
pub mod reduce;
pub mod transfer;
pub mod transpose;

pub use data::{Elements, random};
pub use predict::{Counted, Sectors, Wavefronts, predict};

/// A page of the primer.
pub struct Topic {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in a line.
    pub title: &'static str,
    /// What a size is: `n`, `ROWSxCOLS`, `MxNxK`.
    pub size: &'static str,
    /// The sizes that are measured where none is asked for: on a GPU, and in the emulator.
    pub sizes: [&'static [Size]; 2],
    /// The types of its numbers; empty where there is only one.
    pub elements: &'static [Elements],
    /// Its kernels, in order.
    pub rungs: fn() -> Vec<&'static str>,
    /// What is to be measured at a size, in the order of the table.
    pub cases: fn(&Ask) -> Vec<Box<dyn Case>>,
}

/// One to three extents. A topic of squares or cubes takes one of them for all.
pub type Size = [usize; 3];

/// All extents that a size stands for: one that was not given is as the one before. One number is the side of a square, or of a cube.
///
/// ```
/// use halotile_lab::primer::extents;
/// assert_eq!(extents([5, 0, 0]), [5, 5, 5]);
/// assert_eq!(extents([5, 6, 0]), [5, 6, 6]);
/// ```
pub fn extents([m, n, k]: Size) -> Size {
    let n = if n == 0 { m } else { n };
    [m, n, if k == 0 { n } else { k }]
}

/// What is asked of a topic.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// The size; extents that were not given are 0.
    pub size: Size,
    /// One of the topic's [`Topic::elements`].
    pub elements: Elements,
    /// What the data depend on.
    pub seed: u64,
}

/// What a run does, which its time is divided by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work {
    /// Bytes read and written at least, however many the kernel moves.
    Bytes(f64),
    /// Floating-point operations in f32, an addition and a multiplication being two.
    Flops(f64),
    /// Accesses of a warp to shared memory.
    Accesses(f64),
    /// Bytes that cross the bus between host and device, in either direction.
    Transferred(f64),
    /// Operations of a lane, as an addition is one.
    Operations(f64),
    /// Launches of a kernel.
    Launches(f64),
}

/// A kernel, or a few, and the data that it works on: a line of a table.
pub trait Case: Debug {
    /// The kernel's name in the table, one of [`Topic::rungs`].
    fn name(&self) -> &'static str;

    /// What else tells the case from others: `[("offset", "3")]`. All cases of a table have the same names in the same order.
    fn parameters(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The rung that it changes something about.
    fn before(&self) -> Option<&'static str> {
        None
    }

    /// What it changes, or shows, in a line.
    fn idea(&self) -> &'static str;

    /// The kernel that does it, or most of it; none where nothing but copies is timed.
    fn kernel(&self) -> Option<&'static KernelEntry>;

    /// What a run does on a device of these limits.
    fn work(&self, limits: &Limits) -> Work;

    /// How much of its work a multiprocessor of this architecture does in a clock, as NVIDIA's documents have it; where there is such a figure, it
    /// is the ceiling.
    fn per_clock(&self, arch: u32) -> Option<f64> {
        let _ = arch;
        None
    }

    /// What measures its runs.
    fn clock(&self) -> Clock {
        Clock::Device
    }

    /// Bytes of device memory that [`start`](Self::start) takes, with `copies` sets of buffers.
    fn bytes(&self, copies: usize) -> usize;

    /// Puts the data on a device: `copies` sets of buffers, which runs take in turn, so that a cache does not flatter. An error is also
    /// what does not fit the device.
    fn start<'a>(&'a self, device: &Arc<dyn Device>, copies: usize) -> Result<Box<dyn Run + 'a>, DeviceError>;
}

/// A case on a device.
pub trait Run {
    /// Runs once. Returns the seconds that it took: the kernels, by the device's clock, or all of it by the wall clock ([`Case::clock`]).
    fn run(&mut self) -> Result<f64, DeviceError>;

    /// Compares what the last run made with the oracle. The inner error says what is wrong, and where. `Ok` says what was compared and how
    /// closely: `every element, exactly`.
    fn check(&mut self) -> Result<Result<String, String>, DeviceError>;

    /// What else there is to tell beside a run's time, known when the timed runs are over: a latency, a clock's own reading.
    fn readings(&mut self) -> Result<Vec<Reading>, DeviceError> {
        Ok(Vec::new())
    }
}

/// A figure beside a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// What it is: "latency".
    pub name: String,
    /// How much.
    pub value: f64,
    /// Of what: "clocks".
    pub unit: String,
}

/// All topics, in the order of the primer.
pub const TOPICS: &[Topic] = &[
    copy::COPY,
    copy::STRIDE,
    banks::BANKS,
    reduce::REDUCE,
    transpose::TRANSPOSE,
    matmul::MATMUL,
    instructions::INSTRUCTIONS,
    divergence::DIVERGENCE,
    transfer::TRANSFER,
    overlap::OVERLAP,
    clock::CLOCK,
];

/// The topic of this name.
pub fn topic(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name == name)
}
