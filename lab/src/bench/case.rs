//! What can be timed: a [`Case`], started as a [`Run`]; a [`Suite`] has the cases of a benchmark, table after table.
//!
//! A case says what it is (its row), what it does (work), what that is measured against (a ceiling) and in which ways it is timed. Its result
//! is asked for before any of its times is. A suite hands out cases one by one, since those of a table share data (a grid and what the definition says
//! of it) that are as large as memory allows, and are there for that table only.

use halotile::apsp::MatrixError;
use halotile::apsp::device::SolveError;
use halotile::entropy;
use halotile::exec::DeviceError;
use halotile::observe::{Cancelled, Observer};

use super::record::{Ceilings, Options, Outcome, Row, Unit, Usage};
use super::sweep::Cliff;
use super::target::Target;
use super::times::Clock;
use crate::primer::{Counted, Reading};

/// What is timed of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The kernels, over data on the device, by the device's clock.
    Kernel,
    /// From data in the host's memory to the result in the host's memory, by the wall clock.
    HostToHost,
    /// From an array in a device's memory to a result in the same memory, by the wall clock: the whole call of
    /// [`Entropy::measure_on_device`](halotile::entropy::Entropy::measure_on_device).
    DeviceToDevice,
}

/// Something that does a piece of work and can be timed: a row of a table.
pub trait Case {
    /// What it is: its row, with nothing that came of it yet ([`Outcome::nothing`]).
    fn row(&self) -> Row;

    /// What is timed of it; the first gives `time`, one after it `host_to_host`.
    fn ways(&self) -> &[Way];

    /// What measures its runs.
    fn clock(&self, way: Way) -> Clock {
        if way == Way::Kernel { Clock::Device } else { Clock::Wall }
    }

    /// What a run does, at least.
    fn work(&self) -> (Unit, f64);

    /// How much of its work the machine can do in a second.
    fn ceiling(&self, ceilings: &Ceilings) -> Option<f64>;

    /// What ptxas says of its kernel on this GPU's architecture.
    fn usage(&self) -> Option<Usage> {
        None
    }

    /// An untimed run of the same, smaller, in the emulator: what that counts.
    fn rehearsal(&self) -> Option<Counted> {
        None
    }

    /// Makes it ready to run.
    fn start<'a>(&'a self, way: Way, observer: &dyn Observer) -> Result<Box<dyn Run + 'a>, Error>;
}

/// A case that is ready to run.
pub trait Run {
    /// Runs once. Returns the seconds it took, by [`Case::clock`].
    fn run(&mut self, observer: &dyn Observer) -> Result<f64, Error>;

    /// What else the last run took.
    fn beside(&self) -> Beside {
        Beside::default()
    }

    /// Compares the result of the last run with the oracle; [`Error::Wrong`] says what is wrong, and where.
    fn check(&mut self) -> Result<Checked, Error>;

    /// What there is to know of it when the timed runs are over.
    fn details(&mut self) -> Result<Details, Error> {
        Ok(Details::default())
    }
}

/// What was compared with the oracle.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// "every cell", or patches.
    pub covers: String,
    /// The largest difference found, where there may be one.
    pub difference: Option<f64>,
}

/// Times of a run beside its own, in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside {
    /// From host memory to host memory, by the wall clock.
    pub host_to_host: Option<f64>,
    /// The copies between host and device.
    pub transfers: Option<f64>,
}

/// What there is to know of a case that ran.
#[derive(Debug, Clone, Default)]
pub struct Details {
    /// Copies of the data that runs take in turn.
    pub copies: Option<usize>,
    /// Bytes of all of them with their results.
    pub copies_bytes: Option<usize>,
    /// The share of a GPU's threads that is there at once, 0 to 1.
    pub occupancy: Option<f64>,
    /// The kernel that did the work, where the library chose it.
    pub chosen: Option<String>,
    /// What else was read.
    pub readings: Vec<Reading>,
}

/// The cases of a benchmark.
pub trait Suite {
    /// What is measured: "entropy".
    fn what(&self) -> &'static str;

    /// What it runs on.
    fn target(&self) -> &Target;

    /// What was asked for.
    fn options(&self) -> Options;

    /// Refuses what cannot be, before any work.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Measures the limits.
    fn ceilings(&self) -> Result<Ceilings, Error>;

    /// How many cases there are.
    fn rows(&self) -> usize;

    /// Hands every case to `measure`, those of a table one after another.
    fn cases(&self, measure: &mut dyn FnMut(&dyn Case) -> Result<(), Error>) -> Result<(), Error>;

    /// The largest steps between neighbours, where a table has them.
    fn cliffs(&self, rows: &[Row]) -> Vec<Cliff> {
        let _ = rows;
        Vec::new()
    }
}

/// Why there is no record; of a single case, why it has no times.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Of moving-window entropy.
    #[error(transparent)]
    Entropy(#[from] entropy::Error),
    /// A device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Of shortest paths.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// There is no such graph.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The observer stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// Distances that the type does not hold.
    #[error(
        "with {vertices} vertices there is a weight or distance of {distance}, and {weight} holds none above {most}"
    )]
    TooLong {
        /// Vertices of the graph.
        vertices: usize,
        /// One that is too long.
        distance: f64,
        /// The type.
        weight: &'static str,
        /// The longest that it holds.
        most: f64,
    },
    /// A result is wrong: what is, and where.
    #[error("{0}")]
    Wrong(String),
}

impl Error {
    /// What comes of a case that ended so; an error again where it stops everything.
    pub(super) fn outcome(self) -> Result<Outcome, Self> {
        use DeviceError::{Fault, HostMemory, OutOfMemory};
        let skipped = |error: &dyn std::error::Error| Ok(Outcome::Skipped { reason: error.to_string() });
        match self {
            // The emulator has found a mistake in the kernel, which a GPU would have kept to itself.
            Self::Wrong(reason)
            | Self::Device(Fault(reason))
            | Self::Entropy(entropy::Error::Device(Fault(reason)))
            | Self::Solve(SolveError::Device(Fault(reason))) => Ok(Outcome::Wrong { reason }),
            // The kernel's name stands beside it.
            Self::Solve(SolveError::Misfit { reason, .. })
            | Self::Entropy(entropy::Error::KernelMisfit { reason, .. }) => Ok(Outcome::Skipped { reason }),
            Self::Entropy(entropy::Error::KernelOnCpu(_)) => Ok(Outcome::Skipped { reason: NEEDS_DEVICE.to_owned() }),
            Self::Entropy(error) if is_misfit(&error) => skipped(&error),
            Self::Device(error @ (OutOfMemory { .. } | HostMemory { .. }))
            | Self::Solve(SolveError::Device(error @ OutOfMemory { .. })) => skipped(&error),
            error => Err(error),
        }
    }

    /// True where the observer stopped the work.
    pub(super) fn is_cancelled(&self) -> bool {
        matches!(
            self,
            Self::Cancelled(_) | Self::Entropy(entropy::Error::Cancelled(_)) | Self::Solve(SolveError::Cancelled(_))
        )
    }
}

/// Why a kernel of devices is not timed where there is none.
pub(super) const NEEDS_DEVICE: &str = "it runs on a device (cuda, emulator)";

/// True for the errors that mean: not this kernel, or not on this device. Everything else has failed.
pub fn is_misfit(error: &entropy::Error) -> bool {
    use entropy::Error as E;
    matches!(
        error,
        E::KernelMisfit { .. }
            | E::KernelOnCpu(_)
            | E::NoKernel { .. }
            | E::TooWide { .. }
            | E::Device(DeviceError::OutOfMemory { .. } | DeviceError::HostMemory { .. })
    )
}
