//! Atomic additions: each chain to a word of its own, in shared and in global memory; and all to one word.
//!
//! To a word of its own a chain adds the value it got back before: x, word = word, word + x. To the common word it adds an operand, since
//! the value returned depends on the order of threads; its bits, all masked away by an operand, make the additions a dependent chain.

use simt::global::{In, Out};
use simt::math::and_or;
use simt::shared::Shared;
use simt::{kernel, shared, thread};

use super::{Chain, OPS_CHAINS, OPS_THREADS, measure};

shared! {
    static PRIMER_OPS_WORDS: [u32; OPS_THREADS as usize * OPS_CHAINS];
}

/// A word of shared memory for each chain.
struct InShared(Shared<u32>);

impl InShared {
    #[inline(always)]
    fn new() -> Self {
        Self(shared::array::<PRIMER_OPS_WORDS>())
    }

    #[inline(always)]
    fn at(chain: u32) -> u32 {
        chain * OPS_THREADS + thread::thread_idx_x()
    }
}

impl Chain<u32> for InShared {
    #[inline(always)]
    fn begin(&self, chain: u32, [x, y]: [u32; 2]) -> [u32; 2] {
        self.0.store(Self::at(chain), y);
        [x, y]
    }

    #[inline(always)]
    fn pair(&self, chain: u32, [x, y]: [u32; 2], _: [u32; 2]) -> [u32; 2] {
        let x = self.0.atomic_add(Self::at(chain), x);
        [self.0.atomic_add(Self::at(chain), x), y]
    }

    #[inline(always)]
    fn end(&self, chain: u32, [x, _]: [u32; 2]) -> [u32; 2] {
        [x, self.0.load(Self::at(chain))]
    }
}

/// A word of global memory for each chain.
struct InGlobal(Out<u32>);

impl InGlobal {
    #[inline(always)]
    fn at(chain: u32) -> usize {
        (chain * thread::grid_dim_x() * thread::block_dim_x() + thread::index_x()) as usize
    }
}

impl Chain<u32> for InGlobal {
    #[inline(always)]
    fn begin(&self, chain: u32, [x, y]: [u32; 2]) -> [u32; 2] {
        self.0.store(Self::at(chain), y);
        [x, y]
    }

    #[inline(always)]
    fn pair(&self, chain: u32, [x, y]: [u32; 2], _: [u32; 2]) -> [u32; 2] {
        let x = self.0.atomic_add(Self::at(chain), x);
        [self.0.atomic_add(Self::at(chain), x), y]
    }

    #[inline(always)]
    fn end(&self, chain: u32, [x, _]: [u32; 2]) -> [u32; 2] {
        [x, self.0.load(Self::at(chain))]
    }
}

/// One word of global memory for all threads. Its index is data: an assembler that knows it to be uniform adds up the lanes' operands
/// and lets one of them add the sum.
struct InOne(Out<u32>);

impl Chain<u32> for InOne {
    #[inline(always)]
    fn pair(&self, _: u32, [x, at]: [u32; 2], [amount, none]: [u32; 2]) -> [u32; 2] {
        let x = self.0.atomic_add(at as usize, and_or(x, none, amount));
        [self.0.atomic_add(at as usize, and_or(x, none, amount)), at]
    }

    /// The value before the addition depends on the order of the threads, so it is left out.
    #[inline(always)]
    fn end(&self, _: u32, [_, at]: [u32; 2]) -> [u32; 2] {
        [at, at]
    }
}

/// Additions in shared memory: the rate.
///
/// # Safety
/// As [`instructions`](crate::primer::instructions) says: `starts` has [`OPS_CHAINS`] pairs of 32 elements, `operands` 4, `ends` two for
/// each chain of each thread, `clocks` two for each warp; blocks have [`OPS_THREADS`] threads, in one dimension.
#[kernel(threads = 1024)]
pub unsafe fn primer_ops_atom_shared(
    starts: In<u32>,
    operands: In<u32>,
    ends: Out<u32>,
    clocks: Out<u64>,
    rounds: u32,
) {
    measure::<u32, OPS_CHAINS>((starts, operands), (ends, clocks), rounds, &InShared::new());
}

/// Additions in shared memory: the latency.
///
/// # Safety
/// As for the rate, with one chain and blocks of 32 threads.
#[kernel(threads = 32)]
pub unsafe fn primer_ops_atom_shared_latency(
    starts: In<u32>,
    operands: In<u32>,
    ends: Out<u32>,
    clocks: Out<u64>,
    rounds: u32,
) {
    measure::<u32, 1>((starts, operands), (ends, clocks), rounds, &InShared::new());
}

/// Kernels that have `words` beside what the others have.
macro_rules! global {
    ($($rate:ident, $latency:ident: $chain:ident, $what:literal, $words:literal;)*) => {$(
        #[doc = concat!($what, ": the rate.")]
        ///
        /// # Safety
        #[doc = concat!("As for [`primer_ops_atom_shared`](fn@primer_ops_atom_shared); `words` has ", $words, ".")]
        #[kernel(threads = 1024)]
        pub unsafe fn $rate(
            starts: In<u32>,
            operands: In<u32>,
            ends: Out<u32>,
            clocks: Out<u64>,
            rounds: u32,
            words: Out<u32>,
        ) {
            measure::<u32, OPS_CHAINS>((starts, operands), (ends, clocks), rounds, &$chain(words));
        }

        #[doc = concat!($what, ": the latency.")]
        ///
        /// # Safety
        /// As for the rate, with one chain and blocks of 32 threads.
        #[kernel(threads = 32)]
        pub unsafe fn $latency(
            starts: In<u32>,
            operands: In<u32>,
            ends: Out<u32>,
            clocks: Out<u64>,
            rounds: u32,
            words: Out<u32>,
        ) {
            measure::<u32, 1>((starts, operands), (ends, clocks), rounds, &$chain(words));
        }
    )*};
}
global! {
    primer_ops_atom_global, primer_ops_atom_global_latency: InGlobal,
        "Additions in global memory, each chain to a word of its own", "an element for each chain of each thread";
    primer_ops_atom_one, primer_ops_atom_one_latency: InOne,
        "Additions in global memory, all to the same word", "an element; the second and the fourth of `operands` are 0, and of each pair of `starts` the second";
}

/// The kernels of this file.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[
    primer_ops_atom_shared::ENTRY,
    primer_ops_atom_shared_latency::ENTRY,
    primer_ops_atom_global::ENTRY,
    primer_ops_atom_global_latency::ENTRY,
    primer_ops_atom_one::ENTRY,
    primer_ops_atom_one_latency::ENTRY,
];
