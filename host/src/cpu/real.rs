//! The two precisions an output can have.

use super::lookup::Lookup;

/// The precision of an output: f32 or f64. Sealed: the engine knows no other.
///
/// f32 results are within 2e-6 of the definition's value (in nats; usually 2e-7), f64 results within
/// 1e-12.
pub trait Real: Sealed + bytemuck::Pod + Default + PartialEq + Send + Sync {}
impl Real for f32 {}
impl Real for f64 {}

/// What the engine needs to know of a precision.
pub trait Sealed: Sized {
    /// Integers wide enough to sum n·ln n in.
    type Sum: Lookup;
    /// What a nodata cell gets.
    const NAN: Self;
    /// What stands for a result that is still to be computed ([`few`](super::few)): never an entropy.
    const MARK: Self;
    /// The entropy of a window whose sum is `sum`, where one level would have given `full`.
    fn entropy(full: Self::Sum, sum: Self::Sum, mask: Self::Sum, factor: Self) -> Self;
    /// The nearest value.
    fn from_f64(value: f64) -> Self;
}

impl Sealed for f32 {
    type Sum = u32;
    const NAN: f32 = f32::NAN;
    const MARK: f32 = f32::NEG_INFINITY;
    #[inline(always)]
    fn entropy(full: u32, sum: u32, mask: u32, factor: f32) -> f32 {
        // Through i32, which every vector unit converts: the mask has at most 31 bits.
        (full.wrapping_sub(sum) & mask) as i32 as f32 * factor
    }
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
}

impl Sealed for f64 {
    type Sum = u64;
    const NAN: f64 = f64::NAN;
    const MARK: f64 = f64::NEG_INFINITY;
    #[inline(always)]
    fn entropy(full: u64, sum: u64, mask: u64, factor: f64) -> f64 {
        (full.wrapping_sub(sum) & mask) as i64 as f64 * factor
    }
    fn from_f64(value: f64) -> f64 {
        value
    }
}
