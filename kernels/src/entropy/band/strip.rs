//! What one warp does with a strip: it marches down the rows.

use simt::global::{In, Out};
use simt::mma::multiply_add_u8;
use simt::shared::Shared;
use simt::{unroll, warp};

use super::super::lane_table::ROW;
use super::super::measure::Measure;
use super::super::selectors::Selectors;
use super::super::units::Unit;
use super::super::{equal_bytes, load_cells};
use super::counts::{Columns, Weights};
use super::ring::Ring;

/// Columns before a region's first that its words begin with.
const HALO: u32 = 16;

/// The band matrices of a lane, by half of the results and by half of the columns: the lane of group g has the results 4g .. 4g + 4 of a region, two a
/// product.
#[inline(always)]
pub fn bands(lane: u32, radius: u32) -> [[[u32; 4]; 2]; 2] {
    let (g, t) = (lane / 4, lane % 4);
    let word = |result: u32, first: u32| {
        let near = |i: u32| u32::from((first + i).wrapping_sub(result + HALO).wrapping_add(radius) <= 2 * radius) * ROW;
        near(0) | near(1) << 8 | near(2) << 16 | near(3) << 24
    };
    let band = |half: u32, block: u32| {
        let (result, first) = (4 * g + 2 * half, 32 * block + 4 * t);
        [word(result, first), word(result + 1, first), word(result, first + 16), word(result + 1, first + 16)]
    };
    [[band(0, 0), band(0, 1)], [band(1, 0), band(1, 1)]]
}

/// A warp and its strip.
#[derive(Clone, Copy)]
pub struct Strip<M: Measure> {
    pub cells: In<u8>,
    /// The word where the grid's first cell is.
    pub origin: usize,
    /// Rows and columns that are there: all that windows see of what is computed.
    pub seen: (i32, i32),
    pub out: Out<M::Result>,
    /// −Q(n), a row of words for each n.
    pub table: Shared<M::Entry>,
    pub ring: Ring,
    pub weights: Weights,
    /// See [`bands`].
    pub bands: [[[u32; 4]; 2]; 2],
    /// The address of the lane's word in the table's first row, four times.
    pub address: [u32; 4],
    pub radius: i32,
    pub rows: i32,
    pub cols: i32,
    pub stride: u32,
    /// Row and column of `out` that are row and column 0 of the grid.
    pub out_row: i32,
    pub out_col: i32,
    pub out_stride: u32,
    pub nodata: u32,
    pub measure: M,
    pub lane: u32,
    /// The strip's first column: a multiple of 4.
    pub x: i32,
}

impl<M: Measure> Strip<M> {
    /// The same for another measure of the same sums.
    #[inline(always)]
    pub fn with_measure<N: Measure<Entry = M::Entry, Result = M::Result>>(self, measure: N) -> Strip<N> {
        let Self { cells, origin, seen, out, table, ring, weights, bands, address, radius, .. } = self;
        let Self { rows, cols, stride, out_row, out_col, out_stride, nodata, lane, x, .. } = self;
        Strip {
            cells,
            origin,
            seen,
            out,
            table,
            ring,
            weights,
            bands,
            address,
            radius,
            rows,
            cols,
            stride,
            out_row,
            out_col,
            out_stride,
            nodata,
            measure,
            lane,
            x,
        }
    }

    /// The two words of a row that the lane loads: their first columns.
    #[inline(always)]
    fn loaded(&self) -> [i32; 2] {
        [self.lane, 32 + self.lane % 8].map(|word| self.x - HALO as i32 + 4 * word as i32)
    }

    /// The results of a unit, class by class sixteen at a time.
    #[inline(always)]
    pub fn march_groups<const NODATA: bool>(&self, work: &Unit) {
        if !M::GROUPED {
            return self.march_unit::<NODATA>(work);
        }
        let mut groups = self.measure.groups();
        while groups.current < groups.count {
            Self { measure: self.measure.of_groups(groups), ..*self }.march_unit::<NODATA>(work);
            groups.current += 1;
        }
    }

    #[inline(always)]
    fn march_unit<const NODATA: bool>(&self, work: &Unit) {
        if work.inside {
            self.march::<false, NODATA>(work.begin, work.end);
        } else {
            self.march::<true, NODATA>(work.begin, work.end);
        }
    }

    /// The results of rows `begin..end`. Without `EDGE` their windows are inside the grid. With `NODATA` valid cells are counted.
    #[inline(always)]
    fn march<const EDGE: bool, const NODATA: bool>(&self, begin: i32, end: i32) {
        let r = self.radius;
        let pitch = (self.stride / 4) as usize;
        // Right of the grid any cells may be loaded without `EDGE`: no window that is kept has them.
        let words = self.loaded().map(|x| x.max(0).min((self.seen.1 - 1) / 4 * 4) as usize / 4);
        let mut row = begin - r;
        let mut at = self.origin.wrapping_add(row.max(0) as usize * pitch);
        let mut load = || {
            let cells = if EDGE {
                self.loaded()
                    .map(|x| load_cells((self.cells, self.origin), self.seen, self.stride, (row, x), self.nodata))
            } else {
                words.map(|word| self.cells.cast::<u32>().load(at + word))
            };
            row += 1;
            // Below them the last row again, which no window that is kept has.
            at += if row < self.seen.0 { pitch } else { 0 };
            cells
        };
        // Nodata in each byte, and which bits of a comparison with that count.
        let (nodata, compared) = if self.nodata <= 255 { (self.nodata * 0x0101_0101, u32::MAX) } else { (0, 0) };
        let pack = |cells: [u32; 2]| {
            if M::GROUPED {
                let missing = |word: u32| if !EDGE && NODATA { equal_bytes(word, nodata) & compared } else { 0 };
                cells.map(|word| Selectors::of_group(word | missing(word), self.measure.groups().first_class()))
            } else if !EDGE && NODATA {
                cells.map(|word| Selectors::new::<true>(word | equal_bytes(word, nodata) & compared))
            } else if EDGE {
                cells.map(Selectors::new::<true>)
            } else {
                cells.map(Selectors::new::<false>)
            }
        };

        // What is in the ring of the rows before has been read.
        warp::sync_warp(warp::FULL);
        let mut slot = 0;
        let mut columns = Columns::EMPTY;
        self.ring.store(slot, pack(load()));
        let mut ahead = load();
        warp::sync_warp(warp::FULL);
        let mut grown = 0;
        while grown < 2 * r + 1 {
            let next = self.ring.next(slot);
            self.ring.store(next, pack(ahead));
            ahead = load();
            columns.grow::<NODATA>(&self.weights, &self.ring.load(slot), M::GROUPED);
            slot = next;
            grown += 1;
            warp::sync_warp(warp::FULL);
        }

        let full = (2 * r + 1) * (2 * r + 1);
        // For full windows.
        let all = self.all_of(full as u32 * ROW);
        let norms = (all, self.measure.norm(all, full as u32 * ROW));
        // The lane's results: of region t those of group g.
        let (g, t) = (self.lane / 4, self.lane % 4);
        let x = self.x + (32 * t + 4 * g) as i32;
        let mut at = (begin + self.out_row) as isize * self.out_stride as isize + (x + self.out_col) as isize;
        let mut y = begin;
        loop {
            self.write_row::<EDGE, NODATA>(&columns, norms, (y, x), slot, at as usize);
            y += 1;
            // Here, and not at the loop's head, and what enters is stored before the columns slide: so the compiler does not make one-hots while there
            // are lookups left, for which it has no registers.
            if y >= end {
                return;
            }
            at += self.out_stride as isize;
            let next = self.ring.next(slot);
            let oldest = self.ring.next(next);
            let (entering, leaving) = (self.ring.load(slot), self.ring.load(oldest));
            self.ring.store(next, pack(ahead));
            ahead = load();
            columns.slide::<NODATA>(&self.weights, &entering, &leaving, M::GROUPED);
            slot = next;
            warp::sync_warp(warp::FULL);
        }
    }

    /// Sums of the columns' words over the windows of two results, and addresses in the table: of the levels of both parities, for one result after the
    /// other.
    #[inline(always)]
    fn addresses(&self, [a, b, c, d]: [u32; 4], half: usize) -> [u32; 4] {
        let left = multiply_add_u8(self.bands[half][0], [a, b], self.address);
        multiply_add_u8(self.bands[half][1], [c, d], left)
    }

    /// Q(N) of windows of so many cells, given as bytes of rows of the table.
    #[inline(always)]
    fn all_of(&self, cells: u32) -> M::Entry {
        M::negated(self.table.load_address(cells + self.address[0]))
    }

    /// The lane's windows of row `y`, to element `at`. `slot` has the row below them.
    #[inline(always)]
    fn write_row<const EDGE: bool, const NODATA: bool>(
        &self,
        columns: &Columns,
        (start, norm): (M::Entry, M::Result),
        (y, x): (i32, i32),
        slot: u32,
        at: usize,
    ) {
        let (mut all, mut cells) = ([start; 4], [0; 4]);
        if NODATA {
            let counted = [self.addresses(columns.valid, 0), self.addresses(columns.valid, 1)];
            unroll!(I in 0 1 2 3 => { cells[I] = counted[I / 2][I % 2 * 2] - self.address[0]; });
        } else if EDGE {
            let inside = |at: i32, len: i32| (at + self.radius).min(len - 1) - (at - self.radius).max(0) + 1;
            let height = inside(y, self.rows);
            unroll!(I in 0 1 2 3 => { cells[I] = (height * inside(x + I as i32, self.cols)).max(0) as u32 * ROW; });
        }
        if EDGE || NODATA {
            unroll!(I in 0 1 2 3 => { all[I] = self.all_of(cells[I]); });
        }
        // Of groups the first begins with Q(N), and others go on.
        let mut sums = self.measure.waiting(self.out, x < self.cols, at).unwrap_or(all);
        unroll!(K in 0 1 2 3 4 5 6 7 => {
            let found = [self.addresses(columns.levels[K], 0), self.addresses(columns.levels[K], 1)];
            unroll!(HALF in 0 1 => {
                let found = found[HALF];
                unroll!(I in 0 1 => {
                    // The table holds −Q. Two lookups at a time: two additions are one instruction.
                    let of = |address: u32| self.table.load_address(address);
                    sums[2 * HALF + I] = M::add(M::add(sums[2 * HALF + I], of(found[2 * I])), of(found[2 * I + 1]));
                });
            });
        });
        if self.measure.wait(self.out, x < self.cols, at, sums) {
            return;
        }
        let mut norms = [norm; 4];
        if EDGE || NODATA {
            // Not before the lookups: so ptxas takes fewer instructions for the loop without either.
            unroll!(I in 0 1 2 3 => { norms[I] = self.measure.norm(all[I], cells[I]); });
        }
        let mut h = self.measure.results(sums, norms);
        if NODATA {
            let centres = self
                .ring
                .word(self.ring.back(slot, self.radius as u32 + 1), HALO / 4 + 8 * (self.lane % 4) + self.lane / 4);
            let centres = if M::GROUPED { centres.missing() } else { centres.none() };
            unroll!(I in 0 1 2 3 => {
                if centres & 8 << (4 * I) != 0 {
                    h[I] = M::NAN;
                }
            });
        }
        M::store(self.out, x < self.cols, at, h);
    }
}
