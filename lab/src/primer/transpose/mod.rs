//! Transposing a matrix on a device, by any rung of the ladder in `lab/kernels/src/primer/transpose`.
//!
//! | file | what |
//! |---|---|
//! | here | the rungs, and a slice transposed by one |
//! | `plan` | kernel, blocks and arguments for a shape |
//! | `cases` | the topic: what is measured, against the definition |

use std::sync::Arc;

use halotile::exec::{Buffer, Device, DeviceError};

mod cases;
mod plan;
#[cfg(test)]
mod tests;

pub use cases::TRANSPOSE;
use plan::Plan;

/// A kernel of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rung {
    /// Reads along rows, writes along columns.
    Naive,
    /// Through a tile in shared memory whose columns are in one bank.
    Unpadded,
    /// Through a tile whose rows are an element longer.
    Padded,
    /// The same, tiles taken along diagonals.
    Diagonal,
    /// 16 bytes a lane, through large swizzled tiles.
    Wide,
}

impl Rung {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [Self::Naive, Self::Unpadded, Self::Padded, Self::Diagonal, Self::Wide];

    /// Its name in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Unpadded => "unpadded",
            Self::Padded => "padded",
            Self::Diagonal => "diagonal",
            Self::Wide => "wide",
        }
    }

    /// The rung that it changes something about.
    pub fn before(self) -> Option<Self> {
        match self {
            Self::Naive => None,
            Self::Unpadded => Some(Self::Naive),
            Self::Padded => Some(Self::Unpadded),
            Self::Diagonal | Self::Wide => Some(Self::Padded),
        }
    }

    /// What it changes, in a line.
    pub fn idea(self) -> &'static str {
        match self {
            Self::Naive => "rows are read in whole lines; columns are written, a sector for each element",
            Self::Unpadded => "a tile in shared memory turns columns into rows, through few banks",
            Self::Padded => "a tile's row is an element longer, so that a column is in all banks",
            Self::Diagonal => "blocks that run together take tiles along a diagonal",
            Self::Wide => "16 bytes a lane, four accesses under way, tiles swizzled and not padded",
        }
    }
}

/// An element that can be transposed: a number of 1, 2, 4 or 8 bytes. It is moved bit by bit, so that a NaN stays the NaN that it is.
pub trait Element: bytemuck::Pod + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($t:ty)*) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t {}
    )*};
}
elements!(u8 i8 u16 i16 u32 i32 f32 u64 i64 f64);

/// Why a matrix was not transposed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TransposeError {
    /// The slice is not a matrix of that shape.
    #[error("{elements} elements are no matrix of {rows} x {cols}")]
    Shape {
        /// Elements of the slice.
        elements: usize,
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        cols: usize,
    },
    /// The device failed, or has too little memory.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Transposes a matrix of `rows` x `cols`, which lies row by row in `input`: element (r, c) of it is element `c * rows + r` of the result.
///
/// The device holds both matrices. A matrix without elements has a transpose without any.
///
/// # Errors
/// [`TransposeError::Shape`] if there are not `rows * cols` elements; [`TransposeError::Device`] if the device fails, does not hold
/// both matrices, or there are 2³² rows or columns.
///
/// ```
/// use std::sync::Arc;
/// use halotile::exec::{Device, emulator::EmulatedDevice};
/// use halotile_lab::primer::transpose::{Rung, transpose};
///
/// let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
/// let turned = transpose(&device, Rung::Wide, 2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
/// assert_eq!(turned, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// ```
pub fn transpose<T: Element>(
    device: &Arc<dyn Device>,
    rung: Rung,
    rows: usize,
    cols: usize,
    input: &[T],
) -> Result<Vec<T>, TransposeError> {
    if rows.checked_mul(cols) != Some(input.len()) {
        return Err(TransposeError::Shape { elements: input.len(), rows, cols });
    }
    if input.is_empty() {
        return Ok(Vec::new());
    }
    let plan = Plan::new(rung, size_of::<T>(), rows, cols)?;
    let bytes = size_of_val(input);
    let (from, to) = (Buffer::from_slice(device, input)?, Buffer::new(device, bytes)?);
    plan.run(device.as_ref(), &from, &to)?;
    Ok(to.to_vec()?)
}
