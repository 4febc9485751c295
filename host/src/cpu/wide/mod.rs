//! Maps of more than 256 classes: many in the map, few in any place.
//!
//! What a moving window measures depends on how often classes occur and not on what their codes are. So a map of 16-bit codes is cut into
//! tiles, and the codes of each tile, with the cells around it that its windows see, are renumbered:
//!
//! ```text
//! for each tile of some 256 × 256 cells:
//!     find the codes that it sees and number them in their order            (numbering)
//!     up to 256 of them:      make it bytes; planes or a histogram of bytes, as for any map
//!     more, and it is large:  halve it and try again
//!     else:                   a sliding histogram of words                  (sliding)
//! ```
//!
//! National vegetation maps have a thousand classes and some ten in a square of 256 cells, so bytes are the common case, at the cost
//! of a pass that numbers and a pass that copies.
//!
//! Neither the tiling nor the engine changes a bit of a result. The fixed-point tables are those of the whole map's levels, whatever a tile
//! has of them ([`Shared`](super::measures), [`Tables`]); all sums are integers; and new numbers are in the order of the codes. The orders
//! of Rényi and Hill that go through the counts one by one add f64 numbers, where the place of a class would matter: they always take the
//! words' histogram, which adds in the order of the codes and leaves out what does not occur.
//!
//! Deviation: f32 outputs of large windows take 64-bit sums, which `measures` has, where so many classes are too many for 32 bits
//! ([`is_single_enough`]); and outputs of windows of more than 255 rows or columns do, as they do of bytes.

mod numbering;
mod sliding;
#[cfg(test)]
mod tests;

use super::count::is_wide;
use super::few::{Precise, replace};
use super::measures::{self, Precision, Shared};
use super::table::{Tables, is_single_enough};
use super::{Isa, Job, Layout, MOST, Scratch, Summed, Task, run_tile};
use crate::grid::GridViewMut;
use crate::measure::window::{Reach, Window};
use crate::numbers::{Planes, Real};
use crate::observe::{Cancelled, Observer};
use crate::part::{STRIP, Tile, Tiles, for_each_tile_of};
use numbering::Numbering;
use sliding::{Counts, Measured, Plain};

/// Columns of a tile: so many that what it sees around it is little, so few that it has few classes. Where windows are large and the engine
/// takes any width, tiles are as wide as those of bytes, and halved where they have many classes.
const SIDE: usize = 256;

/// Tiles of so few rows or columns are not halved: what they see is mostly around them then.
const LEAST: usize = 64;

/// Fills `outs` as [`run_codes`](super::run_codes) says. Generic in nothing: the engine is compiled with this crate and not anew with each that
/// uses it.
pub(super) fn run(
    task: &Task<'_, u16>,
    window: Option<&Window>,
    outs: Planes<'_>,
    observer: &dyn Observer,
) -> Result<(), Cancelled> {
    match outs {
        Planes::F32(outs) => run_summed(task, window, outs, observer),
        Planes::F64(outs) => run_summed(task, window, outs, observer),
    }
}

/// [`run`] for a precision that has its own sums.
fn run_summed<T: Summed>(
    task: &Task<'_, u16>,
    window: Option<&Window>,
    outs: Vec<GridViewMut<'_, T>>,
    observer: &dyn Observer,
) -> Result<(), Cancelled> {
    assert!(task.rows.end <= task.cells.rows() && task.cols.end <= task.cells.cols());
    assert!(outs.iter().all(|out| (task.rows.len(), task.cols.len()) == (out.rows(), out.cols())));
    let largest = task.size.min(task.grid.0) * task.size.min(task.grid.1);
    match window {
        Some(window) => measured(task, window, outs, observer),
        None if task.size > MOST || (size_of::<T>() == 4 && !is_single_enough(task.levels, largest)) => {
            measured(task, &Window::shannon(task.size, task.scale), outs, observer)
        }
        None => {
            let tables = Tables::new(largest, task.levels, task.scale);
            let precise = Precise::new(task.grid, task.size, task.levels, task.scale);
            let window = Window::shannon(task.size, task.scale);
            each_tile(task, &window, &Squares { tables, largest, window: &window, precise }, outs, observer)
        }
    }
}

fn measured<T: Real>(
    task: &Task<'_, u16>,
    window: &Window,
    outs: Vec<GridViewMut<'_, T>>,
    observer: &dyn Observer,
) -> Result<(), Cancelled> {
    let task = Task { size: window.footprint().cols(), ..task.clone() };
    let shared = Shared::new(window, task.grid, task.levels, Precision::of::<T>());
    each_tile(&task, window, &Measures { shared, window }, outs, observer)
}

/// Computes tiles whose codes have been numbered.
trait TileEngine<T: Real>: Sync {
    /// Memory that a thread needs for tiles of bytes.
    type Scratch;

    fn scratch() -> Self::Scratch;

    /// Columns that the engines for bytes take at a time.
    fn strip(&self) -> usize;

    /// Whether the engines for bytes give the bits that [`words`](Self::words) does.
    fn takes_bytes(&self) -> bool;

    fn bytes(
        &self,
        task: &Task<'_>,
        tile: &mut Tiles<'_, T>,
        scratch: &mut Self::Scratch,
        observer: &dyn Observer,
    ) -> Result<(), Cancelled>;

    fn words(
        &self,
        task: &Task<'_, u16>,
        tile: &mut Tiles<'_, T>,
        counts: &mut Counts,
        observer: &dyn Observer,
    ) -> Result<(), Cancelled>;
}

/// Shannon's entropy of squares.
struct Squares<'a, T: Summed> {
    tables: Tables<T::Sum>,
    largest: usize,
    window: &'a Window,
    precise: Precise,
}

impl<T: Summed> TileEngine<T> for Squares<'_, T> {
    type Scratch = Scratch<T>;

    fn scratch() -> Self::Scratch {
        (super::planes::Scratch::new(), super::Aligned::new())
    }

    fn strip(&self) -> usize {
        STRIP
    }

    fn takes_bytes(&self) -> bool {
        true
    }

    fn bytes(
        &self,
        task: &Task<'_>,
        tile: &mut Tiles<'_, T>,
        scratch: &mut Self::Scratch,
        _: &dyn Observer,
    ) -> Result<(), Cancelled> {
        let job = Job { layout: Layout::new(task, self.largest), tables: &self.tables, precise: &self.precise };
        let rows = tile.planes[0].iter_mut().map(|row| &mut **row).collect();
        let mut tile = Tile { top: tile.top, left: tile.left, rows };
        run_tile(&job, &mut tile, scratch, Isa::best(), None);
        Ok(())
    }

    fn words(
        &self,
        task: &Task<'_, u16>,
        tile: &mut Tiles<'_, T>,
        counts: &mut Counts,
        observer: &dyn Observer,
    ) -> Result<(), Cancelled> {
        sliding::run(&Plain { tables: &self.tables }, task, self.window, tile, counts, observer)?;
        replace(self.tables.few, tile, |marked| {
            let (window, shared) = self.precise.made();
            measured_words(&shared.tables, shared.largest, window, task, marked, counts, observer)
        })
    }
}

/// All measures, and all shapes.
struct Measures<'a> {
    shared: Shared,
    window: &'a Window,
}

impl<T: Real> TileEngine<T> for Measures<'_> {
    type Scratch = measures::Scratch;

    fn scratch() -> Self::Scratch {
        measures::scratch()
    }

    fn strip(&self) -> usize {
        self.shared.strip(self.window)
    }

    fn takes_bytes(&self) -> bool {
        !self.window.planes.iter().any(|plane| measures::finish::needs_counts(plane.quantity))
    }

    fn bytes(
        &self,
        task: &Task<'_>,
        tile: &mut Tiles<'_, T>,
        scratch: &mut Self::Scratch,
        observer: &dyn Observer,
    ) -> Result<(), Cancelled> {
        measures::run_task(task, self.window, &self.shared, tile, scratch, observer)
    }

    fn words(
        &self,
        task: &Task<'_, u16>,
        tile: &mut Tiles<'_, T>,
        counts: &mut Counts,
        observer: &dyn Observer,
    ) -> Result<(), Cancelled> {
        let (shared, window) = (&self.shared, self.window);
        measured_words(&shared.tables, shared.largest, window, task, tile, counts, observer)?;
        replace(shared.tables.few, tile, |marked| {
            measured_words(shared.precise(window), shared.largest, window, task, marked, counts, observer)
        })
    }
}

/// Everything but squares' entropy by the histogram of words.
fn measured_words<T: Real>(
    tables: &measures::tables::Tables,
    largest: usize,
    window: &Window,
    task: &Task<'_, u16>,
    tile: &mut Tiles<'_, T>,
    counts: &mut Counts,
    observer: &dyn Observer,
) -> Result<(), Cancelled> {
    let levels = task.levels;
    if is_wide(largest) {
        sliding::run(&Measured::<u32>::new(tables, window, levels), task, window, tile, counts, observer)
    } else {
        sliding::run(&Measured::<u16>::new(tables, window, levels), task, window, tile, counts, observer)
    }
}

/// What a thread needs.
struct Memory<S> {
    numbering: Numbering,
    counts: Box<Counts>,
    bytes: S,
}

/// Computes all tiles, on the current rayon pool.
fn each_tile<T: Real, E: TileEngine<T>>(
    task: &Task<'_, u16>,
    window: &Window,
    engine: &E,
    outs: Vec<GridViewMut<'_, T>>,
    observer: &dyn Observer,
) -> Result<(), Cancelled> {
    let Reach { top, bottom, left, right } = window.reach;
    let radius = (bottom.max(-top).max(0).unsigned_abs(), right.max(-left).max(0).unsigned_abs());
    let division = Division { task, engine, radius, observer };
    let place = (task.rows.start, task.cols.start);
    let init = || Memory { numbering: Numbering::new(), counts: sliding::counts(), bytes: E::scratch() };
    let strip = engine.strip();
    let side = if strip > STRIP { strip } else { SIDE };
    for_each_tile_of(place, outs, (window.footprint().rows(), strip), observer, init, |memory, tile| {
        let (height, width) = (tile.height(), tile.width());
        (0..width)
            .step_by(side)
            .try_for_each(|left| division.compute(part(tile, (0, height), (left, width.min(left + side))), memory))
    })
}

/// Rows and columns of a tile, counted from its own corner.
fn part<'b, T>(tile: &'b mut Tiles<'_, T>, rows: (usize, usize), cols: (usize, usize)) -> Tiles<'b, T> {
    let (top, left) = (tile.top + rows.0, tile.left + cols.0);
    let of_plane =
        |plane: &'b mut Vec<&mut [T]>| plane[rows.0..rows.1].iter_mut().map(|row| &mut row[cols.0..cols.1]).collect();
    Tiles { top, left, planes: tile.planes.iter_mut().map(of_plane).collect() }
}

/// What tiles are cut by.
struct Division<'a, E> {
    task: &'a Task<'a, u16>,
    engine: &'a E,
    /// Rows and columns that a window reaches on each side.
    radius: (usize, usize),
    observer: &'a dyn Observer,
}

impl<E> Division<'_, E> {
    fn compute<T: Real>(&self, mut tile: Tiles<'_, T>, memory: &mut Memory<E::Scratch>) -> Result<(), Cancelled>
    where
        E: TileEngine<T>,
    {
        if self.observer.cancelled() {
            return Err(Cancelled);
        }
        let (height, width) = (tile.height(), tile.width());
        let along = |first: usize, len: usize, radius: usize, all: usize| {
            first.saturating_sub(radius)..all.min(first + len + radius)
        };
        let rows = along(tile.top, height, self.radius.0, self.task.cells.rows());
        let cols = along(tile.left, width, self.radius.1, self.task.cells.cols());
        let (top, left) = (tile.top - rows.start, tile.left - cols.start);
        let cells = self.task.cells.rect(rows, cols);
        let found = memory.numbering.find(cells, self.task.nodata);
        let bytes = found.codes() <= 256;
        // Below these a tile sees more around it than of its own; and rows share the first window of a column.
        let least = (LEAST.max(2 * self.radius.0), LEAST.max(self.radius.1));
        if !bytes && (height > least.0 || width > least.1) {
            let (by_rows, by_cols) = (height as f64 / least.0 as f64, width as f64 / least.1 as f64);
            let halves = if by_rows >= by_cols {
                let middle = height / 2;
                [((0, middle), (0, width)), ((middle, height), (0, width))]
            } else {
                let middle = width / 2;
                [((0, height), (0, middle)), ((0, height), (middle, width))]
            };
            return halves.into_iter().try_for_each(|(rows, cols)| self.compute(part(&mut tile, rows, cols), memory));
        }
        let task = Task {
            rows: top..top + height,
            cols: left..left + width,
            levels: found.classes.max(1),
            nodata: None,
            ..self.task.clone()
        };
        (tile.top, tile.left) = (top, left);
        if bytes && self.engine.takes_bytes() {
            let nodata = found.nodata.map(|code| code as u8);
            let cells = memory.numbering.bytes(cells);
            self.engine.bytes(&Task { nodata, ..task.of(cells) }, &mut tile, &mut memory.bytes, self.observer)
        } else {
            let cells = memory.numbering.words(cells);
            let task = Task { cells, nodata: found.nodata, ..task };
            self.engine.words(&task, &mut tile, &mut memory.counts, self.observer)
        }
    }
}
