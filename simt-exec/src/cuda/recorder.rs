//! What a device's streams did, for a profile: events of the driver before and after everything that is put on them.
//!
//! The driver reports the time between two events, in milliseconds and single precision. So times are counted from an anchor, an event whose
//! time is known, and the anchor moves on: an hour from the first event would be known to a quarter of a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cudarc::driver::sys;
use simt::launch::LaunchConfig;

use super::CudaDevice;
use super::stream::Event;
use crate::profile::{Direction, Launch, Profile, Span, SpanKind, Track};
use crate::{Device as _, DeviceError};

/// Seconds after which the anchor moves on: events are then known to a tenth of a microsecond.
const ANCHOR_SECONDS: f64 = 1.0;

/// An activity that is put on a stream.
pub(super) enum Activity {
    Launch { kernel: &'static str, function: sys::CUfunction, config: LaunchConfig },
    Copy { direction: Direction, bytes: usize },
    Fill { bytes: usize },
}

impl Activity {
    pub(super) fn copy(direction: Direction, bytes: usize) -> Self {
        Self::Copy { direction, bytes }
    }
}

/// An activity that may not be over yet.
struct Pending {
    activity: Activity,
    stream: u32,
    host_seconds: f64,
    start: Event,
    end: Event,
}

/// An event on a stream, now.
fn record_event(device: &CudaDevice, stream: sys::CUstream) -> Result<Event, DeviceError> {
    let event = device.new_event()?;
    device.record(&event, stream)?;
    Ok(event)
}

/// What records the activities of a device.
pub(super) struct EventRecorder {
    profile: Arc<Profile>,
    device: Arc<str>,
    state: Mutex<State>,
}

struct State {
    /// An event, and its time.
    anchor: (Event, f64),
    pending: Vec<Pending>,
    /// Registers and static shared memory of kernels, by their functions.
    used: HashMap<usize, Option<(u32, u32)>>,
}

// SAFETY: functions belong to the context, not to a thread.
unsafe impl Send for State {}

impl EventRecorder {
    /// Aligns the device's clock with the profile's.
    pub(super) fn new(device: &CudaDevice, profile: &Arc<Profile>) -> Result<Self, DeviceError> {
        // The first event of a device takes longer than others.
        drop(record_event(device, device.stream)?);
        device.synchronize()?;
        let before = profile.now();
        let anchor = record_event(device, device.stream)?;
        device.synchronize()?;
        let state = State {
            // It happened between these two.
            anchor: (anchor, before.midpoint(profile.now())),
            pending: Vec::new(),
            used: HashMap::new(),
        };
        Ok(Self { profile: Arc::clone(profile), device: device.name().into(), state: Mutex::new(state) })
    }

    /// Puts one activity on a stream by `work`, between two events.
    pub(super) fn record(
        &self,
        device: &CudaDevice,
        stream: sys::CUstream,
        activity: Activity,
        work: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let start = record_event(device, stream)?;
        let begun = Instant::now();
        work()?;
        let host_seconds = begun.elapsed().as_secs_f64();
        let end = record_event(device, stream)?;
        let activity = Pending { activity, stream: device.track_of(stream), host_seconds, start, end };
        self.state.lock().unwrap_or_else(PoisonError::into_inner).pending.push(activity);
        Ok(())
    }

    /// Moves the events that are over to the profile. A context is current.
    pub(super) fn collect(&self, device: &CudaDevice) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pending = Vec::new();
        for recorded in std::mem::take(&mut state.pending) {
            let (anchor, at) = &state.anchor;
            let Some((start, seconds)) =
                anchor.seconds_to(&recorded.start).zip(recorded.start.seconds_to(&recorded.end))
            else {
                pending.push(recorded);
                continue;
            };
            let Pending { activity, stream, host_seconds, end, .. } = recorded;
            let (start, reached) = (at + start, start);
            let (name, kind) = match activity {
                Activity::Launch { kernel, function, config } => {
                    let used = *state.used.entry(function as usize).or_insert_with(|| {
                        let compiled = device.compiled_function(function).ok()?;
                        Some((compiled.registers, compiled.shared_bytes))
                    });
                    let (major, minor) = device.description.compute_capability;
                    (kernel, SpanKind::Launch(Launch::new(&config, used, 10 * major + minor)))
                }
                Activity::Copy { direction, bytes } => (direction.name(), SpanKind::Copy { direction, bytes }),
                Activity::Fill { bytes } => ("fill", SpanKind::Fill { bytes }),
            };
            let track = Track::Device { device: Arc::clone(&self.device), stream };
            self.profile.add(Span { name: name.into(), track, start, seconds, host_seconds, kind });
            if reached > ANCHOR_SECONDS {
                state.anchor = (end, start + seconds);
            }
        }
        state.pending = pending;
    }
}
