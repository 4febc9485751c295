//! The parts of the CPU engine by themselves: each of the two engines that its plan chooses among, on each instruction set.
//!
//! The plan takes the faster one tile by tile, by a model of their times. Beside these rows it shows whether the model still holds.

use std::time::Instant;

use super::{CPU_ENGINE, Filled, Running, Subject, SubjectFacts, Values, bytes};
use crate::bench::Way;
use crate::bench::verify::{Definition, tolerance};
use halotile::codes::{Code, CodesView};
use halotile::cpu::bench::{Engine, InstructionSet, Part};
use halotile::entropy::{Error, Place};
use halotile::grid::GridView;
use halotile::numbers::Real;
use halotile::observe::Observer;

/// A part, and what it is called.
pub(super) struct Named {
    pub name: &'static str,
    idea: &'static str,
    engine: Engine,
    set: InstructionSet,
}

const fn named(name: &'static str, idea: &'static str, engine: Engine, set: InstructionSet) -> Named {
    Named { name, idea, engine, set }
}

const PLANES: &str = "planes of counts in every tile";
const SLIDING: &str = "the sliding histogram in every tile";

pub(super) static PARTS: [Named; 8] = [
    named("planes-portable", PLANES, Engine::Planes, InstructionSet::Portable),
    named("planes-avx2", PLANES, Engine::Planes, InstructionSet::Avx2),
    named("planes-avx512", PLANES, Engine::Planes, InstructionSet::Avx512),
    named("planes-neon", PLANES, Engine::Planes, InstructionSet::Neon),
    named("slide-portable", SLIDING, Engine::Histogram, InstructionSet::Portable),
    named("slide-avx2", SLIDING, Engine::Histogram, InstructionSet::Avx2),
    named("slide-avx512", SLIDING, Engine::Histogram, InstructionSet::Avx512),
    named("slide-neon", SLIDING, Engine::Histogram, InstructionSet::Neon),
];

/// The part of this name.
pub(super) fn part(name: &str) -> Option<&'static Named> {
    PARTS.iter().find(|part| part.name == name)
}

/// A part, and what it is to compute.
pub(super) struct OfEngine {
    pub part: &'static Named,
    pub what: Definition,
    /// Results are f64.
    pub f64: bool,
}

impl OfEngine {
    fn start_as<'a, T: Real>(&'a self, cells: CodesView<'a>) -> Result<Box<dyn Running + 'a>, Error>
    where
        for<'v> GridView<'v, T>: Into<Values<'v>>,
    {
        let Named { name, engine, set, .. } = *self.part;
        let no_set = || Error::KernelMisfit { kernel: name, reason: format!("this machine does not have {set:?}") };
        let part = Part::new(engine, set).ok_or_else(no_set)?;
        let cells = bytes(name, cells)?;
        let out = Filled::<T>::new(cells.rows(), cells.cols())?;
        Ok(Box::new(PartRun { part, what: &self.what, cells, out }))
    }
}

impl Subject for OfEngine {
    fn name(&self) -> &str {
        self.part.name
    }

    fn facts(&self) -> SubjectFacts {
        SubjectFacts {
            place: Place::Cpu,
            before: Some(CPU_ENGINE.to_owned()),
            idea: Some(self.part.idea.to_owned()),
            tolerance: tolerance(None, self.f64),
            f64: self.f64,
            usage: None,
            ways: &[Way::HostToHost],
            over_bus: false,
        }
    }

    fn start<'a>(&'a self, _: Way, cells: CodesView<'a>) -> Result<Box<dyn Running + 'a>, Error> {
        if self.f64 { self.start_as::<f64>(cells) } else { self.start_as::<f32>(cells) }
    }
}

struct PartRun<'a, T> {
    part: Part,
    what: &'a Definition,
    cells: GridView<'a, u8>,
    out: Filled<T>,
}

impl<T: Real> Running for PartRun<'_, T>
where
    for<'v> GridView<'v, T>: Into<Values<'v>>,
{
    fn run(&mut self, observer: &dyn Observer) -> Result<f64, Error> {
        let Definition { footprint, measure, levels, nodata } = self.what;
        let known = (*levels, nodata.and_then(Code::of));
        let start = Instant::now();
        self.part.measure(self.cells, (footprint, *measure), known, self.out.0.view_mut(), observer)?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn result(&mut self) -> Result<Values<'_>, Error> {
        Ok(self.out.0.view().into())
    }
}
