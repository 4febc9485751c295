//! The size of pieces.
//!
//! ```text
//! large enough that the halo is a small part of what is read and computed, and that a launch and a copy cost little
//! small enough that those in flight fit in memory, on the host and on every device, and that all workers have some
//! whole blocks of the file that is written, so that each is compressed once
//! ```
//!
//! Whole rows are the obvious cut and usually the best one: they are one piece of memory and their halo is on two sides only. But of
//! 10 × 10⁶ cells a band would be the whole, and of a raster of 10⁶ columns a row of blocks may not fit in memory. So the width
//! is halved as long as that makes pieces better: first of all possible, then with less halo.

/// The requirements on the shape of pieces.
#[derive(Debug, Clone, Copy)]
pub(super) struct Requirements {
    /// Rows and columns of the output.
    pub grid: (usize, usize),
    /// Rows and columns that a window reaches beyond a piece, both sides together.
    pub halo: (usize, usize),
    /// True where windows see something beyond the grid's edges.
    pub extends: bool,
    /// Rows and columns of the blocks of the output's file; pieces are multiples of them. (1, 1) in memory.
    pub block: (usize, usize),
    /// True when only whole rows can be written.
    pub whole_rows: bool,
    /// Bytes of host memory for a cell seen and a cell of output, of a piece.
    pub bytes: (usize, usize),
    /// Bytes of host memory that are needed once, for a cell seen and a cell of output of the piece being read and written.
    pub temporary: (usize, usize),
    /// Pieces in flight.
    pub in_flight: usize,
    /// Bytes of host memory for all of it.
    pub memory: usize,
    /// Bytes on a device for a cell seen and a cell of output, and for all of a piece.
    pub device: Option<((usize, usize), usize)>,
    /// Cells that a piece should have, and the least that are worth it.
    pub cells: (usize, usize),
    /// The most rows of a piece, and of one that is narrower than the grid.
    pub rows_at_most: (usize, usize),
    /// Pieces that there should be, so that all workers have some.
    pub pieces: usize,
}

/// No piece is small enough for the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge {
    /// Bytes of host memory that the smallest pieces take; `None` where a device is what is too small.
    pub host: Option<usize>,
    /// Bytes on the device that the smallest piece takes.
    pub device: usize,
}

/// The most cells that a piece of `own` of all cells sees along one axis, with a halo of so many on both sides together.
pub(super) fn seen_along(own: usize, all: usize, halo: usize, extends: bool) -> usize {
    if extends { own + halo } else { all.min(own + halo) }
}

impl Requirements {
    /// Rows and columns of the pieces.
    pub fn choose(&self) -> Result<(usize, usize), TooLarge> {
        let (rows, cols) = self.grid;
        // (share of what is seen that is output, rows, columns)
        let mut best: Option<(f64, usize, usize)> = None;
        let mut width = cols;
        let mut smallest = None;
        loop {
            match self.height(width) {
                Ok(height) => {
                    let own = self.own(height, width);
                    // A narrower piece has to be clearly better.
                    if best.is_none_or(|(best, ..)| own > 1.1 * best) {
                        best = Some((own, height, width));
                    }
                }
                Err(error) => smallest = Some(error),
            }
            if self.whole_rows || width <= self.block.1 {
                break;
            }
            width = width.div_ceil(2).next_multiple_of(self.block.1).min(width - 1);
            width = (width / self.block.1 * self.block.1).max(self.block.1);
        }
        match (best, smallest) {
            (Some((_, height, width)), _) => Ok((height, width)),
            (None, Some(error)) => Err(error),
            (None, None) => Ok((rows, cols)),
        }
    }

    /// Rows and columns that a piece sees.
    fn seen(&self, height: usize, width: usize) -> (usize, usize) {
        let along = |own: usize, all: usize, halo: usize| seen_along(own, all, halo, self.extends);
        (along(height, self.grid.0, self.halo.0), along(width, self.grid.1, self.halo.1))
    }

    /// The part of what is seen that is output.
    fn own(&self, height: usize, width: usize) -> f64 {
        // The whole grid has no halo that another piece sees too.
        let along =
            |own: usize, all: usize, halo: usize| if own >= all { 1.0 } else { own as f64 / (own + halo) as f64 };
        // With fewer pieces than workers some of them are idle.
        let pieces = self.grid.0.div_ceil(height) * self.grid.1.div_ceil(width);
        let busy = (pieces as f64 / self.pieces as f64).min(1.0);
        along(height, self.grid.0, self.halo.0) * along(width, self.grid.1, self.halo.1) * (0.5 + 0.5 * busy)
    }

    /// Rows of pieces so wide: the most that fit and are wanted.
    fn height(&self, width: usize) -> Result<usize, TooLarge> {
        let (rows, cols) = self.grid;
        let block = self.block.0.min(rows);
        let share = (rows * cols).div_ceil(self.pieces).max(self.cells.1);
        let rows_at_most = if width < cols { self.rows_at_most.1 } else { self.rows_at_most.0 };
        let wanted = self.cells.0.min(share).div_ceil(width).max(8 * self.halo.0).min(rows_at_most).min(rows);
        let fits = |height: usize| {
            let (seen_rows, seen_cols) = self.seen(height, width);
            let seen = seen_rows * seen_cols;
            let weigh =
                |(a, b): (usize, usize), out: usize| seen.saturating_mul(a).saturating_add(out.saturating_mul(b));
            let own = height * width;
            let host = weigh(self.bytes, own).saturating_mul(self.in_flight).saturating_add(weigh(self.temporary, own));
            // On a device halo columns have results too, which are dropped.
            let device = self.device.map_or((0, usize::MAX), |(bytes, all)| (weigh(bytes, height * seen_cols), all));
            (host, device)
        };
        let possible = |height: usize| {
            let (host, (device, all)) = fits(height);
            host <= self.memory && device <= all
        };
        // In whole blocks, at least one.
        let blocks = (wanted / block).max(1);
        let Some(most) = (1..=blocks).rev().map(|n| n * block).find(|&height| possible(height)) else {
            let (host, (device, _)) = fits(block);
            return Err(TooLarge { host: (host > self.memory).then_some(host), device });
        };
        Ok(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirements() -> Requirements {
        Requirements {
            grid: (60_000, 60_000),
            halo: (4, 4),
            extends: false,
            block: (256, 256),
            whole_rows: false,
            bytes: (1, 4),
            temporary: (1, 8),
            in_flight: 4,
            memory: 1 << 30,
            device: None,
            cells: (1 << 24, 1 << 16),
            rows_at_most: (1 << 30, 1 << 30),
            pieces: 8,
        }
    }

    #[test]
    fn whole_rows_of_whole_blocks_are_preferred() {
        assert_eq!(requirements().choose(), Ok((256, 60_000)));
        assert_eq!(Requirements { block: (1, 1), ..requirements() }.choose(), Ok((280, 60_000)));
        // Windows that reach far make pieces higher.
        let far = Requirements { block: (1, 1), halo: (254, 254), memory: 1 << 40, ..requirements() };
        assert_eq!(far.choose(), Ok((2032, 60_000)));
    }

    #[test]
    fn what_does_not_fit_is_cut_narrower() {
        let (rows, cols) = Requirements { memory: 1 << 28, ..requirements() }.choose().unwrap();
        assert!(rows % 256 == 0 && cols % 256 == 0 && cols < 60_000, "{rows} x {cols}");
        assert!(29 * rows * cols < 1 << 28);
        let whole = Requirements { memory: 1 << 28, whole_rows: true, ..requirements() };
        assert!(matches!(whole.choose(), Err(TooLarge { host: Some(bytes), .. }) if bytes > 1 << 28));
        let low = Requirements { memory: 1 << 28, halo: (400, 400), rows_at_most: (1 << 30, 256), ..requirements() };
        let high = Requirements { rows_at_most: (1 << 30, 1 << 30), ..low };
        assert!(low.choose().unwrap().0 == 256 && high.choose().unwrap().0 > 256);
        let on_device = Requirements { device: Some(((1, 4), 1000)), ..requirements() };
        assert!(matches!(on_device.choose(), Err(TooLarge { host: None, device }) if device > 1000));
    }

    #[test]
    fn flat_and_tall_grids_have_pieces_for_all() {
        let flat = Requirements { grid: (10, 1_000_000), block: (1, 1), ..requirements() };
        let (rows, cols) = flat.choose().unwrap();
        assert_eq!(rows, 10);
        assert!((2..=16).contains(&1_000_000usize.div_ceil(cols)), "{cols}");
        let tall = Requirements { grid: (1_000_000, 10), ..flat };
        assert_eq!(tall.choose(), Ok((125_000, 10)));
        assert_eq!(Requirements { grid: (1, 1), ..flat }.choose(), Ok((1, 1)));
    }
}
