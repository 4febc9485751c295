//! Numbers of any of the types that inputs have: what is read from a file before anything is made of it.

use super::ValueType;

/// The numbers of a rectangle, row after row without gaps.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each is named after its type")]
pub enum Values {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// Does the same to whatever type of numbers `$values` has, `$type` being its name.
macro_rules! each {
    ($values:expr, $vec:ident, $type:ident => $do:expr) => {
        each!(@ $values, $vec, $type, $do; U8 I8 U16 I16 U32 I32 U64 I64 F32 F64)
    };
    (@ $values:expr, $vec:ident, $type:ident, $do:expr; $($variant:ident)*) => {
        match $values {
            $(Values::$variant($vec) => {
                const $type: ValueType = ValueType::$variant;
                $do
            })*
        }
    };
}

impl Values {
    /// How many there are.
    pub fn len(&self) -> usize {
        each!(self, numbers, _TYPE => numbers.len())
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their type.
    pub fn value_type(&self) -> ValueType {
        each!(self, _numbers, TYPE => TYPE)
    }

    /// Appends them to `all`; 64-bit integers beyond 2^53 are rounded.
    #[allow(trivial_numeric_casts, clippy::unnecessary_cast, reason = "one of the types is f64")]
    pub(crate) fn append_to(&self, all: &mut Vec<f64>) {
        each!(self, numbers, _TYPE => all.extend(numbers.iter().map(|&number| number as f64)));
    }
}
