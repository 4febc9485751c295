//! Every instruction set and type of distance against the definition, and the calls of observers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::*;
use crate::apsp::reference;

/// A few edges from every vertex, of weights below 100.
fn weight(i: usize, j: usize) -> Option<u16> {
    let hash = (i * 7919 + j * 104_729 + 13) as u64;
    let hash = (hash ^ (hash >> 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> 40).is_multiple_of(17).then_some((hash >> 20) as u16 % 100)
}

fn weights<T: Distance>(vertices: usize, of: impl Fn(u16) -> T) -> Matrix<T> {
    let cell = |i, j| if i == j { T::ZERO } else { weight(i, j).map_or(T::UNREACHABLE, &of) };
    Matrix::from_fn(vertices, cell).unwrap()
}

fn check<T: Distance>(of: impl Fn(u16) -> T) {
    for vertices in [1, 5, 63, 64, 65, 130, 321] {
        let expected = reference::distances(vertices, |i, j| weight(i, j).map_or(f64::INFINITY, f64::from));
        for isa in Isa::available() {
            for depth in [SIDE, DEPTH] {
                let mut matrix = weights(vertices, &of);
                solve_with(&mut matrix, isa, depth, &()).unwrap();
                let difference = reference::first_difference(&matrix, &expected, 0.0);
                assert_eq!(difference, None, "{vertices} vertices, {isa:?}, {depth} at a time");
            }
        }
    }
}

#[test]
fn every_instruction_set_says_what_the_definition_says() {
    check(i32::from);
    check(|weight| weight);
    check(f32::from);
}

/// Sums of these are rounded differently in each order: there is one right order.
#[test]
fn fractions_are_the_same_bits_in_every_instruction_set_and_for_any_number_of_threads() {
    let fraction = |weight: u16| (f32::from(weight) + 0.1) / 3.0;
    let solved = |isa, threads| {
        let mut matrix = weights(300, fraction);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| solve_with(&mut matrix, isa, DEPTH, &())).unwrap();
        matrix
    };
    let first = solved(Isa::best(), 1);
    for isa in Isa::available() {
        for threads in [1, 3] {
            assert!(solved(isa, threads) == first, "{isa:?}, {threads} threads");
        }
    }
}

/// Nothing is nearer than the unreachable through the unreachable, with as many bits as that takes.
#[test]
fn padding_stays_unreachable() {
    let mut matrix = weights(70, |weight| weight);
    solve(&mut matrix, &()).unwrap();
    let pitch = matrix.pitch();
    for (at, &cell) in matrix.cells().iter().enumerate() {
        let (i, j) = (at / pitch, at % pitch);
        if i >= 70 || j >= 70 {
            assert_eq!(cell, if i == j { 0 } else { u16::UNREACHABLE }, "{i}, {j}");
        }
    }
}

/// Counts vertices, and stops once there are so many.
struct Until(AtomicU64, u64);

impl Observer for Until {
    fn advance(&self, vertices: u64) {
        self.0.fetch_add(vertices, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.0.load(Relaxed) >= self.1
    }
}

#[test]
fn observers_hear_of_every_vertex_and_can_stop_the_work() {
    let all = Until(AtomicU64::new(0), u64::MAX);
    solve(&mut weights(150, i32::from), &all).unwrap();
    assert_eq!(all.0.into_inner(), 150);
    for stop in [0, 1, 70] {
        let some = Until(AtomicU64::new(0), stop);
        assert_eq!(solve(&mut weights(150, i32::from), &some), Err(Cancelled));
        let heard = some.0.into_inner();
        // Passes are of 64.
        assert!((stop..stop + SIDE as u64).contains(&heard), "{heard} of {stop}");
    }
}
