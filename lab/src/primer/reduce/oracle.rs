//! What is right: all three results from one pass over the numbers on the CPU.
//!
//! Integers, and least and largest numbers, have to be equal. A sum of floating-point numbers is compared with a sum in f64 with compensation
//! (Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", 1974), which is as good as one in twice the
//! precision, rounded once; it has to be as close as its order allows in the worst case: see [`Reduction::additions`](super::Reduction::additions).

use rayon::prelude::*;

use super::{Number, Operation};
use crate::primer::Elements;

/// Numbers that are looked at in a row.
const PIECE: usize = 1 << 16;

/// A sum, and what it has lost to rounding.
#[derive(Debug, Clone, Copy, Default)]
struct Compensated {
    sum: f64,
    lost: f64,
}

impl Compensated {
    fn add(&mut self, x: f64) {
        let sum = self.sum + x;
        let (large, small) = if self.sum.abs() >= x.abs() { (self.sum, x) } else { (x, self.sum) };
        self.lost += large - sum + small;
        self.sum = sum;
    }

    fn value(self) -> f64 {
        self.sum + self.lost
    }
}

/// The right results for some numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Truth<T> {
    /// In the numbers' own arithmetic, one after the other: sum, least, largest.
    joined: [T; 3],
    sum: Compensated,
    magnitudes: Compensated,
}

impl<T: Number> Truth<T> {
    /// For numbers 0..`count`.
    pub fn of(count: usize, number: impl Fn(usize) -> T + Sync) -> Self {
        let piece = |piece: usize| {
            let mut truth = Self::none();
            for at in piece * PIECE..count.min((piece + 1) * PIECE) {
                let number = number(at);
                truth.join([number; 3]);
                truth.sum.add(number.real());
                truth.magnitudes.add(number.real().abs());
            }
            truth
        };
        let pieces: Vec<_> = (0..count.div_ceil(PIECE)).into_par_iter().map(piece).collect();
        pieces.into_iter().fold(Self::none(), |mut truth, piece| {
            truth.join(piece.joined);
            for (total, part) in [(&mut truth.sum, piece.sum), (&mut truth.magnitudes, piece.magnitudes)] {
                total.add(part.sum);
                total.add(part.lost);
            }
            truth
        })
    }

    fn none() -> Self {
        let joined = Operation::ALL.map(T::identity);
        Self { joined, sum: Compensated::default(), magnitudes: Compensated::default() }
    }

    fn join(&mut self, with: [T; 3]) {
        for (i, operation) in Operation::ALL.into_iter().enumerate() {
            self.joined[i] = T::join(operation, self.joined[i], with[i]);
        }
    }

    /// Says how close `got` is, or what is wrong with it, for a sum in which a number goes through `additions` of them.
    pub fn judge(&self, operation: Operation, got: T, additions: usize) -> Result<String, String> {
        let what = operation.name();
        if operation != Operation::Sum || T::ELEMENTS == Elements::I32 {
            let right = self.joined[operation as usize];
            return match got == right {
                true => Ok(format!("the {what}, exactly")),
                false => Err(format!("the {what} is {got}, not {right}")),
            };
        }
        let (right, magnitudes) = (self.sum.value(), self.magnitudes.value());
        let roundings = additions as f64 * T::ROUNDING;
        // The oracle's own last rounding too.
        let bound = roundings / (1.0 - roundings) * magnitudes + f64::EPSILON / 2.0 * right.abs();
        let error = (got.real() - right).abs();
        // NaN is no smaller than anything.
        match error <= bound {
            true => Ok(format!("the sum, off by {error:.1e}; {additions} additions allow {bound:.1e}")),
            false => Err(format!("the sum is {got}, not {right:e}, and {additions} additions allow {bound:.1e}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sum that plain additions lose all of.
    #[test]
    fn what_rounding_loses_is_kept() {
        let numbers = [1.0, 1e100, 1.0, -1e100];
        assert_eq!(Truth::of(4, |at| numbers[at]).sum.value(), 2.0);
        let truth = Truth::of(4 * PIECE, |at| numbers[at / PIECE]);
        assert_eq!((truth.sum.value(), truth.joined[2]), (2.0 * PIECE as f64, 1e100));
    }

    #[test]
    fn verdicts_name_both_numbers() {
        let truth = Truth::of(1000, |at| at as f32 - 499.5);
        assert_eq!(truth.judge(Operation::Max, 499.5, 10), Ok("the max, exactly".to_owned()));
        assert_eq!(truth.judge(Operation::Min, 499.5, 10), Err("the min is 499.5, not -499.5".to_owned()));
        // 250,000 x 10 x 2^-24 is 0.149.
        let verdict = truth.judge(Operation::Sum, 0.125, 10).unwrap();
        assert_eq!(verdict, "the sum, off by 1.2e-1; 10 additions allow 1.5e-1");
        let wrong = truth.judge(Operation::Sum, 0.25, 10).unwrap_err();
        assert_eq!(wrong, "the sum is 0.25, not 0e0, and 10 additions allow 1.5e-1");
        assert!(truth.judge(Operation::Sum, f32::NAN, 10).is_err());
        let integers = Truth::of(2, |_| i32::MAX);
        assert!(integers.judge(Operation::Sum, -2, 1).is_ok() && integers.judge(Operation::Sum, -1, 1).is_err());
    }
}
