//! The operations on tiles: the three loops within a pivot, and the min-plus product, which takes nearly all of the time.
//!
//! The product keeps two vectors each of a few rows of the result in registers while it goes through all k of a pass: for each, two
//! loads of the right factor serve all rows, one load of the left factor serves both vectors, and an addition and a minimum for each vector
//! follow. The arithmetic units are always busy, and loads are few enough to hide. Meanwhile the first cells of the next rows and the next
//! columns are prefetched, since the hardware prefetcher does not predict them. One generic body is compiled for every vector; without
//! any, a few rows in the cache take two k at a time, which compilers vectorise as far as they can.
//!
//! The left factor comes *replicated*: each cell as often as 32 bits hold it ([`Lanes::replicate`](super::vector::Lanes::replicate)). The right
//! one comes as a *panel*: as many columns as the product takes at once, row k of them contiguous with row k - 1.

#[cfg(target_arch = "x86_64")]
use super::vector::{Lanes, Vector};
use crate::apsp::{Distance, SIDE};
use crate::isa::Isa;
#[cfg(target_arch = "x86_64")]
use crate::isa::Kind;

/// Cells of a tile.
pub(super) const CELLS: usize = SIDE * SIDE;
/// The most k that a product goes through.
pub(super) const DEPTH: usize = 256;
/// A row of a left factor.
pub(super) type Left = [u32; DEPTH];

type Close<T> = unsafe fn(&mut [T; CELLS]);
type Product<T> = unsafe fn(&mut [T], usize, &[Left], &[T]);

/// The operations for one instruction set, which the machine has.
#[derive(Clone, Copy)]
pub(super) struct Operations<T> {
    close: Close<T>,
    product: Product<T>,
    /// Rows of a product are a multiple of this, which is a power of two, 8 at most.
    pub rows: usize,
    /// Columns of a panel: a power of two, [`SIDE`] at most.
    pub cols: usize,
}

/// Rows that the portable product takes at once.
const ROWS: usize = 8;

impl<T: Distance> Operations<T> {
    pub fn of(isa: Isa) -> Self {
        match isa.kind() {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => operations_avx512::<T::Avx512>(),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => operations_avx2::<T::Avx2>(),
            _ => Self { close: close_portable, product: product_portable, rows: ROWS, cols: SIDE },
        }
    }

    /// Floyd's three loops within a tile.
    pub fn close(&self, tile: &mut [T; CELLS]) {
        // SAFETY: an `Isa` is one that the machine has.
        unsafe { (self.close)(tile) }
    }

    /// Each cell of `c` becomes the least of itself and, for any k, `a` (i, k) + `b` (k, j). `c` begins with the first cell of the
    /// result, whose rows are `pitch` apart; there are as many as `a` has. `b` is a panel.
    pub fn product(&self, c: &mut [T], pitch: usize, a: &[Left], b: &[T]) {
        assert!(a.len().is_multiple_of(self.rows) && b.len().is_multiple_of(self.cols * SIDE));
        assert!(b.len() <= self.cols * DEPTH && pitch >= self.cols && c.len() + pitch >= a.len() * pitch + self.cols);
        // SAFETY: an `Isa` is one that the machine has; the rows of the result lie in `c`, and `b` has no more k than `a`.
        unsafe { (self.product)(c, pitch, a, b) }
    }
}

fn close_portable<T: Distance>(tile: &mut [T; CELLS]) {
    let (rows, _) = tile.as_chunks_mut::<SIDE>();
    for k in 0..SIDE {
        // Row k does not change in step k, because the diagonal is 0.
        let pivot = rows[k];
        for row in &mut *rows {
            let via = row[k];
            for (cell, on) in row.iter_mut().zip(pivot) {
                *cell = cell.nearer(via.plus(on));
            }
        }
    }
}

fn product_portable<T: Distance>(c: &mut [T], pitch: usize, a: &[Left], b: &[T]) {
    for (a, top) in a.as_chunks::<ROWS>().0.iter().zip((0..).step_by(ROWS * pitch)) {
        // Rows of a matrix may fall in the same cache sets; these do not.
        let mut rows: [[T; SIDE]; ROWS] = std::array::from_fn(|r| {
            let row = &c[top + r * pitch..][..SIDE];
            row.try_into().expect("as long")
        });
        for (k, [on0, on1]) in b.as_chunks::<SIDE>().0.as_chunks::<2>().0.iter().enumerate() {
            // Each row once, then the next two k: what is stored is not read again at once.
            for (row, a) in rows.iter_mut().zip(a) {
                let [via0, via1] = [a[2 * k], a[2 * k + 1]].map(T::first_lane);
                for ((cell, &on0), &on1) in row.iter_mut().zip(on0).zip(on1) {
                    *cell = cell.nearer(via0.plus(on0).nearer(via1.plus(on1)));
                }
            }
        }
        for (r, row) in rows.iter().enumerate() {
            c[top + r * pitch..][..SIDE].copy_from_slice(row);
        }
    }
}

/// # Safety
/// The machine has the instructions of `V`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn close<V: Vector>(tile: &mut [V::Cell; CELLS])
where
    V::Cell: Lanes,
{
    for k in 0..SIDE {
        for left in (0..SIDE).step_by(V::LANES * 2) {
            // Row k does not change in step k, because the diagonal is 0.
            // SAFETY: k is a row, and from `left` on there are two vectors in it.
            let pivot = unsafe { load2::<V>(tile.as_ptr().add(k * SIDE + left)) };
            for i in 0..SIDE {
                // Column k does not change either.
                // SAFETY: i is a row as well. The caller says that there are the instructions.
                unsafe {
                    let via = V::splat(tile[i * SIDE + k].replicate());
                    let to = tile.as_mut_ptr().add(i * SIDE + left);
                    let row = load2::<V>(to);
                    for (v, (row, on)) in row.into_iter().zip(pivot).enumerate() {
                        row.nearer(via.plus(on)).store(to.add(v * V::LANES));
                    }
                }
            }
        }
    }
}

/// # Safety
/// The machine has the instructions of `V`, and there are two vectors at `from`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn load2<V: Vector>(from: *const V::Cell) -> [V; 2] {
    // SAFETY: as the caller says.
    unsafe { [V::load(from), V::load(from.add(V::LANES))] }
}

/// Prefetches the line at an address into the second-level cache, if there is memory.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch<T>(at: *const T) {
    use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
    // SAFETY: every x86-64 has the instruction, and a prefetch has no visible effect.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) };
}

/// # Safety
/// The machine has the instructions of `V`. In `c` there are as many rows as in `a`, `pitch` apart, and in each two vectors; `b` has no
/// more than [`DEPTH`] k, an even number.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn product<V: Vector, const ROWS: usize>(c: &mut [V::Cell], pitch: usize, a: &[Left], b: &[V::Cell]) {
    const LINE: usize = 64;
    let panel = 2 * V::LANES;
    let (groups, _) = a.as_chunks::<ROWS>();
    // The next panel follows this one. With a line of it prefetched every two k, the first few groups of rows fetch it.
    let mut ahead: *const u8 = b.as_ptr_range().end.cast();
    let fetching = 2 * panel * size_of::<V::Cell>() / LINE;
    for (group, a) in groups.iter().enumerate() {
        let at = c.as_mut_ptr().wrapping_add(group * ROWS * pitch);
        // The next rows of these columns; after the last of them, the first rows of the next columns.
        let next =
            if group + 1 < groups.len() { at.wrapping_add(ROWS * pitch) } else { c.as_mut_ptr().wrapping_add(panel) };
        for row in (0..ROWS).map(|r| next.wrapping_add(r * pitch)) {
            prefetch(row);
            prefetch(row.wrapping_add(V::LANES));
        }
        // Prefetching the same line again costs less than a branch.
        let step = if group < fetching { LINE } else { 0 };
        // SAFETY: the caller says that these rows are there, and so many k, and the instructions.
        unsafe {
            let mut rows: [[V; 2]; ROWS] = std::array::from_fn(|r| load2::<V>(at.add(r * pitch)));
            // Otherwise the compiler takes four k at a time, reorders minima, and spills registers.
            for k in (0..b.len() / panel).step_by(2) {
                prefetch(ahead);
                ahead = ahead.wrapping_add(step);
                // Written out: where little is optimised, `map` stays a function without the instructions, and each of them a call.
                let on = [load2::<V>(b.as_ptr().add(k * panel)), load2::<V>(b.as_ptr().add((k + 1) * panel))];
                for (row, a) in rows.iter_mut().zip(a) {
                    let via = [V::splat(*a.get_unchecked(k)), V::splat(*a.get_unchecked(k + 1))];
                    for (v, cells) in row.iter_mut().enumerate() {
                        *cells = cells.nearer(via[0].plus(on[0][v]).nearer(via[1].plus(on[1][v])));
                    }
                }
            }
            for (r, [first, second]) in rows.into_iter().enumerate() {
                first.store(at.add(r * pitch));
                second.store(at.add(r * pitch + V::LANES));
            }
        }
    }
}

macro_rules! compiled {
    ($($features:literal, $operations:ident, $close:ident, $product:ident, $rows:literal rows;)*) => {$(
        /// # Safety
        /// The machine has these instructions.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $close<V: Vector>(tile: &mut [V::Cell; CELLS])
        where
            V::Cell: Lanes,
        {
            // SAFETY: passed on.
            unsafe { close::<V>(tile) }
        }

        /// # Safety
        /// As [`product`], of these instructions.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $product<V: Vector>(c: &mut [V::Cell], pitch: usize, a: &[Left], b: &[V::Cell]) {
            // SAFETY: passed on.
            unsafe { product::<V, $rows>(c, pitch, a, b) }
        }

        #[cfg(target_arch = "x86_64")]
        fn $operations<V: Vector>() -> Operations<V::Cell>
        where
            V::Cell: Lanes,
        {
            Operations { close: $close::<V>, product: $product::<V>, rows: $rows, cols: 2 * V::LANES }
        }
    )*};
}
compiled! {
    // 16 registers: 8 for rows, and 4 for what is added to them.
    "avx2", operations_avx2, close_avx2, product_avx2, 4 rows;
    // 32 registers, 16 for rows.
    "avx512f,avx512bw", operations_avx512, close_avx512, product_avx512, 8 rows;
}
