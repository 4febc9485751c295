//! Samples of 1 to 31 bits, the highest bit first, one after the other from the first byte of a row on.

/// The samples of `band` out of `samples` a cell, from cell `first` on, as numbers of 1, 2 or 4 bytes until `out` is full. The row must have
/// that many cells.
pub(super) fn unpack(
    row: &[u8],
    bits: u32,
    (band, samples): (usize, usize),
    first: usize,
    out: &mut [u8],
    size: usize,
) {
    let sample = |cell: usize| {
        let at = (cell * samples + band) * bits as usize;
        // 31 bits from anywhere in a byte on lie in five bytes.
        let bytes = &row[at / 8..row.len().min(at / 8 + 5)];
        let word = bytes.iter().fold(0, |word: u64, &byte| word << 8 | u64::from(byte)) << (8 * (5 - bytes.len()));
        (word >> (40 - at % 8 - bits as usize)) as u32 & (u32::MAX >> (32 - bits))
    };
    match size {
        1 => out.iter_mut().enumerate().for_each(|(i, place)| *place = sample(first + i) as u8),
        2 => {
            let (places, _) = out.as_chunks_mut();
            places.iter_mut().enumerate().for_each(|(i, place)| *place = (sample(first + i) as u16).to_ne_bytes());
        }
        _ => {
            let (places, _) = out.as_chunks_mut();
            places.iter_mut().enumerate().for_each(|(i, place)| *place = sample(first + i).to_ne_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_every_width_come_back() {
        for bits in 1..32u32 {
            let number =
                |i: usize| ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as u32 & (u32::MAX >> (32 - bits));
            let mut row = Vec::new();
            let (mut word, mut held) = (0u64, 0);
            for i in 0..60 {
                word = word << bits | u64::from(number(i));
                held += bits;
                while held >= 8 {
                    held -= 8;
                    row.push((word >> held) as u8);
                }
            }
            row.push((word << (8 - held)) as u8);
            let size = [1, 2, 4, 4][(bits as usize - 1) / 8];
            for (band, samples, first, count) in [(0, 1, 0, 60), (0, 1, 7, 20), (2, 3, 4, 16), (1, 2, 29, 1)] {
                let mut out = vec![0; count * size];
                unpack(&row, bits, (band, samples), first, &mut out, size);
                for (i, got) in out.chunks(size).enumerate() {
                    let expected = &number((first + i) * samples + band).to_ne_bytes();
                    let expected = if cfg!(target_endian = "big") { &expected[4 - size..] } else { &expected[..size] };
                    assert_eq!(got, expected, "{bits} bits, band {band}, cell {}", first + i);
                }
            }
        }
    }
}
