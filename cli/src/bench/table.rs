//! The table on the terminal: a few lines about the machine, a heading for each size, a line for each case as it is done.

use std::fmt::Write;

use halotile_lab::bench::{Head, Outcome};

use super::layout::{Column, figures};

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

/// The heading of a table; `room` is for names.
pub fn heading(columns: &[Column], room: usize, title: &str) -> String {
    let headings: Vec<String> = columns.iter().map(|column| column.heading.to_owned()).collect();
    format!("\n{title}\n{}", columns_of(columns, room, "kernel", &headings))
}

/// The line of a row.
pub fn line(columns: &[Column], room: usize, label: &str, outcome: &Outcome) -> String {
    let of = |what: &str, reason: &str| format!("{label:room$} {what}: {reason}\n");
    match outcome {
        Outcome::Timed(timing) => columns_of(columns, room, label, &figures(columns, timing)),
        // A fault of the emulator has several lines.
        Outcome::Wrong { reason } => of("WRONG", &reason.split_whitespace().collect::<Vec<_>>().join(" ")),
        Outcome::Skipped { reason } => of("skipped", reason),
    }
}

fn columns_of(columns: &[Column], room: usize, name: &str, texts: &[String]) -> String {
    let cells = texts.iter().zip(columns).map(|(text, column)| format!(" {text:>width$}", width = column.width));
    format!("{name:room$}{}\n", cells.collect::<String>())
}
