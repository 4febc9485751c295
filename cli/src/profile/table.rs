//! The sums of a profile, as text and as the columns of the page's tables.

use std::fmt::Write;

use halotile::profile::{Busy, Line};

use super::Report;
use crate::bench::figures::{ms, or_none, percent, significant};

/// The columns after the name, as headings.
pub const HEADINGS: [&str; 7] = ["calls", "ms", "share", "mean ms", "shortest .. longest", "GB/s", "host ms"];
/// Their widths.
const WIDTHS: [usize; 7] = [7, 10, 8, 10, 22, 8, 10];
/// Room for a name.
const NAME: usize = 32;
/// Names that are printed; the trace and the page have all.
const MOST: usize = 25;

/// The columns of a name, its share being of all that stands in the table.
pub fn columns(line: &Line, all: f64) -> [String; 7] {
    let rate = line.bytes.filter(|_| line.seconds > 0.0).map(|bytes| bytes as f64 / line.seconds / 1e9);
    [
        line.calls.to_string(),
        ms(line.seconds),
        if all > 0.0 { percent(line.seconds / all) } else { or_none(None) },
        ms(line.seconds / line.calls as f64),
        format!("{} .. {}", ms(line.range.0), ms(line.range.1)),
        or_none(rate.map(significant)),
        if line.on_host { or_none(None) } else { ms(line.host_seconds) },
    ]
}

/// What a device did, in a line.
pub fn busy(device: &Busy) -> String {
    let Busy { device, kernels, copies, busy, from_first_to_last } = device;
    let share = if *from_first_to_last > 0.0 { percent(busy / from_first_to_last) } else { or_none(None) };
    let [kernels, copies, busy, all] = [kernels, copies, busy, from_first_to_last].map(|&seconds| ms(seconds));
    format!("{device}: kernels {kernels} ms, copies {copies} ms; busy {busy} of {all} ms from first to last, {share}")
}

/// The whole run, in a line.
pub fn whole(report: &Report) -> String {
    let Report { what, seconds, in_stages, .. } = report;
    let (share, seconds) = (percent(in_stages / seconds.max(f64::MIN_POSITIVE)), ms(*seconds));
    format!("{what}: {seconds} ms by the wall clock, {share} of them in stages of the main thread")
}

/// The lines of devices, or of the host's threads, and the seconds that shares are of: all that devices did, or the wall clock's, because
/// stages lie in stages.
pub fn part(report: &Report, on_host: bool) -> (Vec<&Line>, f64) {
    let lines: Vec<&Line> = report.summary.lines.iter().filter(|line| line.on_host == on_host).collect();
    let all = if on_host { report.seconds } else { lines.iter().map(|line| line.seconds).sum() };
    (lines, all)
}

fn row(text: &mut String, name: &str, columns: &[String; 7]) {
    let cells = columns.iter().zip(WIDTHS).map(|(cell, width)| format!(" {cell:>width$}"));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{name:NAME$}{}", cells.collect::<String>());
}

/// What is printed.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    for (on_host, heading) in [(false, "on devices"), (true, "stages of threads")] {
        let (lines, all) = part(report, on_host);
        if lines.is_empty() {
            continue;
        }
        text += "\n";
        row(&mut text, heading, &HEADINGS.map(str::to_owned));
        for line in lines.iter().take(MOST) {
            row(&mut text, &line.name, &columns(line, all));
        }
        if let Some(rest) = lines.get(MOST..).filter(|rest| !rest.is_empty()) {
            let seconds: f64 = rest.iter().map(|line| line.seconds).sum();
            let _ = writeln!(text, "and {} names more, {} ms together", rest.len(), ms(seconds));
        }
    }
    for device in &report.summary.devices {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", busy(device));
    }
    let _ = writeln!(text, "{}", whole(report));
    text
}
