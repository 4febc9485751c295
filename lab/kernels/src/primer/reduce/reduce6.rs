//! reduce6: several elements a thread. As many blocks as run at once go over all numbers, each thread combining two in every round of a loop, and
//! only then does a block begin to combine threads.
//!
//! The steps in shared memory, with ever fewer threads at work, are done once a block and not once in 512 numbers; and the results of the
//! blocks are so few that one more block reduces them.

use simt::global::In;
use simt::{shared, thread};

use super::{Number, Operation, REDUCE_THREADS, number_or_identity, rung, unrolled};

#[inline(always)]
fn reduce<O: Operation<T>, T: Number>(input: In<T>, first: usize, count: usize) -> T {
    let t = thread::thread_idx_x();
    let two_blocks = 2 * REDUCE_THREADS as usize;
    let mut at = thread::block_idx_x() as usize * two_blocks + t as usize;
    let round = thread::grid_dim_x() as usize * two_blocks;
    let number = |at| number_or_identity::<O, T>(input, first, count, at);
    let mut combined = O::IDENTITY;
    while at < count {
        combined = O::combine(combined, O::combine(number(at), number(at + REDUCE_THREADS as usize)));
        at += round;
    }
    unrolled::<O, T>(shared::dynamic::<T>(), t, combined)
}

rung! { reduce:
    primer_reduce6_sum_i32 Sum i32;
    primer_reduce6_sum_f32 Sum f32;
    primer_reduce6_sum_f64 Sum f64;
    primer_reduce6_min_i32 Min i32;
    primer_reduce6_min_f32 Min f32;
    primer_reduce6_min_f64 Min f64;
    primer_reduce6_max_i32 Max i32;
    primer_reduce6_max_f32 Max f32;
    primer_reduce6_max_f64 Max f64;
}
