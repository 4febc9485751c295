//! s4 = s3 + a copy of the table for each lane, in its own bank: no bank conflicts.
//!
//! An entry of the table is 128 bytes now, a word in each of the 32 banks, and lane l reads the l-th: for any entries, 32
//! lanes are served at once. The lane's address is a shift of the histogram's word, and one three-input logic operation that
//! masks the index and puts the lane in.
//!
//! It takes 100 KiB of shared memory, so a multiprocessor with 228 KiB holds 2 blocks, 16 warps, where s3 was not limited by it,
//! and every block writes 25,632 words before it begins. We expect 8 conflict-free loads to gain more than that costs.
//!
//! What `entropy_sliding` changes about it: a lane takes 4 columns, so that it
//! loads whole words, the window slides sideways over them, and a warp's halo is 4 columns of 128 and not of 32;
//! the cells of five rows to come are loaded ahead; and blocks are as many as run at once, so that the table is filled
//! once for many tiles.

use simt::global::{In, Out};
use simt::math::and_or;
use simt::shared::{self, Shared};
use simt::{kernel, warp};

use super::s2::march;
use super::s3::{PAIRS, fill};
use super::{Frame, Packed, Table};

/// Dynamic shared memory of a block, in bytes.
pub const LADDER_S4_SHARED: u32 = PAIRS * ROW;

/// Bytes of an entry: a word for each lane.
const ROW: u32 = warp::SIZE * 4;
const LOG_ROW: u32 = ROW.ilog2();

/// F of two counters at a time, from the lane's bank.
#[derive(Clone, Copy)]
struct LanePairs {
    table: Shared<u32>,
    /// The lane's byte offset in an entry.
    lane: u32,
}

impl LanePairs {
    #[inline(always)]
    fn at(self, word: u32, bit: u32) -> u32 {
        let moved = if bit < LOG_ROW { word << (LOG_ROW - bit) } else { word >> (bit - LOG_ROW) };
        self.table.load_at(and_or(moved, 0x3FF << LOG_ROW, self.lane))
    }
}

impl Table for LanePairs {
    #[inline(always)]
    fn single(self, n: u32) -> u32 {
        self.table.load_at(n * ROW + self.lane)
    }

    #[inline(always)]
    fn sum(self, [a, b, c]: Packed) -> u32 {
        let low = self.at(a, 0) + self.at(a, 10) + self.at(a, 20);
        let middle = self.at(b, 0) + self.at(b, 10) + self.at(b, 20);
        low + middle + self.at(c, 7) + self.at(c, 17)
    }
}

/// s3 with a copy of the table for each lane. Dynamic shared memory: [`LADDER_S4_SHARED`] bytes.
///
/// # Safety
/// As [`ladder_s2`](fn@super::ladder_s2), and the launch has the shared memory above.
#[kernel(threads = 256)]
pub unsafe fn ladder_s4(
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
    let pairs = shared::dynamic::<u32>();
    fill(pairs, warp::SIZE, table);
    let pairs = LanePairs { table: pairs, lane: warp::lane_id() * 4 };
    march(pairs, &Frame { cells, out, rows, cols, stride, first, count, out_stride, scale });
}
