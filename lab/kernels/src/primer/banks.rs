//! Banks of shared memory: loads whose lanes are a stride apart.
//!
//! Shared memory has 32 banks of 4 bytes, and serves a word of each in a wavefront. Lanes that read different words of one bank are served
//! in successive wavefronts (a bank conflict); those that read the same word, in one.
//!
//! ```text
//! for i in 0..8 · rounds
//!     sum += shared[pitch · lane + (i mod 32) · step]
//! ```
//!
//! All lanes advance together, by whole words, so that every load has the conflicts of the first. With a stride of a row's length, load
//! `i` is column `i` of a tile of 32 rows.
//!
//! The difficulty is to keep the loads: a compiler hoists a load out of a loop if its address does not change, or if unrolling
//! makes it one of few addresses. So `i` wraps by a mask that is an argument. Arithmetic must not be the bottleneck: eight loads share
//! one address, with constants added in the instruction, and are summed as integers, which the hardware adds three at a time; two in five
//! instructions are loads, where one in four would do. And words of a structure remain single loads only because the pitch is given in words:
//! from a pitch in pairs the assembler concludes that pairs are aligned, and loads them as 8 bytes.

use simt::global::{In, Out};
use simt::shared::Shared;
use simt::{kernel, shared, thread};

/// Threads of a block.
pub const BANKS_THREADS: u32 = 256;
/// Loads after which the addresses repeat.
pub const BANKS_STEPS: u32 = 32;
/// The longest stride, in elements.
pub const BANKS_STRIDE: u32 = 33;
/// Loads of a round, which share an address.
pub const BANKS_ROUND: u32 = 8;
/// The argument `mask` of every kernel.
pub const BANKS_MASK: u32 = BANKS_STEPS - BANKS_ROUND;

/// Elements of a type of 4 bytes or more that the loads lie in.
const ELEMENTS: u32 = 31 * BANKS_STRIDE + BANKS_STEPS;
/// Words of shared memory: as many elements of three words.
pub const BANKS_WORDS: u32 = 3 * ELEMENTS;

shared! {
    static PRIMER_BANKS: [u32; BANKS_WORDS as usize];
}

/// The body of all the kernels. `load` sums the words of an element.
#[inline(always)]
fn probe(
    words: In<u32>,
    sums: Out<u32>,
    (pitch, step): (u32, u32),
    (rounds, mask): (u32, u32),
    load: impl Fn(Shared<u32>, u32) -> u32,
) {
    let (thread, shared) = (thread::thread_idx_x(), shared::array::<PRIMER_BANKS>());
    let mut word = thread;
    while word < BANKS_WORDS {
        shared.store(word, words.load(word as usize));
        word += BANKS_THREADS;
    }
    thread::sync_threads();

    let first = pitch * (thread % 32);
    let mut sum = 0u32;
    let mut i = 0;
    while i < rounds * BANKS_ROUND {
        let at = first + (i & mask) * step;
        let mut k = 0;
        while k < BANKS_ROUND {
            sum = sum.wrapping_add(load(shared, at + k * step));
            k += 1;
        }
        i += BANKS_ROUND;
    }
    sums.store((thread::block_idx_x() * BANKS_THREADS + thread) as usize, sum);
}

/// Bytes: a word holds those of four lanes, as long as the stride is 1.
///
/// # Safety
/// `words` has [`BANKS_WORDS`] elements, `sums` one for each thread; `pitch`, from lane to lane in what the
/// kernel loads, is at most [`BANKS_STRIDE`] elements; `mask` is [`BANKS_MASK`]; blocks have [`BANKS_THREADS`] threads, in one
/// dimension.
#[kernel(threads = 256, blocks = 8)]
pub unsafe fn primer_banks_u8(words: In<u32>, sums: Out<u32>, pitch: u32, rounds: u32, mask: u32) {
    probe(words, sums, (pitch, 4), (rounds, mask), |shared, at| u32::from(shared.cast::<u8>().load(at)));
}

/// Words.
///
/// # Safety
/// As for [`primer_banks_u8`](fn@primer_banks_u8).
#[kernel(threads = 256, blocks = 8)]
pub unsafe fn primer_banks_u32(words: In<u32>, sums: Out<u32>, pitch: u32, rounds: u32, mask: u32) {
    probe(words, sums, (pitch, 1), (rounds, mask), |shared, at| shared.load(at));
}

/// Eight bytes, which a half-warp at a time loads. The bits are summed: not every GPU adds in f64 as fast as it loads.
///
/// # Safety
/// As for [`primer_banks_u8`](fn@primer_banks_u8).
#[kernel(threads = 256, blocks = 8)]
pub unsafe fn primer_banks_f64(words: In<u32>, sums: Out<u32>, pitch: u32, rounds: u32, mask: u32) {
    probe(words, sums, (pitch, 1), (rounds, mask), |shared, at| {
        let bits = shared.cast::<f64>().load(at).to_bits();
        (bits as u32).wrapping_add((bits >> 32) as u32)
    });
}

/// Structures of two words, one word after the other.
///
/// # Safety
/// As for [`primer_banks_u8`](fn@primer_banks_u8).
#[kernel(threads = 256, blocks = 8)]
pub unsafe fn primer_banks_pair(words: In<u32>, sums: Out<u32>, pitch: u32, rounds: u32, mask: u32) {
    probe(words, sums, (pitch, 2), (rounds, mask), |shared, at| shared.load(at).wrapping_add(shared.load(at + 1)));
}

/// Structures of three words, one word after the other.
///
/// # Safety
/// As for [`primer_banks_u8`](fn@primer_banks_u8).
#[kernel(threads = 256, blocks = 8)]
pub unsafe fn primer_banks_triple(words: In<u32>, sums: Out<u32>, pitch: u32, rounds: u32, mask: u32) {
    probe(words, sums, (pitch, 3), (rounds, mask), |shared, at| {
        shared.load(at).wrapping_add(shared.load(at + 1)).wrapping_add(shared.load(at + 2))
    });
}

/// The kernels of this file.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[
    primer_banks_u8::ENTRY,
    primer_banks_u32::ENTRY,
    primer_banks_f64::ENTRY,
    primer_banks_pair::ENTRY,
    primer_banks_triple::ENTRY,
];
