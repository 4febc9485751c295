//! The tables of cases and the runners: moving-window entropy, and shortest paths ([`apsp`]).
//!
//! Every engine, kernel, device and number of devices is compared with the oracle over the same cases: the tests run the
//! CPU engine and the emulator through them, `gpu-test` the GPUs. A new kernel takes no change here; a bug that is
//! found takes the case that shows it.

pub mod apsp;
pub mod arrays;
pub mod cases;
pub mod measures;
pub mod runner;
pub mod selftest;
#[cfg(unix)]
pub mod soak;
pub mod words;
