//! Instructions: throughput a multiprocessor and clock, and latency.
//!
//! ```text
//! for each of 4 chains (the latency: 1 chain)
//!     x, y = starts[chain][lane]
//! barrier; begin = clock
//! for each round
//!     4 times: for each chain: x, y = pair(x, y, a, b)       two instructions, the second from the result of the first
//!              for each chain: x, y = pair(x, y, c, d)
//! end = clock
//! ends[chain][thread] = x, y
//! ```
//!
//! The rate is that of a block of 1024 threads on every multiprocessor: 8 warps for each of its four schedulers with 4 chains each, where an
//! addition needs some 4 instructions in flight. The latency is that of one warp with one chain, which hides nothing.
//!
//! The difficulty is to keep the instructions. A compiler simplifies `x + a + b + a`: it adds up the operands, adds three numbers
//! in one instruction, hoists loop invariants. So operands come from memory, and wherever steps of one kind could be
//! merged, two values alternate, `x += y; y += x`: each has a second use, and a value with two uses is not merged. Operations
//! that do not iterate (a logarithm of a logarithm ends) have a multiply-add in each step, on another pipe with free slots. The
//! resulting machine code is shown only by `cargo xtask sass`.
//!
//! The clock is read after a barrier that compares loaded numbers, so that all of them have arrived.
//!
//! | file | what |
//! |---|---|
//! | `float` | additions, multiplications and multiply-adds in f16, f32, f64; divisions in f32 |
//! | `integer` | arithmetic, shifts and logic of words |
//! | `special` | reciprocals, roots, logarithm, exponential, sine; conversions |
//! | `memory` | loads from shared and constant memory |
//! | `threads` | shuffle, vote, barrier |
//! | `atomic` | additions in shared and global memory |

use simt::global::{In, Out};
use simt::scalar::Scalar;
use simt::{clock, thread};

pub mod atomic;
pub mod float;
pub mod integer;
pub mod memory;
pub mod special;
pub mod threads;

/// Threads of a block whose rate is measured. The latency is that of one warp.
pub const OPS_THREADS: u32 = 1024;
/// Chains of a thread whose rate is measured. The latency is that of one chain.
pub const OPS_CHAINS: usize = 4;
/// Instructions of a chain in a round.
pub const OPS_ROUND: u32 = 16;

/// The body of a chain.
trait Chain<W> {
    /// Its start values, from memory.
    #[inline(always)]
    fn begin(&self, chain: u32, state: [W; 2]) -> [W; 2] {
        let _ = chain;
        state
    }

    /// Two instructions.
    fn pair(&self, chain: u32, state: [W; 2], operands: [W; 2]) -> [W; 2];

    /// Its result, for memory.
    #[inline(always)]
    fn end(&self, chain: u32, state: [W; 2]) -> [W; 2] {
        let _ = chain;
        state
    }
}

/// Arithmetic needs no state but its numbers.
impl<W, F: Fn(W, W, W, W) -> [W; 2]> Chain<W> for F {
    #[inline(always)]
    fn pair(&self, _: u32, [x, y]: [W; 2], [a, b]: [W; 2]) -> [W; 2] {
        self(x, y, a, b)
    }
}

/// Two instructions of every chain.
#[inline(always)]
fn all<W: Scalar, const CHAINS: usize>(of: &impl Chain<W>, states: &mut [[W; 2]; CHAINS], operands: [W; 2]) {
    let mut chain = 0;
    while chain < CHAINS {
        states[chain] = of.pair(chain as u32, states[chain], operands);
        chain += 1;
    }
}

/// The body of all the kernels.
#[inline(always)]
fn measure<W: Scalar, const CHAINS: usize>(
    (starts, operands): (In<W>, In<W>),
    (ends, clocks): (Out<W>, Out<u64>),
    rounds: u32,
    of: &impl Chain<W>,
) {
    let (number, threads) = (thread::index_x() as usize, (thread::grid_dim_x() * thread::block_dim_x()) as usize);
    let lane = (thread::thread_idx_x() % 32) as usize;
    let [a, b, c, d] = [operands.load(0), operands.load(1), operands.load(2), operands.load(3)];
    let mut states = [[a; 2]; CHAINS];
    let mut equal = (a == b) ^ (c == d);
    let mut chain = 0;
    while chain < CHAINS {
        let [x, y] = [starts.load((2 * chain) * 32 + lane), starts.load((2 * chain + 1) * 32 + lane)];
        equal ^= x == y;
        states[chain] = of.begin(chain as u32, [x, y]);
        chain += 1;
    }
    thread::sync_threads_count(equal);

    let begin = clock::cycles();
    let mut round = 0;
    while round < rounds {
        // Unrolled by hand, independently of the compiler.
        all(of, &mut states, [a, b]);
        all(of, &mut states, [c, d]);
        all(of, &mut states, [a, b]);
        all(of, &mut states, [c, d]);
        all(of, &mut states, [a, b]);
        all(of, &mut states, [c, d]);
        all(of, &mut states, [a, b]);
        all(of, &mut states, [c, d]);
        round += 1;
    }
    let end = clock::cycles();

    let mut chain = 0;
    while chain < CHAINS {
        let [x, y] = of.end(chain as u32, states[chain]);
        ends.store(2 * chain * threads + number, x);
        ends.store((2 * chain + 1) * threads + number, y);
        chain += 1;
    }
    if lane == 0 {
        clocks.store(number / 32 * 2, begin);
        clocks.store(number / 32 * 2 + 1, end);
    }
}

/// Two kernels of arithmetic, one for the rate and one for the latency, and a constant `KERNELS` of all of a file.
///
/// `name, name_latency: type, what => |x, y, a, b| pair;`
macro_rules! arithmetic {
    ($($rate:ident, $latency:ident: $word:ty, $what:literal => |$x:pat_param, $y:pat_param, $a:pat_param, $b:pat_param| $pair:expr;)*) => {
        $(
            #[doc = concat!($what, ": the rate.")]
            ///
            /// # Safety
            /// As [`instructions`](crate::primer::instructions) says: `starts` has [`OPS_CHAINS`] pairs of 32 elements, `operands` 4, `ends` two for
            /// each chain of each thread, `clocks` two for each warp; blocks have [`OPS_THREADS`](super::OPS_THREADS) threads, in one dimension.
            #[kernel(threads = 1024)]
            pub unsafe fn $rate(starts: In<$word>, operands: In<$word>, ends: Out<$word>, clocks: Out<u64>, rounds: u32) {
                measure::<$word, OPS_CHAINS>((starts, operands), (ends, clocks), rounds, &|$x: $word, $y: $word, $a: $word, $b: $word| $pair);
            }

            #[doc = concat!($what, ": the latency.")]
            ///
            /// # Safety
            /// As for the rate, with one chain and blocks of 32 threads.
            #[kernel(threads = 32)]
            pub unsafe fn $latency(starts: In<$word>, operands: In<$word>, ends: Out<$word>, clocks: Out<u64>, rounds: u32) {
                measure::<$word, 1>((starts, operands), (ends, clocks), rounds, &|$x: $word, $y: $word, $a: $word, $b: $word| $pair);
            }
        )*

        /// The kernels of this file.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[simt::launch::KernelEntry] = &[$($rate::ENTRY, $latency::ENTRY),*];
    };
}
use arithmetic;
