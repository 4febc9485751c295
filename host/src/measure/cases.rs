//! The table of cases that every engine for measures goes through, and the comparison with the oracle.

use super::window::{Scales, Window};
use super::{Base, Edge, Footprint, Measure};
use crate::grid::{Grid, GridView};
use crate::reference::{Windows, measures, measures_at};

/// A grid, a window and what is asked.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub name: String,
    pub cells: Grid<u8>,
    pub footprint: Footprint,
    pub levels: usize,
    pub nodata: Option<u8>,
    pub fill: bool,
    pub min_valid: f64,
    /// [`Edge::Shrink`] or [`Edge::Nodata`].
    pub edge: Edge,
    pub base: Base,
    pub normalize: bool,
    pub measures: Vec<Measure>,
}

impl Case {
    pub fn window(&self) -> Window {
        let scales = Scales::new(self.base, self.normalize.then_some(self.levels));
        Window::new(self.footprint.clone(), &self.measures, self.edge, self.min_valid, scales).fill(self.fill)
    }

    fn windows(&self) -> Windows<'_> {
        Windows {
            edge: self.edge,
            nodata: self.nodata,
            fill: self.fill,
            min_valid: self.min_valid,
            base: self.base,
            normalize: self.normalize.then_some(self.levels),
            ..Windows::of(&self.footprint)
        }
    }

    pub fn expected(&self) -> Vec<Grid<f64>> {
        measures(self.cells.view(), &self.windows(), &self.measures)
    }

    /// Cells that a sliding histogram looks at, roughly.
    pub fn updates(&self) -> usize {
        let cells = self.cells.rows() * self.cells.cols();
        2 * cells * self.window().runs.len() + self.cells.cols() * self.footprint.count()
    }

    /// Panics when `got` is not what the oracle says.
    pub fn compare<T: Copy + Into<f64>>(&self, m: usize, got: GridView<'_, T>, expected: &Grid<f64>) {
        for (row, col) in (0..got.rows()).flat_map(|row| (0..got.cols()).map(move |col| (row, col))) {
            self.compare_at(m, got, (row, col), expected.row(row)[col]);
        }
    }

    /// The same for one cell.
    fn compare_at<T: Copy + Into<f64>>(
        &self,
        m: usize,
        got: GridView<'_, T>,
        (row, col): (usize, usize),
        expected: f64,
    ) {
        let measure = self.measures[m];
        let within = if size_of::<T>() == 8 { 1e-12 } else { 2e-6 };
        let got: f64 = got.row(row)[col].into();
        let error = (got - expected).abs();
        let fine = match measure {
            _ if expected.is_nan() => got.is_nan(),
            _ if expected == 0.0 => got.to_bits() == 0,
            Measure::Richness => got == expected,
            Measure::Hill(_) => error <= within * expected,
            _ => error <= within,
        };
        assert!(fine, "{measure} at ({row}, {col}): got {got}, want {expected}; {}", self.name);
    }

    /// Panics when results of all measures are not what the oracle says of some cells: of a grid that is too large for all of them.
    pub fn compare_some<T: Copy + Into<f64>>(&self, got: &[Grid<T>]) {
        let (rows, cols) = (self.cells.rows(), self.cells.cols());
        let windows = self.windows();
        for i in (0..rows * cols).step_by((rows * cols / 40).max(1)).chain([rows * cols - 1]) {
            let at = (i / cols, i % cols);
            let expected = measures_at(self.cells.view(), &windows, &self.measures, at.0, at.1);
            for (m, expected) in expected.into_iter().enumerate() {
                self.compare_at(m, got[m].view(), at, expected);
            }
        }
    }
}

/// A small generator of our own (xorshift), so that cases never change.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }
}

/// Which cells are nodata.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Hole {
    None,
    Scattered(u8),
    /// All but one in some thirty.
    Most(u8),
    All(u8),
    Centre(u8),
}

/// Random cells, in patches, so that windows of one class occur too.
fn cells((rows, cols): (usize, usize), levels: usize, hole: Hole) -> Grid<u8> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (rows * 1000 + cols) as u64);
    Grid::from_fn(rows, cols, |r, c| {
        let patch = (r / 9 * 7 + c / 9) % 3;
        let level = if patch == 0 { (r / 9 + c / 9) as u64 } else { random.next() };
        let scattered = random.next().is_multiple_of(4);
        match hole {
            Hole::Scattered(value) if scattered => value,
            Hole::Most(value) if !random.next().is_multiple_of(32) => value,
            Hole::All(value) => value,
            Hole::Centre(value) if (r, c) == (rows / 2, cols / 2) => value,
            _ => (level % levels as u64) as u8,
        }
    })
    .unwrap()
}

fn drawn(picture: &[&str]) -> Footprint {
    let cells = picture.iter().flat_map(|row| row.chars().map(|c| c == '#')).collect();
    Footprint::new(picture.len(), picture[0].len(), cells).unwrap()
}

/// Windows by name.
fn footprints() -> Vec<(&'static str, Footprint)> {
    let solid = |rows, cols| Footprint::new(rows, cols, vec![true; rows * cols]).unwrap();
    let mut random = Random(77);
    let holes = (0..11 * 9).map(|_| random.next().is_multiple_of(2)).collect();
    vec![
        ("one cell", solid(1, 1)),
        ("3 x 3", solid(3, 3)),
        ("5 x 5", solid(5, 5)),
        ("1 x 9", solid(1, 9)),
        ("9 x 1", solid(9, 1)),
        ("21 x 21", solid(21, 21)),
        ("disk 7", Footprint::disk(7).unwrap()),
        ("disk 21", Footprint::disk(21).unwrap()),
        ("asymmetric", drawn(&["#......", "###....", "#####..", "..####.", "...##.."])),
        ("below and to the right", drawn(&[".......", ".......", ".......", "....#..", ".....##"])),
        ("neighbours", drawn(&[".#.", "#.#", ".#."])),
        ("ring", drawn(&["..###..", ".#####.", "##...##", "##...##", "##...##", ".#####.", "..###.."])),
        ("full of holes", Footprint::new(11, 9, holes).unwrap()),
        ("comb", Footprint::new(7, 7, (0..49).map(|i| i % 2 == 0).collect()).unwrap()),
    ]
}

/// Every measure, and orders for every formula.
pub(crate) fn all_measures() -> Vec<Measure> {
    use Measure::*;
    let mut all = vec![Shannon, Simpson, Richness, Evenness];
    for order in [0.0, 0.3, 0.95, 1.0, 1.000_000_001, 1.6, 2.0, 3.0, 400.0, 1e300, f64::INFINITY] {
        all.extend([Renyi(order), Hill(order)]);
    }
    all
}

/// Case number `n`, of all measures.
fn case(
    n: usize,
    (name, footprint): &(&str, Footprint),
    shape: (usize, usize),
    levels: usize,
    hole: Hole,
    min_valid: f64,
    edge: Edge,
) -> Case {
    let nodata = match hole {
        Hole::None => None,
        Hole::Scattered(value) | Hole::Most(value) | Hole::All(value) | Hole::Centre(value) => Some(value),
    };
    // Every other one, where it makes a difference.
    let fill = nodata.is_some() && n % 2 == 1;
    Case {
        name: format!(
            "case {n}: {name}, {shape:?}, {levels} levels, {hole:?}, {}, {min_valid} valid, {edge}",
            if fill { "filled" } else { "not filled" }
        ),
        cells: cells(shape, levels, hole),
        footprint: footprint.clone(),
        levels,
        nodata,
        fill,
        min_valid,
        edge,
        // Units and normalising everywhere, rather than in cases of their own.
        base: [Base::E, Base::Two, Base::Ten][n % 3],
        normalize: n % 4 == 3,
        measures: all_measures(),
    }
}

/// The cases.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |window: &(&str, Footprint), shape, levels, hole, min_valid, edge| {
        cases.push(case(cases.len(), window, shape, levels, hole, min_valid, edge));
    };
    let windows = footprints();
    for window in &windows {
        for shape in [(1, 1), (1, 23), (23, 1), (2, 3), (13, 40)] {
            add(window, shape, 7, Hole::None, 0.0, Edge::Shrink);
            add(window, shape, 3, Hole::Scattered(1), 0.5, Edge::Shrink);
        }
        for (hole, min_valid, edge) in [
            (Hole::None, 0.0, Edge::Nodata),
            (Hole::None, 1.0, Edge::Shrink),
            (Hole::Scattered(200), 0.0, Edge::Shrink),
            (Hole::Scattered(16), 0.5, Edge::Nodata),
            (Hole::Scattered(3), 1.0, Edge::Shrink),
            (Hole::All(5), 0.0, Edge::Shrink),
            (Hole::Centre(255), 1.0, Edge::Shrink),
            (Hole::Centre(0), 0.0, Edge::Shrink),
        ] {
            add(window, (17, 29), 16, hole, min_valid, edge);
        }
        add(window, (20, 37), 2, Hole::None, 0.0, Edge::Shrink);
        add(window, (20, 37), 256, Hole::Scattered(255), 0.3, Edge::Shrink);
        add(window, (20, 37), 1, Hole::Scattered(255), 0.3, Edge::Shrink);
    }
    for cols in [126, 127, 128, 129, 130, 131, 511, 512, 513, 516] {
        add(&windows[2], (7, cols), 6, Hole::Scattered(9), 0.2, Edge::Shrink);
        add(&windows[8], (7, cols), 6, Hole::None, 0.0, Edge::Shrink);
    }
    for rows in [31, 32, 33, 257] {
        add(&windows[6], (rows, 9), 5, Hole::Scattered(9), 0.2, Edge::Shrink);
    }
    let large = |rows, cols| Footprint::new(rows, cols, vec![true; rows * cols]).unwrap();
    for (name, footprint) in [
        ("255 x 255", large(255, 255)),
        ("disk 255", Footprint::disk(255).unwrap()),
        ("3 x 255", large(3, 255)),
        ("disk 61", Footprint::disk(61).unwrap()),
    ] {
        add(&(name, footprint.clone()), (23, 50), 256, Hole::None, 0.0, Edge::Shrink);
        add(&(name, footprint), (20, 45), 20, Hole::Scattered(7), 0.02, Edge::Shrink);
    }
    // Few valid cells in windows that may have many: sums whose unit goes by the largest window are too coarse for those.
    for (name, footprint) in [("disk 61", Footprint::disk(61).unwrap()), ("63 x 63", large(63, 63))] {
        for _ in 0..2 {
            add(&(name, footprint.clone()), (66, 70), 20, Hole::Most(7), 0.0, Edge::Shrink);
        }
    }
    cases
}

/// Windows of more than 255 rows or columns: beyond the grid on all sides; over two of its edges; and within it, of more cells than 16 bits
/// count.
pub(crate) fn large() -> Vec<Case> {
    let solid = |rows, cols| Footprint::new(rows, cols, vec![true; rows * cols]).unwrap();
    let gap = (0..401 * 401).map(|i: usize| (i / 401).abs_diff(200) > 2).collect();
    let windows = [
        ("257 x 257", solid(257, 257)),
        ("1001 x 1001", solid(1001, 1001)),
        ("disk 301", Footprint::disk(301).unwrap()),
        ("3 x 601", solid(3, 601)),
        ("601 x 3", solid(601, 3)),
        ("4095 x 1", solid(4095, 1)),
        ("401 x 401 without its middle", Footprint::new(401, 401, gap).unwrap()),
    ];
    let mut cases = Vec::new();
    for window in &windows {
        for (shape, levels, hole, min_valid, edge) in [
            ((11, 19), 16, Hole::None, 0.0, Edge::Shrink),
            ((17, 9), 256, Hole::Scattered(7), 0.0, Edge::Shrink),
            ((9, 605), 20, Hole::Scattered(200), 0.0001, Edge::Shrink),
            ((605, 4), 3, Hole::Centre(2), 0.0, Edge::Nodata),
            ((1, 1), 1, Hole::None, 1.0, Edge::Shrink),
        ] {
            cases.push(case(cases.len(), window, shape, levels, hole, min_valid, edge));
        }
    }
    for (window, levels, hole) in [(0, 5, Hole::Scattered(3)), (0, 1, Hole::None), (2, 40, Hole::Scattered(3))] {
        cases.push(case(cases.len(), &windows[window], (304, 303), levels, hole, 0.0, Edge::Shrink));
    }
    cases
}
