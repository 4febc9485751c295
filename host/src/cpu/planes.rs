//! The plane engine: one plane of counts a level, whole rows at a time.
//!
//! ```text
//! for each row of the tile:
//!     for each level that occurs:   slide its column counts down, add them up to window counts
//!     for each group of 16 levels:  S(x) += Σ F(count)
//!     H(x) = (F(N) − S(x)) / N
//! ```
//!
//! The work a cell grows with the number of levels and hardly with the window, and does not depend on
//! the data but for two things. Levels without a cell in the rows of the current window are skipped
//! where there are many levels. And with many levels the column counts are updated cell by cell (two
//! increments a cell) instead of level by level.
//!
//! The tile's column counts have `size − 1` halo columns. Those outside the grid stay zero, so clipped
//! windows take no path of their own: only N differs, and it comes from a small array.

use super::consumer::Consumer;
use super::count::is_wide;
use super::lookup::{BLOCK, Counts, GROUP, Group};
use super::sliding_counts;
use super::table::SMALL;
use super::window::{Between, Steps, room, slide, sum_bytes, sum_words};
use super::{Layout, TileRect};
use crate::isa::Isa;
#[cfg(target_arch = "x86_64")]
use crate::isa::Kind;

/// Above this many planes the column counts are updated cell by cell.
pub const BY_CELL: usize = 48;

/// Above this many planes absent levels are looked for.
const SKIP: usize = 16;

/// From this window size on, counts slide down ([`sliding_counts`]) where the instruction set has code for it.
const SLIDING: usize = 9;

/// The longest window whose column counts are bytes.
pub const BYTES: usize = 255;

/// Memory that a thread needs for a tile: about 0.3 MiB at the most, but for the counts of many levels that slide.
#[derive(Debug)]
pub struct Scratch {
    /// For large windows, whose counts slide, and for those of so many cells that a count takes 32 bits.
    sliding: sliding_counts::Scratch<u16>,
    wide: sliding_counts::Scratch<u32>,
    columns: Vec<u8>,
    bytes: Vec<u8>,
    words: Vec<u16>,
    between: Between,
    nodata: Vec<u32>,
    /// The entering and the leaving row, padded.
    rows: [Vec<u8>; 2],
}

impl Scratch {
    /// Nothing yet: it grows when the first tile comes.
    pub fn new() -> Self {
        Self {
            sliding: sliding_counts::Scratch::new(),
            wide: sliding_counts::Scratch::new(),
            columns: Vec::new(),
            bytes: Vec::new(),
            words: Vec::new(),
            between: Between::new(0),
            nodata: Vec::new(),
            rows: [Vec::new(), Vec::new()],
        }
    }
}

/// Whether window counts of up to `largest` cells slide down ([`sliding_counts`]) instead of being added up in every row.
pub fn slides(isa: Isa, size: usize, largest: usize) -> bool {
    size > BYTES || (largest > SMALL && size >= SLIDING && sliding_counts::has(isa))
}

/// Computes a tile.
pub fn run<C: Consumer>(layout: &Layout<'_>, rect: TileRect, consumer: &mut C, scratch: &mut Scratch, isa: Isa) {
    if is_wide(layout.largest) {
        return sliding_counts::run(layout, rect, consumer, &mut scratch.wide, isa);
    }
    if slides(isa, layout.task.size, layout.largest) {
        return sliding_counts::run(layout, rect, consumer, &mut scratch.sliding, isa);
    }
    match isa.kind() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this kind exists only on machines that have the features.
        Kind::Avx2 => unsafe { avx2(layout, rect, consumer, scratch, isa) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Kind::Avx512 => unsafe { avx512(layout, rect, consumer, scratch, isa) },
        _ => body(layout, rect, consumer, scratch, isa),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<C: Consumer>(layout: &Layout<'_>, rect: TileRect, consumer: &mut C, scratch: &mut Scratch, isa: Isa) {
    body(layout, rect, consumer, scratch, isa);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
fn avx512<C: Consumer>(layout: &Layout<'_>, rect: TileRect, consumer: &mut C, scratch: &mut Scratch, isa: Isa) {
    body(layout, rect, consumer, scratch, isa);
}

/// The engine, compiled once for each instruction set.
#[inline(always)]
fn body<C: Consumer>(layout: &Layout<'_>, rect: TileRect, consumer: &mut C, scratch: &mut Scratch, isa: Isa) {
    let (cells, size) = (layout.task.cells, layout.task.size);
    let (rows, radius, width) = (cells.rows(), size / 2, rect.width);
    let left = rect.left.saturating_sub(radius);
    let right = cells.cols().min(rect.left + width + radius);
    // Where the first column that exists lies among the column counts.
    let lead = left + radius - rect.left;
    let padded = width.next_multiple_of(BLOCK);
    let stride = room(padded, size);
    let whole = (right - left).next_multiple_of(64);
    let small = layout.largest <= SMALL;
    let planes = layout.planes.len();
    let steps = Steps::new(size, size.min(rows));

    let Scratch { columns, bytes, words, between, nodata, rows: padded_rows, sliding: _, wide: _ } = scratch;
    columns.clear();
    // One plane more, for values that the caller promised would not come.
    columns.resize((planes + 1) * stride, 0);
    bytes.resize(if small { GROUP * padded } else { 0 }, 0);
    words.resize(if small { 0 } else { GROUP * padded }, 0);
    nodata.resize(padded, 0);
    consumer.reserve(1, padded);
    *between = Between::new(stride);
    for row in &mut *padded_rows {
        row.clear();
        row.resize(whole, 0);
    }

    let row = |y: usize| &cells.row(y)[left..right];
    for y in rect.top.saturating_sub(radius)..rows.min(rect.top + radius) {
        for (x, &value) in row(y).iter().enumerate() {
            let n = &mut columns[layout.slots[usize::from(value)] * stride + lead + x];
            *n = n.wrapping_add(1);
        }
    }
    for i in 0..rect.height {
        let y = rect.top + i;
        let entering = (y + radius < rows).then(|| row(y + radius));
        let leaving = (i > 0 && y > radius).then(|| row(y - radius - 1));
        if planes > BY_CELL {
            for (cells, by) in [(entering, 1), (leaving, u8::MAX)] {
                for (x, &value) in cells.unwrap_or_default().iter().enumerate() {
                    let n = &mut columns[layout.slots[usize::from(value)] * stride + lead + x];
                    *n = n.wrapping_add(by);
                }
            }
        } else {
            // Padded with the same values, which cancel, the rows leave the vector loops no rest. A row
            // that enters or leaves alone (at the top and the bottom of the grid) is not padded.
            if let (Some(entering), Some(leaving)) = (entering, leaving) {
                let [padded_entering, padded_leaving] = &mut *padded_rows;
                padded_entering[..entering.len()].copy_from_slice(entering);
                padded_leaving[..leaving.len()].copy_from_slice(leaving);
                slide_all(isa, &mut columns[lead..], stride, &layout.planes, padded_entering, padded_leaving);
            } else {
                for (plane, &value) in layout.planes.iter().enumerate() {
                    slide(&mut columns[plane * stride + lead..][..right - left], value, entering, leaving);
                }
            }
        }

        let (mut waiting, mut first) = (0, true);
        let levels = layout.levels();
        for plane in 0..levels {
            let columns = &columns[plane * stride..][..stride];
            if levels <= SKIP || columns.iter().fold(0, |any, n| any | n) != 0 {
                if small {
                    sum_bytes(columns, &steps, between, &mut bytes[waiting * padded..][..padded]);
                } else {
                    sum_words(columns, &steps, between, &mut words[waiting * padded..][..padded]);
                }
                waiting += 1;
            }
            if waiting == GROUP || (plane + 1 == levels && waiting > 0) {
                let counts = if small { Counts::Small(bytes) } else { Counts::Large(words) };
                let group = Group { counts, stride: padded, levels: waiting, first };
                consumer.add(isa, 0, group);
                (waiting, first) = (0, false);
            }
        }
        if first {
            consumer.add_empty(0);
        }
        if layout.task.nodata.is_some() {
            let columns = &columns[levels * stride..][..stride];
            if small {
                let bytes = &mut bytes[..padded];
                sum_bytes(columns, &steps, between, bytes);
                nodata.iter_mut().zip(&*bytes).for_each(|(n, &byte)| *n = u32::from(byte));
            } else {
                let words = &mut words[..padded];
                sum_words(columns, &steps, between, words);
                nodata.iter_mut().zip(&*words).for_each(|(n, &word)| *n = u32::from(word));
            }
        }
        consumer.finish(0, i, layout.task.nodata.map(|_| &**nodata));
    }
}

/// Slides all planes down a row that enters and one that leaves.
#[inline(always)]
fn slide_all(isa: Isa, columns: &mut [u8], stride: usize, values: &[u8], entering: &[u8], leaving: &[u8]) {
    match isa.kind() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this kind exists only on machines that have the features.
        Kind::Avx512 => unsafe { super::x86::slide_avx512(columns, stride, values, entering, leaving) },
        _ => {
            for (plane, &value) in values.iter().enumerate() {
                slide(&mut columns[plane * stride..][..entering.len()], value, Some(entering), Some(leaving));
            }
        }
    }
}
