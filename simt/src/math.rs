//! Arithmetic that the GPU has as one instruction and Rust does not; and the logarithm and the exponential that `core` lacks.
//!
//! On the host these are ordinary functions with the same results; the tests of each part pin
//! the corner cases.

mod bits;
mod division;
mod elementary;
mod float;
mod half;

pub use bits::{
    add_u16x2, and_or, byte_permute, dot2, dot4, funnel_shift_right, min_u16x2, select_bits, shift_left_clamped,
};
pub use division::divide_f64;
pub use elementary::{exp_f64, ln_f64};
pub use float::{
    exp2_fast, fused_multiply_add, fused_multiply_add_f64, log2_fast, reciprocal_fast, reciprocal_sqrt_fast, sin_fast,
    sqrt_fast,
};
pub use half::{add_f16x2, fma_f16x2};

/// 2^k, which must be a normal number.
#[inline(always)]
const fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}
