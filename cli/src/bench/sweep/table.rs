//! The table of a sweep: window sizes across, settings down, the kernels below each row, and the worst cliffs at the end.

use std::fmt::Write;

use halotile_lab::bench::Outcome;
use halotile_lab::bench::sweep::{Cliff, Edge, Record, Row, Setting};

use crate::bench::figures::{ms, significant};
use crate::bench::table::machine;

/// Room for what a row is of.
const LABEL: usize = 26;
/// Room for a time.
const COLUMN: usize = 9;

/// What is known before the first row, and the heading.
pub fn head(record: &Record) -> String {
    let mut text = facts(record);
    let sizes: Vec<String> = record.options.axes.columns().iter().map(|size| format!("{size} x {size}")).collect();
    let _ = write!(text, "\n{}", columns_of("ms", &sizes));
    // What a result in f32 takes at least, at every size.
    if let Some(rate) = record.copy() {
        let cells = record.options.rows as f64 * record.options.cols as f64;
        let copy = ms(cells * halotile_lab::bench::BYTES_PER_CELL as f64 / rate);
        text += &columns_of("copy, 5 bytes a cell", &vec![copy; sizes.len()]);
    }
    text
}

/// The lines about the machine and the settings.
pub fn facts(record: &Record) -> String {
    let o = &record.options;
    let copy = |rate: f64| format!("copy {} GB/s", significant(rate / 1e9));
    let mut text = machine(&record.head, (record.ceilings.device_copy.map(copy), copy(record.ceilings.cpu_copy)));
    let hidden = if o.axes.nodata.contains(&true) { ", nodata in 5 % of them at random" } else { "" };
    let _ = writeln!(text, "{} x {} cells, {}, seed {}{hidden}", o.rows, o.cols, o.pattern, o.seed);
    let way = match record.head.devices.is_empty() {
        true => "from host memory to host memory",
        false => "from an array in the device's memory to a result there",
    };
    let base = o.axes.settings().first().map(|base| format!("; {} unless a row says otherwise", of_base(base)));
    let _ = writeln!(text, "times of a call {way}{}", base.unwrap_or_default());
    text
}

/// What all rows have in common: "shannon, square, f32, no nodata".
fn of_base(base: &Setting) -> String {
    let Setting { measure, shape, precision, nodata, .. } = base;
    format!("{measure}, {}, {}, {}", shape.name(), precision.name(), nodata_in_words(*nodata))
}

fn nodata_in_words(nodata: bool) -> &'static str {
    if nodata { "nodata" } else { "no nodata" }
}

/// A row of the table, its cells by size: times, and below them the kernels that did it and what has no time.
pub fn line(rows: &[Row], base: &Setting) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let times: Vec<String> = rows.iter().map(time).collect();
    let mut text = columns_of(&label(&first.setting, base), &times);
    if let Some(kernels) = kernels(rows) {
        let _ = writeln!(text, "    {kernels}");
    }
    for reason in reasons(rows) {
        let _ = writeln!(text, "    {reason}");
    }
    text
}

/// What a row is of, where it is not the base: "16 classes, simpson".
pub fn label(setting: &Setting, base: &Setting) -> String {
    let mut text = format!("{} classes", setting.levels);
    let mut add = |differs: bool, what: &str| {
        if differs {
            text += ", ";
            text += what;
        }
    };
    add(setting.nodata != base.nodata, nodata_in_words(setting.nodata));
    add(setting.measure != base.measure, &setting.measure.to_string());
    add(setting.shape != base.shape, setting.shape.name());
    add(setting.precision != base.precision, setting.precision.name());
    text
}

/// A time in ms, or what stands in its place.
pub fn time(row: &Row) -> String {
    match &row.outcome {
        Outcome::Timed(timing) => ms(timing.time.median),
        Outcome::Wrong { .. } => "WRONG".to_owned(),
        Outcome::Skipped { .. } => "-".to_owned(),
    }
}

/// The kernels of a row, by size: "columns 3; tensor 5; columns 9..31". None for the CPU engine.
pub fn kernels(rows: &[Row]) -> Option<String> {
    let runs = runs(rows.iter().filter_map(|row| Some((row.setting.size, row.kernel.clone()?))));
    match &runs[..] {
        [] => None,
        // One for all.
        [(kernel, _)] => Some(kernel.clone()),
        runs => Some(runs.iter().map(|(kernel, sizes)| format!("{kernel} {sizes}")).collect::<Vec<_>>().join("; ")),
    }
}

/// Why there are no times: "101..255 skipped: ...".
pub fn reasons(rows: &[Row]) -> Vec<String> {
    let reason = |row: &Row| match &row.outcome {
        Outcome::Timed(_) => None,
        // A fault of the emulator has several lines.
        Outcome::Wrong { reason } => {
            Some(format!("WRONG: {}", reason.split_whitespace().collect::<Vec<_>>().join(" ")))
        }
        Outcome::Skipped { reason } => Some(format!("skipped: {reason}")),
    };
    let runs = runs(rows.iter().filter_map(|row| Some((row.setting.size, reason(row)?))));
    runs.into_iter().map(|(reason, sizes)| format!("{sizes} {reason}")).collect()
}

/// Sizes next to each other of which the same is said, as one: "9..31".
fn runs(said: impl Iterator<Item = (usize, String)>) -> Vec<(String, String)> {
    let mut runs: Vec<(String, usize, usize)> = Vec::new();
    for (size, text) in said {
        match runs.last_mut() {
            Some((last, _, to)) if *last == text => *to = size,
            _ => runs.push((text, size, size)),
        }
    }
    let sizes = |from, to| if from == to { format!("{from}") } else { format!("{from}..{to}") };
    runs.into_iter().map(|(text, from, to)| (text, sizes(from, to))).collect()
}

/// The worst cliffs, two lines each.
pub fn cliffs(cliffs: &[Cliff]) -> String {
    let mut text = "\nlargest steps between neighbours\n".to_owned();
    if cliffs.is_empty() {
        text += "none: no two neighbours have times\n";
    }
    for Cliff { axis, ratio, slower, faster } in cliffs {
        let times = format!("{}x", significant(*ratio));
        let _ = writeln!(text, "{times:>8}  {:9} {}", axis.name(), edge(slower));
        let _ = writeln!(text, "{:8}  {:9} {}", "", "", edge(faster));
    }
    text
}

/// A side of a cliff: "0.213 ms  5 x 5, 17 classes, shannon, square, f32, no nodata (histogram)".
fn edge(Edge { setting, kernel, seconds }: &Edge) -> String {
    let kernel = kernel.as_ref().map(|kernel| format!(" ({kernel})"));
    format!("{:>COLUMN$} ms  {setting}{}", ms(*seconds), kernel.unwrap_or_default())
}

fn columns_of(label: &str, columns: &[String]) -> String {
    let cells: String = columns.iter().map(|text| format!(" {text:>COLUMN$}")).collect();
    format!("{label:LABEL$}{cells}\n")
}

#[cfg(test)]
pub mod tests {
    use halotile_lab::bench::sweep::{Axes, Axis, Timing};
    use halotile_lab::bench::{Clock, Times};

    use super::*;

    /// The base's row at 3, 5, 9 and 21: two kernels, a size that is skipped, one that is wrong.
    pub fn rows() -> Vec<Row> {
        let axes = Axes { sizes: vec![3, 5, 9, 21], ..Axes::default() };
        let timed = |seconds| {
            Outcome::Timed(Box::new(Timing {
                time: Times::new(Clock::Wall, vec![seconds]),
                cells_per_second: 1e9,
                share_of_copy: Some(0.5),
                verified: "every cell".into(),
                largest_difference: 1e-7,
            }))
        };
        let row = |(setting, outcome): (Setting, Outcome<Timing>)| {
            let kernel = if setting.size == 5 { "tensor" } else { "columns" };
            Row { setting, kernel: outcome.timed().map(|_| kernel.to_owned()), outcome }
        };
        let outcomes = [
            timed(0.001),
            timed(0.0005),
            Outcome::Skipped { reason: "too | wide".into() },
            Outcome::Wrong { reason: "row 1,\n column 2".into() },
        ];
        axes.settings().into_iter().zip(outcomes).map(row).collect()
    }

    #[test]
    fn a_line_has_times_kernels_and_reasons() {
        let rows = rows();
        let base = rows[0].setting;
        assert_eq!(
            line(&rows, &base),
            "16 classes                      1.00     0.500         -     WRONG\n    \
             columns 3; tensor 5\n    9 skipped: too | wide\n    21 WRONG: row 1, column 2\n"
        );
        assert_eq!(kernels(&rows[..1]).as_deref(), Some("columns"));
        assert_eq!((kernels(&rows[2..]), reasons(&rows[..2])), (None, Vec::new()));
        let said = [(3, "a"), (5, "a"), (9, "b"), (21, "a")].map(|(size, text)| (size, text.to_owned()));
        let told = runs(said.into_iter()).into_iter().map(|(text, sizes)| format!("{text} {sizes}"));
        assert_eq!(told.collect::<Vec<_>>(), ["a 3..5", "b 9", "a 21"]);
    }

    #[test]
    fn a_row_is_called_by_what_is_not_the_bases() {
        let axes = Axes { sizes: vec![3], levels: vec![16, 44], ..Axes::default() };
        let settings = axes.settings();
        let labels: Vec<String> = settings.iter().map(|setting| label(setting, &settings[0])).collect();
        assert_eq!(labels[..3], ["16 classes", "44 classes", "16 classes, nodata"]);
        assert_eq!(labels[4..6], ["16 classes, simpson", "16 classes, richness"]);
        assert_eq!(labels[8..], ["16 classes, disk", "16 classes, f64"]);
    }

    #[test]
    fn a_cliff_names_both_sides_and_their_kernels() {
        let rows = rows();
        let side = |row: &Row, seconds| Edge { setting: row.setting, kernel: row.kernel.clone(), seconds };
        let (slower, faster) = (side(&rows[0], 0.001), Edge { kernel: None, ..side(&rows[1], 0.0005) });
        assert_eq!(
            cliffs(&[Cliff { axis: Axis::Size, ratio: 2.0, slower, faster }]),
            "\nlargest steps between neighbours\n\
             \x20  2.00x  size           1.00 ms  3 x 3, 16 classes, shannon, square, f32, no nodata (columns)\n\
             \x20                       0.500 ms  5 x 5, 16 classes, shannon, square, f32, no nodata\n"
        );
        assert!(cliffs(&[]).contains("none: "));
    }
}
