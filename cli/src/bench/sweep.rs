//! `halotile bench entropy --sweep`, and how its records are told: window sizes across, settings down, the kernels below each row, and the
//! largest steps between neighbours at the end.

use std::fmt::Write as _;
use std::io::Write;

use halotile::choice::Devices;
use halotile_lab::bench::sweep::{Axes, Cliff, Edge, Setting, Settings, setting};
use halotile_lab::bench::{BYTES_PER_CELL, Outcome, Record, Row, Target, Unit, engine_parts};

use super::entropy::{check, copies};
use super::export::html::Page;
use super::export::markdown;
use super::figures::{ms, significant};
use super::layout::{self, Cell, Column, Field};
use super::table::machine;
use super::{Session, target};
use crate::args::BenchArgs;
use crate::outcome::{Done, Usage};
use crate::profile::staged;

/// The side of the grid on a GPU: large enough that launches cost nothing.
const ON_GPU: usize = 4096;
/// The same on the CPU.
const ON_CPU: usize = 1024;
/// The same in the emulator.
const EMULATED: usize = 64;

/// Room for what a row is of.
const LABEL: usize = 26;
/// Room for a time.
const COLUMN: usize = 9;

pub fn run(args: &BenchArgs) -> anyhow::Result<Done> {
    // Said before anything is opened.
    args.sweep_plan((ON_CPU, ON_CPU)).map_err(Usage)?;
    let part = part(args).map_err(Usage)?;
    let session = Session::new(&args.exports, false, args.loudness, args.threads)?;
    let target = target::open(&args.device, &session.console)?;
    let side = match &target {
        Target::Cpu => ON_CPU,
        Target::Cuda(_) => ON_GPU,
        Target::Emulator(_) => EMULATED,
    };
    let plan = args.sweep_plan((side, side)).map_err(Usage)?;
    check(&[(plan.rows, plan.cols)], 1, &target)?;
    let done = session.measure(&match part {
        Some(part) => Settings::of_part(&plan, part),
        None => Settings::new(&plan, &target),
    });
    staged("close devices", || drop(target));
    done
}

/// The part of the CPU engine that is named; none where the library is to choose.
fn part(args: &BenchArgs) -> Result<Option<&'static str>, String> {
    match args.kernels.0.as_deref() {
        None => Ok(None),
        Some(&[part]) if engine_parts().any(|name| name == part) => match args.device {
            Devices::Cpu => Ok(Some(part)),
            _ => Err(format!("{part} is a part of the CPU engine; choose --device cpu")),
        },
        Some(_) => {
            let parts: Vec<_> = engine_parts().collect();
            Err(format!("--sweep is of what the library chooses, or of one of {}", parts.join(", ")))
        }
    }
}

/// How records of sweeps are told.
pub struct Layout;

const BEFORE: &[Field] = &[
    ("size", |row| size(row).into()),
    ("levels", |row| Cell::count(row, "levels")),
    ("nodata", |row| Cell::Flag(row.of.get("nodata").is_some_and(|nodata| nodata == true))),
    ("measure", |row| Cell::text(row, "measure")),
    ("shape", |row| Cell::text(row, "shape")),
    ("precision", |row| Cell::text(row, "precision")),
    ("kernel", |row| Cell::timed(row, |t| t.chosen.clone())),
];
const AFTER: &[Field] = &[
    ("cells_per_second", |row| Cell::timed(row, |t| t.per_second)),
    ("share_of_copy", |row| Cell::timed(row, |t| t.share_of_ceiling)),
    ("largest_difference", |row| Cell::timed(row, |t| t.largest_difference)),
];

impl layout::Layout for Layout {
    /// None but the window sizes, which are those of the record.
    fn columns(&self) -> &'static [Column] {
        &[]
    }

    fn title(&self, row: &Row) -> String {
        self.name(row)
    }

    fn name(&self, row: &Row) -> String {
        setting(row).map(|setting| setting.to_string()).unwrap_or_default()
    }

    fn wrong(&self, row: &Row) -> String {
        format!("{} is wrong", self.name(row))
    }

    fn csv(&self) -> [&'static [Field]; 2] {
        [BEFORE, AFTER]
    }

    fn page(&self) -> Option<&'static Page> {
        None
    }

    /// The lines about the machine and the settings.
    fn facts(&self, record: &Record) -> String {
        let (device, cpu) = copies(record);
        let mut text = machine(&record.head, (device.map(|rate| format!("copy {rate}")), format!("copy {cpu}")));
        let (o, axes) = (&record.options.work, axes(record));
        let hidden = if axes.nodata.contains(&true) { ", nodata in 5 % of them at random" } else { "" };
        let (rows, cols, seed) = (o.number("rows"), o.number("cols"), record.options.seed);
        let _ = writeln!(text, "{rows} x {cols} cells, {}, seed {seed}{hidden}", o.text("pattern"));
        let way = match record.head.devices.is_empty() {
            true => "from host memory to host memory",
            false => "from an array in the device's memory to a result there",
        };
        let base = axes.settings().first().map(|base| format!("; {} unless a row says otherwise", of_base(base)));
        let part = o.text("kernel");
        let by = if part.is_empty() { String::new() } else { format!(", all by {part}") };
        let _ = writeln!(text, "times of a call {way}{by}{}", base.unwrap_or_default());
        text
    }

    /// What is known before the first row, and the heading.
    fn head(&self, record: &Record) -> String {
        let sizes = sizes(record);
        let mut text = format!("{}\n{}", self.facts(record), columns_of("ms", &sizes));
        // What a result in f32 takes at least, at every size.
        let place = if record.head.devices.is_empty() { "cpu" } else { "device" };
        if let Some(rate) = record.ceilings.of(place, Unit::Bytes) {
            let o = &record.options.work;
            let cells = o.number("rows") as f64 * o.number("cols") as f64;
            let copy = ms(cells * BYTES_PER_CELL as f64 / rate);
            text += &columns_of("copy, 5 bytes a cell", &vec![copy; sizes.len()]);
        }
        text
    }

    /// A line is printed when it is whole.
    fn step(&self, record: &Record, rows: &[Row]) -> String {
        let Some(last) = rows.chunk_by(|a, b| a.of == b.of).last() else { return String::new() };
        if last.len() < sizes(record).len() { String::new() } else { line(last, &rows[0]) }
    }

    fn end(&self, record: &Record) -> String {
        cliffs(&record.cliffs)
    }

    fn markdown(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        let sizes = sizes(record);
        writeln!(out, "\n### Times in ms\n\n| | {} | kernels |", sizes.join(" | "))?;
        writeln!(out, "|---{}|---|", "|--:".repeat(sizes.len()))?;
        let Some(base) = record.results.first() else { return Ok(()) };
        for rows in record.tables() {
            let times: Vec<String> = rows.iter().map(time).collect();
            let notes: Vec<String> = kernels(rows).into_iter().chain(reasons(rows)).collect();
            let (label, notes) = (label(&rows[0], base), markdown::escape(&notes.join("; ")));
            writeln!(out, "| {label} | {} | {notes} |", times.join(" | "))?;
        }
        writeln!(
            out,
            "\n### Largest steps between neighbours\n\n| ratio | axis | slower | faster |\n|--:|---|---|---|"
        )?;
        let side = |Edge { setting, kernel, seconds }: &Edge| {
            let kernel = kernel.as_ref().map(|kernel| format!(" ({kernel})"));
            format!("{} ms: {setting}{}", ms(*seconds), kernel.unwrap_or_default())
        };
        record.cliffs.iter().try_for_each(|cliff| {
            let (slower, faster) = (side(&cliff.slower), side(&cliff.faster));
            let (ratio, axis) = (significant(cliff.ratio), cliff.axis.name());
            Ok(writeln!(out, "| {ratio} | {axis} | {slower} | {faster} |")?)
        })
    }
}

fn axes(record: &Record) -> Axes {
    Axes::of(record).unwrap_or_default()
}

/// The heads of the columns.
fn sizes(record: &Record) -> Vec<String> {
    axes(record).columns().iter().map(|size| format!("{size} x {size}")).collect()
}

/// The window's side.
fn size(row: &Row) -> usize {
    row.parameters.number("size")
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
pub fn line(rows: &[Row], base: &Row) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let times: Vec<String> = rows.iter().map(time).collect();
    let mut text = columns_of(&label(first, base), &times);
    if let Some(kernels) = kernels(rows) {
        let _ = writeln!(text, "    {kernels}");
    }
    for reason in reasons(rows) {
        let _ = writeln!(text, "    {reason}");
    }
    text
}

/// What a row is of, where it is not the base: "16 classes, simpson".
fn label(row: &Row, base: &Row) -> String {
    let (Some(setting), Some(base)) = (setting(row), setting(base)) else { return String::new() };
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
fn time(row: &Row) -> String {
    match &row.outcome {
        Outcome::Timed(timing) => ms(timing.time.median),
        Outcome::Wrong { .. } => "WRONG".to_owned(),
        Outcome::Skipped { .. } => "-".to_owned(),
    }
}

/// The kernels of a row, by size: "columns 3; tensor 5; columns 9..31". None for the CPU engine.
fn kernels(rows: &[Row]) -> Option<String> {
    let runs = runs(rows.iter().filter_map(|row| Some((size(row), row.timing()?.chosen.clone()?))));
    match &runs[..] {
        [] => None,
        // One for all.
        [(kernel, _)] => Some(kernel.clone()),
        runs => Some(runs.iter().map(|(kernel, sizes)| format!("{kernel} {sizes}")).collect::<Vec<_>>().join("; ")),
    }
}

/// Why there are no times: "101..255 skipped: ...".
fn reasons(rows: &[Row]) -> Vec<String> {
    let reason = |row: &Row| match &row.outcome {
        Outcome::Timed(_) => None,
        // A fault of the emulator has several lines.
        Outcome::Wrong { reason } => {
            Some(format!("WRONG: {}", reason.split_whitespace().collect::<Vec<_>>().join(" ")))
        }
        Outcome::Skipped { reason } => Some(format!("skipped: {reason}")),
    };
    let runs = runs(rows.iter().filter_map(|row| Some((size(row), reason(row)?))));
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
fn cliffs(cliffs: &[Cliff]) -> String {
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
mod tests {
    use halotile_lab::bench::sweep::Axis;
    use halotile_lab::bench::{Clock, Times, Timing};

    use super::*;

    /// The base's row at 3, 5, 9 and 21: two kernels, a size that is skipped, one that is wrong.
    fn rows() -> Vec<Row> {
        let axes = Axes { sizes: vec![3, 5, 9, 21], ..Axes::default() };
        let timed = |seconds, kernel: &str| {
            let timing = Timing::new(Times::new(Clock::Wall, vec![seconds]), Unit::Cells, 1e9);
            Outcome::Timed(Box::new(Timing { chosen: Some(kernel.to_owned()), ..timing }))
        };
        let row = |(setting, outcome): (Setting, Outcome)| Row { outcome, ..setting.row("auto", "device") };
        let outcomes = [
            timed(0.001, "columns"),
            timed(0.0005, "tensor"),
            Outcome::Skipped { reason: "too | wide".into() },
            Outcome::Wrong { reason: "row 1,\n column 2".into() },
        ];
        axes.settings().into_iter().zip(outcomes).map(row).collect()
    }

    #[test]
    fn a_line_has_times_kernels_and_reasons() {
        let rows = rows();
        assert_eq!(
            line(&rows, &rows[0]),
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
        let rows: Vec<Row> = axes.settings().iter().map(|setting| setting.row("auto", "device")).collect();
        let labels: Vec<String> = rows.iter().map(|row| label(row, &rows[0])).collect();
        assert_eq!(labels[..3], ["16 classes", "44 classes", "16 classes, nodata"]);
        assert_eq!(labels[4..6], ["16 classes, simpson", "16 classes, richness"]);
        assert_eq!(labels[8..11], ["16 classes, disk", "16 classes, f64", "44 classes, simpson"]);
        assert_eq!(labels[14..], ["44 classes, disk", "44 classes, f64"]);
    }

    #[test]
    fn a_cliff_names_both_sides_and_their_kernels() {
        let rows = rows();
        let side = |row: &Row, seconds| {
            let kernel = row.timing().and_then(|timing| timing.chosen.clone());
            Edge { setting: setting(row).unwrap(), kernel, seconds }
        };
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
