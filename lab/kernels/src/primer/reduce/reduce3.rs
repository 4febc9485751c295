//! reduce3: first add on load. A thread combines two numbers, a block's length apart, when it loads them: no thread is idle from the start, and
//! there are half as many blocks.

use simt::global::In;
use simt::{shared, thread};

use super::reduce2::combine_down_to;
use super::{Number, Operation, number_or_identity, rung};

#[inline(always)]
fn reduce<O: Operation<T>, T: Number>(input: In<T>, first: usize, count: usize) -> T {
    let tile = shared::dynamic::<T>();
    combine_down_to::<O, T>(tile, thread::thread_idx_x(), two::<O, T>(input, first, count), 0);
    tile.load(0)
}

/// The combination of the thread's two numbers.
#[inline(always)]
pub(super) fn two<O: Operation<T>, T: Number>(input: In<T>, first: usize, count: usize) -> T {
    let threads = thread::block_dim_x() as usize;
    let at = thread::block_idx_x() as usize * 2 * threads + thread::thread_idx_x() as usize;
    let number = |at| number_or_identity::<O, T>(input, first, count, at);
    O::combine(number(at), number(at + threads))
}

rung! { reduce:
    primer_reduce3_sum_i32 Sum i32;
    primer_reduce3_sum_f32 Sum f32;
    primer_reduce3_sum_f64 Sum f64;
    primer_reduce3_min_i32 Min i32;
    primer_reduce3_min_f32 Min f32;
    primer_reduce3_min_f64 Min f64;
    primer_reduce3_max_i32 Max i32;
    primer_reduce3_max_f32 Max f32;
    primer_reduce3_max_f64 Max f64;
}
