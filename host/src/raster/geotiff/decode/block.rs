//! How the blocks of one image are decoded.

use tiff_reader::TiffError;
use tiff_reader::source::SharedSource;

use super::codec::Codec;
use super::rows::{Format, Rows};
use super::{Fault, lerc, zeros};

/// Decoded bytes of the largest block that is decoded at once.
const AT_ONCE: u64 = 2 << 20;
/// By how much what is stored may be longer than what it holds.
const LONGER: u64 = 4 << 10;

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
        let mut decoder = match self.at_once(place) {
            Some(block) => Rows::of_decoded(block, self.codec, self.format)?,
            None => self.rows(place)?,
        };
        let mut cells = zeros(rows * cols * self.format.size())?;
        decoder.read(rows, band, &mut cells)?;
        decoder.finish(self.height - rows)?;
        Ok(cells)
    }

    /// Decoded bytes of a block, where all of them are decoded at once: by codecs that can, of blocks that are small enough.
    pub(crate) fn whole(&self) -> Option<u64> {
        let all = self.format.row_bytes().saturating_mul(self.height as u64);
        (self.codec.is_native() && !self.reversed && all <= AT_ONCE).then_some(all)
    }

    /// All bytes of the block at `place`. None where it is to be decoded as a stream, also because anything is not as it should be: the stream finds what it
    /// is, or that it can be lived with.
    fn at_once(&self, place: (u64, u64)) -> Option<Vec<u8>> {
        let all = self.whole()?;
        if place.1 > all + LONGER || self.check(place).is_err() {
            return None;
        }
        let stored = self.source.read_exact_at(place.0, place.1 as usize).ok()?;
        let mut block = zeros(all as usize).ok()?;
        (self.codec.decode(&stored, &mut block)? == block.len()).then_some(block)
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
