//! What can be timed: anything behind [`Subject`]. Here are the kernels, the rungs of the ladders and the CPU engine.
//!
//! A subject is started on a grid in one of the [`Way`]s it has; what comes of that is run again and again. Its result is asked for
//! before any of its times is: the trait is how tests show that a wrong one is not timed.

use std::time::Instant;

use rayon::prelude::*;

use super::measure::Plan;
use super::record::Usage;
use super::target::Target;
use super::verify::tolerance;
use crate::cpu::Real;
use crate::entropy::{Engine, Entropy, Error, Kernel, Place, Resident};
use crate::exec::DeviceError;
use crate::grid::{Grid, GridView};
use crate::observe::Observer;

/// The name of the CPU engine among the subjects.
pub const CPU_ENGINE: &str = "cpu";

/// What is timed of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A kernel, over a grid that is on the device, by the device's clock.
    Kernel,
    /// From the grid in the host's memory to the result in the host's memory, by the wall clock.
    HostToHost,
}

/// A result.
pub enum Values<'a> {
    /// In f32.
    F32(GridView<'a, f32>),
    /// In f64.
    F64(GridView<'a, f64>),
}

/// What there is to know of a subject before it runs.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Where it runs.
    pub place: Place,
    /// The subject that it changes something about.
    pub before: Option<String>,
    /// What it changes, in a few words.
    pub idea: Option<String>,
    /// Largest difference from the oracle that it may have, in nats.
    pub tolerance: f64,
    /// True when its results are f64.
    pub f64: bool,
    /// What ptxas says of it, on this GPU's architecture.
    pub usage: Option<Usage>,
    /// What is timed of it.
    pub ways: &'static [Way],
}

/// Something that computes entropy and can be timed.
pub trait Subject {
    /// Its name.
    fn name(&self) -> &str;

    /// What there is to know of it.
    fn facts(&self) -> Facts;

    /// Makes it ready to run over `cells`.
    fn start<'a>(&'a self, way: Way, cells: GridView<'a, u8>) -> Result<Box<dyn Run + 'a>, Error>;
}

/// What there is to know of a subject while it runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Details {
    /// Copies of the grid that launches take in turn.
    pub copies: Option<usize>,
    /// Bytes of all of them with their results.
    pub bytes: Option<usize>,
    /// The share of a GPU's threads that is there at once, 0 to 1.
    pub occupancy: Option<f64>,
}

/// A subject that is ready to run over a grid.
pub trait Run {
    /// Runs once. Returns the seconds it took.
    fn run(&mut self, observer: &dyn Observer) -> Result<f64, Error>;

    /// The result of the last run.
    fn result(&mut self) -> Result<Values<'_>, Error>;

    /// What there is to know of it now.
    fn details(&self) -> Details {
        Details::default()
    }
}

/// True for the errors that mean: not this kernel, or not on this device. Everything else has failed.
pub fn is_misfit(error: &Error) -> bool {
    matches!(
        error,
        Error::KernelMisfit { .. }
            | Error::KernelOnCpu(_)
            | Error::NoKernel { .. }
            | Error::TooWide { .. }
            | Error::Device(DeviceError::OutOfMemory { .. })
    )
}

/// The CPU engine, to be timed as `plan` says.
pub fn cpu_engine(plan: &Plan) -> Box<dyn Subject> {
    Box::new(Ours { kernel: None, entropy: plan.entropy(), target: Target::Cpu })
}

/// `kernel` on `target`, to be timed as `plan` says.
pub fn kernel(kernel: Kernel, plan: &Plan, target: &Target) -> Box<dyn Subject> {
    Box::new(Ours { kernel: Some(kernel), entropy: plan.entropy().kernel(kernel), target: target.clone() })
}

/// The CPU engine, then all kernels and rungs.
pub fn kernels(plan: &Plan, target: &Target) -> Vec<Box<dyn Subject>> {
    std::iter::once(cpu_engine(plan)).chain(Kernel::all().map(|k| kernel(k, plan, target))).collect()
}

/// A kernel, a rung, or (without a kernel) the CPU engine.
struct Ours {
    kernel: Option<Kernel>,
    entropy: Entropy,
    target: Target,
}

impl Ours {
    fn place(&self) -> Place {
        self.kernel.map_or(Place::Cpu, Kernel::place)
    }

    fn is_f64(&self) -> bool {
        self.kernel.is_some_and(Kernel::is_f64)
    }

    fn start_as<'a, T: Real>(&'a self, way: Way, cells: GridView<'a, u8>) -> Result<Box<dyn Run + 'a>, Error>
    where
        Filled<T>: AsValues,
    {
        match way {
            Way::Kernel => {
                let devices = self.target.devices();
                let Some(device) = devices.first() else {
                    return Err(Error::KernelOnCpu(self.kernel.map_or(CPU_ENGINE, Kernel::name)));
                };
                let resident = self.entropy.resident::<T>(device, cells, self.target.spread())?;
                let occupancy = occupancy_of(resident.resident_threads(), &self.target);
                Ok(Box::new(Alone { resident, out: Filled::new(cells)?, occupancy }))
            }
            Way::HostToHost => {
                let engine = if self.place() == Place::Cpu { Engine::Cpu } else { self.target.engine() };
                Ok(Box::new(Whole { entropy: &self.entropy, engine, cells, out: Filled::<T>::new(cells)? }))
            }
        }
    }
}

impl Subject for Ours {
    fn name(&self) -> &str {
        self.kernel.map_or(CPU_ENGINE, Kernel::name)
    }

    fn facts(&self) -> Facts {
        let usage = |kernel: Kernel| Usage::of(kernel.entry()?.name, self.target.architecture()?);
        Facts {
            place: self.place(),
            before: self.kernel.and_then(Kernel::before).map(|before| before.name().to_owned()),
            idea: match self.kernel {
                Some(Kernel::Rung(rung)) => Some(rung.idea.to_owned()),
                _ => None,
            },
            tolerance: tolerance(self.kernel, self.is_f64()),
            f64: self.is_f64(),
            usage: self.kernel.and_then(usage),
            ways: match self.place() {
                Place::Device => &[Way::Kernel, Way::HostToHost],
                Place::Cpu | Place::Both => &[Way::HostToHost],
            },
        }
    }

    fn start<'a>(&'a self, way: Way, cells: GridView<'a, u8>) -> Result<Box<dyn Run + 'a>, Error> {
        if self.is_f64() { self.start_as::<f64>(way, cells) } else { self.start_as::<f32>(way, cells) }
    }
}

/// The share that `threads` are of those that the GPU could hold at once. None where there is no GPU.
fn occupancy_of(threads: u32, target: &Target) -> Option<f64> {
    let Target::Cuda(gpus) = target else { return None };
    let gpu = gpus.first()?.description();
    Some(f64::from(threads) / f64::from(gpu.multiprocessors * gpu.threads_per_multiprocessor))
}

/// A kernel on a grid that stays on the device.
struct Alone<T> {
    resident: Resident<T>,
    out: Filled<T>,
    occupancy: Option<f64>,
}

impl<T: Real> Run for Alone<T>
where
    Filled<T>: AsValues,
{
    fn run(&mut self, _observer: &dyn Observer) -> Result<f64, Error> {
        self.resident.launch()
    }

    fn result(&mut self) -> Result<Values<'_>, Error> {
        self.resident.download(self.out.0.view_mut())?;
        Ok(self.out.values())
    }

    fn details(&self) -> Details {
        let (copies, bytes) = (Some(self.resident.copies()), Some(self.resident.bytes()));
        Details { copies, bytes, occupancy: self.occupancy }
    }
}

/// From memory to memory.
struct Whole<'a, T> {
    entropy: &'a Entropy,
    engine: Engine,
    cells: GridView<'a, u8>,
    out: Filled<T>,
}

impl<T: Real> Run for Whole<'_, T>
where
    Filled<T>: AsValues,
{
    fn run(&mut self, observer: &dyn Observer) -> Result<f64, Error> {
        let start = Instant::now();
        self.entropy.compute_into(&self.engine, self.cells, self.out.0.view_mut(), observer)?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn result(&mut self) -> Result<Values<'_>, Error> {
        Ok(self.out.values())
    }
}

/// A place for a result, filled with a number that no entropy has: a cell that nobody writes must not look like one.
struct Filled<T>(Grid<T>);

impl<T: Real> Filled<T> {
    fn new(cells: GridView<'_, u8>) -> Result<Self, Error> {
        let mut grid = Grid::<T>::zeros(cells.rows(), cells.cols())?;
        let mut absurd = T::default();
        bytemuck::bytes_of_mut(&mut absurd).fill(0x7E);
        grid.as_mut_slice().par_chunks_mut(1 << 16).for_each(|part| part.fill(absurd));
        Ok(Self(grid))
    }
}

trait AsValues {
    fn values(&self) -> Values<'_>;
}

impl AsValues for Filled<f32> {
    fn values(&self) -> Values<'_> {
        Values::F32(self.0.view())
    }
}

impl AsValues for Filled<f64> {
    fn values(&self) -> Values<'_> {
        Values::F64(self.0.view())
    }
}
