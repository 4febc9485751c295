//! LZW as a stream, in both kinds that TIFF files have.
//!
//! The TIFF 6.0 kind has the highest bit of a code first and makes codes wider one code early. Files from before it have the lowest bit first
//! and are wider on time, as in GIF. libtiff tells them apart by the code that every block begins with, which clears the table: its first
//! byte is 0 only if the lowest bits came first.

use std::io::{self, BufRead, Read};

use weezl::decode::{Configuration, Decoder};
use weezl::{BitOrder, LzwStatus};

/// A stream of decoded bytes.
pub(super) struct Lzw<R> {
    stored: R,
    /// None before the first byte.
    decoder: Option<Decoder>,
    done: bool,
}

impl<R: BufRead> Lzw<R> {
    pub(super) fn new(stored: R) -> Self {
        Self { stored, decoder: None, done: false }
    }
}

impl<R: BufRead> Read for Lzw<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.done && !out.is_empty() {
            let bytes = self.stored.fill_buf()?;
            let decoder = self.decoder.get_or_insert_with(|| {
                let old = matches!(bytes, [0, second, ..] if second & 1 == 1);
                let kind = if old {
                    Configuration::new(BitOrder::Lsb, 8)
                } else {
                    Configuration::with_tiff_size_switch(BitOrder::Msb, 8)
                };
                kind.with_yield_on_full_buffer(true).build()
            });
            let ended = bytes.is_empty();
            let result = decoder.decode_bytes(bytes, out);
            self.stored.consume(result.consumed_in);
            let status = result.status.map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
            self.done = matches!(status, LzwStatus::Done) || ended && result.consumed_out == 0;
            if result.consumed_out > 0 {
                return Ok(result.consumed_out);
            }
            if !ended && result.consumed_in == 0 && !self.done {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "no code follows"));
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use weezl::encode::Encoder;

    use super::*;

    /// A reader that gives three bytes at a time.
    struct Drops<'a>(&'a [u8]);

    impl Read for Drops<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            (&mut self.0).take(3).read(out)
        }
    }

    impl BufRead for Drops<'_> {
        fn fill_buf(&mut self) -> io::Result<&[u8]> {
            Ok(&self.0[..self.0.len().min(3)])
        }
        fn consume(&mut self, amount: usize) {
            self.0 = &self.0[amount..];
        }
    }

    #[test]
    fn both_kinds_are_told_apart_and_decoded_in_any_pieces() {
        let mut random = fastrand::Rng::with_seed(7);
        let noise: Vec<u8> = (0..50_000).map(|_| random.u64(..) as u8).collect();
        let smooth: Vec<u8> = (0..50_000u32).map(|i| (i / 300) as u8).collect();
        for data in [noise, smooth, vec![5], vec![]] {
            let new = Encoder::with_tiff_size_switch(BitOrder::Msb, 8).encode(&data).unwrap();
            let old = Encoder::new(BitOrder::Lsb, 8).encode(&data).unwrap();
            for bytes in [new, old] {
                let mut decoded = Vec::new();
                Lzw::new(&bytes[..]).read_to_end(&mut decoded).unwrap();
                assert!(decoded == data, "{} bytes", data.len());
                let (mut slow, mut out) = (Lzw::new(Drops(&bytes)), Vec::new());
                let mut part = [0; 7];
                loop {
                    match slow.read(&mut part).unwrap() {
                        0 => break,
                        n => out.extend_from_slice(&part[..n]),
                    }
                }
                assert!(out == data, "{} bytes in drops", data.len());
            }
        }
    }

    #[test]
    fn what_is_no_code_is_an_error_and_what_ends_early_an_end() {
        let mut out = Vec::new();
        assert!(Lzw::new(&[0x80, 0x3f, 0xff, 0xff][..]).read_to_end(&mut out).is_err());
        let data = vec![9; 1000];
        let bytes = Encoder::with_tiff_size_switch(BitOrder::Msb, 8).encode(&data).unwrap();
        out.clear();
        Lzw::new(&bytes[..bytes.len() / 2]).read_to_end(&mut out).unwrap();
        assert!(out.len() < 1000 && data.starts_with(&out));
    }
}
