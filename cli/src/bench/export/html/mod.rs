//! HTML: one page with charts and tables. It is one file without script, font or picture from elsewhere, so it can be mailed, kept
//! beside the record and opened where there is no network.
//!
//! The charts are SVG elements in the page (`chart`), coloured by the same style sheet (`page.css`) as the text: a page in
//! the dark has charts in the dark. The colours are of Okabe and Ito's palette, which people who are colour-blind can tell
//! apart, and no colour says anything that a label does not.

pub mod chart;
pub mod parts;

use std::io::Write;

use halotile_lab::bench::{BYTES_PER_CELL, Record, Row, Times, Timing};

use super::Exporter;
use crate::bench::figures::{HEADINGS, columns, ms, percent, shape, significant};
use chart::{Bar, Chart, Mark, Scale};
use parts::{Item, Length, legend, section};

/// The page.
pub struct Html;

impl Exporter<Record> for Html {
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(out.write_all(page(record).as_bytes())?)
    }
}

/// The rows of each size.
fn sizes(record: &Record) -> impl Iterator<Item = &[Row]> {
    record.results.chunk_by(|a, b| (a.rows, a.cols) == (b.rows, b.cols))
}

/// A row as the parts of pages take it.
fn items(rows: &[Row]) -> Vec<Item<'_, Timing>> {
    fn item(row: &Row) -> Item<'_, Timing> {
        let Row { kernel, place, before, idea, outcome, .. } = row;
        Item::new((kernel, place), (before.as_deref(), idea.as_deref()), format!("{} cells", shape(row)), outcome)
    }
    rows.iter().map(item).collect()
}

fn page(record: &Record) -> String {
    let device = record.head.devices.first().map_or("the CPU", |device| &device.name);
    let all = items(&record.results);
    let sections = [
        parts::failures(&all),
        times(record),
        shares(record),
        occupancy(record),
        tables(record),
        parts::skipped(&all, sizes(record).count()),
        method(record),
    ];
    parts::document(&format!("Moving-window entropy on {device}"), &facts(record), &sections.concat())
}

fn facts(record: &Record) -> Vec<(&'static str, String)> {
    let o = &record.options;
    let gb = |rate: f64| format!("{} GB/s", significant(rate / 1e9));
    let device_copy = record.ceilings.device_copy.map(|rate| format!("{} on the device, ", gb(rate)));
    let cpu_copy = format!("{}{} on the CPU", device_copy.unwrap_or_default(), gb(record.ceilings.cpu_copy));
    let work = format!("{0} × {0} windows, {1} levels, {2} cells (seed {3})", o.size, o.levels, o.pattern, o.seed);
    let mut facts = parts::machine(&record.head);
    facts.extend([("Copy limit", cpu_copy), ("Work", work)]);
    facts.push(parts::measured(&record.head));
    facts
}

/// A bar for each row that `value` has something to say of, or that is wrong.
fn bars(rows: &[Row], value: impl Fn(&Timing) -> Option<(f64, String)>) -> Vec<Bar> {
    let length = |timing: &Timing| value(timing).map(|(value, text)| Length { value, spread: None, text });
    parts::bars(&items(rows), length, hint)
}

fn hint(timing: &Timing) -> (&Times, String, Option<f64>) {
    (&timing.time, format!("{} Gcell/s", significant(timing.cells_per_second / 1e9)), timing.speedup)
}

fn times(record: &Record) -> String {
    let mut charts = String::new();
    for (i, rows) in sizes(record).enumerate() {
        let bars = parts::bars(&items(rows), |timing| Some(Length::of(&timing.time)), hint);
        let bytes = (rows[0].rows * rows[0].cols * BYTES_PER_CELL) as f64;
        let mark = |rate: f64, class, what: &str| {
            let limit = bytes / rate;
            Mark { value: limit * 1e3, class, text: format!("{what} {} ms", ms(limit)) }
        };
        let device = record.ceilings.device_copy.map(|rate| mark(rate, "device", "device copy"));
        let cpu = rows.iter().any(|row| row.place != "device" && row.timing().is_some());
        let cpu = cpu.then(|| mark(record.ceilings.cpu_copy, "cpu", "CPU copy"));
        charts += &Chart {
            id: format!("time-{i}"),
            title: format!("{} cells", shape(&rows[0])),
            description: format!(
                "Bars: median time in milliseconds, logarithmic, of each kernel on {} cells; shorter is faster.",
                shape(&rows[0])
            ),
            axis: "median time, ms (logarithmic)".to_owned(),
            scale: Scale::Logarithmic,
            bars,
            marks: device.into_iter().chain(cpu).collect(),
        }
        .svg();
    }
    let device: &[_] =
        if record.ceilings.device_copy.is_some() { &[("device", "copy limit of the device")] } else { &[] };
    let marks = [device, &[("cpu", "copy limit of the CPU")]].concat();
    section(
        "Time",
        "Of the kernel alone, by the device’s clock; on the CPU, of the whole. The thin line on a bar goes from the fastest to the \
         slowest run. No kernel can be left of its copy limit, unless caches hold the grid: that is the time in which the machine only \
         copies as many bytes.",
        &legend(&items(&record.results), &marks, |_| true),
        &charts,
    )
}

fn shares(record: &Record) -> String {
    // The same scale for all sizes.
    let most = record.results.iter().filter_map(|row| row.timing()?.share_of_copy).fold(0.0, f64::max);
    let charts: String = sizes(record)
        .enumerate()
        .map(|(i, rows)| {
            Chart {
                id: format!("share-{i}"),
                title: format!("{} cells", shape(&rows[0])),
                description: format!(
                    "Bars: the share of the copy limit that each kernel reaches on {} cells, in percent; longer is better.",
                    shape(&rows[0])
                ),
                axis: "share of the copy limit, %".to_owned(),
                scale: Scale::Linear { end: chart::round(most * 100.0) },
                bars: bars(rows, |timing| timing.share_of_copy.map(|share| (share * 100.0, percent(share)))),
                marks: Vec::new(),
            }
            .svg()
        })
        .collect();
    section(
        "Share of the copy limit",
        "5 bytes a cell (one read, four written) over the bytes a second that a copy moved in the same run, on the device or, for what \
         runs on the CPU, there. More than 100 % means that caches held the grid.",
        &legend(&items(&record.results), &[], |timing| timing.share_of_copy.is_some()),
        &charts,
    )
}

/// Occupancy and registers do not depend on the grid: the last size that a kernel was timed at tells them.
fn occupancy(record: &Record) -> String {
    let Some(rows) = sizes(record).last() else { return String::new() };
    let occupancy = Chart {
        id: "occupancy".to_owned(),
        title: "Occupancy".to_owned(),
        description: "Bars: the share of the GPU's threads that each kernel has there at once, in percent.".to_owned(),
        axis: "threads there at once, % of all".to_owned(),
        scale: Scale::Linear { end: 100.0 },
        bars: bars(rows, |timing| timing.occupancy.map(|share| (share * 100.0, percent(share)))),
        marks: Vec::new(),
    };
    let registers = Chart {
        id: "registers".to_owned(),
        title: "Registers".to_owned(),
        description: "Bars: registers a thread of each kernel; spilled bytes stand beside.".to_owned(),
        axis: "registers a thread (255 at most)".to_owned(),
        scale: Scale::Linear { end: 256.0 },
        bars: bars(rows, |timing| {
            let usage = timing.usage?;
            let spill = if usage.spill_bytes > 0 { format!(" +{} B", usage.spill_bytes) } else { String::new() };
            Some((f64::from(usage.registers), format!("{}{spill}", usage.registers)))
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
        &legend(&items(&record.results), &[], |timing| timing.usage.is_some()),
        &charts,
    )
}

fn tables(record: &Record) -> String {
    let tables: String = sizes(record).map(|rows| parts::table(&items(rows), &HEADINGS, columns)).collect();
    format!("<section>\n<h2>Figures</h2>\n{tables}</section>\n")
}

fn method(record: &Record) -> String {
    let mut verified: Vec<String> = Vec::new();
    for row in &record.results {
        let Some(timing) = row.timing() else { continue };
        let text = format!("{} of {} cells", timing.verified, shape(row));
        if !verified.contains(&text) {
            verified.push(text);
        }
    }
    let worst = record.results.iter().filter_map(Row::timing).map(|t| t.largest_difference).fold(0.0, f64::max);
    let copies: Vec<usize> = record.results.iter().filter_map(|row| row.timing()?.copies).collect();
    let copies = match (copies.iter().min(), copies.iter().max()) {
        (Some(least), Some(most)) => {
            let count = if least == most { most.to_string() } else { format!("{least} to {most}") };
            format!(
                " Launches of a kernel took copies of the grid in turn ({count}; more where it is smaller), each with a result of its \
                 own, so that they do not come out of the cache."
            )
        }
        _ => String::new(),
    };
    let text = format!(
        "Everything was compared with the definition in f64 before it was timed ({}); the largest difference was {worst:.1e} nats.{copies} \
         Raw times are in the JSON export.",
        verified.join("; ")
    );
    section("How this was measured", &text, "", "")
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    fn html(record: &Record) -> String {
        let mut bytes = Vec::new();
        Html.write(record, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// The elements, each with its end.
    fn svgs(page: &str) -> Vec<String> {
        let ends = |rest: &str| rest.find("</svg>").expect("an end") + "</svg>".len();
        page.match_indices("<svg ").map(|(at, _)| page[at..][..ends(&page[at..])].to_owned()).collect()
    }

    #[test]
    fn a_page_has_a_chart_for_each_question_and_size_with_a_bar_for_each_kernel() {
        let record = sample::record();
        let page = html(&record);
        let svgs = svgs(&page);
        let mut ids = Vec::new();
        for svg in &svgs {
            let document = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}: {svg}"));
            let root = document.root_element();
            let id = root.attribute("id").unwrap();
            ids.push(id.to_owned());
            let named =
                |name: &str| root.children().find(|n| n.has_tag_name(name)).and_then(|n| n.text()).unwrap_or_default();
            assert!(!named("title").is_empty() && !named("desc").is_empty(), "{svg}");
            let class =
                |n: &roxmltree::Node<'_, '_>, class: &str| n.attribute("class").is_some_and(|c| c.starts_with(class));
            let bars = document.descendants().filter(|n| class(n, "length ")).count();
            let size = id.split_once('-').map_or(2, |(_, size)| size.parse().unwrap());
            let timed = sizes(&record).nth(size).unwrap().iter().filter_map(Row::timing);
            let expected = match id.split_once('-').map_or(id, |(what, _)| what) {
                "time" => timed.count(),
                "share" => timed.filter(|t| t.share_of_copy.is_some()).count(),
                _ => timed.filter(|t| t.occupancy.is_some()).count(),
            };
            assert_eq!(bars, expected, "{id}");
            assert!(bars >= 26, "{id}: {bars}");
        }
        assert_eq!(ids, ["time-0", "time-1", "time-2", "share-0", "share-1", "share-2", "occupancy", "registers"]);
        // To be looked at.
        if let Some(path) = std::env::var_os("HALOTILE_SAMPLE_HTML") {
            std::fs::write(path, page).unwrap();
        }
    }

    #[test]
    fn a_page_is_alone_and_escapes_what_it_is_given() {
        let mut record = sample::record();
        record.head.commit = Some("<script>alert(1)</script>".into());
        record.head.devices[0].name = "\"><img src=x onerror=1>".into();
        record.results[0].kernel = "</svg><b>".into();
        let page = html(&record);
        assert!(
            !page.contains("<script") && !page.contains("<img") && !page.contains("<b>") && !page.contains("</svg><")
        );
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        // The only address is the name of a name space, which is not opened.
        let addresses = page.matches("http").count();
        assert_eq!(addresses, page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count());
        assert!(!page.contains("url(") && !page.contains("@import"));
        assert_eq!(page.matches(" id=\"").count(), 8 * 3);
    }

    #[test]
    fn a_page_without_a_gpu_says_so() {
        let mut record = sample::record();
        record.head.devices.clear();
        record.ceilings.device_copy = None;
        record.results.retain(|row| row.place == "cpu");
        let page = html(&record);
        assert!(page.contains("there is no occupancy to show") && page.contains("entropy on the CPU"));
        assert!(!page.contains("production kernel") && page.contains("copy limit of the CPU"));
        assert_eq!(svgs(&page).len(), 6);
        record.results.clear();
        assert_eq!(svgs(&html(&record)).len(), 0);
    }
}
