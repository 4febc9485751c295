//! Markdown: the machine, then a table for each size, as GitHub shows them.

use std::io::Write;

use halotile_lab::bench::{Head, Outcome, Record};

use super::Exporter;
use crate::bench::layout::{self, Column, figures};

/// A list of facts and a table for each size.
pub struct Markdown;

impl Exporter for Markdown {
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        let layout = layout::of(record);
        facts(out, &record.head, &layout.facts(record))?;
        layout.markdown(record, out)
    }
}

/// The list of facts: version, commit and time, then these lines.
fn facts(out: &mut dyn Write, Head { halotile, commit, time, .. }: &Head, lines: &str) -> anyhow::Result<()> {
    let commit = commit.as_ref().map(|commit| format!(", commit {}", escape(commit)));
    writeln!(out, "- halotile {halotile}{}, {time}", commit.unwrap_or_default())?;
    lines.lines().try_for_each(|line| Ok(writeln!(out, "- {}", escape(line))?))
}

/// A heading and a table, a line for each row.
pub fn section<'a>(
    out: &mut dyn Write,
    title: &str,
    columns: &[Column],
    rows: impl IntoIterator<Item = (String, &'a Outcome)>,
) -> anyhow::Result<()> {
    let headings: Vec<&str> = columns.iter().map(|column| column.heading).collect();
    writeln!(out, "\n### {title}\n")?;
    writeln!(out, "| kernel | {} |", headings.join(" | "))?;
    writeln!(out, "|---{}|", "|--:".repeat(columns.len()))?;
    // What has no figures has its reason in their place; the last columns stay empty.
    let empty = " |".repeat(columns.len() - 1);
    for (label, outcome) in rows {
        let rest = match outcome {
            Outcome::Timed(timing) => figures(columns, timing).join(" | "),
            Outcome::Wrong { reason } => format!("**WRONG**: {}{empty}", escape(reason)),
            Outcome::Skipped { reason } => format!("skipped: {}{empty}", escape(reason)),
        };
        writeln!(out, "| {} | {rest} |", escape(&label))?;
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
    use super::super::{sample, written};
    use super::*;

    #[test]
    fn tables_have_as_many_cells_in_every_line() {
        let mut record = sample::record();
        record.results[0].outcome = Outcome::Wrong { reason: "a|b\nc <i>".into() };
        record.head.commit = Some("x_y".into());
        let text = written(&Markdown, &record);
        assert!(text.contains("**WRONG**: a\\|b c \\<i\\>") && text.contains("commit x\\_y"), "{text}");
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with('|')).collect();
        let shapes = text.lines().filter(|line| line.starts_with("### ")).count();
        assert_eq!((shapes, lines.len()), (3, record.results.len() + 2 * shapes));
        for line in lines {
            let cells = line.replace("\\|", "").matches('|').count();
            assert_eq!(cells, layout::of(&record).columns().len() + 2, "{line}");
        }
    }
}
