//! A CUDA device: its primary context, and what can be told of it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use cudarc::driver::{DriverError, result, sys};

use super::driver::{count, driver_error};
use super::free_list::{FreeList, free_host};
use super::module::Kernels;
use super::recorder::{Activity, EventRecorder};
use super::stream::Queues;
use crate::profile::Direction;
use crate::{Buffer, Device, DeviceError};

/// Properties of a CUDA device.
#[derive(Debug, Clone)]
pub struct Description {
    /// Its number, as in `cuda:0`.
    pub ordinal: usize,
    /// The product's name.
    pub name: String,
    /// Compute capability: major, minor.
    pub compute_capability: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Memory in bytes.
    pub memory: usize,
    /// Memory in bytes that is free now.
    pub memory_free: usize,
    /// The most shared memory of one block, in bytes.
    pub shared_per_block: u32,
    /// The clock of the multiprocessors, at most, in kHz.
    pub clock_khz: u32,
    /// The second-level cache, in bytes.
    pub l2_bytes: u32,
    /// The most threads that a multiprocessor holds at once.
    pub threads_per_multiprocessor: u32,
}

/// A device's primary context, released when dropped.
struct PrimaryContext {
    device: sys::CUdevice,
    handle: sys::CUcontext,
}

impl Drop for PrimaryContext {
    fn drop(&mut self) {
        // SAFETY: retained when this was made, and released once. Nothing could be done about a failure.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// A CUDA device with its context, its compiled kernels and a stream.
pub struct CudaDevice {
    pub(super) description: Description,
    primary: PrimaryContext,
    /// The device's own stream, on which callers wait.
    pub(super) stream: sys::CUstream,
    pub(super) kernels: Mutex<Kernels>,
    /// Held from the setting of constants to the end of the launch that reads them.
    pub(super) constants: Mutex<()>,
    pub(super) queues: Mutex<Queues>,
    pub(super) memory: Mutex<FreeList>,
    pub(super) pinned: Arc<Mutex<FreeList>>,
    /// Contexts of other devices that this one has been given access to, by address.
    pub(super) peers: Mutex<HashSet<usize>>,
    /// Records what is put on streams, once there is a profile.
    pub(super) recorder: OnceLock<EventRecorder>,
}

// SAFETY: the driver's handles may be used from any thread once its context is made current there, and
// every method does that first.
unsafe impl Send for CudaDevice {}

// SAFETY: as above; the driver locks what it shares, and our own table is behind a mutex.
unsafe impl Sync for CudaDevice {}

impl CudaDevice {
    /// Opens device `ordinal`, counted from 0.
    ///
    /// # Errors
    /// [`DeviceError::Absent`] where there is no driver, or no device of this number, [`DeviceError::Driver`] where it cannot be opened.
    pub fn new(ordinal: usize) -> Result<Self, DeviceError> {
        let count = count()?;
        if ordinal >= count {
            return Err(DeviceError::Absent(format!(
                "there is no device cuda:{ordinal}: this machine has {count}, counted from 0"
            )));
        }
        let label = format!("cuda:{ordinal}");
        let fail = |call| {
            let label = label.clone();
            move |error| driver_error(&label, call, error)
        };
        let device = result::device::get(ordinal as i32).map_err(fail("cuDeviceGet"))?;
        // SAFETY: `device` is a device of this driver; released when `primary` is dropped.
        let handle = unsafe { result::primary_ctx::retain(device) }.map_err(fail("cuDevicePrimaryCtxRetain"))?;
        let primary = PrimaryContext { device, handle };
        // SAFETY: the context has just been retained.
        unsafe { result::ctx::set_current(handle) }.map_err(fail("cuCtxSetCurrent"))?;
        let description = describe(ordinal, device).map_err(fail("cuDeviceGetAttribute"))?;
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking).map_err(fail("cuStreamCreate"))?;
        Ok(Self {
            description,
            primary,
            stream,
            kernels: Mutex::default(),
            constants: Mutex::default(),
            queues: Mutex::default(),
            memory: Mutex::default(),
            pinned: Arc::default(),
            peers: Mutex::default(),
            recorder: OnceLock::new(),
        })
    }

    /// Its properties.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The bandwidth of a copy from device memory to device memory, in bytes read plus bytes written a second:
    /// the ceiling of every kernel that moves data. The best of several copies of 1 GiB, or of a quarter of the
    /// free memory if that is less.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`], [`DeviceError::Driver`].
    pub fn measure_copy(self: &Arc<Self>) -> Result<f64, DeviceError> {
        let bytes = (self.free_memory()? / 8).min(1 << 30);
        let device: Arc<dyn Device> = self.clone();
        let (from, to) = (Buffer::new(&device, bytes)?, Buffer::new(&device, bytes)?);
        let mut best = f64::INFINITY;
        for _ in 0..12 {
            let seconds = self.timed(|| {
                self.traced(self.stream, Activity::copy(Direction::DeviceToDevice, bytes), || {
                    // SAFETY: both buffers are live and `bytes` long.
                    unsafe { result::memcpy_dtod_async(to.address(), from.address(), bytes, self.stream) }
                        .map_err(self.fail("cuMemcpyDtoDAsync"))
                })
            })?;
            best = best.min(seconds);
        }
        Ok(2.0 * bytes as f64 / best)
    }

    /// Bytes a second of a copy between page-locked memory of the host and the device's memory, in the faster direction, by the wall clock: the
    /// ceiling of every transfer over the bus in one direction. The best of several copies of 256 MiB, or of an eighth of the free memory if that
    /// is less.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`], [`DeviceError::HostMemory`], [`DeviceError::Driver`].
    pub fn measure_transfer(self: &Arc<Self>) -> Result<f64, DeviceError> {
        let bytes = (self.free_memory()? / 8).min(1 << 28);
        let device: Arc<dyn Device> = self.clone();
        let buffer = Buffer::new(&device, bytes)?;
        let mut memory = self.host_memory(bytes)?;
        let mut best = f64::INFINITY;
        for _ in 0..6 {
            let start = Instant::now();
            buffer.write(0, &memory)?;
            let there = Instant::now();
            buffer.read(0, &mut memory)?;
            best = best.min((there - start).as_secs_f64()).min(there.elapsed().as_secs_f64());
        }
        Ok(bytes as f64 / best)
    }

    pub(super) fn fail(&self, call: &'static str) -> impl Fn(DriverError) -> DeviceError + '_ {
        move |error| driver_error(&self.name(), call, error)
    }

    pub(super) fn out_of_memory(&self, wanted: usize) -> DeviceError {
        DeviceError::OutOfMemory { device: self.name(), wanted, free: self.free_memory().unwrap_or(0) }
    }

    /// Makes the device's context current on this thread.
    pub(super) fn enter(&self) -> Result<(), DeviceError> {
        // SAFETY: the context lives as long as `self`.
        unsafe { result::ctx::set_current(self.primary.handle) }.map_err(self.fail("cuCtxSetCurrent"))
    }

    /// The device's primary context.
    pub(super) fn context(&self) -> sys::CUcontext {
        self.primary.handle
    }

    /// Frees memory of the driver's; the context is current.
    pub(super) fn free(&self, address: u64) {
        // SAFETY: `address` came from the driver, and its buffer is gone.
        if let Err(error) = unsafe { result::free_sync(address) } {
            tracing::warn!("{}", driver_error(&self.name(), "cuMemFree", error));
        }
    }
}

fn describe(ordinal: usize, device: sys::CUdevice) -> Result<Description, DriverError> {
    use sys::CUdevice_attribute as attribute;
    let get = |attribute| {
        // SAFETY: `device` is a device of this driver.
        unsafe { result::device::get_attribute(device, attribute) }.map(i32::unsigned_abs)
    };
    let (memory_free, memory) = result::mem_get_info()?;
    Ok(Description {
        ordinal,
        name: result::device::get_name(device)?,
        compute_capability: (
            get(attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            get(attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: get(attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        memory,
        memory_free,
        shared_per_block: get(attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        clock_khz: get(attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
        l2_bytes: get(attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        threads_per_multiprocessor: get(attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
    })
}

impl Drop for CudaDevice {
    /// Everything goes before the context, which is the last: it is a field. Nothing could be done about a failure.
    fn drop(&mut self) {
        // The last results may be dropped on a thread of another library's.
        let before = self.thread_context();
        let _ = self.enter();
        self.collect();
        drop(self.recorder.take());
        for address in self.memory.get_mut().unwrap_or_else(PoisonError::into_inner).clear() {
            // SAFETY: it came from the driver, and its buffer is gone.
            let _ = unsafe { result::free_sync(address) };
        }
        for address in self.pinned.lock().unwrap_or_else(PoisonError::into_inner).clear() {
            // SAFETY: it came from `cuMemHostAlloc`, and its owner has given it back.
            unsafe { free_host(std::ptr::with_exposed_provenance_mut(address as usize)) };
        }
        // SAFETY: ours, and nothing uses it any more.
        let _ = unsafe { result::stream::destroy(self.stream) };
        std::mem::take(self.queues.get_mut().unwrap_or_else(PoisonError::into_inner)).destroy();
        for (module, _) in
            std::mem::take(self.kernels.get_mut().unwrap_or_else(PoisonError::into_inner)).0.into_values()
        {
            // SAFETY: ours, and none of its kernels runs any more.
            let _ = unsafe { result::module::unload(module) };
        }
        let own = self.context().expose_provenance() as u64;
        // SAFETY: it was this thread's before, or none is made current in place of the one that is about to go.
        unsafe { self.set_thread_context(if before == own { 0 } else { before }) };
    }
}
