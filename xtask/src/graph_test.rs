//! `cargo xtask graph-test`: shortest paths of halotile beside those of scipy.
//!
//! scipy comes as a wheel, with its own tests in it, and goes into a virtual environment below the target directory. The checks are in
//! `tests/python/shortest_paths.py`, which runs the program `halotile`.

use std::process::{Command, Stdio};

use anyhow::Result;

use crate::python;
use crate::workspace::{self, succeed};

#[derive(clap::Args)]
pub struct Options {
    /// Only checks whose names contain all of these
    only: Vec<String>,
}

pub fn run(options: &Options) -> Result<()> {
    let mut checks = Command::new(python::with("graph-python", "graph.txt")?);
    checks.arg(python::script("shortest_paths.py")).arg("--halotile").arg(workspace::program("halotile")?);
    succeed(checks.args(&options.only).stdin(Stdio::null()))
}
