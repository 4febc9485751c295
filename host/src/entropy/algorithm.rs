//! Algorithms from outside the library, run in place of its own: what a user's own kernel, or a step of a ladder, is to
//! [`Entropy`](super::Entropy).
//!
//! The library does what comes before and after: it checks the question, finds the codes and hands over a [`Task`]. An algorithm is
//! chosen by name only ([`Kernel::Custom`](super::Kernel::Custom)), never by itself.

use std::sync::Arc;

use simt::launch::KernelEntry;

use super::census::Coding;
use super::frame::pitch;
use super::{Engine, Error, Frame, Place, Report};
use crate::custom::Named;
use crate::exec::{Buffer, Device, DeviceError, Rows};
use crate::grid::GridView;
use crate::numbers::{Planes, Real};
use crate::observe::Observer;

/// Shannon's entropy of square windows that are clipped at the edge, of a grid of codes.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The codes: below `levels`, or `nodata`.
    pub cells: GridView<'a, u8>,
    /// Levels, 1 to 256.
    pub levels: usize,
    /// The code of cells without data; `None` where there are none.
    pub nodata: Option<u8>,
    /// Cells of a window's side, odd.
    pub size: usize,
    /// What the entropy in nats is multiplied by.
    pub scale: f64,
    /// Whether results are f64.
    pub f64: bool,
}

/// A way to compute entropy that the library does not have.
pub trait Algorithm: Send + Sync {
    /// Its name, unlike those of the library's kernels.
    fn name(&self) -> &'static str;

    /// Where it runs.
    fn place(&self) -> Place;

    /// True when its results are f64.
    fn is_f64(&self) -> bool {
        false
    }

    /// The description of its kernel, where it is one.
    fn entry(&self) -> Option<KernelEntry> {
        None
    }

    /// Threads and bytes of dynamic shared memory of the blocks that its kernel is launched in.
    fn block(&self) -> Option<(u32, u32)> {
        None
    }

    /// Why it cannot do this; `None` when it can. What asks for more than [`Task`] has is refused before.
    fn misfit(&self, task: &Task<'_>) -> Option<String>;

    /// Fills the one plane of `out`, which has the grid's shape and is of the type that the task says, by `engine`: one that [`place`](Self::place) allows.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when the observer says so, and whatever the engine's errors are.
    ///
    /// # Safety
    /// The task keeps its promise: every cell is below `levels` or is `nodata`. [`misfit`](Self::misfit) found nothing against it.
    unsafe fn compute(
        &'static self,
        engine: &Engine,
        task: &Task<'_>,
        out: Planes<'_>,
        observer: &dyn Observer,
    ) -> Result<Report, Error>;

    /// Makes its kernel ready on a device, for benchmarks that launch it again and again.
    ///
    /// # Errors
    /// [`Error::KernelMisfit`] where it is no single kernel.
    ///
    /// # Safety
    /// As for [`compute`](Self::compute); what is launched afterwards has cells of the same kind.
    unsafe fn prepare(&'static self, device: &Arc<dyn Device>, task: &Task<'_>) -> Result<Box<dyn Launcher>, Error>;
}

/// A kernel that has been made ready on a device: its tables are there.
pub trait Launcher: Send + Sync {
    /// Bytes of a cell on the device.
    fn cell_bytes(&self) -> usize {
        size_of::<u8>()
    }

    /// Cells from a row of `cols` cells to the next on the device: as for the library's kernels, unless the kernel asks for something else.
    fn pitch(&self, cols: usize) -> usize {
        pitch(cols)
    }

    /// Bytes on the device for each row of `pitch` cells, beside them and their results.
    fn bytes_per_row(&self, pitch: usize) -> usize {
        let _ = pitch;
        0
    }

    /// The most output rows that one launch takes.
    fn rows_at_most(&self) -> usize;

    /// Threads of it that the device holds at once.
    fn resident_threads(&self) -> u32;

    /// Memory for what a launch over a frame of up to `rows` × `cols` cells makes first, if it does.
    fn scratch(&self, rows: usize, cols: usize) -> Result<Option<Buffer>, DeviceError> {
        let _ = (rows, cols);
        Ok(None)
    }

    /// Copies codes to the device, as cells of the kernel's type.
    fn upload(&self, to: &Buffer, pitch: usize, cells: GridView<'_, u8>) -> Result<(), DeviceError> {
        let rows = Rows { start: 0, pitch, width: cells.cols(), rows: cells.rows() };
        to.device().upload(to, rows, cells.as_strided(), cells.stride())
    }

    /// Computes a frame. Returns the seconds that the kernel took.
    ///
    /// # Errors
    /// Those of the device.
    ///
    /// # Safety
    /// The frame is what it says: its buffers hold so many rows of that pitch, [uploaded](Self::upload) by this launcher, and nothing else uses
    /// them meanwhile.
    unsafe fn launch(&self, frame: &Frame<'_>) -> Result<f64, DeviceError>;
}

impl Named for dyn Algorithm {
    fn name(&self) -> &'static str {
        Algorithm::name(self)
    }
}

/// An [`Algorithm`], as a [`Kernel`](super::Kernel) is one: it is its name.
pub type Custom = crate::custom::Custom<dyn Algorithm>;

impl Custom {
    /// What it is to do: the cells by their codes, if it can.
    pub(super) fn task<'a, T: Real>(
        self,
        cells: GridView<'a, u8>,
        coding: &Coding,
        size: usize,
        scale: f64,
    ) -> Result<Task<'a>, Error> {
        let Coding { levels, nodata, .. } = *coding;
        let task = Task { cells, levels, nodata, size, scale, f64: size_of::<T>() == 8 };
        let f64 = self.algorithm().is_f64();
        let misfit = match (task.f64, f64) {
            (false, true) => Some("it computes in f64".to_owned()),
            (true, false) => Some("it computes in f32".to_owned()),
            _ => self.algorithm().misfit(&task),
        };
        match misfit {
            None => Ok(task),
            Some(reason) => Err(Error::KernelMisfit { kernel: self.algorithm().name(), reason }),
        }
    }
}
