//! What a device's streams did, for a profile: events of the driver before and after everything that is put on them.
//!
//! The driver reports the time between two events, in milliseconds and single precision. So times are counted from an anchor, an event whose
//! time is known, and the anchor moves on: an hour from the first event would be known to a quarter of a second.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::{Arc, CudaDevice, DeviceError, Direction, HashMap, Launch, LaunchConfig, Profile, What, result, sys};
use crate::exec::Device as _;
use crate::profile::{Span, Track};

/// Seconds after which the anchor moves on: events are then known to a tenth of a microsecond.
const REACH: f64 = 1.0;

/// An activity that is put on a stream.
pub(super) enum Thing {
    Launch { kernel: &'static str, function: sys::CUfunction, config: LaunchConfig },
    Copy { direction: Direction, bytes: usize },
    Fill { bytes: usize },
}

impl Thing {
    pub(super) fn copy(direction: Direction, bytes: usize) -> Self {
        Self::Copy { direction, bytes }
    }
}

/// An event of the driver.
struct Event(sys::CUevent);

impl Event {
    /// Now, on a stream.
    fn new(device: &CudaDevice, stream: sys::CUstream) -> Result<Self, DeviceError> {
        let event = Self(device.new_event()?);
        device.record(event.0, stream)?;
        Ok(event)
    }

    /// Seconds from an event to a later one, or an earlier one; nothing until both are over.
    fn to(&self, other: &Self) -> Option<f64> {
        // SAFETY: both are live and of the same context.
        let milliseconds = unsafe { result::event::elapsed(self.0, other.0) }.ok()?;
        Some(f64::from(milliseconds) / 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: it is ours and not used again. A failure could not be handled here.
        let _ = unsafe { result::event::destroy(self.0) };
    }
}

/// An activity in flight.
struct Noted {
    thing: Thing,
    stream: u32,
    host_seconds: f64,
    start: Event,
    end: Event,
}

/// The recorded events of a device.
pub(super) struct Tape {
    profile: Arc<Profile>,
    device: Arc<str>,
    state: Mutex<State>,
}

struct State {
    /// An event, and its time.
    anchor: (Event, f64),
    noted: Vec<Noted>,
    /// Registers and static shared memory of kernels.
    used: HashMap<&'static str, Option<(u32, u32)>>,
}

// SAFETY: events and functions belong to the context, not to a thread.
unsafe impl Send for State {}

impl Tape {
    /// Aligns the device's clock with the profile's.
    pub(super) fn new(device: &CudaDevice, profile: &Arc<Profile>) -> Result<Self, DeviceError> {
        // The first event of a device takes longer than others.
        drop(Event::new(device, device.stream)?);
        device.settle()?;
        let before = profile.now();
        let anchor = Event::new(device, device.stream)?;
        device.settle()?;
        let state = State {
            // It happened between these two.
            anchor: (anchor, before.midpoint(profile.now())),
            noted: Vec::new(),
            used: HashMap::new(),
        };
        Ok(Self { profile: Arc::clone(profile), device: device.name().into(), state: Mutex::new(state) })
    }

    /// Puts one activity on a stream by `work`, between two events.
    pub(super) fn note(
        &self,
        device: &CudaDevice,
        stream: sys::CUstream,
        thing: Thing,
        work: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let start = Event::new(device, stream)?;
        let begun = Instant::now();
        work()?;
        let host_seconds = begun.elapsed().as_secs_f64();
        let end = Event::new(device, stream)?;
        let noted = Noted { thing, stream: device.lane_of(stream), host_seconds, start, end };
        self.state.lock().unwrap_or_else(PoisonError::into_inner).noted.push(noted);
        Ok(())
    }

    /// Moves the events that are over to the profile. A context is current.
    pub(super) fn collect(&self, device: &CudaDevice) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut under_way = Vec::new();
        for noted in std::mem::take(&mut state.noted) {
            let (anchor, at) = &state.anchor;
            let Some((start, seconds)) = anchor.to(&noted.start).zip(noted.start.to(&noted.end)) else {
                under_way.push(noted);
                continue;
            };
            let Noted { thing, stream, host_seconds, end, .. } = noted;
            let (start, reached) = (at + start, start);
            let (name, what) = match thing {
                Thing::Launch { kernel, function, config } => {
                    let used = *state.used.entry(kernel).or_insert_with(|| {
                        let compiled = device.compiled_function(function).ok()?;
                        Some((compiled.registers, compiled.shared_bytes))
                    });
                    let (major, minor) = device.description.compute_capability;
                    (kernel, What::Launch(Launch::new(&config, used, 10 * major + minor)))
                }
                Thing::Copy { direction, bytes } => (direction.name(), What::Copy { direction, bytes }),
                Thing::Fill { bytes } => ("fill", What::Fill { bytes }),
            };
            let track = Track::Device { device: Arc::clone(&self.device), stream };
            self.profile.add(Span { name: name.into(), track, start, seconds, host_seconds, what });
            if reached > REACH {
                state.anchor = (end, start + seconds);
            }
        }
        state.noted = under_way;
    }
}
