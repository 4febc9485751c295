//! Atomic read-modify-write on 32-bit integers in global and shared memory, and compare-and-exchange on 64-bit ones in global memory.
//! All are relaxed.

use crate::backend::{self, AtomicOp};
use crate::global::Out;
use crate::shared::Shared;

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        impl Out<u32> {$(
            $(#[$doc])*
            #[inline(always)]
            #[track_caller]
            pub fn $name(self, index: usize, value: u32) -> u32 {
                backend::atomic_global::<{ AtomicOp::$op as u8 }>(self.backend(), index, value)
            }
        )*}
        impl Shared<u32> {$(
            $(#[$doc])*
            #[inline(always)]
            #[track_caller]
            pub fn $name(self, index: u32, value: u32) -> u32 {
                backend::atomic_shared::<{ AtomicOp::$op as u8 }>(self.at(index, 1), value)
            }
        )*}
    };
}

operations! {
    /// Adds `value`, wrapping; returns the element from before.
    atomic_add Add;
    /// Makes the element the smaller of itself and `value`; returns it from before.
    atomic_min Min;
    /// Makes the element the larger of itself and `value`; returns it from before.
    atomic_max Max;
    /// Sets the bits of `value`; returns the element from before.
    atomic_or Or;
    /// Puts `value` in; returns the element from before.
    atomic_exchange Exchange;
}

impl Out<u32> {
    /// Puts `value` in if the element equals `expected`; returns the element from before.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_compare_exchange(self, index: usize, expected: u32, value: u32) -> u32 {
        backend::atomic_cas_global(self.backend(), index, expected, value)
    }
}

impl Out<u64> {
    /// Puts `value` in if the element equals `expected`; returns the element from before.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_compare_exchange(self, index: usize, expected: u64, value: u64) -> u64 {
        backend::atomic_cas_global_u64(self.backend(), index, expected, value)
    }
}

impl Shared<u32> {
    /// Puts `value` in if the element equals `expected`; returns the element from before.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_compare_exchange(self, index: u32, expected: u32, value: u32) -> u32 {
        backend::atomic_cas_shared(self.at(index, 1), expected, value)
    }
}
