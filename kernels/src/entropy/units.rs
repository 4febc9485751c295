//! What the warps of a launch share out: strips of columns, and rows of them.
//!
//! Units whose windows reach beyond the grid are of fewer rows, since such a row takes longer, and come first. Every warp takes one after another.

/// Columns of a strip.
pub const UNIT_COLS: u32 = 128;

/// Which strips and rows a launch computes how.
#[derive(Clone, Copy)]
pub struct Units {
    first: i32,
    end: i32,
    /// Rows that are at least the radius away from the grid's first and last row.
    top: i32,
    bottom: i32,
    /// Strips, and those whose windows are full are `left..right`.
    strips: u32,
    left: u32,
    right: u32,
    /// Rows of a unit inside and at the border.
    rows_each: u32,
    border_each: u32,
}

/// A strip, rows of it, and whether all windows are full.
#[derive(Clone, Copy)]
pub struct Unit {
    pub strip: u32,
    pub begin: i32,
    pub end: i32,
    pub inside: bool,
}

impl Units {
    /// Those of `count` rows from `first` of a grid of `rows` × `cols` cells.
    #[inline(always)]
    pub fn new(
        (rows, cols): (u32, u32),
        (first, count): (u32, u32),
        radius: u32,
        (rows_each, border_each): (u32, u32),
    ) -> Self {
        let strips = cols.div_ceil(UNIT_COLS);
        // The last strip whose last window ends before the grid's last column.
        let right = (cols.saturating_sub(radius) / UNIT_COLS).min(strips);
        let left = 1.min(right);
        let end = first + count;
        let top = first.max(radius).min(end);
        let bottom = end.min(rows.saturating_sub(radius)).max(top);
        Self {
            first: first as i32,
            end: end as i32,
            top: top as i32,
            bottom: bottom as i32,
            strips,
            left,
            right,
            rows_each: rows_each.max(1),
            border_each: border_each.max(1),
        }
    }

    fn inner(&self) -> u32 {
        self.right - self.left
    }

    fn pieces(begin: i32, end: i32, each: u32) -> u32 {
        ((end - begin) as u32).div_ceil(each)
    }

    /// How many of them are at the border.
    #[inline(always)]
    pub fn border(&self) -> u32 {
        let sides = (self.strips - self.inner()) * Self::pieces(self.first, self.end, self.border_each);
        let ends = Self::pieces(self.first, self.top, self.border_each)
            + Self::pieces(self.bottom, self.end, self.border_each);
        sides + self.inner() * ends
    }

    /// How many there are.
    #[inline(always)]
    pub fn count(&self) -> u32 {
        self.border() + self.inner() * Self::pieces(self.top, self.bottom, self.rows_each)
    }

    /// Number `index`: those at the border come first, since they take longer.
    #[inline(always)]
    pub fn get(&self, index: u32) -> Unit {
        let piece = |strip: u32, number: u32, (begin, end): (i32, i32), each: u32, inside: bool| {
            let begin = begin + (number * each) as i32;
            Unit { strip, begin, end: (begin + each as i32).min(end), inside }
        };
        let border = self.border();
        // The maxima tell the compiler that it never divides by 0.
        let (inner, outer) = (self.inner().max(1), (self.strips - self.inner()).max(1));
        if index >= border {
            let index = index - border;
            return piece(self.left + index % inner, index / inner, (self.top, self.bottom), self.rows_each, true);
        }
        let sides = (self.strips - self.inner()) * Self::pieces(self.first, self.end, self.border_each);
        if index < sides {
            let strip = index % outer;
            let strip = if strip < self.left { strip } else { strip + self.inner() };
            return piece(strip, index / outer, (self.first, self.end), self.border_each, false);
        }
        let index = index - sides;
        let (strip, number) = (self.left + index % inner, index / inner);
        let above = Self::pieces(self.first, self.top, self.border_each);
        if number < above {
            piece(strip, number, (self.first, self.top), self.border_each, false)
        } else {
            piece(strip, number - above, (self.bottom, self.end), self.border_each, false)
        }
    }
}
