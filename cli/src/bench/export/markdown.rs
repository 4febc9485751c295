//! Markdown: the machine, then a table for each size, as GitHub shows them.

use std::io::Write;

use halotile::bench::{Outcome, Record, Row};

use super::Exporter;
use crate::bench::figures::{HEADINGS, columns, shape};
use crate::bench::table;

/// A list of facts and a table for each size.
pub struct Markdown;

impl Exporter for Markdown {
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        let commit = record.commit.as_ref().map(|commit| format!(", commit {}", escape(commit)));
        writeln!(out, "- halotile {}{}, {}", record.halotile, commit.unwrap_or_default(), record.time)?;
        for line in table::head(record).lines() {
            writeln!(out, "- {}", escape(line))?;
        }
        for rows in record.results.chunk_by(|a, b| (a.rows, a.cols) == (b.rows, b.cols)) {
            writeln!(out, "\n### {} cells\n", shape(&rows[0]))?;
            writeln!(out, "| kernel | {} |", HEADINGS.join(" | "))?;
            writeln!(out, "|---{}|", "|--:".repeat(HEADINGS.len()))?;
            for row in rows {
                writeln!(out, "{}", line(row))?;
            }
        }
        Ok(())
    }
}

fn line(row: &Row) -> String {
    // What has no figures has its reason in their place; the last columns stay empty.
    let rest = match &row.outcome {
        Outcome::Timed(timing) => columns(timing).join(" | "),
        Outcome::Wrong { reason } => format!("**WRONG**: {}{}", escape(reason), " |".repeat(HEADINGS.len() - 1)),
        Outcome::Skipped { reason } => format!("skipped: {}{}", escape(reason), " |".repeat(HEADINGS.len() - 1)),
    };
    format!("| {} | {rest} |", escape(&row.kernel))
}

/// Text that says what it says: no mark-up, one line, one cell.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\\' | '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '#' => escaped.extend(['\\', c]),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn tables_have_as_many_cells_in_every_line() {
        let mut record = sample::record();
        record.results[0].outcome = Outcome::Wrong { reason: "a|b\nc <i>".into() };
        record.commit = Some("x_y".into());
        let mut bytes = Vec::new();
        Markdown.write(&record, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("**WRONG**: a\\|b c \\<i\\>") && text.contains("commit x\\_y"), "{text}");
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with('|')).collect();
        let shapes = text.lines().filter(|line| line.starts_with("### ")).count();
        assert_eq!((shapes, lines.len()), (3, record.results.len() + 2 * shapes));
        for line in lines {
            let cells = line.replace("\\|", "").matches('|').count();
            assert_eq!(cells, HEADINGS.len() + 2, "{line}");
        }
    }
}
