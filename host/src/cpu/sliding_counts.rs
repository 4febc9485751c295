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

use super::aligned::Aligned;
use super::consumer::{Consumer, prefetch};
use super::count::Count;
use super::lookup::{BLOCK, GROUP, Group};
#[cfg(target_arch = "x86_64")]
use super::x86_sliding_counts;
use super::{Layout, TileRect};
use crate::isa::Isa;
#[cfg(target_arch = "x86_64")]
use crate::isa::Kind;

/// Rows that a group of levels takes before the next group's turn, where there are several.
const ROWS: usize = 16;

/// Prefetch distance: how many rows before it enters a row is prefetched.
const AHEAD: usize = 3;

/// Cells between the counts of neighbouring levels, beyond those of a row: without them levels would lie 1 KiB apart, and
/// a core takes a load for one that waits for a store when only the lowest 12 bits of their addresses are the same.
const PADDING: usize = 32;

/// Above this many planes the first window's column counts are made cell by cell.
const BY_CELL: usize = 64;

/// Planes whose first column counts are made in one go.
const TOGETHER: usize = 4;

/// The lane of a cell that is of no level of a group: one behind the last.
const NONE: u8 = GROUP as u8;

/// Bytes of a table entry.
const ENTRY: u16 = 2 * GROUP as u16;

/// The offset of the entry for no change.
pub const UNCHANGED: u16 = offset(NONE, NONE);

/// Where the entry for a cell of lane `entering` and one of lane `leaving` lies in [`CHANGES`], in bytes.
const fn offset(entering: u8, leaving: u8) -> u16 {
    (entering as u16 * (GROUP as u16 + 1) + leaving as u16) * ENTRY
}

/// The changes of the 16 counts of a group when one cell enters and one leaves.
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
    match isa.kind() {
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => true,
        _ => false,
    }
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

/// The counts of the windows one row above the tile, without the row that its first row adds.
#[inline(always)]
fn first_counts<C: Count>(
    isa: Isa,
    layout: &Layout<'_>,
    rect: TileRect,
    (bytes, columns): (&mut Vec<u8>, &mut Vec<u16>),
    words: &mut [C],
    lead: usize,
    cols: std::ops::Range<usize>,
) {
    let (cells, size, planes) = (layout.task.cells, layout.task.size, layout.planes.len());
    let (rows, radius) = (cells.rows(), size / 2);
    let padded = rect.width.next_multiple_of(BLOCK);
    let (reach, across) = (padded + size - 1, cols.len());
    let above = rect.top.saturating_sub(radius)..rows.min(rect.top + radius);
    words.fill(C::default());
    if above.is_empty() {
        return;
    }
    let by_cell = planes > BY_CELL;
    columns.clear();
    // One plane more, for values that the caller promised would not come.
    columns.resize(if by_cell { planes + 1 } else { TOGETHER } * reach, 0);
    bytes.resize(TOGETHER * across, 0);
    if by_cell {
        for y in above.clone() {
            for (x, &value) in cells.row(y)[cols.clone()].iter().enumerate() {
                let n = &mut columns[layout.slots[usize::from(value)] * reach + lead + x];
                *n = n.wrapping_add(1);
            }
        }
    }
    for (group, values) in layout.planes.chunks(TOGETHER).enumerate() {
        if !by_cell {
            columns.fill(0);
            // So many rows that a byte holds how often a value occurs in them.
            for first in above.clone().step_by(255) {
                let rows = (first..above.end.min(first + 255)).map(|y| &cells.row(y)[cols.clone()]);
                occurrences(isa, bytes, across, values, rows, across);
                for (i, bytes) in bytes.chunks_exact(across).enumerate().take(values.len()) {
                    let columns = &mut columns[i * reach + lead..][..across];
                    columns.iter_mut().zip(bytes).for_each(|(n, &byte)| *n += u16::from(byte));
                }
            }
        }
        for i in 0..values.len() {
            let plane = group * TOGETHER + i;
            let columns = &columns[if by_cell { plane } else { i } * reach..][..reach];
            if columns.iter().fold(0, |any, n| any | n) != 0 {
                add_up(columns, size, &mut words[plane * (padded + PADDING)..][..padded]);
            }
        }
    }
}

/// Window counts: `counts[x]` = Σ of `columns[x .. x + size]`.
#[inline(always)]
fn add_up<C: Count>(columns: &[u16], size: usize, counts: &mut [C]) {
    let mut sum: u32 = columns[..size - 1].iter().map(|&n| u32::from(n)).sum();
    for ((count, &incoming), &outgoing) in counts.iter_mut().zip(&columns[size - 1..]).zip(columns) {
        sum += u32::from(incoming);
        *count = C::of(sum);
        sum -= u32::from(outgoing);
    }
}

/// Counts how often each of some values occurs in each of `width` columns of at most 255 rows: value i of column x at
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
            let counts = unsafe {
                x86_sliding_counts::occurrences_avx512(four, rows.clone().filter_map(|row| row[x..].first_chunk()))
            };
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
        (None, None) => offsets.fill(UNCHANGED),
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
fn add_changes<C: Count>(isa: Isa, counts: &mut [C], stride: usize, offsets: &[u16], size: usize) {
    match isa.kind() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this kind exists only on machines that have the features; all offsets were made by `offset`,
        // of lanes up to NONE.
        Kind::Avx512 => unsafe { x86_sliding_counts::add_avx512(counts, stride, offsets, size) },
        _ => add_plain(counts, stride, offsets, size),
    }
}

/// [`add_changes`] in loops.
#[inline(always)]
fn add_plain<C: Count>(counts: &mut [C], stride: usize, offsets: &[u16], size: usize) {
    let change = |offset: u16| &CHANGES[usize::from(offset / ENTRY)].0;
    let (outgoing, incoming) = (offsets, &offsets[size - 1..]);
    let mut sum = [0i16; GROUP];
    for &offset in &offsets[..size - 1] {
        sum.iter_mut().zip(change(offset)).for_each(|(sum, change)| *sum += change);
    }
    let mut running = [[0i16; GROUP]; BLOCK];
    for x in (0..incoming.len()).step_by(BLOCK) {
        for (i, running) in running.iter_mut().enumerate() {
            sum.iter_mut().zip(change(incoming[x + i])).for_each(|(sum, change)| *sum += change);
            *running = sum;
            sum.iter_mut().zip(change(outgoing[x + i])).for_each(|(sum, change)| *sum -= change);
        }
        for level in 0..GROUP {
            let counts = &mut counts[level * stride + x..][..BLOCK];
            counts.iter_mut().zip(&running).for_each(|(count, running)| *count = count.changed(running[level]));
        }
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

    /// Windows of any width, narrower and wider than a block, counts of both widths, on every instruction set: what the definition says.
    #[test]
    fn changes_are_added_up_along_the_row() {
        fn check<C: Count + std::fmt::Debug>(width: usize, size: usize) {
            let mut state = (width * 4097 + size) as u64;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as u8
            };
            let pairs: Vec<(u8, u8)> =
                (0..width + size - 1).map(|_| (next() % (NONE + 1), next() % (NONE + 1))).collect();
            let offsets: Vec<u16> = pairs.iter().map(|&(new, old)| offset(new, old)).collect();
            let stride = width + PADDING;
            for isa in Isa::available() {
                let mut counts = vec![C::of(40_000); GROUP * stride];
                add_changes(isa, &mut counts, stride, &offsets, size);
                for (lane, x) in (0..GROUP).flat_map(|lane| (0..width).map(move |x| (lane, x))).step_by(7) {
                    let window = &pairs[x..x + size];
                    let new = window.iter().filter(|pair| usize::from(pair.0) == lane).count();
                    let old = window.iter().filter(|pair| usize::from(pair.1) == lane).count();
                    let truth = C::of((40_000 + new - old) as u32);
                    assert_eq!(counts[lane * stride + x], truth, "lane {lane}, cell {x}, size {size}, {isa:?}");
                }
            }
        }
        for (width, size) in [(64, 1), (64, 9), (128, 255), (192, 257), (64, 1001), (1024, 4095)] {
            check::<u16>(width, size);
            check::<u32>(width, size);
        }
    }

    #[test]
    fn columns_are_added_up_to_windows() {
        for size in [1, 9, 255, 257, 4095] {
            let columns: Vec<u16> = (0..64 + size - 1).map(|i| (i * 7919 % (size + 1)) as u16).collect();
            let mut counts = [0u32; 64];
            add_up(&columns, size, &mut counts);
            for (x, &count) in counts.iter().enumerate() {
                assert_eq!(
                    count,
                    columns[x..x + size].iter().map(|&n| u32::from(n)).sum::<u32>(),
                    "size {size}, cell {x}"
                );
            }
        }
    }
}
