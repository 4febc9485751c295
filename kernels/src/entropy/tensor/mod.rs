//! The production kernels: windows of 5 × 5 and 3 × 3, up to 32 levels, with the tensor cores adding up the columns.
//!
//! ```text
//! a warp owns a strip of 128 neighbouring columns, each lane 4, and marches down the rows; for every row:
//!     each column's histogram of 5 rows, a byte for a pair of levels:  C += onehot(entering) − onehot(leaving)
//!     two columns from each side by shuffle
//!     the sum over 5 columns, for all columns at once:  D = C · (band matrix of 128s) + (the lane's address in the table)
//!     Σ F(n_i) by 8 lookups at the addresses D
//! ```
//!
//! What follows speaks of 5 × 5 and 16 levels; 3 × 3 is the same with other numbers, a const parameter. Of more levels there are two groups of sixteen, another
//! one: histograms of both are slid in one march, with the same table and matrix, by fewer threads with more registers each.
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
//! Grids with nodata are a mode of the same code (see [`Mode`]). There the selectors of cells have flags for those that are nodata (see
//! `cells`), and a ninth word of columns has how many of their cells are. Its product with the band matrix is the address of F(N), in
//! rows of their own behind the pairs'. The reciprocal of N takes no lookup and no conversion: the bits of an address, taken for those of an
//! f32, are a number below the normal ones, from which one multiplication and addition, which round nothing, make a multiple of N. What they
//! multiply by has the flags of the window's own cell for its upper bytes, and so is NaN where that is nodata.

use simt::global::{In, Out};
use simt::math::byte_permute;
use simt::mma::multiply_add_u8;
use simt::shared::{self, Shared};
use simt::{thread, warp};

use self::cells::{Cells, Columns, Marking, tables};
use self::frame::Frame;
use self::norms::{Halves, Left, MULTIPLIER, Norms};
use super::measure::lane_address;
use super::{NOTHING, admits};

mod cells;
mod entries;
mod frame;
mod norms;

pub use entries::*;

/// Threads of a block of [`entropy_tensor`](fn@entropy_tensor).
pub const TENSOR_THREADS: u32 = 768;
/// Threads of a block of [`entropy_tensor_many`](fn@entropy_tensor_many): twice the histograms need more registers.
pub const TENSOR_MANY_THREADS: u32 = 512;
/// Threads of a block of [`entropy_tensor_f64`](fn@entropy_tensor_f64): sums and results of twice the bits need more registers.
pub const TENSOR_F64_THREADS: u32 = 640;
/// Columns that a warp writes.
pub const TENSOR_COLS: u32 = 124;
/// Rows of the table in shared memory, of [`TENSOR_ROW`] bytes, for windows of so many cells a side: of pairs −F(n₁) − F(n₂) at n₁ + 26·n₂ (10·n₂ for
/// 3 × 3), then F(N) by how many of the cells of a full window are nodata.
pub const fn tensor_rows(side: usize) -> u32 {
    pair_rows(side) + radix(side)
}

/// Bytes of a row of the table: a word for each lane, or 8 bytes for every two of them.
pub const TENSOR_ROW: u32 = 128;

const ROW: u32 = TENSOR_ROW;

/// Cells of a full window.
const fn full(side: usize) -> u32 {
    (side * side) as u32
}

/// What a count of the second level of a pair weighs: counts are below it.
const fn radix(side: usize) -> u32 {
    full(side) + 1
}

/// Rows of the table of pairs: n₁ + n₂ is at most [`full`].
const fn pair_rows(side: usize) -> u32 {
    full(side) * radix(side) + 1
}

/// Pairs of levels.
const PAIRS: usize = 8;

/// What a warp may assume; a const parameter, since each mode is compiled separately.
type Mode = u8;
/// All windows are full, and there is no nodata.
const INSIDE: Mode = 0;
/// All windows are inside the grid, and cells that are nodata are counted.
const COUNTED: Mode = 1;

/// The band matrix as a lane holds it, for block `b` of the result: of a lane's four columns, the first two or the last two.
/// The halo is in the lower half of its words. Columns of a word lie as `cells` has them.
#[inline(always)]
fn band(lane: u32, b: u32, reach: u32) -> [u32; 2] {
    let (g, t) = (lane / 4, lane % 4);
    // Column g of the result, and the columns of the lane's words: its own, and for a quad's first lane the two to its left,
    // for its last the two to its right.
    let out = 4 * (g / 2) + 2 * b + g % 2;
    let near = |col: u32| u32::from(col.wrapping_sub(out).wrapping_add(reach) <= 2 * reach) * ROW;
    let own = near(4 * t) | near(4 * t + 2) << 8 | near(4 * t + 1) << 16 | near(4 * t + 3) << 24;
    let first = if t == 0 { 0u32.wrapping_sub(2) } else { 16 };
    let halo = near(first) | near(first.wrapping_add(1)) << 8;
    [own, if t == 0 || t == 3 { halo } else { 0 }]
}

/// What one warp does with a strip.
#[derive(Clone, Copy)]
struct Strip<M: Norms> {
    cells: In<u8>,
    out: Out<M::Result>,
    table: Shared<M::Entry>,
    /// By block; see [`band`].
    matrix: [[u32; 2]; 2],
    rows: i32,
    cols: i32,
    /// The column before which whole words of four are kept.
    right: i32,
    stride: u32,
    /// Row of `out` that is row 0 of the grid: negative where `first` is positive.
    out_row: i32,
    out_stride: u32,
    nodata: u32,
    marking: Marking,
    measure: M,
    /// In mode `COUNTED`: how N comes from the address of Q(N).
    left: Left,
    lane: u32,
    /// The lane whose columns count as this one's halo.
    neighbour: u32,
    /// Which of its columns the lane shows to a neighbour: a selector for `prmt`.
    shown: u32,
    /// The address of the lane's word in the table's first row, four times.
    address: [u32; 4],
    /// [`tables`].
    tables: [u32; 3],
    /// Column of the lane's first cell: a multiple of 4.
    x: i32,
}

impl<M: Norms> Strip<M> {
    #[inline(always)]
    fn march<const SIDE: usize, const MODE: Mode, const GROUPS: usize>(&self, begin: i32, end: i32) {
        let reach = (SIDE / 2) as i32;
        let pitch = (self.stride / 4) as usize;
        // Right of the grid any cells may be loaded: no window that is kept has them.
        let word = self.x.min((self.cols - 1) / 4 * 4) / 4;
        let mut next = (begin - reach) as usize * pitch + word as usize;
        let mut row = begin - reach;
        // The words of the next rows, as many as there are. All rows are inside the grid.
        macro_rules! fetch {
            ($words:ident: $($i:literal)*) => {
                let count = [$($i),*].len();
                let cells = self.cells.cast::<u32>();
                // All of them except at the end of a strip: one comparison instead of many.
                if row + count as i32 <= end + reach {
                    $($words[$i] = cells.load(next + $i * pitch);)*
                } else {
                    // What was there before needs no register any longer.
                    $($words[$i] = if row + $i < end + reach { cells.load(next + $i * pitch) } else { 0 };)*
                }
                next += count * pitch;
                row += count as i32;
            };
        }
        // The rows before the one that enters with the first output row are in the ring's slots from 0 on;
        // the last slot then takes that one.
        let (mut above, mut prefetched) = ([0u32; 4], [0u32; 5]);
        if SIDE == 5 {
            fetch!(above: 0 1 2 3);
            fetch!(prefetched: 0 1 2 3 4);
        } else {
            fetch!(above: 0 1);
            fetch!(prefetched: 0 1 2);
        }
        // What is in the last slot leaves first, so it has been added too.
        let mut ring = [Cells::ZERO; SIDE];
        let mut columns = Columns::<GROUPS>::EMPTY;
        let mut i = 0;
        while i < SIDE {
            if i < SIDE - 1 {
                ring[i] = Cells::new::<MODE, GROUPS>(above[i], self.marking);
            }
            columns.grow::<MODE>(ring[i], self.tables);
            i += 1;
        }

        // Only for mode `INSIDE`, where all windows have as many cells.
        let all = self.table.load_address(pair_rows(SIDE) * ROW + self.address[0]);
        let norms = (all, self.measure.of_cells(all, full(SIDE)));
        let x = self.x as isize + M::shift(self.lane);
        let mut at = (begin + self.out_row) as isize * self.out_stride as isize + x;
        let mut y = begin;
        // The row that enters, and its slot of the ring.
        macro_rules! step {
            ($cells:ident: $($new:literal $slot:literal;)*) => {$(
                if y >= end {
                    return;
                }
                columns.slide::<MODE>($cells[$new], ring[$slot], self.tables);
                ring[$slot] = $cells[$new];
                let own = ring[($slot + SIDE - SIDE / 2) % SIDE];
                self.write_row::<SIDE, MODE, GROUPS>(&columns, norms, own, at);
                at += self.out_stride as isize;
                y += 1;
            )*};
        }
        // Several rows' loads share a scoreboard, so they are consumed before the next are issued: the hardware cannot wait for the
        // older of two loads that share one, and it has few.
        loop {
            let cells = prefetched.map(|bytes| Cells::new::<MODE, GROUPS>(bytes, self.marking));
            if SIDE == 5 && MODE == INSIDE {
                fetch!(prefetched: 0 1 2 3 4);
                step!(cells: 0 4; 1 0; 2 1; 3 2; 4 3;);
            } else if SIDE == 5 {
                // Registers are short, and the first rows' cells are in the ring by then.
                step!(cells: 0 4; 1 0; 2 1;);
                fetch!(prefetched: 0 1 2 3 4);
                step!(cells: 3 2; 4 3;);
            } else {
                fetch!(prefetched: 0 1 2);
                step!(cells: 0 2; 1 0; 2 1;);
            }
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

    /// The same of a single word's counts, by column.
    #[inline(always)]
    fn places_of_counts(&self, counts: u32) -> [u32; 4] {
        let shown = byte_permute(counts, 0, self.shown);
        let halo = warp::warp_shuffle_idx(warp::FULL, shown, self.neighbour, 32).0;
        // The lower half of the product is not wanted, and multiplies what is in registers anyway.
        let a = [counts, self.tables[2], halo, self.tables[0]];
        let [first, second] = self.matrix.map(|matrix| multiply_add_u8(a, matrix, self.address));
        [first[0], first[1], second[0], second[1]]
    }

    /// The windows of a row from the lane's columns, to element `at`. `own` has the cells that the windows are around.
    #[inline(always)]
    fn write_row<const SIDE: usize, const MODE: Mode, const GROUPS: usize>(
        &self,
        columns: &Columns<GROUPS>,
        (start, norm): (M::Entry, M::Result),
        own: Cells,
        at: isize,
    ) {
        let mut sums = [start; 4];
        let mut norms = [norm; 4];
        if MODE == COUNTED {
            let counts = self.places_of_counts(columns.none);
            let marks = own.marks(self.tables);
            let mut k = 0;
            while k < 4 {
                let address = counts[k];
                sums[k] = self.table.load_address(address + pair_rows(SIDE) * ROW);
                norms[k] = self.measure.of_address(sums[k], address, self.left, marks, [0, 2, 1, 3][k]);
                k += 1;
            }
        }
        let mut p = 0;
        while p < PAIRS * GROUPS {
            let pairs = columns.pairs[p / PAIRS];
            let addresses = self.addresses(pairs[p % PAIRS], pairs[p % PAIRS + 1]);
            let mut k = 0;
            while k < 4 {
                // The table holds −F. Two lookups at a time: two additions are one instruction.
                let of = |i: usize| self.table.load_address(addresses[k / 2][i + k % 2]);
                sums[k] = M::add(M::add(sums[k], of(0)), of(2));
                k += 1;
            }
            p += 2;
        }

        let h = self.measure.results(sums, norms);
        let inside = |x: i32| x + 4 <= self.right;
        let other = if self.lane.is_multiple_of(2) { self.x + 4 } else { self.x - 4 };
        M::store_row(self.out, at, h, Halves { own: inside(self.x), other: inside(other) });
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn tensor<const SIDE: usize, const MODE: Mode, const GROUPS: usize, M: Norms>(
    cells: In<u8>,
    out: Out<M::Result>,
    table: In<M::Entry>,
    (rows, cols, stride): (u32, u32, u32),
    (first, count, out_stride): (u32, u32, u32),
    nodata: u32,
    rows_each: u32,
    measure: M,
    (found, records): (In<u32>, u32),
) {
    if !admits(found, records, if MODE == COUNTED { nodata } else { NOTHING }) {
        return;
    }
    let shared = shared::dynamic::<u32>();
    // Eight threads a row, four words each.
    let mut at = thread::thread_idx_x();
    while at < tensor_rows(SIDE) * 8 {
        let row = at / 8;
        let (n1, n2) = (row % radix(SIDE), row / radix(SIDE));
        // Rows that no window reaches are filled too: no unwritten memory is read.
        let words = if row >= pair_rows(SIDE) {
            M::row(M::negated(table.load((tensor_rows(SIDE) - 1 - row) as usize)))
        } else if n1 + n2 <= full(SIDE) {
            M::row(M::add(table.load(n1 as usize), table.load(n2 as usize)))
        } else {
            [0; 4]
        };
        shared.store4(4 * at, words);
        at += thread::block_dim_x();
    }
    thread::sync_threads();

    let near = shared.cast::<M::Entry>();
    let lane = warp::lane_id();
    // In a quad the first lane fetches from its left, the last from its right.
    let (is_first, is_last) = (lane.is_multiple_of(4), lane % 4 == 3);
    let neighbour = lane.wrapping_add(u32::from(is_last)).wrapping_sub(u32::from(is_first)) & 31;
    // ptxas copies a word that it knows to be one into four registers before each product, and constants into registers
    // before each permutation. It does not see through shuffles, and keeps their results.
    let address = [0, 1, 2, 3].map(|i| warp::warp_shuffle_xor(warp::FULL, lane_address::<M>(near, lane ^ i), i, 32).0);
    let tables = tables(SIDE).map(|word| warp::warp_shuffle_xor(warp::FULL, word ^ lane, 1, 32).0 ^ lane ^ 1);
    let (begin, end, reach) = (first as i32, (first + count) as i32, (SIDE / 2) as u32);
    let frame = Frame::new(begin, end, rows as i32, cols as i32, reach as i32);
    // Where no cell of a window is left, the address makes 0 of it.
    let all = address[0] + full(SIDE) * ROW;
    let strip = Strip {
        cells,
        out,
        table: near,
        matrix: [band(lane, 0, reach), band(lane, 1, reach)],
        rows: rows as i32,
        cols: cols as i32,
        right: frame.right,
        stride,
        out_row: -begin,
        out_stride,
        nodata,
        marking: Marking::new::<GROUPS>(nodata),
        measure,
        // Addresses are below 2^17, and the multiplier has 7 bits: no product is rounded.
        left: Left { none: all, product: -MULTIPLIER * f32::from_bits(all) },
        lane,
        neighbour,
        // The last lane's upper two columns are near the next quad, the first lane's lower two near the one before.
        shown: if is_last { 0x7531 } else { 0x6420 },
        address,
        tables,
        x: 0,
    };
    let rows_each = rows_each.max(1);
    let columns = ((frame.right - 2).max(0) as u32).div_ceil(TENSOR_COLS).max(1);
    let units = ((frame.bottom - frame.top).max(0) as u32).div_ceil(rows_each) * columns;
    // The shuffle tells ptxas that all lanes have the same.
    let mut unit = warp::warp_shuffle_idx(warp::FULL, thread::index_x() / 32, 0, 32).0;
    while unit < units {
        // Warps side by side take strips side by side: their rows are neighbours in memory.
        let (band, column) = (unit / columns, unit % columns);
        let here = Strip { x: (column * TENSOR_COLS + 4 * lane) as i32, ..strip };
        let begin = frame.top + (band * rows_each) as i32;
        let end = (begin + rows_each as i32).min(frame.bottom);
        here.march::<SIDE, MODE, GROUPS>(begin, end);
        unit += thread::grid_dim_x() * (thread::block_dim_x() / 32);
    }
    // Last, because warps take different times here.
    frame.compute::<SIDE, MODE, GROUPS, _>(&strip);
}
