//! reduce4: the last warp unrolled. When 64 elements are left, one warp has all that is to be done: no barrier of the block any more, only one
//! of the warp, and no loop.

use simt::global::In;
use simt::{shared, thread, warp};

use super::reduce2::combine_down_to;
use super::reduce3::two;
use super::{Number, Operation, last_warp, rung};

#[inline(always)]
fn reduce<O: Operation<T>, T: Number>(input: In<T>, first: usize, count: usize) -> T {
    let (tile, t) = (shared::dynamic::<T>(), thread::thread_idx_x());
    let own = two::<O, T>(input, first, count);
    combine_down_to::<O, T>(tile, t, own, warp::SIZE);
    if t < warp::SIZE { last_warp::<O, T>(tile, t) } else { own }
}

rung! { reduce:
    primer_reduce4_sum_i32 Sum i32;
    primer_reduce4_sum_f32 Sum f32;
    primer_reduce4_sum_f64 Sum f64;
    primer_reduce4_min_i32 Min i32;
    primer_reduce4_min_f32 Min f32;
    primer_reduce4_min_f64 Min f64;
    primer_reduce4_max_i32 Max i32;
    primer_reduce4_max_f32 Max f32;
    primer_reduce4_max_f64 Max f64;
}
