//! PackBits as a stream: a byte n, and n + 1 bytes as they are, or one byte 1 − n times; −128 is nothing.

use std::io::{self, BufRead, Read};

use super::stored::ends_early;

/// A stream of decoded bytes.
pub(super) struct PackBits<R> {
    stored: R,
    /// Bytes of the run that are still to come, and the byte that they are if it is one.
    run: (usize, Option<u8>),
}

impl<R: BufRead> PackBits<R> {
    pub(super) fn new(stored: R) -> Self {
        Self { stored, run: (0, None) }
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.stored.fill_buf()?.first().copied();
        self.stored.consume(usize::from(byte.is_some()));
        Ok(byte)
    }
}

impl<R: BufRead> Read for PackBits<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            match self.run {
                (0, _) => match self.byte()? {
                    None => break,
                    Some(n @ 0..128) => self.run = (usize::from(n) + 1, None),
                    Some(128) => {}
                    Some(n) => self.run = (257 - usize::from(n), Some(self.byte()?.ok_or_else(ends_early)?)),
                },
                (left, Some(byte)) => {
                    let amount = left.min(out.len() - filled);
                    out[filled..filled + amount].fill(byte);
                    filled += amount;
                    self.run.0 -= amount;
                }
                (left, None) => {
                    let there = self.stored.fill_buf()?;
                    if there.is_empty() {
                        return Err(ends_early());
                    }
                    let amount = left.min(out.len() - filled).min(there.len());
                    out[filled..filled + amount].copy_from_slice(&there[..amount]);
                    self.stored.consume(amount);
                    filled += amount;
                    self.run.0 -= amount;
                }
            }
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard_is_decoded() {
        // Apple's Technical Note TN1023.
        let packed = [0xfe, 0xaa, 0x02, 0x80, 0x00, 0x2a, 0xfd, 0xaa, 0x03, 0x80, 0x00, 0x2a, 0x22, 0xf7, 0xaa, 0x80];
        let mut plain = vec![0xaa, 0xaa, 0xaa, 0x80, 0x00, 0x2a, 0xaa, 0xaa, 0xaa, 0xaa, 0x80, 0x00, 0x2a, 0x22];
        plain.extend([0xaa; 10]);
        let mut out = Vec::new();
        PackBits::new(&packed[..]).read_to_end(&mut out).unwrap();
        assert_eq!(out, plain);
        for cut in [1, 4, 11] {
            assert!(PackBits::new(&packed[..cut]).read_to_end(&mut Vec::new()).is_err(), "{cut}");
        }
    }
}
