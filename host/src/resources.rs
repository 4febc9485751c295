//! What each of the library's kernels uses on each GPU architecture, as NVIDIA's assembler reports it.
//!
//! The numbers are part of the library (`cargo xtask ptx-report` makes them, CI compares them), so that they can be asked for where there
//! is no GPU:
//!
//! ```
//! let report = halotile::resources::report();
//! let naive = report.kernel("entropy_naive", "sm_90").unwrap();
//! assert!(naive.registers <= 255);
//! assert_eq!(naive.spill_stores, 0);
//!
//! assert!(report.kernels().any(|name| name == "entropy_naive"));
//! assert!(report.architectures().any(|arch| arch == "sm_90"));
//! assert_eq!(report.kernel("entropy_naive", "sm_52"), None);
//! ```

pub use simt_exec::resources::{Report, Resources};

/// The report on the library's kernels.
pub fn report() -> &'static Report {
    Report::of(&halotile_kernels::MODULE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_come_oldest_first() {
        let archs: Vec<_> = report().architectures().collect();
        assert_eq!(archs, ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]);
    }

    #[test]
    fn what_is_not_reported_is_none() {
        assert_eq!(report().kernel("entropy_naive", "sm_1"), None);
        assert_eq!(report().kernel("no_such_kernel", "sm_90"), None);
    }

    #[test]
    fn the_assembler_is_named() {
        assert!(report().assembler().starts_with("13."), "{}", report().assembler());
    }
}
