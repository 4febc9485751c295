//! The rungs: naive, blocked by 32, blocked by 64.

/// The kernels of the ladder.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[];
