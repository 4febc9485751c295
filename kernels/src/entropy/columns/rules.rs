//! Which windows have a result.

use super::strip::Windows;
use crate::entropy::formula::{MEASURES_COMPLETE, MEASURES_FILL};

/// The rules of a launch.
#[derive(Clone, Copy)]
pub struct Rules {
    /// [`MEASURES_COMPLETE`] and [`MEASURES_FILL`], or 0.
    pub rule: u32,
    /// The least number of valid cells.
    pub least: u32,
}

/// The same for a row of windows: what lanes have in common.
#[derive(Clone, Copy)]
pub struct RowRules {
    least: u32,
    /// Whether there are results where the centre is nodata.
    fills: bool,
    /// The first column that may have a result, and how many may.
    first: i32,
    columns: u32,
}

impl Rules {
    /// For the row of these windows.
    #[inline(always)]
    pub fn of_row(&self, windows: &Windows<'_>) -> RowRules {
        let &Windows { frame, y, .. } = windows;
        let r = (frame.size / 2) as i32;
        let (least, fills) = (self.least, self.rule & MEASURES_FILL != 0);
        if self.rule & MEASURES_COMPLETE == 0 {
            return RowRules { least, fills, first: 0, columns: frame.cols as u32 };
        }
        let is_inside = y >= r && y + r < frame.rows;
        RowRules { least, fills, first: r, columns: if is_inside { (frame.cols - 2 * r).max(0) as u32 } else { 0 } }
    }
}

impl RowRules {
    /// Whether window `k` has a result, which has `total` valid cells. Without branches: they would be most of what a short formula takes.
    #[inline(always)]
    pub fn has_result(&self, windows: &Windows<'_>, k: u32, total: u32) -> bool {
        let column = (windows.x + k as i32).wrapping_sub(self.first) as u32;
        (total >= self.least) & (windows.is_valid(k) | self.fills) & (column < self.columns)
    }
}
