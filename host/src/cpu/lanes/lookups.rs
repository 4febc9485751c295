//! Σ F(n) of a group of levels, 32 cells at a time: a stretch of 64 entries, each four bytes in four tables, the lower two a word and the upper two
//! another; words are added in lanes of 16 bits, with a carry now and then.

use super::Lanes;
use crate::cpu::lookup::{ANCHORS, BLOCK, Group, ROUGH, STRETCH, stretch_around};
use crate::cpu::table::{Tables, flush_after};

/// Cells at a time.
const STEP: usize = 32;

/// Sums of the low and of the high words of 32 cells, in the order that lookups give them.
#[derive(Clone, Copy)]
struct Words<L> {
    low: [L; 2],
    high: [L; 2],
}

impl<L: Lanes> Words<L> {
    /// # Safety
    /// The machine must have the instruction set.
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller says so.
        let zero = unsafe { L::zero() };
        Self { low: [zero; 2], high: [zero; 2] }
    }

    /// Adds the entries of 32 cells, of the stretch from `base` on.
    ///
    /// # Safety
    /// Each table must have 64 entries from there.
    #[inline(always)]
    unsafe fn add(&mut self, tables: &[Vec<u8>; 4], base: usize, index: L::Index) {
        let [b0, b1, b2, b3] = tables;
        // SAFETY: the caller says so.
        unsafe {
            add_pair(&mut self.low, [b0, b1], base, index);
            add_pair(&mut self.high, [b2, b3], base, index);
        }
    }

    /// Moves what the low words have above their bits to the high words.
    #[inline(always)]
    fn carry(&mut self, bits: u32) {
        for i in 0..2 {
            self.high[i] = self.high[i].add16(self.low[i].shift_right16(bits));
            self.low[i] = self.low[i].low_bits16(bits);
        }
    }

    /// Adds the sums to (or stores them as) those at an address. `in_order`: whether the first registers have the first 16 cells.
    ///
    /// # Safety
    /// 32 sums must be readable and writable there.
    #[inline(always)]
    unsafe fn put(self, bits: u32, in_order: bool, sums: *mut u32, first: bool) {
        let Self { low, high } = self;
        let [low, high] = if in_order { [low, high] } else { [low[0].lanes(low[1]), high[0].lanes(high[1])] };
        // SAFETY: a register exists, so the machine has the instruction set.
        let zero = unsafe { L::zero() };
        for i in 0..2 {
            let ([low0, low1], [high0, high1]) = (low[i].zip16(zero), high[i].zip16(zero));
            let (lower, upper) = (high0.shift_left32(bits).add32(low0), high1.shift_left32(bits).add32(low1));
            let [these, next] = lower.lanes(upper);
            // SAFETY: eight and eight of the 32 sums that the caller says are there.
            unsafe {
                put_eight(these, sums.add(16 * i), first);
                put_eight(next, sums.add(16 * i + 8), first);
            }
        }
    }
}

/// Adds to (or stores) the eight sums at an address.
///
/// # Safety
/// They must be readable and writable there.
#[inline(always)]
unsafe fn put_eight<L: Lanes>(values: L, sums: *mut u32, first: bool) {
    let to = sums.cast::<u8>();
    // SAFETY: the caller says so, and a register exists.
    unsafe { if first { values } else { L::load(to).add32(values) }.store(to) }
}

/// Adds words that are two bytes of the entries of 32 cells.
///
/// # Safety
/// Each table must have 64 entries from `base` on.
#[inline(always)]
unsafe fn add_pair<L: Lanes>(words: &mut [L; 2], [lower, upper]: [&Vec<u8>; 2], base: usize, index: L::Index) {
    // SAFETY: the caller says so, of this table and of the next.
    let lower = unsafe { L::look_up(lower.as_ptr().add(base), index) };
    // SAFETY: as above.
    let upper = unsafe { L::look_up(upper.as_ptr().add(base), index) };
    let [first, second] = lower.zip8(upper);
    *words = [words[0].add16(first), words[1].add16(second)];
}

/// Byte-sized counts: the stretch is the whole table.
///
/// # Safety
/// The machine must have the instruction set. `counts` must hold `(group.levels - 1) * group.stride + sums.len()` values below 64, and the length
/// of `sums` must be a multiple of [`BLOCK`].
#[inline(always)]
pub unsafe fn small<L: Lanes>(counts: &[u8], group: Group<'_>, tables: &Tables<u32>, sums: &mut [u32]) {
    let bytes = tables.bytes();
    assert!(bytes.iter().all(|table| table.len() >= STRETCH) && sums.len().is_multiple_of(BLOCK));
    // No carry is due before the last level.
    debug_assert_eq!(tables.low_bits, 12);
    for (x, sums) in sums.chunks_exact_mut(STEP).enumerate() {
        // SAFETY: the caller says so of the machine and of the counts, and the tables have 64 entries.
        unsafe {
            let mut words = Words::<L>::zero();
            for g in 0..group.levels {
                let n = L::load(counts.as_ptr().add(g * group.stride + x * STEP));
                words.add(bytes, 0, n.index());
            }
            words.put(tables.low_bits, false, sums.as_mut_ptr(), group.first);
        }
    }
}

/// The counts of a level in a step.
#[inline(always)]
fn step<'a>(counts: &'a [u16], group: Group<'_>, level: usize, step: usize) -> &'a [u16; STEP] {
    counts[level * group.stride + step * STEP..].first_chunk().expect("as many counts as sums")
}

/// Adds the entries for some counts from memory.
#[inline(always)]
fn one_by_one(tables: &Tables<u32>, counts: &[u16; STEP], sums: &mut [u32; STEP]) {
    for (sum, &n) in sums.iter_mut().zip(counts) {
        *sum = sum.wrapping_add(tables.f[usize::from(n)]);
    }
}

/// 16-bit counts: the stretch around two of the 32 cells' counts, and entries one by one where others lie beyond.
///
/// # Safety
/// The machine must have the instruction set. `counts` must hold `(group.levels - 1) * group.stride + sums.len()` values, and the length
/// of `sums` must be a multiple of [`BLOCK`].
#[inline(always)]
pub unsafe fn large<L: Lanes>(counts: &[u16], group: Group<'_>, tables: &Tables<u32>, sums: &mut [u32]) {
    let (bytes, bits) = (tables.bytes(), tables.low_bits);
    assert!(sums.len().is_multiple_of(BLOCK));
    let entries = bytes.iter().map(Vec::len).min().unwrap_or(0);
    // Windows of at most 63 cells have no entry beyond the first 64.
    let short = tables.log.is_none();
    let mut rough = 0;
    for (x, sums) in sums.chunks_exact_mut(STEP).enumerate() {
        let sums: &mut [u32; STEP] = sums.try_into().expect("a step of sums");
        if group.first {
            sums.fill(0);
        }
        if rough > 0 {
            rough -= 1;
            for g in 0..group.levels {
                one_by_one(tables, step(counts, group, g, x), sums);
            }
            continue;
        }
        // SAFETY: the caller says that the machine has the instruction set.
        let mut words = unsafe { Words::<L>::zero() };
        let (mut added, mut spread) = (0, 0);
        for g in 0..group.levels {
            let n = step(counts, group, g, x);
            let base = stretch_around(n[ANCHORS[0]], n[ANCHORS[1]], short);
            // SAFETY: `n` is 64 readable bytes.
            let (left, right) = unsafe { (L::load(n.as_ptr().cast()), L::load(n[STEP / 2..].as_ptr().cast())) };
            let (left, right) = (left.sub16_all(base as u16), right.sub16_all(base as u16));
            if !(left.below_64() && right.below_64()) || base + STRETCH > entries {
                one_by_one(tables, n, sums);
                spread += 1;
                continue;
            }
            if added == flush_after(bits) {
                words.carry(bits);
                added = 0;
            }
            added += 1;
            // SAFETY: the tables have 64 entries from `base` on.
            unsafe { words.add(bytes, base, left.narrow(right).index()) };
        }
        if 4 * spread >= group.levels {
            rough = ROUGH;
        }
        // SAFETY: `sums` are 32.
        unsafe { words.put(bits, true, sums.as_mut_ptr(), false) };
    }
}
