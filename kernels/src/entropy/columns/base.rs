//! The window before a strip's first one, counted by the strip itself: the base of all of its windows.
//!
//! ```text
//! shared memory:  how many cells of each class have entered the window, and how many have left it
//! each row:       a word of 4 cells a lane, each of them incrementing its class's counter
//! ```
//!
//! The obvious version finds by ballots, one for each bit of a code, the lanes of a class: 3 instructions each, 20 ballots for 128 cells,
//! and a sixth of the kernel's time at 101 × 101. Lanes that add 1 to the same counter are served at once.

use simt::shared::Shared;
use simt::{four, shared, thread, warp};

use super::counters::{Counts, class_of};
use super::strip::{Before, Frame};
use crate::entropy::NOTHING;

shared! {
    /// For each warp: counters of 16 classes that entered, of all others, and of valid cells; then of those that left.
    static COLUMNS_BASE: [u32; 512];
}

/// Counters of what entered, or left.
const COUNTERS: u32 = 32;
/// That of valid cells.
const VALID: u32 = 31;
/// One that is not read: a branch for each cell takes longer than an unneeded count.
const OTHERS: u32 = 30;

/// The largest window of which both rows are loaded at once: it fits 16 words at any alignment.
const SMALL: u32 = 61;

/// A word of a row, and the bits of it that are not in the window.
#[derive(Clone, Copy)]
struct Word {
    at: u32,
    outside: u32,
}

/// The window's counters.
#[derive(Clone, Copy)]
pub struct Base<const NODATA: bool, const MANY: bool, const CODED: bool> {
    counters: Shared<u32>,
    /// The lane's first word.
    first: Word,
}

impl<const NODATA: bool, const MANY: bool, const CODED: bool> Base<NODATA, MANY, CODED> {
    /// No cells.
    #[inline(always)]
    pub fn new(frame: &Frame) -> Self {
        let counters = shared::array::<COLUMNS_BASE>().slice(thread::thread_idx_x() / 32 * 2 * COUNTERS, 2 * COUNTERS);
        let lane = warp::lane_id();
        // Orders the reads before this against the writes that follow.
        warp::sync_warp(warp::FULL);
        counters.store(lane, 0);
        counters.store(lane + COUNTERS, 0);
        warp::sync_warp(warp::FULL);
        Self { counters, first: Self::word(frame, if frame.size <= SMALL { lane % 16 } else { lane }) }
    }

    /// Word `n` of those that the window has in a row.
    #[inline(always)]
    fn word(frame: &Frame, n: u32) -> Word {
        let r = (frame.size / 2) as i32;
        let x = ((frame.left - 1 - r) & !3) + 4 * n as i32;
        let outside = frame.outside(x, (frame.left - 1 - r).max(0), (frame.left + r).min(frame.cols));
        Word { at: frame.word_at(x), outside }
    }

    /// Counts four cells.
    #[inline(always)]
    fn count(self, frame: &Frame, base: u32, y: i32, word: Word, offset: u32) {
        if !frame.has_row(y) {
            return;
        }
        let codes = frame.codes::<NODATA, CODED>(frame.word(y, word.at)) | word.outside;
        if codes == NOTHING {
            return;
        }
        // The 16 classes of a sweep have the same upper half of a byte.
        let classes = codes ^ (base / 8 * 0x0101_0101);
        four!(K => {
            let class = classes >> (8 * K) & 0xFF;
            self.counters.atomic_add(offset + class.min(OTHERS), 1);
            if NODATA && MANY {
                let code = codes >> (8 * K) & 0xFF;
                let valid = if if CODED { code != 0xFF } else { code < 0x80 } { VALID } else { OTHERS };
                self.counters.atomic_add(offset + valid, 1);
            }
        });
    }
}

impl<C: Counts, const NODATA: bool, const MANY: bool, const CODED: bool> Before<C> for Base<NODATA, MANY, CODED> {
    #[inline(always)]
    fn slide(&mut self, frame: &Frame, base: u32, (entering, leaving): (i32, i32)) {
        let lane = warp::lane_id();
        // Counters are read before the next row comes.
        warp::sync_warp(warp::FULL);
        if frame.size <= SMALL {
            let (y, offset) = if lane < 16 { (entering, 0) } else { (leaving, COUNTERS) };
            self.count(frame, base, y, self.first, offset);
            return;
        }
        let (mut word, mut n) = (self.first, lane);
        loop {
            self.count(frame, base, entering, word, 0);
            self.count(frame, base, leaving, word, COUNTERS);
            n += 32;
            // A window begins anywhere in its first word.
            if n - lane > frame.size.div_ceil(4) {
                return;
            }
            word = Self::word(frame, n);
        }
    }

    #[inline(always)]
    fn counts(&self) -> (u32, u32) {
        warp::sync_warp(warp::FULL);
        let of = |n: u32| self.counters.load(n).wrapping_sub(self.counters.load(n + COUNTERS));
        let lane = warp::lane_id();
        (C::word(of(class_of(lane)), lane), of(VALID))
    }
}
