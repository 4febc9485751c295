//! The tables of cases and the runners: moving-window entropy, and shortest paths ([`apsp`]).
//!
//! Every engine, kernel, device and number of devices is compared with the oracle over the same cases: the tests run the
//! CPU engine and the emulator through them, `gpu-test` the GPUs. Whoever adds a kernel adds nothing here; whoever finds a
//! bug adds the case that shows it.

pub mod apsp;
pub mod cases;
pub mod measures;
pub mod runner;
pub mod selftest;
