//! Blocks on their way from cells to the file: encoded by all threads, taken back in the order in which they came.
//!
//! ```text
//! begin(cells of a block)  ──>  a thread of the pool encodes  ──>  next(): its bytes, after those of all blocks before it
//! ```
//!
//! What the caller has to do between two blocks, cutting out cells and appending bytes to the file, goes on meanwhile, and so does the next row of blocks: to
//! wait for the last block of each row would leave the other threads without work for half the time that a block takes. A number of rooms are in use at
//! once, and a room's memory is used again: blocks are larger than what allocators keep, and new memory costs a page fault every 4 KiB.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tiff_core::Compression;
use tiff_writer::Error;

use super::encode::{Coding, Stored};
use crate::profile::stage;
use crate::threads::Done;

/// Bytes of cells in all rooms, unless that leaves threads idle.
const ALL: usize = 4 << 20;
/// The most rooms.
const ROOMS: usize = 1024;
/// Bytes of a block whose room is kept.
const KEPT: usize = 4 << 20;

/// A block's image and its number there.
pub(super) type Index = (usize, usize);

/// The memory of a block.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// Its cells, row by row, the lowest byte of a number first.
    pub(super) cells: Vec<u8>,
    stored: Stored,
}

impl Room {
    /// The block's bytes as they are stored.
    pub(super) fn bytes(&self) -> &[u8] {
        self.stored.bytes()
    }
}

/// A block that is being encoded.
struct Encoding {
    done: Done,
    /// The room, and what went wrong.
    room: Mutex<(Room, Option<Error>)>,
}

/// What was begun.
enum Begun {
    Encoding(Arc<Encoding>),
    LeftOut,
}

/// Blocks that are being encoded, in order.
pub(super) struct Encoders {
    coding: Coding,
    /// Bytes of a row of a block and of a number.
    row: (usize, usize),
    /// Rooms that may be in use.
    most: usize,
    free: Vec<Room>,
    begun: VecDeque<(Index, Begun)>,
}

impl Encoders {
    /// For blocks of `height` rows of `row` bytes, of numbers of `size` bytes.
    pub(super) fn new(coding: Coding, (row, size): (usize, usize), height: usize) -> Self {
        let bytes = row.saturating_mul(height).max(1);
        let most = (ALL / bytes).clamp(2 * rayon::current_num_threads() + 2, ROOMS);
        Self { coding, row: (row, size), most, free: Vec::new(), begun: VecDeque::new() }
    }

    /// How blocks become bytes.
    pub(super) fn coding(&self) -> Coding {
        self.coding
    }

    /// Rooms for at most so many blocks; none where all rooms are in use, until one has come back from [`next`](Self::next).
    pub(super) fn rooms(&mut self, most: usize) -> Vec<Room> {
        let count = self.most.saturating_sub(self.begun.len()).min(most);
        (0..count).map(|_| self.free.pop().unwrap_or_default()).collect()
    }

    /// Has the cells in a room encoded as block `index`.
    pub(super) fn begin(&mut self, index: Index, room: Room) {
        let encoding = Arc::new(Encoding { done: Done::awaited_here(), room: Mutex::new((room, None)) });
        self.begun.push_back((index, Begun::Encoding(encoding.clone())));
        let (coding, row) = (self.coding, self.row);
        let encode = move || {
            let _stage = stage("encode block");
            let mut kept = encoding.room.lock().unwrap_or_else(PoisonError::into_inner);
            let (room, error) = &mut *kept;
            // A panic here would end the process.
            let encoded =
                catch_unwind(AssertUnwindSafe(|| coding.encode(&mut room.cells, row, index.1, &mut room.stored)));
            *error = match encoded {
                Ok(encoded) => encoded.err(),
                Err(_) => Some(Error::CompressionFailed { index: index.1, reason: "the codec panicked".to_owned() }),
            };
            drop(kept);
            encoding.done.set();
        };
        // Without a codec there is nothing that would be worth the handing over.
        if coding.compression == Compression::None { encode() } else { rayon::spawn_fifo(encode) }
    }

    /// Notes that block `index` is not in the file.
    pub(super) fn leave_out(&mut self, index: Index) {
        self.begun.push_back((index, Begun::LeftOut));
    }

    /// The block that was begun first, which is waited for if need be, and its room unless it was left out; none where there is no other, or, without
    /// `wait`, where it is not done.
    pub(super) fn next(&mut self, wait: bool) -> Option<(Index, Result<Option<Room>, Error>)> {
        if let (_, Begun::Encoding(encoding)) = self.begun.front()? {
            if wait {
                encoding.done.wait();
            } else if !encoding.done.is_set() {
                return None;
            }
        }
        let (index, begun) = self.begun.pop_front()?;
        let room = match begun {
            Begun::LeftOut => Ok(None),
            Begun::Encoding(encoding) => {
                let mut kept = encoding.room.lock().unwrap_or_else(PoisonError::into_inner);
                let (room, error) = std::mem::take(&mut *kept);
                error.map_or(Ok(Some(room)), Err)
            }
        };
        Some((index, room))
    }

    /// Takes a room back.
    pub(super) fn give_back(&mut self, room: Room) {
        if room.cells.capacity() <= KEPT {
            self.free.push(room);
        }
    }
}

#[cfg(test)]
mod tests {
    use tiff_core::Predictor;

    use super::*;

    fn encoders(compression: Compression, level: Option<u32>) -> Encoders {
        Encoders::new(Coding { compression, predictor: Predictor::None, level }, (64, 1), 64)
    }

    #[test]
    fn blocks_come_back_in_their_order() {
        let mut encoders = encoders(Compression::Lzw, None);
        let mut seen = Vec::new();
        let mut take = |encoders: &mut Encoders, wait| {
            let Some(((_, index), room)) = encoders.next(wait) else { return false };
            match room.unwrap() {
                None => assert!(index.is_multiple_of(7)),
                Some(room) => {
                    // Blocks of one byte each: LZW makes little of them.
                    assert!((1..1000).contains(&room.bytes().len()));
                    encoders.give_back(room);
                }
            }
            seen.push(index);
            true
        };
        for index in 0..3000usize {
            if index.is_multiple_of(7) {
                encoders.leave_out((0, index));
                continue;
            }
            let mut room = loop {
                match encoders.rooms(1).pop() {
                    Some(room) => break room,
                    None => assert!(take(&mut encoders, true)),
                }
            };
            room.cells.clear();
            room.cells.resize(64 * 64, index as u8);
            encoders.begin((0, index), room);
            while take(&mut encoders, false) {}
        }
        while take(&mut encoders, true) {}
        assert!(seen.iter().copied().eq(0..3000));
    }

    #[test]
    fn what_goes_wrong_comes_with_its_block() {
        // A level that there is not.
        let mut encoders = encoders(Compression::Deflate, Some(77));
        let mut room = encoders.rooms(1).pop().unwrap();
        room.cells.resize(64 * 64, 1);
        encoders.begin((0, 5), room);
        let (index, failed) = encoders.next(true).unwrap();
        assert!(index == (0, 5) && failed.is_err());
        assert!(encoders.next(true).is_none());
    }
}
