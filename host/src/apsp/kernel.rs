//! The algorithms for distances by name; the engine on the CPU has none.

use std::fmt;
use std::str::FromStr;

/// A rung of the ladder, or the kernels for use.
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
    /// For use: tiles in registers, the next pivot made on the way; any number of devices, matrices larger than their memory.
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
