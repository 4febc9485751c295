//! The production kernel: 5 × 5 windows, up to 16 levels, with the tensor cores adding up the columns.
//!
//! ```text
//! a warp owns a strip of 128 neighbouring columns, each lane 4, and marches down the rows; for every row:
//!     each column's histogram of 5 rows, a byte for a pair of levels:  C += onehot(entering) − onehot(leaving)
//!     two columns from each side by shuffle
//!     the sum over 5 columns, for all columns at once:  D = C · (band matrix of 128s) + (the lane's address in the table)
//!     Σ F(n_i) by 8 lookups at the addresses D
//! ```
//!
//! What makes it fast, in order:
//!
//! * **The product is the address.** A pair of levels is one number n₁ + 26·n₂, at most 5·26 in a column, so a byte; its
//!   sum over the window's columns, at most 25·26, is a row of the table F(n₁) + F(n₂). The band matrix has 128
//!   where a column is in the window, and a row of the table is 128 bytes: the product is the row's address, and
//!   what is added to it the lane's word in the row. Nothing is masked, shifted or moved between the tensor cores and the lookup.
//! * **A table without bank conflicts.** It is kept 32 times, one copy a lane and bank: 651 rows of 128 bytes.
//! * **One-hots by byte permutation** (see `cells`): sliding a pair of levels down in four columns is one addition. Only
//!   the cells of the last five rows are kept; a leaving row's one-hots are recomputed, which costs less than the
//!   registers would.
//!
//! Rows of the matrix A are independent of each other. So row g is taken to be the 16 columns that lanes 4g..4g + 4 own,
//! in one pair of levels, and row g + 8 the same columns in the next pair: loads and stores are of neighbouring cells, and a
//! lane needs the histograms of one row of the grid only. The upper 16 columns of A stand for the halo.
//!
//! A strip's outermost two columns lack neighbours: 124 of 128 columns are written. The strips begin at the grid's first
//! column, so that they write what lies at least two cells inside the grid, where all windows are full. The border
//! is counted cell by cell (see `frame`). Blocks are as many as fit on the device at once, since filling the table
//! costs more than a small tile, and all warps have equally many rows to march.
//!
//! Grids with nodata are a mode of the same code (see [`Mode`]): there the cells of a window are counted, as a ninth
//! pair, border or not.

use simt::global::{In, Out};
use simt::math::{byte_permute, reciprocal_fast};
use simt::mma::multiply_add_u8;
use simt::shared::{self, Shared};
use simt::{kernel, thread, warp};

use self::cells::{Cells, Columns, WEIGHTS};
use self::frame::Frame;
use super::load_cells;
use crate::arrays::PRESENT_RECORD;

mod cells;
mod frame;

/// Threads of a block of [`entropy_tensor`](fn@entropy_tensor).
pub const TENSOR_THREADS: u32 = 768;
/// Columns that a warp writes.
pub const TENSOR_COLS: u32 = 124;
/// Rows of the pair table: n₁ + 26·n₂ for n₁, n₂ ≤ 25 with n₁ + n₂ ≤ 25.
pub const TENSOR_PAIRS: u32 = 25 * RADIX + 1;

/// What a count of the second level of a pair weighs.
const RADIX: u32 = 26;
/// Bytes of a row of the table: a word for each lane.
const ROW: u32 = 128;
/// Cells of a full window.
const FULL_WINDOW: u32 = 25;
/// Pairs of levels.
const PAIRS: usize = 8;

/// What a warp may assume; a const parameter, since each mode is compiled separately.
type Mode = u8;
/// All windows are full, and there is no nodata.
const INSIDE: Mode = 0;
/// N is counted, and cells outside the grid are none.
const COUNTED: Mode = 1;

/// The band matrix as a lane holds it, for block `b` of the result: of a lane's four columns, the first two or the last two.
/// The halo is in the lower half of its words.
#[inline(always)]
fn band(lane: u32, b: u32) -> [u32; 2] {
    let (g, t) = (lane / 4, lane % 4);
    // Column g of the result, and the columns of the lane's words: its own, and for a quad's first lane the two to its left,
    // for its last the two to its right.
    let out = 4 * (g / 2) + 2 * b + g % 2;
    let near = |col: u32| u32::from(col.wrapping_sub(out).wrapping_add(2) <= 4) * ROW;
    let own = near(4 * t) | near(4 * t + 1) << 8 | near(4 * t + 2) << 16 | near(4 * t + 3) << 24;
    let first = if t == 0 { 0u32.wrapping_sub(2) } else { 16 };
    let halo = near(first) | near(first.wrapping_add(1)) << 8;
    [own, if t == 0 || t == 3 { halo } else { 0 }]
}

/// What one warp does with a strip.
#[derive(Clone, Copy)]
struct Strip {
    cells: In<u8>,
    out: Out<f32>,
    table: Shared<u32>,
    /// By block; see [`band`].
    matrix: [[u32; 2]; 2],
    rows: i32,
    cols: i32,
    /// In mode `INSIDE`: the column before which whole words of four are kept.
    right: i32,
    stride: u32,
    /// Row of `out` that is row 0 of the grid: negative where `first` is positive.
    out_row: i32,
    out_stride: u32,
    nodata: u32,
    scale: f32,
    lane: u32,
    /// The lane whose columns count as this one's halo.
    neighbour: u32,
    /// Which of its columns the lane shows to a neighbour: a selector for `prmt`.
    shown: u32,
    /// The address of the lane's word in the table's first row, four times.
    address: [u32; 4],
    /// [`WEIGHTS`].
    weights: [u32; 2],
    /// Column of the lane's first cell: a multiple of 4, possibly outside.
    x: i32,
}

impl Strip {
    /// The lane's four cells of row `y`, which lie at word `at`. In mode `INSIDE` the row is inside the grid.
    #[inline(always)]
    fn load<const MODE: Mode>(&self, y: i32, at: usize) -> u32 {
        if MODE == COUNTED {
            load_cells(self.cells, (self.rows, self.cols), self.stride, (y, self.x), self.nodata)
        } else {
            self.cells.cast::<u32>().load(at)
        }
    }

    #[inline(always)]
    fn march<const MODE: Mode>(&self, begin: i32, end: i32) {
        let pitch = (self.stride / 4) as usize;
        // Right of the grid any cells may be loaded: no window that is kept has them.
        let word = if MODE == INSIDE { self.x.min((self.cols - 1) / 4 * 4) / 4 } else { 0 };
        // In mode `COUNTED` it is not used, and may be before the first.
        let mut next = ((begin - 2) as usize).wrapping_mul(pitch).wrapping_add(word as usize);
        let mut row = begin - 2;
        // The words of the next rows, as many as there are.
        macro_rules! fetch {
            ($words:ident: $($i:literal)*) => {
                // All of them except at the end of a strip: one comparison instead of many.
                if MODE == COUNTED || row + 5 <= end + 2 {
                    $($words[$i] = self.load::<MODE>(row + $i, next.wrapping_add($i * pitch));)*
                } else {
                    $(if row + $i < end + 2 {
                        $words[$i] = self.load::<MODE>(row + $i, next.wrapping_add($i * pitch));
                    })*
                }
                let count = [$($i),*].len();
                next = next.wrapping_add(count * pitch);
                row += count as i32;
            };
        }
        // Rows begin − 2 .. begin + 2 are in the ring's slots 0..4 when the first output row starts;
        // slot 4 then takes row begin + 2.
        let (mut above, mut prefetched) = ([0u32; 4], [0u32; 5]);
        fetch!(above: 0 1 2 3);
        fetch!(prefetched: 0 1 2 3 4);
        let mut ring = [Cells::NONE; 5];
        let mut columns = Columns::EMPTY;
        let mut i = 0;
        while i < 4 {
            ring[i] = Cells::new::<MODE>(above[i]);
            columns.grow::<MODE>(ring[i], self.weights);
            i += 1;
        }

        // Only for mode `INSIDE`, where all windows are full.
        let norms = (
            self.table.load_address(FULL_WINDOW * ROW + self.address[0]).wrapping_neg(),
            reciprocal_fast(FULL_WINDOW as f32) * self.scale,
        );
        // The first lane's first two columns are not kept.
        let x = (self.x + 2 * i32::from(self.lane == 0)) as isize;
        let mut at = (begin + self.out_row) as isize * self.out_stride as isize + x;
        let mut y = begin;
        // The row that enters, and its slot of the ring.
        macro_rules! step {
            ($cells:ident: $($new:literal $slot:literal;)*) => {$(
                if y >= end {
                    return;
                }
                columns.slide::<MODE>($cells[$new], ring[$slot], self.weights);
                ring[$slot] = $cells[$new];
                self.write_row::<MODE>(&columns, norms, y, at);
                at += self.out_stride as isize;
                y += 1;
            )*};
        }
        // Five rows' loads share a scoreboard, so they are consumed before the next five are issued: the hardware cannot wait for the
        // older of two loads that share one, and it has few.
        loop {
            let cells = prefetched.map(Cells::new::<MODE>);
            fetch!(prefetched: 0 1 2 3 4);
            step!(cells: 0 4; 1 0; 2 1; 3 2; 4 3;);
        }
    }

    /// Places of the counts of two pairs in the table, by block: two columns of the first pair, the same of the second.
    #[inline(always)]
    fn addresses(&self, first: u32, second: u32) -> [[u32; 4]; 2] {
        // Of a neighbour's four columns only two are near, so that those of two pairs share a word.
        let shown = byte_permute(first, second, self.shown);
        let halo = warp::warp_shuffle_idx(warp::FULL, shown, self.neighbour, 32).0;
        let a = [first, second, halo, byte_permute(halo, 0, 0x1032)];
        [multiply_add_u8(a, self.matrix[0], self.address), multiply_add_u8(a, self.matrix[1], self.address)]
    }

    /// The windows of row `y` from the lane's columns, to element `at`.
    #[inline(always)]
    fn write_row<const MODE: Mode>(&self, columns: &Columns, (start, inverse): (u32, f32), y: i32, at: isize) {
        let mut sums = [start; 4];
        let mut inverses = [inverse; 4];
        if MODE == COUNTED {
            let counts = self.addresses(columns.cells, 0);
            let mut k = 0;
            while k < 4 {
                let address = counts[k / 2][k % 2];
                let n = (address - self.address[0]) / ROW;
                sums[k] = self.table.load_address(address).wrapping_neg();
                inverses[k] = reciprocal_fast(n.max(1) as f32) * self.scale;
                k += 1;
            }
        }
        let mut p = 0;
        while p < PAIRS {
            let addresses = self.addresses(columns.pairs[p], columns.pairs[p + 1]);
            let mut k = 0;
            while k < 4 {
                // The table holds −F. Two lookups at a time: two additions are one instruction.
                sums[k] = sums[k]
                    .wrapping_add(self.table.load_address(addresses[k / 2][k % 2]))
                    .wrapping_add(self.table.load_address(addresses[k / 2][2 + k % 2]));
                k += 1;
            }
            p += 2;
        }

        let mut h = [0.0; 4];
        let mut k = 0;
        while k < 4 {
            h[k] = sums[k] as f32 * inverses[k];
            k += 1;
        }
        if MODE == COUNTED && self.nodata <= 255 {
            let centres = self.load::<MODE>(y, 0);
            k = 0;
            while k < 4 {
                if centres >> (8 * k) & 0xFF == 0xFF {
                    h[k] = f32::NAN;
                }
                k += 1;
            }
        }
        let inside = if MODE == INSIDE { self.x + 4 <= self.right } else { self.x >= 0 && self.x < self.cols };
        // The outermost lanes have only half of their neighbours.
        let edge = self.lane == 0 || self.lane == 31;
        let half = if self.lane == 0 { [h[2], h[3]] } else { [h[0], h[1]] };
        // Negative only where nothing is stored.
        let at = at as usize;
        self.out.store4_if(inside && !edge, at, h);
        self.out.store2_if(inside && edge, at, half);
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn tensor<const MODE: Mode>(
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
    // Eight threads a row, four words each.
    let mut at = thread::thread_idx_x();
    while at < TENSOR_PAIRS * 8 {
        let (n1, n2) = (at / 8 % RADIX, at / 8 / RADIX);
        // Rows that no window reaches are filled too: no unwritten memory is read.
        let f = if n1 + n2 <= FULL_WINDOW {
            table.load(n1 as usize).wrapping_add(table.load(n2 as usize)).wrapping_neg()
        } else {
            0
        };
        shared.store4(4 * at, [f; 4]);
        at += thread::block_dim_x();
    }
    thread::sync_threads();

    let lane = warp::lane_id();
    // In a quad the first lane fetches from its left, the last from its right.
    let (is_first, is_last) = (lane.is_multiple_of(4), lane % 4 == 3);
    let neighbour = lane.wrapping_add(u32::from(is_last)).wrapping_sub(u32::from(is_first)) & 31;
    // ptxas copies a word that it knows to be one into four registers before each product, and constants into registers
    // before each permutation. It does not see through shuffles, and keeps their results.
    let address = [0, 1, 2, 3].map(|i| warp::warp_shuffle_xor(warp::FULL, shared.address() + 4 * (lane ^ i), i, 32).0);
    let weights = WEIGHTS.map(|word| warp::warp_shuffle_xor(warp::FULL, word ^ lane, 1, 32).0 ^ lane ^ 1);
    let (begin, end) = (first as i32, (first + count) as i32);
    let frame = Frame::new(begin, end, rows as i32, cols as i32);
    let strip = Strip {
        cells,
        out,
        table: shared,
        matrix: [band(lane, 0), band(lane, 1)],
        rows: rows as i32,
        cols: cols as i32,
        right: frame.right,
        stride,
        out_row: -begin,
        out_stride,
        nodata,
        scale,
        lane,
        neighbour,
        // The last lane's upper two columns are near the next quad, the first lane's lower two near the one before.
        shown: if is_last { 0x7632 } else { 0x5410 },
        address,
        weights,
        x: 0,
    };
    // In mode `COUNTED` a strip's first word is outside: it writes the columns left + 2 .. left + 126.
    let (left, top, bottom, kept) =
        if MODE == COUNTED { (-4, begin, end, cols as i32 + 2) } else { (0, frame.top, frame.bottom, frame.right - 2) };
    let rows_each = rows_each.max(1);
    let columns = (kept.max(0) as u32).div_ceil(TENSOR_COLS).max(1);
    let units = ((bottom - top).max(0) as u32).div_ceil(rows_each) * columns;
    // The shuffle tells ptxas that all lanes have the same.
    let mut unit = warp::warp_shuffle_idx(warp::FULL, thread::index_x() / 32, 0, 32).0;
    while unit < units {
        // Warps side by side take strips side by side: their rows are neighbours in memory.
        let (band, column) = (unit / columns, unit % columns);
        let here = Strip { x: left + (column * TENSOR_COLS + 4 * lane) as i32, ..strip };
        let begin = top + (band * rows_each) as i32;
        here.march::<MODE>(begin, (begin + rows_each as i32).min(bottom));
        unit += thread::grid_dim_x() * (thread::block_dim_x() / 32);
    }
    // Last, because warps take different times here.
    if MODE == INSIDE {
        frame.compute(&strip);
    }
}

/// Entropy of 5 × 5 windows of up to 16 levels without nodata, in blocks of [`TENSOR_THREADS`] threads, on the tensor cores.
///
/// Any number of blocks works; as many as run at once is best. `table` holds F(n) for n = 0..=25 in units of 1/S, and `scale` multiplies by
/// what is wanted over S. Dynamic shared memory: [`TENSOR_PAIRS`] · 128 bytes.
///
/// # Safety
/// As [`entropy_sliding`](fn@super::entropy_sliding), with the block size and the shared memory above; `nodata` is above 255. Cells that
/// are no levels give meaningless results, and do no other harm.
#[kernel(threads = 768, blocks = 1, arch = 80)]
pub unsafe fn entropy_tensor(
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
    let (frame, kept) = ((rows, cols, stride), (first, count, out_stride));
    tensor::<INSIDE>(cells, out, table, frame, kept, nodata, rows_each, scale);
}

/// [`entropy_tensor`](fn@entropy_tensor) of bytes that the host has not seen yet: a scan of them
/// ([`arrays_present`](fn@crate::arrays::arrays_present)) has left `records` records in `present`, and unless all of the bytes are below 16 nothing
/// is done. So the host need not wait for the scan, which would take as long again.
///
/// # Safety
/// As [`entropy_tensor`](fn@entropy_tensor); `present` has so many records.
#[kernel(threads = 768, blocks = 1, arch = 80)]
pub unsafe fn entropy_tensor_guarded(
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
    present: In<u32>,
    records: u32,
) {
    let mut large = 0;
    let mut word = thread::thread_idx_x();
    while word < records * PRESENT_RECORD {
        let flags = present.load(word as usize);
        // Of a record's first word, the lower half is of levels.
        large |= if word.is_multiple_of(PRESENT_RECORD) { flags >> 16 } else { flags };
        word += thread::block_dim_x();
    }
    if thread::sync_threads_count(large != 0) > 0 {
        return;
    }
    let (frame, kept) = ((rows, cols, stride), (first, count, out_stride));
    tensor::<INSIDE>(cells, out, table, frame, kept, nodata, rows_each, scale);
}

/// [`entropy_tensor`](fn@entropy_tensor) for grids with cells that are nodata.
///
/// # Safety
/// As [`entropy_tensor`](fn@entropy_tensor); `nodata` may be at most 255.
#[kernel(threads = 768, blocks = 1, arch = 80)]
pub unsafe fn entropy_tensor_counted(
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
    let (frame, kept) = ((rows, cols, stride), (first, count, out_stride));
    tensor::<COUNTED>(cells, out, table, frame, kept, nodata, rows_each, scale);
}
