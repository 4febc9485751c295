//! Queues: copies and launches that run concurrently with the caller.
//!
//! ```text
//! scope(device, 0, n, |queues| ...)  n queues, none of them urgent; before it returns, all of them have been waited for
//!     queue.upload(rows, ...)        takes the memory that it reads from
//!     queue.launch(...)
//!     queue.download(rows, ...)      takes the memory that it writes to
//!     queue.wait()                   gives all of it back
//! ```
//!
//! Memory under a copy belongs to the copy: a queue takes it, owned or borrowed, and only [`Queue::wait`] gives it back, so half a
//! result cannot be read. Borrowed memory could still be freed during a copy, by forgetting the
//! queue instead of dropping it; so queues are only borrowed, from [`scope`], which always waits for all of them.

use std::sync::Arc;

use simt::launch::{Arg, KernelEntry, LaunchConfig};

use crate::{Buffer, Device, DeviceError, HostMemory, Rows};

/// Rows of bytes on the host that a device is to read.
pub struct Source<'m> {
    /// The memory.
    pub memory: Readable<'m>,
    /// Bytes from a row to the next.
    pub pitch: usize,
    /// Bytes of a row.
    pub width: usize,
    /// Rows.
    pub rows: usize,
}

/// Rows of bytes on the host that a device is to write.
pub struct Target<'m> {
    /// The memory.
    pub memory: Writable<'m>,
    /// Bytes from a row to the next.
    pub pitch: usize,
    /// Bytes of a row.
    pub width: usize,
    /// Rows.
    pub rows: usize,
}

/// Memory that is read.
pub enum Readable<'m> {
    /// Its own.
    Owned(HostMemory),
    /// Borrowed from the caller.
    Borrowed(&'m [u8]),
}

/// Memory that is written.
pub enum Writable<'m> {
    /// Its own.
    Owned(HostMemory),
    /// Borrowed from the caller.
    Borrowed(&'m mut [u8]),
}

impl Readable<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Owned(memory) => memory,
            Self::Borrowed(bytes) => bytes,
        }
    }
}

impl Writable<'_> {
    fn bytes(&mut self) -> &mut [u8] {
        match self {
            Self::Owned(memory) => memory,
            Self::Borrowed(bytes) => bytes,
        }
    }
}

/// What a queue has given back.
pub struct Returned<'m> {
    /// What it has read, in the order in which it was put on the queue.
    pub sources: Vec<Source<'m>>,
    /// What it has written, likewise.
    pub targets: Vec<Target<'m>>,
    /// Seconds that its kernels took.
    pub seconds: f64,
    /// Whether everything was done.
    pub result: Result<(), DeviceError>,
}

/// A queue of a device. See the module.
pub struct Queue<'m> {
    device: Arc<dyn Device>,
    number: u64,
    sources: Vec<Source<'m>>,
    targets: Vec<Target<'m>>,
    seconds: f64,
}

/// Lends `count` queues of a device to `work`, the first `urgent` of which have priority; when it has returned or panicked,
/// they are waited for.
///
/// # Errors
/// [`DeviceError::Driver`] where a queue cannot be opened; `work` is not called then.
pub fn scope<'m, R>(
    device: &Arc<dyn Device>,
    urgent: usize,
    count: usize,
    work: impl FnOnce(&mut [Queue<'m>]) -> R,
) -> Result<R, DeviceError> {
    let mut queues = Vec::with_capacity(count);
    for i in 0..count {
        let number = device.open_queue(i < urgent)?;
        let device = Arc::clone(device);
        queues.push(Queue { device, number, sources: Vec::new(), targets: Vec::new(), seconds: 0.0 });
    }
    // Dropping them waits, also when `work` panics.
    Ok(work(&mut queues))
}

impl<'m> Queue<'m> {
    /// Copies rows to byte `start + i * pitch` of `to`. `to` outlives the next [`wait`](Self::wait): buffers are only freed when
    /// nothing on the device uses them.
    ///
    /// # Errors
    /// Those of [`Device::upload_on`].
    pub fn upload(&mut self, to: &Buffer, start: usize, pitch: usize, source: Source<'m>) -> Result<(), DeviceError> {
        self.sources.push(source);
        let Source { memory, pitch: source_pitch, width, rows } = self.sources.last().expect("just pushed");
        let lines = Rows { start, pitch, width: *width, rows: *rows };
        // SAFETY: the memory is ours until the wait, and nothing writes it; freeing a buffer waits for what uses it.
        unsafe { self.device.upload_on(self.number, to, lines, memory.bytes(), *source_pitch) }
    }

    /// Copies rows from byte `start + i * pitch` of `from`.
    ///
    /// # Errors
    /// Those of [`Device::download_on`].
    pub fn download(
        &mut self,
        from: &Buffer,
        start: usize,
        pitch: usize,
        target: Target<'m>,
    ) -> Result<(), DeviceError> {
        self.targets.push(target);
        let Target { memory, pitch: target_pitch, width, rows } = self.targets.last_mut().expect("just pushed");
        let lines = Rows { start, pitch, width: *width, rows: *rows };
        // SAFETY: the memory is ours until the wait; freeing a buffer waits for what uses it.
        unsafe { self.device.download_on(self.number, from, lines, memory.bytes(), *target_pitch) }
    }

    /// Work put on this queue from now on runs after what is on `other`, a queue of the same device, by now.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    pub fn follow(&mut self, other: &Queue<'_>) -> Result<(), DeviceError> {
        self.device.follow(self.number, other.number)
    }

    /// Copies a buffer to one of another device, of the same length.
    ///
    /// # Errors
    /// Those of [`Device::send_on`].
    ///
    /// # Safety
    /// Until this queue has been waited for, both live, `from` stays as it is and nothing else uses `to`.
    pub unsafe fn send(&mut self, from: &Buffer, to: &Buffer) -> Result<(), DeviceError> {
        assert_eq!(from.bytes(), to.bytes(), "buffers are sent whole");
        // SAFETY: passed on to the caller.
        unsafe { self.device.send_on(self.number, from, to) }
    }

    /// Runs a kernel.
    ///
    /// # Errors
    /// Those of [`Device::launch_on`].
    ///
    /// # Safety
    /// The arguments keep the promise in the kernel's `# Safety` section until the queue has been waited for.
    pub unsafe fn launch(
        &mut self,
        kernel: &KernelEntry,
        config: &LaunchConfig,
        args: &[Arg],
    ) -> Result<(), DeviceError> {
        // SAFETY: passed on to the caller.
        self.seconds += unsafe { self.device.launch_on(self.number, kernel, config, args) }?;
        Ok(())
    }

    /// Waits for everything and returns the memory, also after a failure: then nothing uses it any more either.
    pub fn wait(&mut self) -> Returned<'m> {
        let waited = self.device.wait(self.number);
        let (sources, targets) = (std::mem::take(&mut self.sources), std::mem::take(&mut self.targets));
        let seconds = std::mem::take(&mut self.seconds) + waited.as_ref().copied().unwrap_or(0.0);
        Returned { sources, targets, seconds, result: waited.map(drop) }
    }
}

impl Drop for Queue<'_> {
    fn drop(&mut self) {
        // A caller that needs the outcome has waited before.
        let _ = self.device.wait(self.number);
        self.device.close_queue(self.number);
    }
}
