//! What an executor is: one trait over the CUDA driver and the emulator.
//!
//! Callers plan launches, copies and queues once, over [`Device`]; whatever is tested on three emulated devices is the code that drives
//! three GPUs. A device on which everything happens at once need not implement queues: their default implementations do the work in
//! the call.

use std::sync::Arc;

use simt::launch::{Arg, ArgumentError, Constant, KernelEntry, LaunchConfig};

use crate::buffer::Buffer;
use crate::host_memory::{HostKind, HostMemory};
use crate::machine;
use crate::profile::Profile;
use crate::rows::Rows;
use crate::texture::{TexelFormat, TextureShape};

/// What a device can hold and run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// The most shared memory of one block, in bytes (after opting in to more than 48 KiB).
    pub shared_per_block: u32,
    /// The compute capability: 10 · major + minor.
    pub arch: u32,
    /// Memory of the device, in bytes.
    pub memory: usize,
    /// Cells that one launch should take at most, so that progress shows and a stop takes effect.
    pub launch_cells: usize,
}

impl Limits {
    /// What a device lacks that runs kernels of this compute capability (10 · major + minor), as a reason not to use it; `None` when it lacks nothing.
    pub fn lacks_arch(&self, needed: u32) -> Option<String> {
        let of = |arch: u32| format!("{}.{}", arch / 10, arch % 10);
        let (needs, has) = (of(needed), of(self.arch));
        (needed > self.arch).then(|| format!("it needs compute capability {needs}, and the device has {has}"))
    }

    /// The same for blocks with so many bytes of shared memory.
    pub fn lacks_shared(&self, needed: u32) -> Option<String> {
        let has = self.shared_per_block;
        (needed > has).then(|| format!("it needs {needed} bytes of shared memory a block, and there are {has}"))
    }
}

/// Why a device could not do what it was asked for.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is no such device; the text says why.
    #[error("{0}")]
    Absent(String),
    /// The device's memory does not hold what was asked for.
    #[error("{device} has no memory for {} more: {} are free", machine::needed(*.wanted as u128), machine::available(*.free as u128))]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bytes asked for.
        wanted: usize,
        /// Bytes free.
        free: usize,
    },
    /// There is no host memory of the kind that the device copies fastest.
    #[error("{device} cannot lock {} of host memory for its copies", machine::needed(*.wanted as u128))]
    HostMemory {
        /// The device.
        device: String,
        /// Bytes asked for.
        wanted: usize,
    },
    /// The driver refused a call.
    #[error("{device}: {call} failed: {message}")]
    Driver {
        /// The device.
        device: String,
        /// The driver's function.
        call: &'static str,
        /// The driver's name and text for the error.
        message: String,
    },
    /// Arrays that belong together are on several devices.
    #[error("an array is in the memory of {other}, and another one in that of {device}")]
    Elsewhere {
        /// The device where the work is.
        device: String,
        /// The other device.
        other: String,
    },
    /// The arguments do not fit the kernel.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// The emulator found a mistake in a kernel, or in how it was launched.
    #[error("{0}")]
    Fault(String),
}

/// A device that runs kernels. All methods block until they are done, except those that take the number of a
/// queue: work on a queue is stream-ordered, and runs concurrently with other queues and the caller, until
/// [`wait`](Self::wait). A synchronous device need not know of queues.
pub trait Device: Send + Sync {
    /// Its name for users, for example "cuda:0 (NVIDIA H200)".
    fn name(&self) -> String;

    /// What it can hold and run.
    fn limits(&self) -> Limits;

    /// Records every launch, copy and fill from now on in `profile`; a device that has one already keeps it.
    ///
    /// # Errors
    /// [`DeviceError::Driver`] where the device's clock cannot be read.
    fn profile(&self, profile: &Arc<Profile>) -> Result<(), DeviceError>;

    /// Bytes of memory that are free now.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    fn free_memory(&self) -> Result<usize, DeviceError>;

    /// Address of `bytes` bytes of new memory, aligned to 256. A [`Buffer`] frees it when dropped.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`]; [`DeviceError::Driver`] for every other refusal.
    fn allocate(&self, bytes: usize) -> Result<u64, DeviceError>;

    /// Frees memory once nothing on the device can be using it any more, other libraries included: results that they
    /// were given may still be read by their kernels. Any thread may call it, and its current context is left unchanged.
    fn release(&self, address: u64);

    /// The calling thread's current context, as a number for [`set_thread_context`](Self::set_thread_context): what other libraries in
    /// the process go by. [`ContextGuard`](crate::ContextGuard) restores it.
    fn thread_context(&self) -> u64 {
        0
    }

    /// Makes a context the calling thread's current one again.
    ///
    /// # Safety
    /// The number came from [`thread_context`](Self::thread_context), and the context has not been destroyed since.
    unsafe fn set_thread_context(&self, context: u64) {
        let _ = context;
    }

    /// Waits until the work that is on a stream of other code's by now is done, so that what it has written can be read. On a CUDA
    /// device `stream` is a stream's handle; 0 and 1 are the legacy default stream, 2 is the calling thread's own default
    /// stream (as in version 3 of the CUDA array interface). On a synchronous device there is nothing to wait for.
    ///
    /// # Errors
    /// [`DeviceError::Driver`], also where earlier work on the stream failed.
    ///
    /// # Safety
    /// The handle is one of those numbers, or of a live stream of this device.
    unsafe fn wait_for_stream(&self, stream: u64) -> Result<(), DeviceError> {
        let _ = stream;
        Ok(())
    }

    /// Sets every byte of a buffer to `byte`.
    ///
    /// # Errors
    /// [`DeviceError::Driver`], also where earlier work of the device failed: such errors are sticky.
    fn fill(&self, buffer: &Buffer, byte: u8) -> Result<(), DeviceError>;

    /// Copies rows from the host to a buffer: row i from `source[i * source_pitch..]`.
    ///
    /// # Errors
    /// [`DeviceError::Driver`], also where earlier work of the device failed.
    ///
    /// # Panics
    /// When the rows do not lie inside `source` and the buffer.
    fn upload(&self, to: &Buffer, rows: Rows, source: &[u8], source_pitch: usize) -> Result<(), DeviceError>;

    /// Copies rows from a buffer to the host: row i to `target[i * target_pitch..]`.
    ///
    /// # Errors
    /// [`DeviceError::Driver`], also where earlier work of the device failed.
    ///
    /// # Panics
    /// When the rows do not lie inside `target` and the buffer.
    fn download(&self, from: &Buffer, rows: Rows, target: &mut [u8], target_pitch: usize) -> Result<(), DeviceError>;

    /// Makes a texture object over a buffer that is long enough. [`Texture::new`](crate::Texture::new) destroys it by itself.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    fn create_texture(&self, buffer: &Buffer, format: TexelFormat, shape: TextureShape) -> Result<u64, DeviceError>;

    /// Destroys a texture object.
    fn destroy_texture(&self, handle: u64);

    /// Runs a kernel and waits for it. Returns its time on the device, in seconds.
    ///
    /// # Errors
    /// [`DeviceError::Arguments`] where arguments or geometry do not fit the kernel, [`DeviceError::Driver`] where it could not
    /// be compiled or ended in a fault, [`DeviceError::Fault`] where the emulator found a mistake.
    ///
    /// # Safety
    /// The arguments keep the promise in the kernel's `# Safety` section.
    unsafe fn launch(&self, kernel: &KernelEntry, config: &LaunchConfig, args: &[Arg]) -> Result<f64, DeviceError> {
        // SAFETY: passed on to the caller.
        unsafe { self.launch_with(kernel, config, args, &[]) }
    }

    /// The same with `constants` set before. They are part of the launch, and not of the device's state, so that no
    /// other launch changes them in between.
    ///
    /// # Errors
    /// Those of [`launch`](Self::launch).
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    unsafe fn launch_with(
        &self,
        kernel: &KernelEntry,
        config: &LaunchConfig,
        args: &[Arg],
        constants: &[Constant],
    ) -> Result<f64, DeviceError>;

    /// How many blocks of this shape the whole device runs at once; at least 1.
    ///
    /// # Errors
    /// [`DeviceError::Driver`] where the kernel cannot be compiled, or not run in such blocks.
    fn resident_blocks(&self, kernel: &KernelEntry, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError>;

    /// `bytes` bytes of host memory to and from which this device copies fastest ([`HostKind::Pinned`]). Their contents are
    /// unspecified.
    ///
    /// # Errors
    /// Those of [`host_memory_of`](Self::host_memory_of).
    fn host_memory(&self, bytes: usize) -> Result<HostMemory, DeviceError> {
        self.host_memory_of(HostKind::Pinned, bytes)
    }

    /// `bytes` bytes of host memory of a kind. Their contents are unspecified. A device that does not distinguish kinds
    /// returns ordinary memory for all of them.
    ///
    /// # Errors
    /// [`DeviceError::HostMemory`] where so much cannot be page-locked.
    fn host_memory_of(&self, kind: HostKind, bytes: usize) -> Result<HostMemory, DeviceError> {
        let _ = kind;
        Ok(HostMemory::plain(bytes))
    }

    /// Where kernels of this device find host memory of the kind [`HostKind::Mapped`]; none if they cannot reach the host's memory.
    /// [`Mapped`](crate::Mapped) does for both.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    fn mapped_address(&self, memory: &HostMemory) -> Result<Option<u64>, DeviceError> {
        let _ = memory;
        Ok(None)
    }

    /// True when this device copies to and from `memory` directly: page-locked memory.
    fn copies_directly(&self, memory: &[u8]) -> bool {
        let _ = memory;
        false
    }

    /// Makes a queue. Returns its number. Work on an urgent queue runs before work on others that has not begun.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    fn open_queue(&self, urgent: bool) -> Result<u64, DeviceError> {
        let _ = urgent;
        Ok(0)
    }

    /// Work put on `queue` from now on runs after what is on the device's queue `other` by now.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    fn follow(&self, queue: u64, other: u64) -> Result<(), DeviceError> {
        let _ = (queue, other);
        Ok(())
    }

    /// Copies a buffer of this device to one of another, of the same length, on a queue: peer to peer where the hardware can, through the
    /// host otherwise.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    ///
    /// # Safety
    /// Until the queue has been waited for, both live, `from` stays as it is and nothing else uses `to`.
    unsafe fn send_on(&self, queue: u64, from: &Buffer, to: &Buffer) -> Result<(), DeviceError> {
        let _ = queue;
        let bytes = from.bytes();
        let mut between = HostMemory::plain(bytes);
        from.read(0, &mut between)?;
        to.write(0, &between)
    }

    /// Destroys an idle queue.
    fn close_queue(&self, queue: u64) {
        let _ = queue;
    }

    /// [`upload`](Self::upload) on a queue.
    ///
    /// # Errors
    /// Those of [`upload`](Self::upload); what fails later is an error of [`wait`](Self::wait).
    ///
    /// # Safety
    /// Until the queue has been waited for, `source` stays as it is and `to` lives.
    unsafe fn upload_on(
        &self,
        queue: u64,
        to: &Buffer,
        rows: Rows,
        source: &[u8],
        source_pitch: usize,
    ) -> Result<(), DeviceError> {
        let _ = queue;
        self.upload(to, rows, source, source_pitch)
    }

    /// [`download`](Self::download) on a queue.
    ///
    /// # Errors
    /// Those of [`download`](Self::download); what fails later is an error of [`wait`](Self::wait).
    ///
    /// # Safety
    /// Until the queue has been waited for, nothing else reads or writes `target`, and `from` lives.
    unsafe fn download_on(
        &self,
        queue: u64,
        from: &Buffer,
        rows: Rows,
        target: &mut [u8],
        target_pitch: usize,
    ) -> Result<(), DeviceError> {
        let _ = queue;
        self.download(from, rows, target, target_pitch)
    }

    /// [`launch`](Self::launch) on a queue. Returns the seconds that it took, where they are known already.
    ///
    /// # Errors
    /// Those of [`launch`](Self::launch); a fault while it runs is an error of [`wait`](Self::wait).
    ///
    /// # Safety
    /// As for [`launch`](Self::launch), until the queue has been waited for.
    unsafe fn launch_on(
        &self,
        queue: u64,
        kernel: &KernelEntry,
        config: &LaunchConfig,
        args: &[Arg],
    ) -> Result<f64, DeviceError> {
        let _ = queue;
        // SAFETY: passed on to the caller.
        unsafe { self.launch(kernel, config, args) }
    }

    /// Waits until a queue is idle. Returns the seconds that its kernels took, since the last call, that
    /// [`launch_on`](Self::launch_on) did not return.
    ///
    /// # Errors
    /// [`DeviceError::Driver`] where work on the queue has failed.
    fn wait(&self, queue: u64) -> Result<f64, DeviceError> {
        let _ = queue;
        Ok(0.0)
    }
}

impl dyn Device {
    /// An error unless the other device is this one.
    ///
    /// # Errors
    /// [`DeviceError::Elsewhere`] where it is another device.
    pub fn check_same(&self, other: &Arc<dyn Device>) -> Result<(), DeviceError> {
        if std::ptr::addr_eq(std::ptr::from_ref(self), Arc::as_ptr(other)) {
            return Ok(());
        }
        Err(DeviceError::Elsewhere { device: self.name(), other: other.name() })
    }
}
