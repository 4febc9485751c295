//! The algorithms for distances by name; the engine on the CPU has none.

use std::fmt;
use std::sync::Arc;

use super::Matrix;
use super::device::{Report, SolveError};
use crate::custom::Named;
use crate::exec::Device;
use crate::observe::Observer;

/// The kernels that devices run, or an algorithm from outside the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kernel {
    /// Tiles in registers, the next pivot made on the way; any number of devices, matrices larger than their memory.
    Tiled,
    /// An algorithm from outside the library; chosen by name only.
    Custom(Custom),
}

impl Kernel {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiled => "tiled",
            Self::Custom(custom) => custom.algorithm().name(),
        }
    }

    /// Whether it runs on a device, and not on the CPU.
    pub fn on_device(self) -> bool {
        match self {
            Self::Tiled => true,
            Self::Custom(custom) => custom.algorithm().on_device(),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A matrix of one of the types of distances.
pub enum MatrixMut<'a> {
    /// 32-bit integers.
    I32(&'a mut Matrix<i32>),
    /// 16-bit integers.
    U16(&'a mut Matrix<u16>),
    /// Floating-point numbers.
    F32(&'a mut Matrix<f32>),
}

/// A way to compute distances that the library does not have.
pub trait Algorithm: Send + Sync {
    /// Its name, unlike those of the library's kernels.
    fn name(&self) -> &'static str;

    /// Whether it runs on devices, and not on the CPU.
    fn on_device(&self) -> bool;

    /// Makes distances of weights, in place. No weight is negative. `devices` are none for an algorithm on the CPU, at least one for others.
    /// `observer` is notified of each finished vertex: V of them in all.
    ///
    /// # Errors
    /// [`SolveError::Misfit`] for what it cannot do. After an error the matrix is neither weights nor distances.
    fn solve(
        &self,
        matrix: MatrixMut<'_>,
        devices: &[Arc<dyn Device>],
        observer: &dyn Observer,
    ) -> Result<Report, SolveError>;
}

impl Named for dyn Algorithm {
    fn name(&self) -> &'static str {
        Algorithm::name(self)
    }
}

/// An [`Algorithm`], as a [`Kernel`] is one: it is its name.
pub type Custom = crate::custom::Custom<dyn Algorithm>;
