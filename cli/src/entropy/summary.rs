//! What was done, and how fast: `--json`, and the lines of `-v`.

use std::path::Path;

use halotile::classes::BinRule;
use halotile::io::Nodata;
use halotile::raster::Origins;
use serde::Serialize;

use super::classing::ClassReport;
use crate::args::{EntropyArgs, ShapeArg};

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
    /// Of each measure: the type of its numbers in a GeoTIFF, and what they are multiplied by; null where they are as computed.
    pub types: Option<Vec<Option<&'static str>>>,
    pub scales: Option<Vec<Option<f64>>>,
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

impl Summary {
    /// What a GeoTIFF says of its making: what the `inputs` say of themselves, its name without directories, and the options that the numbers depend on.
    pub fn items(&self, args: &EntropyArgs, inputs: &[(String, String)]) -> Vec<(String, String)> {
        let file = |path: &Path| {
            if path == Path::new("-") {
                return "standard input".to_owned();
            }
            path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
        };
        let input = match args.output.more.len() {
            0 => file(&args.input),
            more => format!("{} and {more} more", file(&args.input)),
        };
        let bins = |bins: usize| match args.binning {
            Some(BinRule::Quantile) => format!("{bins}, quantile"),
            Some(BinRule::EqualWidth) | None => format!("{bins}, equal"),
        };
        let Window { rows, cols, cells } = self.window;
        let shape = match &args.shape {
            ShapeArg::File(path) => file(path),
            shape => shape.name(),
        };
        let items = [
            ("HALOTILE_INPUT", Some(input)),
            ("HALOTILE_BAND", self.band.map(|band| band.to_string())),
            ("HALOTILE_MASK", args.mask.as_deref().map(file)),
            ("HALOTILE_NODATA", Some(self.nodata.clone().unwrap_or_else(|| "none".to_owned()))),
            ("HALOTILE_LEVELS", self.levels.map(|levels| levels.to_string())),
            ("HALOTILE_CLASSES", args.classes.as_deref().map(file)),
            ("HALOTILE_BINS", args.bins.map(bins)),
            ("HALOTILE_WINDOW", Some(format!("{shape}, {rows} x {cols}, {cells} cells"))),
            ("HALOTILE_EDGE", Some(self.edge.to_owned())),
            ("HALOTILE_MIN_VALID", (self.min_valid > 0.0).then(|| self.min_valid.to_string())),
            ("HALOTILE_FILL_NODATA", self.fill_nodata.then(|| "YES".to_owned())),
            ("HALOTILE_NORMALIZE", args.normalize.then(|| "YES".to_owned())),
        ];
        // What it says of its own making, where it was made here, is not that of the result; nor are its statistics and where its mask is.
        let others = ["HALOTILE_", "STATISTICS_", "INTERNAL_MASK_FLAGS_"];
        let kept = inputs.iter().filter(|(name, _)| !others.iter().any(|other| name.starts_with(other))).cloned();
        kept.chain(items.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)))).collect()
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
