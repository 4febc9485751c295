//! The plane engine for windows of more than 63 cells: window counts that slide down, so that a larger window costs
//! no more than a small one. For windows of more than 255 rows or columns it is the only one by planes: [`super::planes`] has its
//! column counts in bytes.
//!
//! ```text
//! for each row of the tile:
//!     for each group of 16 levels:
//!         for each column:   d[x] = one-hot(cell that enters) − one-hot(cell that leaves)     16 lanes of 16 bits
//!         from left to right:   D[x] = D[x − 1] + d[x + radius] − d[x − radius − 1]
//!         transposed, from levels in the lanes to cells in the lanes:   count[level][x] += D[x][level]
//!         S(x) += Σ F(count)
//!     H(x) = (F(N) − S(x)) / N
//! ```
//!
//! [`super::planes`] adds column counts up anew in every row, in log₂(size) passes a level. Here a count is kept from row
//! to row, and what changes it is a running sum along the row. A running sum is what a vector unit cannot do along its
//! lanes; with the 16 *levels* in the lanes it is one addition and one subtraction a cell for all of them, and the price
//! is a transposition (64 shuffles for 32 cells × 16 levels). There are only 17 · 17 different d: a table has them.
//!
//! A change along a row, D, is at most the window's height, and fits 16 bits whatever the counts themselves take ([`Count`]). Instruction
//! sets without code of their own for the transposition leave it to loops; that is still half of what adding up anew takes where
//! windows are large.
//!
//! The counts above a tile's first row have no row to come from. They are column counts, added up along the row: the work of half a row for
//! every row of the window, which is why tiles are as high as large windows ([`crate::part`]).
//!
//! Several groups of levels take some rows ([`ROWS`]) before the next group's turn: a group's counts then stay in the
//! first-level cache, and so do the sums of the rows in the second.
//!
//! `changes` has the changes and their sums along a row, `first` the counts above a tile.

use super::aligned::Aligned;
use super::consumer::{Consumer, prefetch};
use super::count::Count;
use super::lookup::{BLOCK, GROUP, Group};
use super::{Layout, TileRect};
use crate::isa::{Isa, Kind};

mod changes;
mod first;

pub use changes::{CHANGES, Change, PAIRS, UNCHANGED};
use changes::{add_changes, changes, members};
use first::first_counts;

/// Rows that a group of levels takes before the next group's turn, where there are several.
const ROWS: usize = 16;

/// Prefetch distance: how many rows before it enters a row is prefetched.
const AHEAD: usize = 3;

/// Cells between the counts of neighbouring levels, beyond those of a row: without them levels would lie 1 KiB apart, and
/// a core takes a load for one that waits for a store when only the lowest 12 bits of their addresses are the same.
const PADDING: usize = 32;

/// Memory that a thread needs for a tile.
#[derive(Debug)]
pub struct Scratch<C> {
    /// How often values occur in the rows that are counted at a time, and in all.
    bytes: Vec<u8>,
    columns: Vec<u16>,
    /// The window counts of all planes.
    words: Aligned<C>,
    /// The planes of the cells that enter and leave in [`ROWS`] rows.
    entering: Vec<u8>,
    leaving: Vec<u8>,
    /// Where the changes of a row lie in [`CHANGES`], for the columns of all windows.
    offsets: Vec<u16>,
    /// How many cells of a group lie in the current rows.
    cells: Vec<i64>,
    nodata: Vec<u32>,
}

impl<C: Count> Scratch<C> {
    /// Nothing yet: it grows when the first tile comes.
    pub fn new() -> Self {
        Self {
            bytes: Vec::new(),
            columns: Vec::new(),
            words: Aligned::new(),
            entering: Vec::new(),
            leaving: Vec::new(),
            offsets: Vec::new(),
            cells: Vec::new(),
            nodata: Vec::new(),
        }
    }
}

/// Whether there is code of its own for an instruction set.
pub fn has(isa: Isa) -> bool {
    isa.kind() != Kind::Portable
}

/// Computes a tile.
pub fn run<C: Count>(
    layout: &Layout<'_>,
    rect: TileRect,
    consumer: &mut impl Consumer,
    scratch: &mut Scratch<C>,
    isa: Isa,
) {
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
fn avx2<C: Count>(l: &Layout<'_>, rect: TileRect, consumer: &mut impl Consumer, scratch: &mut Scratch<C>, isa: Isa) {
    body(l, rect, consumer, scratch, isa);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
fn avx512<C: Count>(l: &Layout<'_>, rect: TileRect, consumer: &mut impl Consumer, scratch: &mut Scratch<C>, isa: Isa) {
    body(l, rect, consumer, scratch, isa);
}

/// The engine, compiled for each instruction set.
#[inline(always)]
fn body<C: Count>(
    layout: &Layout<'_>,
    rect: TileRect,
    consumer: &mut impl Consumer,
    scratch: &mut Scratch<C>,
    isa: Isa,
) {
    let (cells, size) = (layout.task.cells, layout.task.size);
    let (rows, radius, width) = (cells.rows(), size / 2, rect.width);
    let left = rect.left.saturating_sub(radius);
    let right = cells.cols().min(rect.left + width + radius);
    // Where the first column that exists lies among the columns of the windows.
    let lead = left + radius - rect.left;
    let (padded, across) = (width.next_multiple_of(BLOCK), right - left);
    let stride = padded + PADDING;
    let planes = layout.planes.len();
    let levels = layout.levels();
    let groups = planes.div_ceil(GROUP);
    let together = if groups == 1 { 1 } else { ROWS };

    let Scratch { bytes, columns, words, entering, leaving, offsets, cells: present, nodata } = scratch;
    words.resize(groups * GROUP * stride);
    first_counts(isa, layout, rect, (bytes, columns), words, lead, left..right);
    present.clear();
    present.resize(groups, 0);
    if groups > 1 {
        for y in rect.top.saturating_sub(radius)..rows.min(rect.top + radius) {
            for &value in &cells.row(y)[left..right] {
                present[(layout.slots[usize::from(value)] / GROUP).min(groups - 1)] += 1;
            }
        }
    }
    let mapped = layout.task.nodata.is_some();
    entering.resize(if mapped { together * across } else { 0 }, 0);
    leaving.resize(if mapped { together * across } else { 0 }, 0);
    offsets.clear();
    offsets.resize(padded + size - 1, UNCHANGED);
    consumer.reserve(together, padded);
    nodata.resize(together * padded, 0);

    let planes_of = Mapping::new(layout);
    for start in (0..rect.height).step_by(together) {
        let end = rect.height.min(start + together);
        let enters = |y: usize| y + radius < rows;
        let leaves = |i: usize, y: usize| i > 0 && y > radius;
        for i in start..end {
            let (y, at) = (rect.top + i, (i - start) * across);
            prefetch(isa, &cells.row((y + radius + AHEAD).min(rows - 1))[left..right]);
            consumer.prefetch(isa, (i + AHEAD).min(rect.height - 1));
            if mapped && enters(y) {
                planes_of.map(&cells.row(y + radius)[left..right], &mut entering[at..][..across]);
            }
            if mapped && leaves(i, y) {
                planes_of.map(&cells.row(y - radius - 1)[left..right], &mut leaving[at..][..across]);
            }
        }
        for group in 0..groups {
            let counts = &mut words[group * GROUP * stride..][..GROUP * stride];
            let looked_up = levels.saturating_sub(group * GROUP).min(GROUP);
            for i in start..end {
                let (y, at) = (rect.top + i, (i - start) * across);
                // Without nodata, values are planes.
                let row = |y: usize| &cells.row(y)[left..right];
                let new = enters(y).then(|| if mapped { &entering[at..][..across] } else { row(y + radius) });
                let old = leaves(i, y).then(|| if mapped { &leaving[at..][..across] } else { row(y - radius - 1) });
                let base = (group * GROUP) as u8;
                changes(&mut offsets[lead..][..across], new, old, base);
                let (incoming, outgoing) = if groups > 1 { (members(new, base), members(old, base)) } else { (1, 0) };
                present[group] += i64::from(incoming) - i64::from(outgoing);
                if incoming + outgoing > 0 {
                    add_changes(isa, counts, stride, offsets, size);
                }
                if looked_up > 0 && present[group] > 0 {
                    let group = Group { counts: C::group(counts), stride, levels: looked_up, first: group == 0 };
                    consumer.add(isa, i - start, group);
                } else if group == 0 {
                    consumer.add_empty(i - start);
                }
                if planes > levels && group + 1 == groups {
                    let last = &counts[(planes - 1) % GROUP * stride..][..padded];
                    let nodata = &mut nodata[(i - start) * padded..][..padded];
                    nodata.iter_mut().zip(last).for_each(|(nodata, &n)| *nodata = n.into());
                }
            }
        }
        for i in start..end {
            let nodata = mapped.then(|| &nodata[(i - start) * padded..][..padded]);
            consumer.finish(i - start, i, nodata);
        }
    }
}

/// From values to planes, by comparisons: what a vector unit does for 64 cells at a time.
struct Mapping {
    /// Largest value with a level.
    most: u8,
    nodata: Option<u8>,
    /// The plane of nodata.
    last: u8,
    /// Values from here on lie one plane lower, because nodata has taken one of the levels.
    lower: u8,
}

impl Mapping {
    fn new(layout: &Layout<'_>) -> Self {
        let (levels, nodata) = (layout.task.levels, layout.task.nodata);
        Self {
            most: (levels - 1) as u8,
            nodata,
            last: (layout.planes.len() - 1) as u8,
            lower: nodata.filter(|&v| usize::from(v) < levels).unwrap_or(u8::MAX),
        }
    }

    /// Writes the planes of a row of values. Values that the caller promised would not come get a plane that there is not.
    #[inline(always)]
    fn map(&self, values: &[u8], planes: &mut [u8]) {
        let Self { most, nodata, last, lower } = *self;
        match nodata {
            // With 256 levels every value has a plane: none is mapped to 255 for lack of one.
            None => {
                for (plane, &value) in planes.iter_mut().zip(values) {
                    *plane = if value > most { u8::MAX } else { value };
                }
            }
            Some(nodata) => {
                for (plane, &value) in planes.iter_mut().zip(values) {
                    let level = value - u8::from(value > lower);
                    let level = if value > most { u8::MAX } else { level };
                    *plane = if value == nodata { last } else { level };
                }
            }
        }
    }
}
