//! Fixed-point tables of n·ln n, and what turns a sum of their entries into an entropy.
//!
//! With F(n) = n·ln n, S = Σ F(n_i) over the levels of a window and N = Σ n_i,
//!
//! ```text
//! H = ln N − S/N = (F(N) − S) / N
//! ```
//!
//! Every path of the engine adds integers taken from one table, so the order of the additions (and
//! with it the path, the instruction set, the tile and the thread) cannot change a bit of the
//! result, nothing drifts however long a sum slides, and a window of one level gives
//! F(N) − F(N) = 0 exactly.
//!
//! Deviation from the obvious: the integers are kept modulo a power of two. F(N) and S are large,
//! but their difference is at most N·ln(number of levels), and only the difference is used; the bits
//! above it would be wasted. An f32 output takes 28 to 31 bits (more for more levels) and
//! stays within 2e-6 of the truth in the worst case one can construct (1.3e-6 by rounding, with 256 equal
//! counts in the clipped window of a corner), within 2e-7 usually; an f64 output takes 58. Windows of which nodata leaves less than a corner
//! does are left to finer sums ([`few`](super::few)).
//!
//! The entries of an f32 output for windows of more than [`SMALL`] cells are what [`Log`] makes of n, so that they need not
//! be looked up; all others are n·ln n, rounded.

use std::sync::{Arc, OnceLock};

use super::log::{self, Log};

/// Integer type of the sums: u32 for an f32 output, u64 for f64.
pub trait Fixed: Copy + Default + Send + Sync + PartialEq + 'static {
    /// Bits in which a difference F(N) − S must fit.
    fn bits(low_bits: u32) -> u32;
    /// The arithmetic that makes the entries, for windows of up to `largest` cells and differences of up to `reach` nats.
    /// None where they are rounded from the truth.
    fn log(largest: usize, reach: f64, bits: u32) -> Option<Log>;
    /// What [`Log`] makes of `n`, modulo 2^`bits`.
    fn entry(log: &Log, n: u32, bits: u32) -> Self;
    /// The nearest integer, modulo 2^`bits`.
    fn round(value: f64, bits: u32) -> Self;
    /// Addition modulo the type's range.
    fn plus(self, other: Self) -> Self;
    /// Subtraction modulo the type's range.
    fn minus(self, other: Self) -> Self;
    /// The lowest `bits` bits.
    fn mask(bits: u32) -> Self;
    /// Entries as low and high 16-bit words, 64 zeros behind them; empty for 64-bit sums.
    fn words(entries: &[Self], low_bits: u32) -> (Vec<u16>, Vec<u16>);
    /// The tables, if their sums have 32 bits.
    fn single(tables: &Tables<Self>) -> Option<&Tables<u32>>;
    /// A sum of such tables.
    fn of_single(sum: u32) -> Self;
    /// An entry in limbs of [`LIMB`] bits; none of a 32-bit one.
    fn limbs(self) -> Option<[u16; LIMBS]>;
}

/// What rounded entries may do to an f32 result, in nats.
const WITHIN: f64 = 1.3e-6;

/// Low bits of a 32-bit entry that fast lookups keep apart from the 16 bits above.
///
/// The fewer, the more of them 16-bit lanes can add before a carry; but every entry is rounded by
/// up to half a unit, at most `levels` entries of a window are not zero exactly, and a window in a
/// corner has a quarter of the cells of the largest. The fewest bits that keep the result within
/// 1.3e-6 nats then, wherever the roundings all fall on one side.
pub fn low_bits(levels: usize, largest: usize) -> u32 {
    (12..15).find(|&low| fits(levels, largest, low)).unwrap_or(15)
}

/// How many low parts 16-bit lanes can add, on top of what a carry leaves there. (The first 16 of 12
/// bits find nothing there yet.)
pub const fn flush_after(low_bits: u32) -> usize {
    match low_bits {
        12 => 16,
        13 => 7,
        14 => 3,
        _ => 1,
    }
}

/// Whether the result is within 1.3e-6 nats with so many low bits, wherever the roundings all fall on one side.
fn fits(levels: usize, largest: usize, low: u32) -> bool {
    // At most one level in two cells has an entry: F(1) is 0.
    let entries_a_cell = (4.0 * levels as f64 / largest as f64).min(0.5);
    0.5 * reach(levels, largest) / f64::from(1u32 << (16 + low)) * entries_a_cell < WITHIN
}

/// The fewest valid cells for which entries rounded to such a unit keep the result within 1.3e-6 nats, wherever the roundings all fall on one
/// side. A quarter of the largest window at the most: more is what [`low_bits`] sees to.
fn few(levels: usize, largest: usize, unit: f64) -> usize {
    // The most that any window can be off: units of 64-bit sums, and of small windows, are fine for all.
    if 0.5 * unit <= WITHIN {
        return 0;
    }
    // Of F(N) and of every level, but one level in two cells at most has an entry.
    let off = |n: usize| 0.5 * unit * (1 + levels.min(n / 2)) as f64 / n as f64;
    // Beyond this no window is off so far, whatever its levels: of the largest windows a fourth are millions.
    let most = (0.5 * unit * (1 + levels) as f64 / WITHIN) as usize + 2;
    (1..most.min(largest / 4)).rev().find(|&n| off(n) > WITHIN).map_or(0, |n| n + 1)
}

/// Whether 32 bits are enough for an f32 output. For more than 256 levels they are not in windows of more than some 39 × 39 cells.
pub fn is_single_enough(levels: usize, largest: usize) -> bool {
    levels <= 256 || fits(levels, largest, 15)
}

/// The largest F(N) − S of any window.
fn reach(levels: usize, largest: usize) -> f64 {
    largest as f64 * (levels.min(largest).max(2) as f64).ln()
}

impl Fixed for u32 {
    fn bits(low_bits: u32) -> u32 {
        16 + low_bits
    }
    fn log(largest: usize, reach: f64, bits: u32) -> Option<Log> {
        // With room for the rounding of every entry.
        let units = (f64::from(1u32 << bits) - 1024.0) / reach;
        (largest > SMALL).then(|| Log::new((units * std::f64::consts::LN_2) as u32))
    }
    fn entry(log: &Log, n: u32, bits: u32) -> u32 {
        log.entry(n) & Self::mask(bits)
    }
    fn round(value: f64, bits: u32) -> u32 {
        (value.round() as u64 & ((1 << bits) - 1)) as u32
    }
    #[inline(always)]
    fn plus(self, other: u32) -> u32 {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn minus(self, other: u32) -> u32 {
        self.wrapping_sub(other)
    }
    fn single(tables: &Tables<u32>) -> Option<&Tables<u32>> {
        Some(tables)
    }
    fn of_single(sum: u32) -> u32 {
        sum
    }
    fn limbs(self) -> Option<[u16; LIMBS]> {
        None
    }
    fn mask(bits: u32) -> u32 {
        (1 << bits) - 1
    }
    fn words(entries: &[u32], low_bits: u32) -> (Vec<u16>, Vec<u16>) {
        let spare = std::iter::repeat_n(0, 64);
        let low = entries.iter().map(|f| (f & ((1 << low_bits) - 1)) as u16);
        let high = entries.iter().map(|f| (f >> low_bits) as u16);
        (low.chain(spare.clone()).collect(), high.chain(spare).collect())
    }
}

impl Fixed for u64 {
    // F(65,025) of a two-level task is 16 times the largest difference: it must fit before the
    // modulus is taken, and 2^58 is finer than f64 anyway.
    fn bits(_: u32) -> u32 {
        58
    }
    fn log(_: usize, _: f64, _: u32) -> Option<Log> {
        None
    }
    fn entry(log: &Log, n: u32, bits: u32) -> u64 {
        u64::from(log.entry(n)) & Self::mask(bits)
    }
    fn round(value: f64, bits: u32) -> u64 {
        value.round() as u64 & ((1 << bits) - 1)
    }
    #[inline(always)]
    fn plus(self, other: u64) -> u64 {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn minus(self, other: u64) -> u64 {
        self.wrapping_sub(other)
    }
    fn mask(bits: u32) -> u64 {
        (1 << bits) - 1
    }
    fn single(_: &Tables<u64>) -> Option<&Tables<u32>> {
        None
    }
    fn of_single(sum: u32) -> u64 {
        sum.into()
    }
    fn limbs(self) -> Option<[u16; LIMBS]> {
        Some(std::array::from_fn(|i| (self >> (LIMB * i as u32)) as u16 & ((1 << LIMB) - 1)))
    }
    fn words(_: &[u64], _: u32) -> (Vec<u16>, Vec<u16>) {
        (Vec::new(), Vec::new())
    }
}

/// Largest number of cells that the byte-sized counts of the planes and the pair table serve.
pub const SMALL: usize = 63;

/// Bits of a limb of a 64-bit entry: 16-bit lanes can add 32 of them without a carry.
pub const LIMB: u32 = 11;

/// Pieces of a 64-bit entry.
pub const LIMBS: usize = 6;

/// Number of u16 values: a table of this length needs no check of a u16 index.
pub const ALL: usize = 1 << 16;

/// Tables for one task; shared by all its tiles.
pub struct Tables<S: Fixed> {
    /// F(n) in units of `unit`. Entries above the largest window are never asked for and are 0.
    pub f: Box<[S; ALL]>,
    /// F(n + 1) − F(n).
    pub step: Box<[S; ALL]>,
    /// F(a) + F(b) at 64·a + b, when the largest window has at most [`SMALL`] cells.
    pub pairs: Option<Box<[S; 64 * 64]>>,
    /// F(n) cut into 16-bit words, the low [`low_bits`] and the rest, with 64 spare entries behind
    /// the largest window; empty for 64-bit sums.
    pub low: Vec<u16>,
    /// The words above `low`.
    pub high: Vec<u16>,
    /// [`Tables::bytes`], once they were asked for: not every instruction set does.
    bytes: OnceLock<[Vec<u8>; 4]>,
    /// The same words of the steps.
    pub step_low: Vec<u16>,
    /// The words above `step_low`.
    pub step_high: Vec<u16>,
    /// F(n) of the numbers below 64 in limbs of [`LIMB`] bits, for 64-bit sums when the largest window has at most [`SMALL`] cells.
    pub limbs: Option<Box<[[u16; 64]; LIMBS]>>,
    /// What multiplies F(N) − S to give the entropy: scale · unit / N; 0 for N = 0.
    pub factor: Vec<f64>,
    /// The bits of a difference that count.
    pub mask: S,
    /// What made the entries, if it was arithmetic.
    pub log: Option<Log>,
    /// Bits of the words in `low`.
    pub low_bits: u32,
    /// What an entry of 1 stands for, in nats.
    pub unit: f64,
    /// Most cells a window can have.
    pub largest: usize,
    /// Windows of fewer valid cells ask for finer units ([`few`](super::few)); 0 where none do.
    pub few: usize,
    /// F(n) of windows of [`ALL`] cells and more, in place of all others; else empty.
    wide: Arc<Vec<S>>,
}

/// An array of zeros that never was on the stack.
pub fn boxed<V: Copy + Default, const N: usize>() -> Box<[V; N]> {
    let Ok(array) = vec![V::default(); N].into_boxed_slice().try_into() else { unreachable!("the length is N") };
    array
}

impl<S: Fixed> Tables<S> {
    /// Tables for windows of up to `largest` cells (at most 65,025) of `levels` levels.
    pub fn new(largest: usize, levels: usize, scale: f64) -> Self {
        assert!(largest < ALL, "a window of {largest} cells");
        let low_bits = low_bits(levels, largest);
        let bits = S::bits(low_bits);
        let log = S::log(largest, reach(levels, largest), bits);
        let unit = match &log {
            Some(log) => std::f64::consts::LN_2 / f64::from(log.k),
            // With room for the rounding of every entry.
            None => reach(levels, largest) / ((1u64 << bits) as f64 - 1024.0),
        };
        let exact = |n: usize| if n < 2 { 0.0 } else { n as f64 * (n as f64).ln() / unit };

        let entries = Self::of(largest, |n| match &log {
            Some(log) => S::entry(log, n as u32, bits),
            None => S::round(exact(n), bits),
        });
        let (low, high) = S::words(&entries.f[..=largest], low_bits);
        let (step_low, step_high) = S::words(&entries.step[..=largest], low_bits);
        let factor = (0..=largest).map(|n| if n == 0 { 0.0 } else { scale * unit / n as f64 }).collect();
        let few = few(levels, largest, unit);
        Self { low, high, step_low, step_high, factor, mask: S::mask(bits), log, low_bits, unit, few, ..entries }
    }

    /// A table for windows of so many cells that a count takes 32 bits.
    pub fn wide(wide: Arc<Vec<S>>) -> Self {
        Self { largest: wide.len() - 1, wide, ..Self::of(0, |_| S::default()) }
    }

    /// The bytes of the words, those of `low` first and of both the lower ones.
    pub fn bytes(&self) -> &[Vec<u8>; 4] {
        let of = |words: &[u16]| words.iter().map(|word| word.to_le_bytes()).map(<(u8, u8)>::from).unzip();
        self.bytes.get_or_init(|| {
            let ((b0, b1), (b2, b3)) = (of(&self.low), of(&self.high));
            [b0, b1, b2, b3]
        })
    }

    /// F(n) of every number of cells that a window can have, from 0 on.
    pub fn entries(&self) -> &[S] {
        if self.wide.is_empty() { &*self.f } else { &self.wide }
    }

    /// The same where counts take 32 bits, else none.
    pub fn wide_entries(&self) -> Option<&[S]> {
        (!self.wide.is_empty()).then_some(&**self.wide)
    }

    /// Tables of any function of numbers up to `largest`, for lookups and nothing else.
    pub fn of(largest: usize, entry: impl Fn(usize) -> S) -> Self {
        let mut f = boxed::<S, ALL>();
        let mut step = boxed::<S, ALL>();
        for n in 0..=largest {
            f[n] = entry(n);
        }
        for n in 0..largest {
            step[n] = f[n + 1].minus(f[n]);
        }
        let pairs = (largest <= SMALL).then(|| {
            let mut pairs = boxed::<S, { 64 * 64 }>();
            for a in 0..=largest {
                for b in 0..=largest {
                    pairs[64 * a + b] = f[a].plus(f[b]);
                }
            }
            pairs
        });
        let mut limbs = (largest <= SMALL && f[0].limbs().is_some()).then(|| Box::new([[0; 64]; LIMBS]));
        for (n, entry) in f[..64].iter().enumerate() {
            if let (Some(limbs), Some(these)) = (&mut limbs, entry.limbs()) {
                limbs.iter_mut().zip(these).for_each(|(limbs, limb)| limbs[n] = limb);
            }
        }
        let (low, high, factor) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            f,
            step,
            pairs,
            low,
            high,
            bytes: OnceLock::new(),
            step_low: Vec::new(),
            step_high: Vec::new(),
            limbs,
            factor,
            mask: S::default(),
            log: None,
            low_bits: 0,
            unit: 0.0,
            largest,
            few: 0,
            wide: Arc::default(),
        }
    }
}

/// The fewest low bits where counts take 32 bits: words have nothing to gain from fewer there, and with more K·N might reach 2^30 ([`Log`]).
const LEAST_WIDE: u32 = 14;

impl Tables<u32> {
    /// A table for windows of up to `largest` cells, so many that a count takes 32 bits, and `levels` levels; for results in nats.
    pub fn wide_of_log(largest: usize, levels: usize) -> Self {
        let low_bits = low_bits(levels, largest).max(LEAST_WIDE);
        let bits = u32::bits(low_bits);
        let units = (f64::from(1u32 << bits) - 1024.0) / reach(levels, largest);
        let log = Log::new((units * std::f64::consts::LN_2) as u32);
        let unit = std::f64::consts::LN_2 / f64::from(log.k);
        let wide = log::table(largest + 1, &log, bits);
        let few = few(levels, largest, unit);
        Self { mask: u32::mask(bits), log: Some(log), low_bits, unit, few, ..Self::wide(wide) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_words_do_not_overflow_before_their_carry() {
        for bits in 12..=15 {
            let left = if bits == 12 { 0 } else { (1 << bits) - 1 };
            assert!(left + flush_after(bits) * ((1 << bits) - 1) <= 0xffff, "{bits} bits");
        }
        // With 12 bits nothing is left because one flush is enough for any group.
        assert_eq!(flush_after(12), crate::cpu::lookup::GROUP);
    }

    #[test]
    fn words_give_the_entries_back() {
        for (levels, largest, expected) in
            [(2, 65_025, 12), (16, 25, 12), (256, 441, 13), (64, 65_025, 13), (128, 65_025, 14), (256, 65_025, 15)]
        {
            let bits = low_bits(levels, largest);
            assert_eq!(bits, expected, "{levels} levels, {largest} cells");
            let tables = Tables::<u32>::new(largest, levels, 1.0);
            for n in 0..=largest {
                let word = (u32::from(tables.high[n]) << bits) + u32::from(tables.low[n]);
                assert_eq!(word, tables.f[n], "{levels} levels, n = {n}");
                let [b0, b1, b2, b3] = [0, 1, 2, 3].map(|i| tables.bytes()[i][n]);
                assert_eq!(
                    [u16::from_le_bytes([b0, b1]), u16::from_le_bytes([b2, b3])],
                    [tables.low[n], tables.high[n]]
                );
            }
        }
    }
}
