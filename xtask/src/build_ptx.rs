//! `cargo xtask build-ptx`: the kernels, compiled to PTX.
//!
//! rustc's NVPTX backend writes it as the assembly of a crate of kernels, after whole-program optimisation. Then
//!
//! 1. launch bounds move to where PTX wants them (`launch_bounds`),
//! 2. a panic path left in a kernel is an error (`panics`),
//! 3. kernels are left out that need a newer architecture than the file's, or are in an older one's (`launch_bounds`),
//! 4. symbols lose what depends on the machine (`symbols`),
//! 5. a header says what the file is and of which sources (`hash`).
//!
//! The result is committed, and embedded in the library.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::toolchain::Toolchain;
use crate::workspace::{self, KERNEL_CRATES, KernelCrate, parallel, read, succeed, write};
use crate::{hash, launch_bounds, panics, ptx, symbols};

#[derive(clap::Args)]
pub struct Options {
    /// Rebuild from nothing and compare with the committed files, byte for byte
    #[arg(long)]
    check: bool,
    /// Compile for this architecture, several if given again [default: those that each crate of kernels has PTX for]
    #[arg(long)]
    arch: Vec<String>,
    /// Write to this directory [default: kernels/ptx and lab/kernels/ptx]
    #[arg(long, conflicts_with = "check")]
    out: Option<PathBuf>,
}

pub fn run(options: &Options) -> Result<()> {
    let everywhere = KERNEL_CRATES.iter().flat_map(|krate| krate.architectures);
    let unknown = options.arch.iter().find(|asked| !everywhere.clone().any(|arch| arch == asked));
    if let (Some(arch), None) = (unknown, &options.out) {
        bail!("there is no PTX for {arch} to write or to check; give --out for a file elsewhere");
    }
    let toolchain = Toolchain::find()?;
    if options.check {
        let target = tempfile::tempdir().context("cannot make a temporary directory")?;
        let of = |krate| architectures(krate, options).into_iter().map(move |arch| (krate, arch));
        let files: Vec<_> = KERNEL_CRATES.iter().flat_map(of).collect();
        // The compiler works on one core, and cargo on one build a directory: each file has its own, which costs less than waiting.
        let own = |krate: &KernelCrate, arch| target.path().join(krate.ptx_name(arch));
        parallel(&files, |&(krate, arch)| check(&toolchain, krate, arch, &own(krate, arch)))?;
        return Ok(());
    }
    // Not the host's own target directory: a build that is running there would hold this one up.
    let target = workspace::target_dir()?.join("device");
    for krate in &KERNEL_CRATES {
        let out = options.out.clone().unwrap_or_else(|| krate.ptx_dir());
        std::fs::create_dir_all(&out).with_context(|| format!("cannot create {}", out.display()))?;
        for arch in architectures(krate, options) {
            let path = out.join(krate.ptx_name(arch));
            write(&path, &build(&toolchain, krate, arch, &target)?)?;
            eprintln!("{} written", path.display());
        }
    }
    Ok(())
}

fn architectures<'a>(krate: &KernelCrate, options: &'a Options) -> Vec<&'a str> {
    if options.arch.is_empty() {
        return krate.architectures.to_vec();
    }
    // Beside the committed files there are those of the crate's own architectures only.
    let asked = options.arch.iter().map(String::as_str);
    asked.filter(|arch| options.out.is_some() || krate.architectures.contains(arch)).collect()
}

fn check(toolchain: &Toolchain, krate: &KernelCrate, arch: &str, target: &Path) -> Result<()> {
    let path = krate.ptx_file(arch);
    let (committed, rebuilt) = (read(&path)?, build(toolchain, krate, arch, target)?);
    if committed != rebuilt {
        let lines = committed.lines().zip(rebuilt.lines());
        let same = lines.take_while(|(committed, rebuilt)| committed == rebuilt).count();
        bail!(
            "{} is not what the sources give: line {} is\n  {}\nand should be\n  {}\nRun cargo xtask build-ptx.",
            path.display(),
            same + 1,
            committed.lines().nth(same).unwrap_or("(the end)"),
            rebuilt.lines().nth(same).unwrap_or("(the end)"),
        );
    }
    eprintln!("{} is what the sources give, byte for byte", path.display());
    Ok(())
}

/// The text of a crate's PTX file of one architecture.
fn build(toolchain: &Toolchain, krate: &KernelCrate, arch: &str, target: &Path) -> Result<String> {
    let raw = compile(toolchain, krate, arch, target)?;
    launch_bounds::require(&raw, krate.architectures)?;
    let number = ptx::number(arch)?;
    let own = |least| if krate.architectures.contains(&arch) { least == number } else { least <= number };
    let text = launch_bounds::place(&launch_bounds::select(&raw, own)?)?;
    panics::refuse(&text)?;
    // LLVM's banner goes, ours comes.
    let text: String = symbols::rename(&text).split_inclusive('\n').skip_while(|line| !line.starts_with('.')).collect();
    Ok(format!(
        "//\n\
         // The GPU kernels of halotile, compiled to PTX. Made by `cargo xtask build-ptx` from {}/ and simt/: do not\n\
         // edit. A test fails when the sources have changed since, and CI rebuilds this file byte for byte.\n\
         //\n\
         // compiler: {}\n\
         // arch: {arch}\n\
         // {}{}\n\
         //\n\n{}\n",
        krate.folder,
        toolchain.version,
        ptx::SOURCES,
        hash::sources(workspace::root(), krate)?,
        text.trim_end(),
    ))
}

/// Runs the device compiler; what it writes as assembly is PTX.
fn compile(toolchain: &Toolchain, krate: &KernelCrate, arch: &str, target: &Path) -> Result<String> {
    let assembly = format!("nvptx64-nvidia-cuda/ptx/deps/{}.s", krate.package.replace('-', "_"));
    let mut cargo = toolchain.cargo();
    cargo.current_dir(workspace::root());
    cargo.args(["rustc", "--quiet", "--locked", "--package", krate.package, "--profile", "ptx"]);
    cargo.args(["--target", "nvptx64-nvidia-cuda", "-Zbuild-std=core", "--crate-type", "cdylib"]);
    cargo.arg("--target-dir").arg(target);
    // `true` stands in for the linker: the assembly is written before linking, and nothing needs the linked file.
    cargo.args(["--", "--emit=asm", "-C", "linker=true", "-C", &format!("target-cpu={arch}")]);
    // The compiler's own optimiser copies what two equal conditions enclose into the branches, and does not know of barriers: half a warp would wait
    // at one copy and half at the other. LLVM, which does the same, knows.
    cargo.arg("-Zmir-enable-passes=-JumpThreading");
    // What the compiler takes for these architectures, PTX 7.0 and 7.8, lacks some of their instructions.
    let version = match arch {
        "sm_80" => Some("ptx71"),
        "sm_90" => Some("ptx80"),
        _ => None,
    };
    if let Some(version) = version {
        cargo.args(["-C", &format!("target-feature=+{version}")]);
    }
    succeed(&mut cargo).with_context(|| format!("compiling {}", krate.package))?;
    read(&target.join(assembly))
}
