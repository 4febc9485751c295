//! New numbers for the codes of a tile: 0, 1, 2, … in their order, and no data behind them.
//!
//! ```text
//! for each cell:  mark its code as seen                 one byte a code there can be
//! for each code:  if seen, give it the next number; unmark it
//! for each cell:  its code's number, as a byte or a word
//! ```
//!
//! Marking stores without looking, so that it does not wait for what a cell before it found; the marks are gone through in words of
//! eight. A thread keeps marks, numbers and copies from tile to tile.

use crate::cpu::table::boxed;
use crate::grid::GridView;

/// Codes that there can be.
const ALL: usize = 1 << 16;

/// Marks that are looked at together.
const TOGETHER: usize = 64;

/// A thread's memory, and the numbers of the codes that were found last.
pub struct Numbering {
    /// Not 0 where a code was seen; all 0 between two tiles.
    seen: Box<[u8; ALL]>,
    /// The numbers of the codes seen; what other codes have is of earlier tiles.
    numbers: Box<[u16; ALL]>,
    bytes: Vec<u8>,
    words: Vec<u16>,
}

/// What a tile sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// How many classes; their numbers are below.
    pub classes: usize,
    /// The number of no data, if it occurs.
    pub nodata: Option<u16>,
}

impl Found {
    /// Numbers in all.
    pub fn codes(&self) -> usize {
        self.classes + usize::from(self.nodata.is_some())
    }
}

impl Numbering {
    pub fn new() -> Self {
        Self { seen: boxed(), numbers: boxed(), bytes: Vec::new(), words: Vec::new() }
    }

    /// Finds the codes of some cells and numbers them.
    pub fn find(&mut self, cells: GridView<'_, u16>, nodata: Option<u16>) -> Found {
        for r in 0..cells.rows() {
            for &code in cells.row(r) {
                self.seen[usize::from(code)] = 1;
            }
        }
        let occurs = nodata.filter(|&code| std::mem::take(&mut self.seen[usize::from(code)]) != 0);
        let mut classes = 0;
        let (seen, numbers) = (self.seen.chunks_exact_mut(TOGETHER), self.numbers.chunks_exact_mut(TOGETHER));
        for (seen, numbers) in seen.zip(numbers) {
            if seen.iter().fold(0, |any, &seen| any | seen) == 0 {
                continue;
            }
            for (seen, number) in seen.iter_mut().zip(numbers) {
                // There are no more than 65,536, so the last number is below.
                *number = classes as u16;
                classes += usize::from(std::mem::take(seen));
            }
        }
        let nodata = occurs.map(|code| {
            self.numbers[usize::from(code)] = classes as u16;
            classes as u16
        });
        Found { classes, nodata }
    }

    /// The numbers of the cells that were looked at last, of which there are 256 at most.
    pub fn bytes(&mut self, cells: GridView<'_, u16>) -> GridView<'_, u8> {
        copy(cells, &self.numbers, &mut self.bytes, |number| number as u8)
    }

    /// The numbers of the cells that were looked at last.
    pub fn words(&mut self, cells: GridView<'_, u16>) -> GridView<'_, u16> {
        copy(cells, &self.numbers, &mut self.words, |number| number)
    }
}

fn copy<'m, C: Copy + Default>(
    cells: GridView<'_, u16>,
    numbers: &[u16; ALL],
    memory: &'m mut Vec<C>,
    of: impl Fn(u16) -> C,
) -> GridView<'m, C> {
    let (rows, cols) = (cells.rows(), cells.cols());
    if memory.len() < rows * cols {
        memory.resize(rows * cols, C::default());
    }
    for (r, out) in memory[..rows * cols].chunks_exact_mut(cols).enumerate() {
        for (out, &code) in out.iter_mut().zip(cells.row(r)) {
            *out = of(numbers[usize::from(code)]);
        }
    }
    GridView::new(&memory[..rows * cols], rows, cols).expect("a tile is not empty")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_dense_and_in_the_order_of_the_codes() {
        let mut numbering = Numbering::new();
        let first = [900u16, 7, 65_535, 900, 0, 300];
        let cells = GridView::new(&first, 2, 3).unwrap();
        assert_eq!(numbering.find(cells, Some(300)), Found { classes: 4, nodata: Some(4) });
        assert_eq!(numbering.bytes(cells).as_strided(), [2, 1, 3, 2, 0, 4]);
        assert_eq!(numbering.words(cells).as_strided(), [2, 1, 3, 2, 0, 4]);
        // Nothing of a tile is left for the next one, and rows may have gaps.
        let second = [7u16, 12, 0, 900, 900, 1];
        let cells = GridView::with_stride(&second, 2, 2, 3).unwrap();
        assert_eq!(numbering.find(cells, Some(300)), Found { classes: 3, nodata: None });
        assert_eq!(numbering.bytes(cells).as_strided(), [0, 1, 2, 2]);
        assert_eq!(
            numbering.find(GridView::new(&[5; 4], 2, 2).unwrap(), Some(5)),
            Found { classes: 0, nodata: Some(0) }
        );
    }

    #[test]
    fn all_codes_have_numbers() {
        let all: Vec<u16> = (0..=65_535).rev().collect();
        let cells = GridView::new(&all, 256, 256).unwrap();
        let mut numbering = Numbering::new();
        assert_eq!(numbering.find(cells, None), Found { classes: 1 << 16, nodata: None });
        assert_eq!(numbering.words(cells).as_strided(), all);
        let found = numbering.find(cells, Some(9));
        assert_eq!(found, Found { classes: 65_535, nodata: Some(65_535) });
        assert_eq!((found.codes(), numbering.words(cells).row(255)[255 - 9]), (1 << 16, 65_535));
    }
}
