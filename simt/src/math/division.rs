//! Division in f64 without a call: the reciprocal from a table-driven instruction of 2^-18, refined to where Markstein's theorem rounds
//! the quotient as `/` does.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

#[cfg(any(target_arch = "nvptx64", test))]
use super::fused_multiply_add_f64;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::ln_f64;

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
}
