//! How results are stored: as floating-point numbers, or as whole numbers of steps, which take a quarter to a half of the bytes.
//!
//! ```text
//! result = number · scale        scale = the largest result there can be / the largest number
//! ```
//!
//! GDAL's metadata say the scale of each band, so that programs give results back. The largest number of a type is left for no data, or the lowest one where
//! the type has negative numbers. A result is half a step off at most. Results that are whole numbers themselves go in steps of 1, exactly; where they
//! begin with 1, 0 is no data.

use tiff_writer::ImageBuilder;

use crate::io::Number;

/// The type of numbers in a GeoTIFF of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredType {
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    F64,
    /// Whole numbers from 0 to 254.
    U8,
    /// Whole numbers from 0 to 65,534.
    U16,
    /// Whole numbers from 0 to 32,767.
    I16,
}

impl StoredType {
    /// All types.
    pub const ALL: &'static [Self] = &[Self::F32, Self::F64, Self::U16, Self::I16, Self::U8];

    /// Its name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::I16 => "i16",
        }
    }

    /// The largest number; of floating-point numbers none.
    fn most(self) -> Option<f64> {
        match self {
            Self::F32 | Self::F64 => None,
            Self::U8 => Some(254.0),
            Self::U16 => Some(65_534.0),
            Self::I16 => Some(32_767.0),
        }
    }

    /// Whether its numbers are floating point.
    pub fn is_real(self) -> bool {
        self.most().is_none()
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    pub(super) fn build(self, builder: ImageBuilder) -> ImageBuilder {
        match self {
            Self::F32 => builder.sample_type::<f32>(),
            Self::F64 => builder.sample_type::<f64>(),
            Self::U8 => builder.sample_type::<u8>(),
            Self::U16 => builder.sample_type::<u16>(),
            Self::I16 => builder.sample_type::<i16>(),
        }
    }
}

/// How the results of a band are stored. No data is NaN in floating point, else 255, 65,535 or −32,768, and 0 where results [begin with 1](Self::from_one).
///
/// ```
/// use halotile::raster::geotiff::{Stored, StoredType};
/// // Entropies of windows of 5 × 5 cells.
/// let stored = Stored::up_to(StoredType::U16, 25f64.ln());
/// assert!((stored.scale() - 4.91e-5).abs() < 1e-7);
/// assert_eq!(Stored::counts(StoredType::U8, 25).map(|counts| counts.scale()), Some(1.0));
/// assert!(Stored::counts(StoredType::U8, 300).is_none());
/// assert!(Stored::from_one(StoredType::U8, 255).is_some());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stored {
    of: StoredType,
    scale: f64,
    /// 0 is no result, so that it is no data.
    from_one: bool,
}

impl Stored {
    /// Results from 0 to `bound`: as they are in floating point, else as whole numbers of the smallest steps that reach so far.
    pub fn up_to(of: StoredType, bound: f64) -> Self {
        let scale = match of.most() {
            Some(most) if bound > 0.0 && bound.is_finite() => bound / most,
            _ => 1.0,
        };
        Self { of, scale, from_one: false }
    }

    /// Results that are whole numbers from 0 to `most`, in steps of 1. `None` where the type has not so many.
    pub fn counts(of: StoredType, most: usize) -> Option<Self> {
        of.most().is_none_or(|there| most as f64 <= there).then_some(Self { of, scale: 1.0, from_one: false })
    }

    /// Results that are whole numbers from 1 to `most`, in steps of 1: 0 is no data, NaN in floating point. `None` where the type has not so many.
    pub fn from_one(of: StoredType, most: usize) -> Option<Self> {
        let there = match of {
            StoredType::F32 | StoredType::F64 => return Self::counts(of, most),
            StoredType::U8 => u8::MAX.into(),
            StoredType::U16 => u16::MAX.into(),
            StoredType::I16 => i16::MAX as usize,
        };
        (most <= there).then_some(Self { of, scale: 1.0, from_one: true })
    }

    /// The type of its numbers.
    pub fn stored_type(self) -> StoredType {
        self.of
    }

    /// What a number is multiplied by to give the result; 1 for floating-point numbers.
    pub fn scale(self) -> f64 {
        self.scale
    }

    /// The number that stands for no data.
    pub(super) fn nodata(self) -> &'static str {
        match self.of {
            StoredType::F32 | StoredType::F64 => "nan",
            _ if self.from_one => "0",
            StoredType::U8 => "255",
            StoredType::U16 => "65535",
            StoredType::I16 => "-32768",
        }
    }

    /// The same as a number; none where it is NaN.
    pub(super) fn nodata_number(self) -> Option<f64> {
        self.nodata().parse().ok().filter(|number: &f64| !number.is_nan())
    }

    /// Appends results as they are stored, in the byte order of the machine.
    pub(super) fn push<T: Number>(self, results: &[T], cells: &mut Vec<u8>) {
        let per_step = 1.0 / self.scale;
        // A cast from above or below the type gives its largest or smallest number.
        match self.of {
            StoredType::F32 => put(results, cells, |result| (result as f32).to_ne_bytes()),
            StoredType::F64 => put(results, cells, f64::to_ne_bytes),
            // A cast makes 0 of NaN.
            StoredType::U8 if self.from_one => put(results, cells, |result| ((result + 0.5) as u8).to_ne_bytes()),
            StoredType::U16 if self.from_one => put(results, cells, |result| ((result + 0.5) as u16).to_ne_bytes()),
            StoredType::I16 if self.from_one => put(results, cells, |result| ((result + 0.5) as i16).to_ne_bytes()),
            StoredType::U8 => put(results, cells, |result| {
                let number = ((result * per_step + 0.5) as u8).min(254);
                (if result.is_nan() { 255 } else { number }).to_ne_bytes()
            }),
            StoredType::U16 => put(results, cells, |result| {
                let number = ((result * per_step + 0.5) as u16).min(65_534);
                (if result.is_nan() { 65_535 } else { number }).to_ne_bytes()
            }),
            StoredType::I16 => put(results, cells, |result| {
                let number = ((result * per_step + 0.5) as i16).max(0);
                (if result.is_nan() { i16::MIN } else { number }).to_ne_bytes()
            }),
        }
    }
}

#[inline(always)]
fn put<T: Number, const N: usize>(results: &[T], cells: &mut Vec<u8>, bytes: impl Fn(f64) -> [u8; N]) {
    let start = cells.len();
    cells.resize(start + N * results.len(), 0);
    for (place, result) in cells[start..].as_chunks_mut::<N>().0.iter_mut().zip(results) {
        *place = bytes(result.to_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored<const N: usize>(of: Stored, results: &[f64]) -> Vec<[u8; N]> {
        let mut cells = vec![7];
        of.push(results, &mut cells);
        cells[1..].as_chunks::<N>().0.to_vec()
    }

    #[test]
    fn whole_numbers_are_half_a_step_off_at_most_and_keep_to_their_range() {
        let bound = 25f64.ln();
        let results: Vec<f64> = (0..=1000).map(|i| bound * f64::from(i) / 1000.0).collect();
        for &of in StoredType::ALL {
            let stored = Stored::up_to(of, bound);
            let numbers: Vec<f64> = match of {
                StoredType::F32 => stored_as(stored, &results, f32::from_ne_bytes).into_iter().map(f64::from).collect(),
                StoredType::F64 => stored_as(stored, &results, f64::from_ne_bytes),
                StoredType::U8 => stored_as(stored, &results, u8::from_ne_bytes).into_iter().map(f64::from).collect(),
                StoredType::U16 => stored_as(stored, &results, u16::from_ne_bytes).into_iter().map(f64::from).collect(),
                StoredType::I16 => stored_as(stored, &results, i16::from_ne_bytes).into_iter().map(f64::from).collect(),
            };
            let within = if of.is_real() { 2e-7 } else { stored.scale() * 0.5 + 1e-12 };
            for (number, result) in numbers.iter().zip(&results) {
                assert!((number * stored.scale() - result).abs() <= within, "{of:?}: {number} for {result}");
            }
            assert_eq!((numbers[0], numbers.last().copied()), (0.0, of.most().or(numbers.last().copied())));
        }
    }

    fn stored_as<N, const B: usize>(of: Stored, results: &[f64], number: fn([u8; B]) -> N) -> Vec<N> {
        stored::<B>(of, results).into_iter().map(number).collect()
    }

    #[test]
    fn no_data_and_what_rounding_puts_beyond_the_bound_have_numbers_too() {
        let results = [f64::NAN, -1e-9, 1.000_001];
        let of = |of| Stored::up_to(of, 1.0);
        assert_eq!(stored_as(of(StoredType::U8), &results, u8::from_ne_bytes), [255, 0, 254]);
        assert_eq!(stored_as(of(StoredType::U16), &results, u16::from_ne_bytes), [65_535, 0, 65_534]);
        assert_eq!(stored_as(of(StoredType::I16), &results, i16::from_ne_bytes), [-32_768, 0, 32_767]);
        assert!(stored_as(of(StoredType::F32), &results, f32::from_ne_bytes)[0].is_nan());
    }

    #[test]
    fn counts_are_exact_or_do_not_fit() {
        let counts = [1.0, 17.0, 254.0];
        let of = Stored::counts(StoredType::U8, 254).unwrap();
        assert_eq!(stored_as(of, &counts, u8::from_ne_bytes), [1, 17, 254]);
        for (of, most) in [(StoredType::U8, 254), (StoredType::U16, 65_534), (StoredType::I16, 32_767)] {
            assert!(Stored::counts(of, most).is_some() && Stored::counts(of, most + 1).is_none());
        }
        for (of, most) in [(StoredType::U8, 255), (StoredType::U16, 65_535), (StoredType::I16, 32_767)] {
            assert!(Stored::from_one(of, most).is_some() && Stored::from_one(of, most + 1).is_none());
        }
        let from_one = |of| Stored::from_one(of, 255).unwrap();
        let counts = [1.0, f64::NAN, 254.0, 255.0];
        assert_eq!(stored_as(from_one(StoredType::U8), &counts, u8::from_ne_bytes), [1, 0, 254, 255]);
        assert_eq!(stored_as(from_one(StoredType::U16), &counts, u16::from_ne_bytes), [1, 0, 254, 255]);
        assert_eq!(stored_as(from_one(StoredType::I16), &counts, i16::from_ne_bytes), [1, 0, 254, 255]);
        assert!(stored_as(from_one(StoredType::F32), &counts, f32::from_ne_bytes)[1].is_nan());
        assert!(Stored::counts(StoredType::F32, 70_000).is_some());
        // A single class everywhere: all entropies are 0.
        assert_eq!(Stored::up_to(StoredType::U16, 0.0).scale(), 1.0);
    }
}
