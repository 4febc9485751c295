//! s3 = s2 + a table of pairs: 8 look-ups a window instead of 16.
//!
//! Two neighbouring counters of 5 bits are, as they lie in their word, one index of 10 bits, n₁ + 32·n₂, into a
//! table of F(n₁) + F(n₂): one load, shift and mask for two levels, and one addition less. It has 801 entries.
//!
//! But 26 words had a bank each, and 801 have not: lanes whose n₂ differ and whose n₁ agree have a bank conflict, and
//! that is common in neighbouring windows with few of many levels. A row is 94 instructions now, not 122, and we expect part of
//! that gain to be lost to bank conflicts.

use simt::global::{In, Out};
use simt::shared::Shared;
use simt::{kernel, shared, thread};

use super::s2::march;
use super::{Frame, Packed, Table};

/// Entries of the table: n₁ + 32·n₂ for n₁ + n₂ ≤ 25.
pub(super) const PAIRS: u32 = FULL_WINDOW * 32 + 1;

/// Cells of a full window.
const FULL_WINDOW: u32 = 25;

/// Makes the table in shared memory, each entry `copies` times in a row. All threads of the block have to call it.
#[inline(always)]
pub(super) fn fill(pairs: Shared<u32>, copies: u32, table: In<u32>) {
    let mut at = thread::thread_idx_x();
    while at < PAIRS * copies {
        let pair = at / copies;
        let (n1, n2) = (pair % 32, pair / 32);
        // Entries that no window reaches are filled too: no unwritten memory is read. In a grid of less than 5 rows or
        // columns some of those overflow.
        let fits = n1 + n2 <= FULL_WINDOW;
        let f = if fits { table.load(n1 as usize).wrapping_add(table.load(n2 as usize)) } else { 0 };
        pairs.store(at, f);
        at += thread::block_dim_x();
    }
    thread::sync_threads();
}

/// F of two counters at a time.
#[derive(Clone, Copy)]
struct Pairs(Shared<u32>);

impl Pairs {
    #[inline(always)]
    fn at(self, word: u32, bit: u32) -> u32 {
        self.0.load(word >> bit & 0x3FF)
    }
}

impl Table for Pairs {
    #[inline(always)]
    fn single(self, n: u32) -> u32 {
        self.0.load(n)
    }

    #[inline(always)]
    fn sum(self, [a, b, c]: Packed) -> u32 {
        let low = self.at(a, 0) + self.at(a, 10) + self.at(a, 20);
        let middle = self.at(b, 0) + self.at(b, 10) + self.at(b, 20);
        low + middle + self.at(c, 7) + self.at(c, 17)
    }
}

shared! {
    static LADDER_S3_PAIRS: [u32; PAIRS as usize];
}

/// s2 with a table of pairs.
///
/// # Safety
/// As [`ladder_s2`](fn@super::ladder_s2).
#[kernel(threads = 256)]
pub unsafe fn ladder_s3(
    cells: In<u8>,
    out: Out<f32>,
    table: In<u32>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    scale: f32,
) {
    let pairs = shared::array::<LADDER_S3_PAIRS>();
    fill(pairs, 1, table);
    march(Pairs(pairs), &Frame { cells, out, rows, cols, stride, first, count, out_stride, scale });
}
