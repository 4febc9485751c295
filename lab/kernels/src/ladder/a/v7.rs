//! v7 = v6 + a table of f32, with sums in f64: mixed precision. The best of its report on one GPU.
//!
//! Half the bytes to write and to read a table entry, and one multiplication of a term in f32; in f32 alone the
//! report saw sums drift in their fourth decimal. And 104 bytes are few enough that `ptxas` keeps no table in memory at all,
//! as it had to with v6's 208: an entry is selected by comparisons and conditional moves of the 26 values. So a look-up
//! costs some 50 instructions, all of them arithmetic, and none depends on local memory.
//!
//! Its published source also changes something that its name does not mention: the counters go to shared memory, 16 × 512 of 8
//! bits, a column for each thread of a block of 512 along a row. No other thread touches a thread's column, so
//! there is no barrier. All 16 counters of a thread are in one bank, with those of three neighbours: a warp uses 8 of the
//! 32 banks, and neighbours at different levels have bank conflicts. This rung is what was published and timed.

use simt::global::{In, Out};
use simt::private::Private;
use simt::{kernel, shared, thread};

use crate::ladder::{LEVELS, LN_F32, clipped, entropy};

/// Threads of a block, along a row.
const THREADS: u32 = 512;

shared! {
    static LADDER_V7_COUNTERS: [i8; LEVELS * THREADS as usize];
}

/// i8 counters in shared memory, a thread-private f32 table, sums in f64; blocks of 512 × 1.
///
/// # Safety
/// As [`ladder_v0`](fn@super::ladder_v0), and blocks are 512 × 1.
#[kernel(threads = 512)]
pub unsafe fn ladder_v7(
    cells: In<u8>,
    out: Out<f32>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    scale: f32,
) {
    let (x, i) = (thread::index_x(), thread::index_y());
    if x >= cols || i >= count {
        return;
    }
    let mut table = Private::new(0.0);
    table.write(&LN_F32);
    let y = first + i;
    let (window_rows, window_cols) = (clipped(y, rows), clipped(x, cols));
    let cells_counted = (window_rows.len() * window_cols.len()) as u32;
    let counters = shared::array::<LADDER_V7_COUNTERS>();
    let counter = |level: u32| level * THREADS + thread::thread_idx_x();
    for level in 0..LEVELS as u32 {
        counters.store(counter(level), 0);
    }
    for wy in window_rows {
        for wx in window_cols.clone() {
            let level = u32::from(cells.load(wy as usize * stride as usize + wx as usize));
            counters.store(counter(level), counters.load(counter(level)) + 1);
        }
    }
    // The product in f32, the sum in f64.
    let n_ln_n = |n: u32| f64::from(n as f32 * table.load(n));
    let mut sum = 0.0;
    for level in 0..LEVELS as u32 {
        sum += n_ln_n(counters.load(counter(level)) as u32);
    }
    let h = entropy(f64::from(cells_counted), n_ln_n(cells_counted), sum) as f32 * scale;
    out.store(i as usize * out_stride as usize + x as usize, h);
}
