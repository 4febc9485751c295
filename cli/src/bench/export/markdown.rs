//! Markdown: the machine, then a table for each size, as GitHub shows them.

use std::io::Write;

use halotile_lab::bench::{Head, Outcome, Record};

use super::Exporter;
use crate::bench::figures::{HEADINGS, columns, shape};
use crate::bench::table;

/// A list of facts and a table for each size.
pub struct Markdown;

impl Exporter<Record> for Markdown {
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        facts(out, &record.head, &table::head(record))?;
        for rows in record.results.chunk_by(|a, b| (a.rows, a.cols) == (b.rows, b.cols)) {
            let lines = rows.iter().map(|row| (row.kernel.as_str(), &row.outcome));
            section(out, &format!("{} cells", shape(&rows[0])), &HEADINGS, lines, columns)?;
        }
        Ok(())
    }
}

/// The list of facts: version, commit and time, then these lines.
pub fn facts(out: &mut dyn Write, Head { halotile, commit, time, .. }: &Head, lines: &str) -> anyhow::Result<()> {
    let commit = commit.as_ref().map(|commit| format!(", commit {}", escape(commit)));
    writeln!(out, "- halotile {halotile}{}, {time}", commit.unwrap_or_default())?;
    lines.lines().try_for_each(|line| Ok(writeln!(out, "- {}", escape(line))?))
}

/// A heading and a table, a line for each kernel.
pub fn section<'a, T: 'a, const N: usize>(
    out: &mut dyn Write,
    title: &str,
    headings: &[&str; N],
    rows: impl IntoIterator<Item = (&'a str, &'a Outcome<T>)>,
    columns: impl Fn(&T) -> [String; N],
) -> anyhow::Result<()> {
    writeln!(out, "\n### {title}\n")?;
    writeln!(out, "| kernel | {} |", headings.join(" | "))?;
    writeln!(out, "|---{}|", "|--:".repeat(N))?;
    for (kernel, outcome) in rows {
        // What has no figures has its reason in their place; the last columns stay empty.
        let rest = match outcome {
            Outcome::Timed(timing) => columns(timing).join(" | "),
            Outcome::Wrong { reason } => format!("**WRONG**: {}{}", escape(reason), " |".repeat(N - 1)),
            Outcome::Skipped { reason } => format!("skipped: {}{}", escape(reason), " |".repeat(N - 1)),
        };
        writeln!(out, "| {} | {rest} |", escape(kernel))?;
    }
    Ok(())
}

/// Text that says what it says: no mark-up, one line, one cell.
pub fn escape(text: &str) -> String {
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
        record.head.commit = Some("x_y".into());
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
