//! What was done, and how fast: `--json`, and the lines of `-v`.

use halotile::apsp::{Distances, Kernel, Solution, Weight};
use serde::Serialize;

use super::check::Files;
use crate::args::ApspArgs;

/// What `--json` prints.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    pub input: String,
    pub output: String,
    pub paths: Option<String>,
    pub input_format: &'static str,
    pub output_format: &'static str,
    pub paths_format: Option<&'static str>,
    pub vertices: usize,
    pub edges: u64,
    pub undirected: bool,
    pub negative: bool,
    pub weight: &'static str,
    pub computed: &'static str,
    pub device: String,
    pub kernel: Option<&'static str>,
    pub threads: usize,
    pub memory: MemoryReport,
    pub seconds: Seconds,
    pub device_seconds: Option<DeviceSeconds>,
    pub relaxations_per_second: f64,
}

/// Bytes.
#[derive(Debug, Default, Serialize)]
pub struct MemoryReport {
    pub needed: u128,
    pub allowed: Option<u64>,
    pub peak: Option<u64>,
}

#[derive(Debug, Default, Serialize)]
pub struct Seconds {
    pub read: f64,
    pub device: f64,
    pub potential: f64,
    pub width: f64,
    pub compute: f64,
    pub paths: f64,
    pub write: f64,
    pub total: f64,
}

#[derive(Debug, Default, Serialize)]
pub struct DeviceSeconds {
    pub compute: f64,
    pub copies: f64,
}

impl Summary {
    /// What is known from the start.
    pub fn of(args: &ApspArgs, files: &Files, threads: usize) -> Self {
        Self {
            input: args.input.display().to_string(),
            output: args.output.display().to_string(),
            paths: args.paths.as_ref().map(|path| path.display().to_string()),
            input_format: files.input.name(),
            output_format: files.output.name(),
            paths_format: files.paths.map(|format| format.name()),
            undirected: args.undirected,
            threads,
            ..Self::default()
        }
    }

    /// What the library says.
    pub fn add(&mut self, solution: &Solution) {
        let report = &solution.report;
        self.vertices = report.vertices;
        self.edges = report.edges;
        self.negative = report.negative;
        self.weight = match solution.distances {
            Distances::I32(_) => Weight::I32,
            Distances::I16(_) => Weight::I16,
            Distances::F32(_) => Weight::F32,
        }
        .name();
        self.computed = report.weight.name();
        self.kernel = report.kernel.map(Kernel::name);
        self.device_seconds =
            report.device.map(|device| DeviceSeconds { compute: device.compute, copies: device.copies });
        self.relaxations_per_second = report.relaxations_per_second();
        let seconds = &mut self.seconds;
        (seconds.potential, seconds.width) = (report.potential, report.width);
        (seconds.compute, seconds.paths) = (report.compute, report.paths);
    }
}

/// What `-v` tells.
pub fn tell(summary: &Summary) {
    let Seconds { read, device, potential, width, compute, paths, write, total } = summary.seconds;
    tracing::info!(
        "seconds: read {read:.3}, open device {device:.3}, potential {potential:.3}, width {width:.3}, compute {compute:.3}, \
         paths {paths:.3}, write {write:.3}, total {total:.3}"
    );
    let kernel = summary.kernel.map(|kernel| format!(", kernel {kernel}"));
    let memory = summary.memory.peak.map(|bytes| format!(", {} MiB at most", bytes >> 20));
    tracing::info!(
        "{} vertices, {} edges in {} on {}{}, {} threads: {:.1} G relaxations/s{}",
        summary.vertices,
        summary.edges,
        summary.computed,
        summary.device,
        kernel.unwrap_or_default(),
        summary.threads,
        summary.relaxations_per_second / 1e9,
        memory.unwrap_or_default()
    );
}
