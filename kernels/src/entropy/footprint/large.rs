//! Windows of more columns: the bits of rows are in shared memory, and a block has them together.
//!
//! ```text
//! a block owns 128 columns and marches down, 16 rows of results at a time:
//!     its warps make bits of the next 16 rows of cells, a row a warp, in place of those that no window sees any longer
//!     each warp counts for two rows of results: for every eight rows of the window, and every 32 columns
//!         products of these bits, of eight classes, with the window's rows, shifted for 8 neighbouring results
//! ```
//!
//! Rows of A and columns of B are as in [`strip`](super::strip), but that a region is 32 results: words of bits are used as they lie, and four groups of eight
//! results share what is loaded, each with the window's rows shifted by another number of columns. So a product takes half a word from shared memory, and the tensor
//! cores are what is waited for. Of eight classes at a time, since 64 sums are as many as fit registers beside the rest.
//!
//! Eight rows and 32 columns of a window that have none of its cells, as in the corners of a disk, are left out.

use simt::global::{In, Out};
use simt::math::{funnel_shift_right, reciprocal_fast};
use simt::mma::multiply_add_b1;
use simt::shared::Shared;
use simt::{four, thread, unroll, warp};

use super::super::one_sum::OneSum;
use super::super::units::Unit;
use super::FOOTPRINT_BATCH;
use super::strip::NONE;

/// Pairs of classes that are counted at a time.
const AT_ONCE: usize = 4;
/// The pair of valid cells, behind those of classes.
const VALID: u32 = 8;

/// Words of a row of bits of one class: 128 columns and the halo.
pub const fn words(halo: u32) -> u32 {
    4 + 2 * halo
}

/// Words of a row of bits of all classes and of valid cells, so that four rows lie in different banks.
pub const fn row_words(halo: u32) -> u32 {
    let all = 18 * words(halo);
    all + (40 - all % 32) % 32
}

/// Words of a row of the window: [`halo`] words before the first of a region's columns and as many behind, and one that is empty.
pub const fn window_words(halo: u32) -> u32 {
    2 * halo + 2
}

/// Rows of the window that are counted at a time.
const CHUNK: u32 = 8;

/// Chunks of a window of so many rows: two rows of results see one more.
pub const fn chunks(rows: u32) -> u32 {
    (rows + 1).div_ceil(CHUNK)
}

/// A block and its columns.
#[derive(Clone, Copy)]
pub struct Strip<const HALO: usize> {
    pub cells: In<u8>,
    pub out: Out<f32>,
    /// −Q(n), and behind it, in a finer unit, that of up to `finer` cells.
    pub table: Shared<u32>,
    pub finer: u32,
    pub finer_scale: f32,
    /// Rows of the window, the one above the first first, and which parts of chunks have cells.
    pub window: Shared<u32>,
    pub parts: Shared<u32>,
    /// Bits of rows of cells.
    pub bits: Shared<u32>,
    /// How many rows there are.
    pub slots: u32,
    /// Cells of the window.
    pub full: u32,
    pub window_rows: u32,
    pub rows: i32,
    pub cols: i32,
    pub stride: u32,
    /// Row of `out` that is row 0 of the grid.
    pub out_row: i32,
    pub out_stride: u32,
    pub nodata: u32,
    pub sum: OneSum,
    /// Groups of 16 classes.
    pub groups: u32,
    pub lane: u32,
    pub warp: u32,
    /// The first column.
    pub x: i32,
}

/// What a warp counts: of four groups of eight results, of pairs of classes, for two rows.
type Counts<const PAIRS: usize> = [[[u32; 4]; PAIRS]; 4];

impl<const HALO: usize> Strip<HALO> {
    const WORDS: u32 = words(HALO as u32);
    const ROW: u32 = row_words(HALO as u32);
    const WINDOW: u32 = window_words(HALO as u32);

    /// The results of a unit, class by class sixteen at a time. All threads of the block call it.
    #[inline(always)]
    pub fn march_groups(&self, work: &Unit) {
        let mut group = 0;
        while group < self.groups {
            self.march(work, group);
            group += 1;
        }
    }

    #[inline(always)]
    fn march(&self, work: &Unit, group: u32) {
        let warps = thread::block_dim_x() / 32;
        let counts = self.nodata <= 255 || !work.inside;
        let first = work.begin - (self.window_rows / 2) as i32;
        // Rows of cells that have been made bits of, from `first` on, and where the next one goes.
        let (mut made, mut slot) = (self.warp, self.warp);
        let mut wanted = self.window_rows + FOOTPRINT_BATCH - 1;
        let (mut y, mut top) = (work.begin, 2 * self.warp);
        while y < work.end {
            while made < wanted {
                self.make_bits(first + made as i32, slot, group);
                made += warps;
                slot += warps;
                slot = slot.min(slot.wrapping_sub(self.slots));
            }
            thread::sync_threads();
            let own = y + 2 * self.warp as i32;
            if own < work.end {
                self.write_rows(top, own, work.end, counts, group);
            }
            thread::sync_threads();
            wanted += FOOTPRINT_BATCH;
            y += FOOTPRINT_BATCH as i32;
            top += FOOTPRINT_BATCH;
            top = top.min(top.wrapping_sub(self.slots));
        }
    }

    /// Makes the bits of a row of cells.
    #[inline(always)]
    fn make_bits(&self, row: i32, slot: u32, group: u32) {
        let ballot = |is_set: bool| warp::warp_vote_ballot(warp::FULL, is_set);
        let is_row = row >= 0 && row < self.rows;
        let from = row.max(0).min(self.rows - 1) as usize * self.stride as usize;
        let (pair, parity) = (self.lane / 2, self.lane % 2);
        let flip = |plane: u32, bit: u32| if self.lane & bit != 0 { plane } else { !plane };
        let mut word = 0;
        while word < Self::WORDS {
            let col = self.x - 32 * HALO as i32 + (32 * word + self.lane) as i32;
            let cell = u32::from(self.cells.load(from + col.max(0).min(self.cols - 1) as usize));
            let is_there = is_row && col >= 0 && col < self.cols && cell != self.nodata;
            let cell = if is_there { cell } else { NONE };
            let planes = [1, 2, 4, 8].map(|bit| flip(ballot(cell & bit != 0), bit));
            let own = ballot(cell >> 4 == group);
            let valid = ballot(cell != NONE);
            let of_class = planes[0] & planes[1] & planes[2] & planes[3] & own;
            if self.lane < 18 {
                let bits = if pair == VALID { valid } else { of_class };
                self.bits.store(slot * Self::ROW + pair * 2 * Self::WORDS + 2 * word + parity, bits);
            }
            word += 1;
        }
    }

    /// The counts of `PAIRS` pairs of classes from `pair` on, in the windows whose first row is in slot `top`.
    #[inline(always)]
    fn counts<const PAIRS: usize>(&self, top: u32, pair: u32) -> Counts<PAIRS> {
        let (g, t) = (self.lane / 4, self.lane % 4);
        let mut counts = [[[0; 4]; PAIRS]; 4];
        let own = pair * 2 * Self::WORDS + g;
        let mut slot = top + t;
        let mut chunk = 0;
        while chunk < chunks(self.window_rows) {
            let place = |slot: u32| 4 * (slot.min(slot.wrapping_sub(self.slots)) * Self::ROW + own);
            let halves = [place(slot), place(slot + 4)];
            // Rows for the upper result and the lower one, of both halves.
            let row = 4 * (CHUNK * chunk + t + 1) * Self::WINDOW;
            let rows = [row, row - 4 * Self::WINDOW, row + 16 * Self::WINDOW, row + 12 * Self::WINDOW];
            let load = |word: u32| rows.map(|row| self.window.load_at(row + 4 * word));
            let mut low = load(0);
            unroll!(K in 0 1 2 3 4 5 6 => {
                if K < 2 * HALO + 1 {
                    let high = load(K as u32 + 1);
                    if self.parts.load(chunk * Self::WINDOW + K as u32) != 0 {
                        let mut bits = [[0; 2]; PAIRS];
                        four!(P => {
                            if P < PAIRS {
                                let word = 4 * (P as u32 * 2 * Self::WORDS + 2 * K as u32);
                                bits[P % PAIRS] = halves.map(|half| self.bits.load_at(half + word));
                            }
                        });
                        four!(J => {
                            let by = 31 - 8 * J as u32 - g;
                            let mut shifted = [0; 4];
                            four!(R => { shifted[R] = funnel_shift_right(low[R], high[R], by); });
                            four!(P => {
                                if P < PAIRS {
                                    counts[J][P % PAIRS] = multiply_add_b1(shifted, bits[P % PAIRS], counts[J][P % PAIRS]);
                                }
                            });
                        });
                    }
                    low = high;
                }
            });
            slot += CHUNK;
            slot = slot.min(slot.wrapping_sub(self.slots));
            chunk += 1;
        }
        counts
    }

    /// The warp's windows of row `y`, whose first row is in slot `top`, and the one below it, where that is before `end`. With `has_missing` valid cells are counted.
    #[inline(always)]
    fn write_rows(&self, top: u32, y: i32, end: i32, has_missing: bool, group: u32) {
        let mut cells = [[self.full; 2]; 4];
        let mut tables = [[0; 2]; 4];
        if has_missing {
            let counts = self.counts::<1>(top, VALID);
            four!(J => {
                unroll!(R in 0 1 => {
                    cells[J][R] = counts[J][0][2 * R];
                    tables[J][R] = if self.is_fine(cells[J][R]) { self.full + 1 } else { 0 };
                });
            });
        }
        let mut sums = [[0u32; 2]; 4];
        let mut pair = 0;
        while pair < VALID {
            let counts = self.counts::<AT_ONCE>(top, pair);
            four!(J => {
                four!(P => {
                    unroll!(R in 0 1 => {
                        // The table holds −Q.
                        let of = |n: u32| self.table.load(tables[J][R] + n);
                        sums[J][R] = sums[J][R].wrapping_add(of(counts[J][P][2 * R])).wrapping_add(of(counts[J][P][2 * R + 1]));
                    });
                });
            });
            pair += AT_ONCE as u32;
        }
        let is_last = group + 1 == self.groups;
        let (g, t) = (self.lane / 4, self.lane % 4);
        let waiting = self.out.cast::<u32>();
        let first = (y + self.out_row) as usize * self.out_stride as usize;
        four!(J => {
            let x = self.x + (32 * t + 8 * J as u32 + g) as i32;
            let inside = [x < self.cols, x < self.cols && y + 1 < end];
            let at = [first + x as usize, first + self.out_stride as usize + x as usize];
            if group > 0 {
                unroll!(R in 0 1 => {
                    sums[J][R] = sums[J][R].wrapping_add(if inside[R] { waiting.load(at[R]) } else { 0 });
                });
            }
            if is_last {
                let (mut alls, mut norms) = ([1; 4], [1.0; 4]);
                unroll!(R in 0 1 => {
                    alls[R] = self.table.load(tables[J][R] + cells[J][R]).wrapping_neg();
                    sums[J][R] = sums[J][R].wrapping_add(alls[R]);
                    let scale = if self.is_fine(cells[J][R]) { self.finer_scale } else { self.sum.scale };
                    let sum = OneSum { scale, ..self.sum };
                    norms[R] = sum.norm::<false>(alls[R], reciprocal_fast(cells[J][R] as f32));
                });
                let results = self.sum.results_of_large([sums[J][0], sums[J][1], 0, 0], alls, norms);
                unroll!(R in 0 1 => {
                    if inside[R] {
                        let centre = self.cells.load((y as usize + R) * self.stride as usize + x as usize);
                        let is_missing = u32::from(centre) == self.nodata;
                        self.out.store(at[R], if is_missing { f32::NAN } else { results[R] });
                    }
                });
            } else {
                unroll!(R in 0 1 => {
                    if inside[R] {
                        waiting.store(at[R], sums[J][R]);
                    }
                });
            }
        });
    }

    /// Whether so many cells have the finer table.
    #[inline(always)]
    fn is_fine(&self, cells: u32) -> bool {
        self.finer > 0 && cells <= self.finer
    }
}
