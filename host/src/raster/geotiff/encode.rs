//! From the cells of a block to the bytes that are stored: the predictor, then the codec.
//!
//! ```text
//! predictor ─── differences between neighbours, or of bytes of numbers sorted by significance: what codecs make less of
//!     │
//!   codec  ─── Deflate by libdeflate, Zstandard by its own library; LZW and none at all by tiff-writer
//! ```
//!
//! Both libraries are in C, and so a feature, `native-codecs`, which is off by default. Without it all codecs are tiff-writer's: Deflate zlib-rs, which takes
//! longer, and Zstandard ruzstd, which has a single level; what reads the files sees no difference. A block is compressed whole, since it is in memory whole, and a thread keeps its
//! compressor from block to block.

use tiff_core::{ByteOrder, Compression, Predictor};
use tiff_writer::compress::{BlockEncodingOptions, compress_block};
use tiff_writer::{Error, TiffWriteSample};

/// How blocks become bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coding {
    pub(super) compression: Compression,
    pub(super) predictor: Predictor,
    /// The codec's own, or its usual one.
    pub(super) level: Option<u32>,
}

impl Coding {
    /// The bytes of a block of rows of so many samples.
    pub(super) fn encode<T: TiffWriteSample>(
        self,
        samples: &[T],
        width: usize,
        index: usize,
    ) -> Result<Vec<u8>, Error> {
        #[cfg(feature = "native-codecs")]
        if let Some(codec) = native::codec(self) {
            let row = width * T::BYTES_PER_SAMPLE;
            let bytes =
                predicted(self.predictor, T::encode_slice(samples, ByteOrder::LittleEndian), row, T::BYTES_PER_SAMPLE);
            return codec(&bytes).map_err(|reason| Error::CompressionFailed { index, reason });
        }
        let options = BlockEncodingOptions {
            byte_order: ByteOrder::LittleEndian,
            compression: self.compression,
            predictor: self.predictor,
            samples_per_pixel: 1,
            row_width_pixels: width,
            jpeg_options: None,
            jpeg_sampling: None,
            deflate_level: self.level.filter(|_| self.compression == Compression::Deflate),
        };
        compress_block(samples, options, index)
    }
}

/// Rows of `row` bytes, of numbers of `size` bytes in little-endian order, as the predictor has them.
#[cfg(feature = "native-codecs")]
fn predicted(predictor: Predictor, mut bytes: Vec<u8>, row: usize, size: usize) -> Vec<u8> {
    match predictor {
        Predictor::None => {}
        Predictor::Horizontal => bytes.chunks_exact_mut(row).for_each(|row| horizontal(row, size)),
        Predictor::FloatingPoint => {
            let mut sorted = vec![0; row];
            bytes.chunks_exact_mut(row).for_each(|row| floating_point(row, size, &mut sorted));
        }
    }
    bytes
}

/// Each number less the one before it.
#[cfg(feature = "native-codecs")]
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
#[cfg(feature = "native-codecs")]
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

    use libdeflater::{CompressionLvl, Compressor};
    use tiff_core::Compression;

    use super::Coding;

    /// The level of Deflate where none is asked for: zlib's and GDAL's.
    const DEFLATE: i32 = 6;
    /// The same of Zstandard: GDAL's.
    const ZSTD: i32 = 9;

    thread_local! {
        static DEFLATERS: RefCell<Option<(i32, Compressor)>> = const { RefCell::new(None) };
        static ZSTDS: RefCell<Option<(i32, zstd::bulk::Compressor<'static>)>> = const { RefCell::new(None) };
    }

    /// What compresses the bytes of a block, or says why it cannot; none where they are not for these codecs.
    pub(super) fn codec(coding: Coding) -> Option<impl Fn(&[u8]) -> Result<Vec<u8>, String>> {
        let level = |usual: i32| coding.level.map_or(usual, |level| level as i32);
        let (compress, level): (fn(&[u8], i32) -> _, i32) = match coding.compression {
            Compression::Deflate => (deflate, level(DEFLATE)),
            Compression::Zstd => (zstd, level(ZSTD)),
            _ => return None,
        };
        Some(move |bytes: &[u8]| compress(bytes, level))
    }

    fn deflate(bytes: &[u8], level: i32) -> Result<Vec<u8>, String> {
        DEFLATERS.with_borrow_mut(|kept| {
            if kept.as_ref().is_none_or(|(kept, _)| *kept != level) {
                let level_of = CompressionLvl::new(level).map_err(|_| format!("Deflate has no level {level}"))?;
                *kept = Some((level, Compressor::new(level_of)));
            }
            let (_, compressor) = kept.as_mut().ok_or("no compressor")?;
            let mut out = vec![0; compressor.zlib_compress_bound(bytes.len())];
            let length = compressor.zlib_compress(bytes, &mut out).map_err(|e| e.to_string())?;
            out.truncate(length);
            Ok(out)
        })
    }

    fn zstd(bytes: &[u8], level: i32) -> Result<Vec<u8>, String> {
        ZSTDS.with_borrow_mut(|kept| {
            if kept.as_ref().is_none_or(|(kept, _)| *kept != level) {
                *kept = Some((level, zstd::bulk::Compressor::new(level).map_err(|e| e.to_string())?));
            }
            let (_, compressor) = kept.as_mut().ok_or("no compressor")?;
            compressor.compress(bytes).map_err(|e| e.to_string())
        })
    }
}

#[cfg(all(test, feature = "native-codecs"))]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::raster::geotiff::decode::codec::Codec;

    const CODECS: [(Compression, Codec); 2] =
        [(Compression::Deflate, Codec::Deflate), (Compression::Zstd, Codec::Zstd)];

    #[test]
    fn predictors_are_those_of_tiff_writer() {
        let numbers: Vec<f32> = (0..35).map(|i| (i as f32).sin() * 1e3).collect();
        let doubles: Vec<f64> = numbers.iter().map(|&n| f64::from(n).exp()).collect();
        let words: Vec<u16> = (0..35u32).map(|i| (i * i * 997 % 65_521) as u16).collect();
        let bytes: Vec<u8> = words.iter().map(|&word| word as u8).collect();
        fn same<T: TiffWriteSample>(samples: &[T], predictor: Predictor) {
            let plain = Coding { compression: Compression::None, predictor, level: None };
            let expected = plain.encode(samples, 7, 0).unwrap();
            let bytes = T::encode_slice(samples, ByteOrder::LittleEndian);
            assert_eq!(predicted(predictor, bytes, 7 * T::BYTES_PER_SAMPLE, T::BYTES_PER_SAMPLE), expected);
        }
        same(&numbers, Predictor::FloatingPoint);
        same(&doubles, Predictor::FloatingPoint);
        same(&words, Predictor::Horizontal);
        same(&bytes, Predictor::Horizontal);
    }

    #[test]
    fn what_is_compressed_is_decoded() {
        let bytes: Vec<u8> = (0..70_000u64).map(|i| ((i * i) >> 9) as u8).collect();
        for (compression, codec) in CODECS {
            for level in [None, Some(1), Some(9), Some(2)] {
                let coding = Coding { compression, predictor: Predictor::None, level };
                let stored = coding.encode(&bytes, 700, 0).unwrap();
                assert!(stored.len() < bytes.len());
                let mut read = Vec::new();
                codec.open(std::io::Cursor::new(stored)).unwrap().read_to_end(&mut read).unwrap();
                assert!(read == bytes, "{compression:?} {level:?}");
            }
        }
    }
}
