//! The sliding kernel: 5 × 5 windows, up to 16 levels, everything in registers. In use where there are no tensor cores, or few rows.
//!
//! ```text
//! a warp owns 128 neighbouring columns, each lane 4, and marches down the rows; for every row:
//!     each column's histogram of 5 rows:  C += onehot(entering) − onehot(leaving)
//!     two columns from each side by shuffle
//!     the window's histogram slides over the lane's 4 columns:  W += C(x + 3) − C(x − 2)
//!     Σ F(n_i) by 8 lookups, each for a pair of levels
//! ```
//!
//! What makes it fast, in order:
//!
//! * **Packed counters.** A histogram is 16 counters of 5 bits in three words, so C and W change by three-operand
//!   integer adds. No counter overflows: a window has 25 cells. Levels 0–5 lie in word 0 from bit 0 on, 6–11 in
//!   word 1, 12–15 in word 2 from bit 7 on. A one-hot is `1 << (5·level − start)` per word, where shifts
//!   below 0 or above 31 give nothing; what level 6 leaves in the two spare top bits of word 0 (and 12 of
//!   word 1, 11 of the low bits of word 2) is never read, and a carry out of the top is lost.
//! * **A table without bank conflicts.** Two neighbouring 5-bit counters are a 10-bit index into
//!   F(n₁) + F(n₂). The table is kept 32 times, one copy a lane and bank: 801 rows of 128 bytes. The lane's address is a
//!   shift, and one three-input logic operation that masks the index and puts the lane in.
//! * **Registers.** The one-hots of the last five rows stay in a ring, the loop is unrolled five times so that every
//!   index is constant, and the cells of the next five rows are already in flight.
//!
//! Neighbouring warps share 4 columns, so that all loads are whole words: 124 of 128 columns are written. Blocks are as
//! many as fit on the device at once, since filling the table costs more than a small tile; warps take their strips in turn.
//!
//! Strips at the left and right border, and grids with nodata, are modes of the same code (see
//! [`Mode`]): with nodata the number of counted cells is a counter like the others, in the top five bits of word 2.

use simt::global::{In, Out};
use simt::math::{and_or, dot4, reciprocal_fast, shift_left_clamped};
use simt::shared::{self, Shared};
use simt::{kernel, thread, warp};

use super::{NOTHING, load_cells};

/// Threads of a block of [`entropy_sliding`](fn@entropy_sliding).
pub const SLIDING_THREADS: u32 = 512;
/// Columns that a warp writes.
pub const SLIDING_COLS: u32 = 124;
/// Rows of the pair table: n₁ + 32·n₂ for n₁, n₂ ≤ 25 with n₁ + n₂ ≤ 25.
pub const SLIDING_PAIRS: u32 = 25 * 32 + 1;
/// The most levels that the kernel counts.
pub const SLIDING_LEVELS: u32 = 16;

/// Cells of a full window.
const FULL_WINDOW: u32 = 25;

/// What a strip may assume; a const parameter, since each mode is compiled separately.
type Mode = u8;
/// All columns are inside the grid, and there is no nodata: N is the same for the whole warp.
const INSIDE: Mode = 0;
/// There is no nodata: N depends on the column, and on the row only near the top and bottom.
const BORDER: Mode = 1;
/// N is counted.
const NODATA: Mode = 2;

/// 16 counters of 5 bits (and one of the cells counted).
type Packed = [u32; 3];

/// One count of a byte that is a cell, in word 2.
const ONE_CELL: u32 = 1 << 27;

/// Cell `k` of four packed ones as a histogram.
#[inline(always)]
fn one_hot<const MODE: Mode>(cells: u32, k: u32) -> Packed {
    let five = 5 << (8 * k);
    let word0 = shift_left_clamped(1, dot4(cells, five, 0));
    let word1 = shift_left_clamped(1, dot4(cells, five, 0u32.wrapping_sub(30)));
    let mut word2 = shift_left_clamped(1, dot4(cells, five, 0u32.wrapping_sub(60 - 7)));
    if MODE == NODATA {
        // 255 marks what is not a cell; real levels have the byte's top bit clear.
        word2 |= (!cells >> (8 * k + 7) & 1) * ONE_CELL;
    }
    [word0, word1, word2]
}

#[inline(always)]
fn zip(a: Packed, b: Packed, c: Packed, f: impl Fn(u32, u32, u32) -> u32) -> Packed {
    [f(a[0], b[0], c[0]), f(a[1], b[1], c[1]), f(a[2], b[2], c[2])]
}

/// a + b − c.
#[inline(always)]
fn slide(a: Packed, b: Packed, c: Packed) -> Packed {
    zip(a, b, c, |a, b, c| a.wrapping_add(b).wrapping_sub(c))
}

#[inline(always)]
fn sum3(a: Packed, b: Packed, c: Packed) -> Packed {
    zip(a, b, c, |a, b, c| a.wrapping_add(b).wrapping_add(c))
}

#[inline(always)]
fn from_left(p: Packed) -> Packed {
    p.map(|word| warp::warp_shuffle_up(warp::FULL, word, 1, 32).0)
}

#[inline(always)]
fn from_right(p: Packed) -> Packed {
    p.map(|word| warp::warp_shuffle_down(warp::FULL, word, 1, 32).0)
}

/// The pair table as a lane sees it.
#[derive(Clone, Copy)]
struct Pairs<const LOG_COPIES: u32> {
    table: Shared<u32>,
    /// The lane's byte offset in a row of the table.
    lane: u32,
}

impl<const LOG_COPIES: u32> Pairs<LOG_COPIES> {
    /// Bits of a byte offset that choose the row.
    const ROW: u32 = 0x3FF << (LOG_COPIES + 2);

    /// −F of the pair of counters at bit `at` of `word`.
    #[inline(always)]
    fn lookup(self, word: u32, at: u32) -> u32 {
        let target = LOG_COPIES + 2;
        let moved = if at < target { word << (target - at) } else { word >> (at - target) };
        self.table.load_at(and_or(moved, Self::ROW, self.lane))
    }

    /// `start` − Σ F(n_i). The table holds −F, because two additions are one instruction.
    #[inline(always)]
    fn rest(self, start: u32, w: Packed) -> u32 {
        let a = start.wrapping_add(self.lookup(w[0], 0)).wrapping_add(self.lookup(w[0], 10));
        let b = a.wrapping_add(self.lookup(w[0], 20)).wrapping_add(self.lookup(w[1], 0));
        let c = b.wrapping_add(self.lookup(w[1], 10)).wrapping_add(self.lookup(w[1], 20));
        c.wrapping_add(self.lookup(w[2], 7)).wrapping_add(self.lookup(w[2], 17))
    }

    /// F(n) for n up to 25.
    #[inline(always)]
    fn single(self, n: u32) -> u32 {
        self.table.load_at(n << (LOG_COPIES + 2) | self.lane).wrapping_neg()
    }
}

/// What one warp does with one strip.
#[derive(Clone, Copy)]
struct Strip {
    cells: In<u8>,
    out: Out<f32>,
    rows: i32,
    cols: i32,
    stride: u32,
    /// Row of `out` that is row 0 of the grid: negative where `first` is positive.
    out_row: i32,
    out_stride: u32,
    nodata: u32,
    scale: f32,
    lane: u32,
    /// Column of the lane's first cell: a multiple of 4, possibly outside.
    x: i32,
}

/// F(N) and scale / N of a lane's four windows.
type Norms = ([u32; 4], [f32; 4]);

impl Strip {
    /// The lane's four cells of row `y`.
    #[inline(always)]
    fn load<const MODE: Mode>(&self, y: i32) -> u32 {
        if MODE == INSIDE {
            if y < 0 || y >= self.rows {
                return NOTHING;
            }
            self.cells.cast::<u32>().load((y as usize * self.stride as usize + self.x as usize) / 4)
        } else {
            let nodata = if MODE == NODATA { self.nodata } else { 256 };
            load_cells((self.cells, 0), (self.rows, self.cols), self.stride, (y, self.x), nodata)
        }
    }

    /// True where a window centred on row `y` is clipped above or below.
    #[inline(always)]
    fn clipped(&self, y: i32) -> bool {
        y < 2 || y + 2 >= self.rows
    }

    /// The norms of row `y`, not for mode `NODATA`.
    #[inline(always)]
    fn norms<const MODE: Mode, const LOG_COPIES: u32>(&self, pairs: Pairs<LOG_COPIES>, y: i32) -> Norms {
        let height = ((y + 3).min(self.rows) - (y - 2).max(0)) as u32;
        let (mut starts, mut inverses) = ([0; 4], [0.0; 4]);
        let mut k = 0;
        while k < 4 {
            let x = self.x + k as i32;
            // A column outside has no window; its result is dropped.
            let width = if MODE == INSIDE { 5 } else { ((x + 3).min(self.cols) - (x - 2).max(0)).clamp(1, 5) as u32 };
            starts[k] = pairs.single(height * width);
            inverses[k] = reciprocal_fast((height * width) as f32) * self.scale;
            k += 1;
        }
        (starts, inverses)
    }

    #[inline(always)]
    fn march<const MODE: Mode, const LOG_COPIES: u32>(&self, pairs: Pairs<LOG_COPIES>, begin: i32, end: i32) {
        let mut ring: [[Packed; 4]; 5] = [[[0; 3]; 4]; 5];
        let mut columns: [Packed; 4] = [[0; 3]; 4];

        // Rows begin − 2 .. begin + 2 are in the ring's slots 0..4 when the first output row starts;
        // slot 4 then takes row begin + 2.
        macro_rules! prepare {
            ($($slot:literal)*) => {$(
                let cells = self.load::<MODE>(begin - 2 + $slot);
                let mut k = 0;
                while k < 4 {
                    ring[$slot][k] = one_hot::<MODE>(cells, k as u32);
                    columns[k] = sum3(columns[k], ring[$slot][k], [0; 3]);
                    k += 1;
                }
            )*};
        }
        prepare!(0 1 2 3);

        let mut prefetched = [0u32; 5];
        let mut i = 0;
        while i < 5 {
            prefetched[i] = self.load::<MODE>(begin + 2 + i as i32);
            i += 1;
        }
        // Rows in the middle of the grid share their norms.
        let mut norms = self.norms::<MODE, LOG_COPIES>(pairs, begin);
        let mut at = (begin + self.out_row) as isize * self.out_stride as isize + self.x as isize;
        let mut y = begin;
        loop {
            let current = prefetched;
            let mut i = 0;
            while i < 5 {
                prefetched[i] = self.load::<MODE>(y + 7 + i as i32);
                i += 1;
            }
            macro_rules! row {
                ($($step:literal $slot:literal;)*) => {$(
                    if y + $step >= end {
                        return;
                    }
                    let mut k = 0;
                    while k < 4 {
                        let new = one_hot::<MODE>(current[$step], k as u32);
                        columns[k] = slide(columns[k], new, ring[$slot][k]);
                        ring[$slot][k] = new;
                        k += 1;
                    }
                    // The first row after a clipped one still has the clipped one's norms.
                    if MODE != NODATA && (self.clipped(y + $step) || y + $step == 2) {
                        norms = self.norms::<MODE, LOG_COPIES>(pairs, y + $step);
                    }
                    self.write_row::<MODE, LOG_COPIES>(pairs, &columns, &norms, y + $step, at);
                    at += self.out_stride as isize;
                )*};
            }
            row! { 0 4; 1 0; 2 1; 3 2; 4 3; }
            y += 5;
        }
    }

    /// The four windows of row `y` from the lane's columns, to element `at`.
    #[inline(always)]
    fn write_row<const MODE: Mode, const LOG_COPIES: u32>(
        &self,
        pairs: Pairs<LOG_COPIES>,
        columns: &[Packed; 4],
        (starts, inverses): &Norms,
        y: i32,
        at: isize,
    ) {
        let [c0, c1, c2, c3] = *columns;
        let (left2, left3) = (from_left(c2), from_left(c3));
        let (right0, right1) = (from_right(c0), from_right(c1));
        let middle = sum3(c0, c1, c2);
        let w0 = sum3(middle, left2, left3);
        let w1 = slide(w0, c3, left2);
        let w2 = slide(w1, right0, left3);
        let w3 = slide(w2, right1, c0);
        let windows = [w0, w1, w2, w3];

        let mut h = [0.0; 4];
        let mut k = 0;
        if MODE == NODATA {
            let centres = self.load::<MODE>(y);
            while k < 4 {
                let n = windows[k][2] >> 27;
                let rest = pairs.rest(pairs.single(n), windows[k]);
                h[k] = rest as f32 * (reciprocal_fast(n.max(1) as f32) * self.scale);
                if centres >> (8 * k) & 0xFF == 0xFF {
                    h[k] = f32::NAN;
                }
                k += 1;
            }
        } else {
            while k < 4 {
                h[k] = pairs.rest(starts[k], windows[k]) as f32 * inverses[k];
                k += 1;
            }
        }

        // The outermost lanes have only half of their neighbours.
        let inside = MODE == INSIDE || (self.x >= 0 && self.x < self.cols);
        // Negative only where nothing is stored.
        let at = at as usize;
        self.out.store4_if(inside && self.lane != 0 && self.lane != 31, at, h);
        self.out.store2_if(inside && self.lane == 0, at.wrapping_add(2), [h[2], h[3]]);
        self.out.store2_if(inside && self.lane == 31, at, [h[0], h[1]]);
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn sliding<const LOG_COPIES: u32>(
    cells: In<u8>,
    out: Out<f32>,
    table: In<u32>,
    (rows, cols, stride): (u32, u32, u32),
    (first, count, out_stride): (u32, u32, u32),
    nodata: u32,
    rows_each: u32,
    scale: f32,
) {
    let shared = shared::dynamic::<u32>();
    let mut at = thread::thread_idx_x();
    while at < SLIDING_PAIRS << LOG_COPIES {
        let row = at >> LOG_COPIES;
        let (n1, n2) = (row % 32, row / 32);
        // Rows that no window reaches are filled too: no unwritten memory is read.
        let f = if n1 + n2 <= FULL_WINDOW {
            table.load(n1 as usize).wrapping_add(table.load(n2 as usize)).wrapping_neg()
        } else {
            0
        };
        shared.store(at, f);
        at += thread::block_dim_x();
    }
    thread::sync_threads();

    let lane = warp::lane_id();
    let pairs = Pairs::<LOG_COPIES> { table: shared, lane: lane % (1 << LOG_COPIES) * 4 };
    let warps = thread::block_dim_x() / 32;
    // The maxima tell the compiler that it never divides by 0.
    let strips = (cols + 2).div_ceil(SLIDING_COLS).max(1);
    let rows_each = rows_each.max(1);
    let units = strips * count.div_ceil(rows_each);
    let mut unit = thread::block_idx_x() * warps + thread::thread_idx_x() / 32;
    while unit < units {
        let begin = unit / strips * rows_each;
        let end = (begin + rows_each).min(count);
        // The strip writes the columns left + 2 .. left + 126.
        let left = (unit % strips * SLIDING_COLS) as i32 - 4;
        let strip = Strip {
            cells,
            out,
            rows: rows as i32,
            cols: cols as i32,
            stride,
            out_row: -(first as i32),
            out_stride,
            nodata,
            scale,
            lane,
            x: left + 4 * lane as i32,
        };
        let (begin, end) = ((first + begin) as i32, (first + end) as i32);
        if nodata <= 255 {
            strip.march::<NODATA, LOG_COPIES>(pairs, begin, end);
        } else if left < 0 || left + 128 > cols as i32 {
            strip.march::<BORDER, LOG_COPIES>(pairs, begin, end);
        } else {
            strip.march::<INSIDE, LOG_COPIES>(pairs, begin, end);
        }
        unit += thread::grid_dim_x() * warps;
    }
}

/// Entropy of 5 × 5 windows of up to 16 levels, in blocks of [`SLIDING_THREADS`] threads.
///
/// Any number of blocks works; as many as run at once is best. A warp takes strips of [`SLIDING_COLS`] columns and
/// `rows_each` rows in turn. `table` holds F(n) for n = 0..=25 in units of 1/S, and `scale` multiplies by
/// what is wanted over S. Dynamic shared memory: [`SLIDING_PAIRS`] · 128 bytes.
///
/// # Safety
/// As [`entropy_naive`](fn@super::entropy_naive); besides, `cells` is aligned to 4 bytes and `stride` is a multiple of
/// 4, `out` to 16 bytes and `out_stride` is a multiple of 4 and at least `cols` rounded up to one; cells are below
/// 16 or equal to `nodata`; `table` has 26 entries; the launch has the block size and the shared memory above.
#[kernel(threads = 512, blocks = 1)]
pub unsafe fn entropy_sliding(
    cells: In<u8>,
    out: Out<f32>,
    table: In<u32>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    nodata: u32,
    rows_each: u32,
    scale: f32,
) {
    sliding::<5>(cells, out, table, (rows, cols, stride), (first, count, out_stride), nodata, rows_each, scale);
}

/// [`entropy_sliding`](fn@entropy_sliding) for devices with little shared memory: 16 copies of the table,
/// [`SLIDING_PAIRS`] · 64 bytes. Lanes l and l + 16 share a bank.
///
/// # Safety
/// As [`entropy_sliding`](fn@entropy_sliding), with this table's shared memory.
#[kernel(threads = 512, blocks = 1)]
pub unsafe fn entropy_sliding_narrow(
    cells: In<u8>,
    out: Out<f32>,
    table: In<u32>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    nodata: u32,
    rows_each: u32,
    scale: f32,
) {
    sliding::<4>(cells, out, table, (rows, cols, stride), (first, count, out_stride), nodata, rows_each, scale);
}
