//! Windows over the numbers that classes have in tiles: maps of many classes, few of them in one place.
//!
//! ```text
//! before:      a kernel of the columns family has numbered the classes of each tile, and written its cells' numbers, a byte each
//! a warp:      a tile, or half of one at the left or right border of the grid, sixteen of its classes at a time
//! ```
//!
//! A tile takes as long as it has sixteens of classes, so warps take the next one when they have done with one, by a counter in memory.
//!
//! To a warp its tile is a grid of its own, whose first cell is some word of memory: as long as a strip, so that windows beyond it see cells of the tile. Rows
//! at the grid's upper and lower border are marched over apart from those between.
//!
//! Tiles of more than [`BAND_CODES`] classes are left to [`entropy_columns_many`](fn@super::entropy_columns_many).

use simt::global::{In, Out};
use simt::{kernel, warp};

use super::super::columns::tiles::{Area, Cut, TAKEN, Tiles, goes_on};
use super::super::measure::{Measure, Single};
use super::super::units::{UNIT_COLS, Unit};
use super::strip::Strip;
use super::strips;

/// Classes of a tile at most.
pub const BAND_CODES: u32 = 112;

/// Units of work of a launch over so many rows of tiles: warps take one after another.
pub fn band_codes_units(cols: u32, pieces: u32) -> u32 {
    Parts::new(cols, pieces).all
}

/// How tiles are shared out: those at the left and right border in halves, and first, since they take longer.
#[derive(Clone, Copy)]
struct Parts {
    across: u32,
    /// Tiles of a row that are halved: the first and the last, where there are several.
    sides: u32,
    halves: u32,
    all: u32,
}

impl Parts {
    #[inline(always)]
    fn new(cols: u32, pieces: u32) -> Self {
        let across = cols.div_ceil(UNIT_COLS).max(1);
        let sides = across.min(2);
        let halves = 2 * sides * pieces;
        Self { across, sides, halves, all: halves + (across - sides) * pieces }
    }

    /// A unit's tile, and its rows of so many: from one on, to another.
    #[inline(always)]
    fn get(&self, unit: u32, rows_each: u32) -> (u32, u32, u32) {
        // The maxima tell the compiler that it never divides by 0.
        if unit < self.halves {
            let (side, piece) = (unit / 2 % self.sides.max(1), unit / 2 / self.sides.max(1));
            let tile = piece * self.across + side * (self.across - 1);
            let half = rows_each.div_ceil(2);
            return if unit.is_multiple_of(2) { (tile, 0, half) } else { (tile, half, rows_each) };
        }
        let (unit, inner) = (unit - self.halves, (self.across - self.sides).max(1));
        (unit / inner * self.across + 1 + unit % inner, 0, rows_each)
    }
}

#[inline(always)]
fn codes<const NODATA: bool>(
    (coded, taken): (In<u32>, Out<u32>),
    out: Out<f32>,
    table: In<u32>,
    cut: Cut,
    out_stride: u32,
    most: u32,
    scale: f32,
) {
    if !goes_on(coded, most) {
        return;
    }
    let Cut { rows, cols, first, count, size, rows_each } = cut;
    let tiles = Tiles::new(cut, 1);
    let (one, several) = (Single::<true, false>::new(0, scale), Single::<true, true>::new(0, scale));
    let nodata = if NODATA { 255 } else { 256 };
    let grid = (rows, cols, 4 * tiles.width);
    let (strip, _) = strips(coded.cast(), out, table, grid, (first, out_stride), (size, nodata), one);
    let parts = Parts::new(cols, count.div_ceil(rows_each.max(1)));
    loop {
        let mut unit = 0;
        if warp::lane_id() == 0 {
            unit = taken.atomic_add(TAKEN, 1);
        }
        let unit = warp::warp_shuffle_idx(warp::FULL, unit, 0, 32).0;
        if unit >= parts.all {
            return;
        }
        let (tile, from, to) = parts.get(unit, rows_each);
        let classes = coded.load(Tiles::classes_at(tile));
        if classes > BAND_CODES {
            continue;
        }
        let (Area { x, y, width, height }, (across, down)) = (tiles.area(tile), tiles.position(tile));
        let (x, y) = (4 * x as i32, y as i32);
        let here = Strip {
            origin: tiles.code_at(tile, 0, 0, 0),
            seen: (height as i32, (4 * width as i32).min(cols as i32 - x)),
            rows: rows as i32 - y,
            cols: cols as i32 - x,
            out_row: y - first as i32,
            out_col: x,
            x: (across * UNIT_COLS) as i32 - x,
            ..strip
        };
        let top = (first + down * rows_each) as i32;
        let end = (first + count) as i32;
        let (begin, end) = ((top + from as i32).min(end) - y, (top + to as i32).min(end) - y);
        if classes <= 16 {
            march::<_, NODATA>(&here, begin, end);
        } else {
            march::<_, NODATA>(&here.with_measure(several.with_groups(classes.div_ceil(16))), begin, end);
        }
    }
}

/// The results of rows of a tile.
#[inline(always)]
fn march<M: Measure, const NODATA: bool>(tile: &Strip<M>, begin: i32, end: i32) {
    let r = tile.radius;
    // Rows whose windows are inside, if all columns' are.
    let inside = tile.x >= r && tile.x + UNIT_COLS as i32 + r <= tile.cols;
    let upper = if inside { begin.max(r).min(end) } else { end };
    let lower = if inside { end.min(tile.rows - r).max(upper) } else { end };
    let mut piece = 0;
    while piece < 3 {
        let (begin, end, inside) = match piece {
            0 => (begin, upper, false),
            1 => (upper, lower, true),
            _ => (lower, end, false),
        };
        if begin < end {
            tile.march_groups::<NODATA>(&Unit { strip: 0, begin, end, inside });
        }
        piece += 1;
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident, nodata $nodata:literal;)*) => {$(
        $(#[$doc])*
        #[kernel(threads = 512, blocks = 1, arch = 80)]
        pub unsafe fn $name(
            coded: In<u32>,
            taken: Out<u32>,
            out: Out<f32>,
            table: In<u32>,
            rows: u32,
            cols: u32,
            first: u32,
            count: u32,
            out_stride: u32,
            size: u32,
            rows_each: u32,
            most: u32,
            scale: f32,
        ) {
            codes::<$nodata>((coded, taken), out, table, Cut { rows, cols, first, count, size, rows_each }, out_stride, most, scale);
        }
    )*};
}

codes! {
    /// Entropy of a `size` × `size` window of any classes, `size` being odd and at most [`BAND_SIZE`](super::BAND_SIZE), of those tiles that have up to
    /// [`BAND_CODES`], in blocks of up to [`BAND_THREADS`](super::BAND_THREADS) threads, on the tensor cores.
    ///
    /// `coded` is what [`entropy_columns_recode`](fn@super::super::entropy_columns_recode) or
    /// [`entropy_columns_recode_words`](fn@super::super::entropy_columns_recode_words) has written for the same grid, rows, window and `rows_each`, for tiles of one
    /// strip, and at least its first plane; `taken` is the same memory. Nothing is done where a survey has found more than `most` sweeps; it is not read where `most` is the largest number. `table`,
    /// `scale` and dynamic shared memory are those of [`entropy_band`](fn@super::entropy_band). Any number of blocks works; as many as run at once is best, and
    /// [`band_codes_units`] warps.
    ///
    /// # Safety
    /// As [`entropy_columns_many`](fn@super::super::entropy_columns_many); the launch has the block size and the shared memory above.
    entropy_band_codes, nodata false;

    /// The same for grids with nodata.
    ///
    /// # Safety
    /// As [`entropy_band_codes`](fn@entropy_band_codes).
    entropy_band_codes_counted, nodata true;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_all_rows_of_all_tiles_once() {
        for (cols, pieces, rows_each) in [(1, 1, 1), (128, 3, 5), (129, 2, 4), (1000, 4, 7)] {
            let parts = Parts::new(cols, pieces);
            let tiles = cols.div_ceil(UNIT_COLS) * pieces;
            let mut rows = vec![0; (tiles * rows_each) as usize];
            for unit in 0..parts.all {
                let (tile, from, to) = parts.get(unit, rows_each);
                (from..to).for_each(|row| rows[(tile * rows_each + row) as usize] += 1);
            }
            assert!(rows.iter().all(|&times| times == 1), "{cols} columns, {pieces} pieces: {rows:?}");
            assert_eq!(parts.all, band_codes_units(cols, pieces));
        }
    }
}
