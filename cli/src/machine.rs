//! What this machine has, and how much of it is taken.

use anyhow::Context;
pub use halotile::machine::{available, memory_available, needed, peak_memory};

/// Threads that run at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Starts as many threads as are asked for, 0 for as many as there are cores. Returns how many these are.
pub fn start_threads(asked: usize) -> anyhow::Result<usize> {
    // Said outright: left to itself, rayon takes any number from its environment variable.
    let threads = if asked == 0 { cores() } else { asked };
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().context("no threads can be started")?;
    Ok(threads)
}
