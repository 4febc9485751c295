//! Tiles: how a frame is cut for codes, and where those are.
//!
//! ```text
//! a tile:     a few strips side by side, `rows_each` rows, and the cells around them that their windows see
//! in memory:  what a survey found, how many tiles have been taken, how many classes each tile has, and the codes of tiles, plane after plane
//! ```
//!
//! Tiles overlap, since a class has another number in each: at 21 × 21, 1.5 bytes are kept for a cell.

use simt::global::{In, Out};
use simt::{four, thread, unroll, warp};

use super::strip::Frame;
use super::{COLUMNS_STRIP, COLUMNS_THREADS};

/// Tiles that a survey looks at, at most.
pub const COLUMNS_SURVEY: u32 = 128;
/// Numbers of a plane.
pub const COLUMNS_PLANE: u32 = 240;

/// The word that [`entropy_band_codes`](fn@crate::entropy::entropy_band_codes) counts the tiles in that its warps have taken: 0 when tiles have been numbered.
pub(in crate::entropy) const TAKEN: usize = COLUMNS_SURVEY as usize;
/// Words before those of tiles: of a survey, and how many tiles have been taken.
pub const COLUMNS_HEADER: u32 = COLUMNS_SURVEY + 1;

/// Code of a class that another plane has: no sweep counts it.
pub(super) const OTHER: u8 = 254;
/// Code of nodata.
pub(super) const NO_DATA: u8 = 255;

/// Words of a row of a tile of `strips_each` strips: from that of the column before the first windows to that of the one behind the last.
pub const fn columns_tile_words(size: u32, strips_each: u32) -> u32 {
    let r = size / 2;
    (strips_each * COLUMNS_STRIP + r) / 4 + r / 4 + 2
}

/// How a frame is cut into strips: `count` rows of results, by `rows_each` rows.
#[derive(Clone, Copy)]
pub(in crate::entropy) struct Cut {
    pub(in crate::entropy) rows: u32,
    pub(in crate::entropy) cols: u32,
    pub(in crate::entropy) first: u32,
    pub(in crate::entropy) count: u32,
    pub(in crate::entropy) size: u32,
    pub(in crate::entropy) rows_each: u32,
}

/// A tile's cells in the grid: its first word of a row and its first row, words of a row, and rows.
#[derive(Clone, Copy)]
pub(in crate::entropy) struct Area {
    pub(in crate::entropy) x: u32,
    pub(in crate::entropy) y: u32,
    pub(in crate::entropy) width: u32,
    pub(in crate::entropy) height: u32,
}

/// How a frame is cut into tiles, and where their codes are in the memory that this kernel writes, in words: what the survey found, how many classes
/// each tile has, then planes of the tiles' codes.
#[derive(Clone, Copy)]
pub(in crate::entropy) struct Tiles {
    cut: Cut,
    /// Tiles side by side, and all of them.
    across: u32,
    all: u32,
    /// Strips of a tile.
    strips_each: u32,
    /// The cells that its windows see: words of a row, and rows.
    pub(in crate::entropy) width: u32,
    height: u32,
}

impl Tiles {
    /// Those of so many strips each.
    #[inline(always)]
    pub(in crate::entropy) fn new(cut: Cut, strips_each: u32) -> Self {
        let across = cut.cols.div_ceil((COLUMNS_STRIP * strips_each).max(1)).max(1);
        Self {
            cut,
            across,
            all: across * cut.count.div_ceil(cut.rows_each.max(1)),
            strips_each,
            width: columns_tile_words(cut.size, strips_each).min(cut.cols.div_ceil(4)).max(1),
            height: (cut.rows_each + cut.size - 1).min(cut.rows),
        }
    }

    /// What of a tile's cells lies in the grid.
    #[inline(always)]
    pub(in crate::entropy) fn area(&self, tile: u32) -> Area {
        let Cut { rows, cols, first, count, size, rows_each } = self.cut;
        let (x, y) = self.corner(tile);
        let end = (self.top(tile) + rows_each).min(first + count) + size / 2;
        Area { x, y, width: self.width.min(cols.div_ceil(4) - x), height: end.min(rows) - y }
    }

    /// The tile of each block of a survey; none where there are not so many.
    #[inline(always)]
    pub(super) fn surveyed(&self, block: u32) -> Option<u32> {
        if self.all > COLUMNS_SURVEY {
            Some((u64::from(block) * u64::from(self.all) / u64::from(COLUMNS_SURVEY)) as u32)
        } else {
            (block < self.all).then_some(block)
        }
    }

    /// The column of tiles and the row of tiles that a tile is in.
    #[inline(always)]
    pub(in crate::entropy) fn position(&self, tile: u32) -> (u32, u32) {
        (tile % self.across, tile / self.across)
    }

    /// The word that says how many classes a tile has.
    #[inline(always)]
    pub(in crate::entropy) fn classes_at(tile: u32) -> usize {
        (COLUMNS_HEADER + tile) as usize
    }

    /// Writes how many classes a tile has; and once, that no tile has been taken.
    #[inline(always)]
    pub(super) fn store_classes(coded: Out<u32>, tile: u32, classes: u32) {
        coded.store(Self::classes_at(tile), classes);
        if tile == 0 {
            coded.store(TAKEN, 0);
        }
    }

    /// The word of the codes of a tile in plane `n` of those in memory, from row `row` and word `col` of its area.
    #[inline(always)]
    pub(in crate::entropy) fn code_at(&self, tile: u32, n: u32, row: u32, col: u32) -> usize {
        self.begin(tile) + n as usize * self.plane() + row as usize * self.width as usize + col as usize
    }

    /// The first of a tile's cells: its word of a row, and the row.
    #[inline(always)]
    fn corner(&self, tile: u32) -> (u32, u32) {
        let (r, strip) = ((self.cut.size / 2) as i32, tile % self.across * self.strips_each);
        let left = (strip * COLUMNS_STRIP) as i32;
        (((left - 1 - r) >> 2).max(0) as u32, (self.top(tile) as i32 - r).max(0) as u32)
    }

    /// The first row of results.
    #[inline(always)]
    fn top(&self, tile: u32) -> u32 {
        self.cut.first + tile / self.across * self.cut.rows_each
    }

    /// The word where a tile's codes begin, in the first plane.
    #[inline(always)]
    fn begin(&self, tile: u32) -> usize {
        (COLUMNS_HEADER + self.all) as usize + tile as usize * self.size()
    }

    /// Words of a tile.
    #[inline(always)]
    fn size(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Words from a plane to the next.
    #[inline(always)]
    fn plane(&self) -> usize {
        self.all as usize * self.size()
    }

    /// Whether a tile of the block's strips, a warp each, has at least so many classes.
    #[inline(always)]
    pub(super) fn has_many(&self, coded: In<u32>, least: u32) -> bool {
        if least == 0 {
            return true;
        }
        let strips = self.cut.cols.div_ceil(COLUMNS_STRIP).max(1);
        let mut strip = thread::block_idx_x() * (COLUMNS_THREADS / 32);
        let end = strip + COLUMNS_THREADS / 32;
        while strip < end {
            let tile = strip / strips * self.across + strip % strips / self.strips_each.max(1);
            if tile < self.all && coded.load(Self::classes_at(tile)) >= least {
                return true;
            }
            strip += 1;
        }
        false
    }

    /// How many classes the tile of a strip has, and the strip's frame over the codes of a plane.
    #[inline(always)]
    pub(super) fn coded(&self, coded: In<u32>, strip: &Frame) -> (u32, Frame) {
        let piece = (strip.begin as u32 - self.cut.first) / self.cut.rows_each.max(1);
        let tile = piece * self.across + strip.left as u32 / (COLUMNS_STRIP * self.strips_each).max(1);
        let (x, y) = self.corner(tile);
        // Of the grid's first cell, which is mostly not there: only what the tile has is read.
        let origin = self.begin(tile).wrapping_sub(y as usize * self.width as usize + x as usize);
        let nodata = if strip.nodata <= 255 { NO_DATA.into() } else { 256 };
        let frame = Frame { cells: coded.cast(), stride: 4 * self.width, origin, nodata, ..*strip };
        (coded.load(Self::classes_at(tile)), frame)
    }

    /// The frame over the codes of plane `n` of those in memory, from that of the first.
    #[inline(always)]
    pub(super) fn in_plane(&self, frame: &Frame, n: u32) -> Frame {
        Frame { origin: frame.origin.wrapping_add(n as usize * self.plane()), ..*frame }
    }
}

/// Codes of tiles, which of them are counted, and which planes are in memory.
#[derive(Clone, Copy)]
pub(super) struct Planes {
    pub(super) coded: In<u32>,
    pub(super) tiles: Tiles,
    pub(super) first: u32,
    pub(super) count: u32,
    /// Classes of a tile at least: those of fewer have been counted.
    pub(super) least: u32,
}

/// How many sweeps the tiles of a survey need in all; `load` gives what it found.
#[inline(always)]
pub(in crate::entropy) fn surveyed(load: impl Fn(usize) -> u32) -> u32 {
    let mut sweeps = 0;
    four!(N => {
        sweeps += load((warp::lane_id() + 32 * N as u32) as usize);
    });
    unroll!(I in 0 1 2 3 4 => {
        sweeps += warp::warp_shuffle_xor(warp::FULL, sweeps, 1 << I, 32).0;
    });
    sweeps
}

/// Whether a launch goes on that is for surveys of up to `most` sweeps.
#[inline(always)]
pub(in crate::entropy) fn goes_on(coded: In<u32>, most: u32) -> bool {
    most == u32::MAX || surveyed(|n| coded.load(n)) <= most
}

/// Words of a tile's rows, those of a thread.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    pub(super) row: u32,
    pub(super) col: u32,
    width: u32,
}

impl Walk {
    #[inline(always)]
    pub(super) fn new(width: u32) -> Self {
        let t = thread::thread_idx_x();
        Self { row: t / width.max(1), col: t % width.max(1), width }
    }

    /// The block's next words.
    #[inline(always)]
    pub(super) fn next(&mut self) {
        self.row += COLUMNS_THREADS / self.width.max(1);
        self.col += COLUMNS_THREADS % self.width.max(1);
        if self.col >= self.width {
            self.col -= self.width;
            self.row += 1;
        }
    }
}
