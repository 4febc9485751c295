//! Python with packages from elsewhere, to compare halotile with or to test its own package with: in a virtual environment below the target directory,
//! at fixed versions.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace::{self, output, read, succeed, write};

/// The Python of the environment `name`, with these packages and no others in it, but for what `install` puts there. Only wheels are installed: nothing is built.
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

/// Puts a wheel into the environment of that Python, in place of an earlier one of the package, and nothing that it needs.
pub fn install(python: &Path, wheel: &Path) -> Result<()> {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]);
    succeed(pip.arg("--force-reinstall").arg(wheel).stdin(Stdio::null()))
        .with_context(|| format!("installing {}", wheel.display()))
}

/// A source distribution, not unpacked: the file of this name that pip downloads for a requirement with a hash. Nothing of it is built or run.
pub fn sources(python: &Path, requirement: &str, file: &str) -> Result<PathBuf> {
    let directory = workspace::target_dir()?.join("python-sources");
    let path = directory.join(file);
    // pip puts it there when its hash is right.
    if path.is_file() {
        return Ok(path);
    }
    std::fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
    // A hash can be given in a file only.
    let list = directory.join("requirements.txt");
    write(&list, requirement)?;
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", ":all:"]);
    pip.args(["--require-hashes", "--no-build-isolation", "--dest"]).arg(&directory).arg("--requirement").arg(&list);
    // pip asks a package's own build system for its name; this one knows it without building.
    pip.env("PYTHONPATH", script("no_build")).stdin(Stdio::null());
    succeed(&mut pip).with_context(|| format!("downloading {file}"))?;
    if !path.is_file() {
        bail!("{requirement} has not brought {file}");
    }
    Ok(path)
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
