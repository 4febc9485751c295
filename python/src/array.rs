//! Arrays of other libraries in memory: where they lie, by NumPy's array interface, and as rasters.
//!
//! The interface is a dict with the address, the shape, the strides in bytes and the type of the numbers
//! (`__array_interface__`, version 3). NumPy's own C interface would be another way, but only for NumPy's arrays.
//!
//! What is here trusts the dict, which the package's Python makes of arrays that NumPy has made; the array lives as long as the call
//! that was given it. Nothing keeps other threads of Python from writing to it meanwhile; as in NumPy's own functions, results are of no use
//! then.

use std::ops::Range;

use halotile::grid::{GridView, GridViewMut};
use halotile::io::{FormatError, Nodata};
use halotile::numbers::ValueType;
use halotile::raster::{Georeference, Raster, Values};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

/// A two-dimensional array in memory.
#[derive(Debug, Clone, Copy)]
pub struct Array {
    address: usize,
    rows: usize,
    cols: usize,
    /// Numbers from a row to the next and from a column to the next.
    strides: (isize, isize),
    values: ValueType,
}

/// The type that a type string of the interface names, in this machine's byte order.
pub fn value_type(typestr: &str) -> Option<ValueType> {
    let foreign = if cfg!(target_endian = "little") { '>' } else { '<' };
    let (order, kind) = (typestr.chars().next()?, typestr.get(1..)?);
    let values = match kind {
        "u1" | "b1" => ValueType::U8,
        "i1" => ValueType::I8,
        "u2" => ValueType::U16,
        "i2" => ValueType::I16,
        "u4" => ValueType::U32,
        "i4" => ValueType::I32,
        "u8" => ValueType::U64,
        "i8" => ValueType::I64,
        "f4" => ValueType::F32,
        "f8" => ValueType::F64,
        _ => return None,
    };
    (order != foreign || values.bytes() == 1).then_some(values)
}

impl Array {
    /// What `__array_interface__` of a NumPy array says.
    pub fn of(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let interface = array.getattr("__array_interface__")?;
        let interface = interface.cast::<PyDict>()?;
        let get = |name: &str| {
            interface.get_item(name)?.ok_or_else(|| PyTypeError::new_err(format!("the array interface has no {name}")))
        };
        let typestr: String = get("typestr")?.extract()?;
        let Some(values) = value_type(&typestr) else {
            return Err(PyTypeError::new_err(format!("an array of type {typestr} holds no integers or real numbers")));
        };
        let shape: Vec<usize> = get("shape")?.extract()?;
        let [rows, cols] = shape[..] else {
            return Err(PyValueError::new_err(format!("an array has two dimensions here, not {}", shape.len())));
        };
        let (address, _): (usize, bool) = get("data")?.extract()?;
        let bytes = values.bytes();
        let strides = match interface.get_item("strides")?.filter(|strides| !strides.is_none()) {
            None => (cols as isize, 1),
            Some(strides) => {
                let (row, col): (isize, isize) = strides.extract()?;
                let size = bytes as isize;
                if row % size != 0 || col % size != 0 || !address.is_multiple_of(bytes) {
                    return Err(PyValueError::new_err("the numbers of the array are not aligned"));
                }
                (row / size, col / size)
            }
        };
        Ok(Self { address, rows, cols, strides, values })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    pub fn values(&self) -> ValueType {
        self.values
    }

    /// Rows for columns.
    pub fn transposed(self) -> Self {
        Self { rows: self.cols, cols: self.rows, strides: (self.strides.1, self.strides.0), ..self }
    }

    /// True where columns lie further apart than rows, as in Fortran.
    pub fn is_fortran_ordered(&self) -> bool {
        self.rows > 1 && self.cols > 1 && self.strides.0.unsigned_abs() < self.strides.1.unsigned_abs()
    }

    /// Rows without gaps between their numbers, one after the other, without an overlap.
    fn has_rows(&self) -> bool {
        (self.cols == 1 || self.strides.1 == 1) && (self.rows == 1 || self.strides.0 >= self.cols as isize)
    }

    /// Numbers from the first one to the last one.
    fn len(&self) -> usize {
        (self.rows - 1) * self.stride() + self.cols
    }

    /// Numbers from a row to the next, of an array that has rows.
    fn stride(&self) -> usize {
        if self.rows == 1 { self.cols } else { self.strides.0.unsigned_abs() }
    }

    /// The bytes as a grid, without a copy, if they lie so.
    ///
    /// # Safety
    /// The array lives for `'a`, and nothing writes to it.
    pub unsafe fn view<'a>(&self) -> Option<GridView<'a, u8>> {
        if self.values != ValueType::U8 || !self.has_rows() || self.rows == 0 || self.cols == 0 {
            return None;
        }
        let start = std::ptr::with_exposed_provenance(self.address);
        // SAFETY: of an array with rows, these are the numbers from the first to the last; the caller lets it live.
        let cells = unsafe { std::slice::from_raw_parts(start, self.len()) };
        GridView::with_stride(cells, self.rows, self.cols, self.stride()).ok()
    }

    /// The numbers as a grid to be written, if they lie so and are of the type `T`.
    ///
    /// # Safety
    /// The array lives for `'a`, and nothing else uses it.
    pub unsafe fn view_mut<'a, T: Number>(&self) -> Option<GridViewMut<'a, T>> {
        if self.values != T::TYPE || !self.has_rows() || self.rows == 0 || self.cols == 0 {
            return None;
        }
        let start = std::ptr::with_exposed_provenance_mut(self.address);
        // SAFETY: as above; NumPy's memory is initialised or of numbers, for which every pattern of bits will do, and aligned.
        let cells = unsafe { std::slice::from_raw_parts_mut(start, self.len()) };
        GridViewMut::with_stride(cells, self.rows, self.cols, self.stride()).ok()
    }

    /// The one row of the array, if it has no gaps and is of the type `T`.
    ///
    /// # Safety
    /// The array lives for `'a`, and nothing writes to it.
    pub unsafe fn row<'a, T: Number>(&self) -> Option<&'a [T]> {
        if self.values != T::TYPE || self.rows != 1 || !self.has_rows() {
            return None;
        }
        if self.cols == 0 {
            return Some(&[]);
        }
        // SAFETY: so many numbers lie there one after the other; the caller lets them live.
        Some(unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(self.address), self.cols) })
    }

    /// The array as a raster; `name` is for messages.
    ///
    /// # Safety
    /// The array lives as long as the raster, and nothing writes to it.
    pub unsafe fn raster(self, name: &'static str, nodata: Option<Nodata>) -> ArrayRaster {
        ArrayRaster { array: self, name, nodata }
    }

    /// The numbers of a rectangle, row by row.
    ///
    /// # Safety
    /// The array lives, holds numbers of the type `T`, and nothing writes to it; the rectangle is not empty and inside.
    unsafe fn gather<T: Number>(&self, rows: Range<usize>, cols: Range<usize>) -> Vec<T> {
        let (width, (down, right)) = (cols.len(), self.strides);
        let at = |row: usize, col: usize| {
            let offset = row as isize * down + col as isize * right;
            let address = self.address.wrapping_add_signed(offset * size_of::<T>() as isize);
            std::ptr::with_exposed_provenance::<T>(address)
        };
        let mut numbers = vec![T::default(); rows.len() * width];
        let fortran = self.is_fortran_ordered();
        // Bands of rows, for all threads; where columns are what lies together, a band is read column by column.
        let band = (1usize << 16).div_ceil(width).max(if fortran { 64 } else { 1 });
        numbers.par_chunks_mut(band * width).enumerate().for_each(|(i, numbers)| {
            let (first, count) = (rows.start + i * band, numbers.len() / width);
            if fortran {
                for (c, col) in cols.clone().enumerate() {
                    for r in 0..count {
                        // SAFETY: a cell of the array, by its strides.
                        numbers[r * width + c] = unsafe { at(first + r, col).read() };
                    }
                }
                return;
            }
            for (r, to) in numbers.chunks_exact_mut(width).enumerate() {
                let from = at(first + r, cols.start);
                if right == 1 {
                    // SAFETY: the cells of a row lie one after the other.
                    to.copy_from_slice(unsafe { std::slice::from_raw_parts(from, width) });
                    continue;
                }
                for (c, to) in to.iter_mut().enumerate() {
                    // SAFETY: a cell of the array, by its strides.
                    *to = unsafe { from.offset(c as isize * right).read() };
                }
            }
        });
        numbers
    }
}

/// A type of numbers.
pub trait Number: Copy + Default + Send + Sync + 'static {
    const TYPE: ValueType;
}

macro_rules! numbers {
    ($($type:ty, $variant:ident;)*) => {$(
        impl Number for $type {
            const TYPE: ValueType = ValueType::$variant;
        }
    )*};
}

numbers! { u8, U8; i8, I8; u16, U16; i16, I16; u32, U32; i32, I32; u64, U64; i64, I64; f32, F32; f64, F64; }

/// An array seen as a raster. Made by [`Array::raster`].
#[derive(Debug, Clone, Copy)]
pub struct ArrayRaster {
    array: Array,
    name: &'static str,
    nodata: Option<Nodata>,
}

impl Raster for ArrayRaster {
    fn name(&self) -> &str {
        self.name
    }

    fn rows(&self) -> usize {
        self.array.rows
    }

    fn cols(&self) -> usize {
        self.array.cols
    }

    fn value_type(&self) -> ValueType {
        self.array.values
    }

    /// Where columns lie together, tall pieces are read fastest.
    fn block(&self) -> (usize, usize) {
        if self.array.is_fortran_ordered() { (64, 64) } else { (1, self.array.cols) }
    }

    fn nodata(&self) -> Option<Nodata> {
        self.nodata
    }

    fn georeference(&self) -> Option<&Georeference> {
        None
    }

    fn read(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Values, FormatError> {
        let inside = rows.start < rows.end && rows.end <= self.array.rows;
        assert!(inside && cols.start < cols.end && cols.end <= self.array.cols, "rows {rows:?}, columns {cols:?}");
        let array = &self.array;
        // SAFETY: the maker of the raster lets the array live; the type is the array's, and the rectangle is inside.
        Ok(unsafe {
            match array.values {
                ValueType::U8 => Values::U8(array.gather(rows, cols)),
                ValueType::I8 => Values::I8(array.gather(rows, cols)),
                ValueType::U16 => Values::U16(array.gather(rows, cols)),
                ValueType::I16 => Values::I16(array.gather(rows, cols)),
                ValueType::U32 => Values::U32(array.gather(rows, cols)),
                ValueType::I32 => Values::I32(array.gather(rows, cols)),
                ValueType::U64 => Values::U64(array.gather(rows, cols)),
                ValueType::I64 => Values::I64(array.gather(rows, cols)),
                ValueType::F32 => Values::F32(array.gather(rows, cols)),
                ValueType::F64 => Values::F64(array.gather(rows, cols)),
            }
        })
    }
}
