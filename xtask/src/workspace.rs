//! Where things lie in the workspace, and running other programs.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use rayon::prelude::*;

/// The directory of the workspace's Cargo.toml.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// A crate of kernels, which has PTX and a report of its own.
pub struct KernelCrate {
    /// The package's name.
    pub package: &'static str,
    /// Where it lies, from the workspace's root.
    pub folder: &'static str,
    /// What the names of its PTX files begin with.
    pub prefix: &'static str,
    /// The architectures that PTX is made for: the oldest that CUDA 13 still knows, and those since which there are
    /// instructions that a kernel needs. A kernel is in the file of the oldest that has all of its own; the driver compiles it
    /// for every later one.
    pub architectures: &'static [&'static str],
}

/// All crates of kernels.
pub const KERNEL_CRATES: [KernelCrate; 2] = [
    KernelCrate {
        package: "halotile-kernels",
        folder: "kernels",
        prefix: "halotile",
        architectures: &["sm_75", "sm_80", "sm_90"],
    },
    KernelCrate {
        package: "halotile-lab-kernels",
        folder: "lab/kernels",
        prefix: "halotile-lab",
        architectures: &["sm_75"],
    },
];

impl KernelCrate {
    /// The directory of what `build-ptx` and `ptx-report` make.
    pub fn ptx_dir(&self) -> PathBuf {
        root().join(self.folder).join("ptx")
    }

    /// The name of the PTX file of an architecture, as `sm_75`.
    pub fn ptx_name(&self, arch: &str) -> String {
        format!("{}.{arch}.ptx", self.prefix)
    }

    /// The committed PTX of an architecture.
    pub fn ptx_file(&self, arch: &str) -> PathBuf {
        self.ptx_dir().join(self.ptx_name(arch))
    }

    /// The report of what its kernels use.
    pub fn report_file(&self) -> PathBuf {
        self.ptx_dir().join("resources.json")
    }
}

/// The cargo that runs xtask.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// The program `halotile` as users have it, built.
pub fn released() -> Result<PathBuf> {
    // As README's example builds it: for the program alone.
    succeed(cargo().args(["build", "--quiet", "--release", "--package", "halotile-cli"]))?;
    Ok(target_dir()?.join("release/halotile").with_extension(std::env::consts::EXE_EXTENSION))
}

/// A program of the workspace, built for tests.
pub fn program(name: &str) -> Result<PathBuf> {
    // With the features that the whole workspace asks for: those of one package alone are others, and all it depends on would be compiled
    // once more than for the tests.
    succeed(cargo().args(["build", "--quiet", "--workspace", "--bin", name]))?;
    Ok(target_dir()?.join("debug").join(name).with_extension(std::env::consts::EXE_EXTENSION))
}

/// Cargo's target directory, wherever the user's settings put it.
pub fn target_dir() -> Result<PathBuf> {
    let text = output(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&text).context("cargo metadata printed no JSON")?;
    let path = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(path.into())
}

/// Does the work for all items, as many at a time as there are cores. What comes of it is in the order of the items; of errors it is the first item's.
pub fn parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Result<R> + Sync) -> Result<Vec<R>> {
    // Collected first: of several errors the first item's is the one to tell.
    let done: Vec<Result<R>> = items.par_iter().map(&work).collect();
    done.into_iter().collect()
}

/// Runs a command that must succeed; what it prints goes where ours goes.
pub fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {}", name(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", name(command));
    }
    Ok(())
}

/// Runs a command that must succeed and returns its standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {}", name(command)))?;
    if !output.status.success() {
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        bail!("{} failed ({})\n{}{}", name(command), output.status, out, err);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} printed something that is not text", name(command)))
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// Prints to standard output. A reader that has seen enough, like `head`, is no failure.
pub fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot print"),
    }
}

/// Reads a text file, naming it in the error.
pub fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Writes a file, naming it in the error.
pub fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_parallel_work_are_in_order_and_so_are_errors() {
        let items: Vec<usize> = (0..100).collect();
        assert_eq!(parallel(&items, |&i| Ok(i * i)).unwrap(), items.iter().map(|i| i * i).collect::<Vec<_>>());
        let error = parallel(&items, |&i| if i % 30 == 29 { bail!("{i}") } else { Ok(()) }).unwrap_err();
        assert_eq!(error.to_string(), "29");
        assert!(parallel(&[], |_: &()| Ok(())).unwrap().is_empty());
    }
}
