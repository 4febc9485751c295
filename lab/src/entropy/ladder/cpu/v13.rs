//! v13: v12 with the counts from two-dimensional prefix sums, one for each of the 16 levels.
//!
//! ```text
//! S(y, x) = cells of the level above row y and left of column x
//! count in rows a..a+5, columns b..b+5 = S(a+5, b+5) − S(a+5, b) − S(a, b+5) + S(a, b)
//! ```
//!
//! A count is four reads whatever the window's size: 64 reads a cell for 16 levels, where counting reads 25, and they are of
//! four bytes each, besides the 16 sums a cell to be written first. The source saw a quarter of v12's pace at 5 × 5, and a
//! gain with larger windows or fewer levels, which this ladder does not have. Expect less of a loss here, because of the
//! second of these:
//!
//! Two things differ from the source, which fills 16 planes of the whole grid. The sums are made piece by piece, with the
//! halos of a piece, in memory that a core's own cache holds: 64 bytes a cell would be 6.7 GB of a grid of 10240². And the 16
//! sums of a corner lie side by side, one line of the cache, so that a window touches 4 lines and not 64, and 16 counts
//! are three vector operations.

use super::{LEVELS, Part, SIZE, Task, Tile, around, v12};
use halotile::entropy::Error;

/// Rows of a piece. With 512 columns and the halos its sums are 1.2 MB.
const ROWS: usize = 32;

/// The sums of all levels at a corner of four cells.
type Sums = [u32; LEVELS];

pub(super) fn run(task: &Task<'_>, part: Part<'_, f32>) -> Result<(), Error> {
    let table = v12::table();
    Ok(part.for_each_tile(SIZE, task.observer, Vec::new, |sums, tile| {
        let (mut top, left) = (tile.top, tile.left);
        for rows in tile.rows.chunks_mut(ROWS) {
            let height = rows.len();
            let rows = rows.iter_mut().map(|row| &mut **row).collect();
            fill(task, &mut Tile { top, left, rows }, sums, |counts, total| {
                (v12::entropy(counts, total, &table) * task.scale) as f32
            });
            top += height;
        }
    })?)
}

fn fill(task: &Task<'_>, tile: &mut Tile<'_, f32>, sums: &mut Vec<Sums>, entropy: impl Fn([i8; LEVELS], usize) -> f32) {
    let (cells, halo) = (task.cells, SIZE / 2);
    let (top, left) = (tile.top.saturating_sub(halo), tile.left.saturating_sub(halo));
    let bottom = cells.rows().min(tile.top + tile.rows.len() + halo);
    let right = cells.cols().min(tile.left + tile.width() + halo);
    // A row and a column of zeros, then a row of sums for every row of cells.
    let stride = right - left + 1;
    sums.clear();
    sums.resize((bottom - top + 1) * stride, [0; LEVELS]);
    for y in top..bottom {
        let (above, below) = sums[(y - top) * stride..].split_at_mut(stride);
        let mut row = [0; LEVELS];
        for ((&value, above), below) in cells.row(y)[left..right].iter().zip(&above[1..]).zip(&mut below[1..]) {
            row[usize::from(value)] += 1;
            *below = std::array::from_fn(|level| above[level] + row[level]);
        }
    }
    for (y, out) in (tile.top..).zip(&mut tile.rows) {
        let rows = around(y, cells.rows());
        let (above, below) = (&sums[(rows.start - top) * stride..], &sums[(rows.end - top) * stride..]);
        for (x, out) in (tile.left..).zip(&mut **out) {
            let cols = around(x, cells.cols());
            let (a, b) = (cols.start - left, cols.end - left);
            let corners = (&below[b], &below[a], &above[b], &above[a]);
            let counts = std::array::from_fn(|level| {
                // Written so that nothing falls below 0 on the way.
                (corners.0[level] + corners.3[level] - corners.1[level] - corners.2[level]) as i8
            });
            *out = entropy(counts, rows.len() * cols.len());
        }
    }
}
