//! Numbers of 16 bits (IEEE's binary16), two a word, as the GPU adds and multiplies them.
//!
//! On the host each half is widened to f64, computed there and rounded back, which comes to the same bits as one rounding.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

#[cfg(not(target_arch = "nvptx64"))]
use super::power_of_two;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
