//! Streams and events: the device's own stream, those of queues, and the time between events.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::PoisonError;

use cudarc::driver::{DriverError, result, sys};
use simt::launch::{Arg, KernelEntry, LaunchConfig};

use super::CudaDevice;
use super::driver::driver_error;
use super::recorder::Activity;
use crate::{Device as _, DeviceError};

/// An event of the driver, destroyed when dropped: with its context current, so that a failure, about which nothing could be done, is rare.
pub(super) struct Event(sys::CUevent);

// SAFETY: an event belongs to its context, not to a thread.
unsafe impl Send for Event {}

impl Event {
    /// Seconds from an event to a later one, or an earlier one; `None` until both have happened.
    pub(super) fn seconds_to(&self, other: &Self) -> Option<f64> {
        // SAFETY: both are live and of the same context.
        let milliseconds = unsafe { result::event::elapsed(self.0, other.0) }.ok()?;
        Some(f64::from(milliseconds) / 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: it is ours and not used again.
        let _ = unsafe { result::event::destroy(self.0) };
    }
}

/// The events before and after a launch.
pub(super) type EventPair = [Event; 2];

/// The queues that are open, by their numbers.
#[derive(Default)]
pub(super) struct Queues {
    pub(super) open: HashMap<u64, Stream>,
    pub(super) last: u64,
    /// Streams of closed queues that were not urgent, for queues to come: to make one takes as long as a small kernel.
    stream_pool: Vec<sys::CUstream>,
    /// Pairs of events whose times have been read, for launches to come.
    event_pool: Vec<EventPair>,
}

/// The most streams that are pooled.
const MAX_POOLED_STREAMS: usize = 8;

/// The most pairs of events that are pooled.
const MAX_POOLED_EVENTS: usize = 64;

/// A queue: a stream, and the events before and after each kernel whose time has not been read yet.
pub(super) struct Stream {
    pub(super) stream: sys::CUstream,
    pub(super) kernels: Vec<EventPair>,
    /// Its number in profiles: 1 and up, the least that no other open one has.
    pub(super) track: u32,
    pub(super) urgent: bool,
}

// SAFETY: stream handles belong to the context, not to a thread.
unsafe impl Send for Queues {}

impl Queues {
    /// Takes events whose times have been read. The context is current.
    pub(super) fn recycle_events(&mut self, pairs: impl IntoIterator<Item = EventPair>) {
        let room = MAX_POOLED_EVENTS.saturating_sub(self.event_pool.len());
        // The others are dropped.
        self.event_pool.extend(pairs.into_iter().take(room));
    }

    /// A pair of events that were used before, if there are some.
    pub(super) fn pooled_events(&mut self) -> Option<EventPair> {
        self.event_pool.pop()
    }

    /// A stream that was used before, if there is one.
    pub(super) fn pooled_stream(&mut self) -> Option<sys::CUstream> {
        self.stream_pool.pop()
    }

    /// Takes what a closed queue had; its stream has nothing left to do. The context is current.
    pub(super) fn recycle(&mut self, Stream { stream, kernels, urgent, .. }: Stream) {
        self.recycle_events(kernels);
        if !urgent && self.stream_pool.len() < MAX_POOLED_STREAMS {
            self.stream_pool.push(stream);
        } else {
            destroy(stream);
        }
    }

    /// Destroys all streams and events. The context is current.
    pub(super) fn destroy(self) {
        self.stream_pool.into_iter().chain(self.open.into_values().map(|open| open.stream)).for_each(destroy);
    }
}

/// Destroys a stream of a context that is current. Nothing could be done about a failure.
fn destroy(stream: sys::CUstream) {
    // SAFETY: ours, and nothing uses it any more.
    let _ = unsafe { result::stream::destroy(stream) };
}

impl CudaDevice {
    /// Puts one activity on a stream by `work`, and records it where there is a profile.
    pub(super) fn traced(
        &self,
        stream: sys::CUstream,
        activity: Activity,
        work: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        match self.recorder.get() {
            Some(recorder) => recorder.record(self, stream, activity, work),
            None => work(),
        }
    }

    /// Has the profile, if there is one, take the events that are over.
    pub(super) fn collect(&self) {
        if let Some(recorder) = self.recorder.get() {
            recorder.collect(self);
        }
    }

    /// Runs `work`, which puts things on the stream, and returns how many seconds they took there.
    pub(super) fn timed(&self, work: impl FnOnce() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
        self.enter()?;
        let [start, end] = self.new_events()?;
        let run = || {
            self.record(&start, self.stream)?;
            work()?;
            self.record(&end, self.stream)?;
            // SAFETY: the event is live and has been recorded.
            unsafe { result::event::synchronize(end.0) }.map_err(self.fail("cuEventSynchronize"))?;
            // SAFETY: both events have been recorded and reached.
            unsafe { result::event::elapsed(start.0, end.0) }.map_err(self.fail("cuEventElapsedTime"))
        };
        let milliseconds = run();
        self.collect();
        Ok(f64::from(milliseconds?) / 1000.0)
    }

    /// Waits until the device's own stream is idle.
    pub(super) fn synchronize(&self) -> Result<(), DeviceError> {
        // SAFETY: our own stream.
        unsafe { result::stream::synchronize(self.stream) }.map_err(self.fail("cuStreamSynchronize"))?;
        self.collect();
        Ok(())
    }

    /// The stream of a queue.
    pub(super) fn stream_of(&self, queue: u64) -> sys::CUstream {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.open.get(&queue).expect("the queue is open").stream
    }

    /// The number of a stream in profiles.
    pub(super) fn track_of(&self, stream: sys::CUstream) -> u32 {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        // The device's own is none of them.
        queues.open.values().find(|open| open.stream == stream).map_or(0, |open| open.track)
    }

    pub(super) fn new_event(&self) -> Result<Event, DeviceError> {
        result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map(Event).map_err(self.fail("cuEventCreate"))
    }

    /// The events before and after a launch. Where the second cannot be made, the first is destroyed.
    pub(super) fn new_events(&self) -> Result<EventPair, DeviceError> {
        Ok([self.new_event()?, self.new_event()?])
    }

    pub(super) fn record(&self, event: &Event, stream: sys::CUstream) -> Result<(), DeviceError> {
        // SAFETY: event and stream are live and of this context.
        unsafe { result::event::record(event.0, stream) }.map_err(self.fail("cuEventRecord"))
    }

    /// Has a stream wait for what is on another by now.
    pub(super) fn follow_stream(&self, stream: sys::CUstream, other: sys::CUstream) -> Result<(), DeviceError> {
        let event = self.new_event()?;
        self.record(&event, other)?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: both are live and of this context. The driver keeps an event that is still waited for when it is destroyed.
        unsafe { result::stream::wait_event(stream, event.0, flags) }.map_err(self.fail("cuStreamWaitEvent"))
    }

    /// Puts a launch on a stream.
    ///
    /// # Safety
    /// The arguments keep the kernel's promise until the stream has been waited for.
    pub(super) unsafe fn start(
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
        self.traced(stream, Activity::Launch { kernel: kernel.name, function, config: *config }, launch)
    }
}
