//! The loop: verify, warm up, time, count.

use std::sync::Arc;

use super::record::{Ceilings, Parameter, Record, Row, Timing, Unit};
use crate::bench::measure::repeat;
use crate::bench::{Effort, Outcome, Target, Times, Usage};
use crate::primer::{Ask, Case, Counted, Elements, Size, Topic, Work, predict};
use halotile::exec::{Device, DeviceError};
use halotile::observe::{Cancelled, Observer};

/// What to measure.
pub struct Plan {
    /// The topics, each with its sizes and types of numbers.
    pub topics: Vec<(&'static Topic, Vec<Size>, Vec<Elements>)>,
    /// Names of rungs; none for all.
    pub rungs: Option<Vec<String>>,
    /// What the data depend on.
    pub seed: u64,
    /// How often everything runs.
    pub effort: Effort,
}

/// Progress of the benchmark, for observers.
#[derive(Debug)]
pub enum Event<'a> {
    /// The ceilings are known.
    Started {
        /// What is known before the first row.
        record: &'a Record,
        /// How many rows there will be.
        rows: usize,
    },
    /// A row begins.
    Begin {
        /// The kernel.
        kernel: &'static str,
    },
    /// A row is done.
    Done(&'a Row),
}

/// Why there is no record.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The observer stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl Plan {
    fn asks(&self) -> impl Iterator<Item = (&'static Topic, Ask)> {
        self.topics.iter().flat_map(|(topic, sizes, elements)| {
            let pairs = sizes.iter().flat_map(|&size| elements.iter().map(move |&elements| (size, elements)));
            pairs.map(|(size, elements)| (*topic, Ask { size, elements, seed: self.seed }))
        })
    }

    /// Whether a case is measured by what it moves between host and device.
    fn crosses_the_bus(&self, device: &Arc<dyn Device>) -> bool {
        let limits = device.limits();
        self.asks()
            .flat_map(|(topic, ask)| self.cases(topic, &ask))
            .any(|case| matches!(case.work(&limits), Work::Transferred(_)))
    }

    fn cases(&self, topic: &Topic, ask: &Ask) -> Vec<Box<dyn Case>> {
        let mut cases = (topic.cases)(ask);
        if let Some(rungs) = &self.rungs {
            cases.retain(|case| rungs.iter().any(|rung| rung == case.name()));
        }
        cases
    }
}

/// Verifies and times every case on the first device of `target`. `commit` is for the record only; the observer can stop it all between
/// two runs.
///
/// A case that is wrong, or does not fit the device, is in the record as such; an error is what stops everything.
pub fn run(
    plan: &Plan,
    target: &Target,
    commit: Option<String>,
    on_event: &mut dyn FnMut(Event<'_>),
    observer: &dyn Observer,
) -> Result<Record, Error> {
    let devices = target.devices();
    let Some(device) = devices.first() else {
        return Err(DeviceError::Absent("the primer's kernels run on a device (cuda, emulator)".to_owned()).into());
    };
    let mut record = Record::new(plan, target, commit, Ceilings::new(target, plan.crosses_the_bus(device))?);
    let rows = plan.asks().map(|(topic, ask)| plan.cases(topic, &ask).len()).sum();
    on_event(Event::Started { record: &record, rows });
    for (topic, ask) in plan.asks() {
        for case in plan.cases(topic, &ask) {
            on_event(Event::Begin { kernel: case.name() });
            let mut outcome = measure(case.as_ref(), device, target, &plan.effort, observer)?;
            let mut row = Row {
                topic: topic.name.to_owned(),
                size: ask.size.into_iter().filter(|&extent| extent > 0).collect(),
                elements: ask.elements.name().to_owned(),
                kernel: case.name().to_owned(),
                parameters: case
                    .parameters()
                    .into_iter()
                    .map(|(name, value)| Parameter { name: name.to_owned(), value })
                    .collect(),
                before: case.before().map(str::to_owned),
                idea: case.idea().to_owned(),
                outcome: Outcome::Skipped { reason: String::new() },
            };
            if let Outcome::Timed(timing) = &mut outcome {
                timing.counted = counted(topic, &ask, case.as_ref(), target);
                let per_clock = case.per_clock(device.limits().arch).zip(record.ceilings.clocks);
                let ceiling = per_clock.map(|(amount, clocks)| amount * clocks).or(record.ceilings.of(timing.unit));
                timing.share_of_ceiling = ceiling.map(|ceiling| timing.per_second / ceiling);
                let before = record.results.iter().find(|other| {
                    other.beside(&row)
                        && Some(&other.kernel) == row.before.as_ref()
                        && other.parameters == row.parameters
                });
                timing.speedup = before.and_then(Row::timing).map(|before| before.time.median / timing.time.median);
            }
            row.outcome = outcome;
            on_event(Event::Done(&row));
            record.results.push(row);
        }
    }
    Ok(record)
}

/// What the emulator counts of the same case: at the topic's size for it, or, where it was just emulated, as it is. Nothing if it is not there,
/// or does not run.
fn counted(topic: &Topic, ask: &Ask, case: &dyn Case, target: &Target) -> Option<Counted> {
    let size = if matches!(target, Target::Emulator(_)) { ask.size } else { *topic.sizes[1].first()? };
    let cases = (topic.cases)(&Ask { size, ..*ask });
    let same = cases.iter().find(|other| other.name() == case.name() && other.parameters() == case.parameters())?;
    predict(same.as_ref()).inspect_err(|error| tracing::debug!(%error, kernel = case.name(), "not counted")).ok()
}

fn measure(
    case: &dyn Case,
    device: &Arc<dyn Device>,
    target: &Target,
    effort: &Effort,
    observer: &dyn Observer,
) -> Result<Outcome<Timing>, Error> {
    // As many sets of buffers as exceed the cache, if there is memory for them.
    let once = case.bytes(1).max(1);
    let room = (device.free_memory()? / once).max(1);
    let copies = target.spread().div_ceil(once).clamp(1, 64).min(room);
    let started = case.start(device, copies).and_then(|mut run| {
        let first = run.run()?;
        let found = run.check()?;
        Ok((run, first, found))
    });
    let (mut run, first, verified) = match started {
        Ok((run, first, Ok(verified))) => (run, first, verified),
        Ok((_, _, Err(reason))) => return Ok(Outcome::Wrong { reason }),
        // The emulator has found a mistake in the kernel, which a GPU would have kept to itself.
        Err(DeviceError::Fault(fault)) => return Ok(Outcome::Wrong { reason: fault }),
        Err(error @ (DeviceError::OutOfMemory { .. } | DeviceError::HostMemory { .. })) => {
            return Ok(Outcome::Skipped { reason: error.to_string() });
        }
        Err(error) => return Err(error.into()),
    };
    let mut again = || run.run().map_err(Error::from);
    repeat(&effort.warmup, 0, first, observer, &mut again)?;
    let time = Times::new(case.clock(), repeat(&effort.timed, 1, 0.0, observer, &mut again)?);
    let readings = run.readings()?;
    let (unit, amount) = Unit::of(case.work(&device.limits()));
    let architecture = target.architecture();
    Ok(Outcome::Timed(Box::new(Timing {
        per_second: amount / time.median,
        time,
        unit,
        amount,
        // Known when the row is.
        share_of_ceiling: None,
        speedup: None,
        usage: case.kernel().zip(architecture).and_then(|(kernel, architecture)| Usage::of(kernel.name, architecture)),
        readings,
        copies,
        counted: None,
        verified,
    })))
}
