//! Past the chapter: tiles in registers, every load ahead of its use.
//!
//! ```text
//! a block of 256 threads: 128 rows and 16 N columns of C; a thread 8 x N of them in registers, N = 8 or 16, in pieces of 4 x 4
//! for every 8 of k:
//!     global memory -> registers     the next 8, in flight while the current ones are used
//!     shared memory -> registers     a column of A's tile and a row of B's, each one step of k ahead
//!     8 x N multiply-adds for each k
//!     registers -> shared memory     the next 8, into the other buffer, before the last step; one barrier
//! ```
//!
//! For 8 N multiply-adds a thread loads 8 + N elements from shared memory, four at a time: 4 loads for 64 operations, or 6 for 128. The first leaves
//! room for two blocks on a multiprocessor. The second has one, which has to hide all latencies by itself: hence the step ahead.
//!
//! Departures from the obvious version:
//! - A's tile is transposed, so that the rows of a thread are contiguous. Its pitch of 132 lets the lanes that store it write to 32
//!   different banks: two lanes have a row, 4 apart along k, which is 16 banks.
//! - The lanes of a warp are arranged 4 × 8: they load at a time from 4 addresses of A, or 8 of B, in a row.
//! - The edges are in the loads from global memory alone. Whether a step's tiles are whole, and aligned so that four elements are one access, is one
//!   condition for all of the block; where they are not, elements are loaded one by one, and are 0 outside.
//! - Blocks are ordered down [`GROUP`] tiles before they take the next column of tiles: those that run at a time read about as much of A as of B, which is
//!   the minimum, and the second-level cache has it for all of them.
//!
//! Sources: Volkov and Demmel (2008); NVIDIA's CUTLASS, whose 256 × 128 × 8 tiles for CUDA cores these are, but for the number of
//! buffers.

use simt::global::{In, Out};
use simt::math::fused_multiply_add;
use simt::shared::Shared;
use simt::{eight, kernel, shared, thread};

/// Threads of a block.
pub const SGEMM_THREADS: u32 = 256;
/// Rows of C that a block makes.
pub const SGEMM_ROWS: u32 = 128;
/// Columns of C that a block of `sgemm` makes.
pub const SGEMM_COLS: u32 = 128;
/// Columns of C that a block of `sgemm_wide` makes.
pub const SGEMM_WIDE_COLS: u32 = 256;

/// Steps of k in a buffer.
const DEPTH: u32 = 8;
/// Elements from a step of A's tile to the next.
const PITCH: u32 = SGEMM_ROWS + 4;
/// Elements of a buffer for A.
const SIZE: u32 = DEPTH * PITCH;
/// Rows of tiles that blocks go down before they take the next column.
const GROUP: u32 = 16;

shared! {
    static PRIMER_SGEMM_A: [f32; 2112];
    static PRIMER_SGEMM_B: [f32; 2048];
    static PRIMER_SGEMM_WIDE_A: [f32; 2112];
    static PRIMER_SGEMM_WIDE_B: [f32; 4096];
}

/// Elements that a thread loads from global memory for a step: four of A, and four of B once or twice.
type Load = ([f32; 4], [[f32; 4]; 2]);

/// The factors in shared memory, two buffers each.
#[derive(Clone, Copy)]
struct Tiles {
    a: Shared<f32>,
    b: Shared<f32>,
}

/// The block's part of the work: `N` columns a thread.
#[derive(Clone, Copy)]
struct Block<const N: usize> {
    a: In<f32>,
    b: In<f32>,
    c: Out<f32>,
    m: u32,
    n: u32,
    k: u32,
    /// First row.
    row: u32,
    /// First column.
    col: u32,
    /// It contains no edge, and rows of all matrices are aligned to 16 bytes.
    whole: bool,
    /// First of the thread's rows in the block: four, and four more 64 on.
    own_row: u32,
    /// First of the thread's columns in the block: four, and four more every 64.
    own_col: u32,
}

/// Four elements of a row, of which the first is at `index`: 0 where they are outside of `rows` × `cols`.
#[inline(always)]
fn guarded(matrix: In<f32>, index: usize, [rows, cols]: [u32; 2], row: u32, col: u32) -> [f32; 4] {
    [0, 1, 2, 3].map(|i| {
        let inside = row < rows && col + i < cols;
        if inside { matrix.load(index + i as usize) } else { 0.0 }
    })
}

impl<const N: usize> Block<N> {
    /// Columns.
    const WIDTH: u32 = 16 * N as u32;
    /// Threads that load a row of B's tile.
    const ACROSS: u32 = Self::WIDTH / 4;
    /// Rows of B's tile that the block loads at a time.
    const DOWN: u32 = SGEMM_THREADS / Self::ACROSS;

    #[inline(always)]
    fn own(a: In<f32>, b: In<f32>, c: Out<f32>, m: u32, n: u32, k: u32) -> Self {
        let (rows, cols) = (m.div_ceil(SGEMM_ROWS), n.div_ceil(Self::WIDTH));
        let (block, group) = (thread::block_idx_x(), (GROUP * cols).max(1));
        let first = block / group * GROUP;
        let height = (rows - first).clamp(1, GROUP);
        let (row, col) = (SGEMM_ROWS * (first + block % group % height), Self::WIDTH * (block % group / height));
        let whole = m - row >= SGEMM_ROWS && n - col >= Self::WIDTH && n.is_multiple_of(4) && k.is_multiple_of(4);
        let t = thread::thread_idx_x();
        let (warp, lane) = (t / 32, t % 32);
        let (own_row, own_col) = (4 * (warp / 2 * 4 + lane / 8), 4 * (warp % 2 * 8 + lane % 8));
        Self { a, b, c, m, n, k, row, col, whole, own_row, own_col }
    }

    /// The thread's elements of the tiles that begin at `at` along k.
    #[inline(always)]
    fn fetch(self, at: u32) -> Load {
        let t = thread::thread_idx_x();
        let (a_row, a_col) = (self.row + t / 2, at + t % 2 * 4);
        let (b_row, b_col) = (at + t / Self::ACROSS, self.col + t % Self::ACROSS * 4);
        // One address for both branches: registers are scarce.
        let a_index = a_row as usize * self.k as usize + a_col as usize;
        let b_index = b_row as usize * self.n as usize + b_col as usize;
        let second = b_index + Self::DOWN as usize * self.n as usize;
        if self.whole && self.k - at >= DEPTH {
            let second = if N == 16 { self.b.load4(second) } else { [0.0; 4] };
            (self.a.load4(a_index), [self.b.load4(b_index), second])
        } else {
            let of_b = |index, row| guarded(self.b, index, [self.k, self.n], row, b_col);
            let second = if N == 16 { of_b(second, b_row + Self::DOWN) } else { [0.0; 4] };
            (guarded(self.a, a_index, [self.m, self.k], a_row, a_col), [of_b(b_index, b_row), second])
        }
    }

    /// Stores them in buffer 0 or 1.
    #[inline(always)]
    fn put(tiles: Tiles, buffer: u32, (a, b): Load) {
        let t = thread::thread_idx_x();
        let index = buffer * SIZE + t % 2 * 4 * PITCH + t / 2;
        tiles.a.store(index, a[0]);
        tiles.a.store(index + PITCH, a[1]);
        tiles.a.store(index + 2 * PITCH, a[2]);
        tiles.a.store(index + 3 * PITCH, a[3]);
        let index = buffer * DEPTH * Self::WIDTH + 4 * t;
        tiles.b.store4(index, b[0]);
        if N == 16 {
            tiles.b.store4(index + 4 * SGEMM_THREADS, b[1]);
        }
    }

    /// The elements of both tiles that the thread multiplies in step `step` of a buffer.
    #[inline(always)]
    fn factors(self, tiles: Tiles, buffer: u32, step: u32) -> ([f32; 8], [f32; N]) {
        let index = buffer * SIZE + step * PITCH + self.own_row;
        let (low, high) = (tiles.a.load4(index), tiles.a.load4(index + 64));
        let index = (buffer * DEPTH + step) * Self::WIDTH + self.own_col;
        let mut b = [0.0; N];
        eight!(P => {
            if 4 * P < N {
                let four = tiles.b.load4(index + 64 * P as u32);
                b[4 * P] = four[0];
                b[4 * P + 1] = four[1];
                b[4 * P + 2] = four[2];
                b[4 * P + 3] = four[3];
            }
        });
        ([low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]], b)
    }

    #[inline(always)]
    fn multiply(self, tiles: Tiles) {
        let mut sums = [[0f32; N]; 8];
        Self::put(tiles, 0, self.fetch(0));
        thread::sync_threads();
        let mut factors = self.factors(tiles, 0, 0);
        let (mut at, mut buffer) = (0, 0);
        loop {
            let more = self.k - at > DEPTH;
            let prefetched = if more { self.fetch(at + DEPTH) } else { ([0.0; 4], [[0.0; 4]; 2]) };
            eight!(K => {
                let (a, b) = factors;
                if K < 7 {
                    factors = self.factors(tiles, buffer, K as u32 + 1);
                } else if more {
                    // The other buffer is no longer read: all threads have been at a barrier since.
                    Self::put(tiles, 1 - buffer, prefetched);
                    thread::sync_threads();
                    factors = self.factors(tiles, 1 - buffer, 0);
                } else {
                    // Not those of the last step: keeping them in both branches would take a copy of each, in every iteration.
                    factors = ([0.0; 8], [0.0; N]);
                }
                eight!(I => {
                    eight!(J => {
                        sums[I][J] = fused_multiply_add(a[I], b[J], sums[I][J]);
                        if N == 16 {
                            sums[I][N - 8 + J] = fused_multiply_add(a[I], b[N - 8 + J], sums[I][N - 8 + J]);
                        }
                    });
                });
            });
            if !more {
                break;
            }
            at += DEPTH;
            buffer = 1 - buffer;
        }
        self.store(&sums);
    }

    #[inline(always)]
    fn store(self, sums: &[[f32; N]; 8]) {
        eight!(I => {
            let row = self.row + self.own_row + 64 * (I as u32 / 4) + I as u32 % 4;
            eight!(P => {
                if 4 * P < N {
                    let four = [sums[I][4 * P], sums[I][4 * P + 1], sums[I][4 * P + 2], sums[I][4 * P + 3]];
                    self.store_four(row, self.col + self.own_col + 64 * P as u32, four);
                }
            });
        });
    }

    /// Writes those of four elements of a row that are inside C.
    #[inline(always)]
    fn store_four(self, row: u32, col: u32, four: [f32; 4]) {
        let index = row as usize * self.n as usize + col as usize;
        if self.whole {
            self.c.store4(index, four);
            return;
        }
        let store = |i: usize, element: f32| {
            if row < self.m && col + (i as u32) < self.n {
                self.c.store(index + i, element);
            }
        };
        store(0, four[0]);
        store(1, four[1]);
        store(2, four[2]);
        store(3, four[3]);
    }
}

/// C = A · B, 128 × 128 elements a block, 8 × 8 a thread.
///
/// # Safety
/// `a`, `b`, `c` are as in the module's text and begin where a 16-byte access may; blocks are [`SGEMM_THREADS`] threads in one dimension, and
/// there is one for each tile.
#[kernel(threads = 256, blocks = 2)]
pub unsafe fn primer_sgemm(a: In<f32>, b: In<f32>, c: Out<f32>, m: u32, n: u32, k: u32) {
    let tiles = Tiles { a: shared::array::<PRIMER_SGEMM_A>(), b: shared::array::<PRIMER_SGEMM_B>() };
    Block::<8>::own(a, b, c, m, n, k).multiply(tiles);
}

/// C = A · B, 128 × 256 elements a block, 8 × 16 a thread.
///
/// # Safety
/// As for [`primer_sgemm`](fn@primer_sgemm).
#[kernel(threads = 256)]
pub unsafe fn primer_sgemm_wide(a: In<f32>, b: In<f32>, c: Out<f32>, m: u32, n: u32, k: u32) {
    let tiles = Tiles { a: shared::array::<PRIMER_SGEMM_WIDE_A>(), b: shared::array::<PRIMER_SGEMM_WIDE_B>() };
    Block::<16>::own(a, b, c, m, n, k).multiply(tiles);
}
