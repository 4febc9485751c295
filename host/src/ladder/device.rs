//! The rungs that are kernels: what each is launched with.

use simt::launch::KernelEntry;

use super::Rung;

/// A rung that is a kernel.
#[derive(Debug)]
pub(crate) struct DeviceRung {
    entry: KernelEntry,
    f64: bool,
}

impl DeviceRung {
    pub fn entry(&self) -> KernelEntry {
        self.entry
    }

    pub fn is_f64(&self) -> bool {
        self.f64
    }
}

pub(super) static RUNGS: &[Rung] = &[];
