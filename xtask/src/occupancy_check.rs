//! `cargo xtask occupancy-check`: the library's occupancy calculator beside NVIDIA's.
//!
//! NVIDIA's is a header that any C++ compiler takes, with or without a GPU. `tests/src/occupancy.cpp` makes a filter of it, and
//! halotile-tests' program `occupancy-check` has it answer what it asks the library as well.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::nvidia;
use crate::workspace::{self, succeed};

pub fn run() -> Result<()> {
    let headers = nvidia::include("cuda_occupancy.h")?;
    let directory = workspace::target_dir()?.join("occupancy");
    std::fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let program = directory.join("cuda-occupancy");
    let compiler = std::env::var_os("CXX").map_or_else(|| "c++".into(), PathBuf::from);
    let mut compile = Command::new(compiler);
    compile.args(["-std=c++11", "-O1", "-isystem"]).arg(headers);
    compile.arg(workspace::root().join("tests/src/occupancy.cpp")).arg("-o").arg(&program);
    succeed(&mut compile).context("compiling NVIDIA's calculator (CXX names another C++ compiler)")?;
    succeed(Command::new(workspace::program("occupancy-check")?).arg(program))
}
