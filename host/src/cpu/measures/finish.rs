//! From counts and sums to results, by the formulas of [`measure::window`](crate::measure::window).
//!
//! Several columns at a time, so that the choice of a formula is made once for them and their divisions go side by side.

use std::f64::consts::LN_2;

use super::slide::Counts;
use super::tables::Tables;
use crate::measure::window::{Plane, Quantity, Window};

/// What is known of `L` windows beside their counts. Nodata is not in it.
#[derive(Debug, Clone, Copy)]
pub struct Counted<const L: usize> {
    /// N, the valid cells.
    pub total: [u32; L],
    /// Σ F(n) in fixed point.
    pub logs: [u64; L],
    /// Σ n².
    pub squares: [u32; L],
    /// How many n are not 0.
    pub classes: [u32; L],
    /// The largest n.
    pub most: [u32; L],
}

/// The results of a plane for `L` windows; anything where a window has no valid cell. Of `counts` the first `levels` are looked
/// at, and only by the formulas that need them ([`goes_through`]).
#[inline(always)]
pub fn finish<const L: usize>(
    plane: &Plane,
    window: &Window,
    tables: &Tables,
    counted: &Counted<L>,
    counts: &[Counts],
    levels: usize,
) -> [f64; L] {
    let total = counted.total.map(f64::from);
    match plane.quantity {
        Quantity::Shannon => match plane.scale {
            Some(scale) => entropy(window, tables, counted).map(|bits| bits * scale),
            None => entropy(window, tables, counted).map(|bits| (bits * LN_2).exp()),
        },
        Quantity::Evenness => {
            let entropy = entropy(window, tables, counted);
            std::array::from_fn(|j| match counted.classes[j] {
                1 => 0.0,
                classes => entropy[j] * LN_2 / tables.ln(classes),
            })
        }
        // The difference is exact, so one class gives exactly 0.
        Quantity::Simpson => std::array::from_fn(|j| {
            let all = u64::from(counted.total[j]) * u64::from(counted.total[j]);
            all.wrapping_sub(u64::from(counted.squares[j])).cast_signed() as f64 / all.cast_signed() as f64
        }),
        Quantity::Classes => match plane.scale {
            Some(scale) => counted.classes.map(|classes| tables.ln(classes) * scale),
            None => counted.classes.map(f64::from),
        },
        Quantity::Squares => {
            number(plane, std::array::from_fn(|j| total[j] * total[j] / f64::from(counted.squares[j])))
        }
        Quantity::Most => number(plane, std::array::from_fn(|j| total[j] / f64::from(counted.most[j]))),
        Quantity::Power | Quantity::Near | Quantity::Steep => {
            in_unit(plane, std::array::from_fn(|j| renyi(plane, window, counted.total[j], &counts[j][..levels])))
        }
    }
}

/// Whether a quantity is no formula of what [`Counted`] has, so that the counts are gone through one by one.
pub fn goes_through(quantity: Quantity) -> bool {
    matches!(quantity, Quantity::Power | Quantity::Near | Quantity::Steep)
}

/// Entropies in nats as the plane wants them.
#[inline(always)]
fn in_unit<const L: usize>(plane: &Plane, entropies: [f64; L]) -> [f64; L] {
    match plane.scale {
        Some(scale) => entropies.map(|entropy| entropy * scale),
        None => entropies.map(f64::exp),
    }
}

/// Numbers of classes as the plane wants them.
#[inline(always)]
fn number<const L: usize>(plane: &Plane, classes: [f64; L]) -> [f64; L] {
    match plane.scale {
        Some(scale) => classes.map(|classes| classes.ln() * scale),
        None => classes,
    }
}

/// Shannon's entropy in bits.
#[inline(always)]
fn entropy<const L: usize>(window: &Window, tables: &Tables, counted: &Counted<L>) -> [f64; L] {
    std::array::from_fn(|j| {
        // Below 2^16 wherever there is a result.
        let full = tables.logs.f[counted.total[j] as usize & 0xffff];
        // The difference is below 2^63, and signed numbers are converted by one instruction.
        full.wrapping_sub(counted.logs[j]).cast_signed() as f64 / (window.units * f64::from(counted.total[j]))
    })
}

/// The count of the most frequent class.
pub fn most(counts: &[u16]) -> u16 {
    counts.iter().copied().fold(0, u16::max)
}

/// Σ f(n) over the counts, f(0) being 0. Four sums side by side, always the same ones: a sum of f64 depends on its order, and
/// one alone would wait for itself.
#[inline(always)]
fn sum(counts: &[u16], f: impl Fn(usize) -> f64) -> f64 {
    let (pieces, rest) = counts.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for piece in pieces {
        for i in 0..4 {
            sums[i] += f(usize::from(piece[i]));
        }
    }
    for (sum, &n) in sums.iter_mut().zip(rest) {
        *sum += f(usize::from(n));
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// Rényi's entropy in nats of an order that has a table.
fn renyi(plane: &Plane, window: &Window, total: u32, counts: &[u16]) -> f64 {
    let (order, table) = (plane.order, &window.orders[plane.table..]);
    let at = |n: usize| table.get(n).copied().unwrap_or(0.0);
    let n = total as usize;
    let entropy = match plane.quantity {
        Quantity::Near => {
            let beyond = sum(counts, at) - at(n);
            (beyond / (f64::from(total) + at(n))).ln_1p() / (1.0 - order)
        }
        Quantity::Steep => {
            let most = usize::from(most(counts));
            let share = |n| if n == 0 { 0.0 } else { (order * (at(n) - at(most))).exp() };
            let shares = sum(counts, share);
            order / (1.0 - order) * (at(most) - at(n)) + shares.ln() / (1.0 - order)
        }
        _ => (sum(counts, at) / at(n)).ln() / (1.0 - order),
    };
    // 0 over something negative is −0: say 0.
    entropy + 0.0
}
