//! CSV and Markdown of a record. JSON is the record as it is.

use std::io::Write;

use halotile_lab::bench::Outcome;
use halotile_lab::bench::primer::{Record, Row, Timing};
use serde::Serialize;

use super::table::{HEADINGS, columns, head, label, title};
use crate::bench::export::{Exporter, markdown};

/// A heading, then a row for each case. Times are in seconds; what is not known is empty.
pub struct Csv;

/// A row; the names of the fields are the heading.
#[derive(Serialize, Default)]
struct Line<'a> {
    topic: &'a str,
    size: String,
    elements: &'a str,
    kernel: &'a str,
    /// As "offset=3 kind=x".
    parameters: String,
    before: Option<&'a str>,
    status: &'static str,
    reason: Option<&'a str>,
    median_seconds: Option<f64>,
    min_seconds: Option<f64>,
    max_seconds: Option<f64>,
    runs: Option<usize>,
    unit: Option<&'static str>,
    per_second: Option<f64>,
    share_of_ceiling: Option<f64>,
    speedup: Option<f64>,
    wavefronts_per_shared_load: Option<f64>,
    conflicts_per_shared_load: Option<f64>,
    wavefronts_per_shared_store: Option<f64>,
    conflicts_per_shared_store: Option<f64>,
    sectors_per_global_load: Option<f64>,
    sectors_per_global_store: Option<f64>,
    /// As "latency=4.1 clocks; ...".
    readings: String,
}

impl<'a> Line<'a> {
    fn new(row: &'a Row) -> Self {
        let counted = |t: &Timing| t.counted.unwrap_or_default();
        let joined = |parts: Vec<String>, with| parts.join(with);
        let line = Self {
            topic: &row.topic,
            size: joined(row.size.iter().map(usize::to_string).collect(), "x"),
            elements: &row.elements,
            kernel: &row.kernel,
            parameters: joined(row.parameters.iter().map(|p| format!("{}={}", p.name, p.value)).collect(), " "),
            before: row.before.as_deref(),
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
                unit: Some(t.unit.name()),
                per_second: Some(t.per_second),
                share_of_ceiling: t.share_of_ceiling,
                speedup: t.speedup,
                wavefronts_per_shared_load: counted(t).shared_loads.map(|loads| loads.per_access),
                conflicts_per_shared_load: counted(t).shared_loads.map(|loads| loads.conflicts_per_access),
                wavefronts_per_shared_store: counted(t).shared_stores.map(|stores| stores.per_access),
                conflicts_per_shared_store: counted(t).shared_stores.map(|stores| stores.conflicts_per_access),
                sectors_per_global_load: counted(t).global_loads.map(|loads| loads.per_access),
                sectors_per_global_store: counted(t).global_stores.map(|stores| stores.per_access),
                readings: joined(
                    t.readings.iter().map(|r| format!("{}={} {}", r.name, r.value, r.unit)).collect(),
                    "; ",
                ),
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

/// A list of facts and a table for each topic, size and type.
pub struct Markdown;

impl Exporter<Record> for Markdown {
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        markdown::facts(out, &record.head, &head(record))?;
        for rows in record.results.chunk_by(Row::beside) {
            let labels: Vec<String> = rows.iter().map(label).collect();
            let lines = labels.iter().map(String::as_str).zip(rows.iter().map(|row| &row.outcome));
            markdown::section(out, &title(&rows[0]), &HEADINGS, lines, columns)?;
        }
        Ok(())
    }
}
