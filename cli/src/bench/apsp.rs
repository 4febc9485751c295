//! `halotile bench apsp`: shortest paths, and how their records are told.

use std::fmt::Write;

use halotile::apsp::{Matrix, Weight};
use halotile_lab::bench::apsp::{Paths, Plan, Subject};
use halotile_lab::bench::{Record, Row, Target, Unit};

use super::export::html::Page;
use super::export::html::ladder::{self, Ladder};
use super::figures::{median_ms, ms, or_none, percent, range, rate, significant, times_as_fast};
use super::layout::{self, Cell, Column, Field, column};
use super::table::machine;
use super::{Session, in_memory, target};
use crate::args::BenchApspArgs;
use crate::outcome::{Done, Usage};
use crate::profile::{self, staged};

/// Vertices of the graphs: one that fits in a cache, one that does not.
const ON_CPU: [usize; 2] = [512, 2048];
const ON_GPU: [usize; 2] = [4096, 16_384];
const EMULATED: [usize; 1] = [64];
/// A launch cannot be stopped, and this many vertices take the emulator up to a minute.
const MOST_EMULATED: usize = 512;

pub fn run(args: &BenchApspArgs) -> anyhow::Result<Done> {
    let BenchApspArgs { profile, exports, loudness, .. } = args;
    exports.check(profile)?;
    profile::during("bench", profile, exports.overwrite, *loudness, || measure(args))
}

fn measure(args: &BenchApspArgs) -> anyhow::Result<Done> {
    let session = Session::new(&args.exports, true, args.loudness, args.threads)?;
    let target = target::open(&args.device, &session.console)?;
    let plan = args.plan(match target {
        Target::Cpu => &ON_CPU,
        Target::Cuda(_) => &ON_GPU,
        Target::Emulator(_) => &EMULATED,
    });
    check(&plan, &target)?;
    let subjects = args.kernels.0.clone().unwrap_or_else(|| Subject::all().collect());
    let asked_for = args.kernels.0.iter().flatten();
    if let Some(kernel) = asked_for.copied().find(|subject| subject.on_device() && matches!(target, Target::Cpu)) {
        let name = kernel.name();
        return Err(Usage(format!("kernel {name} runs on a device; choose --device cuda or emulator")).into());
    }
    let done = session.measure(&Paths { plan: &plan, subjects: &subjects, target: &target });
    staged("close devices", || drop(target));
    done
}

/// Sizes that cannot be done, before anything is allocated.
fn check(plan: &Plan, target: &Target) -> anyhow::Result<()> {
    for &vertices in &plan.vertices {
        if matches!(target, Target::Emulator(_)) && vertices > MOST_EMULATED {
            return Err(Usage(format!(
                "{vertices} vertices are more than the {MOST_EMULATED} that the emulator takes here; \
                 choose smaller --vertices"
            ))
            .into());
        }
        let bytes = match plan.weight {
            Weight::I16 => Matrix::<u16>::bytes(vertices),
            Weight::Auto | Weight::I32 | Weight::F32 => Matrix::<i32>::bytes(vertices),
        };
        in_memory(bytes, &format!("the distances of {vertices} vertices"), "--vertices")?;
    }
    Ok(())
}

/// How records of shortest paths are told.
pub struct Layout;

const COLUMNS: &[Column] = &[
    column("median ms", 10, |t| ms(t.time.median)),
    column("min .. max", 18, |t| range(&t.time)),
    column("Grelax/s", 9, |t| significant(t.per_second / 1e9)),
    column("of ceiling", 10, |t| or_none(t.share_of_ceiling.map(percent))),
    column("copies ms", 9, |t| median_ms(t.transfers.as_ref())),
    column("host ms", 9, |t| median_ms(t.host_to_host.as_ref())),
    column("faster", 7, |t| times_as_fast(t.speedup)),
];

const BEFORE: &[Field] = &[
    ("kernel", |row| row.kernel.clone().into()),
    ("place", |row| row.place.clone().into()),
    ("before", |row| row.before.clone().into()),
    ("vertices", |row| Cell::count(row, "vertices")),
];
const AFTER: &[Field] = &[
    ("relaxations_per_second", |row| Cell::timed(row, |t| t.per_second)),
    ("share_of_ceiling", |row| Cell::timed(row, |t| t.share_of_ceiling)),
    ("speedup", |row| Cell::timed(row, |t| t.speedup)),
    ("copies_median_seconds", |row| Cell::timed(row, |t| t.transfers.as_ref().map(|times| times.median))),
    ("host_to_host_median_seconds", |row| Cell::timed(row, |t| t.host_to_host.as_ref().map(|times| times.median))),
];

impl layout::Layout for Layout {
    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn title(&self, row: &Row) -> String {
        format!("{} vertices", row.of.number("vertices"))
    }

    fn wrong(&self, row: &Row) -> String {
        format!("{} is wrong with {}", row.kernel, self.title(row))
    }

    fn facts(&self, record: &Record) -> String {
        let [device, cpu] = ceilings(record);
        let device = device.map(|rate| format!("{rate} by its clock"));
        let mut text = machine(&record.head, (device, cpu.unwrap_or_default() + " in registers"));
        let (o, seed) = (&record.options.work, record.options.seed);
        let (graph, [least, most], weight) = (o.text("graph"), weights(record), o.text("weight"));
        let _ = writeln!(text, "{graph} graphs; weights {least} to {most}, {weight}; seed {seed}");
        text
    }

    fn csv(&self) -> [&'static [Field]; 2] {
        [BEFORE, AFTER]
    }

    fn page(&self) -> Option<&'static Page> {
        Some(&PAGE)
    }
}

/// Of the device, and of the CPU.
fn ceilings(record: &Record) -> [Option<String>; 2] {
    let of = |place| Some(rate(Unit::Relaxations, record.ceilings.of(place, Unit::Relaxations)?));
    ["device", "cpu"].map(of)
}

/// The least and the largest.
fn weights(record: &Record) -> [usize; 2] {
    let weights = record.options.work.numbers("weights");
    [0, 1].map(|at| weights.get(at).copied().unwrap_or_default())
}

const PAGE: Page = Page { title: "All-pairs shortest paths", nowhere: "the CPU", facts, charts, method };

const LADDER: Ladder = Ladder {
    limit: "ceiling",
    unit: Unit::Relaxations,
    least: |row| (row.of.number("vertices") as f64).powi(3),
    marks: ["device", "CPU"],
    of: "with",
    times: "Of the computation alone, by the device’s clock; on the CPU, of the whole. The thin line on a bar goes from the fastest to the \
            slowest run. No kernel can be left of its ceiling.",
    shares: "The number of vertices cubed over the time, and that over what the machine can do.",
};

fn facts(record: &Record) -> Vec<(&'static str, String)> {
    let [device, cpu] = ceilings(record);
    let device = device.map(|rate| format!("{rate} on the device, ")).unwrap_or_default();
    let (o, seed) = (&record.options.work, record.options.seed);
    let (graph, [least, most], weight) = (o.text("graph"), weights(record), o.text("weight"));
    let work = format!("{graph} graphs, weights {least} to {most}, {weight} (seed {seed})");
    vec![("Ceiling", format!("{device}{} on the CPU", cpu.unwrap_or_default())), ("Work", work)]
}

fn charts(record: &Record) -> String {
    ladder::times(record, &LADDER) + &ladder::shares(record, &LADDER)
}

fn method(record: &Record) -> String {
    let verified =
        ladder::verified(record, |row, timing| format!("{} vertices: {}", row.of.number("vertices"), timing.verified));
    format!(
        "Everything was compared with Dijkstra’s algorithm before it was timed ({}). Ceilings: {}. Raw times are in the JSON export.",
        verified.join(". "),
        record.ceilings.how
    )
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use halotile_lab::bench::{Effort, Outcome, run};

    use super::super::export::{Csv, Html, Markdown, written};
    use super::super::{failures, layout::Layout as _};
    use super::*;

    /// The CPU engine, the rung beside it, made wrong, and a kernel without a device.
    fn record() -> Record {
        let plan = &Plan { vertices: vec![20, 30], effort: Effort::runs(0, 2), ..Plan::default() };
        let subjects: Vec<Subject> = Subject::all().take(3).collect();
        let suite = Paths { plan, subjects: &subjects, target: &Target::Cpu };
        let mut record = run(&suite, None, &mut |_| (), &()).unwrap();
        record.results[1].outcome = Outcome::Wrong { reason: "from 1 to 2: 3,\nand 4 | was expected".into() };
        record
    }

    #[test]
    fn csv_has_a_line_for_every_row() {
        let text = written(&Csv, &record());
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let lines: Vec<HashMap<String, String>> = reader.deserialize().map(Result::unwrap).collect();
        let of = |line: &HashMap<String, String>| {
            ["kernel", "vertices", "status", "runs"].map(|name| line[name].as_str()).join(" ")
        };
        let told: Vec<String> = lines.iter().map(of).collect();
        let expected = [
            "cpu 20 timed 2",
            "threads 20 wrong ",
            "naive 20 skipped ",
            "cpu 30 timed 2",
            "threads 30 timed 2",
            "naive 30 skipped ",
        ];
        assert_eq!(told, expected);
        assert!(lines[0]["median_seconds"].parse::<f64>().unwrap() > 0.0 && !lines[0]["share_of_ceiling"].is_empty());
        assert_eq!(lines[1]["reason"], "from 1 to 2: 3,\nand 4 | was expected");
        assert_eq!(lines[2]["reason"], "it runs on a device (cuda, emulator)");
    }

    #[test]
    fn markdown_has_a_table_for_every_size() {
        let text = written(&Markdown, &record());
        assert!(text.contains("\n- complete graphs; weights 1 to 100, i32; seed 0\n"), "{text}");
        assert!(text.contains("\n### 20 vertices\n") && text.contains("\n### 30 vertices\n"), "{text}");
        assert!(text.contains("\n| threads | **WRONG**: from 1 to 2: 3, and 4 \\| was expected | |"), "{text}");
        for line in text.lines().filter(|line| line.starts_with('|')) {
            assert_eq!(line.replace("\\|", "").matches('|').count(), COLUMNS.len() + 2, "{line}");
        }
    }

    #[test]
    fn the_page_has_charts_of_every_size_and_what_is_wrong_and_skipped() {
        let text = written(&Html, &record());
        assert!(text.starts_with("<!DOCTYPE html>") && text.contains("<h1>All-pairs shortest paths on the CPU</h1>"));
        for id in ["time-0", "time-1", "share-0", "share-1"] {
            let start =
                text.find(&format!("<svg class=\"chart\" id=\"{id}\"")).unwrap_or_else(|| panic!("{id}: {text}"));
            let end = text[start..].find("</svg>").expect("an end") + "</svg>".len();
            roxmltree::Document::parse(&text[start..][..end]).unwrap();
        }
        assert!(text.contains("<li><strong>threads</strong>, 20 vertices: from 1 to 2: 3, and 4 | was expected</li>"));
        assert!(text.contains("<li><strong>naive</strong>: it runs on a device (cuda, emulator)</li>"));
        assert!(
            text.contains(
                "Dijkstra’s algorithm before it was timed (20 vertices: every cell. 30 vertices: every cell)"
            )
        );
    }

    #[test]
    fn what_is_wrong_is_told_and_fails_the_run() {
        let record = record();
        let line = Layout.step(&record, &record.results[..2]);
        assert_eq!(line, "threads         WRONG: from 1 to 2: 3, and 4 | was expected\n");
        let error = failures(&record).unwrap_err().to_string();
        assert!(error.starts_with("threads is wrong with 20 vertices, from 1 to 2: "), "{error}");
        assert!(error.ends_with("; what is wrong was not timed"), "{error}");
    }
}
