//! Copies that hide behind kernels (`overlap`): numbers go up, a kernel works on them, they come back.
//!
//! ```text
//! serial      up up up up run run run run down down down down        in + run + out
//! pipeline    up up up up
//!                run run run run
//!                   down down down down                              max(in, run, out) + what fills and drains it
//! ```
//!
//! The work is balanced: a kernel that takes as long as a copy, so that all three stages are busy to the end, which is where there is most
//! to gain and most to get wrong. How long a kernel works is settled on the device, once for all cases of a table (`balance`).
//!
//! The chapter cut the work in as many chunks as there are streams. A stream has its chunk's copies and kernel in their order; streams
//! overlap. With chunks of equal stages the first copy up and the last copy down are hidden by nothing: (in + out) / chunks. To have that below a
//! tenth of the longest stage takes more than 20 chunks, and so many streams are not needed: three stages are busy with three. So the last rung
//! gives each stream four chunks, one after another.
//!
//! All is put on the streams chunk by chunk (depth first). Stage by stage would do as well today, where each stream has a queue of its own in
//! hardware; it did not where all streams shared one.
//!
//! Runs are timed by the wall clock, from the first call until everything is back. The oracle: every number, to the bit.

mod run;

use std::sync::{Arc, Mutex};

use halotile_lab_kernels::primer::overlap::primer_overlap;
use simt::launch::KernelEntry;

use super::data::Elements;
use super::{Ask, Case, Run, Topic, Work};
use crate::bench::Clock;
use halotile::exec::{Device, DeviceError, Limits};

/// Copies in, work, copies out.
pub const OVERLAP: Topic = Topic {
    name: "overlap",
    title: "numbers copied to the device, worked on and copied back: in one piece, and in chunks on streams",
    size: "N",
    sizes: [&[[1 << 26, 0, 0]], &[[1024, 0, 0]]],
    elements: &[Elements::F32],
    rungs: || Rung::ALL.map(Rung::name).to_vec(),
    cases: |ask| overlaps(ask).map(|overlap| Box::new(overlap) as Box<dyn Case>).collect(),
};

/// Chunks of a stream of [`Rung::Pipeline`].
const CHUNKS: usize = 4;

/// The stages, and the ways to put them together.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rung {
    In,
    Run,
    Out,
    Serial,
    Streams,
    Pipeline,
}

impl Rung {
    const ALL: [Self; 6] = [Self::In, Self::Run, Self::Out, Self::Serial, Self::Streams, Self::Pipeline];

    fn name(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Run => "run",
            Self::Out => "out",
            Self::Serial => "serial",
            Self::Streams => "streams",
            Self::Pipeline => "pipeline",
        }
    }

    fn idea(self) -> &'static str {
        match self {
            Self::In => "the copy to the device alone",
            Self::Run => "the kernel alone",
            Self::Out => "the copy to the host alone",
            Self::Serial => "one stage after another, each waited for",
            Self::Streams => "a chunk a stream: one chunk's copies go on beside others' kernels",
            Self::Pipeline => "four chunks a stream: less time to fill and to drain",
        }
    }

    fn streams(self) -> &'static [usize] {
        match self {
            Self::Streams => &[1, 2, 4, 8, 16],
            Self::Pipeline => &[2, 4, 8, 16],
            _ => &[1],
        }
    }
}

/// Every rung with its numbers of streams.
fn overlaps(ask: &Ask) -> impl Iterator<Item = Overlap> + use<> {
    let data = Arc::new(Data { count: ask.size[0], seed: ask.seed, balance: Mutex::default() });
    let cases = move |rung: Rung| {
        let data = Arc::clone(&data);
        rung.streams().iter().map(move |&streams| Overlap { rung, streams, data: Arc::clone(&data) })
    };
    Rung::ALL.into_iter().flat_map(cases)
}

/// What the cases of a table share.
struct Data {
    count: usize,
    seed: u64,
    /// How many rounds the kernel works so that it takes as long as a copy, on this device.
    balance: Mutex<Option<(Arc<dyn Device>, u32)>>,
}

/// A way to do it.
struct Overlap {
    rung: Rung,
    streams: usize,
    data: Arc<Data>,
}

impl std::fmt::Debug for Overlap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} numbers on {} streams", self.rung.name(), self.data.count, self.streams)
    }
}

impl Overlap {
    /// Pieces that the work is cut in.
    fn chunks(&self) -> usize {
        self.streams * if self.rung == Rung::Pipeline { CHUNKS } else { 1 }
    }
}

impl Case for Overlap {
    fn name(&self) -> &'static str {
        self.rung.name()
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("streams", self.streams.to_string())]
    }

    fn idea(&self) -> &'static str {
        self.rung.idea()
    }

    fn kernel(&self) -> Option<&'static KernelEntry> {
        (!matches!(self.rung, Rung::In | Rung::Out)).then_some(&primer_overlap::ENTRY)
    }

    fn work(&self, _: &Limits) -> Work {
        let once = (self.data.count * size_of::<f32>()) as f64;
        match self.rung {
            Rung::In | Rung::Out => Work::Transferred(once),
            Rung::Run => Work::Bytes(2.0 * once),
            Rung::Serial | Rung::Streams | Rung::Pipeline => Work::Transferred(2.0 * once),
        }
    }

    fn clock(&self) -> Clock {
        Clock::Wall
    }

    fn bytes(&self, copies: usize) -> usize {
        copies * 2 * self.data.count * size_of::<f32>()
    }

    fn start<'a>(&'a self, device: &Arc<dyn Device>, _: usize) -> Result<Box<dyn Run + 'a>, DeviceError> {
        Ok(Box::new(run::Started::new(self, device)?))
    }
}
