//! HTML: one page with charts and tables. It is one file without script, font or picture from elsewhere, so it can be mailed, kept
//! beside the record and opened where there is no network.
//!
//! The charts are SVG elements in the page (`chart`), coloured by the same style sheet (`page.css`) as the text: a page in
//! the dark has charts in the dark. The colours are of Okabe and Ito's palette, which people who are colour-blind can tell
//! apart, and no colour says anything that a label does not.

mod chart;

use std::io::Write;

use halotile::bench::{BYTES_PER_CELL, Outcome, Record, Row, Timing};

use super::Exporter;
use crate::bench::figures::{HEADINGS, columns, ms, percent, shape, significant};
use chart::{Bar, Chart, Mark, Scale};

const STYLE: &str = include_str!("page.css");

/// The page.
pub struct Html;

impl Exporter<Record> for Html {
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(out.write_all(page(record).as_bytes())?)
    }
}

/// Text that says what it says, in elements and in attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The rows of each size.
fn sizes(record: &Record) -> impl Iterator<Item = &[Row]> {
    record.results.chunk_by(|a, b| (a.rows, a.cols) == (b.rows, b.cols))
}

fn page(record: &Record) -> String {
    let device = record.devices.first().map_or("the CPU", |device| &device.name);
    let title = escape(&format!("Moving-window entropy on {device}"));
    let body = [
        header(record, &title),
        failures(record),
        times(record),
        shares(record),
        occupancy(record),
        tables(record),
        skipped(record),
        method(record),
    ]
    .concat();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
}

fn header(record: &Record, title: &str) -> String {
    let o = &record.options;
    let mut facts: Vec<(&str, String)> = Vec::new();
    for device in &record.devices {
        facts.push(("Device", device.name.clone()));
    }
    if let Some(device) = record.devices.first() {
        let capability = device.compute_capability.as_ref().map(|c| format!("compute capability {c}"));
        let clock = device.clock_khz.map(|khz| format!("{} MHz at most", khz / 1000));
        let units = device.multiprocessors.map(|n| format!("{n} multiprocessors"));
        let driver = device.driver_version.as_ref().map(|v| format!("driver {v}"));
        let cuda = device.cuda_version.as_ref().filter(|_| device.compute_capability.is_some());
        let cuda = cuda.map(|v| format!("CUDA {v}"));
        let told: Vec<_> = [capability, units, clock, driver, cuda].into_iter().flatten().collect();
        if !told.is_empty() {
            facts.push(("", told.join(", ")));
        }
    }
    let m = &record.machine;
    let set = m.instruction_set.as_ref().map(|set| format!(", {set}")).unwrap_or_default();
    facts.push(("CPU", format!("{}, {} threads{set}", m.cpu.as_deref().unwrap_or(&m.system), m.threads)));
    let gb = |rate: f64| format!("{} GB/s", significant(rate / 1e9));
    let device_copy = record.ceilings.device_copy.map(|rate| format!("{} on the device, ", gb(rate)));
    let cpu_copy = format!("{}{} on the CPU", device_copy.unwrap_or_default(), gb(record.ceilings.cpu_copy));
    facts.push(("Copy limit", cpu_copy));
    let work = format!("{0} × {0} windows, {1} levels, {2} cells (seed {3})", o.size, o.levels, o.pattern, o.seed);
    facts.push(("Work", work));
    let commit = record.commit.as_ref().map(|commit| format!(", commit {commit}")).unwrap_or_default();
    facts.push((
        "Measured",
        format!("{}, halotile {}{commit}", record.time.replace('T', " ").replace('Z', " UTC"), record.halotile),
    ));
    let facts: String =
        facts.iter().map(|(name, fact)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(fact))).collect();
    format!("<header>\n<h1>{title}</h1>\n<dl>\n{facts}</dl>\n</header>\n")
}

/// What is wrong comes first.
fn failures(record: &Record) -> String {
    let wrong: String = record
        .results
        .iter()
        .filter_map(|row| match &row.outcome {
            Outcome::Wrong { reason } => Some(format!(
                "<li><strong>{}</strong>, {} cells: {}</li>\n",
                escape(&row.kernel),
                shape(row),
                escape(reason)
            )),
            _ => None,
        })
        .collect();
    if wrong.is_empty() {
        return String::new();
    }
    format!("<section class=\"wrong\">\n<h2>Wrong, and therefore not timed</h2>\n<ul>\n{wrong}</ul>\n</section>\n")
}

/// A kernel's colour: the production kernels, the rungs and what runs on the CPU have one each.
fn class(row: &Row) -> &'static str {
    match (row.place.as_str(), row.idea.is_some()) {
        ("cpu", _) => "cpu",
        ("both", _) => "both",
        (_, true) => "rung",
        (_, false) => "kernel",
    }
}

/// The legend of the bars of the rows that are `shown`, and of `marks`: a class and what it stands for.
fn legend(record: &Record, marks: &[(&str, &str)], shown: impl Fn(&Timing) -> bool) -> String {
    const BARS: [(&str, &str); 4] = [
        ("kernel", "production kernel"),
        ("rung", "rung of a ladder"),
        ("cpu", "on the CPU"),
        ("both", "on device and CPU together"),
    ];
    let there =
        |wanted: &str| record.results.iter().any(|row| row.timing().is_some_and(&shown) && class(row) == wanted);
    let bars = BARS.iter().filter(|(class, _)| there(class)).map(|(class, text)| (format!("swatch {class}"), *text));
    let marks = marks.iter().map(|(class, text)| (format!("swatch line {class}"), *text));
    let items: String =
        bars.chain(marks).map(|(class, text)| format!("<li><i class=\"{class}\"></i>{text}</li>")).collect();
    format!("<ul class=\"legend\">{items}</ul>\n")
}

/// What a bar says when it is pointed at.
fn hint(row: &Row, timing: &Timing) -> String {
    let mut text = format!(
        "{}: median {} ms ({} to {}), {} Gcell/s",
        row.kernel,
        ms(timing.time.median),
        ms(timing.time.min),
        ms(timing.time.max),
        significant(timing.cells_per_second / 1e9)
    );
    if let (Some(speedup), Some(before)) = (timing.speedup, &row.before) {
        text += &format!(", {} times as fast as {before}", significant(speedup));
    }
    if let Some(idea) = &row.idea {
        text += &format!("; {idea}");
    }
    text
}

/// A bar for each row that `value` has something to say of, or that is wrong.
fn bars<'a>(rows: &'a [Row], value: impl Fn(&'a Timing) -> Option<(f64, String)>) -> Vec<Bar> {
    rows.iter()
        .filter_map(|row| {
            let (value, text, hint, spread) = match &row.outcome {
                Outcome::Timed(timing) => {
                    let (value, text) = value(timing)?;
                    (Some(value), text, hint(row, timing), None)
                }
                Outcome::Wrong { reason } => {
                    (None, "wrong".to_owned(), format!("{}: wrong, {reason}", row.kernel), None)
                }
                Outcome::Skipped { .. } => return None,
            };
            Some(Bar { label: row.kernel.clone(), class: class(row), value, spread, text, hint })
        })
        .collect()
}

fn times(record: &Record) -> String {
    let mut charts = String::new();
    for (i, rows) in sizes(record).enumerate() {
        let mut bars = bars(rows, |timing| Some((timing.time.median * 1e3, ms(timing.time.median))));
        for (bar, timing) in bars.iter_mut().filter(|bar| bar.value.is_some()).zip(rows.iter().filter_map(Row::timing))
        {
            bar.spread = Some((timing.time.min * 1e3, timing.time.max * 1e3));
        }
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
        &legend(record, &marks, |_| true),
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
        &legend(record, &[], |timing| timing.share_of_copy.is_some()),
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
        &legend(record, &[], |timing| timing.usage.is_some()),
        &charts,
    )
}

fn section(title: &str, text: &str, legend: &str, charts: &str) -> String {
    let charts = if charts.is_empty() { String::new() } else { format!("<div class=\"charts\">\n{charts}</div>\n") };
    format!("<section>\n<h2>{title}</h2>\n<p>{}</p>\n{legend}{charts}</section>\n", escape(text))
}

fn tables(record: &Record) -> String {
    let mut text = "<section>\n<h2>Figures</h2>\n".to_owned();
    for rows in sizes(record) {
        let heads: String =
            HEADINGS.iter().map(|heading| format!("<th scope=\"col\">{}</th>", escape(heading))).collect();
        text += &format!(
            "<div class=\"table\" tabindex=\"0\">\n<table>\n<caption>{} cells</caption>\n<thead><tr><th scope=\"col\">kernel</th>{heads}\
             <th scope=\"col\">idea</th></tr></thead>\n<tbody>\n",
            shape(&rows[0])
        );
        for row in rows {
            let cells: String = match &row.outcome {
                Outcome::Timed(timing) => columns(timing)
                    .iter()
                    .map(|cell| format!("<td>{}</td>", escape(&cell.replace(" .. ", "–"))))
                    .collect(),
                Outcome::Wrong { .. } => format!("<td colspan=\"{}\" class=\"bad\">WRONG</td>", HEADINGS.len()),
                Outcome::Skipped { .. } => format!("<td colspan=\"{}\">skipped</td>", HEADINGS.len()),
            };
            let idea = escape(row.idea.as_deref().unwrap_or_default());
            let name = escape(&row.kernel);
            text += &format!("<tr><th scope=\"row\">{name}</th>{cells}<td class=\"idea\">{idea}</td></tr>\n");
        }
        text += "</tbody>\n</table>\n</div>\n";
    }
    text + "</section>\n"
}

/// What was skipped, once for each reason.
fn skipped(record: &Record) -> String {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for row in &record.results {
        let Outcome::Skipped { reason } = &row.outcome else { continue };
        let sizes = sizes(record).count();
        let everywhere =
            record.results.iter().filter(|r| r.kernel == row.kernel && r.outcome == row.outcome).count() == sizes;
        let name = if everywhere { row.kernel.clone() } else { format!("{} ({})", row.kernel, shape(row)) };
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    if reasons.is_empty() {
        return String::new();
    }
    let items: String = reasons
        .iter()
        .map(|(reason, names)| format!("<li><strong>{}</strong>: {}</li>\n", escape(&names.join(", ")), escape(reason)))
        .collect();
    format!("<section>\n<h2>Skipped</h2>\n<ul>\n{items}</ul>\n</section>\n")
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
        record.commit = Some("<script>alert(1)</script>".into());
        record.devices[0].name = "\"><img src=x onerror=1>".into();
        record.results[0].kernel = "</svg><b>".into();
        let page = html(&record);
        assert!(
            !page.contains("<script") && !page.contains("<img") && !page.contains("<b>") && !page.contains("</svg><")
        );
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        // The only address is the name of a name space, which nobody opens.
        let addresses = page.matches("http").count();
        assert_eq!(addresses, page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count());
        assert!(!page.contains("url(") && !page.contains("@import"));
        assert_eq!(page.matches(" id=\"").count(), 8 * 3);
    }

    #[test]
    fn a_page_without_a_gpu_says_so() {
        let mut record = sample::record();
        record.devices.clear();
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
