//! What the program says of the records that are kept in `benches/record/` stays as it was, byte for byte: the table on the terminal,
//! CSV, Markdown and HTML, of every kind of record and every date that a schema has had.
//!
//! ```text
//! for each record, as it is and with a row made wrong and another skipped:
//!     read it; write it in every format; compare with the text in `golden/` (small records), or with a hash of it
//! ```
//!
//! `HALOTILE_GOLDEN=1 cargo test -p halotile-cli golden` writes the texts and the hashes anew, for a change that is meant.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use halotile_lab::bench::{self, apsp, primer, sweep};
use serde_json::{Value, from_value, json};

use super::export::{self, Exporter};

/// The records: what they are called, where they lie. The first of each kind has its texts kept.
const RECORDS: [(&str, &str); 12] = [
    ("entropy", "2026-11-21-ladder/clustered.json"),
    ("entropy-two-gpus", "2026-11-21-ladder/v14-2-gpus.json"),
    ("entropy-ladders", "2026-11-21-ladder/ladders.json"),
    ("entropy-late", "2026-11-23-tiles/clustered-31-new.json"),
    ("apsp", "2026-11-21-paths-2/paths-i32.json"),
    ("apsp-ladder", "2026-11-21-paths/paths-ladder.json"),
    ("apsp-cpu", "2026-11-21-paths/paths-cpu-i16.json"),
    ("primer", "2026-11-22-primer/primer.json"),
    ("primer-early", "2026-11-21-primer/primer.json"),
    ("sweep", "2026-11-22-cliffs/sweep-old.json"),
    ("sweep-new", "2026-11-22-cliffs/sweep-new.json"),
    ("sweep-late", "2026-11-23-tiles/sweep-255-new.json"),
];
/// Those whose texts are kept, to see what has changed; of the others a hash is.
const TEXTS: [&str; 3] = ["entropy", "apsp", "sweep"];

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/golden")
}

fn read(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/record").join(path);
    let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The same with its second row made wrong and its third skipped, for reasons that every format has to escape.
fn damaged(mut record: Value) -> Value {
    let sweep = record["what"] == "sweep";
    for (at, status, reason) in [(1, "wrong", "row 1,\n| <b> & \"x\""), (2, "skipped", "it takes * and `y` | no more")]
    {
        if let Some(Value::Object(row)) = record["results"].get_mut(at) {
            row.insert("status".to_owned(), status.into());
            row.insert("reason".to_owned(), reason.into());
            // Only what was timed has a kernel that was chosen.
            if sweep {
                row.insert("kernel".to_owned(), Value::Null);
            }
        }
    }
    record
}

fn written<R>(exporter: &dyn Exporter<R>, record: &R) -> String {
    let mut bytes = Vec::new();
    exporter.write(record, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// The formats of a record, by the ending of their names.
fn formats(mut record: Value) -> Vec<(&'static str, String)> {
    match record["what"].as_str().unwrap() {
        "entropy" => {
            let record: bench::Record = from_value(record).unwrap();
            let mut table = super::table::head(&record);
            for rows in record.results.chunk_by(|a, b| (a.rows, a.cols) == (b.rows, b.cols)) {
                table += &super::table::shape(&rows[0]);
                table.extend(rows.iter().map(super::table::line));
            }
            vec![
                ("txt", table),
                ("csv", written(&export::Csv, &record)),
                ("md", written(&export::Markdown, &record)),
                ("html", written(&export::Html, &record)),
            ]
        }
        "apsp" => {
            use super::apsp::{export, html, table};
            let record: apsp::Record = from_value(record).unwrap();
            let mut text = table::head(&record);
            for rows in record.results.chunk_by(|a, b| a.vertices == b.vertices) {
                text += &table::heading(rows[0].vertices);
                text.extend(rows.iter().map(table::line));
            }
            vec![
                ("txt", text),
                ("csv", written(&export::Csv, &record)),
                ("md", written(&export::Markdown, &record)),
                ("html", written(&html::Html, &record)),
            ]
        }
        "primer" => {
            use super::primer::{export, html, table};
            for row in record["results"].as_array_mut().unwrap() {
                if row.get("readings").is_none() {
                    row["readings"] = json!([]);
                }
            }
            let record: primer::Record = from_value(record).unwrap();
            let mut text = table::head(&record);
            for rows in record.results.chunk_by(primer::Row::beside) {
                text += &table::heading(&table::title(&rows[0]));
                text.extend(rows.iter().map(table::line));
            }
            vec![
                ("txt", text),
                ("csv", written(&export::Csv, &record)),
                ("md", written(&export::Markdown, &record)),
                ("html", written(&html::Html, &record)),
            ]
        }
        _ => {
            use super::sweep::{export, table};
            let record: sweep::Record = from_value(record).unwrap();
            let mut text = table::head(&record);
            for rows in record.results.chunk_by(sweep::Row::beside) {
                text += &table::line(rows, &record.results[0].setting);
            }
            text += &table::cliffs(&record.cliffs);
            vec![("txt", text), ("csv", written(&export::Csv, &record)), ("md", written(&export::Markdown, &record))]
        }
    }
}

/// FNV-1a, 64 bits.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn what_is_said_of_old_records_stays_as_it_was() {
    let anew = std::env::var_os("HALOTILE_GOLDEN").is_some();
    let mut hashes = String::new();
    for (name, path) in RECORDS {
        let record = read(path);
        for (name, record) in [(name.to_owned(), record.clone()), (format!("{name}-damaged"), damaged(record))] {
            for (ending, text) in formats(record) {
                let _ = writeln!(hashes, "{name}.{ending} {} {:016x}", text.len(), hash(&text));
                let file = here().join(format!("{name}.{ending}"));
                if !TEXTS.contains(&name.as_str()) {
                    continue;
                }
                if anew {
                    std::fs::write(&file, &text).unwrap();
                }
                let before = std::fs::read_to_string(&file).unwrap();
                for (at, (ours, theirs)) in text.lines().zip(before.lines()).enumerate() {
                    assert_eq!(ours, theirs, "{name}.{ending}, line {}", at + 1);
                }
                assert_eq!(text, before, "{name}.{ending}");
            }
        }
    }
    let file = here().join("hashes.txt");
    if anew {
        std::fs::write(&file, &hashes).unwrap();
    }
    let before = std::fs::read_to_string(&file).unwrap();
    for (ours, theirs) in hashes.lines().zip(before.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(hashes, before);
}
