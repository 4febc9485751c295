//! Whole numbers made of a window's 16 counts: Σ n², and how many n are not 0.
//!
//! Counts are taken apart into bytes, four lower ones in a word and four upper ones: a dot product adds up four products in one instruction, and n² =
//! low² + 512 · low · high + 65,536 · high².

use simt::math::{byte_permute, dot4};

use crate::entropy::formula::Counts;

/// Counts of 16 classes, to be added up.
#[derive(Clone, Copy)]
pub struct Sums(pub [u32; 8]);

/// Both counts of a word.
#[inline(always)]
pub fn halves(word: u32) -> [u32; 2] {
    [word & 0xFFFF, word >> 16]
}

impl Sums {
    /// The lower bytes of four counts, and their upper ones: of words 2q and 2q + 1.
    #[inline(always)]
    fn bytes(&self, q: usize) -> [u32; 2] {
        let (a, b) = (self.0[2 * q], self.0[2 * q + 1]);
        [byte_permute(a, b, 0x6420), byte_permute(a, b, 0x7531)]
    }

    /// Σ n², at most the square of 65,025, which 32 bits hold.
    #[inline(always)]
    pub fn squares(&self) -> u32 {
        let ([mut lows, mut mixed, mut highs], mut q) = ([0; 3], 0);
        while q < 4 {
            let [low, high] = self.bytes(q);
            lows = dot4(low, low, lows);
            mixed = dot4(low, high, mixed);
            highs = dot4(high, high, highs);
            q += 1;
        }
        lows.wrapping_add(mixed << 9).wrapping_add(highs << 16)
    }

    /// How many n are not 0.
    #[inline(always)]
    pub fn classes(&self) -> u32 {
        let (mut each, mut q) = (0, 0);
        while q < 4 {
            let [low, high] = self.bytes(q);
            // The highest bit of a byte: set when any bit of the count is. No carry leaves a byte.
            let any = (((low | high) & 0x7F7F_7F7F) + 0x7F7F_7F7F) | low | high;
            each += (any & 0x8080_8080) >> 7;
            q += 1;
        }
        dot4(each, 0x0101_0101, 0)
    }
}

impl Counts for Sums {
    #[inline(always)]
    fn most(&self) -> u32 {
        let (mut most, mut w) = (0, 0);
        while w < 8 {
            let [low, high] = halves(self.0[w]);
            most = most.max(low).max(high);
            w += 1;
        }
        most
    }

    #[inline(always)]
    fn sum(&self, f: impl Fn(u32) -> f64) -> f64 {
        let (mut sum, mut w) = (0.0, 0);
        while w < 8 {
            let [low, high] = halves(self.0[w]);
            sum += f(low) + f(high);
            w += 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_counts() {
        for seed in 0..2_000u32 {
            // From all counts small to one that has nearly all cells.
            let count = |i: u32| {
                let noise = (seed * 16 + i).wrapping_mul(0x9E37_79B1) >> 16;
                if noise & 3 == 0 { 0 } else { noise >> (4 + seed % 13) }
            };
            let mut counts: [u32; 16] = core::array::from_fn(|i| count(i as u32));
            if seed % 5 == 0 {
                counts[seed as usize % 16] += 65_025 - counts.iter().sum::<u32>().min(65_025);
            }
            let sums = Sums(core::array::from_fn(|w| counts[2 * w] | counts[2 * w + 1] << 16));
            assert_eq!(sums.squares(), counts.iter().map(|n| n.wrapping_mul(*n)).fold(0, u32::wrapping_add));
            assert_eq!(sums.classes() as usize, counts.iter().filter(|&&n| n > 0).count());
            assert_eq!(sums.most(), counts.into_iter().max().unwrap_or(0));
        }
    }
}
