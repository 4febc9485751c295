//! Codes for the classes that a tile has: dense numbers, so that a map of many classes is counted sixteen at a time where there are few in one place.
//!
//! ```text
//! a block:     a tile of `strips_each` strips and `rows_each` rows, and the cells around it that its windows see
//! first        sets a flag for each class that occurs
//! then         a class's number is how many classes below it occur
//! last         writes the cells' numbers: a byte each, the tile's by itself, 255 for nodata
//! ```
//!
//! [`entropy_columns_many`](fn@super::entropy_columns_many) reads those bytes as it would read a map of few classes. The obvious version looks codes up
//! where cells are counted: sixteen lookups for four results, which depend on each other, and a warp that looks through its strip before. That took 1.7
//! times as long as everything else; here a cell is looked up once, by as many threads as there is room for.
//!
//! Beyond 255 numbers of one byte do not suffice, and 240 is the most that sweeps of sixteen take beside 255; so there are planes of 240 numbers each.
//!
//! Whether this is worth its time depends on the map. A first launch looks at up to [`COLUMNS_SURVEY`](super::COLUMNS_SURVEY) tiles that lie evenly over
//! the grid, and what follows leaves at once where the sweeps of those are too many.

use simt::global::{In, Out};
use simt::shared::Shared;
use simt::{four, kernel, shared, thread, unroll, warp};

use super::strip::Frame;
use super::tiles::{Area, COLUMNS_PLANE, Cut, NO_DATA, OTHER, Tiles, Walk, surveyed};
use super::{COLUMNS_CLASSES, COLUMNS_THREADS};

shared! {
    /// 256 flags of each warp.
    static COLUMNS_FLAGS: [u32; 2048];
    /// How many classes the flags of a warp's threads have.
    static COLUMNS_FOUND: [u32; 8];
    /// The codes of 256 classes.
    static COLUMNS_CODES: [u8; 256];
}

/// Flags of classes, a warp's own.
#[derive(Clone, Copy)]
struct Flags(Shared<u32>);

impl Flags {
    /// None is set, once the block has synchronised.
    #[inline(always)]
    fn new() -> Self {
        let all = shared::array::<COLUMNS_FLAGS>();
        let (t, mut n) = (thread::thread_idx_x(), 0);
        while n < 2048 {
            all.store(n + t, 0);
            n += COLUMNS_THREADS;
        }
        Self(all.slice(t / 32 * 256, 256))
    }

    /// Sets the flags of the bytes of four words, the first `bytes` of each; all lanes call it.
    #[inline(always)]
    fn mark(self, words: [u32; 4], bytes: [i32; 4]) {
        let mut known = 1;
        unroll!(W in 0 1 2 3 => {
            four!(K => {
                if (K as i32) < bytes[W] {
                    known &= self.0.load(words[W] >> (8 * K) & 255);
                }
            });
        });
        if warp::warp_vote_any(warp::FULL, known == 0) {
            // Orders the lookups before this against the stores that follow.
            warp::sync_warp(warp::FULL);
            let mut w = 0;
            while w < 4 {
                let mut k = 0;
                while k < 4 {
                    if known == 0 && k < bytes[w] {
                        self.0.atomic_exchange(words[w] >> (8 * k) & 255, 1);
                    }
                    k += 1;
                }
                w += 1;
            }
            warp::sync_warp(warp::FULL);
        }
    }
}

/// Makes codes of the cells of tiles, and counts their classes, in blocks of [`COLUMNS_THREADS`] threads.
///
/// Tiles of `strips_each` · [`COLUMNS_STRIP`](super::COLUMNS_STRIP) columns and `rows_each` rows are numbered along the rows and then down the `count`
/// rows from `first`; each block has the tile of its number. `coded` has, in words: [`COLUMNS_SURVEY`](super::COLUMNS_SURVEY) of a survey; 0; the number of
/// classes of each tile; the codes of the cells that windows of `size` × `size` see from each tile, in up to `rows_each` + `size` − 1 rows of
/// [`columns_tile_words`](super::columns_tile_words); and the same for another plane where there may be more than [`COLUMNS_PLANE`] classes.
///
/// With `survey` the launch has [`COLUMNS_SURVEY`](super::COLUMNS_SURVEY) blocks, each of which looks at one tile, and nothing is written but how many
/// sweeps of [`COLUMNS_CLASSES`] classes its tile needs. Without, nothing is done where those are more than `most`; they are not read where `most` is the
/// largest number.
///
/// # Safety
/// `cells`, `rows`, `cols`, `stride`, `first`, `count`, `size` and `nodata` are as for [`entropy_columns_many`](fn@super::entropy_columns_many) but that
/// cells may be any bytes; `coded` has room for all; the launch has the block size above.
#[kernel(threads = 256, blocks = 6)]
pub unsafe fn entropy_columns_recode(
    cells: In<u8>,
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
    survey: u32,
    most: u32,
) {
    let (t, block) = (thread::thread_idx_x(), thread::block_idx_x());
    let tiles = Tiles::new(Cut { rows, cols, first, count, size, rows_each }, strips_each);
    let mut tile = block;
    if survey != 0 {
        let Some(looked_at) = tiles.surveyed(block) else {
            if t == 0 {
                coded.store(block as usize, 0);
            }
            return;
        };
        tile = looked_at;
    } else if most < u32::MAX && surveyed(|n| coded.load(n)) > most {
        return;
    }

    let frame = Frame::of_grid(cells, (rows, cols, stride), size, nodata);
    let Area { x, y, width, height } = tiles.area(tile);

    let flags = Flags::new();
    thread::sync_threads();
    let (mut walk, mut done) = (Walk::new(width), 0);
    while done < width * height {
        let (mut words, mut bytes) = ([0; 4], [0; 4]);
        four!(N => {
            if walk.row < height {
                let at = x + walk.col;
                words[N] = frame.word((y + walk.row) as i32, at);
                bytes[N] = cols as i32 - 4 * at as i32;
            }
            walk.next();
        });
        flags.mark(words, bytes);
        done += 4 * COLUMNS_THREADS;
    }
    thread::sync_threads();

    let (found, codes) = (shared::array::<COLUMNS_FOUND>(), shared::array::<COLUMNS_CODES>());
    let all = shared::array::<COLUMNS_FLAGS>();
    let mut is_there = 0;
    let mut w = 0;
    while w < COLUMNS_THREADS / 32 {
        is_there |= all.load(256 * w + t);
        w += 1;
    }
    let ballot = warp::warp_vote_ballot(warp::FULL, is_there != 0 && t != nodata);
    if warp::lane_id() == 0 {
        found.store(t / 32, ballot.count_ones());
    }
    thread::sync_threads();
    let (mut number, mut classes) = ((ballot & ((1 << warp::lane_id()) - 1)).count_ones(), 0);
    let mut w = 0;
    while w < COLUMNS_THREADS / 32 {
        let of_warp = found.load(w);
        number += if w < t / 32 { of_warp } else { 0 };
        classes += of_warp;
        w += 1;
    }
    if survey != 0 {
        if t == 0 {
            coded.store(block as usize, classes.max(1).div_ceil(COLUMNS_CLASSES));
        }
        return;
    }
    if t == 0 {
        Tiles::store_classes(coded, tile, classes);
    }

    let mut plane = 0;
    while plane == 0 || plane * COLUMNS_PLANE < classes {
        // The codes of the plane before are no longer read.
        thread::sync_threads();
        let own = number.wrapping_sub(plane * COLUMNS_PLANE);
        let code = if own < COLUMNS_PLANE { own as u8 } else { OTHER };
        codes.store(t, if t == nodata { NO_DATA } else { code });
        thread::sync_threads();
        let mut walk = Walk::new(width);
        while walk.row < height {
            let mut words = [0; 4];
            let mut ahead = walk;
            four!(N => {
                if ahead.row < height {
                    words[N] = frame.word((y + ahead.row) as i32, x + ahead.col);
                }
                ahead.next();
            });
            four!(N => {
                if walk.row < height {
                    let mut word = 0;
                    let mut k = 0;
                    while k < 4 {
                        word |= u32::from(codes.load(words[N] >> (8 * k) & 255)) << (8 * k);
                        k += 1;
                    }
                    coded.store(tiles.code_at(tile, plane, walk.row, walk.col), word);
                }
                walk.next();
            });
        }
        plane += 1;
    }
}
