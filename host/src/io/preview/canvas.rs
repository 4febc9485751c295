//! Pixels to draw on: filled rectangles, and text from the built-in font. What lies outside is not drawn.

use super::font;

/// The colour of what nothing is drawn on.
pub(super) const PAPER: [u8; 3] = [255, 255, 255];
/// The colour of lines and text.
pub(super) const INK: [u8; 3] = [40, 40, 40];

/// An RGB picture.
#[derive(Debug)]
pub(super) struct Canvas {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { width, height, bytes: PAPER.repeat(width * height) }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn height(&self) -> usize {
        self.height
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[cfg(test)]
    pub(super) fn pixel(&self, x: usize, y: usize) -> [u8; 3] {
        let at = 3 * (y * self.width + x);
        [self.bytes[at], self.bytes[at + 1], self.bytes[at + 2]]
    }

    pub(super) fn fill(&mut self, x: usize, y: usize, width: usize, height: usize, colour: [u8; 3]) {
        let right = (x + width).min(self.width);
        for row in y..(y + height).min(self.height) {
            let line = &mut self.bytes[3 * row * self.width..][..3 * self.width];
            line.get_mut(3 * x..3 * right).unwrap_or_default().as_chunks_mut().0.fill(colour);
        }
    }

    /// Draws `text` with its top left corner at (x, y), every dot of the font `dot` pixels wide.
    pub(super) fn text(&mut self, x: usize, y: usize, dot: usize, text: &str) {
        for (i, c) in text.chars().enumerate() {
            for (row, col) in font::dots(c) {
                self.fill(x + (i * font::ADVANCE + col) * dot, y + row * dot, dot, dot, INK);
            }
        }
    }
}
