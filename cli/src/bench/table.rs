//! The table on the terminal: a few lines about the machine, a heading for each size, a line for each kernel as it is done.

use std::fmt::Write;

use halotile_lab::bench::{Head, Outcome, Record, Row};

use super::figures::{HEADINGS, columns, shape as shape_of, significant};

/// Widths of the columns after the name.
const WIDTHS: [usize; 9] = [10, 18, 8, 8, 5, 8, 10, 7, 8];
/// The longest names have 14 letters.
const NAME: usize = 15;

/// What is known before the first row.
pub fn head(record: &Record) -> String {
    let o = &record.options;
    let copy = |rate: f64| format!("copy {} GB/s", significant(rate / 1e9));
    let ceilings = (record.ceilings.device_copy.map(copy), copy(record.ceilings.cpu_copy));
    let mut text = machine(&record.head, ceilings);
    let _ = writeln!(text, "windows {0} x {0}; {1} levels; {2} cells, seed {3}", o.size, o.levels, o.pattern, o.seed);
    text
}

/// The lines about the machine. `ceilings` are what stands beside the first device, and beside the CPU.
pub fn machine(Head { machine, devices, .. }: &Head, ceilings: (Option<String>, String)) -> String {
    let mut text = String::new();
    let mut ceiling = ceilings.0;
    for device in devices {
        let ceiling = ceiling.take().map(|ceiling| format!("; {ceiling}"));
        let capability = device.compute_capability.as_ref().map(|c| format!("; compute capability {c}"));
        let _ = writeln!(text, "{}{}{}", device.name, capability.unwrap_or_default(), ceiling.unwrap_or_default());
    }
    let name = machine.cpu.as_deref().unwrap_or("CPU");
    let _ = writeln!(text, "{name}; {} threads; {}", machine.threads, ceilings.1);
    text
}

/// The heading of a size.
pub fn shape(row: &Row) -> String {
    format!("\n{} cells\n{}", shape_of(row), columns_of("kernel", &HEADINGS.map(str::to_owned), &WIDTHS))
}

/// The line of a row.
pub fn line(row: &Row) -> String {
    line_of(&row.kernel, &row.outcome, columns, &WIDTHS)
}

/// The line of what came of a kernel, its columns so wide.
pub fn line_of<T, const N: usize>(
    kernel: &str,
    outcome: &Outcome<T>,
    columns: impl Fn(&T) -> [String; N],
    widths: &[usize; N],
) -> String {
    let of = |what: &str, reason: &str| format!("{kernel:NAME$} {what}: {reason}\n");
    match outcome {
        Outcome::Timed(timing) => columns_of(kernel, &columns(timing), widths),
        // A fault of the emulator has several lines.
        Outcome::Wrong { reason } => of("WRONG", &reason.split_whitespace().collect::<Vec<_>>().join(" ")),
        Outcome::Skipped { reason } => of("skipped", reason),
    }
}

/// A line of columns so wide.
pub fn columns_of<const N: usize>(name: &str, columns: &[String; N], widths: &[usize; N]) -> String {
    let cells = columns.iter().zip(widths).map(|(text, width)| format!(" {text:>width$}"));
    format!("{name:NAME$}{}\n", cells.collect::<String>())
}
