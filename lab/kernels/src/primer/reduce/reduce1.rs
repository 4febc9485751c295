//! reduce1: interleaved addressing by neighbouring threads. In the step for s, thread t combines elements 2 s t and 2 s t + s.
//!
//! The threads at work are the first ones, so that whole warps have nothing to do, and none diverges but the last. But the lanes' words are 2 s
//! apart, with 2 s-way bank conflicts: each step doubles the conflicts.

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
        let index = 2 * stride * t;
        if index < threads {
            combine_elements::<O, T>(tile, index, stride);
        }
        thread::sync_threads();
        stride *= 2;
    }
    tile.load(0)
}

rung! { reduce:
    primer_reduce1_sum_i32 Sum i32;
    primer_reduce1_sum_f32 Sum f32;
    primer_reduce1_sum_f64 Sum f64;
    primer_reduce1_min_i32 Min i32;
    primer_reduce1_min_f32 Min f32;
    primer_reduce1_min_f64 Min f64;
    primer_reduce1_max_i32 Max i32;
    primer_reduce1_max_f32 Max f32;
    primer_reduce1_max_f64 Max f64;
}
