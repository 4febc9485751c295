//! Column histograms and their prefix sums along the row: any window for the price of one, up to 16 levels.
//!
//! ```text
//! a block owns 4·threads neighbouring columns, each thread 4 of them; it marches down the rows.
//! for every row:
//!     each column's histogram of the `size` rows around:  C += onehot(entering) − onehot(leaving)
//!     P(x) = Σ C over the columns up to x                 (in the thread, the warp, the block)
//!     window histogram of x = P(x + r) − P(x − r − 1)
//!     H = (F(N) − Σ F(n_i)) / N
//! ```
//!
//! After Perreault and Hébert (2007), whose window histogram slides sideways, one add and one subtract of a
//! column histogram a cell. Threads cannot slide sideways one after another; prefix sums give each its window
//! at once, and their cost does not depend on the size either.
//!
//! A column's histogram is 16 counters of 8 bits in four words (255 rows fit), a prefix 16 of 16 bits
//! in eight. Prefixes may wrap: a window has at most 65,025 cells, so the difference is right, and a
//! borrow out of the low half of a word is paid back by the carry that made it.
//!
//! F is looked up 16 times a cell. With random counts 32 lanes would meet in the same banks, so the
//! table is kept `copies` times, element by element, and lane l reads copy l modulo `copies`:
//! with 32 copies there is no conflict.

use simt::bits::{byte_permute, dot4, reciprocal_fast, shift_left_clamped};
use simt::global::{In, Out};
use simt::shared::Shared;
use simt::{kernel, shared, thread, warp};

use super::load_cells;

/// Threads of a block.
pub const COLUMNS_THREADS: u32 = 256;
/// Columns of a block, its halo included: it writes `COLUMNS_WIDTH` − (`size` − 1) of them.
pub const COLUMNS_WIDTH: u32 = 4 * COLUMNS_THREADS;
/// The most levels that [`entropy_columns`](fn@entropy_columns) counts.
pub const COLUMNS_LEVELS: u32 = 16;

const WARPS: u32 = COLUMNS_THREADS / 32;

shared! {
    /// Prefixes: 16-byte quarter q (0 or 1) of column 4t + j at element 4·((4q + j)·threads + t).
    static COLUMNS_PREFIX: [u32; 8 * 1024];
    /// Every warp's sum over its 128 columns.
    static COLUMNS_TOTALS: [u32; 8 * 8];
}

/// 16 counters of 8 bits: level 4w + b in byte b of word w.
type Column = [u32; 4];
/// 16 counters of 16 bits: word 2w holds levels 4w and 4w + 2, word 2w + 1 levels 4w + 1 and 4w + 3.
type Prefix = [u32; 8];

/// Cell `k` of four packed ones as a histogram of one; nothing for a cell that is 255.
#[inline(always)]
fn one_hot(cells: u32, k: u32) -> Column {
    let eight = 8 << (8 * k);
    let mut words = [0; 4];
    let mut w = 0;
    while w < 4 {
        words[w] = shift_left_clamped(1, dot4(cells, eight, 0u32.wrapping_sub(32 * w as u32)));
        w += 1;
    }
    words
}

#[inline(always)]
fn add_column(prefix: &mut Prefix, column: Column) {
    let mut w = 0;
    while w < 4 {
        prefix[2 * w] = prefix[2 * w].wrapping_add(byte_permute(column[w], 0, 0x4240));
        prefix[2 * w + 1] = prefix[2 * w + 1].wrapping_add(byte_permute(column[w], 0, 0x4341));
        w += 1;
    }
}

#[inline(always)]
fn add(a: &mut Prefix, b: &Prefix) {
    let mut w = 0;
    while w < 8 {
        a[w] = a[w].wrapping_add(b[w]);
        w += 1;
    }
}

#[inline(always)]
fn load_prefix(store: Shared<u32>, low: u32, high: u32) -> Prefix {
    let [a, b, c, d] = store.load4(low);
    let [e, f, g, h] = store.load4(high);
    [a, b, c, d, e, f, g, h]
}

/// Element of the store at which the low half of the prefix up to column `column` of the block begins.
#[inline(always)]
fn place(column: u32) -> u32 {
    4 * (column % 4 * COLUMNS_THREADS + column / 4)
}

/// From the low half of a prefix to its high half.
const HIGH: u32 = 16 * COLUMNS_THREADS;

/// The table F as a lane sees it: its own copy in shared memory, or the one in global memory.
#[derive(Clone, Copy)]
struct Table<const NEAR: bool> {
    near: Shared<u32>,
    far: In<u32>,
    /// Bytes from an entry to the next.
    step: u32,
    /// The lane's byte offset in an entry.
    lane: u32,
}

impl<const NEAR: bool> Table<NEAR> {
    #[inline(always)]
    fn f(self, n: u32) -> u32 {
        if NEAR { self.near.load_at(n * self.step + self.lane) } else { self.far.load(n as usize) }
    }

    /// `start` − Σ F(n_i).
    #[inline(always)]
    fn rest(self, start: u32, window: &Prefix) -> u32 {
        let mut sum = 0u32;
        let mut w = 0;
        while w < 8 {
            sum = sum.wrapping_add(self.f(window[w] & 0xFFFF)).wrapping_add(self.f(window[w] >> 16));
            w += 1;
        }
        start.wrapping_sub(sum)
    }
}

/// The grid, the rows to compute and the window, as they come to the kernel.
#[derive(Clone, Copy)]
struct Frame {
    cells: In<u8>,
    out: Out<f32>,
    rows: i32,
    cols: i32,
    stride: u32,
    first: i32,
    out_stride: u32,
    size: u32,
    nodata: u32,
    scale: f32,
    /// The rows of this block.
    begin: i32,
    end: i32,
}

impl Frame {
    #[inline(always)]
    fn load<const NODATA: bool>(&self, y: i32, x: i32) -> u32 {
        let nodata = if NODATA { self.nodata } else { 256 };
        load_cells(self.cells, (self.rows, self.cols), self.stride, (y, x), nodata)
    }

    #[inline(always)]
    fn march<const NEAR: bool, const NODATA: bool>(&self, table: Table<NEAR>) {
        let store = shared::array::<COLUMNS_PREFIX>();
        let totals = shared::array::<COLUMNS_TOTALS>();
        let t = thread::thread_idx_x();
        let (lane, in_block) = (warp::lane_id(), t / 32);
        let r = (self.size / 2) as i32;
        let halo = (self.size / 2).div_ceil(4) * 4;
        // The grid column of the thread's first cell.
        let x = (thread::block_idx_x() * (COLUMNS_WIDTH - 2 * halo) + 4 * t) as i32 - halo as i32;
        // Threads in the halo and beyond the grid have no output.
        let writes = 4 * t >= halo && 4 * t < COLUMNS_WIDTH - halo && x < self.cols;

        let mut columns: [Column; 4] = [[0; 4]; 4];
        let mut row = self.begin - r;
        while row < self.begin + r {
            let entering = self.load::<NODATA>(row, x);
            let mut k = 0;
            while k < 4 {
                let new = one_hot(entering, k as u32);
                let mut w = 0;
                while w < 4 {
                    columns[k][w] += new[w];
                    w += 1;
                }
                k += 1;
            }
            row += 1;
        }

        let mut y = self.begin;
        while y < self.end {
            let entering = self.load::<NODATA>(y + r, x);
            // The first window has nothing to lose.
            let above = if y == self.begin { -1 } else { y - r - 1 };
            let leaving = self.load::<NODATA>(above, x);
            let mut sums: [Prefix; 4] = [[0; 8]; 4];
            let mut running: Prefix = [0; 8];
            let mut k = 0;
            while k < 4 {
                let (new, old) = (one_hot(entering, k as u32), one_hot(leaving, k as u32));
                let mut w = 0;
                while w < 4 {
                    columns[k][w] = columns[k][w].wrapping_add(new[w]).wrapping_sub(old[w]);
                    w += 1;
                }
                add_column(&mut running, columns[k]);
                sums[k] = running;
                k += 1;
            }
            // Inclusive scan over the warp of what each thread's four columns hold.
            let own = running;
            let mut delta = 1;
            while delta < 32 {
                let mut w = 0;
                while w < 8 {
                    let (below, inside) = warp::warp_shuffle_up(warp::FULL, running[w], delta, 32);
                    running[w] = running[w].wrapping_add(if inside { below } else { 0 });
                    w += 1;
                }
                delta *= 2;
            }
            if lane == 31 {
                totals.store4(in_block * 8, [running[0], running[1], running[2], running[3]]);
                totals.store4(in_block * 8 + 4, [running[4], running[5], running[6], running[7]]);
            }
            // What the warps before hold: lanes 0..8 add up one word each, then tell the others. This
            // barrier also lets the row before be read to its end before the store changes.
            thread::sync_threads();
            let mut before = 0u32;
            let mut w = 0;
            while w < WARPS - 1 {
                let total = totals.load(w * 8 + lane % 8);
                before = before.wrapping_add(if w < in_block { total } else { 0 });
                w += 1;
            }
            let mut w = 0;
            while w < 8 {
                let (all, _) = warp::warp_shuffle_idx(warp::FULL, before, w as u32, 32);
                running[w] = running[w].wrapping_sub(own[w]).wrapping_add(all);
                w += 1;
            }
            let mut k = 0;
            while k < 4 {
                add(&mut sums[k], &running);
                let at = 4 * (k as u32 * COLUMNS_THREADS + t);
                store.store4(at, [sums[k][0], sums[k][1], sums[k][2], sums[k][3]]);
                store.store4(at + HIGH, [sums[k][4], sums[k][5], sums[k][6], sums[k][7]]);
                k += 1;
            }
            thread::sync_threads();
            if writes {
                self.write_row::<NEAR, NODATA>(table, store, 4 * t, x, y);
            }
            y += 1;
        }
    }

    /// The four windows centred on row `y` and the columns `x`.., which are `first`.. of the block.
    #[inline(always)]
    fn write_row<const NEAR: bool, const NODATA: bool>(
        &self,
        table: Table<NEAR>,
        store: Shared<u32>,
        first: u32,
        x: i32,
        y: i32,
    ) {
        let r = self.size / 2;
        let height = ((y + r as i32 + 1).min(self.rows) - (y - r as i32).max(0)) as u32;
        let centres = if NODATA { self.load::<NODATA>(y, x) } else { 0 };
        let mut h = [0.0; 4];
        let mut k = 0;
        while k < 4 {
            let column = first + k as u32;
            let high = place(column + r);
            let mut window = load_prefix(store, high, high + HIGH);
            // Before the block's first column there is nothing.
            let low = place((column - r).max(1) - 1);
            let before = load_prefix(store, low, low + HIGH);
            let mut w = 0;
            while w < 8 {
                window[w] = window[w].wrapping_sub(if column == r { 0 } else { before[w] });
                w += 1;
            }
            let n = if NODATA {
                // The halves cannot overflow: all counters together are at most 65,025.
                let both = window.into_iter().fold(0, u32::wrapping_add);
                ((both & 0xFFFF) + (both >> 16)).max(1)
            } else {
                let x = x + k as i32;
                height * ((x + r as i32 + 1).min(self.cols) - (x - r as i32).max(0)).max(1) as u32
            };
            h[k] = table.rest(table.f(n), &window) as f32 * (reciprocal_fast(n as f32) * self.scale);
            if NODATA && centres >> (8 * k) & 0xFF == 0xFF {
                h[k] = f32::NAN;
            }
            k += 1;
        }
        self.out.store4((y - self.first) as usize * self.out_stride as usize + x as usize, h);
    }
}

/// Entropy of a `size` × `size` window, up to 16 levels, in blocks of [`COLUMNS_THREADS`] threads.
///
/// Block (bx, by) computes the `COLUMNS_WIDTH − 2·halo` columns from bx · that on, halo being size / 2 rounded up
/// to a multiple of 4, and the rows by · `rows_each`.. of the `count`. `table` holds F(n) for n = 0..=size² in units of
/// 1/S, and `scale` multiplies by what is wanted over S. `copies` (a power of two up to 32) copies of
/// the table lie in dynamic shared memory, 4 bytes an entry; 0 leaves it in global memory.
///
/// # Safety
/// As [`entropy_naive`](fn@super::entropy_naive); besides, `cells` is aligned to 4 bytes and `stride` is a multiple of
/// 4, `out` to 16 bytes and `out_stride` is a multiple of 4 and at least `cols` rounded up to one; cells are below 16
/// or equal to `nodata`; the launch has the block size and the shared memory above.
#[kernel(threads = 256, blocks = 2)]
pub unsafe fn entropy_columns(
    cells: In<u8>,
    out: Out<f32>,
    table: In<u32>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    out_stride: u32,
    size: u32,
    nodata: u32,
    copies: u32,
    rows_each: u32,
    scale: f32,
) {
    let near = shared::dynamic::<u32>();
    let entries = size * size + 1;
    let mut n = thread::thread_idx_x();
    while n < entries * copies {
        // The maximum tells the compiler that it never divides by 0.
        near.store(n, table.load((n / copies.max(1)) as usize));
        n += COLUMNS_THREADS;
    }
    let begin = (first + thread::block_idx_y() * rows_each) as i32;
    let frame = Frame {
        cells,
        out,
        rows: rows as i32,
        cols: cols as i32,
        stride,
        first: first as i32,
        out_stride,
        size,
        nodata,
        scale,
        begin,
        end: (begin + rows_each as i32).min((first + count) as i32),
    };
    // The first barrier of the march comes before the table is read.
    let lane = (warp::lane_id() & copies.wrapping_sub(1)) * 4;
    let (step, far) = (copies * 4, table);
    match (copies > 0, nodata <= 255) {
        (true, false) => frame.march::<true, false>(Table { near, far, step, lane }),
        (true, true) => frame.march::<true, true>(Table { near, far, step, lane }),
        (false, false) => frame.march::<false, false>(Table { near, far, step, lane }),
        (false, true) => frame.march::<false, true>(Table { near, far, step, lane }),
    }
}
