//! Classes of a strip: which of them occur, and numbers from 0 on for those that do.
//!
//! ```text
//! the warp:     reads the cells that the strip's windows see, and sets a flag for each byte
//! class c:      occurs where its flag is set; its number is how many classes below c occur
//! sweep g:      counts the classes with the numbers 16·g..16·g + 16: number − 16·g is their code, OTHER that of the rest,
//!               NO_DATA that of nodata
//! ```
//!
//! A map of many classes has few of them in any one place. So a strip takes one sweep for every sixteen classes that it contains
//! itself, for any number of classes of the map. A table has the codes. Where numbers save no sweep, cells are
//! their own numbers, and counters take 16·g away themselves: that saves lookups.
//!
//! Each strip belongs to one warp, and so do its tables.

use simt::shared::Shared;
use simt::{shared, thread, warp};

use crate::entropy::equal_bytes;

/// Code of a class that another sweep counts: not counted in this one.
const OTHER: u8 = 64;
/// Code of a cell that no sweep counts.
const NO_DATA: u8 = 255;

shared! {
    /// 256 flags of each warp.
    static COLUMNS_FLAGS: [u32; 2048];
    /// The numbers of 256 classes, for each warp.
    static COLUMNS_NUMBERS: [u8; 2048];
    /// Their codes in a sweep.
    static COLUMNS_CODES: [u8; 2048];
}

/// The warp's part of an array.
#[inline(always)]
fn own<T: simt::scalar::Scalar>(array: Shared<T>) -> Shared<T> {
    array.slice(thread::thread_idx_x() / 32 * 256, 256)
}

/// Flags of a strip's classes.
#[derive(Clone, Copy)]
pub struct Flags(Shared<u32>);

impl Flags {
    /// None is set.
    #[inline(always)]
    pub fn new() -> Self {
        let flags = own(shared::array::<COLUMNS_FLAGS>());
        let mut j = 0;
        while j < 8 {
            flags.store(32 * j + warp::lane_id(), 0);
            j += 1;
        }
        warp::sync_warp(warp::FULL);
        Self(flags)
    }

    /// Sets the flags of the lanes' bytes, the first `bytes` of each word; all lanes call it.
    #[inline(always)]
    pub fn mark(self, word: u32, bytes: i32) {
        let mut known = 1;
        let mut k = 0;
        while k < 4 {
            if k < bytes {
                known &= self.0.load(word >> (8 * k) & 255);
            }
            k += 1;
        }
        if warp::warp_vote_any(warp::FULL, known == 0) {
            // Orders the lookups before this against the stores that follow.
            warp::sync_warp(warp::FULL);
            let mut k = 0;
            while k < 4 {
                if known == 0 && k < bytes {
                    self.0.atomic_exchange(word >> (8 * k) & 255, 1);
                }
                k += 1;
            }
            warp::sync_warp(warp::FULL);
        }
    }
}

/// The classes of a strip.
#[derive(Clone, Copy)]
pub struct Classes {
    numbers: Shared<u8>,
    codes: Shared<u8>,
    nodata: u32,
    /// Sweeps over the strip.
    pub sweeps: u32,
    /// Where no table is needed.
    plain: bool,
}

/// What a sweep counts.
#[derive(Clone, Copy)]
pub struct Sweep {
    codes: Shared<u8>,
    /// Cells are looked up in the table.
    table: bool,
    /// Taken away from a cell for its code, times 8.
    pub base: u32,
}

impl Classes {
    /// Up to 16 that are their own codes.
    #[inline(always)]
    pub fn few() -> Self {
        let (numbers, codes) = (own(shared::array::<COLUMNS_NUMBERS>()), own(shared::array::<COLUMNS_CODES>()));
        Self { numbers, codes, nodata: 256, sweeps: 1, plain: true }
    }

    /// Numbers the classes whose flags are set.
    #[inline(always)]
    pub fn number(flags: Flags, levels: u32, nodata: u32) -> Self {
        let few = Self::few();
        let lane = warp::lane_id();
        let (mut count, mut j) = (0, 0);
        while j < 8 {
            let class = 32 * j + lane;
            let ballot = warp::warp_vote_ballot(warp::FULL, flags.0.load(class) != 0 && class != nodata);
            few.numbers.store(class, (count + (ballot & ((1 << lane) - 1)).count_ones()) as u8);
            count += ballot.count_ones();
            j += 1;
        }
        let sweeps = count.max(1).div_ceil(16);
        // As its own code class 255 could not be distinguished from no data.
        let plain = sweeps == levels.div_ceil(16) && (levels < 256 || nodata > 255);
        Self { nodata, sweeps, plain, ..few }
    }

    /// Prepares a sweep, once the codes of the one before are no longer read.
    #[inline(always)]
    pub fn sweep(&self, sweep: u32) -> Sweep {
        // Nor from a cell outside the grid, where it is counted.
        let table = !self.plain || sweep == 15;
        if table {
            warp::sync_warp(warp::FULL);
            let lane = warp::lane_id();
            let mut j = 0;
            while j < 8 {
                let class = 32 * j + lane;
                let number = if self.plain { class } else { u32::from(self.numbers.load(class)) };
                let own = number.wrapping_sub(16 * sweep);
                let code = if own < 16 { own as u8 } else { OTHER };
                self.codes.store(class, if class == self.nodata { NO_DATA } else { code });
                j += 1;
            }
            warp::sync_warp(warp::FULL);
        }
        Sweep { codes: self.codes, table, base: if table { 0 } else { 128 * sweep } }
    }
}

impl Sweep {
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
