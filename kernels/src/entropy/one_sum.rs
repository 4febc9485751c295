//! Measures that come from one sum of integers over a window's counts: what the kernels on the tensor cores compute.
//!
//! A table has Q(n) for each count n, and a kernel adds up R = Q(N) − Σ Q(n_i), modulo 2^32. Results are short formulas of R and of a *norm*, which depends on N:
//!
//! | measure | Q(n) | norm | result |
//! |---|---|---|---|
//! | Shannon's entropy | F(n) in units of 1/S | scale / N | R · norm |
//! | its exponential | the same | the same in bits | 2^(R · norm) |
//! | richness | −1, and 0 for 0 | 1 | R · norm + 1 |
//! | Simpson's diversity | n² | N² | R / norm |
//! | Hill's number of order 2 | n² | N² | norm / (norm − R) |
//! | evenness | 16·F(n) − 1, and 0 for 0 | the same in bits | ⌊R / 16⌋ · norm / log2 S, and S is R modulo 16, and 1 |
//!
//! N² is at most 961² and so an f32, and quotients are rounded as a division rounds them: Simpson's diversity, richness and Hill's number have the bits that the
//! formulas in f64 give. Evenness needs two sums; since S is at most 16, the lower four bits of the same words have room for the second. Kernels that take up to
//! 48 classes, sixteen at a time, keep six bits for it, and multiply F by 64.

use simt::math::{exp2_fast, fused_multiply_add, log2_fast, reciprocal_fast};

/// Shannon's entropy.
pub const ONE_SUM_SHANNON: u32 = 0;
/// Simpson's diversity.
pub const ONE_SUM_SIMPSON: u32 = 1;
/// Hill's number of order 2.
pub const ONE_SUM_SQUARES: u32 = 2;
/// Evenness.
pub const ONE_SUM_EVENNESS: u32 = 3;
/// The exponential of Shannon's entropy.
pub const ONE_SUM_EXPONENTIAL: u32 = 4;
/// Richness.
pub const ONE_SUM_RICHNESS: u32 = 5;
/// The lower bits of the words of [`ONE_SUM_EVENNESS`], which count classes.
pub const ONE_SUM_CLASSES: u32 = 4;
/// The same where there may be more than 16 classes.
pub const ONE_SUM_MANY_CLASSES: u32 = 6;
/// Where there are more than 16 classes, the place in a kernel's `formula` from which on how many groups of 16 it takes stands.
pub const ONE_SUM_GROUPS: u32 = 8;

/// A formula and its constant; all lanes have the same one. With `SHANNON` the formula is that, known when a kernel is compiled.
#[derive(Clone, Copy)]
pub struct OneSum {
    pub formula: u32,
    /// What 1/N is multiplied by for the norm; where the norm is no multiple of that, 0.
    pub scale: f32,
    /// [`ONE_SUM_CLASSES`] or [`ONE_SUM_MANY_CLASSES`].
    pub class_bits: u32,
}

impl OneSum {
    /// A formula of up to 16 classes.
    #[inline(always)]
    pub fn new(formula: u32, scale: f32) -> Self {
        Self { formula, scale, class_bits: ONE_SUM_CLASSES }
    }

    /// The same of more classes, and how many groups of 16 there are, from what a kernel is given for both.
    #[inline(always)]
    pub fn grouped(formula: u32, scale: f32) -> (Self, u32) {
        let groups = formula >> ONE_SUM_GROUPS;
        (Self { formula: formula & 0xFF, scale, class_bits: ONE_SUM_MANY_CLASSES }, groups)
    }

    /// The one of both that a formula is for: of one group where it says nothing of groups.
    #[inline(always)]
    pub fn of_formula(formula: u32, scale: f32) -> (Self, u32) {
        if formula >> ONE_SUM_GROUPS > 0 { Self::grouped(formula, scale) } else { (Self::new(formula, scale), 1) }
    }

    /// The norm of windows by Q(N) and the reciprocal of N; it is not a number where that is not, or infinite.
    #[inline(always)]
    pub fn norm<const SHANNON: bool>(&self, all: u32, inverse: f32) -> f32 {
        let scaled = inverse * self.scale;
        match self.formula {
            _ if SHANNON => scaled,
            ONE_SUM_SIMPSON | ONE_SUM_SQUARES => scaled + all as f32,
            ONE_SUM_RICHNESS => scaled + 1.0,
            _ => scaled,
        }
    }

    /// Results of four windows.
    #[inline(always)]
    pub fn results<const SHANNON: bool>(&self, sums: [u32; 4], norms: [f32; 4]) -> [f32; 4] {
        macro_rules! each {
            (|$sum:ident, $norm:ident| $result:expr) => {{
                let one = |$sum: u32, $norm: f32| $result;
                let ([a, b, c, d], [e, f, g, h]) = (sums, norms);
                [one(a, e), one(b, f), one(c, g), one(d, h)]
            }};
        }
        match self.formula {
            _ if SHANNON => each!(|sum, norm| sum as f32 * norm),
            ONE_SUM_SHANNON => each!(|sum, norm| sum as f32 * norm),
            ONE_SUM_RICHNESS => each!(|sum, norm| fused_multiply_add(sum as f32, norm, 1.0)),
            ONE_SUM_SIMPSON => each!(|sum, norm| divide(sum as f32, norm)),
            // Both are whole numbers below 2^24: the difference is exact.
            ONE_SUM_SQUARES => each!(|sum, norm| divide(norm, norm - sum as f32)),
            ONE_SUM_EVENNESS => each!(|sum, norm| evenness(sum, norm, self.class_bits)),
            _ => each!(|sum, norm| exp2_fast(sum as f32 * norm)),
        }
    }

    /// Those of windows whose N² may be above 2^24, by Q(N) besides: Hill's number then takes Σ n² as the integer that it is.
    #[inline(always)]
    pub fn results_of_large(&self, sums: [u32; 4], alls: [u32; 4], norms: [f32; 4]) -> [f32; 4] {
        if self.formula == ONE_SUM_SQUARES {
            let one = |i: usize| divide(norms[i], alls[i].wrapping_sub(sums[i]) as f32);
            return [one(0), one(1), one(2), one(3)];
        }
        self.results::<false>(sums, norms)
    }
}

/// a / b as a division rounds it, of numbers whose quotient and remainders need no care for what is very large or small.
#[inline(always)]
fn divide(a: f32, b: f32) -> f32 {
    let near = reciprocal_fast(b);
    let inverse = fused_multiply_add(fused_multiply_add(-b, near, 1.0), near, near);
    let quotient = a * inverse;
    // The remainder is exact. Once makes the quotient one of the two next to what is right, twice the nearer one.
    let quotient = fused_multiply_add(fused_multiply_add(-b, quotient, a), inverse, quotient);
    fused_multiply_add(fused_multiply_add(-b, quotient, a), inverse, quotient)
}

#[inline(always)]
fn evenness(sum: u32, norm: f32, class_bits: u32) -> f32 {
    let classes = (sum & ((1 << class_bits) - 1)) + 1;
    // Of one class both are 0: it is 0 over anything.
    let largest = log2_fast(classes as f32).max(0.5);
    let value = (sum >> class_bits) as f32 * norm * reciprocal_fast(largest);
    // Approximations may be above it by a unit of the last place. What is not a number stays so.
    if value > 1.0 { 1.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_rounded_as_those_of_a_division() {
        for n in 1..=961u32 {
            let all = n * n;
            for rest in (0..all).step_by(1 + n as usize / 3) {
                let (a, b) = (rest as f32, all as f32);
                assert_eq!(divide(a, b), a / b, "{a} / {b}");
                let (a, b) = (all as f32, (all - rest) as f32);
                assert_eq!(divide(a, b), a / b, "{a} / {b}");
            }
        }
    }

    #[test]
    fn evenness_is_0_for_one_class_and_at_most_1() {
        for bits in [ONE_SUM_CLASSES, ONE_SUM_MANY_CLASSES] {
            assert_eq!(evenness(0, 1.0 / 25.0, bits), 0.0);
            assert!(evenness(0, f32::NAN, bits).is_nan());
            assert_eq!(evenness(1001 << bits | 1, 1e-3, bits), 1.0);
        }
    }
}
