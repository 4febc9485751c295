//! `halotile bench apsp`: what is different about shortest paths. Opening devices, printing and exporting are `bench`'s.
//!
//! ```text
//! table       columns, and the table on the terminal
//! export      CSV and Markdown
//! html        the page
//! ```

pub(super) mod export;
pub(super) mod html;
pub(super) mod table;

use std::sync::atomic::AtomicBool;

use halotile::apsp::{Matrix, Weight};
use halotile_lab::bench::Target;
use halotile_lab::bench::apsp::{self, Event, Plan, Record, Subject};

use super::{Exports, Stop, in_memory, open, wrong};
use crate::args::BenchApspArgs;
use crate::console::Console;
use crate::machine::start_threads;
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
    let exports =
        Exports::create(&args.exports, [&export::Csv, &export::Markdown], Some(&html::Html), args.loudness.quiet)?;
    let console = Console::new(args.loudness);
    start_threads(args.threads)?;
    let target = open(&args.device, &console)?;
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

    let (mut done, mut vertices_before, mut printed) = (0, None, Ok(()));
    let unprinted = AtomicBool::new(false);
    let mut print = exports.printer(&console, &mut printed, &unprinted);
    let mut watch = |event: Event<'_>| match event {
        Event::Started { record, rows } => {
            print(&table::head(record));
            console.steps(rows as u64);
        }
        Event::Begin { kernel, vertices } => console.step(&format!("{kernel}, {vertices} vertices"), done),
        Event::Done(row) => {
            done += 1;
            if let Some(timing) = row.timing() {
                let (kernel, vertices, runs) = (&row.kernel, row.vertices, timing.time.raw.len());
                tracing::info!("{kernel} at {vertices} vertices: {} right, {runs} timed runs", timing.verified);
            }
            let new = vertices_before.replace(row.vertices) != Some(row.vertices);
            print(&(if new { table::heading(row.vertices) } else { String::new() } + &table::line(row)));
        }
    };
    let stop = Stop { console: &console, unprinted: &unprinted };
    let result = staged("bench", || apsp::run(&plan, &subjects, &target, args.exports.commit(), &mut watch, &stop));
    console.finish();
    drop(print);
    printed?;
    let record = result?;
    staged("close devices", || drop(target));
    exports.write(&record)?;
    failures(&record)
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

fn failures(record: &Record) -> anyhow::Result<Done> {
    let rows = record.results.iter();
    wrong(rows.map(|row| (format!("{} is wrong with {} vertices", row.kernel, row.vertices), &row.outcome)))
}
