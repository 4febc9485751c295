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

use halotile_lab::bench::Record;
use serde_json::Value;

use super::export::{self, written};
use super::layout;

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

/// The formats of a record, by the ending of their names.
fn formats(record: &Value) -> Vec<(&'static str, String)> {
    let record = Record::read(record.to_string().as_bytes()).unwrap();
    let layout = layout::of(&record);
    let steps = (1..=record.results.len()).map(|done| layout.step(&record, &record.results[..done]));
    let table = layout.head(&record) + &steps.collect::<String>() + &layout.end(&record);
    let mut formats =
        vec![("txt", table), ("csv", written(&export::Csv, &record)), ("md", written(&export::Markdown, &record))];
    if layout.page().is_some() {
        formats.push(("html", written(&export::Html, &record)));
    }
    // This schema's JSON says the same.
    assert!(Record::read(written(&export::Json, &record).as_bytes()).unwrap() == record);
    formats
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
            for (ending, text) in formats(&record) {
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
