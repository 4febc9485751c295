//! The frame: the cells at the border of the grid, whose windows are clipped. Each lane counts its own windows.
//!
//! They are few, but border checks would slow down every strip. All loads of
//! a window are issued, and cells outside are shifted to 0: with a branch for each, the loads would wait for
//! one another.

use simt::math::shift_left_clamped;
use simt::thread;

use super::norms::Norms;
use super::{COUNTED, Mode, ROW, Strip, radix};

/// Which of the cells to compute have a window that is clipped, or lie too close to the right border for a whole word.
#[derive(Clone, Copy)]
pub struct Frame {
    /// The rows to compute.
    begin: i32,
    end: i32,
    /// Rows `top..bottom` of them have full windows.
    pub top: i32,
    pub bottom: i32,
    cols: i32,
    /// Columns `left..right` are inside.
    left: i32,
    pub right: i32,
}

impl Frame {
    #[inline(always)]
    pub fn new(begin: i32, end: i32, rows: i32, cols: i32, reach: i32) -> Self {
        let top = begin.max(reach).min(end);
        let bottom = end.min(rows - reach).max(top);
        // Strips begin with two columns that they do not keep, however far windows reach.
        let left = cols.min(2);
        Self { begin, end, top, bottom, cols, left, right: ((cols - 2) / 4 * 4).max(left) }
    }

    /// Cells of a row between `top` and `bottom` that are in the frame.
    #[inline(always)]
    fn sides(&self) -> i32 {
        self.cols - self.right + self.left
    }

    /// Rows of the frame above and below.
    #[inline(always)]
    fn whole_rows(&self) -> i32 {
        self.top - self.begin + self.end - self.bottom
    }

    #[inline(always)]
    fn cells(&self) -> u32 {
        (self.whole_rows() * self.cols + (self.bottom - self.top) * self.sides()) as u32
    }

    /// Row and column of a cell of the frame.
    #[inline(always)]
    fn cell(&self, index: u32) -> (i32, i32) {
        let above = (self.whole_rows() * self.cols) as u32;
        // The maxima tell the compiler that it never divides by 0.
        if index < above {
            let (r, x) = (index / (self.cols as u32).max(1), index % (self.cols as u32).max(1));
            let y = self.begin + r as i32;
            (if y < self.top { y } else { y + self.bottom - self.top }, x as i32)
        } else {
            let (index, sides) = (index - above, (self.sides() as u32).max(1));
            let (r, x) = (index / sides, (index % sides) as i32);
            (self.top + r as i32, if x < self.left { x } else { x - self.left + self.right })
        }
    }

    /// Computes the frame, on all threads of the launch.
    #[inline(always)]
    pub fn compute<const SIDE: usize, const MODE: Mode, const GROUPS: usize, M: Norms>(&self, strip: &Strip<M>) {
        let (threads, cells) = (thread::grid_dim_x() * thread::block_dim_x(), self.cells());
        let mut index = thread::index_x();
        while index < cells {
            let (y, x) = self.cell(index);
            self.cell_alone::<SIDE, MODE, GROUPS, M>(strip, y, x);
            index += threads;
        }
    }

    /// The result of row `y`, column `x`.
    #[inline(always)]
    fn cell_alone<const SIDE: usize, const MODE: Mode, const GROUPS: usize, M: Norms>(
        &self,
        strip: &Strip<M>,
        y: i32,
        x: i32,
    ) {
        let side = SIDE as i32;
        // A byte for each level.
        let mut counts = [[0u32; 4]; GROUPS];
        let (mut n, mut i) = (0, 0);
        let mut centre = 0;
        while i < side * side {
            let (wy, wx) = (y + i / side - side / 2, x + i % side - side / 2);
            let (row, col) = (wy.max(0).min(strip.rows - 1), wx.max(0).min(strip.cols - 1));
            let level = u32::from(strip.cells.load(row as usize * strip.stride as usize + col as usize));
            let counted = (row, col) == (wy, wx) && (MODE != COUNTED || level != strip.nodata);
            let at = if counted { 8 * level } else { 1024 };
            let mut w = 0;
            while w < 4 * GROUPS {
                counts[w / 4][w % 4] += shift_left_clamped(1, at.wrapping_sub(32 * w as u32));
                w += 1;
            }
            n += u32::from(counted);
            if i == side * side / 2 {
                centre = level;
            }
            i += 1;
        }
        let f = |n1: u32, n2: u32| strip.table.load_address((n1 + radix(SIDE) * n2) * ROW + strip.address[0]);
        let pairs = |word: u32| M::add(f(word & 0xFF, word >> 8 & 0xFF), f(word >> 16 & 0xFF, word >> 24));
        let all = M::negated(f(n, 0));
        let (mut rest, mut w) = (all, 0);
        while w < 4 * GROUPS {
            rest = M::add(rest, pairs(counts[w / 4][w % 4]));
            w += 1;
        }
        let norm = strip.measure.of_cells(all, n);
        let [mut h, ..] = strip.measure.results([rest; 4], [norm; 4]);
        if MODE == COUNTED && centre == strip.nodata {
            h = M::NAN;
        }
        strip.out.store((y + strip.out_row) as usize * strip.out_stride as usize + x as usize, h);
    }
}
