//! What one warp does with 32 columns: it marches down, two rows at a time.

use simt::global::{In, Out};
use simt::math::{funnel_shift_right, reciprocal_fast};
use simt::mma::multiply_add_b1;
use simt::shared::Shared;
use simt::{unroll, warp};

use super::super::lane_table::ROW;
use super::super::one_sum::OneSum;
use super::super::units::Unit;
use super::FOOTPRINT_HALO;

/// Columns of results of a warp.
pub const STRIP: u32 = 32;
/// Bytes of shared memory for each place of a row.
pub const PLACE: u32 = 64;
/// A cell that is none: above all classes.
pub const NONE: u32 = 255;
/// Pairs of classes, and the pair of valid cells behind them.
const PAIRS: usize = 8;

/// Bits of rows of cells, those that a lane has of them: of class 2k + parity and the region's 32 columns, in the lane's row of each half of a chunk of
/// eight rows. That is the B fragment of a product as it is.
#[derive(Clone, Copy)]
struct Bits<const CHUNKS: usize>([[[u32; 2]; PAIRS + 1]; CHUNKS]);

/// Bits of two rows' cells: of the codes' four lowest bits, whether it is a class of the group, and whether it is valid; of the 64 columns from the strip's halo on.
type Planes = [[[u32; 2]; 6]; 2];

/// A warp and its columns.
#[derive(Clone, Copy)]
pub struct Strip<const CHUNKS: usize> {
    pub cells: In<u8>,
    pub out: Out<f32>,
    /// −Q(n), a row of words for each n.
    pub table: Shared<u32>,
    /// See [`shift`](super::shift): of a result, and of the one below it.
    pub window: Shared<u64>,
    /// The lane's word of the table's first row.
    pub address: u32,
    /// Cells of the window.
    pub full: u32,
    /// Rows of the window above the centre, and as many below.
    pub reach: i32,
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
    /// The first column: a multiple of [`STRIP`].
    pub x: i32,
}

impl<const CHUNKS: usize> Strip<CHUNKS> {
    const PLACES: u32 = 8 * CHUNKS as u32;

    /// The results of a unit, class by class sixteen at a time.
    #[inline(always)]
    pub fn march_groups(&self, work: &Unit) {
        if work.inside && self.nodata > 255 && self.groups == 1 {
            return self.march::<false>(work, 0);
        }
        let mut group = 0;
        while group < self.groups {
            self.march::<true>(work, group);
            group += 1;
        }
    }

    /// The lane's cells of two rows, in the 64 columns from the halo on.
    #[inline(always)]
    fn load<const ANY: bool>(&self, row: i32, from: [usize; 2], cols: [i32; 2], inside: bool) -> [[u32; 2]; 2] {
        [0, 1].map(|r| {
            cols.map(|col| {
                // What is outside the grid is not counted, or no window that is kept has it.
                let cell = u32::from(self.cells.load(from[r] + col.max(0).min(self.cols - 1) as usize));
                let row = row + r as i32;
                let is_there = inside || (row >= 0 && row < self.rows && col >= 0 && col < self.cols);
                if ANY && (!is_there || cell == self.nodata) { NONE } else { cell }
            })
        })
    }

    /// The bits of cells. Without `ANY` all of them are classes of the first group.
    #[inline(always)]
    fn planes<const ANY: bool>(&self, cells: [[u32; 2]; 2], group: u32) -> Planes {
        let ballot = |is_set: bool| warp::warp_vote_ballot(warp::FULL, is_set);
        cells.map(|words| {
            let bit = |n: u32| words.map(|cell| ballot(cell & (1 << n) != 0));
            let (own, valid) = if ANY {
                (words.map(|cell| ballot(cell >> 4 == group)), words.map(|cell| ballot(cell != NONE)))
            } else {
                ([u32::MAX; 2], [u32::MAX; 2])
            };
            [bit(0), bit(1), bit(2), bit(3), own, valid]
        })
    }

    /// Two rows enter, at `place` and the one behind it, which is even.
    #[inline(always)]
    fn enter<const ANY: bool>(&self, bits: &mut Bits<CHUNKS>, place: u32, [first, second]: Planes) {
        let (region, parity, t) = (self.lane / 8, self.lane / 4 % 2, self.lane % 4);
        let has_second = t % 2 != 0;
        let window = |plane: usize| {
            let [low, high] = if has_second { second[plane] } else { first[plane] };
            funnel_shift_right(low, high, 8 * region)
        };
        let flip = |plane: u32, is_set: bool| if is_set { plane } else { !plane };
        let lowest = window(0) ^ (if parity == 0 { u32::MAX } else { 0 });
        let lowest = if ANY { lowest & window(4) } else { lowest };
        let [second, third, fourth] = [window(1), window(2), window(3)];
        let mut words = [0; PAIRS + 1];
        unroll!(K in 0 1 2 3 4 5 6 7 => {
            words[K] = lowest & flip(second, K & 1 != 0) & flip(third, K & 2 != 0) & flip(fourth, K & 4 != 0);
        });
        if ANY {
            words[PAIRS] = window(5);
        }
        let is_mine = place % 4 / 2 == t / 2;
        unroll!(C in 0 1 2 3 => {
            if C < CHUNKS {
                unroll!(HALF in 0 1 => {
                    if place / 4 == (2 * C + HALF) as u32 {
                        unroll!(K in 0 1 2 3 4 5 6 7 8 => {
                            if K < PAIRS || ANY {
                                let there = &mut bits.0[C % CHUNKS][K][HALF];
                                *there = if is_mine { words[K] } else { *there };
                            }
                        });
                    }
                });
            }
        });
    }

    /// The results of the unit's rows. With `ANY` cells may be outside the grid, nodata, or of another group than the one that is counted.
    #[inline(always)]
    fn march<const ANY: bool>(&self, work: &Unit, group: u32) {
        let (g, t) = (self.lane / 4, self.lane % 4);
        let (stride, last) = (self.stride as usize, self.rows - 1);
        let cols = [0, 32].map(|word| self.x - FOOTPRINT_HALO as i32 + word + self.lane as i32);
        let mut row = work.begin - self.reach;
        // Where a row begins, and the next one; below the grid the last one again.
        let mut from = row.max(0) as usize * stride;
        let mut load = || {
            let below = if row >= 0 && row < last { stride } else { 0 };
            let cells = self.load::<ANY>(row, [from, from + below], cols, work.inside);
            from += below + if row + 1 >= 0 && row + 1 < last { stride } else { 0 };
            row += 2;
            cells
        };
        let mut bits = Bits([[[0; 2]; PAIRS + 1]; CHUNKS]);
        // Where rows enter, and where the first row is that the upper result's window sees.
        let (mut place, mut top, mut entered) = (0, 0, 0);
        let next = |place: u32| if place + 2 == Self::PLACES { 0 } else { place + 2 };
        let mut ahead = load();
        let window = self.window.address() + Self::PLACES * PLACE + PLACE * t + 8 * g;
        let x = self.x + (8 * t + g) as i32;
        let mut y = work.begin;
        let mut at = (y + self.out_row) as isize * self.out_stride as isize + x as isize;
        // Of windows that have all their cells.
        let all = self.lookup(self.full).wrapping_neg();
        let full = (all, self.sum.norm::<false>(all, reciprocal_fast(self.full as f32)));
        loop {
            let planes = self.planes::<ANY>(ahead, group);
            ahead = load();
            self.enter::<ANY>(&mut bits, place, planes);
            place = next(place);
            // Those above a window's last one.
            if entered < self.reach {
                entered += 1;
                continue;
            }
            self.write_rows::<ANY>(&bits, window - PLACE * top, full, (y, x), work.end, at as usize, group);
            top = next(top);
            y += 2;
            at += 2 * self.out_stride as isize;
            if y >= work.end {
                return;
            }
        }
    }

    /// How many cells of a pair of classes the lane's windows have: of the upper one both classes', and of the lower one.
    #[inline(always)]
    fn counts(&self, windows: &[[u32; 4]; CHUNKS], bits: &Bits<CHUNKS>, pair: usize) -> [u32; 4] {
        let mut counts = [0; 4];
        unroll!(C in 0 1 2 3 => {
            if C < CHUNKS {
                counts = multiply_add_b1(windows[C % CHUNKS], bits.0[C % CHUNKS][pair], counts);
            }
        });
        counts
    }

    /// −Q(n).
    #[inline(always)]
    fn lookup(&self, n: u32) -> u32 {
        self.table.load_address(n * ROW + self.address)
    }

    /// The lane's windows of row `y`, to element `at`, and the one below it, where that is before `end`.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn write_rows<const ANY: bool>(
        &self,
        bits: &Bits<CHUNKS>,
        window: u32,
        (all, norm): (u32, f32),
        (y, x): (i32, i32),
        end: i32,
        at: usize,
        group: u32,
    ) {
        let mut windows = [[0; 4]; CHUNKS];
        unroll!(C in 0 1 2 3 => {
            if C < CHUNKS {
                let rows = |half: u32| {
                    let both: u64 = self.window.load_address(window + (8 * C as u32 + 4 * half) * PLACE);
                    [both as u32, (both >> 32) as u32]
                };
                let ([a, b], [c, d]) = (rows(0), rows(1));
                windows[C % CHUNKS] = [a, b, c, d];
            }
        });
        // Of groups the first begins with Q(N), and others go on.
        let (mut all, mut norms) = ([all; 2], [norm; 2]);
        if ANY {
            let counts = self.counts(&windows, bits, PAIRS);
            unroll!(R in 0 1 => {
                let cells = counts[2 * R];
                all[R] = self.lookup(cells).wrapping_neg();
                norms[R] = self.sum.norm::<false>(all[R], reciprocal_fast(cells as f32));
            });
        }
        let inside = [x < self.cols, x < self.cols && y + 1 < end];
        let at = [at, at + self.out_stride as usize];
        let waiting = self.out.cast::<u32>();
        let mut sums = all;
        if group > 0 {
            unroll!(R in 0 1 => { sums[R] = if inside[R] { waiting.load(at[R]) } else { 0 }; });
        }
        unroll!(K in 0 1 2 3 4 5 6 7 => {
            let counts = self.counts(&windows, bits, K);
            unroll!(R in 0 1 => {
                // The table holds −Q.
                sums[R] = sums[R].wrapping_add(self.lookup(counts[2 * R])).wrapping_add(self.lookup(counts[2 * R + 1]));
            });
        });
        if group + 1 < self.groups {
            unroll!(R in 0 1 => {
                if inside[R] {
                    waiting.store(at[R], sums[R]);
                }
            });
            return;
        }
        let results = self.sum.results::<false>([sums[0], sums[1], 0, 0], [norms[0], norms[1], 1.0, 1.0]);
        unroll!(R in 0 1 => {
            if inside[R] {
                let mut result = results[R];
                if ANY && self.nodata <= 255 {
                    let centre = self.cells.load((y as usize + R) * self.stride as usize + x as usize);
                    result = if u32::from(centre) == self.nodata { f32::NAN } else { result };
                }
                self.out.store(at[R], result);
            }
        });
    }
}
