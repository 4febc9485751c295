//! The table of F(n) = n·log2 n in 62 bits, for measures: in shared memory where it fits, in global memory otherwise.

use simt::global::In;
use simt::math::dot2;
use simt::shared::Shared;
use simt::{shared, thread, warp};

use super::COLUMNS_THREADS;

/// The table as a lane sees it: its own copy in shared memory, or the one in global memory.
#[derive(Clone, Copy)]
pub struct Logs<const NEAR: bool> {
    near: Shared<u64>,
    far: In<u64>,
    /// Bytes from an entry to the next, below 256.
    step: u32,
    /// Where the lane's first one is in shared memory.
    first: u32,
}

/// The first `entries` of a table, copied to shared memory `copies` times, element by element.
#[inline(always)]
pub fn copied(table: In<u64>, entries: u32, copies: u32) -> Shared<u64> {
    let near = shared::dynamic::<u64>().slice(0, entries * copies);
    let mut n = thread::thread_idx_x();
    while n < entries * copies {
        // The maximum tells the compiler that it never divides by 0.
        near.store(n, table.load((n / copies.max(1)) as usize));
        n += COLUMNS_THREADS;
    }
    thread::sync_threads();
    near
}

impl<const NEAR: bool> Logs<NEAR> {
    /// A table that lies `copies` times in `near`, a power of two up to 16; or in `far`.
    #[inline(always)]
    pub fn new(near: Shared<u64>, far: In<u64>, copies: u32) -> Self {
        let lane = (warp::lane_id() & copies.wrapping_sub(1)) * 8;
        Self { near, far, step: copies * 8, first: near.address() + lane }
    }

    /// F(n).
    #[inline(always)]
    pub fn f(&self, n: u32) -> u64 {
        if NEAR { self.near.load_address(n * self.step + self.first) } else { self.far.load(n as usize) }
    }

    /// F(n) + F(m), modulo 2^64, of both halves of a word.
    #[inline(always)]
    pub fn both(&self, word: u32) -> u64 {
        if NEAR {
            // A dot product takes a half out of the word, multiplies it and adds the base, all in one instruction.
            let low = self.near.load_address(dot2(word, self.step, self.first));
            let high = self.near.load_address(dot2(word, self.step << 8, self.first));
            return low.wrapping_add(high);
        }
        self.f(word & 0xFFFF).wrapping_add(self.f(word >> 16))
    }

    /// Σ F(n), modulo 2^64, of 16 counts.
    #[inline(always)]
    pub fn sum(&self, counts: &[u32; 8]) -> u64 {
        let (mut sum, mut w) = (0u64, 0);
        while w < 8 {
            sum = sum.wrapping_add(self.both(counts[w]));
            w += 1;
        }
        sum
    }

    /// F(N) − Σ F(n), modulo 2^64, of 16 counts and their sum.
    #[inline(always)]
    pub fn rest(&self, total: u32, counts: &[u32; 8]) -> u64 {
        let (mut rest, mut w) = (self.f(total), 0);
        while w < 8 {
            rest = rest.wrapping_sub(self.both(counts[w]));
            w += 1;
        }
        rest
    }
}
