//! Why an entropy was not computed.

use std::sync::Arc;

use super::{MAX_MEASURES, MAX_SIZE};
use crate::classes::ClassesError;
use crate::codes::MAX_LEVELS;
use crate::exec::DeviceError;
use crate::grid::ShapeError;
use crate::io::FormatError;
use crate::machine;
use crate::measure::Measure;
use crate::observe::Cancelled;

/// Why an entropy was not computed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The window's size is even, 0 or too large.
    #[error("a window's size is an odd number from 1 to {MAX_SIZE}, not {0}")]
    Size(usize),
    /// The number of levels is 0 or too large.
    #[error("the number of levels is from 1 to {MAX_LEVELS}, not {0}")]
    Levels(usize),
    /// More levels than there are codes of a byte.
    #[error("{0} levels are too many for codes that are bytes, which are 256 at most; give codes of 16 bits")]
    LevelsOfBytes(usize),
    /// There is nothing to measure, or too much.
    #[error("there are from 1 to {MAX_MEASURES} measures at a time, not {0}")]
    Measures(usize),
    /// More than Shannon's entropy of squares clipped at the edge is asked of one launch.
    #[error("a resident grid has Shannon's entropy of squares that are clipped at the edge, and nothing else")]
    NotResident,
    /// A measure's order is negative or no number.
    #[error("{0}: the order of a measure is a number from 0 up")]
    Order(Measure),
    /// The share of valid cells is none.
    #[error("the least share of valid cells is from 0 to 1, not {0}")]
    MinValid(f64),
    /// Normalising needs to know the number of levels.
    #[error("to normalize, the number of levels must be given: the entropy is divided by its logarithm")]
    NormalizeWithoutLevels,
    /// A cell's value is no level.
    #[error("row {row}, column {col}: value {value} is not below the number of levels, {levels}")]
    Value {
        /// Row of the cell, from 0.
        row: usize,
        /// Column of the cell, from 0.
        col: usize,
        /// Its value.
        value: u16,
        /// The number of levels.
        levels: usize,
    },
    /// The output has another shape than the input.
    #[error("the output is {got_rows} x {got_cols} and the grid {rows} x {cols}")]
    OutputShape {
        /// Rows of the grid.
        rows: usize,
        /// Columns of the grid.
        cols: usize,
        /// Rows of the output.
        got_rows: usize,
        /// Columns of the output.
        got_cols: usize,
    },
    /// A part is larger than the grid that it is a part of.
    #[error("{rows} x {cols} cells are no part of a grid of {whole_rows} x {whole_cols}")]
    Whole {
        /// Rows of the part.
        rows: usize,
        /// Columns of the part.
        cols: usize,
        /// Rows of the whole grid.
        whole_rows: usize,
        /// Columns of the whole grid.
        whole_cols: usize,
    },
    /// The grid is too wide for the kernels' 32-bit indices.
    #[error("a device takes grids of up to {max} columns, not {cols}; the CPU engine takes any")]
    TooWide {
        /// Columns of the grid.
        cols: usize,
        /// Columns that a device takes.
        max: usize,
    },
    /// A kernel was asked for and cannot do the work.
    #[error("kernel {kernel} cannot do this: {reason}")]
    KernelMisfit {
        /// The kernel.
        kernel: &'static str,
        /// Why not.
        reason: String,
    },
    /// A kernel was asked for, and the CPU engine has none.
    #[error("kernel {0} runs on a device (cuda, emulator), not in the CPU engine")]
    KernelOnCpu(&'static str),
    /// A rung of a ladder that is a function on the CPU was asked for, and devices are to do the work.
    #[error("kernel {0} is a function on the CPU; choose the CPU engine")]
    KernelOnDevice(&'static str),
    /// No kernel can do the work on this device.
    #[error("{device} has no kernel that can do this: {reason}")]
    NoKernel {
        /// The device.
        device: String,
        /// Why the last one tried cannot.
        reason: String,
    },
    /// The list of devices is empty.
    #[error("there is no device in the list of devices")]
    NoDevices,
    /// A device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The observer asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The result does not fit in memory.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A mask, or numbers that are no bytes, in a device's memory, and no classes were given.
    #[error("an array that is not of bytes, or has a mask, needs classes")]
    NoClasses,
    /// Classes have no code for no data, or a mask has another shape.
    #[error(transparent)]
    Classes(Arc<ClassesError>),
    /// A file could not be read or written.
    #[error(transparent)]
    File(Arc<FormatError>),
    /// The operating system starts no more threads.
    #[error("no more threads can be started: {0}")]
    Threads(String),
    /// Even the smallest pieces take more memory than there may be.
    #[error("this takes {} of memory at least, and {} are allowed", machine::needed(*.needed as u128), machine::available(*.allowed as u128))]
    Memory {
        /// Bytes that the smallest pieces take.
        needed: usize,
        /// Bytes allowed.
        allowed: usize,
    },
}

impl From<FormatError> for Error {
    fn from(error: FormatError) -> Self {
        Self::File(Arc::new(error))
    }
}

impl From<ClassesError> for Error {
    fn from(error: ClassesError) -> Self {
        match error {
            ClassesError::Device(error) => Self::Device(error),
            ClassesError::Cancelled(error) => Self::Cancelled(error),
            error => Self::Classes(Arc::new(error)),
        }
    }
}

impl Error {
    /// True where devices cannot do the work and the CPU engine can: no kernel takes the task, or a device failed.
    pub fn is_for_cpu(&self) -> bool {
        matches!(self, Self::NoKernel { .. } | Self::TooWide { .. } | Self::Device(_))
    }

    /// True where the observer asked to stop.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }
}
