//! From counts and sums to results, by the formulas of [`measure::window`](crate::measure::window).
//!
//! Several columns at a time, so that the choice of a formula is made once for them and their divisions go side by side.

use std::f64::consts::LN_2;

use super::slide::Counts;
use crate::measure::window::{Plane, Quantity, Window};

/// What is known of a window beside its counts. Nodata is not in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counted {
    /// N, the valid cells.
    pub total: u32,
    /// Σ F(n) in fixed point.
    pub logs: u64,
    /// Σ n².
    pub squares: u32,
    /// How many n are not 0.
    pub classes: u32,
}

/// The results of a plane for `L` windows; anything where a window has no valid cell. `counts` are theirs, of which the first
/// `levels` are looked at.
pub fn finish<const L: usize>(
    plane: &Plane,
    window: &Window,
    counted: &[Counted; L],
    counts: &[Counts; L],
    levels: usize,
) -> [f64; L] {
    let each = |j: usize| &counts[j][..levels];
    let total = counted.map(|counted| f64::from(counted.total));
    match plane.quantity {
        Quantity::Shannon => match plane.scale {
            Some(scale) => entropy(window, counted).map(|bits| bits * scale),
            None => entropy(window, counted).map(|bits| (bits * LN_2).exp()),
        },
        Quantity::Evenness => {
            let entropy = entropy(window, counted);
            std::array::from_fn(|j| match counted[j].classes {
                1 => 0.0,
                classes => entropy[j] * LN_2 / f64::from(classes).ln(),
            })
        }
        // The difference is exact, so one class gives exactly 0.
        Quantity::Simpson => counted.map(|Counted { total, squares, .. }| {
            let all = u64::from(total) * u64::from(total);
            all.wrapping_sub(u64::from(squares)).cast_signed() as f64 / all.cast_signed() as f64
        }),
        Quantity::Classes => number(plane, counted.map(|counted| f64::from(counted.classes))),
        Quantity::Squares => {
            number(plane, std::array::from_fn(|j| total[j] * total[j] / f64::from(counted[j].squares)))
        }
        Quantity::Most => number(plane, std::array::from_fn(|j| total[j] / f64::from(most(each(j))))),
        Quantity::Power | Quantity::Near | Quantity::Steep => {
            in_unit(plane, std::array::from_fn(|j| renyi(plane, window, counted[j].total, each(j))))
        }
    }
}

/// Entropies in nats as the plane wants them.
fn in_unit<const L: usize>(plane: &Plane, entropies: [f64; L]) -> [f64; L] {
    match plane.scale {
        Some(scale) => entropies.map(|entropy| entropy * scale),
        None => entropies.map(f64::exp),
    }
}

/// Numbers of classes as the plane wants them.
fn number<const L: usize>(plane: &Plane, classes: [f64; L]) -> [f64; L] {
    match plane.scale {
        Some(scale) => classes.map(|classes| classes.ln() * scale),
        None => classes,
    }
}

/// Shannon's entropy in bits.
#[inline(always)]
fn entropy<const L: usize>(window: &Window, counted: &[Counted; L]) -> [f64; L] {
    counted.map(|Counted { total, logs, .. }| {
        let full = window.logs.get(total as usize).copied().unwrap_or(0);
        // The difference is below 2^63, and signed numbers are converted by one instruction.
        full.wrapping_sub(logs).cast_signed() as f64 / (window.units * f64::from(total))
    })
}

/// The count of the most frequent class.
fn most(counts: &[u16]) -> u16 {
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
