//! reduce2: sequential addressing. s goes from half the block down to 1, and thread t < s combines elements t and t + s.
//!
//! Neighbouring threads access neighbouring words: no bank conflicts. Half of the threads only load a number.

use simt::global::In;
use simt::shared::Shared;
use simt::{shared, thread};

use super::{Number, Operation, combine_elements, number_or_identity, rung};

#[inline(always)]
fn reduce<O: Operation<T>, T: Number>(input: In<T>, first: usize, count: usize) -> T {
    let (t, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let at = thread::block_idx_x() as usize * threads as usize + t as usize;
    let tile = shared::dynamic::<T>();
    combine_down_to::<O, T>(tile, t, number_or_identity::<O, T>(input, first, count, at), 0);
    tile.load(0)
}

/// Combines a number a thread, in halves, until 2 · `least` elements are left, or one if that is 0.
#[inline(always)]
pub(super) fn combine_down_to<O: Operation<T>, T: Number>(tile: Shared<T>, t: u32, own: T, least: u32) {
    tile.store(t, own);
    thread::sync_threads();
    let mut stride = thread::block_dim_x() / 2;
    while stride > least {
        if t < stride {
            combine_elements::<O, T>(tile, t, stride);
        }
        thread::sync_threads();
        stride /= 2;
    }
}

rung! { reduce:
    primer_reduce2_sum_i32 Sum i32;
    primer_reduce2_sum_f32 Sum f32;
    primer_reduce2_sum_f64 Sum f64;
    primer_reduce2_min_i32 Min i32;
    primer_reduce2_min_f32 Min f32;
    primer_reduce2_min_f64 Min f64;
    primer_reduce2_max_i32 Max i32;
    primer_reduce2_max_f32 Max f32;
    primer_reduce2_max_f64 Max f64;
}
