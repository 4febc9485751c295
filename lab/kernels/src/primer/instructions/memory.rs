//! Loads from shared memory, by bank conflicts, and from constant memory, by whether a warp's lanes read the same word.
//!
//! Each load gives the address of the next (pointer chasing). All lanes of a warp advance by as many words, so that conflicts are those of the
//! beginning. In shared memory the words are byte addresses; in constant memory they are indices, and a multiplication by four is
//! part of each step.

use simt::global::{In, Out};
use simt::shared::Shared;
use simt::{constant, kernel, shared, thread};

use super::{Chain, OPS_CHAINS, measure};

/// Words of the table in shared memory.
pub const OPS_SHARED: u32 = 1024;
/// By how many words a load's word is after the one before, modulo [`OPS_SHARED`].
pub const OPS_SHARED_STEP: u32 = 33;
/// Words of the table in constant memory.
pub const OPS_CONSTANT: usize = 64;
/// By how many words a load's index is after the one before, modulo [`OPS_CONSTANT`].
pub const OPS_CONSTANT_STEP: usize = 5;

shared! {
    static PRIMER_OPS_SHARED: [u32; OPS_SHARED as usize];
}

constant! {
    static PRIMER_OPS_CONSTANT: [u32; 64] = NEXT;
}

/// For each index the next.
const NEXT: [u32; OPS_CONSTANT] = {
    let mut next = [0; OPS_CONSTANT];
    let mut at = 0;
    while at < OPS_CONSTANT {
        next[at] = ((at + OPS_CONSTANT_STEP) % OPS_CONSTANT) as u32;
        at += 1;
    }
    next
};

/// A table in shared memory.
struct Addresses(Shared<u32>);

impl Addresses {
    #[inline(always)]
    fn new() -> Self {
        let (words, mut at) = (shared::array::<PRIMER_OPS_SHARED>(), thread::thread_idx_x());
        while at < OPS_SHARED {
            words.store(at, words.address() + (at + OPS_SHARED_STEP) % OPS_SHARED * 4);
            at += thread::block_dim_x();
        }
        Self(words)
    }
}

impl Chain<u32> for Addresses {
    #[inline(always)]
    fn begin(&self, _: u32, [x, y]: [u32; 2]) -> [u32; 2] {
        [self.0.address() + 4 * x, y]
    }

    #[inline(always)]
    fn pair(&self, _: u32, [x, y]: [u32; 2], _: [u32; 2]) -> [u32; 2] {
        [self.0.load_address(self.0.load_address(x)), y]
    }

    #[inline(always)]
    fn end(&self, _: u32, [x, y]: [u32; 2]) -> [u32; 2] {
        [(x - self.0.address()) / 4, y]
    }
}

/// Loads from shared memory: the rate. `starts` are words of the table, the conflicts their own.
///
/// # Safety
/// As [`instructions`](crate::primer::instructions) says: `starts` has [`OPS_CHAINS`] pairs of 32 elements, the first of each below
/// [`OPS_SHARED`], `operands` 4, `ends` two for each chain of each thread, `clocks` two for each warp; blocks have [`OPS_THREADS`](super::OPS_THREADS)
/// threads, in one dimension.
#[kernel(threads = 1024)]
pub unsafe fn primer_ops_ld_shared(starts: In<u32>, operands: In<u32>, ends: Out<u32>, clocks: Out<u64>, rounds: u32) {
    measure::<u32, OPS_CHAINS>((starts, operands), (ends, clocks), rounds, &Addresses::new());
}

/// Loads from shared memory: the latency.
///
/// # Safety
/// As for the rate, with one chain and blocks of 32 threads.
#[kernel(threads = 32)]
pub unsafe fn primer_ops_ld_shared_latency(
    starts: In<u32>,
    operands: In<u32>,
    ends: Out<u32>,
    clocks: Out<u64>,
    rounds: u32,
) {
    measure::<u32, 1>((starts, operands), (ends, clocks), rounds, &Addresses::new());
}

#[inline(always)]
fn next(x: u32) -> u32 {
    constant::load::<PRIMER_OPS_CONSTANT>(x)
}

/// Loads from constant memory: the rate. `starts` are indices, of one word or of several.
///
/// # Safety
/// As for [`primer_ops_ld_shared`](fn@primer_ops_ld_shared), with `starts` below [`OPS_CONSTANT`].
#[kernel(threads = 1024)]
pub unsafe fn primer_ops_ld_const(starts: In<u32>, operands: In<u32>, ends: Out<u32>, clocks: Out<u64>, rounds: u32) {
    measure::<u32, OPS_CHAINS>((starts, operands), (ends, clocks), rounds, &|x, y, _, _| [next(next(x)), y]);
}

/// Loads from constant memory: the latency.
///
/// # Safety
/// As for the rate, with one chain and blocks of 32 threads.
#[kernel(threads = 32)]
pub unsafe fn primer_ops_ld_const_latency(
    starts: In<u32>,
    operands: In<u32>,
    ends: Out<u32>,
    clocks: Out<u64>,
    rounds: u32,
) {
    measure::<u32, 1>((starts, operands), (ends, clocks), rounds, &|x, y, _, _| [next(next(x)), y]);
}

/// The kernels of this file.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[
    primer_ops_ld_shared::ENTRY,
    primer_ops_ld_shared_latency::ENTRY,
    primer_ops_ld_const::ENTRY,
    primer_ops_ld_const_latency::ENTRY,
];
