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

use super::deltas;
use super::finish::Finish;
use super::isa::Isa;
#[cfg(target_arch = "x86_64")]
use super::isa::Kind;
use super::lookup::{BLOCK, Counts, GROUP, Group, Lookup};
use super::table::SMALL;
use super::window::{Between, Steps, room, slide, sum_bytes, sum_words};
use super::{Job, Real, Tile};

/// Above this many planes the column counts are updated cell by cell.
const BY_CELL: usize = 48;

/// Above this many planes absent levels are looked for.
const SKIP: usize = 16;

/// From this window size on, counts slide down ([`deltas`]) where the instruction set has code for it.
const DELTAS: usize = 9;

/// Memory that a thread needs for a tile, about 0.3 MiB at the most.
#[derive(Debug)]
pub struct Scratch<T: Real> {
    /// For large windows.
    deltas: deltas::Scratch<T>,
    columns: Vec<u8>,
    bytes: Vec<u8>,
    words: Vec<u16>,
    between: Between,
    sums: Vec<T::Sum>,
    nodata: Vec<u16>,
    /// The entering and the leaving row, padded.
    rows: [Vec<u8>; 2],
}

impl<T: Real> Scratch<T> {
    /// Nothing yet: it grows when the first tile comes.
    pub fn new() -> Self {
        Self {
            deltas: deltas::Scratch::new(),
            columns: Vec::new(),
            bytes: Vec::new(),
            words: Vec::new(),
            between: Between::new(0),
            sums: Vec::new(),
            nodata: Vec::new(),
            rows: [Vec::new(), Vec::new()],
        }
    }
}

/// Whether window counts of up to `largest` cells slide down ([`deltas`]) instead of being added up in every row.
pub fn slides(isa: Isa, size: usize, largest: usize) -> bool {
    largest > SMALL && size >= DELTAS && deltas::has(isa)
}

/// Computes a tile.
pub fn run<T: Real>(job: &Job<'_, T>, tile: &mut Tile<'_, T>, scratch: &mut Scratch<T>, isa: Isa) {
    if slides(isa, job.task.size, job.tables.largest) {
        return deltas::run(job, tile, &mut scratch.deltas, isa);
    }
    match isa.kind() {
        // SAFETY: an `Isa` of this kind exists only on machines that have the features.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe { avx2(job, tile, scratch, isa) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => unsafe { avx512(job, tile, scratch, isa) },
        _ => body(job, tile, scratch, isa),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<T: Real>(job: &Job<'_, T>, tile: &mut Tile<'_, T>, scratch: &mut Scratch<T>, isa: Isa) {
    body(job, tile, scratch, isa);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
fn avx512<T: Real>(job: &Job<'_, T>, tile: &mut Tile<'_, T>, scratch: &mut Scratch<T>, isa: Isa) {
    body(job, tile, scratch, isa);
}

/// The engine, compiled once for each instruction set.
#[inline(always)]
fn body<T: Real>(job: &Job<'_, T>, tile: &mut Tile<'_, T>, scratch: &mut Scratch<T>, isa: Isa) {
    let (cells, size) = (job.task.cells, job.task.size);
    let (rows, radius, width) = (cells.rows(), size / 2, tile.width());
    let left = tile.left.saturating_sub(radius);
    let right = cells.cols().min(tile.left + width + radius);
    // Where the first column that exists lies among the column counts.
    let lead = left + radius - tile.left;
    let padded = width.next_multiple_of(BLOCK);
    let stride = room(padded, size);
    let whole = (right - left).next_multiple_of(64);
    let small = job.tables.largest <= SMALL;
    let planes = job.planes.len();
    let steps = Steps::new(size, size.min(rows));

    let Scratch { columns, bytes, words, between, sums, nodata, rows: padded_rows, deltas: _ } = scratch;
    columns.clear();
    // One plane more, for values that the caller promised would not come.
    columns.resize((planes + 1) * stride, 0);
    bytes.resize(if small { GROUP * padded } else { 0 }, 0);
    words.resize(if small { 0 } else { GROUP * padded }, 0);
    nodata.resize(padded, 0);
    sums.resize(padded, T::Sum::default());
    *between = Between::new(stride);
    for row in &mut *padded_rows {
        row.clear();
        row.resize(whole, 0);
    }

    let row = |y: usize| &cells.row(y)[left..right];
    for y in tile.top.saturating_sub(radius)..rows.min(tile.top + radius) {
        for (x, &value) in row(y).iter().enumerate() {
            let n = &mut columns[job.slots[usize::from(value)] * stride + lead + x];
            *n = n.wrapping_add(1);
        }
    }
    let mut finish = Finish::new(job, tile.left, width);
    for i in 0..tile.rows.len() {
        let y = tile.top + i;
        let entering = (y + radius < rows).then(|| row(y + radius));
        let leaving = (i > 0 && y > radius).then(|| row(y - radius - 1));
        if planes > BY_CELL {
            for (cells, by) in [(entering, 1), (leaving, u8::MAX)] {
                for (x, &value) in cells.unwrap_or_default().iter().enumerate() {
                    let n = &mut columns[job.slots[usize::from(value)] * stride + lead + x];
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
                slide_all(isa, &mut columns[lead..], stride, &job.planes, padded_entering, padded_leaving);
            } else {
                for (plane, &value) in job.planes.iter().enumerate() {
                    slide(&mut columns[plane * stride + lead..][..right - left], value, entering, leaving);
                }
            }
        }

        let (mut waiting, mut first) = (0, true);
        let levels = planes - usize::from(job.task.nodata.is_some());
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
                T::Sum::add_group(isa, group, &job.tables, sums);
                (waiting, first) = (0, false);
            }
        }
        if first {
            sums.fill(T::Sum::default());
        }
        if let Some(value) = job.task.nodata {
            let columns = &columns[levels * stride..][..stride];
            if small {
                let bytes = &mut bytes[..padded];
                sum_bytes(columns, &steps, between, bytes);
                for (n, &byte) in nodata.iter_mut().zip(&*bytes) {
                    *n = u16::from(byte);
                }
            } else {
                sum_words(columns, &steps, between, nodata);
            }
            let centre = &cells.row(y)[tile.left..][..width];
            finish.masked(job, y, sums, nodata, centre, value, tile.rows[i]);
        } else {
            finish.plain(job, y, sums, tile.rows[i]);
        }
    }
}

/// Slides all planes down a row that enters and one that leaves.
#[inline(always)]
fn slide_all(isa: Isa, columns: &mut [u8], stride: usize, values: &[u8], entering: &[u8], leaving: &[u8]) {
    match isa.kind() {
        // SAFETY: an `Isa` of this kind exists only on machines that have the features.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => unsafe { super::x86::slide_avx512(columns, stride, values, entering, leaving) },
        _ => {
            for (plane, &value) in values.iter().enumerate() {
                slide(&mut columns[plane * stride..][..entering.len()], value, Some(entering), Some(leaving));
            }
        }
    }
}
