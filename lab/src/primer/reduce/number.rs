//! The types of numbers that are reduced.

use std::fmt::{Debug, Display};

use simt::scalar::Scalar;

use super::Operation;
use crate::primer::{Elements, random};

/// A type of numbers that there are kernels for: i32, f32, f64.
pub trait Number: Scalar + bytemuck::Pod + PartialOrd + Debug + Display {
    /// The type.
    const ELEMENTS: Elements;
    /// What an addition rounds by, as a share of its result at most; 0 for integers.
    const ROUNDING: f64;
    /// The join of two numbers: what a device is to do, on the host.
    fn join(operation: Operation, a: Self, b: Self) -> Self;
    /// What joins with any number to that number.
    fn identity(operation: Operation) -> Self;
    /// The same number in f64, exactly.
    fn real(self) -> f64;
    /// A number for this place: any i32; f32 and f64 from -1 to 1, 1 left out, in steps of 2^-23 and 2^-52.
    fn random(seed: u64, at: usize) -> Self;
}

macro_rules! numbers {
    ($($t:ident $elements:ident $rounding:expr, $zero:expr, $add:path, [$least:expr, $largest:expr], $random:expr;)*) => {$(
        impl Number for $t {
            const ELEMENTS: Elements = Elements::$elements;
            const ROUNDING: f64 = $rounding;
            fn join(operation: Operation, a: Self, b: Self) -> Self {
                match operation {
                    Operation::Sum => $add(a, b),
                    Operation::Min => a.min(b),
                    Operation::Max => a.max(b),
                }
            }
            fn identity(operation: Operation) -> Self {
                match operation {
                    Operation::Sum => $zero,
                    Operation::Min => $largest,
                    Operation::Max => $least,
                }
            }
            fn real(self) -> f64 {
                f64::from(self)
            }
            fn random(seed: u64, at: usize) -> Self {
                $random(random(seed, at).cast_signed())
            }
        }
    )*};
}
numbers! {
    i32 I32 0.0, 0, i32::wrapping_add, [i32::MIN, i32::MAX], |word: i64| (word >> 32) as i32;
    f32 F32 f32::EPSILON as f64 / 2.0, 0.0, std::ops::Add::add, [f32::NEG_INFINITY, f32::INFINITY],
        |word: i64| (word >> 40) as f32 / (1 << 23) as f32;
    f64 F64 f64::EPSILON / 2.0, 0.0, std::ops::Add::add, [f64::NEG_INFINITY, f64::INFINITY],
        |word: i64| (word >> 11) as f64 / (1u64 << 52) as f64;
}
