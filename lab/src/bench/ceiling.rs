//! The CPU's ceiling: a copy that reads a byte and writes four for each cell, as an entropy in f32 at least must.
//!
//! It runs on the current rayon pool, as the engines do. The best of several: a limit is what can be reached.

use std::hint::black_box;
use std::time::Instant;

use rayon::prelude::*;

use super::record::BYTES_PER_CELL;

/// Cells that are copied: with their results more than any cache holds.
const CELLS: usize = 1 << 26;
/// Cells that a thread copies at a time.
const TASK: usize = 1 << 18;
const RUNS: usize = 6;

/// Bytes read plus bytes written in a second.
pub fn cpu_copy() -> f64 {
    // Not zeros, which the system may keep in one page.
    let source = vec![1u8; CELLS];
    let mut target = vec![0f32; CELLS];
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
    (CELLS * BYTES_PER_CELL) as f64 / best
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_machine_copies_between_a_hundred_megabytes_and_a_hundred_terabytes_a_second() {
        let rate = super::cpu_copy();
        assert!((1e8..1e14).contains(&rate), "{rate}");
    }
}
