//! The CPU engine: moving-window entropy of 8-bit cells, on all cores of the current rayon pool.
//!
//! The output is cut into tiles (a band of rows, a strip of columns), tiles are computed
//! independently, and the histogram of a window is never rebuilt from scratch. Two kinds of engines share
//! the work: planes of counts where levels are few or windows large, a sliding histogram where levels are many;
//! a plan chooses, tile by tile. Both add the same fixed-point integers, so that neither
//! the choice nor the number of threads nor the instruction set (`isa`) changes a bit of the output.
//!
//! What is made of counts is apart from how they come about (`consumer`):
//!
//! ```text
//! squares                        planes, sliding_counts              \            Shannon's entropy alone   finish
//! disks and all other shapes     bits                                 > consumer >
//!                                                                    /            all measures              measures
//! ```
//!
//! Windows of more than 255 rows or columns have Shannon's entropy from `measures` too, where their counts may have 32 bits: 255 is what a byte
//! counts in a column.
//!
//! The files, in reading order: `table` (why integers, how many bits), `window` (from cells to counts),
//! `lookup`, `log`, `x86` and `lanes` (from counts to sums; `lanes` is what AVX2 and NEON share), `consumer` and `finish` (from sums to entropies), the engines by planes: `planes`, which
//! hands large windows to `sliding_counts` (with `x86_sliding_counts`; `count` is how wide its counts are), and `bits` (with `x86_bits`); `histogram`
//! (with `x86_histogram`), `plan`, `few` (windows of which nodata leaves little); then `measures`, which has a histogram and a plan of its
//! own; and `wide`, for maps of more than 256 classes, which cuts them into tiles that mostly have fewer.

#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "some tables and formulas are AVX-512's alone"))]

use std::ops::Range;

use crate::codes::{Code, CodesView};
use crate::grid::{GridView, GridViewMut};
use crate::isa::Isa;
use crate::measure::window::Window;
use crate::numbers::{Planes, Real};
use crate::observe::{Cancelled, Observer};
use crate::part::{Part, Tile};

mod aligned;
pub mod bench;
mod bits;
mod consumer;
mod count;
mod few;
mod finish;
mod histogram;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod lanes;
mod log;
mod lookup;
pub(crate) mod measures;
mod plan;
mod planes;
mod sliding_counts;
mod summed;
mod table;
#[cfg(test)]
mod tests;
mod wide;
mod window;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
mod x86_bits;
#[cfg(target_arch = "x86_64")]
mod x86_histogram;
#[cfg(target_arch = "x86_64")]
mod x86_sliding_counts;

use aligned::Aligned;
use few::Precise;
use finish::Entropies;
use plan::{Engine, Force};
use summed::Summed;
use table::Tables;

/// The longest side of a window whose entropy has sums of its own for f32 results.
const MOST: usize = planes::BYTES;

/// One piece of work for the engine: a rectangle of a grid, or of a part of one.
#[derive(Debug, Clone)]
pub(crate) struct Task<'a, C = u8> {
    /// The grid, or a part of it that holds the output cells and all of their windows.
    pub cells: GridView<'a, C>,
    /// Rows and columns of the whole grid: they decide the unit of the sums, so that parts come out as the whole does.
    pub grid: (usize, usize),
    /// The output rows to compute, counted in `cells`.
    pub rows: Range<usize>,
    /// The output columns to compute, counted in `cells`.
    pub cols: Range<usize>,
    /// Window size, odd, 1..=[`MAX_SIZE`](crate::measure::MAX_SIZE).
    pub size: usize,
    /// Every cell is below `levels` (1..=[`Code::LEVELS`]) or equal to `nodata`. Of words more may be below it than occur.
    pub levels: usize,
    /// The value that is not counted. May be below `levels`: then that level never occurs otherwise.
    pub nodata: Option<C>,
    /// What the entropy in nats is multiplied by (base, normalisation).
    pub scale: f64,
}

impl<'a, C: Code> Task<'a, C> {
    /// All of a grid, its values any codes, in nats.
    pub fn whole(cells: GridView<'a, C>, size: usize) -> Self {
        let (rows, cols, levels) = (cells.rows(), cells.cols(), C::LEVELS);
        Self { cells, grid: (rows, cols), rows: 0..rows, cols: 0..cols, size, levels, nodata: None, scale: 1.0 }
    }

    /// The same for its cells in the type that they are known to have.
    fn of<D: Code>(&self, cells: GridView<'a, D>) -> Task<'a, D> {
        let Self { grid, ref rows, ref cols, size, levels, nodata, scale, .. } = *self;
        let nodata = nodata.and_then(|code| D::of(code.get()));
        Task { cells, grid, rows: rows.clone(), cols: cols.clone(), size, levels, nodata, scale }
    }
}

/// Fills `outs` with what `window` measures, one for each of its planes; without a window the one of them with Shannon's entropy of squares
/// that are clipped at the edge. Codes of either type.
pub(crate) fn run_codes<T: Real, C: Code>(
    task: &Task<'_, C>,
    window: Option<&Window>,
    mut outs: Vec<GridViewMut<'_, T>>,
    observer: &dyn Observer,
) -> Result<(), Cancelled> {
    match (C::view(task.cells), window) {
        (CodesView::Bytes(cells), Some(window)) => measures::run(&task.of(cells), window, outs, observer),
        (CodesView::Bytes(cells), None) => run(&task.of(cells), outs.remove(0), observer),
        (CodesView::Words(cells), window) => wide::run(&task.of(cells), window, T::planes(outs), observer),
    }
}

/// A task, and which of its values are counted where.
struct Layout<'a> {
    task: &'a Task<'a>,
    /// The values that have a plane: the levels, then nodata.
    planes: Vec<u8>,
    /// The plane of each value; one behind the last for values that have none.
    slots: [usize; 256],
    /// Most cells that a window can have.
    largest: usize,
}

impl<'a> Layout<'a> {
    fn new(task: &'a Task<'a>, largest: usize) -> Self {
        let levels = (0..task.levels).map(|level| level as u8);
        let mut planes: Vec<u8> = levels.filter(|&level| Some(level) != task.nodata).collect();
        planes.extend(task.nodata);
        let mut slots = [planes.len(); 256];
        for (slot, &value) in planes.iter().enumerate() {
            slots[usize::from(value)] = slot;
        }
        Self { task, planes, slots, largest }
    }

    /// How many planes are of levels: all but that of nodata.
    fn levels(&self) -> usize {
        self.planes.len() - usize::from(self.task.nodata.is_some())
    }
}

/// A task and what all its tiles share.
struct Job<'a, T: Summed> {
    layout: Layout<'a>,
    tables: &'a Tables<T::Sum>,
    precise: &'a Precise,
}

/// The rectangle of the grid that a tile is.
#[derive(Debug, Clone, Copy)]
struct TileRect {
    top: usize,
    left: usize,
    height: usize,
    width: usize,
}

/// Fills `out` (`task.rows.len()` × `task.cols.len()`) with the entropy of the task's cells.
pub(crate) fn run<T: Real>(task: &Task<'_>, out: GridViewMut<'_, T>, observer: &dyn Observer) -> Result<(), Cancelled> {
    run_forced(task, T::planes(vec![out]), observer, Force::default())
}

/// [`run`], with a say in how; `outs` is one. Generic in nothing: the engine is compiled with this crate and not anew with each that uses it.
fn run_forced(task: &Task<'_>, outs: Planes<'_>, observer: &dyn Observer, force: Force) -> Result<(), Cancelled> {
    match outs {
        Planes::F32(mut outs) => run_summed(task, outs.remove(0), observer, force),
        Planes::F64(mut outs) => run_summed(task, outs.remove(0), observer, force),
    }
}

/// [`run_forced`] for a precision that has its own sums.
fn run_summed<T: Summed>(
    task: &Task<'_>,
    out: GridViewMut<'_, T>,
    observer: &dyn Observer,
    force: Force,
) -> Result<(), Cancelled> {
    let Task { cells, grid, size, levels, scale, .. } = *task;
    assert!(size % 2 == 1, "a window of size {size}");
    assert!((1..=256).contains(&levels), "{levels} levels");
    assert!(task.rows.end <= cells.rows() && task.cols.end <= cells.cols());
    assert!((task.rows.len(), task.cols.len()) == (out.rows(), out.cols()));

    if size > MOST {
        // Where counts may have 32 bits.
        let engine = force.engine.map(|engine| match engine {
            Engine::Planes => measures::Engine::Planes,
            Engine::Histogram => measures::Engine::Histogram,
        });
        let force = measures::Force { engine, isa: force.isa };
        return measures::run_forced(task, &Window::shannon(size, scale), T::planes(vec![out]), observer, force);
    }
    let largest = size.min(grid.0) * size.min(grid.1);
    let tables = Tables::new(largest, levels, scale);
    let precise = Precise::new(grid, size, levels, scale);
    let job = Job::<T> { layout: Layout::new(task, largest), tables: &tables, precise: &precise };
    let isa = force.isa.unwrap_or_else(Isa::best);

    Part::at(task.rows.start, task.cols.start, out).for_each_tile(
        size,
        observer,
        || (planes::Scratch::new(), Aligned::new()),
        |scratch, tile| run_tile(&job, tile, scratch, isa, force.engine),
    )
}

/// Memory that a thread needs for a tile.
type Scratch<T> = (planes::Scratch, Aligned<<T as Summed>::Sum>);

/// Computes a tile, by the engine that is forced or the one that the plan chooses.
fn run_tile<T: Summed>(
    job: &Job<'_, T>,
    tile: &mut Tile<'_, T>,
    (scratch, sums): &mut Scratch<T>,
    isa: Isa,
    forced: Option<Engine>,
) {
    match forced.unwrap_or_else(|| plan::engine(job, tile, isa)) {
        Engine::Planes => {
            let rect = TileRect { top: tile.top, left: tile.left, height: tile.rows.len(), width: tile.width() };
            planes::run(&job.layout, rect, &mut Entropies::new(job, tile, sums), scratch, isa);
        }
        Engine::Histogram => histogram::run(job, tile, isa),
    }
    few::complete(job, tile);
}
