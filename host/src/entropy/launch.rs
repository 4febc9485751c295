//! A kernel prepared for one device, and its launches.

use std::sync::Arc;

use super::algorithm::Launcher;
use super::frame::Frame;
use super::kernel::{Kernel, Own};
use super::kernels::{Common, Put, Question, Ready};
use crate::arrays::PresenceScan;
use crate::exec::queue::Queue;
use crate::exec::{Buffer, Device, DeviceError};

/// Copies a table to a device at once, for use on any queue.
pub(super) fn at_once(device: &Arc<dyn Device>) -> impl FnMut(&[u8]) -> Result<Buffer, DeviceError> {
    |bytes| Buffer::from_slice(device, bytes)
}

/// A kernel prepared for one device: its tables are on the device, and what does not change from band to band is computed.
pub(super) struct Prepared {
    own: Own,
    device: Arc<dyn Device>,
    ready: Box<dyn Ready>,
}

impl Prepared {
    /// Has the kernel's tables put on the device, by `put`.
    pub fn new(own: Own, question: &Question<'_>, put: Put<'_>) -> Result<Self, DeviceError> {
        Ok(Self { own, device: Arc::clone(question.device), ready: own.ready(question, put)? })
    }

    /// The kernel.
    pub fn kernel(&self) -> Kernel {
        self.own.kernel
    }

    /// Computes a frame, on a queue of the device.
    pub fn launch_on(&self, queue: &mut Queue<'_>, frame: &Frame<'_>) -> Result<(), DeviceError> {
        for (entry, config, args) in self.ready.launches(frame) {
            // SAFETY: what the kernels ask of buffers, strides and shapes is what `Frame` promises; levels, tables and shared memory are as
            // the descriptors made them. The queue is waited for before anything else changes what lies in the buffers, and freeing them
            // waits for it.
            unsafe { queue.launch(&entry, &config, &args) }?;
        }
        Ok(())
    }

    /// The same, on a queue behind a scan of the cells: nothing is computed unless all of them are below 16 or nodata. False where the kernel is not safe
    /// for cells that are no levels: nothing has been launched then.
    pub fn launch_guarded_on(
        &self,
        queue: &mut Queue<'_>,
        frame: &Frame<'_>,
        scan: &PresenceScan,
    ) -> Result<bool, DeviceError> {
        let Some(launches) = self.ready.guarded(frame, scan) else { return Ok(false) };
        for (entry, config, args) in launches {
            // SAFETY: as above, but for the cells' values, of which the kernel takes any; the scan is on the queue, and writes its records before.
            unsafe { queue.launch(&entry, &config, &args) }?;
        }
        Ok(true)
    }

    /// Work of a cell, relative to the fastest kernels.
    pub fn cost(&self) -> f64 {
        self.own.cost(&self.common().work)
    }

    /// Bytes of what is made first for a frame of so many rows, `count` of which are computed: often much less than by
    /// [`bytes_per_row`](Launcher::bytes_per_row), which holds for any number of rows. Fewer rows may take more.
    pub fn scratch_for(&self, rows: usize, cols: usize, count: usize) -> usize {
        self.ready.scratch_for(rows, cols, count).unwrap_or_else(|| rows * self.bytes_per_row(cols))
    }

    fn common(&self) -> &Common {
        self.ready.common()
    }
}

impl Launcher for Prepared {
    fn cell_bytes(&self) -> usize {
        self.common().work.cell_bytes()
    }

    fn bytes_per_row(&self, pitch: usize) -> usize {
        self.own.scratch_bytes(&self.common().work, pitch)
    }

    fn rows_at_most(&self) -> usize {
        self.own.facts().rows_at_most
    }

    fn resident_threads(&self) -> u32 {
        self.common().resident * self.common().block.threads
    }

    /// Histograms of each row at the heads of strips, or codes of tiles.
    fn scratch(&self, rows: usize, cols: usize) -> Result<Option<Buffer>, DeviceError> {
        let bytes = self.bytes_per_row(cols);
        (bytes > 0).then(|| Buffer::new(&self.device, rows * bytes)).transpose()
    }

    unsafe fn launch(&self, frame: &Frame<'_>) -> Result<f64, DeviceError> {
        let mut seconds = 0.0;
        for (entry, config, args) in self.ready.launches(frame) {
            // SAFETY: what the kernels ask of buffers, strides and shapes is what `Frame` promises; tables have the entries
            // that each asks for; cells have been coded below `levels` or as nodata; shared memory is as each kernel says; a program's
            // buffers are what the kernels for measures say of them, and `out` has a place for every plane; heads and codes have been made.
            seconds += unsafe { self.device.launch(&entry, &config, &args) }?;
        }
        Ok(seconds)
    }
}
