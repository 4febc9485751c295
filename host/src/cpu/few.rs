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

use super::measures::Shared;
use super::table::Tables;
use super::{Job, Real, measures};
use crate::measure::window::Window;
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
            let shared = Shared::new(&window, self.grid, self.levels);
            (window, shared)
        });
        (window, shared)
    }
}

/// The entropy of a window of `n` valid cells whose sum is `sum`, or the mark of one of too few.
#[inline(always)]
pub fn entropy_or_mark<T: Real>(tables: &Tables<T::Sum>, n: usize, sum: T::Sum) -> T {
    if n < tables.few && n > 1 {
        return T::MARK;
    }
    T::entropy(tables.f[n], sum, tables.mask, T::from_f64(tables.factor[n]))
}

/// Computes the marked cells of a tile of bytes.
pub fn complete<T: Real>(job: &Job<'_, T>, tile: &mut Tile<'_, T>) {
    if job.layout.task.nodata.is_none() || job.tables.few == 0 {
        return;
    }
    let again = |tile: &mut Tiles<'_, T>| {
        let (window, shared) = job.precise.made();
        measures::run_task(job.layout.task, window, shared, tile, &mut measures::scratch(), &())
    };
    replace((tile.top, tile.left), &mut tile.rows, again).expect("nothing cancels");
}

/// Has the rectangle around the marked cells of `rows`, the first of which is at `place`, computed by `again`, and takes the marked ones.
pub fn replace<T: Real>(
    (top, left): (usize, usize),
    rows: &mut [&mut [T]],
    again: impl FnOnce(&mut Tiles<'_, T>) -> Result<(), Cancelled>,
) -> Result<(), Cancelled> {
    let Some((high, wide)) = marked(rows) else { return Ok(()) };
    let mut values = vec![T::NAN; high.len() * wide.len()];
    let plane = values.chunks_exact_mut(wide.len()).collect();
    again(&mut Tiles { top: top + high.start, left: left + wide.start, planes: vec![plane] })?;
    for (row, values) in rows[high].iter_mut().zip(values.chunks_exact(wide.len())) {
        for (cell, &value) in row[wide.clone()].iter_mut().zip(values) {
            if *cell == T::MARK {
                *cell = value;
            }
        }
    }
    Ok(())
}

/// The rows and columns that hold all marks; none where there is no mark.
fn marked<T: Real>(rows: &[&mut [T]]) -> Option<(Range<usize>, Range<usize>)> {
    let mut found: Option<(Range<usize>, Range<usize>)> = None;
    for (y, row) in rows.iter().enumerate() {
        let Some(first) = row.iter().position(|&cell| cell == T::MARK) else { continue };
        let end = row.iter().rposition(|&cell| cell == T::MARK).map_or(0, |last| last + 1);
        let (high, wide) = found.get_or_insert((y..y, first..end));
        high.end = y + 1;
        *wide = wide.start.min(first)..wide.end.max(end);
    }
    found
}
