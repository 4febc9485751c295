//! Our own rungs: s1 to s4, from v9 to the production kernel `entropy_sliding`.
//!
//! What they share is the packed histogram: 16 counters of 5 bits in three words, which a window of 25 cells never overflows.
//! Levels 0–5 lie in word 0 from bit 0 on, 6–11 in word 1, 12–15 in word 2 from bit 7 on. A histogram in
//! registers needs no indexing: a cell's level becomes a one-hot, and histograms are added and subtracted as words.
//!
//! And Σ F(n_i), F(n) = n·ln n, in integers: the host gives F in units of 1/S as u32 (see
//! `kernels/src/entropy`), so the order of a sum does not matter, and a window of one level gives exactly 0.

use simt::global::{In, Out};
use simt::math::{reciprocal_fast, shift_left_clamped};

mod s1;
mod s2;
mod s3;
mod s4;

pub use s1::*;
pub use s2::*;
pub use s3::*;
pub use s4::*;

/// 16 counters of 5 bits.
type Packed = [u32; 3];

/// The level of a cell outside the grid: its one-hot is 0.
const OUTSIDE: u32 = 255;

/// One count of `level`. Shifts below 0 or above 31 give nothing. The next level's low bits may land in a word's two spare
/// top bits (and level 11's below bit 7 of word 2): they are never read, and a carry out of the top is lost.
#[inline(always)]
fn one_hot(level: u32) -> Packed {
    let at = 5 * level;
    [
        shift_left_clamped(1, at),
        shift_left_clamped(1, at.wrapping_sub(30)),
        shift_left_clamped(1, at.wrapping_sub(60 - 7)),
    ]
}

#[inline(always)]
fn add(a: Packed, b: Packed) -> Packed {
    [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1]), a[2].wrapping_add(b[2])]
}

#[inline(always)]
fn subtract(a: Packed, b: Packed) -> Packed {
    [a[0].wrapping_sub(b[0]), a[1].wrapping_sub(b[1]), a[2].wrapping_sub(b[2])]
}

/// F in shared memory, as each rung keeps it.
trait Table: Copy {
    /// F(n).
    fn single(self, n: u32) -> u32;
    /// Σ F(n_i) of a window.
    fn sum(self, window: Packed) -> u32;
}

/// scale · (F(N) − Σ F(n_i)) / N of a window of N = `n` cells.
#[inline(always)]
fn entropy(table: impl Table, window: Packed, n: u32, scale: f32) -> f32 {
    table.single(n).wrapping_sub(table.sum(window)) as f32 * (reciprocal_fast(n as f32) * scale)
}

/// The parameters that all rungs have.
#[derive(Clone, Copy)]
struct Frame {
    cells: In<u8>,
    out: Out<f32>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    scale: f32,
}

impl Frame {
    /// The level of a cell that is in the grid.
    #[inline(always)]
    fn level(&self, y: u32, x: u32) -> u32 {
        u32::from(self.cells.load(y as usize * self.stride as usize + x as usize))
    }

    /// Writes the result of output row `i`.
    #[inline(always)]
    fn write(&self, i: u32, x: u32, h: f32) {
        self.out.store(i as usize * self.out_stride as usize + x as usize, h);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every level alone, 25 times, and next to full neighbours.
    #[test]
    fn counters_do_not_touch_each_other() {
        let counter = |p: Packed, level: usize| {
            let (word, at) = if level < 12 { (level / 6, level % 6 * 5) } else { (2, 7 + (level - 12) * 5) };
            p[word] >> at & 31
        };
        for level in 0..16 {
            let full = (0..25).fold([0; 3], |sum, _| add(sum, one_hot(level)));
            for other in 0..16 {
                assert_eq!(counter(full, other), if other == level as usize { 25 } else { 0 }, "{level} {other}");
            }
            assert_eq!(subtract(full, full), [0; 3]);
        }
        assert_eq!(one_hot(OUTSIDE), [0; 3]);
    }
}
