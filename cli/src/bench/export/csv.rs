//! CSV: a row for each case, for spreadsheets and data frames. Times are in seconds; what is not known is empty. Raw times
//! are in the JSON only: there are not as many of each.

use std::io::Write;

use halotile_lab::bench::Record;

use super::Exporter;
use crate::bench::layout::{self, Cell, TIMES};

/// A heading, then a row for each case.
pub struct Csv;

impl Exporter for Csv {
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        let [before, after] = layout::of(record).csv();
        let fields = || before.iter().chain(TIMES).chain(after);
        let mut writer = csv::Writer::from_writer(out);
        if !record.results.is_empty() {
            writer.write_record(fields().map(|(name, _)| name))?;
        }
        for row in &record.results {
            writer.serialize(fields().map(|(_, of)| of(row)).collect::<Vec<Cell>>())?;
        }
        Ok(writer.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use halotile_lab::bench::Outcome;

    use super::super::{sample, written};
    use super::*;

    #[test]
    fn every_row_is_a_line_with_every_column() {
        let record = sample::record();
        let text = written(&Csv, &record);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        assert_eq!(
            reader.headers().unwrap().iter().collect::<Vec<_>>().join(" "),
            "kernel place before rows cols status reason median_seconds min_seconds max_seconds runs cells_per_second \
             share_of_copy registers spill_bytes occupancy speedup host_to_host_median_seconds host_to_host_min_seconds \
             host_to_host_max_seconds largest_difference"
        );
        let lines: Vec<HashMap<String, String>> = reader.deserialize().map(Result::unwrap).collect();
        assert_eq!(lines.len(), record.results.len());
        for (line, row) in lines.iter().zip(&record.results) {
            assert_eq!((&line["kernel"], &line["cols"]), (&row.kernel, &row.of.number("cols").to_string()));
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
