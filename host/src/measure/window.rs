//! A window as the engines take it: which cells enter and leave when it moves, and what to keep count of for its measures.
//!
//! A window that moves down one row gains the cell below, and loses the uppermost one, of every *run*: cells of the shape that lie
//! one below the other without a gap. So a shape of any kind costs two cells a run, a square as many runs as it has
//! columns; a shape full of holes costs as much as it has pieces.
//!
//! Of the counts n_i the engines keep up to date what changes by a small step when one of them does: Σ n·ln n in fixed point,
//! Σ n², and how many are not 0. All three are integers, so that nothing depends on their order. Most measures are a formula of these;
//! the others go through the counts, in the order of the classes. Both are what [`Plane`] says:
//!
//! ```text
//! Shannon   H = (F(N) − Σ F(n)) / N, F(n) = n·log2 n, in bits  order 1
//! Classes   ln S                                              order 0
//! Squares   ln (N² / Σ n²)                                    order 2
//! Most      ln (N / max n)                                    order ∞
//! Power     ln (Σ n^α / N^α) / (1 − α)                        other orders, n^α from a table
//! Near      ln (1 + (Σ W(n) − W(N)) / N^α) / (1 − α)          near 1: W(n) = n^α − n from a table
//! Steep     α/(1 − α)·ln (m/N) + ln (Σ (n/m)^α) / (1 − α)     where n^α is beyond an f64: m = max n, ln n from a table
//! ```
//!
//! Near order 1 numerator and denominator of the formula both go to 0, and the sum's rounding would be all that is left; Σ W(n) and
//! W(N) go there with 1 − α, and so do their roundings.

use std::f64::consts::LN_2;

use super::fixed::table_bits;
use super::{Base, Edge, Footprint, Measure, logs};
use crate::grid::GridView;

/// What entropies in nats are multiplied by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scales {
    /// Shannon's.
    pub shannon: f64,
    /// Rényi's.
    pub renyi: f64,
}

impl Scales {
    /// For results in units of `base`; Shannon's over the logarithm of `normalize` levels, where that is given.
    pub fn new(base: Base, normalize: Option<usize>) -> Self {
        let renyi = 1.0 / base.ln();
        // The logarithm of 1 level is 0, and so is every entropy.
        let shannon = normalize.map_or(renyi, |levels| 1.0 / (levels.max(2) as f64).ln());
        Self { shannon, renyi }
    }
}

/// Cells of the shape that lie one below the other: rows `first..=last` of column `col`, from its upper left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub col: u16,
    pub first: u16,
    pub last: u16,
}

/// Cells that lie side by side: `len` from (`row`, `col`) on, counted from the centre.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub row: isize,
    pub col: isize,
    pub len: usize,
}

impl Stretch {
    /// Its cells that lie inside the grid, for windows in row `y` from column `x` on: with `L` windows, `L` − 1 more than the stretch has.
    #[inline(always)]
    pub fn clipped<'a, C, const L: usize>(&self, cells: GridView<'a, C>, y: usize, x: usize) -> &'a [C] {
        match y.checked_add_signed(self.row) {
            Some(row) if row < cells.rows() => {
                let first = x as isize + self.col;
                let inside = |at: isize| at.clamp(0, cells.cols() as isize) as usize;
                &cells.row(row)[inside(first)..inside(first + (self.len + L - 1) as isize)]
            }
            _ => &[],
        }
    }
}

/// The least rectangle that holds the window's cells: its first and last row and column, counted from the centre.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reach {
    pub top: isize,
    pub bottom: isize,
    pub left: isize,
    pub right: isize,
}

/// What a result is a function of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Quantity {
    /// Shannon's entropy.
    Shannon,
    /// Shannon's entropy over ln S.
    Evenness,
    /// 1 − Σ p².
    Simpson,
    /// S.
    Classes,
    /// 1 / Σ p².
    Squares,
    /// 1 / max p.
    Most,
    /// Rényi's entropy by a table of n^α.
    Power,
    /// By a table of n^α − n.
    Near,
    /// By a table of ln n.
    Steep,
}

/// How one output comes from the counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plane {
    pub quantity: Quantity,
    /// What the entropy in nats (Shannon's: in bits) is multiplied by; `None` where its exponential is asked for. Evenness and Simpson take
    /// no notice.
    pub scale: Option<f64>,
    /// α of [`Quantity::Power`], [`Quantity::Near`] and [`Quantity::Steep`].
    pub order: f64,
    /// Where these have their table in [`Window::orders`].
    pub table: usize,
}

/// What has to be kept up to date with the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Needs {
    /// Σ F(n).
    pub logs: bool,
    /// Σ n².
    pub squares: bool,
    /// How many n are not 0.
    pub classes: bool,
    /// The largest n.
    pub most: bool,
}

/// A window, its measures and their tables.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    footprint: Footprint,
    /// One below the other without a gap.
    pub runs: Vec<Run>,
    /// All cells, row by row.
    pub cells: Vec<Stretch>,
    /// The cells that the window gains when its centre comes here from the row above.
    pub entering: Vec<Stretch>,
    /// The cells that it loses when its centre leaves for the row below.
    pub leaving: Vec<Stretch>,
    pub reach: Reach,
    /// True when there is no result where any of its cells is outside the grid.
    pub complete: bool,
    /// True when there is a result also where the centre has no data.
    pub fill: bool,
    /// The least number of valid cells for which there is a result, at least 1.
    pub least: u32,
    /// How each output comes from the counts.
    pub planes: Vec<Plane>,
    pub needs: Needs,
    /// F(n) in fixed point for every number n of its cells, from 0 on; empty where no plane needs it, and for windows of more than
    /// [`TABULATED`] cells, which [`logs::table`] is for.
    pub logs: Vec<u64>,
    /// What F was multiplied by.
    pub units: f64,
    /// Tables with a number for each of those n, but no more than [`TABULATED`] and 0, one behind the other.
    pub orders: Vec<f64>,
}

/// Numbers of cells up to this are tabulated here.
pub(crate) const TABULATED: usize = u16::MAX as usize;

/// Orders closer than this to 1 go by [`Quantity::Near`].
const NEAR: f64 = 0.125;

/// The largest logarithm that a table of n^α may have in it: e^700 is 1e304.
const LARGEST_LOG: f64 = 700.0;

impl Window {
    /// The window for these measures (at least one) of these scales. `min_valid`, 0 to 1, is the share of its cells that
    /// must be valid. Of the edge it depends only on whether it is [`Edge::Nodata`]: engines clip windows at the edge of what they are
    /// given, and where a grid is extended beyond its edge they are given those cells.
    pub fn new(footprint: Footprint, measures: &[Measure], edge: Edge, min_valid: f64, scales: Scales) -> Self {
        let (rows, cols, count) = (footprint.rows(), footprint.cols(), footprint.count());
        // A division rounds to the nearest: the share of more cells is never rounded to less.
        let least = least(count, |n| n as f64 / count as f64 >= min_valid);
        let mut orders = Vec::new();
        let planes: Vec<Plane> =
            measures.iter().map(|&measure| Plane::of(measure, scales, count, &mut orders)).collect();
        let needed = |quantities: &[Quantity]| planes.iter().any(|plane| quantities.contains(&plane.quantity));
        let needs = Needs {
            logs: needed(&[Quantity::Shannon, Quantity::Evenness]),
            squares: needed(&[Quantity::Simpson, Quantity::Squares]),
            classes: needed(&[Quantity::Classes, Quantity::Evenness]),
            most: needed(&[Quantity::Most]),
        };
        let (logs, units) = match (needs.logs, count <= TABULATED) {
            (true, true) => table_bits(count + 1, count),
            (true, false) => (Vec::new(), logs::units(count)),
            (false, _) => (Vec::new(), 1.0),
        };

        let runs = runs(&footprint);
        let centre = ((rows / 2) as isize, (cols / 2) as isize);
        let [cells, entering, leaving] = if count == rows * cols {
            // Known without a look at every cell, which in a large window takes longer than many a row of results.
            let row = |row: usize| Stretch { row: row as isize - centre.0, col: -centre.1, len: cols };
            [(0..rows).map(row).collect(), vec![row(rows - 1)], vec![row(0)]]
        } else {
            let stretches = |has: &dyn Fn(usize, usize) -> bool| stretches(rows, cols, centre, has);
            let at = |row: usize, col: usize| footprint.contains(row, col);
            let entering = stretches(&|row, col| at(row, col) && (row + 1 == rows || !at(row + 1, col)));
            let leaving = stretches(&|row, col| at(row, col) && (row == 0 || !at(row - 1, col)));
            [stretches(&at), entering, leaving]
        };
        let reach = Reach {
            top: cells.iter().map(|s| s.row).min().unwrap_or(0),
            bottom: cells.iter().map(|s| s.row).max().unwrap_or(0),
            left: cells.iter().map(|s| s.col).min().unwrap_or(0),
            right: cells.iter().map(|s| s.col + s.len as isize - 1).max().unwrap_or(0),
        };
        let complete = edge == Edge::Nodata;
        let least = least as u32;
        let fill = false;
        Self {
            footprint,
            runs,
            cells,
            entering,
            leaving,
            reach,
            complete,
            fill,
            least,
            planes,
            needs,
            logs,
            units,
            orders,
        }
    }

    /// The same with results also where the centre has no data, or without.
    pub fn fill(self, fill: bool) -> Self {
        Self { fill, ..self }
    }

    /// Shannon's entropy in a square, times `scale`. Panics for a size that is none.
    pub fn shannon(size: usize, scale: f64) -> Self {
        let footprint = Footprint::square(size).expect("a window's size");
        Self::new(footprint, &[Measure::Shannon], Edge::Shrink, 0.0, Scales { shannon: scale, renyi: scale })
    }

    /// Its shape.
    pub fn footprint(&self) -> &Footprint {
        &self.footprint
    }

    /// Whether Σ n·log n, Σ n² and how many classes there are is all that measures need of the counts.
    pub fn comes_from_sums(&self) -> bool {
        let of_counts = [Quantity::Most, Quantity::Power, Quantity::Near, Quantity::Steep];
        !self.planes.iter().any(|plane| of_counts.contains(&plane.quantity))
    }

    /// True when there is a result wherever the centre is valid, whatever else is, and nowhere else.
    pub fn is_unconditional(&self) -> bool {
        !self.complete && !self.fill && self.least == 1
    }
}

impl Plane {
    /// For windows of up to `count` cells; its table goes behind `orders`.
    fn of(measure: Measure, scales: Scales, count: usize, orders: &mut Vec<f64>) -> Self {
        let (scale, order) = match measure {
            Measure::Shannon => (Some(scales.shannon), 1.0),
            Measure::Richness => (None, 0.0),
            Measure::Renyi(order) => (Some(scales.renyi), order),
            Measure::Hill(order) => (None, order),
            Measure::Simpson => return Self { quantity: Quantity::Simpson, scale: None, order: 2.0, table: 0 },
            Measure::Evenness => return Self { quantity: Quantity::Evenness, scale: None, order: 1.0, table: 0 },
        };
        let quantity = if order == 0.0 {
            Quantity::Classes
        } else if order == 1.0 {
            Quantity::Shannon
        } else if order == 2.0 {
            Quantity::Squares
        } else if order == f64::INFINITY {
            Quantity::Most
        } else if (order - 1.0).abs() < NEAR {
            Quantity::Near
        } else if order * (count as f64).ln() < LARGEST_LOG {
            Quantity::Power
        } else {
            Quantity::Steep
        };
        let mut table = 0;
        if matches!(quantity, Quantity::Near | Quantity::Power | Quantity::Steep) {
            table = orders.len();
            orders.extend((0..=count.min(TABULATED)).map(|n| term(quantity, order, n)));
        }
        // In bits nothing is left to be multiplied by, not even a rounded 1.
        let of_bits = |scale: f64| if scale == 1.0 / LN_2 { 1.0 } else { scale * LN_2 };
        let scale = if quantity == Quantity::Shannon { scale.map(of_bits) } else { scale };
        Self { quantity, scale, order, table }
    }
}

/// What a class of `n` cells adds to the sum that a quantity is a formula of, where that has a table.
pub(crate) fn term(quantity: Quantity, order: f64, n: usize) -> f64 {
    let count = n as f64;
    match quantity {
        // A class that does not occur adds nothing.
        _ if n == 0 => 0.0,
        Quantity::Near => count * ((order - 1.0) * count.ln()).exp_m1(),
        Quantity::Power => count.powf(order),
        _ => count.ln(),
    }
}

/// The least number from 1 to `count` that is `enough`, as all above it are; the one behind them where none is.
fn least(count: usize, enough: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (1, count + 1);
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// The runs of a shape, column by column.
fn runs(footprint: &Footprint) -> Vec<Run> {
    if footprint.count() == footprint.rows() * footprint.cols() {
        let last = (footprint.rows() - 1) as u16;
        return (0..footprint.cols() as u16).map(|col| Run { col, first: 0, last }).collect();
    }
    let mut runs = Vec::new();
    for col in 0..footprint.cols() {
        let mut first = None;
        for row in 0..=footprint.rows() {
            let inside = row < footprint.rows() && footprint.contains(row, col);
            match first {
                None if inside => first = Some(row),
                Some(start) if !inside => {
                    runs.push(Run { col: col as u16, first: start as u16, last: (row - 1) as u16 });
                    first = None;
                }
                _ => {}
            }
        }
    }
    runs
}

/// The cells of `rows` × `cols` that `has` knows, row by row, cells side by side in one piece.
fn stretches(
    rows: usize,
    cols: usize,
    (centre_row, centre_col): (isize, isize),
    has: &dyn Fn(usize, usize) -> bool,
) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for row in 0..rows {
        for col in (0..cols).filter(|&col| has(row, col)) {
            let (row, col) = (row as isize - centre_row, col as isize - centre_col);
            match stretches.last_mut() {
                Some(last) if last.row == row && last.col + last.len as isize == col => last.len += 1,
                _ => stretches.push(Stretch { row, col, len: 1 }),
            }
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(rows: usize, cols: usize, picture: &str, measures: &[Measure], min_valid: f64) -> Window {
        let footprint = Footprint::new(rows, cols, picture.chars().map(|c| c == '#').collect()).unwrap();
        Window::new(footprint, measures, Edge::Shrink, min_valid, Scales::new(Base::E, None))
    }

    #[test]
    fn a_shape_gains_and_loses_the_ends_of_its_runs() {
        let window = window(3, 5, "##.#.#.###...##", &[Measure::Richness], 0.0);
        let run = |col, first, last| Run { col, first, last };
        assert_eq!(
            window.runs,
            [run(0, 0, 1), run(1, 0, 0), run(2, 1, 1), run(3, 0, 2), run(4, 1, 2)],
            "{:?}",
            window.runs
        );
        let at = |row, col, len| Stretch { row, col, len };
        assert_eq!(window.cells, [at(-1, -2, 2), at(-1, 1, 1), at(0, -2, 1), at(0, 0, 3), at(1, 1, 2)]);
        assert_eq!(window.leaving, [at(-1, -2, 2), at(-1, 1, 1), at(0, 0, 1), at(0, 2, 1)]);
        assert_eq!(window.entering, [at(-1, -1, 1), at(0, -2, 1), at(0, 0, 1), at(1, 1, 2)]);
        assert_eq!(window.reach, Reach { top: -1, bottom: 1, left: -2, right: 2 });
        assert_eq!(window.footprint().count(), 9);
        let square = Window::new(
            Footprint::square(255).unwrap(),
            &[Measure::Shannon],
            Edge::Nodata,
            0.0,
            Scales::new(Base::E, None),
        );
        assert_eq!((square.runs.len(), square.entering.len(), square.cells.len()), (255, 1, 255));
        assert!(square.complete && square.footprint().count() == 65_025);
        // A rectangle is as if its cells had been looked at.
        let whole = self::window(3, 5, &"#".repeat(15), &[Measure::Richness], 0.0);
        let all = |row: usize, col: usize| row < 3 && col < 5;
        assert_eq!(whole.cells, stretches(3, 5, (1, 2), &all));
        assert_eq!(whole.entering, stretches(3, 5, (1, 2), &|row, _| row == 2));
        assert_eq!(whole.leaving, stretches(3, 5, (1, 2), &|row, _| row == 0));
        assert_eq!(whole.runs, [0, 1, 2, 3, 4].map(|col| run(col, 0, 2)));
    }

    /// A share that is a ratio of whole numbers asks for exactly as many cells, whatever its product rounds to.
    #[test]
    fn the_share_that_must_be_valid_is_rounded_up_and_not_beyond() {
        let least = |cells: usize, share| window(1, cells, &"#".repeat(cells), &[Measure::Richness], share).least;
        assert_eq!([0.0, 0.1, 0.5, 0.51, 1.0, 1.1].map(|share| least(5, share)), [1, 1, 3, 3, 5, 6]);
        for cells in [25, 49, 99] {
            for n in 1..=cells {
                assert_eq!(least(cells, n as f64 / cells as f64) as usize, n, "{n} of {cells}");
            }
        }
    }

    #[test]
    fn every_order_goes_by_the_formula_that_is_right_for_it() {
        use Quantity::*;
        let of = |order| {
            let window = window(1, 25, &"#".repeat(25), &[Measure::Richness, Measure::Renyi(order)], 0.0);
            let plane = window.planes[1];
            assert_eq!(window.orders.len(), if matches!(plane.quantity, Power | Near | Steep) { 26 } else { 0 });
            plane.quantity
        };
        let orders =
            [0.0, 1e-9, 0.5, 0.874, 0.876, 1.0, 1.0000001, 1.124, 1.126, 2.0, 2.5, 217.0, 218.0, f64::INFINITY];
        let formulas =
            [Classes, Power, Power, Power, Near, Shannon, Near, Near, Power, Squares, Power, Power, Steep, Most];
        assert_eq!(orders.map(of), formulas);
    }

    #[test]
    fn only_what_measures_need_is_kept() {
        let needs = |measures: &[Measure]| {
            let window = window(1, 3, "###", measures, 0.0);
            assert_eq!(window.needs.logs, !window.logs.is_empty());
            (window.needs.logs, window.needs.squares, window.needs.classes)
        };
        assert_eq!(needs(&[Measure::Renyi(0.5), Measure::Hill(f64::INFINITY)]), (false, false, false));
        assert_eq!(needs(&[Measure::Shannon]), (true, false, false));
        assert_eq!(needs(&[Measure::Evenness]), (true, false, true));
        assert_eq!(needs(&[Measure::Hill(2.0), Measure::Richness]), (false, true, true));
    }
}
