//! F(n) = n·ln n without a table, for counts that lie too far apart for one stretch of it.
//!
//! ```text
//! n = m · 2^e, 1 ≤ m < 2        F(n) = K · n·e + round(n · p(m))        in units of (ln 2)/K
//! ```
//!
//! p is K·log₂ m in f32, a cubic on each of 32 pieces, with one and the same t³ for all of them: a parabola alone strays
//! half as far again. The unit divides ln 2, so the exponent's part is an integer and exact: f32 has only the rest to hold,
//! at most K·n. All f32 tables for windows of more than 63 cells are made by this very arithmetic ([`Log::entry`]), operation
//! for operation; so an instruction set that can do it faster than look it up gets the same bits. p strays 7e-7 from log₂ m at
//! the most, 1.1e-7 in the quadratic mean; what it strays by weighs as much as the level in its window, and has either sign.
//!
//! Why not gather from the table: on the Xeon of `benches/record` a gather of 16 entries takes 10.8 ns, 16 loads one by one
//! 5.4 (some processors' microcode slows gathers down so that they leak nothing). The arithmetic is some 16 operations; one
//! polynomial instead of the pieces must have the degree 8 and makes it 19.
//!
//! Counts of 32 bits have no other way: those of neighbouring windows are too far apart for a stretch of the table, whose entries would be loaded one
//! by one from the second-level cache. An f32 holds every count exactly, for no window has 2^24 cells;
//! of what it rounds n·p to an entry is 8e-7 · n off at the most.

use std::sync::Arc;

use rayon::prelude::*;

#[cfg(target_arch = "x86_64")]
use super::x86;
use crate::isa::Isa;
#[cfg(target_arch = "x86_64")]
use crate::isa::Kind;
use crate::measure::fixed::TableCache;

/// Pieces of 1 ≤ m < 2: what a permutation of two registers can choose from.
pub const PIECES: usize = 32;

/// Of t³ for log₂ m: between a sixth of its third derivative at 1, 0.48, and at 2, 0.06. Of those tried, this
/// one strays least in the mean without straying further at the most.
const CUBE: f64 = 0.2;

/// What the arithmetic needs.
#[derive(Debug, Clone)]
pub struct Log {
    /// Units of ln 2.
    pub k: u32,
    /// Of K·log₂ m in each piece, for the powers 0, 1 and 2 of t = 1 + (m − where the piece starts).
    pub coefficients: [[f32; PIECES]; 3],
    /// Of t³, in all pieces.
    pub cube: f32,
}

impl Log {
    /// For tables that no arithmetic makes.
    pub const NOTHING: Self = Self { k: 0, coefficients: [[0.0; PIECES]; 3], cube: 0.0 };

    /// For units of (ln 2)/`k`. K times the largest count must stay below 2^30.
    pub fn new(k: u32) -> Self {
        let cube = (CUBE * f64::from(k)) as f32;
        let pieces: [[f32; 3]; PIECES] = std::array::from_fn(|i| {
            let start = 1.0 + i as f64 / PIECES as f64;
            // Interpolated at Chebyshev's nodes; the first piece starts with a node, for p(1) is to be 0.
            let half = 0.5 / PIECES as f64;
            let root = 0.75f64.sqrt();
            let nodes = match i {
                0 => [0.0, 2.0 * half / (1.0 + root), 4.0 * half * root / (1.0 + root)],
                _ => [half * (1.0 - root), half, half * (1.0 + root)],
            };
            let value = |t: f64| f64::from(k) * (start + t).log2() - f64::from(cube) * (1.0 + t).powi(3);
            let [a, b, c] = nodes;
            // Newton's divided differences, then powers of t.
            let first = (value(b) - value(a)) / (b - a);
            let second = ((value(c) - value(b)) / (c - b) - first) / (c - a);
            let p1 = first - second * (a + b);
            let (c1, c2) = ((p1 - 2.0 * second) as f32, second as f32);
            // The constant makes good, at the nodes, what the others lost to f32.
            let rest = |x: f64| value(x) - (1.0 + x) * (f64::from(c1) + (1.0 + x) * f64::from(c2));
            let c0 = nodes.map(rest).iter().sum::<f64>() / 3.0;
            [if i == 0 { -(cube + c2 + c1) } else { c0 as f32 }, c1, c2]
        });
        let coefficients = std::array::from_fn(|power| pieces.map(|piece| piece[power]));
        Self { k, coefficients, cube }
    }

    /// F(n), modulo 2^32. An f32 holds all numbers up to 2^24, and so of all windows.
    pub fn entry(&self, n: u32) -> u32 {
        if n == 0 {
            return 0;
        }
        let count = n as f32;
        let (piece, t) = parts(count);
        let [c0, c1, c2] = self.coefficients.map(|c| c[piece]);
        let p = self.cube.mul_add(t, c2).mul_add(t, c1).mul_add(t, c0);
        let rest = (count * p).round_ties_even() as i32;
        self.k.wrapping_mul(n * n.ilog2()).wrapping_add_signed(rest)
    }
}

/// F(n) for n = 0..`len`, modulo 2^`bits`, in units of (ln 2)/`k`, for windows whose counts take 32 bits: made on all cores, or the last one that was.
pub fn table(len: usize, log: &Log, bits: u32) -> Arc<Vec<u32>> {
    // One alone: those of the largest windows take 67 MB.
    static TABLES: TableCache<(usize, u32, u32), Vec<u32>, 1> = TableCache::new();
    TABLES.get((len, log.k, bits), || {
        let mut entries = vec![0; len];
        entries.par_chunks_mut(AT_ONCE).enumerate().for_each(|(i, entries)| fill(log, i * AT_ONCE, bits, entries));
        entries
    })
}

/// Entries of a table that a thread makes at a time.
const AT_ONCE: usize = 1 << 14;

/// F(n) from n = `first` on.
fn fill(log: &Log, first: usize, bits: u32, entries: &mut [u32]) {
    let mask = ((1u64 << bits) - 1) as u32;
    match Isa::best().kind() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this kind exists only on machines that have the features.
        Kind::Avx512 => unsafe { x86::entries_avx512(log, first as u32, mask, entries) },
        _ => entries.iter_mut().zip(first as u32..).for_each(|(entry, n)| *entry = log.entry(n) & mask),
    }
}

/// Bits of the fraction of an f32 within a piece.
pub const WITHIN: u32 = f32::MANTISSA_DIGITS - 1 - PIECES.ilog2();

/// In which piece m of a count lies, and 1 + how far from its start.
fn parts(count: f32) -> (usize, f32) {
    let bits = count.to_bits();
    let piece = (bits >> WITHIN) as usize % PIECES;
    (piece, f32::from_bits(bits & ((1 << WITHIN) - 1) | 1f32.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_n_ln_n() {
        for k in [4135, 6645, 16_000] {
            let log = Log::new(k);
            assert_eq!((log.entry(0), log.entry(1), log.entry(2)), (0, 0, 2 * k));
            let mut mean = 0.0;
            for n in 1..=u32::from(u16::MAX) {
                let truth = f64::from(n) * f64::from(n).log2() * f64::from(k);
                // 2^32 divides what is cut off.
                let off = f64::from(log.entry(n).wrapping_sub(truth.round() as u64 as u32) as i32);
                let weight = f64::from(n) * f64::from(k);
                assert!(off.abs() <= 1.0 + 7e-7 * weight, "F({n}) is {off} units off, K = {k}");
                mean += (off / weight).powi(2) / f64::from(u16::MAX);
            }
            assert!(mean.sqrt() < 1.3e-7, "{} off in the quadratic mean", mean.sqrt());
        }
        // Counts of 32 bits have coarser units.
        for k in [16, 100, 1070, 16_383] {
            let log = Log::new(k);
            let most = ((1 << 30) / k).min((1 << 24) - 1);
            let made = table(100_001, &log, 30);
            for n in (1..=100_000.min(most)).chain((100_000..=most).step_by(997)) {
                let truth = f64::from(n) * f64::from(n).log2() * f64::from(k);
                let off = f64::from(log.entry(n).wrapping_sub(truth.round() as u64 as u32) as i32);
                assert!(off.abs() <= 1.0 + 8e-7 * f64::from(n) * f64::from(k), "F({n}) is {off} units off, K = {k}");
                assert!(n > 100_000 || made[n as usize] == log.entry(n) & ((1 << 30) - 1), "F({n}), K = {k}");
            }
        }
        // Small windows have a fine unit: there too nothing may stand where n·log₂ n is 0.
        for k in 1_000_000..1_000_100 {
            assert_eq!(Log::new(k).entry(1), 0);
        }
    }
}
