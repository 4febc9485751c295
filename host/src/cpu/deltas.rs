//! The plane engine for windows of more than 63 cells: window counts that slide down, so that a larger window costs
//! no more than a small one.
//!
//! ```text
//! for each row of the tile:
//!     for each group of 16 levels:
//!         for each column:   d[x] = one-hot(cell that enters) − one-hot(cell that leaves)     16 lanes of 16 bits
//!         from left to right:   D[x] = D[x − 1] + d[x + radius] − d[x − radius − 1]
//!         turned from levels side by side to cells side by side:   count[level][x] += D[x][level]
//!         S(x) += Σ F(count)
//!     H(x) = (F(N) − S(x)) / N
//! ```
//!
//! [`super::planes`] adds column counts up anew in every row, in log₂(size) passes a level. Here a count is kept from row
//! to row, and what changes it is a running sum along the row. A running sum is what a vector unit cannot do along its
//! lanes; with the 16 *levels* in the lanes it is one addition and one subtraction a cell for all of them, and the price
//! is a transposition (64 shuffles for 32 cells × 16 levels). There are only 17 · 17 different d: a table has them.
//!
//! Several groups of levels take some rows ([`ROWS`]) before the next group's turn: a group's counts then stay in the
//! first-level cache, and so do the sums of the rows in the second.

use super::aligned::Aligned;
use super::consumer::Consumer;
use super::isa::Isa;
#[cfg(target_arch = "x86_64")]
use super::isa::Kind;
use super::lookup::{BLOCK, Counts, GROUP, Group};
use super::window::{Between, Steps, room, sum_words};
#[cfg(target_arch = "x86_64")]
use super::x86_deltas;
use super::{Layout, Place};

/// Rows that a group of levels takes before the next group's turn, where there are several.
const ROWS: usize = 16;

/// How many rows before a row enters it is asked for.
const AHEAD: usize = 3;

/// Cells between the counts of neighbouring levels, beyond those of a row: without them levels would lie 1 KiB apart, and
/// a core takes a load for one that waits for a store when only the lowest 12 bits of their addresses are the same.
const APART: usize = 32;

/// Above this many planes the first window's column counts are made cell by cell.
const BY_CELL: usize = 64;

/// Planes whose first column counts are made in one go.
const TOGETHER: usize = 4;

/// What a cell is that belongs to no level of a group: a lane behind the last.
const NONE: u8 = GROUP as u8;

/// Bytes of a table entry.
const ENTRY: u16 = 2 * GROUP as u16;

/// Where the entry for no change lies.
pub const STILL: u16 = offset(NONE, NONE);

/// Where the entry for a cell of lane `entering` and one of lane `leaving` lies in [`CHANGES`], in bytes.
const fn offset(entering: u8, leaving: u8) -> u16 {
    (entering as u16 * (GROUP as u16 + 1) + leaving as u16) * ENTRY
}

/// What a cell that enters and one that leaves do to the 16 counts of a group.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
pub struct Change(pub [i16; GROUP]);

/// Pairs of lanes, [`NONE`] among them.
pub const PAIRS: usize = (GROUP + 1) * (GROUP + 1);

/// All changes, at [`offset`].
pub static CHANGES: [Change; PAIRS] = {
    let mut changes = [Change([0; GROUP]); PAIRS];
    let mut i = 0;
    while i < PAIRS {
        let (entering, leaving) = (i / (GROUP + 1), i % (GROUP + 1));
        if entering < GROUP {
            changes[i].0[entering] += 1;
        }
        if leaving < GROUP {
            changes[i].0[leaving] -= 1;
        }
        i += 1;
    }
    changes
};

/// Memory that a thread needs for a place.
#[derive(Debug)]
pub struct Scratch {
    columns: Vec<u8>,
    between: Between,
    /// The window counts of all planes.
    words: Aligned<u16>,
    /// The planes of the cells that enter and leave in [`ROWS`] rows.
    entering: Vec<u8>,
    leaving: Vec<u8>,
    /// Where the changes of a row lie in [`CHANGES`], for the columns of all windows.
    offsets: Vec<u16>,
    /// How many cells of a group lie in the current rows.
    cells: Vec<i64>,
    nodata: Vec<u16>,
}

impl Scratch {
    /// Nothing yet: it grows when the first tile comes.
    pub fn new() -> Self {
        Self {
            columns: Vec::new(),
            between: Between::new(0),
            words: Aligned::new(),
            entering: Vec::new(),
            leaving: Vec::new(),
            offsets: Vec::new(),
            cells: Vec::new(),
            nodata: Vec::new(),
        }
    }
}

/// Whether there is code for an instruction set.
pub fn has(isa: Isa) -> bool {
    match isa.kind() {
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => true,
        _ => false,
    }
}

/// Computes a tile, on an instruction set that [`has`] code.
pub fn run<C: Consumer>(layout: &Layout<'_>, place: Place, consumer: &mut C, scratch: &mut Scratch, isa: Isa) {
    match isa.kind() {
        // SAFETY: an `Isa` of this kind exists only on machines that have the features.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => unsafe { avx512(layout, place, consumer, scratch, isa) },
        _ => unreachable!("no code for {isa:?}"),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
fn avx512<C: Consumer>(layout: &Layout<'_>, place: Place, consumer: &mut C, scratch: &mut Scratch, isa: Isa) {
    body(layout, place, consumer, scratch, isa);
}

/// The engine, compiled for each instruction set.
#[inline(always)]
fn body<C: Consumer>(layout: &Layout<'_>, place: Place, consumer: &mut C, scratch: &mut Scratch, isa: Isa) {
    let (cells, size) = (layout.task.cells, layout.task.size);
    let (rows, radius, width) = (cells.rows(), size / 2, place.width);
    let left = place.left.saturating_sub(radius);
    let right = cells.cols().min(place.left + width + radius);
    // Where the first column that exists lies among the columns of the windows.
    let lead = left + radius - place.left;
    let (padded, across) = (width.next_multiple_of(BLOCK), right - left);
    let stride = padded + APART;
    let planes = layout.planes.len();
    let levels = layout.levels();
    let groups = planes.div_ceil(GROUP);
    let together = if groups == 1 { 1 } else { ROWS };

    let Scratch { columns, between, words, entering, leaving, offsets, cells: present, nodata } = scratch;
    words.resize(groups * GROUP * stride);
    first_counts(isa, layout, place, columns, between, words, lead, left..right);
    present.clear();
    present.resize(groups, 0);
    if groups > 1 {
        for y in place.top.saturating_sub(radius)..rows.min(place.top + radius) {
            for &value in &cells.row(y)[left..right] {
                present[(layout.slots[usize::from(value)] / GROUP).min(groups - 1)] += 1;
            }
        }
    }
    let mapped = layout.task.nodata.is_some();
    entering.resize(if mapped { together * across } else { 0 }, 0);
    leaving.resize(if mapped { together * across } else { 0 }, 0);
    offsets.clear();
    offsets.resize(padded + size - 1, STILL);
    consumer.reserve(together, padded);
    nodata.resize(together * padded, 0);

    let planes_of = Mapping::new(layout);
    for start in (0..place.height).step_by(together) {
        let end = place.height.min(start + together);
        let enters = |y: usize| y + radius < rows;
        let leaves = |i: usize, y: usize| i > 0 && y > radius;
        for i in start..end {
            let (y, at) = (place.top + i, (i - start) * across);
            isa.prefetch(&cells.row((y + radius + AHEAD).min(rows - 1))[left..right]);
            consumer.announce(isa, (i + AHEAD).min(place.height - 1));
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
                let (y, at) = (place.top + i, (i - start) * across);
                // Without nodata, values are planes.
                let row = |y: usize| &cells.row(y)[left..right];
                let new = enters(y).then(|| if mapped { &entering[at..][..across] } else { row(y + radius) });
                let old = leaves(i, y).then(|| if mapped { &leaving[at..][..across] } else { row(y - radius - 1) });
                let base = (group * GROUP) as u8;
                changes(&mut offsets[lead..][..across], new, old, base);
                let (came, went) = if groups > 1 { (members(new, base), members(old, base)) } else { (1, 0) };
                present[group] += i64::from(came) - i64::from(went);
                if came + went > 0 {
                    add_changes(isa, counts, stride, offsets, size);
                }
                if looked_up > 0 && present[group] > 0 {
                    let group = Group { counts: Counts::Large(counts), stride, levels: looked_up, first: group == 0 };
                    consumer.add(isa, i - start, group);
                } else if group == 0 {
                    consumer.nothing(i - start);
                }
                if planes > levels && group + 1 == groups {
                    let last = &counts[(planes - 1) % GROUP * stride..][..padded];
                    nodata[(i - start) * padded..][..padded].copy_from_slice(last);
                }
            }
        }
        for i in start..end {
            let nodata = mapped.then(|| &nodata[(i - start) * padded..][..padded]);
            consumer.finish(i - start, i, nodata);
        }
    }
}

/// The counts of the windows one row above the tile, without the row that its first row adds.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn first_counts(
    isa: Isa,
    layout: &Layout<'_>,
    place: Place,
    columns: &mut Vec<u8>,
    between: &mut Between,
    words: &mut [u16],
    lead: usize,
    cols: std::ops::Range<usize>,
) {
    let (cells, size, planes) = (layout.task.cells, layout.task.size, layout.planes.len());
    let (rows, radius) = (cells.rows(), size / 2);
    let padded = place.width.next_multiple_of(BLOCK);
    let stride = room(padded, size);
    let steps = Steps::new(size, size.min(rows));
    let above = place.top.saturating_sub(radius)..rows.min(place.top + radius);
    words.fill(0);
    if above.is_empty() {
        return;
    }
    *between = Between::new(stride);
    let by_cell = planes > BY_CELL;
    columns.clear();
    // One plane more, for values that the caller promised would not come.
    columns.resize(if by_cell { planes + 1 } else { TOGETHER } * stride, 0);
    if by_cell {
        for y in above.clone() {
            for (x, &value) in cells.row(y)[cols.clone()].iter().enumerate() {
                let n = &mut columns[layout.slots[usize::from(value)] * stride + lead + x];
                *n = n.wrapping_add(1);
            }
        }
    }
    for (group, values) in layout.planes.chunks(TOGETHER).enumerate() {
        if !by_cell {
            let rows = above.clone().map(|y| &cells.row(y)[cols.clone()]);
            occurrences(isa, &mut columns[lead..], stride, values, rows, cols.len());
        }
        for i in 0..values.len() {
            let plane = group * TOGETHER + i;
            let columns = &columns[if by_cell { plane } else { i } * stride..][..stride];
            if columns.iter().fold(0, |any, n| any | n) != 0 {
                sum_words(columns, &steps, between, &mut words[plane * (padded + APART)..][..padded]);
            }
        }
    }
}

/// Counts how often each of some values occurs in each of `width` columns, at most 255: value i of column x at
/// i · stride + x.
#[inline(always)]
fn occurrences<'a>(
    isa: Isa,
    columns: &mut [u8],
    stride: usize,
    values: &[u8],
    rows: impl Iterator<Item = &'a [u8]> + Clone,
    width: usize,
) {
    // Four values share the load of a cell, and 64 columns stay in registers while the rows go by.
    let mut x = 0;
    #[cfg(target_arch = "x86_64")]
    if isa.kind() == Kind::Avx512 && values.len() == TOGETHER {
        while x + 64 <= width {
            let four = [values[0], values[1], values[2], values[3]];
            // SAFETY: an `Isa` of this kind exists only on machines that have the features.
            let counts =
                unsafe { x86_deltas::occurrences_avx512(four, rows.clone().filter_map(|row| row[x..].first_chunk())) };
            for (i, counts) in counts.iter().enumerate() {
                columns[i * stride + x..][..64].copy_from_slice(counts);
            }
            x += 64;
        }
    }
    for (i, &value) in values.iter().enumerate() {
        let columns = &mut columns[i * stride + x..][..width - x];
        columns.fill(0);
        for row in rows.clone() {
            for (n, &cell) in columns.iter_mut().zip(&row[x..]) {
                *n = n.wrapping_add(u8::from(cell == value));
            }
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
            // With 256 levels every value has a plane, and nobody gets the last of them for none.
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

/// The lane of a plane among the 16 from `base`.
#[inline(always)]
fn lane(plane: u8, base: u8) -> u8 {
    plane.wrapping_sub(base).min(NONE)
}

/// Where the changes of a row lie, for the 16 planes from `base`.
#[inline(always)]
fn changes(offsets: &mut [u16], entering: Option<&[u8]>, leaving: Option<&[u8]>, base: u8) {
    match (entering, leaving) {
        (Some(entering), Some(leaving)) => {
            for ((offset, &new), &old) in offsets.iter_mut().zip(entering).zip(leaving) {
                *offset = self::offset(lane(new, base), lane(old, base));
            }
        }
        (Some(entering), None) => {
            for (offset, &new) in offsets.iter_mut().zip(entering) {
                *offset = self::offset(lane(new, base), NONE);
            }
        }
        (None, Some(leaving)) => {
            for (offset, &old) in offsets.iter_mut().zip(leaving) {
                *offset = self::offset(NONE, lane(old, base));
            }
        }
        (None, None) => offsets.fill(STILL),
    }
}

/// How many cells of a row are of the 16 planes from `base`.
#[inline(always)]
fn members(planes: Option<&[u8]>, base: u8) -> u32 {
    // A row is short enough for 16 bits: a tile's width and a window's.
    u32::from(planes.unwrap_or_default().iter().fold(0u16, |n, &plane| n + u16::from(lane(plane, base) < NONE)))
}

/// Adds the changes of a row to the window counts of 16 planes.
#[inline(always)]
fn add_changes(isa: Isa, counts: &mut [u16], stride: usize, offsets: &[u16], size: usize) {
    match isa.kind() {
        // SAFETY: an `Isa` of this kind exists only on machines that have the features; all offsets were made by `offset`,
        // of lanes up to NONE.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => unsafe { x86_deltas::add_avx512(counts, stride, offsets, size) },
        _ => unreachable!("no code for {isa:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_lanes_has_its_change() {
        for entering in 0..=NONE {
            for leaving in 0..=NONE {
                let at = usize::from(offset(entering, leaving));
                assert_eq!(at % size_of::<Change>(), 0);
                let Change(change) = CHANGES[at / size_of::<Change>()];
                for (lane, &change) in change.iter().enumerate() {
                    let truth = i16::from(lane == usize::from(entering)) - i16::from(lane == usize::from(leaving));
                    assert_eq!(change, truth, "lane {lane} of ({entering}, {leaving})");
                }
            }
        }
    }
}
