//! Codes for the classes that a tile has, where cells are words: maps of more than 256 classes.
//!
//! ```text
//! a warp:      a bit for each class that its cells have
//! a block:     a bit for each class that any warp found, and how many classes are below every 32nd
//! then         a class's number is how many classes below it occur: one look at its 32 neighbours, for a byte a class
//! last         looks the cells' numbers up, and writes them
//! ```
//!
//! [`recode`](super::recode) has a word for each class and warp; for 65,536 classes these would not fit, so there are bits, a warp's own: those of a block would
//! be read while others set them. Eight warps' bits are a byte a class, and where they were the table of codes is afterwards.
//!
//! A tile may have thousands of classes, and memory is for a few planes of [`COLUMNS_PLANE`] numbers. So a launch makes `planes` of them from `plane` on;
//! another of [`entropy_columns_many`](fn@super::entropy_columns_many) counts those, and then come the next ones. Where a tile has no more, both leave at once.

use simt::global::{In, Out};
use simt::shared::Shared;
use simt::{four, kernel, shared, thread, unroll, warp};

use super::COLUMNS_THREADS;
use super::tiles::{Area, COLUMNS_PLANE, Cut, NO_DATA, OTHER, Tiles, Walk};

/// Warps of a block.
const WARPS: u32 = COLUMNS_THREADS / 32;

shared! {
    /// How many classes each warp counted.
    static COLUMNS_COUNTED: [u32; 8];
}

/// Dynamic shared memory of a block of [`entropy_columns_recode_words`](fn@entropy_columns_recode_words) where all cells are below `span`, in bytes.
pub const fn columns_recode_bytes(span: u32) -> u32 {
    (WARPS + 2) * 4 * span.div_ceil(32)
}

/// Four cells.
type Cells = u64;

/// Cell `k` of four.
#[inline(always)]
fn cell(cells: Cells, k: u32) -> u32 {
    (cells >> (16 * k)) as u32 & 0xFFFF
}

/// Sets the bits of the first `counts` of each four cells in a warp's bits; all lanes call it.
#[inline(always)]
fn mark(bits: Shared<u32>, cells: [Cells; 4], counts: [i32; 4]) {
    let mut known = 1;
    unroll!(W in 0 1 2 3 => {
        four!(K => {
            if (K as i32) < counts[W] {
                let class = cell(cells[W], K as u32);
                known &= bits.load(class / 32) >> (class % 32);
            }
        });
    });
    if warp::warp_vote_any(warp::FULL, known & 1 == 0) {
        // Orders the looks before this against the bits that follow.
        warp::sync_warp(warp::FULL);
        let mut w = 0;
        while w < 4 {
            let mut k = 0;
            while k < 4 {
                if known & 1 == 0 && (k as i32) < counts[w] {
                    let class = cell(cells[w], k);
                    bits.atomic_or(class / 32, 1 << (class % 32));
                }
                k += 1;
            }
            w += 1;
        }
        warp::sync_warp(warp::FULL);
    }
}

/// The numbers of classes: 32 bits, and how many classes are below them.
#[derive(Clone, Copy)]
struct Numbers {
    entries: Shared<u64>,
    count: u32,
}

impl Numbers {
    /// Those of the bits that all warps have found, and how many classes there are; all threads call it.
    #[inline(always)]
    fn of(bits: Shared<u32>, entries: Shared<u64>, count: u32, nodata: u32) -> (Self, u32) {
        let (t, counted) = (thread::thread_idx_x(), shared::array::<COLUMNS_COUNTED>());
        let (mut begin, mut classes) = (0, 0);
        while begin < count {
            let n = begin + t;
            let mut is_there = 0;
            if n < count {
                let mut w = 0;
                while w < WARPS {
                    is_there |= bits.load(w * count + n);
                    w += 1;
                }
                if n == nodata / 32 {
                    is_there &= !(1 << (nodata % 32));
                }
            }
            let own = is_there.count_ones();
            let mut up_to = own;
            unroll!(I in 0 1 2 3 4 => {
                let (before, inside) = warp::warp_shuffle_up(warp::FULL, up_to, 1 << I, 32);
                up_to += if inside { before } else { 0 };
            });
            // What was counted before has been read.
            thread::sync_threads();
            if warp::lane_id() == 31 {
                counted.store(t / 32, up_to);
            }
            thread::sync_threads();
            let (mut below, mut all) = (classes + up_to - own, classes);
            let mut w = 0;
            while w < WARPS {
                let of_warp = counted.load(w);
                below += if w < t / 32 { of_warp } else { 0 };
                all += of_warp;
                w += 1;
            }
            if n < count {
                entries.store(n, u64::from(below) << 32 | u64::from(is_there));
            }
            classes = all;
            begin += COLUMNS_THREADS;
        }
        thread::sync_threads();
        (Self { entries, count }, classes)
    }

    /// The number of a class.
    #[inline(always)]
    fn number(self, class: u32) -> u32 {
        let entry = self.entries.load(class / 32);
        (entry >> 32) as u32 + (entry as u32 & ((1 << (class % 32)) - 1)).count_ones()
    }

    /// Makes codes of all classes, a byte each: the numbers from `below` on that a plane has. All threads call it, before any of them looks one up.
    #[inline(always)]
    fn codes(self, codes: Shared<u32>, below: u32, nodata: u32) {
        let mut n = thread::thread_idx_x();
        while n < 8 * self.count {
            let mut word = 0;
            four!(K => {
                let class = 4 * n + K as u32;
                let own = self.number(class).wrapping_sub(below);
                let code = if own < COLUMNS_PLANE { own } else { OTHER.into() };
                word |= if class == nodata { u32::from(NO_DATA) } else { code } << (8 * K);
            });
            codes.store(n, word);
            n += COLUMNS_THREADS;
        }
    }
}

/// [`entropy_columns_recode`](fn@super::entropy_columns_recode) for cells of 16 bits, the `planes` planes from `plane` on; without a survey.
///
/// Cells, and `nodata` where there is one, are below `span`; `nodata` is above 65,535 where there is none. How many classes the tiles have is written with
/// plane 0, and read with the others.
///
/// # Safety
/// As [`entropy_columns_recode`](fn@super::entropy_columns_recode), but that cells are aligned to 8 bytes and as above; `coded` has room for `planes`
/// planes; the launch has [`columns_recode_bytes`] of dynamic shared memory.
#[kernel(threads = 256, blocks = 5)]
pub unsafe fn entropy_columns_recode_words(
    cells: In<u16>,
    coded: Out<u32>,
    rows: u32,
    cols: u32,
    stride: u32,
    first: u32,
    count: u32,
    size: u32,
    nodata: u32,
    rows_each: u32,
    strips_each: u32,
    span: u32,
    plane: u32,
    planes: u32,
) {
    let (t, tile) = (thread::thread_idx_x(), thread::block_idx_x());
    let tiles = Tiles::new(Cut { rows, cols, first, count, size, rows_each }, strips_each);
    if plane > 0 && coded.load(Tiles::classes_at(tile)) <= plane * COLUMNS_PLANE {
        return;
    }
    let words = span.div_ceil(32);
    let all = shared::dynamic::<u32>();
    let mut n = t;
    while n < WARPS * words {
        all.store(n, 0);
        n += COLUMNS_THREADS;
    }
    thread::sync_threads();

    let Area { x, y, width, height } = tiles.area(tile);
    let cells = cells.cast::<Cells>();
    let load = |row: u32, at: u32| cells.load((y + row) as usize * (stride / 4) as usize + at as usize);
    let own = all.slice(t / 32 * words, words);
    let (mut walk, mut done) = (Walk::new(width), 0);
    while done < width * height {
        let (mut fours, mut counts) = ([0; 4], [0; 4]);
        four!(N => {
            if walk.row < height {
                let at = x + walk.col;
                fours[N] = load(walk.row, at);
                counts[N] = cols as i32 - 4 * at as i32;
            }
            walk.next();
        });
        mark(own, fours, counts);
        done += 4 * COLUMNS_THREADS;
    }
    thread::sync_threads();

    // Entries of 8 bytes come first of what is left.
    let entries = all.slice(WARPS * words, 2 * words).cast::<u64>();
    let (numbers, classes) = Numbers::of(all, entries, words, nodata);
    if t == 0 && plane == 0 {
        Tiles::store_classes(coded, tile, classes);
    }
    let (codes, last) = (all.cast::<u8>(), 32 * words - 1);
    let mut n = 0;
    while n < planes && (plane + n == 0 || (plane + n) * COLUMNS_PLANE < classes) {
        // Bits, and codes of the plane before, are no longer read.
        thread::sync_threads();
        numbers.codes(all, (plane + n) * COLUMNS_PLANE, nodata);
        thread::sync_threads();
        let mut walk = Walk::new(width);
        while walk.row < height {
            let mut fours = [0; 4];
            let mut ahead = walk;
            four!(N => {
                if ahead.row < height {
                    fours[N] = load(ahead.row, x + ahead.col);
                }
                ahead.next();
            });
            four!(N => {
                if walk.row < height {
                    let mut word = 0;
                    four!(K => {
                        // What is behind the grid's last column may be any.
                        let class = cell(fours[N], K as u32).min(last);
                        word |= u32::from(codes.load(class)) << (8 * K);
                    });
                    coded.store(tiles.code_at(tile, n, walk.row, walk.col), word);
                }
                walk.next();
            });
        }
        n += 1;
    }
}
