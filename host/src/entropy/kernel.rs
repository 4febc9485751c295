//! The kernels by name: the production kernels and the rungs of the ladders.

use std::fmt;

use halotile_kernels::entropy as kernels;
use simt::launch::KernelEntry;

use crate::ladder::{self, How, Rung};

/// A way to compute moving-window entropy: a production kernel, or a rung of a ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// One thread a cell, from the definition; counters in thread-private memory.
    Naive,
    /// The same from halo tiles in shared memory.
    Tiled,
    /// One thread for two columns slides their histograms down the rows.
    Histogram,
    /// The same with sums of 64 bits.
    HistogramWide,
    /// The same with results in f64.
    HistogramF64,
    /// How windows change along a row, and sums of that over a warp, 16 classes at a time.
    Columns,
    /// The same for all measures, in squares of up to 16 classes.
    ColumnsMeasures,
    /// The same with results in f64.
    ColumnsMeasuresF64,
    /// 5 × 5 windows of up to 16 levels, in registers.
    Sliding,
    /// The same for devices with little shared memory.
    SlidingNarrow,
    /// 5 × 5 windows of up to 16 levels without nodata, on the tensor cores.
    Tensor,
    /// The same with nodata; it takes any grid.
    TensorCounted,
    /// One thread a column slides a histogram over windows of any shape: all measures.
    Measures,
    /// The same with results in f64.
    MeasuresF64,
    /// A rung of a ladder: made to be read and compared, chosen by name only.
    Rung(&'static Rung),
}

/// Where a kernel runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// On devices: GPUs or the emulator.
    Device,
    /// On the CPU, as a function.
    Cpu,
    /// A plan over devices and the CPU; without a device it runs on the CPU.
    Both,
}

impl Kernel {
    /// The kernels that are chosen automatically, or written to check those; from the simplest to the fastest, then those that do
    /// more than Shannon's entropy in squares.
    pub const PRODUCTION: [Kernel; 14] = [
        Self::Naive,
        Self::Tiled,
        Self::Histogram,
        Self::HistogramWide,
        Self::HistogramF64,
        Self::Columns,
        Self::Sliding,
        Self::SlidingNarrow,
        Self::Tensor,
        Self::TensorCounted,
        Self::Measures,
        Self::MeasuresF64,
        Self::ColumnsMeasures,
        Self::ColumnsMeasuresF64,
    ];

    /// All of them: [`PRODUCTION`](Self::PRODUCTION), then the rungs of the ladders.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::PRODUCTION.into_iter().chain(ladder::rungs().map(Self::Rung))
    }

    /// Its name for users: "sliding", "v7".
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Tiled => "tiled",
            Self::Histogram => "histogram",
            Self::HistogramWide => "histogram-wide",
            Self::HistogramF64 => "histogram-f64",
            Self::Columns => "columns",
            Self::ColumnsMeasures => "columns-all",
            Self::ColumnsMeasuresF64 => "columns-f64",
            Self::Sliding => "sliding",
            Self::SlidingNarrow => "sliding-narrow",
            Self::Tensor => "tensor",
            Self::TensorCounted => "tensor-counted",
            Self::Measures => "measures",
            Self::MeasuresF64 => "measures-f64",
            Self::Rung(rung) => rung.name,
        }
    }

    /// The kernel of this name.
    ///
    /// ```
    /// use halotile::entropy::Kernel;
    /// assert_eq!(Kernel::from_name("sliding"), Some(Kernel::Sliding));
    /// assert_eq!(Kernel::from_name("fastest"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|kernel| kernel.name() == name)
    }

    /// Its description, for an executor; `None` when it is a function on the CPU or a plan.
    pub fn entry(self) -> Option<KernelEntry> {
        Some(match self {
            Self::Naive => kernels::entropy_naive::ENTRY,
            Self::Tiled => kernels::entropy_tiled::ENTRY,
            Self::Histogram => kernels::entropy_histogram::ENTRY,
            Self::HistogramWide => kernels::entropy_histogram_wide::ENTRY,
            Self::HistogramF64 => kernels::entropy_histogram_f64::ENTRY,
            Self::Columns => kernels::entropy_columns::ENTRY,
            Self::ColumnsMeasures => kernels::entropy_columns_measures::ENTRY,
            Self::ColumnsMeasuresF64 => kernels::entropy_columns_measures_f64::ENTRY,
            Self::Sliding => kernels::entropy_sliding::ENTRY,
            Self::SlidingNarrow => kernels::entropy_sliding_narrow::ENTRY,
            Self::Tensor => kernels::entropy_tensor::ENTRY,
            Self::TensorCounted => kernels::entropy_tensor_counted::ENTRY,
            Self::Measures => kernels::entropy_measures::ENTRY,
            Self::MeasuresF64 => kernels::entropy_measures_f64::ENTRY,
            Self::Rung(rung) => match &rung.how {
                How::Device(device) => device.entry(),
                How::Cpu(_) | How::Plan(_) => return None,
            },
        })
    }

    /// Where it runs.
    pub fn place(self) -> Place {
        match self {
            Self::Rung(rung) => match rung.how {
                How::Device(_) => Place::Device,
                How::Cpu(_) => Place::Cpu,
                How::Plan(_) => Place::Both,
            },
            _ => Place::Device,
        }
    }

    /// The rung before it on its ladder. The ladder of v0 goes on through s1 to s4 to the two
    /// fastest production kernels; the others are on none.
    ///
    /// ```
    /// use halotile::entropy::Kernel;
    /// assert_eq!(Kernel::Tensor.before(), Some(Kernel::Sliding));
    /// assert_eq!(Kernel::Sliding.before(), Kernel::from_name("s4"));
    /// assert_eq!(Kernel::Tiled.before(), None);
    /// ```
    pub fn before(self) -> Option<Self> {
        match self {
            Self::Rung(rung) => rung.before.and_then(Self::from_name),
            Self::Sliding => Self::from_name("s4"),
            Self::Tensor => Some(Self::Sliding),
            _ => None,
        }
    }

    /// True when its results are f64.
    pub fn is_f64(self) -> bool {
        match self {
            Self::HistogramF64 | Self::MeasuresF64 | Self::ColumnsMeasuresF64 => true,
            Self::Rung(rung) => match &rung.how {
                How::Device(device) => device.is_f64(),
                How::Cpu(_) | How::Plan(_) => false,
            },
            _ => false,
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        for kernel in Kernel::all() {
            assert_eq!(Kernel::from_name(kernel.name()), Some(kernel));
        }
        assert_eq!(Kernel::from_name("fastest"), None);
    }

    #[test]
    fn every_rung_but_the_first_of_a_ladder_has_one_before_it() {
        for rung in ladder::rungs() {
            if let Some(before) = rung.before {
                assert!(Kernel::from_name(before).is_some(), "{}: there is no {before}", rung.name);
            }
        }
    }
}
