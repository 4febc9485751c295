//! Floating-point arithmetic: f16 two at a time, f32, f64; and the division in f32, which is many instructions.

use simt::global::{In, Out};
use simt::kernel;
use simt::math::{add_f16x2, fma_f16x2, fused_multiply_add, fused_multiply_add_f64};

use super::{OPS_CHAINS, arithmetic, measure};

/// An operation on numbers of 32 bits, which travel as their bits.
#[inline(always)]
fn f32(f: impl Fn(f32, f32) -> f32, x: u32, y: u32) -> u32 {
    f(f32::from_bits(x), f32::from_bits(y)).to_bits()
}

/// The same of 64 bits.
#[inline(always)]
fn f64(f: impl Fn(f64, f64) -> f64, x: u64, y: u64) -> u64 {
    f(f64::from_bits(x), f64::from_bits(y)).to_bits()
}

#[inline(always)]
fn fma_f32(x: u32, a: u32, b: u32) -> u32 {
    fused_multiply_add(f32::from_bits(x), f32::from_bits(a), f32::from_bits(b)).to_bits()
}

#[inline(always)]
fn fma_f64(x: u64, a: u64, b: u64) -> u64 {
    fused_multiply_add_f64(f64::from_bits(x), f64::from_bits(a), f64::from_bits(b)).to_bits()
}

arithmetic! {
    primer_ops_f32_add, primer_ops_f32_add_latency: u32, "x + a in f32" =>
        |x, y, a, b| [f32(|x, b| x + b, f32(|x, a| x + a, x, a), b), y];
    primer_ops_f32_mul, primer_ops_f32_mul_latency: u32, "x · a in f32" =>
        |x, y, a, b| [f32(|x, b| x * b, f32(|x, a| x * a, x, a), b), y];
    primer_ops_f32_fma, primer_ops_f32_fma_latency: u32, "x · a + b in f32" =>
        |x, y, a, b| [fma_f32(fma_f32(x, a, b), a, b), y];
    primer_ops_f32_div, primer_ops_f32_div_latency: u32, "a / x in f32, as IEEE 754 has it" =>
        |x, y, a, b| [f32(|x, b| b / x, f32(|x, a| a / x, x, a), b), y];
    primer_ops_f64_add, primer_ops_f64_add_latency: u64, "x + a in f64" =>
        |x, y, a, b| [f64(|x, b| x + b, f64(|x, a| x + a, x, a), b), y];
    primer_ops_f64_mul, primer_ops_f64_mul_latency: u64, "x · a in f64" =>
        |x, y, a, b| [f64(|x, b| x * b, f64(|x, a| x * a, x, a), b), y];
    primer_ops_f64_fma, primer_ops_f64_fma_latency: u64, "x · a + b in f64" =>
        |x, y, a, b| [fma_f64(fma_f64(x, a, b), a, b), y];
    primer_ops_f16x2_add, primer_ops_f16x2_add_latency: u32, "x + a of two in f16" =>
        |x, y, a, b| [add_f16x2(add_f16x2(x, a), b), y];
    primer_ops_f16x2_fma, primer_ops_f16x2_fma_latency: u32, "x · a + b of two in f16" =>
        |x, y, a, b| [fma_f16x2(fma_f16x2(x, a, b), a, b), y];
}
