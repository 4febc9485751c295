//! The kernels by name: the one place where a name meets its [`Descriptor`].

use std::fmt;
use std::ops::Deref;

use simt::launch::KernelEntry;

use super::algorithm::Custom;
use super::kernels::{self, Descriptor, Work};

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
    /// Measures that come from sums over counts, in squares of any number of classes, 16 at a time.
    ColumnsSums,
    /// The same with results in f64.
    ColumnsSumsF64,
    /// Windows of up to 31 × 31 and 48 levels without nodata, on the tensor cores; of up to 16 levels some more measures.
    Band,
    /// The same with nodata; it takes any grid.
    BandCounted,
    /// The same with results in f64.
    BandF64,
    /// Windows of any shape of up to some 160 rows and columns and 48 levels, on the tensor cores: Shannon's entropy and some more measures.
    Footprint,
    /// 5 × 5 windows of up to 16 levels, in registers.
    Sliding,
    /// The same for devices with little shared memory.
    SlidingNarrow,
    /// 5 × 5 and 3 × 3 windows of up to 32 levels without nodata, on the tensor cores; of up to 16 levels some more measures.
    Tensor,
    /// The same with nodata.
    TensorCounted,
    /// 5 × 5 and 3 × 3 windows of up to 16 levels in any grid, on the tensor cores, with results in f64.
    TensorF64,
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
    pub const ALL: &'static [Kernel] = &[
        Self::Naive,
        Self::Tiled,
        Self::Histogram,
        Self::HistogramWide,
        Self::HistogramF64,
        Self::Columns,
        Self::Adaptive,
        Self::Band,
        Self::BandCounted,
        Self::BandF64,
        Self::Footprint,
        Self::Sliding,
        Self::SlidingNarrow,
        Self::Tensor,
        Self::TensorCounted,
        Self::TensorF64,
        Self::Measures,
        Self::MeasuresF64,
        Self::ColumnsMeasures,
        Self::ColumnsMeasuresF64,
        Self::ColumnsSums,
        Self::ColumnsSumsF64,
    ];

    /// What the library knows of it.
    fn known(self) -> Known {
        Known::Own(match self {
            Self::Naive => &kernels::NAIVE,
            Self::Tiled => &kernels::TILED,
            Self::Histogram => &kernels::HISTOGRAM,
            Self::HistogramWide => &kernels::HISTOGRAM_WIDE,
            Self::HistogramF64 => &kernels::HISTOGRAM_F64,
            Self::Columns => &kernels::COLUMNS,
            Self::Adaptive => &kernels::ADAPTIVE,
            Self::ColumnsMeasures => &kernels::COLUMNS_MEASURES,
            Self::ColumnsMeasuresF64 => &kernels::COLUMNS_MEASURES_F64,
            Self::ColumnsSums => &kernels::COLUMNS_PARTS,
            Self::ColumnsSumsF64 => &kernels::COLUMNS_PARTS_F64,
            Self::Band => &kernels::BAND,
            Self::BandCounted => &kernels::BAND_COUNTED,
            Self::BandF64 => &kernels::BAND_F64,
            Self::Footprint => &kernels::FOOTPRINT,
            Self::Sliding => &kernels::SLIDING,
            Self::SlidingNarrow => &kernels::SLIDING_NARROW,
            Self::Tensor => &kernels::TENSOR,
            Self::TensorCounted => &kernels::TENSOR_COUNTED,
            Self::TensorF64 => &kernels::TENSOR_F64,
            Self::Measures => &kernels::MEASURES,
            Self::MeasuresF64 => &kernels::MEASURES_F64,
            Self::Custom(custom) => return Known::Custom(custom),
        })
    }

    /// Its descriptor beside it; `None` for an algorithm from outside.
    pub(super) fn own(self) -> Option<Own> {
        match self.known() {
            Known::Own(descriptor) => Some(Own { kernel: self, descriptor }),
            Known::Custom(_) => None,
        }
    }

    /// Its name for users, as "sliding".
    pub fn name(self) -> &'static str {
        match self.known() {
            Known::Own(kernel) => kernel.facts().name,
            Known::Custom(custom) => custom.algorithm().name(),
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
        Self::ALL.iter().copied().find(|kernel| kernel.name() == name)
    }

    /// What it is, in a line; `None` for an algorithm from outside the library.
    ///
    /// ```
    /// use halotile::entropy::Kernel;
    /// assert_eq!(Kernel::Naive.about(), Some("one thread a cell, from the definition"));
    /// ```
    pub fn about(self) -> Option<&'static str> {
        match self.known() {
            Known::Own(kernel) => Some(kernel.facts().about),
            Known::Custom(_) => None,
        }
    }

    /// Its description, for an executor; `None` when it is a function on the CPU or a plan.
    pub fn entry(self) -> Option<KernelEntry> {
        match self.known() {
            Known::Own(kernel) => Some(kernel.facts().entry),
            Known::Custom(custom) => custom.algorithm().entry(),
        }
    }

    /// Where it runs.
    pub fn place(self) -> Place {
        match self.known() {
            Known::Own(_) => Place::Device,
            Known::Custom(custom) => custom.algorithm().place(),
        }
    }

    /// True when its results are f64.
    pub fn is_f64(self) -> bool {
        match self.known() {
            Known::Own(kernel) => kernel.facts().f64,
            Known::Custom(custom) => custom.algorithm().is_f64(),
        }
    }

    /// Threads and bytes of dynamic shared memory of the blocks that this kernel is launched in, for windows of 5 × 5 and 16
    /// levels without nodata, on a device that gives a block `shared_per_block` bytes. `None` when it is no kernel of a device.
    ///
    /// ```
    /// use halotile::entropy::Kernel;
    /// assert_eq!(Kernel::Tiled.block_of(99 * 1024), Some((256, 36 * 12)));
    /// ```
    pub fn block_of(self, shared_per_block: u32) -> Option<(u32, u32)> {
        match self.known() {
            Known::Own(kernel) => {
                let work = Work::of_sixteen_levels(5, kernel.facts().f64);
                let block = kernel.block(&work, shared_per_block);
                Some((block.threads, block.shared_bytes))
            }
            Known::Custom(custom) => custom.algorithm().block(),
        }
    }
}

/// A kernel by its descriptor, or the algorithm from outside that it is.
enum Known {
    Own(&'static dyn Descriptor),
    Custom(Custom),
}

/// A kernel of the library, by name and by its descriptor.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub kernel: Kernel,
    descriptor: &'static dyn Descriptor,
}

impl Deref for Own {
    type Target = dyn Descriptor;

    fn deref(&self) -> &Self::Target {
        self.descriptor
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
        for &kernel in Kernel::ALL {
            assert_eq!(Kernel::from_name(kernel.name()), Some(kernel));
        }
        assert_eq!(Kernel::from_name("fastest"), None);
    }
}
