//! What a run tells of itself at its end.

use std::io::Write;

use anyhow::Context;
use halotile::io::write_failed;
use serde::Serialize;

/// Prints what `--json` promises.
pub fn print(summary: &impl Serialize) -> anyhow::Result<()> {
    let json = serde_json::to_string(summary).context("the summary cannot be written as JSON")?;
    Ok(writeln!(std::io::stdout(), "{json}").map_err(|e| write_failed("standard output", e))?)
}

/// The most bytes that were resident so far, where the system says so.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}
