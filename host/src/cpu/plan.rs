//! Which engine computes a tile.
//!
//! Both give the same bits, so the choice is about time only, and may differ from tile to tile. The
//! times are modelled in nanoseconds a cell:
//!
//! ```text
//! planes     = update + levels that occur · plane
//! histogram  = start + (2 · width + width · height / rows of the tile) · step
//! ```
//!
//! Where the histograms of neighbouring windows slide together, they share their columns, so that each has the fewer; and levels that are
//! frequent in the window have a cost of their own.
//!
//! Width and height are those of a window within the grid. Planes work on whole vectors: in a tile narrower than one the
//! cells share the cost of all its lanes, and of the columns that surround them.
//!
//! The coefficients were measured on one core of a Xeon with AVX-512 at some 3 GHz (sizes 5, 21, 101 and 255, 16 and 256 levels), as
//! `halotile bench entropy --device cpu --threads 1 --kernels cpu,planes-avx512,slide-avx512` measures both engines. A faster core scales them
//! all; only their ratios matter.

use super::histogram;
use super::lookup::{BLOCK, GROUP};
use super::planes::{BY_CELL, slides};
use super::table::SMALL;
use super::{Job, Layout, Summed, Tile, TileRect};
use crate::isa::{Isa, Kind};
use crate::part::STRIP;

/// The two engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// One plane of counts a level.
    Planes,
    /// One sliding histogram.
    Histogram,
}

/// What the caller (a test, a benchmark) insists on; by default nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Force {
    /// The engine of every tile.
    pub engine: Option<Engine>,
    /// The instruction set.
    pub isa: Option<Isa>,
}

/// Time of one step of the histogram, between the 0.44 of random cells and the 0.54 of clustered ones.
const STEP: f64 = 0.48;

/// The same where 32 windows slide together: where no count is too large for registers; else between the 1.4 to 2.2 of random cells and the 4 to 6
/// of clustered ones. And what a level costs besides where so many of a window's cells have it that its counts are too large for registers.
const STEP_OF_32_SMALL: f64 = 1.4;
const STEP_OF_32: f64 = 3.5;
const LEVEL: f64 = 0.5;
const FREQUENT: usize = 64;

/// What a cell of the histogram engine costs besides.
const START: f64 = 3.0;

/// Time of updating the column counts cell by cell, where there are many planes.
const UPDATE: f64 = 2.0;

/// The engine for a tile.
pub fn engine<T: Summed>(job: &Job<'_, T>, tile: &Tile<'_, T>, isa: Isa) -> Engine {
    let (cells, size) = (job.layout.task.cells, job.layout.task.size);
    let (width, height) = (size.min(cells.cols()) as f64, size.min(cells.rows()) as f64);
    let together = histogram::together::<T>(isa);
    // Columns of a window, as far as it does not share them.
    let columns = (width + together as f64 - 1.0) / tile.width().min(together) as f64;
    let updates = 2.0 * columns + columns * height / tile.rows.len() as f64;
    let histogram = |levels: usize| match together {
        1 => START + updates * STEP,
        _ if job.tables.largest <= SMALL => START + updates * STEP_OF_32_SMALL,
        _ if job.tables.largest / levels.max(1) >= FREQUENT => START + updates * STEP_OF_32 + levels as f64 * LEVEL,
        _ => START + updates * STEP_OF_32,
    };
    let plane = plane(isa, size, job.tables.largest, size_of::<T>() == 4) * lanes(tile.width(), size);
    // Counting the levels that occur takes a moment: not where all of them would be fine too.
    let update = if job.layout.planes.len() > BY_CELL { UPDATE } else { 0.0 };
    let planes = |levels: usize| update + levels as f64 * plane;
    // Counts that slide do so by whole groups.
    let group = if slides(isa, size, job.tables.largest) { GROUP } else { 1 };
    let rect = TileRect { top: tile.top, left: tile.left, height: tile.rows.len(), width: tile.width() };
    let faster = |levels: usize| planes(levels) < histogram(levels);
    if faster(job.layout.planes.len().next_multiple_of(group))
        || faster(present(&job.layout, rect, (size / 2, size / 2), group))
    {
        Engine::Planes
    } else {
        Engine::Histogram
    }
}

/// How many columns a plane counts for each of the tile's, as a multiple of what a full tile has.
pub fn lanes(width: usize, size: usize) -> f64 {
    let columns = |width: usize| (width.next_multiple_of(BLOCK) + size) as f64 / width as f64;
    columns(width) / columns(STRIP)
}

/// Time of one plane.
fn plane(isa: Isa, size: usize, largest: usize, single: bool) -> f64 {
    // Every doubling of the window is one more pass over the counts, where they do not slide.
    let steps = f64::from(size.ilog2());
    match isa.kind() {
        Kind::Avx512 if single && largest <= SMALL => 0.13,
        Kind::Avx512 if single && slides(isa, size, largest) => 0.19 + 0.0004 * size as f64,
        Kind::Avx512 if single => 0.06 * steps,
        Kind::Avx2 | Kind::Neon if largest > SMALL && slides(isa, size, largest) => 0.27 + 0.0006 * size as f64,
        _ if largest <= SMALL => 0.25,
        _ => 0.11 * steps,
    }
}

/// How many levels the rows of one window in the middle of a tile have, or the groups of `group` planes that do. A window reaches so many
/// rows and columns from its centre.
pub fn present(layout: &Layout<'_>, rect: TileRect, (rows, cols): (usize, usize), group: usize) -> usize {
    let cells = layout.task.cells;
    let middle = rect.top + rect.height / 2;
    let left = rect.left.saturating_sub(cols);
    let right = cells.cols().min(rect.left + rect.width + cols);
    let mut seen = [false; 256];
    for y in middle.saturating_sub(rows)..cells.rows().min(middle + rows + 1) {
        for &value in &cells.row(y)[left..right] {
            // Values that the caller promised would not come may share the last slot.
            seen[(layout.slots[usize::from(value)] / group).min(255)] = true;
        }
    }
    seen.into_iter().filter(|&seen| seen).count() * group
}
