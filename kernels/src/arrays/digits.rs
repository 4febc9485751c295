//! Counts of numbers by a digit of their keys: a pass of a radix selection.
//!
//! The host looks for quantiles as a radix sort would (`classes::bins`); this counts, of every key less the smallest one, the `more`
//! bits before the last `rest` ones, where those before them are one of a few prefixes.

use simt::global::{In, Out};
use simt::{kernel, thread};

use super::{ARRAYS_THREADS, Array, Bits, GridStride, Mask, Scan, by_width, key};

/// What is counted.
#[derive(Clone, Copy)]
struct Digits {
    prefixes: In<u64>,
    count: u32,
    counts: Out<u32>,
    low: u64,
    span: u64,
    rest: u32,
    more: u32,
}

impl Digits {
    #[inline(always)]
    fn add(self, key: u64) {
        let digit = key.saturating_sub(self.low).min(self.span) >> self.rest;
        let prefix = digit >> self.more;
        // The last of the prefixes that are not larger.
        let (mut from, mut to) = (0, self.count);
        while to - from > 1 {
            let middle = (from + to) / 2;
            if self.prefixes.load(middle as usize) <= prefix {
                from = middle;
            } else {
                to = middle;
            }
        }
        if self.prefixes.load(from as usize) == prefix {
            let digit = digit & ((1 << self.more) - 1);
            self.counts.atomic_add(((u64::from(from) << self.more) + digit) as usize, 1);
        }
    }
}

#[inline(always)]
fn scan_cells<B: Bits>(scan: &Scan, numbers: (u64, u64), nodata: Option<u64>, digits: Digits) -> bool {
    let &Scan { cells, mask, array, kind, rows, cols } = scan;
    let mut missing = false;
    let cells = cells.cast::<B>();
    let mut cursor = GridStride::new(cols);
    while cursor.row < rows {
        if !mask.hides(cursor.row, cursor.col) {
            let key = key(cells.load(array.at(cursor.row, cursor.col)), kind);
            if key < numbers.0 || key > numbers.1 || nodata == Some(key) {
                missing = true;
            } else {
                digits.add(key);
            }
        }
        cursor.step();
    }
    missing
}

/// Counts the numbers that the mask does not hide by digits of their keys.
///
/// Of a key less `low`, at most `span`, the `more` bits before the last `rest` ones are the counter, where those before them are one of
/// `prefix_count` `prefixes`, ascending; those of prefix i are counted from i · 2^`more` on. `lowest` and `highest` are the keys of the least
/// and the greatest number that is no NaN, `nodata` is the key of no data where `has_nodata` is not 0. `missing` of block b is not 0
/// where it has met a cell without data.
///
/// # Safety
/// `cells` and `mask` hold what their kinds and strides say; `prefixes` has `prefix_count` numbers, at least one, `counts`
/// 2^`more` for each of them, with room for all cells in 32 bits, `missing` one for each block; `more` is less than 32, `rest` and `more` together are at most 63;
/// blocks have [`ARRAYS_THREADS`] threads, in one dimension.
#[kernel(threads = 256)]
pub unsafe fn arrays_digits(
    cells: In<u8>,
    mask: In<u8>,
    prefixes: In<u64>,
    counts: Out<u32>,
    missing: Out<u32>,
    kind: u32,
    first: u64,
    row: u64,
    col: u64,
    mask_kind: u32,
    mask_first: u64,
    mask_row: u64,
    mask_col: u64,
    rows: u32,
    cols: u32,
    lowest: u64,
    highest: u64,
    has_nodata: u32,
    nodata: u64,
    prefix_count: u32,
    low: u64,
    span: u64,
    rest: u32,
    more: u32,
) {
    let array = Array { first, row, col };
    let mask = Mask { cells: mask, kind: mask_kind, array: Array { first: mask_first, row: mask_row, col: mask_col } };
    let digits = Digits { prefixes, count: prefix_count, counts, low, span, rest, more };
    let nodata = (has_nodata != 0).then_some(nodata);
    let (scan, numbers) = (Scan { cells, mask, array, kind, rows, cols }, (lowest, highest));
    let found = by_width!(kind, Bits => scan_cells::<Bits>(&scan, numbers, nodata, digits));
    let found = thread::sync_threads_count(found);
    if thread::thread_idx_x() == 0 {
        missing.store(thread::block_idx_x() as usize, found);
    }
}

const _: () = assert!(ARRAYS_THREADS == 256, "as the kernels' bounds say");
