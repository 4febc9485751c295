//! Rows of bits added up: full adders on 512 windows at a time, and from binary digits to numbers.

#[cfg(target_arch = "x86_64")]
use crate::cpu::x86_bits;
use crate::isa::Isa;
#[cfg(target_arch = "x86_64")]
use crate::isa::Kind;
use crate::part::STRIP;

/// Words of a register's bits, one for each column of the widest tile.
pub const WORDS: usize = STRIP / 64;

/// Cells that are added up at once; lists of cells are padded to it.
pub const AT_ONCE: usize = 8;

/// Where in the bits of a level a cell lies, seen from the first window.
#[derive(Debug, Clone, Copy, Default)]
pub struct BitOffset {
    /// The first word of the copy of its row that begins with its word. The next copy lies behind it.
    pub word: u32,
    /// The bit in it, below 64.
    pub shift: u32,
    /// All ones where it is to be inverted.
    pub flip: u64,
}

/// Adds the bits at some offsets, less `less`, to counts.
#[inline(always)]
pub(super) fn add(isa: Isa, bits: &[u64], offsets: &[BitOffset], less: u16, counts: &mut [u16]) {
    let counts: &mut [u16; STRIP] = counts.try_into().expect("a count for each column");
    match isa.kind() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this kind exists only on machines that have the features.
        Kind::Avx512 => unsafe {
            // Fewer than 64 offsets need fewer digits.
            match offsets.len() {
                0..64 => x86_bits::add_avx512::<6>(bits, offsets, less, counts),
                _ => x86_bits::add_avx512::<8>(bits, offsets, less, counts),
            }
        },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Kind::Avx2 => unsafe {
            match offsets.len() {
                0..64 => x86_bits::add_avx2::<6>(bits, offsets, less, counts),
                _ => x86_bits::add_avx2::<8>(bits, offsets, less, counts),
            }
        },
        _ => match offsets.len() {
            0..64 => add_plain::<6>(bits, offsets, less, counts),
            _ => add_plain::<8>(bits, offsets, less, counts),
        },
    }
}

/// 512 bits.
type Bits = [u64; WORDS];

/// A full adder: `sum` becomes the sum of the three, and what comes back is their carry.
#[inline(always)]
fn adder(sum: &mut Bits, a: &Bits, b: &Bits) -> Bits {
    // Where the first two differ the third decides: a bitwise selection, which NEON has an instruction for.
    let half: Bits = std::array::from_fn(|i| sum[i] ^ a[i]);
    *sum = std::array::from_fn(|i| half[i] ^ b[i]);
    std::array::from_fn(|i| half[i] & b[i] | !half[i] & a[i])
}

/// [`add`] without vector instructions of our choice: sums of `DIGITS` binary digits.
#[inline(always)]
fn add_plain<const DIGITS: usize>(bits: &[u64], offsets: &[BitOffset], less: u16, counts: &mut [u16; STRIP]) {
    let mut digits = [[0; WORDS]; DIGITS];
    for eight in offsets.as_chunks::<AT_ONCE>().0 {
        let [a, b, c, d, e, f, g, h]: [Bits; AT_ONCE] = std::array::from_fn(|i| {
            let BitOffset { word, shift, flip } = eight[i];
            let words: &[u64; 2 * WORDS] = bits[word as usize..].first_chunk().expect("two copies of a row");
            std::array::from_fn(|i| (words[i] >> shift | words[i + WORDS] << 1 << (63 - shift)) ^ flip)
        });
        let [t0, t1] = [[a, b], [c, d]].map(|[a, b]| adder(&mut digits[0], &a, &b));
        let f0 = adder(&mut digits[1], &t0, &t1);
        let [t0, t1] = [[e, f], [g, h]].map(|[a, b]| adder(&mut digits[0], &a, &b));
        let f1 = adder(&mut digits[1], &t0, &t1);
        let mut carry = adder(&mut digits[2], &f0, &f1);
        for digit in &mut digits[3..] {
            let next = std::array::from_fn(|i| digit[i] & carry[i]);
            *digit = std::array::from_fn(|i| digit[i] ^ carry[i]);
            carry = next;
        }
    }
    for (word, counts) in counts.chunks_exact_mut(64).enumerate() {
        for (byte, counts) in counts.chunks_exact_mut(8).enumerate() {
            // Eight windows' numbers, a byte each.
            let numbers = digits.iter().enumerate().fold(0, |numbers, (digit, bits)| {
                numbers | SPREAD[usize::from(bits[word].to_le_bytes()[byte])] << digit
            });
            for (count, number) in counts.iter_mut().zip(numbers.to_le_bytes()) {
                *count = count.wrapping_add(u16::from(number)).wrapping_sub(less);
            }
        }
    }
}

/// The bits of a byte as bytes, the lowest in the lowest.
static SPREAD: [u64; 256] = {
    let mut spread = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            spread[byte] |= ((byte >> bit & 1) as u64) << (8 * bit);
            bit += 1;
        }
        byte += 1;
    }
    spread
};

#[cfg(test)]
mod tests {
    use super::super::TOGETHER;
    use super::*;

    /// Sums of bits at random offsets, as many as there may be, on every instruction set.
    #[test]
    fn bits_are_added_up() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        // Rows of two copies.
        let row = 2 * WORDS;
        let mut bits: Vec<u64> = (0..40 * row).map(|_| next() | next()).collect();
        for row in bits.chunks_mut(row) {
            row.copy_within(1..WORDS, WORDS);
        }
        for len in [0, 8, 16, 56, 64, 120, TOGETHER] {
            let offsets: Vec<BitOffset> = (0..len)
                .map(|i| BitOffset {
                    word: (next() % 40 * row as u64) as u32,
                    shift: if i % 5 == 0 { 0 } else { (next() % 64) as u32 },
                    flip: if i % 3 == 0 { u64::MAX } else { 0 },
                })
                .collect();
            let bit = |at: &BitOffset, x: usize| {
                let bit = at.shift as usize + x;
                let word = if bit < STRIP { bit / 64 } else { 2 * WORDS - 1 };
                (bits[at.word as usize + word] ^ at.flip) >> (bit % 64) & 1
            };
            for isa in Isa::available() {
                let mut counts = [7u16; STRIP];
                add(isa, &bits, &offsets, 9, &mut counts);
                for (x, &count) in counts.iter().enumerate() {
                    let truth = 7 + offsets.iter().map(|at| bit(at, x) as u16).sum::<u16>();
                    assert_eq!(count, truth.wrapping_sub(9), "window {x} of {len} offsets, {isa:?}");
                }
            }
        }
    }
}
