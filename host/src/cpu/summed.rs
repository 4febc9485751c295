//! The integers that results of each precision are summed in.

use super::lookup::Lookup;
use crate::numbers::Real;

/// A precision of results, and how the engine comes to it. [`Real`], which is in interfaces, knows nothing of engines: what is generic over it
/// becomes one of these by [`Planes`](crate::numbers::Planes).
pub trait Summed: Real {
    /// Integers wide enough to sum n·ln n in.
    type Sum: Lookup;
    /// The entropy of a window whose sum is `sum`, where one level would have given `full`.
    fn entropy(full: Self::Sum, sum: Self::Sum, mask: Self::Sum, factor: Self) -> Self;
}

impl Summed for f32 {
    type Sum = u32;
    #[inline(always)]
    fn entropy(full: u32, sum: u32, mask: u32, factor: f32) -> f32 {
        // Through i32, which every vector unit converts: the mask has at most 31 bits.
        (full.wrapping_sub(sum) & mask) as i32 as f32 * factor
    }
}

impl Summed for f64 {
    type Sum = u64;
    #[inline(always)]
    fn entropy(full: u64, sum: u64, mask: u64, factor: f64) -> f64 {
        (full.wrapping_sub(sum) & mask) as i64 as f64 * factor
    }
}
