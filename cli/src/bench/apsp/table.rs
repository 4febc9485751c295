//! The columns of all tables, and the table on the terminal.

use std::fmt::Write;

use halotile_lab::bench::apsp::{Record, Row, Timing};

use crate::bench::figures::{ms, or_none, percent, significant};
use crate::bench::table::{columns_of, line_of, machine};

/// The columns after the kernel's name, as headings.
pub const HEADINGS: [&str; 7] = ["median ms", "min .. max", "Grelax/s", "of ceiling", "copies ms", "host ms", "faster"];
/// Their widths.
const WIDTHS: [usize; 7] = [10, 18, 9, 10, 9, 9, 7];

/// The columns of a row that was timed, in the order of [`HEADINGS`].
pub fn columns(timing: &Timing) -> [String; 7] {
    [
        ms(timing.time.median),
        format!("{} .. {}", ms(timing.time.min), ms(timing.time.max)),
        significant(timing.relaxations_per_second / 1e9),
        or_none(timing.share_of_ceiling.map(percent)),
        or_none(timing.copies.as_ref().map(|times| ms(times.median))),
        or_none(timing.host_to_host.as_ref().map(|times| ms(times.median))),
        or_none(timing.speedup.map(|times| format!("{}x", significant(times)))),
    ]
}

/// What is known before the first row.
pub fn head(record: &Record) -> String {
    let o = &record.options;
    let rate = |rate: f64| format!("{} Grelax/s", significant(rate / 1e9));
    let device = record.ceilings.device.map(|ceiling| format!("{} by its clock", rate(ceiling)));
    let mut text = machine(&record.head, (device, rate(record.ceilings.cpu) + " in registers"));
    let (least, most) = o.weights;
    let _ = writeln!(text, "{} graphs; weights {least} to {most}, {}; seed {}", o.graph, o.weight, o.seed);
    text
}

/// The heading of a size.
pub fn heading(vertices: usize) -> String {
    format!("\n{vertices} vertices\n{}", columns_of("kernel", &HEADINGS.map(str::to_owned), &WIDTHS))
}

/// The line of a row.
pub fn line(row: &Row) -> String {
    line_of(&row.kernel, &row.outcome, columns, &WIDTHS)
}
