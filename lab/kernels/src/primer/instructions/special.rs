//! The special-function unit, and conversions.

use simt::global::{In, Out};
use simt::kernel;
use simt::math::{
    and_or, exp2_fast, fused_multiply_add, log2_fast, reciprocal_fast, reciprocal_sqrt_fast, sin_fast, sqrt_fast,
};

use super::{OPS_CHAINS, arithmetic, measure};

/// Twice.
#[inline(always)]
fn twice(f: impl Fn(f32) -> f32, x: u32) -> u32 {
    f(f(f32::from_bits(x))).to_bits()
}

/// f(x) · a + b, twice.
#[inline(always)]
fn twice_with_fma(f: impl Fn(f32) -> f32, x: u32, a: u32, b: u32) -> u32 {
    let [a, b] = [a, b].map(f32::from_bits);
    twice(|x| fused_multiply_add(f(x), a, b), x)
}

/// x as an integer, and of this the bits that `mask` has, to those of `rest`: a number that is not soon 0.
///
/// Without `as`, which saturates: six instructions for one.
///
/// # Safety
/// x is within i32's range.
#[inline(always)]
unsafe fn to_i32(x: u32, mask: u32, rest: u32) -> u32 {
    // SAFETY: the caller's promise.
    let whole = unsafe { f32::from_bits(x).to_int_unchecked::<i32>() };
    and_or(whole.cast_unsigned(), mask, rest)
}

/// The number that has the bits of x, read as an integer.
#[inline(always)]
fn from_i32(x: u32) -> u32 {
    (x.cast_signed() as f32).to_bits()
}

/// The upper word of x in f64, which is a register of its own.
#[inline(always)]
fn to_f64(x: u32) -> u32 {
    (f64::from(f32::from_bits(x)).to_bits() >> 32) as u32
}

arithmetic! {
    primer_ops_rcp, primer_ops_rcp_latency: u32, "1 / x, nearly, · a + b" =>
        |x, y, a, b| [twice_with_fma(reciprocal_fast, x, a, b), y];
    primer_ops_rsqrt, primer_ops_rsqrt_latency: u32, "1 / √x, nearly" =>
        |x, y, _, _| [twice(reciprocal_sqrt_fast, x), y];
    primer_ops_sqrt, primer_ops_sqrt_latency: u32, "√x, nearly" => |x, y, _, _| [twice(sqrt_fast, x), y];
    primer_ops_lg2, primer_ops_lg2_latency: u32, "log₂ x, nearly, · a + b" =>
        |x, y, a, b| [twice_with_fma(log2_fast, x, a, b), y];
    primer_ops_ex2, primer_ops_ex2_latency: u32, "2 to the power of x, nearly, · a + b" =>
        |x, y, a, b| [twice_with_fma(exp2_fast, x, a, b), y];
    primer_ops_sin, primer_ops_sin_latency: u32, "sin x, nearly, · a + b" =>
        |x, y, a, b| [twice_with_fma(sin_fast, x, a, b), y];
    primer_ops_f32_to_i32, primer_ops_f32_to_i32_latency: u32, "f32 to i32, and bits of it: `starts`, and bits of integers with those of `operands`, are below 2^31" =>
        // SAFETY: the kernel's promise.
        |x, y, a, b| [unsafe { to_i32(to_i32(x, a, b), a, b) }, y];
    primer_ops_i32_to_f32, primer_ops_i32_to_f32_latency: u32, "i32 to f32" =>
        |x, y, _, _| [from_i32(from_i32(x)), y];
    primer_ops_f32_to_f64, primer_ops_f32_to_f64_latency: u32, "f32 to f64" => |x, y, _, _| [to_f64(to_f64(x)), y];
}
