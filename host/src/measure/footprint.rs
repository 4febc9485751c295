//! The shape of a window.

/// The largest window: 4,095 × 4,095 cells, in the CPU engine; devices take 255 × 255, and 1,023 × 1,023 for Shannon's entropy of squares in f32.
/// Results in f64 of windows of more than 1,447 rows and columns are within 6e-12 of the definition instead of 1e-12 where only a handful of the
/// window's cells are valid.
pub const MAX_SIZE: usize = 4095;

/// The shape of a window: which cells around the centre belong to it. Rows and columns are odd, 1 to
/// [`MAX_SIZE`], the centre in their middle, and at least one cell belongs to it (not necessarily the centre).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Footprint {
    rows: usize,
    cols: usize,
    /// Row by row.
    cells: Vec<bool>,
    /// How many of them belong to it.
    count: usize,
}

/// Why something is no window.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FootprintError {
    /// A side is even, 0 or too long.
    #[error("a window has an odd number of rows and columns from 1 to {MAX_SIZE}, not {rows} x {cols}")]
    Shape {
        /// Rows given.
        rows: usize,
        /// Columns given.
        cols: usize,
    },
    /// Rows and columns do not make as many cells.
    #[error("a window of {rows} x {cols} has {} cells, not {got}", rows * cols)]
    Length {
        /// Rows given.
        rows: usize,
        /// Columns given.
        cols: usize,
        /// Cells given.
        got: usize,
    },
    /// No cell belongs to it.
    #[error("no cell belongs to the window: all of its cells are 0")]
    Empty,
    /// A text has something else than 0 and 1.
    #[error("line {line}: {found:?} is neither 0 nor 1; write 1 where a cell belongs to the window")]
    Character {
        /// The line, from 1.
        line: usize,
        /// What is there.
        found: char,
    },
    /// A row of a text is not as long as those above.
    #[error("line {line}: {got} cells where the rows above have {wanted}; correct the row")]
    Row {
        /// The line, from 1.
        line: usize,
        /// Its cells.
        got: usize,
        /// Those of the rows above.
        wanted: usize,
    },
    /// A text has no row.
    #[error("the file holds no window; give a text of 0 and 1, a line a row")]
    NoRows,
}

impl Footprint {
    /// A window of `rows` × `cols` cells, row by row, true where a cell belongs to it.
    ///
    /// ```
    /// use halotile::measure::{Footprint, FootprintError};
    /// // The four neighbours of a cell, without the cell.
    /// let neighbours = [0, 1, 0, 1, 0, 1, 0, 1, 0].map(|cell| cell == 1);
    /// assert_eq!(Footprint::new(3, 3, neighbours.to_vec())?.count(), 4);
    /// assert_eq!(Footprint::new(2, 3, vec![true; 6]), Err(FootprintError::Shape { rows: 2, cols: 3 }));
    /// # Ok::<(), FootprintError>(())
    /// ```
    ///
    /// # Errors
    /// [`FootprintError`]: sides that are even, 0 or too large, another number of cells, or none in the window.
    pub fn new(rows: usize, cols: usize, cells: Vec<bool>) -> Result<Self, FootprintError> {
        let odd = |n: usize| n % 2 == 1 && n <= MAX_SIZE;
        if !odd(rows) || !odd(cols) {
            return Err(FootprintError::Shape { rows, cols });
        }
        if cells.len() != rows * cols {
            return Err(FootprintError::Length { rows, cols, got: cells.len() });
        }
        let count = cells.iter().filter(|&&cell| cell).count();
        if count == 0 {
            return Err(FootprintError::Empty);
        }
        Ok(Self { rows, cols, cells, count })
    }

    /// The square of `size` × `size` cells.
    ///
    /// # Errors
    /// [`FootprintError`]: a side that is even, 0 or too large.
    pub fn square(size: usize) -> Result<Self, FootprintError> {
        if size > MAX_SIZE {
            return Err(FootprintError::Shape { rows: size, cols: size });
        }
        Self::new(size, size, vec![true; size * size])
    }

    /// The disk of `size` cells across: cells whose distance from the centre, centre to centre, is at most `size / 2`
    /// (rounded down). The same as scikit-image's `disk(size // 2)`.
    ///
    /// ```
    /// use halotile::measure::Footprint;
    /// assert_eq!(Footprint::disk(5)?.count(), 13);
    /// # Ok::<(), halotile::measure::FootprintError>(())
    /// ```
    ///
    /// # Errors
    /// [`FootprintError`]: a diameter that is even, 0 or too large.
    pub fn disk(size: usize) -> Result<Self, FootprintError> {
        if size.is_multiple_of(2) || size > MAX_SIZE {
            return Err(FootprintError::Shape { rows: size, cols: size });
        }
        let radius = size / 2;
        let inside =
            |i: usize| (i / size).abs_diff(radius).pow(2) + (i % size).abs_diff(radius).pow(2) <= radius * radius;
        Self::new(size, size, (0..size * size).map(inside).collect())
    }

    /// The window that a text draws: a line a row, of 0 and 1 with or without blanks or commas between them. What follows a `#` is a
    /// comment; lines without a cell count for nothing.
    ///
    /// ```
    /// use halotile::measure::Footprint;
    /// assert_eq!(Footprint::parse("010\n1 1 1 # the row in the middle\n0,1,0\n")?, Footprint::disk(3)?);
    /// # Ok::<(), halotile::measure::FootprintError>(())
    /// ```
    ///
    /// # Errors
    /// Other characters, rows of different lengths, and what [`new`](Self::new) says.
    pub fn parse(text: &str) -> Result<Self, FootprintError> {
        let (mut cells, mut rows, mut cols) = (Vec::new(), 0, 0);
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.split('#').next().unwrap_or_default();
            let before = cells.len();
            for found in content.chars().filter(|c| !c.is_whitespace() && *c != ',') {
                match found {
                    '0' | '1' => cells.push(found == '1'),
                    _ => return Err(FootprintError::Character { line, found }),
                }
            }
            let got = cells.len() - before;
            if got == 0 {
                continue;
            }
            if rows > 0 && got != cols {
                return Err(FootprintError::Row { line, got, wanted: cols });
            }
            (rows, cols) = (rows + 1, got);
        }
        if rows == 0 {
            return Err(FootprintError::NoRows);
        }
        Self::new(rows, cols, cells)
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// True when the cell at (`row`, `col`), counted from the window's upper left corner, belongs to it.
    #[inline]
    pub fn contains(&self, row: usize, col: usize) -> bool {
        self.cells[row * self.cols + col]
    }

    /// How many cells belong to it.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The side of the square that it is, if it is one and has all of its cells.
    pub fn as_square(&self) -> Option<usize> {
        (self.rows == self.cols && self.count() == self.cells.len()).then_some(self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_those_of_the_definition() {
        let picture = |size: usize| {
            let disk = Footprint::disk(size).unwrap();
            let row = |r| (0..size).map(|c| if disk.contains(r, c) { '#' } else { '.' }).collect::<String>();
            (0..size).map(row).collect::<Vec<_>>()
        };
        assert_eq!(picture(1), ["#"]);
        assert_eq!(picture(3), [".#.", "###", ".#."]);
        assert_eq!(picture(7), ["...#...", ".#####.", ".#####.", "#######", ".#####.", ".#####.", "...#..."]);
        assert_eq!(Footprint::disk(21).unwrap().count(), 317);
        assert_eq!(Footprint::disk(255).unwrap().as_square(), None);
    }

    #[test]
    fn what_is_no_window_is_refused() {
        let new = |rows, cols, cells: &[bool]| Footprint::new(rows, cols, cells.to_vec()).unwrap_err();
        for (rows, cols) in [(0, 1), (1, 0), (2, 1), (1, 4), (4097, 1), (1, usize::MAX)] {
            assert_eq!(new(rows, cols, &[true]), FootprintError::Shape { rows, cols });
        }
        assert_eq!(new(3, 1, &[true]), FootprintError::Length { rows: 3, cols: 1, got: 1 });
        assert_eq!(new(1, 3, &[false; 3]), FootprintError::Empty);
        for size in [0, 2, 4097, usize::MAX, usize::MAX - 1] {
            assert_eq!(Footprint::square(size), Err(FootprintError::Shape { rows: size, cols: size }));
            assert_eq!(Footprint::disk(size), Err(FootprintError::Shape { rows: size, cols: size }));
        }
        let message = new(3, 5, &[true; 4]).to_string();
        assert_eq!(message, "a window of 3 x 5 has 15 cells, not 4");
        assert_eq!(
            new(2, 5, &[]).to_string(),
            "a window has an odd number of rows and columns from 1 to 4095, not 2 x 5"
        );
    }

    #[test]
    fn texts_are_written_with_or_without_blanks() {
        let cross = Footprint::new(3, 3, vec![false, true, false, true, true, true, false, true, false]).unwrap();
        for text in ["010\n111\n010\n", "# a cross\n0 1 0\r\n1,1, 1 # all\n\n\t0 1 0", "010\n111\n010"] {
            assert_eq!(Footprint::parse(text).unwrap(), cross, "{text}");
        }
        for (text, expected) in [
            ("", "the file holds no window; give a text of 0 and 1, a line a row"),
            ("010\n1x1\n", "line 2: 'x' is neither 0 nor 1; write 1 where a cell belongs to the window"),
            ("010\n\n11\n", "line 3: 2 cells where the rows above have 3; correct the row"),
            ("01\n11\n", "a window has an odd number of rows and columns from 1 to 4095, not 2 x 2"),
            ("000", "no cell belongs to the window: all of its cells are 0"),
        ] {
            assert_eq!(Footprint::parse(text).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn squares_know_that_they_are_squares() {
        assert_eq!(Footprint::square(7).unwrap().as_square(), Some(7));
        assert_eq!(Footprint::new(1, 3, vec![true; 3]).unwrap().as_square(), None);
        assert_eq!(Footprint::new(1, 1, vec![true]).unwrap().as_square(), Some(1));
    }
}
