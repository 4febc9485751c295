//! How the blocks of one image are decoded.

use tiff_reader::TiffError;
use tiff_reader::source::SharedSource;

use super::codec::Codec;
use super::rows::{Format, Rows};
use super::{Fault, lerc, zeros};

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
        let mut decoder = self.rows(place)?;
        let mut cells = zeros(rows * cols * self.format.size())?;
        decoder.read(rows, band, &mut cells)?;
        decoder.finish(self.height - rows)?;
        Ok(cells)
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
