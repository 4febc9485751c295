//! What pages of all benchmarks are made of: the frame, the facts, the list of what is wrong, bars, legends, tables. They look at rows
//! as [`Item`]s, whatever was computed.

use halotile_lab::bench::{Head, Outcome, Row, Times, Timing};

use super::chart::Bar;
use crate::bench::figures::{ms, rate, significant};
use crate::bench::layout::{Column, Layout, figures};

const STYLE: &str = include_str!("page.css");

/// A row of a record.
pub struct Item<'a> {
    pub label: String,
    /// Its colour: the production kernels, the rungs and what runs on the CPU have one each.
    pub class: &'static str,
    /// The work: "400 x 300 cells".
    pub size: String,
    pub row: &'a Row,
}

/// Rows as the parts of pages take them.
pub fn items<'a>(layout: &dyn Layout, rows: &'a [Row]) -> Vec<Item<'a>> {
    let item = |row: &'a Row| {
        let class = match (row.place.as_str(), row.idea.is_some()) {
            ("cpu", _) => "cpu",
            ("both", _) => "both",
            (_, true) => "rung",
            (_, false) => "kernel",
        };
        Item { label: layout.label(row), class, size: layout.title(row), row }
    };
    rows.iter().map(item).collect()
}

impl Item<'_> {
    /// What a bar says when it is pointed at: the times, the rate, and how many times faster than the rung before it is.
    fn hint(&self, timing: &Timing) -> String {
        let [median, min, max] = [timing.time.median, timing.time.min, timing.time.max].map(ms);
        let rate = rate(timing.unit, timing.per_second);
        let mut text = format!("{}: median {median} ms ({min} to {max}), {rate}", self.label);
        if let (Some(speedup), Some(before)) = (timing.speedup, &self.row.before) {
            text += &format!(", {} times as fast as {before}", significant(speedup));
        }
        if let Some(idea) = &self.row.idea {
            text += &format!("; {idea}");
        }
        text
    }
}

/// Text that says what it says, in elements and in attributes.
pub fn escape(text: &str) -> String {
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

/// The page: `facts` at the top, then `sections`.
pub fn document(title: &str, facts: &[(&str, String)], sections: &str) -> String {
    let title = escape(title);
    let facts: String =
        facts.iter().map(|(name, fact)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(fact))).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<h1>{title}</h1>\n<dl>\n{facts}</dl>\n</header>\n{sections}</main>\n</body>\n</html>\n"
    )
}

/// What there is to know of the machine.
pub fn machine(Head { machine, devices, .. }: &Head) -> Vec<(&'static str, String)> {
    let mut facts: Vec<(&str, String)> = Vec::new();
    for device in devices {
        facts.push(("Device", device.name.clone()));
    }
    if let Some(device) = devices.first() {
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
    let set = machine.instruction_set.as_ref().map(|set| format!(", {set}")).unwrap_or_default();
    let name = machine.cpu.as_deref().unwrap_or(&machine.system);
    facts.push(("CPU", format!("{name}, {} threads{set}", machine.threads)));
    facts
}

/// When it was measured, and with what.
pub fn measured(Head { time, halotile, commit, .. }: &Head) -> (&'static str, String) {
    let commit = commit.as_ref().map(|commit| format!(", commit {commit}")).unwrap_or_default();
    ("Measured", format!("{}, halotile {halotile}{commit}", time.replace('T', " ").replace('Z', " UTC")))
}

/// What is wrong.
pub fn failures(items: &[Item<'_>]) -> String {
    let wrong: String = items
        .iter()
        .filter_map(|item| match &item.row.outcome {
            Outcome::Wrong { reason } => {
                Some(format!("<li><strong>{}</strong>, {}: {}</li>\n", escape(&item.label), item.size, escape(reason)))
            }
            _ => None,
        })
        .collect();
    if wrong.is_empty() {
        return String::new();
    }
    format!("<section class=\"wrong\">\n<h2>Wrong, and therefore not timed</h2>\n<ul>\n{wrong}</ul>\n</section>\n")
}

/// The legend of the bars of the items that are `shown`, and of `marks`: a class and what it stands for.
pub fn legend(items: &[Item<'_>], marks: &[(&str, String)], shown: impl Fn(&Timing) -> bool) -> String {
    const BARS: [(&str, &str); 4] = [
        ("kernel", "production kernel"),
        ("rung", "rung of a ladder"),
        ("cpu", "on the CPU"),
        ("both", "on device and CPU together"),
    ];
    let there = |class: &str| items.iter().any(|item| item.class == class && item.row.timing().is_some_and(&shown));
    let bars = BARS
        .iter()
        .filter(|(class, _)| there(class))
        .map(|(class, text)| (format!("swatch {class}"), (*text).to_owned()));
    let marks = marks.iter().map(|(class, text)| (format!("swatch line {class}"), text.clone()));
    let items: String =
        bars.chain(marks).map(|(class, text)| format!("<li><i class=\"{class}\"></i>{text}</li>")).collect();
    format!("<ul class=\"legend\">{items}</ul>\n")
}

/// What a bar shows: its length, from the smallest to the largest if there are several, and its figure.
pub struct Length {
    pub value: f64,
    pub spread: Option<(f64, f64)>,
    pub text: String,
}

impl Length {
    /// Milliseconds.
    pub fn of(times: &Times) -> Self {
        Self { value: times.median * 1e3, spread: Some((times.min * 1e3, times.max * 1e3)), text: ms(times.median) }
    }
}

/// A bar for each item that `length` has something to say of, or that is wrong.
pub fn bars(items: &[Item<'_>], length: impl Fn(&Timing) -> Option<Length>) -> Vec<Bar> {
    let bar = |item: &Item<'_>| {
        let (label, class) = (item.label.clone(), item.class);
        match &item.row.outcome {
            Outcome::Timed(timing) => {
                let Length { value, spread, text } = length(timing)?;
                Some(Bar { label, class, value: Some(value), spread, text, hint: item.hint(timing) })
            }
            Outcome::Wrong { reason } => {
                let hint = format!("{label}: wrong, {reason}");
                Some(Bar { label, class, value: None, spread: None, text: "wrong".to_owned(), hint })
            }
            Outcome::Skipped { .. } => None,
        }
    };
    items.iter().filter_map(bar).collect()
}

/// A heading, a text, and charts with their legend.
pub fn section(title: &str, text: &str, legend: &str, charts: &str) -> String {
    let charts = if charts.is_empty() { String::new() } else { format!("<div class=\"charts\">\n{charts}</div>\n") };
    format!("<section>\n<h2>{title}</h2>\n<p>{}</p>\n{legend}{charts}</section>\n", escape(text))
}

/// The figures of the items of one size.
pub fn table(items: &[Item<'_>], columns: &[Column]) -> String {
    let Some(first) = items.first() else { return String::new() };
    let heads: String =
        columns.iter().map(|column| format!("<th scope=\"col\">{}</th>", escape(column.heading))).collect();
    let mut text = format!(
        "<div class=\"table\" tabindex=\"0\">\n<table>\n<caption>{}</caption>\n<thead><tr><th scope=\"col\">kernel</th>{heads}\
         <th scope=\"col\">idea</th></tr></thead>\n<tbody>\n",
        first.size
    );
    for item in items {
        let count = columns.len();
        let cells: String = match &item.row.outcome {
            Outcome::Timed(timing) => figures(columns, timing)
                .iter()
                .map(|cell| format!("<td>{}</td>", escape(&cell.replace(" .. ", "–"))))
                .collect(),
            Outcome::Wrong { .. } => format!("<td colspan=\"{count}\" class=\"bad\">WRONG</td>"),
            Outcome::Skipped { .. } => format!("<td colspan=\"{count}\">skipped</td>"),
        };
        let idea = escape(item.row.idea.as_deref().unwrap_or_default());
        let name = escape(&item.label);
        text += &format!("<tr><th scope=\"row\">{name}</th>{cells}<td class=\"idea\">{idea}</td></tr>\n");
    }
    text + "</tbody>\n</table>\n</div>\n"
}

/// What was skipped, once for each reason. There are so many `sizes`.
pub fn skipped(items: &[Item<'_>], sizes: usize) -> String {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for item in items {
        let Outcome::Skipped { reason } = &item.row.outcome else { continue };
        let same = |other: &&Item<'_>| other.label == item.label && other.row.outcome == item.row.outcome;
        let everywhere = items.iter().filter(same).count() == sizes;
        let name = if everywhere { item.label.clone() } else { format!("{} ({})", item.label, item.size) };
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
