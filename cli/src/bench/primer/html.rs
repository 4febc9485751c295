//! The page of a record of the primer: a chart for every topic, size and type, and all figures.

use std::io::Write;

use halotile_lab::bench::Times;
use halotile_lab::bench::primer::{Record, Row, Timing, Unit};
use halotile_lab::primer::{TOPICS, Topic};

use super::table::{HEADINGS, ceilings, columns, label, rate, title};
use crate::bench::export::Exporter;
use crate::bench::export::html::chart::{self, Chart, Mark, Scale};
use crate::bench::export::html::parts::{self, Item, Length, legend, section};
use crate::bench::figures::percent;

/// The page.
pub struct Html;

impl Exporter<Record> for Html {
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(out.write_all(page(record).as_bytes())?)
    }
}

/// The rows of each table, with their labels.
fn tables(record: &Record) -> impl Iterator<Item = (&[Row], Vec<String>)> {
    record.results.chunk_by(Row::beside).map(|rows| (rows, rows.iter().map(label).collect()))
}

/// Rows as the parts of pages take them.
fn items<'a>(rows: &'a [Row], labels: &'a [String]) -> Vec<Item<'a, Timing>> {
    let item = |(row, label): (&'a Row, &'a String)| {
        Item::new((label, "device"), (row.before.as_deref(), Some(&row.idea)), title(row), &row.outcome)
    };
    rows.iter().zip(labels).map(item).collect()
}

fn page(record: &Record) -> String {
    let device = record.head.devices.first().map_or("no device", |device| &device.name);
    let labels: Vec<String> = record.results.iter().map(label).collect();
    let all = items(&record.results, &labels);
    let figures: String =
        tables(record).map(|(rows, labels)| parts::table(&items(rows, &labels), &HEADINGS, columns)).collect();
    let charts: String = TOPICS.iter().map(|topic| charts(record, topic)).collect();
    let sections = [
        parts::failures(&all),
        charts,
        format!("<section>\n<h2>Figures</h2>\n{figures}</section>\n"),
        parts::skipped(&all, tables(record).count()),
        method(record),
    ];
    parts::document(&format!("The primer on {device}"), &facts(record), &sections.concat())
}

fn facts(record: &Record) -> Vec<(&'static str, String)> {
    let mut facts = parts::machine(&record.head);
    facts.push(("Ceilings", ceilings(record).join(", ")));
    facts.push(parts::measured(&record.head));
    facts
}

fn hint(timing: &Timing) -> (&Times, String, Option<f64>) {
    (&timing.time, rate(timing.unit, timing.per_second), timing.speedup)
}

/// What an axis counts in, and what it says: launches in thousands a second, all else in billions.
fn axis(unit: Option<Unit>) -> (f64, &'static str) {
    match unit {
        Some(Unit::Flops) => (1e9, "Gflop/s"),
        Some(Unit::Accesses) => (1e9, "accesses of a warp, billions a second"),
        Some(Unit::Operations) => (1e9, "operations of a lane, billions a second"),
        Some(Unit::Launches) => (1e3, "launches, thousands a second"),
        Some(Unit::Bytes | Unit::Transferred) | None => (1e9, "GB/s"),
    }
}

/// The topic's charts: rates, and where the ceiling is.
fn charts(record: &Record, topic: &Topic) -> String {
    let length = |timing: &Timing| {
        let text = match timing.share_of_ceiling {
            Some(share) => format!("{}, {}", rate(timing.unit, timing.per_second), percent(share)),
            None => rate(timing.unit, timing.per_second),
        };
        Some(Length { value: timing.per_second / axis(Some(timing.unit)).0, spread: None, text })
    };
    let chart = |(i, (rows, labels)): (usize, (&[Row], Vec<String>))| {
        let unit = rows.iter().find_map(Row::timing).map(|timing| timing.unit);
        let ceiling = unit.and_then(|unit| record.ceilings.of(unit).map(|ceiling| (unit, ceiling)));
        let best = rows.iter().filter_map(|row| Some(row.timing()?.per_second)).fold(0.0, f64::max);
        let (scale, axis) = axis(unit);
        let most = best.max(ceiling.map_or(0.0, |(_, ceiling)| ceiling)) / scale;
        let mark = |(unit, ceiling): (Unit, f64)| Mark {
            value: ceiling / scale,
            class: "device",
            text: format!("ceiling {}", rate(unit, ceiling)),
        };
        let title = title(&rows[0]);
        Chart {
            id: format!("{}-{i}", topic.name),
            description: format!("Bars: the rate of each kernel, {title}; longer is better."),
            title,
            axis: axis.to_owned(),
            scale: Scale::Linear { end: chart::round(most) },
            bars: parts::bars(&items(rows, &labels), length, hint),
            marks: ceiling.map(mark).into_iter().collect(),
        }
    };
    let of_topic = tables(record).filter(|(rows, _)| rows[0].topic == topic.name);
    let charts: Vec<Chart> = of_topic.enumerate().map(chart).filter(|chart| !chart.is_empty()).collect();
    if charts.is_empty() {
        return String::new();
    }
    let marked = charts.iter().any(|chart| !chart.marks.is_empty());
    let marks: &[_] = if marked { &[("device", "ceiling of the device")] } else { &[] };
    let charts: String = charts.iter().map(Chart::svg).collect();
    let title = topic.name[..1].to_uppercase() + &topic.name[1..];
    section(&title, topic.title, &legend::<Timing>(&[], marks, |_| true), &charts)
}

fn method(record: &Record) -> String {
    let mut verified: Vec<&str> =
        record.results.iter().filter_map(|row| Some(row.timing()?.verified.as_str())).collect();
    verified.sort_unstable();
    verified.dedup();
    let text = format!(
        "Everything was compared with its definition before it was timed ({}). Ceilings: {}. Wavefronts and sectors are what the emulator counts \
         of a smaller case. Raw times are in the JSON export.",
        verified.join("; "),
        record.ceilings.how
    );
    section("How this was measured", &text, "", "")
}
