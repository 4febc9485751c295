//! Shannon's entropy of large windows: logarithms in place of tables.
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
//! More than 16 classes have tables up to 255 × 255, which is faster by a seventh, and logarithms beyond. How they fall into sweeps depends on the
//! tile; so that results do not, terms are rounded to whole numbers, in units that depend on N alone, and the sums of sweeps are integers.
//!
//! A window of one class has H = 0 exactly: the value computed for it is below 2^-20, and the least H of any other window is above 10^-5.

use simt::global::{In, Out};
use simt::math::{fused_multiply_add, log2_fast, reciprocal_fast};
use simt::{kernel, unroll};

use super::counters::{Counts, Packed, Steps, Wide};
use super::strip::{Finish, Frame, Windows};
use super::sums::Sums;
use super::tiles::{Cut, Planes, Tiles, goes_on};

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

impl Logarithms {
    /// The result, from −Σ n_i·log2(n_i / N) over N.
    #[inline(always)]
    fn entropy(self, windows: &Windows<'_>, k: u32, bits: f32) -> f32 {
        let entropy = if bits < LEAST { 0.0 } else { bits * self.scale };
        if windows.is_valid(k) { entropy } else { f32::NAN }
    }
}

/// −log2(n / N), from 1 / N; 0 and N themselves have some logarithm that is finite.
#[inline(always)]
fn information(n: f32, inverse: f32) -> f32 {
    -log2_fast(fused_multiply_add(n, inverse, TINY))
}

/// The entropy of window `k` in bits, or what is left of it by the errors of logarithms.
#[inline(always)]
fn bits(windows: &Windows<'_>, k: u32, counts: &impl Counts) -> f32 {
    let inverse = reciprocal_fast(float(windows.cells(k, counts)));
    let mut sum = 0.0;
    counts.for_each(|count| {
        let n = float(count);
        sum = fused_multiply_add(n, information(n, inverse), sum);
    });
    sum * inverse
}

impl<C: Counts> Finish<C> for Logarithms {
    #[inline(always)]
    fn row(self, windows: &Windows<'_>, mut counts: C, steps: &[Steps; 4]) {
        let mut h = [0.0; 4];
        unroll!(K in 3 2 1 0 => {
            h[K] = self.entropy(windows, K as u32, bits(windows, K as u32, &counts));
            counts.subtract(&steps[K]);
        });
        self.out.store4(windows.at, h);
    }
}

/// Evenness, by the same logarithms; `scale` is not read.
#[derive(Clone, Copy)]
struct Evenness(Logarithms);

impl Finish<Packed> for Evenness {
    #[inline(always)]
    fn row(self, windows: &Windows<'_>, mut counts: Packed, steps: &[Steps; 4]) {
        let Self(logarithms) = self;
        let mut h = [0.0; 4];
        unroll!(K in 3 2 1 0 => {
            let bits = bits(windows, K as u32, &counts);
            let classes = Sums(counts.0).classes();
            // Of one class the entropy is 0, and over anything so.
            let evenness = bits * reciprocal_fast(log2_fast(float(classes)).max(0.5));
            let alone = Logarithms { scale: 1.0, ..logarithms };
            // Approximations may be above 1 by a unit of the last place.
            h[K] = alone.entropy(windows, K as u32, if evenness > 1.0 { 1.0 } else { evenness });
            counts.subtract(&steps[K]);
        });
        logarithms.out.store4(windows.at, h);
    }
}

/// The same of classes that come in several sweeps.
#[derive(Clone, Copy)]
struct Rounded(Logarithms);

/// The unit of terms: a power of two such that N·H of 256 classes, at most 8·N, is below 2^31 of them.
#[inline(always)]
fn units(n: f32) -> f32 {
    // 2^27 over the power of two that is N or the next below.
    f32::from_bits(((2 * 127 + 27) << 23) - (n.to_bits() & 0xFF80_0000))
}

/// A term of up to N·log2(e) / e, less than N, in its units: towards 0, in 32 bits with a sign, since the logarithm of 1 may be a little above 0.
#[inline(always)]
fn whole(term: f32) -> u32 {
    // SAFETY: N is 1 at least, and so the term is finite, and by its units less than 2^28.
    unsafe { term.to_int_unchecked::<i32>() as u32 }
}

impl<C: Counts> Finish<C> for Rounded {
    #[inline(always)]
    fn row(self, windows: &Windows<'_>, mut counts: C, steps: &[Steps; 4]) {
        let Self(logarithms) = self;
        let &Windows { at, is_first, is_last, .. } = windows;
        let waiting = logarithms.out.cast::<u32>();
        let mut parts = if is_first { [0; 4] } else { waiting.load4(at) };
        let mut h = [0.0; 4];
        unroll!(K in 3 2 1 0 => {
            let n = float(windows.cells(K as u32, &counts).max(1));
            let (inverse, units) = (reciprocal_fast(n), units(n));
            counts.for_each(|count| {
                let n = float(count);
                parts[K] = parts[K].wrapping_add(whole(n * units * information(n, inverse) + 0.5));
            });
            if is_last {
                let bits = parts[K] as i32 as f32 * (inverse * reciprocal_fast(units));
                h[K] = logarithms.entropy(windows, K as u32, bits);
            }
            counts.subtract(&steps[K]);
        });
        if is_last {
            logarithms.out.store4(at, h);
        } else {
            waiting.store4(at, parts);
        }
    }
}

macro_rules! large {
    ($(#[$doc:meta])* $name:ident, $counts:ty, $finish:expr) => {
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
                let finish = $finish(Logarithms { scale, out });
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
    entropy_columns_large, Packed, core::convert::identity
}

large! {
    /// The same for windows of up to [`COLUMNS_WIDE_SIZE`](super::COLUMNS_WIDE_SIZE), with sums of 32 bits.
    ///
    /// # Safety
    /// As [`entropy_columns_large`](fn@entropy_columns_large).
    entropy_columns_wide, Wide, core::convert::identity
}

large! {
    /// Evenness in windows as [`entropy_columns_large`](fn@entropy_columns_large) takes them, of which no cell has to be valid but the one at the centre.
    /// `scale` is not read.
    ///
    /// # Safety
    /// As [`entropy_columns_large`](fn@entropy_columns_large).
    entropy_columns_evenness, Packed, Evenness
}

/// [`entropy_columns_many`](fn@super::entropy_columns_many) for windows of up to [`COLUMNS_WIDE_SIZE`](super::COLUMNS_WIDE_SIZE), with sums of 32 bits and
/// without tables; `scale` multiplies the entropy in bits.
///
/// # Safety
/// As [`entropy_columns_many`](fn@super::entropy_columns_many), but that there are no tables.
#[kernel(threads = 256, blocks = 2)]
pub unsafe fn entropy_columns_wide_many(
    cells: In<u8>,
    out: Out<f32>,
    strips_each: u32,
    most: u32,
    plane: u32,
    planes: u32,
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
    if !goes_on(cells.cast(), most) {
        return;
    }
    let frame = Frame::of_warp(cells, (rows, cols, stride), (first, count, out_stride), size, nodata, rows_each);
    if frame.begin < frame.end {
        let tiles = Tiles::new(Cut { rows, cols, first, count, size, rows_each }, strips_each);
        let coded = Planes { coded: cells.cast(), tiles, first: plane, count: planes, least: 0 };
        let finish = Rounded(Logarithms { scale, out });
        if nodata <= 255 {
            frame.march_many::<_, Wide, true, true>(&coded, finish);
        } else {
            frame.march_many::<_, Wide, false, true>(&coded, finish);
        }
    }
}
