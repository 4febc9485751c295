//! Profiles: what devices and threads did, when, and for how long.
//!
//! A [`Profile`] is handed to devices ([`Device::profile`](crate::Device::profile)), which from then on record every launch, copy
//! and fill in it as a [`Span`]: on a GPU with an event of the driver before and after it on its stream, which the GPU stamps with its own
//! clock; in the emulator by the host's clock. Callers may add stages of threads. All times are seconds since the profile
//! was made: a device's clock is set beside the host's when it is handed the profile.
//!
//! ```text
//! traced   where a device has a profile: record an event, put the work on the stream, record an event
//! wait     of what has passed both events: the time from the last known event to the first, and between them
//! ```
//!
//! The cost is two events for each launch and copy, 2 to 4 microseconds of the thread that starts it and about one on the
//! device. A device without a profile looks at one pointer.
//!
//! | file | what |
//! |---|---|
//! | `summary` | sums by name, and how busy devices were |
//! | `trace` | a file for Perfetto and chrome://tracing |

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use simt::launch::LaunchConfig;

use crate::occupancy::{Architecture, Demand};

mod summary;
#[cfg(test)]
mod tests;
mod trace;

pub use summary::{Busy, Line, Summary};
pub use trace::write_trace;

/// The target of [`stage`]'s spans.
pub const STAGE: &str = "halotile::stage";

/// Begins a stage of this thread, such as reading, computing or writing; it ends when what this returns is dropped.
///
/// It is a span of `tracing` on the level TRACE, with the target [`STAGE`] and the name in its field `name`. A subscriber to
/// that can [`add`](Profile::add) it to a profile; without one nothing happens.
pub fn stage(name: &'static str) -> tracing::span::EnteredSpan {
    tracing::trace_span!(target: STAGE, "stage", name).entered()
}

/// Where something happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Track {
    /// On a thread of the host, by its name.
    Thread(Arc<str>),
    /// On a device.
    Device {
        /// Its name.
        device: Arc<str>,
        /// Its stream: 0 for its own, on which callers wait; others are queues, of which those that are open at the same time have different
        /// numbers.
        stream: u32,
    },
}

/// Which way bytes went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From host to device.
    HostToDevice,
    /// From device to host.
    DeviceToHost,
    /// Within a device's memory.
    DeviceToDevice,
    /// From device to device.
    PeerToPeer,
}

impl Direction {
    /// What a copy of this kind is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::HostToDevice => "copy to device",
            Self::DeviceToHost => "copy to host",
            Self::DeviceToDevice => "copy within device",
            Self::PeerToPeer => "copy to other device",
        }
    }
}

/// The facts of a launch. What is not known is `None`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Launch {
    /// Blocks of the grid: x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block: x, y, z.
    pub block: [u32; 3],
    /// Registers a thread.
    pub registers: Option<u32>,
    /// Static shared memory of a block, in bytes.
    pub shared_static: Option<u32>,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_dynamic: u32,
    /// Warps that a multiprocessor has at once, of those that it could have: 0 to 1.
    pub occupancy: Option<f64>,
}

impl Launch {
    /// A launch of a kernel with so many registers a thread and so much static shared memory a block, where that is known, on a device
    /// of this compute capability: 10 · major + minor.
    pub(crate) fn new(config: &LaunchConfig, used: Option<(u32, u32)>, arch: u32) -> Self {
        let &LaunchConfig { grid, block, shared_bytes: shared_dynamic } = config;
        let occupancy = used.and_then(|(registers, shared)| {
            let demand = Demand { threads: block.iter().product(), registers, shared_bytes: shared + shared_dynamic };
            Some(Architecture::of_capability((arch / 10, arch % 10))?.occupancy(demand).ok()?.fraction())
        });
        let (registers, shared_static) = used.unzip();
        Self { grid, block, registers, shared_static, shared_dynamic, occupancy }
    }
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SpanKind {
    /// A thread did something.
    Stage,
    /// A kernel ran.
    Launch(Launch),
    /// Bytes were copied.
    Copy {
        /// Which way.
        direction: Direction,
        /// How many.
        bytes: usize,
    },
    /// Memory was filled with a byte.
    Fill {
        /// How many bytes.
        bytes: usize,
    },
}

impl SpanKind {
    /// Bytes moved or written, where that is known.
    pub fn bytes(&self) -> Option<usize> {
        match *self {
            Self::Copy { bytes, .. } | Self::Fill { bytes } => Some(bytes),
            Self::Stage | Self::Launch(_) => None,
        }
    }
}

/// Something that took time.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The kernel, the kind of copy, the stage.
    pub name: Cow<'static, str>,
    /// Where.
    pub track: Track,
    /// When it began, in seconds since the profile was made.
    pub start: f64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// How long the thread took that started it, in seconds; 0 for stages.
    pub host_seconds: f64,
    /// What it was.
    pub kind: SpanKind,
}

impl Span {
    /// When it ended.
    pub fn end(&self) -> f64 {
        self.start + self.seconds
    }
}

/// What happened since it was made. Devices and threads add to it.
///
/// ```
/// use std::sync::Arc;
/// use simt_exec::{Buffer, Device, emulator::EmulatedDevice};
/// use simt_exec::profile::Profile;
///
/// let profile = Arc::new(Profile::new());
/// let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
/// device.profile(&profile)?;
/// let buffer = Buffer::from_slice(&device, &[1u8; 1000])?;
/// assert_eq!(buffer.to_vec::<u8>()?, [1; 1000]);
/// let [up, down] = profile.spans().try_into().unwrap();
/// assert_eq!((up.name.as_ref(), down.name.as_ref()), ("copy to device", "copy to host"));
/// assert_eq!((up.kind.bytes(), down.start >= up.end()), (Some(1000), true));
/// # Ok::<(), simt_exec::DeviceError>(())
/// ```
#[derive(Debug)]
pub struct Profile {
    start: Instant,
    spans: Mutex<Vec<Span>>,
}

impl Default for Profile {
    fn default() -> Self {
        Self::new()
    }
}

impl Profile {
    /// Begins now.
    pub fn new() -> Self {
        Self { start: Instant::now(), spans: Mutex::default() }
    }

    /// Seconds since it was made.
    pub fn now(&self) -> f64 {
        self.at(Instant::now())
    }

    /// Seconds from its making to a moment; 0 for moments before.
    pub fn at(&self, moment: Instant) -> f64 {
        moment.saturating_duration_since(self.start).as_secs_f64()
    }

    /// Adds what has happened.
    pub fn add(&self, span: Span) {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner).push(span);
    }

    /// What has happened so far and is over, by its start. What a queue has done is known once it has been waited for.
    pub fn spans(&self) -> Vec<Span> {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner).clone();
        spans.sort_by(|a, b| a.start.total_cmp(&b.start));
        spans
    }
}
