//! `halotile bench entropy --sweep`. Opening devices, printing and exporting are `bench`'s.
//!
//! ```text
//! table       the table on the terminal, and the cliffs below it
//! export      CSV and Markdown
//! ```

pub(super) mod export;
pub(super) mod table;

use std::sync::atomic::AtomicBool;

use halotile_lab::bench::Target;
use halotile_lab::bench::sweep::{self, Event, Record, Row};

use super::{Exports, Stop, check, explain, open, wrong};
use crate::args::BenchArgs;
use crate::console::Console;
use crate::machine::start_threads;
use crate::outcome::{Done, Usage};
use crate::profile::staged;

/// The side of the grid on a GPU: large enough that launches cost nothing.
const ON_GPU: usize = 4096;
/// The same on the CPU.
const ON_CPU: usize = 1024;
/// The same in the emulator.
const EMULATED: usize = 64;

pub fn run(args: &BenchArgs) -> anyhow::Result<Done> {
    // Said before anything is opened.
    args.sweep_plan((ON_CPU, ON_CPU)).map_err(Usage)?;
    let exports = Exports::create(&args.exports, [&export::Csv, &export::Markdown], None, args.loudness.quiet)?;
    let console = Console::new(args.loudness);
    start_threads(args.threads)?;
    let target = open(&args.device, &console)?;
    let side = match &target {
        Target::Cpu => ON_CPU,
        Target::Cuda(_) => ON_GPU,
        Target::Emulator(_) => EMULATED,
    };
    let plan = args.sweep_plan((side, side)).map_err(Usage)?;
    check(&[(plan.rows, plan.cols)], &target)?;

    let (mut done, mut printed, mut line) = (0, Ok(()), Vec::new());
    let columns = plan.axes.columns().len();
    let base = plan.axes.settings().first().copied();
    let unprinted = AtomicBool::new(false);
    let mut print = exports.printer(&console, &mut printed, &unprinted);
    let mut watch = |event: Event<'_>| match event {
        Event::Started { record, rows } => {
            print(&table::head(record));
            console.steps(rows as u64);
        }
        Event::Begin(setting) => console.step(&setting.to_string(), done),
        Event::Done(row) => {
            done += 1;
            if let Some(timing) = row.timing() {
                let (setting, kernel) = (row.setting, row.kernel.as_deref().unwrap_or("the CPU engine"));
                let runs = timing.time.raw.len();
                let (verified, off) = (&timing.verified, timing.largest_difference);
                tracing::info!("{setting}: {kernel}; {verified} right to {off:.1e}, {runs} timed runs");
            }
            // A line is printed when it is whole.
            line.push(row.clone());
            if let (true, Some(base)) = (line.len() == columns, &base) {
                print(&table::line(&std::mem::take(&mut line), base));
            }
        }
    };
    let stop = Stop { console: &console, unprinted: &unprinted };
    let result = staged("bench", || sweep::run(&plan, &target, args.exports.commit(), &mut watch, &stop));
    console.finish();
    if let Ok(record) = &result {
        print(&table::cliffs(&record.cliffs));
    }
    drop(print);
    printed?;
    let record = result.map_err(explain)?;
    staged("close devices", || drop(target));
    exports.write(&record)?;
    failures(&record)
}

fn failures(record: &Record) -> anyhow::Result<Done> {
    wrong(record.results.iter().map(|Row { setting, outcome, .. }| (format!("{setting} is wrong"), outcome)))
}
