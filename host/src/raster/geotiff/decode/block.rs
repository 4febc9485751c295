//! How the blocks of one image are decoded.

use tiff_reader::TiffError;
use tiff_reader::source::SharedSource;

use super::codec::Codec;
use super::rows::{Format, Rows};
use super::{Fault, lerc, zeros};

/// Decoded bytes of the largest block that is decoded at once, by codecs that do that.
pub(crate) const AT_ONCE: u64 = 2 << 20;

/// What all blocks of an image have in common.
pub(crate) struct Decoder {
    pub(crate) source: SharedSource,
    pub(crate) codec: Codec,
    /// The lowest bit of a byte comes first.
    pub(crate) reversed: bool,
    pub(crate) format: Format,
    /// Rows of a block.
    pub(crate) height: usize,
}

impl Decoder {
    /// The rows of the block at `place` (first byte, length).
    pub(crate) fn rows(&self, place: (u64, u64)) -> Result<Rows, Fault> {
        self.check(place)?;
        Rows::open(&self.source, place, self.codec, self.reversed, self.format)
    }

    /// The cells of a band in the first `rows` rows and `cols` columns of a block: those inside the image.
    pub(crate) fn block(&self, place: (u64, u64), band: usize, (rows, cols): (usize, usize)) -> Result<Vec<u8>, Fault> {
        if let Codec::Lerc(_) = self.codec {
            self.check(place)?;
            let shape = (self.height, rows, cols);
            return lerc::decode(&self.source, place, (self.codec, self.reversed), &self.format, band, shape);
        }
        #[cfg(feature = "native-codecs")]
        if let Some(cells) = self.at_once(place, band, (rows, cols)) {
            return Ok(cells);
        }
        let mut decoder = self.rows(place)?;
        let mut cells = zeros(rows * cols * self.format.size())?;
        decoder.read(rows, band, &mut cells)?;
        decoder.finish(self.height - rows)?;
        Ok(cells)
    }

    /// The same by a codec in C that decodes all bytes of a block at once. None where it has none, the block is too large for that, or
    /// anything is not as it should be: then the stream finds what it is, or that it can be lived with.
    #[cfg(feature = "native-codecs")]
    fn at_once(&self, place: (u64, u64), band: usize, (rows, cols): (usize, usize)) -> Option<Vec<u8>> {
        let all = self.format.row_bytes().saturating_mul(self.height as u64);
        // What is stored may be a little longer than what it holds.
        if all > AT_ONCE || place.1 > 2 * all || self.reversed || !self.codec.is_native() || self.check(place).is_err()
        {
            return None;
        }
        let (row, all) = (self.format.row_bytes() as usize, all as usize);
        let stored = self.source.read_exact_at(place.0, place.1 as usize).ok()?;
        let mut block = zeros(all).ok()?;
        let decoded = self.codec.decode(&stored, &mut block)?;
        if decoded != all {
            return None;
        }
        drop(stored);
        let mut scratch = Vec::new();
        let lines = block.chunks_exact_mut(row).take(rows);
        lines.for_each(|line| self.format.prepare(line, &mut scratch));
        let size = self.format.size();
        if self.format.is_direct() && cols * size == row {
            block.truncate(rows * row);
            return Some(block);
        }
        let mut cells = zeros(rows * cols * size).ok()?;
        for (line, out) in block.chunks_exact(row).zip(cells.chunks_exact_mut(cols * size)) {
            self.format.pick(line, band, 0, out);
        }
        Some(cells)
    }

    /// Whether the file has so many bytes.
    fn check(&self, (offset, length): (u64, u64)) -> Result<(), Fault> {
        let data_len = self.source.len();
        if offset.checked_add(length).is_some_and(|end| end <= data_len) {
            return Ok(());
        }
        Err(Fault::Source(TiffError::OffsetOutOfBounds { offset, length, data_len }))
    }
}
