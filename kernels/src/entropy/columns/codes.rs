//! Classes of a tile: which of them occur, and numbers from 0 on for those that do.
//!
//! ```text
//! every warp:   looks through its columns of all rows that the tile's windows see, and sets a flag for each byte it meets
//! thread c:     class c occurs where a warp has its flag; its number is how many classes below c occur
//! sweep g:      counts the classes with the numbers 16·g..16·g + 16: number − 16·g is their code, OTHER that of the rest,
//!               NO_DATA that of nodata
//! ```
//!
//! A map of many classes has few of them in any one place. So a tile takes one sweep for every sixteen classes that it has
//! itself, whatever the number of classes of the map. A table has the codes. Where numbers save no sweep, cells are
//! their own numbers, and counters take 16·g away themselves: that saves four lookups in 64.

use simt::shared::Shared;
use simt::{shared, thread, warp};

use super::{COLUMNS_THREADS, WARPS};
use crate::entropy::equal_bytes;

/// Code of a class that another sweep counts: counters take it for nothing.
const OTHER: u8 = 64;
/// Code of a cell that no sweep counts.
const NO_DATA: u8 = 255;

shared! {
    /// The code of each class in this sweep.
    static COLUMNS_CODES: [u8; 256];
    /// How many of the 32 classes of a warp's threads occur.
    static COLUMNS_OCCUR: [u32; 8];
}

/// The classes of a tile. Thread c of the block has class c.
#[derive(Clone, Copy)]
pub struct Classes {
    codes: Shared<u8>,
    /// This thread's class has this number, if it occurs.
    number: u32,
    occurs: bool,
    /// The class that is not counted.
    nodata: u32,
    /// Sweeps over the tile.
    pub sweeps: u32,
    /// Where no table is needed.
    plain: bool,
}

/// What a sweep counts.
#[derive(Clone, Copy)]
pub struct Sweep {
    codes: Shared<u8>,
    /// Cells go by the table.
    table: bool,
    /// Taken away from a cell for its code, times 8.
    pub base: u32,
}

impl Classes {
    /// Flags for [`note`], one for every warp and byte: zeroed.
    #[inline(always)]
    pub fn clear(flags: Shared<u32>) {
        let mut at = thread::thread_idx_x();
        while at < 256 * WARPS {
            flags.store(at, 0);
            at += COLUMNS_THREADS;
        }
        thread::sync_threads();
    }

    /// Sets the flags of the lanes' bytes, the first `bytes` of each word; all lanes come here. `flags` are the warp's.
    #[inline(always)]
    pub fn note(flags: Shared<u32>, word: u32, bytes: i32) {
        let mut known = 1;
        let mut k = 0;
        while k < 4 {
            if k < bytes {
                known &= flags.load(word >> (8 * k) & 255);
            }
            k += 1;
        }
        if warp::warp_vote_any(warp::FULL, known == 0) {
            // What has been looked up before is ordered before what is set now.
            warp::sync_warp(warp::FULL);
            let mut k = 0;
            while k < 4 {
                if known == 0 && k < bytes {
                    flags.atomic_exchange(word >> (8 * k) & 255, 1);
                }
                k += 1;
            }
            warp::sync_warp(warp::FULL);
        }
    }

    /// Numbers the classes whose flags are set.
    #[inline(always)]
    pub fn number(flags: Shared<u32>, levels: u32, nodata: u32) -> Self {
        let counts = shared::array::<COLUMNS_OCCUR>();
        let t = thread::thread_idx_x();
        let (lane, in_block) = (warp::lane_id(), t / 32);
        thread::sync_threads();
        let mut flag = 0;
        let mut w = 0;
        while w < WARPS {
            flag |= flags.load(256 * w + t);
            w += 1;
        }
        let occurs = flag != 0 && t != nodata;
        let ballot = warp::warp_vote_ballot(warp::FULL, occurs);
        if lane == 0 {
            counts.store(in_block, ballot.count_ones());
        }
        thread::sync_threads();
        let (mut number, mut count) = ((ballot & ((1 << lane) - 1)).count_ones(), 0);
        let mut w = 0;
        while w < WARPS {
            let of_warp = counts.load(w);
            number += if w < in_block { of_warp } else { 0 };
            count += of_warp;
            w += 1;
        }
        let sweeps = count.max(1).div_ceil(16);
        // As its own code class 255 could not be told from no data.
        let plain = sweeps == levels.div_ceil(16) && (levels < 256 || nodata > 255);
        let number = if plain { t } else { number };
        Self { codes: shared::array::<COLUMNS_CODES>(), number, occurs, nodata, sweeps, plain }
    }

    /// Makes ready for a sweep, once the codes of the one before are read no more.
    #[inline(always)]
    pub fn sweep(&self, sweep: u32) -> Sweep {
        // Nor from a cell outside the grid, where it is counted.
        let table = !self.plain || sweep == 15;
        if table {
            let t = thread::thread_idx_x();
            let own = self.number.wrapping_sub(16 * sweep);
            let code = if self.occurs && own < 16 { own as u8 } else { OTHER };
            self.codes.store(t, if t == self.nodata { NO_DATA } else { code });
            thread::sync_threads();
        }
        Sweep { codes: self.codes, table, base: if table { 0 } else { 128 * sweep } }
    }
}

impl Sweep {
    /// Over cells that are their own codes.
    #[inline(always)]
    pub fn only() -> Self {
        Self { codes: shared::array::<COLUMNS_CODES>(), table: false, base: 0 }
    }

    /// The codes of four cells.
    #[inline(always)]
    pub fn codes(&self, word: u32, nodata: u32) -> u32 {
        if !self.table {
            return if nodata <= 255 { word | equal_bytes(word, nodata * 0x0101_0101) } else { word };
        }
        let mut codes = 0;
        let mut k = 0;
        while k < 4 {
            codes |= u32::from(self.codes.load(word >> (8 * k) & 255)) << (8 * k);
            k += 1;
        }
        codes
    }
}
