//! The emulator as a device.
//!
//! It runs every kernel lane by lane on the CPU and checks every access (see `simt::emulator`). It is how
//! kernels are tested on machines without a GPU, and its memory and multiprocessors can be limited to test what the
//! code around kernels does then. It can also count what kernels' warps do to memory.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use simt::emulator::{self, Memory, Options, launch};
pub use simt::emulator::{AccessKind, Accesses, Order, Site, Space, Totals};
use simt::launch::{Arg, Constant, KernelEntry, LaunchConfig};

use crate::profile::{Direction, Launch, Profile, Span, SpanKind, Track};
use crate::resources::Report;
use crate::{Buffer, Device, DeviceError, Limits, Rows, TexelFormat, TextureShape};

/// An emulated device.
pub struct EmulatedDevice {
    ordinal: usize,
    limits: Limits,
    order: Order,
    /// Launches until it fails; `None` where it never does.
    launches: Option<AtomicUsize>,
    /// Bytes that it reports as free and are not.
    overstated: usize,
    /// Whether it counts what launches do to memory.
    counting: bool,
    /// Launches end early once it is set.
    stop: Option<Arc<AtomicBool>>,
    profile: OnceLock<Arc<Profile>>,
    state: Mutex<State>,
}

struct State {
    memory: Memory,
    /// The memory at the addresses given out.
    buffers: BTreeMap<u64, emulator::Buffer>,
    textures: HashMap<u64, emulator::Texture>,
    counted: Vec<CountedLaunch>,
}

/// What the warps of a launch did to memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedLaunch {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Its loads and stores, as the hardware would serve them.
    pub accesses: Accesses,
}

impl State {
    /// The buffer, which may be a part of one.
    fn buffer(&self, buffer: &Buffer) -> emulator::Buffer {
        let whole = self.buffers.range(..=buffer.address()).next_back().expect("there is a buffer at the address").1;
        whole.slice((buffer.address() - whole.address()) as usize, buffer.bytes())
    }
}

impl EmulatedDevice {
    /// A device with the shared memory of an H200 and two multiprocessors. `memory` limits its memory in bytes.
    pub fn new(ordinal: usize, memory: Option<usize>) -> Self {
        let limits = Limits {
            multiprocessors: 2,
            shared_per_block: 227 * 1024,
            arch: 90,
            memory: memory.unwrap_or(1 << 32),
            // About a second a launch, so that progress shows: a cell takes the fastest kernels some microseconds.
            launch_cells: 1 << 18,
        };
        let state = State {
            memory: Memory::new(Some(limits.memory)),
            buffers: BTreeMap::new(),
            textures: HashMap::new(),
            counted: Vec::new(),
        };
        Self {
            ordinal,
            limits,
            order: Order::Forward,
            launches: None,
            overstated: 0,
            counting: false,
            stop: None,
            profile: OnceLock::new(),
            state: Mutex::new(state),
        }
    }

    /// The same with another limit to the shared memory of a block, in bytes.
    pub fn with_shared_per_block(mut self, bytes: u32) -> Self {
        self.limits.shared_per_block = bytes;
        self
    }

    /// The same with the instructions of another compute capability: 10 · major + minor.
    pub fn with_arch(mut self, arch: u32) -> Self {
        self.limits.arch = arch;
        self
    }

    /// The same with blocks and lanes run in this order. A kernel that is right gives the same result in each.
    pub fn with_order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// The same, but launches end early, with an error, once the flag is set: a launch may take minutes where windows are large.
    pub fn stopped_by(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = Some(stop);
        self
    }

    /// The same, but after so many launches it fails permanently, as a GPU that falls off its bus does: to test what happens to
    /// its work.
    pub fn failing_after(mut self, launches: usize) -> Self {
        self.launches = Some(AtomicUsize::new(launches));
        self
    }

    /// The same, but it overstates free memory by so many bytes, as drivers do that round allocations up and load
    /// kernels late: to test how a plan handles it.
    pub fn overstating(mut self, bytes: usize) -> Self {
        self.overstated = bytes;
        self
    }

    /// The same, but it counts what the warps of each launch do to shared and global memory, for [`take_counted`](Self::take_counted).
    /// Launches take several times as long.
    pub fn counting(mut self) -> Self {
        self.counting = true;
        self
    }

    /// What the launches did since the last call, in their order. Nothing unless the device is [`counting`](Self::counting).
    pub fn take_counted(&self) -> Vec<CountedLaunch> {
        std::mem::take(&mut self.lock().counted)
    }

    /// An error once it has failed.
    fn alive(&self, call: &'static str) -> Result<(), DeviceError> {
        if self.launches.as_ref().is_some_and(|left| left.load(Relaxed) == 0) {
            let message = "the device has failed, as it was told to".into();
            return Err(DeviceError::Driver { device: self.name(), call, message });
        }
        Ok(())
    }

    /// Does something, and records it where there is a profile.
    fn traced<T>(
        &self,
        name: &'static str,
        kind: impl FnOnce() -> SpanKind,
        work: impl FnOnce() -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let Some(profile) = self.profile.get() else { return work() };
        let begun = Instant::now();
        let done = work()?;
        let seconds = begun.elapsed().as_secs_f64();
        let track = Track::Device { device: self.name().into(), stream: 0 };
        let start = profile.at(begun);
        profile.add(Span { name: name.into(), track, start, seconds, host_seconds: seconds, kind: kind() });
        Ok(done)
    }

    /// [`traced`](Self::traced) of a copy.
    fn traced_copy(
        &self,
        direction: Direction,
        bytes: usize,
        work: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        self.traced(direction.name(), || SpanKind::Copy { direction, bytes }, work)
    }

    /// The memory. A launch that panicked has left no partial state in it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device for EmulatedDevice {
    fn name(&self) -> String {
        format!("emulator:{}", self.ordinal)
    }

    fn limits(&self) -> Limits {
        self.limits.clone()
    }

    fn profile(&self, profile: &Arc<Profile>) -> Result<(), DeviceError> {
        // A second profile is ignored.
        let _ = self.profile.set(Arc::clone(profile));
        Ok(())
    }

    fn free_memory(&self) -> Result<usize, DeviceError> {
        Ok(self.lock().memory.bytes_free() + self.overstated)
    }

    fn allocate(&self, bytes: usize) -> Result<u64, DeviceError> {
        let mut state = self.lock();
        let buffer = state.memory.alloc(bytes).map_err(|error| DeviceError::OutOfMemory {
            device: self.name(),
            wanted: error.wanted,
            free: error.free,
        })?;
        state.buffers.insert(buffer.address(), buffer);
        Ok(buffer.address())
    }

    fn release(&self, address: u64) {
        let mut state = self.lock();
        if let Some(buffer) = state.buffers.remove(&address) {
            state.memory.free(buffer);
        }
    }

    fn fill(&self, buffer: &Buffer, byte: u8) -> Result<(), DeviceError> {
        self.traced(
            "fill",
            || SpanKind::Fill { bytes: buffer.bytes() },
            || {
                let mut state = self.lock();
                let target = state.buffer(buffer);
                state.memory.write(target, 0, &vec![byte; target.bytes()]);
                Ok(())
            },
        )
    }

    fn upload(&self, to: &Buffer, rows: Rows, source: &[u8], source_pitch: usize) -> Result<(), DeviceError> {
        rows.check_host(source.len(), source_pitch);
        rows.check_buffer(to.bytes());
        self.alive("upload")?;
        self.traced_copy(Direction::HostToDevice, rows.bytes(), || {
            let mut state = self.lock();
            let target = state.buffer(to);
            for row in 0..rows.rows {
                state.memory.write(target, rows.start + row * rows.pitch, &source[row * source_pitch..][..rows.width]);
            }
            Ok(())
        })
    }

    fn download(&self, from: &Buffer, rows: Rows, target: &mut [u8], target_pitch: usize) -> Result<(), DeviceError> {
        rows.check_host(target.len(), target_pitch);
        rows.check_buffer(from.bytes());
        self.alive("download")?;
        self.traced_copy(Direction::DeviceToHost, rows.bytes(), || {
            let state = self.lock();
            let source = state.buffer(from);
            for row in 0..rows.rows {
                state.memory.read(
                    source,
                    rows.start + row * rows.pitch,
                    &mut target[row * target_pitch..][..rows.width],
                );
            }
            Ok(())
        })
    }

    fn create_texture(&self, buffer: &Buffer, format: TexelFormat, shape: TextureShape) -> Result<u64, DeviceError> {
        let mut state = self.lock();
        let source = state.buffer(buffer);
        let texture = match shape {
            TextureShape::Line { width } => state.memory.texture_1d(source, format, width),
            TextureShape::Plane { width, height, pitch } => {
                state.memory.texture_2d(source, format, width, height, pitch)
            }
        };
        let Arg::Texture { handle, .. } = texture.arg() else { unreachable!("a texture's argument is a texture") };
        state.textures.insert(handle, texture);
        Ok(handle)
    }

    fn destroy_texture(&self, handle: u64) {
        let mut state = self.lock();
        if let Some(texture) = state.textures.remove(&handle) {
            state.memory.free_texture(texture);
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
        self.alive("launch")?;
        if let Some(left) = &self.launches {
            // The launch with which it fails does nothing.
            left.fetch_sub(1, Relaxed);
            self.alive("launch")?;
        }
        let mut state = self.lock();
        let stopped = |_, _| match &self.stop {
            Some(stop) if stop.load(Relaxed) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let options = Options {
            observer: Some(&stopped),
            shared_limit: self.limits.shared_per_block,
            block_order: self.order,
            lane_order: self.order,
            accesses: self.counting,
            constants,
            ..Options::default()
        };
        let kind = || {
            let used = Report::of(kernel.module).kernel(kernel.name, &format!("sm_{}", self.limits.arch));
            let used = used.map(|used| (used.registers, used.shared_bytes));
            SpanKind::Launch(Launch::new(config, used, self.limits.arch))
        };
        let run = || {
            let start = Instant::now();
            let report = launch(&mut state.memory, kernel, config, args, &options)
                .map_err(|error| DeviceError::Fault(format!("{}: {error}", self.name())))?;
            Ok((report, start.elapsed().as_secs_f64()))
        };
        let (report, seconds) = self.traced(kernel.name, kind, run)?;
        state.counted.extend(report.accesses.map(|accesses| CountedLaunch { kernel: kernel.name, accesses }));
        Ok(seconds)
    }

    fn resident_blocks(&self, _kernel: &KernelEntry, _threads: u32, _shared_bytes: u32) -> Result<u32, DeviceError> {
        Ok(self.limits.multiprocessors)
    }
}
