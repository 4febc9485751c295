//! Down the rows of a tile, from cells to the counts of each window.

use simt::bits::dot4;
use simt::global::In;
use simt::shared::Shared;
use simt::{shared, thread, warp};

use super::codes::{Classes, Sweep};
use super::counters::{Column, Prefix, add, add_column, slide, total};
use super::{COLUMNS_THREADS, COLUMNS_WIDTH, WARPS};
use crate::entropy::{NOTHING, equal_bytes, load_cells};

shared! {
    /// Prefixes: 16-byte quarter q (0 or 1) of column 4t + j at element 4·((4q + j)·threads + t).
    static COLUMNS_PREFIX: [u32; 8 * 1024];
    /// Every warp's sum over its 128 columns.
    static COLUMNS_TOTALS: [u32; 8 * 8];
}

/// What becomes of windows' counts.
pub trait Finish: Copy {
    /// Takes the counts of 16 classes in four neighbouring windows and, with those of the last ones, writes the results.
    fn row(self, windows: &Windows<'_>);
}

/// Four neighbouring windows of a row, and which of their classes have been counted.
#[derive(Clone, Copy)]
pub struct Windows<'a> {
    pub frame: &'a Frame,
    /// The cell around which the first one lies.
    pub y: i32,
    pub x: i32,
    /// Its element of the results.
    pub at: usize,
    /// No classes came before these, or none will come after.
    pub is_first: bool,
    pub is_last: bool,
    /// The codes of the four cells, nodata being 255.
    pub centres: u32,
    store: Shared<u32>,
    /// Prefixes of valid cells, where these classes are not all.
    valid: Option<Valid>,
    /// N is counted, and not what the grid's edges leave.
    nodata: bool,
    /// Rows of the windows.
    height: u32,
}

impl Windows<'_> {
    /// How often each class occurs in window `k`, and how many valid cells that has.
    #[inline(always)]
    pub fn window(&self, k: u32) -> (Prefix, u32) {
        let r = self.frame.size / 2;
        let column = 4 * thread::thread_idx_x() + k;
        // The halo is wider than r.
        let (last, before) = (column + r, column - r - 1);
        let mut counts = load_prefix(self.store, place(last));
        let less = load_prefix(self.store, place(before));
        let mut w = 0;
        while w < 8 {
            counts[w] = counts[w].wrapping_sub(less[w]);
            w += 1;
        }
        let n = match self.valid {
            Some(valid) => valid.upto(last) - valid.upto(before),
            None if self.nodata => total(&counts),
            None => {
                let (x, r) = (self.x + k as i32, r as i32);
                self.height * ((x + r + 1).min(self.frame.cols) - (x - r).max(0)).max(1) as u32
            }
        };
        (counts, n)
    }

    /// Whether the cell around which window `k` lies is no nodata.
    #[inline(always)]
    pub fn is_valid(&self, k: u32) -> bool {
        self.centres >> (8 * k) & 0xFF != 0xFF
    }
}

/// Columns of a block beside those that it writes, on either side: more than half a window, and a multiple of 4.
#[inline(always)]
fn halo(size: u32) -> u32 {
    (size / 2 + 1).div_ceil(4) * 4
}

/// The grid, the rows to compute and the window, as they come to the kernel.
#[derive(Clone, Copy)]
pub struct Frame {
    pub cells: In<u8>,
    pub rows: i32,
    pub cols: i32,
    pub stride: u32,
    pub first: i32,
    pub out_stride: u32,
    pub size: u32,
    pub nodata: u32,
    /// The rows of this block.
    pub begin: i32,
    pub end: i32,
}

impl Frame {
    /// Row by · `rows_each` and on of the `count` from `first`, by being the block's.
    #[inline(always)]
    pub fn of_block(
        cells: In<u8>,
        (rows, cols, stride): (u32, u32, u32),
        (first, count, out_stride): (u32, u32, u32),
        size: u32,
        nodata: u32,
        rows_each: u32,
    ) -> Self {
        let begin = (first + thread::block_idx_y() * rows_each) as i32;
        Self {
            cells,
            rows: rows as i32,
            cols: cols as i32,
            stride,
            first: first as i32,
            out_stride,
            size,
            nodata,
            begin,
            end: (begin + rows_each as i32).min((first + count) as i32),
        }
    }
}

/// A prefix's place in shared memory, in elements, low half first.
#[inline(always)]
fn place(column: u32) -> u32 {
    4 * (column % 4 * COLUMNS_THREADS + column / 4)
}

/// From the low half of a prefix to its high half.
const HIGH: u32 = 16 * COLUMNS_THREADS;

#[inline(always)]
fn load_prefix(store: Shared<u32>, low: u32) -> Prefix {
    let [a, b, c, d] = store.load4(low);
    let [e, f, g, h] = store.load4(low + HIGH);
    [a, b, c, d, e, f, g, h]
}

/// Which of a word's bytes are no nodata: 1 or 0 in each.
#[inline(always)]
fn valid_bytes(codes: u32) -> u32 {
    !equal_bytes(codes, NOTHING) & 0x0101_0101
}

/// Valid cells of a thread's four columns and of the columns before them: where a sweep does not see all classes.
#[derive(Clone, Copy)]
struct Valid {
    /// A byte for each column.
    columns: u32,
    /// Of all columns up to one, column 4t + j at element j·threads + t; the sums of the warps behind them.
    store: Shared<u32>,
}

impl Valid {
    #[inline(always)]
    fn total(&self, w: u32) -> u32 {
        self.store.load(COLUMNS_WIDTH + w)
    }

    #[inline(always)]
    fn upto(&self, column: u32) -> u32 {
        self.store.load(column % 4 * COLUMNS_THREADS + column / 4)
    }
}

impl Frame {
    /// Four cells as counters take them.
    #[inline(always)]
    fn load<const NODATA: bool, const MANY: bool>(&self, sweep: &Sweep, y: i32, x: i32) -> u32 {
        let nodata = if NODATA { self.nodata } else { 256 };
        if MANY {
            if y < 0 || y >= self.rows || x < 0 || x >= self.cols {
                return NOTHING;
            }
            let codes = sweep.codes(self.word(y, x), nodata);
            return codes | if x + 4 > self.cols { NOTHING << (8 * (self.cols - x)) } else { 0 };
        }
        load_cells(self.cells, (self.rows, self.cols), self.stride, (y, x), nodata)
    }

    /// Four cells of a row as they are.
    #[inline(always)]
    fn word(&self, y: i32, x: i32) -> u32 {
        self.cells.cast::<u32>().load((y as usize * self.stride as usize + x as usize) / 4)
    }

    /// The grid column of the thread's first cell.
    #[inline(always)]
    fn column(&self) -> i32 {
        let halo = halo(self.size);
        (thread::block_idx_x() * (COLUMNS_WIDTH - 2 * halo) + 4 * thread::thread_idx_x()) as i32 - halo as i32
    }

    /// Numbers the classes of the tile.
    #[inline(always)]
    fn classes(&self, levels: u32) -> Classes {
        // Nothing else lies there yet.
        let flags = shared::array::<COLUMNS_PREFIX>();
        Classes::clear(flags);
        let own = flags.slice(256 * (thread::thread_idx_x() / 32), 256);
        let (r, x) = ((self.size / 2) as i32, self.column());
        let bytes = if x < 0 { 0 } else { self.cols - x };
        let (mut y, end) = ((self.begin - r).max(0), (self.end + r).min(self.rows));
        while y < end {
            Classes::note(own, if bytes > 0 { self.word(y, x) } else { 0 }, bytes);
            y += 1;
        }
        Classes::number(flags, levels, self.nodata)
    }

    /// Computes the tile, of up to 16 classes that are their own codes.
    #[inline(always)]
    pub fn march_few<F: Finish, const NODATA: bool>(&self, finish: F) {
        let nothing = shared::dynamic::<u32>().slice(0, 0);
        self.sweep::<F, NODATA, false>(finish, &Sweep::only(), nothing, (true, true));
    }

    /// Computes the tile, of any classes below `levels`; `valid` has room for the counts of valid cells.
    #[inline(always)]
    pub fn march_many<F: Finish, const NODATA: bool>(&self, finish: F, levels: u32, valid: Shared<u32>) {
        let classes = self.classes(levels);
        let mut sweep = 0;
        while sweep < classes.sweeps {
            let turn = (sweep == 0, sweep + 1 == classes.sweeps);
            self.sweep::<F, NODATA, true>(finish, &classes.sweep(sweep), valid, turn);
            // The last row's prefixes and codes have been read when the next sweep makes others.
            thread::sync_threads();
            sweep += 1;
        }
    }

    /// Counts 16 classes down the tile's rows: the (first, last) ones or not.
    #[inline(always)]
    fn sweep<F: Finish, const NODATA: bool, const MANY: bool>(
        &self,
        finish: F,
        sweep: &Sweep,
        valid: Shared<u32>,
        turn: (bool, bool),
    ) {
        let store = shared::array::<COLUMNS_PREFIX>();
        let totals = shared::array::<COLUMNS_TOTALS>();
        let t = thread::thread_idx_x();
        let (lane, in_block) = (warp::lane_id(), t / 32);
        let r = (self.size / 2) as i32;
        let halo = halo(self.size);
        let x = self.column();
        // Threads in the halo and beyond the grid have no output.
        let writes = 4 * t >= halo && 4 * t < COLUMNS_WIDTH - halo && x < self.cols;

        let mut columns: [Column; 4] = [[0; 4]; 4];
        let mut valid = Valid { columns: 0, store: valid };
        let mut row = self.begin - r;
        while row < self.begin + r {
            let entering = self.load::<NODATA, MANY>(sweep, row, x);
            let mut k = 0;
            while k < 4 {
                slide(&mut columns[k], entering, NOTHING, k as u32, sweep.base);
                k += 1;
            }
            valid.columns += if NODATA && MANY { valid_bytes(entering) } else { 0 };
            row += 1;
        }

        let mut y = self.begin;
        while y < self.end {
            let entering = self.load::<NODATA, MANY>(sweep, y + r, x);
            // The first window has nothing to lose.
            let above = if y == self.begin { -1 } else { y - r - 1 };
            let leaving = self.load::<NODATA, MANY>(sweep, above, x);
            let mut sums: [Prefix; 4] = [[0; 8]; 4];
            let mut running: Prefix = [0; 8];
            let mut k = 0;
            while k < 4 {
                slide(&mut columns[k], entering, leaving, k as u32, sweep.base);
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
            let (mut own_valid, mut all_valid) = (0, 0);
            if NODATA && MANY {
                valid.columns += valid_bytes(entering);
                valid.columns -= valid_bytes(leaving);
                own_valid = dot4(valid.columns, 0x0101_0101, 0);
                all_valid = own_valid;
                let mut delta = 1;
                while delta < 32 {
                    let (below, inside) = warp::warp_shuffle_up(warp::FULL, all_valid, delta, 32);
                    all_valid += if inside { below } else { 0 };
                    delta *= 2;
                }
            }
            if lane == 31 {
                totals.store4(in_block * 8, [running[0], running[1], running[2], running[3]]);
                totals.store4(in_block * 8 + 4, [running[4], running[5], running[6], running[7]]);
                if NODATA && MANY {
                    valid.store.store(COLUMNS_WIDTH + in_block, all_valid);
                }
            }
            // What the warps before hold: lanes 0..8 add up one word each, then tell the others. This
            // barrier also lets the row before be read to its end before the store changes.
            thread::sync_threads();
            let mut before = 0u32;
            let mut w = 0;
            while w < WARPS - 1 {
                let total = totals.load(w * 8 + lane % 8);
                before = before.wrapping_add(if w < in_block { total } else { 0 });
                if NODATA && MANY {
                    all_valid += if w < in_block { valid.total(w) } else { 0 };
                }
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
                if NODATA && MANY {
                    let upto = dot4(valid.columns, 0x0101_0101 >> (24 - 8 * k as u32), 0);
                    valid.store.store(k as u32 * COLUMNS_THREADS + t, all_valid - own_valid + upto);
                }
                k += 1;
            }
            thread::sync_threads();
            if writes {
                self.row::<F, NODATA, MANY>(finish, sweep, store, &valid, (y, x), turn);
            }
            y += 1;
        }
    }

    /// The four windows around row `y` and the columns `x`.., which are 4t.. of the block.
    #[inline(always)]
    fn row<F: Finish, const NODATA: bool, const MANY: bool>(
        &self,
        finish: F,
        sweep: &Sweep,
        store: Shared<u32>,
        valid: &Valid,
        (y, x): (i32, i32),
        (is_first, is_last): (bool, bool),
    ) {
        let r = (self.size / 2) as i32;
        finish.row(&Windows {
            frame: self,
            y,
            x,
            at: (y - self.first) as usize * self.out_stride as usize + x as usize,
            is_first,
            is_last,
            centres: if NODATA && is_last { self.load::<NODATA, MANY>(sweep, y, x) } else { 0 },
            store,
            valid: if NODATA && MANY { Some(*valid) } else { None },
            nodata: NODATA,
            height: ((y + r + 1).min(self.rows) - (y - r).max(0)) as u32,
        });
    }
}
