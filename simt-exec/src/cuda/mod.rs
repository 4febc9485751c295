//! CUDA devices, through the driver API.
//!
//! libcuda is opened when a device is first asked for: one binary runs on machines with a GPU and without
//! one, and can say why CUDA is off. Kernels come as PTX text inside the crate that has them
//! ([`Module`](simt::launch::Module)), which the driver compiles for the device at hand (and keeps in its cache).
//!
//! | file | what |
//! |---|---|
//! | `driver` | the library and its errors |
//! | `device` | a device, its context, what can be told of it |
//! | `module` | kernels as the driver compiles them |
//! | `stream` | streams, events, launches |
//! | `copy` | copies of rows |
//! | `free_list` | memory that was given back and is handed out again |
//! | `recorder` | what streams do, for a profile |
//!
//! Here is [`Device`] for a [`CudaDevice`], method by method over those.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Arc, PoisonError};

use cudarc::driver::{DriverError, result, sys};
use rayon::prelude::*;
use simt::launch::{Arg, Constant, KernelEntry, LaunchConfig};

use crate::host_memory::Owner;
use crate::profile::{Direction, Profile};
use crate::{
    Buffer, ContextGuard, Device, DeviceError, HostKind, HostMemory, Limits, Rows, TexelFormat, TextureShape, staged,
};

mod copy;
mod device;
mod driver;
mod free_list;
mod module;
mod recorder;
mod stream;

pub use device::{CudaDevice, Description};
use driver::driver_error;
pub use driver::{count, driver, driver_version};
use free_list::{Freed, PinnedPool};
pub use module::{Compiled, ptx_of};
use recorder::{Activity, EventRecorder};
use stream::Stream;

impl Device for CudaDevice {
    fn name(&self) -> String {
        format!("cuda:{} ({})", self.description.ordinal, self.description.name)
    }

    fn limits(&self) -> Limits {
        Limits {
            multiprocessors: self.description.multiprocessors,
            shared_per_block: self.description.shared_per_block,
            memory: self.description.memory,
            arch: 10 * self.description.compute_capability.0 + self.description.compute_capability.1,
            // Tens of milliseconds of the kernels that are slow for their size, and enough to fill the device with those.
            launch_cells: (self.description.multiprocessors as usize) << 26,
        }
    }

    fn profile(&self, profile: &Arc<Profile>) -> Result<(), DeviceError> {
        self.enter()?;
        // A second profile is ignored.
        let _ = self.recorder.set(EventRecorder::new(self, profile)?);
        Ok(())
    }

    fn free_memory(&self) -> Result<usize, DeviceError> {
        self.enter()?;
        let pooled = self.memory.lock().unwrap_or_else(PoisonError::into_inner).bytes;
        Ok(result::mem_get_info().map_err(self.fail("cuMemGetInfo"))?.0 + pooled)
    }

    fn allocate(&self, bytes: usize) -> Result<u64, DeviceError> {
        self.enter()?;
        let bytes = bytes.max(1);
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = memory.take(bytes) {
            return Ok(address);
        }
        // SAFETY: a context is current, and it is not 0 bytes.
        let mut made = unsafe { result::malloc_sync(bytes) };
        if let Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) = made {
            memory.capacity = 0;
        }
        if let Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) = made
            && memory.bytes > 0
        {
            memory.clear().into_iter().for_each(|address| self.free(address));
            // SAFETY: as above.
            made = unsafe { result::malloc_sync(bytes) };
        }
        match made {
            Ok(address) => {
                memory.in_use.insert(address, bytes);
                Ok(address)
            }
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                drop(memory);
                Err(DeviceError::OutOfMemory { device: self.name(), wanted: bytes, free: self.free_memory()? })
            }
            Err(error) => Err(driver_error(&self.name(), "cuMemAlloc", error)),
        }
    }

    fn release(&self, address: u64) {
        let _context = ContextGuard::of(self);
        if self.enter().is_err() {
            return;
        }
        // As freeing does: work in flight may use the memory.
        let freed = match result::ctx::synchronize() {
            Ok(()) => self.memory.lock().unwrap_or_else(PoisonError::into_inner).recycle(address),
            Err(_) => vec![address],
        };
        freed.into_iter().for_each(|address| self.free(address));
    }

    fn thread_context(&self) -> u64 {
        let context = result::ctx::get_current().ok().flatten();
        context.map_or(0, |context| context.expose_provenance() as u64)
    }

    unsafe fn set_thread_context(&self, context: u64) {
        // SAFETY: it was this thread's before, or there was none; it is live by the caller's promise.
        let set = unsafe { result::ctx::set_current(std::ptr::with_exposed_provenance_mut(context as usize)) };
        if let Err(error) = set {
            tracing::warn!("{}", driver_error(&self.name(), "cuCtxSetCurrent", error));
        }
    }

    unsafe fn wait_for_stream(&self, stream: u64) -> Result<(), DeviceError> {
        let _context = ContextGuard::of(self);
        self.enter()?;
        // The driver's own names for its default streams are 1 and 2; 0 is whichever of them it was compiled for.
        let stream = std::ptr::with_exposed_provenance_mut(stream.max(1) as usize);
        // SAFETY: a stream of this device by the caller's promise.
        unsafe { result::stream::synchronize(stream) }.map_err(self.fail("cuStreamSynchronize"))
    }

    fn fill(&self, buffer: &Buffer, byte: u8) -> Result<(), DeviceError> {
        self.enter()?;
        self.traced(self.stream, Activity::Fill { bytes: buffer.bytes() }, || {
            // SAFETY: the buffer is live and that long.
            unsafe { result::memset_d8_async(buffer.address(), byte, buffer.bytes(), self.stream) }
                .map_err(self.fail("cuMemsetD8Async"))
        })?;
        self.synchronize()
    }

    fn upload(&self, to: &Buffer, rows: Rows, source: &[u8], source_pitch: usize) -> Result<(), DeviceError> {
        if staged::worth_it(rows) && !self.copies_directly(source) {
            return staged::upload(to, rows, source, source_pitch);
        }
        // SAFETY: both outlive the wait, which comes whatever the copy's result is.
        let copied = unsafe { self.copy_to_device(to, rows, source, source_pitch, self.stream) };
        copied.and(self.synchronize())
    }

    fn download(&self, from: &Buffer, rows: Rows, target: &mut [u8], target_pitch: usize) -> Result<(), DeviceError> {
        if staged::worth_it(rows) && !self.copies_directly(target) {
            return staged::download(from, rows, target, target_pitch);
        }
        // SAFETY: both outlive the wait, which comes whatever the copy's result is.
        let copied = unsafe { self.copy_to_host(from, rows, target, target_pitch, self.stream) };
        copied.and(self.synchronize())
    }

    fn create_texture(&self, buffer: &Buffer, format: TexelFormat, shape: TextureShape) -> Result<u64, DeviceError> {
        self.enter()?;
        let element = match format {
            TexelFormat::U8 => sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
            TexelFormat::U32 => sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32,
            TexelFormat::F32 => sys::CUarray_format::CU_AD_FORMAT_FLOAT,
        };
        // SAFETY: plain data, and all zeros is a value of every field (an array, address mode "wrap", point filter).
        let mut resource: sys::CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
        match shape {
            TextureShape::Line { width } => {
                resource.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_LINEAR;
                resource.res.linear = sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3 {
                    devPtr: buffer.address(),
                    format: element,
                    numChannels: 1,
                    sizeInBytes: width as usize * format.bytes(),
                };
            }
            TextureShape::Plane { width, height, pitch } => {
                resource.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_PITCH2D;
                resource.res.pitch2D = sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 {
                    devPtr: buffer.address(),
                    format: element,
                    numChannels: 1,
                    width: width as usize,
                    height: height as usize,
                    pitchInBytes: pitch,
                };
            }
        }
        // SAFETY: as above.
        let mut sampling: sys::CUDA_TEXTURE_DESC = unsafe { std::mem::zeroed() };
        // Outside is the border colour, which is zero.
        sampling.addressMode = [sys::CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER; 3];
        // Without this 8-bit elements would be read as fractions of 1.
        sampling.flags = sys::CU_TRSF_READ_AS_INTEGER;
        let mut handle = 0;
        // SAFETY: the descriptions are of a live buffer that is long enough, and outlive the call.
        unsafe { sys::cuTexObjectCreate(&raw mut handle, &resource, &sampling, std::ptr::null()) }
            .result()
            .map_err(self.fail("cuTexObjectCreate"))?;
        Ok(handle)
    }

    fn destroy_texture(&self, handle: u64) {
        if self.enter().is_ok() {
            // SAFETY: `handle` came from `create_texture`, and its texture is being dropped.
            if let Err(error) = unsafe { sys::cuTexObjectDestroy(handle) }.result() {
                tracing::warn!("{}", driver_error(&self.name(), "cuTexObjectDestroy", error));
            }
        }
    }

    unsafe fn launch_with(
        &self,
        kernel: &KernelEntry,
        config: &LaunchConfig,
        args: &[Arg],
        constants: &[Constant],
    ) -> Result<f64, DeviceError> {
        kernel.check(args)?;
        self.enter()?;
        let (module, function) = self.function(kernel)?;
        let _held = (!constants.is_empty()).then(|| self.constants.lock().unwrap_or_else(PoisonError::into_inner));
        constants.iter().try_for_each(|constant| self.set(module, constant))?;
        // SAFETY: `check` has passed the arguments' number and types; the rest is our own caller's promise, and the
        // timing waits.
        self.timed(|| unsafe { self.start(kernel, function, config, args, self.stream) })
    }

    fn resident_blocks(&self, kernel: &KernelEntry, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError> {
        self.enter()?;
        let (_, function) = self.function(kernel)?;
        // SAFETY: the function belongs to our module.
        let blocks = unsafe {
            result::occupancy::max_active_block_per_multiprocessor(function, threads as i32, shared_bytes as usize)
        }
        .map_err(self.fail("cuOccupancyMaxActiveBlocksPerMultiprocessor"))?;
        Ok(blocks.unsigned_abs().max(1) * self.description.multiprocessors)
    }

    fn host_memory_of(&self, kind: HostKind, bytes: usize) -> Result<HostMemory, DeviceError> {
        // Portable: page-locked for every device.
        let flags = match kind {
            HostKind::Pageable => return Ok(HostMemory::plain(bytes)),
            HostKind::Pinned => sys::CU_MEMHOSTALLOC_PORTABLE,
            HostKind::WriteCombined => sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_WRITECOMBINED,
            HostKind::Mapped => sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP,
        };
        self.enter()?;
        let bytes = bytes.max(1);
        // Only what is asked for all the time is pooled, and only one kind, so that none is mistaken for another.
        let pooled = kind == HostKind::Pinned;
        let pool = || self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = if pooled { pool().take(bytes) } else { None };
        let address = match taken {
            Some(address) => std::ptr::with_exposed_provenance_mut(address as usize),
            None => {
                // SAFETY: a context is current, and it is not 0 bytes.
                let new = match unsafe { result::malloc_host(bytes, flags) } {
                    Ok(new) => new.cast::<u8>(),
                    Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                        return Err(DeviceError::HostMemory { device: self.name(), wanted: bytes });
                    }
                    Err(error) => return Err(driver_error(&self.name(), "cuMemHostAlloc", error)),
                };
                // SAFETY: it is new and so long. Written once, because the driver does not promise to.
                let all = unsafe { std::slice::from_raw_parts_mut(new.cast::<MaybeUninit<u8>>(), bytes) };
                all.par_chunks_mut(1 << 22).for_each(|chunk| chunk.fill(MaybeUninit::new(0)));
                if pooled {
                    pool().in_use.insert(new.expose_provenance() as u64, bytes);
                }
                new
            }
        };
        let address = NonNull::new(address).expect("the driver's memory has an address");
        let owner: Box<dyn Owner> =
            if pooled { Box::new(PinnedPool(Arc::clone(&self.pinned))) } else { Box::new(Freed) };
        // SAFETY: the memory is so long, page-aligned, written, and used by nothing else until its owner has it back.
        Ok(unsafe { HostMemory::from_raw_parts(address, bytes, owner) })
    }

    fn mapped_address(&self, memory: &HostMemory) -> Result<Option<u64>, DeviceError> {
        self.enter()?;
        let mut address = 0;
        let pointer = memory.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: live memory for the answer. The driver only looks the memory up, and refuses what it has not mapped.
        unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut address, pointer, 0) }
            .result()
            .map_err(self.fail("cuMemHostGetDevicePointer"))?;
        Ok(Some(address))
    }

    fn copies_directly(&self, memory: &[u8]) -> bool {
        self.enter().is_ok() && Self::is_page_locked(memory)
    }

    fn open_queue(&self, urgent: bool) -> Result<u64, DeviceError> {
        use result::stream::{StreamKind, create, create_with_priority};
        self.enter()?;
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let pooled = if urgent { None } else { queues.pooled_stream() };
        // Lower numbers have priority, and the driver clamps what is below its lowest.
        let stream = match (pooled, urgent) {
            (Some(stream), _) => Ok(stream),
            (None, true) => create_with_priority(StreamKind::NonBlocking, i32::MIN),
            (None, false) => create(StreamKind::NonBlocking),
        };
        let stream = stream.map_err(self.fail("cuStreamCreate"))?;
        queues.last += 1;
        let number = queues.last;
        let taken = |track: &u32| queues.open.values().any(|other| other.track == *track);
        let track = (1..).find(|track| !taken(track)).expect("there are more numbers than queues");
        queues.open.insert(number, Stream { stream, urgent, kernels: Vec::new(), track });
        Ok(number)
    }

    fn close_queue(&self, queue: u64) {
        let closed = self.queues.lock().unwrap_or_else(PoisonError::into_inner).open.remove(&queue);
        if let Some(closed) = closed
            && self.enter().is_ok()
        {
            self.queues.lock().unwrap_or_else(PoisonError::into_inner).recycle(closed);
        }
    }

    fn follow(&self, queue: u64, other: u64) -> Result<(), DeviceError> {
        self.enter()?;
        self.follow_stream(self.stream_of(queue), self.stream_of(other))
    }

    unsafe fn send_on(&self, queue: u64, from: &Buffer, to: &Buffer) -> Result<(), DeviceError> {
        self.enter()?;
        let there = self.context_of(to.address())?;
        self.enable_peer_access(there);
        let (stream, bytes) = (self.stream_of(queue), from.bytes());
        self.traced(stream, Activity::copy(Direction::PeerToPeer, bytes), || {
            // SAFETY: the buffers are as long, and that both live is the caller's promise.
            unsafe { result::memcpy_peer_async(there, to.address(), self.context(), from.address(), bytes, stream) }
                .map_err(self.fail("cuMemcpyPeerAsync"))
        })
    }

    unsafe fn upload_on(
        &self,
        queue: u64,
        to: &Buffer,
        rows: Rows,
        source: &[u8],
        source_pitch: usize,
    ) -> Result<(), DeviceError> {
        // SAFETY: that both live is the caller's promise.
        unsafe { self.copy_to_device(to, rows, source, source_pitch, self.stream_of(queue)) }
    }

    unsafe fn download_on(
        &self,
        queue: u64,
        from: &Buffer,
        rows: Rows,
        target: &mut [u8],
        target_pitch: usize,
    ) -> Result<(), DeviceError> {
        // SAFETY: that both live, and that the target is used by nothing else, is the caller's promise.
        unsafe { self.copy_to_host(from, rows, target, target_pitch, self.stream_of(queue)) }
    }

    unsafe fn launch_on(
        &self,
        queue: u64,
        kernel: &KernelEntry,
        config: &LaunchConfig,
        args: &[Arg],
    ) -> Result<f64, DeviceError> {
        kernel.check(args)?;
        self.enter()?;
        let (_, function) = self.function(kernel)?;
        let queues = || self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let (stream, pooled) = {
            let mut queues = queues();
            (queues.open.get(&queue).expect("the queue is open").stream, queues.pooled_events())
        };
        let pair = pooled.map_or_else(|| self.new_events(), Ok)?;
        let started = self.record(&pair[0], stream).and_then(|()| {
            // SAFETY: `check` has passed the arguments' number and types; the rest is our own caller's promise.
            unsafe { self.start(kernel, function, config, args, stream) }?;
            self.record(&pair[1], stream)
        });
        let mut queues = queues();
        match started {
            Ok(()) => queues.open.get_mut(&queue).expect("the queue is open").kernels.push(pair),
            Err(_) => queues.recycle_events([pair]),
        }
        started.map(|()| 0.0)
    }

    fn wait(&self, queue: u64) -> Result<f64, DeviceError> {
        self.enter()?;
        let stream = self.stream_of(queue);
        // SAFETY: a stream of ours.
        unsafe { result::stream::synchronize(stream) }.map_err(self.fail("cuStreamSynchronize"))?;
        self.collect();
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let kernels = std::mem::take(&mut queues.open.get_mut(&queue).expect("the queue is open").kernels);
        drop(queues);
        // All of them have been reached.
        let seconds = kernels.iter().filter_map(|[start, end]| start.seconds_to(end)).sum();
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).recycle_events(kernels);
        Ok(seconds)
    }
}
