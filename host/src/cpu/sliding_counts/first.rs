//! The counts above a tile's first row: column counts, added up along the row.

use super::PADDING;
use crate::cpu::count::Count;
use crate::cpu::lookup::BLOCK;
#[cfg(target_arch = "x86_64")]
use crate::cpu::x86_sliding_counts;
use crate::cpu::{Layout, TileRect};
use crate::isa::Isa;
#[cfg(target_arch = "x86_64")]
use crate::isa::Kind;

/// Above this many planes the first window's column counts are made cell by cell.
const BY_CELL: usize = 64;

/// Planes whose first column counts are made in one go.
const TOGETHER: usize = 4;

/// The counts of the windows one row above the tile, without the row that its first row adds.
#[inline(always)]
pub(super) fn first_counts<C: Count>(
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
    let x = match (isa.kind(), values) {
        #[cfg(target_arch = "x86_64")]
        (Kind::Avx512, &[a, b, c, d]) => {
            for x in (0..width / 64).map(|block| 64 * block) {
                let rows = rows.clone().filter_map(|row| row[x..].first_chunk());
                // SAFETY: an `Isa` of this kind exists only on machines that have the features.
                let counts = unsafe { x86_sliding_counts::occurrences_avx512([a, b, c, d], rows) };
                for (i, counts) in counts.iter().enumerate() {
                    columns[i * stride + x..][..64].copy_from_slice(counts);
                }
            }
            width / 64 * 64
        }
        _ => 0,
    };
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

#[cfg(test)]
mod tests {
    use super::*;

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
