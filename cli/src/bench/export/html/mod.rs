//! HTML: one page with charts and tables. It is one file without script, font or picture from elsewhere, so it can be mailed, kept
//! beside the record and opened where there is no network.
//!
//! The charts are SVG elements in the page (`chart`), coloured by the same style sheet (`page.css`) as the text: a page in
//! the dark has charts in the dark. The colours are of Okabe and Ito's palette, which people who are colour-blind can tell
//! apart, and no colour says anything that a label does not.

pub mod chart;
pub mod ladder;
pub mod parts;

use std::io::Write;

use anyhow::Context;
use halotile_lab::bench::Record;

use super::Exporter;
use crate::bench::layout::{self, Layout};
use parts::{items, section};

/// The page.
pub struct Html;

/// What the page of a kind of record has.
pub struct Page {
    /// "Moving-window entropy", on a device.
    pub title: &'static str,
    /// What it ran on where there is no device.
    pub nowhere: &'static str,
    /// What there is to know beside the machine.
    pub facts: fn(&Record) -> Vec<(&'static str, String)>,
    /// The sections with charts.
    pub charts: fn(&Record) -> String,
    /// How it was verified and measured.
    pub method: fn(&Record) -> String,
}

impl Exporter for Html {
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        let layout = layout::of(record);
        let page = layout.page().context("there is no page of these results")?;
        Ok(out.write_all(written(record, layout, page).as_bytes())?)
    }
}

fn written(record: &Record, layout: &dyn Layout, page: &Page) -> String {
    let device = record.head.devices.first().map_or(page.nowhere, |device| &device.name);
    let all = items(layout, &record.results);
    let tables: String = record.tables().map(|rows| parts::table(&items(layout, rows), layout.columns())).collect();
    let sections = [
        parts::failures(&all),
        (page.charts)(record),
        format!("<section>\n<h2>Figures</h2>\n{tables}</section>\n"),
        parts::skipped(&all, record.tables().count()),
        section("How this was measured", &(page.method)(record), "", ""),
    ];
    let mut facts = parts::machine(&record.head);
    facts.extend((page.facts)(record));
    facts.push(parts::measured(&record.head));
    parts::document(&format!("{} on {device}", page.title), &facts, &sections.concat())
}

#[cfg(test)]
mod tests {
    use halotile_lab::bench::Row;

    use super::super::{sample, written};
    use super::*;

    fn html(record: &Record) -> String {
        written(&Html, record)
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
            let timed = record.tables().nth(size).unwrap().iter().filter_map(Row::timing);
            let expected = match id.split_once('-').map_or(id, |(what, _)| what) {
                "time" => timed.count(),
                "share" => timed.filter(|t| t.share_of_ceiling.is_some()).count(),
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
        record.ceilings.limits.retain(|limit| limit.place == "cpu");
        record.results.retain(|row| row.place == "cpu");
        let page = html(&record);
        assert!(page.contains("there is no occupancy to show") && page.contains("entropy on the CPU"));
        assert!(!page.contains("production kernel") && page.contains("copy limit of the CPU"));
        assert_eq!(svgs(&page).len(), 6);
        record.results.clear();
        assert_eq!(svgs(&html(&record)).len(), 0);
    }
}
