//! `cargo xtask ptx-report`: what each kernel uses on each architecture.
//!
//! The committed PTX is assembled by `ptxas` for every architecture that halotile supports, which is a check in
//! itself, and what ptxas says of registers, shared memory, stack and spills goes to `resources.json` beside the PTX, for each
//! crate of kernels. The library embeds these files, so that occupancy can be computed where there is no GPU.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::workspace::{KERNEL_CRATES, KernelCrate, parallel, print, read, write};
use crate::{hash, launch_bounds, nvidia, ptx};

/// The architectures reported: one for each generation of GPUs since the base.
const ARCHITECTURES: [&str; 7] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"];

#[derive(clap::Args)]
pub struct Options {
    /// Compare with the committed report
    #[arg(long)]
    check: bool,
    /// Only print what kernels use on this architecture, several if given again
    #[arg(long, conflicts_with = "check")]
    arch: Vec<String>,
}

/// A file's content; the crate of the kernels embeds it, and `simt-exec/src/resources.rs` reads it.
#[derive(Serialize)]
struct Report {
    /// The hash of the PTX that was assembled, so that a test without ptxas can tell a report of an older one.
    ptx_sha256: String,
    ptxas: String,
    kernels: BTreeMap<String, Kernel>,
}

#[derive(Serialize)]
struct Kernel {
    max_threads: u32,
    min_blocks: u32,
    architectures: BTreeMap<String, Usage>,
}

/// What ptxas says of one kernel on one architecture.
#[derive(Serialize, Clone, Copy, Default, Debug, PartialEq)]
struct Usage {
    registers: u32,
    shared_bytes: u32,
    stack_bytes: u32,
    spill_stores: u32,
    spill_loads: u32,
}

pub fn run(options: &Options) -> Result<()> {
    if !options.arch.is_empty() {
        let archs: Vec<&str> = options.arch.iter().map(String::as_str).collect();
        let mut kernels = BTreeMap::new();
        for krate in &KERNEL_CRATES {
            kernels.append(&mut report(krate, &archs)?.kernels);
        }
        return print(&table(&kernels));
    }
    KERNEL_CRATES.iter().try_for_each(|krate| write_or_check(krate, options.check))
}

fn write_or_check(krate: &KernelCrate, check: bool) -> Result<()> {
    let report = report(krate, &ARCHITECTURES)?;
    let text = serde_json::to_string_pretty(&report)? + "\n";
    let path = krate.report_file();
    if !check {
        write(&path, &text)?;
        eprintln!("{} written with ptxas {}", path.display(), report.ptxas);
        return Ok(());
    }
    let committed = read(&path)?;
    if committed != text {
        let lines = || committed.lines().zip(text.lines()).enumerate();
        let (line, (old, new)) =
            lines().find(|(_, (old, new))| old != new).unwrap_or((committed.lines().count(), ("(the end)", "more")));
        bail!(
            "{} is not what ptxas {} says: line {} is `{}` and should be `{}`. Run cargo xtask ptx-report{}.",
            path.display(),
            report.ptxas,
            line + 1,
            old.trim(),
            new.trim(),
            if old.contains("\"ptxas\"") { " with the ptxas that cargo xtask tools installs" } else { "" },
        );
    }
    eprintln!("{} is what ptxas {} says", path.display(), report.ptxas);
    Ok(())
}

fn report(krate: &KernelCrate, archs: &[&str]) -> Result<Report> {
    let texts = ptx::texts(krate)?;
    let mut all = BTreeMap::new();
    for (made_for, text) in &texts {
        let mut kernels = BTreeMap::new();
        for kernel in ptx::functions(text).iter().filter(|function| function.kernel) {
            let (max_threads, min_blocks) = launch_bounds::placed(kernel)?;
            kernels.insert(kernel.name.to_owned(), Kernel { max_threads, min_blocks, architectures: BTreeMap::new() });
        }
        assemble(krate, made_for, text, archs, &mut kernels)?;
        all.append(&mut kernels);
    }
    let hashed: String = texts.into_iter().map(|(_, text)| text).collect();
    Ok(Report { ptx_sha256: hash::text(&hashed), ptxas: nvidia::version("ptxas")?, kernels: all })
}

/// Assembles the PTX made for one architecture for those of `archs` that run it, and notes what each kernel uses.
fn assemble(
    krate: &KernelCrate,
    made_for: &str,
    text: &str,
    archs: &[&str],
    kernels: &mut BTreeMap<String, Kernel>,
) -> Result<()> {
    let path = krate.ptx_file(made_for);
    hash::require_fresh(krate, &path, text)?;
    let oldest = ptx::number(made_for)?;
    let mut runs = Vec::new();
    for &arch in archs {
        if ptx::number(arch)? >= oldest {
            runs.push(arch);
        }
    }
    let said = parallel(&runs, |arch| {
        let mut ptxas = nvidia::command("ptxas")?;
        let target = format!("--gpu-name={arch}");
        // The report comes on standard error; the code itself is not wanted.
        let said = ptxas.arg("--verbose").arg(target).arg(&path).args(["--output-file", "/dev/null"]).output()?;
        let said_text = String::from_utf8_lossy(&said.stderr).into_owned();
        if !said.status.success() {
            bail!("ptxas does not assemble {} for {arch}:\n{said_text}", path.display());
        }
        Ok(said_text)
    })?;
    for (arch, said_text) in runs.into_iter().zip(&said) {
        let mut usages = parse(said_text).with_context(|| format!("reading what ptxas says of {arch}"))?;
        for (name, kernel) in &mut *kernels {
            let usage = usages.remove(name.as_str()).with_context(|| format!("ptxas says nothing of {name}"))?;
            kernel.architectures.insert(arch.to_owned(), usage);
        }
    }
    Ok(())
}

/// Reads `ptxas --verbose`:
///
/// ```text
/// ptxas info    : Compiling entry function 'NAME' for 'sm_90'
/// ptxas info    : Function properties for NAME
///     24 bytes stack frame, 44 bytes spill stores, 44 bytes spill loads
/// ptxas info    : Used 128 registers, used 1 barriers, 24 bytes cumulative stack size, 33024 bytes smem
/// ```
///
/// The properties of a function that a kernel calls come among those of the kernel, under its own name.
fn parse(said: &str) -> Result<BTreeMap<&str, Usage>> {
    let mut usages: BTreeMap<&str, Usage> = BTreeMap::new();
    let (mut kernel, mut function) = ("", "");
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernel = rest.split('\'').next().unwrap_or(rest);
            usages.insert(kernel, Usage::default());
        } else if let Some((_, name)) = line.split_once("Function properties for ") {
            function = name.trim();
        } else if let Some(usage) = usages.get_mut(kernel) {
            for part in line.split(", ") {
                let part = part.rsplit(": ").next().unwrap_or(part).trim();
                if let Some(used) = part.strip_prefix("Used ").and_then(|part| part.strip_suffix(" registers")) {
                    usage.registers = used.parse()?;
                } else if let Some((bytes, what)) = part.split_once(" bytes ") {
                    let slot = match what {
                        "smem" => &mut usage.shared_bytes,
                        "stack frame" if function == kernel => &mut usage.stack_bytes,
                        "spill stores" if function == kernel => &mut usage.spill_stores,
                        "spill loads" if function == kernel => &mut usage.spill_loads,
                        _ => continue,
                    };
                    *slot = bytes.parse()?;
                }
            }
        }
    }
    if let Some((name, _)) = usages.iter().find(|(_, usage)| usage.registers == 0) {
        bail!("it names no registers for {name}");
    }
    Ok(usages)
}

fn table(kernels: &BTreeMap<String, Kernel>) -> String {
    let mut text = format!(
        "{:<32} {:<7} {:>9} {:>7} {:>6} {:>7} {:>7}\n",
        "kernel", "arch", "registers", "shared", "stack", "stores", "loads"
    );
    for (name, kernel) in kernels {
        for (arch, usage) in &kernel.architectures {
            let Usage { registers, shared_bytes, stack_bytes, spill_stores, spill_loads } = usage;
            text += &format!(
                "{name:<32} {arch:<7} {registers:>9} {shared_bytes:>7} {stack_bytes:>6} {spill_stores:>7} {spill_loads:>7}\n"
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ptxas_says_is_read() {
        let said = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'two' for 'sm_90'
ptxas info    : Function properties for two
    24 bytes stack frame, 44 bytes spill stores, 48 bytes spill loads
ptxas info    : Function properties for helper
    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 32 bytes cumulative stack size, 33024 bytes smem
ptxas info    : Compile time = 430.068 ms
ptxas info    : Compiling entry function 'one' for 'sm_90'
ptxas info    : Function properties for one
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, 384 bytes cmem[0]
";
        let one = Usage { registers: 10, ..Usage::default() };
        let two = Usage { registers: 128, shared_bytes: 33024, stack_bytes: 24, spill_stores: 44, spill_loads: 48 };
        assert_eq!(parse(said).unwrap(), BTreeMap::from([("one", one), ("two", two)]));
    }

    #[test]
    fn the_committed_report_is_of_the_committed_ptx() {
        for krate in &KERNEL_CRATES {
            let report = read(&krate.report_file()).unwrap();
            let report: serde_json::Value = serde_json::from_str(&report).unwrap();
            let ptx: String = ptx::texts(krate).unwrap().into_iter().map(|(_, text)| text).collect();
            assert_eq!(
                report["ptx_sha256"],
                hash::text(&ptx),
                "{} is of other PTX than the one here: run cargo xtask ptx-report",
                krate.report_file().display()
            );
        }
    }

    #[test]
    fn a_kernel_without_registers_is_an_error() {
        let error = parse("ptxas info : Compiling entry function 'one' for 'sm_90'\n").unwrap_err();
        assert_eq!(error.to_string(), "it names no registers for one");
    }
}
