//! The product: a thread's 8 x N words of min over k of a(i, k) + b(k, j), through shared memory.

use simt::global::{In, Out};
use simt::shared::Shared;
use simt::{eight, shared, thread};

use super::super::words::Words;
use super::{Spot, TILE};

/// The depth of one buffer in shared memory.
pub(super) const DEPTH: u32 = 8;

shared! {
    static APSP_LEFT: [u32; 2048];
    static APSP_RIGHT: [u32; 2048];
}

/// Memory that words are loaded from four at a time.
pub(super) trait Source: Copy {
    fn four(self, at: usize) -> [u32; 4];
}

impl Source for In<u32> {
    #[inline(always)]
    fn four(self, at: usize) -> [u32; 4] {
        self.load4(at)
    }
}

impl Source for Out<u32> {
    #[inline(always)]
    fn four(self, at: usize) -> [u32; 4] {
        self.load4(at)
    }
}

/// A factor: how a thread loads its four words of a buffer, and where it stores them.
pub(super) trait Factor: Copy {
    /// The thread's words of the depths `depth..depth + DEPTH`.
    fn fetch(self, depth: u32) -> [u32; 4];
    /// Stores them in a buffer.
    fn put(self, words: [u32; 4], buffer: Shared<u32>);
}

/// A factor stored depth by depth, `WIDTH` words from `at` on.
#[derive(Clone, Copy)]
pub(super) struct Straight<S, const WIDTH: u32> {
    pub memory: S,
    pub at: usize,
    /// Words from a depth to the next.
    pub pitch: usize,
}

impl<S: Source, const WIDTH: u32> Straight<S, WIDTH> {
    /// Threads that take part.
    const THREADS: u32 = DEPTH * WIDTH / 4;
}

impl<S: Source, const WIDTH: u32> Factor for Straight<S, WIDTH> {
    #[inline(always)]
    fn fetch(self, depth: u32) -> [u32; 4] {
        let t = thread::thread_idx_x();
        if t >= Self::THREADS {
            return [0; 4];
        }
        let (k, word) = (t / (WIDTH / 4), t % (WIDTH / 4) * 4);
        self.memory.four(self.at + (depth + k) as usize * self.pitch + word as usize)
    }

    #[inline(always)]
    fn put(self, words: [u32; 4], buffer: Shared<u32>) {
        let t = thread::thread_idx_x();
        if t < Self::THREADS {
            buffer.store4(4 * t, words);
        }
    }
}

/// Adds a product to `results`. `depth` is a multiple of [`DEPTH`], not 0. When it returns, all threads have read all that they read of
/// the factors.
#[inline(always)]
pub(super) fn product<W: Words, const N: usize>(
    results: &mut [[u32; N]; 8],
    left: impl Factor,
    right: impl Factor,
    depth: u32,
) {
    let spot = Spot::own();
    let (lefts, rights) = (shared::array::<APSP_LEFT>(), shared::array::<APSP_RIGHT>());
    let size = DEPTH * TILE;
    // Words of a depth in the right buffer.
    let width = 16 * N as u32;
    left.put(left.fetch(0), lefts.slice(0, size));
    right.put(right.fetch(0), rights.slice(0, size));
    thread::sync_threads();
    let mut at = 0;
    loop {
        let next = at + DEPTH;
        let more = next < depth;
        // In flight while the buffer before is used.
        let prefetched = if more { [left.fetch(next), right.fetch(next)] } else { [[0; 4]; 2] };
        let half = at / DEPTH % 2 * size;
        let (from, to) = (lefts.slice(half, size), rights.slice(half, size));
        eight!(K => {
            let k = K as u32;
            let a = [from.load4(k * TILE + spot.row), from.load4(k * TILE + 64 + spot.row)];
            let second = if N == 8 { to.load4(k * width + 64 + spot.word) } else { [0; 4] };
            let b = [to.load4(k * width + spot.word), second];
            eight!(I => {
                eight!(J => {
                    if J < N {
                        results[I][J] = W::relax(results[I][J], a[I / 4][I % 4], b[J / 4][J % 4]);
                    }
                });
            });
        });
        if !more {
            break;
        }
        // The other buffer is free: all threads have passed the barrier since they read it.
        let half = size - half;
        left.put(prefetched[0], lefts.slice(half, size));
        right.put(prefetched[1], rights.slice(half, size));
        thread::sync_threads();
        at = next;
    }
    // The code that follows may write the buffers.
    thread::sync_threads();
}
