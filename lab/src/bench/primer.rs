//! The benchmark of the [`primer`]: every case of its topics on the first device, timed beside the limit of the machine.
//!
//! Beside the times stands what the emulator counts of what the same kernel does to memory, on less data
//! ([`predict`]): the case's rehearsal.

use std::sync::Arc;

use super::{
    Case, Ceilings, Checked, Clock, Details, Effort, Error, Fields, Options, Outcome, Row, Run, Suite, Target, Unit,
    Usage, Way,
};
use crate::primer::{self, Ask, Counted, Elements, Size, Topic, Work, predict};
use halotile::exec::{Device, DeviceError};
use halotile::observe::Observer;

/// Multiplications with addition in f32 that a multiprocessor does in a clock: 128 since compute capability 8.6, and on 9.0.
const FMAS_PER_CLOCK: f64 = 128.0;

/// Where the ceilings are from, in words.
const CEILING: &str = "bytes: copy within device memory, read + written, measured; flops: multiprocessors x clock x 128 \
                       multiply-adds in f32, computed from the clock; accesses: one of a warp a clock and multiprocessor, computed; \
                       operations: what NVIDIA publishes for a clock and multiprocessor x clocks, where it does; \
                       transferred: a copy to or from page-locked memory, the faster way, measured; both ways at once may exceed it";

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

impl Plan {
    fn asks(&self) -> impl Iterator<Item = (&'static Topic, Ask)> {
        self.topics.iter().flat_map(|(topic, sizes, elements)| {
            let pairs = sizes.iter().flat_map(|&size| elements.iter().map(move |&elements| (size, elements)));
            pairs.map(|(size, elements)| (*topic, Ask { size, elements, seed: self.seed }))
        })
    }

    fn cases(&self, topic: &Topic, ask: &Ask) -> Vec<Box<dyn primer::Case>> {
        let mut cases = (topic.cases)(ask);
        if let Some(rungs) = &self.rungs {
            cases.retain(|case| rungs.iter().any(|rung| rung == case.name()));
        }
        cases
    }
}

/// The cases of a plan.
pub struct Topics<'a> {
    /// The topics, their sizes, how often.
    pub plan: &'a Plan,
    /// What has the device.
    pub target: &'a Target,
}

impl Topics<'_> {
    fn device(&self) -> Result<Arc<dyn Device>, Error> {
        let absent = || DeviceError::Absent("the primer's kernels run on a device (cuda, emulator)".to_owned());
        Ok(self.target.devices().into_iter().next().ok_or_else(absent)?)
    }
}

impl Suite for Topics<'_> {
    fn what(&self) -> &'static str {
        "primer"
    }

    fn target(&self) -> &Target {
        self.target
    }

    fn options(&self) -> Options {
        Options { work: Fields::default(), seed: self.plan.seed, effort: self.plan.effort }
    }

    fn check(&self) -> Result<(), Error> {
        self.device().map(drop)
    }

    fn ceilings(&self) -> Result<Ceilings, Error> {
        let limits = self.device()?.limits();
        let crosses = |(topic, ask): (&Topic, Ask)| {
            self.plan.cases(topic, &ask).iter().any(|case| matches!(case.work(&limits), Work::Transferred(_)))
        };
        // Measured only where something crosses the bus.
        let bus = if self.plan.asks().any(crosses) { self.target.bus()? } else { None };
        let clocks = self.target.infos().first().and_then(|info| info.clocks());
        let limits = [
            (Unit::Bytes, self.target.copy()?),
            (Unit::Flops, clocks.map(|clocks| clocks * FMAS_PER_CLOCK * 2.0)),
            (Unit::Accesses, clocks),
            (Unit::Clocks, clocks),
            (Unit::Transferred, bus),
        ];
        Ok(Ceilings::new(CEILING, limits.map(|(unit, rate)| ("device", unit, rate))))
    }

    fn rows(&self) -> usize {
        self.plan.asks().map(|(topic, ask)| self.plan.cases(topic, &ask).len()).sum()
    }

    fn cases(&self, measure: &mut dyn FnMut(&dyn Case) -> Result<(), Error>) -> Result<(), Error> {
        let device = self.device()?;
        for (topic, ask) in self.plan.asks() {
            for case in self.plan.cases(topic, &ask) {
                measure(&OnDevice { topic, ask, case, device: &device, target: self.target })?;
            }
        }
        Ok(())
    }
}

/// A case of a topic on a device.
struct OnDevice<'a> {
    topic: &'static Topic,
    ask: Ask,
    case: Box<dyn primer::Case>,
    device: &'a Arc<dyn Device>,
    target: &'a Target,
}

impl Case for OnDevice<'_> {
    fn row(&self) -> Row {
        let size: Vec<usize> = self.ask.size.into_iter().filter(|&extent| extent > 0).collect();
        let of = Fields::default().with("topic", self.topic.name).with("size", size);
        Row {
            of: of.with("elements", self.ask.elements.name()),
            kernel: self.case.name().to_owned(),
            place: "device".to_owned(),
            parameters: self.case.parameters().into_iter().collect(),
            before: self.case.before().map(str::to_owned),
            idea: Some(self.case.idea().to_owned()),
            outcome: Outcome::nothing(),
        }
    }

    fn ways(&self) -> &[Way] {
        &[Way::Kernel]
    }

    fn clock(&self, _: Way) -> Clock {
        self.case.clock()
    }

    fn work(&self) -> (Unit, f64) {
        match self.case.work(&self.device.limits()) {
            Work::Bytes(count) => (Unit::Bytes, count),
            Work::Flops(count) => (Unit::Flops, count),
            Work::Accesses(count) => (Unit::Accesses, count),
            Work::Transferred(count) => (Unit::Transferred, count),
            Work::Operations(count) => (Unit::Operations, count),
            Work::Launches(count) => (Unit::Launches, count),
        }
    }

    fn ceiling(&self, ceilings: &Ceilings) -> Option<f64> {
        let per_clock = self.case.per_clock(self.device.limits().arch).zip(ceilings.of("device", Unit::Clocks));
        per_clock.map(|(amount, clocks)| amount * clocks).or_else(|| ceilings.of("device", self.work().0))
    }

    fn usage(&self) -> Option<Usage> {
        Usage::of(self.case.kernel()?.name, self.target.architecture()?)
    }

    /// At the topic's size for the emulator, or, where it was just emulated, as it is. Nothing if it is not there, or does not run.
    fn rehearsal(&self) -> Option<Counted> {
        let emulated = matches!(self.target, Target::Emulator(_));
        let size = if emulated { self.ask.size } else { *self.topic.sizes[1].first()? };
        let cases = (self.topic.cases)(&Ask { size, ..self.ask });
        let ours = (self.case.name(), self.case.parameters());
        let same = cases.iter().find(|other| (other.name(), other.parameters()) == ours)?;
        predict(same.as_ref()).inspect_err(|error| tracing::debug!(%error, kernel = ours.0, "not counted")).ok()
    }

    fn start<'a>(&'a self, _: Way, _: &dyn Observer) -> Result<Box<dyn Run + 'a>, Error> {
        // As many sets of buffers as exceed the cache, if there is memory for them.
        let once = self.case.bytes(1).max(1);
        let room = (self.device.free_memory()? / once).max(1);
        let copies = self.target.spread().div_ceil(once).clamp(1, 64).min(room);
        Ok(Box::new(Started { run: self.case.start(self.device, copies)?, copies }))
    }
}

/// A case that runs.
struct Started<'a> {
    run: Box<dyn primer::Run + 'a>,
    copies: usize,
}

impl Run for Started<'_> {
    fn run(&mut self, _: &dyn Observer) -> Result<f64, Error> {
        Ok(self.run.run()?)
    }

    fn check(&mut self) -> Result<Checked, Error> {
        let covers = self.run.check()?.map_err(Error::Wrong)?;
        Ok(Checked { covers, difference: None })
    }

    fn details(&mut self) -> Result<Details, Error> {
        Ok(Details { copies: Some(self.copies), readings: self.run.readings()?, ..Details::default() })
    }
}
