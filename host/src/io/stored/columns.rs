//! Windows of an array in Fortran order: a segment a column, transposed in memory.
//!
//! ```text
//! for every stripe of columns, of at most STRIPE bytes:
//!     read its segments into a buffer, all threads           a call a column, or whole stretches with what lies between the segments
//!     copy the buffer, transposed, to the window's rows      all threads, each some rows, in tiles that stay in the cache
//! ```
//!
//! Memory is bounded by the window and one stripe, whatever the file. A call costs about as much as copying [`GAP`] bytes, and the system reads
//! whole pages from the disk in any case, so that shorter gaps are read through.
//!
//! A reader of windows one after the other passes over the file as often as there are rows of windows, each time with [`SEGMENT`] bytes or more of
//! every column: [`block`] asks for that. A page of the file is then read from the disk once or twice, not once for every row of it.

use std::ops::Range;

use bytemuck::Pod;
use rayon::prelude::*;

use super::StoredArray;
use crate::io::FormatError;

/// Bytes of the buffer, unless a column's segment has more.
const STRIPE: usize = 4 << 20;
/// Bytes between two segments that are read through rather than passed over.
const GAP: usize = 4096;
/// Bytes of a column that are worth a call.
const SEGMENT: usize = 16 << 10;
/// Bytes that a thread reads at a time where nothing is passed over.
const PIECE: usize = 256 << 10;
/// Side of the tiles in which numbers are transposed.
const TILE: usize = 64;

/// The shape of windows that are the cheapest to read.
pub(super) fn block(rows: usize, cols: usize, bytes: usize) -> (usize, usize) {
    let height = rows.min(SEGMENT / bytes);
    (height, cols.min((PIECE / bytes / height).max(1)))
}

impl StoredArray {
    /// Fills `values`, row by row, with the numbers of a rectangle; `swap` turns the bytes of one.
    pub(super) fn read_columns<T: Pod + Send + Sync>(
        &self,
        rows: Range<usize>,
        cols: Range<usize>,
        values: &mut [T],
        swap: Option<fn(T) -> T>,
    ) -> Result<(), FormatError> {
        let (height, width) = (rows.len(), cols.len());
        let through = (self.rows - height) * size_of::<T>() <= GAP.max(height * size_of::<T>());
        // From one column's segment to the next in the buffer.
        let pitch = if through { self.rows } else { height };
        let stripe = (STRIPE / size_of::<T>() / pitch).clamp(1, width);
        let mut buffer = self.zeroed::<T>((stripe - 1) * pitch + height)?;
        for left in (0..width).step_by(stripe) {
            let count = stripe.min(width - left);
            let buffer = &mut buffer[..(count - 1) * pitch + height];
            let first = (cols.start + left) * self.rows + rows.start;
            if through {
                let piece = PIECE / size_of::<T>();
                let read = |(i, part): (usize, &mut [T])| self.read_stretch(first + i * piece, part);
                buffer.par_chunks_mut(piece).enumerate().try_for_each(read)?;
            } else {
                let read = |(c, part): (usize, &mut [T])| self.read_stretch(first + c * self.rows, part);
                buffer.par_chunks_mut(height).enumerate().try_for_each(read)?;
            }
            let buffer = &*buffer;
            values.par_chunks_mut(TILE * width).enumerate().for_each(|(band, out)| {
                let above = band * TILE;
                for start in (0..count).step_by(TILE) {
                    let columns = start..count.min(start + TILE);
                    for (r, row) in out.chunks_mut(width).enumerate() {
                        let to = row[left..][columns.clone()].iter_mut();
                        let from = columns.clone().map(|c| buffer[c * pitch + above + r]);
                        match swap {
                            Some(swap) => to.zip(from).for_each(|(to, from)| *to = swap(from)),
                            None => to.zip(from).for_each(|(to, from)| *to = from),
                        }
                    }
                }
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_long_segments_and_few_cells() {
        assert_eq!(block(12_000, 12_000, 1), (12_000, 21));
        assert_eq!(block(40_000, 12_000, 8), (2048, 16));
        assert_eq!(block(10, 1000, 4), (10, 1000));
        assert_eq!((block(1, 1, 8), block(1 << 30, 1, 1)), ((1, 1), (1 << 14, 1)));
    }
}
