//! b10: the second report's last step on the CPU.
//!
//! The source says of it no more than "CPU, 12 threads". So this is b8, its last change to the arithmetic, on all threads:
//! cells of 16 bits (converted once, before the first window), counters of 16 bits, table and everything else in f32.
//! Beside v12 the cells are twice the bytes and the counters two registers instead of one, while the sums need no widening to
//! f64: expect about v12's pace, less on grids that exceed the cache. f32 rounds the sum of up to 16 terms at each step:
//! expect differences from the definition of some 1e-6.

use rayon::prelude::*;

use super::{ENTRIES, LEVELS, Part, Task, Window, each_window, v12};
use halotile::entropy::Error;
use halotile::grid::Grid;

pub(super) fn run(task: &Task<'_>, part: Part<'_, f32>) -> Result<(), Error> {
    let cells = task.cells;
    let mut wide = Grid::<i16>::zeros(cells.rows(), cells.cols())?;
    wide.as_mut_slice().par_chunks_mut(cells.cols()).enumerate().for_each(|(r, row)| {
        for (wide, &value) in row.iter_mut().zip(cells.row(r)) {
            *wide = i16::from(value);
        }
    });
    let (table, scale) = (v12::table(), task.scale as f32);
    Ok(each_window(wide.view(), part, task.observer, |window| entropy(window, &table) * scale)?)
}

#[inline]
fn entropy(window: &Window<'_, i16>, table: &[f32; ENTRIES]) -> f32 {
    let mut counts = [0i16; LEVELS];
    for row in window.rows() {
        for &value in row {
            counts[value as usize] += 1;
        }
    }
    let mut sum = 0.0;
    for n in counts {
        sum += f32::from(n) * table[n as usize];
    }
    let total = window.total();
    (total as f32 * table[total] - sum) / total as f32
}
