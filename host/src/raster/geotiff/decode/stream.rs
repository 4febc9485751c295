//! Blocks that are too large to be held: rows decoded as they are asked for, from top to bottom.
//!
//! A cursor goes down one column of blocks. It has the decoder's state at a row and the last rows before it: windows that follow each other
//! overlap, and find there what they share. A window that begins before those rows sends the cursor back to the beginning of its block, which
//! is right and slow; one that begins after them has rows decoded for nothing. So windows are cheapest one after the other, and
//! two readers that go through a raster at once should have a raster each.

use std::collections::VecDeque;
use std::ops::Range;

use super::block::Decoder;
use super::rows::Rows;
use super::{Fault, zeros};

/// Bytes of cells that are decoded at once, unless a row has more.
const GROUP: usize = 256 << 10;
/// What a row costs beside its bytes.
pub(crate) const ROW: usize = 64;

/// A column of blocks, as a cursor needs it.
pub(crate) struct Column<'a> {
    pub(crate) decoder: &'a Decoder,
    /// Where the column's block is that is so many blocks from the top; none where it is not in the file.
    pub(crate) place: &'a (dyn Fn(usize) -> Option<(u64, u64)> + Sync),
    /// Rows of the image.
    pub(crate) rows: usize,
    /// Columns inside the image.
    pub(crate) cols: usize,
}

/// A place in a column of blocks.
#[derive(Default)]
pub(crate) struct Cursor {
    /// Stands at row `next`. None at the first row of a block, and in one that is not in the file.
    decoder: Option<Rows>,
    band: usize,
    /// The cells of rows `next - held.len()..next`.
    held: VecDeque<Vec<u8>>,
    next: usize,
    group: Vec<u8>,
}

impl Cursor {
    /// The cells of a band in `rows`, from cell `first` of the column on, as many as there is room for in each row of `out`; `most` rows
    /// are held afterwards. An error comes with the number of its block in the column.
    pub(crate) fn read(
        &mut self,
        column: &Column<'_>,
        band: usize,
        (rows, first): (Range<usize>, usize),
        most: usize,
        out: &mut [&mut [u8]],
    ) -> Result<(), (usize, Fault)> {
        let read = self.advance(column, band, (rows, first), most, out);
        if let Err(fault) = read {
            let block = self.next / column.decoder.height;
            *self = Self::default();
            return Err((block, fault));
        }
        Ok(())
    }

    fn advance(
        &mut self,
        column: &Column<'_>,
        band: usize,
        (rows, first): (Range<usize>, usize),
        most: usize,
        out: &mut [&mut [u8]],
    ) -> Result<(), Fault> {
        let (height, size) = (column.decoder.height, column.decoder.format.size());
        if self.band != band {
            *self = Self { band, ..Self::default() };
        }
        let oldest = self.next - self.held.len();
        if !(oldest..=self.next).contains(&rows.start) {
            self.seek(column, rows.start)?;
        }
        let copy = |row: &[u8], out: &mut [u8]| out.copy_from_slice(&row[first * size..first * size + out.len()]);
        let oldest = self.next - self.held.len();
        for row in rows.start..rows.end.min(self.next) {
            copy(&self.held[row - oldest], out[row - rows.start]);
        }
        let row_bytes = column.cols * size;
        while self.next < rows.end {
            let end = (self.next / height + 1).saturating_mul(height).min(column.rows);
            let count = (rows.end.min(end) - self.next).min((GROUP / row_bytes).max(1));
            if self.group.len() < count * row_bytes {
                self.group = zeros(count * row_bytes)?;
            }
            if self.next.is_multiple_of(height) {
                self.open(column)?;
            }
            let group = &mut self.group[..count * row_bytes];
            match &mut self.decoder {
                Some(decoder) => decoder.read(count, band, group)?,
                None => group.fill(0),
            }
            for row in group.chunks_exact(row_bytes) {
                if self.next >= rows.start {
                    copy(row, out[self.next - rows.start]);
                }
                self.next += 1;
                if most > 0 {
                    let mut place =
                        if self.held.len() < most { None } else { self.held.pop_front() }.unwrap_or_default();
                    place.clear();
                    place.extend_from_slice(row);
                    self.held.push_back(place);
                }
            }
            if self.next == end
                && let Some(mut decoder) = self.decoder.take()
            {
                decoder.finish(end.next_multiple_of(height) - end)?;
            }
        }
        Ok(())
    }

    /// Goes to a row without holding any.
    fn seek(&mut self, column: &Column<'_>, row: usize) -> Result<(), Fault> {
        let height = column.decoder.height;
        self.held.clear();
        let begun = !self.next.is_multiple_of(height);
        if !(begun && row > self.next && row / height == self.next / height) {
            self.decoder = None;
            self.next = row / height * height;
            if row > self.next {
                self.open(column)?;
            }
        }
        if let Some(decoder) = &mut self.decoder {
            decoder.skip(row - self.next)?;
        }
        self.next = row;
        Ok(())
    }

    /// Begins the block at row `next`.
    fn open(&mut self, column: &Column<'_>) -> Result<(), Fault> {
        let place = (column.place)(self.next / column.decoder.height);
        self.decoder = place.map(|place| column.decoder.rows(place)).transpose()?;
        Ok(())
    }
}
