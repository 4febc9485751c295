//! Branches that diverge within a warp, and branches that whole warps take together.
//!
//! ```text
//! path = number mod paths, by the number of the lane or of the warp
//! match path { 0: for each round: 20 times x = (x xor c0) * f0,   1: for each round: ..., }
//! ```
//!
//! Diverged lanes of a warp are executed one path after another; warps on different paths run at full speed.
//!
//! Every path has the same instructions with numbers of its own: its own loop, which no compiler merges with another or turns into a choice
//! between results, and steps that cannot be merged, since neither `xor` nor `*` distributes over the other.

use simt::global::{In, Out};
use simt::{kernel, thread};

/// Threads of a block: 32 warps, one for each path.
pub const DIVERGENCE_THREADS: u32 = 1024;
/// Paths that there are at most.
pub const DIVERGENCE_PATHS: u32 = 32;
/// Steps of a round, a logic operation and a multiplication each: as many as keep the compiler from unrolling more.
pub const DIVERGENCE_ROUND: u32 = 20;

/// The operands of `path` in a step: the number that x is combined with, and that it is multiplied by.
pub const fn step_of(path: u32) -> (u32, u32) {
    (0x9E37_79B9u32.wrapping_mul(2 * path + 1), 0x85EB_CA6Bu32.wrapping_add(0x5851_F42Cu32.wrapping_mul(path)))
}

/// The loop of one path.
#[inline(always)]
fn run_path(path: u32, mut x: u32, rounds: u32) -> u32 {
    let (other, factor) = step_of(path);
    let mut round = 0;
    while round < rounds {
        let mut step = 0;
        while step < DIVERGENCE_ROUND {
            x = (x ^ other).wrapping_mul(factor);
            step += 1;
        }
        round += 1;
    }
    x
}

/// A path for each number, written out.
macro_rules! ways {
    ($path:expr, $x:expr, $rounds:expr; $($number:literal)*) => {
        match $path {
            $($number => run_path($number, $x, $rounds),)*
            _ => $x,
        }
    };
}

/// `out[i]` is what the path of thread `i` makes of `input[i mod 1024]`. The path is (the thread's number in its block / `share`) mod `paths`:
/// with a `share` of 1 that of a lane, with 32 that of a warp.
///
/// # Safety
/// `input` has [`DIVERGENCE_THREADS`] elements, `out` one for each thread; `share` and `paths` are 1 to 32, `paths` a power of
/// two; blocks have [`DIVERGENCE_THREADS`] threads, in one dimension.
#[kernel(threads = 1024)]
pub unsafe fn primer_divergence(input: In<u32>, out: Out<u32>, share: u32, paths: u32, rounds: u32) {
    let thread = thread::thread_idx_x();
    // `paths` is a power of two, so that no division comes before the branches.
    let path = if share == 1 { thread } else { thread / 32 } & (paths - 1);
    let x = input.load(thread as usize);
    let x =
        ways!(path, x, rounds; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
    out.store(thread::index_x() as usize, x);
}

/// The kernels of this file.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[primer_divergence::ENTRY];
