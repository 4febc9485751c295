//! From counts and sums to results, by the formulas of [`measure::window`](crate::measure::window).
//!
//! Several windows at a time, so that the choice of a formula is made once for them and their divisions go side by side. A formula is a
//! loop of its own.

use std::f64::consts::LN_2;
use std::ops::Range;

use super::single;
use super::slide::Counts;
use super::tables::Tables;
use crate::cpu::count::Count;
use crate::cpu::few::{is_few, mark};
use crate::measure::window::{Plane, Quantity, TABULATED, Window, term};
use crate::numbers::Real;

/// What is known of some windows beside their counts, a number a window. Nodata is not in it. Where the window's measures do not need
/// a sum it may be empty.
#[derive(Debug, Clone, Copy)]
pub struct Counted<'a> {
    /// N, the valid cells.
    pub total: &'a [u32],
    /// Σ F(n) in fixed point.
    pub logs: Logs<'a>,
    /// Σ n².
    pub squares: &'a [u64],
    /// How many n are not 0: in windows of more than 255 × 255 cells 65,536 may be.
    pub classes: &'a [u32],
    /// The largest n.
    pub most: &'a [u32],
}

impl Counted<'_> {
    /// That of some of the windows.
    #[inline(always)]
    pub fn part(&self, windows: Range<usize>) -> Self {
        Self {
            total: &self.total[windows.clone()],
            logs: match self.logs {
                Logs::Single(sums) => Logs::Single(&sums[windows.clone()]),
                Logs::Double(sums) => Logs::Double(sums.get(windows.clone()).unwrap_or_default()),
            },
            squares: self.squares.get(windows.clone()).unwrap_or_default(),
            classes: self.classes.get(windows.clone()).unwrap_or_default(),
            most: self.most.get(windows).unwrap_or_default(),
        }
    }
}

/// Sums of F(n), of which as many bits count as [`Tables::mask`] says.
#[derive(Debug, Clone, Copy)]
pub enum Logs<'a> {
    /// In 32 bits.
    Single(&'a [u32]),
    /// In 64 bits.
    Double(&'a [u64]),
}

/// What results are rounded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// f32.
    Single,
    /// f64.
    Double,
}

impl Precision {
    /// Of a type of results.
    pub fn of<T: Real>() -> Self {
        if size_of::<T>() == 4 { Self::Single } else { Self::Double }
    }
}

/// The results of a plane; anything where a window has no valid cell. Of `counts` the first `levels` are looked at, and only by the
/// formulas that need them ([`needs_counts`]). Entries of tables are looked up for `AT_ONCE` windows together: as many as there are, where
/// they are few.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn finish<H: Histogram, const AT_ONCE: usize>(
    plane: &Plane,
    window: &Window,
    tables: &Tables,
    counted: &Counted<'_>,
    counts: &[H],
    levels: usize,
    values: &mut [f64],
    precision: Precision,
) {
    let Counted { total, logs: _, squares, classes, most } = *counted;
    match plane.quantity {
        Quantity::Shannon => {
            entropy::<AT_ONCE>(tables, counted, values, precision);
            match plane.scale {
                Some(scale) => values.iter_mut().for_each(|value| *value *= scale),
                None => {
                    values.iter_mut().for_each(|value| *value *= LN_2);
                    match precision {
                        Precision::Single => single::exponentials(values),
                        Precision::Double => values.iter_mut().for_each(|value| *value = value.exp()),
                    }
                }
            }
        }
        Quantity::Evenness => {
            entropy::<AT_ONCE>(tables, counted, values, precision);
            for (values, classes) in values.chunks_mut(AT_ONCE).zip(classes.chunks(AT_ONCE)) {
                let mut looked_up = [1.0; AT_ONCE];
                match precision {
                    Precision::Single => {
                        tables.evenness(classes, &mut looked_up);
                        // Sums of 32 bits may be off to either side.
                        values.iter_mut().zip(&looked_up).for_each(|(value, &each)| *value = (*value * each).min(1.0));
                    }
                    Precision::Double => {
                        looked_up.iter_mut().zip(classes).for_each(|(to, &classes)| *to = tables.ln(classes));
                        for ((value, &classes), &largest) in values.iter_mut().zip(classes).zip(&looked_up) {
                            let evenness = *value * LN_2 / largest;
                            *value = if classes == 1 { 0.0 } else { evenness };
                        }
                    }
                }
            }
        }
        // The difference is exact, so one class gives exactly 0.
        Quantity::Simpson => {
            for ((value, &total), &squares) in values.iter_mut().zip(total).zip(squares) {
                let all = u64::from(total) * u64::from(total);
                *value = all.wrapping_sub(squares).cast_signed() as f64 / all.cast_signed() as f64;
            }
        }
        Quantity::Classes => match plane.scale {
            Some(scale) => values.iter_mut().zip(classes).for_each(|(value, &n)| *value = tables.ln(n) * scale),
            None => values.iter_mut().zip(classes).for_each(|(value, &n)| *value = f64::from(n)),
        },
        Quantity::Squares => {
            for ((value, &total), &squares) in values.iter_mut().zip(total).zip(squares) {
                *value = f64::from(total) * f64::from(total) / squares.cast_signed() as f64;
            }
            number(plane, values, precision);
        }
        Quantity::Most => {
            for ((value, &total), &most) in values.iter_mut().zip(total).zip(most) {
                *value = f64::from(total) / f64::from(most);
            }
            number(plane, values, precision);
        }
        Quantity::Power | Quantity::Near | Quantity::Steep => {
            for ((value, &total), counts) in values.iter_mut().zip(total).zip(counts) {
                let entropy = renyi(plane, window, total, counts, levels);
                *value = plane.scale.map_or_else(|| entropy.exp(), |scale| entropy * scale);
            }
        }
    }
    if tables.few > 0 && matches!(plane.quantity, Quantity::Shannon | Quantity::Evenness) {
        for (value, &total) in values.iter_mut().zip(total) {
            *value = if is_few(tables.few, total as usize) { mark() } else { *value };
        }
    }
}

/// Whether a quantity is no formula of what [`Counted`] has, so that the counts are gone through one by one.
pub fn needs_counts(quantity: Quantity) -> bool {
    matches!(quantity, Quantity::Power | Quantity::Near | Quantity::Steep)
}

/// From numbers of classes to what the plane wants.
#[inline(always)]
fn number(plane: &Plane, values: &mut [f64], precision: Precision) {
    match (plane.scale, precision) {
        (Some(scale), Precision::Single) => single::logarithms(values, scale),
        (Some(scale), Precision::Double) => values.iter_mut().for_each(|value| *value = value.ln() * scale),
        (None, _) => {}
    }
}

/// Shannon's entropy in bits.
#[inline(always)]
fn entropy<const AT_ONCE: usize>(tables: &Tables, counted: &Counted<'_>, values: &mut [f64], precision: Precision) {
    match counted.logs {
        Logs::Single(sums) => entropy_of::<_, AT_ONCE>(tables, counted.total, sums, values, precision),
        Logs::Double(sums) => entropy_of::<_, AT_ONCE>(tables, counted.total, sums, values, precision),
    }
}

/// What is rounded to an f32 is multiplied by an inverse in place of a division.
#[inline(always)]
fn entropy_of<S: Copy + Into<u64>, const AT_ONCE: usize>(
    tables: &Tables,
    totals: &[u32],
    sums: &[S],
    values: &mut [f64],
    precision: Precision,
) {
    let entry = |total: u32| tables.entry(total as usize);
    // The difference is below 2^63, and signed numbers are converted by one instruction.
    let difference = |full: u64, sum: S| (full.wrapping_sub(sum.into()) & tables.mask).cast_signed() as f64;
    let divisor = |total: u32| tables.units * f64::from(total.cast_signed());
    for ((values, totals), sums) in values.chunks_mut(AT_ONCE).zip(totals.chunks(AT_ONCE)).zip(sums.chunks(AT_ONCE)) {
        let first = totals[0];
        // Most windows lie inside the grid and have all of their cells.
        if AT_ONCE > 4 && totals.iter().fold(true, |same, &total| same & (total == first)) {
            let (full, divisor) = (entry(first), divisor(first));
            let values = values.iter_mut().zip(sums);
            match precision {
                Precision::Single => {
                    let inverse = 1.0 / divisor;
                    values.for_each(|(value, &sum)| *value = difference(full, sum) * inverse);
                }
                Precision::Double => values.for_each(|(value, &sum)| *value = difference(full, sum) / divisor),
            }
            continue;
        }
        // A loop that looks things up is not vectorised: looked up first.
        let mut full = [0; AT_ONCE];
        full.iter_mut().zip(totals).for_each(|(full, &total)| *full = entry(total));
        for (((value, &total), &sum), &full) in values.iter_mut().zip(totals).zip(sums).zip(&full) {
            *value = match precision {
                Precision::Single => difference(full, sum) * (1.0 / divisor(total)),
                Precision::Double => difference(full, sum) / divisor(total),
            };
        }
    }
}

/// The count of the most frequent class.
pub fn most<C: Count>(counts: &[C]) -> u32 {
    counts.iter().copied().fold(C::default(), C::max).into()
}

/// Σ f(n) over the counts, f(0) being 0: one after another, because a sum of f64 depends on its order, and where tiles number their classes anew only
/// the order of those that occur stays what it is.
#[inline(always)]
fn sum<C: Count>(counts: &[C], f: impl Fn(usize) -> f64) -> f64 {
    counts.iter().fold(0.0, |sum, n| sum + f(n.index()))
}

/// The counts of a window's classes, for the formulas that go through them.
pub trait Histogram {
    /// Σ f(n) over the first `levels`, f(0) being 0.
    fn sum(&self, levels: usize, f: impl Fn(usize) -> f64) -> f64;

    /// The largest of the first `levels`.
    fn most(&self, levels: usize) -> usize;
}

impl<C: Count> Histogram for Counts<C> {
    #[inline(always)]
    fn sum(&self, levels: usize, f: impl Fn(usize) -> f64) -> f64 {
        sum(&self[..levels], f)
    }

    #[inline(always)]
    fn most(&self, levels: usize) -> usize {
        most(&self[..levels]) as usize
    }
}

/// Rényi's entropy in nats of an order that has a table.
fn renyi(plane: &Plane, window: &Window, total: u32, counts: &impl Histogram, levels: usize) -> f64 {
    let (order, table) = (plane.order, &window.orders[plane.table..]);
    let table = &table[..table.len().min(TABULATED + 1)];
    // Of a window of more cells than the table has, few classes have as many.
    let at = |n: usize| match table.get(n) {
        Some(&term) => term,
        None => term(plane.quantity, order, n),
    };
    let n = total as usize;
    let entropy = match plane.quantity {
        Quantity::Near => {
            let beyond = counts.sum(levels, at) - at(n);
            (beyond / (f64::from(total) + at(n))).ln_1p() / (1.0 - order)
        }
        Quantity::Steep => {
            let most = counts.most(levels);
            let share = |n| if n == 0 { 0.0 } else { (order * (at(n) - at(most))).exp() };
            let shares = counts.sum(levels, share);
            order / (1.0 - order) * (at(most) - at(n)) + shares.ln() / (1.0 - order)
        }
        _ => (counts.sum(levels, at) / at(n)).ln() / (1.0 - order),
    };
    // 0 over something negative is −0: say 0.
    entropy + 0.0
}
