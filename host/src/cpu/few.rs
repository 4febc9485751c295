//! Windows of which nodata leaves few cells: their entropy comes from sums of 64 bits.
//!
//! The unit of the 32-bit tables goes by the largest window ([`table`](super::table)): an entry is up to half a unit off, and the sum of some
//! is divided by N. Where N is a small part of the largest window, that is more than an f32 result may be off. So windows of fewer than
//! [`Tables::few`] valid cells, but more than one, are marked while a tile is computed, and the rectangle around all marks is then computed
//! by [`measures`], whose sums have 64 bits. That takes up to three times as long, in tiles that have such windows and in no others.
//!
//! Whether a window is marked depends on its N and on the task and on nothing else: so neither tiles nor engines change a bit of a result.

use std::ops::Range;
use std::sync::OnceLock;

use super::measures::{Precision, Shared};
use super::table::Tables;
use super::{Job, Summed, measures};
use crate::measure::window::Window;
use crate::numbers::Real;
use crate::observe::Cancelled;
use crate::part::{Tile, Tiles};

/// What windows of few valid cells are computed with: made when the first one is found.
pub struct Precise {
    grid: (usize, usize),
    size: usize,
    levels: usize,
    scale: f64,
    made: OnceLock<(Window, Shared)>,
}

impl Precise {
    /// For squares of `size` in a whole grid of so many rows and columns and so many levels.
    pub fn new(grid: (usize, usize), size: usize, levels: usize, scale: f64) -> Self {
        Self { grid, size, levels, scale, made: OnceLock::new() }
    }

    /// The window and its tables.
    pub fn made(&self) -> (&Window, &Shared) {
        let (window, shared) = self.made.get_or_init(|| {
            let window = Window::shannon(self.size, self.scale);
            let shared = Shared::new(&window, self.grid, self.levels, Precision::Double);
            (window, shared)
        });
        (window, shared)
    }
}

/// Whether a window of `n` valid cells is one of too few for tables that are fine enough for `few`. Of no cell or one there is nothing to sum.
#[inline(always)]
pub fn is_few(few: usize, n: usize) -> bool {
    n < few && n > 1
}

/// What stands for a result that is still to be computed: never an entropy.
#[inline(always)]
pub fn mark<T: Real>() -> T {
    T::from_f64(f64::NEG_INFINITY)
}

/// The entropy of a window of `n` valid cells whose sum is `sum`, or the mark of one of too few.
#[inline(always)]
pub fn entropy_or_mark<T: Summed>(tables: &Tables<T::Sum>, n: usize, sum: T::Sum) -> T {
    if is_few(tables.few, n) {
        return mark::<T>();
    }
    T::entropy(tables.f[n], sum, tables.mask, T::from_f64(tables.factor[n]))
}

/// Computes the marked cells of a tile of bytes.
pub fn complete<T: Summed>(job: &Job<'_, T>, tile: &mut Tile<'_, T>) {
    if job.layout.task.nodata.is_none() {
        return;
    }
    let plane = tile.rows.iter_mut().map(|row| &mut **row).collect();
    let again = |marked: &mut Tiles<'_, T>| {
        let (window, shared) = job.precise.made();
        measures::run_task(job.layout.task, window, shared, marked, &mut measures::scratch(), &())
    };
    let mut tile = Tiles { top: tile.top, left: tile.left, planes: vec![plane] };
    replace(job.tables.few, &mut tile, again).expect("nothing cancels");
}

/// Has the rectangle around a tile's marked cells computed by `again`, and takes the marked ones: where tables are fine enough for `few` valid
/// cells and no fewer.
pub fn replace<T: Real>(
    few: usize,
    tile: &mut Tiles<'_, T>,
    again: impl FnOnce(&mut Tiles<'_, T>) -> Result<(), Cancelled>,
) -> Result<(), Cancelled> {
    if few == 0 {
        return Ok(());
    }
    let Some((high, wide)) = marked(&tile.planes) else { return Ok(()) };
    let mut planes = vec![vec![T::NAN; high.len() * wide.len()]; tile.planes.len()];
    let (top, left) = (tile.top + high.start, tile.left + wide.start);
    again(&mut Tiles {
        top,
        left,
        planes: planes.iter_mut().map(|plane| plane.chunks_exact_mut(wide.len()).collect()).collect(),
    })?;
    for (rows, values) in tile.planes.iter_mut().zip(&planes) {
        for (row, values) in rows[high.clone()].iter_mut().zip(values.chunks_exact(wide.len())) {
            for (cell, &value) in row[wide.clone()].iter_mut().zip(values) {
                *cell = if *cell == mark::<T>() { value } else { *cell };
            }
        }
    }
    Ok(())
}

/// The rows and columns that hold all marks; none where there is no mark.
fn marked<T: Real>(planes: &[Vec<&mut [T]>]) -> Option<(Range<usize>, Range<usize>)> {
    let mut found: Option<(Range<usize>, Range<usize>)> = None;
    for (y, row) in planes.iter().flat_map(|rows| rows.iter().enumerate()) {
        // A loop without an exit, which becomes vector instructions: hardly any row has a mark.
        if !row.iter().fold(false, |any, &cell| any | (cell == mark::<T>())) {
            continue;
        }
        let first = row.iter().position(|&cell| cell == mark::<T>()).unwrap_or(0);
        let end = row.iter().rposition(|&cell| cell == mark::<T>()).map_or(0, |last| last + 1);
        let (high, wide) = found.get_or_insert((y..y + 1, first..end));
        *high = high.start.min(y)..high.end.max(y + 1);
        *wide = wide.start.min(first)..wide.end.max(end);
    }
    found
}
