//! A door for the benchmark `examples/cpu_speed.rs`; not part of the library's interface.
#![doc(hidden)]

use super::plan::{Engine, Force};
use super::{Real, Task, run_forced};
use crate::grid::{GridView, GridViewMut};

/// Which engine to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// What the plan says.
    Auto,
    /// Planes of counts.
    Planes,
    /// The sliding histogram.
    Histogram,
}

/// Instruction sets of this machine by name, worst first.
pub fn instruction_sets() -> Vec<String> {
    super::isa::Isa::available().iter().map(|isa| format!("{:?}", isa.kind())).collect()
}

/// Entropy in nats of a whole grid; `set` is an index into [`instruction_sets`].
pub fn entropy<T: Real>(
    cells: GridView<'_, u8>,
    size: usize,
    levels: usize,
    choice: Choice,
    set: Option<usize>,
    out: GridViewMut<'_, T>,
) {
    let task = Task { levels, ..Task::whole(cells, size) };
    let engine = match choice {
        Choice::Auto => None,
        Choice::Planes => Some(Engine::Planes),
        Choice::Histogram => Some(Engine::Histogram),
    };
    let isa = set.map(|set| super::isa::Isa::available()[set]);
    run_forced(&task, out, &(), Force { engine, isa }).expect("nobody cancels");
}
