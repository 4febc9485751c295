//! Reduction (`reduce`): the sum, the least or the largest of n numbers, eight times over.
//!
//! ```text
//! reduce0 to reduce5:  n numbers, a result for each block; those again, until one is left
//! reduce6:             n numbers, by as many blocks as run at once; one block for their results
//! reduce7:             one launch
//! ```
//!
//! [`reduce`] is for a slice on the host, [`Reduction`] for numbers that lie on a device already.
//!
//! | file | what |
//! |---|---|
//! | `case` | what is measured |
//! | `launch` | blocks and threads of every launch, and how many additions a number goes through |
//! | `number` | the types of numbers |
//! | `oracle` | what is right, and how close a sum has to be |

use std::sync::Arc;

use halotile::exec::{Buffer, Device, DeviceError};

mod case;
mod launch;
mod number;
mod oracle;
#[cfg(test)]
mod tests;

pub use case::REDUCE;
pub use launch::Reduction;
pub use number::Number;

/// A rung of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rung {
    /// Interleaved addressing, threads by a remainder.
    Reduce0,
    /// Interleaved addressing, neighbouring threads.
    Reduce1,
    /// Sequential addressing.
    Reduce2,
    /// First add on load.
    Reduce3,
    /// Last warp unrolled.
    Reduce4,
    /// All steps unrolled.
    Reduce5,
    /// Several numbers a thread.
    Reduce6,
    /// Vectors, shuffles, a single launch.
    Reduce7,
}

impl Rung {
    /// All of them, in order.
    pub const ALL: [Self; 8] = [
        Self::Reduce0,
        Self::Reduce1,
        Self::Reduce2,
        Self::Reduce3,
        Self::Reduce4,
        Self::Reduce5,
        Self::Reduce6,
        Self::Reduce7,
    ];

    /// Its name, `reduce0` to `reduce7`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reduce0 => "reduce0",
            Self::Reduce1 => "reduce1",
            Self::Reduce2 => "reduce2",
            Self::Reduce3 => "reduce3",
            Self::Reduce4 => "reduce4",
            Self::Reduce5 => "reduce5",
            Self::Reduce6 => "reduce6",
            Self::Reduce7 => "reduce7",
        }
    }

    /// The rung that it changes something about: the one before.
    pub fn before(self) -> Option<Self> {
        Self::ALL[..self as usize].last().copied()
    }

    /// What it changes, in a line.
    pub fn idea(self) -> &'static str {
        match self {
            Self::Reduce0 => {
                "interleaved addressing: threads whose number is a multiple of 2 s are at work, warps diverge"
            }
            Self::Reduce1 => "neighbouring threads at work; their places share banks of shared memory",
            Self::Reduce2 => "sequential addressing: neighbouring places, no conflicts",
            Self::Reduce3 => "first add on load: half the blocks",
            Self::Reduce4 => "the last warp waits for itself only",
            Self::Reduce5 => "all steps unrolled: the block's size is a constant",
            Self::Reduce6 => "several numbers a thread, in a loop over the grid",
            Self::Reduce7 => {
                "loads of 16 bytes, eight under way; shuffles; one launch, the last block joins the others' results"
            }
        }
    }
}

/// What numbers are joined by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Their sum. Integers wrap around; of no numbers it is 0.
    Sum,
    /// The least. NaN is passed over; of no numbers it is the largest value of the type, infinity if it has one.
    Min,
    /// The largest. NaN is passed over; of no numbers it is the least value of the type, -infinity if it has one.
    Max,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sum, Self::Min, Self::Max];

    /// Its name: `sum`, `min`, `max`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
        }
    }
}

/// Joins all numbers of a slice on a device, which they are copied to.
///
/// Integers come out exactly, and so do least and largest numbers. A sum of floating-point numbers is within
/// [`Reduction::additions`] roundings; on the same kind of device it is the same to the bit every time.
///
/// # Errors
/// The device's: out of memory, or failed.
///
/// ```
/// use std::sync::Arc;
/// use halotile::exec::{Device, emulator::EmulatedDevice};
/// use halotile_lab::primer::reduce::{Operation, Rung, reduce};
///
/// let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
/// let numbers: Vec<i32> = (1..=1000).collect();
/// assert_eq!(reduce(&device, Rung::Reduce7, Operation::Sum, &numbers)?, 500_500);
/// assert_eq!(reduce(&device, Rung::Reduce2, Operation::Max, &[-1.5, -0.5, -2.0])?, -0.5);
/// # Ok::<(), halotile::exec::DeviceError>(())
/// ```
pub fn reduce<T: Number>(
    device: &Arc<dyn Device>,
    rung: Rung,
    operation: Operation,
    numbers: &[T],
) -> Result<T, DeviceError> {
    let mut reduction = Reduction::new(device, rung, operation, numbers.len())?;
    reduction.run(&Buffer::from_slice(device, numbers)?, 0)?;
    reduction.result()
}
