//! Floating point of 16 and 24 bits, as 32 bits.
//!
//! A sign, `exponent` bits and the rest mantissa, with IEEE 754's rules for zeros, subnormal numbers, infinities and NaN. 16 bits are
//! IEEE 754's binary16 (5 bits of exponent); 24 bits are Adobe's (7). Every such number is one of 32 bits, so nothing is rounded. One function
//! does both; a crate for halves would leave the other half to be written.

/// The number that the low `bits` of `value` are, of which `exponent` are the exponent's.
pub(super) fn widened(value: u32, bits: u32, exponent: u32) -> f32 {
    let mantissa_bits = bits - 1 - exponent;
    let mantissa = value & ((1 << mantissa_bits) - 1);
    let power = value >> mantissa_bits & ((1 << exponent) - 1);
    let sign = value >> (bits - 1) << 31;
    // Of the exponents in 8 bits and in these.
    let bias = 127 - ((1 << (exponent - 1)) - 1);
    let magnitude = if power == (1 << exponent) - 1 {
        0xff << 23 | mantissa << (23 - mantissa_bits)
    } else if power > 0 {
        (power + bias) << 23 | mantissa << (23 - mantissa_bits)
    } else {
        // A whole number of the smallest steps, both of which an f32 has.
        let step = f32::from_bits((1 + bias - mantissa_bits) << 23);
        (mantissa as f32 * step).to_bits()
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_what_ieee_754_says() {
        for (bits, value) in [
            (0x0000, 0.0),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x3555, 0.333_251_95),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x7c00, f32::INFINITY),
            (0xfc00, f32::NEG_INFINITY),
        ] {
            assert_eq!(widened(bits, 16, 5), value, "{bits:x}");
        }
        assert!(widened(0x7e01, 16, 5).is_nan());
        assert!(widened(0x8000, 16, 5).is_sign_negative());
    }

    #[test]
    fn adobes_have_an_exponent_of_seven_bits() {
        for (bits, value) in [
            (0x3f_0000, 1.0),
            (0xbf_8000, -1.5),
            (0x80_0001, -3.308_722_5e-24),
            (0x7e_ffff, 1.844_660_3e19),
            (0x7f_0000, f32::INFINITY),
        ] {
            assert_eq!(widened(bits, 24, 7), value, "{bits:x}");
        }
        assert!(widened(0x7f_0001, 24, 7).is_nan());
    }
}
