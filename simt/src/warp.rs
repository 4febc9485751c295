//! Warp operations: communication of the 32 lanes of a warp without shared memory.
//!
//! `mask` names the lanes that take part, lane i by bit i; each of them must call the same operation
//! with the same mask. A lane that is named and has left the kernel, or never arrives, is an error
//! that the emulator reports.

use crate::backend;
use crate::scalar::Shuffle;

/// All 32 lanes.
pub const FULL: u32 = u32::MAX;

/// Lanes of a warp.
pub const SIZE: u32 = 32;

/// The thread's index in its warp, 0..32.
#[inline(always)]
pub fn lane_id() -> u32 {
    backend::lane_id()
}

/// Waits for the lanes of `mask`; their writes to memory before are visible to them after.
#[inline(always)]
#[track_caller]
pub fn sync_warp(mask: u32) {
    backend::sync_warp(mask);
}

macro_rules! shuffles {
    ($($(#[$doc:meta])* $name:ident $backend:ident $lanes:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// The warp is seen as segments of `width` lanes (a power of two up to 32), each on its own. The
        /// flag tells whether the source lane was inside the segment; if not, the lane's own value comes back.
        #[inline(always)]
        #[track_caller]
        pub fn $name<T: Shuffle>(mask: u32, value: T, $lanes: u32, width: u32) -> (T, bool) {
            let mut words = value.to_words();
            let mut inside = true;
            // A loop and not a closure, so that the emulator can name the caller's line.
            for word in words.as_mut() {
                (*word, inside) = backend::$backend(mask, *word, $lanes, width);
            }
            (T::from_words(words), inside)
        }
    )*};
}

shuffles! {
    /// The value that lane `index` (modulo `width`) of the segment passed.
    warp_shuffle_idx shuffle_idx index;
    /// The value that the lane `delta` below passed.
    warp_shuffle_up shuffle_up delta;
    /// The value that the lane `delta` above passed.
    warp_shuffle_down shuffle_down delta;
    /// The value that the lane whose index differs by the bits of `lane_mask` passed (a butterfly).
    warp_shuffle_xor shuffle_xor lane_mask;
}

/// The lanes of `mask` that passed `true`, as bits.
#[inline(always)]
#[track_caller]
pub fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    backend::ballot(mask, predicate)
}

/// True when every lane of `mask` passed `true`.
#[inline(always)]
#[track_caller]
pub fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    warp_vote_ballot(mask, predicate) == mask
}

/// True when some lane of `mask` passed `true`.
#[inline(always)]
#[track_caller]
pub fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    warp_vote_ballot(mask, predicate) != 0
}
