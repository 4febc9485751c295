//! An access to memory, from the lane that makes it to the byte of the host: counted, checked (index, alignment, whether it was written, whether
//! another lane is in the way), recorded.

use std::panic::Location;

use super::{Bound, Machine, count};
use crate::emulator::fault::{AccessKind, FaultKind, OtherAccess, Region, Space, Unit};
use crate::emulator::shadow::{Event, Stamp, Violation};
use crate::emulator::tally::Key;

/// What an access does, known to the compiler: what of the checks is not for it is not there.
pub trait Kind {
    const ACCESS: AccessKind;
    /// Through the read-only cache.
    const READ_ONLY: bool = false;
}

pub enum Read {}
pub enum ReadOnly {}
pub enum Write {}
pub enum Atomic {}

impl Kind for Read {
    const ACCESS: AccessKind = AccessKind::Read;
}
impl Kind for ReadOnly {
    const ACCESS: AccessKind = AccessKind::Read;
    const READ_ONLY: bool = true;
}
impl Kind for Write {
    const ACCESS: AccessKind = AccessKind::Write;
}
impl Kind for Atomic {
    const ACCESS: AccessKind = AccessKind::Atomic;
}

impl Machine {
    /// Whether the stamp of another thread, or of this one, happened before the running lane's present.
    #[inline(always)]
    fn ordered(&self, stamp: Stamp) -> bool {
        let now = self.stamp.get();
        if stamp.phase() == now.phase() {
            if stamp.thread() == now.thread() && !stamp.several_lanes() {
                return true;
            }
            return stamp.thread() / 32 == now.thread() / 32 && self.clocks.has_synchronised(now.thread(), stamp);
        }
        stamp >= self.block_floor.get() || self.fences.ordered(stamp, now)
    }

    fn other_access(
        &self,
        stamp: Stamp,
        access: AccessKind,
        at: Option<&'static Location<'static>>,
    ) -> Box<OtherAccess> {
        let blocks = self.blocks.borrow();
        let after = blocks.partition_point(|&(phase, _)| phase <= stamp.phase());
        let block = after.checked_sub(1).map_or(self.block.get(), |i| blocks[i].1);
        Box::new(OtherAccess { block, thread: self.thread_indices(stamp.thread()), access, at: at.map(Into::into) })
    }

    fn violation(&self, violation: Violation, memory: Region, offset: u64, access: AccessKind) -> FaultKind {
        match violation {
            Violation::Race { other, access: other_access, at } => {
                FaultKind::Race { memory, offset, access, other: self.other_access(other, other_access, at) }
            }
            Violation::ReadOnly { other, at } => {
                FaultKind::ReadOnly { memory, offset, other: self.other_access(other, AccessKind::Write, at) }
            }
            Violation::Unwritten => FaultKind::Uninitialised { memory, offset },
        }
    }

    /// Checks an access to a `T` of a buffer at `offset`, which is inside and aligned, takes it into the records and returns where it is.
    #[inline(never)]
    pub fn global<T, K: Kind>(&self, bound: &Bound, offset: usize, at: &'static Location<'static>) -> *mut u8 {
        let (bytes, access) = (size_of::<T>(), K::ACCESS);
        if !K::READ_ONLY {
            self.spend(at);
        }
        if self.tally.is_some() {
            self.record(bound.space, bound.argument.address + offset as u64, bytes, access, at);
        }
        let start = bound.start + offset;
        // SAFETY: the bitmap covers the allocation. Aligned accesses of up to 16 bytes lie in one of its words.
        let written = unsafe { &mut *bound.written.add(start / 64) };
        let bits = ((1 << bytes) - 1) << (start % 64);
        if access != AccessKind::Write && self.uninitialised && *written & bits != bits {
            self.unwritten(bound, offset, !*written & bits, at);
        }
        if access != AccessKind::Read {
            *written |= bits;
        }
        if !bound.shadow.is_null() {
            let now = self.stamp.get();
            let floor = self.launch_floor;
            let event = Event { access, now, floor, read_only: K::READ_ONLY, races: true, unwritten: false, at };
            if access == AccessKind::Atomic {
                self.fences.atomic(now, self.first_phase.get());
            }
            // SAFETY: the shadow of this allocation; there is no other reference to it.
            let shadow = unsafe { &mut *bound.shadow };
            if let Err((byte, violation)) = shadow.access(start, bytes, &event, &|stamp| self.ordered(stamp)) {
                self.bad_global(bound, byte - bound.start, violation, access, at);
            }
        }
        bound.data.wrapping_add(offset)
    }

    /// Counts an access to memory that other lanes may change.
    #[inline(always)]
    fn spend(&self, at: &Location<'_>) {
        match self.budget.get().checked_sub(1) {
            Some(rest) => self.budget.set(rest),
            None => self.fault(FaultKind::Spins { accesses: self.spin_limit }, at),
        }
    }

    #[cold]
    fn unwritten(&self, bound: &Bound, offset: usize, missing: u64, at: &'static Location<'static>) -> ! {
        let first = missing.trailing_zeros() as usize - (bound.start + offset) % 64;
        let memory = Region { space: bound.space, name: bound.name.into() };
        self.fault(FaultKind::Uninitialised { memory, offset: (offset + first) as u64 }, at)
    }

    /// As `global`, for shared memory; checks the bounds and the alignment too.
    #[inline(never)]
    pub fn shared<T, K: Kind>(&self, address: u32, at: &'static Location<'static>) -> *mut u8 {
        let (bytes, access) = (size_of::<T>(), K::ACCESS);
        count(match access {
            AccessKind::Read => &self.counts.shared_loads,
            AccessKind::Write => &self.counts.shared_stores,
            AccessKind::Atomic => &self.counts.atomics,
        });
        self.spend(at);
        if self.tally.is_some() {
            self.record(Space::Shared, address.into(), bytes, access, at);
        }
        let Some(pointer) = self.shared.pointer(address, bytes) else {
            self.no_such_shared(address, bytes, at);
        };
        if !(address as usize).is_multiple_of(bytes) {
            self.misaligned_shared(address, bytes, at);
        }
        if self.races || self.uninitialised {
            let event = Event {
                access,
                now: self.stamp.get(),
                floor: self.block_floor.get(),
                read_only: false,
                races: self.races,
                unwritten: self.uninitialised,
                at,
            };
            // SAFETY: the arena's shadow; there is no other reference to it.
            let shadow = unsafe { &mut *self.shared.shadow };
            if let Err((byte, violation)) = shadow.access(address as usize, bytes, &event, &|stamp| self.ordered(stamp))
            {
                self.bad_shared(byte, violation, access, at);
            }
        }
        pointer
    }

    #[cold]
    fn bad_global(
        &self,
        bound: &Bound,
        byte: usize,
        violation: Violation,
        access: AccessKind,
        at: &'static Location<'static>,
    ) -> ! {
        let memory = Region { space: bound.space, name: bound.name.into() };
        self.fault(self.violation(violation, memory, byte as u64, access), at)
    }

    #[cold]
    fn bad_shared(&self, byte: usize, violation: Violation, access: AccessKind, at: &'static Location<'static>) -> ! {
        let (memory, offset) = self.describe_shared(byte as u32);
        self.fault(self.violation(violation, memory, offset, access), at)
    }

    /// Adds an access of the running lane to the tally.
    #[cold]
    #[inline(never)]
    fn record(&self, space: Space, address: u64, bytes: usize, access: AccessKind, at: &'static Location<'static>) {
        let Some(tally) = &self.tally else { return };
        if space == Space::Texture || access == AccessKind::Atomic {
            return;
        }
        tally.borrow_mut().record(Key { at, space, access, bytes: bytes as u32 }, self.thread.get() % 32, address);
    }

    /// The shared array at an address, and the offset in it.
    pub fn describe_shared(&self, address: u32) -> (Region, u64) {
        let (name, offset) = self.shared.describe(address);
        (Region { space: Space::Shared, name: name.into() }, u64::from(offset))
    }

    #[cold]
    fn no_such_shared(&self, address: u32, bytes: usize, at: &Location<'_>) -> ! {
        let memory = Region { space: Space::Shared, name: String::new() };
        let len = u64::from(self.shared.static_bytes() + self.shared.dynamic_bytes());
        let (index, count) = (address.into(), bytes as u64);
        self.fault(FaultKind::OutOfBounds { memory, unit: Unit::Byte, index, count, len }, at)
    }

    #[cold]
    fn misaligned_shared(&self, address: u32, bytes: usize, at: &Location<'_>) -> ! {
        let (memory, offset) = self.describe_shared(address);
        self.fault(FaultKind::Misaligned { memory, offset, address: address.into(), bytes: bytes as u64 }, at)
    }
}
