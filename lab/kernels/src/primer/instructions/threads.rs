//! Operations of several threads: shuffle, vote, barrier.

use simt::global::{In, Out};
use simt::{kernel, thread, warp};

use super::{OPS_CHAINS, arithmetic, measure};

#[inline(always)]
fn shuffle(x: u32, mask: u32) -> u32 {
    warp::warp_shuffle_xor(warp::FULL, x, mask, 32).0
}

#[inline(always)]
fn vote(x: u32, y: u32) -> u32 {
    warp::warp_vote_ballot(warp::FULL, x < y)
}

arithmetic! {
    primer_ops_shuffle, primer_ops_shuffle_latency: u32, "x of the lane whose number differs by the bits of a" =>
        |x, y, a, b| [shuffle(shuffle(x, a), b), y];
    primer_ops_vote, primer_ops_vote_latency: u32, "the lanes whose x is below their y: a comparison and a vote" =>
        |x, y, _, _| [vote(vote(x, y), y), y];
    primer_ops_barrier, primer_ops_barrier_latency: u32, "a barrier of the block" => |x, y, _, _| {
        thread::sync_threads();
        thread::sync_threads();
        [x, y]
    };
}
