//! The compute ceiling of the machine: relaxations of distances that stay in registers, on all threads at once.
//!
//! A sum and a minimum a lane and step, as in the product of tiles, each depending on the step before; enough independent vectors
//! hide that latency.

use std::hint::black_box;
use std::time::Instant;

#[cfg(target_arch = "x86_64")]
use super::vector::Vector;
use crate::apsp::Distance;
use crate::isa::Isa;
#[cfg(target_arch = "x86_64")]
use crate::isa::Kind;

/// Steps of a run: some milliseconds. Tests look at everything but the rate.
const STEPS: usize = if cfg!(test) { 1 << 14 } else { 1 << 19 };
/// A ceiling is what can be reached: the best of several.
const RUNS: usize = 10;

/// Relaxations in a second, in the best instruction set, by all threads of the current rayon pool.
pub fn measure<T: Distance>() -> f64 {
    let mut best = 0.0f64;
    for _ in 0..RUNS {
        let start = Instant::now();
        let done: usize = rayon::broadcast(|_| spin::<T>(STEPS, Isa::best())).into_iter().sum();
        best = best.max(done as f64 / start.elapsed().as_secs_f64());
    }
    best
}

/// Runs so many steps, and returns how many relaxations those were.
fn spin<T: Distance>(steps: usize, isa: Isa) -> usize {
    let (on, limit) = black_box((T::ZERO.replicate(), T::UNREACHABLE.replicate()));
    match isa.kind() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` is one that the machine has.
        Kind::Avx512 => unsafe { spin_avx512::<T::Avx512>(steps, on, limit) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` is one that the machine has.
        Kind::Avx2 => unsafe { spin_avx2::<T::Avx2>(steps, on, limit) },
        _ => spin_portable(steps, T::first_lane(on), T::first_lane(limit)),
    }
}

fn spin_portable<T: Distance>(steps: usize, on: T, limit: T) -> usize {
    // Not in named registers: in the compiler's vectors, or the first-level cache.
    let mut cells = black_box([limit; 64]);
    for _ in 0..steps {
        for cell in &mut cells {
            *cell = limit.nearer(cell.plus(on));
        }
    }
    black_box(cells);
    steps * cells.len()
}

/// # Safety
/// The machine has the instructions of `V`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn spin_vectors<V: Vector>(steps: usize, on: u32, limit: u32) -> usize {
    // All that 16 registers have room for.
    const ROWS: usize = 12;
    // SAFETY: as the caller says.
    unsafe {
        let mut rows: [V; ROWS] = std::array::from_fn(|row| V::splat(row as u32));
        let (on, limit) = (V::splat(on), V::splat(limit));
        for _ in 0..steps {
            for row in &mut rows {
                *row = limit.nearer(row.plus(on));
            }
        }
        black_box(&rows);
    }
    steps * ROWS * V::LANES
}

/// # Safety
/// The machine has these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn spin_avx2<V: Vector>(steps: usize, on: u32, limit: u32) -> usize {
    // SAFETY: passed on.
    unsafe { spin_vectors::<V>(steps, on, limit) }
}

/// # Safety
/// The machine has these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn spin_avx512<V: Vector>(steps: usize, on: u32, limit: u32) -> usize {
    // SAFETY: passed on.
    unsafe { spin_vectors::<V>(steps, on, limit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_best_of_all_runs_on_all_threads() {
        fn check<T: Distance>() {
            let start = Instant::now();
            let rate = measure::<T>();
            let seconds = start.elapsed().as_secs_f64();
            // The best is no slower than all of them together.
            let done = RUNS * rayon::current_num_threads() * spin::<T>(STEPS, Isa::best());
            let together = done as f64 / seconds;
            assert!(rate.is_finite() && rate >= together, "{rate}, and {together} together");
        }
        check::<i32>();
        check::<u16>();
        check::<f32>();
    }

    #[test]
    fn every_instruction_set_goes_all_its_steps() {
        for isa in Isa::available() {
            let lanes = spin::<i32>(16, isa) / 16;
            assert!(lanes >= 64 && spin::<u16>(16, isa) >= spin::<i32>(16, isa), "{isa:?}: {lanes}");
        }
    }
}
