//! What each of the library's kernels uses on each GPU architecture, as NVIDIA's assembler reports it.
//!
//! The numbers are part of the library (`cargo xtask ptx-report` makes them, CI compares them), so that they can be asked for where there
//! is no GPU:
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

pub use simt_exec::resources::{Report, Resources};

/// The report on the library's kernels.
pub fn report() -> &'static Report {
    Report::of(&halotile_kernels::MODULE)
}

/// What a kernel uses on an architecture, as `sm_90`; `None` when the report has no such kernel or architecture.
pub fn kernel(name: &str, arch: &str) -> Option<Resources> {
    report().kernel(name, arch)
}

/// The names of all kernels, sorted.
pub fn kernels() -> impl Iterator<Item = &'static str> {
    report().kernels()
}

/// The architectures that the report covers, oldest first.
pub fn architectures() -> impl Iterator<Item = &'static str> {
    report().architectures()
}

/// The version of the assembler that made the report, as `13.5.37`.
pub fn assembler() -> &'static str {
    report().assembler()
}

#[cfg(test)]
mod tests {
    use super::*;

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
