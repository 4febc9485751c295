//! reduce7, past the chapter: one pass over the numbers, in one launch, at the bandwidth of memory.
//!
//! ```text
//! a thread: for every tile of the block, eight vectors of 16 bytes, all in flight at once, are combined into one number
//! a warp:   five shuffles           a block: a number a warp, through shared memory
//! thread 0: writes the block's number, fence, takes a ticket; the thread with the last ticket, fence,
//!           combines the numbers of all blocks in their order, and puts the ticket back
//! ```
//!
//! Departures from reduce6:
//! - Bandwidth is bytes in flight over latency (Little's law): 4.8 TB/s x 600 ns is 2.9 MB, or 22 KB for each of 132
//!   multiprocessors. Here 1024 threads of a multiprocessor have 128 bytes each in flight: 128 KiB, so that there is enough while some of them
//!   combine. reduce6 has 16 KiB.
//! - Four times fewer load instructions for the same bytes, and one addition of an index for 8 of them.
//! - There is no second launch to wait for. The last block to finish knows from the ticket that it is, and the two fences make what
//!   the others wrote before their tickets visible to it after its own.
//! - The last block combines partial results in the order of blocks, not of arrival: the same launch is bit-identical.
//!
//! Numbers before the first multiple of 16 bytes and after the last are loaded one by one, by the block that has the last, incomplete tile.
//!
//! Source: the ticket is that of NVIDIA's sample threadFenceReduction; vectors and warps those of CUB's `DeviceReduce`.

use simt::global::{In, Out};
use simt::{kernel, shared, thread, warp};

use super::{Max, Min, Number, Operation, REDUCE_THREADS, Sum};

/// Vectors of 16 bytes that a thread has in flight.
const LOADS: usize = 8;
/// Vectors that a block takes at a time.
const TILE: usize = LOADS * REDUCE_THREADS as usize;
/// Bytes that a block takes at a time.
pub const REDUCE7_TILE_BYTES: usize = TILE * 16;

shared! {
    /// A number for each warp. The largest type sets the size.
    static REDUCE7_WARPS: [f64; 8];
    /// 1 in the last block.
    static REDUCE7_LAST: [u32; 1];
}

#[inline(always)]
fn reduce<O: Operation<T>, T: Number>(
    input: In<T>,
    partial: Out<T>,
    ticket: Out<u32>,
    out: Out<T>,
    first: usize,
    count: usize,
) {
    let (t, block, blocks) = (thread::thread_idx_x(), thread::block_idx_x(), thread::grid_dim_x());
    let combined = block_reduce::<O, T>(t, thread_reduce::<O, T>(input, first, count));
    let last = shared::array::<REDUCE7_LAST>();
    if t == 0 {
        partial.store(block as usize, combined);
        thread::device_fence();
        let mine = ticket.atomic_add(0, 1);
        thread::device_fence();
        last.store(0, u32::from(mine == blocks - 1));
    }
    thread::sync_threads();
    if last.load(0) == 0 {
        return;
    }
    let mut combined = O::IDENTITY;
    let mut at = t;
    while at < blocks {
        combined = O::combine(combined, partial.load(at as usize));
        at += REDUCE_THREADS;
    }
    let combined = block_reduce::<O, T>(t, combined);
    if t == 0 {
        out.store(0, combined);
        ticket.atomic_exchange(0, 0);
    }
}

/// The combination of the thread's numbers.
#[inline(always)]
fn thread_reduce<O: Operation<T>, T: Number>(input: In<T>, first: usize, count: usize) -> T {
    let (t, blocks) = (thread::thread_idx_x() as usize, thread::grid_dim_x() as usize);
    // Numbers before the first whole vector.
    let ahead = first.wrapping_neg() % T::LANES;
    let ahead = ahead.min(count);
    let start = first + ahead;
    let vectors = (count - ahead) / T::LANES;
    let whole = vectors / TILE;
    let mut combined = O::IDENTITY;
    let mut tile = thread::block_idx_x() as usize;
    while tile < whole {
        let at = tile * TILE + t;
        let load = |i| T::load_vector(input, start + (at + i * REDUCE_THREADS as usize) * T::LANES);
        combined = O::combine(combined, eight::<O, T>(load, |_, vector| T::fold::<O>(vector)));
        tile += blocks;
    }
    // Only one block handles this number: the one that would be next.
    if tile == whole {
        let index = |i: usize| whole * TILE + t + i * REDUCE_THREADS as usize;
        if whole * TILE < vectors {
            // Past the end the last vector is loaded again and left out, so that no load depends on a branch.
            let load = |i| T::load_vector(input, start + index(i).min(vectors - 1) * T::LANES);
            let fold = |i, vector| if index(i) < vectors { T::fold::<O>(vector) } else { O::IDENTITY };
            combined = O::combine(combined, eight::<O, T>(load, fold));
        }
        let rest = ahead + vectors * T::LANES;
        if t < ahead {
            combined = O::combine(combined, input.load(first + t));
        }
        if t < count - rest {
            combined = O::combine(combined, input.load(first + rest + t));
        }
    }
    combined
}

/// The combination of eight vectors. All loads stand before the first combination, and the combinations are a tree, so that a number goes through few of them.
#[inline(always)]
fn eight<O: Operation<T>, T: Number>(load: impl Fn(usize) -> T::Vector, fold: impl Fn(usize, T::Vector) -> T) -> T {
    const { assert!(LOADS == 8, "as many loads as below") };
    let (a, b, c, d, e, f, g, h) = (load(0), load(1), load(2), load(3), load(4), load(5), load(6), load(7));
    let (ab, cd) = (O::combine(fold(0, a), fold(1, b)), O::combine(fold(2, c), fold(3, d)));
    let (ef, gh) = (O::combine(fold(4, e), fold(5, f)), O::combine(fold(6, g), fold(7, h)));
    O::combine(O::combine(ab, cd), O::combine(ef, gh))
}

/// The combination of a number a thread; the first thread has it.
#[inline(always)]
fn block_reduce<O: Operation<T>, T: Number>(t: u32, own: T) -> T {
    let warps = shared::array::<REDUCE7_WARPS>().cast::<T>();
    let lane = t % warp::SIZE;
    let combined = with_lane_above::<O, T>(own, 16);
    let combined = with_lane_above::<O, T>(combined, 8);
    let combined = last_eight::<O, T>(combined);
    if lane == 0 {
        warps.store(t / warp::SIZE, combined);
    }
    thread::sync_threads();
    // Every warp does that, so that there is no branch around the shuffles.
    last_eight::<O, T>(warps.load(lane % (REDUCE_THREADS / warp::SIZE)))
}

/// The combination of the first eight lanes, in the first lane.
#[inline(always)]
fn last_eight<O: Operation<T>, T: Number>(own: T) -> T {
    let combined = with_lane_above::<O, T>(own, 4);
    let combined = with_lane_above::<O, T>(combined, 2);
    with_lane_above::<O, T>(combined, 1)
}

#[inline(always)]
fn with_lane_above<O: Operation<T>, T: Number>(own: T, delta: u32) -> T {
    O::combine(own, warp::warp_shuffle_down(warp::FULL, own, delta, warp::SIZE).0)
}

macro_rules! kernels {
    ($($name:ident $operation:ident $number:ident;)*) => {
        $(
            #[doc = concat!("Combines numbers `first..first + count` of `input` into `out[0]`: see the module. `", stringify!($operation), "` of `",
                stringify!($number), "`.")]
            ///
            /// # Safety
            /// `input` has `first + count` elements, `partial` one for each block, `out` one. `ticket` has one, which is 0, and is so again
            /// afterwards. Blocks are of 256 threads, in one dimension.
            #[kernel(threads = 256, blocks = 4)]
            pub unsafe fn $name(
                input: In<$number>,
                partial: Out<$number>,
                ticket: Out<u32>,
                out: Out<$number>,
                first: u64,
                count: u64,
            ) {
                reduce::<$operation, $number>(input, partial, ticket, out, first as usize, count as usize);
            }
        )*

        /// The kernels of this rung: sum, min, max, of i32, f32, f64 each.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: [simt::launch::KernelEntry; 9] = [$($name::ENTRY),*];
    };
}

kernels! {
    primer_reduce7_sum_i32 Sum i32;
    primer_reduce7_sum_f32 Sum f32;
    primer_reduce7_sum_f64 Sum f64;
    primer_reduce7_min_i32 Min i32;
    primer_reduce7_min_f32 Min f32;
    primer_reduce7_min_f64 Min f64;
    primer_reduce7_max_i32 Max i32;
    primer_reduce7_max_f32 Max f32;
    primer_reduce7_max_f64 Max f64;
}
