//! Transfers between host and device (`transfer`): bandwidth by size, kind of memory and direction.
//!
//! A device copies by itself only to and from page-locked memory. From any other the driver copies to such memory first, with one thread
//! (`pageable`); so do we, with all threads and in pieces that take turns (`staged`). The rest of the ladder is page-locked
//! and differs in how the CPU reaches it, how many copies there are, and who makes them.
//!
//! Runs are timed by the wall clock, from the call until everything has arrived. Source and target lie ready: what it takes a program to
//! fill write-combined memory, or to read it, is told beside.
//!
//! The oracle: all bytes arrive. Where they arrive lies something else before.

mod run;

use std::sync::Arc;

use halotile_lab_kernels::primer::transfer::primer_transfer;
use simt::launch::KernelEntry;

use super::data::Elements;
use super::{Ask, Case, Run, Topic, Work};
use crate::bench::Clock;
use halotile::exec::{Device, DeviceError, Limits};

/// Transfers of bytes.
pub const TRANSFER: Topic = Topic {
    name: "transfer",
    title: "transfers between host and device: bandwidth by size, kind of memory and direction",
    size: "BYTES",
    sizes: [
        &[
            [4 << 10, 0, 0],
            [16 << 10, 0, 0],
            [64 << 10, 0, 0],
            [256 << 10, 0, 0],
            [1 << 20, 0, 0],
            [4 << 20, 0, 0],
            [16 << 20, 0, 0],
            [64 << 20, 0, 0],
            [256 << 20, 0, 0],
        ],
        &[[5000, 0, 0]],
    ],
    elements: &[Elements::U8],
    rungs: || Way::ALL.map(Way::name).to_vec(),
    cases: |ask| transfers(ask).map(|transfer| Box::new(transfer) as Box<dyn Case>).collect(),
};

/// Copies that [`Way::Pieces`] makes of one.
const PIECES: usize = 64;

/// Every way in its directions.
fn transfers(ask: &Ask) -> impl Iterator<Item = Transfer> + use<> {
    let (bytes, seed) = (ask.size[0], ask.seed);
    let cases = move |way: Way| way.directions().iter().map(move |&direction| Transfer { way, direction, bytes, seed });
    Way::ALL.into_iter().flat_map(cases)
}

/// How bytes get from host to device, or back.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Pageable,
    Staged,
    Pinned,
    Pieces,
    WriteCombined,
    ZeroCopy,
}

impl Way {
    const ALL: [Self; 6] =
        [Self::Pageable, Self::Staged, Self::Pinned, Self::Pieces, Self::WriteCombined, Self::ZeroCopy];

    fn name(self) -> &'static str {
        match self {
            Self::Pageable => "pageable",
            Self::Staged => "staged",
            Self::Pinned => "pinned",
            Self::Pieces => "pieces",
            Self::WriteCombined => "write-combined",
            Self::ZeroCopy => "zero-copy",
        }
    }

    fn before(self) -> Option<Self> {
        match self {
            Self::Pageable => None,
            Self::Staged => Some(Self::Pageable),
            Self::Pinned => Some(Self::Staged),
            Self::Pieces | Self::WriteCombined | Self::ZeroCopy => Some(Self::Pinned),
        }
    }

    fn idea(self) -> &'static str {
        match self {
            Self::Pageable => "ordinary memory: the driver copies it to page-locked memory of its own, by one thread",
            Self::Staged => "all threads copy pieces to page-locked memory while others are under way",
            Self::Pinned => "page-locked memory: the device copies by itself, both ways at once if it is to",
            Self::Pieces => "the same bytes as 64 copies: each costs some microseconds, however small it is",
            Self::WriteCombined => {
                "page-locked, past the CPU's caches, which no copy has to ask; the CPU reads it at a crawl"
            }
            Self::ZeroCopy => "a kernel reads or writes the host's memory where it is, in whole lines",
        }
    }

    fn directions(self) -> &'static [Direction] {
        match self {
            Self::Pinned => &[Direction::Up, Direction::Down, Direction::Both],
            _ => &[Direction::Up, Direction::Down],
        }
    }
}

/// Which way the bytes go.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Direction {
    /// To the device.
    Up,
    /// To the host.
    Down,
    /// Both at once, as many each way.
    Both,
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Both => "both",
        }
    }

    fn up(self) -> bool {
        self != Self::Down
    }

    fn down(self) -> bool {
        self != Self::Up
    }
}

/// A transfer.
#[derive(Debug)]
struct Transfer {
    way: Way,
    direction: Direction,
    /// One way.
    bytes: usize,
    seed: u64,
}

impl Transfer {
    /// Bytes that a run moves.
    fn moved(&self) -> usize {
        self.bytes * (usize::from(self.direction.up()) + usize::from(self.direction.down()))
    }
}

impl Case for Transfer {
    fn name(&self) -> &'static str {
        self.way.name()
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("direction", self.direction.name().to_owned())]
    }

    fn before(&self) -> Option<&'static str> {
        self.way.before().map(Way::name)
    }

    fn idea(&self) -> &'static str {
        self.way.idea()
    }

    fn kernel(&self) -> Option<&'static KernelEntry> {
        (self.way == Way::ZeroCopy).then_some(&primer_transfer::ENTRY)
    }

    fn work(&self, _: &Limits) -> Work {
        Work::Transferred(self.moved() as f64)
    }

    fn clock(&self) -> Clock {
        Clock::Wall
    }

    fn bytes(&self, copies: usize) -> usize {
        copies * self.moved()
    }

    fn start<'a>(&'a self, device: &Arc<dyn Device>, copies: usize) -> Result<Box<dyn Run + 'a>, DeviceError> {
        Ok(Box::new(run::Started::new(self, device, copies)?))
    }
}
