//! The one table of cases and the one runner for moving-window entropy.
//!
//! Every engine, kernel, device and number of devices is compared with the oracle over the same cases: the tests run the
//! CPU engine and the emulator through them, `gpu-test` the GPUs. Whoever adds a kernel adds nothing here; whoever finds a
//! bug adds the case that shows it.

pub mod cases;
pub mod measures;
pub mod runner;
pub mod selftest;
