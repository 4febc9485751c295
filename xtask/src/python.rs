//! Python with packages from elsewhere, to compare halotile with: in a virtual environment below the target directory, at fixed versions.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::workspace::{self, output, read, succeed, write};

/// The Python of the environment `name`, with these packages and no others in it. Only wheels are installed: nothing is built.
pub fn with(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let environment = workspace::target_dir()?.join(name);
    let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    // Written when all of them are there.
    let (list, wanted) = (environment.join("packages.txt"), packages.join("\n"));
    if read(&list).is_ok_and(|there| there == wanted) && output(Command::new(&python).arg("--version")).is_ok() {
        return Ok(python);
    }
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment).stdin(Stdio::null()))
        .context("a virtual environment takes python3 with venv")?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]);
    succeed(pip.args(packages).stdin(Stdio::null())).with_context(|| format!("installing {}", packages[0]))?;
    write(&list, &wanted)?;
    Ok(python)
}

/// A program of the workspace, built: its package and its name.
pub fn program(package: &str, name: &str) -> Result<PathBuf> {
    succeed(workspace::cargo().args(["build", "--quiet", "--package", package, "--bin", name]))?;
    let debug = workspace::target_dir()?.join("debug");
    Ok(debug.join(name).with_extension(std::env::consts::EXE_EXTENSION))
}

/// A script of `tests/python`.
pub fn script(name: &str) -> PathBuf {
    Path::new(workspace::root()).join("tests/python").join(name)
}
