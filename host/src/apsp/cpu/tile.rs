//! What is done with tiles: the three loops within the pivot, and the min-plus product, which is where the time goes.
//!
//! The product keeps two vectors each of a few rows of the result in registers while it goes through all 64 k: for each, two loads of the
//! right factor serve all rows, one load of the left factor serves both vectors, and an addition and a minimum for each vector follow. Units
//! that calculate are busy all the time, and loads, aligned or not, are few enough to hide. Meanwhile the two tiles that
//! the next product begins with are fetched from memory. One generic body is compiled for
//! every vector; without any, two k at a time pass over all rows in the cache, which compilers turn into what vectors there are.
//!
//! The left factor comes *spread*: each cell as often as 32 bits hold it ([`Lanes::spread`](super::vector::Lanes::spread)).

use super::vector::Lanes;
#[cfg(target_arch = "x86_64")]
use super::vector::Vector;
use crate::apsp::{Distance, SIDE};
use crate::cpu::isa::{Isa, Kind};

/// Cells of a tile.
pub(super) const CELLS: usize = SIDE * SIDE;

/// A tile that begins where a line of the cache does.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Tile<T>(pub [T; CELLS]);

impl<T: Copy> Tile<T> {
    pub fn filled(cell: T) -> Self {
        Self([cell; CELLS])
    }
}

/// A tile as a left factor.
pub(super) fn spread<T: Lanes + Copy>(tile: &[T; CELLS]) -> Tile<u32> {
    Tile(tile.map(T::spread))
}

type Close<T> = unsafe fn(&mut Tile<T>);
type Product<T> = unsafe fn(&mut [T; CELLS], &Tile<u32>, &Tile<T>);

/// The operations for one instruction set, which the machine has.
pub(super) struct Operations<T> {
    close: Close<T>,
    product: Product<T>,
}

impl<T: Distance> Operations<T> {
    pub fn of(isa: Isa) -> Self {
        match isa.kind() {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => Self { close: close_avx512::<T::Avx512>, product: product_avx512::<T::Avx512> },
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => Self { close: close_avx2::<T::Avx2>, product: product_avx2::<T::Avx2> },
            _ => Self { close: close_portable, product: product_portable },
        }
    }

    /// Floyd's three loops within a tile.
    pub fn close(&self, tile: &mut Tile<T>) {
        // SAFETY: an `Isa` is one that the machine has.
        unsafe { (self.close)(tile) }
    }

    /// Each cell of `c` becomes the least of itself and, for any k, `a` (i, k) + `b` (k, j).
    pub fn product(&self, c: &mut [T; CELLS], a: &Tile<u32>, b: &Tile<T>) {
        // SAFETY: an `Isa` is one that the machine has.
        unsafe { (self.product)(c, a, b) }
    }
}

fn close_portable<T: Distance>(tile: &mut Tile<T>) {
    let (rows, _) = tile.0.as_chunks_mut::<SIDE>();
    for k in 0..SIDE {
        // Row k stays as it is in step k, because the diagonal is 0.
        let pivot = rows[k];
        for row in &mut *rows {
            let via = row[k];
            for (cell, on) in row.iter_mut().zip(pivot) {
                *cell = cell.nearer(via.plus(on));
            }
        }
    }
}

fn product_portable<T: Distance>(c: &mut [T; CELLS], a: &Tile<u32>, b: &Tile<T>) {
    let (rows, _) = b.0.as_chunks::<SIDE>();
    for (k, [on0, on1]) in rows.as_chunks::<2>().0.iter().enumerate() {
        // Each row once, then the next two k: what is stored is not wanted again at once.
        for (c, a) in c.as_chunks_mut::<SIDE>().0.iter_mut().zip(a.0.as_chunks::<SIDE>().0) {
            let [via0, via1] = [a[2 * k], a[2 * k + 1]].map(T::gather);
            for ((cell, &on0), &on1) in c.iter_mut().zip(on0).zip(on1) {
                *cell = cell.nearer(via0.plus(on0).nearer(via1.plus(on1)));
            }
        }
    }
}

/// # Safety
/// The machine has the instructions of `V`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn close<V: Vector>(tile: &mut Tile<V::Cell>)
where
    V::Cell: Lanes,
{
    for k in 0..SIDE {
        for left in (0..SIDE).step_by(V::LANES * 2) {
            // Row k stays as it is in step k, because the diagonal is 0.
            // SAFETY: k is a row, and from `left` on there are two vectors in it.
            let pivot = unsafe { load2::<V>(tile.0.as_ptr().add(k * SIDE + left)) };
            for i in 0..SIDE {
                // Column k stays as it is too.
                // SAFETY: i is a row as well. The caller says that there are the instructions.
                unsafe {
                    let via = V::splat(tile.0[i * SIDE + k].spread());
                    let to = tile.0.as_mut_ptr().add(i * SIDE + left);
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

/// Bytes of a line of the cache.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;
/// Steps between lines that are fetched ahead.
#[cfg(target_arch = "x86_64")]
const PART: usize = 4;

/// Where the tile behind `tile` begins.
#[cfg(target_arch = "x86_64")]
fn behind<T>(tile: &[T; CELLS]) -> *const i8 {
    tile.as_ptr_range().end.cast()
}

/// Lines of a tile for each of the blocks that are kept in registers one after the other.
#[cfg(target_arch = "x86_64")]
const fn lines<V: Vector, const ROWS: usize>() -> usize {
    let blocks = (SIDE / ROWS) * (SIDE / (2 * V::LANES));
    (CELLS * size_of::<V::Cell>() / LINE).div_ceil(blocks)
}

/// Has the second-level cache fetch a line, and says where the next one is. It need not be there.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch(line: *const i8) -> *const i8 {
    use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
    // SAFETY: every x86-64 has the instruction, and nothing is read that anybody sees.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(line) };
    line.wrapping_add(LINE)
}

/// # Safety
/// The machine has the instructions of `V`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn product<V: Vector, const ROWS: usize>(c: &mut [V::Cell; CELLS], a: &Tile<u32>, b: &Tile<V::Cell>) {
    const { assert!(SIDE.is_multiple_of(ROWS) && SIDE.is_multiple_of(2 * V::LANES)) };
    // Products are done tile after tile of a row: what lies behind is next.
    let (mut next_c, mut next_b) = (behind(c), behind(&b.0));
    for top in (0..SIDE).step_by(ROWS) {
        for left in (0..SIDE).step_by(2 * V::LANES) {
            let c = c.as_mut_ptr();
            // SAFETY: `top` + r and k are rows, and from `left` on there are two vectors in each. The caller says that there are the
            // instructions.
            unsafe {
                let mut rows: [[V; 2]; ROWS] = std::array::from_fn(|r| load2::<V>(c.add((top + r) * SIDE + left)));
                for part in 0..SIDE / PART {
                    if part < lines::<V, ROWS>() {
                        next_c = prefetch(next_c);
                        next_b = prefetch(next_b);
                    }
                    for k in part * PART..(part + 1) * PART {
                        let on = load2::<V>(b.0.as_ptr().add(k * SIDE + left));
                        for (r, row) in rows.iter_mut().enumerate() {
                            let via = V::splat(*a.0.as_ptr().add((top + r) * SIDE + k));
                            *row = [row[0].nearer(via.plus(on[0])), row[1].nearer(via.plus(on[1]))];
                        }
                    }
                }
                for (r, row) in rows.into_iter().enumerate() {
                    let to = c.add((top + r) * SIDE + left);
                    row[0].store(to);
                    row[1].store(to.add(V::LANES));
                }
            }
        }
    }
}

macro_rules! compiled {
    ($($features:literal, $close:ident, $product:ident, $rows:literal rows;)*) => {$(
        /// # Safety
        /// The machine has these instructions.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $close<V: Vector>(tile: &mut Tile<V::Cell>)
        where
            V::Cell: Lanes,
        {
            // SAFETY: passed on.
            unsafe { close::<V>(tile) }
        }

        /// # Safety
        /// The machine has these instructions.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $product<V: Vector>(c: &mut [V::Cell; CELLS], a: &Tile<u32>, b: &Tile<V::Cell>) {
            // SAFETY: passed on.
            unsafe { product::<V, $rows>(c, a, b) }
        }
    )*};
}
compiled! {
    // 16 registers: 8 for rows, and 4 for what is added to them.
    "avx2", close_avx2, product_avx2, 4 rows;
    // 32 registers, 16 for rows.
    "avx512f,avx512bw", close_avx512, product_avx512, 8 rows;
}
