//! Bits, bytes and halves of words: shifts, permutations, logic operations, and sums of several products at once, all of whole numbers.
//!
//! PTX has each as one instruction, which the compiler does not always choose by itself.

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
        // Written out, as below: kernels do little else, and a loop costs the emulator several times as much.
        let bytes = u64::from(high) << 32 | u64::from(low);
        let byte = |i: u32| {
            let nibble = selector >> (4 * i);
            let byte = (bytes >> (8 * (nibble & 7))) as u8;
            if nibble & 8 == 0 { byte } else { (byte.cast_signed() >> 7).cast_unsigned() }
        };
        u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
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
        let (a, b) = (a.to_le_bytes().map(u32::from), b.to_le_bytes().map(u32::from));
        accumulator.wrapping_add(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3])
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

#[cfg(test)]
mod tests {
    use super::*;

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
