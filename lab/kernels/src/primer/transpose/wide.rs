//! Rung wide: 16 bytes a lane, four accesses in flight, tiles of 16 KiB without padding.
//!
//! ```text
//! a thread, of 256:
//!     loads 16 bytes of a row four times                     no wait in between
//!     transposes small squares of bytes in its registers     so that a word has elements of one column
//!     stores the words in the tile, which has the layout of the output
//! barrier
//!     loads 16 bytes of the tile four times, and stores each in `out`
//! ```
//!
//! Bandwidth is limited by the bytes in flight: 4.8 TB/s at some 700 ns are 3.4 MB, 25 KB a multiprocessor. Threads that load 4 bytes four
//! times, and then wait for the barrier, have just about that; here a block alone has 16 KiB, and five to eight of them share a
//! multiprocessor. That takes few registers: a thread's addresses, in the tile and in both matrices, differ from its first one by constants.
//!
//! | element | tile, rows x columns | a row of `input` | a row of `out` |
//! |---|---|---|---|
//! | 1 byte | 128 x 128 | 128 bytes | 128 bytes |
//! | 2 bytes | 128 x 64 | 128 bytes | 256 bytes |
//! | 4 bytes | 64 x 64 | 256 bytes | 256 bytes |
//! | 8 bytes | 64 x 32 | 256 bytes | 512 bytes |
//!
//! Eight neighbouring lanes read or write a line of 128 bytes each time.
//!
//! *Units.* What a thread stores in the tile at a time is a word, or two for elements of 8 bytes: 4, 2, 1 or 1 elements of a column. For bytes it
//! needs four rows, which its four loads read; four words of 4 bytes each become their own transpose by eight byte permutations.
//!
//! *The swizzle.* The tile is stored to `out` 16 bytes at a time, so that padding would break the alignment of its rows. Instead the groups of
//! 16 bytes of a row are permuted: group g of row c is at g XOR (c / V XOR c) mod 8, with V elements in 16 bytes. Eight
//! lanes that load eight groups of a row still access all 32 banks. On loading the tile a warp stores 4 units of a group for each of 8
//! rows V apart, whose c / V are all different: again all 32 banks. (The second XOR is for unaligned loads, where
//! lanes are in neighbouring rows: four wavefronts instead of sixteen for bytes.)
//!
//! *Order.* Blocks take tiles in strips, row by row within a strip. The host passes the width of a strip, which was tuned by measurement: narrow ones
//! are best for small elements, because those that run together then write long pieces of few rows of `out`.
//!
//! *Any shape.* If `cols` is a multiple of V, every row of `input` begins at a multiple of 16 bytes, and 16 bytes are all inside or all
//! outside. If not, elements are loaded one by one, neighbouring lanes in neighbouring columns. The same holds for `rows` and `out`, independently.

use simt::global::{In, Out};
use simt::math::byte_permute;
use simt::scalar::Scalar;
use simt::shared::Shared;
use simt::{four, kernel, shared, thread};

use super::Matrix;

/// Threads of a block.
pub const TRANSPOSE_WIDE_THREADS: u32 = 256;
/// Rows of a tile, for elements of 1, 2, 4 and 8 bytes.
pub const TRANSPOSE_WIDE_ROWS: [u32; 4] = [128, 128, 64, 64];
/// Columns of a tile, likewise.
pub const TRANSPOSE_WIDE_COLS: [u32; 4] = [128, 64, 64, 32];

/// Bytes of a tile.
const TILE_BYTES: u32 = 16384;

shared! {
    static PRIMER_TRANSPOSE_WIDE: [u32; 4096];
}

/// What is stored in the tile at a time: one word, or two.
trait Unit: Scalar {
    /// That of these bits, the lowest of them.
    fn of(bits: u64) -> Self;
}

impl Unit for u32 {
    #[inline(always)]
    fn of(bits: u64) -> u32 {
        bits as u32
    }
}

impl Unit for u64 {
    #[inline(always)]
    fn of(bits: u64) -> u64 {
        bits
    }
}

/// A size of elements.
trait Size: Copy {
    type Item: Scalar + Into<u64>;
    type Unit: Unit;
    /// log₂ of the bytes of an element.
    const LOG: u32;
    /// Elements of a column in a unit.
    const DEEP: u32;

    /// The units of what a thread has loaded: column after column, and then those of the next [`Self::DEEP`] rows. If a unit is one
    /// element, that is how they were loaded.
    #[inline(always)]
    fn transpose(loaded: [[u32; 4]; 4]) -> [[u32; 4]; 4] {
        loaded
    }

    /// Unit `n` of them.
    #[inline(always)]
    fn unit(units: &[[u32; 4]; 4], n: usize) -> Self::Unit {
        let words = size_of::<Self::Unit>() / 4;
        let word = |at: usize| u64::from(units[at / 4][at % 4]);
        let high = if words == 2 { word(2 * n + 1) << 32 } else { 0 };
        Self::Unit::of(high | word(words * n))
    }
}

/// Elements of one byte.
#[derive(Clone, Copy)]
struct One;
/// Elements of two bytes.
#[derive(Clone, Copy)]
struct Two;
/// Elements of four bytes.
#[derive(Clone, Copy)]
struct Four;
/// Elements of eight bytes.
#[derive(Clone, Copy)]
struct Eight;

impl Size for One {
    type Item = u8;
    type Unit = u32;
    const LOG: u32 = 0;
    const DEEP: u32 = 4;

    #[inline(always)]
    fn transpose([a, b, c, d]: [[u32; 4]; 4]) -> [[u32; 4]; 4] {
        // Four rows of four bytes, as pairs from two rows, and then as columns.
        let square = |j: usize| {
            let (low_ab, high_ab) = (byte_permute(a[j], b[j], 0x5140), byte_permute(a[j], b[j], 0x7362));
            let (low_cd, high_cd) = (byte_permute(c[j], d[j], 0x5140), byte_permute(c[j], d[j], 0x7362));
            [
                byte_permute(low_ab, low_cd, 0x5410),
                byte_permute(low_ab, low_cd, 0x7632),
                byte_permute(high_ab, high_cd, 0x5410),
                byte_permute(high_ab, high_cd, 0x7632),
            ]
        };
        [square(0), square(1), square(2), square(3)]
    }
}

impl Size for Two {
    type Item = u16;
    type Unit = u32;
    const LOG: u32 = 1;
    const DEEP: u32 = 2;

    #[inline(always)]
    fn transpose([a, b, c, d]: [[u32; 4]; 4]) -> [[u32; 4]; 4] {
        let squares = |a: [u32; 4], b: [u32; 4], j: usize| {
            let pair = |j: usize| [byte_permute(a[j], b[j], 0x5410), byte_permute(a[j], b[j], 0x7632)];
            let (left, right) = (pair(j), pair(j + 1));
            [left[0], left[1], right[0], right[1]]
        };
        [squares(a, b, 0), squares(a, b, 2), squares(c, d, 0), squares(c, d, 2)]
    }
}

impl Size for Four {
    type Item = u32;
    type Unit = u32;
    const LOG: u32 = 2;
    const DEEP: u32 = 1;
}

impl Size for Eight {
    type Item = u64;
    type Unit = u64;
    const LOG: u32 = 3;
    const DEEP: u32 = 1;
}

/// A block's tile, and what follows from the size of its elements.
#[derive(Clone, Copy)]
struct Tile<S: Size> {
    matrix: Matrix<S::Item>,
    /// Its first row and column.
    row: u32,
    col: u32,
    /// A row of the output after the other, swizzled.
    shared: Shared<u32>,
}

impl<S: Size> Tile<S> {
    const BYTES: u32 = 1 << S::LOG;
    const ROWS: u32 = TRANSPOSE_WIDE_ROWS[S::LOG as usize];
    const COLS: u32 = TRANSPOSE_WIDE_COLS[S::LOG as usize];
    /// Elements of 16 bytes.
    const VECTOR: u32 = 16 / Self::BYTES;
    /// Vectors of a row of `input`.
    const ACROSS: u32 = Self::COLS / Self::VECTOR;
    /// Vectors of a row of `out`.
    const GROUPS: u32 = Self::ROWS / Self::VECTOR;
    /// Rows from a unit of the thread to the next in the same column of vectors.
    const STEP: u32 = TRANSPOSE_WIDE_THREADS / Self::ACROSS * S::DEEP;
    /// Units of a thread.
    const UNITS: u32 = TILE_BYTES / TRANSPOSE_WIDE_THREADS / (Self::BYTES * S::DEEP);

    /// Blocks take tiles row by row in strips of `strip` columns of tiles.
    #[inline(always)]
    fn own(matrix: Matrix<S::Item>, strip: u32) -> Self {
        let (across, down) = (matrix.cols.div_ceil(Self::COLS), matrix.rows.div_ceil(Self::ROWS));
        let block = thread::block_idx_x();
        let whole = (strip * down).max(1);
        let (before, at) = (block / whole * strip, block % whole);
        // The last strip may be narrower.
        let width = strip.min(across - before).max(1);
        let (row, col) = (at / width * Self::ROWS, (before + at % width) * Self::COLS);
        Self { matrix, row, col, shared: shared::array::<PRIMER_TRANSPOSE_WIDE>() }
    }

    /// The index in the tile of element (`r`, `c`), counted from the tile's first row and column.
    #[inline(always)]
    fn index(r: u32, c: u32) -> u32 {
        let group = (r / Self::VECTOR) ^ (((c / Self::VECTOR) ^ c) % 8);
        c * Self::ROWS + group * Self::VECTOR + r % Self::VECTOR
    }

    #[inline(always)]
    fn has(self, r: u32, c: u32) -> bool {
        self.matrix.has(self.row + r, self.col + c)
    }

    #[inline(always)]
    fn put(self, index: u32, unit: S::Unit) {
        self.shared.cast().store(index / S::DEEP, unit);
    }

    /// First row and column of the thread's first vector. A warp has 8 vectors of a row, and four times as many rows as a unit.
    #[inline(always)]
    fn spot() -> (u32, u32) {
        let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
        let piece = Self::ACROSS / 8;
        ((warp / piece * 4 + lane / 8) * S::DEEP, (warp % piece * 8 + lane % 8) * Self::VECTOR)
    }

    /// Loads the tile into shared memory, 16 bytes at a time.
    #[inline(always)]
    fn load_wide(self) {
        let (r, c) = Self::spot();
        let first = self.matrix.index(self.row + r, self.col + c) * Self::BYTES as usize / 4;
        let pitch = self.matrix.cols as usize * Self::BYTES as usize / 4;
        let mut loaded = [[0; 4]; 4];
        four!(I => {
            let down = I as u32 / S::DEEP * Self::STEP + I as u32 % S::DEEP;
            if self.has(r + down, c) {
                loaded[I] = self.matrix.input.cast::<u32>().load4(first + down as usize * pitch);
            }
        });
        let units = S::transpose(loaded);
        let index = Self::index(r, c);
        four!(I => {
            four!(J => {
                const N: usize = 4 * I + J;
                if (N as u32) < Self::UNITS {
                    let (down, right) = (N as u32 / Self::VECTOR * Self::STEP, N as u32 % Self::VECTOR);
                    // `index` of the sums: the low bits of `r` and `c` are 0 where those of `down` and `right` are not.
                    let index = (index ^ down ^ (right % 8 * Self::VECTOR)) + right * Self::ROWS;
                    self.put(index, S::unit(&units, N));
                }
            });
        });
    }

    /// The same an element at a time.
    #[inline(always)]
    fn load_narrow(self) {
        let mut n = thread::thread_idx_x();
        while n < Self::UNITS * TRANSPOSE_WIDE_THREADS {
            let mut bits = [0u64; 4];
            four!(I => {
                let n = n + I as u32 * TRANSPOSE_WIDE_THREADS;
                let (r, c) = (n / Self::COLS * S::DEEP, n % Self::COLS);
                four!(J => {
                    if (J as u32) < S::DEEP && self.has(r + J as u32, c) {
                        let at = self.matrix.index(self.row + r + J as u32, self.col + c);
                        let element: u64 = self.matrix.input.load(at).into();
                        bits[I] |= element << (J as u32 * 8 * Self::BYTES);
                    }
                });
            });
            four!(I => {
                let n = n + I as u32 * TRANSPOSE_WIDE_THREADS;
                self.put(Self::index(n / Self::COLS * S::DEEP, n % Self::COLS), S::Unit::of(bits[I]));
            });
            n += 4 * TRANSPOSE_WIDE_THREADS;
        }
    }

    /// Writes the tile to the output, 16 bytes at a time.
    #[inline(always)]
    fn store_wide(self) {
        let t = thread::thread_idx_x();
        let (r, c) = (t % Self::GROUPS * Self::VECTOR, t / Self::GROUPS);
        let step = TRANSPOSE_WIDE_THREADS / Self::GROUPS;
        let index = Self::index(r, c);
        let mut groups = [[0; 4]; 4];
        four!(I => {
            let right = I as u32 * step;
            // As in `load_wide`: `step` is a multiple of 8 and of V, and `c` less.
            let index = (index ^ (right / Self::VECTOR % 8 * Self::VECTOR)) + right * Self::ROWS;
            groups[I] = self.shared.load4(index * Self::BYTES / 4);
        });
        let first = self.matrix.transposed_index(self.row + r, self.col + c) * Self::BYTES as usize / 4;
        let pitch = self.matrix.rows as usize * Self::BYTES as usize / 4;
        four!(I => {
            let right = I as u32 * step;
            self.matrix.out.cast::<u32>().store4_if(self.has(r, c + right), first + right as usize * pitch, groups[I]);
        });
    }

    /// The same an element at a time.
    #[inline(always)]
    fn store_narrow(self) {
        let mut n = thread::thread_idx_x();
        while n < Self::ROWS * Self::COLS {
            let (r, c) = (n % Self::ROWS, n / Self::ROWS);
            if self.has(r, c) {
                let at = self.matrix.transposed_index(self.row + r, self.col + c);
                self.matrix.out.store(at, self.shared.cast::<S::Item>().load(Self::index(r, c)));
            }
            n += TRANSPOSE_WIDE_THREADS;
        }
    }

    #[inline(always)]
    fn transpose(self) {
        if self.matrix.cols.is_multiple_of(Self::VECTOR) {
            self.load_wide();
        } else {
            self.load_narrow();
        }
        thread::sync_threads();
        if self.matrix.rows.is_multiple_of(Self::VECTOR) {
            self.store_wide();
        } else {
            self.store_narrow();
        }
    }
}

macro_rules! entry {
    ($name:ident, $item:ty, $size:ident, $bytes:literal) => {
        #[doc = concat!("Transposes elements of ", $bytes, ", a large tile a block; tiles are taken in strips of `strip` columns of tiles.")]
        ///
        /// # Safety
        /// `input` and `out` have `rows · cols` elements and begin at multiples of 16 bytes. There is a block of
        /// [`TRANSPOSE_WIDE_THREADS`] threads for each tile of [`TRANSPOSE_WIDE_ROWS`] x [`TRANSPOSE_WIDE_COLS`], along x. `strip` is from 1
        /// to the number of tiles in a row, and `strip` times that of a column is less than 2³².
        #[kernel(threads = 256, blocks = 4)]
        pub unsafe fn $name(input: In<$item>, out: Out<$item>, rows: u32, cols: u32, strip: u32) {
            Tile::<$size>::own(Matrix { input, out, rows, cols }, strip).transpose();
        }
    };
}
entry!(primer_transpose_wide_u8, u8, One, "1 byte");
entry!(primer_transpose_wide_u16, u16, Two, "2 bytes");
entry!(primer_transpose_wide_u32, u32, Four, "4 bytes");
entry!(primer_transpose_wide_u64, u64, Eight, "8 bytes");
