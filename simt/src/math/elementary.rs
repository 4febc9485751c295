//! The natural logarithm and the exponential in f64, which `core` lacks: the same code on GPU and host, without contraction, so that both
//! give the same bits; and `const`, for tables.

use super::power_of_two;

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
}
