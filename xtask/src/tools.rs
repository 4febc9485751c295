//! `cargo xtask tools`: installs what building and checking PTX takes, where it is missing; with `--browser`, in place of that,
//! the browser that `cargo xtask browser-test` takes.
//!
//! For PTX two things: the compiler of device code, by the system's packages where they have its version and by rustup
//! otherwise, and NVIDIA's assembler, disassemblers and occupancy calculator, which come as Python wheels. The wheels are only unpacked,
//! below the target directory: nothing of Python's is changed. With `--fuzz` only the C++ compiler that `cargo xtask fuzz` takes; with `--aarch64` the compiler, and what
//! `cargo xtask aarch64-test` takes besides.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::aarch64_test;
use crate::browser_test;
use crate::fuzz;
use crate::nvidia;
use crate::python;
use crate::toolchain::{Toolchain, VERSION};
use crate::workspace::{output, read, succeed};

/// Debian's packages of the device compiler.
const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "libstd-rust-web-dev"];

/// The wheels, in `tests/python/requirements`; all of one version.
const WHEELS: &str = "nvidia.txt";

/// The programs wanted from the wheels.
const PROGRAMS: [&str; 3] = ["ptxas", "cuobjdump", "nvdisasm"];

/// The header wanted from them.
const HEADER: &str = "cuda_occupancy.h";

#[derive(clap::Args)]
pub struct Options {
    /// Install only a browser for `browser-test`
    #[arg(long)]
    browser: bool,
    /// Install only a C++ compiler for `fuzz`
    #[arg(long, conflicts_with = "browser")]
    fuzz: bool,
    /// Install only a linker, a C library and an emulator for `aarch64-test`, and the device compiler, which compiles for AArch64 too
    #[arg(long, conflicts_with_all = ["browser", "fuzz"])]
    aarch64: bool,
}

pub fn run(options: &Options) -> Result<()> {
    if options.browser {
        return browser();
    }
    if options.fuzz {
        return compiler();
    }
    device_compiler()?;
    if options.aarch64 { aarch64() } else { nvidia_programs() }
}

/// Debian's Chromium, with a font: without any, text has no size.
fn browser() -> Result<()> {
    install_unless(browser_test::browser().is_some(), &["chromium", "fonts-dejavu-core"])?;
    let path = browser_test::browser().context("the package chromium has brought no browser")?;
    eprintln!("browser: {} is here", path.display());
    Ok(())
}

/// A C++ compiler, which libFuzzer's source takes.
fn compiler() -> Result<()> {
    install_unless(fuzz::compiler().is_ok(), &["g++"])?;
    fuzz::compiler()?;
    eprintln!("C++ compiler: it is here");
    Ok(())
}

/// A linker for AArch64, a C library, and an emulator that runs its programs.
fn aarch64() -> Result<()> {
    install_unless(aarch64_test::machine().is_ok(), &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user"])?;
    aarch64_test::machine()?;
    eprintln!("AArch64: a linker and an emulator are here");
    Ok(())
}

/// Installs the system's packages unless what they bring is there.
fn install_unless(is_there: bool, packages: &[&str]) -> Result<()> {
    if is_there {
        return Ok(());
    }
    apt(&["update"])?;
    install(packages)
}

fn install(packages: &[&str]) -> Result<()> {
    apt(&[["install", "--no-install-recommends"].as_slice(), packages].concat())
}

fn apt(arguments: &[&str]) -> Result<()> {
    let root = output(Command::new("id").arg("-u"))?.trim() == "0";
    let mut command = Command::new(if root { "apt-get" } else { "sudo" });
    if !root {
        command.args(["-n", "apt-get"]);
    }
    command.args(["-q", "-y"]).args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    succeed(&mut command)
}

fn device_compiler() -> Result<()> {
    if let Ok(toolchain) = Toolchain::find() {
        eprintln!("device compiler: {} is here", toolchain.version);
        return Ok(());
    }
    let packages = debian();
    if let Err(error) = &packages {
        eprintln!("device compiler: not from the system's packages ({error:#}); trying rustup");
    }
    if packages.is_err() || Toolchain::find().is_err() {
        let install = ["toolchain", "install", VERSION, "--profile", "minimal", "--component", "rust-src"];
        succeed(Command::new("rustup").args(install).arg("--no-self-update"))?;
    }
    eprintln!("device compiler: {} installed", Toolchain::find()?.version);
    Ok(())
}

fn debian() -> Result<()> {
    apt(&["update"])?;
    // Other releases have packages of these names in other versions, which would be of no use here.
    let policy = output(Command::new("apt-cache").args(["policy", PACKAGES[0]]).env("LC_ALL", "C"))?;
    let candidate = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: ")).unwrap_or("(none)");
    if !candidate.starts_with(VERSION) {
        bail!("{} there is of version {candidate}", PACKAGES[0]);
    }
    install(&PACKAGES)
}

fn nvidia_programs() -> Result<()> {
    let tools = nvidia::installed()?;
    let list = python::requirements_file(WHEELS);
    let pins = python::pins(&read(&list)?);
    let (_, version) = pins.first().with_context(|| format!("{} names no wheel", list.display()))?;
    if current(&tools, &pins) {
        eprintln!("NVIDIA's tools: {version} is here");
        return Ok(());
    }
    // Made beside the target and renamed, so that what is there is whole.
    let parent = tools.parent().context("the target directory has no parent")?;
    std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    let fresh = tempfile::tempdir_in(parent).context("cannot make a temporary directory")?;
    let wheels = tempfile::tempdir().context("cannot make a temporary directory")?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest"]);
    succeed(pip.arg(wheels.path()).arg("--requirement").arg(&list).stdin(Stdio::null()))
        .context("downloading NVIDIA's wheels")?;
    for wheel in wheels.path().read_dir()? {
        // A wheel is a zip archive.
        succeed(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(wheel?.path()).arg(fresh.path()))?;
    }
    make_executable(fresh.path())?;
    if tools.exists() {
        std::fs::remove_dir_all(&tools).with_context(|| format!("cannot remove {}", tools.display()))?;
    }
    std::fs::rename(fresh.keep(), &tools).with_context(|| format!("cannot create {}", tools.display()))?;
    if !current(&tools, &pins) {
        bail!("NVIDIA's wheels {version} do not hold {} and {HEADER}", PROGRAMS.join(", "));
    }
    eprintln!("NVIDIA's tools: {version} installed in {}", tools.display());
    Ok(())
}

/// Whether these wheels are unpacked there, with the programs and the header we want.
fn current(tools: &Path, wheels: &[(String, String)]) -> bool {
    let unpacked = |(wheel, version): &(String, String)| {
        tools.join(format!("{}-{version}.dist-info", wheel.replace('-', "_"))).is_dir()
    };
    let (programs, headers) = (nvidia::installed_in(tools, "bin"), nvidia::installed_in(tools, "include"));
    let there = |program: &str| programs.iter().any(|directory| directory.join(program).is_file());
    let header = headers.iter().any(|directory| directory.join(HEADER).is_file());
    wheels.iter().all(unpacked) && PROGRAMS.into_iter().all(there) && header
}

/// Python's zipfile drops the permissions that the wheel has.
fn make_executable(tools: &Path) -> Result<()> {
    for directory in nvidia::installed_in(tools, "bin") {
        for program in PROGRAMS {
            let path = directory.join(program);
            if path.is_file() {
                succeed(Command::new("chmod").arg("+x").arg(path))?;
            }
        }
    }
    Ok(())
}
