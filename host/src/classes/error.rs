//! Why numbers are no classes.

use crate::exec::DeviceError;
use crate::io::{FormatError, Place};
use crate::observe::Cancelled;
use crate::raster::MaskError;

/// Why a raster's numbers cannot be made classes. Messages name the file, the place and, without naming an option, a way out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClassesError {
    /// A file could not be read, or is no list of classes.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// More different values than there are codes.
    #[error(
        "{name}: {}{seen} different values occur{}, and {} can be classes; merge some, or sort the values into bins",
        if *more { "more than " } else { "" },
        if *nodata { " and no data besides" } else { "" },
        most - usize::from(*nodata)
    )]
    TooMany {
        /// The raster.
        name: String,
        /// How many were seen, no data not among them.
        seen: usize,
        /// There are more than were seen: the search was given up.
        more: bool,
        /// No data occurs too, and takes a code.
        nodata: bool,
        /// Codes there are: 65,536, or 256 on a device.
        most: usize,
    },
    /// A number is not whole, and no bins were given.
    #[error(
        "{name}: {place}: the value {value} is not a whole number and so no class; \
         sort the values into bins, or name it as the value for no data if this is it"
    )]
    Fraction {
        /// The raster.
        name: String,
        /// Where it is.
        place: Box<Place>,
        /// The number.
        value: String,
    },
    /// 65,536 classes leave no code for no data.
    #[error(
        "65536 classes and no data take 65537 codes, and there are 65536; take 65535 classes or fewer, or no mask and no value for no data"
    )]
    NoRoom,
    /// The number of levels or bins is 0 or too large.
    #[error("the number of {what} is from 1 to {most}, not {got}")]
    Count {
        /// "levels" or "bins".
        what: &'static str,
        /// The largest there may be: 65,536, or 256 on a device.
        most: usize,
        /// The number given.
        got: usize,
    },
    /// Bins between bounds that are not finite or in the wrong order.
    #[error("bins lie between two finite numbers, the smaller one first, not between {low} and {high}")]
    Bounds {
        /// The lower bound given.
        low: f64,
        /// The upper bound given.
        high: f64,
    },
    /// All numbers are infinite, so that bins of equal width have no bounds.
    #[error(
        "{name}: all values that are not no data are infinite, so that bins have no bounds; give the bounds, or mark the values as no data"
    )]
    Infinite {
        /// The raster.
        name: String,
    },
    /// The mask is not one of the raster.
    #[error(transparent)]
    Mask(#[from] MaskError),
    /// A device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The observer asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// A number that is no class.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the value {value}, number {index} of those given (counted from 0), is no class")]
pub struct UnknownValue {
    /// Which of the numbers given, from 0.
    pub index: usize,
    /// The number.
    pub value: String,
}
