//! What each kernel of a crate uses on each GPU architecture, as NVIDIA's assembler reports it.
//!
//! Registers and shared memory decide how many blocks fit on a multiprocessor; a stack frame or a spill means
//! that the kernel touches memory it was not written to touch. The report is part of the crate's [`Module`], so it can be read where
//! there is no GPU.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use simt::launch::Module;

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

/// The report on the kernels of one crate.
#[derive(Debug, Default, Deserialize)]
pub struct Report {
    ptxas: String,
    kernels: BTreeMap<String, Kernel>,
}

impl Report {
    /// The report that a module carries. Empty where it carries none, or one that cannot be read.
    pub fn of(module: &'static Module) -> &'static Self {
        /// The reports read so far, by the modules' addresses: there are as many as there are crates with kernels.
        static READ: Mutex<BTreeMap<usize, &'static Report>> = Mutex::new(BTreeMap::new());
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        read.entry(std::ptr::from_ref(module).addr()).or_insert_with(|| {
            let report = match module.resources {
                "" => Self::default(),
                json => serde_json::from_str(json).unwrap_or_else(|error| {
                    tracing::warn!("a report on kernels' resources cannot be read: {error}");
                    Self::default()
                }),
            };
            Box::leak(Box::new(report))
        })
    }

    /// What a kernel uses on an architecture, as `sm_90`; `None` when the report has no such kernel or architecture.
    pub fn kernel(&self, name: &str, arch: &str) -> Option<Resources> {
        let kernel = self.kernels.get(name)?;
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
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(String::as_str)
    }

    /// The architectures that the report covers, oldest first.
    pub fn architectures(&self) -> impl Iterator<Item = &str> {
        let archs = self.kernels.values().flat_map(|kernel| kernel.architectures.keys());
        // `sm_100` is newer than `sm_90`: the number decides, not the text.
        let number = |arch: &str| arch.trim_start_matches("sm_").parse::<u32>().unwrap_or(u32::MAX);
        let sorted: BTreeSet<(u32, &str)> = archs.map(|arch| (number(arch), arch.as_str())).collect();
        sorted.into_iter().map(|(_, arch)| arch)
    }

    /// The version of the assembler that made the report, as `13.5.37`.
    pub fn assembler(&self) -> &str {
        &self.ptxas
    }
}

#[derive(Debug, Deserialize)]
struct Kernel {
    max_threads: u32,
    min_blocks: u32,
    architectures: BTreeMap<String, Usage>,
}

#[derive(Debug, Deserialize)]
struct Usage {
    registers: u32,
    shared_bytes: u32,
    stack_bytes: u32,
    spill_stores: u32,
    spill_loads: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    static REPORTED: Module = Module {
        ptx: &[],
        resources: r#"{"ptxas": "13.5.37", "kernels": {"one": {"max_threads": 64, "min_blocks": 2, "architectures": {
            "sm_100": {"registers": 9, "shared_bytes": 0, "stack_bytes": 0, "spill_stores": 0, "spill_loads": 0},
            "sm_90": {"registers": 8, "shared_bytes": 4, "stack_bytes": 0, "spill_stores": 0, "spill_loads": 0}}}}}"#,
    };

    #[test]
    fn a_modules_report_is_read() {
        let report = Report::of(&REPORTED);
        assert_eq!(report.kernel("one", "sm_90").map(|used| (used.registers, used.max_threads)), Some((8, 64)));
        assert_eq!(report.architectures().collect::<Vec<_>>(), ["sm_90", "sm_100"], "oldest first");
        assert_eq!((report.kernel("one", "sm_75"), report.kernel("two", "sm_90")), (None, None));
        assert_eq!(report.kernels().collect::<Vec<_>>(), ["one"]);
        assert_eq!(report.assembler(), "13.5.37");
    }

    #[test]
    fn a_module_without_a_report_has_an_empty_one() {
        static BROKEN: Module = Module { ptx: &[], resources: "{" };
        for module in [&Module::EMULATED, &BROKEN] {
            assert_eq!(Report::of(module).kernels().count(), 0);
        }
    }
}
