//! From counts and sums to a result, by the formulas of [`measure::window`](crate::measure::window).

use crate::measure::window::{Plane, Quantity, Window};

/// What is known of a window beside its counts. Nodata is not in it.
pub struct Counted {
    /// Cells that are nodata.
    pub nodata: u16,
    /// N, the valid cells.
    pub total: u32,
    /// Σ F(n) in fixed point, nodata's count included: that is still to be taken away.
    pub logs: u64,
    /// Σ n².
    pub squares: u32,
    /// How many n are not 0.
    pub classes: u32,
}

/// The result of a plane; at least one cell is valid. `counts` are those of the levels.
#[inline(always)]
pub fn finish(plane: &Plane, window: &Window, counted: &Counted, counts: &[u16]) -> f64 {
    let n = f64::from(counted.total);
    match (plane.quantity, plane.scale) {
        (Quantity::Shannon, Some(scale)) => entropy(window, counted) * scale,
        (Quantity::Shannon, None) => entropy(window, counted).exp(),
        (Quantity::Evenness, _) if counted.classes == 1 => 0.0,
        (Quantity::Evenness, _) => entropy(window, counted) / f64::from(counted.classes).ln(),
        // The difference is exact, so one class gives exactly 0.
        (Quantity::Simpson, _) => {
            let all = u64::from(counted.total).pow(2);
            all.wrapping_sub(u64::from(counted.squares)) as f64 / all as f64
        }
        (Quantity::Classes, scale) => number(f64::from(counted.classes), scale),
        (Quantity::Squares, scale) => number(n * n / f64::from(counted.squares), scale),
        (Quantity::Most, scale) => number(n / f64::from(most(counts)), scale),
        (Quantity::Power | Quantity::Near | Quantity::Steep, Some(scale)) => {
            renyi(plane, window, counted, counts) * scale
        }
        (Quantity::Power | Quantity::Near | Quantity::Steep, None) => renyi(plane, window, counted, counts).exp(),
    }
}

/// A number of classes, or its logarithm.
fn number(classes: f64, scale: Option<f64>) -> f64 {
    scale.map_or(classes, |scale| classes.ln() * scale)
}

/// Shannon's entropy in nats.
fn entropy(window: &Window, counted: &Counted) -> f64 {
    let at = |n: usize| window.logs.get(n).copied().unwrap_or(0);
    let sum = counted.logs.wrapping_sub(at(usize::from(counted.nodata)));
    at(counted.total as usize).wrapping_sub(sum) as f64 / (window.units * f64::from(counted.total))
}

/// The count of the most frequent class.
fn most(counts: &[u16]) -> u16 {
    counts.iter().copied().fold(0, u16::max)
}

/// Rényi's entropy in nats of an order that has a table. The counts are gone through in their order: sums of f64 depend on it.
fn renyi(plane: &Plane, window: &Window, counted: &Counted, counts: &[u16]) -> f64 {
    let (order, table) = (plane.order, &window.orders[plane.table..]);
    let at = |n: usize| table.get(n).copied().unwrap_or(0.0);
    let n = counted.total as usize;
    let sum = |f: &dyn Fn(u16) -> f64| counts.iter().map(|&n| f(n)).sum::<f64>();
    let entropy = match plane.quantity {
        Quantity::Near => {
            let beyond = sum(&|n| at(usize::from(n))) - at(n);
            (beyond / (f64::from(counted.total) + at(n))).ln_1p() / (1.0 - order)
        }
        Quantity::Steep => {
            let most = usize::from(most(counts));
            let shares = sum(&|n| if n == 0 { 0.0 } else { (order * (at(usize::from(n)) - at(most))).exp() });
            order / (1.0 - order) * (at(most) - at(n)) + shares.ln() / (1.0 - order)
        }
        _ => (sum(&|n| at(usize::from(n))) / at(n)).ln() / (1.0 - order),
    };
    // 0 over something negative is −0: say 0.
    entropy + 0.0
}
