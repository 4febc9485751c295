//! Arithmetic that the GPU has as one instruction and Rust does not; and the logarithm and the exponential that `core` lacks.
//!
//! On the host these are ordinary functions with the same results; the tests of this module pin
//! the corner cases.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// `value << by`, and 0 when `by` is 32 or more (Rust's `<<` would be an error there).
#[inline(always)]
pub fn shift_left_clamped(value: u32, by: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("shl.b32 {r}, {v}, {b};", r = out(reg32) result, v = in(reg32) value, b = in(reg32) by,
                options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value.checked_shl(by).unwrap_or(0)
}

/// The low 32 bits of `(high:low) >> by`, `by` taken modulo 32.
#[inline(always)]
pub fn funnel_shift_right(low: u32, high: u32, by: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("shf.r.wrap.b32 {r}, {l}, {h}, {b};", r = out(reg32) result, l = in(reg32) low,
                h = in(reg32) high, b = in(reg32) by, options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        ((u64::from(high) << 32 | u64::from(low)) >> (by % 32)) as u32
    }
}

/// Four bytes picked from the eight of `low` (0..4) and `high` (4..8), one by each nibble of
/// `selector`; a nibble's top bit asks for the byte's sign instead, eight times.
#[inline(always)]
pub fn byte_permute(low: u32, high: u32, selector: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("prmt.b32 {r}, {l}, {h}, {s};", r = out(reg32) result, l = in(reg32) low,
                h = in(reg32) high, s = in(reg32) selector, options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let bytes = (u64::from(high) << 32 | u64::from(low)).to_le_bytes();
        u32::from_le_bytes(core::array::from_fn(|i| {
            let nibble = selector >> (4 * i) & 15;
            let byte = bytes[(nibble & 7) as usize];
            if nibble & 8 == 0 { byte } else { (byte.cast_signed() >> 7).cast_unsigned() }
        }))
    }
}

/// `accumulator + Σ a_i · b_i` over the four bytes, `a` unsigned and `b` unsigned, wrapping.
#[inline(always)]
pub fn dot4(a: u32, b: u32, accumulator: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("dp4a.u32.u32 {r}, {a}, {b}, {c};", r = out(reg32) result, a = in(reg32) a,
                b = in(reg32) b, c = in(reg32) accumulator, options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes()).map(|(x, y)| u32::from(x) * u32::from(y));
        accumulator.wrapping_add(products.sum())
    }
}

/// `accumulator + low · b_0 + high · b_1` over the halves of `a` and the lower bytes of `b`, all unsigned, wrapping.
#[inline(always)]
pub fn dot2(a: u32, b: u32, accumulator: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("dp2a.lo.u32.u32 {r}, {a}, {b}, {c};", r = out(reg32) result, a = in(reg32) a,
                b = in(reg32) b, c = in(reg32) accumulator, options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let low = (a & 0xFFFF) * (b & 0xFF);
        accumulator.wrapping_add(low).wrapping_add((a >> 16) * (b >> 8 & 0xFF))
    }
}

/// The sums of the two 16-bit halves, each modulo 2^16. Needs compute capability 9.0.
#[inline(always)]
pub fn add_u16x2(a: u32, b: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("add.u16x2 {r}, {a}, {b};", r = out(reg32) result, a = in(reg32) a, b = in(reg32) b,
                options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let low = (a as u16).wrapping_add(b as u16);
        let high = ((a >> 16) as u16).wrapping_add((b >> 16) as u16);
        u32::from(high) << 16 | u32::from(low)
    }
}

/// The lesser of the lower 16-bit halves and that of the upper ones, unsigned. Needs compute capability 9.0.
#[inline(always)]
pub fn min_u16x2(a: u32, b: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("min.u16x2 {r}, {a}, {b};", r = out(reg32) result, a = in(reg32) a, b = in(reg32) b,
                options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let (low, high) = ((a as u16).min(b as u16), ((a >> 16) as u16).min((b >> 16) as u16));
        u32::from(high) << 16 | u32::from(low)
    }
}

/// `value & mask | other` as one three-input logic operation.
///
/// ptxas makes one of the three operations by itself, unless the compiler before it has turned the `|`
/// into an addition; this form cannot be changed.
#[inline(always)]
pub fn and_or(value: u32, mask: u32, other: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers. 0xEA is the truth table of (a & b) | c.
        unsafe {
            asm!("lop3.b32 {r}, {v}, {m}, {o}, 0xEA;", r = out(reg32) result, v = in(reg32) value,
                m = in(reg32) mask, o = in(reg32) other, options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        value & mask | other
    }
}

/// The bits of `ones` where `mask` has a one and those of `zeros` where it has a zero, as one three-input logic
/// operation.
///
/// As [`and_or`]: written as `&` and `|` with a mask that is known, it may become two.
#[inline(always)]
pub fn select_bits(mask: u32, ones: u32, zeros: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers. 0xCA is the truth table of a ? b : c.
        unsafe {
            asm!("lop3.b32 {r}, {m}, {o}, {z}, 0xCA;", r = out(reg32) result, m = in(reg32) mask,
                o = in(reg32) ones, z = in(reg32) zeros, options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        ones & mask | zeros & !mask
    }
}

/// Base-2 logarithm in f32 by the special-function unit; absolute error at most 2^-22 between 0.5
/// and 2, relative 2^-22 elsewhere. The host's result is correctly rounded or nearly so.
#[inline(always)]
pub fn log2_fast(value: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("lg2.approx.ftz.f32 {r}, {v};", r = out(reg32) result, v = in(reg32) value,
                options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value.log2()
}

/// 1 / `value` in f32 by the special-function unit, within 1 unit in the last place.
#[inline(always)]
pub fn reciprocal_fast(value: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("rcp.approx.ftz.f32 {r}, {v};", r = out(reg32) result, v = in(reg32) value,
                options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value.recip()
}

/// `a * b + c` in f32, rounded once.
#[inline(always)]
pub fn fused_multiply_add(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("fma.rn.f32 {r}, {a}, {b}, {c};", r = out(reg32) result, a = in(reg32) a,
                b = in(reg32) b, c = in(reg32) c, options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    a.mul_add(b, c)
}

/// 1 / √`value` in f32 by the special-function unit, within a relative 2^-22.
#[inline(always)]
pub fn reciprocal_sqrt_fast(value: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("rsqrt.approx.ftz.f32 {r}, {v};", r = out(reg32) result, v = in(reg32) value,
                options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        f64::from(value).sqrt().recip() as f32
    }
}

/// √`value` in f32 by the special-function unit, within a relative 2^-22.
#[inline(always)]
pub fn sqrt_fast(value: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("sqrt.approx.ftz.f32 {r}, {v};", r = out(reg32) result, v = in(reg32) value,
                options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value.sqrt()
}

/// 2 to the power of `value` in f32 by the special-function unit, within a relative 2^-22.
#[inline(always)]
pub fn exp2_fast(value: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("ex2.approx.ftz.f32 {r}, {v};", r = out(reg32) result, v = in(reg32) value,
                options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value.exp2()
}

/// The sine in f32 by the special-function unit: within 2^-20 of it from -2π to 2π, and worse beyond.
#[inline(always)]
pub fn sin_fast(value: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("sin.approx.ftz.f32 {r}, {v};", r = out(reg32) result, v = in(reg32) value,
                options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value.sin()
}

/// `a * b + c` in f64, rounded once.
#[inline(always)]
pub fn fused_multiply_add_f64(a: f64, b: f64, c: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("fma.rn.f64 {r}, {a}, {b}, {c};", r = out(reg64) result, a = in(reg64) a,
                b = in(reg64) b, c = in(reg64) c, options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    a.mul_add(b, c)
}

/// `a / b` in f64, rounded to nearest as `/` does: for `a` of 0 or between 2^-900 and 2^900, and `b` between 2^-100 and 2^100.
///
/// What the compiler makes of `/` asks whether operands are beyond that, and calls a function for those and for an `a` of 0. Without the call several divisions
/// can be under way at once.
///
/// ```
/// assert_eq!(simt::math::divide_f64(2.0, 3.0), 2.0 / 3.0);
/// ```
#[inline(always)]
pub fn divide_f64(a: f64, b: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let seed;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("rcp.approx.ftz.f64 {r}, {v};", r = out(reg64) seed, v = in(reg64) b,
                options(pure, nomem, nostack));
        }
        quotient(a, b, seed)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        a / b
    }
}

/// `a / b`, from 1 / `b` within a relative 2^-18.
///
/// The reciprocal's error is cubed, and then squared: what is left is far below a unit in the last place, so it is rounded as the true one is. By Markstein's
/// theorem the quotient then is too: its remainder is exact.
#[cfg(any(target_arch = "nvptx64", test))]
#[inline(always)]
fn quotient(a: f64, b: f64, seed: f64) -> f64 {
    let error = fused_multiply_add_f64(-b, seed, 1.0);
    let near = fused_multiply_add_f64(seed, fused_multiply_add_f64(error, error, error), seed);
    let reciprocal = fused_multiply_add_f64(near, fused_multiply_add_f64(-b, near, 1.0), near);
    let quotient = a * reciprocal;
    fused_multiply_add_f64(reciprocal, fused_multiply_add_f64(-b, quotient, a), quotient)
}

/// The sums of the two halves of words, each half a number of IEEE's binary16, rounded to nearest. A NaN is 0x7FFF.
///
/// ```
/// // 1 + 2, and 1.5 + 0.25.
/// assert_eq!(simt::math::add_f16x2(0x3C00_3E00, 0x4000_3400), 0x4200_3F00);
/// ```
#[inline(always)]
pub fn add_f16x2(a: u32, b: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("add.rn.f16x2 {r}, {a}, {b};", r = out(reg32) result, a = in(reg32) a, b = in(reg32) b,
                options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    halves([a, b, 0], |a, b, _| a + b)
}

/// `a * b + c` of the two halves of words, each half a number of IEEE's binary16, rounded once to nearest. A NaN is 0x7FFF.
///
/// ```
/// // 2 · 3 + 1, and -1 · 0.5 + 0.5.
/// assert_eq!(simt::math::fma_f16x2(0x4000_BC00, 0x4200_3800, 0x3C00_3800), 0x4700_0000);
/// ```
#[inline(always)]
pub fn fma_f16x2(a: u32, b: u32, c: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: pure arithmetic on registers.
        unsafe {
            asm!("fma.rn.f16x2 {r}, {a}, {b}, {c};", r = out(reg32) result, a = in(reg32) a, b = in(reg32) b,
                c = in(reg32) c, options(pure, nomem, nostack));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // In f64 the product is exact. The sum is too, unless one of the two is too small to change the other: then rounding
    // twice gives the same result.
    halves([a, b, c], |a, b, c| a * b + c)
}

/// `f` applied to both halves of three words, as numbers of 16 bits.
#[cfg(not(target_arch = "nvptx64"))]
fn halves(words: [u32; 3], f: impl Fn(f64, f64, f64) -> f64) -> u32 {
    let half = |shift: u32| {
        let [a, b, c] = words.map(|word| from_f16((word >> shift) as u16));
        u32::from(to_f16(f(a, b, c))) << shift
    };
    half(0) | half(16)
}

#[cfg(not(target_arch = "nvptx64"))]
fn from_f16(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3FF));
    let magnitude = match exponent {
        31 if fraction > 0.0 => f64::NAN,
        31 => f64::INFINITY,
        0 => fraction * power_of_two(-24),
        _ => (fraction + 1024.0) * power_of_two(exponent - 25),
    };
    if bits >> 15 == 0 { magnitude } else { -magnitude }
}

/// Rounds to nearest, ties to even.
#[cfg(not(target_arch = "nvptx64"))]
fn to_f16(value: f64) -> u16 {
    if value.is_nan() {
        return 0x7FFF;
    }
    let sign = u16::from(value.is_sign_negative()) << 15;
    // From half a unit beyond the largest number on, the result is infinite.
    if value.abs() >= 65520.0 {
        return sign | 0x7C00;
    }
    // Of a number of 11 bits; of subnormal ones that of the least normal.
    let exponent = ((value.to_bits() >> 52 & 0x7FF) as i32 - 1023).max(-14);
    let units = (value.abs() * power_of_two(10 - exponent)).round_ties_even() as u16;
    // 2048 units carry into the exponent, and 1024 of them are its lowest 1.
    sign | ((((exponent + 14) as u16) << 10) + units)
}

/// ln 2 in two parts, the first of so few bits that whole numbers up to 2,000 times it are exact.
const LN2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
/// The remainder.
const LN2_LOW: f64 = f64::from_bits(0x3DEA_39EF_3579_3C76);

/// Natural logarithm in f64, within 1 unit in the last place; −∞ for 0, NaN below.
///
/// `core` has none, and CUDA's lies in a library that only NVIDIA's compiler reads. This is fdlibm's (`e_log.c`, Sun
/// Microsystems 1993): x = 2^k · (1 + f) with 1 + f between √½ and √2; with s = f / (2 + f),
/// ln(1 + f) = 2s + ⅔s³ + … = f − s·(f − R), R a polynomial in s². It is the same code on GPU and host, and nothing in it
/// is contracted, so both give the same bits; and it is `const`, for tables.
#[inline(always)]
pub const fn ln_f64(value: f64) -> f64 {
    // The coefficients of s², s⁴, …, with the bits of the source.
    const L1: f64 = f64::from_bits(0x3FE5_5555_5555_5593);
    const L2: f64 = f64::from_bits(0x3FD9_9999_9997_FA04);
    const L3: f64 = f64::from_bits(0x3FD2_4924_9422_9359);
    const L4: f64 = f64::from_bits(0x3FCC_71C5_1D8E_78AF);
    const L5: f64 = f64::from_bits(0x3FC7_4664_96CB_03DE);
    const L6: f64 = f64::from_bits(0x3FC3_9A09_D078_C69F);
    const L7: f64 = f64::from_bits(0x3FC2_F112_DF3E_5244);
    let (mut x, mut k) = (value, 0);
    if x < f64::MIN_POSITIVE {
        if x == 0.0 {
            return f64::NEG_INFINITY;
        }
        if x < 0.0 {
            return f64::NAN;
        }
        // Subnormal: scaled by 2^54 to a normal number.
        x *= 18_014_398_509_481_984.0;
        k = -54;
    }
    if !x.is_finite() {
        return x;
    }
    // Adding to the high word what √½ lacks to 1 carries into the exponent above √2·2^k.
    let (bits, high) = (x.to_bits(), (x.to_bits() >> 32) as u32 + (0x3FF0_0000 - 0x3FE6_A09E));
    k += (high >> 20) as i32 - 0x3FF;
    let high = (high & 0x000F_FFFF) + 0x3FE6_A09E;
    let f = f64::from_bits((high as u64) << 32 | bits & 0xFFFF_FFFF) - 1.0;

    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (L2 + w * (L4 + w * L6));
    let odd = z * (L1 + w * (L3 + w * (L5 + w * L7)));
    let k = k as f64;
    s * (half_square + (odd + even)) + k * LN2_LOW - half_square + f + k * LN2_HIGH
}

/// e to the power of `value` in f64, within 2 units in the last place; 0 and ∞ where f64 ends.
///
/// value = k·ln 2 + r with |r| ≤ ½ ln 2, and e^r by its series up to r¹³ / 13!: the next term is below 5e-18. As with
/// [`ln_f64`], GPU and host give the same bits.
#[inline(always)]
pub const fn exp_f64(value: f64) -> f64 {
    // Added and taken away it leaves the nearest whole number: beyond it f64 has no bits for more.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    if value.is_nan() {
        return value;
    }
    if value > 709.8 {
        return f64::INFINITY;
    }
    if value < -745.2 {
        return 0.0;
    }
    let k = (value * core::f64::consts::LOG2_E + WHOLE) - WHOLE;
    let r = (value - k * LN2_HIGH) - k * LN2_LOW;
    // Written out: a loop would need its coefficients in memory.
    let high = 1.0 / 40_320.0
        + r * (1.0 / 362_880.0
            + r * (1.0 / 3_628_800.0
                + r * (1.0 / 39_916_800.0 + r * (1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0)))));
    let low = 0.5
        + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0 + r * high)))));
    let series = 1.0 + (r + r * r * low);
    // In two steps: a power of two alone may be beyond f64 where the result is not.
    let k = k as i32;
    let half = k / 2;
    series * power_of_two(half) * power_of_two(k - half)
}

/// 2^k, which must be a normal number.
#[inline(always)]
const fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_within_a_unit_of_the_last_place() {
        let mut worst = 0.0f64;
        for i in 1..200_000u32 {
            for x in [f64::from(i), f64::from(i) / 65536.0, f64::from(i) * 1e-310, 1.0 + f64::from(i) * 1e-12] {
                let (got, expected) = (ln_f64(x), x.ln());
                worst = worst.max((got - expected).abs() / (expected.abs() * f64::EPSILON).max(f64::MIN_POSITIVE));
            }
        }
        assert!(worst <= 1.0, "{worst}");
        assert_eq!(ln_f64(1.0), 0.0);
        assert_eq!(ln_f64(0.0), f64::NEG_INFINITY);
        assert_eq!(ln_f64(f64::INFINITY), f64::INFINITY);
        assert!(ln_f64(-1.0).is_nan() && ln_f64(f64::NAN).is_nan());
    }

    #[test]
    fn exponentials_are_within_two_units_of_the_last_place() {
        let mut worst = 0.0f64;
        for i in -200_000..200_000i32 {
            let i = f64::from(i);
            for x in [i / 200_000.0, i * 0.003_54, i * 1e-12, i / 16.0 * std::f64::consts::LN_2] {
                let (got, expected) = (exp_f64(x), x.exp());
                if expected.is_infinite() {
                    assert_eq!(got, expected, "{x}");
                } else {
                    // Below the least normal number the unit is constant.
                    let unit = (expected * f64::EPSILON).max(f64::from_bits(1));
                    worst = worst.max((got - expected).abs() / unit);
                }
            }
        }
        assert!(worst <= 2.0, "{worst}");
        assert_eq!((exp_f64(0.0), exp_f64(-0.0)), (1.0, 1.0));
        assert_eq!((exp_f64(f64::INFINITY), exp_f64(f64::NEG_INFINITY), exp_f64(-1e300)), (f64::INFINITY, 0.0, 0.0));
        assert!(exp_f64(f64::NAN).is_nan());
    }

    /// Whatever the seed: the least integers, squares, and logarithms of them as divisors.
    #[test]
    fn quotients_are_rounded_to_nearest() {
        let mut checked = 0;
        for i in 1..60_000u32 {
            let noise = i.wrapping_mul(0x9E37_79B1);
            let divisors = [f64::from(i), f64::from(i.wrapping_mul(i) | 1), ln_f64(f64::from(i % 15 + 2))];
            for b in divisors {
                // To 20 bits, and off by up to 2^-18.
                let seed =
                    f64::from_bits((1.0 / b).to_bits() & !0xFFFF_FFFF) * (1.0 + (f64::from(noise) - 2e9) * 8e-16);
                let dividends =
                    [0.0, f64::from(noise), f64::from(noise) * f64::from(i) * 65_537.0, f64::from(i) * 1e-13];
                for a in dividends.into_iter().chain([ln_f64(f64::from(noise)), b]) {
                    assert_eq!(quotient(a, b, seed).to_bits(), (a / b).to_bits(), "{a} / {b}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 1_000_000);
    }

    #[test]
    fn halves_of_floats_are_what_wider_arithmetic_rounds_to() {
        // Every number of 16 bits round-trips, and NaN as the one that GPUs make.
        for bits in 0..=u16::MAX {
            let nan = bits & 0x7FFF > 0x7C00;
            assert_eq!(to_f16(from_f16(bits)), if nan { 0x7FFF } else { bits }, "{bits:#x}");
        }
        let value = |bits: u32| from_f16(bits as u16);
        let mut worst = 0.0f64;
        for i in 0..400_000u32 {
            let [a, b, c] = [0x9E37_79B1u32, 0x85EB_CA77, 0xC2B2_AE3D].map(|k| i.wrapping_mul(k) >> 16);
            for (got, exact) in
                [(fma_f16x2(a, b, c), value(a).mul_add(value(b), value(c))), (add_f16x2(a, b), value(a) + value(b))]
            {
                // As close as the number that is nearest: no neighbour is closer.
                let got = value(got);
                if exact.abs() < 65504.0 {
                    let unit = power_of_two(((exact.to_bits() >> 52 & 0x7FF) as i32 - 1023).max(-14) - 10);
                    worst = worst.max((got - exact).abs() / unit);
                } else {
                    assert!(got.is_nan() == exact.is_nan() && (got.is_nan() || got.abs() >= 65504.0), "{got} {exact}");
                }
            }
        }
        assert!(worst > 0.49 && worst <= 0.5, "{worst}");
        // 2048 + 1 is a tie, which goes to even; one more bit breaks it.
        assert_eq!((fma_f16x2(0x6800, 0x3C00, 0x3C00), fma_f16x2(0x3C01, 0x3C00, 0x6800)), (0x6800, 0x6801));
        // The largest number, and half a unit more.
        assert_eq!(add_f16x2(0x7BFF, 0x4C00), 0x7C00);
        assert_eq!(add_f16x2(0x7C00, 0xFC00), 0x7FFF);
    }

    #[test]
    fn shifts_clamp_and_wrap_as_ptx_defines() {
        assert_eq!(shift_left_clamped(1, 31), 1 << 31);
        assert_eq!(shift_left_clamped(1, 32), 0);
        assert_eq!(shift_left_clamped(1, u32::MAX), 0);
        assert_eq!(funnel_shift_right(0x8000_0001, 0x7, 1), 0xC000_0000);
        assert_eq!(funnel_shift_right(5, 9, 32), 5);
    }

    #[test]
    fn halves_add_and_compare_by_themselves() {
        assert_eq!(add_u16x2(0x7FFF_FFFF, 0x0001_0001), 0x8000_0000);
        assert_eq!(add_u16x2(0xFFFF_0001, 0x0002_7FFE), 0x0001_7FFF);
        assert_eq!(min_u16x2(0x8000_0001, 0x7FFF_FFFF), 0x7FFF_0001);
    }

    #[test]
    fn bytes_are_picked_and_multiplied_as_ptx_defines() {
        assert_eq!(byte_permute(0x4433_2211, 0x8877_6655, 0x7410), 0x8855_2211);
        assert_eq!(byte_permute(0x0000_0080, 0, 0xCBA8), 0x0000_00FF);
        assert_eq!(dot4(0x0403_0201, 0x0000_0500, 7), 2 * 5 + 7);
        assert_eq!(dot4(0xFFFF_FFFF, 0xFFFF_FFFF, u32::MAX), 4 * 255 * 255 - 1);
        assert_eq!(dot2(0x0007_FFFF, 0xFFFF_0302, 5), 2 * 0xFFFF + 3 * 7 + 5);
    }
}
