//! Predictors taken back, and byte order: a row of samples as they are in the file becomes one in this machine's order.
//!
//! The horizontal predictor stores differences between neighbours of the same band, as whole numbers of the samples' width, whatever the
//! samples are. The one for floating point stores differences between bytes, after it has put the highest bytes of all samples
//! of the row first, then the next ones; their order is that of the bytes of a number from the highest to the lowest, in files of either order.

/// What was stored in place of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Predictor {
    None,
    Horizontal,
    FloatingPoint,
}

/// Makes a row of `samples` a cell, `size` bytes (1, 2, 3, 4 or 8) each, what it was. `scratch` is room that rows share.
pub(super) fn take_back(
    predictor: Predictor,
    row: &mut [u8],
    size: usize,
    samples: usize,
    big_endian: bool,
    scratch: &mut Vec<u8>,
) {
    match predictor {
        Predictor::FloatingPoint => floating_point(row, size, samples, scratch),
        Predictor::None | Predictor::Horizontal => {
            if size > 1 && big_endian != cfg!(target_endian = "big") {
                swap(row, size);
            }
            if predictor == Predictor::Horizontal {
                horizontal(row, size, samples);
            }
        }
    }
}

fn swap(row: &mut [u8], size: usize) {
    fn by<const N: usize>(row: &mut [u8]) {
        row.as_chunks_mut::<N>().0.iter_mut().for_each(|bytes| bytes.reverse());
    }
    match size {
        2 => by::<2>(row),
        3 => by::<3>(row),
        4 => by::<4>(row),
        _ => by::<8>(row),
    }
}

fn horizontal(row: &mut [u8], size: usize, samples: usize) {
    macro_rules! sums {
        ($t:ty, $n:literal) => {{
            let (row, _) = row.as_chunks_mut::<$n>();
            if samples == 1 {
                let mut sum: $t = 0;
                for bytes in row {
                    sum = sum.wrapping_add(<$t>::from_ne_bytes(*bytes));
                    *bytes = sum.to_ne_bytes();
                }
            } else {
                for i in samples..row.len() {
                    let sum = <$t>::from_ne_bytes(row[i - samples]).wrapping_add(<$t>::from_ne_bytes(row[i]));
                    row[i] = sum.to_ne_bytes();
                }
            }
        }};
    }
    match size {
        1 => sums!(u8, 1),
        2 => sums!(u16, 2),
        4 => sums!(u32, 4),
        _ => sums!(u64, 8),
    }
}

fn floating_point(row: &mut [u8], size: usize, samples: usize, scratch: &mut Vec<u8>) {
    horizontal(row, 1, samples);
    scratch.clear();
    scratch.extend_from_slice(row);
    let count = row.len() / size;
    if count == 0 {
        return;
    }
    for (i, number) in row.chunks_exact_mut(size).enumerate() {
        for (byte, place) in number.iter_mut().enumerate() {
            // Counted from the highest one.
            let significance = if cfg!(target_endian = "big") { byte } else { size - 1 - byte };
            *place = scratch[significance * count + i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_summed_band_by_band_in_either_order() {
        let mut scratch = Vec::new();
        let mut row = [1, 10, 2, 255, 255, 1];
        take_back(Predictor::Horizontal, &mut row, 1, 2, false, &mut scratch);
        assert_eq!(row, [1, 10, 3, 9, 2, 10]);
        for big in [false, true] {
            let numbers = [0xff00u16, 0x0200, 7];
            let mut row: Vec<u8> =
                numbers.iter().flat_map(|n| if big { n.to_be_bytes() } else { n.to_le_bytes() }).collect();
            take_back(Predictor::Horizontal, &mut row, 2, 1, big, &mut scratch);
            let expected = [0xff00u16, 0x0100, 0x0107];
            assert_eq!(row, expected.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>(), "{big}");
        }
    }

    #[test]
    fn bytes_of_floating_point_go_back_to_their_numbers() {
        let numbers = [1.5f32, -2.25, 1e10, f32::NAN];
        let mut planes: Vec<u8> = (0..4).flat_map(|b| numbers.map(|n| n.to_be_bytes()[b])).collect();
        for i in (1..planes.len()).rev() {
            planes[i] = planes[i].wrapping_sub(planes[i - 1]);
        }
        for big in [false, true] {
            let mut row = planes.clone();
            take_back(Predictor::FloatingPoint, &mut row, 4, 1, big, &mut Vec::new());
            let expected: Vec<u8> = numbers.iter().flat_map(|n| n.to_ne_bytes()).collect();
            assert_eq!(row, expected);
        }
        take_back(Predictor::FloatingPoint, &mut [], 8, 1, false, &mut Vec::new());
    }
}
