//! What results take besides sums: how many cells of a window count, from the address at which F of them is looked up, without a lookup of its own; and how a row of
//! them is written.

use simt::global::Out;
use simt::math::{byte_permute, fused_multiply_add, reciprocal_fast};
use simt::warp;

use super::super::measure::{Double, Measure, Single};
use super::super::words_of;
use super::ROW;

/// What the bits of addresses are multiplied by, −127 · 2^120: the upper bytes are those of [`Cells::marks`](super::cells::Cells::marks).
pub const MULTIPLIER: f32 = f32::from_bits(0xFEFE_0000);
/// What a cell of the window is of the product: a row of the table, as the bits of an f32, times the multiplier. Every N is multiplied by
/// this before its reciprocal is taken, so that the way in which it has been found changes no bit.
pub const PER_CELL: f32 = -MULTIPLIER * f32::from_bits(ROW);

/// The row of Q(N) of windows of which no cell is left.
#[derive(Clone, Copy)]
pub struct Left {
    /// The address of the lane's word in it: a row less for each cell that is left.
    pub none: u32,
    /// What is added to an address times `MULTIPLIER` for N · `PER_CELL`.
    pub product: f32,
}

/// Which results of a row are wanted, but for those of the outermost lanes that lack neighbours.
#[derive(Clone, Copy)]
pub struct Halves {
    /// The lane's.
    pub own: bool,
    /// Those of the other lane of the two that differ in the lowest bit.
    pub other: bool,
}

/// A measure with norms of these windows.
pub trait Norms: Measure {
    /// The norm of windows of `n` cells, by Q(N).
    fn of_cells(self, all: Self::Entry, n: u32) -> Self::Result;

    /// The same by the address of Q(N), and [`Cells::marks`](super::cells::Cells::marks) of the window's own cell, which is at byte `at` of `marks`.
    fn of_address(self, all: Self::Entry, address: u32, left: Left, marks: u32, at: u32) -> Self::Result;

    /// How many elements behind a lane's first result those begin that it writes.
    fn shift(lane: u32) -> isize;

    /// Writes the four results of each lane where `halves` says so: `at` is the lane's first element, and what [`shift`](Self::shift) says. All lanes of the
    /// warp call it, and lanes side by side have results side by side.
    fn store_row(out: Out<Self::Result>, at: isize, results: [Self::Result; 4], halves: Halves);
}

/// Its scale is for the reciprocal of N · `PER_CELL`.
impl<const SHANNON: bool> Norms for Single<SHANNON, false> {
    #[inline(always)]
    fn of_cells(self, all: u32, n: u32) -> f32 {
        self.sum().norm::<SHANNON>(all, reciprocal_fast(n as f32 * PER_CELL))
    }

    #[inline(always)]
    fn of_address(self, all: u32, address: u32, left: Left, marks: u32, at: u32) -> f32 {
        // Of a cell that is nodata it is not a number, and so is the product.
        let multiplier = f32::from_bits(byte_permute(marks, 0, 0x44 + 0x1100 * at));
        let cells = fused_multiply_add(f32::from_bits(address), multiplier, left.product);
        self.sum().norm::<SHANNON>(all, reciprocal_fast(cells))
    }

    #[inline(always)]
    fn shift(lane: u32) -> isize {
        2 * isize::from(lane == 0)
    }

    #[inline(always)]
    fn store_row(out: Out<f32>, at: isize, h: [f32; 4], halves: Halves) {
        let lane = warp::lane_id();
        // The outermost lanes have only half of their neighbours.
        let is_edge = lane == 0 || lane == 31;
        let half = if lane == 0 { [h[2], h[3]] } else { [h[0], h[1]] };
        // Negative only where nothing is stored.
        let at = at as usize;
        out.store4_if(halves.own && !is_edge, at, h);
        out.store2_if(halves.own && is_edge, at, half);
    }
}

impl Norms for Double<false> {
    #[inline(always)]
    fn of_cells(self, all: u64, n: u32) -> f64 {
        self.norm(all, n * ROW)
    }

    #[inline(always)]
    fn of_address(self, all: u64, address: u32, left: Left, marks: u32, at: u32) -> f64 {
        // The lowest bit of a mark. Without a valid cell the norm is not a number.
        let valid = marks >> (8 * at) & 1 == 0;
        self.norm(all, if valid { left.none - address } else { 0 })
    }

    #[inline(always)]
    fn shift(lane: u32) -> isize {
        // The first lane's elements begin four before those of the second.
        -2 * (lane % 2) as isize
    }

    #[inline(always)]
    fn store_row(out: Out<f64>, at: isize, results: [f64; 4], halves: Halves) {
        let lane = warp::lane_id();
        // The first lane's first two results and the last lane's last two lack neighbours: each is the half that the lane writes itself.
        let own = halves.own && lane != 0 && lane != 31;
        let is_second = lane % 2 == 1;
        let [a, b, c, d] = results.map(f64::to_bits);
        let (low, high) = (words_of(a, b), words_of(c, d));
        // Two lanes side by side write the 32 bytes of the first together, then those of the second: a lane's own 32 bytes in two accesses would be half a sector
        // each, which takes memory a fifth longer.
        let (kept, given) = if is_second { (high, low) } else { (low, high) };
        let got = given.map(|word| warp::warp_shuffle_xor(warp::FULL, word, 1, 32).0);
        let (first, second) = if is_second { (got, kept) } else { (kept, got) };
        let stores = if is_second { [halves.other, own] } else { [own, halves.other] };
        let at = 2 * at as usize;
        out.cast::<u32>().store4_if(stores[0], at, first);
        out.cast::<u32>().store4_if(stores[1], at + 8, second);
    }
}
