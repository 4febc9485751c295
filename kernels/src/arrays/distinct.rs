//! The set of numbers that occur, of more than 8 bits.
//!
//! ```text
//! a warp has a cache of 256 keys in shared memory, indexed by a hash
//! each lane:  a cell at a time; is its key in the cache?
//! where one is not:  the warp synchronises; one lane after the other, each for all that have the same key,
//!                    puts it into the set of all warps, in global memory, and into the cache
//! ```
//!
//! The set is a hash table that only grows, with open addressing. The first of the keys that are new there are also appended to a
//! list, which is all that the host reads where it has room for them; otherwise it reads the set, unless there are more keys than codes.
//! Beyond [`DISTINCT_MOST`] keys no more are inserted, so that a free slot can always be found.

use simt::global::{In, Out};
use simt::shared::Shared;
use simt::{kernel, shared, thread, warp};

use super::{ARRAYS_REAL, ARRAYS_THREADS, Array, Bits, GridStride, Mask, Scan, WARPS, by_width, key};

/// Numbers of a block's record: the first cell, in reading order, that is no whole number (all ones where there is none); [`DISTINCT_NODATA`]
/// and [`DISTINCT_LAST`].
pub const DISTINCT_RECORD: u32 = 2;

/// Set in a record: a cell has no data.
pub const DISTINCT_NODATA: u64 = 1;

/// Set in a record: the key with all bits set occurs, which the set cannot hold.
pub const DISTINCT_LAST: u64 = 2;

/// Slots of the set, each all ones when a launch begins; twice as many as keys at most.
pub const DISTINCT_SLOTS: u32 = 1 << 17;

/// Keys after which no more are inserted.
pub const DISTINCT_MOST: u32 = 1 << 16;

/// Keys of the list.
pub const DISTINCT_LIST: u32 = 256;

/// Keys in a warp's cache.
const CACHED: u32 = 256;

/// The empty slot of a set or cache.
const NONE: u64 = u64::MAX;

shared! {
    static DISTINCT_CACHES: [u64; 2048];
    static DISTINCT_WARPS: [u64; 8];
}

/// The result of all warps.
#[derive(Clone, Copy)]
struct Set {
    slots: Out<u64>,
    list: Out<u64>,
    count: Out<u32>,
}

impl Set {
    fn insert(self, key: u64) {
        // Of every warp at most one lane is beyond this at a time, and there are fewer warps than spare slots.
        if self.count.atomic_max(0, 0) > DISTINCT_MOST {
            return;
        }
        let mut slot = hash(key) >> (64 - DISTINCT_SLOTS.ilog2());
        let mut left = DISTINCT_SLOTS;
        while left > 0 {
            let old = self.slots.atomic_compare_exchange(slot as usize, NONE, key);
            if old == key {
                return;
            }
            if old == NONE {
                let at = self.count.atomic_add(0, 1);
                if at < DISTINCT_LIST {
                    self.list.store(at as usize, key);
                }
                return;
            }
            slot = (slot + 1) % u64::from(DISTINCT_SLOTS);
            left -= 1;
        }
    }
}

#[inline(always)]
fn hash(key: u64) -> u64 {
    key.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// A thread's result beside the numbers in the set.
#[derive(Clone, Copy)]
struct Found {
    fraction: u64,
    flags: u64,
}

/// True when the floating-point number with these bits is not whole, or its magnitude has at least the bits `large`.
#[inline(always)]
fn is_fraction<B: Bits>(bits: u64, large: u64) -> bool {
    let (mantissa, bias) = if B::BITS == 32 { (23, 127) } else { (52, 1023) };
    let magnitude = bits & (u64::MAX >> (65 - B::BITS));
    let exponent = magnitude >> mantissa;
    if magnitude == 0 {
        false
    } else if exponent < bias {
        true
    } else if exponent - bias >= mantissa {
        magnitude >= large
    } else {
        magnitude << (exponent - bias) & ((1 << mantissa) - 1) != 0
    }
}

#[derive(Clone, Copy)]
struct Task {
    scan: Scan,
    numbers: (u64, u64),
    nodata: Option<u64>,
    large: u64,
    set: Set,
    cache: Shared<u64>,
}

#[inline(always)]
fn scan_cells<B: Bits>(task: &Task) -> Found {
    let Scan { cells, mask, array, kind, rows, cols } = task.scan;
    let cells = cells.cast::<B>();
    let mut found = Found { fraction: u64::MAX, flags: 0 };
    let mut cursor = GridStride::new(cols);
    let mut rounds = cursor.rounds(rows);
    while rounds > 0 {
        let (mut new, mut number, mut slot) = (false, 0, 0);
        if cursor.row < rows && !mask.hides(cursor.row, cursor.col) {
            let bits = cells.load(array.at(cursor.row, cursor.col));
            number = key(bits, kind);
            if number < task.numbers.0 || number > task.numbers.1 || task.nodata == Some(number) {
                found.flags |= DISTINCT_NODATA;
            } else if B::BITS >= 32 && kind & ARRAYS_REAL != 0 && is_fraction::<B>(bits.wide(), task.large) {
                let index = u64::from(cursor.row) * u64::from(cols) + u64::from(cursor.col);
                found.fraction = found.fraction.min(index);
            } else if number == NONE {
                found.flags |= DISTINCT_LAST;
            } else {
                slot = (hash(number) >> (64 - CACHED.ilog2())) as u32;
                new = task.cache.load(slot) != number;
            }
        }
        let mut left = warp::warp_vote_ballot(warp::FULL, new);
        while left != 0 {
            let leader = left.trailing_zeros();
            let (leading, _) = warp::warp_shuffle_idx(warp::FULL, number, leader, 32);
            // Orders reads and writes of the cache before this against the writes that follow.
            warp::sync_warp(warp::FULL);
            if warp::lane_id() == leader {
                task.set.insert(number);
                task.cache.store(slot, number);
            }
            new = new && number != leading;
            left = warp::warp_vote_ballot(warp::FULL, new);
            if left == 0 {
                warp::sync_warp(warp::FULL);
            }
        }
        cursor.step();
        rounds -= 1;
    }
    found
}

/// Puts the keys of the whole numbers that the mask does not hide into a set, and finds the first number that is not whole.
///
/// `slots` is the set; the first keys inserted are in `list`, and `count` says how many there are. `lowest` and `highest` are the keys
/// of the least and the greatest number that is no NaN, `nodata` is the key of no data where `has_nodata` is not 0; both are not in the
/// set. A floating-point number whose magnitude has the bits `large`, or larger ones, counts as not whole. Block b writes
/// [`DISTINCT_RECORD`] numbers from b · `DISTINCT_RECORD` on.
///
/// # Safety
/// `cells` and `mask` hold what their kinds and strides say, `cells` numbers of 2 to 8 bytes; `slots` has [`DISTINCT_SLOTS`] numbers, `list`
/// [`DISTINCT_LIST`], `count` one, `found` a record for every block; there are fewer than 2^16 warps, in blocks of
/// [`ARRAYS_THREADS`] threads, in one dimension.
#[kernel(threads = 256)]
pub unsafe fn arrays_distinct(
    cells: In<u8>,
    mask: In<u8>,
    slots: Out<u64>,
    list: Out<u64>,
    count: Out<u32>,
    found: Out<u64>,
    kind: u32,
    first: u64,
    row: u64,
    col: u64,
    mask_kind: u32,
    mask_first: u64,
    mask_row: u64,
    mask_col: u64,
    rows: u32,
    cols: u32,
    lowest: u64,
    highest: u64,
    has_nodata: u32,
    nodata: u64,
    large: u64,
) {
    let t = thread::thread_idx_x();
    let cache = shared::array::<DISTINCT_CACHES>().slice(t / 32 * CACHED, CACHED);
    let mut i = t % 32;
    while i < CACHED {
        cache.store(i, NONE);
        i += 32;
    }
    warp::sync_warp(warp::FULL);
    let mask = Mask { cells: mask, kind: mask_kind, array: Array { first: mask_first, row: mask_row, col: mask_col } };
    let task = Task {
        scan: Scan { cells, mask, array: Array { first, row, col }, kind, rows, cols },
        numbers: (lowest, highest),
        nodata: (has_nodata != 0).then_some(nodata),
        large,
        set: Set { slots, list, count },
        cache,
    };
    let Found { mut fraction, flags } = by_width!(kind, Bits => scan_cells::<Bits>(&task));

    let mut lane_mask = 16;
    while lane_mask > 0 {
        fraction = fraction.min(warp::warp_shuffle_xor(warp::FULL, fraction, lane_mask, 32).0);
        lane_mask /= 2;
    }
    let warps = shared::array::<DISTINCT_WARPS>();
    if t.is_multiple_of(32) {
        warps.store(t / 32, fraction);
    }
    let without = thread::sync_threads_count(flags & DISTINCT_NODATA != 0);
    let last = thread::sync_threads_count(flags & DISTINCT_LAST != 0);
    if t == 0 {
        let mut w = 1;
        while w < WARPS {
            fraction = fraction.min(warps.load(w));
            w += 1;
        }
        let record = (thread::block_idx_x() * DISTINCT_RECORD) as usize;
        found.store(record, fraction);
        let flag = |set: u32, flag: u64| if set != 0 { flag } else { 0 };
        found.store(record + 1, flag(without, DISTINCT_NODATA) | flag(last, DISTINCT_LAST));
    }
}

const _: () = assert!(ARRAYS_THREADS / 32 * CACHED == 2048, "a cache for every warp");
