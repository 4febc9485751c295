//! `cargo xtask soak`: the program in random runs, disturbed in every way, each result checked.
//!
//! What is run and checked is in the program `soak` of `tests/`; this builds it and the program.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::workspace::{program, released, succeed};

#[derive(clap::Args)]
pub struct Options {
    /// How long
    #[arg(long, value_name = "M", default_value = "10", value_parser = clap::value_parser!(u64).range(1..))]
    minutes: u64,
    /// Where the random numbers begin; by default the time decides, and it is printed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The program; by default it is built
    #[arg(long, value_name = "PATH")]
    bin: Option<PathBuf>,
    /// Runs at a time; by default one a core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=256))]
    jobs: Option<u64>,
}

pub fn run(options: &Options) -> Result<()> {
    // Whatever tests have built is there already; the program is the one that users have.
    let mut soak = Command::new(program("soak")?);
    soak.arg("--bin").arg(options.bin.clone().map_or_else(released, Ok)?);
    soak.arg("--minutes").arg(options.minutes.to_string());
    for (name, value) in [("--seed", options.seed), ("--jobs", options.jobs)] {
        soak.args(value.map(|value| [name.to_owned(), value.to_string()]).into_iter().flatten());
    }
    succeed(soak.stdin(Stdio::null()))
}
