//! s1 = v9 without its tile and its counters in memory: the counters are packed in three registers.
//!
//! v9 counts a cell by loading, incrementing and storing a counter in shared memory, a dependent chain with bank
//! conflicts; then it selects 16 values of a table by comparisons. Here a cell is counted by three shifts and three
//! additions in registers, and nothing is cleared before. Shared memory only holds the table of F, 26 words, in which
//! lanes that read different entries have no bank conflicts.
//!
//! The cells come straight from global memory again: v9's tile saved hits in the cache, and cost a barrier and a
//! quarter of the threads. We expect the 25 loads of a thread, a byte each, to be the bottleneck.

use simt::global::{In, Out};
use simt::shared::Shared;
use simt::{kernel, shared, thread};

use super::{Frame, Packed, Table, add, entropy, one_hot};
use crate::ladder::{LOGS, clipped};

/// F of one counter at a time.
#[derive(Clone, Copy)]
pub(super) struct Singles(pub Shared<u32>);

impl Singles {
    /// Copies the table to shared memory. All threads of the block have to call it.
    #[inline(always)]
    pub fn fill(self, table: In<u32>) {
        let thread = thread::thread_idx_y() * thread::block_dim_x() + thread::thread_idx_x();
        if thread < LOGS as u32 {
            self.0.store(thread, table.load(thread as usize));
        }
        thread::sync_threads();
    }

    #[inline(always)]
    fn at(self, word: u32, bit: u32) -> u32 {
        self.0.load(word >> bit & 31)
    }
}

impl Table for Singles {
    #[inline(always)]
    fn single(self, n: u32) -> u32 {
        self.0.load(n)
    }

    #[inline(always)]
    fn sum(self, [a, b, c]: Packed) -> u32 {
        let low = self.at(a, 0) + self.at(a, 5) + self.at(a, 10) + self.at(a, 15) + self.at(a, 20) + self.at(a, 25);
        let middle = self.at(b, 0) + self.at(b, 5) + self.at(b, 10) + self.at(b, 15) + self.at(b, 20) + self.at(b, 25);
        low + middle + self.at(c, 7) + self.at(c, 12) + self.at(c, 17) + self.at(c, 22)
    }
}

shared! {
    static LADDER_S1_TABLE: [u32; LOGS];
}

/// Counters packed in registers, a table of F in shared memory; one thread a cell, in blocks of 32 × 8.
///
/// # Safety
/// As [`ladder_v0`](fn@crate::ladder::ladder_v0); blocks have 26 threads or more, and `table` holds F(n) for n = 0..=25 in
/// units of 1/S, where `scale` multiplies by what is wanted over S.
#[kernel(threads = 256)]
pub unsafe fn ladder_s1(
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
    let frame = Frame { cells, out, rows, cols, stride, first, count, out_stride, scale };
    let singles = Singles(shared::array::<LADDER_S1_TABLE>());
    singles.fill(table);

    let (x, i) = (thread::index_x(), thread::index_y());
    if x >= cols || i >= count {
        return;
    }
    let (window_rows, window_cols) = (clipped(first + i, rows), clipped(x, cols));
    let n = (window_rows.len() * window_cols.len()) as u32;
    let mut window = [0; 3];
    for wy in window_rows {
        for wx in window_cols.clone() {
            window = add(window, one_hot(frame.level(wy, wx)));
        }
    }
    frame.write(i, x, entropy(singles, window, n, scale));
}
