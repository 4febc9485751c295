//! The CPU's ceiling: a copy that reads a byte and writes four for each cell, as an entropy in f32 at least must.
//!
//! It runs on the current rayon pool, as the engines do. The best of several: a limit is what can be reached.

use std::hint::black_box;
use std::time::Instant;

use rayon::prelude::*;

use super::entropy::BYTES_PER_CELL;

/// Cells that are copied: with their results more than any cache holds. Tests look at everything but the rate.
const CELLS: usize = if cfg!(test) { 1 << 20 } else { 1 << 26 };
/// Cells that a thread copies at a time.
const TASK: usize = 1 << 18;
const RUNS: usize = 6;

/// Bytes read plus bytes written in a second.
pub fn cpu_copy() -> f64 {
    copies(CELLS).0
}

/// The rate of copies of so many cells, and the last copy.
fn copies(cells: usize) -> (f64, Vec<f32>) {
    // Not zeros, which the system may keep in one page.
    let source = vec![1u8; cells];
    let mut target = vec![0f32; cells];
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        target.par_chunks_mut(TASK).zip(source.par_chunks(TASK)).for_each(|(target, source)| {
            for (to, &from) in target.iter_mut().zip(source) {
                *to = f32::from(from);
            }
        });
        best = best.min(start.elapsed().as_secs_f64());
        black_box(&mut target);
    }
    ((cells * BYTES_PER_CELL) as f64 / best, target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_copied_and_the_rate_is_the_best_of_all_runs() {
        let cells = 2 * TASK + 3;
        let start = Instant::now();
        let (rate, copy) = copies(cells);
        let seconds = start.elapsed().as_secs_f64();
        assert!(copy.len() == cells && copy.iter().all(|&cell| cell == 1.0));
        // The best is no slower than all of them together.
        let together = (RUNS * cells * 5) as f64 / seconds;
        assert!(rate.is_finite() && rate >= together, "{rate}, and {together} together");
    }
}
