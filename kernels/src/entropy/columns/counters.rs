//! Sixteen counters in a few words: of a cell, of the steps between a column's windows, of a window.

use simt::global::In;
use simt::math::{byte_permute, dot4, shift_left_clamped};
use simt::{eight, warp};

use super::opaque;

/// 16 counters of 8 bits: class 4w + b in byte b of word w.
pub type Column = [u32; 4];
/// 16 counters of 16 bits, which may be negative: word 2w holds classes 4w and 4w + 2, word 2w + 1 classes 4w + 1 and 4w + 3. The value
/// of a word is low + 65,536 · high modulo 2^32, so that words are added up as they are.
pub type Steps = [u32; 8];

/// Cell `k` of four packed ones, less `base` / 8, as a histogram of one; nothing for what is not 0 to 15 then. `base` is a multiple of 128
/// below 15 · 128: 255 is nothing.
#[inline(always)]
pub fn one_hot(cells: u32, k: u32, base: u32) -> Column {
    let eight = 8 << (8 * k);
    let mut words = [0; 4];
    let mut w = 0;
    while w < 4 {
        words[w] = shift_left_clamped(1, dot4(cells, eight, 0u32.wrapping_sub(base + 32 * w as u32)));
        w += 1;
    }
    words
}

/// Adds bytes, each less `bias`.
#[inline(always)]
pub fn step(steps: &mut Steps, changes: Column, bias: u32) {
    let mut w = 0;
    while w < 4 {
        let (even, odd) = (byte_permute(changes[w], 0, 0x4240), byte_permute(changes[w], 0, 0x4341));
        steps[2 * w] = steps[2 * w].wrapping_add(even).wrapping_sub(bias * 0x0001_0001);
        steps[2 * w + 1] = steps[2 * w + 1].wrapping_add(odd).wrapping_sub(bias * 0x0001_0001);
        w += 1;
    }
}

/// Both signed halves of a word of [`Steps`].
#[inline(always)]
pub fn halves(word: u32) -> [u32; 2] {
    let low = (word as i16) as u32;
    [low, (word.wrapping_sub(low) as i32 >> 16) as u32]
}

/// Inclusive sums over the lanes of a warp.
#[derive(Clone, Copy)]
pub struct WarpScan {
    /// 1 where the lane 2^i below this one is one of the warp, else 0: a factor takes one instruction of a sum, a condition two.
    inside: [u32; 5],
}

impl WarpScan {
    #[inline(always)]
    pub fn new(lane: u32) -> Self {
        let mut inside = [0; 5];
        let mut i = 0;
        while i < 5 {
            inside[i] = opaque(u32::from(lane >> i != 0));
            i += 1;
        }
        Self { inside }
    }

    /// The sum over the 2^`to` lanes up to each, of sums over 2^`from` lanes.
    #[inline(always)]
    pub fn inclusive_sum(&self, mut word: u32, (from, to): (usize, usize)) -> u32 {
        let mut i = from;
        while i < to {
            let (below, _) = warp::warp_shuffle_up(warp::FULL, word, 1 << i, 32);
            word = word.wrapping_add(below.wrapping_mul(self.inside[i]));
            i += 1;
        }
        word
    }
}

/// The class that counter `i` of 16 counts, where those of the low halves of [`Steps`] come first.
#[inline(always)]
pub fn class_of(i: u32) -> u32 {
    4 * (i % 8 / 2) + i % 2 + 2 * (i / 8 % 2)
}

/// How often each of 16 classes occurs in a window.
pub trait Counts: Copy {
    /// The sum of the steps of the lane's four columns and of those of all lanes before.
    fn inclusive_sum(steps: &[Steps; 4], scan: &WarpScan) -> Self;
    /// Makes each word `f` of its number and itself.
    fn map(&mut self, f: impl FnMut(u32, u32) -> u32);
    /// Subtracts a column's steps.
    fn subtract(&mut self, steps: &Steps);
    /// Each count times `by`, and `more`: below 65,536.
    fn scaled(&self, by: u32, more: u32) -> Self;
    /// Passes every count to a function.
    fn for_each(&self, f: impl FnMut(u32));
    /// The sum of all.
    fn total(&self) -> u32;
    /// The word of number `lane`, modulo how many there are, where `count` is that of class [`class_of`]`(lane)`.
    fn word(count: u32, lane: u32) -> u32;
    /// The same word of the histogram that begins at word `at` of [heads](super::heads).
    fn head(heads: In<u32>, at: usize, lane: u32) -> u32;
}

/// The sum of four columns' steps.
#[inline(always)]
fn all([a, b, c, d]: &[Steps; 4]) -> Steps {
    let (mut sum, mut w) = ([0; 8], 0);
    while w < 8 {
        sum[w] = a[w].wrapping_add(b[w]).wrapping_add(c[w]).wrapping_add(d[w]);
        w += 1;
    }
    sum
}

/// Counters of 16 bits, as [`Steps`] has them: enough for 255 × 255 cells.
#[derive(Clone, Copy)]
pub struct Packed(pub [u32; 8]);

impl Counts for Packed {
    #[inline(always)]
    fn inclusive_sum(steps: &[Steps; 4], scan: &WarpScan) -> Self {
        let mut sum = all(steps);
        eight!(W => {
            sum[W] = scan.inclusive_sum(sum[W], (0, 5));
        });
        Self(sum)
    }

    #[inline(always)]
    fn map(&mut self, mut f: impl FnMut(u32, u32) -> u32) {
        let mut w = 0;
        while w < 8 {
            self.0[w] = f(w as u32, self.0[w]);
            w += 1;
        }
    }

    #[inline(always)]
    fn subtract(&mut self, steps: &Steps) {
        let mut w = 0;
        while w < 8 {
            self.0[w] = self.0[w].wrapping_sub(steps[w]);
            w += 1;
        }
    }

    #[inline(always)]
    fn scaled(&self, by: u32, more: u32) -> Self {
        let (mut scaled, mut w) = (self.0, 0);
        while w < 8 {
            scaled[w] = scaled[w].wrapping_mul(by).wrapping_add(more * 0x0001_0001);
            w += 1;
        }
        Self(scaled)
    }

    #[inline(always)]
    fn for_each(&self, mut f: impl FnMut(u32)) {
        let mut w = 0;
        while w < 8 {
            f(self.0[w] & 0xFFFF);
            f(self.0[w] >> 16);
            w += 1;
        }
    }

    /// The halves cannot overflow: all counters of a window together are at most 65,025.
    #[inline(always)]
    fn total(&self) -> u32 {
        let (mut both, mut w) = (0u32, 0);
        while w < 8 {
            both = both.wrapping_add(self.0[w]);
            w += 1;
        }
        (both & 0xFFFF) + (both >> 16)
    }

    #[inline(always)]
    fn word(count: u32, lane: u32) -> u32 {
        let (low, _) = warp::warp_shuffle_idx(warp::FULL, count, lane % 8, 32);
        let (high, _) = warp::warp_shuffle_idx(warp::FULL, count, lane % 8 + 8, 32);
        low.wrapping_add(high << 16)
    }

    #[inline(always)]
    fn head(heads: In<u32>, at: usize, lane: u32) -> u32 {
        heads.load(at + (lane % 8) as usize)
    }
}

/// Counters of 32 bits, those of the low halves of [`Steps`] first.
#[derive(Clone, Copy)]
pub struct Wide(pub [u32; 16]);

impl Counts for Wide {
    /// A step is at most [`COLUMNS_WIDE_SIZE`](super::COLUMNS_WIDE_SIZE) = 1,023, and so 16 bits hold the sums of 32 columns.
    #[inline(always)]
    fn inclusive_sum(steps: &[Steps; 4], scan: &WarpScan) -> Self {
        let all = all(steps);
        let mut sum = Self([0; 16]);
        eight!(W => {
            let [low, high] = halves(scan.inclusive_sum(all[W], (0, 3)));
            sum.0[W] = scan.inclusive_sum(low, (3, 5));
            sum.0[W + 8] = scan.inclusive_sum(high, (3, 5));
        });
        sum
    }

    #[inline(always)]
    fn map(&mut self, mut f: impl FnMut(u32, u32) -> u32) {
        let mut w = 0;
        while w < 16 {
            self.0[w] = f(w as u32, self.0[w]);
            w += 1;
        }
    }

    #[inline(always)]
    fn subtract(&mut self, steps: &Steps) {
        let mut w = 0;
        while w < 8 {
            let [low, high] = halves(steps[w]);
            self.0[w] = self.0[w].wrapping_sub(low);
            self.0[w + 8] = self.0[w + 8].wrapping_sub(high);
            w += 1;
        }
    }

    #[inline(always)]
    fn scaled(&self, by: u32, more: u32) -> Self {
        let mut scaled = *self;
        scaled.map(|_, count| count * by + more);
        scaled
    }

    #[inline(always)]
    fn for_each(&self, mut f: impl FnMut(u32)) {
        let mut w = 0;
        while w < 16 {
            f(self.0[w]);
            w += 1;
        }
    }

    #[inline(always)]
    fn total(&self) -> u32 {
        let mut total = 0;
        self.for_each(|count| total += count);
        total
    }

    #[inline(always)]
    fn word(count: u32, _lane: u32) -> u32 {
        count
    }

    #[inline(always)]
    fn head(heads: In<u32>, at: usize, lane: u32) -> u32 {
        heads.cast::<u16>().load(2 * (at + (lane % 8) as usize) + (lane / 8 % 2) as usize).into()
    }
}
