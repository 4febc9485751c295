//! Logarithms and exponentials of many numbers, where f32 results are made of them.
//!
//! The standard library's take one number after another, some 5 ns each: more than all the rest of a measure. Here are plain polynomials, which
//! compilers turn into vector instructions. They are good to 1e-13 or so and not to the last bit of an f64, but the *rounded* results are the
//! same bits: where an f32 lies between what a number may be at the least and at the most, the standard library is asked after all
//! (Ziv's rounding test). That is one number in 100,000.

use std::f64::consts::{LN_2, LOG2_E, SQRT_2};

/// Numbers between two looks at whether one of them is in doubt.
const AT_ONCE: usize = 64;

/// More than the polynomials, their arguments' last bits and the standard library are off by, relative for results above 1 and absolute
/// below.
const MARGIN: f64 = 1e-12;

/// Replaces every number by its logarithm times `scale`. The same as with [`f64::ln`] to the last bit of an f32.
#[inline(always)]
pub fn logarithms(values: &mut [f64], scale: f64) {
    rounded(values, scale, |x| if x == 1.0 { 0.0 } else { ln(x) }, f64::ln);
}

/// Replaces every number by its exponential, likewise. They must be between −1 and 700.
#[inline(always)]
pub fn exponentials(values: &mut [f64]) {
    rounded(values, 1.0, exp, f64::exp);
}

#[inline(always)]
fn rounded(values: &mut [f64], scale: f64, near: impl Fn(f64) -> f64, exact: impl Fn(f64) -> f64) {
    for values in values.chunks_mut(AT_ONCE) {
        let mut arguments = [0.0; AT_ONCE];
        arguments[..values.len()].copy_from_slice(values);
        let mut doubt = false;
        for (value, &x) in values.iter_mut().zip(&arguments) {
            *value = near(x) * scale;
            doubt |= doubtful(*value, scale);
        }
        if doubt {
            for (value, &x) in values.iter_mut().zip(&arguments) {
                if doubtful(*value, scale) {
                    *value = exact(x) * scale;
                }
            }
        }
    }
}

/// Whether numbers on both sides of a rounding boundary may be meant. Exactly 0 is exact.
#[inline(always)]
fn doubtful(value: f64, scale: f64) -> bool {
    let margin = MARGIN * (scale + value.abs());
    (value != 0.0) & (((value - margin) as f32).to_bits() != ((value + margin) as f32).to_bits())
}

/// ln x = e·ln 2 + 2·artanh s, s = (m − 1)/(m + 1) for x = m·2^e with m about 1, by artanh's series.
#[inline(always)]
fn ln(x: f64) -> f64 {
    // Exponents count from √½, so that m lies between √½ and √2.
    let bits = x.to_bits().wrapping_sub((SQRT_2 / 2.0).to_bits());
    // A small integer as an f64 without a conversion: the lowest bits of 2^52 + 2^51 + n.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let e = f64::from_bits(SHIFT.to_bits().wrapping_add((bits.cast_signed() >> 52).cast_unsigned())) - SHIFT;
    let m = f64::from_bits((bits & ((1 << 52) - 1)).wrapping_add((SQRT_2 / 2.0).to_bits()));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let series = [1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0];
    let sum = series.into_iter().fold(1.0 / 19.0, |sum, c| sum * z + c);
    e * LN_2 + 2.0 * s * sum
}

/// exp x = 2^k · exp r, r = x − k·ln 2 with |r| ≤ (ln 2)/2, by Taylor's series.
#[inline(always)]
fn exp(x: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let shifted = x * LOG2_E + SHIFT;
    let k = shifted - SHIFT;
    let r = x - k * LN_2;
    const SERIES: [f64; 13] = {
        let mut series = [1.0; 13];
        let mut i = 1;
        while i < 13 {
            series[i] = series[i - 1] / i as f64;
            i += 1;
        }
        series
    };
    let sum = SERIES.into_iter().rev().fold(0.0, |sum, c| sum * r + c);
    // The low bits of `shifted` are k: behind the others they move into the exponent.
    sum * f64::from_bits((shifted.to_bits() << 52).wrapping_add(1f64.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Far more numbers than measures have, from 1 to 65,025 and ratios of small ones.
    fn arguments() -> Vec<f64> {
        let whole = (1..=65_025).map(f64::from);
        let ratios = (1..600).flat_map(|a| (1..a).step_by(7).map(move |b| f64::from(a * a) / f64::from(b)));
        let near_one = (0..20_000).map(|i| 1.0 + f64::from(i) * 1e-7);
        whole.chain(ratios).chain(near_one).collect()
    }

    #[test]
    fn rounded_they_are_the_standard_library_s() {
        for scale in [1.0, 1.0 / LN_2, 1.0 / std::f64::consts::LN_10, 0.18] {
            let (x, mut y) = (arguments(), arguments());
            logarithms(&mut y, scale);
            for (&x, &y) in x.iter().zip(&y) {
                assert_eq!((y as f32).to_bits(), ((x.ln() * scale) as f32).to_bits(), "ln {x}");
            }
        }
        let x: Vec<f64> = (0..1_000_000).map(|i| f64::from(i) * 5.7e-6).chain([-1e-3, -0.5, 100.0, 699.0]).collect();
        let mut y = x.clone();
        exponentials(&mut y);
        for (&x, &y) in x.iter().zip(&y) {
            assert_eq!((y as f32).to_bits(), (x.exp() as f32).to_bits(), "exp {x}");
        }
    }

    #[test]
    fn polynomials_stay_well_within_the_margin() {
        for x in arguments() {
            assert!((ln(x) - x.ln()).abs() <= 0.05 * MARGIN, "ln {x}: {} off", ln(x) - x.ln());
        }
        for i in 0..100_000 {
            let x = f64::from(i) * 5.7e-5;
            assert!((exp(x) / x.exp() - 1.0).abs() <= 0.05 * MARGIN, "exp {x}");
        }
    }

    #[test]
    fn one_class_is_exactly_nothing() {
        let mut values = [1.0, 2.0];
        logarithms(&mut values, 1.5);
        assert_eq!(values[0].to_bits(), 0);
    }
}
