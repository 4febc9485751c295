//! From a window's counts to measures: the formulas, for every kernel that measures.
//!
//! Results are computed in f64, for either type of output: counting takes hundreds of steps, and a result a few
//! divisions and logarithms. Each output is a *plane* of [`MEASURES_WORDS`] words: which formula, and its constants.

use core::f64::consts::LN_2;

use simt::global::In;
use simt::math::{exp_f64, ln_f64};
use simt::scalar::Scalar;

/// Words of a plane: its formula (one of the numbers below, and [`MEASURES_NUMBER`]), the bits of the scale, the bits of the order
/// α, and where its table begins.
pub const MEASURES_WORDS: u32 = 4;
/// Added to a formula for the exponential of its result.
pub const MEASURES_NUMBER: u32 = 16;
/// (F(N) − Σ F(n)) / N, in bits.
pub const MEASURES_SHANNON: u32 = 0;
/// The same in nats over ln S.
pub const MEASURES_EVENNESS: u32 = 1;
/// 1 − Σ n² / N².
pub const MEASURES_SIMPSON: u32 = 2;
/// ln S.
pub const MEASURES_CLASSES: u32 = 3;
/// ln (N² / Σ n²).
pub const MEASURES_SQUARES: u32 = 4;
/// ln (N / max n).
pub const MEASURES_MOST: u32 = 5;
/// ln (Σ n^α / N^α) / (1 − α), the table holding n^α.
pub const MEASURES_POWER: u32 = 6;
/// ln (1 + (Σ W(n) − W(N)) / N^α) / (1 − α), the table holding W(n) = n^α − n.
pub const MEASURES_NEAR: u32 = 7;
/// α/(1 − α)·ln (m/N) + ln (Σ (n/m)^α) / (1 − α) with m = max n, the table holding ln n.
pub const MEASURES_STEEP: u32 = 8;

/// A rule of [`entropy_measures`](fn@super::entropy_measures): no result where a cell of the window is outside the grid.
pub const MEASURES_COMPLETE: u32 = 1;
/// Another: a result also where the centre is nodata.
pub const MEASURES_FILL: u32 = 2;
/// The type of the stored results.
pub trait Stored: Scalar {
    const NAN: Self;
    fn of(value: f64) -> Self;
}

impl Stored for f32 {
    const NAN: f32 = f32::NAN;
    #[inline(always)]
    fn of(value: f64) -> f32 {
        value as f32
    }
}

impl Stored for f64 {
    const NAN: f64 = f64::NAN;
    #[inline(always)]
    fn of(value: f64) -> f64 {
        value
    }
}

/// The sums of a window beside its counts.
#[derive(Clone, Copy)]
pub struct Counted {
    /// N, at least 1.
    pub total: u32,
    /// How many n are not 0.
    pub classes: u32,
    /// Σ n².
    pub squares: u32,
    /// Shannon's entropy in bits, where that is kept.
    pub bits: f64,
}

/// The counts themselves, for formulas that need more than their sums.
pub trait Counts {
    /// The count of the most frequent class.
    fn most(&self) -> u32;
    /// Σ f(n) over all classes, those that do not occur among them.
    fn sum(&self, f: impl Fn(u32) -> f64) -> f64;
}

/// The results of planes.
#[derive(Clone, Copy)]
pub struct Formulas {
    pub planes: In<u64>,
    pub orders: In<f64>,
    /// How many.
    pub count: u32,
}

impl Formulas {
    /// Word `i` of plane `p`.
    #[inline(always)]
    fn word(&self, p: u32, i: u32) -> u64 {
        self.planes.load((p * MEASURES_WORDS + i) as usize)
    }

    /// The formula of plane `p`.
    #[inline(always)]
    pub fn formula(&self, p: u32) -> u32 {
        self.word(p, 0) as u32
    }

    /// The scale of plane `p`.
    #[inline(always)]
    pub fn scale(&self, p: u32) -> f64 {
        f64::from_bits(self.word(p, 1))
    }

    /// The result of plane `p`.
    #[inline(always)]
    pub fn result(&self, p: u32, counted: &Counted, counts: &impl Counts) -> f64 {
        let (formula, scale, order) = (self.formula(p), self.scale(p), f64::from_bits(self.word(p, 2)));
        let table = self.word(p, 3) as usize;
        let at = |n: u32| self.orders.load(table + n as usize);
        let &Counted { total, classes, squares, bits } = counted;
        let (number, formula) = (formula >= MEASURES_NUMBER, formula % MEASURES_NUMBER);
        let n = f64::from(total);
        if formula == MEASURES_SIMPSON {
            // The difference is exact, so one class gives exactly 0.
            let all = u64::from(total) * u64::from(total);
            return all.wrapping_sub(u64::from(squares)) as f64 / all as f64;
        }
        let most = if formula == MEASURES_MOST || formula == MEASURES_STEEP { counts.most() } else { 1 };
        let mut sum = 0.0;
        if formula == MEASURES_STEEP {
            sum = counts.sum(|n| if n > 0 { exp_f64(order * (at(n) - at(most))) } else { 0.0 });
        } else if formula >= MEASURES_POWER {
            sum = counts.sum(at);
        }
        // The logarithm's argument, its factor, and a summand. One logarithm for all formulas keeps the kernel small.
        let rest = 1.0 - order;
        let (of, times, plus) = match formula {
            MEASURES_EVENNESS | MEASURES_CLASSES => (f64::from(classes), 1.0, 0.0),
            MEASURES_SQUARES => (n * n / f64::from(squares), 1.0, 0.0),
            MEASURES_MOST => (n / f64::from(most), 1.0, 0.0),
            MEASURES_POWER => (sum / at(total), 1.0 / rest, 0.0),
            MEASURES_STEEP => (sum, 1.0 / rest, order / rest * (at(most) - at(total))),
            MEASURES_NEAR => {
                let x = (sum - at(total)) / (n + at(total));
                // 1 + x is rounded; ln(1 + x) / x changes so slowly that it may be taken at the rounded place.
                let near = 1.0 + x;
                if near == 1.0 { (1.0, 0.0, x / rest) } else { (near, x / (near - 1.0) / rest, 0.0) }
            }
            _ => (1.0, 0.0, if number { bits * LN_2 } else { bits }),
        };
        if number && (MEASURES_CLASSES..=MEASURES_MOST).contains(&formula) {
            return of;
        }
        let value = ln_f64(of) * times + plus;
        if formula == MEASURES_EVENNESS {
            return if classes == 1 { 0.0 } else { bits * LN_2 / value };
        }
        // 0 times something negative is −0: adding 0 makes it 0.
        if number { exp_f64(value) } else { value * scale + 0.0 }
    }
}
