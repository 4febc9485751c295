//! The engine for tiles of more than 256 classes: a histogram of 16-bit codes that slides down the columns, for windows of any shape.
//!
//! ```text
//! for each column of the tile:
//!     count the window around its first cell
//!     for each row:
//!         results from the counts and sums
//!         take away the uppermost cell of each run of the window,
//!         add the cell below each run
//! ```
//!
//! It is [`measures`](crate::cpu::measures)' histogram with other counts and with whatever sums are asked for ([`SlidingSums`]): the 32-bit or 64-bit
//! Σ F(n) of [`histogram`](crate::cpu::histogram), or those that all measures are formulas of. Codes have been numbered, so as many counts
//! are in use as the tile has classes. The counts of a code in neighbouring columns' windows lie side by side: where the code is found in
//! one of them it is mostly found in the others too.

use crate::cpu::few::entropy_or_mark;
use crate::cpu::measures::finish::{Counted, Histogram, Logs, Precision, finish};
use crate::cpu::measures::tables::{self, Steps};
use crate::cpu::table::{Fixed, Tables, boxed};
use crate::cpu::{Summed, Task};
use crate::measure::window::{Reach, Window};
use crate::numbers::Real;
use crate::observe::{Cancelled, Observer};
use crate::part::Tiles;

/// Columns that slide together.
const LANES: usize = 4;

/// Steps between two looks at whether the work is to stop: some milliseconds.
const AT_ONCE: usize = 1 << 20;

/// How often each code is in the windows of neighbouring columns.
pub type Counts = [[u32; LANES]; 1 << 16];

/// Counts that are all 0, as they are between two tiles.
pub fn counts() -> Box<Counts> {
    boxed()
}

/// What is kept up to date with the counts, and what is made of it.
pub trait SlidingSums<T> {
    /// What is kept of one window.
    type Sums: Copy + Default;

    /// A class that occurred `n` times does so once more.
    fn enter(&self, sums: &mut Self::Sums, n: usize);

    /// A class that occurred `n` + 1 times does so once less.
    fn leave(&self, sums: &mut Self::Sums, n: usize);

    /// The results of neighbouring windows, of which some may have none.
    fn results<const L: usize>(&self, windows: &Windows<'_, Self::Sums, L>, out: impl FnMut(usize, [T; L]));
}

/// Neighbouring windows whose cells have been counted.
pub struct Windows<'a, S, const L: usize> {
    /// Their cells inside the grid, those without data among them.
    pub area: usize,
    pub sums: &'a [S; L],
    /// Cells without data; their count is taken out of `counts`, but not of `sums`.
    pub nodata: [usize; L],
    pub counts: &'a Counts,
    /// Which may have a result: the centre has data, or is to be filled, and no cell is missing that must be there.
    pub wanted: [bool; L],
}

/// Σ F(n) by the tables for squares.
pub struct Plain<'a, S: Fixed> {
    pub tables: &'a Tables<S>,
}

impl<T: Summed> SlidingSums<T> for Plain<'_, T::Sum> {
    type Sums = T::Sum;

    #[inline(always)]
    fn enter(&self, sum: &mut T::Sum, n: usize) {
        *sum = sum.plus(self.tables.step[n]);
    }

    #[inline(always)]
    fn leave(&self, sum: &mut T::Sum, n: usize) {
        *sum = sum.minus(self.tables.step[n]);
    }

    #[inline(always)]
    fn results<const L: usize>(&self, windows: &Windows<'_, T::Sum, L>, mut out: impl FnMut(usize, [T; L])) {
        let entropy = |j: usize| {
            let n = windows.area - windows.nodata[j];
            let sum = windows.sums[j].minus(self.tables.f[windows.nodata[j]]);
            entropy_or_mark(self.tables, n, sum)
        };
        out(0, std::array::from_fn(|j| if windows.wanted[j] { entropy(j) } else { T::NAN }));
    }
}

/// What all measures are formulas of. `C` is as wide as the counts of the window's cells ([`is_wide`](crate::cpu::count::is_wide)), which
/// decides where the steps of F are looked up; the counts themselves have 32 bits here.
pub struct Measured<'a, C: Steps> {
    tables: &'a tables::Tables,
    steps: C::Table<'a>,
    window: &'a Window,
    levels: usize,
}

impl<'a, C: Steps> Measured<'a, C> {
    /// For a window in maps of so many levels.
    pub fn new(tables: &'a tables::Tables, window: &'a Window, levels: usize) -> Self {
        Self { tables, steps: C::table(tables), window, levels }
    }

    /// F(n + 1) − F(n); 0 where nothing is made of it, as there is no table for large windows then.
    #[inline(always)]
    fn step(&self, n: usize) -> u64 {
        if self.window.needs.logs { C::step(self.steps, C::of(n as u32)) } else { 0 }
    }
}

/// Σ F(n), Σ n² and how many n are not 0.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sums {
    logs: u64,
    squares: u64,
    classes: u32,
}

impl<T: Real, C: Steps> SlidingSums<T> for Measured<'_, C> {
    type Sums = Sums;

    #[inline(always)]
    fn enter(&self, sums: &mut Sums, n: usize) {
        sums.logs = sums.logs.wrapping_add(self.step(n));
        sums.squares += 2 * n as u64 + 1;
        sums.classes += u32::from(n == 0);
    }

    #[inline(always)]
    fn leave(&self, sums: &mut Sums, n: usize) {
        sums.logs = sums.logs.wrapping_sub(self.step(n));
        sums.squares -= 2 * n as u64 + 1;
        sums.classes -= u32::from(n == 0);
    }

    /// Not inlined: formulas are many, and the loops over cells want the registers.
    #[inline(never)]
    fn results<const L: usize>(&self, windows: &Windows<'_, Sums, L>, mut out: impl FnMut(usize, [T; L])) {
        let Windows { area, sums, nodata, counts, wanted } = *windows;
        let total: [u32; L] = nodata.map(|n| (area - n) as u32);
        let columns: [Column<'_>; L] = std::array::from_fn(|lane| Column { counts, lane });
        let full = |n: usize| self.tables.entry(n);
        let counted = Counted {
            total: &total,
            logs: Logs::Double(&std::array::from_fn::<_, L, _>(|j| sums[j].logs.wrapping_sub(full(nodata[j])))),
            squares: &std::array::from_fn::<_, L, _>(|j| sums[j].squares - (nodata[j] as u64).pow(2)),
            classes: &std::array::from_fn::<_, L, _>(|j| sums[j].classes - u32::from(nodata[j] > 0)),
            most: &std::array::from_fn::<_, L, _>(|j| {
                if self.window.needs.most { columns[j].most(self.levels) as u32 } else { 0 }
            }),
        };
        let there: [bool; L] = std::array::from_fn(|j| wanted[j] && total[j] >= self.window.least);
        for (i, plane) in self.window.planes.iter().enumerate() {
            let mut values = [0.0; L];
            let (window, tables, levels) = (self.window, self.tables, self.levels);
            finish::<_, L>(plane, window, tables, &counted, &columns, levels, &mut values, Precision::of::<T>());
            out(i, std::array::from_fn(|j| if there[j] { T::from_f64(values[j]) } else { T::NAN }));
        }
    }
}

/// The counts of one window.
struct Column<'a> {
    counts: &'a Counts,
    lane: usize,
}

impl Histogram for Column<'_> {
    /// One after the other, so that classes which do not occur in a window, as others do in each tile, change nothing.
    fn sum(&self, levels: usize, f: impl Fn(usize) -> f64) -> f64 {
        let counts = self.counts[..levels].iter().map(|counts| counts[self.lane] as usize);
        counts.filter(|&n| n > 0).fold(0.0, |sum, n| sum + f(n))
    }

    fn most(&self, levels: usize) -> usize {
        self.counts[..levels].iter().fold(0, |most, counts| most.max(counts[self.lane])) as usize
    }
}

/// Computes a tile of a task whose codes are dense, unless the work is to stop.
pub fn run<T: Real, K: SlidingSums<T>>(
    measure: &K,
    task: &Task<'_, u16>,
    window: &Window,
    tile: &mut Tiles<'_, T>,
    counts: &mut Counts,
    observer: &dyn Observer,
) -> Result<(), Cancelled> {
    let Reach { left, right, .. } = window.reach;
    let (end, cols) = (tile.left + tile.width(), task.cells.cols());
    let mut x = tile.left;
    while x < end {
        let unclipped = x as isize + left >= 0 && (x + LANES - 1) as isize + right < cols as isize;
        let lanes = if unclipped && x + LANES <= end { LANES } else { 1 };
        let slide = if lanes == LANES { slide::<T, K, LANES> } else { slide::<T, K, 1> };
        slide(measure, task, window, tile, x, counts, observer)?;
        x += lanes;
    }
    Ok(())
}

/// Slides the windows of `L` columns from `x`. With more than one, none of them may be clipped at the left or the right.
fn slide<T: Real, K: SlidingSums<T>, const L: usize>(
    measure: &K,
    task: &Task<'_, u16>,
    window: &Window,
    tile: &mut Tiles<'_, T>,
    x: usize,
    counts: &mut Counts,
    observer: &dyn Observer,
) -> Result<(), Cancelled> {
    let (cells, Reach { top, bottom, left, right }) = (task.cells, window.reach);
    let inside = |from: isize, to: isize, len: usize| from >= 0 && to < len as isize;
    let all_columns = inside(x as isize + left, (x + L - 1) as isize + right, cells.cols());
    let moved: usize = window.entering.iter().chain(&window.leaving).map(|stretch| stretch.len).sum();
    let rows_at_once = (AT_ONCE / (LANES * (moved + window.planes.len() * task.levels))).max(1);
    counts[..(task.levels + 1).min(1 << 16)].fill([0; LANES]);
    let (mut sums, mut area) = ([K::Sums::default(); L], 0);
    for stretch in &window.cells {
        let codes = stretch.clipped::<_, L>(cells, tile.top, x);
        area += change::<L>(codes, |j, code| {
            let count = &mut counts[usize::from(code)][j];
            measure.enter(&mut sums[j], *count as usize);
            *count += 1;
        });
    }
    for i in 0..tile.height() {
        if i % rows_at_once == 0 && observer.cancelled() {
            return Err(Cancelled);
        }
        let y = tile.top + i;
        let all = all_columns && inside(y as isize + top, y as isize + bottom, cells.rows());
        // No data is counted like a class; here it is taken out, and afterwards put back.
        let nodata_counts = task.nodata.map(|code| std::mem::take(&mut counts[usize::from(code)]));
        let centres = &cells.row(y)[x..][..L];
        let windows = Windows {
            area,
            sums: &sums,
            nodata: std::array::from_fn(|j| nodata_counts.map_or(0, |nodata_counts| nodata_counts[j] as usize)),
            counts,
            wanted: std::array::from_fn(|j| {
                (all || !window.complete) && (window.fill || Some(centres[j]) != task.nodata)
            }),
        };
        let at = x - tile.left;
        measure.results::<L>(&windows, |plane, results| tile.planes[plane][i][at..][..L].copy_from_slice(&results));
        if let (Some(code), Some(nodata_counts)) = (task.nodata, nodata_counts) {
            counts[usize::from(code)] = nodata_counts;
        }
        if i + 1 == tile.height() {
            break;
        }
        for stretch in &window.leaving {
            area -= change::<L>(stretch.clipped::<_, L>(cells, y, x), |j, code| {
                let count = &mut counts[usize::from(code)][j];
                *count -= 1;
                measure.leave(&mut sums[j], *count as usize);
            });
        }
        for stretch in &window.entering {
            area += change::<L>(stretch.clipped::<_, L>(cells, y + 1, x), |j, code| {
                let count = &mut counts[usize::from(code)][j];
                measure.enter(&mut sums[j], *count as usize);
                *count += 1;
            });
        }
    }
    Ok(())
}

/// Shows `one` every code of a stretch in each of `L` windows; how many each has.
#[inline(always)]
fn change<const L: usize>(codes: &[u16], mut one: impl FnMut(usize, u16)) -> usize {
    for codes in codes.windows(L) {
        for (j, &code) in codes.iter().enumerate() {
            one(j, code);
        }
    }
    (codes.len() + 1).saturating_sub(L)
}
