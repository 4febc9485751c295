//! One measure alone whose formula is short: from counts to results without a loop, by kernels of their own.
//!
//! Any measures take a loop over a lane's four windows and one over planes, since the formulas are large and may have logarithms and exponentials in them:
//! counts then wait in shared memory, and each result is stored by itself. The measures asked for most are a quotient of whole numbers, or Shannon's entropy
//! and what is left is another quotient. Written out they keep counts in registers, four windows' divisions are under way at once, and a lane's results go out
//! in one access.
//!
//! Every operation that rounds is one of [`Formulas::result`], so that the bits are the same.

use core::f64::consts::LN_2;

use simt::global::{In, Out};
use simt::math::{divide_f64, ln_f64};
use simt::scalar::Scalar;
use simt::{constant, kernel, unroll};

use super::counters::{Counts as _, Packed, Steps};
use super::logs::{self, Logs};
use super::measures::{Given, measuring};
use super::rules::Rules;
use super::strip::{Finish, Frame, Windows};
use super::sums::Sums;
use crate::entropy::formula::{
    Formulas, MEASURES_CLASSES, MEASURES_NUMBER, MEASURES_SHANNON, MEASURES_SIMPSON, Stored,
};
use crate::entropy::store_doubles;

constant! {
    /// ln S for S up to 16.
    static COLUMNS_LN: [f64; 17] = LN;
}

const LN: [f64; 17] = {
    let (mut ln, mut classes) = ([0.0; 17], 0);
    while classes < 17 {
        ln[classes] = ln_f64(classes as f64);
        classes += 1;
    }
    ln
};

/// Results of four neighbouring windows.
trait Row: Stored {
    /// Stores them from element `at` on, which is a multiple of 4, in memory aligned to 16 bytes.
    fn store(out: Out<Self>, at: usize, values: [Self; 4]);
}

impl Row for f32 {
    #[inline(always)]
    fn store(out: Out<f32>, at: usize, values: [f32; 4]) {
        out.store4(at, values);
    }
}

impl Row for f64 {
    #[inline(always)]
    fn store(out: Out<f64>, at: usize, values: [f64; 4]) {
        store_doubles(out, true, at, values);
    }
}

/// The formula, and what it needs.
#[derive(Clone, Copy)]
struct Quick<R: Scalar> {
    formula: u32,
    scale: f64,
    rules: Rules,
    out: Out<R>,
}

impl<R: Row> Quick<R> {
    /// For the only plane.
    #[inline(always)]
    fn new(formulas: &Formulas, rules: Rules, out: Out<R>) -> Self {
        Self { formula: formulas.formula(0), scale: formulas.scale(0), rules, out }
    }

    /// The results of four windows, from their cells and counts.
    #[inline(always)]
    fn row(self, windows: &Windows<'_>, mut counts: Packed, steps: &[Steps; 4], value: impl Fn(u32, &[u32; 8]) -> f64) {
        let (rules, mut values) = (self.rules.of_row(windows), [R::NAN; 4]);
        unroll!(K in 3 2 1 0 => {
            let total = windows.cells(K as u32, &counts);
            let value = R::of(value(total, &counts.0));
            values[K] = if rules.has_result(windows, K as u32, total) { value } else { R::NAN };
            counts.subtract(&steps[K]);
        });
        R::store(self.out, windows.at, values);
    }
}

/// Quotients of whole numbers.
#[derive(Clone, Copy)]
struct Quotients<R: Scalar>(Quick<R>);

impl<R: Row> Finish<Packed> for Quotients<R> {
    #[inline(always)]
    fn row(self, windows: &Windows<'_>, counts: Packed, steps: &[Steps; 4]) {
        let Self(quick) = self;
        // The same for all lanes, and asked once a row.
        if quick.formula == MEASURES_CLASSES + MEASURES_NUMBER {
            quick.row(windows, counts, steps, |_, counts| f64::from(Sums(*counts).classes()));
            return;
        }
        let is_simpson = quick.formula == MEASURES_SIMPSON + MEASURES_NUMBER;
        quick.row(windows, counts, steps, |total, counts| {
            // At most the square of 65,025, which 32 bits hold.
            let (all, squares) = (total * total, Sums(*counts).squares());
            let (of, by) = if is_simpson { (all - squares, all) } else { (all, squares) };
            divide_f64(f64::from(of), f64::from(by))
        });
    }
}

/// Shannon's entropy, or evenness.
#[derive(Clone, Copy)]
struct Entropies<R: Scalar, const NEAR: bool> {
    quick: Quick<R>,
    logs: Logs<NEAR>,
    /// F in units of the table's entries.
    unit: f64,
}

impl<R: Row, const NEAR: bool> Entropies<R, NEAR> {
    /// In bits.
    #[inline(always)]
    fn bits(&self, total: u32, counts: &[u32; 8]) -> f64 {
        divide_f64(self.logs.rest(total, counts) as f64 * self.unit, f64::from(total.max(1)))
    }
}

impl<R: Row, const NEAR: bool> Finish<Packed> for Entropies<R, NEAR> {
    #[inline(always)]
    fn row(self, windows: &Windows<'_>, counts: Packed, steps: &[Steps; 4]) {
        let Self { quick, .. } = self;
        if quick.formula == MEASURES_SHANNON {
            // As in the formula: 0 times something negative is −0.
            quick.row(windows, counts, steps, |total, counts| self.bits(total, counts) * quick.scale + 0.0);
            return;
        }
        quick.row(windows, counts, steps, |total, counts| {
            let classes = Sums(*counts).classes();
            let evenness = divide_f64(self.bits(total, counts) * LN_2, constant::load::<COLUMNS_LN>(classes));
            if classes == 1 { 0.0 } else { evenness }
        });
    }
}

#[inline(always)]
fn quotients<R: Row>(frame: &Frame, heads: In<u32>, out: Out<R>, given: Given) {
    if frame.begin < frame.end {
        frame.march_with::<_, Packed, true>(heads, Quotients(Quick::new(&given.formulas, given.rules, out)));
    }
}

#[inline(always)]
fn entropies<R: Row>(frame: &Frame, heads: In<u32>, out: Out<R>, given: Given) {
    let Given { table, entries, copies, formulas, rules, unit, .. } = given;
    let near = logs::copied(table, entries, copies);
    if frame.begin >= frame.end {
        return;
    }
    let quick = Quick::new(&formulas, rules, out);
    macro_rules! march {
        ($near:literal) => {{
            let logs: Logs<$near> = Logs::new(near, table, copies);
            frame.march_with::<_, Packed, true>(heads, Entropies { quick, logs, unit })
        }};
    }
    if copies > 0 { march!(true) } else { march!(false) }
}

measuring! {
    /// [`entropy_columns_measures`](fn@super::entropy_columns_measures) where there is one plane, and its formula is
    /// [`MEASURES_SIMPSON`](crate::entropy::MEASURES_SIMPSON), or [`MEASURES_CLASSES`](crate::entropy::MEASURES_CLASSES) or
    /// [`MEASURES_SQUARES`](crate::entropy::MEASURES_SQUARES), each with [`MEASURES_NUMBER`](crate::entropy::MEASURES_NUMBER). The table is not read.
    ///
    /// # Safety
    /// As [`entropy_columns_measures`](fn@super::entropy_columns_measures); besides, `out` is aligned to 16 bytes and `out_stride` is a multiple of 4 and at
    /// least `cols` rounded up to one.
    entropy_columns_quotients, f32, quotients
}

measuring! {
    /// [`entropy_columns_quotients`](fn@entropy_columns_quotients) with f64 results.
    ///
    /// # Safety
    /// As [`entropy_columns_quotients`](fn@entropy_columns_quotients).
    entropy_columns_quotients_f64, f64, quotients
}

measuring! {
    /// [`entropy_columns_measures`](fn@super::entropy_columns_measures) where there is one plane, and its formula is
    /// [`MEASURES_SHANNON`](crate::entropy::MEASURES_SHANNON), or [`MEASURES_EVENNESS`](crate::entropy::MEASURES_EVENNESS) with
    /// [`MEASURES_NUMBER`](crate::entropy::MEASURES_NUMBER).
    ///
    /// # Safety
    /// As [`entropy_columns_quotients`](fn@entropy_columns_quotients).
    entropy_columns_entropies, f32, entropies
}

measuring! {
    /// [`entropy_columns_entropies`](fn@entropy_columns_entropies) with f64 results.
    ///
    /// # Safety
    /// As [`entropy_columns_quotients`](fn@entropy_columns_quotients).
    entropy_columns_entropies_f64, f64, entropies
}
