//! Numbers of every type in the host's memory, which are read as a raster is.

use std::ops::Range;

use halotile::io::{FormatError, Nodata};
use halotile::numbers::ValueType;
use halotile::raster::{Georeference, Raster, Values};

/// Every type of numbers.
pub const TYPES: [ValueType; 10] = [
    ValueType::U8,
    ValueType::I8,
    ValueType::U16,
    ValueType::I16,
    ValueType::U32,
    ValueType::I32,
    ValueType::U64,
    ValueType::I64,
    ValueType::F32,
    ValueType::F64,
];

/// Numbers in the host's memory, as a raster called as arrays are.
#[derive(Clone)]
pub struct Numbers {
    pub rows: usize,
    pub cols: usize,
    /// Each as an f64, which holds all that are used here.
    pub numbers: Vec<f64>,
    pub values: ValueType,
}

/// The numbers in the type asked for.
macro_rules! as_values {
    ($values:expr, $numbers:expr; $($variant:ident $t:ty),*) => {
        match $values {
            $(ValueType::$variant => Values::$variant($numbers.map(|number| number as $t).collect()),)*
        }
    };
}

/// The bytes of numbers of any type.
macro_rules! bytes {
    ($values:expr; $($variant:ident),*) => {
        match $values {
            $(Values::$variant(numbers) => bytemuck::cast_slice(&numbers).to_vec(),)*
        }
    };
}

fn values(values: ValueType, numbers: impl Iterator<Item = f64>) -> Values {
    as_values!(values, numbers; U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64)
}

impl Numbers {
    pub fn new(values: ValueType, (rows, cols): (usize, usize), mut number: impl FnMut(usize, usize) -> f64) -> Self {
        let numbers = (0..rows * cols).map(|i| number(i / cols, i % cols)).collect();
        Self { rows, cols, numbers, values }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let values = values(self.values, self.numbers.iter().copied());
        bytes!(values; U8, I8, U16, I16, U32, I32, U64, I64, F32, F64)
    }
}

impl Raster for Numbers {
    fn name(&self) -> &str {
        "the array"
    }
    fn rows(&self) -> usize {
        self.rows
    }
    fn cols(&self) -> usize {
        self.cols
    }
    fn value_type(&self) -> ValueType {
        self.values
    }
    fn block(&self) -> (usize, usize) {
        (1, self.cols)
    }
    fn nodata(&self) -> Option<Nodata> {
        None
    }
    fn georeference(&self) -> Option<&Georeference> {
        None
    }
    fn read(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Values, FormatError> {
        let cells = rows.flat_map(|r| cols.clone().map(move |c| self.numbers[r * self.cols + c]));
        Ok(values(self.values, cells))
    }
}
