//! Clocks that a kernel can read.

use crate::backend;

/// Cycles of the multiprocessor that runs the thread; only differences on one multiprocessor mean
/// something. In the emulator: operations that the launch has made so far.
#[inline(always)]
pub fn cycles() -> u64 {
    backend::clock_cycles()
}

/// Nanoseconds of a clock that all multiprocessors share; it may tick in steps of a microsecond.
/// In the emulator: a host clock.
#[inline(always)]
pub fn nanoseconds() -> u64 {
    backend::clock_nanoseconds()
}
