//! What this machine has of memory, how much of it is taken, and how messages tell of it: in MiB, what is needed rounded up and what there
//! is rounded down, so that the first is never told as less than what would do.

/// Memory that is needed, for a message.
pub fn needed(bytes: u128) -> String {
    format!("{} MiB", bytes.div_ceil(MEBIBYTE))
}

/// Memory that there is, for a message.
pub fn available(bytes: u128) -> String {
    format!("{} MiB", bytes / MEBIBYTE)
}

const MEBIBYTE: u128 = 1 << 20;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_never_told_as_less() {
        let most: (u128, u128, u128) = (u128::MAX, 1 << 108, (1 << 108) - 1);
        for (bytes, up, down) in [(0, 0, 0), (1, 1, 0), (1 << 20, 1, 1), ((3 << 20) + 1, 4, 3), most] {
            assert_eq!((needed(bytes), available(bytes)), (format!("{up} MiB"), format!("{down} MiB")));
        }
    }
}
