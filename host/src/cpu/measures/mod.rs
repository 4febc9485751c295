//! The CPU engine for windows of any shape and for all measures.
//!
//! A histogram slides down the columns as in [`histogram`](super::histogram), and what the measures are formulas of slides along
//! with it, in integers ([`measure::window`](crate::measure::window) says which, and why): so neither tiles nor
//! threads nor the part of a grid that is at hand change a bit of a result.
//!
//! ```text
//! for each column of the tile:
//!     count the window around its first cell
//!     for each row:
//!         results from the counts and sums                          (finish)
//!         take away the uppermost cell of each run of the window,
//!         add the cell below each run: the window of the next row   (slide)
//! ```
//!
//! It differs from the histogram for squares in two ways. What a window gains and loses is a list of stretches instead of two rows;
//! and results are formed in f64 and rounded at the end, because their formulas are many. Σ F(n) of f32 results has the entries of 32 bits
//! that Shannon's entropy by itself has, but where a few valid cells ask for more ([`few`](super::few)) or levels are too many.
//!
//! Where levels are few (`plan`) the same sums come from planes of counts instead, whole rows at a time ([`planes`] and [`bits`] make
//! them, `sums` takes them): their time hardly depends on the window. Only the orders that go through the counts one by one always
//! take the histogram.
//!
//! The files: `tables`, `areas` (N without nodata), `slide`, `sums`, `finish` (formulas, with `single` for their logarithms; in f32
//! `x86` has some of its own), `plan`.

mod areas;
pub(super) mod finish;
mod plan;
mod single;
mod slide;
mod sums;
pub(super) mod tables;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::OnceLock;

use super::bits::{self, WindowUpdates};
use super::few::replace;
use super::planes;
use super::{Layout, Task, TileRect};
use crate::grid::GridViewMut;
use crate::isa::Isa;
use crate::measure::window::{Stretch, Window};
use crate::numbers::{Planes, Real};
use crate::observe::{Cancelled, Observer};
use crate::part::{LARGE_STRIP, SMALL, STRIP, Tiles, for_each_tile_of};
pub use finish::Precision;
pub use plan::{Engine, Force};
use sums::Sums;
use tables::Tables;

/// Steps of work (a count changed, a class of a result looked at) between two looks at whether it is to stop: some milliseconds.
const AT_ONCE: usize = 1 << 20;

/// What a window is to the planes of counts.
enum Shape {
    /// A square.
    Square,
    /// Any other, and how it changes.
    General(WindowUpdates),
    /// One that there are no planes for, because it is too large.
    Histogram,
}

impl Shape {
    /// Of windows that have at most `largest` cells.
    fn of(window: &Window, largest: usize) -> Self {
        if plan::square(window) {
            Self::Square
        } else if bits::fits(window, largest) {
            Self::General(WindowUpdates::new(window))
        } else {
            Self::Histogram
        }
    }
}

/// A task and what all its tiles share.
struct Job<'a> {
    layout: Layout<'a>,
    window: &'a Window,
    shared: &'a Shared,
    tables: &'a Tables,
    shape: &'a Shape,
    /// The stretches that leave and enter: how far they begin behind the centre in the memory of the cells, and their lengths.
    leaving: Vec<(isize, usize)>,
    entering: Vec<(isize, usize)>,
    /// Rows between two looks at whether the work is to stop.
    rows_at_once: usize,
    observer: &'a dyn Observer,
}

/// What all tiles of a grid share, whatever their codes are.
pub(super) struct Shared {
    pub tables: Tables,
    /// For windows of few valid cells: made when the first one is found.
    precise: OnceLock<Tables>,
    shape: Shape,
    levels: usize,
    /// Most cells that a window can have.
    pub largest: usize,
}

impl Shared {
    /// For a whole grid of so many rows and columns and so many levels, and results that are rounded so.
    pub fn new(window: &Window, grid: (usize, usize), levels: usize, precision: Precision) -> Self {
        let footprint = window.footprint();
        let largest = footprint.count().min(footprint.rows().min(grid.0) * footprint.cols().min(grid.1));
        let tables = Tables::new(window, largest, levels, precision);
        Self { tables, precise: OnceLock::new(), shape: Shape::of(window, largest), levels, largest }
    }

    /// Tables for windows of few valid cells.
    pub fn precise(&self, window: &Window) -> &Tables {
        self.precise.get_or_init(|| Tables::new(window, self.largest, self.levels, Precision::Double))
    }

    /// Columns of a tile.
    pub fn strip(&self, window: &Window) -> usize {
        match self.shape {
            Shape::Square | Shape::Histogram if window.footprint().rows() > SMALL => LARGE_STRIP,
            _ => STRIP,
        }
    }
}

impl<'a> Job<'a> {
    /// The task's `size` is that of the window.
    fn new(
        task: &'a Task<'a>,
        window: &'a Window,
        shared: &'a Shared,
        tables: &'a Tables,
        observer: &'a dyn Observer,
    ) -> Self {
        let stride = task.cells.stride() as isize;
        let flat = |all: &[Stretch]| all.iter().map(|s| (s.row * stride + s.col, s.len)).collect();
        let cells = |all: &[Stretch]| all.iter().map(|s| s.len).sum::<usize>();
        let work = cells(&window.leaving) + cells(&window.entering) + window.planes.len() * task.levels;
        Self {
            layout: Layout::new(task, shared.largest),
            window,
            shared,
            tables,
            shape: &shared.shape,
            leaving: flat(&window.leaving),
            entering: flat(&window.entering),
            rows_at_once: (AT_ONCE / (slide::LANES * work)).max(1),
            observer,
        }
    }
}

/// Fills `outs`, one for each of the window's planes in their order and `task.rows.len()` × `task.cols.len()` each. The window
/// decides shape and scale: the task's `size` and `scale` are not looked at.
///
/// f64 results are within 1e-12 of the definition, f32 results within 2e-6 (Hill's numbers: times the number; richness is
/// exact).
pub(crate) fn run<T: Real>(
    task: &Task<'_>,
    window: &Window,
    outs: Vec<GridViewMut<'_, T>>,
    observer: &dyn Observer,
) -> Result<(), Cancelled> {
    run_forced(task, window, T::planes(outs), observer, Force::default())
}

/// [`run`], with a say in how. Generic in nothing: the engine is compiled with this crate and not anew with each that uses it.
pub(super) fn run_forced(
    task: &Task<'_>,
    window: &Window,
    outs: Planes<'_>,
    observer: &dyn Observer,
    force: Force,
) -> Result<(), Cancelled> {
    match outs {
        Planes::F32(outs) => run_precision(task, window, outs, observer, force),
        Planes::F64(outs) => run_precision(task, window, outs, observer, force),
    }
}

fn run_precision<T: Real>(
    task: &Task<'_>,
    window: &Window,
    outs: Vec<GridViewMut<'_, T>>,
    observer: &dyn Observer,
    force: Force,
) -> Result<(), Cancelled> {
    assert!((1..=256).contains(&task.levels), "{} levels", task.levels);
    assert!(task.rows.end <= task.cells.rows() && task.cols.end <= task.cells.cols());
    assert!(outs.len() == window.planes.len() && !outs.is_empty());
    assert!(outs.iter().all(|out| (task.rows.len(), task.cols.len()) == (out.rows(), out.cols())));

    let footprint = window.footprint();
    let task = Task { size: footprint.cols(), ..task.clone() };
    let shared = Shared::new(window, task.grid, task.levels, Precision::of::<T>());
    let job = Job::new(&task, window, &shared, &shared.tables, observer);
    let isa = force.isa.unwrap_or_else(Isa::best);
    let rect = (task.rows.start, task.cols.start);
    for_each_tile_of(rect, outs, (footprint.rows(), shared.strip(window)), observer, scratch, |scratch, tile| {
        run_tile(&job, tile, scratch, isa, force.engine)
    })
}

/// Memory that a thread needs for a tile.
pub(super) type Scratch = (planes::Scratch, bits::Scratch, sums::Memory);

/// None yet: it grows when the first tile comes.
pub(super) fn scratch() -> Scratch {
    (planes::Scratch::new(), bits::Scratch::new(), sums::Memory::new())
}

/// Computes a tile of a grid that has been cut into tasks, unless the work is to stop. The task's `size` is that of the window.
pub(super) fn run_task<T: Real>(
    task: &Task<'_>,
    window: &Window,
    shared: &Shared,
    tile: &mut Tiles<'_, T>,
    scratch: &mut Scratch,
    observer: &dyn Observer,
) -> Result<(), Cancelled> {
    run_tile(&Job::new(task, window, shared, &shared.tables, observer), tile, scratch, Isa::best(), None)
}

/// Computes a tile, by the engine that is forced or the one that the plan chooses; then, where it marked any, its windows of few valid
/// cells with finer tables.
fn run_tile<T: Real>(
    job: &Job<'_>,
    tile: &mut Tiles<'_, T>,
    scratch: &mut Scratch,
    isa: Isa,
    forced: Option<Engine>,
) -> Result<(), Cancelled> {
    run_engine(job, tile, scratch, isa, forced)?;
    replace(job.tables.few, tile, |marked| {
        let precise = job.shared.precise(job.window);
        let job = Job::new(job.layout.task, job.window, job.shared, precise, job.observer);
        run_engine(&job, marked, scratch, isa, forced)
    })
}

fn run_engine<T: Real>(
    job: &Job<'_>,
    tile: &mut Tiles<'_, T>,
    (squares, shapes, memory): &mut Scratch,
    isa: Isa,
    forced: Option<Engine>,
) -> Result<(), Cancelled> {
    let rect = TileRect { top: tile.top, left: tile.left, height: tile.height(), width: tile.width() };
    match (forced.unwrap_or_else(|| plan::engine(job, rect, isa)), job.shape) {
        (Engine::Planes, Shape::Square) => {
            planes::run(&job.layout, rect, &mut Sums::new(job, tile, memory, isa), squares, isa);
            Ok(())
        }
        (Engine::Planes, Shape::General(updates)) => {
            bits::run(&job.layout, updates, rect, &mut Sums::new(job, tile, memory, isa), shapes, isa);
            Ok(())
        }
        (Engine::Histogram, _) | (_, Shape::Histogram) => slide::run(job, tile),
    }
}
