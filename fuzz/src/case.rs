//! Cases from bytes: what a differential target is to compute, drawn from its input.
//!
//! Where an input ends early, what is missing is 0 or empty: every input is a case, and short ones are simple cases.

use arbitrary::Unstructured;
use halotile::entropy::Base;
use halotile::grid::Grid;
use halotile::measure::{Edge, Footprint, Measure};

/// A source of choices.
pub struct Case<'a>(Unstructured<'a>);

impl<'a> Case<'a> {
    /// Choices by these bytes.
    pub fn new(input: &'a [u8]) -> Self {
        Self(Unstructured::new(input))
    }

    /// A number from `low` to `high`, both included.
    pub fn number(&mut self, low: usize, high: usize) -> usize {
        self.0.int_in_range(low..=high).unwrap_or(low)
    }

    /// True or false.
    pub fn flip(&mut self) -> bool {
        self.number(0, 1) == 1
    }

    /// One of these.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.number(0, of.len() - 1)]
    }

    /// True once in `n` times, as far as inputs are random.
    pub fn seldom(&mut self, n: usize) -> bool {
        self.number(1, n) == n
    }

    /// `count` bytes: those that come next, again and again.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let most = self.0.len().min(count);
        // Few bytes make a pattern that repeats, so that windows of few classes occur.
        let taken = if self.flip() { most } else { most.min(self.number(1, 32)) };
        let pattern = self.0.bytes(taken.min(self.0.len())).unwrap_or_default();
        (0..count).map(|i| pattern.get(i % pattern.len().max(1)).copied().unwrap_or(0)).collect()
    }

    /// A grid of values below `levels`.
    pub fn grid(&mut self, rows: usize, cols: usize, levels: usize) -> Grid<u8> {
        let cells = self.bytes(rows * cols).into_iter().map(|cell| (usize::from(cell) % levels) as u8).collect();
        Grid::from_vec(cells, rows, cols).expect("a case has rows and columns")
    }

    /// Levels, small numbers more often.
    pub fn levels(&mut self) -> usize {
        match self.number(0, 3) {
            0 => self.number(1, 4),
            1 => self.number(1, 16),
            _ => self.number(1, 256),
        }
    }

    /// A window that is no larger than `most` in either direction.
    pub fn footprint(&mut self, most: usize) -> Footprint {
        let side = |case: &mut Self| 2 * case.number(0, most / 2) + 1;
        match self.number(0, 3) {
            0 | 1 => Footprint::square(side(self)),
            2 => Footprint::disk(side(self)),
            _ => {
                let (rows, cols) = (side(self).min(11), side(self).min(11));
                let mut cells: Vec<bool> = self.bytes(rows * cols).into_iter().map(|byte| byte % 2 == 1).collect();
                let at = self.number(0, rows * cols - 1);
                cells[at] = true;
                Footprint::new(rows, cols, cells)
            }
        }
        .expect("sides are odd and a cell is in it")
    }

    /// Some measures.
    pub fn measures(&mut self) -> Vec<Measure> {
        (0..self.number(1, 4)).map(|_| self.measure()).collect()
    }

    fn measure(&mut self) -> Measure {
        match self.number(0, 6) {
            0 | 1 => Measure::Shannon,
            2 => Measure::Simpson,
            3 => Measure::Richness,
            4 => Measure::Evenness,
            5 => Measure::Renyi(self.order()),
            _ => Measure::Hill(self.order()),
        }
    }

    fn order(&mut self) -> f64 {
        match self.number(0, 5) {
            0 => 0.0,
            1 => 1.0,
            2 => 2.0,
            3 => f64::INFINITY,
            4 => self.number(0, 4000) as f64 / 1000.0,
            _ => self.number(0, 100) as f64,
        }
    }

    pub fn edge(&mut self) -> Edge {
        self.one(Edge::ALL)
    }

    pub fn base(&mut self) -> Base {
        self.one(&[Base::E, Base::Two, Base::Ten])
    }
}
