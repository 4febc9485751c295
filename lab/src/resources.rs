//! What each kernel uses on each GPU architecture, as NVIDIA's assembler reports it: the library's kernels, then those for learning and
//! measuring.
//!
//! ```
//! use halotile_lab::resources;
//! assert!(resources::kernel("entropy_naive", "sm_90").is_some() && resources::kernel("ladder_v0", "sm_90").is_some());
//! ```

pub use halotile::resources::{Report, Resources};

/// The reports of both crates of kernels.
fn reports() -> impl Iterator<Item = &'static Report> {
    [halotile::resources::report(), Report::of(&halotile_lab_kernels::MODULE)].into_iter()
}

/// What a kernel uses on an architecture, as `sm_90`; `None` when no report has such a kernel or architecture.
pub fn kernel(name: &str, arch: &str) -> Option<Resources> {
    reports().find_map(|report| report.kernel(name, arch))
}

/// The names of all kernels, each crate's sorted.
pub fn kernels() -> impl Iterator<Item = &'static str> {
    reports().flat_map(Report::kernels)
}

/// The architectures that the reports cover, oldest first.
pub fn architectures() -> impl Iterator<Item = &'static str> {
    halotile::resources::report().architectures()
}

/// The version of the assembler that made the reports, as `13.5.37`.
pub fn assembler() -> &'static str {
    halotile::resources::report().assembler()
}

#[cfg(test)]
mod tests {
    use simt_exec::cuda::ptx_of;

    use super::*;

    #[test]
    fn both_reports_are_of_the_same_assembler_and_architectures() {
        let of = |report: &'static Report| (report.assembler(), report.architectures().collect::<Vec<_>>());
        let [library, lab] = [halotile::resources::report(), Report::of(&halotile_lab_kernels::MODULE)].map(of);
        assert_eq!(library, lab);
    }

    #[test]
    fn every_kernel_is_reported_on_every_architecture() {
        assert!(kernels().count() > 0);
        for name in kernels() {
            for arch in architectures() {
                let Some(used) = kernel(name, arch) else {
                    let entry = halotile_kernels::find(name)
                        .or_else(|| halotile_lab_kernels::find(name))
                        .expect("a kernel of ours");
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
    fn the_report_has_architectures_that_are_known() {
        for name in architectures() {
            assert!(simt_exec::occupancy::Architecture::named(name).is_some(), "there is a report of {name}");
        }
    }

    #[test]
    fn the_driver_is_handed_one_entry_and_all_variables() {
        for kernel in [halotile_kernels::FAMILIES, halotile_lab_kernels::FAMILIES].concat().into_iter().flatten() {
            let ptx = ptx_of(kernel).expect("every kernel has PTX");
            assert_eq!(ptx.matches(".visible .entry").count(), 1, "{}", kernel.name);
            assert!(ptx.contains(&format!(".visible .entry {}(", kernel.name)));
            assert!(ptx.contains(".extern .shared .align 16 .b8 simt_dynamic_shared[];"));
            assert!(ptx.contains(".version") && ptx.matches('{').count() == ptx.matches('}').count());
        }
    }

    #[test]
    fn the_report_covers_the_embedded_ptx() {
        let modules = [&halotile_kernels::MODULE, &halotile_lab_kernels::MODULE];
        let mut entries: Vec<&str> = modules
            .iter()
            .flat_map(|module| module.ptx)
            .flat_map(|ptx| ptx.lines())
            .filter_map(|line| line.strip_prefix(".visible .entry "))
            .filter_map(|line| line.split('(').next())
            .collect();
        entries.sort_unstable();
        let mut reported: Vec<&str> = kernels().collect();
        reported.sort_unstable();
        assert_eq!(reported, entries, "run cargo xtask ptx-report");
    }

    /// One that a compiler copied into both ways of a branch is never reached by all threads.
    #[test]
    fn barriers_are_where_the_source_has_them() {
        let barriers =
            |kernel| ptx_of(halotile_lab_kernels::find(kernel).unwrap()).unwrap().matches("bar.sync").count();
        // Nine halvings of 512 numbers, and one before the clocks are read.
        assert_eq!(barriers("primer_clock_minima"), 10);
        assert_eq!(barriers("apsp_blocked64_phase2"), 1);
    }
}
