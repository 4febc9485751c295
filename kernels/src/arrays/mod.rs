//! External arrays in the device's memory: numbers of any type, with any strides.
//!
//! | kernel | what it finds or makes |
//! |---|---|
//! | [`arrays_present`](fn@arrays_present) | which bytes occur |
//! | [`arrays_distinct`](fn@arrays_distinct) | which wider numbers occur |
//! | [`arrays_extent`](fn@arrays_extent) | the smallest and the largest number |
//! | [`arrays_digits`](fn@arrays_digits) | how many numbers have the same leading digits |
//! | [`arrays_encode`](fn@arrays_encode) | codes of classes, in rows as the entropy kernels read them |
//! | [`arrays_place`](fn@arrays_place) | results, copied from the layout of those kernels to any other |
//! | [`arrays_rim`](fn@arrays_rim) | results near the edge made nodata |
//!
//! # Numbers
//! Kernels work on bits, never on floating-point numbers. What they compare are *keys*: unsigned integers that sort as the numbers do (the
//! host's `classes::cell::Cell::key`). NaNs are keys beyond those of the infinities, so that a pair of bounds excludes them.
//!
//! # What a thread does
//! Threads take the cells in a grid-stride loop, and step from one to the next by adding the stride of the whole grid
//! in rows and columns: no division, however narrow rows are. A block writes the result of its scan to a record of its own,
//! and the host combines the records: no counter needs to be cleared first.

use simt::global::In;
use simt::scalar::Scalar;
use simt::thread;

mod digits;
mod distinct;
mod encode;
mod extent;
mod present;
mod results;

pub use digits::*;
pub use distinct::*;
pub use encode::*;
pub use extent::*;
pub use present::*;
pub use results::*;

/// The kernels of this family, for lookup by name.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[
    arrays_present::ENTRY,
    arrays_distinct::ENTRY,
    arrays_extent::ENTRY,
    arrays_digits::ENTRY,
    arrays_encode::ENTRY,
    arrays_place::ENTRY,
    arrays_rim::ENTRY,
];

/// Threads of a block of every kernel here.
pub const ARRAYS_THREADS: u32 = 256;

/// The kind of numbers that are signed, added to their width in bytes.
pub const ARRAYS_SIGNED: u32 = 1 << 4;

/// The kind of numbers in floating point, likewise.
pub const ARRAYS_REAL: u32 = 1 << 5;

/// The bits of a kind that are the width in bytes.
const WIDTH: u32 = 15;

/// Warps of a block.
const WARPS: u32 = ARRAYS_THREADS / 32;

/// The bits of a number.
trait Bits: Scalar {
    const BITS: u32;
    fn wide(self) -> u64;

    /// Four numbers from number 4 · `at` on, of memory aligned to four of them or 16 bytes.
    fn four(cells: In<u8>, at: usize) -> [Self; 4];
}

macro_rules! bits {
    ($($t:ty, |$cells:ident, $at:ident| $four:expr;)*) => {$(
        impl Bits for $t {
            const BITS: u32 = <$t>::BITS;
            #[inline(always)]
            fn wide(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn four($cells: In<u8>, $at: usize) -> [Self; 4] {
                $four
            }
        }
    )*};
}
bits! {
    u8, |cells, at| cells.cast::<u32>().load(at).to_le_bytes();
    u16, |cells, at| {
        let word = cells.cast::<u64>().load(at);
        [word as u16, (word >> 16) as u16, (word >> 32) as u16, (word >> 48) as u16]
    };
    u32, |cells, at| cells.cast::<u32>().load4(4 * at);
    u64, |cells, at| {
        let pairs = |at: usize| {
            let [a, b, c, d] = cells.cast::<u32>().load4(at).map(u64::from);
            [b << 32 | a, d << 32 | c]
        };
        let ([a, b], [c, d]) = (pairs(8 * at), pairs(8 * at + 4));
        [a, b, c, d]
    };
}

/// Dispatches on the width in bytes of a kind.
macro_rules! by_width {
    ($kind:expr, $bits:ident => $run:expr) => {
        match $kind & $crate::arrays::WIDTH {
            1 => {
                type $bits = u8;
                $run
            }
            2 => {
                type $bits = u16;
                $run
            }
            4 => {
                type $bits = u32;
                $run
            }
            _ => {
                type $bits = u64;
                $run
            }
        }
    };
}
use by_width;

/// The key of the number with these bits.
#[inline(always)]
fn key<B: Bits>(bits: B, kind: u32) -> u64 {
    let (bits, sign) = (bits.wide(), 1 << (B::BITS - 1));
    if kind & ARRAYS_REAL != 0 {
        // Both zeros are one number.
        let bits = if bits == sign { 0 } else { bits };
        if bits & sign == 0 { bits | sign } else { !bits & (u64::MAX >> (64 - B::BITS)) }
    } else if kind & ARRAYS_SIGNED != 0 {
        bits ^ sign
    } else {
        bits
    }
}

/// The layout of an array, in numbers from the buffer's first; strides may be negative, and wrap.
#[derive(Clone, Copy)]
struct Array {
    first: u64,
    row: u64,
    col: u64,
}

impl Array {
    #[inline(always)]
    fn at(self, row: u32, col: u32) -> usize {
        let rows = self.row.wrapping_mul(u64::from(row));
        self.first.wrapping_add(rows).wrapping_add(self.col.wrapping_mul(u64::from(col))) as usize
    }
}

/// An array that hides the cells at which it is 0 or NaN; of kind 0 it hides none.
#[derive(Clone, Copy)]
struct Mask {
    cells: In<u8>,
    kind: u32,
    array: Array,
}

impl Mask {
    #[inline(always)]
    fn hides(self, row: u32, col: u32) -> bool {
        if self.kind == 0 {
            return false;
        }
        let at = self.array.at(row, col);
        let (bits, infinity) = match self.kind & WIDTH {
            1 => (u64::from(self.cells.load(at)), 0),
            2 => (u64::from(self.cells.cast::<u16>().load(at)), 0),
            4 => (u64::from(self.cells.cast::<u32>().load(at)), 0x7F80_0000),
            _ => (self.cells.cast::<u64>().load(at), 0x7FF0_0000_0000_0000),
        };
        if self.kind & ARRAYS_REAL == 0 {
            return bits == 0;
        }
        let magnitude = if self.kind & WIDTH == 4 { bits & 0x7FFF_FFFF } else { bits & (u64::MAX >> 1) };
        magnitude == 0 || magnitude > infinity
    }
}

/// An array and its mask.
#[derive(Clone, Copy)]
struct Scan {
    cells: In<u8>,
    mask: Mask,
    array: Array,
    kind: u32,
    rows: u32,
    cols: u32,
}

/// The cells of a thread, of `cols` columns: a grid-stride loop.
#[derive(Clone, Copy)]
struct GridStride {
    row: u32,
    col: u32,
    cols: u32,
    step: (u32, u32),
}

impl GridStride {
    #[inline(always)]
    fn new(cols: u32) -> Self {
        let cols = cols.max(1);
        let (thread, threads) = (thread::index_x(), threads());
        Self { row: thread / cols, col: thread % cols, cols, step: (threads / cols, threads % cols) }
    }

    #[inline(always)]
    fn step(&mut self) {
        self.row += self.step.0;
        self.col += self.step.1;
        if self.col >= self.cols {
            self.col -= self.cols;
            self.row += 1;
        }
    }

    /// How many cells of `rows` rows the busiest thread takes: all threads make that many rounds.
    #[inline(always)]
    fn rounds(self, rows: u32) -> u64 {
        (u64::from(rows) * u64::from(self.cols)).div_ceil(u64::from(threads()).max(1))
    }
}

/// Threads of the launch.
#[inline(always)]
fn threads() -> u32 {
    thread::grid_dim_x() * ARRAYS_THREADS
}
