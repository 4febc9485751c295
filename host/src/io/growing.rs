//! Numbers that arrive one by one, as text has them: kept in the narrowest type that holds all of them exactly.
//!
//! ```text
//! bytes as long as all are 0..=255
//! at the first number that the type does not hold: the next wider type that holds it and those before it; all are converted
//! ```
//!
//! A type that holds anything (f64) would take eight times the memory that a map of classes needs, and round large numbers. Conversions are few,
//! as a type is never left for a narrower one. Memory grows with the numbers that have arrived, never with what a header promises, and an
//! allocation that fails is an error, not an abort.

use std::sync::Arc;

use bytemuck::Pod;

use super::error::Problem;
use super::lines::Lines;
use super::source::Source;
use super::stored::{Encoding, StoredArray};
use super::value::{Value, out_of_memory};
use crate::numbers::ValueType;

/// Types in the order in which they are tried.
const TYPES: [ValueType; 9] = {
    use ValueType::*;
    [U8, I16, U16, I32, U32, I64, U64, F32, F64]
};

/// Does the same with `$type` being the type that a [`ValueType`] of [`TYPES`] names.
macro_rules! of_type {
    ($value_type:expr, $type:ident => $do:expr) => {
        of_type!(@ $value_type, $type, $do; I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F32 f32, F64 f64)
    };
    (@ $value_type:expr, $type:ident, $do:expr; $($variant:ident $number:ty),*) => {
        match $value_type {
            ValueType::U8 | ValueType::I8 => {
                type $type = u8;
                $do
            }
            $(ValueType::$variant => {
                type $type = $number;
                $do
            })*
        }
    };
}

/// A type of numbers.
trait Exact: Pod {
    /// The number, if the type has it.
    fn of(value: Value) -> Option<Self>;

    fn value(self) -> Value;
}

macro_rules! exact {
    ($($whole:ty)*; $($real:ty)*) => {
        $(impl Exact for $whole {
            #[inline]
            fn of(value: Value) -> Option<Self> {
                value.whole()?.try_into().ok()
            }
            #[inline]
            fn value(self) -> Value {
                Value::Whole(self.into())
            }
        })*
        $(impl Exact for $real {
            #[inline]
            fn of(value: Value) -> Option<Self> {
                let (number, is_nan) = match value {
                    Value::Whole(whole) => (whole as $real, false),
                    Value::Real(real) => (real as $real, real.is_nan()),
                };
                (is_nan || number.value() == value).then_some(number)
            }
            #[inline]
            fn value(self) -> Value {
                Value::from(f64::from(self))
            }
        })*
    };
}

exact! { u8 i16 u16 i32 u32 i64 u64; f32 f64 }

/// A grid of which some numbers have come.
pub(crate) struct Growing {
    rows: usize,
    cols: usize,
    value_type: ValueType,
    /// In the byte order of this machine.
    bytes: Vec<u8>,
}

impl Growing {
    /// For a grid of a shape that [`check_shape`](super::check_shape) has passed.
    pub(crate) fn new(rows: usize, cols: usize) -> Self {
        Self { rows, cols, value_type: ValueType::U8, bytes: Vec::new() }
    }

    /// Numbers so far.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / self.value_type.bytes()
    }

    /// Appends a number 0..=255.
    #[inline]
    pub(crate) fn push_byte(&mut self, number: u8) -> Result<(), Problem> {
        if self.bytes.capacity() - self.bytes.len() < self.value_type.bytes() {
            return self.push(Value::Whole(number.into()));
        }
        // Every type has it: nothing is asked.
        match self.value_type {
            ValueType::U8 | ValueType::I8 => self.bytes.push(number),
            ValueType::I16 | ValueType::U16 => self.bytes.extend_from_slice(&u16::from(number).to_ne_bytes()),
            ValueType::I32 | ValueType::U32 => self.bytes.extend_from_slice(&u32::from(number).to_ne_bytes()),
            ValueType::I64 | ValueType::U64 => self.bytes.extend_from_slice(&u64::from(number).to_ne_bytes()),
            ValueType::F32 => self.bytes.extend_from_slice(&f32::from(number).to_ne_bytes()),
            ValueType::F64 => self.bytes.extend_from_slice(&f64::from(number).to_ne_bytes()),
        }
        Ok(())
    }

    /// Appends any number.
    pub(crate) fn push(&mut self, value: Value) -> Result<(), Problem> {
        let size = self.value_type.bytes();
        if self.bytes.capacity() - self.bytes.len() < size {
            let left = (self.rows * self.cols).saturating_sub(self.len()) * size;
            let more = self.bytes.len().max(1 << 16).min(left).max(size);
            self.bytes.try_reserve_exact(more).map_err(|_| out_of_memory(self.rows, self.cols))?;
        }
        if self.append(value) {
            return Ok(());
        }
        let from = TYPES.iter().position(|&value_type| value_type == self.value_type).unwrap_or(0);
        for &wider in &TYPES[from + 1..] {
            if self.convert(wider, value)? {
                return Ok(());
            }
        }
        Err(Problem::new(
            format!("no type of numbers has the value {} and those before it exactly", value.show()),
            "give whole numbers of up to 64 bits, or reclassify the grid",
        ))
    }

    /// Whether the type has the number; if so it is the next. There is room for it.
    fn append(&mut self, value: Value) -> bool {
        of_type!(self.value_type, T => match <T as Exact>::of(value) {
            Some(number) => {
                self.bytes.extend_from_slice(bytemuck::bytes_of(&number));
                true
            }
            None => false,
        })
    }

    /// Whether the type has all numbers so far and `value`; if so they become numbers of it, and that is the next.
    fn convert(&mut self, wider: ValueType, value: Value) -> Result<bool, Problem> {
        let (count, mut bytes) = (self.len() + 1, Vec::new());
        let fits = of_type!(wider, T => <T as Exact>::of(value).is_some());
        if !fits {
            return Ok(false);
        }
        bytes.try_reserve(count * wider.bytes()).map_err(|_| out_of_memory(self.rows, self.cols))?;
        let all = of_type!(self.value_type, Old => of_type!(wider, New => {
            self.bytes.chunks_exact(size_of::<Old>()).map(bytemuck::pod_read_unaligned::<Old>).try_for_each(|old| {
                bytes.extend_from_slice(bytemuck::bytes_of(&<New as Exact>::of(old.value())?));
                Some(())
            })
        }));
        if all.is_none() {
            return Ok(false);
        }
        (self.value_type, self.bytes) = (wider, bytes);
        Ok(self.append(value))
    }

    /// The array, when all its numbers are in; `name` is for messages.
    pub(crate) fn finish(self, name: &str, lines: Lines) -> StoredArray {
        let (source, encoding) = (Arc::new(Source::memory(name, self.bytes)), Encoding::native(self.value_type));
        StoredArray { lines, ..StoredArray::new(source, 0, (self.rows, self.cols), encoding) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Values;

    fn grown(values: &[Value]) -> Result<Values, Problem> {
        let mut growing = Growing::new(1, values.len());
        values.iter().try_for_each(|&value| growing.push(value))?;
        Ok(growing.finish("f", Lines::default()).read(0..1, 0..values.len()).unwrap())
    }

    fn whole(values: &[i128]) -> Result<Values, Problem> {
        grown(&values.iter().map(|&value| Value::Whole(value)).collect::<Vec<_>>())
    }

    #[test]
    fn the_narrowest_type_that_holds_all_is_taken() {
        assert_eq!(whole(&[1, 255, 0]).unwrap(), Values::U8(vec![1, 255, 0]));
        assert_eq!(whole(&[1, 255, -1]).unwrap(), Values::I16(vec![1, 255, -1]));
        assert_eq!(whole(&[1, 256, 65_535]).unwrap(), Values::U16(vec![1, 256, 65_535]));
        assert_eq!(whole(&[-9999, 65_535]).unwrap(), Values::I32(vec![-9999, 65_535]));
        assert_eq!(whole(&[7, 1 << 31]).unwrap(), Values::U32(vec![7, 1 << 31]));
        assert_eq!(whole(&[1 << 31, -1]).unwrap(), Values::I64(vec![1 << 31, -1]));
        let most = i128::from(u64::MAX);
        assert_eq!(whole(&[0, most]).unwrap(), Values::U64(vec![0, u64::MAX]));
        let half = Value::Real(0.5);
        assert_eq!(grown(&[Value::Whole(3), half]).unwrap(), Values::F32(vec![3.0, 0.5]));
        assert_eq!(grown(&[half, Value::Real(0.1), Value::Whole(1)]).unwrap(), Values::F64(vec![0.5, 0.1, 1.0]));
        assert_eq!(grown(&[half, Value::Whole((1 << 24) + 1)]).unwrap(), Values::F64(vec![0.5, 16_777_217.0]));
        let Values::F32(nan) = grown(&[Value::Whole(9), Value::Real(f64::NAN)]).unwrap() else {
            panic!("f32 holds both")
        };
        assert!(nan[0] == 9.0 && nan[1].is_nan());
    }

    /// A sum of two would be one class.
    #[test]
    fn nothing_is_rounded() {
        let error = Problem::new(
            "no type of numbers has the value 9007199254740993 and those before it exactly",
            "give whole numbers of up to 64 bits, or reclassify the grid",
        );
        assert_eq!(grown(&[Value::Real(0.5), Value::Whole((1 << 53) + 1)]).unwrap_err(), error);
        assert!(grown(&[Value::Whole((1 << 53) + 1), Value::Real(f64::NAN)]).is_err());
        assert!(whole(&[-1, i128::from(u64::MAX)]).is_err() && whole(&[i128::MAX]).is_err());
        assert_eq!(whole(&[-1, 1 << 64]).unwrap(), Values::F32(vec![-1.0, 2f32.powi(64)]));
    }

    #[test]
    fn bytes_are_numbers_of_every_type() {
        let whole = [1, -1, 65_535, -70_000, 1 << 31, -(1 << 40), i128::from(u64::MAX)].map(Value::Whole);
        for first in whole.into_iter().chain([0.5, 0.1].map(Value::Real)) {
            let mut growing = Growing::new(1, 3);
            growing.push(first).unwrap();
            [200, 7].into_iter().try_for_each(|byte| growing.push_byte(byte)).unwrap();
            let array = growing.finish("f", Lines::default());
            assert_eq!(array.read(0..1, 0..3).unwrap(), grown(&[first, Value::Whole(200), Value::Whole(7)]).unwrap());
        }
    }

    #[test]
    fn memory_follows_the_numbers_and_not_the_promise() {
        let mut growing = Growing::new(1 << 20, 1 << 20);
        (0..100_000).try_for_each(|_| growing.push_byte(1)).unwrap();
        assert!(growing.len() == 100_000 && growing.bytes.capacity() <= 1 << 18, "{}", growing.bytes.capacity());
    }
}
