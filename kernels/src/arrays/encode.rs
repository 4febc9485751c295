//! Codes of classes, in rows as the entropy kernels read them.
//!
//! A rule that gives every number a code is a step function of its key: a class begins at one key and ends before another, no data is
//! an interval like any other, and so are the NaNs at both ends of floating-point numbers. So one algorithm encodes all
//! classes and numbers: a search for the last step that begins at or before the key. It takes most of the time of an entropy kernel where neighbours differ, so
//! there are tables beside it: of the 256 bytes, and of the keys between the first step and the last, if the host finds that these are few. Otherwise a thread
//! remembers the last key, since land cover comes in patches.
//!
//! A thread makes four codes, of a byte or of two; where the array's rows are read as they are, of four times four cells, so that several loads are under way. Codes beyond an edge that extends the grid are those of the cells that the host
//! names; that of a number without a class is 0, a valid code, until the host has seen the error.

use simt::global::{In, Out};
use simt::math::byte_permute;
use simt::shared::Shared;
use simt::{four, kernel, shared, thread, warp};

use super::{ARRAYS_THREADS, Array, Bits, GridStride, Mask, WARPS, WIDTH, by_width, key};

/// The code of a number that has none.
pub const ENCODE_MISFIT: u32 = 1 << 16;

shared! {
    static ENCODE_BYTES: [u32; 256];
    static ENCODE_WARPS: [u64; 8];
}

/// The step function.
#[derive(Clone, Copy)]
struct Steps {
    starts: In<u64>,
    codes: In<u32>,
    count: u32,
    /// Where there is a code for each key from this on, so many of them, and smaller and larger keys have those of the first and the last.
    base: u64,
    keys: u32,
}

impl Steps {
    #[inline(always)]
    fn code(self, key: u64) -> u32 {
        if self.keys > 0 { self.direct(key) } else { self.search(key) }
    }

    #[inline(always)]
    fn direct(self, key: u64) -> u32 {
        let at = key.saturating_sub(self.base).min(u64::from(self.keys - 1));
        self.codes.load(at as usize)
    }

    #[inline(always)]
    fn search(self, key: u64) -> u32 {
        let (mut from, mut to) = (0, self.count);
        while to - from > 1 {
            let middle = (from + to) / 2;
            if self.starts.load(middle as usize) <= key {
                from = middle;
            } else {
                to = middle;
            }
        }
        self.codes.load(from as usize)
    }
}

/// The source and the destination of codes.
#[derive(Clone, Copy)]
struct Task {
    cells: In<u8>,
    mask: Mask,
    array: Array,
    kind: u32,
    steps: Steps,
    /// The steps, looked up for every byte.
    bytes: Shared<u32>,
    hidden: u32,
    /// Columns of the array.
    width: u32,
    /// Rows and columns of the array for those of `out`, where `mapped`.
    indices: In<u32>,
    mapped: bool,
    /// Codes are words.
    wide: bool,
    top: u32,
    left: u32,
    out: Out<u8>,
    rows: u32,
    cols: u32,
    pitch: u32,
}

impl Task {
    /// The first cell of four whose code is [`ENCODE_MISFIT`].
    #[inline(always)]
    fn first_misfit(&self, place: GridStride, codes: [u32; 4]) -> u64 {
        let [a, b, c, d] = codes;
        if a.max(b).max(c).max(d) < ENCODE_MISFIT {
            return u64::MAX;
        }
        let row = u64::from(self.top + place.row) * u64::from(self.width);
        let mut k = 0;
        while k < 3 && codes[k] < ENCODE_MISFIT {
            k += 1;
        }
        row + u64::from(self.left + 4 * place.col) + k as u64
    }

    /// Writes four codes; [`ENCODE_MISFIT`] as 0.
    #[inline(always)]
    fn store(&self, place: GridStride, [a, b, c, d]: [u32; 4]) {
        let at = place.row as usize * self.pitch as usize / 4 + place.col as usize;
        // The low halves of both.
        let (low, high) = (byte_permute(a, b, 0x5410), byte_permute(c, d, 0x5410));
        if self.wide {
            self.out.cast::<u64>().store(at, u64::from(high) << 32 | u64::from(low));
        } else {
            // The low bytes of all four.
            self.out.cast::<u32>().store(at, byte_permute(low, high, 0x6420));
        }
    }
}

/// Codes of the array's rows as they are, which begin at multiples of four numbers and of 16 bytes: as [`encode`].
#[inline(always)]
fn encode_fours<B: Bits>(task: &Task) -> u64 {
    let code = |bits: B| match B::BITS {
        8 => task.bytes.load(bits.wide() as u32),
        _ => task.steps.direct(key(bits, task.kind)),
    };
    let mut misfit = u64::MAX;
    let mut cursor = GridStride::new(task.pitch / 4);
    while cursor.row < task.rows {
        let mut places = [cursor; 4];
        let mut fours = [None; 4];
        four!(I => {
            places[I] = cursor;
            if cursor.row < task.rows && 4 * cursor.col < task.cols {
                let at = task.array.at(task.top + cursor.row, 0) / 4 + (task.left / 4 + cursor.col) as usize;
                fours[I] = Some(B::four(task.cells, at));
            }
            cursor.step();
        });
        four!(I => {
            if places[I].row < task.rows {
                let codes = fours[I].map_or([0; 4], |four| four.map(code));
                misfit = misfit.min(task.first_misfit(places[I], codes));
                task.store(places[I], codes);
            }
        });
    }
    misfit
}

/// Writes the thread's codes. The first cell, in reading order, whose number has none.
#[inline(always)]
fn encode<B: Bits>(task: &Task) -> u64 {
    let cells = task.cells.cast::<B>();
    let mut misfit = u64::MAX;
    let mut last = (0, task.steps.code(0));
    let mut cursor = GridStride::new(task.pitch / 4);
    while cursor.row < task.rows {
        let y = if task.mapped { task.indices.load(cursor.row as usize) } else { task.top + cursor.row };
        let mut codes = [0; 4];
        let mut k = 0;
        while k < 4 {
            let column = 4 * cursor.col + k;
            if column < task.cols {
                let x = if task.mapped { task.indices.load((task.rows + column) as usize) } else { task.left + column };
                let code = if task.mask.hides(y, x) {
                    task.hidden
                } else {
                    let bits = cells.load(task.array.at(y, x));
                    if B::BITS == 8 {
                        task.bytes.load(bits.wide() as u32)
                    } else {
                        let key = key(bits, task.kind);
                        if key != last.0 {
                            last = (key, task.steps.code(key));
                        }
                        last.1
                    }
                };
                if code == ENCODE_MISFIT {
                    misfit = misfit.min(u64::from(y) * u64::from(task.width) + u64::from(x));
                }
                codes[k as usize] = code;
            }
            k += 1;
        }
        task.store(cursor, codes);
        cursor.step();
    }
    misfit
}

/// Writes the codes of cells to `rows` rows of `cols` bytes, or of words where `wide` is not 0, `pitch` of them apart, and 0 in between.
///
/// Row r of `out` is row `top` + r of the array, column c is column `left` + c; or, where `mapped` is not 0, those that `indices` names, first
/// for all rows and then for all columns. The code of a key is that of the last of `steps` `starts` that is not larger; that of a cell
/// which the mask hides is `hidden`. Where `keys` is not 0, `codes` has one for each of so many keys from `base` on instead, the first and the last of them for
/// all that are smaller and larger, and `starts` is not read. Where `fours` is not 0, nothing is mapped or masked, columns are side by side, and rows begin at
/// multiples of four numbers and of 16 bytes, or of 4 bytes if these are bytes, and wider numbers have `keys`. Block b writes to element b of `misfits` which cell, in reading order, is the first
/// whose number has the code [`ENCODE_MISFIT`]; all ones if there is none.
///
/// # Safety
/// `cells` and `mask` hold what their kinds and strides say for all rows and columns named; `starts`, ascending from 0 on, and `codes` have `steps`
/// numbers, at least one, or `codes` has `keys`; `left` and `cols` are multiples of 4 where `fours`; `indices` has `rows` + `cols` numbers where `mapped`; `out` has `rows` · `pitch` bytes or words, `pitch` is a
/// multiple of 4 and not less than `cols`; `misfits` has a number for every block; blocks have [`ARRAYS_THREADS`] threads, in one dimension.
#[kernel(threads = 256, blocks = 4)]
pub unsafe fn arrays_encode(
    cells: In<u8>,
    mask: In<u8>,
    starts: In<u64>,
    codes: In<u32>,
    indices: In<u32>,
    out: Out<u8>,
    misfits: Out<u64>,
    kind: u32,
    first: u64,
    row: u64,
    col: u64,
    mask_kind: u32,
    mask_first: u64,
    mask_row: u64,
    mask_col: u64,
    steps: u32,
    hidden: u32,
    width: u32,
    mapped: u32,
    wide: u32,
    top: u32,
    left: u32,
    rows: u32,
    cols: u32,
    pitch: u32,
    base: u64,
    keys: u32,
    fours: u32,
) {
    let array = Array { first, row, col };
    let mask = Mask { cells: mask, kind: mask_kind, array: Array { first: mask_first, row: mask_row, col: mask_col } };
    let steps = Steps { starts, codes, count: steps, base, keys };
    let bytes = shared::array::<ENCODE_BYTES>();
    let t = thread::thread_idx_x();
    if kind & WIDTH == 1 {
        bytes.store(t, steps.code(key(t as u8, kind)));
    }
    thread::sync_threads();
    let task = Task {
        cells,
        mask,
        array,
        kind,
        steps,
        bytes,
        hidden,
        width,
        indices,
        mapped: mapped != 0,
        wide: wide != 0,
        top,
        left,
        out,
        rows,
        cols,
        pitch,
    };
    let mut misfit =
        by_width!(kind, Bits => if fours != 0 { encode_fours::<Bits>(&task) } else { encode::<Bits>(&task) });

    let mut lane_mask = 16;
    while lane_mask > 0 {
        misfit = misfit.min(warp::warp_shuffle_xor(warp::FULL, misfit, lane_mask, 32).0);
        lane_mask /= 2;
    }
    let warps = shared::array::<ENCODE_WARPS>();
    if t.is_multiple_of(32) {
        warps.store(t / 32, misfit);
    }
    thread::sync_threads();
    if t == 0 {
        let mut w = 1;
        while w < WARPS {
            misfit = misfit.min(warps.load(w));
            w += 1;
        }
        misfits.store(thread::block_idx_x() as usize, misfit);
    }
}

const _: () = assert!(ARRAYS_THREADS == 256, "a thread for every byte");
