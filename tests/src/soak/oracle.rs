//! The definition once more, in f64, with code that shares nothing with the library: diversity of the classes in a moving window.

use std::collections::BTreeMap;

/// A case about a grid of classes.
pub struct Query {
    pub rows: usize,
    pub cols: usize,
    /// The class of every cell; none where there is no data.
    pub classes: Vec<Option<u32>>,
    /// Offsets of the window's cells from its centre.
    pub window: Vec<(isize, isize)>,
    /// `shrink`, `nodata`, `symmetric`, `reflect` or `replicate`.
    pub edge: &'static str,
    pub min_valid: f64,
    pub fill: bool,
    /// What logarithms are divided by.
    pub log_base: f64,
    /// What Shannon's entropy in nats is divided by instead.
    pub log_levels: Option<f64>,
}

/// A place on an axis of `len` cells, as the edge has it.
fn seen(edge: &str, at: isize, len: usize) -> Option<usize> {
    let last = len as isize - 1;
    let mut at = at;
    match edge {
        "replicate" => at = at.clamp(0, last),
        // Mirrored again and again, where the window is larger than the grid.
        "symmetric" => {
            while !(0..=last).contains(&at) {
                at = if at < 0 { -1 - at } else { 2 * last + 1 - at };
            }
        }
        "reflect" if last == 0 => at = 0,
        "reflect" => {
            while !(0..=last).contains(&at) {
                at = if at < 0 { -at } else { 2 * last - at };
            }
        }
        _ => {}
    }
    (0..=last).contains(&at).then_some(at as usize)
}

impl Query {
    /// The value of a measure, by its name, at every cell.
    pub fn answer(&self, measures: &[String]) -> Vec<Vec<f64>> {
        let mut answers = vec![Vec::with_capacity(self.rows * self.cols); measures.len()];
        for cell in 0..self.rows * self.cols {
            let counts = self.counts(cell / self.cols, cell % self.cols);
            for (answer, measure) in answers.iter_mut().zip(measures) {
                answer.push(counts.as_ref().map_or(f64::NAN, |counts| self.value(measure, counts)));
            }
        }
        answers
    }

    /// Cells of every class in the window; none where there is no result.
    fn counts(&self, row: usize, col: usize) -> Option<Vec<f64>> {
        if self.classes[row * self.cols + col].is_none() && !self.fill {
            return None;
        }
        let mut counts = BTreeMap::<u32, u32>::new();
        for &(down, right) in &self.window {
            let y = seen(self.edge, row as isize + down, self.rows);
            let x = seen(self.edge, col as isize + right, self.cols);
            match (y, x) {
                (Some(y), Some(x)) => {
                    if let Some(class) = self.classes[y * self.cols + x] {
                        *counts.entry(class).or_default() += 1;
                    }
                }
                _ if self.edge == "nodata" => return None,
                _ => {}
            }
        }
        let valid: u32 = counts.values().sum();
        let enough = valid > 0 && f64::from(valid) / self.window.len() as f64 >= self.min_valid;
        enough.then(|| counts.into_values().map(f64::from).collect())
    }

    fn value(&self, measure: &str, counts: &[f64]) -> f64 {
        let all: f64 = counts.iter().sum();
        let shannon = || counts.iter().map(|n| n / all * (all / n).ln()).sum::<f64>();
        let order = |text: &str| if text == "inf" { f64::INFINITY } else { text.parse().expect("we wrote it") };
        match measure.split_once(':').unwrap_or((measure, "")) {
            ("shannon", _) => shannon() / self.log_levels.unwrap_or(self.log_base),
            ("simpson", _) => 1.0 - counts.iter().map(|n| n * n).sum::<f64>() / (all * all),
            ("richness", _) => counts.len() as f64,
            ("evenness", _) if counts.len() == 1 => 0.0,
            ("evenness", _) => shannon() / (counts.len() as f64).ln(),
            ("renyi", text) => renyi(order(text), counts) / self.log_base,
            (_, text) => renyi(order(text), counts).exp(),
        }
    }
}

/// Rényi's entropy in nats.
fn renyi(order: f64, counts: &[f64]) -> f64 {
    let all: f64 = counts.iter().sum();
    let most = counts.iter().copied().fold(0.0, f64::max);
    if order == 1.0 {
        counts.iter().map(|n| n / all * (all / n).ln()).sum()
    } else if order.is_infinite() {
        (all / most).ln()
    } else {
        // Counts over the largest one, so that no power vanishes.
        let sum: f64 = counts.iter().map(|n| (n / most).powf(order)).sum();
        (sum.ln() + order * (most / all).ln()) / (1.0 - order)
    }
}

#[cfg(test)]
mod tests {
    use halotile::grid::Grid;
    use halotile::measure::{Edge, Footprint, Measure};
    use halotile::reference::{self, Windows};

    use super::*;

    /// Two oracles that were written apart say the same.
    #[test]
    fn it_is_the_librarys_definition() {
        let cells = Grid::from_fn(5, 7, |r, c| ((r * r + 3 * c + r * c) % 5) as u8).unwrap();
        let names = ["shannon", "simpson", "richness", "evenness", "renyi:0.5", "renyi:1", "hill:inf", "hill:0"];
        let measures = names.map(|name| name.parse::<Measure>().unwrap());
        let window = Footprint::disk(5).unwrap();
        let inside =
            (0..25).filter(|i| window.contains(i / 5, i % 5)).map(|i| (i as isize / 5 - 2, i as isize % 5 - 2));
        for (edge, share, fill) in Edge::ALL.iter().flat_map(|&edge| [(edge, 0.0, true), (edge, 0.6, false)]) {
            let asked = Query {
                rows: 5,
                cols: 7,
                classes: cells.as_slice().iter().map(|&cell| (cell != 2).then_some(cell.into())).collect(),
                window: inside.clone().collect(),
                edge: edge.name(),
                min_valid: share,
                fill,
                log_base: 1.0,
                log_levels: None,
            };
            let windows = Windows { edge, nodata: Some(2), min_valid: share, fill, ..Windows::of(&window) };
            let expected = reference::measures(cells.view(), &windows, &measures);
            for (m, got) in asked.answer(&names.map(str::to_owned)).iter().enumerate() {
                for (i, (got, wanted)) in got.iter().zip(expected[m].as_slice()).enumerate() {
                    let near = (got.is_nan() && wanted.is_nan()) || (got - wanted).abs() < 1e-12;
                    assert!(near, "{} of cell {i}, {edge:?}: {got}, not {wanted}", names[m]);
                }
            }
        }
    }
}
