//! What this machine has of memory, and how much of it is taken.

/// Bytes of memory that can be had without pushing anything else out, where Linux tells.
pub fn memory_available() -> Option<u64> {
    bytes("/proc/meminfo", "MemAvailable:")
}

/// The most bytes that were resident in this process so far, where Linux tells.
pub fn peak_memory() -> Option<u64> {
    bytes("/proc/self/status", "VmHWM:")
}

/// What a file of the system says in kB under a name.
fn bytes(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}
