//! The ladders: moving-window entropy, one idea a kernel, so that neighbouring rungs can be compared.
//!
//! Two reports optimised the same task in two different orders. Each of their steps is a kernel here, by its real
//! mechanism, and what its author expected of it is at the head of its file. Our own steps continue from there to the
//! production kernels, which are in `entropy` of the crate `halotile-kernels`.
//!
//! # Ladder A
//! u8 cells, f32 results, one thread a cell in blocks of 32 × 32 unless said otherwise.
//!
//! | rung | from | what it changes |
//! |---|---|---|
//! | [`ladder_v0`](fn@ladder_v0) | | i32 counters in local memory, a logarithm in f64 for every count above 0 |
//! | [`ladder_v1`](fn@ladder_v1) | v0 | a table of logarithms, thread-private |
//! | [`ladder_v2`](fn@ladder_v2) | v0 | the table in shared memory |
//! | [`ladder_v3`](fn@ladder_v3) | v0 | the table in constant memory |
//! | [`ladder_v4`](fn@ladder_v4) | v0 | the table in global memory |
//! | [`ladder_v5`](fn@ladder_v5) | v4 | the table, of f32, through a texture |
//! | [`ladder_v6`](fn@ladder_v6) | v1 | i8 counters |
//! | [`ladder_v7`](fn@ladder_v7) | v6 | an f32 table, sums in f64; counters in shared memory, blocks of 512 along a row |
//! | [`ladder_v8`](fn@ladder_v8) | v7 | cells through a texture |
//! | [`ladder_v9`](fn@ladder_v9) | v7 | cells from a halo tile in shared memory |
//!
//! # Ladder B
//! f64 cells and results, one thread a cell in blocks of 8 × 8 unless said otherwise.
//!
//! | rung | from | what it changes |
//! |---|---|---|
//! | [`ladder_b0`](fn@ladder_b0) | | rows behind an array of pointers; i32 counters, a logarithm for every count above 0 |
//! | [`ladder_b1`](fn@ladder_b1) | b0 | a table of logarithms in global memory |
//! | [`ladder_b2`](fn@ladder_b2) | b0 | the table thread-private |
//! | [`ladder_b3`](fn@ladder_b3) | b0 | the table in shared memory |
//! | [`ladder_b4`](fn@ladder_b4) | b0 | the table in constant memory |
//! | [`ladder_b5`](fn@ladder_b5) | b3 | one array instead of pointers to rows |
//! | [`ladder_b6`](fn@ladder_b6) | b5 | height and width out of the matrix, in global memory |
//! | [`ladder_b7`](fn@ladder_b7) | b5 | height and width in constant memory |
//! | [`ladder_b8`](fn@ladder_b8) | b7 | i16 cells and counters, f32 results and table |
//! | [`ladder_b9`](fn@ladder_b9) | b8 | other blocks: 256 × 4, and six more |
//!
//! # Our own
//! u8 cells, f32 results, F(n) = n·ln n in fixed point; s2 to s4 in blocks of 256 threads, a warp 28 columns.
//!
//! | rung | from | what it changes |
//! |---|---|---|
//! | [`ladder_s1`](fn@ladder_s1) | v9 | no tile; counters of 5 bits packed in registers, blocks of 32 × 8 |
//! | [`ladder_s2`](fn@ladder_s2) | s1 | column histograms slide down, windows are their sums by shuffle |
//! | [`ladder_s3`](fn@ladder_s3) | s2 | a table of pairs: 8 look-ups instead of 16 |
//! | [`ladder_s4`](fn@ladder_s4) | s3 | a copy of the table for each lane, in its own bank |
//! | `entropy_sliding` | s4 | four columns a lane; windows slide sideways, cells are loaded ahead |
//! | `entropy_tensor` | sliding | tensor cores add up the columns and give table addresses |
//!
//! # What all of them compute
//! 5 × 5 windows, clipped at the border, of up to 16 levels, without nodata. With n_i = how often level i occurs in a window
//! of N cells,
//!
//! ```text
//! H = ln N − (1/N)·Σ n_i·ln n_i = (N·ln N − Σ n_i·ln n_i) / N
//! ```
//!
//! N is at most 25, so there are 26 logarithms; that of 0 is set to 0 in the tables, where it is multiplied by 0.
//! The second form gives exactly 0 for a window of one level, whose two terms are one product twice. N is the clipped
//! window's rows times its columns, right at all four borders (the reports' own program was wrong at the
//! bottom and at the right).
//!
//! Parameters are those of the production kernels (`kernels/src/entropy`): a band of `rows` × `cols` cells with its
//! halo, of which the `count` rows from `first` on are computed, times `scale`. In ladder B a height and a width are passed as
//! each rung takes them.

use core::ops::Range;

use simt::math::ln_f64;

mod a;
mod b;
mod s;

pub use a::*;
pub use b::*;
pub use s::*;

/// Levels of a cell: 0..16.
pub const LEVELS: usize = 16;
/// Entries of a table of logarithms: of 0 (set to 0) to 25.
pub const LOGS: usize = 26;
/// Cells from a window's centre to its edge.
pub const RADIUS: u32 = 2;

/// ln n, and 0 for 0.
pub const LN: [f64; LOGS] = {
    let mut table = [0.0; LOGS];
    let mut n = 1;
    while n < LOGS {
        table[n] = ln_f64(n as f64);
        n += 1;
    }
    table
};

/// The same in f32.
pub const LN_F32: [f32; LOGS] = {
    let mut table = [0.0; LOGS];
    let mut n = 1;
    while n < LOGS {
        table[n] = LN[n] as f32;
        n += 1;
    }
    table
};

/// The rows, or the columns, of the window around `at` that lie in a grid of `len` of them.
#[inline(always)]
fn clipped(at: u32, len: u32) -> Range<u32> {
    at.saturating_sub(RADIUS)..(at + RADIUS + 1).min(len)
}

/// H from N, N·ln N and Σ n·ln n. Rounding could leave a tiny negative number.
#[inline(always)]
fn entropy(cells: f64, total: f64, sum: f64) -> f64 {
    ((total - sum) / cells).max(0.0)
}

/// The kernels of this family, for lookup by name.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[
    ladder_v0::ENTRY,
    ladder_v1::ENTRY,
    ladder_v2::ENTRY,
    ladder_v3::ENTRY,
    ladder_v4::ENTRY,
    ladder_v5::ENTRY,
    ladder_v6::ENTRY,
    ladder_v7::ENTRY,
    ladder_v8::ENTRY,
    ladder_v9::ENTRY,
    ladder_b0::ENTRY,
    ladder_b1::ENTRY,
    ladder_b2::ENTRY,
    ladder_b3::ENTRY,
    ladder_b4::ENTRY,
    ladder_b5::ENTRY,
    ladder_b6::ENTRY,
    ladder_b7::ENTRY,
    ladder_b8::ENTRY,
    ladder_b9::ENTRY,
    ladder_s1::ENTRY,
    ladder_s2::ENTRY,
    ladder_s3::ENTRY,
    ladder_s4::ENTRY,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_clipped_at_both_ends() {
        assert_eq!((clipped(0, 9), clipped(4, 9), clipped(8, 9), clipped(1, 2)), (0..3, 2..7, 6..9, 0..2));
    }

    #[test]
    fn tables_hold_logarithms() {
        assert_eq!((LN[0], LN[1], LN_F32[25]), (0.0, 0.0, 25f32.ln()));
        assert!((1..LOGS).all(|n| (LN[n] - (n as f64).ln()).abs() < 1e-15));
    }
}
