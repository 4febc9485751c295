//! Loads, stores and atomic operations on elements of buffers and of shared memory: each is checked and counted before the bytes are touched. Lanes
//! take turns, so that a plain read and write is an atomic operation. The other implementation, in PTX, is `device/access.rs`.

use std::panic::Location;

use super::{Global, out_of_bounds};
use crate::emulator::fault::{AccessKind, FaultKind, Region};
use crate::emulator::machine::access::{Atomic, Kind, Read, ReadOnly, Write};
use crate::emulator::machine::{Bound, Machine, count};

/// Checks an access to `[T; N]` at element `index`, and returns where it is.
#[inline(always)]
#[track_caller]
fn global<T, const N: usize, K: Kind>(buffer: Global, index: usize) -> *mut [T; N] {
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
    // SAFETY: not kept.
    let machine = unsafe { Machine::current() };
    let counts = &machine.counts;
    count(match K::ACCESS {
        AccessKind::Read => &counts.global_loads,
        AccessKind::Write => &counts.global_stores,
        AccessKind::Atomic => &counts.atomics,
    });
    machine.global::<[T; N], K>(bound, offset, at).cast()
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
fn shared_at<T, const N: usize, K: Kind>(address: u32) -> *mut [T; N] {
    // SAFETY: not kept.
    let machine = unsafe { Machine::current() };
    machine.shared::<[T; N], K>(address, Location::caller()).cast()
}

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

#[inline]
#[track_caller]
pub fn atomic_global<const OP: u8>(buffer: Global, index: usize, value: u32) -> u32 {
    let word = global::<u32, 1, Atomic>(buffer, index).cast::<u32>();
    // SAFETY: `global` has checked it; lanes take turns, so that this is atomic.
    unsafe { word.replace(AtomicOp::apply(OP, word.read(), value)) }
}

#[inline]
#[track_caller]
pub fn atomic_shared<const OP: u8>(address: u32, value: u32) -> u32 {
    let word = shared_at::<u32, 1, Atomic>(address).cast::<u32>();
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
    let word = global::<u32, 1, Atomic>(buffer, index).cast();
    // SAFETY: `global` has checked it.
    unsafe { compare_exchange(word, expected, value) }
}

#[inline]
#[track_caller]
pub fn atomic_cas_global_u64(buffer: Global, index: usize, expected: u64, value: u64) -> u64 {
    let word = global::<u64, 1, Atomic>(buffer, index).cast();
    // SAFETY: `global` has checked it.
    unsafe { compare_exchange(word, expected, value) }
}

#[inline]
#[track_caller]
pub fn atomic_cas_shared(address: u32, expected: u32, value: u32) -> u32 {
    let word = shared_at::<u32, 1, Atomic>(address).cast();
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
                unsafe { global::<Self, 1, Read>(buffer, index).cast::<Self>().read() }
            }
            #[inline]
            fn load_global_readonly(buffer: Global, index: usize) -> Self {
                // SAFETY: as in `load_global`.
                unsafe { global::<Self, 1, ReadOnly>(buffer, index).cast::<Self>().read() }
            }
            #[inline]
            fn store_global(buffer: Global, index: usize, value: Self) {
                // SAFETY: as in `load_global`.
                unsafe { global::<Self, 1, Write>(buffer, index).cast::<Self>().write(value) }
            }
            #[inline]
            fn load_shared(address: u32) -> Self {
                // SAFETY: as in `load_global`, by `shared_at`.
                unsafe { shared_at::<Self, 1, Read>(address).cast::<Self>().read() }
            }
            #[inline]
            fn store_shared(address: u32, value: Self) {
                // SAFETY: as in `load_global`, by `shared_at`.
                unsafe { shared_at::<Self, 1, Write>(address).cast::<Self>().write(value) }
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
                unsafe { global::<Self, 4, Read>(buffer, index).read() }
            }
            #[inline]
            fn load4_global_readonly(buffer: Global, index: usize) -> [Self; 4] {
                // SAFETY: `global` has checked that all four are inside the buffer, aligned; any bits are numbers.
                unsafe { global::<Self, 4, ReadOnly>(buffer, index).read() }
            }
            #[inline]
            fn store2_global_if(condition: bool, buffer: Global, index: usize, values: [Self; 2]) {
                if condition {
                    // SAFETY: as in `load4_global_readonly`.
                    unsafe { global::<Self, 2, Write>(buffer, index).write(values) }
                }
            }
            #[inline]
            fn store4_global(buffer: Global, index: usize, values: [Self; 4]) {
                // SAFETY: as in `load4_global_readonly`.
                unsafe { global::<Self, 4, Write>(buffer, index).write(values) }
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
                unsafe { shared_at::<Self, 4, Read>(address).read() }
            }
            #[inline]
            fn store4_shared(address: u32, values: [Self; 4]) {
                // SAFETY: as in `load4_global_readonly`, by `shared_at`.
                unsafe { shared_at::<Self, 4, Write>(address).write(values) }
            }
        }
    )*};
}
access_word!(u32 i32 f32);
