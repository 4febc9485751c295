//! The rungs that are functions on the CPU: the steps v10 to v13 of the first report, b10 of the second.
//!
//! | rung | what it changes | measured there, 10240² (b10: 4096²) |
//! |---|---|---|
//! | [`v10`] | parallel over the cells, `i32` counters, a logarithm a count | 1887.6 ms |
//! | [`v11`] | the logarithms from a table | 316.3 ms |
//! | [`v12`] | `i8` counters, f32 table, f64 sums | 258.6 ms |
//! | [`v13`] | counts from prefix sums | 1148.4 ms |
//! | [`b10`] | the second report's last kernel, on the CPU | 493.8 ms |
//!
//! All of them say H = (F(N) − Σ F(n)) / N with F(n) = n·ln n, N = the cells of the window, n = those of a level. The sources
//! write ln N − (Σ F(n)) / N; ours divides once, at the end, so that F(N) − F(N) of a window of one level is exactly 0.
//! Windows are clipped: N is counted from the cells that are there (the published program takes the last row and column for
//! the first but one, and divides by a wrong N there).
//!
//! Tiles are handed out to the threads of the current rayon pool by [`Part::for_each_tile`], as in the CPU engine.

use std::ops::Range;

use super::{LEVELS, Rung, SIZE};
use crate::entropy::ladder::How;
use halotile::entropy::Error;
use halotile::grid::GridView;
use halotile::observe::{Cancelled, Observer};
use halotile::part::{Part, Tile};

mod b10;
mod v10;
mod v11;
mod v12;
mod v13;

pub(super) use v12::run as v12;

/// A rung that is a function on the CPU.
#[derive(Debug)]
pub(in crate::entropy::ladder) struct CpuRung(fn(&Task<'_>, Part<'_, f32>) -> Result<(), Error>);

impl CpuRung {
    /// Fills a part of the output.
    pub fn run(&self, task: &Task<'_>, part: Part<'_, f32>) -> Result<(), Error> {
        self.0(task, part)
    }
}

pub(super) static RUNGS: &[Rung] = &[
    Rung {
        name: "v10",
        before: Some("v0"),
        idea: "on the CPU, all cores, a logarithm for every count",
        how: How::Cpu(CpuRung(v10::run)),
    },
    Rung { name: "v11", before: Some("v10"), idea: "the 26 logarithms from a table", how: How::Cpu(CpuRung(v11::run)) },
    Rung {
        name: "v12",
        before: Some("v11"),
        idea: "counters of one byte, the table in f32, sums in f64",
        how: How::Cpu(CpuRung(v12::run)),
    },
    Rung {
        name: "v13",
        before: Some("v12"),
        idea: "window counts from 16 two-dimensional prefix sums",
        how: How::Cpu(CpuRung(v13::run)),
    },
    Rung {
        name: "b10",
        before: Some("b8"),
        idea: "on the CPU, cells and counters of 16 bits, everything else f32",
        how: How::Cpu(CpuRung(b10::run)),
    },
];

/// What a rung works on: every cell is below [`LEVELS`].
pub(in crate::entropy::ladder) struct Task<'a> {
    pub cells: GridView<'a, u8>,
    /// What the entropy in nats is multiplied by.
    pub scale: f64,
    pub observer: &'a dyn Observer,
}

/// Cells of the largest window, and one more: the length of a table of ln n.
const ENTRIES: usize = SIZE * SIZE + 1;

/// The window of a cell, clipped to the grid.
struct Window<'a, C> {
    rows: &'a [&'a [C]],
    cols: Range<usize>,
}

impl<'a, C> Window<'a, C> {
    /// The cells of each row.
    fn rows(&self) -> impl Iterator<Item = &'a [C]> {
        self.rows.iter().map(|row| &row[self.cols.clone()])
    }

    /// How many cells there are.
    fn total(&self) -> usize {
        self.rows.len() * self.cols.len()
    }
}

/// Up to two before and two behind `at` of `len`.
fn around(at: usize, len: usize) -> Range<usize> {
    at.saturating_sub(SIZE / 2)..len.min(at + SIZE / 2 + 1)
}

/// Fills a part with what `entropy` makes of every cell's window, tile by tile on all threads.
fn each_window<C: Sync>(
    cells: GridView<'_, C>,
    part: Part<'_, f32>,
    observer: &dyn Observer,
    entropy: impl Fn(&Window<'_, C>) -> f32 + Sync + Send,
) -> Result<(), Cancelled> {
    part.for_each_tile(SIZE, observer, || (), |(), tile| each_window_of(cells, tile, &entropy))
}

fn each_window_of<C>(cells: GridView<'_, C>, tile: &mut Tile<'_, f32>, entropy: impl Fn(&Window<'_, C>) -> f32) {
    let mut rows: Vec<&[C]> = Vec::with_capacity(SIZE);
    for (y, out) in (tile.top..).zip(&mut tile.rows) {
        rows.clear();
        rows.extend(around(y, cells.rows()).map(|y| cells.row(y)));
        for (x, out) in (tile.left..).zip(&mut **out) {
            *out = entropy(&Window { rows: &rows, cols: around(x, cells.cols()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use halotile::entropy::Entropy;
    use halotile::grid::Grid;

    fn run(name: &str, cells: &Grid<u8>) -> Grid<f32> {
        let rung = crate::entropy::kernel(name).expect("it is a rung");
        Entropy::new().kernel(rung).compute(cells.view()).unwrap()
    }

    /// In v12 nothing is rounded before the division: a table entry is a multiple of 2⁻²⁴, and so are all products and sums,
    /// which are below 2⁷. So it does not matter where the counts come from, or in what order they are added.
    #[test]
    fn counts_by_prefix_sums_give_the_same_bits() {
        for (rows, cols) in [(1, 1), (2, 700), (70, 3), (90, 600)] {
            let cells = Grid::from_fn(rows, cols, |r, c| ((r * r + 7 * c * c + r * c) % 16) as u8).unwrap();
            assert!(run("v12", &cells) == run("v13", &cells), "{rows} x {cols}");
        }
    }

    #[test]
    fn a_table_in_f64_changes_no_bit_of_f32_results() {
        let cells = Grid::from_fn(60, 70, |r, c| ((r * r + 7 * c * c + r * c) % 16) as u8).unwrap();
        assert!(run("v10", &cells) == run("v11", &cells));
    }
}
