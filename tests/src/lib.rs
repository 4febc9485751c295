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

/// The middle one of some times, of two the later; no number where there are none.
pub fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
