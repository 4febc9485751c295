//! Shannon's entropy of large windows of up to 16 classes: logarithms in place of tables.
//!
//! ```text
//! H = −Σ n_i·log2(n_i / N) / N
//! ```
//!
//! The [march](super::strip) is that of [`entropy_columns`](fn@super::entropy_columns), with [heads](super::heads), and beyond 255 × 255 with sums
//! of 32 bits. A table of F for so many cells does not fit shared memory, and in global memory the lanes of a warp read far-apart entries
//! wherever classes are clustered: three times the time of random cells at 1,001 × 1,001. The special-function unit computes a logarithm of
//! n / N with a relative error of 2^-22, and that is the error of H for any N; so no finer table is needed where nodata leaves few cells.
//!
//! A window of one class has H = 0 exactly: the value computed for it is below 2^-20, and the least H of any other window is above 10^-5.

use simt::global::{In, Out};
use simt::math::{fused_multiply_add, log2_fast, reciprocal_fast};
use simt::{kernel, unroll};

use super::counters::{Counts, Packed, Steps, Wide};
use super::strip::{Finish, Frame, Windows};

/// Below this an entropy in bits counts as 0.
const LEAST: f32 = 1.0 / (1 << 20) as f32;

/// Added to a share of a window, so that 0 has a logarithm; other shares do not change.
const TINY: f32 = 1e-30;

#[derive(Clone, Copy)]
struct Logarithms {
    scale: f32,
    out: Out<f32>,
}

/// A number below 2^23: a conversion would use the unit that computes logarithms.
#[inline(always)]
fn float(n: u32) -> f32 {
    f32::from_bits(n | 0x4B00_0000) - 8_388_608.0
}

impl<C: Counts> Finish<C> for Logarithms {
    #[inline(always)]
    fn row(self, windows: &Windows<'_>, mut counts: C, steps: &[Steps; 4]) {
        let mut h = [0.0; 4];
        unroll!(K in 3 2 1 0 => {
            let inverse = reciprocal_fast(float(windows.cells(K as u32, &counts)));
            let mut sum = 0.0;
            counts.for_each(|count| {
                let n = float(count);
                let share = fused_multiply_add(n, inverse, TINY);
                sum = fused_multiply_add(n, -log2_fast(share), sum);
            });
            let bits = sum * inverse;
            let entropy = if bits < LEAST { 0.0 } else { bits * self.scale };
            h[K] = if windows.is_valid(K as u32) { entropy } else { f32::NAN };
            counts.subtract(&steps[K]);
        });
        self.out.store4(windows.at, h);
    }
}

macro_rules! large {
    ($(#[$doc:meta])* $name:ident, $counts:ty) => {
        $(#[$doc])*
        #[kernel(threads = 256, blocks = 2)]
        pub unsafe fn $name(
            cells: In<u8>,
            out: Out<f32>,
            heads: In<u32>,
            rows: u32,
            cols: u32,
            stride: u32,
            first: u32,
            count: u32,
            out_stride: u32,
            size: u32,
            nodata: u32,
            rows_each: u32,
            scale: f32,
        ) {
            let frame =
                Frame::of_warp(cells, (rows, cols, stride), (first, count, out_stride), size, nodata, rows_each);
            if frame.begin < frame.end {
                let finish = Logarithms { scale, out };
                if nodata <= 255 {
                    frame.march_with::<_, $counts, true>(heads, finish);
                } else {
                    frame.march_with::<_, $counts, false>(heads, finish);
                }
            }
        }
    };
}

large! {
    /// [`entropy_columns`](fn@super::entropy_columns) for windows of any odd `size` up to [`COLUMNS_SIZE`](super::COLUMNS_SIZE), without tables: `heads`
    /// are those of [`entropy_columns_heads`](fn@super::entropy_columns_heads) for the same cells, size and nodata, and `scale` multiplies the entropy in bits.
    ///
    /// # Safety
    /// As [`entropy_columns`](fn@super::entropy_columns), but that there are heads and no tables.
    entropy_columns_large, Packed
}

large! {
    /// The same for windows of up to [`COLUMNS_WIDE_SIZE`](super::COLUMNS_WIDE_SIZE), with sums of 32 bits.
    ///
    /// # Safety
    /// As [`entropy_columns_large`](fn@entropy_columns_large).
    entropy_columns_wide, Wide
}
