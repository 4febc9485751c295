//! A kernel and its grid on a device, to be launched repeatedly by benchmarks.
//!
//! One small grid launched twice would hit the second-level cache the second time: the time would be one that no
//! real run has. So the device holds several copies of the grid and its result, and launches take them in turn: by the time the first
//! comes again, the others have evicted it.

use std::marker::PhantomData;
use std::sync::Arc;

use super::algorithm::Launcher;
use super::census::Coding;
use super::choice::pick;
use super::frame::{Frame, allocate};
use super::kernels::{Question, Work};
use super::launch::{Prepared, at_once};
use super::{Error, Kernel};
use crate::exec::{Buffer, Device, Rows};
use crate::grid::{GridView, GridViewMut};
use crate::numbers::Real;

/// The most copies: each takes two allocations.
const MOST_COPIES: usize = 512;

/// A kernel and its grid on a device. Made by [`Entropy::resident`](super::Entropy::resident).
pub struct Resident<T> {
    device: Arc<dyn Device>,
    kernel: Kernel,
    launcher: Box<dyn Launcher>,
    /// Copies of the grid, and their results.
    copies: Vec<(Buffer, Buffer)>,
    scratch: Option<Buffer>,
    launches: usize,
    rows: usize,
    cols: usize,
    /// Cells from a row to the next.
    pitch: usize,
    result: PhantomData<T>,
}

impl<T: Real> Resident<T> {
    pub(super) fn new(
        device: &Arc<dyn Device>,
        kernel: Option<Kernel>,
        cells: GridView<'_, u8>,
        coding: &Coding,
        size: usize,
        scale: f64,
        spread: usize,
    ) -> Result<Self, Error> {
        let coded = coding.coded(cells)?;
        let cells = coded.view();
        let (kernel, launcher): (Kernel, Box<dyn Launcher>) = match kernel {
            Some(kernel @ Kernel::Custom(custom)) => {
                let task = custom.task::<T>(cells, coding, size, scale)?;
                // SAFETY: the cells have been coded, and they are what is launched.
                (kernel, unsafe { custom.algorithm().prepare(device, &task) }?)
            }
            kernel => {
                let work = Work::new::<T>(cells, coding, size);
                let own = pick(kernel, &work, device)?;
                let nodata = coding.nodata.map(u16::from);
                let question = Question { device, work, nodata, scale, window: None };
                (own.kernel, Box::new(Prepared::new(own, &question, &mut at_once(device))?))
            }
        };
        let (rows, cols) = (cells.rows(), cells.cols());
        if rows > launcher.rows_at_most() {
            let reason = format!("one launch takes up to {} rows, not {rows}", launcher.rows_at_most());
            return Err(Error::KernelMisfit { kernel: kernel.name(), reason });
        }
        let pitch = launcher.pitch(cols);
        let cell_bytes = launcher.cell_bytes();
        // More copies than half the memory holds would leave none for other users of the device.
        let bytes = rows * (pitch * (cell_bytes + size_of::<T>()) + launcher.bytes_per_row(pitch));
        let most = (device.free_memory()? / 2 / bytes).clamp(1, MOST_COPIES);
        let copies = (0..spread.div_ceil(bytes).clamp(1, most))
            .map(|_| {
                let (grid, out) = allocate::<T>(device, cell_bytes, pitch, rows, 0)?;
                launcher.upload(&grid, pitch, cells)?;
                Ok((grid, out))
            })
            .collect::<Result<_, Error>>()?;
        let scratch = launcher.scratch(rows, pitch)?;
        let device = Arc::clone(device);
        Ok(Self { device, kernel, launcher, copies, scratch, launches: 0, rows, cols, pitch, result: PhantomData })
    }

    /// The kernel.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Threads of it that the device holds at once, as its driver says: these over the device's limit are its
    /// occupancy.
    pub fn resident_threads(&self) -> u32 {
        self.launcher.resident_threads()
    }

    /// How many grids, and places for results, launches take in turn.
    pub fn copies(&self) -> usize {
        self.copies.len()
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> usize {
        self.copies.iter().map(|(cells, out)| cells.bytes() + out.bytes()).sum()
    }

    /// Runs the kernel over the next copy. Returns the seconds that it took on the device, by the device's clock.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn launch(&mut self) -> Result<f64, Error> {
        let (cells, out) = &self.copies[self.launches % self.copies.len()];
        self.launches += 1;
        let (rows, cols, pitch) = (self.rows as u32, self.cols as u32, self.pitch as u32);
        let scratch = self.scratch.as_ref();
        let frame = Frame { cells, out, scratch, rows, cols, stride: pitch, first: 0, count: rows, out_stride: pitch };
        // SAFETY: the copies and the scratch memory were made for the frame by this launcher, and are used by nothing else.
        Ok(unsafe { self.launcher.launch(&frame) }?)
    }

    /// Copies the result of the last launch to `out`, which has the grid's shape. Before the first launch, and in cells that
    /// the kernel did not write, it is a number that no entropy has.
    ///
    /// # Errors
    /// [`Error::OutputShape`], [`Error::Device`].
    pub fn download(&self, mut out: GridViewMut<'_, T>) -> Result<(), Error> {
        let (rows, cols) = (self.rows, self.cols);
        if (out.rows(), out.cols()) != (rows, cols) {
            return Err(Error::OutputShape { rows, cols, got_rows: out.rows(), got_cols: out.cols() });
        }
        let last = self.launches.saturating_sub(1) % self.copies.len();
        let stride = out.stride() * size_of::<T>();
        let target = bytemuck::cast_slice_mut(out.as_strided_mut());
        let rows = Rows { start: 0, pitch: self.pitch * size_of::<T>(), width: cols * size_of::<T>(), rows };
        Ok(self.device.download(&self.copies[last].1, rows, target, stride)?)
    }
}
