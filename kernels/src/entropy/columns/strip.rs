//! Down the rows of a strip, from cells to the counts of each window.
//!
//! A row has four streams of cells: those that enter a window at its right side and leave it at its left, in the row that enters and in the
//! row that leaves. Each lane computes from them the differences between the windows of neighbouring columns; the warp forms prefix sums; and the window
//! before the strip ([`Before`]) is their base. No thread waits for another warp.
//!
//! Rows of the first window enter one after another too, but no counts are needed until the last: their differences are kept as bytes, and
//! widened once in 127 rows.

use simt::global::In;
use simt::math::funnel_shift_right;
use simt::{four, thread, warp};

use super::base::Base;
use super::counters::{Column, Counts, Packed, Steps, WarpScan, halves, one_hot, step};
use super::heads::{Groups, Heads};
use super::tiles::{COLUMNS_PLANE, COLUMNS_SURVEY, Planes};
use super::{COLUMNS_CLASSES, COLUMNS_STRIP, opaque};
use crate::entropy::{NOTHING, equal_bytes};

/// The window before a strip's first one.
pub trait Before<C: Counts> {
    /// Row `entering` enters the window and row `leaving` leaves it; those outside the grid have nothing. `base` is as for [`one_hot`].
    fn slide(&mut self, frame: &Frame, base: u32, rows: (i32, i32));
    /// The lane's word of the window's counts, which is word `lane` modulo how many there are; and how many cells are valid, where these classes are
    /// not all.
    fn counts(&self) -> (u32, u32);
}

/// The consumer of windows' counts.
pub trait Finish<C: Counts>: Copy {
    /// Takes the counts of 16 classes in the last of four neighbouring windows, and how each of them comes from the one before; with those of the last
    /// classes, writes the results.
    fn row(self, windows: &Windows<'_>, counts: C, steps: &[Steps; 4]);
}

/// Four neighbouring windows of a row, and which of their classes have been counted.
#[derive(Clone, Copy)]
pub struct Windows<'a> {
    pub frame: &'a Frame,
    /// The cell at the centre of the first one.
    pub y: i32,
    pub x: i32,
    /// Its element of the results.
    pub at: usize,
    /// These are the first classes, or the last.
    pub is_first: bool,
    pub is_last: bool,
    /// The four cells, where there is nodata.
    centres: u32,
    /// Rows of the windows.
    height: i32,
    /// Valid cells of the windows, where these classes are not all.
    valid: Option<[u32; 4]>,
    nodata: bool,
}

impl Windows<'_> {
    /// How many valid cells window `k` has, to which these counts belong.
    #[inline(always)]
    pub fn cells(&self, k: u32, counts: &impl Counts) -> u32 {
        match self.valid {
            Some([a, b, c, d]) => match k {
                0 => a,
                1 => b,
                2 => c,
                _ => d,
            },
            None if self.nodata => counts.total(),
            None => {
                let (x, r) = (self.x + k as i32, (self.frame.size / 2) as i32);
                (self.height * ((x + r + 1).min(self.frame.cols) - (x - r).max(0)).max(1)) as u32
            }
        }
    }

    /// Whether the centre of window `k` is not nodata.
    #[inline(always)]
    pub fn is_valid(&self, k: u32) -> bool {
        !self.nodata || self.centres >> (8 * k) & 0xFF != self.frame.nodata
    }
}

/// The grid, the window, and the cells to compute: the rows `begin..end` of a strip.
#[derive(Clone, Copy)]
pub struct Frame {
    pub cells: In<u8>,
    pub rows: i32,
    pub cols: i32,
    pub stride: u32,
    /// Added to the words of cells, modulo the largest number.
    pub origin: usize,
    pub first: i32,
    pub out_stride: u32,
    pub size: u32,
    pub nodata: u32,
    pub begin: i32,
    pub end: i32,
    /// The strip's first column.
    pub left: i32,
}

/// Rows of which a byte can hold a sum of differences.
const BYTE_ROWS: i32 = 127;

/// Four cells from any column on, in any row.
#[derive(Clone, Copy)]
struct Position {
    /// Words of a row, of which the four are part.
    low: u32,
    high: u32,
    shift: u32,
    /// 255 for cells outside the grid.
    outside: u32,
}

impl Frame {
    /// A grid, the window, and no strip.
    #[inline(always)]
    pub fn of_grid(cells: In<u8>, (rows, cols, stride): (u32, u32, u32), size: u32, nodata: u32) -> Self {
        let (rows, cols) = (rows as i32, cols as i32);
        Self { cells, rows, cols, stride, origin: 0, first: 0, out_stride: 0, size, nodata, begin: 0, end: 0, left: 0 }
    }

    /// The warp's strip, and the rows of it: strips of `rows_each` of the `count` rows from `first` are numbered along the rows and then down.
    #[inline(always)]
    pub fn of_warp(
        cells: In<u8>,
        (rows, cols, stride): (u32, u32, u32),
        (first, count, out_stride): (u32, u32, u32),
        size: u32,
        nodata: u32,
        rows_each: u32,
    ) -> Self {
        let strip = opaque(thread::index_x() / 32);
        let across = cols.div_ceil(COLUMNS_STRIP).max(1);
        let begin = first + strip / across * rows_each;
        Self {
            first: first as i32,
            out_stride,
            begin: begin as i32,
            end: (begin + rows_each).min(first + count) as i32,
            left: (strip % across * COLUMNS_STRIP) as i32,
            ..Self::of_grid(cells, (rows, cols, stride), size, nodata)
        }
    }

    #[inline(always)]
    pub fn has_row(&self, y: i32) -> bool {
        y >= 0 && y < self.rows
    }

    /// The word of a row in which column `x` lies, or the nearest.
    #[inline(always)]
    pub fn word_at(&self, x: i32) -> u32 {
        (x >> 2).max(0).min((self.cols - 1) >> 2) as u32
    }

    /// Four cells unchanged, the first at a multiple of 4.
    #[inline(always)]
    pub fn word(&self, y: i32, at: u32) -> u32 {
        let word = y as usize * (self.stride / 4) as usize + at as usize;
        self.cells.cast::<u32>().load(word.wrapping_add(self.origin))
    }

    /// 255 in the bytes of those of four cells from `x` on that do not lie in `from..to`.
    #[inline(always)]
    pub fn outside(&self, x: i32, from: i32, to: i32) -> u32 {
        let mut outside = 0;
        four!(K => {
            let at = x + K as i32;
            outside |= if at < from || at >= to { 0xFF << (8 * K) } else { 0 };
        });
        outside
    }

    /// Four cells in the form that counters take; codes of tiles have it.
    #[inline(always)]
    pub fn codes<const NODATA: bool, const CODED: bool>(&self, word: u32) -> u32 {
        if NODATA && !CODED { self.plain(word) } else { word }
    }

    /// Four cells of classes below [`COLUMNS_OWN`](super::COLUMNS_OWN) in the form that counters take: nodata has its byte's highest bit.
    ///
    /// Bytes below 128 can be compared without a carry into the next; where nodata is from 128 on, it has the bit, and they are compared with 127: valid
    /// cells differ from it, and the carries that larger bytes make do not change that.
    #[inline(always)]
    pub fn plain(&self, word: u32) -> u32 {
        let nodata = if self.nodata < 128 { self.nodata * 0x0101_0101 } else { 0x7F7F_7F7F };
        word | (!(word ^ nodata).wrapping_add(0x7F7F_7F7F) & 0x8080_8080)
    }

    #[inline(always)]
    fn position(&self, x: i32) -> Position {
        let (low, high) = (self.word_at(x), self.word_at(x + 4));
        Position { low, high, shift: 8 * (x & 3) as u32, outside: self.outside(x, 0, self.cols) }
    }

    /// The codes at both positions of a row.
    #[inline(always)]
    fn pair<const NODATA: bool, const CODED: bool>(&self, y: i32, positions: [Position; 2]) -> [u32; 2] {
        if !self.has_row(y) {
            return [NOTHING; 2];
        }
        let mut codes = [0; 2];
        let mut n = 0;
        while n < 2 {
            let Position { low, high, shift, outside } = positions[n];
            let word = funnel_shift_right(self.word(y, low), self.word(y, high), shift);
            // What is outside would carry into its neighbours.
            codes[n] = self.codes::<NODATA, CODED>(word & !outside) | outside;
            n += 1;
        }
        codes
    }

    /// Computes the strip, of up to 16 classes that are their own codes.
    #[inline(always)]
    pub fn march_few<F: Finish<C>, C: Counts, const NODATA: bool>(&self, finish: F) {
        let before: Base<NODATA, false, false> = Base::new(self);
        self.sweep::<F, C, _, NODATA, false, false>(finish, before, 0, (true, true));
    }

    /// The same with heads, for large windows.
    #[inline(always)]
    pub fn march_with<F: Finish<C>, C: Counts, const NODATA: bool>(&self, heads: In<u32>, finish: F) {
        let before: Heads<C, false> = Heads::new(self, heads, Groups::ONE);
        self.sweep::<F, C, _, NODATA, false, false>(finish, before, 0, (true, true));
    }

    /// Computes the strip, of classes that are their own codes, a sweep for each of so many groups of 16.
    #[inline(always)]
    pub fn march_own<F: Finish<Packed>, const NODATA: bool, const MANY: bool>(&self, groups: u32, finish: F) {
        self.march_groups::<F, _, NODATA, MANY>(groups, finish, |_| Base::<NODATA, MANY, false>::new(self));
    }

    /// The same with heads of all groups behind the words of a survey, for large windows.
    #[inline(always)]
    pub fn march_own_with<F: Finish<Packed>, const NODATA: bool, const MANY: bool>(
        &self,
        words: In<u32>,
        count: u32,
        finish: F,
    ) {
        self.march_groups::<F, _, NODATA, MANY>(count, finish, |group| {
            Heads::<Packed, MANY>::new(self, words, Groups { begin: COLUMNS_SURVEY, group, count })
        });
    }

    /// A sweep for each group; `before` has the window before the strip's first one, of a group's classes.
    #[inline(always)]
    fn march_groups<F: Finish<Packed>, B: Before<Packed>, const NODATA: bool, const MANY: bool>(
        &self,
        groups: u32,
        finish: F,
        before: impl Fn(u32) -> B,
    ) {
        let mut group = 0;
        while group < groups {
            let ends = (group == 0, group + 1 == groups);
            let base = 8 * COLUMNS_CLASSES * group;
            self.sweep::<F, Packed, _, NODATA, MANY, false>(finish, before(group), base, ends);
            group += 1;
        }
    }

    /// Computes the strip, of any classes, from their codes.
    #[inline(always)]
    pub(super) fn march_many<F: Finish<C>, C: Counts, const NODATA: bool, const MANY: bool>(
        &self,
        planes: &Planes,
        finish: F,
    ) {
        const SWEEPS: u32 = COLUMNS_PLANE / COLUMNS_CLASSES;
        let &Planes { coded, tiles, first, count, least } = planes;
        let (classes, frame) = tiles.coded(coded, self);
        if classes < least {
            return;
        }
        let sweeps = classes.max(1).div_ceil(COLUMNS_CLASSES);
        let mut sweep = first * SWEEPS;
        if NODATA && sweeps == 1 && sweep == 0 {
            // All classes at once: their counts add up to the valid cells.
            return frame.march_few::<F, C, true>(finish);
        }
        let end = sweeps.min(sweep + count * SWEEPS);
        while sweep < end {
            let ends = (sweep == 0, sweep + 1 == sweeps);
            let frame = tiles.in_plane(&frame, sweep / SWEEPS - first);
            let base = 8 * COLUMNS_CLASSES * (sweep % SWEEPS);
            frame.sweep::<F, C, _, NODATA, MANY, true>(finish, Base::<NODATA, MANY, true>::new(&frame), base, ends);
            sweep += 1;
        }
    }

    /// Counts 16 classes down the strip's rows: the (first, last) ones or not. With `MANY` the windows' valid cells are counted besides, since these classes
    /// are not all; `CODED` cells are codes of tiles.
    #[inline(always)]
    fn sweep<F: Finish<C>, C: Counts, B: Before<C>, const NODATA: bool, const MANY: bool, const CODED: bool>(
        &self,
        finish: F,
        mut before: B,
        base: u32,
        ends: (bool, bool),
    ) {
        let lane = warp::lane_id();
        let r = (self.size / 2) as i32;
        let x = self.left + 4 * lane as i32;
        // The cells that enter the windows of four columns, and those that leave.
        let positions = [self.position(x + r), self.position(x - r - 1)];
        let scan = WarpScan::new(lane);

        let mut steps: [Steps; 4] = [[0; 8]; 4];
        let mut valid: [u32; 2] = [0; 2];
        let (mut row, end) = ((self.begin - r).max(0), (self.begin + r).min(self.rows));
        while row < end {
            let until = (row + BYTE_ROWS).min(end);
            let mut columns: [Column; 4] = [[0; 4]; 4];
            let mut valid_columns = 0u32;
            while row < until {
                let [entering, leaving] = self.pair::<NODATA, CODED>(row, positions);
                before.slide(self, base, (row, -1));
                four!(K => {
                    let (new, old) = (one_hot(entering, K as u32, base), one_hot(leaving, K as u32, base));
                    let mut w = 0;
                    while w < 4 {
                        columns[K][w] = columns[K][w].wrapping_add(new[w]).wrapping_sub(old[w]);
                        w += 1;
                    }
                });
                if NODATA && MANY {
                    valid_columns = valid_columns
                        .wrapping_add(valid_bytes::<CODED>(entering))
                        .wrapping_sub(valid_bytes::<CODED>(leaving));
                }
                row += 1;
            }
            // The borrow from the next byte is returned.
            let biased = |bytes: u32| bytes.wrapping_add(BYTE_ROWS as u32 * 0x0101_0101);
            four!(K => {
                let [a, b, c, d] = columns[K];
                step(&mut steps[K], [biased(a), biased(b), biased(c), biased(d)], BYTE_ROWS as u32);
            });
            if NODATA && MANY {
                step_valid(&mut valid, biased(valid_columns), BYTE_ROWS as u32);
            }
        }

        let mut y = self.begin;
        while y < self.end {
            // Nothing leaves the first window.
            let above = if y == self.begin { -1 } else { y - r - 1 };
            let [entering, leaving] = self.pair::<NODATA, CODED>(y + r, positions);
            let [entering_above, leaving_above] = self.pair::<NODATA, CODED>(above, positions);
            before.slide(self, base, (y + r, above));
            four!(K => {
                let (new, old) = (one_hot(entering, K as u32, base), one_hot(leaving, K as u32, base));
                let (new_above, old_above) =
                    (one_hot(entering_above, K as u32, base), one_hot(leaving_above, K as u32, base));
                step(&mut steps[K], changes([new, old_above], [old, new_above], 2), 2);
            });
            let mut counts = C::inclusive_sum(&steps, &scan);
            let mut all_valid = 0;
            if NODATA && MANY {
                let more = valid_bytes::<CODED>(entering) + valid_bytes::<CODED>(leaving_above);
                step_valid(
                    &mut valid,
                    more + (0x0202_0202 - valid_bytes::<CODED>(leaving) - valid_bytes::<CODED>(entering_above)),
                    2,
                );
                let ([a, c], [b, d]) = (halves(valid[0]), halves(valid[1]));
                all_valid = scan.inclusive_sum(a.wrapping_add(b).wrapping_add(c).wrapping_add(d), (0, 5));
            }
            let (first, valid_before) = before.counts();
            counts.map(|w, word| word.wrapping_add(warp::warp_shuffle_idx(warp::FULL, first, w, 32).0));
            if x < self.cols {
                let valid = if NODATA && MANY {
                    let ([_, c], [b, d]) = (halves(valid[0]), halves(valid[1]));
                    let last = all_valid.wrapping_add(valid_before);
                    let third = last.wrapping_sub(d);
                    let second = third.wrapping_sub(c);
                    Some([second.wrapping_sub(b), second, third, last])
                } else {
                    None
                };
                let windows = Windows {
                    frame: self,
                    y,
                    x,
                    at: (y - self.first) as usize * self.out_stride as usize + x as usize,
                    is_first: ends.0,
                    is_last: ends.1,
                    centres: if NODATA && ends.1 { self.word(y, (x / 4) as u32) } else { 0 },
                    height: (y + r + 1).min(self.rows) - (y - r).max(0),
                    valid,
                    nodata: NODATA,
                };
                finish.row(&windows, counts, &steps);
            }
            y += 1;
        }
    }
}

/// Sums and differences of columns as bytes, and `bias` in each.
#[inline(always)]
fn changes(more: [Column; 2], less: [Column; 2], bias: u32) -> Column {
    let mut changes = [0; 4];
    let mut w = 0;
    while w < 4 {
        changes[w] = (more[0][w] + more[1][w]).wrapping_add(bias * 0x0101_0101 - less[0][w] - less[1][w]);
        w += 1;
    }
    changes
}

/// Which bytes of a word are not nodata: 1 or 0 in each.
#[inline(always)]
fn valid_bytes<const CODED: bool>(codes: u32) -> u32 {
    if CODED { !equal_bytes(codes, NOTHING) & 0x0101_0101 } else { !codes >> 7 & 0x0101_0101 }
}

/// Adds bytes, each less `bias`, to counters of 16 bits: columns 0 and 2, 1 and 3.
#[inline(always)]
fn step_valid(valid: &mut [u32; 2], changes: u32, bias: u32) {
    valid[0] = valid[0].wrapping_add(changes & 0x00FF_00FF).wrapping_sub(bias * 0x0001_0001);
    valid[1] = valid[1].wrapping_add(changes >> 8 & 0x00FF_00FF).wrapping_sub(bias * 0x0001_0001);
}
