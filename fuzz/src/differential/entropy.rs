//! Entropy and the other measures on the CPU beside the definition.

use halotile::entropy::{Base, Engine, Entropy};
use halotile::grid::{Grid, GridView};
use halotile::measure::{Edge, Footprint, Measure};
use halotile::numbers::Real;
use halotile::reference::{self, Windows};

use super::POOL;
use crate::case::Case;

/// All that a computation depends on.
#[derive(Debug)]
pub struct Question {
    pub cells: Grid<u8>,
    pub levels: usize,
    /// Whether the engine is told how many levels there are.
    pub told: bool,
    pub nodata: Option<u8>,
    pub footprint: Footprint,
    pub edge: Edge,
    pub measures: Vec<Measure>,
    pub base: Base,
    pub normalize: bool,
    pub min_valid: f64,
    pub fill: bool,
}

impl Question {
    /// A question about a grid of at most so many rows and columns, with windows up to `window`.
    ///
    /// A `plain` one, of Shannon's entropy in clipped windows, goes to the fastest engines.
    pub fn draw(case: &mut Case<'_>, (rows, cols): (usize, usize), window: usize, plain: bool) -> Self {
        let (rows, cols) = (case.number(1, rows), case.number(1, cols));
        let levels = case.levels();
        let footprint = case.footprint(window);
        let nodata = case.flip().then(|| case.number(0, levels.min(255)) as u8);
        let (edge, measures) =
            if plain { (Edge::Shrink, vec![Measure::Shannon]) } else { (case.edge(), case.measures()) };
        let (min_valid, fill) = if plain { (0.0, false) } else { (case.number(0, 20) as f64 / 20.0, case.flip()) };
        let (base, normalize) = (case.base(), case.seldom(4));
        let told = normalize || case.flip();
        let cells = case.grid(rows, cols, levels);
        Self { cells, levels, told, nodata, footprint, edge, measures, base, normalize, min_valid, fill }
    }

    /// What the library is asked.
    pub fn entropy(&self) -> Entropy {
        Entropy::new()
            .footprint(self.footprint.clone())
            .measures(self.measures.clone())
            .min_valid(self.min_valid)
            .fill(self.fill)
            .levels(self.told.then_some(self.levels))
            .base(self.base)
            .normalize(self.normalize)
            .nodata(self.nodata.map(u16::from))
            .edge(self.edge)
    }

    /// What `engine` answers: a grid a measure.
    pub fn ask<T: Real>(&self, engine: &Engine) -> Vec<Grid<T>> {
        let (rows, cols) = (self.cells.rows(), self.cells.cols());
        let mut outs: Vec<Grid<T>> = self.measures.iter().map(|_| Grid::zeros(rows, cols).expect("a shape")).collect();
        let views = outs.iter_mut().map(Grid::view_mut).collect();
        let asked = self.entropy().measure_into(engine, self.cells.view(), views, &());
        asked.unwrap_or_else(|error| panic!("{error}: {self:?}"));
        outs
    }

    /// What the definition says.
    pub fn expected(&self) -> Vec<Grid<f64>> {
        let windows = Windows {
            edge: self.edge,
            nodata: self.nodata,
            fill: self.fill,
            min_valid: self.min_valid,
            base: self.base,
            normalize: self.normalize.then_some(self.levels),
            ..Windows::of(&self.footprint)
        };
        reference::measures(self.cells.view(), &windows, &self.measures)
    }

    /// Panics where an answer is not what the definition says. `within`: the largest difference, of Hill's numbers times the number.
    pub fn compare<T: Real + Into<f64>>(&self, got: &[Grid<T>], expected: &[Grid<f64>], within: f64) {
        for (m, (got, expected)) in got.iter().zip(expected).enumerate() {
            compare(self.measures[m], got.view(), expected.view(), within, self);
        }
    }
}

fn compare<T: Real + Into<f64>>(
    measure: Measure,
    got: GridView<'_, T>,
    expected: GridView<'_, f64>,
    within: f64,
    question: &Question,
) {
    for (row, col) in (0..got.rows()).flat_map(|row| (0..got.cols()).map(move |col| (row, col))) {
        let (got, expected): (f64, f64) = (got.row(row)[col].into(), expected.row(row)[col]);
        let fine = match measure {
            _ if expected.is_nan() => got.is_nan(),
            _ if expected == 0.0 => got.to_bits() == 0,
            Measure::Richness => got == expected,
            Measure::Hill(_) => (got - expected).abs() <= within * expected,
            _ => (got - expected).abs() <= within,
        };
        assert!(fine, "{measure} at ({row}, {col}): got {got}, want {expected}; {question:?}");
    }
}

/// Shannon's entropy in clipped squares beside the definition, in both precisions: what the calling thread does alone.
pub fn entropy(input: &[u8]) {
    let mut case = Case::new(input);
    let double = case.flip();
    let mut question = Question::draw(&mut case, (12, 40), 9, true);
    let side = question.footprint.rows().max(question.footprint.cols());
    // Some beyond what a byte counts in a column.
    let side = if case.seldom(8) { side + 256 } else { side };
    question.footprint = Footprint::square(side).expect("the side of a window is odd");
    check(&question, double);
}

/// All measures, windows, edges and rules for what is valid beside the definition.
pub fn measures(input: &[u8]) {
    let mut case = Case::new(input);
    let double = case.flip();
    let question = Question::draw(&mut case, (10, 24), 9, false);
    POOL.run(|| check(&question, double));
}

fn check(question: &Question, double: bool) {
    let expected = question.expected();
    match double {
        true => question.compare(&question.ask::<f64>(&Engine::Cpu), &expected, 1e-12),
        false => question.compare(&question.ask::<f32>(&Engine::Cpu), &expected, 2e-6),
    }
}
