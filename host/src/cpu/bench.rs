//! A door for benchmarks to the parts that the plan chooses among; not part of the library's interface.
#![doc(hidden)]

pub use super::plan::Engine;
use super::{Task, measures, plan, run_forced};
use crate::grid::{GridView, GridViewMut};
use crate::isa::Isa;
pub use crate::isa::Kind as InstructionSet;
use crate::measure::window::{Scales, Window};
use crate::measure::{Base, Edge, Footprint, Measure};
use crate::numbers::Real;
use crate::observe::{Cancelled, Observer};

/// The instruction sets of this machine, worst first.
pub fn instruction_sets() -> Vec<InstructionSet> {
    Isa::available().into_iter().map(Isa::kind).collect()
}

/// An engine on an instruction set that this machine has.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    engine: Engine,
    isa: Isa,
}

impl Part {
    /// None where this machine does not have the instruction set.
    pub fn new(engine: Engine, set: InstructionSet) -> Option<Self> {
        let isa = Isa::available().into_iter().find(|isa| isa.kind() == set)?;
        Some(Self { engine, isa })
    }

    /// A measure of a whole grid, in nats where it has a unit, every tile by this engine. Cells are below `levels`, or nodata.
    ///
    /// # Errors
    /// That the observer asked to stop.
    pub fn measure<T: Real>(
        self,
        cells: GridView<'_, u8>,
        (footprint, measure): (&Footprint, Measure),
        (levels, nodata): (usize, Option<u8>),
        out: GridViewMut<'_, T>,
        observer: &dyn Observer,
    ) -> Result<(), Cancelled> {
        let Self { engine, isa } = self;
        if let (Some(size), Measure::Shannon) = (footprint.as_square(), measure) {
            let task = Task { levels, nodata, ..Task::whole(cells, size) };
            return run_forced(
                &task,
                T::planes(vec![out]),
                observer,
                plan::Force { engine: Some(engine), isa: Some(isa) },
            );
        }
        let task = Task { levels, nodata, ..Task::whole(cells, 1) };
        let window = Window::new(footprint.clone(), &[measure], Edge::Shrink, 0.0, Scales::new(Base::E, None));
        let engine = match engine {
            Engine::Planes => measures::Engine::Planes,
            Engine::Histogram => measures::Engine::Histogram,
        };
        let force = measures::Force { engine: Some(engine), isa: Some(isa) };
        measures::run_forced(&task, &window, T::planes(vec![out]), observer, force)
    }
}
