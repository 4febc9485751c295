//! A door for the benchmark `lab/examples/cpu_speed.rs`; not part of the library's interface.
#![doc(hidden)]

use super::plan::{Engine, Force};
use super::{Task, measures, run_codes, run_forced};
use crate::codes::Code;
use crate::grid::{GridView, GridViewMut};
use crate::measure::window::{Scales, Window};
use crate::measure::{Base, Edge, Footprint, Measure};
use crate::numbers::Real;

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
    crate::isa::Isa::available().iter().map(|isa| format!("{:?}", isa.kind())).collect()
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
    let isa = set.map(|set| crate::isa::Isa::available()[set]);
    run_forced(&task, out, &(), Force { engine, isa }).expect("nothing cancels");
}

/// Entropy in nats of a whole grid of so many levels, bytes or words, by what the plan says.
pub fn entropy_of_codes<T: Real, C: Code>(cells: GridView<'_, C>, size: usize, levels: usize, out: GridViewMut<'_, T>) {
    let task = Task { levels, ..Task::whole(cells, size) };
    run_codes(&task, None, vec![out], &()).expect("nothing cancels");
}

/// Measures of a whole grid, in nats; `set` is an index into [`instruction_sets`].
pub fn measure<T: Real>(
    cells: GridView<'_, u8>,
    footprint: &Footprint,
    measures: &[Measure],
    (levels, nodata): (usize, Option<u8>),
    choice: Choice,
    set: Option<usize>,
    outs: Vec<GridViewMut<'_, T>>,
) {
    let task = Task { levels, nodata, ..Task::whole(cells, 1) };
    let window = Window::new(footprint.clone(), measures, Edge::Shrink, 0.0, Scales::new(Base::E, None));
    let engine = match choice {
        Choice::Auto => None,
        Choice::Planes => Some(measures::Engine::Planes),
        Choice::Histogram => Some(measures::Engine::Histogram),
    };
    let isa = set.map(|set| crate::isa::Isa::available()[set]);
    measures::run_forced(&task, &window, outs, &(), measures::Force { engine, isa }).expect("nothing cancels");
}
