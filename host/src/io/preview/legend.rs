//! The legend: the unit, a bar of the colours with five marks from 0 to the largest value, and a patch for
//! cells without data.

use super::canvas::{Canvas, INK};
use super::colour::{self, NODATA};
use super::font;

/// Pixels a dot of the font.
const DOT: usize = 2;
const LINE: usize = font::HEIGHT * DOT;
/// The bar's width and its least height; space between things.
const BAR: usize = 22;
const LOWEST: usize = 160;
const GAP: usize = 12;
/// Length of the mark at a value.
const MARK: usize = 6;
/// Letters of the unit that are shown.
const UNIT: usize = 12;

pub(super) struct Legend {
    unit: String,
    labels: [String; 5],
    gaps: bool,
    height: usize,
}

impl Legend {
    /// For a scale from 0 to `max`; `gaps`: there are cells without data. At least `height` high.
    pub(super) fn new(max: f64, unit: &str, gaps: bool, height: usize) -> Self {
        let labels = [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| label(part * max, max));
        let unit = unit.chars().take(UNIT).collect();
        let mut legend = Self { unit, labels, gaps, height: 0 };
        legend.height = height.max(LOWEST + legend.head() + legend.foot());
        legend
    }

    pub(super) fn width(&self) -> usize {
        let letters = |text: &str| text.chars().count() * font::ADVANCE * DOT;
        let labels = self.labels.iter().map(|text| letters(text)).max().unwrap_or(0);
        let foot = if self.gaps { letters("nodata") } else { 0 };
        (BAR + MARK + 6 + labels.max(foot)).max(letters(&self.unit))
    }

    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// Above the bar: the unit, and half of the top label.
    fn head(&self) -> usize {
        LINE + 2 * DOT + GAP
    }

    /// Below the bar: half of the lowest label, and the patch.
    fn foot(&self) -> usize {
        LINE / 2 + if self.gaps { GAP + BAR } else { 0 }
    }

    pub(super) fn draw(&self, canvas: &mut Canvas, x: usize, y: usize, colours: &[[u8; 3]]) {
        canvas.text(x, y, DOT, &self.unit);
        let (top, bar) = (y + self.head(), self.height - self.head() - self.foot());
        let text_x = x + BAR + MARK + 6;
        for row in 0..bar {
            let value = (bar - 1 - row) as f64 / (bar - 1) as f64;
            canvas.fill(x, top + row, BAR, 1, colours[colour::index(value, 1.0)]);
        }
        for (i, label) in self.labels.iter().enumerate() {
            let at = top + (bar - 1) * (4 - i) / 4;
            canvas.fill(x + BAR, at, MARK, 1, INK);
            canvas.text(text_x, at - LINE / 2, DOT, label);
        }
        if self.gaps {
            let patch = top + bar + LINE / 2 + GAP;
            canvas.fill(x, patch, BAR, BAR, NODATA);
            canvas.text(text_x, patch + (BAR - LINE) / 2, DOT, "nodata");
        }
    }
}

/// A value with as many decimals as a scale up to `max` asks for.
fn label(value: f64, max: f64) -> String {
    match max.abs() {
        size if !size.is_finite() || size >= 1e5 || (size < 0.01 && size > 0.0) => format!("{value:.1e}"),
        size => {
            let decimals = if size >= 100.0 {
                0
            } else if size >= 0.2 {
                2
            } else {
                4
            };
            format!("{value:.decimals$}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_the_digits_they_need() {
        assert_eq!(label(0.0, 2.77), "0.00");
        assert_eq!(label(2.7726, 2.7726), "2.77");
        assert_eq!(label(0.05, 0.1), "0.0500");
        assert_eq!(label(50.0, 200.0), "50");
        assert_eq!(label(2.5e8, 1e9), "2.5e8");
        assert_eq!(label(f64::NAN, f64::NAN), "NaN");
    }
}
