//! Shadow memory of the race detector: the last accesses of every byte.
//!
//! Every access has a *stamp*, one number for its time and its thread:
//!
//! ```text
//! phase (36 bits) | thread in block (10) | warp epoch (16) | flags (2)
//! ```
//!
//! A phase is a stretch of one block between two barriers; phases are numbered through, over blocks
//! and launches, so that a stamp below a floor is simply old and shadow memory is never cleared. A
//! lane's warp epoch counts its `sync_warp`s in the phase.
//!
//! Memory has a record for each 4-byte word: the stamp of the last write and of the reads since, and
//! where they were. For each access:
//!
//! ```text
//! the last write is another's, not ordered before this access, not both atomic:  race
//! the access writes, and a read since is another's and not ordered before it:    race
//! ```
//!
//! Departures from the obvious version (a set of accesses for each byte):
//! 1. Of several reads that nothing orders, only the first is kept, with a flag when others of the same warp read
//!    too. That loses no race between whole-warp syncs and barriers; with partial masks it may lose one, and it
//!    never invents one. This is FastTrack's epoch, without its vector. Readers of other warps, and of other
//!    blocks, need no flag: a warp has run up to the next barrier before another begins, so that a thread that writes
//!    after two warps have read is not of the first one.
//! 2. A word has one record until an access smaller than it comes; from then on, its halves have records of their own, and likewise
//!    the bytes of a half, until an access to the whole leaves them alike. Most words have one, at a quarter of the memory.

use std::panic::Location;

use super::fault::AccessKind;
use super::zeroed::{ZeroIsValid, Zeroed};

const PHASE_SHIFT: u32 = 28;
const THREAD_SHIFT: u32 = 18;
const EPOCH_SHIFT: u32 = 2;
const ATOMIC: u64 = 1;
const LANES: u64 = 2;
const FLAGS: u64 = ATOMIC | LANES;

/// The writer of a word, or of half a word, whose parts have records of their own. Above every floor, and no thread's stamp.
const SPLIT: Stamp = Stamp(u64::MAX);

/// The largest warp epoch that a stamp holds.
pub(super) const LAST_EPOCH: u32 = (1 << (THREAD_SHIFT - EPOCH_SHIFT)) - 1;

/// Time and thread; see the module. Zero is before everything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(super) struct Stamp(u64);

impl Stamp {
    #[inline(always)]
    pub fn new(phase: u64, thread: u32, epoch: u32) -> Self {
        Self(phase << PHASE_SHIFT | u64::from(thread) << THREAD_SHIFT | u64::from(epoch) << EPOCH_SHIFT)
    }

    /// Below every stamp of this phase and above those of the phases before.
    pub fn floor(phase: u64) -> Self {
        Self(phase << PHASE_SHIFT)
    }

    #[inline(always)]
    pub fn phase(self) -> u64 {
        self.0 >> PHASE_SHIFT
    }

    #[inline(always)]
    pub fn thread(self) -> u32 {
        (self.0 >> THREAD_SHIFT) as u32 & 1023
    }

    #[inline(always)]
    pub fn epoch(self) -> u32 {
        (self.0 >> EPOCH_SHIFT) as u32 & LAST_EPOCH
    }

    /// Other lanes of the same warp did the same, unordered.
    pub fn several_lanes(self) -> bool {
        self.0 & LANES != 0
    }

    fn is_atomic(self) -> bool {
        self.0 & ATOMIC != 0
    }

    /// The same thread in the same phase, and no other with it.
    #[inline(always)]
    fn is_own(self, now: Self) -> bool {
        (self.0 ^ now.0) >> THREAD_SHIFT == 0 && self.0 & LANES == 0
    }

    /// Notes that `now` did the same as `self`, unordered. A stamp of an earlier warp or block stays as it
    /// is: what conflicts with `now` from here on conflicts with it too.
    fn joined_by(self, now: Self) -> Self {
        let same_warp = (self.0 ^ now.0) >> (THREAD_SHIFT + 5) == 0;
        if same_warp { Self(self.0 | LANES) } else { self }
    }
}

type At = Option<&'static Location<'static>>;

#[derive(Clone, Copy)]
struct Record {
    writer: Stamp,
    reader: Stamp,
    writer_at: At,
    reader_at: At,
}

// SAFETY: two integers, and two references that may be absent (null).
unsafe impl ZeroIsValid for Record {}

/// An access that is about to happen.
#[derive(Clone, Copy)]
pub(super) struct Event {
    pub access: AccessKind,
    /// The thread's stamp.
    pub now: Stamp,
    /// Stamps below are ignored: of an earlier launch, or (shared memory) an earlier block.
    pub floor: Stamp,
    /// Loads through the read-only cache must not see any write of the launch.
    pub read_only: bool,
    /// Report races. (Otherwise only writers are recorded.)
    pub races: bool,
    /// Report reads of bytes without a writer.
    pub unwritten: bool,
    pub at: &'static Location<'static>,
}

/// The error of an access.
#[derive(Debug)]
pub(super) enum Violation {
    Race { other: Stamp, access: AccessKind, at: At },
    ReadOnly { other: Stamp, at: At },
    Unwritten,
}

impl Record {
    /// Checks one access against the record and adds it. `ordered` tells whether the access of a stamp
    /// happened before this thread's present.
    #[inline(always)]
    fn step(&mut self, event: &Event, ordered: &impl Fn(Stamp) -> bool) -> Result<(), Violation> {
        let settled = |stamp: Stamp| stamp < event.floor || stamp.is_own(event.now) || ordered(stamp);
        if event.access == AccessKind::Read {
            if self.writer < event.floor {
                if event.unwritten {
                    return Err(Violation::Unwritten);
                }
            } else if event.read_only {
                return Err(Violation::ReadOnly { other: self.writer, at: self.writer_at });
            } else if event.races && !settled(self.writer) {
                return Err(self.race_with_writer());
            }
            if settled(self.reader) {
                self.reader = event.now;
                self.reader_at = Some(event.at);
            } else {
                self.reader = self.reader.joined_by(event.now);
            }
            return Ok(());
        }
        let atomic = event.access == AccessKind::Atomic;
        let alone = settled(self.writer);
        if event.races {
            if !(alone || atomic && self.writer.is_atomic()) {
                return Err(self.race_with_writer());
            }
            if !settled(self.reader) {
                return Err(Violation::Race { other: self.reader, access: AccessKind::Read, at: self.reader_at });
            }
            // Reads before were ordered before this write, so what conflicts with them conflicts with it.
            self.reader = Stamp::default();
        }
        if alone {
            // An own plain store just before makes the pair plain: another's atomic races with the store.
            let plain = !self.writer.is_atomic() && self.writer.0 | FLAGS == event.now.0 | FLAGS;
            self.writer = if atomic && !plain { Stamp(event.now.0 | ATOMIC) } else { event.now };
            self.writer_at = Some(event.at);
        } else {
            self.writer = self.writer.joined_by(event.now);
        }
        Ok(())
    }

    /// Whether both say the same. Where nothing was read since a store, what was read where does not count.
    #[inline(always)]
    fn is(&self, other: &Self) -> bool {
        let same = |a: At, b: At| a.map(std::ptr::from_ref) == b.map(std::ptr::from_ref);
        (self.writer, self.reader) == (other.writer, other.reader)
            && same(self.writer_at, other.writer_at)
            && (self.reader == Stamp::default() || same(self.reader_at, other.reader_at))
    }

    #[cold]
    fn race_with_writer(&self) -> Violation {
        let access = if self.writer.is_atomic() { AccessKind::Atomic } else { AccessKind::Write };
        Violation::Race { other: self.writer, access, at: self.writer_at }
    }
}

/// Records for a piece of memory: of words, and of the halves and the bytes of those that have been split.
pub(super) struct Shadow {
    words: Zeroed<Record>,
    halves: Zeroed<Record>,
    bytes: Zeroed<Record>,
}

impl Shadow {
    /// For this many bytes.
    pub fn new(bytes: usize) -> Self {
        let words = bytes.div_ceil(4);
        Self { words: Zeroed::new(words), halves: Zeroed::new(2 * words), bytes: Zeroed::new(4 * words) }
    }

    /// Checks an access of `size` bytes at `offset`, a multiple of `size`, and records it. The error
    /// comes with the offset of the first bad byte.
    #[inline(always)]
    pub fn access(
        &mut self,
        offset: usize,
        size: usize,
        event: &Event,
        ordered: &impl Fn(Stamp) -> bool,
    ) -> Result<(), (usize, Violation)> {
        if size < 4 {
            split(self.words.get_mut(offset / 4), &mut self.halves, offset / 4);
            return self.access_half(offset, size, event, ordered);
        }
        for offset in (offset..offset + size).step_by(4) {
            let record = self.words.get_mut(offset / 4);
            if record.writer == SPLIT {
                self.access_halves(offset, event, ordered)?;
            } else {
                record.step(event, ordered).map_err(|violation| (offset, violation))?;
            }
        }
        Ok(())
    }

    /// A word that has been split.
    #[inline(never)]
    fn access_halves(
        &mut self,
        offset: usize,
        event: &Event,
        ordered: &impl Fn(Stamp) -> bool,
    ) -> Result<(), (usize, Violation)> {
        self.access_half(offset, 2, event, ordered)?;
        self.access_half(offset + 2, 2, event, ordered)?;
        merge(self.words.get_mut(offset / 4), &mut self.halves, offset / 4);
        Ok(())
    }

    /// Half a word that has been split, or one of its bytes.
    #[inline(always)]
    fn access_half(
        &mut self,
        offset: usize,
        size: usize,
        event: &Event,
        ordered: &impl Fn(Stamp) -> bool,
    ) -> Result<(), (usize, Violation)> {
        let half = self.halves.get_mut(offset / 2);
        if size == 2 && half.writer != SPLIT {
            return half.step(event, ordered).map_err(|violation| (offset, violation));
        }
        split(half, &mut self.bytes, offset / 2);
        for offset in offset..offset + size {
            self.bytes.get_mut(offset).step(event, ordered).map_err(|violation| (offset, violation))?;
        }
        if size == 2 {
            merge(self.halves.get_mut(offset / 2), &mut self.bytes, offset / 2);
        }
        Ok(())
    }
}

/// From here on, the two parts of record `index` have records of their own.
#[inline(always)]
fn split(whole: &mut Record, parts: &mut Zeroed<Record>, index: usize) {
    if whole.writer != SPLIT {
        *parts.get_mut(2 * index) = *whole;
        *parts.get_mut(2 * index + 1) = *whole;
        whole.writer = SPLIT;
    }
}

/// The two parts of record `index` are one again where nothing tells them apart, as after a store to both.
#[inline(always)]
fn merge(whole: &mut Record, parts: &mut Zeroed<Record>, index: usize) {
    let (first, second) = (*parts.get_mut(2 * index), *parts.get_mut(2 * index + 1));
    if first.writer != SPLIT && first.is(&second) {
        *whole = first;
    }
}
