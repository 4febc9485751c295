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
