//! CSV and Markdown of a record. JSON is the record as it is.

use std::io::Write;

use halotile_lab::bench::Outcome;
use halotile_lab::bench::apsp::{Record, Row};
use serde::Serialize;

use super::table::{HEADINGS, columns, head};
use crate::bench::export::{Exporter, markdown};

/// A heading, then a row for each kernel and size. Times are in seconds; what is not known is empty.
pub struct Csv;

/// A row; the names of the fields are the heading.
#[derive(Serialize, Default)]
struct Line<'a> {
    kernel: &'a str,
    place: &'a str,
    before: Option<&'a str>,
    vertices: usize,
    status: &'static str,
    reason: Option<&'a str>,
    median_seconds: Option<f64>,
    min_seconds: Option<f64>,
    max_seconds: Option<f64>,
    runs: Option<usize>,
    relaxations_per_second: Option<f64>,
    share_of_ceiling: Option<f64>,
    speedup: Option<f64>,
    copies_median_seconds: Option<f64>,
    host_to_host_median_seconds: Option<f64>,
}

impl<'a> Line<'a> {
    fn new(row: &'a Row) -> Self {
        let line = Self {
            kernel: &row.kernel,
            place: &row.place,
            before: row.before.as_deref(),
            vertices: row.vertices,
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
                relaxations_per_second: Some(t.relaxations_per_second),
                share_of_ceiling: t.share_of_ceiling,
                speedup: t.speedup,
                copies_median_seconds: t.copies.as_ref().map(|times| times.median),
                host_to_host_median_seconds: t.host_to_host.as_ref().map(|times| times.median),
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

/// A list of facts and a table for each size.
pub struct Markdown;

impl Exporter<Record> for Markdown {
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        markdown::facts(out, &record.head, &head(record))?;
        for rows in record.results.chunk_by(|a, b| a.vertices == b.vertices) {
            let lines = rows.iter().map(|row| (row.kernel.as_str(), &row.outcome));
            markdown::section(out, &format!("{} vertices", rows[0].vertices), &HEADINGS, lines, columns)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use halotile_lab::bench::apsp::{Plan, Subject, run};
    use halotile_lab::bench::{Effort, Target};

    use super::super::html::Html;
    use super::super::{failures, table};
    use super::*;

    /// The CPU engine, the rung beside it, made wrong, and a kernel without a device.
    fn record() -> Record {
        let plan = Plan { vertices: vec![20, 30], effort: Effort::runs(0, 2), ..Plan::default() };
        let subjects: Vec<Subject> = Subject::all().take(3).collect();
        let mut record = run(&plan, &subjects, &Target::Cpu, None, &mut |_| (), &()).unwrap();
        record.results[1].outcome = Outcome::Wrong { reason: "from 1 to 2: 3,\nand 4 | was expected".into() };
        record
    }

    fn written(exporter: &dyn Exporter<Record>) -> String {
        let mut bytes = Vec::new();
        exporter.write(&record(), &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn csv_has_a_line_for_every_row() {
        let text = written(&Csv);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let lines: Vec<HashMap<String, String>> = reader.deserialize().map(Result::unwrap).collect();
        let of = |line: &HashMap<String, String>| {
            ["kernel", "vertices", "status", "runs"].map(|name| line[name].as_str()).join(" ")
        };
        let told: Vec<String> = lines.iter().map(of).collect();
        let expected = [
            "cpu 20 timed 2",
            "threads 20 wrong ",
            "naive 20 skipped ",
            "cpu 30 timed 2",
            "threads 30 timed 2",
            "naive 30 skipped ",
        ];
        assert_eq!(told, expected);
        assert!(lines[0]["median_seconds"].parse::<f64>().unwrap() > 0.0 && !lines[0]["share_of_ceiling"].is_empty());
        assert_eq!(lines[1]["reason"], "from 1 to 2: 3,\nand 4 | was expected");
        assert_eq!(lines[2]["reason"], "it runs on a device (cuda, emulator)");
    }

    #[test]
    fn markdown_has_a_table_for_every_size() {
        let text = written(&Markdown);
        assert!(text.contains("\n- complete graphs; weights 1 to 100, i32; seed 0\n"), "{text}");
        assert!(text.contains("\n### 20 vertices\n") && text.contains("\n### 30 vertices\n"), "{text}");
        assert!(text.contains("\n| threads | **WRONG**: from 1 to 2: 3, and 4 \\| was expected | |"), "{text}");
        for line in text.lines().filter(|line| line.starts_with('|')) {
            assert_eq!(line.replace("\\|", "").matches('|').count(), HEADINGS.len() + 2, "{line}");
        }
    }

    #[test]
    fn the_page_has_charts_of_every_size_and_what_is_wrong_and_skipped() {
        let text = written(&Html);
        assert!(text.starts_with("<!DOCTYPE html>") && text.contains("<h1>All-pairs shortest paths on the CPU</h1>"));
        for id in ["time-0", "time-1", "share-0", "share-1"] {
            let start =
                text.find(&format!("<svg class=\"chart\" id=\"{id}\"")).unwrap_or_else(|| panic!("{id}: {text}"));
            let end = text[start..].find("</svg>").expect("an end") + "</svg>".len();
            roxmltree::Document::parse(&text[start..][..end]).unwrap();
        }
        assert!(text.contains("<li><strong>threads</strong>, 20 vertices: from 1 to 2: 3, and 4 | was expected</li>"));
        assert!(text.contains("<li><strong>naive</strong>: it runs on a device (cuda, emulator)</li>"));
        assert!(
            text.contains(
                "Dijkstra’s algorithm before it was timed (20 vertices: every cell. 30 vertices: every cell)"
            )
        );
    }

    #[test]
    fn what_is_wrong_is_told_and_fails_the_run() {
        let record = record();
        let line = table::line(&record.results[1]);
        assert_eq!(line, "threads         WRONG: from 1 to 2: 3, and 4 | was expected\n");
        let error = failures(&record).unwrap_err().to_string();
        assert!(error.starts_with("threads is wrong with 20 vertices, from 1 to 2: "), "{error}");
        assert!(error.ends_with("; what is wrong was not timed"), "{error}");
    }
}
