//! `halotile bench` for the topics of the primer. Opening devices, printing and exporting are `bench`'s.
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

use halotile::choice::Devices;
use halotile_lab::bench::Target;
use halotile_lab::bench::primer::{self, Event, Plan, Record};
use halotile_lab::primer::Topic;

use super::{Exports, Stop, open, wrong};
use crate::args::{BenchPrimerArgs, BenchTopicArgs};
use crate::console::Console;
use crate::engine;
use crate::machine::start_threads;
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
    let exports =
        Exports::create(&args.exports, [&export::Csv, &export::Markdown], Some(&html::Html), args.loudness.quiet)?;
    let console = Console::new(args.loudness);
    start_threads(0)?;
    let target = match (open(&args.device, &console)?, &args.device) {
        (Target::Cpu, Devices::Cpu) => {
            return Err(Usage("these kernels run on a device; choose --device cuda or emulator".to_owned()).into());
        }
        (Target::Cpu, _) => {
            console.note("device auto: emulator; its times say nothing of a GPU");
            Target::Emulator(vec![engine::open_emulated(0)?])
        }
        (target, _) => target,
    };
    let plan = plan(matches!(target, Target::Emulator(_)))?;

    let (mut done, mut before, mut printed) = (0, None, Ok(()));
    let unprinted = AtomicBool::new(false);
    let mut print = exports.printer(&console, &mut printed, &unprinted);
    let mut watch = |event: Event<'_>| match event {
        Event::Started { record, rows } => {
            print(&table::head(record));
            console.steps(rows as u64);
        }
        Event::Begin { kernel } => console.step(kernel, done),
        Event::Done(row) => {
            done += 1;
            if let Some(timing) = row.timing() {
                let (kernel, runs) = (table::label(row), timing.time.raw.len());
                tracing::info!(
                    "{kernel}: {} right, {runs} timed runs, {} sets in turn",
                    timing.verified,
                    timing.copies
                );
            }
            let heading = table::title(row);
            let new = before.replace(heading.clone()).as_ref() != Some(&heading);
            print(&(if new { table::heading(&heading) } else { String::new() } + &table::line(row)));
        }
    };
    let stop = Stop { console: &console, unprinted: &unprinted };
    let result = staged("bench", || primer::run(&plan, &target, args.exports.commit(), &mut watch, &stop));
    console.finish();
    drop(print);
    printed?;
    let record = result?;
    staged("close devices", || drop(target));
    exports.write(&record)?;
    failures(&record)
}

fn failures(record: &Record) -> anyhow::Result<Done> {
    let rows = record.results.iter();
    wrong(rows.map(|row| (format!("{} is wrong ({})", table::label(row), table::title(row)), &row.outcome)))
}
