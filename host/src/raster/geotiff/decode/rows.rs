//! Rows of a block, one after the other: decoded bytes to the cells of one band.
//!
//! Bytes come from the codec some rows at a time, so that its inner loops run long: one that is asked for a row of 512 bytes spends half of its
//! time on beginnings and ends. Where a row of the block is a row of cells, it is decoded to where it is wanted.

use std::io::{Cursor, ErrorKind, Read};

use tiff_reader::source::SharedSource;

use super::codec::Codec;
use super::predict::{Predictor, take_back};
use super::stored::{Failure, Stored, ends_early};
use super::unpack::unpack;
use super::{Fault, float, zeros};
use crate::numbers::ValueType;

/// Bytes that the codec is asked for at once, unless a row has more.
const GROUP: usize = 128 << 10;
/// Bytes that may follow the last row.
const BEYOND: usize = 64 << 10;

/// How a sample is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sample {
    /// As a number of 1, 2, 4 or 8 bytes that a raster can have.
    Plain,
    /// In so many bits (1 to 31), the highest first.
    Bits(u32),
    /// As a whole number of 24 bits, its bytes in the order that the file's is not: libtiff turns them round in big-endian files, and GDAL
    /// then reads bits, the highest first.
    Bytes3,
    /// As floating point of 16 bits.
    Float16,
    /// As floating point of 24 bits.
    Float24,
}

/// How a row of a block is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// Cells.
    pub(crate) width: usize,
    /// Samples of a cell that lie side by side.
    pub(crate) samples: usize,
    pub(crate) sample: Sample,
    /// The type of the number that a sample becomes.
    pub(crate) value_type: ValueType,
    pub(crate) predictor: Predictor,
    pub(crate) big_endian: bool,
}

impl Format {
    /// Bytes of the number that a sample becomes.
    pub(crate) fn size(&self) -> usize {
        self.value_type.bytes()
    }

    /// Bytes of a sample in the file; none where it shares them.
    pub(crate) fn stored_size(&self) -> Option<usize> {
        match self.sample {
            Sample::Plain => Some(self.size()),
            Sample::Bits(_) => None,
            Sample::Bytes3 | Sample::Float24 => Some(3),
            Sample::Float16 => Some(2),
        }
    }

    /// Bytes of a row in the file. Below 2^32 · 2^16 · 8.
    pub(crate) fn row_bytes(&self) -> u64 {
        let samples = self.width as u64 * self.samples as u64;
        match (self.stored_size(), self.sample) {
            (Some(size), _) => samples * size as u64,
            (None, Sample::Bits(bits)) => (samples * u64::from(bits)).div_ceil(8),
            (None, _) => 0,
        }
    }

    /// Whether bytes of a row are those of its cells, but for their order and a predictor.
    fn is_direct(&self) -> bool {
        self.samples == 1 && self.sample == Sample::Plain
    }

    /// Takes the predictor back and puts bytes in this machine's order, in a row or (without a predictor) some whole cells of one.
    pub(crate) fn prepare(&self, row: &mut [u8], scratch: &mut Vec<u8>) {
        if let Some(size) = self.stored_size() {
            take_back(self.predictor, row, size, self.samples, self.big_endian, scratch);
        }
    }

    /// The cells of a band in a prepared row, from cell `first` on, until `out` is full.
    pub(crate) fn pick(&self, row: &[u8], band: usize, first: usize, out: &mut [u8]) {
        fn every<const N: usize, const M: usize>(
            row: &[u8],
            (band, samples): (usize, usize),
            first: usize,
            out: &mut [u8],
            number: impl Fn([u8; N]) -> [u8; M],
        ) {
            let (numbers, _) = row.as_chunks::<N>();
            let (places, _) = out.as_chunks_mut::<M>();
            let of_band = numbers[first * samples + band..].iter().step_by(samples);
            places.iter_mut().zip(of_band).for_each(|(place, &bytes)| *place = number(bytes));
        }
        let from = (band, self.samples);
        // Three bytes, lowest or highest first as this machine has it.
        let three = |b: [u8; 3]| {
            if cfg!(target_endian = "big") {
                u32::from_be_bytes([0, b[0], b[1], b[2]])
            } else {
                u32::from_le_bytes([b[0], b[1], b[2], 0])
            }
        };
        match (self.sample, self.size()) {
            (Sample::Plain, size) if self.samples == 1 => {
                let start = first * size;
                out.copy_from_slice(&row[start..start + out.len()]);
            }
            (Sample::Plain, 1) => every(row, from, first, out, |b: [u8; 1]| b),
            (Sample::Plain, 2) => every(row, from, first, out, |b: [u8; 2]| b),
            (Sample::Plain, 4) => every(row, from, first, out, |b: [u8; 4]| b),
            (Sample::Plain, _) => every(row, from, first, out, |b: [u8; 8]| b),
            (Sample::Bits(bits), size) => unpack(row, bits, from, first, out, size),
            (Sample::Bytes3, _) => every(row, from, first, out, |[a, b, c]| three([c, b, a]).to_ne_bytes()),
            (Sample::Float16, _) => {
                every(row, from, first, out, |b| float::widened(u16::from_ne_bytes(b).into(), 16, 5).to_ne_bytes())
            }
            (Sample::Float24, _) => every(row, from, first, out, |b| float::widened(three(b), 24, 7).to_ne_bytes()),
        }
    }
}

/// A block's rows, from the first one on.
pub(crate) struct Rows {
    decoded: Box<dyn Read + Send>,
    failure: Failure,
    codec: Codec,
    format: Format,
    row_bytes: usize,
    group: Vec<u8>,
    scratch: Vec<u8>,
}

impl Rows {
    /// The rows of the block at `place` (first byte, length).
    pub(crate) fn open(
        source: &SharedSource,
        place: (u64, u64),
        codec: Codec,
        reversed: bool,
        format: Format,
    ) -> Result<Self, Fault> {
        let stored = Stored::new(source.clone(), place, reversed);
        let failure = stored.failure();
        let decoded = codec.open(stored).map_err(|fault| first(&failure, fault))?;
        Self::new(decoded, failure, codec, format)
    }

    /// The rows of a block whose bytes have been decoded by `codec`.
    pub(crate) fn of_decoded(block: Vec<u8>, codec: Codec, format: Format) -> Result<Self, Fault> {
        Self::new(Box::new(Cursor::new(block)), Failure::default(), codec, format)
    }

    fn new(decoded: Box<dyn Read + Send>, failure: Failure, codec: Codec, format: Format) -> Result<Self, Fault> {
        let row_bytes = format.row_bytes();
        let row_bytes = usize::try_from(row_bytes).map_err(|_| Fault::Memory(usize::MAX))?;
        Ok(Self { decoded, failure, codec, format, row_bytes, group: Vec::new(), scratch: Vec::new() })
    }

    /// The cells of the next `count` rows that are in `out`, a row after the other: as many of each as there is room for.
    pub(crate) fn read(&mut self, count: usize, band: usize, out: &mut [u8]) -> Result<(), Fault> {
        let inside = out.len() / count.max(1);
        if self.format.is_direct() && inside == self.row_bytes {
            self.fill(out)?;
            for row in out.chunks_exact_mut(inside) {
                self.format.prepare(row, &mut self.scratch);
            }
            return Ok(());
        }
        let mut rows = out.chunks_exact_mut(inside);
        self.groups(count, |format, row, scratch| {
            format.prepare(row, scratch);
            if let Some(out) = rows.next() {
                format.pick(row, band, 0, out);
            }
        })
    }

    /// Leaves out the next `count` rows.
    pub(crate) fn skip(&mut self, count: usize) -> Result<(), Fault> {
        self.groups(count, |_, _, _| ())
    }

    /// Looks at the checksum that follows the rows, if one does: `left` of them, below the image, need not be there. What goes on beyond
    /// them is damage, since nothing says that the cells before it are right, and is not decoded for long.
    pub(crate) fn finish(&mut self, left: usize) -> Result<(), Fault> {
        if !self.codec.has_checksum() {
            return Ok(());
        }
        let mut room = left.saturating_mul(self.row_bytes).saturating_add(BEYOND);
        let mut group = std::mem::take(&mut self.group);
        if group.is_empty() {
            group = zeros(4096)?;
        }
        loop {
            match self.decoded.read(&mut group) {
                Ok(0) => break,
                Ok(n) if n <= room => room -= n,
                Ok(_) => return Err(Fault::data(format_args!("{}: it goes on beyond its cells", self.codec.name()))),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(self.fault(&e)),
            }
        }
        self.group = group;
        Ok(())
    }

    fn groups(&mut self, count: usize, mut row: impl FnMut(&Format, &mut [u8], &mut Vec<u8>)) -> Result<(), Fault> {
        let at_once = (GROUP / self.row_bytes.max(1)).clamp(1, count.max(1));
        let mut group = std::mem::take(&mut self.group);
        if group.len() < at_once * self.row_bytes {
            group = zeros(at_once * self.row_bytes)?;
        }
        let mut left = count;
        while left > 0 {
            let rows = left.min(at_once);
            let bytes = &mut group[..rows * self.row_bytes];
            self.fill(bytes)?;
            bytes.chunks_exact_mut(self.row_bytes).for_each(|bytes| row(&self.format, bytes, &mut self.scratch));
            left -= rows;
        }
        self.group = group;
        Ok(())
    }

    fn fill(&mut self, mut out: &mut [u8]) -> Result<(), Fault> {
        while !out.is_empty() {
            match self.decoded.read(out) {
                Ok(0) => return Err(self.fault(&ends_early())),
                Ok(n) => out = &mut out[n..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(self.fault(&e)),
            }
        }
        Ok(())
    }

    fn fault(&self, error: &std::io::Error) -> Fault {
        first(&self.failure, Fault::data(format_args!("{}: {error}", self.codec.name())))
    }
}

/// What has gone wrong with the file, or else this.
pub(super) fn first(failure: &Failure, fault: Fault) -> Fault {
    match failure.get() {
        // Errors cannot be copied: an error of the operating system is made again.
        Some(tiff_reader::TiffError::Io(error, path)) => {
            let again = std::io::Error::new(error.kind(), error.to_string());
            Fault::Source(tiff_reader::TiffError::Io(again, path.clone()))
        }
        Some(&tiff_reader::TiffError::OffsetOutOfBounds { offset, length, data_len }) => {
            Fault::Source(tiff_reader::TiffError::OffsetOutOfBounds { offset, length, data_len })
        }
        Some(other) => Fault::Source(tiff_reader::TiffError::Other(other.to_string())),
        None => fault,
    }
}
