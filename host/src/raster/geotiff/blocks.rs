//! Which strip or tile of a TIFF holds which cells.
//!
//! A strip is a tile as wide as the raster. Blocks are numbered along rows of blocks, from top to bottom; with planes
//! apart, plane after plane. At the right and the bottom edge blocks may reach beyond the raster.

use std::ops::Range;

/// The blocks of one plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Blocks {
    /// Rows of the raster.
    pub(super) rows: usize,
    /// Columns of the raster.
    pub(super) cols: usize,
    /// Rows of a block.
    pub(super) height: usize,
    /// Columns of a block.
    pub(super) width: usize,
}

/// One of them, with the part of it that is in the raster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// Its number in its plane.
    pub(super) index: usize,
    pub(super) rows: Range<usize>,
    pub(super) cols: Range<usize>,
}

impl Blocks {
    pub(super) fn across(self) -> usize {
        self.cols.div_ceil(self.width)
    }

    pub(super) fn down(self) -> usize {
        self.rows.div_ceil(self.height)
    }

    /// Blocks of a plane. Both factors are below 2^32.
    pub(super) fn count(self) -> usize {
        self.across() * self.down()
    }

    /// The block with this number. It must be below [`count`](Self::count).
    pub(super) fn block(self, index: usize) -> Block {
        let (top, left) = (index / self.across() * self.height, index % self.across() * self.width);
        Block { index, rows: top..(top + self.height).min(self.rows), cols: left..(left + self.width).min(self.cols) }
    }

    /// The blocks that hold cells of a rectangle, in the file's order.
    pub(super) fn over(self, rows: &Range<usize>, cols: &Range<usize>) -> impl Iterator<Item = Block> + use<> {
        let down = rows.start / self.height..rows.end.div_ceil(self.height);
        let across = cols.start / self.width..cols.end.div_ceil(self.width);
        down.flat_map(move |r| across.clone().map(move |c| self.block(r * self.across() + c)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_over_a_rectangle_cover_it_once_and_no_more() {
        let blocks = Blocks { rows: 50, cols: 70, height: 16, width: 32 };
        assert_eq!((blocks.across(), blocks.down(), blocks.count()), (3, 4, 12));
        assert_eq!(blocks.block(11), Block { index: 11, rows: 48..50, cols: 64..70 });
        for (rows, cols) in [(0..50, 0..70), (15..17, 31..33), (16..32, 32..64), (49..50, 69..70), (3..48, 0..32)] {
            let mut cells = vec![0; 50 * 70];
            let mut last = None;
            for block in blocks.over(&rows, &cols) {
                assert!(last < Some(block.index));
                last = Some(block.index);
                assert_eq!(block, blocks.block(block.index));
                let both = |a: &Range<usize>, b: &Range<usize>| a.start.max(b.start)..a.end.min(b.end);
                let (rows, cols) = (both(&rows, &block.rows), both(&cols, &block.cols));
                assert!(!rows.is_empty() && !cols.is_empty(), "block {} has no part in it", block.index);
                rows.for_each(|r| cols.clone().for_each(|c| cells[r * 70 + c] += 1));
            }
            for (i, &count) in cells.iter().enumerate() {
                let inside = rows.contains(&(i / 70)) && cols.contains(&(i % 70));
                assert_eq!(count, usize::from(inside), "{rows:?} {cols:?}: cell {i}");
            }
        }
    }
}
