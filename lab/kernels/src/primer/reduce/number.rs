//! The types of numbers, and the operations on them.

use simt::global::In;
use simt::scalar::{Scalar, Shuffle};

/// An operation that combines two numbers into one, in any order.
pub trait Operation<T> {
    /// The identity: for a sum of floating-point numbers that is -0, since -0 + 0 is 0.
    const IDENTITY: T;
    /// The combination of two numbers.
    fn combine(a: T, b: T) -> T;
}

/// The sum. Integers wrap around.
pub struct Sum;
/// The least number. NaN is passed over.
pub struct Min;
/// The largest number. NaN is passed over.
pub struct Max;

macro_rules! operations {
    ($($number:ident: $zero:expr, $add:expr, $least:expr, $largest:expr;)*) => {$(
        impl Operation<$number> for Sum {
            const IDENTITY: $number = $zero;
            #[inline(always)]
            fn combine(a: $number, b: $number) -> $number {
                $add(a, b)
            }
        }
        impl Operation<$number> for Min {
            const IDENTITY: $number = $largest;
            #[inline(always)]
            fn combine(a: $number, b: $number) -> $number {
                a.min(b)
            }
        }
        impl Operation<$number> for Max {
            const IDENTITY: $number = $least;
            #[inline(always)]
            fn combine(a: $number, b: $number) -> $number {
                a.max(b)
            }
        }
    )*};
}
operations! {
    i32: 0, i32::wrapping_add, i32::MIN, i32::MAX;
    f32: -0.0, core::ops::Add::add, f32::NEG_INFINITY, f32::INFINITY;
    f64: -0.0, core::ops::Add::add, f64::NEG_INFINITY, f64::INFINITY;
}

/// A type of numbers: how 16 bytes of them are loaded at once.
pub trait Number: Scalar + Shuffle {
    /// Numbers in 16 bytes.
    const LANES: usize;
    /// That many.
    type Vector: Copy;
    /// Numbers `at..at + LANES` in one access; `at` is a multiple of [`LANES`](Self::LANES).
    fn load_vector(input: In<Self>, at: usize) -> Self::Vector;
    /// The combination of a vector's numbers.
    fn fold<O: Operation<Self>>(vector: Self::Vector) -> Self;
}

macro_rules! numbers_of_4_bytes {
    ($($number:ident)*) => {$(
        impl Number for $number {
            const LANES: usize = 4;
            type Vector = [Self; 4];
            #[inline(always)]
            fn load_vector(input: In<Self>, at: usize) -> [Self; 4] {
                input.load4(at)
            }
            #[inline(always)]
            fn fold<O: Operation<Self>>([a, b, c, d]: [Self; 4]) -> Self {
                O::combine(O::combine(a, b), O::combine(c, d))
            }
        }
    )*};
}
numbers_of_4_bytes!(i32 f32);

impl Number for f64 {
    const LANES: usize = 2;
    type Vector = [u32; 4];
    #[inline(always)]
    fn load_vector(input: In<Self>, at: usize) -> [u32; 4] {
        input.cast::<u32>().load4(2 * at)
    }
    #[inline(always)]
    fn fold<O: Operation<Self>>([a, b, c, d]: [u32; 4]) -> Self {
        O::combine(Self::from_words([a, b]), Self::from_words([c, d]))
    }
}
