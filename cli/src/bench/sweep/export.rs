//! CSV and Markdown of a sweep's record. JSON is the record as it is.

use std::io::Write;

use halotile_lab::bench::Outcome;
use halotile_lab::bench::sweep::{Edge, Record, Row};
use serde::Serialize;

use super::table::{facts, kernels, label, reasons, time};
use crate::bench::export::{Exporter, markdown};
use crate::bench::figures::{ms, significant};

/// A heading, then a row for each setting. Times are in seconds; what is not known is empty.
pub struct Csv;

/// A row; the names of the fields are the heading.
#[derive(Serialize, Default)]
struct Line<'a> {
    size: usize,
    levels: usize,
    nodata: bool,
    measure: String,
    shape: &'static str,
    precision: &'static str,
    kernel: Option<&'a str>,
    status: &'static str,
    reason: Option<&'a str>,
    median_seconds: Option<f64>,
    min_seconds: Option<f64>,
    max_seconds: Option<f64>,
    runs: Option<usize>,
    cells_per_second: Option<f64>,
    share_of_copy: Option<f64>,
    largest_difference: Option<f64>,
}

impl<'a> Line<'a> {
    fn new(row: &'a Row) -> Self {
        let setting = &row.setting;
        let line = Self {
            size: setting.size,
            levels: setting.levels,
            nodata: setting.nodata,
            measure: setting.measure.to_string(),
            shape: setting.shape.name(),
            precision: setting.precision.name(),
            kernel: row.kernel.as_deref(),
            ..Self::default()
        };
        match &row.outcome {
            Outcome::Wrong { reason } => Self { status: "wrong", reason: Some(reason), ..line },
            Outcome::Skipped { reason } => Self { status: "skipped", reason: Some(reason), ..line },
            Outcome::Timed(t) => Self {
                status: "timed",
                median_seconds: Some(t.time.median),
                min_seconds: Some(t.time.min),
                max_seconds: Some(t.time.max),
                runs: Some(t.time.raw.len()),
                cells_per_second: Some(t.cells_per_second),
                share_of_copy: t.share_of_copy,
                largest_difference: Some(t.largest_difference),
                ..line
            },
        }
    }
}

impl Exporter<Record> for Csv {
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        record.results.iter().try_for_each(|row| writer.serialize(Line::new(row)))?;
        Ok(writer.flush()?)
    }
}

/// A list of facts, the table, and the worst cliffs.
pub struct Markdown;

impl Exporter<Record> for Markdown {
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        markdown::facts(out, &record.head, &facts(record))?;
        let sizes: Vec<String> = record.options.axes.columns().iter().map(|size| format!("{size} x {size}")).collect();
        writeln!(out, "\n### Times in ms\n\n| | {} | kernels |", sizes.join(" | "))?;
        writeln!(out, "|---{}|---|", "|--:".repeat(sizes.len()))?;
        let Some(base) = record.results.first() else { return Ok(()) };
        for rows in record.results.chunk_by(Row::beside) {
            let times: Vec<String> = rows.iter().map(time).collect();
            let notes: Vec<String> = kernels(rows).into_iter().chain(reasons(rows)).collect();
            let (label, notes) = (label(&rows[0].setting, &base.setting), markdown::escape(&notes.join("; ")));
            writeln!(out, "| {label} | {} | {notes} |", times.join(" | "))?;
        }
        writeln!(
            out,
            "\n### Largest steps between neighbours\n\n| ratio | axis | slower | faster |\n|--:|---|---|---|"
        )?;
        let side = |Edge { setting, kernel, seconds }: &Edge| {
            let kernel = kernel.as_ref().map(|kernel| format!(" ({kernel})"));
            format!("{} ms: {setting}{}", ms(*seconds), kernel.unwrap_or_default())
        };
        record.cliffs.iter().try_for_each(|cliff| {
            let (slower, faster) = (side(&cliff.slower), side(&cliff.faster));
            let (ratio, axis) = (significant(cliff.ratio), cliff.axis.name());
            Ok(writeln!(out, "| {ratio} | {axis} | {slower} | {faster} |")?)
        })
    }
}
