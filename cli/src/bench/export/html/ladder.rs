//! Charts of ladders: for each size the times of all rungs, beside what the machine can do, and the share of that which each reaches.

use halotile_lab::bench::{Record, Row, Timing, Unit};

use super::chart::{Chart, Mark, Scale, round};
use super::parts::{self, Item, Length, items, legend, section};
use crate::bench::figures::{ms, percent};
use crate::bench::layout;

/// What is different between ladders.
pub struct Ladder {
    /// What the machine can do: "copy limit".
    pub limit: &'static str,
    /// In what.
    pub unit: Unit,
    /// How many of them a row takes at least.
    pub least: fn(&Row) -> f64,
    /// What marks the limits of the device and of the CPU.
    pub marks: [&'static str; 2],
    /// Before a size: "on", "with".
    pub of: &'static str,
    /// What is said above the times.
    pub times: &'static str,
    /// What is said above the shares.
    pub shares: &'static str,
}

/// The bars of a table's rows; the legend is of all.
fn bars(record: &Record, rows: &[Row], length: impl Fn(&Timing) -> Option<Length>) -> Vec<super::chart::Bar> {
    parts::bars(&items(layout::of(record), rows), length)
}

/// The section with the times.
pub fn times(record: &Record, ladder: &Ladder) -> String {
    let Ladder { limit, unit, of, marks: [on_device, on_cpu], .. } = ladder;
    let device = record.ceilings.of("device", *unit);
    let chart = |(i, rows): (usize, &[Row])| {
        let mark = |rate: f64, class, what: &str| {
            let limit = (ladder.least)(&rows[0]) / rate;
            Mark { value: limit * 1e3, class, text: format!("{what} {} ms", ms(limit)) }
        };
        let cpu = record.ceilings.of("cpu", *unit);
        let cpu = cpu.filter(|_| rows.iter().any(|row| row.place != "device" && row.timing().is_some()));
        let marks = device.map(|rate| mark(rate, "device", on_device));
        let title = layout::of(record).title(&rows[0]);
        Chart {
            id: format!("time-{i}"),
            description: format!(
                "Bars: median time in milliseconds, logarithmic, of each kernel {of} {title}; shorter is faster."
            ),
            title,
            axis: "median time, ms (logarithmic)".to_owned(),
            scale: Scale::Logarithmic,
            bars: bars(record, rows, |timing| Some(Length::of(&timing.time))),
            marks: marks.into_iter().chain(cpu.map(|rate| mark(rate, "cpu", on_cpu))).collect(),
        }
        .svg()
    };
    let charts: String = record.tables().enumerate().map(chart).collect();
    let device = device.map(|_| ("device", format!("{limit} of the device")));
    let marks: Vec<_> = device.into_iter().chain([("cpu", format!("{limit} of the CPU"))]).collect();
    section("Time", ladder.times, &legend(&all(record), &marks, |_| true), &charts)
}

/// The section with the shares of the limit.
pub fn shares(record: &Record, Ladder { limit, of, shares, .. }: &Ladder) -> String {
    let share = |timing: &Timing| timing.share_of_ceiling;
    // The same scale for all sizes.
    let most = record.results.iter().filter_map(|row| row.timing().and_then(share)).fold(0.0, f64::max);
    let length = |timing: &Timing| {
        share(timing).map(|share| Length { value: share * 100.0, spread: None, text: percent(share) })
    };
    let chart = |(i, rows): (usize, &[Row])| {
        let title = layout::of(record).title(&rows[0]);
        Chart {
            id: format!("share-{i}"),
            description: format!(
                "Bars: the share of the {limit} that each kernel reaches {of} {title}, in percent; longer is better."
            ),
            title,
            axis: format!("share of the {limit}, %"),
            scale: Scale::Linear { end: round(most * 100.0) },
            bars: bars(record, rows, length),
            marks: Vec::new(),
        }
        .svg()
    };
    let charts: String = record.tables().enumerate().map(chart).collect();
    let legend = legend(&all(record), &[], |timing| share(timing).is_some());
    section(&format!("Share of the {limit}"), shares, &legend, &charts)
}

/// Occupancy and registers do not depend on the grid: the last size that a kernel was timed at tells them.
pub fn occupancy(record: &Record) -> String {
    let Some(rows) = record.tables().last() else { return String::new() };
    let length = |value: f64, text| Length { value, spread: None, text };
    let occupancy = Chart {
        id: "occupancy".to_owned(),
        title: "Occupancy".to_owned(),
        description: "Bars: the share of the GPU's threads that each kernel has there at once, in percent.".to_owned(),
        axis: "threads there at once, % of all".to_owned(),
        scale: Scale::Linear { end: 100.0 },
        bars: bars(record, rows, |timing| timing.occupancy.map(|share| length(share * 100.0, percent(share)))),
        marks: Vec::new(),
    };
    let registers = Chart {
        id: "registers".to_owned(),
        title: "Registers".to_owned(),
        description: "Bars: registers a thread of each kernel; spilled bytes stand beside.".to_owned(),
        axis: "registers a thread (255 at most)".to_owned(),
        scale: Scale::Linear { end: 256.0 },
        bars: bars(record, rows, |timing| {
            let usage = timing.usage?;
            let spill = if usage.spill_bytes > 0 { format!(" +{} B", usage.spill_bytes) } else { String::new() };
            Some(length(usage.registers.into(), format!("{}{spill}", usage.registers)))
        }),
        marks: Vec::new(),
    };
    let charts =
        [occupancy, registers].map(|chart| if chart.is_empty() { String::new() } else { chart.svg() }).concat();
    if charts.is_empty() {
        let text = "No kernel ran on a GPU here: there is no occupancy to show.";
        return section("Occupancy and registers", text, "", "");
    }
    section(
        "Occupancy and registers",
        "How much of the GPU’s threads is there at once, as the driver says of the launched blocks, and the registers that decide it \
         (ptxas; spilled bytes beside). A full GPU is not a goal in itself: the fastest kernels often hold few threads with many registers.",
        &legend(&all(record), &[], |timing| timing.usage.is_some()),
        &charts,
    )
}

/// What was compared with the definition, each once: `text` puts a row's with its size.
pub fn verified(record: &Record, text: impl Fn(&Row, &Timing) -> String) -> Vec<String> {
    let mut verified: Vec<String> = Vec::new();
    for row in &record.results {
        let text = row.timing().map(|timing| text(row, timing));
        verified.extend(text.filter(|text| !verified.contains(text)));
    }
    verified
}

fn all(record: &Record) -> Vec<Item<'_>> {
    items(layout::of(record), &record.results)
}
