//! `halotile bench entropy`: the kernels, and how their records are told.

use std::fmt::Write;

use halotile::codes;
use halotile::entropy::Error;
use halotile_lab::bench::{self, BYTES_PER_CELL, Kernels, PINNED, Record, Row, Target, Unit};

use super::export::html::Page;
use super::export::html::ladder::{self, Ladder};
use super::figures::{median_ms, ms, or_none, percent, range, significant, times_as_fast};
use super::layout::{self, Cell, Column, Field, column};
use super::table::machine;
use super::{Session, in_memory, target};
use crate::args::BenchArgs;
use crate::outcome::{Done, Usage};
use crate::profile::staged;

/// Sizes of the grids: one that fits in every cache, one in between, one that fits in none.
const SIZES: [(usize, usize); 3] = [(400, 400), (2560, 2560), (10_240, 10_240)];
/// The emulator takes some microseconds for a cell.
const EMULATED: [(usize, usize); 1] = [(64, 64)];
/// A launch cannot be stopped, and this many cells take the emulator up to a minute.
const MOST_EMULATED: usize = 1 << 20;

/// Times the kernels.
pub fn kernels(args: &BenchArgs) -> anyhow::Result<Done> {
    let session = Session::new(&args.exports, true, args.loudness, args.threads)?;
    let target = target::open(&args.device, &session.console)?;
    let plan = args.plan(if matches!(target, Target::Emulator(_)) { &EMULATED } else { &SIZES });
    check(&plan.shapes, codes::width(plan.levels, None), &target)?;
    let named = args.kernels.0.clone().unwrap_or_else(|| bench::usual().collect());
    let subjects: Vec<_> = named.into_iter().filter_map(|name| bench::subject(name, &plan, &target)).collect();
    if args.kernels.0.is_some() {
        for subject in &subjects {
            if let Some(misfit) = plan.misfit(subject.as_ref())? {
                let advice = match misfit {
                    Error::KernelOnCpu(_) => "; choose --device cuda or emulator",
                    _ => "",
                };
                return Err(Usage(format!("{misfit}{advice}")).into());
            }
        }
    }
    let done = session.measure(&Kernels { plan: &plan, subjects: &subjects, target: &target });
    drop(subjects);
    staged("close devices", || drop(target));
    done
}

/// Sizes that cannot be done with cells of so many bytes, before anything is allocated.
pub fn check(shapes: &[(usize, usize)], bytes: usize, target: &Target) -> anyhow::Result<()> {
    for &(rows, cols) in shapes {
        let cells = rows * cols;
        if matches!(target, Target::Emulator(_)) && cells > MOST_EMULATED {
            return Err(Usage(format!(
                "{rows} x {cols} cells are more than the {MOST_EMULATED} that the emulator takes here; \
                 choose smaller --sizes"
            ))
            .into());
        }
        // The cell and its result, of which f64 is the largest.
        in_memory(cells as u128 * (bytes as u128 + 8), &format!("{rows} x {cols} cells and their results"), "--sizes")?;
    }
    Ok(())
}

/// A copy's rate on the first device, and on the CPU.
pub fn copies(record: &Record) -> (Option<String>, String) {
    let copy = |place| rate_of(record, place, Unit::Bytes);
    (copy("device"), copy("cpu").unwrap_or_default())
}

/// The rate of results that all devices copy to the host at once, where the record has it.
fn results(record: &Record) -> Option<String> {
    rate_of(record, "device", Unit::Transferred)
}

fn rate_of(record: &Record, place: &str, unit: Unit) -> Option<String> {
    Some(format!("{} GB/s", significant(record.ceilings.of(place, unit)? / 1e9)))
}

/// How records of kernels are told.
pub struct Layout;

/// "400 x 300".
fn shape(row: &Row) -> String {
    format!("{} x {}", row.of.number("rows"), row.of.number("cols"))
}

const COLUMNS: &[Column] = &[
    column("median ms", 10, |t| ms(t.time.median)),
    column("min .. max", 18, |t| range(&t.time)),
    column("Gcell/s", 8, |t| significant(t.per_second / 1e9)),
    column("of copy", 8, |t| or_none(t.share_of_ceiling.map(percent))),
    column("regs", 5, |t| or_none(t.usage.map(|usage| usage.registers.to_string()))),
    column("spill B", 8, |t| or_none(t.usage.map(|usage| usage.spill_bytes.to_string()))),
    column("occupancy", 10, |t| or_none(t.occupancy.map(percent))),
    column("faster", 7, |t| times_as_fast(t.speedup)),
    column("host ms", 8, |t| median_ms(t.host_to_host.as_ref())),
];

const BEFORE: &[Field] = &[
    ("kernel", |row| row.kernel.clone().into()),
    ("place", |row| row.place.clone().into()),
    ("before", |row| row.before.clone().into()),
    ("rows", |row| Cell::count(row, "rows")),
    ("cols", |row| Cell::count(row, "cols")),
];
const AFTER: &[Field] = &[
    ("cells_per_second", |row| Cell::timed(row, |t| t.per_second)),
    ("share_of_copy", |row| Cell::timed(row, |t| t.share_of_ceiling)),
    ("registers", |row| Cell::timed(row, |t| t.usage.map(|usage| usage.registers))),
    ("spill_bytes", |row| Cell::timed(row, |t| t.usage.map(|usage| usage.spill_bytes))),
    ("occupancy", |row| Cell::timed(row, |t| t.occupancy)),
    ("speedup", |row| Cell::timed(row, |t| t.speedup)),
    ("host_to_host_median_seconds", |row| Cell::timed(row, |t| t.host_to_host.as_ref().map(|times| times.median))),
    ("host_to_host_min_seconds", |row| Cell::timed(row, |t| t.host_to_host.as_ref().map(|times| times.min))),
    ("host_to_host_max_seconds", |row| Cell::timed(row, |t| t.host_to_host.as_ref().map(|times| times.max))),
    ("largest_difference", |row| Cell::timed(row, |t| t.largest_difference)),
];

impl layout::Layout for Layout {
    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn title(&self, row: &Row) -> String {
        format!("{} cells", shape(row))
    }

    fn wrong(&self, row: &Row) -> String {
        format!("{} is wrong at {}", row.kernel, shape(row))
    }

    fn facts(&self, record: &Record) -> String {
        let (device, cpu) = copies(record);
        let results = results(record).map(|rate| format!("; to the host {rate}")).unwrap_or_default();
        let device = device.map(|rate| format!("copy {rate}{results}"));
        let mut text = machine(&record.head, (device, format!("copy {cpu}")));
        let (o, seed) = (&record.options.work, record.options.seed);
        let (size, levels, pattern) = (o.number("size"), o.number("levels"), o.text("pattern"));
        let _ = writeln!(text, "windows {size} x {size}; {levels} levels; {pattern} cells, seed {seed}");
        text
    }

    fn csv(&self) -> [&'static [Field]; 2] {
        [BEFORE, AFTER]
    }

    fn page(&self) -> Option<&'static Page> {
        Some(&PAGE)
    }
}

const PAGE: Page = Page { title: "Moving-window entropy", nowhere: "the CPU", facts, charts, method };

const LADDER: Ladder = Ladder {
    limit: "copy limit",
    unit: Unit::Bytes,
    least: |row| (row.of.number("rows") * row.of.number("cols") * BYTES_PER_CELL) as f64,
    marks: ["device copy", "CPU copy"],
    of: "on",
    times: "Of the kernel alone, by the device’s clock; on the CPU, of the whole. The thin line on a bar goes from the fastest to the \
            slowest run. No kernel can be left of its copy limit, unless caches hold the grid: that is the time in which the machine only \
            copies as many bytes.",
    shares: "5 bytes a cell (one read, four written) over the bytes a second that a copy moved in the same run, on the device or, for what \
             runs on the CPU, there. More than 100 % means that caches held the grid.",
};

fn facts(record: &Record) -> Vec<(&'static str, String)> {
    let (device, cpu) = copies(record);
    let device = device.map(|rate| format!("{rate} on the device, "));
    let (o, seed) = (&record.options.work, record.options.seed);
    let (size, levels, pattern) = (o.number("size"), o.number("levels"), o.text("pattern"));
    let work = format!("{size} × {size} windows, {levels} levels, {pattern} cells (seed {seed})");
    let results = results(record).map(|rate| format!("; of {PINNED}, from the devices to the host, {rate}"));
    let limit = format!("{}{cpu} on the CPU{}", device.unwrap_or_default(), results.unwrap_or_default());
    vec![("Copy limit", limit), ("Work", work)]
}

fn charts(record: &Record) -> String {
    [ladder::times(record, &LADDER), ladder::shares(record, &LADDER), ladder::occupancy(record)].concat()
}

fn method(record: &Record) -> String {
    let verified = ladder::verified(record, |row, timing| format!("{} of {} cells", timing.verified, shape(row)));
    let timings = || record.results.iter().filter_map(Row::timing);
    let worst = timings().filter_map(|timing| timing.largest_difference).fold(0.0, f64::max);
    let copies: Vec<usize> = timings().filter_map(|timing| timing.copies).collect();
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
    format!(
        "Everything was compared with the definition in f64 before it was timed ({}); the largest difference was {worst:.1e} nats.{copies} \
         Raw times are in the JSON export.",
        verified.join("; ")
    )
}
