//! A door for benchmarks to the parts that the plan chooses among; not part of the library's interface.
#![doc(hidden)]

pub use super::plan::Engine;
use super::{Task, plan, run_forced};
use crate::grid::{GridView, GridViewMut};
use crate::isa::Isa;
pub use crate::isa::Kind as InstructionSet;
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

    /// Entropy in nats of a whole grid, every tile by this engine. Cells are below `levels`.
    ///
    /// # Errors
    /// That the observer asked to stop.
    pub fn entropy<T: Real>(
        self,
        cells: GridView<'_, u8>,
        size: usize,
        levels: usize,
        out: GridViewMut<'_, T>,
        observer: &dyn Observer,
    ) -> Result<(), Cancelled> {
        let task = Task { levels, ..Task::whole(cells, size) };
        let force = plan::Force { engine: Some(self.engine), isa: Some(self.isa) };
        run_forced(&task, out, observer, force)
    }
}
