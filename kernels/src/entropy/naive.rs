//! The definition, one thread a cell: count the window's levels, then add up n·ln n.
//!
//! 256 counters do not fit in registers, so they are in thread-private (local) memory, which is the bottleneck
//! of this kernel. It is here to be read and to compare others with.

use simt::global::{In, Out};
use simt::math::log2_fast;
use simt::{kernel, thread};

/// Entropy of a `size` × `size` window, one thread a cell, in blocks of any two-dimensional shape.
///
/// `scale` multiplies the entropy in bits.
///
/// # Safety
/// `cells` holds `rows` rows of at least `cols` bytes, `stride` bytes apart; `out` holds `count` rows
/// of at least `cols` elements, `out_stride` apart; `first + count` is at most `rows`.
#[kernel]
pub unsafe fn entropy_naive(
    cells: In<u8>,
    out: Out<f32>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    size: u32,
    nodata: u32,
    scale: f32,
) {
    let (x, i) = (thread::index_x(), thread::index_y());
    if x >= cols || i >= count {
        return;
    }
    let (y, r) = (first + i, size / 2);
    let mut counts = [0u16; 256];
    let mut total = 0u32;
    for wy in y.saturating_sub(r)..(y + r + 1).min(rows) {
        for wx in x.saturating_sub(r)..(x + r + 1).min(cols) {
            let level = cells.load(wy as usize * stride as usize + wx as usize);
            if u32::from(level) != nodata {
                counts[level as usize] += 1;
                total += 1;
            }
        }
    }
    let mut sum = 0.0;
    for &n in &counts {
        sum += n_log2_n(u32::from(n));
    }
    let centre = cells.load(y as usize * stride as usize + x as usize);
    let h = if u32::from(centre) == nodata {
        f32::NAN
    } else {
        // One level: the same value twice, so exactly 0. Rounding can leave a tiny negative otherwise.
        ((n_log2_n(total) - sum) / f64::from(total)).max(0.0) as f32 * scale
    };
    out.store(i as usize * out_stride as usize + x as usize, h);
}

/// n·log₂ n, and 0 for 0. In f64, because 256 of them are added up: in f32 the error was 2e-5 for windows
/// of 255 × 255.
#[inline(always)]
pub(super) fn n_log2_n(n: u32) -> f64 {
    f64::from(n) * f64::from(log2_fast((n as f32).max(1.0)))
}
