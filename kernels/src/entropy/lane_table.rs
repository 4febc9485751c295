//! A table in shared memory that is kept 32 times, one copy a lane: lookups of a warp have no bank conflicts, whatever they look up.

use simt::global::In;
use simt::scalar::Scalar;
use simt::shared::{self, Shared};
use simt::thread;

/// Bytes of a row of the table: a word for each lane.
pub const ROW: u32 = 128;

/// Makes the first `entries` entries of a table rows of 32 words, four words of each by `words`, at the beginning of dynamic shared memory. All threads of the
/// block call it, and synchronise before they look up.
#[inline(always)]
pub fn fill<T: Scalar>(table: In<T>, entries: u32, words: impl Fn(T) -> [u32; 4]) -> Shared<u32> {
    let near = shared::dynamic::<u32>().slice(0, entries * (ROW / 4));
    // Eight threads a row, four words each.
    let mut at = thread::thread_idx_x();
    while at < entries * 8 {
        near.store4(4 * at, words(table.load((at / 8) as usize)));
        at += thread::block_dim_x();
    }
    near
}
