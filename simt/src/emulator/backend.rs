//! The functions that the public modules call, answered by the machine of the running lane. The other
//! implementation, in PTX, is `device/`.

use std::panic::Location;

use super::fault::{AccessKind, FaultKind, Region, Space, SyncPoint, Unit};
use super::machine::{Bound, Machine, Wait, count};
use super::warp;
use crate::launch::BufferArg;
use crate::{constant, shared};

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

/// Which atomic operation; used as a const parameter, by number.
pub enum AtomicOp {
    Add,
    Min,
    Max,
    Or,
    Exchange,
}

impl AtomicOp {
    fn apply(op: u8, old: u32, value: u32) -> u32 {
        const ADD: u8 = AtomicOp::Add as u8;
        const MIN: u8 = AtomicOp::Min as u8;
        const MAX: u8 = AtomicOp::Max as u8;
        const OR: u8 = AtomicOp::Or as u8;
        match op {
            ADD => old.wrapping_add(value),
            MIN => old.min(value),
            MAX => old.max(value),
            OR => old | value,
            _ => value,
        }
    }
}

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

#[track_caller]
fn barrier(sync_point: SyncPoint, predicate: bool) -> u32 {
    let at = Location::caller();
    Machine::with(|machine| {
        count(&machine.counts.barriers);
        machine.wait(Wait { sync_point, mask: u32::MAX, at, value: u32::from(predicate), lanes: 0, width: 0 }).0
    })
}

#[track_caller]
pub fn sync_threads() {
    barrier(SyncPoint::Barrier, false);
}

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

#[track_caller]
pub fn sync_warp(mask: u32) {
    let at = Location::caller();
    Machine::with(|machine| {
        warp::take_part(machine, Wait { sync_point: SyncPoint::SyncWarp, mask, at, value: 0, lanes: 0, width: 0 });
    });
}

#[track_caller]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    let at = Location::caller();
    let value = u32::from(predicate);
    Machine::with(|machine| {
        warp::take_part(machine, Wait { sync_point: SyncPoint::Ballot, mask, at, value, lanes: 0, width: 0 }).0
    })
}

macro_rules! shuffles {
    ($($name:ident $sync_point:ident;)*) => {$(
        #[track_caller]
        pub fn $name(mask: u32, word: u32, lanes: u32, width: u32) -> (u32, bool) {
            let at = Location::caller();
            Machine::with(|machine| warp::shuffle(machine, SyncPoint::$sync_point, mask, (word, lanes, width), at))
        }
    )*};
}
shuffles! {
    shuffle_idx ShuffleIdx;
    shuffle_up ShuffleUp;
    shuffle_down ShuffleDown;
    shuffle_xor ShuffleXor;
}

#[track_caller]
pub fn multiply_add_u8(a: [u32; 4], b: [u32; 2], c: [u32; 4]) -> [u32; 4] {
    multiply_add((a, b, c), SyncPoint::Mma, Location::caller())
}

#[track_caller]
pub fn multiply_add_b1(a: [u32; 4], b: [u32; 2], c: [u32; 4]) -> [u32; 4] {
    multiply_add((a, b, c), SyncPoint::MmaBits, Location::caller())
}

/// Waits for the products of all lanes.
fn multiply_add(
    (a, b, c): ([u32; 4], [u32; 2], [u32; 4]),
    sync_point: SyncPoint,
    at: &'static Location<'static>,
) -> [u32; 4] {
    Machine::with(|machine| {
        let slot = machine.slot();
        slot.fragments.set([a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], c[2], c[3]]);
        warp::take_part(machine, Wait { sync_point, mask: u32::MAX, at, value: 0, lanes: 0, width: 0 });
        let [d0, d1, d2, d3, ..] = slot.fragments.get();
        [d0, d1, d2, d3]
    })
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
        let bytes = texture.image.format.bytes();
        let texel = machine.global(&texture.bound, offset, bytes, AccessKind::Read, true, at);
        // SAFETY: `TextureImage::new` has checked that every texel is inside the buffer and aligned.
        unsafe { if bytes == 1 { u32::from(texel.read()) } else { texel.cast::<u32>().read() } }
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

/// Checks an access to `[T; N]` at element `index`, and returns where it is.
#[inline(always)]
#[track_caller]
fn global<T, const N: usize>(buffer: Global, index: usize, access: AccessKind, read_only: bool) -> *mut [T; N] {
    let at = Location::caller();
    // SAFETY: handles are made by `from_arg` and live no longer than the launch, which keeps its buffers.
    let bound = unsafe { &*buffer.bound };
    let len = buffer.bytes / size_of::<T>();
    if index >= len || len - index < N {
        out_of_bounds(bound.space, bound.name, index, N, len);
    }
    let offset = buffer.start + index * size_of::<T>();
    let bytes = size_of::<[T; N]>();
    if !(bound.start + offset).is_multiple_of(bytes) {
        misaligned(bound, offset, bytes);
    }
    Machine::with(|machine| {
        let counts = &machine.counts;
        count(match access {
            AccessKind::Read => &counts.global_loads,
            AccessKind::Write => &counts.global_stores,
            AccessKind::Atomic => &counts.atomics,
        });
        machine.global(bound, offset, bytes, access, read_only, at)
    })
    .cast()
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

#[cold]
#[track_caller]
fn misaligned(bound: &Bound, offset: usize, bytes: usize) -> ! {
    let at = Location::caller();
    let memory = Region { space: bound.space, name: bound.name.into() };
    let address = bound.argument.address + offset as u64;
    let kind = FaultKind::Misaligned { memory, offset: offset as u64, address, bytes: bytes as u64 };
    Machine::with(|machine| machine.fault(kind, at))
}

/// As `global`, for shared memory.
#[inline(always)]
#[track_caller]
fn shared_at<T, const N: usize>(address: u32, access: AccessKind) -> *mut [T; N] {
    let at = Location::caller();
    Machine::with(|machine| {
        let counts = &machine.counts;
        count(match access {
            AccessKind::Read => &counts.shared_loads,
            AccessKind::Write => &counts.shared_stores,
            AccessKind::Atomic => &counts.atomics,
        });
        machine.shared(address, size_of::<[T; N]>(), access, at)
    })
    .cast()
}

#[inline]
#[track_caller]
pub fn atomic_global<const OP: u8>(buffer: Global, index: usize, value: u32) -> u32 {
    let word = global::<u32, 1>(buffer, index, AccessKind::Atomic, false).cast::<u32>();
    // SAFETY: `global` has checked it; lanes take turns, so that this is atomic.
    unsafe { word.replace(AtomicOp::apply(OP, word.read(), value)) }
}

#[inline]
#[track_caller]
pub fn atomic_shared<const OP: u8>(address: u32, value: u32) -> u32 {
    let word = shared_at::<u32, 1>(address, AccessKind::Atomic).cast::<u32>();
    // SAFETY: as in `atomic_global`.
    unsafe { word.replace(AtomicOp::apply(OP, word.read(), value)) }
}

/// # Safety
/// `word` is a live, aligned word.
unsafe fn compare_exchange<T: Copy + PartialEq>(word: *mut T, expected: T, value: T) -> T {
    // SAFETY: the caller's promise.
    unsafe {
        let old = word.read();
        if old == expected {
            word.write(value);
        }
        old
    }
}

#[inline]
#[track_caller]
pub fn atomic_cas_global(buffer: Global, index: usize, expected: u32, value: u32) -> u32 {
    let word = global::<u32, 1>(buffer, index, AccessKind::Atomic, false).cast();
    // SAFETY: `global` has checked it.
    unsafe { compare_exchange(word, expected, value) }
}

#[inline]
#[track_caller]
pub fn atomic_cas_global_u64(buffer: Global, index: usize, expected: u64, value: u64) -> u64 {
    let word = global::<u64, 1>(buffer, index, AccessKind::Atomic, false).cast();
    // SAFETY: `global` has checked it.
    unsafe { compare_exchange(word, expected, value) }
}

#[inline]
#[track_caller]
pub fn atomic_cas_shared(address: u32, expected: u32, value: u32) -> u32 {
    let word = shared_at::<u32, 1>(address, AccessKind::Atomic).cast();
    // SAFETY: `shared_at` has checked it.
    unsafe { compare_exchange(word, expected, value) }
}

/// Loads and stores of one element. Internal: see `scalar::Scalar`.
pub trait Access: Copy {
    /// The type's name in Rust.
    const NAME: &'static str;
    #[track_caller]
    fn load_global(buffer: Global, index: usize) -> Self;
    #[track_caller]
    fn load_global_readonly(buffer: Global, index: usize) -> Self;
    #[track_caller]
    fn store_global(buffer: Global, index: usize, value: Self);
    #[track_caller]
    fn load_shared(address: u32) -> Self;
    #[track_caller]
    fn store_shared(address: u32, value: Self);
}

/// Loads and stores of four (or two) elements at once. Internal: see `scalar::Word`.
pub trait AccessWord: Access {
    #[track_caller]
    fn load4_global(buffer: Global, index: usize) -> [Self; 4];
    #[track_caller]
    fn load4_global_readonly(buffer: Global, index: usize) -> [Self; 4];
    #[track_caller]
    fn store2_global_if(condition: bool, buffer: Global, index: usize, values: [Self; 2]);
    #[track_caller]
    fn store4_global(buffer: Global, index: usize, values: [Self; 4]);
    #[track_caller]
    fn store4_global_if(condition: bool, buffer: Global, index: usize, values: [Self; 4]);
    #[track_caller]
    fn load4_shared(address: u32) -> [Self; 4];
    #[track_caller]
    fn store4_shared(address: u32, values: [Self; 4]);
}

macro_rules! access {
    ($($t:ident)*) => {$(
        impl Access for $t {
            const NAME: &'static str = stringify!($t);
            #[inline]
            fn load_global(buffer: Global, index: usize) -> Self {
                // SAFETY: `global` has checked that it is one element inside the buffer, aligned; any bits are a number.
                unsafe { global::<Self, 1>(buffer, index, AccessKind::Read, false).cast::<Self>().read() }
            }
            #[inline]
            fn load_global_readonly(buffer: Global, index: usize) -> Self {
                // SAFETY: as in `load_global`.
                unsafe { global::<Self, 1>(buffer, index, AccessKind::Read, true).cast::<Self>().read() }
            }
            #[inline]
            fn store_global(buffer: Global, index: usize, value: Self) {
                // SAFETY: as in `load_global`.
                unsafe { global::<Self, 1>(buffer, index, AccessKind::Write, false).cast::<Self>().write(value) }
            }
            #[inline]
            fn load_shared(address: u32) -> Self {
                // SAFETY: as in `load_global`, by `shared_at`.
                unsafe { shared_at::<Self, 1>(address, AccessKind::Read).cast::<Self>().read() }
            }
            #[inline]
            fn store_shared(address: u32, value: Self) {
                // SAFETY: as in `load_global`, by `shared_at`.
                unsafe { shared_at::<Self, 1>(address, AccessKind::Write).cast::<Self>().write(value) }
            }
        }
    )*};
}
access!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

macro_rules! access_word {
    ($($t:ident)*) => {$(
        impl AccessWord for $t {
            #[inline]
            fn load4_global(buffer: Global, index: usize) -> [Self; 4] {
                // SAFETY: as in `load4_global_readonly`.
                unsafe { global::<Self, 4>(buffer, index, AccessKind::Read, false).read() }
            }
            #[inline]
            fn load4_global_readonly(buffer: Global, index: usize) -> [Self; 4] {
                // SAFETY: `global` has checked that all four are inside the buffer, aligned; any bits are numbers.
                unsafe { global::<Self, 4>(buffer, index, AccessKind::Read, true).read() }
            }
            #[inline]
            fn store2_global_if(condition: bool, buffer: Global, index: usize, values: [Self; 2]) {
                if condition {
                    // SAFETY: as in `load4_global_readonly`.
                    unsafe { global::<Self, 2>(buffer, index, AccessKind::Write, false).write(values) }
                }
            }
            #[inline]
            fn store4_global(buffer: Global, index: usize, values: [Self; 4]) {
                // SAFETY: as in `load4_global_readonly`.
                unsafe { global::<Self, 4>(buffer, index, AccessKind::Write, false).write(values) }
            }
            #[inline]
            fn store4_global_if(condition: bool, buffer: Global, index: usize, values: [Self; 4]) {
                if condition {
                    Self::store4_global(buffer, index, values);
                }
            }
            #[inline]
            fn load4_shared(address: u32) -> [Self; 4] {
                // SAFETY: as in `load4_global_readonly`, by `shared_at`.
                unsafe { shared_at::<Self, 4>(address, AccessKind::Read).read() }
            }
            #[inline]
            fn store4_shared(address: u32, values: [Self; 4]) {
                // SAFETY: as in `load4_global_readonly`, by `shared_at`.
                unsafe { shared_at::<Self, 4>(address, AccessKind::Write).write(values) }
            }
        }
    )*};
}
access_word!(u32 i32 f32);
