//! `halotile bench` for the topics of the primer, and how their records are told.

use halotile::choice::Devices;
use halotile_lab::bench::primer::{Plan, Topics};
use halotile_lab::bench::{Record, Row, Target, Timing, Unit};
use halotile_lab::primer::{Counted, Reading, TOPICS, Topic};
use serde_json::Value;

use super::export::html::Page;
use super::export::html::chart::{self, Chart, Mark, Scale};
use super::export::html::parts::{self, Length, items, legend, section};
use super::figures::{ms, or_none, percent, range, rate, significant, times_as_fast};
use super::layout::{self, Cell, Column, Field, Layout as _, column};
use super::table::machine;
use super::{Session, target};
use crate::args::{BenchPrimerArgs, BenchTopicArgs};
use crate::engine;
use crate::outcome::{Done, Usage};
use crate::profile::{self, staged};

/// One topic.
pub fn topic(topic: &'static Topic, args: &BenchTopicArgs) -> anyhow::Result<Done> {
    run(&args.common, |emulated| Ok(args.plan(topic, emulated).map_err(Usage)?))
}

/// All of them.
pub fn all(args: &BenchPrimerArgs) -> anyhow::Result<Done> {
    run(args, |emulated| Ok(args.plan(emulated)))
}

fn run(args: &BenchPrimerArgs, plan: impl Fn(bool) -> anyhow::Result<Plan>) -> anyhow::Result<Done> {
    let BenchPrimerArgs { profile, exports, loudness, .. } = args;
    exports.check(profile)?;
    profile::during("bench", profile, exports.overwrite, *loudness, || measure(args, plan))
}

fn measure(args: &BenchPrimerArgs, plan: impl Fn(bool) -> anyhow::Result<Plan>) -> anyhow::Result<Done> {
    // Said before anything is opened.
    plan(false)?;
    let session = Session::new(&args.exports, true, args.loudness, 0)?;
    let target = match (target::open(&args.device, &session.console)?, &args.device) {
        (Target::Cpu, Devices::Cpu) => {
            return Err(Usage("these kernels run on a device; choose --device cuda or emulator".to_owned()).into());
        }
        (Target::Cpu, _) => {
            session.console.note("device auto: emulator; its times say nothing of a GPU");
            Target::Emulator(vec![engine::open_emulated(0)?])
        }
        (target, _) => target,
    };
    let plan = plan(matches!(target, Target::Emulator(_)))?;
    let done = session.measure(&Topics { plan: &plan, target: &target });
    staged("close devices", || drop(target));
    done
}

/// How records of the primer are told.
pub struct Layout;

const COLUMNS: &[Column] = &[
    column("median ms", 10, |t| ms(t.time.median)),
    column("min .. max", 18, |t| range(&t.time)),
    column("rate", 12, |t| rate(t.unit, t.per_second)),
    column("of ceiling", 10, |t| or_none(t.share_of_ceiling.map(percent))),
    column("faster", 7, |t| times_as_fast(t.speedup)),
    column("wavefronts", 10, |t| both(t, |c| [c.shared_loads, c.shared_stores].map(|of| Some(of?.per_access)))),
    column("sectors", 10, |t| both(t, |c| [c.global_loads, c.global_stores].map(|of| Some(of?.per_access)))),
    column("also", 5, |t| {
        let reading = |reading: &Reading| format!("{} {} {}", reading.name, significant(reading.value), reading.unit);
        let readings: Vec<String> = t.readings.iter().map(reading).collect();
        or_none((!readings.is_empty()).then(|| readings.join(", ")))
    }),
];

/// What was counted of loads, and of stores.
fn both(timing: &Timing, of: impl Fn(Counted) -> [Option<f64>; 2]) -> String {
    match of(timing.counted.unwrap_or_default()) {
        [None, None] => or_none(None),
        counted => counted.map(|count| or_none(count.map(significant))).join("/"),
    }
}

const BEFORE: &[Field] = &[
    ("topic", |row| Cell::text(row, "topic")),
    ("size", |row| size(row, "x").into()),
    ("elements", |row| Cell::text(row, "elements")),
    ("kernel", |row| row.kernel.clone().into()),
    // As "offset=3 kind=x".
    ("parameters", |row| {
        let of = |(name, value): (&str, &Value)| format!("{name}={}", value.as_str().unwrap_or_default());
        row.parameters.iter().map(of).collect::<Vec<_>>().join(" ").into()
    }),
    ("before", |row| row.before.clone().into()),
];
const AFTER: &[Field] = &[
    ("unit", |row| Cell::timed(row, |t| t.unit.name().to_owned())),
    ("per_second", |row| Cell::timed(row, |t| t.per_second)),
    ("share_of_ceiling", |row| Cell::timed(row, |t| t.share_of_ceiling)),
    ("speedup", |row| Cell::timed(row, |t| t.speedup)),
    ("wavefronts_per_shared_load", |row| counted(row, |c| Some(c.shared_loads?.per_access))),
    ("conflicts_per_shared_load", |row| counted(row, |c| Some(c.shared_loads?.conflicts_per_access))),
    ("wavefronts_per_shared_store", |row| counted(row, |c| Some(c.shared_stores?.per_access))),
    ("conflicts_per_shared_store", |row| counted(row, |c| Some(c.shared_stores?.conflicts_per_access))),
    ("sectors_per_global_load", |row| counted(row, |c| Some(c.global_loads?.per_access))),
    ("sectors_per_global_store", |row| counted(row, |c| Some(c.global_stores?.per_access))),
    // As "latency=4.1 clocks; ...".
    ("readings", |row| {
        let of = |r: &Reading| format!("{}={} {}", r.name, r.value, r.unit);
        Cell::timed(row, |t| t.readings.iter().map(of).collect::<Vec<_>>().join("; "))
    }),
];

fn counted(row: &Row, of: impl Fn(Counted) -> Option<f64>) -> Cell {
    Cell::timed(row, |timing| timing.counted.and_then(&of))
}

/// The extents.
fn size(row: &Row, between: &str) -> String {
    row.of.numbers("size").iter().map(usize::to_string).collect::<Vec<_>>().join(between)
}

impl layout::Layout for Layout {
    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn room(&self) -> usize {
        26
    }

    /// A kernel and its parameters, in few letters: "reduce6 min", "offset 3", "u8 x5", "tile x32 +1".
    fn label(&self, row: &Row) -> String {
        // A topic of one kernel says its name in the heading.
        let kernel = row.kernel != row.of.text("topic") || row.parameters.iter().count() == 1;
        let of = |(name, value): (&str, &Value)| match (name, value.as_str().unwrap_or_default()) {
            (name, value) if name == row.kernel => Some(value.to_owned()),
            // One after another is all that it can be, but for one that is to be compared with more.
            ("streams", "1") => None,
            ("stride", value) => Some(format!("x{value}")),
            ("padding", "0") => None,
            ("padding", value) => Some(format!("+{value}")),
            (_, value) => Some(value.to_owned()),
        };
        let kernel = kernel.then(|| row.kernel.clone());
        kernel.into_iter().chain(row.parameters.iter().filter_map(of)).collect::<Vec<_>>().join(" ")
    }

    /// "reduce, 1048576, f32".
    fn title(&self, row: &Row) -> String {
        format!("{}, {}, {}", row.of.text("topic"), size(row, " x "), row.of.text("elements"))
    }

    fn wrong(&self, row: &Row) -> String {
        format!("{} is wrong ({})", self.label(row), self.title(row))
    }

    fn facts(&self, record: &Record) -> String {
        let ceilings = ceilings(record);
        let device = (!ceilings.is_empty()).then(|| format!("at most {}", ceilings.join(", ")));
        machine(&record.head, (device, format!("seed {}", record.options.seed)))
    }

    fn csv(&self) -> [&'static [Field]; 2] {
        [BEFORE, AFTER]
    }

    fn page(&self) -> Option<&'static Page> {
        Some(&PAGE)
    }
}

/// The ceilings that are known.
fn ceilings(record: &Record) -> Vec<String> {
    let of = |unit| {
        let rate = rate(unit, record.ceilings.of("device", unit)?);
        Some(if unit == Unit::Transferred { format!("{rate} over the bus") } else { rate })
    };
    [Unit::Bytes, Unit::Flops, Unit::Accesses, Unit::Transferred].into_iter().filter_map(of).collect()
}

const PAGE: Page = Page {
    title: "The primer",
    nowhere: "no device",
    facts: |record| vec![("Ceilings", ceilings(record).join(", "))],
    charts: |record| TOPICS.iter().map(|topic| charts(record, topic)).collect(),
    method,
};

/// What an axis counts in, and what it says: launches in thousands a second, all else in billions.
fn axis(unit: Option<Unit>) -> (f64, &'static str) {
    match unit {
        Some(Unit::Flops) => (1e9, "Gflop/s"),
        Some(Unit::Accesses) => (1e9, "accesses of a warp, billions a second"),
        Some(Unit::Operations) => (1e9, "operations of a lane, billions a second"),
        Some(Unit::Launches) => (1e3, "launches, thousands a second"),
        _ => (1e9, "GB/s"),
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
    let chart = |(i, rows): (usize, &[Row])| {
        let unit = rows.iter().find_map(Row::timing).map(|timing| timing.unit);
        let ceiling = unit.and_then(|unit| record.ceilings.of("device", unit).map(|ceiling| (unit, ceiling)));
        let best = rows.iter().filter_map(|row| Some(row.timing()?.per_second)).fold(0.0, f64::max);
        let (scale, axis) = axis(unit);
        let most = best.max(ceiling.map_or(0.0, |(_, ceiling)| ceiling)) / scale;
        let mark = |(unit, ceiling): (Unit, f64)| Mark {
            value: ceiling / scale,
            class: "device",
            text: format!("ceiling {}", rate(unit, ceiling)),
        };
        let title = Layout.title(&rows[0]);
        Chart {
            id: format!("{}-{i}", topic.name),
            description: format!("Bars: the rate of each kernel, {title}; longer is better."),
            title,
            axis: axis.to_owned(),
            scale: Scale::Linear { end: chart::round(most) },
            bars: parts::bars(&items(&Layout, rows), length),
            marks: ceiling.map(mark).into_iter().collect(),
        }
    };
    let of_topic = record.tables().filter(|rows| rows[0].of.text("topic") == topic.name);
    let charts: Vec<Chart> = of_topic.enumerate().map(chart).filter(|chart| !chart.is_empty()).collect();
    if charts.is_empty() {
        return String::new();
    }
    let marked = charts.iter().any(|chart| !chart.marks.is_empty());
    let marks: Vec<_> = marked.then(|| ("device", "ceiling of the device".to_owned())).into_iter().collect();
    let charts: String = charts.iter().map(Chart::svg).collect();
    let title = topic.name[..1].to_uppercase() + &topic.name[1..];
    section(&title, topic.title, &legend(&[], &marks, |_| true), &charts)
}

fn method(record: &Record) -> String {
    let mut verified: Vec<&str> =
        record.results.iter().filter_map(|row| Some(row.timing()?.verified.as_str())).collect();
    verified.sort_unstable();
    verified.dedup();
    format!(
        "Everything was compared with its definition before it was timed ({}). Ceilings: {}. Wavefronts and sectors are what the emulator counts \
         of a smaller case. Raw times are in the JSON export.",
        verified.join("; "),
        record.ceilings.how
    )
}
