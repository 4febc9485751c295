//! From the cells of a block to the bytes that are stored: the predictor, then the codec.
//!
//! ```text
//! predictor ─── differences between neighbours, or of bytes of numbers sorted by significance: what codecs make less of
//!     │
//!   codec  ─── Deflate by libdeflate, Zstandard by its own library; LZW by tiff-writer
//! ```
//!
//! Both libraries are in C, and so a feature, `native-codecs`. Without it all codecs are tiff-writer's: Deflate zlib-rs, which takes longer, and Zstandard
//! ruzstd, which has a single level; what reads the files sees no difference. A block is compressed whole, since it is in memory whole, and a thread keeps its
//! compressor from block to block. So is all memory: blocks are larger than what allocators keep, and new memory costs a page fault every 4 KiB, which took
//! longer than the codec.

use tiff_core::{Compression, Predictor};
use tiff_writer::Error;
use tiff_writer::compress::compress_with_level;

/// How blocks become bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coding {
    pub(super) compression: Compression,
    pub(super) predictor: Predictor,
    /// The codec's own, or its usual one.
    pub(super) level: Option<u32>,
}

/// The bytes of a block as they are stored, in memory that is used again for the next one.
#[derive(Debug, Default)]
pub(super) struct Stored {
    room: Vec<u8>,
    length: usize,
}

impl Stored {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.room[..self.length]
    }

    /// Room for so many bytes, whatever is in it.
    #[cfg(feature = "native-codecs")]
    fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.room.len() < bytes {
            self.room.resize(bytes, 0);
        }
        &mut self.room[..bytes]
    }
}

impl Coding {
    /// Encodes a block of rows of `row` bytes, of numbers of `size` bytes, the lowest first. What is left in `bytes` is of no use.
    pub(super) fn encode(
        self,
        bytes: &mut Vec<u8>,
        (row, size): (usize, usize),
        index: usize,
        stored: &mut Stored,
    ) -> Result<(), Error> {
        predict(self.predictor, bytes, row, size);
        if self.compression == Compression::None {
            std::mem::swap(bytes, &mut stored.room);
            stored.length = stored.room.len();
            return Ok(());
        }
        #[cfg(feature = "native-codecs")]
        if let Some(encoded) = native::encode(self, bytes, stored) {
            stored.length = encoded.map_err(|reason| Error::CompressionFailed { index, reason })?;
            return Ok(());
        }
        let level = self.level.filter(|_| self.compression == Compression::Deflate);
        stored.room = compress_with_level(bytes, self.compression, level, index)?;
        stored.length = stored.room.len();
        Ok(())
    }
}

/// Rows of `row` bytes, of numbers of `size` bytes in little-endian order, as the predictor has them.
fn predict(predictor: Predictor, bytes: &mut [u8], row: usize, size: usize) {
    match predictor {
        Predictor::None => {}
        Predictor::Horizontal => bytes.chunks_exact_mut(row).for_each(|row| horizontal(row, size)),
        Predictor::FloatingPoint => {
            let mut sorted = vec![0; row];
            bytes.chunks_exact_mut(row).for_each(|row| floating_point(row, size, &mut sorted));
        }
    }
}

/// Each number less the one before it.
fn horizontal(row: &mut [u8], size: usize) {
    macro_rules! differences {
        ($t:ty, $n:literal) => {{
            let mut before: $t = 0;
            for bytes in row.as_chunks_mut::<$n>().0 {
                let number = <$t>::from_le_bytes(*bytes);
                *bytes = number.wrapping_sub(before).to_le_bytes();
                before = number;
            }
        }};
    }
    match size {
        1 => differences!(u8, 1),
        2 => differences!(u16, 2),
        4 => differences!(u32, 4),
        _ => differences!(u64, 8),
    }
}

/// The highest bytes of all numbers, then the next ones, each less the byte before it.
fn floating_point(row: &mut [u8], size: usize, sorted: &mut [u8]) {
    fn sort<const N: usize>(row: &[u8], sorted: &mut [u8]) {
        let count = row.len() / N;
        for (significance, plane) in sorted.chunks_exact_mut(count.max(1)).enumerate() {
            for (place, number) in plane.iter_mut().zip(row.as_chunks::<N>().0) {
                *place = number[N - 1 - significance];
            }
        }
    }
    match size {
        2 => sort::<2>(row, sorted),
        4 => sort::<4>(row, sorted),
        _ => sort::<8>(row, sorted),
    }
    // From one array to another, so that many are taken at a time.
    row[..1].copy_from_slice(&sorted[..1]);
    for (place, pair) in row[1..].iter_mut().zip(sorted.windows(2)) {
        *place = pair[1].wrapping_sub(pair[0]);
    }
}

/// The codecs in C.
#[cfg(feature = "native-codecs")]
mod native {
    use std::cell::RefCell;
    use std::thread::LocalKey;

    use libdeflater::{CompressionLvl, Compressor};
    use tiff_core::{Compression, Predictor};
    use zstd::zstd_safe::compress_bound;

    use super::{Coding, Stored};

    /// The level of Deflate where none is asked for. For results of 5 × 5 windows, which repeat each other, level 4 takes half of the time of level 6 and
    /// makes files a sixth larger. What the predictor is for has little in it that any level finds: to the first one 2 % are missing.
    const DEFLATE: i32 = 4;
    const DEFLATE_PREDICTED: i32 = 1;
    /// The same of Zstandard: GDAL's.
    const ZSTD: i32 = 9;

    /// A compressor, and the level that it is of.
    type Kept<C> = RefCell<Option<(i32, C)>>;

    thread_local! {
        static DEFLATERS: Kept<Compressor> = const { RefCell::new(None) };
        static ZSTDS: Kept<zstd::bulk::Compressor<'static>> = const { RefCell::new(None) };
    }

    /// Compresses the bytes of a block and returns how many there are then, or why it cannot; none where they are not for these codecs.
    pub(super) fn encode(coding: Coding, bytes: &[u8], stored: &mut Stored) -> Option<Result<usize, String>> {
        let level = |usual: i32| coding.level.map_or(usual, |level| level as i32);
        match coding.compression {
            Compression::Deflate if coding.predictor == Predictor::None => Some(deflate(bytes, level(DEFLATE), stored)),
            Compression::Deflate => Some(deflate(bytes, level(DEFLATE_PREDICTED), stored)),
            Compression::Zstd => Some(zstd(bytes, level(ZSTD), stored)),
            _ => None,
        }
    }

    fn deflate(bytes: &[u8], level: i32, stored: &mut Stored) -> Result<usize, String> {
        // What zlib has by these levels takes libdeflate one more, and less time; libtiff has the same.
        let level = if (6..10).contains(&level) { level + 1 } else { level };
        let new = |level| {
            CompressionLvl::new(level).map_or(Err(format!("Deflate has no level {level}")), |l| Ok(Compressor::new(l)))
        };
        of_level(&DEFLATERS, level, new, |compressor| {
            let room = stored.room(compressor.zlib_compress_bound(bytes.len()));
            compressor.zlib_compress(bytes, room).map_err(|e| e.to_string())
        })
    }

    fn zstd(bytes: &[u8], level: i32, stored: &mut Stored) -> Result<usize, String> {
        let new = |level| zstd::bulk::Compressor::new(level).map_err(|e| e.to_string());
        of_level(&ZSTDS, level, new, |compressor| {
            let room = stored.room(compress_bound(bytes.len()));
            compressor.compress_to_buffer(bytes, room).map_err(|e| e.to_string())
        })
    }

    /// Hands this thread's compressor over: the one of the block before, unless that had another level.
    fn of_level<C>(
        kept: &'static LocalKey<Kept<C>>,
        level: i32,
        new: impl FnOnce(i32) -> Result<C, String>,
        compress: impl FnOnce(&mut C) -> Result<usize, String>,
    ) -> Result<usize, String> {
        kept.with_borrow_mut(|kept| {
            let compressor = match kept.take() {
                Some((same, compressor)) if same == level => compressor,
                _ => new(level)?,
            };
            compress(&mut kept.insert((level, compressor)).1)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use tiff_core::ByteOrder;
    use tiff_writer::TiffWriteSample;
    use tiff_writer::compress::{BlockEncodingOptions, compress_block};

    use super::*;
    use crate::raster::geotiff::decode::codec::Codec;

    const CODECS: [(Compression, Codec); 4] = [
        (Compression::None, Codec::None),
        (Compression::Deflate, Codec::Deflate),
        (Compression::Lzw, Codec::Lzw),
        (Compression::Zstd, Codec::Zstd),
    ];

    #[test]
    fn predictors_are_those_of_tiff_writer() {
        let numbers: Vec<f32> = (0..35).map(|i| (i as f32).sin() * 1e3).collect();
        let doubles: Vec<f64> = numbers.iter().map(|&n| f64::from(n).exp()).collect();
        let words: Vec<u16> = (0..35u32).map(|i| (i * i * 997 % 65_521) as u16).collect();
        let bytes: Vec<u8> = words.iter().map(|&word| word as u8).collect();
        fn same<T: TiffWriteSample>(samples: &[T], predictor: Predictor) {
            let theirs = BlockEncodingOptions {
                byte_order: ByteOrder::LittleEndian,
                compression: Compression::None,
                predictor,
                samples_per_pixel: 1,
                row_width_pixels: 7,
                jpeg_options: None,
                jpeg_sampling: None,
                deflate_level: None,
            };
            let mut bytes = T::encode_slice(samples, ByteOrder::LittleEndian);
            predict(predictor, &mut bytes, 7 * T::BYTES_PER_SAMPLE, T::BYTES_PER_SAMPLE);
            assert_eq!(bytes, compress_block(samples, theirs, 0).unwrap());
        }
        same(&numbers, Predictor::FloatingPoint);
        same(&doubles, Predictor::FloatingPoint);
        same(&words, Predictor::Horizontal);
        same(&bytes, Predictor::Horizontal);
    }

    /// One memory for all of them, longer and shorter blocks by turns: what an earlier one left is no part of a later one.
    #[test]
    fn what_is_compressed_is_decoded() {
        let all: Vec<u8> = (0..70_000u64).map(|i| ((i * i) >> 9) as u8).collect();
        let mut stored = Stored::default();
        for (compression, codec) in CODECS {
            for (level, length) in [(None, 70_000), (Some(1), 700), (Some(9), 35_000), (Some(2), 70_000)] {
                let coding = Coding { compression, predictor: Predictor::None, level };
                let mut bytes = all[..length].to_vec();
                coding.encode(&mut bytes, (700, 1), 0, &mut stored).unwrap();
                let mut read = Vec::new();
                let open = codec.open(std::io::Cursor::new(stored.bytes().to_vec()));
                open.unwrap().read_to_end(&mut read).unwrap();
                assert!(read == all[..length], "{compression:?} {level:?}");
            }
        }
    }
}
