//! Heads: for every row of the grid and every strip, the histogram of the row's cells that the window before the strip's first one sees.
//!
//! ```text
//! eight lanes:   a row and one strip after another
//!     first      count the cells in columns left − 1 − r ..= left − 1 + r, four a lane at a time
//!     next       add those of the 128 columns that enter, subtract those of the 128 that leave
//! ```
//!
//! They are made once for all strips by a kernel of their own, [`entropy_columns_heads`](fn@entropy_columns_heads), and are a quarter of a
//! byte a cell. A strip that counts that window itself ([`base`](super::base)) reads 2 · size cells for every row of 128: for small windows that is
//! hidden behind the rest, at 255 × 255 it is a fifth of the time, at 1,001 × 1,001 most of it. With heads a row is two words a lane, off the critical path.
//!
//! Counts are nibbles within a word of cells, bytes within a lane, and as [`Steps`](super::counters::Steps) has them in the end.

use core::marker::PhantomData;

use simt::global::{In, Out};
use simt::math::{byte_permute, dot4, shift_left_clamped};
use simt::{four, kernel, thread, unroll, warp};

use super::COLUMNS_STRIP;
use super::counters::Counts;
use super::strip::{Before, Frame};
use super::tiles::{COLUMNS_SURVEY, surveyed};

/// Words of a histogram.
pub const COLUMNS_HEAD: u32 = 8;

/// Columns whose cells bytes can count.
const PIECE: i32 = 248;

/// The lanes of a row.
const LANES: u32 = 8;

/// Which sixteen classes of how many, and where heads begin, in words.
#[derive(Clone, Copy)]
pub(super) struct Groups {
    pub begin: u32,
    pub group: u32,
    pub count: u32,
}

impl Groups {
    /// All classes are sixteen.
    pub const ONE: Self = Self { begin: 0, group: 0, count: 1 };
}

/// The window before a strip's first one, from heads.
///
/// With `MANY` a lane has a word of any group, up to four of them, so that they add up to the valid cells; otherwise one of the group that is counted.
#[derive(Clone, Copy)]
pub(super) struct Heads<C, const MANY: bool> {
    heads: In<u32>,
    /// Words from a row's to the next, and where the strip's begin.
    row: u32,
    strip: u32,
    groups: Groups,
    /// The lane's word.
    count: u32,
    counts: PhantomData<C>,
}

impl<C: Counts, const MANY: bool> Heads<C, MANY> {
    /// No cells.
    #[inline(always)]
    pub fn new(frame: &Frame, heads: In<u32>, groups: Groups) -> Self {
        let words = COLUMNS_HEAD * groups.count;
        let row = (frame.cols as u32).div_ceil(COLUMNS_STRIP) * words;
        let group = if MANY { 0 } else { groups.group * COLUMNS_HEAD };
        let strip = groups.begin + frame.left as u32 / COLUMNS_STRIP * words + group;
        Self { heads, row, strip, groups, count: 0, counts: PhantomData }
    }

    /// The lane's word of a row's histogram.
    #[inline(always)]
    fn of(&self, frame: &Frame, y: i32) -> u32 {
        let lane = warp::lane_id();
        if !frame.has_row(y) || MANY && lane >= COLUMNS_HEAD * self.groups.count {
            return 0;
        }
        let at = y as usize * self.row as usize + self.strip as usize;
        if MANY { self.heads.load(at + lane as usize) } else { C::head(self.heads, at, lane) }
    }
}

impl<C: Counts, const MANY: bool> Before<C> for Heads<C, MANY> {
    #[inline(always)]
    fn slide(&mut self, frame: &Frame, _: u32, (entering, leaving): (i32, i32)) {
        self.count = self.count.wrapping_add(self.of(frame, entering)).wrapping_sub(self.of(frame, leaving));
    }

    #[inline(always)]
    fn counts(&self) -> (u32, u32) {
        if !MANY {
            return (self.count, 0);
        }
        let lane = self.groups.group * COLUMNS_HEAD + warp::lane_id() % COLUMNS_HEAD;
        let (own, _) = warp::warp_shuffle_idx(warp::FULL, self.count, lane, 32);
        // All halves of a side together are at most 65,025.
        let mut both = self.count;
        unroll!(I in 0 1 2 3 4 => {
            both = both.wrapping_add(warp::warp_shuffle_xor(warp::FULL, both, 1 << I, 32).0);
        });
        (own, (both & 0xFFFF) + (both >> 16))
    }
}

/// All bits from byte `n` of a word on: all where `n` is negative.
#[inline(always)]
fn ones_above(n: i32) -> u32 {
    shift_left_clamped(u32::MAX, 8 * n.max(0) as u32)
}

/// The lane's word of the histogram of sixteen classes from `16 · group` on in a row's columns `from..from + len`, of which there are at most [`PIECE`]; all
/// lanes call it.
#[inline(always)]
fn piece(frame: &Frame, group: u32, y: i32, from: i32, len: i32) -> u32 {
    let lane = warp::lane_id() % LANES;
    let (left, right) = (from.max(0), (from + len).min(frame.cols));
    let start = (from & !3) + 4 * lane as i32;
    let mut bytes = [0; 4];
    let mut done = 0;
    // The same number of steps for all lanes: a piece may begin anywhere in its first word.
    while done < len + 3 {
        // A nibble holds fifteen cells, and these are twelve.
        let (mut low, mut high) = (0, 0);
        unroll!(_N in 0 1 2 => {
            if done < len + 3 {
                let x = start + done;
                let outside = !ones_above(left - x) | ones_above(right - x);
                let codes = frame.plain(frame.word(y, frame.word_at(x))) | outside;
                four!(K => {
                    low += shift_left_clamped(1, dot4(codes, 4 << (8 * K), 0u32.wrapping_sub(64 * group)));
                    high += shift_left_clamped(1, dot4(codes, 4 << (8 * K), 0u32.wrapping_sub(64 * group + 32)));
                });
                done += 4 * LANES as i32;
            }
        });
        bytes[0] += low & 0x0F0F_0F0F;
        bytes[1] += low >> 4 & 0x0F0F_0F0F;
        bytes[2] += high & 0x0F0F_0F0F;
        bytes[3] += high >> 4 & 0x0F0F_0F0F;
    }
    // Each lane keeps half of its counts, and gives the other half away.
    let swap = |keep: bool, a: u32, b: u32, with: u32| {
        let (kept, given) = if keep { (b, a) } else { (a, b) };
        kept + warp::warp_shuffle_xor(warp::FULL, given, with, 32).0
    };
    let (upper, odd) = (lane & 4 != 0, lane & 1 != 0);
    let pair = [swap(upper, bytes[0], bytes[2], 4), swap(upper, bytes[1], bytes[3], 4)];
    let word = swap(odd, pair[0], pair[1], 1);
    let word = word + warp::warp_shuffle_xor(warp::FULL, word, 2, 32).0;
    byte_permute(word, 0, if lane & 2 != 0 { 0x4342 } else { 0x4140 })
}

/// The same for any number of columns.
#[inline(always)]
fn columns(frame: &Frame, group: u32, y: i32, from: i32, len: i32) -> u32 {
    let (mut sum, mut done) = (0, 0);
    while done < len {
        sum += piece(frame, group, y, from + done, (len - done).min(PIECE));
        done += PIECE;
    }
    sum
}

/// Makes the heads of a group of classes.
#[inline(always)]
fn make(frame: &Frame, heads: Out<u32>, strips_each: u32, groups: Groups) {
    let (rows, across) = (frame.rows as u32, (frame.cols as u32).div_ceil(COLUMNS_STRIP).max(1));
    let pieces = across.div_ceil(strips_each.max(1)).max(1);
    let unit = thread::index_x() / LANES;
    // Lanes beyond the last row count its cells and drop the result: the warp stays converged.
    let (row, mut strip) = (unit / pieces, unit % pieces * strips_each);
    let (y, group) = (row.min(rows - 1) as i32, groups.group);
    let (size, r) = (frame.size as i32, (frame.size / 2) as i32);
    let mut left = (strip * COLUMNS_STRIP) as i32;
    let mut word = columns(frame, group, y, left - 1 - r, size);
    let mut n = 0;
    loop {
        if row < rows && strip < across {
            let head = (row as usize * across as usize + strip as usize) * groups.count as usize + group as usize;
            let at = groups.begin as usize + head * COLUMNS_HEAD as usize;
            heads.store(at + (warp::lane_id() % LANES) as usize, word);
        }
        n += 1;
        if n >= strips_each {
            return;
        }
        let strip_width = COLUMNS_STRIP as i32;
        let (entering, leaving) =
            (columns(frame, group, y, left + r, strip_width), columns(frame, group, y, left - 1 - r, strip_width));
        word = word.wrapping_add(entering).wrapping_sub(leaving);
        strip += 1;
        left += strip_width;
    }
}

/// Makes the heads of all strips and rows, in blocks of [`COLUMNS_THREADS`](super::COLUMNS_THREADS) threads.
///
/// The histogram of row y for strip s is [`COLUMNS_HEAD`] words from (y · strips + s) · [`COLUMNS_HEAD`] on, where a row has cols /
/// [`COLUMNS_STRIP`] strips, rounded up. Eight threads have a row and `strips_each` of its strips; threads beyond those of all rows do nothing.
///
/// # Safety
/// `cells`, `rows`, `cols`, `stride`, `size` and `nodata` are as for [`entropy_columns`](fn@super::entropy_columns), which reads `heads`; `heads` has room
/// for all, and the launch has the block size above.
#[kernel(threads = 256)]
pub unsafe fn entropy_columns_heads(
    cells: In<u8>,
    heads: Out<u32>,
    rows: u32,
    cols: u32,
    stride: u32,
    size: u32,
    nodata: u32,
    strips_each: u32,
) {
    let frame = Frame::of_grid(cells, (rows, cols, stride), size, nodata);
    make(&frame, heads, strips_each, Groups::ONE);
}

/// The same for `groups` groups of sixteen classes, a plane of blocks each, behind the words of a survey.
///
/// The histogram of row y, strip s and group g begins at word [`COLUMNS_SURVEY`] + ((y · strips + s) · `groups` + g) · [`COLUMNS_HEAD`]. Nothing is done where
/// the survey has found at most `most` sweeps; it is not read where `most` is 0.
///
/// # Safety
/// As [`entropy_columns_heads`](fn@entropy_columns_heads), but that classes are below 16 · `groups`, which is the height of the launch.
#[kernel(threads = 256)]
pub unsafe fn entropy_columns_heads_groups(
    cells: In<u8>,
    heads: Out<u32>,
    rows: u32,
    cols: u32,
    stride: u32,
    size: u32,
    nodata: u32,
    strips_each: u32,
    groups: u32,
    most: u32,
) {
    if most > 0 && surveyed(|n| heads.load(n)) <= most {
        return;
    }
    let frame = Frame::of_grid(cells, (rows, cols, stride), size, nodata);
    let groups = Groups { begin: COLUMNS_SURVEY, group: thread::block_idx_y(), count: groups };
    make(&frame, heads, strips_each, groups);
}
