//! The library's kernels for devices, a descriptor each.
//!
//! A [`Descriptor`] says in one place what a kernel can do ([`Facts`]), what it costs, what its blocks take, and how it is made ready: that
//! yields a [`Ready`], which has the kernel's tables on a device and makes the launches of a [`Frame`]. What chooses and launches kernels
//! (`choice`, `launch`) asks descriptors only, and knows none of them by name.
//!
//! What depends on a device (how many blocks run at once, how much shared memory a block may have) is asked of it; nothing is tuned to
//! one product by name.

use std::sync::Arc;

use simt::launch::{Arg, KernelEntry, LaunchConfig};

mod adaptive;
mod band;
mod codes;
mod columns;
mod columns_measures;
mod columns_parts;
mod cut;
mod definition;
mod footprint;
mod groups;
mod histogram;
mod measures;
mod one_sum;
mod share;
mod sliding;
mod tensor;
mod work;

pub(super) use adaptive::ADAPTIVE;
pub(super) use band::{BAND, BAND_COUNTED, BAND_F64};
pub(super) use columns::COLUMNS;
pub(super) use columns_measures::{COLUMNS_MEASURES, COLUMNS_MEASURES_F64};
pub(super) use columns_parts::{COLUMNS_PARTS, COLUMNS_PARTS_F64};
pub(super) use cut::scratch_cols;
pub(super) use definition::{NAIVE, TILED};
pub(super) use footprint::FOOTPRINT;
pub(super) use histogram::{HISTOGRAM, HISTOGRAM_F64, HISTOGRAM_WIDE};
pub(super) use measures::{MEASURES, MEASURES_F64};
pub(super) use sliding::{SLIDING, SLIDING_NARROW};
pub(super) use tensor::{TENSOR, TENSOR_COUNTED, TENSOR_F64};
pub(super) use work::Work;

use super::frame::Frame;
use crate::arrays::PresenceScan;
use crate::exec::{Buffer, Device, DeviceError, Limits};
use crate::measure::window::Window;

/// What a kernel can do, for all work alike.
pub(super) struct Facts {
    /// Its name for users, as "sliding".
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Its description, for an executor. [`Descriptor::entry`] may name another for some work.
    pub entry: KernelEntry,
    /// Whether its results are f64.
    pub f64: bool,
    /// Where it is a candidate without being asked for by name.
    pub candidate: Candidate,
    /// Sides of its windows.
    pub sides: Sides,
    /// Levels at most.
    pub levels: usize,
    /// Whether it computes any measures; otherwise Shannon's entropy in squares.
    pub measures: bool,
    /// Whether it computes those that come from [one sum](Work::one_sum) too.
    pub one_sum: bool,
    /// Whether it takes windows that are no squares.
    pub shapes: bool,
    /// Whether it takes grids that have nodata cells.
    pub nodata: bool,
    /// Whether it counts nodata like a level, so that its code is to be next to theirs; others take any.
    pub counts_nodata: bool,
    /// Whether it takes codes of 16 bits.
    pub words: bool,
    /// Whether it can be [`guarded`](Ready::guarded) by a scan of the cells.
    pub guarded: bool,
    /// Rows that one launch computes at most.
    pub rows_at_most: usize,
}

impl Facts {
    /// What most kernels have in common: f32 results of Shannon's entropy in squares of up to 255 × 255, of up to 256 levels and nodata beside them.
    const fn new(name: &'static str, entry: KernelEntry, about: &'static str) -> Self {
        Self {
            name,
            about,
            entry,
            f64: false,
            candidate: Candidate::Squares,
            // Most have counters of 16 bits, or of a byte for a column.
            sides: Sides::UpTo(255),
            levels: 256,
            measures: false,
            one_sum: false,
            shapes: false,
            nodata: true,
            counts_nodata: true,
            words: false,
            guarded: false,
            rows_at_most: 1 << 30,
        }
    }
}

/// For which questions a kernel is a candidate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Candidate {
    /// None: it is asked for by name.
    ByName,
    /// Shannon's entropy in squares.
    Squares,
    /// Any measures in windows of any shape.
    Windows,
    /// Both.
    Both,
}

/// The sides of windows that a kernel takes.
#[derive(Clone, Copy)]
pub(super) enum Sides {
    /// Odd ones up to this.
    UpTo(usize),
    /// These.
    Any(&'static [usize]),
}

impl Sides {
    /// The longest of them.
    pub fn longest(self) -> usize {
        match self {
            Self::UpTo(side) => side,
            Self::Any(sides) => sides.iter().copied().max().unwrap_or(0),
        }
    }
}

/// What a block of a kernel has.
pub(super) struct Block {
    /// Threads.
    pub threads: u32,
    /// Entries of a table (histogram, measures), or copies of one (columns), in shared memory.
    pub near: u32,
    /// Dynamic shared memory in bytes.
    pub shared_bytes: u32,
}

/// Copies a table to a device.
pub(super) type Put<'a> = &'a mut dyn FnMut(&[u8]) -> Result<Buffer, DeviceError>;

/// What a kernel is made ready for.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub device: &'a Arc<dyn Device>,
    pub work: Work,
    /// The code of cells without data.
    pub nodata: Option<u16>,
    /// What the entropy in nats is multiplied by.
    pub scale: f64,
    /// The window and its measures, where more than Shannon's entropy in a square is asked for.
    pub window: Option<&'a Window>,
}

/// A launch: the kernel, its geometry and its arguments.
pub(super) type Launch = (KernelEntry, LaunchConfig, Vec<Arg>);

/// A kernel of the library.
pub(super) trait Descriptor: Sync {
    /// What it can do, for all work alike.
    fn facts(&self) -> &Facts;

    /// The entry that is launched for such work.
    fn entry(&self, work: &Work) -> KernelEntry {
        let _ = work;
        self.facts().entry
    }

    /// What it cannot do of what its facts allow; `None` when it can do everything.
    fn misfit(&self, work: &Work, limits: &Limits) -> Option<String> {
        let _ = (work, limits);
        None
    }

    /// Work of a cell, roughly, relative to the fastest kernels: the basis of the choice of kernels and of how many cells they are given
    /// at a time.
    ///
    /// As measured on an H200, 8,192² random cells of 16, 44, 96 and 256 classes in windows of 3 × 3 to 1,001 × 1,001 (0.25 ms are a unit).
    fn cost(&self, work: &Work) -> f64;

    /// The least shared memory of a block that the kernel runs with, in bytes.
    fn shared_needed(&self, work: &Work) -> u32;

    /// Its blocks on a device that gives a block `shared_per_block` bytes.
    fn block(&self, work: &Work, shared_per_block: u32) -> Block;

    /// Bytes of what a launch makes first, for each row of `cols` cells that a frame has; 0 where it makes nothing.
    fn scratch_bytes(&self, work: &Work, cols: usize) -> usize {
        let _ = (work, cols);
        0
    }

    /// Has its tables put on the device, by `put`.
    fn ready(&self, question: &Question<'_>, put: Put<'_>) -> Result<Box<dyn Ready>, DeviceError>;
}

/// A kernel whose tables are on a device. Numbers that do not change from band to band have been computed.
pub(super) trait Ready: Send + Sync {
    /// What all kernels have.
    fn common(&self) -> &Common;

    /// What a frame takes: what the kernel reads beside the cells comes first.
    ///
    /// Whatever launches them promises that the frame's buffers, strides and shape are what [`Frame`] says of them and that its cells have been coded below
    /// the levels or as nodata; everything else that the kernels ask for (tables, shared memory, what is made first) is as made here.
    fn launches(&self, frame: &Frame<'_>) -> Vec<Launch>;

    /// The same behind a scan of the cells: nothing is computed unless all of them are below 16, or nodata where the kernel takes that. `None` where
    /// the kernel is not safe for cells that are no levels.
    fn guarded(&self, frame: &Frame<'_>, scan: &PresenceScan) -> Option<Vec<Launch>> {
        let _ = (frame, scan);
        None
    }

    /// Bytes of what is made first for a frame of so many rows, `count` of which are computed, where that is known to be less than
    /// [`Descriptor::scratch_bytes`] of each, which holds for any number of rows. Fewer rows may take more.
    fn scratch_for(&self, rows: usize, cols: usize, count: usize) -> Option<usize> {
        let _ = (rows, cols, count);
        None
    }
}

/// What every kernel has that is ready.
pub(super) struct Common {
    pub entry: KernelEntry,
    pub work: Work,
    /// Whether its results are f64.
    pub f64: bool,
    /// The code of nodata as kernels take it.
    pub nodata: u32,
    pub block: Block,
    /// Blocks that run at once.
    pub resident: u32,
}

/// What kernels take for a code of no data where there is none: above all codes.
const NO_NODATA: u32 = 1 << 16;

impl Common {
    /// With the blocks that the kernel has for such work.
    fn new(kernel: &dyn Descriptor, question: &Question<'_>) -> Result<Self, DeviceError> {
        let block = kernel.block(&question.work, question.device.limits().shared_per_block);
        Self::with_block(kernel, question, block)
    }

    fn with_block(kernel: &dyn Descriptor, question: &Question<'_>, block: Block) -> Result<Self, DeviceError> {
        Self::of_entry(kernel.entry(&question.work), question, block)
    }

    /// For a kernel's entry, which has results of the type asked for.
    fn of_entry(entry: KernelEntry, question: &Question<'_>, block: Block) -> Result<Self, DeviceError> {
        let Question { device, work, nodata, .. } = *question;
        let resident = device.resident_blocks(&entry, block.threads, block.shared_bytes)?;
        let nodata = nodata.map_or(NO_NODATA, u32::from);
        Ok(Self { entry, work, f64: work.f64, nodata, block, resident })
    }

    /// What the arguments of most kernels begin with: cells, results, a table and the frame's shape.
    fn arguments(&self, cells: &Buffer, frame: &Frame<'_>, table: impl IntoIterator<Item = Arg>) -> Vec<Arg> {
        let mut args = vec![cells.input::<u8>(), self.out(frame)];
        args.extend(table);
        args.extend(shape_of(frame));
        args
    }

    /// Where results go.
    fn out(&self, frame: &Frame<'_>) -> Arg {
        if self.f64 { frame.out.output::<f64>() } else { frame.out.output::<f32>() }
    }

    /// A factor of results, of their type.
    fn factor(&self, scale: f64) -> Arg {
        if self.f64 { Arg::F64(scale) } else { Arg::F32(scale as f32) }
    }

    /// The launch in blocks of the kernel's own threads and shared memory.
    fn launch(&self, grid: [u32; 3], args: Vec<Arg>) -> Launch {
        self.launch_of(self.entry, grid, args)
    }

    /// The same of another entry, which has the same blocks.
    fn launch_of(&self, entry: KernelEntry, grid: [u32; 3], args: Vec<Arg>) -> Launch {
        let Block { threads, shared_bytes, .. } = self.block;
        (entry, LaunchConfig { grid, block: [threads, 1, 1], shared_bytes }, args)
    }
}

/// The shape of a frame, as all kernels take it.
fn shape_of(frame: &Frame<'_>) -> [Arg; 6] {
    let Frame { rows, cols, stride, first, count, out_stride, .. } = *frame;
    [rows, cols, stride, first, count, out_stride].map(Arg::U32)
}

/// Where what a launch makes first is.
fn scratch_of<'a>(frame: &Frame<'a>) -> &'a Buffer {
    frame.scratch.expect("memory for what is made first")
}
