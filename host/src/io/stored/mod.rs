//! A 2-D array whose bytes lie somewhere: in a file, or in memory after they came through a pipe or were decoded. Windows of it are read by
//! position, never the whole.
//!
//! ```text
//! C order        rows one after the other: a window of whole rows is one stretch of the bytes, any other a stretch a row
//! Fortran order  columns one after the other: a window is a stretch a column, which `columns` reads and transposes
//! ```
//!
//! NPY, PGM, PNG, text and seed-binary all end here, so that what follows (classes, masks, comparing) has one kind of input beside GeoTIFF.

mod columns;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use rayon::prelude::*;

use super::error::{FormatError, Place, Problem};
use super::lines::Lines;
use super::npy_header::Header;
use super::pgm::too_large;
use super::source::Source;
use super::value::out_of_memory;
use crate::grid::Grid;
use crate::numbers::{ValueType, Values};
use crate::observe::Observer;

/// Numbers that are converted at a time where all of an array is.
const BAND: usize = 1 << 20;

/// How numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) value_type: ValueType,
    pub(crate) big_endian: bool,
    pub(crate) fortran: bool,
    /// Any byte but 0 is 1.
    pub(crate) is_bool: bool,
}

impl Encoding {
    /// Row after row, in the byte order of this machine.
    pub(crate) fn native(value_type: ValueType) -> Self {
        Self { value_type, big_endian: cfg!(target_endian = "big"), fortran: false, is_bool: false }
    }
}

impl From<&Header> for Encoding {
    fn from(header: &Header) -> Self {
        let &Header { value_type, big_endian, fortran, is_bool, .. } = header;
        Self { value_type, big_endian, fortran, is_bool }
    }
}

/// Where an array is and how it is stored; all of its bytes are there.
pub(crate) struct StoredArray {
    pub(crate) source: Arc<Source>,
    /// Where the first number is.
    pub(crate) start: u64,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) encoding: Encoding,
    /// Larger numbers are an error of the file: PGM names it.
    pub(crate) largest: Option<u16>,
    /// Which it is in a file of several.
    pub(crate) sample: Option<usize>,
    /// Where its numbers stood, if it was text.
    pub(crate) lines: Lines,
}

impl fmt::Debug for StoredArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, rows, cols, encoding, .. } = self;
        write!(f, "StoredArray({:?}, {rows} x {cols}, {:?})", source.name, encoding.value_type)
    }
}

impl StoredArray {
    /// An array of `shape` (rows, columns).
    pub(crate) fn new(source: Arc<Source>, start: u64, shape: (usize, usize), encoding: Encoding) -> Self {
        let (rows, cols) = shape;
        Self { source, start, rows, cols, encoding, largest: None, sample: None, lines: Lines::default() }
    }

    /// Where messages say that a number is.
    pub(crate) fn place(&self, row: usize, col: usize) -> Place {
        let line = self.lines.of(row * self.cols + col);
        Place { sample: self.sample, line, ..Place::cell(row, col) }
    }

    /// All numbers as f64 (64-bit integers beyond 2^53 are rounded). The observer is notified of bytes of a file that have not been read before.
    pub(crate) fn reals(&self, observer: &dyn Observer) -> Result<Grid<f64>, FormatError> {
        let (rows, cols, block) = (self.rows, self.cols, self.block().0);
        let here = |problem: Problem| problem.at(&self.source.name, Place::FILE);
        let mut all = Vec::new();
        all.try_reserve_exact(rows * cols).map_err(|_| here(out_of_memory(rows, cols)))?;
        let band = (BAND / cols / block).max(1) * block;
        for first in (0..rows).step_by(band) {
            if observer.cancelled() {
                return Err(FormatError::cancelled(&self.source.name));
            }
            let end = rows.min(first + band);
            self.read(first..end, 0..cols)?.append_to(&mut all);
            if self.source.is_file() {
                observer.advance(((end - first) * cols * self.encoding.value_type.bytes()) as u64);
            }
        }
        Grid::from_vec(all, rows, cols).map_err(|e| here(Problem::new(e.to_string(), "report this as a defect")))
    }

    /// The shape of windows that are the cheapest to read.
    pub(crate) fn block(&self) -> (usize, usize) {
        match self.encoding.fortran {
            true => columns::block(self.rows, self.cols, self.encoding.value_type.bytes()),
            false => (1, self.cols),
        }
    }

    /// The numbers of a rectangle. Panics when it is empty or not inside.
    pub(crate) fn read(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Values, FormatError> {
        assert!(rows.start < rows.end && rows.end <= self.rows, "rows {rows:?} of {}", self.rows);
        assert!(cols.start < cols.end && cols.end <= self.cols, "columns {cols:?} of {}", self.cols);
        let (top, left, width) = (rows.start, cols.start, cols.len());
        let values = match self.encoding.value_type {
            ValueType::U8 => {
                let mut bytes = self.numbers(rows, cols, |v: u8| v)?;
                if self.encoding.is_bool {
                    bytes.iter_mut().for_each(|v| *v = u8::from(*v != 0));
                }
                Values::U8(bytes)
            }
            ValueType::I8 => Values::I8(self.numbers(rows, cols, |v| v)?),
            ValueType::U16 => Values::U16(self.numbers(rows, cols, u16::swap_bytes)?),
            ValueType::I16 => Values::I16(self.numbers(rows, cols, i16::swap_bytes)?),
            ValueType::U32 => Values::U32(self.numbers(rows, cols, u32::swap_bytes)?),
            ValueType::I32 => Values::I32(self.numbers(rows, cols, i32::swap_bytes)?),
            ValueType::U64 => Values::U64(self.numbers(rows, cols, u64::swap_bytes)?),
            ValueType::I64 => Values::I64(self.numbers(rows, cols, i64::swap_bytes)?),
            ValueType::F32 => Values::F32(self.numbers(rows, cols, |v: f32| f32::from_bits(v.to_bits().swap_bytes()))?),
            ValueType::F64 => Values::F64(self.numbers(rows, cols, |v: f64| f64::from_bits(v.to_bits().swap_bytes()))?),
        };
        match self.above(&values) {
            None => Ok(values),
            Some((i, number, largest)) => {
                let place = self.place(top + i / width, left + i % width);
                Err(too_large(number, largest).at(&self.source.name, place))
            }
        }
    }

    /// The first number that is larger than it may be, and how large it may be.
    fn above(&self, values: &Values) -> Option<(usize, i128, u16)> {
        fn first<T: Copy + Ord + Into<u16>>(numbers: &[T], largest: u16) -> Option<(usize, i128, u16)> {
            // The maximum of all is for the vectoriser.
            numbers.iter().max().filter(|&&most| most.into() > largest)?;
            let found = numbers.iter().position(|&number| number.into() > largest)?;
            Some((found, numbers[found].into().into(), largest))
        }
        match (values, self.largest?) {
            (Values::U8(numbers), largest) if largest < 255 => first(numbers, largest),
            (Values::U16(numbers), largest) if largest < u16::MAX => first(numbers, largest),
            _ => None,
        }
    }

    /// The numbers of a rectangle; `swap` turns the bytes of one.
    fn numbers<T: Pod + Send + Sync>(
        &self,
        rows: Range<usize>,
        cols: Range<usize>,
        swap: fn(T) -> T,
    ) -> Result<Vec<T>, FormatError> {
        let mut values = self.zeroed(rows.len() * cols.len())?;
        let other_order = self.encoding.big_endian != cfg!(target_endian = "big");
        let swap = (other_order && size_of::<T>() > 1).then_some(swap);
        if self.encoding.fortran {
            self.read_columns(rows, cols, &mut values, swap)?;
            return Ok(values);
        }
        // Whole rows are one stretch; many of them are read in pieces, side by side.
        let width = cols.len();
        let piece = if width == self.cols { width * ((1 << 20) / width).max(1) } else { width };
        values.par_chunks_mut(piece).enumerate().try_for_each(|(i, part)| {
            let row = rows.start + i * (piece / width);
            self.read_stretch(row * self.cols + cols.start, part)?;
            if let Some(swap) = swap {
                part.iter_mut().for_each(|v| *v = swap(*v));
            }
            Ok(())
        })?;
        Ok(values)
    }

    /// Numbers that follow each other, from the one with this index on, their bytes as they are there.
    fn read_stretch<T: Pod>(&self, first: usize, numbers: &mut [T]) -> Result<(), FormatError> {
        let at = self.start + (first * size_of::<T>()) as u64;
        self.source.read_exact(bytemuck::cast_slice_mut(numbers), at)
    }

    /// Room for so many numbers.
    fn zeroed<T: Pod>(&self, count: usize) -> Result<Vec<T>, FormatError> {
        let mut values: Vec<T> = Vec::new();
        values.try_reserve_exact(count).map_err(|_| {
            Problem::new(format!("there is not enough memory for {count} numbers"), "ask for less at a time")
                .at(&self.source.name, Place::FILE)
        })?;
        values.resize(count, T::zeroed());
        Ok(values)
    }
}
