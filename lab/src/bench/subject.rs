//! What computes entropy and can be timed: anything behind [`Subject`]. Here are the kernels, the rungs of the ladders, the CPU engine and the
//! library's own choice; `engine` has the parts of the CPU engine, `huang` its peer, `array` calls on arrays in a device's memory, `pinned` a call
//! over the bus.
//!
//! A subject is started on a grid in one of the [`Way`]s it has; what comes of that is run again and again. With a grid and what the
//! definition says of it a subject is a case: of the benchmark of kernels (`entropy`), or of a sweep. The trait is how tests show that a
//! wrong one is not timed.

use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

mod array;
mod engine;
mod huang;
mod pinned;

pub use huang::HUANG;
pub use pinned::PINNED;

use super::case::{Details, Way};
use super::entropy::Plan;
use super::record::Usage;
use super::target::Target;
use super::verify::{Definition, tolerance};
use crate::entropy::{self, ladder};
use array::OnDevice;
use halotile::codes::CodesView;
use halotile::entropy::{Engine, Entropy, Error, Kernel, Place, Resident};
use halotile::exec::Device;
use halotile::grid::{Grid, GridView};
use halotile::measure::Footprint;
use halotile::numbers::Real;
use halotile::observe::Observer;

/// The name of the CPU engine among the subjects.
pub const CPU_ENGINE: &str = "cpu";

/// Why what counts bytes does not count words.
pub(super) const WORDS: &str = "it counts cells of 8 bits, of which there are up to 256 classes";

/// The cells, for what counts bytes.
fn bytes<'a>(name: &'static str, cells: CodesView<'a>) -> Result<GridView<'a, u8>, Error> {
    match cells {
        CodesView::Bytes(cells) => Ok(cells),
        CodesView::Words(_) => Err(Error::KernelMisfit { kernel: name, reason: WORDS.to_owned() }),
    }
}

/// The name of a subject that leaves the choice of the kernel to the library.
pub const AUTO: &str = "auto";

/// A result.
pub enum Values<'a> {
    /// In f32.
    F32(GridView<'a, f32>),
    /// In f64.
    F64(GridView<'a, f64>),
}

/// What there is to know of a subject before it runs.
#[derive(Debug, Clone)]
pub struct SubjectFacts {
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
    /// True where the first of them is limited by the bus, and not by copies within a memory.
    pub over_bus: bool,
}

/// Something that computes entropy and can be timed.
pub trait Subject {
    /// Its name.
    fn name(&self) -> &str;

    /// What there is to know of it.
    fn facts(&self) -> SubjectFacts;

    /// Makes it ready to run over `cells`.
    fn start<'a>(&'a self, way: Way, cells: CodesView<'a>) -> Result<Box<dyn Running + 'a>, Error>;
}

/// A subject that is ready to run over a grid.
pub trait Running {
    /// Runs once. Returns the seconds it took.
    fn run(&mut self, observer: &dyn Observer) -> Result<f64, Error>;

    /// The result of the last run.
    fn result(&mut self) -> Result<Values<'_>, Error>;

    /// What there is to know of it now.
    fn details(&self) -> Details {
        Details::default()
    }
}

/// The CPU engine, to be timed as `plan` says.
pub fn cpu_engine(plan: &Plan) -> Box<dyn Subject> {
    choice(plan.entropy(), false, &Target::Cpu)
}

/// The library's own choice for `entropy`, which has one measure, on `target`: what a user's call does. On a device from an array in its
/// memory to a result in its memory, otherwise from host memory to host memory.
pub(super) fn choice(entropy: Entropy, f64: bool, target: &Target) -> Box<dyn Subject> {
    Box::new(Ours { kernel: None, entropy, f64, target: target.clone() })
}

/// The part of the CPU engine of this name, if it is one's, which computes what `definition` says.
pub(super) fn engine_part(name: &str, definition: Definition, f64: bool) -> Option<Box<dyn Subject>> {
    let part = engine::part(name)?;
    Some(Box::new(engine::OfEngine { part, what: definition, f64 }))
}

/// The names of the parts of the CPU engine.
pub fn engine_parts() -> impl Iterator<Item = &'static str> {
    engine::PARTS.iter().map(|part| part.name)
}

/// `kernel` on `target`, to be timed as `plan` says.
fn kernel(kernel: Kernel, plan: &Plan, target: &Target) -> Box<dyn Subject> {
    let entropy = plan.entropy().kernel(kernel);
    Box::new(Ours { kernel: Some(kernel), entropy, f64: kernel.is_f64(), target: target.clone() })
}

/// The names of all that a plan can be done by, in the order of the table.
pub fn names() -> impl Iterator<Item = &'static str> {
    let on_cpu = [HUANG, CPU_ENGINE].into_iter().chain(engine_parts());
    let calls = array::CALLS.iter().map(|call| call.name);
    on_cpu.chain([AUTO]).chain(calls).chain([PINNED]).chain(entropy::kernels().map(Kernel::name))
}

/// Those that a table has where none are named: the CPU engine, then all kernels and rungs. The others are the parts of the CPU engine, its peer,
/// and calls of the library, which chooses the kernel.
pub fn usual() -> impl Iterator<Item = &'static str> {
    std::iter::once(CPU_ENGINE).chain(entropy::kernels().map(Kernel::name))
}

/// The one of this name on `target`, to be timed as `plan` says.
///
/// ```
/// use halotile_lab::bench::{self, Effort, Plan, Target};
/// use halotile_lab::generate::Pattern;
/// let plan = Plan { shapes: vec![(40, 30)], pattern: Pattern::Random, seed: 0, levels: 16, size: 5, effort: Effort::runs(1, 3) };
/// assert!(bench::names().all(|name| bench::subject(name, &plan, &Target::Cpu).is_some()));
/// assert!(bench::subject("fastest", &plan, &Target::Cpu).is_none());
/// ```
pub fn subject(name: &str, plan: &Plan, target: &Target) -> Option<Box<dyn Subject>> {
    Some(match name {
        CPU_ENGINE => cpu_engine(plan),
        HUANG => Box::new(huang::Huang::new(plan)),
        AUTO => choice(plan.entropy(), false, target),
        PINNED => Box::new(pinned::Pinned::new(plan, target)),
        name => {
            let definition = || Some(Definition::entropy(Footprint::square(plan.size).ok()?, plan.levels));
            let part = definition().and_then(|definition| engine_part(name, definition, false));
            let call = array::CALLS.iter().find(|call| call.name == name);
            match (part, call) {
                (Some(part), _) => part,
                (_, Some(call)) => Box::new(array::OfCall::new(call, plan, target)),
                _ => kernel(entropy::kernel(name)?, plan, target),
            }
        }
    })
}

/// A kernel, a rung, or (without a kernel) what the library chooses: on the CPU its engine.
struct Ours {
    kernel: Option<Kernel>,
    entropy: Entropy,
    /// Results are f64.
    f64: bool,
    target: Target,
}

impl Ours {
    fn place(&self) -> Place {
        let chosen = if matches!(self.target, Target::Cpu) { Place::Cpu } else { Place::Device };
        self.kernel.map_or(chosen, Kernel::place)
    }

    /// The device that alone does the work, in the ways of one device.
    fn device(&self) -> Result<Arc<dyn Device>, Error> {
        self.target.devices().into_iter().next().ok_or_else(|| Error::KernelOnCpu(self.name_of()))
    }

    fn name_of(&self) -> &'static str {
        match (self.kernel, self.place()) {
            (Some(kernel), _) => kernel.name(),
            (None, Place::Cpu) => CPU_ENGINE,
            (None, _) => AUTO,
        }
    }

    fn start_as<'a, T: Real>(&'a self, way: Way, cells: CodesView<'a>) -> Result<Box<dyn Running + 'a>, Error>
    where
        for<'v> GridView<'v, T>: Into<Values<'v>>,
    {
        match way {
            Way::Kernel => {
                let cells = bytes(self.name_of(), cells)?;
                let resident = self.entropy.resident::<T>(&self.device()?, cells, self.target.spread())?;
                let occupancy = occupancy_of(resident.resident_threads(), &self.target);
                Ok(Box::new(Alone { resident, out: Filled::new(cells.rows(), cells.cols())?, occupancy }))
            }
            Way::HostToHost => {
                let engine = if self.place() == Place::Cpu { Engine::Cpu } else { self.target.engine() };
                // Of a kernel by its name, which counts bytes; the library's choice takes either.
                let cells = match self.kernel {
                    Some(kernel) => CodesView::Bytes(bytes(kernel.name(), cells)?),
                    None => cells,
                };
                let out = Filled::<T>::new(cells.rows(), cells.cols())?;
                Ok(Box::new(Whole { entropy: &self.entropy, engine, cells, out }))
            }
            Way::DeviceToDevice => Ok(Box::new(OnDevice::<T>::promised(&self.entropy, &self.device()?, cells)?)),
        }
    }
}

impl Subject for Ours {
    fn name(&self) -> &str {
        self.name_of()
    }

    fn facts(&self) -> SubjectFacts {
        let usage = |kernel: Kernel| Usage::of(kernel.entry()?.name, self.target.architecture()?);
        SubjectFacts {
            place: self.place(),
            before: match (self.kernel, self.place()) {
                (Some(kernel), _) => entropy::before(kernel).map(|before| before.name().to_owned()),
                (None, Place::Cpu) => Some(HUANG.to_owned()),
                (None, _) => None,
            },
            idea: self.kernel.and_then(|kernel| ladder::rung(kernel.name())).map(|rung| rung.idea.to_owned()),
            tolerance: tolerance(self.kernel, self.f64),
            f64: self.f64,
            usage: self.kernel.and_then(usage),
            ways: match (self.kernel, self.place()) {
                (None, Place::Device) => &[Way::DeviceToDevice, Way::HostToHost],
                (Some(_), Place::Device) => &[Way::Kernel, Way::HostToHost],
                (_, Place::Cpu | Place::Both) => &[Way::HostToHost],
            },
            over_bus: false,
        }
    }

    fn start<'a>(&'a self, way: Way, cells: CodesView<'a>) -> Result<Box<dyn Running + 'a>, Error> {
        if self.f64 { self.start_as::<f64>(way, cells) } else { self.start_as::<f32>(way, cells) }
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

impl<T: Real> Running for Alone<T>
where
    for<'v> GridView<'v, T>: Into<Values<'v>>,
{
    fn run(&mut self, _observer: &dyn Observer) -> Result<f64, Error> {
        self.resident.launch()
    }

    fn result(&mut self) -> Result<Values<'_>, Error> {
        self.resident.download(self.out.0.view_mut())?;
        Ok(self.out.0.view().into())
    }

    fn details(&self) -> Details {
        let (copies, copies_bytes) = (Some(self.resident.copies()), Some(self.resident.bytes()));
        Details { copies, copies_bytes, occupancy: self.occupancy, ..Details::default() }
    }
}

/// From memory to memory.
struct Whole<'a, T> {
    entropy: &'a Entropy,
    engine: Engine,
    cells: CodesView<'a>,
    out: Filled<T>,
}

impl<T: Real> Running for Whole<'_, T>
where
    for<'v> GridView<'v, T>: Into<Values<'v>>,
{
    fn run(&mut self, observer: &dyn Observer) -> Result<f64, Error> {
        let start = Instant::now();
        let Self { entropy, engine, out, .. } = self;
        match self.cells {
            CodesView::Bytes(cells) => entropy.compute_into(engine, cells, out.0.view_mut(), observer)?,
            CodesView::Words(cells) => entropy.compute_into(engine, cells, out.0.view_mut(), observer)?,
        };
        Ok(start.elapsed().as_secs_f64())
    }

    fn result(&mut self) -> Result<Values<'_>, Error> {
        Ok(self.out.0.view().into())
    }
}

/// Every byte of a result that was not written: f32 and f64 of such bytes are numbers that no result is.
const UNWRITTEN: u8 = 0x7E;

/// A place for a result, filled with a number that no entropy has: a cell that is not written must not look like one.
struct Filled<T>(Grid<T>);

impl<T: Real> Filled<T> {
    fn new(rows: usize, cols: usize) -> Result<Self, Error> {
        let mut grid = Grid::<T>::zeros(rows, cols)?;
        let mut absurd = T::default();
        bytemuck::bytes_of_mut(&mut absurd).fill(UNWRITTEN);
        grid.as_mut_slice().par_chunks_mut(1 << 16).for_each(|part| part.fill(absurd));
        Ok(Self(grid))
    }
}

impl<'a> From<GridView<'a, f32>> for Values<'a> {
    fn from(grid: GridView<'a, f32>) -> Self {
        Self::F32(grid)
    }
}

impl<'a> From<GridView<'a, f64>> for Values<'a> {
    fn from(grid: GridView<'a, f64>) -> Self {
        Self::F64(grid)
    }
}
