//! The codecs, each as a stream of decoded bytes, and two of them also for all bytes of a block.
//!
//! Deflate is flate2's with zlib-rs, Zstandard ruzstd's, LZW weezl's: all of them are in the program anyway, tiff-writer's. LERC has no rows: it
//! is decoded as a block ([`lerc`](super::lerc)). With the feature `native-codecs` libdeflate and Zstandard's own library decode blocks that are small
//! enough to be decoded whole, in half of the time and less.

use std::io::{BufRead, Read};

use flate2::bufread::ZlibDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::Fault;
use super::lzw::Lzw;
use super::packbits::PackBits;

/// How blocks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codec {
    None,
    Deflate,
    Lzw,
    PackBits,
    Zstd,
    Lerc(Packing),
}

/// How LERC's bytes are compressed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Deflate,
    Zstd,
}

impl Codec {
    /// The decoded bytes of a block, as a stream. LERC's are those of its container.
    pub(crate) fn open(self, stored: impl BufRead + Send + 'static) -> Result<Box<dyn Read + Send>, Fault> {
        Ok(match self {
            Self::None | Self::Lerc(Packing::None) => Box::new(stored),
            Self::Deflate | Self::Lerc(Packing::Deflate) => Box::new(ZlibDecoder::new(stored)),
            Self::Lzw => Box::new(Lzw::new(stored)),
            Self::PackBits => Box::new(PackBits::new(stored)),
            Self::Zstd | Self::Lerc(Packing::Zstd) => {
                Box::new(StreamingDecoder::new(stored).map_err(|e| Fault::data(format_args!("ZSTD: {e}")))?)
            }
        })
    }

    /// Whether [`decode`](Self::decode) knows it.
    pub(super) fn is_native(self) -> bool {
        cfg!(feature = "native-codecs") && matches!(self, Self::Deflate | Self::Zstd)
    }

    /// Decodes a block that has room in `out`; the number of its bytes, or none where it is damaged, has more than there is room for, or the codec is
    /// not one of those in C.
    #[cfg(feature = "native-codecs")]
    pub(super) fn decode(self, stored: &[u8], out: &mut [u8]) -> Option<usize> {
        use std::cell::RefCell;

        use libdeflater::Decompressor;

        thread_local! {
            static INFLATER: RefCell<Decompressor> = RefCell::new(Decompressor::new());
            static ZSTD: RefCell<Option<zstd::bulk::Decompressor<'static>>> = RefCell::new(zstd::bulk::Decompressor::new().ok());
        }
        match self {
            Self::Deflate => INFLATER.with_borrow_mut(|inflater| inflater.zlib_decompress(stored, out).ok()),
            Self::Zstd => ZSTD.with_borrow_mut(|zstd| zstd.as_mut()?.decompress_to_buffer(stored, out).ok()),
            _ => None,
        }
    }

    /// Without such codecs.
    #[cfg(not(feature = "native-codecs"))]
    pub(super) fn decode(self, _stored: &[u8], _out: &mut [u8]) -> Option<usize> {
        None
    }

    /// What messages call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "uncompressed",
            Self::Deflate => "deflate",
            Self::Lzw => "LZW",
            Self::PackBits => "PackBits",
            Self::Zstd => "ZSTD",
            Self::Lerc(_) => "LERC",
        }
    }

    /// Whether a block ends with a checksum of its bytes, which is only looked at when a decoder is asked for what comes after them.
    pub(crate) fn has_checksum(self) -> bool {
        matches!(self, Self::Deflate | Self::Zstd)
    }
}

/// Bytes of history that a Zstandard frame needs, by its first bytes; as many as is usual where they are none.
///
/// A frame of one segment has as large a window as it has bytes.
pub(crate) fn zstd_window(frame: &[u8]) -> u64 {
    const USUAL: u64 = 8 << 20;
    let Some((&[0x28, 0xb5, 0x2f, 0xfd, descriptor], rest)) = frame.split_first_chunk::<5>() else { return USUAL };
    let number = |at: usize, length: usize| {
        let bytes = rest.get(at..at + length)?;
        Some(bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
    };
    let window = if descriptor & 0x20 == 0 {
        number(0, 1).map(|window| {
            let base = 1 << (10 + (window >> 3));
            base + base / 8 * (window & 7)
        })
    } else {
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        match descriptor >> 6 {
            0 => number(dictionary, 1),
            1 => number(dictionary, 2).map(|size| size + 256),
            2 => number(dictionary, 4),
            _ => number(dictionary, 8),
        }
    };
    window.unwrap_or(USUAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_what_frames_say() {
        // As RFC 8878 has it: a window of 2^22 bytes and an eighth; one segment of 256 + 5 bytes; one of 7.
        assert_eq!(zstd_window(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 12 << 3 | 1]), (4 << 20) + (1 << 19));
        assert_eq!(zstd_window(&[0x28, 0xb5, 0x2f, 0xfd, 0x60, 5, 0]), 261);
        assert_eq!(zstd_window(&[0x28, 0xb5, 0x2f, 0xfd, 0x20, 7]), 7);
        assert_eq!(zstd_window(b"no frame"), 8 << 20);
        assert_eq!(zstd_window(&[0x28, 0xb5, 0x2f, 0xfd, 0xe0, 7]), 8 << 20);
    }
}
