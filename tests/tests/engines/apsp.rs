//! Every engine for shortest paths over the table of graphs.

use halotile::apsp::{Distance, Matrix, cpu};
use halotile::observe::{Cancelled, Observer};
use halotile_tests::apsp::{Case, SIZES, random, shapes};

type Engine<T> = fn(&mut Matrix<T>, &dyn Observer) -> Result<(), Cancelled>;

/// Runs an engine over cases, with so many threads.
fn run<T: Distance>(engine: Engine<T>, threads: usize, of: fn(i32) -> T, cases: impl IntoIterator<Item = Case>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    for case in cases {
        let mut matrix = case.weights(of);
        pool.install(|| engine(&mut matrix, &())).expect("nothing cancels");
        case.compare(&matrix, 0.0).unwrap_or_else(|wrong| panic!("{threads} threads, {wrong}"));
    }
}

/// All of the table that is small: sizes around those of tiles.
fn small() -> impl Iterator<Item = Case> {
    SIZES.into_iter().flat_map(|vertices| random(vertices).into_iter().chain(shapes(vertices)))
}

/// A vertex more than eight of the CPU engine's deep panels. `cargo xtask graph-test` has the program solve all shapes of twice as many.
const LARGE: usize = 2049;

#[test]
fn the_cpu_engine() {
    for threads in [1, 3] {
        run(cpu::solve, threads, |weight| weight, small());
    }
    run(cpu::solve, 2, |weight| weight, shapes(1000).into_iter().chain(shapes(LARGE)));
}

/// All weights of these fit in 16 bits; distances do as well.
fn of_16_bits() -> impl Iterator<Item = Case> {
    small().filter(|case| !case.name.starts_with("complete, heavy"))
}

#[test]
fn the_cpu_engine_in_other_numbers() {
    run(
        cpu::solve,
        3,
        |weight| weight as u16,
        of_16_bits().chain(shapes(1000)).chain(shapes(LARGE).into_iter().take(1)),
    );
    run(cpu::solve, 3, |weight| weight as f32, of_16_bits().chain(shapes(1000)));
}

#[test]
fn plain_threads() {
    for threads in [1, 3] {
        run(halotile_lab::apsp::threads, threads, |weight| weight, small());
    }
    run(halotile_lab::apsp::threads, 2, |weight| weight, shapes(1000));
    run(halotile_lab::apsp::threads, 3, |weight| weight as u16, of_16_bits());
    run(halotile_lab::apsp::threads, 3, |weight| weight as f32, of_16_bits());
}
