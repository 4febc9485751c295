//! Clocks: a reduction whose blocks record when they began and ended, kernels that do nothing, and one that does nothing for a given time.
//!
//! ```text
//! minima      read both clocks; the least of 512 numbers; read both clocks
//! empty       nothing, with 0, 8 or 32 arguments
//! spin        read both clocks; wait until so many nanoseconds have passed; read both clocks
//! ```
//!
//! There are two clocks. Each multiprocessor counts its own cycles: fine, but counts of two multiprocessors cannot be compared.
//! The clock of nanoseconds is the same for all, but may tick once a microsecond.

use simt::global::{In, Out};
use simt::{clock, kernel, shared, thread};

/// Threads of a block of [`primer_clock_minima`](fn@primer_clock_minima).
pub const CLOCK_THREADS: u32 = 256;
/// Numbers of a block.
pub const CLOCK_NUMBERS: u32 = 2 * CLOCK_THREADS;
/// What a block stores of its clocks: cycles at its start, at its end, nanoseconds at its start, at its end.
pub const CLOCK_READINGS: usize = 4;
/// What [`primer_clock_spin`](fn@primer_clock_spin) stores: the same, and a fifth word.
pub const CLOCK_SPIN_READINGS: usize = CLOCK_READINGS + 1;

shared! {
    static PRIMER_CLOCK: [f32; CLOCK_NUMBERS as usize];
}

/// `minima[block]` is the least of the block's [`CLOCK_NUMBERS`] numbers, found by the chapter's steps: the stride halves from 256 on.
/// `clocks` gets [`CLOCK_READINGS`] of each block.
///
/// Cycles are read last at the start and first at the end, so that reading the other clock, which takes longer, is not counted.
///
/// # Safety
/// `input` has [`CLOCK_NUMBERS`] elements for each block, `minima` one, `clocks` [`CLOCK_READINGS`]; blocks have [`CLOCK_THREADS`]
/// threads, in one dimension.
#[kernel(threads = 256)]
pub unsafe fn primer_clock_minima(input: In<f32>, minima: Out<f32>, clocks: Out<u64>) {
    let (t, block) = (thread::thread_idx_x(), thread::block_idx_x() as usize);
    let (tile, first) = (shared::array::<PRIMER_CLOCK>(), block * CLOCK_NUMBERS as usize);
    if t == 0 {
        clocks.store(CLOCK_READINGS * block + 2, clock::nanoseconds());
        clocks.store(CLOCK_READINGS * block, clock::cycles());
    }
    let own = first + t as usize;
    let (low, high) = (input.load(own), input.load(own + CLOCK_THREADS as usize));
    tile.store(t, low);
    tile.store(t + CLOCK_THREADS, high);
    let mut stride = CLOCK_THREADS;
    while stride > 0 {
        thread::sync_threads();
        if t < stride {
            tile.store(t, tile.load(t).min(tile.load(t + stride)));
        }
        stride /= 2;
    }
    if t == 0 {
        minima.store(block, tile.load(0));
    }
    thread::sync_threads();
    if t == 0 {
        clocks.store(CLOCK_READINGS * block + 1, clock::cycles());
        clocks.store(CLOCK_READINGS * block + 3, clock::nanoseconds());
    }
}

/// Waits for `nanoseconds` by the clock that all multiprocessors share. `clocks` gets [`CLOCK_READINGS`], and then the smallest step seen
/// of that clock, in nanoseconds.
///
/// It waits from a tick of the clock to a tick, so that both clocks see the same time, however rarely one of them ticks. Should it not tick at
/// all, the kernel ends after `most` cycles.
///
/// # Safety
/// `clocks` has [`CLOCK_SPIN_READINGS`] elements; there is one thread.
#[kernel(threads = 1)]
pub unsafe fn primer_clock_spin(clocks: Out<u64>, nanoseconds: u64, most: u64) {
    let (began, before) = (clock::cycles(), clock::nanoseconds());
    let mut start = before;
    while start == before && clock::cycles() - began < most {
        start = clock::nanoseconds();
    }
    clocks.store(0, clock::cycles());
    clocks.store(2, start);
    let (mut now, mut step) = (start, u64::MAX);
    while now - start < nanoseconds && clock::cycles() - began < most {
        let next = clock::nanoseconds();
        if next > now {
            step = step.min(next - now);
            now = next;
        }
    }
    clocks.store(1, clock::cycles());
    clocks.store(3, now);
    clocks.store(4, step);
}

macro_rules! empty {
    ($name:ident, $arguments:literal: $($argument:ident)*) => {
        #[doc = concat!("Does nothing, with ", $arguments, " arguments of 8 bytes.")]
        ///
        /// # Safety
        /// It is safe.
        #[allow(clippy::too_many_arguments)]
        #[kernel(threads = 1)]
        pub unsafe fn $name($($argument: u64),*) {
            $(let _ = $argument;)*
        }
    };
}
empty!(primer_clock_empty, "no":);
empty!(primer_clock_empty8, "8": a0 a1 a2 a3 a4 a5 a6 a7);
empty!(primer_clock_empty32, "32":
    a0 a1 a2 a3 a4 a5 a6 a7 b0 b1 b2 b3 b4 b5 b6 b7 c0 c1 c2 c3 c4 c5 c6 c7 d0 d1 d2 d3 d4 d5 d6 d7);

/// The kernels of this file.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[
    primer_clock_minima::ENTRY,
    primer_clock_spin::ENTRY,
    primer_clock_empty::ENTRY,
    primer_clock_empty8::ENTRY,
    primer_clock_empty32::ENTRY,
];
