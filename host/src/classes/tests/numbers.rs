//! Rasters of numbers in memory, of any type, with blocks, nodata and a mask as a test asks for them.

use std::ops::Range;

use super::*;

/// Numbers in memory, in blocks of any shape.
pub(crate) struct Numbers {
    rows: usize,
    cols: usize,
    pub values: Values,
    block: (usize, usize),
    nodata: Option<Nodata>,
    name: &'static str,
    /// Where it lies.
    pub place: Option<Georeference>,
    /// The cells that a mask of its own hides.
    pub masked: Option<Vec<bool>>,
}

/// `$slice[$range]` in the variant it came from.
macro_rules! gather {
    ($values:expr, $rows:expr, $cols:expr, $stride:expr; $($variant:ident)*) => {
        match $values {
            $(Values::$variant(all) => {
                let row = |r: usize| &all[r * $stride..][$cols.clone()];
                Values::$variant($rows.clone().flat_map(row).copied().collect())
            })*
        }
    };
}

impl Numbers {
    pub fn new(rows: usize, cols: usize, values: Values) -> Self {
        assert_eq!(values.len(), rows * cols);
        Self { rows, cols, values, block: (1, cols), nodata: None, name: "numbers", place: None, masked: None }
    }

    pub fn line(values: Values) -> Self {
        Self::new(1, values.len(), values)
    }

    pub fn blocks(self, rows: usize, cols: usize) -> Self {
        Self { block: (rows, cols), ..self }
    }

    pub fn nodata(self, nodata: Nodata) -> Self {
        Self { nodata: Some(nodata), ..self }
    }

    pub fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    pub fn masking(self, cells: &[usize]) -> Self {
        let masked = (0..self.values.len()).map(|i| cells.contains(&i)).collect();
        Self { masked: Some(masked), ..self }
    }
}

impl Raster for Numbers {
    fn name(&self) -> &str {
        self.name
    }
    fn rows(&self) -> usize {
        self.rows
    }
    fn cols(&self) -> usize {
        self.cols
    }
    fn value_type(&self) -> ValueType {
        self.values.value_type()
    }
    fn block(&self) -> (usize, usize) {
        self.block
    }
    fn nodata(&self) -> Option<Nodata> {
        self.nodata
    }
    fn georeference(&self) -> Option<&Georeference> {
        self.place.as_ref()
    }
    fn has_mask(&self) -> bool {
        self.masked.is_some()
    }
    fn masked(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Option<Vec<bool>>, FormatError> {
        let Some(masked) = &self.masked else { return Ok(None) };
        let row = |r: usize| &masked[r * self.cols..][cols.clone()];
        Ok(Some(rows.flat_map(row).copied().collect()))
    }
    fn read(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Values, FormatError> {
        assert!(rows.end <= self.rows && cols.end <= self.cols && !rows.is_empty() && !cols.is_empty());
        Ok(gather!(&self.values, rows, cols, self.cols; U8 I8 U16 I16 U32 I32 U64 I64 F32 F64))
    }
}

/// The same whole numbers in a type, if it has them all.
pub(crate) fn of_type(kind: ValueType, numbers: &[i128]) -> Option<Values> {
    fn all<T: crate::raster::cell::Cell>(numbers: &[i128]) -> Option<Vec<T>> {
        numbers.iter().map(|&number| T::exact(number)).collect()
    }
    Some(match kind {
        ValueType::U8 => Values::U8(all(numbers)?),
        ValueType::I8 => Values::I8(all(numbers)?),
        ValueType::U16 => Values::U16(all(numbers)?),
        ValueType::I16 => Values::I16(all(numbers)?),
        ValueType::U32 => Values::U32(all(numbers)?),
        ValueType::I32 => Values::I32(all(numbers)?),
        ValueType::U64 => Values::U64(all(numbers)?),
        ValueType::I64 => Values::I64(all(numbers)?),
        ValueType::F32 => Values::F32(all(numbers)?),
        ValueType::F64 => Values::F64(all(numbers)?),
    })
}
