//! The table on the terminal: a few lines about the machine, a heading for each size, a line for each kernel as it is done.

use std::fmt::Write;

use halotile::bench::{Outcome, Record, Row};

use super::figures::{HEADINGS, columns, shape as shape_of, significant};

/// Widths of the columns after the name.
const WIDTHS: [usize; 9] = [10, 18, 8, 8, 5, 8, 10, 7, 8];
/// The longest names have 14 letters.
const NAME: usize = 15;

/// What is known before the first row.
pub fn head(record: &Record) -> String {
    let mut text = String::new();
    let o = &record.options;
    let copy = |rate: f64| format!("copy {} GB/s", significant(rate / 1e9));
    for (i, device) in record.devices.iter().enumerate() {
        let ceiling = record.ceilings.device_copy.filter(|_| i == 0).map(|rate| format!("; {}", copy(rate)));
        let capability = device.compute_capability.as_ref().map(|c| format!("; compute capability {c}"));
        let _ = writeln!(text, "{}{}{}", device.name, capability.unwrap_or_default(), ceiling.unwrap_or_default());
    }
    let m = &record.machine;
    let name = m.cpu.as_deref().unwrap_or("CPU");
    let _ = writeln!(text, "{name}; {} threads; {}", m.threads, copy(record.ceilings.cpu_copy));
    let _ = writeln!(text, "windows {0} x {0}; {1} levels; {2} cells, seed {3}", o.size, o.levels, o.pattern, o.seed);
    text
}

/// The heading of a size.
pub fn shape(row: &Row) -> String {
    format!("\n{} cells\n{}", shape_of(row), columns_of("kernel", &HEADINGS.map(str::to_owned)))
}

/// The line of a row.
pub fn line(row: &Row) -> String {
    let of = |what: &str, reason: &str| format!("{:NAME$} {what}: {reason}\n", row.kernel);
    match &row.outcome {
        Outcome::Timed(timing) => columns_of(&row.kernel, &columns(timing)),
        // A fault of the emulator has several lines.
        Outcome::Wrong { reason } => of("WRONG", &reason.split_whitespace().collect::<Vec<_>>().join(" ")),
        Outcome::Skipped { reason } => of("skipped", reason),
    }
}

fn columns_of(name: &str, columns: &[String; 9]) -> String {
    let cells = columns.iter().zip(WIDTHS).map(|(text, width)| format!(" {text:>width$}"));
    format!("{name:NAME$}{}\n", cells.collect::<String>())
}
