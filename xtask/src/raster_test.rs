//! `cargo xtask raster-test`: GeoTIFFs between halotile and rasterio, which is GDAL with a Python face.
//!
//! rasterio comes as wheels with GDAL in them and goes into a virtual environment below the target directory, at fixed versions:
//! another GDAL may write other files. The checks are in `tests/python/raster_*.py`; they run the library through halotile-tests'
//! program `raster-io`, and the program `halotile` as users have it: some of the rasters are large.

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
    let mut checks = Command::new(python::with("raster-python", "raster.txt")?);
    checks.arg(python::script("raster_roundtrip.py"));
    checks.arg("--raster-io").arg(workspace::program("raster-io")?);
    checks.arg("--halotile").arg(workspace::released()?);
    succeed(checks.args(&options.only).stdin(Stdio::null()))
}
