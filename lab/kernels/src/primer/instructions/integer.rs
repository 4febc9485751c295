//! Words: arithmetic, shifts, logic, bytes and bits.

use simt::global::{In, Out};
use simt::kernel;
use simt::math::{byte_permute, funnel_shift_right, select_bits, shift_left_clamped};

use super::{OPS_CHAINS, arithmetic, measure};

#[inline(always)]
fn mad(x: u32, a: u32, b: u32) -> u32 {
    x.wrapping_mul(a).wrapping_add(b)
}

#[inline(always)]
fn min(x: u32, a: u32) -> u32 {
    x.cast_signed().min(a.cast_signed()).cast_unsigned()
}

#[inline(always)]
fn max(x: u32, a: u32) -> u32 {
    x.cast_signed().max(a.cast_signed()).cast_unsigned()
}

/// Two values that alternate.
#[inline(always)]
fn in_turn(f: impl Fn(u32, u32) -> u32, x: u32, y: u32) -> [u32; 2] {
    let x = f(x, y);
    [x, f(y, x)]
}

arithmetic! {
    primer_ops_i32_add, primer_ops_i32_add_latency: u32, "x + y" =>
        |x, y, _, _| in_turn(u32::wrapping_add, x, y);
    primer_ops_i32_add3, primer_ops_i32_add3_latency: u32, "x + y + a, which is one instruction" => |x, y, a, b| {
        let x = x.wrapping_add(y).wrapping_add(a);
        [x, y.wrapping_add(x).wrapping_add(b)]
    };
    primer_ops_i32_mul, primer_ops_i32_mul_latency: u32, "x · y" =>
        |x, y, _, _| in_turn(u32::wrapping_mul, x, y);
    primer_ops_i32_mad, primer_ops_i32_mad_latency: u32, "x · a + b" =>
        |x, y, a, b| [mad(mad(x, a, b), a, b), y];
    primer_ops_i32_min, primer_ops_i32_min_latency: u32, "min(x, a) and max(x, b), signed, in turn" =>
        |x, y, a, b| [max(min(x, a), b), y];
    primer_ops_i32_add_min, primer_ops_i32_add_min_latency: u32, "min(x + a, y), signed: one instruction since compute capability 9.0" =>
        |x, y, a, b| [min(min(x.wrapping_add(a), y).wrapping_add(b), y), y];
    primer_ops_u32_div, primer_ops_u32_div_latency: u32, "a / (x | 1)" =>
        |x, y, a, b| [b / ((a / (x | 1)) | 1), y];
    primer_ops_shl, primer_ops_shl_latency: u32, "a << x" =>
        |x, y, a, b| [shift_left_clamped(b, shift_left_clamped(a, x)), y];
    primer_ops_funnel, primer_ops_funnel_latency: u32, "(y:x) >> a" => |x, y, a, b| {
        let x = funnel_shift_right(x, y, a);
        [x, funnel_shift_right(y, x, b)]
    };
    primer_ops_lop3, primer_ops_lop3_latency: u32, "x & a | !x & y" => |x, y, a, b| {
        let x = select_bits(x, a, y);
        [x, select_bits(y, b, x)]
    };
    primer_ops_prmt, primer_ops_prmt_latency: u32, "bytes of x and y, picked by a" => |x, y, a, b| {
        let x = byte_permute(x, y, a);
        [x, byte_permute(y, x, b)]
    };
    primer_ops_popc, primer_ops_popc_latency: u32, "the ones of x" =>
        |x, y, _, _| [x.count_ones().count_ones(), y];
}
