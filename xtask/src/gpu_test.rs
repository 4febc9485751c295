//! `cargo xtask gpu-test`: the kernels' tests on a real GPU.
//!
//! The tests are one program with the PTX in it. It needs no Rust where it runs, so `--pack` lays it out in a
//! directory that can be copied to the machine with the GPU.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace::{self, succeed, write};

const PROGRAM: &str = "gpu-test";

#[derive(clap::Args)]
pub struct Options {
    /// Do not run the tests: put them in this directory, to be run on a machine without Rust
    #[arg(long, value_name = "DIR", conflicts_with = "arguments")]
    pack: Option<PathBuf>,
    /// Passed on to the tests
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub fn run(options: &Options) -> Result<()> {
    succeed(workspace::cargo().args(["build", "--release", "--package", "halotile-tests", "--bin", PROGRAM]))?;
    let program = workspace::target_dir()?.join("release").join(PROGRAM);
    match &options.pack {
        Some(directory) => pack(&program, directory),
        None => succeed(Command::new(program).args(&options.arguments)),
    }
}

fn pack(program: &Path, directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let copy = directory.join(PROGRAM);
    std::fs::copy(program, &copy).with_context(|| format!("cannot write {}", copy.display()))?;
    let script = directory.join("run.sh");
    write(&script, SCRIPT)?;
    succeed(Command::new("chmod").arg("+x").arg(&script))?;
    write(&directory.join("README.txt"), README)?;
    eprintln!("{} holds the tests: run {}", directory.display(), script.display());
    Ok(())
}

const SCRIPT: &str = "\
#!/bin/sh
# Runs halotile's GPU tests; arguments are passed on to them.
set -eu
cd \"$(dirname \"$0\")\"
if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=index,name,driver_version,memory.total --format=csv || true
fi
exec ./gpu-test \"$@\"
";

const README: &str = "\
halotile's GPU tests, built and ready to run.

    ./run.sh [ARGUMENTS]

needs Linux on the processor family they were built on, a C library at least as new as there, and an NVIDIA driver. It
needs neither Rust nor the CUDA toolkit. The exit status is 0 when every test has passed. `./run.sh --help` lists the
arguments.
";
