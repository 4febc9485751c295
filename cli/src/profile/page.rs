//! The page of a profile: bars of shares, calls in their order, the time line, and the sums.

use halotile::profile::{Direction, Line};

use super::Report;
use super::strips::{calls, enlarged, timeline};
use super::table::{HEADINGS, busy, columns, part, whole};
use crate::bench::export::html::chart::{Bar, Chart, Scale, round};
use crate::bench::export::html::parts::{document, escape, section};
use crate::bench::figures::{ms, percent};

/// The page.
pub fn page(report: &Report) -> String {
    let mut facts: Vec<(&str, String)> = report.summary.devices.iter().map(|device| ("Device", busy(device))).collect();
    facts.push(("All", whole(report)));
    let legend = "<ul class=\"legend\"><li><i class=\"swatch kernel\"></i>kernel</li><li><i class=\"swatch cpu\"></i>copy to device</li>\
                  <li><i class=\"swatch rung\"></i>copy to host</li><li><i class=\"swatch both\"></i>other copies, fills</li>\
                  <li><i class=\"swatch stage\"></i>stage of a thread</li></ul>\n";
    let shares_of = "Seconds by name. Shares are of all that devices did; those of stages, of the wall clock.";
    let calls = calls(&report.spans);
    let in_order = "What devices did, in the order in which it began.";
    let sections = [
        section("Shares", shares_of, "", &shares(report)),
        if calls.is_empty() { calls } else { section("Calls", in_order, legend, "") + &calls },
        section("Time", "What every stream of every device did, and every thread that told of its stages.", legend, ""),
        timeline(&report.spans),
        enlarged(&report.spans),
        format!("<section>\n<h2>Figures</h2>\n{}{}</section>\n", table(report, false), table(report, true)),
    ];
    document(&format!("Profile of halotile {}", report.what), &facts, &sections.concat())
}

fn shares(report: &Report) -> String {
    [(false, "device", "On devices"), (true, "host", "Stages of threads")]
        .into_iter()
        .map(|(on_host, id, title)| {
            let (lines, all) = part(report, on_host);
            let most = lines.iter().map(|line| line.seconds).fold(0.0, f64::max);
            let bar = |line: &&Line| Bar {
                label: line.name.clone(),
                class: if on_host { "stage" } else { class_of(line) },
                value: Some(line.seconds * 1e3),
                spread: None,
                text: percent(line.seconds / all.max(f64::MIN_POSITIVE)),
                hint: format!("{}: {} calls, {} ms", line.name, line.calls, ms(line.seconds)),
            };
            Chart {
                id: id.to_owned(),
                title: title.to_owned(),
                description: "Bars: seconds of all calls of a name.".to_owned(),
                axis: "ms".to_owned(),
                scale: Scale::Linear { end: round(most * 1e3) },
                bars: lines.iter().take(30).map(bar).collect(),
                marks: Vec::new(),
            }
        })
        .filter(|chart| !chart.is_empty())
        .map(|chart| chart.svg())
        .collect()
}

fn class_of(line: &Line) -> &'static str {
    match line.name.as_str() {
        _ if line.bytes.is_none() => "kernel",
        name if name == Direction::HostToDevice.name() => "cpu",
        name if name == Direction::DeviceToHost.name() => "rung",
        _ => "both",
    }
}

fn table(report: &Report, on_host: bool) -> String {
    let (lines, all) = part(report, on_host);
    if lines.is_empty() {
        return String::new();
    }
    let caption = if on_host { "Stages of threads" } else { "On devices" };
    let heads: String = HEADINGS.iter().map(|heading| format!("<th scope=\"col\">{}</th>", escape(heading))).collect();
    let row = |line: &&Line| {
        let cells = columns(line, all).map(|cell| format!("<td>{}</td>", escape(&cell.replace(" .. ", "–")))).concat();
        format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", escape(&line.name))
    };
    let rows: String = lines.iter().map(row).collect();
    format!(
        "<div class=\"table\" tabindex=\"0\">\n<table>\n<caption>{caption}</caption>\n<thead><tr><th scope=\"col\">name</th>{heads}</tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )
}
