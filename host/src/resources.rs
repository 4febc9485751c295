//! What each kernel uses on each GPU architecture, as NVIDIA's assembler reports it.
//!
//! Registers and shared memory decide how many blocks fit on a multiprocessor; a stack frame or a spill means
//! that the kernel touches memory it was not written to touch. The numbers are part of the library
//! (`cargo xtask ptx-report` makes them, CI compares them), so that they can be asked for where there is no GPU:
//!
//! ```
//! use halotile::resources;
//!
//! let naive = resources::kernel("entropy_naive", "sm_90").unwrap();
//! assert!(naive.registers <= 255);
//! assert_eq!(naive.spill_stores, 0);
//!
//! assert!(resources::kernels().any(|name| name == "entropy_naive"));
//! assert!(resources::architectures().any(|arch| arch == "sm_90"));
//! assert_eq!(resources::kernel("entropy_naive", "sm_52"), None);
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

/// What one kernel uses on one architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resources {
    /// Registers a thread.
    pub registers: u32,
    /// Static shared memory a block, in bytes. Dynamic shared memory comes on top.
    pub shared_bytes: u32,
    /// Stack frame a thread, in bytes: local arrays that are indexed at run time, and spilled registers.
    pub stack_bytes: u32,
    /// Bytes of spilled registers that the code stores.
    pub spill_stores: u32,
    /// Bytes of spilled registers that the code loads.
    pub spill_loads: u32,
    /// The most threads a block may have.
    pub max_threads: u32,
    /// The blocks of `max_threads` that a multiprocessor shall hold at once: the registers were allocated for it.
    pub min_blocks: u32,
}

/// What a kernel uses on an architecture, as `sm_90`; `None` when the report has no such kernel or architecture.
pub fn kernel(name: &str, arch: &str) -> Option<Resources> {
    let kernel = REPORT.kernels.get(name)?;
    let usage = kernel.architectures.get(arch)?;
    Some(Resources {
        registers: usage.registers,
        shared_bytes: usage.shared_bytes,
        stack_bytes: usage.stack_bytes,
        spill_stores: usage.spill_stores,
        spill_loads: usage.spill_loads,
        max_threads: kernel.max_threads,
        min_blocks: kernel.min_blocks,
    })
}

/// The names of all kernels, sorted.
pub fn kernels() -> impl Iterator<Item = &'static str> {
    REPORT.kernels.keys().map(String::as_str)
}

/// The architectures that the report covers, oldest first.
pub fn architectures() -> impl Iterator<Item = &'static str> {
    let archs = REPORT.kernels.values().flat_map(|kernel| kernel.architectures.keys());
    // `sm_100` is newer than `sm_90`: the number decides, not the text.
    let number = |arch: &str| arch.trim_start_matches("sm_").parse::<u32>().unwrap_or(u32::MAX);
    let sorted: BTreeSet<(u32, &'static str)> = archs.map(|arch| (number(arch), arch.as_str())).collect();
    sorted.into_iter().map(|(_, arch)| arch)
}

/// The version of the assembler that made the report, as `13.5.37`.
pub fn assembler() -> &'static str {
    &REPORT.ptxas
}

/// What is read of the file that `cargo xtask ptx-report` writes.
#[derive(Deserialize)]
struct Report {
    ptxas: String,
    kernels: BTreeMap<String, Kernel>,
}

#[derive(Deserialize)]
struct Kernel {
    max_threads: u32,
    min_blocks: u32,
    architectures: BTreeMap<String, Usage>,
}

#[derive(Deserialize)]
struct Usage {
    registers: u32,
    shared_bytes: u32,
    stack_bytes: u32,
    spill_stores: u32,
    spill_loads: u32,
}

static REPORT: LazyLock<Report> = LazyLock::new(|| {
    let read =
        |text| -> Report { serde_json::from_str(text).expect("the report is part of the library and a test reads it") };
    let mut report = read(include_str!("../../kernels/ptx/resources.json"));
    report.kernels.extend(read(include_str!("../../lab/kernels/ptx/resources.json")).kernels);
    report
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_reported_on_every_architecture() {
        assert!(kernels().count() > 0);
        for name in kernels() {
            for arch in architectures() {
                let Some(used) = kernel(name, arch) else {
                    let entry = halotile_kernels::find(name).or_else(|| halotile_lab_kernels::find(name));
                    let entry = entry.expect("a kernel of ours");
                    assert!(format!("sm_{}", entry.arch).as_str() > arch, "{name} is not reported on {arch}");
                    continue;
                };
                assert!((1..=255).contains(&used.registers), "{name} on {arch}: {used:?}");
                assert!((1..=1024).contains(&used.max_threads) && used.min_blocks >= 1, "{name}: {used:?}");
                // A spill lives on the stack.
                assert!(used.spill_stores == 0 || used.stack_bytes > 0, "{name} on {arch}: {used:?}");
            }
        }
    }

    #[test]
    fn the_report_covers_the_embedded_ptx() {
        let mut entries: Vec<&str> = crate::exec::cuda::PTX
            .iter()
            .flat_map(|ptx| ptx.lines())
            .filter_map(|line| line.strip_prefix(".visible .entry "))
            .filter_map(|line| line.split('(').next())
            .collect();
        entries.sort_unstable();
        assert_eq!(kernels().collect::<Vec<_>>(), entries, "run cargo xtask ptx-report");
    }

    #[test]
    fn architectures_come_oldest_first() {
        let archs: Vec<_> = architectures().collect();
        assert_eq!(archs, ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]);
    }

    #[test]
    fn what_is_not_reported_is_none() {
        assert_eq!(kernel("entropy_naive", "sm_1"), None);
        assert_eq!(kernel("no_such_kernel", "sm_90"), None);
    }

    #[test]
    fn the_assembler_is_named() {
        assert!(assembler().starts_with("13."), "{}", assembler());
    }
}
