//! b7 = b5 + height and width in constant memory, where the host sets them before the launch.
//!
//! All lanes read the same word: the case that constant memory is made for. An instruction
//! can even take it as an operand, without any load. (A plain parameter of the kernel lies in constant memory too, and has
//! been there before this rung.)

use simt::global::{In, Out};
use simt::math::ln_f64;
use simt::private::Private;
use simt::{constant, kernel, shared, thread};

use crate::ladder::{LEVELS, LOGS, clipped, entropy};

constant! {
    /// Height and width, set by the host.
    pub static LADDER_EXTENT: [u32; 2];
}

shared! {
    static LADDER_B7_TABLE: [f64; LOGS];
}

/// b5 with height and width in constant memory; blocks of 8 × 8.
///
/// # Safety
/// [`LADDER_EXTENT`] holds a height and a width; `cells` has height × width cells below 16, `out` `count` × width elements;
/// `first + count` is at most the height; a block has 26 threads or more.
#[kernel(threads = 64)]
pub unsafe fn ladder_b7(cells: In<f64>, out: Out<f64>, first: u32, count: u32, scale: f64) {
    let table = shared::array::<LADDER_B7_TABLE>();
    let thread = thread::thread_idx_y() * thread::block_dim_x() + thread::thread_idx_x();
    if thread < LOGS as u32 {
        table.store(thread, ln_f64(f64::from(thread.max(1))));
    }
    thread::sync_threads();

    let (height, width) = (constant::load::<LADDER_EXTENT>(0), constant::load::<LADDER_EXTENT>(1));
    let (x, i) = (thread::index_x(), thread::index_y());
    if x >= width || i >= count {
        return;
    }
    let y = first + i;
    let (window_rows, window_cols) = (clipped(y, height), clipped(x, width));
    let cells_counted = (window_rows.len() * window_cols.len()) as u32;
    let mut counters = Private::<i32, LEVELS>::new(0);
    for wy in window_rows {
        for wx in window_cols.clone() {
            let level = cells.load(wy as usize * width as usize + wx as usize) as u32;
            counters.store(level, counters.load(level) + 1);
        }
    }
    let n_ln_n = |n: u32| f64::from(n) * table.load(n);
    let mut sum = 0.0;
    for level in 0..LEVELS as u32 {
        sum += n_ln_n(counters.load(level) as u32);
    }
    let h = entropy(f64::from(cells_counted), n_ln_n(cells_counted), sum) * scale;
    out.store(i as usize * width as usize + x as usize, h);
}
