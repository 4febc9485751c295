//! s2 = s1, sliding down: a cell is read and converted to a one-hot about once, not 25 times.
//!
//! ```text
//! a warp owns 32 neighbouring columns, each lane one, and marches down the rows; for every row:
//!     the column's histogram of 5 rows:  C += onehot(entering) − onehot(leaving)
//!     the window is C and two neighbours from each side, by shuffle
//!     Σ F(n_i) by 16 look-ups
//! ```
//!
//! The one-hots of the last five rows stay in a ring of registers, and the loop is unrolled five times so that each
//! slot of the ring is a register. The outermost two lanes of each side lack neighbours: 28 of 32 columns are written.
//! Columns outside take part in the shuffles and count nothing.
//!
//! A row of s2 is 122 instructions of a lane (sm_90), with 17 look-ups, one of them F(N), and 12 shuffles. We expect the 16 of
//! Σ F(n_i) to dominate: each is a load, with a shift and a mask before it and an addition after.

use simt::global::{In, Out};
use simt::{kernel, shared, thread, warp};

use super::s1::Singles;
use super::{Frame, OUTSIDE, Packed, Table, add, entropy, one_hot, subtract};
use crate::ladder::{LOGS, RADIUS, clipped};

/// Threads of a block of s2 to s4: 8 warps side by side.
pub const LADDER_S_THREADS: u32 = 256;
/// Columns that a block writes.
pub const LADDER_S_COLS: u32 = LADDER_S_THREADS / warp::SIZE * STRIP;
/// Rows that a block writes, if there are as many.
pub const LADDER_S_ROWS: u32 = 128;

/// Columns that a warp writes.
const STRIP: u32 = warp::SIZE - 2 * RADIUS;

/// The work of a warp once the table is ready; s3 and s4 use it with other tables.
#[inline(always)]
pub(super) fn march(table: impl Table, frame: &Frame) {
    let Frame { rows, cols, first, count, scale, .. } = *frame;
    let strip = thread::block_idx_x() * (LADDER_S_THREADS / warp::SIZE) + thread::thread_idx_x() / warp::SIZE;
    let lane = warp::lane_id();
    // (Wrapping: what is above or left of the grid is far outside.)
    let x = (strip * STRIP + lane).wrapping_sub(RADIUS);
    let writes = (RADIUS..RADIUS + STRIP).contains(&lane) && x < cols;
    // A column outside has no window; its result is dropped.
    let width = clipped(x.min(cols - 1), cols).len() as u32;
    let new = |y: u32| one_hot(if x < cols && y < rows { frame.level(y, x) } else { OUTSIDE });

    let mut i = thread::block_idx_y() * LADDER_S_ROWS;
    let end = (i + LADDER_S_ROWS).min(count);
    // The four rows before the first that enters; the fifth is empty.
    let above = |k: u32| new((first + i + k).wrapping_sub(RADIUS));
    let mut ring = [above(0), above(1), above(2), above(3), [0; 3]];
    let mut column = add(add(ring[0], ring[1]), add(ring[2], ring[3]));
    loop {
        macro_rules! rows {
            ($($slot:literal)*) => {$(
                // The same for all lanes: none leaves before another shuffles.
                if i >= end {
                    return;
                }
                let y = first + i;
                let entering = new(y + RADIUS);
                column = subtract(add(column, entering), ring[$slot]);
                ring[$slot] = entering;
                let n = clipped(y, rows).len() as u32 * width;
                let h = entropy(table, window(column), n, scale);
                if writes {
                    frame.write(i, x, h);
                }
                i += 1;
            )*};
        }
        rows!(4 0 1 2 3);
    }
}

/// The sum of the lane's column and two from each side.
#[inline(always)]
fn window(column: Packed) -> Packed {
    let left = |lanes| column.map(|word| warp::warp_shuffle_up(warp::FULL, word, lanes, warp::SIZE).0);
    let right = |lanes| column.map(|word| warp::warp_shuffle_down(warp::FULL, word, lanes, warp::SIZE).0);
    add(add(column, add(left(1), left(2))), add(right(1), right(2)))
}

shared! {
    static LADDER_S2_TABLE: [u32; LOGS];
}

/// s1 sliding down; blocks of [`LADDER_S_THREADS`] × 1 that write [`LADDER_S_COLS`] × [`LADDER_S_ROWS`] cells.
///
/// # Safety
/// As [`ladder_s1`](fn@super::ladder_s1), and blocks are as said.
#[kernel(threads = 256)]
pub unsafe fn ladder_s2(
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
    let singles = Singles(shared::array::<LADDER_S2_TABLE>());
    singles.fill(table);
    march(singles, &Frame { cells, out, rows, cols, stride, first, count, out_stride, scale });
}
