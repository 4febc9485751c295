//! Finding NVIDIA's command-line tools, `ptxas`, `cuobjdump`, `nvdisasm`, and headers.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Where `cargo xtask tools` puts them.
pub fn installed() -> Result<PathBuf> {
    Ok(workspace::target_dir()?.join("cuda-tools"))
}

/// The directories with programs ("bin") or headers ("include") in what `cargo xtask tools` has put there.
pub fn installed_in(tools: &Path, folder: &str) -> Vec<PathBuf> {
    let versions = tools.join("nvidia").read_dir().into_iter().flatten().flatten();
    versions.map(|entry| entry.path().join(folder)).filter(|path| path.is_dir()).collect()
}

/// The directory of a header: what `cargo xtask tools` has installed, or a CUDA toolkit's.
pub fn include(header: &str) -> Result<PathBuf> {
    let toolkits = toolkits().map(|toolkit| toolkit.join("include"));
    let mut directories = installed_in(&installed()?, "include").into_iter().chain(toolkits);
    directories
        .find(|directory| directory.join(header).is_file())
        .with_context(|| format!("{header} is not here: run cargo xtask tools"))
}

/// The path of a tool: what the environment names in capitals (`PTXAS`), what `cargo xtask tools` has installed, one
/// on PATH, or a CUDA toolkit's. The installed ones come before any other because their version is
/// the one that the committed report was made with.
pub fn find(name: &str) -> Result<PathBuf> {
    let variable = name.to_uppercase();
    if let Some(path) = std::env::var_os(&variable).map(PathBuf::from) {
        if !path.is_file() {
            bail!("{variable} names {}, which is no file", path.display());
        }
        return Ok(path);
    }
    directories()?
        .into_iter()
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
        .with_context(|| format!("{name} is not here: run cargo xtask tools, or set {variable} to its path"))
}

/// A command of a tool. The others are on its PATH: cuobjdump calls nvdisasm.
pub fn command(name: &str) -> Result<Command> {
    let mut command = Command::new(find(name)?);
    command.env("PATH", std::env::join_paths(directories()?)?);
    Ok(command)
}

fn directories() -> Result<Vec<PathBuf>> {
    let mut directories = installed_in(&installed()?, "bin");
    directories.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    directories.extend(toolkits().map(|toolkit| toolkit.join("bin")));
    Ok(directories)
}

fn toolkits() -> impl Iterator<Item = PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    named.chain(["/usr/local/cuda".into()])
}

/// A tool's version, as `13.5.37`.
pub fn version(name: &str) -> Result<String> {
    let said = workspace::output(command(name)?.arg("--version"))?;
    let version = said.lines().find_map(|line| line.rsplit_once(", V"));
    Ok(version.with_context(|| format!("{name} --version names no version"))?.1.trim().to_owned())
}
