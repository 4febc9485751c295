//! CSV: a row for each kernel and size, for spreadsheets and data frames. Times are in seconds; what is not known is empty. Raw times
//! are in the JSON only: there are not as many of each.

use std::io::Write;

use halotile_lab::bench::{Outcome, Record, Row};
use serde::Serialize;

use super::Exporter;

/// A heading, then a row for each kernel and size.
pub struct Csv;

/// A row; the names of the fields are the heading.
#[derive(Serialize, Default)]
struct Line<'a> {
    kernel: &'a str,
    place: &'a str,
    before: Option<&'a str>,
    rows: usize,
    cols: usize,
    status: &'static str,
    reason: Option<&'a str>,
    median_seconds: Option<f64>,
    min_seconds: Option<f64>,
    max_seconds: Option<f64>,
    runs: Option<usize>,
    cells_per_second: Option<f64>,
    share_of_copy: Option<f64>,
    registers: Option<u32>,
    spill_bytes: Option<u32>,
    occupancy: Option<f64>,
    speedup: Option<f64>,
    host_to_host_median_seconds: Option<f64>,
    host_to_host_min_seconds: Option<f64>,
    host_to_host_max_seconds: Option<f64>,
    largest_difference: Option<f64>,
}

impl<'a> Line<'a> {
    fn new(row: &'a Row) -> Self {
        let line = Self {
            kernel: &row.kernel,
            place: &row.place,
            before: row.before.as_deref(),
            rows: row.rows,
            cols: row.cols,
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
                registers: t.usage.map(|usage| usage.registers),
                spill_bytes: t.usage.map(|usage| usage.spill_bytes),
                occupancy: t.occupancy,
                speedup: t.speedup,
                host_to_host_median_seconds: t.host_to_host.as_ref().map(|times| times.median),
                host_to_host_min_seconds: t.host_to_host.as_ref().map(|times| times.min),
                host_to_host_max_seconds: t.host_to_host.as_ref().map(|times| times.max),
                largest_difference: Some(t.largest_difference),
                ..line
            },
        }
    }
}

impl Exporter<Record> for Csv {
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        for row in &record.results {
            writer.serialize(Line::new(row))?;
        }
        Ok(writer.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::sample;
    use super::*;

    #[test]
    fn every_row_is_a_line_with_every_column() {
        let record = sample::record();
        let mut bytes = Vec::new();
        Csv.write(&record, &mut bytes).unwrap();
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        assert_eq!(
            reader.headers().unwrap().iter().collect::<Vec<_>>().join(" "),
            "kernel place before rows cols status reason median_seconds min_seconds max_seconds runs cells_per_second \
             share_of_copy registers spill_bytes occupancy speedup host_to_host_median_seconds host_to_host_min_seconds \
             host_to_host_max_seconds largest_difference"
        );
        let lines: Vec<HashMap<String, String>> = reader.deserialize().map(Result::unwrap).collect();
        assert_eq!(lines.len(), record.results.len());
        for (line, row) in lines.iter().zip(&record.results) {
            assert_eq!((&line["kernel"], &line["cols"]), (&row.kernel, &row.cols.to_string()));
            let median = line["median_seconds"].parse::<f64>().ok();
            assert_eq!(median, row.timing().map(|timing| timing.time.median));
            let reason = match &row.outcome {
                Outcome::Timed(_) => "",
                Outcome::Wrong { reason } | Outcome::Skipped { reason } => reason,
            };
            assert_eq!(line["reason"], reason);
        }
    }
}
