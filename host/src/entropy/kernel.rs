//! The kernels by name.

use std::fmt;

use halotile_kernels::entropy as kernels;
use simt::launch::KernelEntry;

use super::algorithm::Custom;

/// A way to compute moving-window entropy: a kernel of the library, or an algorithm from outside it.
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
    /// The same, but of more than 16 classes only where a survey of the map finds few of them in one place, otherwise [`Histogram`](Self::Histogram).
    Adaptive,
    /// [`Columns`](Self::Columns) for all measures, in squares of up to 16 classes.
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
    /// An algorithm from outside the library; chosen by name only.
    Custom(Custom),
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
    pub const ALL: [Kernel; 15] = [
        Self::Naive,
        Self::Tiled,
        Self::Histogram,
        Self::HistogramWide,
        Self::HistogramF64,
        Self::Columns,
        Self::Adaptive,
        Self::Sliding,
        Self::SlidingNarrow,
        Self::Tensor,
        Self::TensorCounted,
        Self::Measures,
        Self::MeasuresF64,
        Self::ColumnsMeasures,
        Self::ColumnsMeasuresF64,
    ];

    /// Its name for users, as "sliding".
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Tiled => "tiled",
            Self::Histogram => "histogram",
            Self::HistogramWide => "histogram-wide",
            Self::HistogramF64 => "histogram-f64",
            Self::Columns => "columns",
            Self::Adaptive => "adaptive",
            Self::ColumnsMeasures => "columns-all",
            Self::ColumnsMeasuresF64 => "columns-f64",
            Self::Sliding => "sliding",
            Self::SlidingNarrow => "sliding-narrow",
            Self::Tensor => "tensor",
            Self::TensorCounted => "tensor-counted",
            Self::Measures => "measures",
            Self::MeasuresF64 => "measures-f64",
            Self::Custom(custom) => custom.algorithm().name(),
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
        Self::ALL.into_iter().find(|kernel| kernel.name() == name)
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
            Self::Adaptive => kernels::entropy_columns_many::ENTRY,
            Self::ColumnsMeasures => kernels::entropy_columns_measures::ENTRY,
            Self::ColumnsMeasuresF64 => kernels::entropy_columns_measures_f64::ENTRY,
            Self::Sliding => kernels::entropy_sliding::ENTRY,
            Self::SlidingNarrow => kernels::entropy_sliding_narrow::ENTRY,
            Self::Tensor => kernels::entropy_tensor::ENTRY,
            Self::TensorCounted => kernels::entropy_tensor_counted::ENTRY,
            Self::Measures => kernels::entropy_measures::ENTRY,
            Self::MeasuresF64 => kernels::entropy_measures_f64::ENTRY,
            Self::Custom(custom) => return custom.algorithm().entry(),
        })
    }

    /// Where it runs.
    pub fn place(self) -> Place {
        match self {
            Self::Custom(custom) => custom.algorithm().place(),
            _ => Place::Device,
        }
    }

    /// True when its results are f64.
    pub fn is_f64(self) -> bool {
        match self {
            Self::HistogramF64 | Self::MeasuresF64 | Self::ColumnsMeasuresF64 => true,
            Self::Custom(custom) => custom.algorithm().is_f64(),
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
        for kernel in Kernel::ALL {
            assert_eq!(Kernel::from_name(kernel.name()), Some(kernel));
        }
        assert_eq!(Kernel::from_name("fastest"), None);
    }
}
