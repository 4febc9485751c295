//! The arithmetic of Σ F(n), in 32 or 64 bits, and of what comes of it.

use simt::math::reciprocal_fast;
use simt::scalar::Scalar;

/// The integers that Σ F(n) is kept in: 32 bits where that is exact enough, otherwise 64.
pub trait Fixed: Scalar {
    const ZERO: Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
}

/// The arithmetic of results: `rest / n · scale`, `rest` being F(n) − Σ F(n_i).
pub trait Result<A>: Scalar {
    const NAN: Self;
    fn mean(rest: A, n: u32, scale: Self) -> Self;
}

macro_rules! fixed {
    ($($t:ty)*) => {$(
        impl Fixed for $t {
            const ZERO: $t = 0;
            #[inline(always)]
            fn add(self, other: $t) -> $t {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: $t) -> $t {
                self.wrapping_sub(other)
            }
        }
    )*};
}
fixed!(u32 u64);

impl Result<u32> for f32 {
    const NAN: f32 = f32::NAN;
    #[inline(always)]
    fn mean(rest: u32, n: u32, scale: f32) -> f32 {
        rest as f32 * (reciprocal_fast(n as f32) * scale)
    }
}

impl Result<u64> for f32 {
    const NAN: f32 = f32::NAN;
    #[inline(always)]
    fn mean(rest: u64, n: u32, scale: f32) -> f32 {
        rest as f32 * (reciprocal_fast(n as f32) * scale)
    }
}

impl Result<u64> for f64 {
    const NAN: f64 = f64::NAN;
    #[inline(always)]
    fn mean(rest: u64, n: u32, scale: f64) -> f64 {
        rest as f64 / f64::from(n) * scale
    }
}
