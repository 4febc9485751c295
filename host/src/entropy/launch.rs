//! The choice of a band's kernel, and its launch geometry.
//!
//! Every kernel has three things here: when it fits, the layout of its table, and its grid, block and
//! arguments. What depends on the device (how many blocks run at once, how much shared memory a block may have) is asked of
//! the device; nothing is tuned to one product by name.

mod scratch;

use std::sync::Arc;

use halotile_kernels::entropy as kernels;
use simt::launch::{Arg, KernelEntry, LaunchConfig};

use scratch::{ADAPTIVE_CELLS, Cut, RECODING, adaptive_sweeps, scratch_of};
pub(super) use scratch::{scratch_bytes, scratch_cols};

use super::algorithm::Launcher;
use super::census::Coding;
use super::frame::Frame;
use super::program::{self, Near, Program};
use super::{BYTE_LEVELS, Kernel};
use crate::arrays::PresenceScan;
use crate::exec::queue::Queue;
use crate::exec::{Buffer, Device, DeviceError, Limits};
use crate::grid::GridView;
use crate::measure::fixed::{FINE, Nested, table_u32, table_u64};
use crate::measure::window::Window;
use crate::numbers::Real;

impl Kernel {
    /// The fastest kernel that fits.
    pub(super) fn choose(work: &Work, limits: &Limits) -> Result<Self, String> {
        let candidates: &[Self] = if work.runs.is_some() {
            if work.f64 {
                &[Self::MeasuresF64, Self::ColumnsMeasuresF64]
            } else {
                &[Self::Measures, Self::ColumnsMeasures]
            }
        } else if work.f64 {
            &[Self::HistogramF64, Self::ColumnsMeasuresF64]
        } else {
            &[
                Self::Tensor,
                Self::TensorCounted,
                Self::Sliding,
                Self::SlidingNarrow,
                Self::Columns,
                Self::Adaptive,
                Self::Histogram,
                Self::HistogramWide,
                Self::Tiled,
            ]
        };
        // The reason of the kernel that takes the largest windows is the one reported.
        let (mut best, mut why) = (None, (0, String::new()));
        for &kernel in candidates {
            match kernel.misfit(work, limits) {
                None => {
                    let cost = kernel.cost(work);
                    if best.is_none_or(|(least, _)| cost < least) {
                        best = Some((cost, kernel));
                    }
                }
                Some(reason) if kernel.longest_side() >= why.0 => why = (kernel.longest_side(), reason),
                Some(_) => {}
            }
        }
        best.map(|(_, kernel)| kernel).ok_or(why.1)
    }

    /// Work of a cell, roughly, relative to the fastest kernels: the basis of the choice of kernels and of how many cells they are given
    /// at a time.
    ///
    /// As measured on an H200, 8,192² random cells of 16, 44, 96 and 256 classes in windows of 3 × 3 to 1,001 × 1,001 (0.25 ms are a unit).
    pub(super) fn cost(self, work: &Work) -> f64 {
        let size = work.size as f64;
        // The more classes, the fewer histograms are resident at once; a row has a cost of its own.
        let crowd = (work.counters() as f64 / 56.0).max(1.0);
        // Without the differences of F in shared memory, and the more rows a window has, the lower the caches' hit rate.
        let far = |entry: usize| if histogram_near(work, entry) { 1.0 } else { 2.0 + 0.01 * (size - 51.0).max(0.0) };
        let histogram = |entry: usize| 0.9 * crowd + 0.165 * (0.33 * crowd).max(1.0) * size * far(entry);
        match self {
            Self::Naive | Self::Tiled | Self::Custom(_) => size * size,
            Self::Histogram => histogram(4),
            Self::HistogramWide | Self::HistogramF64 => 1.2 * histogram(8),
            Self::Measures | Self::MeasuresF64 => 2.2 + 0.6 * work.runs.map_or(size, |runs| runs as f64),
            Self::Columns if !work.is_coded() && size > f64::from(kernels::COLUMNS_SMALL) => 3.0 + 0.002 * size,
            Self::Columns if !work.is_coded() => 2.25 + 0.006 * size,
            // Sums of 32 bits: twice the words.
            Self::Columns if size > f64::from(kernels::COLUMNS_SIZE) => work.sweeps() as f64 * (4.0 + 0.0133 * size),
            // Each sweep of several counts the valid cells again. Of a map's many classes a tile has mostly fewer.
            Self::Columns => {
                let nodata = if work.nodata { 1.25 } else { 1.0 };
                // Words are for maps with many classes in all, which are far fewer in one place.
                let sweeps = if work.words.is_some() { work.sweeps().min(4) } else { work.sweeps() };
                RECODING + 0.95 * nodata * sweeps as f64 * (2.45 + 0.0097 * size)
            }
            // What it costs is not known before; it is worth its launches where a tile of few classes would gain from it.
            Self::Adaptive if work.rows * work.cols < ADAPTIVE_CELLS || adaptive_sweeps(work) < 1.2 => {
                1.1 * Self::Histogram.cost(work)
            }
            Self::Adaptive => 0.9 * Self::Histogram.cost(work),
            Self::ColumnsMeasures | Self::ColumnsMeasuresF64 => 5.4 + 0.02 * size,
            // The border is counted cell by cell, at 17 times the cost of another cell.
            Self::Tensor if work.has_much_border() => 2.0,
            Self::Tensor => 0.9,
            Self::TensorCounted if work.has_much_border() && !work.nodata => 2.0,
            Self::TensorCounted => 1.0,
            Self::Sliding => 1.2,
            Self::SlidingNarrow => 1.3,
        }
    }

    /// Why the kernel cannot do this work on such a device; `None` when it can.
    pub(super) fn misfit(self, work: &Work, limits: &Limits) -> Option<String> {
        let Work { size, levels, nodata, largest, f64, .. } = *work;
        if f64 != self.is_f64() {
            return Some(if f64 { "it computes in f32" } else { "it computes in f64" }.into());
        }
        if work.words.is_some() {
            if self != Self::Columns || work.runs.is_some() {
                return Some(format!("it counts up to {BYTE_LEVELS} codes, and there are more"));
            }
            if size > kernels::COLUMNS_SIZE as usize {
                let most = kernels::COLUMNS_SIZE;
                return Some(format!(
                    "of codes of 16 bits it takes windows of up to {most} x {most}, not {size} x {size}"
                ));
            }
            let error = Nested::error(size, work.least(), levels, work.finer().unwrap_or_default());
            if error > WORST_ERROR {
                return Some(format!("its 32-bit sums are too coarse for {levels} levels in {size} x {size} windows"));
            }
        }
        if let Some(reason) = self.entry().and_then(|entry| limits.lacks_arch(entry.arch)) {
            return Some(reason);
        }
        let most = self.longest_side();
        if size > most {
            return Some(format!("it takes windows of up to {most} x {most}, not {size} x {size}"));
        }
        if work.runs.is_some() && !self.measures() {
            return Some("it measures Shannon's entropy in squares, and nothing else".into());
        }
        if self.columns() && self.measures() {
            if !work.square {
                return Some("it takes windows that are squares".into());
            }
            if levels > 16 {
                return Some(format!("it takes up to 16 levels, and there are {levels}"));
            }
        }
        let tensor = matches!(self, Self::Tensor | Self::TensorCounted);
        if (tensor || matches!(self, Self::Sliding | Self::SlidingNarrow)) && size != 5 {
            return Some(format!("it takes windows of 5 x 5, not {size} x {size}"));
        }
        if (tensor || matches!(self, Self::Sliding | Self::SlidingNarrow)) && levels > 16 {
            return Some(format!("it takes up to 16 levels, and there are {levels}"));
        }
        if self == Self::Tensor && nodata {
            return Some("it counts every cell, and there are nodata cells".into());
        }
        let decides = self == Self::Adaptive && self.has_codes(work);
        if decides && nodata && Nested::len(size, work.finer()) > size * size + 3 {
            return Some(format!("it takes {size} x {size} windows without nodata alone"));
        }
        if decides && self.shape(work, limits.shared_per_block).near == 0 {
            return Some(format!("its tables for {size} x {size} windows do not fit the device's shared memory"));
        }
        if (self == Self::Histogram || decides) && nodata && table_u32(1, largest).1 < FINE {
            return Some(format!(
                "its 32-bit sums are too coarse for {size} x {size} windows in which nodata may leave few cells"
            ));
        }
        limits.lacks_shared(self.shared_needed(work))
    }

    /// The longest side of its windows: most kernels have counters of 16 bits, or of a byte for a column. The columns kernel sums 32 bits, and
    /// its tables are fine enough up to here: F of so many cells in units of which 32 bits hold 256 classes.
    fn longest_side(self) -> usize {
        if self == Self::Columns { kernels::COLUMNS_WIDE_SIZE as usize } else { 255 }
    }

    /// True when it computes any measures.
    fn measures(self) -> bool {
        matches!(self, Self::Measures | Self::MeasuresF64 | Self::ColumnsMeasures | Self::ColumnsMeasuresF64)
    }

    /// True when its blocks are arranged as those of the columns kernel.
    fn columns(self) -> bool {
        matches!(self, Self::Columns | Self::Adaptive | Self::ColumnsMeasures | Self::ColumnsMeasuresF64)
    }

    /// The entry that is launched: the columns kernel has others for larger windows, and for more classes.
    fn entry_for(self, work: &Work) -> Option<KernelEntry> {
        Some(match self {
            Self::Columns | Self::Adaptive => match (work.size as u32, self.has_codes(work)) {
                (..=kernels::COLUMNS_SMALL, false) => kernels::entropy_columns::ENTRY,
                (..=kernels::COLUMNS_SIZE, false) => kernels::entropy_columns_large::ENTRY,
                (_, false) => kernels::entropy_columns_wide::ENTRY,
                (..=kernels::COLUMNS_SIZE, true) => kernels::entropy_columns_many::ENTRY,
                (_, true) => kernels::entropy_columns_wide_many::ENTRY,
            },
            _ => return self.entry(),
        })
    }

    /// True when it counts nodata like a level, so that its code is to be next to theirs; others take any.
    pub(super) fn counts_nodata(self) -> bool {
        let tensor = matches!(self, Self::Tensor | Self::TensorCounted);
        !tensor && !matches!(self, Self::Sliding | Self::SlidingNarrow) && (!self.columns() || self == Self::Adaptive)
    }

    /// True when a launch needs row histograms at the heads of strips, which another makes before.
    fn has_heads(self, work: &Work) -> bool {
        let large = self.measures() || work.size as u32 > kernels::COLUMNS_SMALL;
        self.columns() && !work.is_coded() && large
    }

    /// True when it reads codes of tiles, which a launch before makes.
    fn has_codes(self, work: &Work) -> bool {
        self.columns() && !self.measures() && work.is_coded()
    }

    /// The least shared memory of a block that the kernel runs with.
    fn shared_needed(self, work: &Work) -> u32 {
        let size = work.size as u32;
        match self {
            Self::Naive | Self::Custom(_) => 0,
            Self::Tiled => (kernels::TILE_COLS + size - 1) * (kernels::TILE_ROWS + size - 1),
            Self::Histogram | Self::HistogramWide | Self::HistogramF64 => histogram_counters(work.counters()),
            Self::Measures | Self::MeasuresF64 => program::counter_bytes(work.counters()) + kernels::MEASURES_STATIC,
            Self::Adaptive => COLUMNS_STATIC.max(histogram_counters(work.counters())),
            Self::Columns | Self::ColumnsMeasures | Self::ColumnsMeasuresF64 => {
                // The kernel for words has a count a warp besides.
                let recode = |span| kernels::columns_recode_bytes(span as u32) + kernels::COLUMNS_THREADS / 32 * 4;
                COLUMNS_STATIC.max(work.words.map_or(0, recode))
            }
            Self::Sliding => kernels::SLIDING_PAIRS * 32 * 4,
            Self::SlidingNarrow => kernels::SLIDING_PAIRS * 16 * 4,
            Self::Tensor | Self::TensorCounted => kernels::TENSOR_PAIRS * 32 * 4,
        }
    }

    /// Threads and dynamic shared memory of a block.
    fn shape(self, work: &Work, shared_per_block: u32) -> Shape {
        let entries = (work.size * work.size + 1) as u32;
        let (near, shared_bytes, threads) = match self {
            Self::Naive => (0, 0, 256),
            Self::Tiled => (0, self.shared_needed(work), kernels::TILE_COLS * kernels::TILE_ROWS),
            Self::Histogram | Self::HistogramWide | Self::HistogramF64 => {
                let counters = histogram_counters(work.counters());
                let entry = if self == Self::Histogram { 4 } else { 8 };
                let bytes = entries * entry as u32;
                let near = histogram_near(work, entry) && counters + bytes <= shared_per_block;
                let near = if near { (entries, counters + bytes) } else { (0, counters) };
                (near.0, near.1, kernels::HISTOGRAM_THREADS)
            }
            Self::Columns | Self::Adaptive => {
                // As many copies as keep the occupancy that registers allow; addresses in them are numbers of 16 bits.
                let room = columns_room(shared_per_block).min(1 << 16);
                let entries = Nested::len(work.size, work.finer()) as u32;
                let fits = |copies: &u32| work.size as u32 <= kernels::COLUMNS_SIZE && entries * 4 * copies <= room;
                let copies = [32, 16, 8, 4, 2, 1].into_iter().find(fits).unwrap_or(0);
                (copies, entries * 4 * copies, kernels::COLUMNS_THREADS)
            }
            Self::Measures | Self::MeasuresF64 => {
                let Near { entries, bytes } = Near::of(entries, work.counters(), shared_per_block);
                (entries, bytes, kernels::MEASURES_THREADS)
            }
            Self::ColumnsMeasures | Self::ColumnsMeasuresF64 => {
                let Near { entries, bytes } = Near::copied(entries, columns_room(shared_per_block));
                (entries, bytes, kernels::COLUMNS_THREADS)
            }
            Self::Sliding | Self::SlidingNarrow => (0, self.shared_needed(work), kernels::SLIDING_THREADS),
            Self::Tensor | Self::TensorCounted => (0, self.shared_needed(work), kernels::TENSOR_THREADS),
            Self::Custom(_) => (0, 0, 0),
        };
        Shape { near, shared_bytes, threads }
    }

    /// Threads and bytes of dynamic shared memory of the blocks that this kernel is launched in, for windows of 5 × 5 and 16
    /// levels without nodata, on a device that gives a block `shared_per_block` bytes. `None` when it is no kernel of a device.
    ///
    /// ```
    /// use halotile::entropy::Kernel;
    /// assert_eq!(Kernel::Tiled.block_of(99 * 1024), Some((256, 36 * 12)));
    /// ```
    pub fn block_of(self, shared_per_block: u32) -> Option<(u32, u32)> {
        if let Self::Custom(custom) = self {
            return custom.algorithm().block();
        }
        self.entry()?;
        let work = Work {
            size: 5,
            rows: 5,
            cols: 5,
            levels: 16,
            nodata: false,
            largest: 25,
            f64: self.is_f64(),
            runs: None,
            square: true,
            words: None,
        };
        let Shape { shared_bytes, threads, .. } = self.shape(&work, shared_per_block);
        Some((threads, shared_bytes))
    }
}

/// What a block of a kernel has.
struct Shape {
    /// Table entries (histogram) or copies of the table (columns) in shared memory.
    near: u32,
    /// Dynamic shared memory in bytes.
    shared_bytes: u32,
    threads: u32,
}

/// What kernels take for a code of no data where there is none: above all codes.
const NO_NODATA: u32 = 1 << 16;

/// What decides which kernels fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Work {
    pub size: usize,
    /// Of the whole grid.
    pub rows: usize,
    pub cols: usize,
    pub levels: usize,
    /// Whether there are nodata cells; their code is then `levels` or below it, or any byte where the kernel does not count nodata like a level.
    pub nodata: bool,
    /// Cells of the largest window that fits in the whole grid.
    pub largest: usize,
    pub f64: bool,
    /// Where more than Shannon's entropy in a square is asked for: the runs of the window, to which its work is proportional. `size` is the
    /// longer side of its shape then.
    pub runs: Option<usize>,
    /// Whether the window is a square.
    pub square: bool,
    /// Where codes are words: all of them are below this, those of no data too. They may be any, and `levels` of them occur.
    pub words: Option<usize>,
}

impl Work {
    pub fn new<T: Real>(cells: GridView<'_, u8>, coding: &Coding, size: usize) -> Self {
        Self::of_shape::<T>((cells.rows(), cells.cols()), coding, size)
    }

    /// The same for a grid of so many rows and columns.
    pub fn of_shape<T: Real>((rows, cols): (usize, usize), coding: &Coding, size: usize) -> Self {
        Self {
            size,
            rows,
            cols,
            levels: coding.levels,
            nodata: coding.nodata.is_some(),
            largest: size.min(rows) * size.min(cols),
            f64: size_of::<T>() == 8,
            runs: None,
            square: true,
            words: None,
        }
    }

    /// The same for codes of 16 bits, with those of no data below `span`.
    pub fn of_words(self, nodata: bool, span: usize) -> Self {
        Self { nodata, words: Some(span), ..self }
    }

    /// The same for any measures in a window of any shape.
    pub fn of_window<T: Real>(shape: (usize, usize), coding: &Coding, window: &Window) -> Self {
        let shape_of = window.footprint();
        let (size, square) = (shape_of.rows().max(shape_of.cols()), shape_of.as_square().is_some());
        Self { runs: Some(window.runs.len()), square, ..Self::of_shape::<T>(shape, coding, size) }
    }

    /// True where the kernel that counts the border cell by cell has too much of it: such a cell takes it 17 times as long as
    /// another, and the sliding kernel takes 1.45 times as long for each (measured on an H200: they break even at some 170 rows).
    fn has_much_border(&self) -> bool {
        42 * (4 * self.cols + 7 * self.rows) > self.rows * self.cols
    }

    /// Sweeps of the columns kernel where every tile has all classes.
    fn sweeps(&self) -> usize {
        self.levels.div_ceil(kernels::COLUMNS_CLASSES as usize).max(1)
    }

    /// True where the classes of tiles are numbered first.
    fn is_coded(&self) -> bool {
        self.sweeps() > 1 || self.words.is_some()
    }

    /// Bytes of a cell.
    pub fn cell_bytes(&self) -> usize {
        if self.words.is_some() { size_of::<u16>() } else { size_of::<u8>() }
    }

    /// Planes of codes that are in memory at a time.
    fn planes(&self) -> usize {
        // Tiles of more classes than these planes number are rare, and need many sweeps over each.
        const MOST: usize = 4;
        self.levels.div_ceil(kernels::COLUMNS_PLANE as usize).clamp(1, MOST)
    }

    /// Valid cells of the smallest window: at a corner of the grid.
    fn least(&self) -> usize {
        let corner = |len: usize| (self.size / 2 + 1).min(len);
        if self.nodata { 1 } else { corner(self.rows) * corner(self.cols) }
    }

    /// Valid cells that finer tables of F are for, where there are some.
    fn finer(&self) -> Option<[usize; 2]> {
        match self.words {
            None => self.nodata.then(|| Nested::cells(self.size, true)),
            Some(_) => {
                let cells = Nested::cells_of_many(self.size, self.least());
                (self.nodata || cells != [0, 0]).then_some(cells)
            }
        }
    }

    /// Counters that a histogram needs: nodata has one of its own.
    fn counters(&self) -> u32 {
        (self.levels + usize::from(self.nodata)) as u32
    }
}

/// The largest error in nats that sums of codes of 16 bits may have, f32's own not counted.
const WORST_ERROR: f64 = 1.8e-6;

/// Static shared memory of the columns kernels: at most.
const COLUMNS_STATIC: u32 = 34_816;

/// Bytes of dynamic shared memory that leave room for two of their blocks on a multiprocessor.
fn columns_room(shared_per_block: u32) -> u32 {
    (shared_per_block / 2).saturating_sub(COLUMNS_STATIC + 1024)
}

/// Bytes of the counters of a block of the histogram kernel.
fn histogram_counters(counters: u32) -> u32 {
    counters * kernels::HISTOGRAM_THREADS * 4
}

/// Whether differences of F of so many bytes each lie in shared memory beside the counters, if there is room: beyond this they would cost more occupancy than
/// their speed gains.
fn histogram_near(work: &Work, entry: usize) -> bool {
    (work.size * work.size + 1) * entry <= histogram_counters(work.counters()).max(32 * 1024) as usize / 2
}

/// Copies a table to a device.
pub(super) type Put<'a> = &'a mut dyn FnMut(&[u8]) -> Result<Buffer, DeviceError>;

/// Copies it at once, for use on any queue.
pub(super) fn at_once(device: &Arc<dyn Device>) -> impl FnMut(&[u8]) -> Result<Buffer, DeviceError> {
    |bytes| Buffer::from_slice(device, bytes)
}

/// A kernel prepared for one device: its table is on the device, and what does not change from band to band is computed.
pub(super) struct Prepared {
    kernel: Kernel,
    entry: KernelEntry,
    device: Arc<dyn Device>,
    work: Work,
    nodata: u32,
    table: Option<Buffer>,
    /// What the kernels for measures take beside it.
    program: Option<Program>,
    /// The kernel for maps of many classes in one place.
    crowded: Option<Box<Prepared>>,
    /// The columns kernel's finer tables: valid cells that they are for, and what is multiplied by there.
    finer: [(u32, f64); 2],
    /// What the kernel multiplies by.
    scale: f64,
    /// Dynamic shared memory of a block.
    shared_bytes: u32,
    /// Table entries (histogram) or copies of the table (columns) in shared memory.
    near: u32,
    /// Blocks that run at once.
    resident: u32,
    /// Threads of a block.
    threads: u32,
}

impl Prepared {
    /// The kernel for measures with a window on the device. Its outputs are contiguous in the frame's `out`, each
    /// `count` · `out_stride` elements long: as many as the window has planes.
    pub fn of_window(
        kernel: Kernel,
        device: &Arc<dyn Device>,
        work: Work,
        nodata: Option<u16>,
        window: &Window,
        put: Put<'_>,
    ) -> Result<Self, DeviceError> {
        let entry = kernel.entry().filter(|_| kernel.measures()).expect("a kernel for measures");
        let shared_per_block = device.limits().shared_per_block;
        let (near, threads) = if kernel.columns() {
            (Near::copied(window.logs.len() as u32, columns_room(shared_per_block)), kernels::COLUMNS_THREADS)
        } else {
            (Near::of(window.logs.len() as u32, work.counters(), shared_per_block), kernels::MEASURES_THREADS)
        };
        let resident = device.resident_blocks(&entry, threads, near.bytes)?;
        Ok(Self {
            kernel,
            entry,
            device: Arc::clone(device),
            work,
            nodata: nodata.map_or(NO_NODATA, u32::from),
            table: None,
            program: Some(Program::new(window, put)?),
            crowded: None,
            finer: [(0, 0.0); 2],
            scale: 1.0,
            shared_bytes: near.bytes,
            near: near.entries,
            resident,
            threads,
        })
    }

    /// Has the kernel's table put on the device, by `put`. `scale` multiplies the entropy in nats.
    pub fn new(
        kernel: Kernel,
        device: &Arc<dyn Device>,
        work: Work,
        nodata: Option<u16>,
        scale: f64,
        put: Put<'_>,
    ) -> Result<Self, DeviceError> {
        if kernel.measures() {
            return Self::of_window(kernel, device, work, nodata, &Window::shannon(work.size, scale), put);
        }
        let limits = device.limits();
        let Shape { near, shared_bytes, threads } = kernel.shape(&work, limits.shared_per_block);
        let entry = kernel.entry_for(&work).expect("only kernels of devices are prepared");
        let entries = work.size * work.size + 1;
        let mut finer = [(0, 0.0); 2];
        let given = scale;
        let (table, scale) = match kernel {
            Kernel::Measures | Kernel::MeasuresF64 | Kernel::ColumnsMeasures | Kernel::ColumnsMeasuresF64 => {
                unreachable!("they have been prepared above")
            }
            Kernel::Custom(_) => unreachable!("algorithms from outside prepare themselves"),
            // Logarithms are computed, in bits; no table.
            Kernel::Naive | Kernel::Tiled => (None, scale * std::f64::consts::LN_2),
            Kernel::Columns | Kernel::Adaptive
                if kernel.has_heads(&work) || work.size as u32 > kernels::COLUMNS_SIZE =>
            {
                (None, scale * std::f64::consts::LN_2)
            }
            Kernel::HistogramWide | Kernel::HistogramF64 => {
                // One more than windows have cells: what is read where a cell takes the place of another of its class.
                let (table, units) = table_u64(entries + 1, work.largest);
                (Some(put(bytemuck::cast_slice(&table))?), scale / units)
            }
            Kernel::Columns | Kernel::Adaptive => {
                let tables = Nested::of(work.size, work.largest, work.levels, work.finer());
                let [fine_scale, middle_scale, all] = tables.units.map(|units| scale / units);
                finer = [(tables.cells[0] as u32, fine_scale), (tables.cells[1] as u32, middle_scale)];
                (Some(put(bytemuck::cast_slice(&tables.entries))?), all)
            }
            Kernel::Histogram => {
                // That of the columns kernel: both give the same bits. One more entry than windows have cells, as above.
                let tables = Nested::of(work.size, work.largest, work.levels, None);
                let table: Vec<u32> = tables.entries.iter().copied().chain([0]).collect();
                (Some(put(bytemuck::cast_slice(&table))?), scale / tables.units[2])
            }
            Kernel::Sliding | Kernel::SlidingNarrow | Kernel::Tensor | Kernel::TensorCounted => {
                let (table, units) = table_u32(entries, work.largest);
                (Some(put(bytemuck::cast_slice(&table))?), scale / units)
            }
        };
        let resident = device.resident_blocks(&entry, threads, shared_bytes)?;
        let crowded = match kernel {
            Kernel::Adaptive if kernel.has_codes(&work) => {
                Some(Box::new(Self::new(Kernel::Histogram, device, work, nodata, given, put)?))
            }
            _ => None,
        };
        let nodata = nodata.map_or(NO_NODATA, u32::from);
        let device = Arc::clone(device);
        Ok(Self {
            kernel,
            entry,
            device,
            work,
            nodata,
            table,
            program: None,
            crowded,
            finer,
            scale,
            shared_bytes,
            near,
            resident,
            threads,
        })
    }

    /// The kernel.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Computes a frame, on a queue of the device.
    pub fn launch_on(&self, queue: &mut Queue<'_>, frame: &Frame<'_>) -> Result<(), DeviceError> {
        for (entry, config, args) in self.launches(frame) {
            // SAFETY: what the kernels ask of buffers, strides and shapes is what `Frame` promises; levels, tables and shared memory are as
            // `Prepared` made them. The queue is waited for before anything else changes what lies in the buffers, and freeing them
            // waits for it.
            unsafe { queue.launch(&entry, &config, &args) }?;
        }
        Ok(())
    }

    /// What a band takes: what the kernel reads beside the cells comes first.
    fn launches(&self, frame: &Frame<'_>) -> Vec<(KernelEntry, LaunchConfig, Vec<Arg>)> {
        let cut = self.kernel.columns().then(|| self.cut(frame.cols, frame.count));
        let mut launches = Vec::new();
        let passes = cut.map_or_else(|| vec![None], |cut| self.passes(frame, cut).map(Some).collect());
        for cut in passes {
            launches.extend(cut.iter().flat_map(|cut| self.launches_before(frame, cut)));
            for prepared in [Some(self), self.crowded.as_deref()].into_iter().flatten() {
                let (config, args) = prepared.arguments(frame, cut.as_ref());
                launches.push((prepared.entry, config, args));
            }
        }
        launches
    }

    /// The same, on a queue behind a scan of the cells: nothing is computed unless all of them are below 16. For
    /// [`Kernel::Tensor`], the one kernel that is safe for cells that are no levels.
    pub fn launch_guarded_on(
        &self,
        queue: &mut Queue<'_>,
        frame: &Frame<'_>,
        scan: &PresenceScan,
    ) -> Result<(), DeviceError> {
        assert_eq!(self.kernel, Kernel::Tensor, "the kernel that can be guarded");
        let (config, mut args) = self.arguments(frame, None);
        args.extend([scan.found.input::<u32>(), Arg::U32(scan.records)]);
        // SAFETY: as above, but for the cells' values, of which the kernel takes any; the scan is on the queue, and writes its records before.
        unsafe { queue.launch(&kernels::entropy_tensor_guarded::ENTRY, &config, &args) }
    }

    /// The grid, the block and what the kernel is given. `cut` is that of the columns kernels; the histogram kernel works beside one of them, or alone.
    fn arguments(&self, frame: &Frame<'_>, cut: Option<&Cut>) -> (LaunchConfig, Vec<Arg>) {
        if let Some(program) = &self.program {
            return self.program_arguments(program, frame, cut);
        }
        let Frame { cells, out, rows, cols, stride, first, count, out_stride, .. } = *frame;
        let size = self.work.size as u32;
        let has_codes = self.kernel.has_codes(&self.work);
        let mut args: Vec<Arg> = vec![if has_codes { scratch_of(frame) } else { cells }.input::<u8>()];
        args.push(if self.kernel.is_f64() { out.output::<f64>() } else { out.output::<f32>() });
        match (&self.table, self.kernel) {
            (Some(table), Kernel::HistogramWide | Kernel::HistogramF64) => args.push(table.input::<u64>()),
            (Some(table), _) => args.push(table.input::<u32>()),
            (None, _) => {}
        }
        args.extend([rows, cols, stride, first, count, out_stride].map(Arg::U32));
        let (grid, block) = match self.kernel {
            Kernel::Naive | Kernel::Tiled => {
                args.extend([size, self.nodata].map(Arg::U32));
                let grid = [cols.div_ceil(kernels::TILE_COLS), count.div_ceil(kernels::TILE_ROWS), 1];
                (grid, [kernels::TILE_COLS, kernels::TILE_ROWS, 1])
            }
            Kernel::Histogram | Kernel::HistogramWide | Kernel::HistogramF64 => {
                let across = cols.div_ceil(kernels::HISTOGRAM_COLS);
                // The first window costs size / 2 rows' worth of updates.
                let rows_each = share_rows(count, across, self.resident, size / 2);
                args.extend([size, self.work.counters(), self.nodata, self.near, rows_each].map(Arg::U32));
                if self.kernel == Kernel::Histogram {
                    // Without a survey any words do: they are not read.
                    args.push(if cut.is_some() { scratch_of(frame) } else { cells }.input::<u32>());
                    args.push(Arg::U32(cut.map_or(0, |cut| cut.most + 1)));
                }
                ([across, count.div_ceil(rows_each), 1], [kernels::HISTOGRAM_THREADS, 1, 1])
            }
            Kernel::Columns | Kernel::Adaptive => {
                let &Cut { blocks, rows_each, strips_each, most, plane, planes, .. } =
                    cut.expect("the columns kernels cut the frame");
                // A function's own arguments follow the table, if there is one.
                let shape = args.split_off(args.len() - 6);
                if self.kernel.has_heads(&self.work) {
                    args.push(scratch_of(frame).input::<u32>());
                } else if has_codes {
                    args.extend([strips_each, most, plane, planes].map(Arg::U32));
                }
                args.extend(shape);
                // Codes of tiles have one of their own for it, and finer tables are for nodata.
                let nodata = match self.work.words {
                    Some(_) if self.work.finer().is_some() => 255,
                    Some(_) => NO_NODATA,
                    None => self.nodata,
                };
                args.extend([size, nodata].map(Arg::U32));
                if self.table.is_some() {
                    let [(fine, fine_scale), (middle, middle_scale)] = self.finer;
                    args.extend([self.near, rows_each, fine, middle].map(Arg::U32));
                    args.extend([fine_scale, middle_scale].map(|scale| Arg::F32(scale as f32)));
                } else {
                    args.push(Arg::U32(rows_each));
                }
                ([blocks, 1, 1], [kernels::COLUMNS_THREADS, 1, 1])
            }
            Kernel::Sliding | Kernel::SlidingNarrow => {
                let warps = kernels::SLIDING_THREADS / 32;
                let strips = (cols + 2).div_ceil(kernels::SLIDING_COLS);
                let rows_each = share_rows(count, strips, self.resident * warps, 3);
                let units = strips * count.div_ceil(rows_each);
                args.extend([self.nodata, rows_each].map(Arg::U32));
                ([units.div_ceil(warps).min(self.resident), 1, 1], [kernels::SLIDING_THREADS, 1, 1])
            }
            Kernel::Tensor | Kernel::TensorCounted => {
                let warps = kernels::TENSOR_THREADS / 32;
                let strips = (cols + 2).div_ceil(kernels::TENSOR_COLS);
                let rows_each = rows_in_rounds(count, strips, self.resident * warps, 6);
                let units = strips * count.div_ceil(rows_each);
                // The border's cells, one a thread; all there are in a grid of few rows.
                let frame = 4 * u64::from(cols) + 8 * u64::from(count);
                let frame = frame.div_ceil(u64::from(kernels::TENSOR_THREADS)).min(u64::from(self.resident)) as u32;
                args.extend([self.nodata, rows_each].map(Arg::U32));
                let blocks = units.div_ceil(warps).max(frame).min(self.resident);
                ([blocks, 1, 1], [kernels::TENSOR_THREADS, 1, 1])
            }
            Kernel::Measures
            | Kernel::MeasuresF64
            | Kernel::ColumnsMeasures
            | Kernel::ColumnsMeasuresF64
            | Kernel::Custom(_) => unreachable!("they have been launched above"),
        };
        args.push(if self.kernel.is_f64() { Arg::F64(self.scale) } else { Arg::F32(self.scale as f32) });
        (LaunchConfig { grid, block, shared_bytes: self.shared_bytes }, args)
    }

    /// The same for the kernels for measures.
    fn program_arguments(&self, program: &Program, frame: &Frame<'_>, cut: Option<&Cut>) -> (LaunchConfig, Vec<Arg>) {
        if let Some(&Cut { blocks, rows_each, .. }) = cut {
            let numbers = [self.work.size as u32, self.nodata, self.near, rows_each];
            let args = program.args_of_columns(frame, scratch_of(frame), self.kernel.is_f64(), numbers);
            let grid = [blocks, 1, 1];
            let block = [kernels::COLUMNS_THREADS, 1, 1];
            return (LaunchConfig { grid, block, shared_bytes: self.shared_bytes }, args);
        }
        let across = frame.cols.div_ceil(kernels::MEASURES_THREADS);
        // The first window costs half its height's worth of rows.
        let rows_each = share_rows(frame.count, across, self.resident, program.height() / 2);
        let numbers = [self.work.counters(), self.nodata, self.near, rows_each];
        let args = program.args(frame, self.kernel.is_f64(), numbers);
        let grid = [across, frame.count.div_ceil(rows_each), 1];
        let block = [kernels::MEASURES_THREADS, 1, 1];
        (LaunchConfig { grid, block, shared_bytes: self.shared_bytes }, args)
    }
}

impl Launcher for Prepared {
    fn cell_bytes(&self) -> usize {
        self.work.cell_bytes()
    }

    fn bytes_per_row(&self, pitch: usize) -> usize {
        scratch_bytes(self.kernel, &self.work, pitch)
    }

    fn rows_at_most(&self) -> usize {
        match self.kernel {
            // One row of blocks each: a grid has at most 65,535 along y.
            Kernel::Naive | Kernel::Tiled => 65_535 * kernels::TILE_ROWS as usize,
            _ => 1 << 30,
        }
    }

    fn resident_threads(&self) -> u32 {
        self.resident * self.threads
    }

    /// Histograms of each row at the heads of strips, or codes of tiles.
    fn scratch(&self, rows: usize, cols: usize) -> Result<Option<Buffer>, DeviceError> {
        let bytes = scratch_bytes(self.kernel, &self.work, cols);
        (bytes > 0).then(|| Buffer::new(&self.device, rows * bytes)).transpose()
    }

    unsafe fn launch(&self, frame: &Frame<'_>) -> Result<f64, DeviceError> {
        let mut seconds = 0.0;
        for (entry, config, args) in self.launches(frame) {
            // SAFETY: what the kernels ask of buffers, strides and shapes is what `Frame` promises; tables have the entries
            // that each asks for; cells have been coded below `levels` or as nodata; shared memory is as each kernel says; a program's
            // buffers are what the kernels for measures say of them, and `out` has a place for every plane; heads and codes have been made.
            seconds += unsafe { self.device.launch(&entry, &config, &args) }?;
        }
        Ok(seconds)
    }
}

/// How many rows each of the pieces gets into which `count` rows are cut, so that `across` columns of pieces make whole
/// rounds for `slots` workers that are all equally fast; a piece costs its rows plus `startup` rows' worth of work.
fn rows_in_rounds(count: u32, across: u32, slots: u32, startup: u32) -> u32 {
    // Fewer would be mostly start-up.
    const LEAST: u32 = 4;
    let cost = |rows: u32| {
        let units = u64::from(across) * u64::from(count.div_ceil(rows));
        units.div_ceil(u64::from(slots)) * u64::from(rows + startup)
    };
    let whole = |rounds: u32| {
        let pieces = (u64::from(rounds) * u64::from(slots) / u64::from(across.max(1))).clamp(1, u64::from(count));
        count.div_ceil(pieces as u32).max(LEAST)
    };
    (1..=8).map(whole).min_by_key(|&rows| cost(rows)).unwrap_or(count)
}

/// How many rows each of the pieces gets into which `count` rows are cut, so that `across` columns of pieces keep
/// `slots` workers busy: the whole takes as many rounds as the busiest worker has pieces, and a piece its rows plus
/// `startup` rows' worth of work.
fn share_rows(count: u32, across: u32, slots: u32, startup: u32) -> u32 {
    let mut best = (f64::INFINITY, count);
    let most = (count / (24 + startup / 2)).clamp(1, 60_000);
    for pieces in (1..=most).take(4096) {
        let rows_each = count.div_ceil(pieces);
        let rounds = (u64::from(across) * u64::from(count.div_ceil(rows_each))).div_ceil(u64::from(slots));
        // Several rounds even out the wait for the slowest worker of a single one.
        let cost = (rounds as f64 + 0.2) * f64::from(rows_each + startup);
        if cost < best.0 {
            best = (cost, rows_each);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_make_whole_rounds() {
        // 83 strips on 132 multiprocessors with 24 warps each: 38 pieces of a strip, and nearly all warps have one.
        assert_eq!(rows_in_rounds(10_240, 83, 3168, 6), 270);
        assert_eq!(rows_in_rounds(2560, 21, 3168, 6), 18);
        assert_eq!(rows_in_rounds(400, 4, 3168, 6), 4);
        assert_eq!(rows_in_rounds(3, 4, 3168, 6), 4);
        // More strips than workers.
        assert_eq!(rows_in_rounds(10, 100_000, 3168, 6), 10);
    }

    #[test]
    fn rows_are_shared_without_leaving_a_last_round_half_empty() {
        // 83 strips of the sliding kernel on 132 multiprocessors with 16 warps each.
        let rows_each = share_rows(10_240, 83, 132 * 16, 3);
        let units = 83 * 10_240u32.div_ceil(rows_each);
        let rounds = units.div_ceil(2112);
        assert!(f64::from(units) / f64::from(rounds * 2112) > 0.9, "{rows_each} rows each, {units} units");
        assert_eq!(share_rows(1, 1, 2112, 3), 1);
        assert!(share_rows(u32::MAX / 4, 1, 2112, 3) > 0);
    }

    #[test]
    fn the_fastest_kernel_that_fits_is_chosen() {
        let hopper = Limits {
            multiprocessors: 132,
            shared_per_block: 232_448,
            arch: 90,
            memory: 1 << 37,
            launch_cells: 1 << 27,
        };
        let turing = Limits { shared_per_block: 65_536, arch: 75, ..hopper.clone() };
        let work = |size: usize, levels, nodata, f64| Work {
            size,
            rows: 999,
            cols: 999,
            levels,
            nodata,
            largest: size * size,
            f64,
            runs: None,
            square: true,
            words: None,
        };
        assert_eq!(Kernel::choose(&work(5, 16, false, false), &hopper), Ok(Kernel::Tensor));
        assert_eq!(Kernel::choose(&work(5, 16, true, false), &hopper), Ok(Kernel::TensorCounted));
        let flat = Work { rows: 10, cols: 1_000_000, ..work(5, 16, false, false) };
        assert_eq!(Kernel::choose(&flat, &hopper), Ok(Kernel::Sliding));
        assert_eq!(Kernel::choose(&work(5, 16, true, false), &turing), Ok(Kernel::SlidingNarrow));
        assert_eq!(Kernel::choose(&work(21, 16, true, false), &hopper), Ok(Kernel::Columns));
        assert_eq!(Kernel::choose(&work(101, 16, true, false), &hopper), Ok(Kernel::Columns));
        // More than 16 classes: it depends on the map, unless that is small or the window so small that little could be gained.
        assert_eq!(Kernel::choose(&work(21, 17, true, false), &hopper), Ok(Kernel::Adaptive));
        let small = Work { rows: 99, ..work(21, 17, true, false) };
        assert_eq!(Kernel::choose(&small, &hopper), Ok(Kernel::Histogram));
        assert_eq!(Kernel::choose(&work(9, 40, false, false), &hopper), Ok(Kernel::Histogram));
        assert_eq!(Kernel::choose(&work(51, 17, true, false), &hopper), Ok(Kernel::Columns));
        assert_eq!(Kernel::choose(&work(21, 256, false, false), &hopper), Ok(Kernel::Adaptive));
        assert_eq!(Kernel::choose(&work(101, 16, false, false), &hopper), Ok(Kernel::Columns));
        assert_eq!(Kernel::choose(&work(5, 17, false, false), &hopper), Ok(Kernel::Histogram));
        assert_eq!(Kernel::choose(&work(5, 16, false, true), &hopper), Ok(Kernel::HistogramF64));
        assert_eq!(Kernel::choose(&work(255, 256, false, false), &turing), Ok(Kernel::Columns));
        let window = |f64| Work { runs: Some(5), ..work(5, 16, false, f64) };
        assert_eq!(Kernel::choose(&window(false), &hopper), Ok(Kernel::Measures));
        assert_eq!(Kernel::choose(&window(true), &turing), Ok(Kernel::MeasuresF64));
        let only = Some("it measures Shannon's entropy in squares, and nothing else".to_owned());
        for kernel in Kernel::ALL.into_iter().filter(|kernel| !kernel.measures() && !kernel.is_f64()) {
            assert_eq!(kernel.misfit(&window(false), &hopper), only, "{kernel}");
        }
    }
}
