//! Fuzz targets: functions that take any bytes and panic where a promise is broken.
//!
//! ```text
//! readers ─────── bytes are a file: a value or one line of error, in bounded memory
//! options ─────── bytes are the text of an option
//! differential ── bytes choose a case: an engine beside its definition, a file beside itself read again
//! ```
//!
//! A target is a plain function, so that two programs can run it: libFuzzer, which looks for new inputs (`src/bin/engine.rs`,
//! built and started by `cargo xtask fuzz`), and `tests/replay.rs`, with which `cargo test --workspace` runs every input that is kept. These
//! lie in `corpus/TARGET/` (a start for the search) and in `regressions/TARGET/` (each has once shown a fault).
//!
//! Every target has a limit of memory. It is checked by the allocator of this crate, which counts: libFuzzer's own
//! `-malloc_limit_mb` sees allocations only in programs with a sanitizer, and a refusal by `try_reserve` would hide from it. What counts is the
//! peak of one execution, above what was allocated before it.

mod case;
mod check;
mod differential;
mod memory_file;
mod options;
mod readers;

use peak_alloc::PeakAlloc;

pub use memory_file::MemoryFile;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const MIB: usize = 1 << 20;

/// A function over bytes, and what it may take.
pub struct Target {
    /// Its name, and that of its folders.
    pub name: &'static str,
    run: fn(&[u8]),
    /// Bytes that one execution may have allocated at once.
    pub limit: usize,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "geotiff", run: readers::geotiff, limit: 64 * MIB },
    Target { name: "npy", run: readers::npy, limit: 16 * MIB },
    Target { name: "png", run: readers::png, limit: 64 * MIB },
    Target { name: "pgm", run: readers::pgm, limit: 16 * MIB },
    Target { name: "seed_text", run: readers::seed_text, limit: 16 * MIB },
    Target { name: "seed_binary", run: readers::seed_binary, limit: 16 * MIB },
    Target { name: "reals", run: readers::reals, limit: 16 * MIB },
    Target { name: "classes", run: readers::classes, limit: 16 * MIB },
    Target { name: "window", run: readers::window, limit: 16 * MIB },
    Target { name: "graph_binary", run: readers::graph_binary, limit: 16 * MIB },
    Target { name: "graph_dimacs", run: readers::graph_dimacs, limit: 16 * MIB },
    Target { name: "graph_edge_list", run: readers::graph_edge_list, limit: 16 * MIB },
    Target { name: "graph_matrix_market", run: readers::graph_matrix_market, limit: 16 * MIB },
    Target { name: "graph_npy", run: readers::graph_npy, limit: 16 * MIB },
    Target { name: "distances", run: readers::distances, limit: 16 * MIB },
    Target { name: "options", run: options::options, limit: 16 * MIB },
    Target { name: "mask", run: differential::mask, limit: 32 * MIB },
    Target { name: "entropy", run: differential::entropy, limit: 32 * MIB },
    Target { name: "measures", run: differential::measures, limit: 32 * MIB },
    Target { name: "stream", run: differential::stream, limit: 64 * MIB },
    Target { name: "emulator", run: differential::emulator, limit: 64 * MIB },
    Target { name: "paths", run: differential::paths, limit: 32 * MIB },
    Target { name: "geotiff_written", run: differential::geotiff_written, limit: 64 * MIB },
];

impl Target {
    /// The target of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Runs it on an input.
    ///
    /// # Panics
    /// Where a promise is broken: that is a finding.
    pub fn check(&self, input: &[u8]) {
        ALLOCATED.reset_peak_usage();
        let before = ALLOCATED.current_usage();
        (self.run)(input);
        let most = ALLOCATED.peak_usage().saturating_sub(before);
        assert!(
            most <= self.limit,
            "{} bytes were allocated for an input of {}; {} may be",
            most,
            input.len(),
            self.limit
        );
    }
}

/// Makes parallel work run on the calling thread, so that an execution does not wait for another thread to wake.
///
/// The calling thread becomes the only one of rayon's global pool; it must not wait for threads that use that pool. Targets that start
/// threads (the differential ones) run them on a pool of their own.
pub fn use_this_thread() {
    // A pool that is there already is one that works too.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
}
