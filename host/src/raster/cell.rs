//! What every type of a raster's numbers can do: be told apart, put in order, and meet whole numbers and f64.
//!
//! A number's *key* is an unsigned integer of its width that sorts as the numbers do. Integers flip their sign bit; floats flip it
//! too where it is clear, and all bits where it is set (negative floats sort backwards as bits). So counting, sorting
//! and selection are written once, on integers.

use crate::io::{Nodata, Value};
use crate::numbers::ValueType;

/// A number of a raster.
pub(crate) trait Cell: Copy + PartialOrd + Send + Sync + 'static {
    /// Width of a key.
    const WIDTH: u32;

    /// In the low [`WIDTH`](Self::WIDTH); sorts as the numbers do. Both zeros have one key, and a NaN has any.
    fn key(self) -> u64;

    /// The number with this key.
    fn of_key(key: u64) -> Self;

    /// The number with these bits, the low [`WIDTH`](Self::WIDTH) of them.
    fn of_bits(bits: u64) -> Self;

    /// The least and the greatest number that is no NaN.
    const BOUNDS: (Self, Self);

    /// The least and the greatest finite number.
    const FINITE: (Self, Self);

    /// The nearest f64; keeps order.
    fn to_f64(self) -> f64;

    /// The number as messages show it and as it is compared with what a user has typed.
    fn value(self) -> Value;

    /// The number that is exactly `whole`, if there is one.
    fn exact(whole: i128) -> Option<Self>;

    /// The number that means "no data". NaN needs no mention: see [`is_nan`](Self::is_nan).
    fn nodata(nodata: Nodata) -> Option<Self>;

    /// Not a number: always no data.
    fn is_nan(self) -> bool;

    /// How far above `low`, in ones: at least 2^24 where it is below, not whole, or further than that.
    fn offset(self, low: Self) -> usize;
}

/// Further than any table reaches.
const FAR: usize = usize::MAX;

macro_rules! integers {
    ($($type:ty, $unsigned:ty;)*) => {$(
        impl Cell for $type {
            const WIDTH: u32 = <$type>::BITS;

            #[inline]
            fn key(self) -> u64 {
                u64::from(self.wrapping_sub(<$type>::MIN) as $unsigned)
            }

            fn of_key(key: u64) -> Self {
                (key as $type).wrapping_add(<$type>::MIN)
            }

            fn of_bits(bits: u64) -> Self {
                bits as $type
            }

            const BOUNDS: (Self, Self) = (<$type>::MIN, <$type>::MAX);

            const FINITE: (Self, Self) = Self::BOUNDS;

            #[inline]
            fn to_f64(self) -> f64 {
                self as f64
            }

            fn value(self) -> Value {
                Value::Whole(i128::from(self))
            }

            fn exact(whole: i128) -> Option<Self> {
                whole.try_into().ok()
            }

            fn nodata(nodata: Nodata) -> Option<Self> {
                match nodata {
                    Nodata::Whole(whole) => Self::exact(whole),
                    Nodata::Fraction(_) | Nodata::Nan => None,
                }
            }

            #[inline]
            fn is_nan(self) -> bool {
                false
            }

            #[inline]
            fn offset(self, low: Self) -> usize {
                // What is below wraps around to the upper end.
                let offset = self.wrapping_sub(low) as $unsigned as usize;
                if self < low { FAR } else { offset }
            }
        }
    )*};
}

integers! { u8, u8; i8, u8; u16, u16; i16, u16; u32, u32; i32, u32; u64, u64; i64, u64; }

macro_rules! reals {
    ($($type:ty, $bits:ty;)*) => {$(
        impl Cell for $type {
            const WIDTH: u32 = <$bits>::BITS;

            #[inline]
            fn key(self) -> u64 {
                // The sum makes +0 of -0.
                let bits = (self + 0.0).to_bits();
                let sign = 1 << (Self::WIDTH - 1);
                u64::from(if bits & sign == 0 { bits | sign } else { !bits })
            }

            fn of_key(key: u64) -> Self {
                let (bits, sign) = (key as $bits, 1 << (Self::WIDTH - 1));
                <$type>::from_bits(if bits & sign == 0 { !bits } else { bits & !sign })
            }

            fn of_bits(bits: u64) -> Self {
                <$type>::from_bits(bits as $bits)
            }

            const BOUNDS: (Self, Self) = (<$type>::NEG_INFINITY, <$type>::INFINITY);

            const FINITE: (Self, Self) = (<$type>::MIN, <$type>::MAX);

            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn value(self) -> Value {
                Value::from(f64::from(self))
            }

            fn exact(whole: i128) -> Option<Self> {
                let real = whole as $type;
                (Value::from(f64::from(real)) == Value::Whole(whole)).then_some(real)
            }

            fn nodata(nodata: Nodata) -> Option<Self> {
                // Typed by hand it has to match the nearest number that the file can hold.
                match nodata {
                    Nodata::Whole(whole) => Some(whole as $type),
                    Nodata::Fraction(real) => Some(real as $type),
                    Nodata::Nan => None,
                }
            }

            #[inline]
            fn is_nan(self) -> bool {
                <$type>::is_nan(self)
            }

            #[inline]
            fn offset(self, low: Self) -> usize {
                // Both are whole from here on, and so is the difference wherever a table reaches.
                if self >= low && self.trunc() == self { (self - low) as usize } else { FAR }
            }
        }
    )*};
}

reals! { f32, u32; f64, u64; }

/// Does the same to whatever type of numbers `$values` has.
macro_rules! each {
    ($values:expr, $slice:ident => $do:expr) => {
        match $values {
            Values::U8($slice) => $do,
            Values::I8($slice) => $do,
            Values::U16($slice) => $do,
            Values::I16($slice) => $do,
            Values::U32($slice) => $do,
            Values::I32($slice) => $do,
            Values::U64($slice) => $do,
            Values::I64($slice) => $do,
            Values::F32($slice) => $do,
            Values::F64($slice) => $do,
        }
    };
}
pub(crate) use each;

/// Does the same with `$type` being the type that a [`ValueType`] names.
macro_rules! of_type {
    ($values:expr, $type:ident => $do:expr) => {
        $crate::raster::cell::of_type!(@ $values, $type, $do; U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64)
    };
    (@ $values:expr, $type:ident, $do:expr; $($variant:ident $number:ty),*) => {
        match $values {
            $($crate::numbers::ValueType::$variant => {
                type $type = $number;
                $do
            })*
        }
    };
}
pub(crate) use of_type;

impl ValueType {
    /// True when a number of this type can be `nodata`. A value that no number can have asks for no code.
    pub fn can_be(self, nodata: Nodata) -> bool {
        of_type!(self, T => T::nodata(nodata).is_some()) || self.is_real()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ascending numbers: keys ascend with them and lead back.
    fn check<T: Cell + std::fmt::Debug>(ascending: &[T]) {
        for pair in ascending.windows(2) {
            assert!(pair[0].key() < pair[1].key(), "{pair:?}");
        }
        for &value in ascending {
            assert!(T::of_key(value.key()) == value, "{value:?}");
            assert!(T::WIDTH == 64 || value.key() >> T::WIDTH == 0, "{value:?}");
        }
    }

    #[test]
    fn keys_sort_as_the_numbers_do() {
        check(&[0u8, 1, 127, 128, 255]);
        check(&[-128i8, -1, 0, 1, 127]);
        check(&[0u16, 1, 65535]);
        check(&[i16::MIN, -1, 0, i16::MAX]);
        check(&[0u32, 1 << 31, u32::MAX]);
        check(&[i32::MIN, -1, 0, i32::MAX]);
        check(&[0u64, 1 << 63, u64::MAX]);
        check(&[i64::MIN, -1, 0, i64::MAX]);
        check(&[f32::NEG_INFINITY, f32::MIN, -1.5, -1e-45, 0.0, 1e-45, 1.5, f32::MAX, f32::INFINITY]);
        check(&[f64::NEG_INFINITY, f64::MIN, -1.5, -5e-324, 0.0, 5e-324, 1.5, f64::MAX, f64::INFINITY]);
        assert_eq!((-0.0f32).key(), 0.0f32.key());
    }

    #[test]
    fn offsets_reach_up_by_whole_steps_only() {
        assert_eq!((5i8.offset(-3), (-128i8).offset(-128), 127i8.offset(-128)), (8, 0, 255));
        assert_eq!((-4i8).offset(-3), FAR);
        assert_eq!(3u64.offset(1 << 60), FAR);
        assert_eq!((7.0f32.offset(-2.0), 7.5f32.offset(-2.0), (-3.0f32).offset(-2.0)), (9, FAR, FAR));
        assert_eq!((-0.0f32).offset(0.0), 0);
        // A sum would round these to whole numbers.
        assert_eq!((1e-9f32.offset(-1048576.0), 0.1f32.offset(-16777216.0)), (FAR, FAR));
        assert!(f64::INFINITY.offset(0.0) > 1 << 24 && f64::NAN.offset(0.0) == FAR && f32::MAX.offset(0.0) > 1 << 24);
    }

    #[test]
    fn whole_numbers_are_met_exactly_or_not_at_all() {
        assert_eq!((i8::exact(-128), i8::exact(128), u64::exact(-1)), (Some(-128), None, None));
        assert_eq!((f32::exact(1 << 24), f32::exact((1 << 24) + 1)), (Some(16777216.0), None));
        assert_eq!(f32::nodata(Nodata::Fraction(-3.4028235e38)), Some(f32::MIN));
        assert_eq!((u8::nodata(Nodata::Whole(-1)), i16::nodata(Nodata::Fraction(0.5))), (None, None));
    }
}
