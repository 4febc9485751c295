//! The ladder of shortest paths: the steps from the obvious kernel to the library's, each an algorithm from outside the library
//! ([`halotile::apsp::Algorithm`]).
//!
//! | rung | what it changes | file |
//! |---|---|---|
//! | threads | three loops on the CPU, rows dealt out to threads | [`threads`](fn@threads) |
//! | naive | a launch for every k, a thread a cell | `ladder` |
//! | blocked32 | tiles of 32 × 32 in shared memory, a thread a cell | `ladder` |
//! | blocked64 | tiles of 64 × 64, four cells a thread | `ladder` |
//! | tiled | the library's: 8 × 8 words a thread in registers, vector loads, the next pivot on the way | |

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use halotile::apsp::device::{Report, SolveError};
use halotile::apsp::{self, Algorithm, Custom, Distance, Matrix, MatrixMut};
use halotile::exec::Device;
use halotile::observe::Observer;

mod ladder;
mod threads;

pub use threads::threads;

/// A rung of the ladder, or the library's kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// On the CPU: three loops, the rows dealt out to threads, which wait for each other after every k. The source's first version.
    Threads,
    /// A launch for every k, a thread a cell.
    Naive,
    /// Blocked: tiles of 32 x 32 in shared memory, a thread a cell.
    Blocked32,
    /// Blocked: tiles of 64 x 64, four cells a thread. The source's second version; over several devices its third.
    Blocked64,
    /// The library's: tiles in registers, the next pivot made on the way; any number of devices, matrices larger than their memory.
    Tiled,
}

impl Kernel {
    /// All of them, in the order of the ladder.
    pub const ALL: [Kernel; 5] = [Self::Threads, Self::Naive, Self::Blocked32, Self::Blocked64, Self::Tiled];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Naive => "naive",
            Self::Blocked32 => "blocked32",
            Self::Blocked64 => "blocked64",
            Self::Tiled => "tiled",
        }
    }

    /// Whether it runs on a device, and not on the CPU.
    pub fn on_device(self) -> bool {
        self != Self::Threads
    }

    /// What it changes about the rung before it.
    pub fn idea(self) -> &'static str {
        match self {
            Self::Threads => "three loops on the CPU, rows dealt out to threads",
            Self::Naive => "a launch for every k, a thread a cell",
            Self::Blocked32 => "tiles of 32 x 32 in shared memory, a thread a cell",
            Self::Blocked64 => "tiles of 64 x 64, four cells a thread",
            Self::Tiled => "8 x 8 words a thread in registers, vector loads, the next pivot on the way",
        }
    }

    /// The rung before it.
    pub fn before(self) -> Option<Kernel> {
        let at = Self::ALL.iter().position(|&kernel| kernel == self).unwrap_or(0);
        at.checked_sub(1).map(|at| Self::ALL[at])
    }
}

/// What [`Apsp::kernel`](apsp::Apsp::kernel) takes.
///
/// ```
/// use halotile::apsp::{self, Apsp};
/// use halotile_lab::apsp::Kernel;
/// assert_eq!(apsp::Kernel::from(Kernel::Blocked64).name(), "blocked64");
/// assert_eq!(apsp::Kernel::from(Kernel::Tiled), apsp::Kernel::Tiled);
/// ```
impl From<Kernel> for apsp::Kernel {
    fn from(kernel: Kernel) -> Self {
        match kernel {
            Kernel::Threads => Self::Custom(Custom::new(&Kernel::Threads)),
            Kernel::Naive => Self::Custom(Custom::new(&Kernel::Naive)),
            Kernel::Blocked32 => Self::Custom(Custom::new(&Kernel::Blocked32)),
            Kernel::Blocked64 => Self::Custom(Custom::new(&Kernel::Blocked64)),
            Kernel::Tiled => Self::Tiled,
        }
    }
}

impl Algorithm for Kernel {
    fn name(&self) -> &'static str {
        Kernel::name(*self)
    }

    fn on_device(&self) -> bool {
        Kernel::on_device(*self)
    }

    fn solve(
        &self,
        matrix: MatrixMut<'_>,
        devices: &[Arc<dyn Device>],
        observer: &dyn Observer,
    ) -> Result<Report, SolveError> {
        match matrix {
            MatrixMut::I32(matrix) => solve(matrix, *self, devices, observer),
            MatrixMut::U16(matrix) => solve(matrix, *self, devices, observer),
            MatrixMut::F32(matrix) => solve(matrix, *self, devices, observer),
        }
    }
}

/// Makes distances of weights, in place, by a rung or by the library's kernels. No weight is negative. `devices` are none for
/// [`Kernel::Threads`]. `observer` hears of each finished vertex k: V of them in all.
///
/// # Errors
/// [`SolveError::Misfit`] for types and numbers of devices that a rung does not take: the rungs that are kernels take 32-bit integers, and
/// all but `blocked64` one device.
pub fn solve<T: Distance>(
    matrix: &mut Matrix<T>,
    kernel: Kernel,
    devices: &[Arc<dyn Device>],
    observer: &dyn Observer,
) -> Result<Report, SolveError> {
    match kernel {
        Kernel::Threads => {
            threads(matrix, observer)?;
            Ok(Report::default())
        }
        Kernel::Tiled => apsp::device::solve(matrix, apsp::Kernel::Tiled, devices, observer),
        kernel => ladder::solve(matrix, kernel, devices, observer),
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Not the name of a [`Kernel`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no kernel is called {0:?}; the kernels are threads, naive, blocked32, blocked64, tiled")]
pub struct UnknownKernel(String);

impl FromStr for Kernel {
    type Err = UnknownKernel;

    fn from_str(name: &str) -> Result<Self, UnknownKernel> {
        Self::ALL.into_iter().find(|kernel| kernel.name() == name).ok_or_else(|| UnknownKernel(name.to_owned()))
    }
}
