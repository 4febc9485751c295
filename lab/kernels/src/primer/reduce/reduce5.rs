//! reduce5: all steps unrolled. The block's size is a constant, so that no loop, no comparison with it and no arithmetic for it is left.

use simt::global::In;
use simt::{shared, thread};

use super::{Number, Operation, REDUCE_THREADS, number_or_identity, rung, unrolled};

#[inline(always)]
fn reduce<O: Operation<T>, T: Number>(input: In<T>, first: usize, count: usize) -> T {
    let t = thread::thread_idx_x();
    let at = thread::block_idx_x() as usize * 2 * REDUCE_THREADS as usize + t as usize;
    let number = |at| number_or_identity::<O, T>(input, first, count, at);
    unrolled::<O, T>(shared::dynamic::<T>(), t, O::combine(number(at), number(at + REDUCE_THREADS as usize)))
}

rung! { reduce:
    primer_reduce5_sum_i32 Sum i32;
    primer_reduce5_sum_f32 Sum f32;
    primer_reduce5_sum_f64 Sum f64;
    primer_reduce5_min_i32 Min i32;
    primer_reduce5_min_f32 Min f32;
    primer_reduce5_min_f64 Min f64;
    primer_reduce5_max_i32 Max i32;
    primer_reduce5_max_f32 Max f32;
    primer_reduce5_max_f64 Max f64;
}
