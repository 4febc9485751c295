//! `cargo xtask raster-test`: GeoTIFFs between halotile and rasterio, which is GDAL with a Python face.
//!
//! rasterio comes as wheels with GDAL in them and goes into a virtual environment below the target directory, at fixed versions:
//! another GDAL may write other files. The checks are in `tests/python/raster_roundtrip.py`; it runs the library through halotile-tests'
//! program `raster-io`, and the program `halotile`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::workspace::{self, output, read, succeed, write};

/// rasterio and all that it needs.
const PACKAGES: [&str; 9] = [
    "rasterio==1.4.4",
    "numpy==2.4.6",
    "affine==3.0.1",
    "attrs==26.1.0",
    "certifi==2026.10.18",
    "click==8.5.1",
    "click-plugins==1.1.1.2",
    "cligj==0.7.2",
    "pyparsing==3.3.3",
];

#[derive(clap::Args)]
pub struct Options {
    /// Only checks whose names contain all of these
    only: Vec<String>,
}

pub fn run(options: &Options) -> Result<()> {
    let target = workspace::target_dir()?;
    let python = python(&target.join("raster-python"))?;
    for (package, program) in [("halotile-tests", "raster-io"), ("halotile-cli", "halotile")] {
        succeed(workspace::cargo().args(["build", "--quiet", "--package", package, "--bin", program]))?;
    }
    let program = |name: &str| target.join("debug").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    let mut checks = Command::new(python);
    checks.arg(workspace::root().join("tests/python/raster_roundtrip.py"));
    checks.arg("--raster-io").arg(program("raster-io")).arg("--halotile").arg(program("halotile"));
    succeed(checks.args(&options.only).stdin(Stdio::null()))
}

/// The environment's Python, with the packages in it.
fn python(environment: &Path) -> Result<PathBuf> {
    let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    // Written when all of them are there.
    let (list, wanted) = (environment.join("packages.txt"), PACKAGES.join("\n"));
    if read(&list).is_ok_and(|there| there == wanted) && output(Command::new(&python).arg("--version")).is_ok() {
        return Ok(python);
    }
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(environment).stdin(Stdio::null()))
        .context("a virtual environment takes python3 with venv")?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]);
    succeed(pip.args(PACKAGES).stdin(Stdio::null())).context("installing rasterio")?;
    write(&list, &wanted)?;
    Ok(python)
}
