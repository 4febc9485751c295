//! Finding the compiler of device code.
//!
//! It is one version and no other, because the committed PTX is rebuilt byte for byte. Stable rustc refuses the
//! features that kernels need, so it runs with RUSTC_BOOTSTRAP=1, and `core` for the GPU is compiled from the
//! library source of the same version.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::output;

/// The version of rustc that compiles kernels.
pub const VERSION: &str = "1.96.0";

/// A rustc and its cargo that can compile for the GPU.
pub struct Toolchain {
    rustc: PathBuf,
    cargo: PathBuf,
    /// What `rustc --version` says, less the words that differ between packagers.
    pub version: String,
}

impl Toolchain {
    /// The toolchain that the environment names, else the system's (Debian's packages), else rustup's.
    pub fn find() -> Result<Self> {
        let named = ["HALOTILE_DEVICE_RUSTC", "HALOTILE_DEVICE_CARGO"].map(std::env::var_os);
        if let [Some(rustc), Some(cargo)] = named {
            return Self::new(rustc.into(), cargo.into())
                .context("HALOTILE_DEVICE_RUSTC and HALOTILE_DEVICE_CARGO name no device toolchain");
        }
        let system = Self::new("/usr/bin/rustc".into(), "/usr/bin/cargo".into());
        let toolchain = system.or_else(|system| Self::of_rustup().map_err(|rustup| rustup.context(system)));
        toolchain.map_err(|error| {
            anyhow::anyhow!(
                "kernels are compiled by rustc {VERSION} with its library source, and there is none here. Install\n  \
                 rustup toolchain install {VERSION} --profile minimal --component rust-src\n\
                 or, on a Debian that has this version,\n  \
                 apt-get install rustc-web cargo-web rust-web-src libstd-rust-web-dev\n\
                 or name another in HALOTILE_DEVICE_RUSTC and HALOTILE_DEVICE_CARGO.\n(tried: {error:#})"
            )
        })
    }

    fn of_rustup() -> Result<Self> {
        Self::new(rustup_which("rustc")?, rustup_which("cargo")?)
    }

    fn new(rustc: PathBuf, cargo: PathBuf) -> Result<Self> {
        let said = output(clean(&mut Command::new(&rustc)).arg("--version"))?;
        if said.split_whitespace().nth(1) != Some(VERSION) {
            bail!("{} is {}", rustc.display(), said.trim());
        }
        let sysroot = output(clean(&mut Command::new(&rustc)).args(["--print", "sysroot"]))?;
        let library = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library");
        if !library.join("core/src/lib.rs").is_file() {
            bail!("{} has no library source in {}", rustc.display(), library.display());
        }
        output(clean(&mut Command::new(&cargo)).arg("--version"))?;
        let version = said.split_inclusive(')').next().unwrap_or(&said).trim().to_owned();
        Ok(Self { rustc, cargo, version })
    }

    /// A cargo command that compiles for the GPU and inherits nothing that could change its output.
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(&self.cargo);
        clean(&mut command).env("RUSTC", &self.rustc).env("RUSTC_BOOTSTRAP", "1");
        // Set and empty: flags in the user's cargo configuration do not count either.
        command.env("CARGO_ENCODED_RUSTFLAGS", "");
        command
    }
}

/// The path of a program of rustup's toolchain of our version.
fn rustup_which(program: &str) -> Result<PathBuf> {
    let mut rustup = Command::new("rustup");
    // Asked for a toolchain that is not there, rustup would install it; looking must not change the machine.
    clean(&mut rustup).env("RUSTUP_AUTO_INSTALL", "0");
    let path = output(rustup.args(["which", "--toolchain", VERSION, program]))?;
    Ok(path.trim().into())
}

/// Takes cargo's and rustc's settings out of a command's environment, except those that say where the two keep
/// their files and how they reach the network. `cargo xtask` itself sets some of them: under rustup, for
/// one, RUSTUP_TOOLCHAIN.
fn clean(command: &mut Command) -> &mut Command {
    const KEPT: [&str; 7] =
        ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR", "CARGO_SOURCE_", "CARGO_TERM_", "RUSTUP_HOME"];
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let ours = text.starts_with("CARGO") || text.starts_with("RUST");
        if ours && !KEPT.iter().any(|kept| text.starts_with(kept)) {
            command.env_remove(&name);
        }
    }
    command
}
