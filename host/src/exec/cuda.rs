//! CUDA devices, through the driver API.
//!
//! libcuda is opened when a device is first asked for: one binary runs on machines with a GPU and without
//! one, and can say why CUDA is off. The kernels come as PTX text inside the library, which the driver
//! compiles for the device at hand (and keeps in its cache).

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString, c_void};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use cudarc::driver::{DriverError, result, sys};
use rayon::prelude::*;
use simt::launch::{Arg, Constant, KernelEntry, LaunchConfig};

use super::host_memory::Owner;
use super::{
    Buffer, Device, DeviceError, Guest, HostKind, HostMemory, Limits, TexelFormat, TextureShape, check_rows, staged,
};
use crate::profile::{Direction, Launch, Profile, What};

mod tape;

use tape::{Tape, Thing};

/// The kernels, compiled by `cargo xtask build-ptx`: each is in the text made for the oldest architecture that has all of
/// its instructions.
pub const PTX: [&str; 3] = [
    include_str!("../../../kernels/ptx/halotile.sm_75.ptx"),
    include_str!("../../../kernels/ptx/halotile.sm_80.ptx"),
    include_str!("../../../kernels/ptx/halotile.sm_90.ptx"),
];

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

/// Resources of a kernel as the driver compiled it for the device at hand; NVIDIA's assembler may have reported others
/// ([`resources`](crate::resources)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compiled {
    /// Registers a thread.
    pub registers: u32,
    /// Static shared memory a block, in bytes.
    pub shared_bytes: u32,
    /// Thread-private memory outside registers, in bytes a thread.
    pub local_bytes: u32,
}

/// The CUDA version that the installed driver supports: major, minor. An error when CUDA is off.
pub fn driver_version() -> Result<(u32, u32), DeviceError> {
    open()?;
    let mut version = 0;
    // SAFETY: `open` has found the library; the pointer is to a live integer.
    let code = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    code.result().map_err(|error| driver_error("the CUDA driver", "cuDriverGetVersion", error))?;
    let version = version.unsigned_abs();
    Ok((version / 1000, version % 1000 / 10))
}

/// How many CUDA devices there are. An error when CUDA is off: its text says why.
pub fn count() -> Result<usize, DeviceError> {
    open()?;
    let count =
        result::device::get_count().map_err(|error| driver_error("the CUDA driver", "cuDeviceGetCount", error))?;
    if count == 0 {
        return Err(DeviceError::Absent("CUDA is off: the driver is there, and no GPU that it can use".into()));
    }
    Ok(count.unsigned_abs() as usize)
}

/// The driver's functions that this file calls, as the library names them.
const NEEDED: [&str; 47] = [
    "cuCtxEnablePeerAccess",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuInit",
    "cuLaunchKernel",
    "cuMemAlloc_v2",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemHostGetDevicePointer_v2",
    "cuMemcpy2DAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyPeerAsync",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleGetGlobal_v2",
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuPointerGetAttributes",
    "cuStreamCreate",
    "cuStreamCreateWithPriority",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuTexObjectCreate",
    "cuTexObjectDestroy",
];

/// Whether there is a driver: its library with all functions. Does not initialise it; an error says what was tried. A driver once found is cached:
/// looking for the library takes longer than a small kernel.
pub fn driver() -> Result<(), DeviceError> {
    static THERE: OnceLock<()> = OnceLock::new();
    if THERE.get().is_some() {
        return Ok(());
    }
    // SAFETY: only tries to open libcuda; its initialisers are the driver's own.
    if !unsafe { sys::is_culib_present() } {
        let file = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so or libcuda.so.1" };
        return Err(DeviceError::Absent(format!(
            "CUDA is off: no NVIDIA driver was found (looked for {file} on the library path)"
        )));
    }
    // cudarc panics on a function that the library lacks (a driver that is very old, or a stand-in for one).
    // SAFETY: the library has just been seen to open; the functions are looked up, not called.
    let missing =
        NEEDED.iter().find(|name| unsafe { sys::culib().get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_err());
    if let Some(name) = missing {
        return Err(DeviceError::Absent(format!(
            "CUDA is off: the NVIDIA driver lacks the function {name}; install a driver for CUDA 12 or later"
        )));
    }
    THERE.get_or_init(|| ());
    Ok(())
}

/// Opens and initialises the driver, once.
fn open() -> Result<(), DeviceError> {
    driver()?;
    result::init().map_err(|error| {
        DeviceError::Absent(format!("CUDA is off: the NVIDIA driver does not start: {}", message(error)))
    })
}

fn message(error: DriverError) -> String {
    let name = error.error_name().map_or("unknown error".into(), CStr::to_string_lossy);
    let text = error.error_string().map_or("".into(), CStr::to_string_lossy);
    format!("{name} ({text})")
}

fn driver_error(device: &str, call: &'static str, error: DriverError) -> DeviceError {
    DeviceError::Driver { device: device.into(), call, message: message(error) }
}

/// A CUDA device with its context, the kernels' module and a stream.
pub struct CudaDevice {
    description: Description,
    device: sys::CUdevice,
    context: sys::CUcontext,
    stream: sys::CUstream,
    kernels: Mutex<Kernels>,
    /// Held from the setting of constants to the end of the launch that reads them.
    constants: Mutex<()>,
    queues: Mutex<Queues>,
    memory: Mutex<Reserve>,
    locked: Arc<Mutex<Reserve>>,
    /// Contexts of other devices that this one has been given access to, by address.
    friends: Mutex<HashSet<usize>>,
    /// Events of what has been enqueued on streams, if a profile is wanted.
    tape: OnceLock<Tape>,
}

/// Freed memory, kept for a request of the same length: a new allocation takes milliseconds, in which all
/// of the device is blocked.
struct Reserve {
    /// The most memory that is kept: none once an allocation has failed, because what is kept is missing elsewhere, as to streams
    /// and to the driver's own needs.
    most: usize,
    /// Addresses by length.
    free: HashMap<usize, Vec<u64>>,
    /// Bytes of all of them.
    bytes: usize,
    /// The length of what is in use, by address.
    lent: HashMap<u64, usize>,
}

/// The most memory that is kept, on a device and of locked memory on the host.
const RESERVE: usize = 1 << 30;

impl Default for Reserve {
    fn default() -> Self {
        Self { most: RESERVE, free: HashMap::new(), bytes: 0, lent: HashMap::new() }
    }
}

impl Reserve {
    fn take(&mut self, bytes: usize) -> Option<u64> {
        let address = self.free.get_mut(&bytes)?.pop()?;
        self.bytes -= bytes;
        self.lent.insert(address, bytes);
        Some(address)
    }

    /// Keeps the memory at an address; false where it should be freed.
    fn keep(&mut self, address: u64) -> bool {
        let Some(bytes) = self.lent.remove(&address) else { return false };
        if self.bytes + bytes > self.most {
            return false;
        }
        self.bytes += bytes;
        self.free.entry(bytes).or_default().push(address);
        true
    }

    /// Empties it.
    fn clear(&mut self) -> Vec<u64> {
        self.bytes = 0;
        self.free.drain().flat_map(|(_, addresses)| addresses).collect()
    }
}

/// Frees page-locked memory of the kinds that are rarely asked for, and not pooled.
struct Freed;

impl Owner for Freed {
    fn take_back(&self, address: NonNull<u8>, _: usize) {
        // SAFETY: it came from `cuMemHostAlloc`, and nothing uses it any more.
        unsafe { free_host(address.as_ptr()) };
    }
}

/// Returns page-locked memory of the usual kind to the pool.
struct Locked(Arc<Mutex<Reserve>>);

impl Owner for Locked {
    fn take_back(&self, address: NonNull<u8>, _: usize) {
        let address = address.as_ptr();
        if !self.0.lock().unwrap_or_else(PoisonError::into_inner).keep(address.expose_provenance() as u64) {
            // SAFETY: it came from `cuMemHostAlloc`, and nothing uses it any more.
            unsafe { free_host(address) };
        }
    }
}

/// The queues that are open, by their numbers.
#[derive(Default)]
struct Queues {
    open: HashMap<u64, Stream>,
    last: u64,
    /// Streams of closed queues that were not urgent, for queues to come: to make one takes as long as a small kernel.
    spare: Vec<sys::CUstream>,
    /// Pairs of events that nothing waits for any more, for launches to come.
    events: Vec<[sys::CUevent; 2]>,
}

/// The most streams that are kept.
const SPARE: usize = 8;

/// The most pairs of events that are kept.
const SPARE_EVENTS: usize = 64;

/// A queue: a stream, and the events before and after each kernel whose time has not been asked for yet.
struct Stream {
    stream: sys::CUstream,
    kernels: Vec<[sys::CUevent; 2]>,
    /// Its number in profiles: 1 and up, the least that no other open one has.
    lane: u32,
    urgent: bool,
}

// SAFETY: stream and event handles belong to the context, not to a thread.
unsafe impl Send for Queues {}

impl Queues {
    /// Takes back events that nothing waits for any more.
    fn keep_events(&mut self, pairs: impl IntoIterator<Item = [sys::CUevent; 2]>) {
        for pair in pairs {
            if self.events.len() < SPARE_EVENTS {
                self.events.push(pair);
            } else {
                destroy_events(pair);
            }
        }
    }
}

/// Destroys events of a context that is current. A failure could not be handled, and would hide an earlier error.
fn destroy_events(pair: [sys::CUevent; 2]) {
    for event in pair {
        // SAFETY: ours, and nothing uses it any more.
        let _ = unsafe { result::event::destroy(event) };
    }
}

/// The kernels that the driver has compiled, each in a module of its own and when it is first asked for: all of them
/// together would take a second, of which most runs need a fraction.
#[derive(Default)]
struct Kernels(HashMap<&'static str, (sys::CUmodule, sys::CUfunction)>);

// SAFETY: the driver's handles may be used from any thread once its context is made current there, and
// every method does that first.
unsafe impl Send for CudaDevice {}
// SAFETY: as above; the driver locks what it shares, and our own table is behind a mutex.
unsafe impl Sync for CudaDevice {}
// SAFETY: module and function handles belong to the context, not to a thread.
unsafe impl Send for Kernels {}

impl CudaDevice {
    /// Opens device `ordinal`, counted from 0.
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
        // SAFETY: `device` is a device of this driver; released in `drop`.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(fail("cuDevicePrimaryCtxRetain"))?;
        // SAFETY: the context has just been retained.
        unsafe { result::ctx::set_current(context) }.map_err(fail("cuCtxSetCurrent"))?;
        let description = describe(ordinal, device).map_err(fail("cuDeviceGetAttribute"))?;
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking).map_err(fail("cuStreamCreate"))?;
        Ok(Self {
            description,
            device,
            context,
            stream,
            kernels: Mutex::default(),
            constants: Mutex::default(),
            queues: Mutex::default(),
            memory: Mutex::default(),
            locked: Arc::default(),
            friends: Mutex::default(),
            tape: OnceLock::new(),
        })
    }

    /// Its properties.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The bandwidth of a copy from device memory to device memory, in bytes read plus bytes written a second:
    /// the ceiling of every kernel that moves data. The best of several copies of 1 GiB, or of a quarter of the
    /// free memory if that is less.
    pub fn measure_copy(self: &Arc<Self>) -> Result<f64, DeviceError> {
        let bytes = (self.free_memory()? / 8).min(1 << 30);
        let device: Arc<dyn Device> = self.clone();
        let (from, to) = (Buffer::new(&device, bytes)?, Buffer::new(&device, bytes)?);
        let mut best = f64::INFINITY;
        for _ in 0..12 {
            let seconds = self.timed(|| {
                self.noted(self.stream, Thing::copy(Direction::Within, bytes), || {
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
    pub fn measure_transfer(self: &Arc<Self>) -> Result<f64, DeviceError> {
        let bytes = (self.free_memory()? / 8).min(1 << 28);
        let device: Arc<dyn Device> = self.clone();
        let buffer = Buffer::new(&device, bytes)?;
        let mut memory = self.host_memory(bytes)?;
        let mut best = f64::INFINITY;
        for _ in 0..6 {
            let start = Instant::now();
            self.upload(&buffer, 0, bytes, &memory, bytes, bytes, 1)?;
            let there = Instant::now();
            self.download(&buffer, 0, bytes, &mut memory, bytes, bytes, 1)?;
            best = best.min((there - start).as_secs_f64()).min(there.elapsed().as_secs_f64());
        }
        Ok(bytes as f64 / best)
    }

    /// A kernel's resources as the driver compiled it.
    pub fn compiled(&self, kernel: &KernelEntry) -> Result<Compiled, DeviceError> {
        self.enter()?;
        let (_, function) = self.function(kernel)?;
        self.compiled_function(function)
    }

    fn compiled_function(&self, function: sys::CUfunction) -> Result<Compiled, DeviceError> {
        use sys::CUfunction_attribute_enum as attribute;
        let get = |attribute| self.attribute(function, attribute).map(i32::unsigned_abs);
        Ok(Compiled {
            registers: get(attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            shared_bytes: get(attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local_bytes: get(attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        })
    }

    fn attribute(
        &self,
        function: sys::CUfunction,
        attribute: sys::CUfunction_attribute_enum,
    ) -> Result<i32, DeviceError> {
        // SAFETY: the function belongs to a module of ours.
        unsafe { result::function::get_function_attribute(function, attribute) }
            .map_err(self.fail("cuFuncGetAttribute"))
    }

    fn fail(&self, call: &'static str) -> impl Fn(DriverError) -> DeviceError + '_ {
        move |error| driver_error(&self.name(), call, error)
    }

    fn out_of_memory(&self, wanted: usize) -> DeviceError {
        DeviceError::OutOfMemory { device: self.name(), wanted, free: self.free_memory().unwrap_or(0) }
    }

    /// Makes the device's context current on this thread.
    fn enter(&self) -> Result<(), DeviceError> {
        // SAFETY: the context lives as long as `self`.
        unsafe { result::ctx::set_current(self.context) }.map_err(self.fail("cuCtxSetCurrent"))
    }

    fn function(&self, kernel: &KernelEntry) -> Result<(sys::CUmodule, sys::CUfunction), DeviceError> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = kernels.0.get(kernel.name) {
            return Ok(known);
        }
        let module = load(&self.name(), &module_of(kernel.name))?;
        let name = CString::new(kernel.name).expect("a kernel's name is an identifier");
        // SAFETY: the module has just been loaded, and lives as long as `self`.
        let function =
            unsafe { result::module::get_function(module, name) }.map_err(self.fail("cuModuleGetFunction"))?;
        self.allow_shared(function)?;
        kernels.0.insert(kernel.name, (module, function));
        Ok((module, function))
    }

    /// Sets a variable in the constant memory of a module, on the stream that kernels run on.
    fn set(&self, module: sys::CUmodule, constant: &Constant) -> Result<(), DeviceError> {
        let name = CString::new(constant.name).expect("a variable's name is an identifier");
        // SAFETY: the module is one of ours.
        let (address, bytes) =
            unsafe { result::module::get_global(module, name) }.map_err(self.fail("cuModuleGetGlobal"))?;
        assert!(constant.bytes.len() <= bytes, "{} has {bytes} bytes, not {}", constant.name, constant.bytes.len());
        self.noted(self.stream, Thing::copy(Direction::Up, constant.bytes.len()), || {
            // SAFETY: the variable is that long, and the driver has copied pageable memory when it returns.
            unsafe { result::memcpy_htod_async(address, &constant.bytes, self.stream) }
                .map_err(self.fail("cuMemcpyHtoDAsync"))
        })
    }

    /// Puts one activity on a stream by `work`, and records it where there is a profile.
    fn noted(
        &self,
        stream: sys::CUstream,
        thing: Thing,
        work: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        match self.tape.get() {
            Some(tape) => tape.note(self, stream, thing, work),
            None => work(),
        }
    }

    /// Has the profile, if there is one, take the events that are over.
    fn collect(&self) {
        if let Some(tape) = self.tape.get() {
            tape.collect(self);
        }
    }

    /// Allows the function all the dynamic shared memory that the device has for it. Once and for all: two threads that
    /// set what they need before each launch would overwrite each other's limit.
    fn allow_shared(&self, function: sys::CUfunction) -> Result<(), DeviceError> {
        use sys::CUfunction_attribute_enum as attribute;
        let own = self.attribute(function, attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
        let most = self.description.shared_per_block as i32 - own;
        let dynamic = attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function belongs to a module of ours.
        unsafe { result::function::set_function_attribute(function, dynamic, most) }
            .map_err(self.fail("cuFuncSetAttribute"))
    }

    /// Runs `work`, which puts things on the stream, and returns how many seconds they took there.
    fn timed(&self, work: impl FnOnce() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
        self.enter()?;
        let (start, end) = (self.new_event()?, self.new_event()?);
        let run = || {
            self.record(start, self.stream)?;
            work()?;
            self.record(end, self.stream)?;
            // SAFETY: the event is live and has been recorded.
            unsafe { result::event::synchronize(end) }.map_err(self.fail("cuEventSynchronize"))?;
            // SAFETY: both events have been recorded and reached.
            unsafe { result::event::elapsed(start, end) }.map_err(self.fail("cuEventElapsedTime"))
        };
        let milliseconds = run();
        for event in [start, end] {
            // SAFETY: created above and not used again. A failure here would hide the first one.
            let _ = unsafe { result::event::destroy(event) };
        }
        self.collect();
        Ok(f64::from(milliseconds?) / 1000.0)
    }

    /// Copies rows between host and device by the driver's two-dimensional copy, on the stream that kernels run on: the
    /// plain copy may return before the last bytes have arrived, and no other stream would wait for them.
    ///
    /// # Safety
    /// Both sides are large enough for the rows, and live until the stream has been waited for.
    unsafe fn copy_rows(&self, copy: &sys::CUDA_MEMCPY2D, stream: sys::CUstream) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        unsafe { sys::cuMemcpy2DAsync_v2(copy, stream) }.result().map_err(self.fail("cuMemcpy2DAsync"))
    }

    /// Puts a copy of rows to the device on a stream.
    ///
    /// # Safety
    /// As for [`copy_rows`](Self::copy_rows).
    #[allow(clippy::too_many_arguments)]
    unsafe fn put_up(
        &self,
        to: &Buffer,
        start: usize,
        pitch: usize,
        source: &[u8],
        source_pitch: usize,
        width: usize,
        rows: usize,
        stream: sys::CUstream,
    ) -> Result<(), DeviceError> {
        check_rows(source.len(), source_pitch, width, rows);
        check_rows(to.bytes().saturating_sub(start), pitch, width, rows);
        self.enter()?;
        self.noted(stream, Thing::copy(Direction::Up, rows * width), || {
            if rows != 1 {
                let copy = to_device(to, start, pitch, source, source_pitch, width, rows);
                // SAFETY: just checked, and the caller's promise.
                return unsafe { self.copy_rows(&copy, stream) };
            }
            // A single row may be longer than the driver's limit for rows.
            // SAFETY: as above.
            unsafe { result::memcpy_htod_async(to.address() + start as u64, &source[..width], stream) }
                .map_err(self.fail("cuMemcpyHtoDAsync"))
        })
    }

    /// Puts a copy of rows from the device on a stream.
    ///
    /// # Safety
    /// As for [`copy_rows`](Self::copy_rows), and nothing else accesses the target until then.
    #[allow(clippy::too_many_arguments)]
    unsafe fn put_down(
        &self,
        from: &Buffer,
        start: usize,
        pitch: usize,
        target: &mut [u8],
        target_pitch: usize,
        width: usize,
        rows: usize,
        stream: sys::CUstream,
    ) -> Result<(), DeviceError> {
        check_rows(target.len(), target_pitch, width, rows);
        check_rows(from.bytes().saturating_sub(start), pitch, width, rows);
        self.enter()?;
        self.noted(stream, Thing::copy(Direction::Down, rows * width), || {
            if rows != 1 {
                let copy = to_host(from, start, pitch, target, target_pitch, width, rows);
                // SAFETY: just checked, and the caller's promise.
                return unsafe { self.copy_rows(&copy, stream) };
            }
            // SAFETY: as above.
            unsafe { result::memcpy_dtoh_async(&mut target[..width], from.address() + start as u64, stream) }
                .map_err(self.fail("cuMemcpyDtoHAsync"))
        })
    }

    /// Waits until the device's own stream is idle.
    fn settle(&self) -> Result<(), DeviceError> {
        // SAFETY: our own stream.
        unsafe { result::stream::synchronize(self.stream) }.map_err(self.fail("cuStreamSynchronize"))?;
        self.collect();
        Ok(())
    }

    /// The stream of a queue.
    fn stream_of(&self, queue: u64) -> sys::CUstream {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.open.get(&queue).expect("the queue is open").stream
    }

    /// The number of a stream in profiles.
    fn lane_of(&self, stream: sys::CUstream) -> u32 {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        // The device's own is none of them.
        queues.open.values().find(|open| open.stream == stream).map_or(0, |open| open.lane)
    }

    /// The context whose memory an address is of.
    fn context_of(&self, address: u64) -> Result<sys::CUcontext, DeviceError> {
        let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT;
        let none: sys::CUcontext = std::ptr::null_mut();
        // SAFETY: this attribute is a context.
        unsafe { pointer_attribute(attribute, address, none) }.map_err(self.fail("cuPointerGetAttributes"))
    }

    /// Gives this device access to the memory of another, once. Where it cannot, the driver copies through the host.
    fn befriend(&self, there: sys::CUcontext) {
        let mut friends = self.friends.lock().unwrap_or_else(PoisonError::into_inner);
        if !friends.insert(there as usize) {
            return;
        }
        // SAFETY: a context is current, and the other is live: it has memory.
        let code = unsafe { sys::cuCtxEnablePeerAccess(there, 0) };
        if !matches!(code, sys::CUresult::CUDA_SUCCESS | sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
            tracing::info!("{} copies to another device by way of the host: {code:?}", self.name());
        }
    }

    /// Frees memory of the driver's; the context is current.
    fn free(&self, address: u64) {
        // SAFETY: `address` came from the driver, and its buffer is gone.
        if let Err(error) = unsafe { result::free_sync(address) } {
            tracing::warn!("{}", driver_error(&self.name(), "cuMemFree", error));
        }
    }

    fn new_event(&self) -> Result<sys::CUevent, DeviceError> {
        result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(self.fail("cuEventCreate"))
    }

    fn record(&self, event: sys::CUevent, stream: sys::CUstream) -> Result<(), DeviceError> {
        // SAFETY: event and stream are live and of this context.
        unsafe { result::event::record(event, stream) }.map_err(self.fail("cuEventRecord"))
    }

    /// Puts a launch on a stream.
    ///
    /// # Safety
    /// The arguments keep the kernel's promise until the stream has been waited for.
    unsafe fn start(
        &self,
        kernel: &KernelEntry,
        function: sys::CUfunction,
        config: &LaunchConfig,
        args: &[Arg],
        stream: sys::CUstream,
    ) -> Result<(), DeviceError> {
        // The driver reads each argument through a pointer to it, and has when it returns.
        let mut values: Vec<u64> = args
            .iter()
            .map(|arg| match *arg {
                Arg::Buffer(buffer) => buffer.address,
                Arg::Pointers { array, .. } => array.address,
                Arg::U32(value) => u64::from(value),
                Arg::I32(value) => u64::from(value.cast_unsigned()),
                Arg::U64(value) => value,
                Arg::F32(value) => u64::from(value.to_bits()),
                Arg::F64(value) => value.to_bits(),
                Arg::Texture { handle, .. } => handle,
            })
            .collect();
        let mut pointers: Vec<*mut c_void> = values.iter_mut().map(|value| (&raw mut *value).cast()).collect();
        let ([gx, gy, gz], [bx, by, bz]) = (config.grid, config.block);
        let launch = || {
            // SAFETY: the caller has checked the arguments' number and types (all little-endian, at most 8 bytes); that they
            // keep the kernel's promise is its own promise.
            unsafe {
                result::launch_kernel(function, (gx, gy, gz), (bx, by, bz), config.shared_bytes, stream, &mut pointers)
            }
            .map_err(|error| match error {
                // A kernel's local memory is allocated when it is launched.
                DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY) => self.out_of_memory(0),
                error => driver_error(&self.name(), "cuLaunchKernel", error),
            })
        };
        self.noted(stream, Thing::Launch { kernel: kernel.name, function, config: *config }, launch)
    }
}

/// The driver's description of a copy of rows of `width` bytes to a device.
fn to_device(
    to: &Buffer,
    start: usize,
    pitch: usize,
    source: &[u8],
    source_pitch: usize,
    width: usize,
    rows: usize,
) -> sys::CUDA_MEMCPY2D {
    sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: source.as_ptr().cast(),
        srcDevice: 0,
        srcArray: std::ptr::null_mut(),
        srcPitch: source_pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstHost: std::ptr::null_mut(),
        dstDevice: to.address() + start as u64,
        dstArray: std::ptr::null_mut(),
        dstPitch: pitch,
        WidthInBytes: width,
        Height: rows,
    }
}

/// The driver's description of a copy of rows of `width` bytes from a device.
fn to_host(
    from: &Buffer,
    start: usize,
    pitch: usize,
    target: &mut [u8],
    target_pitch: usize,
    width: usize,
    rows: usize,
) -> sys::CUDA_MEMCPY2D {
    sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcHost: std::ptr::null(),
        srcDevice: from.address() + start as u64,
        srcArray: std::ptr::null_mut(),
        srcPitch: pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
        dstHost: target.as_mut_ptr().cast(),
        dstDevice: 0,
        dstArray: std::ptr::null_mut(),
        dstPitch: target_pitch,
        WidthInBytes: width,
        Height: rows,
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

/// The part of the PTX that one kernel needs: everything before the first entry (version, target, shared and constant
/// variables) and its own entry. The whole text if there are functions that entries may call.
fn module_of(kernel: &str) -> String {
    const ENTRY: &str = "\n.visible .entry ";
    for text in PTX {
        let mut pieces = text.split(ENTRY);
        let head = pieces.next().unwrap_or_default();
        let own = pieces.find(|piece| piece.strip_prefix(kernel).is_some_and(|rest| rest.starts_with('(')));
        if let Some(own) = own {
            let calls = text.contains("\n.func") || text.contains("\n.visible .func");
            return if calls { text.to_owned() } else { format!("{head}{ENTRY}{own}") };
        }
    }
    // The driver reports that there is no such kernel.
    PTX[0].to_owned()
}

/// Has the driver compile PTX; a failure carries the compiler's log.
fn load(label: &str, ptx: &str) -> Result<sys::CUmodule, DeviceError> {
    let image = CString::new(ptx).expect("PTX is text");
    let mut log = vec![0u8; 16 * 1024];
    let mut options =
        [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver takes option values as pointers, numbers included.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(log.len())];
    let mut module = std::ptr::null_mut();
    // SAFETY: a context is current; image, options and log outlive the call, and the lengths are theirs.
    let code = unsafe {
        sys::cuModuleLoadDataEx(
            &raw mut module,
            image.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    code.result().map_err(|error| {
        let log = CStr::from_bytes_until_nul(&log).map_or("".into(), CStr::to_string_lossy);
        DeviceError::Driver {
            device: label.into(),
            call: "cuModuleLoadDataEx",
            message: format!("{} {}", message(error), log.trim().replace('\n', "; ")).trim().into(),
        }
    })?;
    Ok(module)
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        let kernels = std::mem::take(self.kernels.get_mut().unwrap_or_else(PoisonError::into_inner));
        // SAFETY: all of them are ours and nothing uses them any more. A failure could not
        // be handled here.
        unsafe {
            let _ = result::ctx::set_current(self.context);
            self.collect();
            drop(self.tape.take());
            for address in self.memory.get_mut().unwrap_or_else(PoisonError::into_inner).clear() {
                let _ = result::free_sync(address);
            }
            for address in self.locked.lock().unwrap_or_else(PoisonError::into_inner).clear() {
                free_host(std::ptr::with_exposed_provenance_mut(address as usize));
            }
            let _ = result::stream::destroy(self.stream);
            let queues = std::mem::take(self.queues.get_mut().unwrap_or_else(PoisonError::into_inner));
            queues.events.into_iter().for_each(destroy_events);
            for stream in queues.spare {
                let _ = result::stream::destroy(stream);
            }
            for Stream { stream, kernels, .. } in queues.open.into_values() {
                kernels.into_iter().for_each(destroy_events);
                let _ = result::stream::destroy(stream);
            }
            for (module, _) in kernels.0.into_values() {
                let _ = result::module::unload(module);
            }
            let _ = result::primary_ctx::release(self.device);
        }
    }
}

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
        let _ = self.tape.set(Tape::new(self, profile)?);
        Ok(())
    }

    fn free_memory(&self) -> Result<usize, DeviceError> {
        self.enter()?;
        let waiting = self.memory.lock().unwrap_or_else(PoisonError::into_inner).bytes;
        Ok(result::mem_get_info().map_err(self.fail("cuMemGetInfo"))?.0 + waiting)
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
            memory.most = 0;
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
                memory.lent.insert(address, bytes);
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
        let _guest = Guest::of(self);
        if self.enter().is_err() {
            return;
        }
        // As freeing does: work in flight may use the memory.
        if result::ctx::synchronize().is_ok()
            && self.memory.lock().unwrap_or_else(PoisonError::into_inner).keep(address)
        {
            return;
        }
        self.free(address);
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
        let _guest = Guest::of(self);
        self.enter()?;
        // The driver's own names for its default streams are 1 and 2; 0 is whichever of them it was compiled for.
        let stream = std::ptr::with_exposed_provenance_mut(stream.max(1) as usize);
        // SAFETY: a stream of this device by the caller's promise.
        unsafe { result::stream::synchronize(stream) }.map_err(self.fail("cuStreamSynchronize"))
    }

    fn fill(&self, buffer: &Buffer, byte: u8) -> Result<(), DeviceError> {
        self.enter()?;
        self.noted(self.stream, Thing::Fill { bytes: buffer.bytes() }, || {
            // SAFETY: the buffer is live and that long.
            unsafe { result::memset_d8_async(buffer.address(), byte, buffer.bytes(), self.stream) }
                .map_err(self.fail("cuMemsetD8Async"))
        })?;
        self.settle()
    }

    fn upload(
        &self,
        to: &Buffer,
        start: usize,
        pitch: usize,
        source: &[u8],
        source_pitch: usize,
        width: usize,
        rows: usize,
    ) -> Result<(), DeviceError> {
        if staged::worth_it(width, rows) && !self.copies_directly(source) {
            check_rows(source.len(), source_pitch, width, rows);
            return staged::upload(to, staged::Rows { start, pitch, width, rows }, source, source_pitch);
        }
        // SAFETY: both outlive the wait.
        unsafe { self.put_up(to, start, pitch, source, source_pitch, width, rows, self.stream) }?;
        self.settle()
    }

    fn download(
        &self,
        from: &Buffer,
        start: usize,
        pitch: usize,
        target: &mut [u8],
        target_pitch: usize,
        width: usize,
        rows: usize,
    ) -> Result<(), DeviceError> {
        if staged::worth_it(width, rows) && !self.copies_directly(target) {
            check_rows(target.len(), target_pitch, width, rows);
            return staged::download(from, staged::Rows { start, pitch, width, rows }, target, target_pitch);
        }
        // SAFETY: both outlive the wait.
        unsafe { self.put_down(from, start, pitch, target, target_pitch, width, rows, self.stream) }?;
        self.settle()
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
        let kept = kind == HostKind::Pinned;
        let reserve = || self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = if kept { reserve().take(bytes) } else { None };
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
                // SAFETY: it is new and so long. Written once, because the driver does not promise that it has.
                let all = unsafe { std::slice::from_raw_parts_mut(new.cast::<MaybeUninit<u8>>(), bytes) };
                all.par_chunks_mut(1 << 22).for_each(|chunk| chunk.fill(MaybeUninit::new(0)));
                if kept {
                    reserve().lent.insert(new.expose_provenance() as u64, bytes);
                }
                new
            }
        };
        let address = NonNull::new(address).expect("the driver's memory has an address");
        let owner: Box<dyn Owner> = if kept { Box::new(Locked(Arc::clone(&self.locked))) } else { Box::new(Freed) };
        // SAFETY: the memory is so long, page-aligned, written, and used by nothing else until its owner has it back.
        Ok(unsafe { HostMemory::lent(address, bytes, owner) })
    }

    fn mapped_address(&self, memory: &HostMemory) -> Result<Option<u64>, DeviceError> {
        self.enter()?;
        let mut address = 0;
        let place = memory.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: a live place for the answer. The driver only looks the memory up, and refuses what it has not mapped.
        unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut address, place, 0) }
            .result()
            .map_err(self.fail("cuMemHostGetDevicePointer"))?;
        Ok(Some(address))
    }

    fn copies_directly(&self, memory: &[u8]) -> bool {
        // Asked for several attributes at once, if only of one, the driver reports no value for memory that it does not know;
        // asked for one alone it returns an error, which debuggers report.
        let locked = |byte: &u8| {
            let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
            let address = std::ptr::from_ref(byte).addr() as u64;
            // SAFETY: this attribute is a u32.
            let kind = unsafe { pointer_attribute(attribute, address, 0u32) };
            kind.is_ok_and(|kind| kind == sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32)
        };
        self.enter().is_ok() && memory.first().is_some_and(locked) && memory.last().is_some_and(locked)
    }

    fn open_queue(&self, urgent: bool) -> Result<u64, DeviceError> {
        use result::stream::{StreamKind, create, create_with_priority};
        self.enter()?;
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let spare = if urgent { None } else { queues.spare.pop() };
        // Lower numbers have priority, and the driver clamps what is below its lowest.
        let stream = match (spare, urgent) {
            (Some(stream), _) => Ok(stream),
            (None, true) => create_with_priority(StreamKind::NonBlocking, i32::MIN),
            (None, false) => create(StreamKind::NonBlocking),
        };
        let stream = stream.map_err(self.fail("cuStreamCreate"))?;
        queues.last += 1;
        let number = queues.last;
        let taken = |lane: &u32| queues.open.values().any(|other| other.lane == *lane);
        let lane = (1..).find(|lane| !taken(lane)).expect("there are more numbers than queues");
        queues.open.insert(number, Stream { stream, urgent, kernels: Vec::new(), lane });
        Ok(number)
    }

    fn close_queue(&self, queue: u64) {
        let closed = self.queues.lock().unwrap_or_else(PoisonError::into_inner).open.remove(&queue);
        if let Some(Stream { stream, kernels, urgent, .. }) = closed
            && self.enter().is_ok()
        {
            let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
            queues.keep_events(kernels);
            if !urgent && queues.spare.len() < SPARE {
                queues.spare.push(stream);
            } else {
                // SAFETY: as above.
                let _ = unsafe { result::stream::destroy(stream) };
            }
        }
    }

    fn follow(&self, queue: u64, other: u64) -> Result<(), DeviceError> {
        self.enter()?;
        let (stream, other) = (self.stream_of(queue), self.stream_of(other));
        let event = self.new_event()?;
        let followed = self.record(event, other).and_then(|()| {
            let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
            // SAFETY: both are live and of this context.
            unsafe { result::stream::wait_event(stream, event, flags) }.map_err(self.fail("cuStreamWaitEvent"))
        });
        // SAFETY: the driver keeps what is still waited for.
        let _ = unsafe { result::event::destroy(event) };
        followed
    }

    unsafe fn send_on(&self, queue: u64, from: &Buffer, to: &Buffer) -> Result<(), DeviceError> {
        self.enter()?;
        let there = self.context_of(to.address())?;
        self.befriend(there);
        let (stream, bytes) = (self.stream_of(queue), from.bytes());
        self.noted(stream, Thing::copy(Direction::Across, bytes), || {
            // SAFETY: the buffers are as long, and that both live is the caller's promise.
            unsafe { result::memcpy_peer_async(there, to.address(), self.context, from.address(), bytes, stream) }
                .map_err(self.fail("cuMemcpyPeerAsync"))
        })
    }

    unsafe fn upload_on(
        &self,
        queue: u64,
        to: &Buffer,
        start: usize,
        pitch: usize,
        source: &[u8],
        source_pitch: usize,
        width: usize,
        rows: usize,
    ) -> Result<(), DeviceError> {
        // SAFETY: that both live is the caller's promise.
        unsafe { self.put_up(to, start, pitch, source, source_pitch, width, rows, self.stream_of(queue)) }
    }

    unsafe fn download_on(
        &self,
        queue: u64,
        from: &Buffer,
        start: usize,
        pitch: usize,
        target: &mut [u8],
        target_pitch: usize,
        width: usize,
        rows: usize,
    ) -> Result<(), DeviceError> {
        // SAFETY: that both live, and nothing else accesses the target, is the caller's promise.
        unsafe { self.put_down(from, start, pitch, target, target_pitch, width, rows, self.stream_of(queue)) }
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
        let (stream, spare) = {
            let mut queues = queues();
            (queues.open.get(&queue).expect("the queue is open").stream, queues.events.pop())
        };
        let pair = match spare {
            Some(pair) => pair,
            None => [self.new_event()?, self.new_event()?],
        };
        let started = self.record(pair[0], stream).and_then(|()| {
            // SAFETY: `check` has passed the arguments' number and types; the rest is our own caller's promise.
            unsafe { self.start(kernel, function, config, args, stream) }?;
            self.record(pair[1], stream)
        });
        let mut queues = queues();
        match started {
            Ok(()) => queues.open.get_mut(&queue).expect("the queue is open").kernels.push(pair),
            Err(_) => queues.keep_events([pair]),
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
        let mut seconds = 0.0;
        for &[start, end] in &kernels {
            // SAFETY: both events are ours; they have been recorded, and reached.
            seconds += unsafe { result::event::elapsed(start, end) }.map_or(0.0, |ms| f64::from(ms) / 1000.0);
        }
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).keep_events(kernels);
        Ok(seconds)
    }
}

/// An attribute that the driver has of an address. `none` is the value where it has none.
///
/// # Safety
/// The attribute is a `T`.
unsafe fn pointer_attribute<T>(
    mut attribute: sys::CUpointer_attribute,
    address: u64,
    none: T,
) -> Result<T, DriverError> {
    let mut answer = none;
    let mut place: *mut c_void = (&raw mut answer).cast();
    // SAFETY: one attribute and a live place for it, of its type; the driver takes any address.
    unsafe { sys::cuPointerGetAttributes(1, &raw mut attribute, &raw mut place, address) }.result()?;
    Ok(answer)
}

/// Frees memory from `cuMemHostAlloc`.
///
/// # Safety
/// The address came from there, and nothing uses the memory any more.
unsafe fn free_host(address: *mut u8) {
    // SAFETY: the caller's promise. The driver knows the memory by its address, whatever context is current; a failure could
    // not be handled.
    let _ = unsafe { sys::cuMemFreeHost(address.cast()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_has_one_entry_and_all_variables() {
        for kernel in halotile_kernels::FAMILIES.iter().copied().flatten() {
            let module = module_of(kernel.name);
            assert_eq!(module.matches(".visible .entry").count(), 1, "{}", kernel.name);
            assert!(module.contains(&format!(".visible .entry {}(", kernel.name)));
            assert!(module.contains(".extern .shared .align 16 .b8 simt_dynamic_shared[];"));
            assert!(module.contains(".version") && module.matches('{').count() == module.matches('}').count());
        }
        assert_eq!(module_of("no such kernel"), PTX[0]);
    }

    /// A barrier that a compiler copied into both sides of a branch is never reached by all threads.
    #[test]
    fn barriers_are_where_the_source_has_them() {
        let barriers = |kernel| module_of(kernel).matches("bar.sync").count();
        // Nine halvings of 512 numbers, and one before the clocks are read.
        assert_eq!(barriers("primer_clock_minima"), 10);
        assert_eq!(barriers("apsp_blocked64_phase2"), 1);
    }
}
