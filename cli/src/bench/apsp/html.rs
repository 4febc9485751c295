//! The page of a record of shortest paths: times and shares of the ceiling as charts, and all figures.

use std::io::Write;

use halotile_lab::bench::Times;
use halotile_lab::bench::apsp::{Record, Row, Timing};

use super::table::{HEADINGS, columns};
use crate::bench::export::Exporter;
use crate::bench::export::html::chart::{self, Chart, Mark, Scale};
use crate::bench::export::html::parts::{self, Item, Length, legend, section};
use crate::bench::figures::{ms, percent, significant};

/// The page.
pub struct Html;

impl Exporter<Record> for Html {
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(out.write_all(page(record).as_bytes())?)
    }
}

/// The rows of each size.
fn sizes(record: &Record) -> impl Iterator<Item = &[Row]> {
    record.results.chunk_by(|a, b| a.vertices == b.vertices)
}

/// Rows as the parts of pages take them.
fn items(rows: &[Row]) -> Vec<Item<'_, Timing>> {
    fn item(row: &Row) -> Item<'_, Timing> {
        let Row { kernel, place, before, idea, vertices, outcome } = row;
        Item::new((kernel, place), (before.as_deref(), idea.as_deref()), format!("{vertices} vertices"), outcome)
    }
    rows.iter().map(item).collect()
}

fn page(record: &Record) -> String {
    let device = record.head.devices.first().map_or("the CPU", |device| &device.name);
    let all = items(&record.results);
    let tables: String = sizes(record).map(|rows| parts::table(&items(rows), &HEADINGS, columns)).collect();
    let sections = [
        parts::failures(&all),
        times(record),
        shares(record),
        format!("<section>\n<h2>Figures</h2>\n{tables}</section>\n"),
        parts::skipped(&all, sizes(record).count()),
        method(record),
    ];
    parts::document(&format!("All-pairs shortest paths on {device}"), &facts(record), &sections.concat())
}

fn facts(record: &Record) -> Vec<(&'static str, String)> {
    let o = &record.options;
    let rate = |rate: f64| format!("{} Grelax/s", significant(rate / 1e9));
    let device = record.ceilings.device.map(|ceiling| format!("{} on the device, ", rate(ceiling)));
    let ceiling = format!("{}{} on the CPU", device.unwrap_or_default(), rate(record.ceilings.cpu));
    let (least, most) = o.weights;
    let work = format!("{} graphs, weights {least} to {most}, {} (seed {})", o.graph, o.weight, o.seed);
    let mut facts = parts::machine(&record.head);
    facts.extend([("Ceiling", ceiling), ("Work", work)]);
    facts.push(parts::measured(&record.head));
    facts
}

fn hint(timing: &Timing) -> (&Times, String, Option<f64>) {
    (&timing.time, format!("{} Grelax/s", significant(timing.relaxations_per_second / 1e9)), timing.speedup)
}

fn times(record: &Record) -> String {
    let chart = |(i, rows): (usize, &[Row])| {
        let relaxations = (rows[0].vertices as f64).powi(3);
        let mark = |rate: f64, class, what: &str| {
            let limit = relaxations / rate;
            Mark { value: limit * 1e3, class, text: format!("{what} {} ms", ms(limit)) }
        };
        let device = record.ceilings.device.map(|rate| mark(rate, "device", "device"));
        let cpu = rows.iter().any(|row| row.place == "cpu" && row.timing().is_some());
        let cpu = cpu.then(|| mark(record.ceilings.cpu, "cpu", "CPU"));
        let title = format!("{} vertices", rows[0].vertices);
        Chart {
            id: format!("time-{i}"),
            description: format!(
                "Bars: median time in milliseconds, logarithmic, of each kernel with {title}; shorter is faster."
            ),
            title,
            axis: "median time, ms (logarithmic)".to_owned(),
            scale: Scale::Logarithmic,
            bars: parts::bars(&items(rows), |timing| Some(Length::of(&timing.time)), hint),
            marks: device.into_iter().chain(cpu).collect(),
        }
        .svg()
    };
    let charts: String = sizes(record).enumerate().map(chart).collect();
    let device: &[_] = if record.ceilings.device.is_some() { &[("device", "ceiling of the device")] } else { &[] };
    let marks = [device, &[("cpu", "ceiling of the CPU")]].concat();
    section(
        "Time",
        "Of the computation alone, by the device’s clock; on the CPU, of the whole. The thin line on a bar goes from the fastest to the \
         slowest run. No kernel can be left of its ceiling.",
        &legend(&items(&record.results), &marks, |_| true),
        &charts,
    )
}

fn shares(record: &Record) -> String {
    let share = |timing: &Timing| timing.share_of_ceiling;
    // The same scale for all sizes.
    let most = record.results.iter().filter_map(|row| row.timing().and_then(share)).fold(0.0, f64::max);
    let length = |timing: &Timing| {
        share(timing).map(|share| Length { value: share * 100.0, spread: None, text: percent(share) })
    };
    let chart = |(i, rows): (usize, &[Row])| {
        let title = format!("{} vertices", rows[0].vertices);
        Chart {
            id: format!("share-{i}"),
            description: format!(
                "Bars: the share of the ceiling that each kernel reaches with {title}, in percent; longer is better."
            ),
            title,
            axis: "share of the ceiling, %".to_owned(),
            scale: Scale::Linear { end: chart::round(most * 100.0) },
            bars: parts::bars(&items(rows), length, hint),
            marks: Vec::new(),
        }
        .svg()
    };
    let charts: String = sizes(record).enumerate().map(chart).collect();
    section(
        "Share of the ceiling",
        "The number of vertices cubed over the time, and that over what the machine can do.",
        &legend(&items(&record.results), &[], |timing| share(timing).is_some()),
        &charts,
    )
}

fn method(record: &Record) -> String {
    let mut verified: Vec<String> = Vec::new();
    for row in &record.results {
        let Some(timing) = row.timing() else { continue };
        let text = format!("{} vertices: {}", row.vertices, timing.verified);
        if !verified.contains(&text) {
            verified.push(text);
        }
    }
    let text = format!(
        "Everything was compared with Dijkstra’s algorithm before it was timed ({}). Ceilings: {}. Raw times are in the JSON export.",
        verified.join(". "),
        record.ceilings.how
    );
    section("How this was measured", &text, "", "")
}
