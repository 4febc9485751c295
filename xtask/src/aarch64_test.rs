//! `cargo xtask aarch64-test`: the CPU engine's tests, compiled for AArch64 and run in QEMU.
//!
//! That is where NEON is looked at: no other check compiles it. A stable toolchain has no standard library for another machine; the device
//! compiler has its source, so the standard library is compiled too (a minute). Only the library without features is built, so that nothing in C
//! has to be. QEMU takes some ten times as long as a machine of its own, and says nothing of speed.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::toolchain::Toolchain;
use crate::workspace::{output, root, succeed, target_dir};

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// Debian's linker for the machine, and the emulator that runs its programs.
const LINKER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-aarch64";

/// Where Debian has the C library of the machine.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// Tests that say enough of an instruction set: the table of cases on every one that there is, and every part that has code of its own for one.
const ENOUGH: [&str; 6] = [
    "cpu::bits",
    "cpu::log",
    "cpu::measures::tests::every_case_agrees_with_the_oracle",
    "cpu::sliding_counts",
    "cpu::table",
    "cpu::tests::every_path_agrees_with_the_oracle",
];

#[derive(clap::Args)]
pub struct Options {
    /// Names of tests, or parts of them [default: those of all code for an instruction set]
    tests: Vec<String>,
}

/// Whether there is what programs for AArch64 are linked and run by; else what to do.
pub fn machine() -> Result<()> {
    for program in [LINKER, EMULATOR] {
        output(Command::new(program).arg("--version")).context("cargo xtask tools --aarch64 installs it")?;
    }
    if !Path::new(LIBRARIES).is_dir() {
        bail!("there is no {LIBRARIES}: cargo xtask tools --aarch64 installs it");
    }
    Ok(())
}

pub fn run(options: &Options) -> Result<()> {
    machine()?;
    let mut cargo = Toolchain::find()?.cargo();
    cargo.current_dir(root());
    cargo.args(["test", "--package", "halotile", "--lib", "--no-default-features", "--locked"]);
    cargo.args(["--target", TARGET, "-Zbuild-std=std,panic_unwind,test"]);
    // Code that only this machine has is linted here or nowhere.
    cargo.args(["-Zwarnings", "--config", "build.warnings='deny'"]);
    // The units of a crate are optimised together, which the development profile leaves out: it takes longer to build, and under QEMU
    // more than that is gained (376 s in all, 429 without).
    cargo.args(["--config", "profile.dev.lto=false"]);
    cargo.env("CARGO_TARGET_DIR", target_dir()?.join("aarch64"));
    cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER);
    cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", format!("{EMULATOR} -L {LIBRARIES}"));
    cargo.arg("--").args(&options.tests);
    if options.tests.is_empty() {
        cargo.args(ENOUGH);
    }
    succeed(&mut cargo)
}
