//! What was done, and how fast: `--json`, and the lines of `-v`.

use halotile::io::Nodata;
use halotile::raster::Origins;
use serde::Serialize;

use super::classing::ClassReport;

/// What `--json` prints.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    pub input: String,
    pub band: Option<usize>,
    pub output: String,
    pub outputs: Vec<String>,
    pub preview: Option<String>,
    pub mask: Option<String>,
    pub input_format: &'static str,
    pub output_format: &'static str,
    pub samples: usize,
    pub rows: Option<usize>,
    pub cols: Option<usize>,
    pub cells: usize,
    pub size: Option<usize>,
    pub shape: String,
    pub window: Window,
    pub edge: &'static str,
    pub min_valid: f64,
    pub fill_nodata: bool,
    pub measures: Vec<String>,
    pub levels: Option<usize>,
    pub classes: Option<ClassReport>,
    pub unit: &'static str,
    pub nodata: Option<String>,
    pub nodata_from: Option<String>,
    pub georeference_from: Option<String>,
    pub mask_from: Option<String>,
    pub device: String,
    pub kernel: Option<&'static str>,
    pub precision: &'static str,
    pub threads: usize,
    pub memory: Option<usize>,
    pub peak_memory: Option<u64>,
    pub seconds: Seconds,
    pub kernel_seconds: Option<f64>,
    pub cells_per_second: f64,
}

#[derive(Debug, Default, Serialize)]
pub struct Window {
    pub rows: usize,
    pub cols: usize,
    /// Cells that belong to it.
    pub cells: usize,
}

#[derive(Debug, Default, Serialize)]
pub struct Seconds {
    pub read: f64,
    pub classes: f64,
    pub device: f64,
    pub compute: f64,
    pub write: f64,
    pub total: f64,
}

impl Summary {
    /// Notes what says which cells have no data and where the raster lies, and tells it under `-v`.
    pub fn assume(&mut self, nodata: Option<Nodata>, given: bool, origins: Origins) {
        self.nodata = nodata.map(show);
        self.nodata_from =
            if given { Some("--nodata".to_owned()) } else { origins.nodata.filter(|_| nodata.is_some()) };
        (self.georeference_from, self.mask_from) = (origins.georeference, origins.mask);
        let none = || "none".to_owned();
        let by = |from: &Option<String>| from.as_ref().map(|from| format!(" (from {from})")).unwrap_or_default();
        tracing::info!(
            "{}: no data: {}{}, mask: {}; place: {}",
            self.input,
            self.nodata.clone().unwrap_or_else(none),
            by(&self.nodata_from),
            self.mask_from.clone().unwrap_or_else(none),
            self.georeference_from.clone().unwrap_or_else(none),
        );
    }
}

/// A value for no data as it is typed.
pub fn show(nodata: Nodata) -> String {
    match nodata {
        Nodata::Whole(value) => value.to_string(),
        Nodata::Fraction(value) => value.to_string(),
        Nodata::Nan => "nan".to_owned(),
    }
}

/// What `-v` tells.
pub fn report(summary: &Summary) {
    let Seconds { read, classes, device, compute, write, total } = summary.seconds;
    tracing::info!(
        "seconds: read {read:.3}, classes {classes:.3}, open device {device:.3}, compute {compute:.3}, write {write:.3}, \
         total {total:.3}"
    );
    let seconds = summary.kernel_seconds.map(|seconds| format!(" for {seconds:.6} s")).unwrap_or_default();
    let kernel = summary.kernel.map(|kernel| format!(", kernel {kernel}{seconds}"));
    let grids = match (summary.rows, summary.cols) {
        (Some(rows), Some(cols)) => format!("{rows} x {cols} cells"),
        _ => format!("{} cells of {} samples", summary.cells, summary.samples),
    };
    let memory = summary.peak_memory.map(|bytes| format!(", {} MiB at most", bytes >> 20));
    tracing::info!(
        "{grids} in {} on {}{}, {} threads: {:.1} Mcell/s{}",
        summary.precision,
        summary.device,
        kernel.unwrap_or_default(),
        summary.threads,
        summary.cells_per_second / 1e6,
        memory.unwrap_or_default()
    );
}
