//! `--profile`, on every command that may run on a device.

use std::path::PathBuf;

use clap::ValueHint;

/// Whether a profile is wanted.
#[derive(Debug, clap::Args)]
pub struct ProfileArgs {
    /// Record every launch, every copy and the stages of threads: FILE.json is a trace for Perfetto or chrome://tracing,
    /// FILE.html a page with pictures; the sums are printed on stderr
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub profile: Option<PathBuf>,
}
