//! Floating-point instructions: those of the special-function unit, which are fast and not correctly rounded, and the
//! multiply-add that is rounded once. Rust never contracts `a * b + c`, so a kernel asks for it by name.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

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
