//! The rows that a warp's windows see, as selectors in shared memory.
//!
//! A row enters the histograms once and leaves them `size` rows later. What leaves is read from here, since loading and packing it again
//! takes longer. A row is packed by the lane that has loaded its cells, and read by the eight lanes that count them.
//!
//! The rows y − r − 1 .. y + r + 2 are there when row y is computed: one that leaves, those of the window, and one that is ahead, so that one barrier
//! a row is enough: what is written is read after the next.

use simt::shared::Shared;
use simt::warp;

use super::super::selectors::Selectors;
use super::counts::{Entering, WORDS};

/// Words of a row in shared memory: those of a quarter of a lane's group one after another, ten for four regions and their halo, twelve apart, which is
/// free of bank conflicts.
const QUARTER: u32 = 12;
/// Bytes of a row.
pub const ROW_BYTES: u32 = 4 * QUARTER * 4;

/// Byte offsets of rows in a ring.
#[derive(Clone, Copy)]
pub struct Ring {
    rows: Shared<u32>,
    /// Bytes of all rows.
    bytes: u32,
    /// Where the lane's two words of a row go.
    store: [u32; 2],
    /// Where the lane's words of its region begin.
    load: u32,
}

impl Ring {
    #[inline(always)]
    pub fn new(rows: Shared<u32>, slots: u32, lane: u32) -> Self {
        let (g, t) = (lane / 4, lane % 4);
        let at = |word: u32| (word % 4 * QUARTER + word / 4) * 4;
        Self {
            rows,
            bytes: slots * ROW_BYTES,
            store: [at(lane), at(32 + lane % 8)],
            load: (t * QUARTER + g / 2 * 2) * 4,
        }
    }

    /// The slot after `slot`.
    #[inline(always)]
    pub fn next(&self, slot: u32) -> u32 {
        let next = slot + ROW_BYTES;
        if next == self.bytes { 0 } else { next }
    }

    /// The slot `rows` rows before `slot`.
    #[inline(always)]
    pub fn back(&self, slot: u32, rows: u32) -> u32 {
        let back = rows * ROW_BYTES;
        if slot < back { slot + self.bytes - back } else { slot - back }
    }

    /// Writes a row: words `lane` and, in the first eight lanes, `32 + lane` of its 40.
    #[inline(always)]
    pub fn store(&self, slot: u32, words: [Selectors; 2]) {
        self.rows.store_at(slot + self.store[0], words[0].0);
        if warp::lane_id() < 8 {
            self.rows.store_at(slot + self.store[1], words[1].0);
        }
    }

    /// The lane's cells of a row.
    #[inline(always)]
    pub fn load(&self, slot: u32) -> Entering {
        let pairs = self.rows.cast::<u64>();
        let (a, b) = (pairs.load_at(slot + self.load), pairs.load_at(slot + self.load + 8));
        const { assert!(WORDS == 4) };
        Entering([a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32].map(Selectors))
    }

    /// Word `word` of a row.
    #[inline(always)]
    pub fn word(&self, slot: u32, word: u32) -> Selectors {
        Selectors(self.rows.load_at(slot + (word % 4 * QUARTER + word / 4) * 4))
    }
}
