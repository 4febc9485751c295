//! The smallest and the largest number, of all and of the finite ones.

use simt::global::{In, Out};
use simt::{kernel, shared, thread, warp};

use super::{ARRAYS_THREADS, Array, Bits, GridStride, Mask, Scan, WARPS, by_width, key};

/// Numbers of a block's record: the smallest and the largest key, the same of finite numbers, and one that is not 0 if a cell has no data.
/// Of nothing the smallest key is all ones and the largest is 0.
pub const EXTENT_RECORD: u32 = 5;

shared! {
    static EXTENT_WARPS: [u64; 32];
}

/// The bounds of keys: those of the least and the greatest number that is no NaN, the same of finite ones, and of no data.
#[derive(Clone, Copy)]
struct Numbers {
    all: (u64, u64),
    finite: (u64, u64),
    /// Whether there is a number that is no data.
    has_nodata: bool,
    nodata: u64,
}

#[inline(always)]
fn scan_cells<B: Bits>(scan: &Scan, numbers: Numbers) -> ([u64; 4], bool) {
    let &Scan { cells, mask, array, kind, rows, cols } = scan;
    let mut extent = [u64::MAX, 0, u64::MAX, 0];
    let mut missing = false;
    let cells = cells.cast::<B>();
    let mut cursor = GridStride::new(cols);
    while cursor.row < rows {
        if !mask.hides(cursor.row, cursor.col) {
            let key = key(cells.load(array.at(cursor.row, cursor.col)), kind);
            if key < numbers.all.0 || key > numbers.all.1 || (numbers.has_nodata && key == numbers.nodata) {
                missing = true;
            } else {
                extent[0] = extent[0].min(key);
                extent[1] = extent[1].max(key);
                if key >= numbers.finite.0 && key <= numbers.finite.1 {
                    extent[2] = extent[2].min(key);
                    extent[3] = extent[3].max(key);
                }
            }
        }
        cursor.step();
    }
    (extent, missing)
}

/// The smallest and the largest key of the numbers that the mask does not hide.
///
/// `lowest` and `highest` are the keys of the least and the greatest number that is no NaN, `finite_low` and `finite_high` the same of
/// finite ones; `nodata` is the key of no data where `has_nodata` is not 0. Block b writes [`EXTENT_RECORD`] numbers from
/// b · `EXTENT_RECORD` on.
///
/// # Safety
/// `cells` and `mask` hold what their kinds and strides say; `found` has a record for every block; blocks have
/// [`ARRAYS_THREADS`] threads, in one dimension.
#[kernel(threads = 256)]
pub unsafe fn arrays_extent(
    cells: In<u8>,
    mask: In<u8>,
    found: Out<u64>,
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
    finite_low: u64,
    finite_high: u64,
    has_nodata: u32,
    nodata: u64,
) {
    let array = Array { first, row, col };
    let mask = Mask { cells: mask, kind: mask_kind, array: Array { first: mask_first, row: mask_row, col: mask_col } };
    let scan = Scan { cells, mask, array, kind, rows, cols };
    let numbers =
        Numbers { all: (lowest, highest), finite: (finite_low, finite_high), has_nodata: has_nodata != 0, nodata };
    let (mut extent, missing) = by_width!(kind, Bits => scan_cells::<Bits>(&scan, numbers));

    let mut lane_mask = 16;
    while lane_mask > 0 {
        let other = extent.map(|key| warp::warp_shuffle_xor(warp::FULL, key, lane_mask, 32).0);
        extent = wider(extent, other);
        lane_mask /= 2;
    }
    let warps = shared::array::<EXTENT_WARPS>();
    let t = thread::thread_idx_x();
    if t.is_multiple_of(32) {
        let mut i = 0;
        while i < 4 {
            warps.store(t / 32 * 4 + i, extent[i as usize]);
            i += 1;
        }
    }
    let missing = thread::sync_threads_count(missing);
    if t == 0 {
        let mut w = 1;
        while w < WARPS {
            let at = |i: u32| warps.load(4 * w + i);
            extent = wider(extent, [at(0), at(1), at(2), at(3)]);
            w += 1;
        }
        let record = (thread::block_idx_x() * EXTENT_RECORD) as usize;
        let mut i = 0;
        while i < 4 {
            found.store(record + i, extent[i]);
            i += 1;
        }
        found.store(record + 4, u64::from(missing));
    }
}

#[inline(always)]
fn wider(a: [u64; 4], b: [u64; 4]) -> [u64; 4] {
    [a[0].min(b[0]), a[1].max(b[1]), a[2].min(b[2]), a[3].max(b[3])]
}

const _: () = assert!(ARRAYS_THREADS / 32 * 4 <= 32, "room for every warp's extent");
