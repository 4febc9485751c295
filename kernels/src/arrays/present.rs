//! Which bytes occur, at the bandwidth of memory.
//!
//! ```text
//! a warp has 256 flags in shared memory
//! each lane:  16 bytes at a time; look their flags up
//! where one was not set:  the warp synchronises, sets the flags of its lanes' bytes, synchronises again
//! ```
//!
//! The obvious version sets a flag for every cell. Lookups need no order among lanes, and flags are set only in the first few
//! rounds, for any array, so that nearly all of it is lookups.

use simt::global::{In, Out};
use simt::shared::Shared;
use simt::{kernel, shared, thread, warp};

use super::{ARRAYS_THREADS, Array, GridStride, Mask, WARPS};

/// Words of a block's record: the flags of bytes 0 to 255, from the lowest bit on.
pub const PRESENT_RECORD: u32 = 8;

/// Bytes of an access.
pub const PRESENT_PIECE: u32 = 16;

shared! {
    static PRESENT_FLAGS: [u32; 2048];
}

/// A warp's flags.
#[derive(Clone, Copy)]
struct Flags(Shared<u32>);

impl Flags {
    /// Records the bytes of the lanes' words; all lanes call it, those that have nothing with `has` false.
    #[inline(always)]
    fn mark(self, words: [u32; 4], each: u32, has: bool) {
        let mut known = 1;
        if has {
            let mut w = 0;
            while w < 4 {
                let mut k = 0;
                while k < 4 {
                    if 4 * w + k < each {
                        known &= self.0.load(words[w as usize] >> (8 * k) & 255);
                    }
                    k += 1;
                }
                w += 1;
            }
        }
        if warp::warp_vote_any(warp::FULL, known == 0) {
            // Orders the lookups before this against the stores that follow.
            warp::sync_warp(warp::FULL);
            if known == 0 {
                let mut w = 0;
                while w < 4 {
                    let mut k = 0;
                    while k < 4 {
                        if 4 * w + k < each {
                            self.0.atomic_exchange(words[w as usize] >> (8 * k) & 255, 1);
                        }
                        k += 1;
                    }
                    w += 1;
                }
            }
            warp::sync_warp(warp::FULL);
        }
    }
}

/// Which bytes occur in the cells that the mask does not hide.
///
/// The cells of a row from `head` on are taken in `pieces` pieces of [`PRESENT_PIECE`], those before and behind one by one. Block b
/// writes [`PRESENT_RECORD`] words from b · `PRESENT_RECORD` on.
///
/// # Safety
/// `cells` and `mask` hold what their strides say; with `pieces` the columns are 1 apart, the mask is of kind 0 and the byte of
/// column `head` lies at a multiple of 16 in every row, as `cells` does; `found` has a record for every block; blocks have
/// [`ARRAYS_THREADS`] threads, in one dimension.
#[kernel(threads = 256)]
pub unsafe fn arrays_present(
    cells: In<u8>,
    mask: In<u8>,
    found: Out<u32>,
    first: u64,
    row: u64,
    col: u64,
    mask_kind: u32,
    mask_first: u64,
    mask_row: u64,
    mask_col: u64,
    rows: u32,
    cols: u32,
    head: u32,
    pieces: u32,
) {
    let array = Array { first, row, col };
    let mask = Mask { cells: mask, kind: mask_kind, array: Array { first: mask_first, row: mask_row, col: mask_col } };
    let t = thread::thread_idx_x();
    let all = shared::array::<PRESENT_FLAGS>();
    let flags = Flags(all.slice(t / 32 * 256, 256));
    let mut i = t % 32;
    while i < 256 {
        flags.0.store(i, 0);
        i += 32;
    }
    warp::sync_warp(warp::FULL);

    if pieces > 0 {
        let words = cells.cast::<u32>();
        let mut cursor = GridStride::new(pieces);
        let mut rounds = cursor.rounds(rows);
        while rounds > 0 {
            let inside = cursor.row < rows;
            let mut piece = [0; 4];
            if inside {
                piece = words.load4(array.at(cursor.row, head + cursor.col * PRESENT_PIECE) / 16 * 4);
            }
            flags.mark(piece, 16, inside);
            cursor.step();
            rounds -= 1;
        }
    }
    let rest = cols - pieces * PRESENT_PIECE;
    if rest > 0 {
        let mut cursor = GridStride::new(rest);
        let mut rounds = cursor.rounds(rows);
        while rounds > 0 {
            let column = if cursor.col < head { cursor.col } else { cursor.col + pieces * PRESENT_PIECE };
            let inside = cursor.row < rows;
            let seen = inside && !mask.hides(cursor.row, column);
            let mut byte = 0;
            if seen {
                byte = u32::from(cells.load(array.at(cursor.row, column)));
            }
            flags.mark([byte, 0, 0, 0], 1, seen);
            cursor.step();
            rounds -= 1;
        }
    }

    thread::sync_threads();
    let mut set = 0;
    let mut w = 0;
    while w < WARPS {
        set |= all.load(w * 256 + t);
        w += 1;
    }
    let word = warp::warp_vote_ballot(warp::FULL, set != 0);
    if t.is_multiple_of(32) {
        found.store((thread::block_idx_x() * PRESENT_RECORD + t / 32) as usize, word);
    }
}

const _: () = assert!(ARRAYS_THREADS == 256, "a thread for every flag");
