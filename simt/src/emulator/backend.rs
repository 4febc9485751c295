//! The functions that the public modules call, answered by the machine of the running lane. The other
//! implementation, in PTX, is `device/`.

mod access;

use std::panic::Location;

use super::fault::{FaultKind, Region, Space, SyncPoint, Unit};
use super::machine::access::ReadOnly;
use super::machine::{Bound, Machine, Wait, count};
use super::warp;
use crate::launch::BufferArg;
use crate::{constant, shared};

pub use access::{
    Access, AccessWord, AtomicOp, atomic_cas_global, atomic_cas_global_u64, atomic_cas_shared, atomic_global,
    atomic_shared,
};

/// A buffer of the launch, or its end from some byte on: the address and number of its bytes, and their records.
#[derive(Clone, Copy)]
pub struct Global {
    start: usize,
    bytes: usize,
    bound: *const Bound,
}

impl Global {
    /// The buffer of the running launch that an argument stands for.
    pub fn from_arg(argument: &BufferArg) -> Self {
        Machine::with(|machine| {
            let bound = machine.buffers.iter().find(|bound| bound.argument == *argument);
            let bound = bound.expect("every argument of the launch has been bound");
            Self { start: 0, bytes: argument.bytes, bound }
        })
    }
}

/// A texture of the launch.
pub type TextureHandle = u64;

macro_rules! indices {
    ($($name:ident: $machine:ident => $value:expr;)*) => {$(
        #[inline]
        #[track_caller]
        pub fn $name() -> u32 {
            Machine::with(|$machine| $value)
        }
    )*};
}
indices! {
    thread_idx_x: m => m.thread_index.get()[0];
    thread_idx_y: m => m.thread_index.get()[1];
    thread_idx_z: m => m.thread_index.get()[2];
    block_idx_x: m => m.block.get()[0];
    block_idx_y: m => m.block.get()[1];
    block_idx_z: m => m.block.get()[2];
    block_dim_x: m => m.config.block[0];
    block_dim_y: m => m.config.block[1];
    block_dim_z: m => m.config.block[2];
    grid_dim_x: m => m.config.grid[0];
    grid_dim_y: m => m.config.grid[1];
    grid_dim_z: m => m.config.grid[2];
    lane_id: m => m.thread() % 32;
}

#[inline(always)]
#[track_caller]
fn barrier(sync_point: SyncPoint, predicate: bool) -> u32 {
    let at = Location::caller();
    // SAFETY: not kept.
    let machine = unsafe { Machine::current() };
    count(&machine.counts.barriers);
    machine.wait(Wait { sync_point, mask: u32::MAX, at, value: u32::from(predicate), lanes: 0, width: 0 }).0
}

#[inline(always)]
#[track_caller]
pub fn sync_threads() {
    barrier(SyncPoint::Barrier, false);
}

#[inline(always)]
#[track_caller]
pub fn sync_threads_count(predicate: bool) -> u32 {
    barrier(SyncPoint::BarrierCount, predicate)
}

/// Lanes take turns, so that memory is always up to date; and a block fence alone orders nothing between threads.
pub fn block_fence() {}

#[track_caller]
pub fn device_fence() {
    Machine::with(Machine::fence);
}

#[inline(always)]
#[track_caller]
pub fn sync_warp(mask: u32) {
    let at = Location::caller();
    // SAFETY: not kept.
    let machine = unsafe { Machine::current() };
    warp::take_part(machine, Wait { sync_point: SyncPoint::SyncWarp, mask, at, value: 0, lanes: 0, width: 0 });
}

#[inline(always)]
#[track_caller]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    let at = Location::caller();
    let value = u32::from(predicate);
    // SAFETY: not kept.
    let machine = unsafe { Machine::current() };
    warp::take_part(machine, Wait { sync_point: SyncPoint::Ballot, mask, at, value, lanes: 0, width: 0 }).0
}

macro_rules! shuffles {
    ($($name:ident $sync_point:ident;)*) => {$(
        #[inline(always)]
        #[track_caller]
        pub fn $name(mask: u32, word: u32, lanes: u32, width: u32) -> (u32, bool) {
            let at = Location::caller();
            // SAFETY: not kept.
            let machine = unsafe { Machine::current() };
            warp::shuffle(machine, SyncPoint::$sync_point, mask, (word, lanes, width), at)
        }
    )*};
}
shuffles! {
    shuffle_idx ShuffleIdx;
    shuffle_up ShuffleUp;
    shuffle_down ShuffleDown;
    shuffle_xor ShuffleXor;
}

#[inline(always)]
#[track_caller]
pub fn multiply_add_u8(a: [u32; 4], b: [u32; 2], c: [u32; 4]) -> [u32; 4] {
    multiply_add((a, b, c), SyncPoint::Mma, Location::caller())
}

#[inline(always)]
#[track_caller]
pub fn multiply_add_b1(a: [u32; 4], b: [u32; 2], c: [u32; 4]) -> [u32; 4] {
    multiply_add((a, b, c), SyncPoint::MmaBits, Location::caller())
}

/// Waits for the products of all lanes.
#[inline(always)]
fn multiply_add(
    (a, b, c): ([u32; 4], [u32; 2], [u32; 4]),
    sync_point: SyncPoint,
    at: &'static Location<'static>,
) -> [u32; 4] {
    // SAFETY: not kept.
    let machine = unsafe { Machine::current() };
    let slot = machine.slot();
    slot.fragments.set([a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], c[2], c[3]]);
    warp::take_part(machine, Wait { sync_point, mask: u32::MAX, at, value: 0, lanes: 0, width: 0 });
    let [d0, d1, d2, d3, ..] = slot.fragments.get();
    [d0, d1, d2, d3]
}

#[track_caller]
pub fn clock_cycles() -> u64 {
    Machine::with(Machine::operations)
}

#[track_caller]
pub fn clock_nanoseconds() -> u64 {
    Machine::with(|machine| machine.started.elapsed().as_nanos() as u64)
}

#[inline]
#[track_caller]
pub fn shared_array<S: shared::Symbol>() -> u32 {
    let at = Location::caller();
    Machine::with(|machine| {
        let bytes = S::LEN as usize * size_of::<S::Item>();
        machine.shared.array(S::NAME, bytes).unwrap_or_else(|(bytes, limit)| {
            machine.fault(FaultKind::SharedLimit { name: S::NAME.into(), bytes, limit }, at)
        })
    })
}

#[track_caller]
pub fn shared_dynamic() -> (u32, u32) {
    Machine::with(|machine| (0, machine.shared.dynamic_bytes()))
}

#[inline(always)]
#[track_caller]
fn check_range(address: u32, unit: Unit, first: u32, count: u32, len: u32) {
    if u64::from(first) + u64::from(count) > u64::from(len) {
        outside_shared(address, unit, (first, count, len));
    }
}

#[cold]
#[track_caller]
fn outside_shared(address: u32, unit: Unit, (first, count, len): (u32, u32, u32)) -> ! {
    let at = Location::caller();
    Machine::with(|machine| {
        let (mut memory, offset) = machine.describe_shared(address);
        if offset != 0 {
            memory.name = format!("{} (from its byte {offset} on)", memory.name);
        }
        let (index, count, len) = (first.into(), count.into(), len.into());
        machine.fault(FaultKind::OutOfBounds { memory, unit, index, count, len }, at)
    })
}

#[inline(always)]
#[track_caller]
pub fn check_shared(address: u32, index: u32, count: u32, len: u32) {
    check_range(address, Unit::Element, index, count, len);
}

#[inline(always)]
#[track_caller]
pub fn check_shared_offset(address: u32, offset: u32, bytes: u32, len: u32) {
    check_range(address, Unit::Byte, offset, bytes, len);
}

#[inline(always)]
#[track_caller]
pub fn check_shared_slice(address: u32, start: u32, count: u32, len: u32) {
    check_range(address, Unit::Element, start, count, len);
}

#[cold]
#[track_caller]
fn out_of_bounds(space: Space, name: &str, index: usize, count: usize, len: usize) -> ! {
    let at = Location::caller();
    let memory = Region { space, name: name.into() };
    let (index, count, len) = (index as u64, count as u64, len as u64);
    let kind = FaultKind::OutOfBounds { memory, unit: Unit::Element, index, count, len };
    Machine::with(|machine| machine.fault(kind, at))
}

#[inline]
#[track_caller]
pub fn constant_load<S: constant::Symbol>(index: u32) -> S::Item {
    let index = index as usize;
    let Some(value) = S::VALUES.get(index) else {
        out_of_bounds(Space::Constant, S::NAME, index, 1, S::VALUES.len());
    };
    Machine::with(|machine| {
        count(&machine.counts.constant_loads);
        let Some(set) = machine.constants.iter().find(|constant| constant.name == S::NAME) else { return *value };
        let bytes = size_of::<S::Item>();
        match set.bytes.get(index * bytes..(index + 1) * bytes) {
            // SAFETY: as many bytes as the type has, and any bits are a number.
            Some(bytes) => unsafe { bytes.as_ptr().cast::<S::Item>().read_unaligned() },
            None => *value,
        }
    })
}

#[track_caller]
fn fetch(texture: TextureHandle, x: i32, y: i32) -> u32 {
    let at = Location::caller();
    Machine::with(|machine| {
        count(&machine.counts.texture_fetches);
        let bound = machine.textures.iter().find(|bound| bound.handle == texture);
        let texture = bound.expect("every texture of the launch has been bound");
        let Some(offset) = texture.image.offset(x, y) else { return 0 };
        // SAFETY: `TextureImage::new` has checked that every texel is inside the buffer and aligned.
        unsafe {
            if texture.image.format.bytes() == 1 {
                u32::from(machine.global::<u8, ReadOnly>(&texture.bound, offset, at).read())
            } else {
                machine.global::<u32, ReadOnly>(&texture.bound, offset, at).cast::<u32>().read()
            }
        }
    })
}

#[track_caller]
pub fn texture_fetch_1d(texture: TextureHandle, x: i32) -> u32 {
    fetch(texture, x, 0)
}

#[track_caller]
pub fn texture_fetch_2d(texture: TextureHandle, x: i32, y: i32) -> u32 {
    fetch(texture, x, y)
}

/// The buffer at an address that a buffer of pointers holds at `index`.
#[track_caller]
pub fn dereference(pointers: Global, index: usize, address: u64) -> Global {
    let at = Location::caller();
    // SAFETY: as in `global`.
    let bound = unsafe { &*pointers.bound };
    Machine::with(|machine| {
        let target = bound.pointee.and_then(|target| machine.buffers.iter().find(|bound| bound.argument == target));
        let found = target.and_then(|target| {
            let start = usize::try_from(address.checked_sub(target.argument.address)?).ok()?;
            Some(Global { start, bytes: target.argument.bytes.checked_sub(start)?, bound: target })
        });
        found.unwrap_or_else(|| {
            let memory = Region { space: bound.space, name: bound.name.into() };
            machine.fault(FaultKind::Pointer { memory, index: index as u64, address }, at)
        })
    })
}
