//! reduce0: interleaved addressing. In the step for s, the threads whose number is a multiple of 2 s combine their number with the one s elements
//! on.
//!
//! Every warp is active to the end, with ever fewer of its lanes: they diverge. And every step computes a remainder, which the
//! compiler turns into a mask today, where it sees that 2 s is a power of two.

use simt::global::In;
use simt::{shared, thread};

use super::{Number, Operation, combine_elements, number_or_identity, rung};

#[inline(always)]
fn reduce<O: Operation<T>, T: Number>(input: In<T>, first: usize, count: usize) -> T {
    let (tile, t, threads) = (shared::dynamic::<T>(), thread::thread_idx_x(), thread::block_dim_x());
    let at = thread::block_idx_x() as usize * threads as usize + t as usize;
    tile.store(t, number_or_identity::<O, T>(input, first, count, at));
    thread::sync_threads();
    let mut stride = 1;
    while stride < threads {
        if t % (2 * stride) == 0 {
            combine_elements::<O, T>(tile, t, stride);
        }
        thread::sync_threads();
        stride *= 2;
    }
    tile.load(0)
}

rung! { reduce:
    primer_reduce0_sum_i32 Sum i32;
    primer_reduce0_sum_f32 Sum f32;
    primer_reduce0_sum_f64 Sum f64;
    primer_reduce0_min_i32 Min i32;
    primer_reduce0_min_f32 Min f32;
    primer_reduce0_min_f64 Min f64;
    primer_reduce0_max_i32 Max i32;
    primer_reduce0_max_f32 Max f32;
    primer_reduce0_max_f64 Max f64;
}
