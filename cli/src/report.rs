//! What a run tells of itself at its end.

use anyhow::Context;
use serde::Serialize;

use crate::stdout;

/// Prints what `--json` promises.
pub fn print(summary: &impl Serialize) -> anyhow::Result<()> {
    let json = serde_json::to_string(summary).context("the summary cannot be written as JSON")?;
    stdout::print(format!("{json}\n").as_bytes())
}
