//! The oracle: moving-window Shannon entropy, and the other measures, straight from their definitions, in f64.
//!
//! For every cell: count each value inside the window clipped to the grid, N = Σ n, and
//! H = −Σ (n/N)·ln(n/N). Nothing is shared between cells, nothing is tabulated, nothing is
//! parallel; bytes and 16-bit words are counted alike. It is meant to be obviously right; every engine is compared with it and none calls it.
//! [`measures`] does the same for windows of any shape, any treatment of the edge and any measure.

use crate::codes::Code;
use crate::grid::{Grid, GridView};
use crate::measure::{Base, Edge, Footprint, Measure};

/// Entropy in nats of the `size` × `size` window (odd) around every cell, clipped at the border.
///
/// Cells equal to `nodata` are not counted; where the centre itself is nodata the result is NaN.
/// Source: C. E. Shannon, A Mathematical Theory of Communication, 1948, section 6.
///
/// ```
/// use halotile::{grid::GridView, reference};
/// let cells = [1u8, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6, 4, 5, 6, 7];
/// let h = reference::entropy(GridView::new(&cells, 4, 4)?, 5, None);
/// // The window of cell (0, 1) holds 12 cells: one 1, two 2s, three 3s, three 4s, two 5s, one 6.
/// assert_eq!(format!("{:.5}", h.row(0)[1]), "1.70455");
/// # Ok::<(), halotile::grid::ShapeError>(())
/// ```
pub fn entropy<C: Code>(cells: GridView<'_, C>, size: usize, nodata: Option<C>) -> Grid<f64> {
    Grid::from_fn(cells.rows(), cells.cols(), |row, col| entropy_at(cells, size, nodata, row, col))
        .expect("a view has at least one row and one column")
}

/// The same for the one cell at (`row`, `col`), both from 0.
///
/// Panics outside the grid, and for an even `size`.
pub fn entropy_at<C: Code>(cells: GridView<'_, C>, size: usize, nodata: Option<C>, row: usize, col: usize) -> f64 {
    assert!(size % 2 == 1, "a window has an odd size, not {size}");
    let (rows, cols, r) = (cells.rows(), cells.cols(), size / 2);
    if Some(cells.row(row)[col]) == nodata {
        return f64::NAN;
    }
    let mut counts = Counts::default();
    for y in row.saturating_sub(r)..(row + r + 1).min(rows) {
        for &value in &cells.row(y)[col.saturating_sub(r)..(col + r + 1).min(cols)] {
            if Some(value) != nodata {
                counts.add(value);
            }
        }
    }
    let Counts(count) = counts;
    let total: u32 = count.iter().sum();
    let mut h = 0.0;
    for n in count.into_iter().filter(|&n| n > 0) {
        let p = f64::from(n) / f64::from(total);
        h -= p * p.ln();
    }
    // A window of one value sums to −(1·ln 1) = −0: say 0.
    h + 0.0
}

/// How often each value occurs, up to the largest that does: of 16-bit words there may be many more.
#[derive(Default)]
struct Counts(Vec<u32>);

impl Counts {
    fn add(&mut self, value: impl Code) {
        let value = usize::from(value.get());
        if value >= self.0.len() {
            self.0.resize(value + 1, 0);
        }
        self.0[value] += 1;
    }
}

/// How windows are laid over a grid and in what units results come: what [`measures`] is asked beside the measures.
///
/// Made by [`Windows::of`], which sets everything but the shape to its default; the fields are there to be changed.
#[derive(Debug, Clone)]
pub struct Windows<'a, C = u8> {
    /// The window's shape.
    pub footprint: &'a Footprint,
    /// What it sees beyond the edge of the grid.
    pub edge: Edge,
    /// Cells of this value are not counted, and have no result themselves.
    pub nodata: Option<C>,
    /// They have one as well: that of the valid cells around them.
    pub fill: bool,
    /// The share of the window's cells, 0 to 1, that must be valid for there to be a result. It is a share of all cells of the
    /// shape: those beyond the edge of the grid are missing. (At least one cell must be valid even for 0.)
    pub min_valid: f64,
    /// The unit of Shannon's and Rényi's entropies.
    pub base: Base,
    /// The number of levels, to divide Shannon's entropy by its logarithm (by that of 2, where it is 1); the base is out of the
    /// play then.
    pub normalize: Option<usize>,
}

impl<'a, C: Code> Windows<'a, C> {
    /// Windows of this shape, clipped at the border; every cell is valid, one is enough, and results are in nats.
    pub fn of(footprint: &'a Footprint) -> Self {
        Self {
            footprint,
            edge: Edge::Shrink,
            nodata: None,
            fill: false,
            min_valid: 0.0,
            base: Base::E,
            normalize: None,
        }
    }
}

/// Every measure around every cell: a grid a measure, in their order.
///
/// Results are NaN where the centre is nodata (unless it is to be filled), where no cell of the window is valid or less than the share asked for, and with
/// [`Edge::Nodata`] where any cell of the window is beyond the edge. The formulas and their sources are
/// [`Measure`]'s.
///
/// ```
/// use halotile::grid::GridView;
/// use halotile::measure::{Footprint, Measure};
/// use halotile::reference::{Windows, measures};
/// // Two of class 1, one each of 5 and 9; the window of 1 × 7 cells sees them all.
/// let cells = GridView::new(&[1u8, 5, 1, 9], 1, 4)?;
/// let window = Footprint::new(1, 7, vec![true; 7])?;
/// let found = measures(cells, &Windows::of(&window), &[Measure::Richness, Measure::Simpson, Measure::Hill(2.0)]);
/// let here = found.iter().map(|grid| grid.row(0)[0]).collect::<Vec<_>>();
/// // 1 − (1/4 + 1/16 + 1/16), and 1 over what is in the brackets.
/// assert_eq!(here, [3.0, 0.625, 1.0 / 0.375]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn measures<C: Code>(cells: GridView<'_, C>, windows: &Windows<'_, C>, measures: &[Measure]) -> Vec<Grid<f64>> {
    let here = |row, col| measures_at(cells, windows, measures, row, col);
    let all = Grid::from_fn(cells.rows(), cells.cols(), here).expect("a view has at least one row and one column");
    let one = |m: usize| Grid::from_fn(cells.rows(), cells.cols(), |row, col| all.row(row)[col][m]);
    (0..measures.len()).map(|m| one(m).expect("as above")).collect()
}

/// The same for the one cell at (`row`, `col`), both from 0: a number a measure.
///
/// Panics outside the grid.
pub fn measures_at<C: Code>(
    cells: GridView<'_, C>,
    windows: &Windows<'_, C>,
    measures: &[Measure],
    row: usize,
    col: usize,
) -> Vec<f64> {
    let Windows { footprint, edge, nodata, fill, min_valid, base, normalize } = *windows;
    let nothing = vec![f64::NAN; measures.len()];
    if Some(cells.row(row)[col]) == nodata && !fill {
        return nothing;
    }
    let mut counts = Counts::default();
    for r in 0..footprint.rows() {
        for c in (0..footprint.cols()).filter(|&c| footprint.contains(r, c)) {
            let y = edge.seen((row + r) as isize - (footprint.rows() / 2) as isize, cells.rows());
            let x = edge.seen((col + c) as isize - (footprint.cols() / 2) as isize, cells.cols());
            match (y, x) {
                (Some(y), Some(x)) if Some(cells.row(y)[x]) != nodata => counts.add(cells.row(y)[x]),
                (Some(_), Some(_)) => {}
                _ if edge == Edge::Nodata => return nothing,
                _ => {}
            }
        }
    }
    let Counts(count) = counts;
    let total: u32 = count.iter().sum();
    if total == 0 || f64::from(total) / (footprint.count() as f64) < min_valid {
        return nothing;
    }
    let shares: Vec<f64> = count.iter().filter(|&&n| n > 0).map(|&n| f64::from(n) / f64::from(total)).collect();
    let value = |&measure: &Measure| match (measure, normalize) {
        (Measure::Shannon, Some(levels)) => value(measure, &shares) / (levels.max(2) as f64).ln(),
        (Measure::Shannon | Measure::Renyi(_), _) => value(measure, &shares) / base.ln(),
        _ => value(measure, &shares),
    };
    measures.iter().map(value).collect()
}

/// A measure of shares that are above 0 and add up to 1, in nats.
fn value(measure: Measure, shares: &[f64]) -> f64 {
    let entropy = || shares.iter().map(|p| -p * p.ln()).sum::<f64>();
    let classes = shares.len() as f64;
    let value = match measure {
        Measure::Shannon => entropy(),
        Measure::Simpson => 1.0 - shares.iter().map(|p| p * p).sum::<f64>(),
        Measure::Richness => classes,
        Measure::Evenness if shares.len() == 1 => 0.0,
        Measure::Evenness => entropy() / classes.ln(),
        Measure::Renyi(order) => renyi(order, shares),
        Measure::Hill(order) => renyi(order, shares).exp(),
    };
    // One share of 1 gives −0 in places: say 0.
    value + 0.0
}

/// ln(Σ p^α) / (1 − α) in nats, and its limits where that is none.
///
/// Near order 1 both the logarithm and 1 − α go to 0, and Σ p^α − 1 would keep nothing but its rounding; and of a high
/// order every p^α is below the least number there is. So Σ p^α = 1 + Σ p·(p^(α − 1) − 1) near 1, each bracket by the function
/// that is made for it; and with m the largest share, Σ p^α = m^α·Σ (p/m)^α above.
fn renyi(order: f64, shares: &[f64]) -> f64 {
    let most = shares.iter().copied().fold(0.0, f64::max);
    if order == 0.0 {
        (shares.len() as f64).ln()
    } else if order == 1.0 {
        value(Measure::Shannon, shares)
    } else if order == f64::INFINITY {
        -most.ln()
    } else if (order - 1.0).abs() < 0.5 {
        let beyond: f64 = shares.iter().map(|p| p * ((order - 1.0) * p.ln()).exp_m1()).sum();
        beyond.ln_1p() / (1.0 - order)
    } else {
        let sum: f64 = shares.iter().map(|p| (p / most).powf(order)).sum();
        order / (1.0 - order) * most.ln() + sum.ln() / (1.0 - order)
    }
}

#[cfg(test)]
mod tests;
