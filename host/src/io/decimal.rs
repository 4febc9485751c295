//! Numbers to text with a fixed number of decimals, correctly rounded, without the machinery of `format!`.
//!
//! A finite f64 below 2^53 is m · 2^−s with m < 2^53. Its decimals are the integer m · 10^d / 2^s rounded half
//! to even, and with d ≤ 17 the product is below 2^110: one `u128` multiplication, one shift and one comparison
//! give the digits *exactly*. No estimate, no table of powers, no second try; and the same digits as C's
//! `printf` and Rust's `{:.d}`, which the tests hold it to. What does not fit (2^53 and above, or more than 64
//! bits of digits) goes to `format!`.
//!
//! Two departures from both: a value that rounds to zero has no sign (`-0.00000` is
//! no entropy), and NaN is written `nan`. f32 is widened first, which is exact.

/// Most decimals that [`push`] takes.
pub(crate) const MOST: usize = 17;

/// Two digits at a time: "00" to "99".
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut i = 0;
    while i < 100 {
        pairs[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    pairs
};

const TENS: [u64; MOST + 1] = {
    let mut tens = [1; MOST + 1];
    let mut i = 1;
    while i <= MOST {
        tens[i] = tens[i - 1] * 10;
        i += 1;
    }
    tens
};

/// |value| · 10^decimals rounded half to even, when it is below 2^64 and |value| below 2^53.
fn scaled(value: f64, decimals: usize) -> Option<u64> {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as u32;
    let fraction = bits & ((1 << 52) - 1);
    // Subnormal numbers have no hidden bit and the exponent of the smallest normal ones.
    let (mantissa, exponent) = if exponent == 0 { (fraction, 1) } else { (fraction | 1 << 52, exponent) };
    // value = mantissa · 2^(exponent − 1075); from 2^53 on nothing is behind the point.
    let shift = 1075u32.checked_sub(exponent)?;
    let product = u128::from(mantissa) * u128::from(TENS[decimals]);
    let (mut whole, rest, half) = match shift {
        0 => (product, 0, 1),
        // The product is below 2^110: less than half.
        112.. => (0, 0, 1),
        _ => (product >> shift, product & ((1 << shift) - 1), 1 << (shift - 1)),
    };
    if rest > half || (rest == half && whole & 1 == 1) {
        whole += 1;
    }
    u64::try_from(whole).ok()
}

/// Appends `value` with `decimals` (at most 17) decimals, right-aligned in `width` (at most 32) characters.
#[inline]
pub(crate) fn push(out: &mut Vec<u8>, value: f64, decimals: usize, width: usize) {
    match scaled(value, decimals) {
        Some(digits) => push_digits(out, digits, value.is_sign_negative() && digits != 0, decimals, width),
        None => push_rare(out, value, decimals, width),
    }
}

#[inline]
fn push_digits(out: &mut Vec<u8>, mut digits: u64, negative: bool, decimals: usize, width: usize) {
    // Filled from the right. 20 digits, a point and a sign fit, and so does the widest field.
    let mut text = [b' '; 32];
    let mut at = text.len();
    if decimals > 0 {
        let mut left = decimals;
        while left >= 2 {
            at -= 2;
            text[at..at + 2].copy_from_slice(&PAIRS[(digits % 100) as usize]);
            digits /= 100;
            left -= 2;
        }
        if left == 1 {
            at -= 1;
            text[at] = b'0' + (digits % 10) as u8;
            digits /= 10;
        }
        at -= 1;
        text[at] = b'.';
    }
    loop {
        at -= 1;
        text[at] = b'0' + (digits % 10) as u8;
        digits /= 10;
        if digits == 0 {
            break;
        }
    }
    if negative {
        at -= 1;
        text[at] = b'-';
    }
    out.extend_from_slice(&text[at.min(text.len() - width)..]);
}

#[cold]
fn push_rare(out: &mut Vec<u8>, value: f64, decimals: usize, width: usize) {
    let text = if value.is_nan() { "nan".to_owned() } else { format!("{value:.decimals$}") };
    out.resize(out.len() + width.saturating_sub(text.len()), b' ');
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(value: f64, decimals: usize, width: usize) -> String {
        let mut out = Vec::new();
        push(&mut out, value, decimals, width);
        String::from_utf8(out).unwrap()
    }

    fn check(value: f64, decimals: usize) {
        let mut expected = format!("{value:.decimals$}");
        if expected.starts_with('-')
            && !expected.contains(|c: char| c.is_ascii_digit() && c != '0')
            && value.is_finite()
        {
            expected.remove(0);
        }
        assert_eq!(ours(value, decimals, 0), expected, "{value:e} with {decimals} decimals");
    }

    #[test]
    fn random_entropies_print_as_format_prints_them() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..1_000_000 {
            let unit = (random.u64(..) >> 11) as f64 / (1u64 << 53) as f64;
            check(unit * 5.6, 5);
        }
    }

    #[test]
    fn random_bit_patterns_print_as_format_prints_them() {
        let mut random = fastrand::Rng::with_seed(2);
        for i in 0..400_000 {
            let bits = random.u64(..);
            // Half of them any f64 at all, half of a size that people print.
            let value = f64::from_bits(bits);
            let value = if i % 2 == 0 { value } else { (bits as i64 >> (bits % 53)) as f64 / 1e6 };
            if !value.is_nan() && value.abs() < 1e60 {
                check(value, (i / 2) % (MOST + 1));
            }
        }
    }

    #[test]
    fn ties_and_their_neighbours_are_rounded_exactly() {
        for decimals in 0..=MOST {
            // k/2^j is a tie at some number of decimals; a step to either side is none.
            for k in (0..2000u32).chain([99_999, 1 << 20, (1 << 20) + 1]) {
                for j in 0..=18 {
                    let tie = f64::from(k) / f64::from(1u32 << j);
                    for value in [tie, tie.next_up(), tie.next_down(), -tie] {
                        check(value, decimals);
                    }
                }
            }
        }
        // Decimal near-ties: x.xxxxx5 as closely as an f64 comes.
        for i in 0..200_000u32 {
            let near = (f64::from(i) + 0.5) / 1e5;
            for value in [near, near.next_up(), near.next_down()] {
                check(value, 5);
            }
        }
    }

    #[test]
    fn the_ends_of_the_range() {
        for decimals in [0, 1, 5, 17] {
            for value in [0.0, -0.0, f64::MIN_POSITIVE, 5e-324, -5e-324, 9_007_199_254_740_991.0, 1e16, -1e22, 1e300] {
                check(value, decimals);
            }
        }
        assert_eq!(ours(f64::NAN, 5, 12), "         nan");
        assert_eq!(ours(f64::INFINITY, 5, 12), "         inf");
        assert_eq!(ours(f64::NEG_INFINITY, 5, 0), "-inf");
        assert_eq!(ours(-1e-9, 5, 12), "     0.00000");
        assert_eq!(ours(1.522955, 5, 12), "     1.52296");
        assert_eq!(ours(123_456_789.0, 5, 12), "123456789.00000");
        assert_eq!(ours(2.5, 0, 7), "      2");
        assert_eq!(ours(1.0, 17, 24), "     1.00000000000000000");
    }
}
