//! What this machine has, and how much of it is taken.

use anyhow::Context;

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

/// Bytes of memory that can be had without pushing anything else out, where Linux tells.
pub fn memory_available() -> Option<u64> {
    bytes("/proc/meminfo", "MemAvailable:")
}

/// The most bytes that were resident so far, where Linux tells.
pub fn peak_memory() -> Option<u64> {
    bytes("/proc/self/status", "VmHWM:")
}

/// What a file of the system says in kB under a name.
fn bytes(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}
