//! Arrays in a device's memory that are owned by another library.
//!
//! Other libraries describe an array by an address, a type, a shape and strides (the CUDA array interface, DLPack). A [`DeviceGrid`] is that
//! with the device it is on, to be read; a [`DeviceGridMut`] is memory for results. Neither copies or frees anything.

use std::marker::PhantomData;
use std::sync::Arc;

use simt_exec::{Buffer, Device, DeviceError, Part};

use crate::grid::ShapeError;
use crate::numbers::{Real, ValueType};

/// Why memory on a device cannot be used as an array.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// There are no rows or no columns.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// More rows, columns or memory than kernels count.
    #[error(
        "an array on a device has fewer than 2^31 rows and columns, not {rows} x {cols} with strides of {strides:?}"
    )]
    TooLarge {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        cols: usize,
        /// Strides asked for.
        strides: (isize, isize),
    },
    /// There is less memory than the numbers take.
    #[error("{rows} x {cols} numbers take more than the {bytes} bytes of the buffer; make a larger one")]
    Short {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        cols: usize,
        /// Bytes of the buffer.
        bytes: usize,
    },
    /// Kernels read numbers only where they are aligned.
    #[error("the address {address:#x} is no multiple of the {bytes} bytes of a number; copy the array first")]
    Misaligned {
        /// The first number's address.
        address: u64,
        /// Bytes of a number.
        bytes: usize,
    },
}

/// Checks that a buffer holds `rows` × `cols` numbers of `number` bytes.
fn check_length(buffer: &Buffer, number: usize, rows: usize, cols: usize) -> Result<(), ArrayError> {
    let needed = rows.checked_mul(cols).and_then(|numbers| numbers.checked_mul(number));
    match needed.filter(|&needed| needed <= buffer.bytes()) {
        Some(_) => Ok(()),
        None => Err(ArrayError::Short { rows, cols, bytes: buffer.bytes() }),
    }
}

/// The widest load of kernels, in bytes: memory before an array down to a multiple of it belongs to the same page.
const VECTOR: u64 = 16;

/// Rows and columns in a device's memory, of any element type.
pub(crate) struct Layout {
    /// From the first byte of the array (or up to 15 before it) to the last.
    pub memory: Buffer,
    /// Where the number in row 0 and column 0 is, in numbers from the first byte of `memory`.
    pub first: usize,
    pub bytes: usize,
    pub rows: usize,
    pub cols: usize,
    pub strides: (isize, isize),
}

impl Layout {
    /// # Safety
    /// As for [`DeviceGrid::new`].
    unsafe fn new(
        device: &Arc<dyn Device>,
        address: u64,
        bytes: usize,
        (rows, cols): (usize, usize),
        strides: (isize, isize),
    ) -> Result<Self, ArrayError> {
        if rows == 0 || cols == 0 {
            return Err(ShapeError::Empty { rows, cols }.into());
        }
        if !address.is_multiple_of(bytes as u64) {
            return Err(ArrayError::Misaligned { address, bytes });
        }
        let too_large = || ArrayError::TooLarge { rows, cols, strides };
        if rows >= 1 << 31 || cols >= 1 << 31 {
            return Err(too_large());
        }
        // The stride of a single row or column is not used, and other libraries may put any value there.
        let strides = (if rows > 1 { strides.0 } else { 0 }, if cols > 1 { strides.1 } else { 0 });
        let reach = |stride: isize, len: usize| stride.checked_mul(len as isize - 1);
        let (down, right) = (reach(strides.0, rows), reach(strides.1, cols));
        let (down, right) = down.zip(right).ok_or_else(too_large)?;
        let low = down.min(0).checked_add(right.min(0)).ok_or_else(too_large)?;
        let high = down.max(0).checked_add(right.max(0)).ok_or_else(too_large)?;
        let size = bytes as i128;
        let (from, to) = (i128::from(address) + low as i128 * size, i128::from(address) + (high as i128 + 1) * size);
        let (Ok(from), Ok(to)) = (u64::try_from(from), u64::try_from(to)) else { return Err(too_large()) };
        let start = from / VECTOR * VECTOR;
        let first = ((address - start) / bytes as u64) as usize;
        // SAFETY: the caller's promise; what lies before the array is not touched.
        let memory = unsafe { Buffer::borrowed(device, start, (to - start) as usize) };
        Ok(Self { memory, first, bytes, rows, cols, strides })
    }

    /// The address of the number in row 0 and column 0.
    pub fn address(&self) -> u64 {
        self.memory.address() + (self.first * self.bytes) as u64
    }

    /// Numbers from a row to the next, where rows do not overlap and their columns are contiguous, as the entropy kernels require: `rows`
    /// of a multiple of 4 numbers, the first at a multiple of `align` bytes.
    pub fn pitch(&self, align: u64) -> Option<usize> {
        let unit = self.strides.1 == 1 || self.cols == 1;
        let pitch = if self.rows == 1 { self.cols } else { usize::try_from(self.strides.0).ok()? };
        let fits = unit && self.cols.is_multiple_of(4) && pitch.is_multiple_of(4) && pitch >= self.cols;
        (fits && pitch < 1 << 31 && self.address().is_multiple_of(align)).then_some(pitch)
    }

    /// The rows from `top` on, where [`pitch`](Self::pitch) says how far apart they are.
    pub fn rows_from(&self, top: usize, count: usize, pitch: usize) -> Part<'_> {
        let start = (self.first + top * pitch) * self.bytes;
        self.memory.part(start, ((count - 1) * pitch + self.cols) * self.bytes)
    }
}

/// A grid of numbers in a device's memory that is owned by another library, to be read in place.
///
/// ```
/// use std::sync::Arc;
/// use halotile::exec::{Buffer, Device, DeviceGrid, emulator::EmulatedDevice};
/// use halotile::numbers::ValueType;
///
/// let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
/// // An external array of 2 rows and 3 columns; and the same upside down.
/// let theirs = Buffer::from_slice(&device, &[1i16, 2, 3, 4, 5, 6])?;
/// // SAFETY: the buffer outlives the grids, and nothing writes to it.
/// let (grid, flipped) = unsafe {
///     let last_row = theirs.address() + 3 * 2;
///     (
///         DeviceGrid::new(&device, theirs.address(), ValueType::I16, 2, 3, (3, 1))?,
///         DeviceGrid::new(&device, last_row, ValueType::I16, 2, 3, (-3, 1))?,
///     )
/// };
/// assert_eq!((grid.rows(), flipped.cols()), (2, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DeviceGrid<'a> {
    pub(crate) layout: Layout,
    values: ValueType,
    _memory: PhantomData<&'a [u8]>,
}

impl<'a> DeviceGrid<'a> {
    /// `rows` × `cols` numbers of type `values`: the one in row r and column c is at `address` plus r · `strides.0` + c · `strides.1`
    /// numbers. Strides may be 0 or negative.
    ///
    /// # Errors
    /// [`ArrayError`]: no rows or columns, 2³¹ of them or more, or an address that is not a multiple of the type's size.
    ///
    /// # Safety
    /// For `'a` all of these numbers are in memory that kernels of the device may read, and nothing writes to them. What
    /// other code has enqueued on streams to write them has been waited for ([`Device::wait_for_stream`]) before the grid is used.
    pub unsafe fn new(
        device: &Arc<dyn Device>,
        address: u64,
        values: ValueType,
        rows: usize,
        cols: usize,
        strides: (isize, isize),
    ) -> Result<Self, ArrayError> {
        // SAFETY: passed on to the caller.
        let layout = unsafe { Layout::new(device, address, values.bytes(), (rows, cols), strides) }?;
        Ok(Self { layout, values, _memory: PhantomData })
    }

    /// The rows of `cols` numbers, without gaps, at the beginning of a buffer.
    ///
    /// # Errors
    /// [`ArrayError`]: no rows or columns, or a buffer that is too short for them.
    ///
    /// # Safety
    /// For `'a` nothing writes to the buffer.
    pub unsafe fn of_buffer(
        buffer: &'a Buffer,
        values: ValueType,
        rows: usize,
        cols: usize,
    ) -> Result<Self, ArrayError> {
        check_length(buffer, values.bytes(), rows, cols)?;
        // SAFETY: the numbers are inside the buffer, which is borrowed for 'a; that nothing writes to it is the caller's promise.
        unsafe { Self::new(buffer.device(), buffer.address(), values, rows, cols, (cols as isize, 1)) }
    }

    /// The device whose memory it is in.
    pub fn device(&self) -> &Arc<dyn Device> {
        self.layout.memory.device()
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.layout.rows
    }

    /// Columns.
    pub fn cols(&self) -> usize {
        self.layout.cols
    }

    /// The type of its numbers.
    pub fn value_type(&self) -> ValueType {
        self.values
    }

    /// The bits of a number, copied from the device.
    pub(crate) fn bits(&self, row: usize, col: usize) -> Result<u64, DeviceError> {
        let Layout { memory, first, bytes, strides, .. } = &self.layout;
        let at = *first as isize + row as isize * strides.0 + col as isize * strides.1;
        let mut number = [0; 8];
        memory.read(at as usize * bytes, &mut number[..*bytes])?;
        Ok(u64::from_le_bytes(number))
    }
}

/// Memory for results on a device that is owned by another library.
///
/// ```
/// use std::sync::Arc;
/// use halotile::exec::{Buffer, Device, DeviceGridMut, emulator::EmulatedDevice};
///
/// let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
/// let theirs = Buffer::new(&device, 12 * 8)?;
/// // SAFETY: the buffer outlives the grid, and nothing else uses it.
/// let columns_first = unsafe { DeviceGridMut::<f64>::new(&device, theirs.address(), 3, 4, (1, 3))? };
/// assert_eq!((columns_first.rows(), columns_first.cols()), (3, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DeviceGridMut<'a, T> {
    pub(crate) layout: Layout,
    _memory: PhantomData<&'a mut [T]>,
}

impl<'a, T: Real> DeviceGridMut<'a, T> {
    /// Room for `rows` × `cols` numbers: the one in row r and column c is at `address` plus r · `strides.0` + c · `strides.1` numbers.
    /// Strides may be negative.
    ///
    /// # Errors
    /// [`ArrayError`]: no rows or columns, 2³¹ of them or more, or an address that is not a multiple of the type's size.
    ///
    /// # Safety
    /// For `'a` the memory is such that kernels of the device may write it, nothing else reads or writes these numbers, and no two of
    /// them are in one place. What other code has enqueued on streams to use them has been waited for before the grid is used.
    pub unsafe fn new(
        device: &Arc<dyn Device>,
        address: u64,
        rows: usize,
        cols: usize,
        strides: (isize, isize),
    ) -> Result<Self, ArrayError> {
        // SAFETY: passed on to the caller.
        let layout = unsafe { Layout::new(device, address, size_of::<T>(), (rows, cols), strides) }?;
        Ok(Self { layout, _memory: PhantomData })
    }

    /// Room for rows of `cols` numbers, without gaps, at the beginning of a buffer.
    ///
    /// # Errors
    /// [`ArrayError`]: no rows or columns, or a buffer that is too short for them.
    pub fn of_buffer(buffer: &'a mut Buffer, rows: usize, cols: usize) -> Result<Self, ArrayError> {
        check_length(buffer, size_of::<T>(), rows, cols)?;
        // SAFETY: the numbers are inside the buffer, each at its own address, and the buffer is borrowed exclusively for 'a.
        unsafe { Self::new(buffer.device(), buffer.address(), rows, cols, (cols as isize, 1)) }
    }

    /// The device whose memory it is in.
    pub fn device(&self) -> &Arc<dyn Device> {
        self.layout.memory.device()
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.layout.rows
    }

    /// Columns.
    pub fn cols(&self) -> usize {
        self.layout.cols
    }
}

impl<T> DeviceGridMut<'_, T> {
    /// True when all of them have rows `pitch` numbers apart and follow one another, as the planes of one array do.
    pub(crate) fn are_planes(grids: &[Self], pitch: usize) -> bool {
        let Some(first) = grids.first() else { return false };
        let plane = (first.layout.rows * pitch * first.layout.bytes) as u64;
        grids.iter().zip(0..).all(|(grid, i)| {
            let layout = &grid.layout;
            layout.pitch(VECTOR) == Some(pitch) && layout.address() == first.layout.address() + i * plane
        })
    }

    /// The memory of all of them, which [are planes](Self::are_planes) of one array.
    pub(crate) fn planes(grids: &[Self], pitch: usize) -> Part<'_> {
        assert!(Self::are_planes(grids, pitch), "planes of one array");
        let Layout { rows, cols, bytes, .. } = grids[0].layout;
        let len = (grids.len() * rows - 1) * pitch + cols;
        // SAFETY: each grid has its rows, and the rows of all of them follow one another, `pitch` apart.
        unsafe { Part::borrowed(grids[0].layout.memory.device(), grids[0].layout.address(), len * bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::emulator::EmulatedDevice;

    fn layout(
        address: u64,
        bytes: usize,
        shape: (usize, usize),
        strides: (isize, isize),
    ) -> Result<Layout, ArrayError> {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        // SAFETY: nothing reads the memory that it describes.
        unsafe { Layout::new(&device, address, bytes, shape, strides) }
    }

    #[test]
    fn memory_reaches_from_the_lowest_number_to_the_highest() {
        let turned = layout(0x1000, 2, (3, 5), (-10, -2)).unwrap();
        let lowest = 0x1000 - 2 * (2 * 10 + 4 * 2);
        assert_eq!(turned.memory.address(), lowest / 16 * 16);
        assert_eq!(turned.memory.address() + turned.memory.bytes() as u64, 0x1002);
        assert_eq!(turned.address(), 0x1000);
        // A stride that is not used may be anything.
        let line = layout(0x1002, 2, (1, 5), (isize::MIN, 1)).unwrap();
        assert_eq!((line.first, line.memory.address(), line.memory.bytes()), (1, 0x1000, 12));
    }

    #[test]
    fn rows_are_read_as_they_are_only_where_nothing_else_is_touched() {
        let pitch = |address, shape, strides| layout(address, 1, shape, strides).unwrap().pitch(4);
        assert_eq!(pitch(0x1000, (3, 8), (8, 1)), Some(8));
        assert_eq!(pitch(0x1004, (3, 8), (12, 1)), Some(12));
        assert_eq!(pitch(0x1000, (1, 8), (7, 1)), Some(8));
        assert_eq!(pitch(0x1001, (3, 8), (8, 1)), None, "unaligned");
        assert_eq!(pitch(0x1000, (3, 7), (8, 1)), None, "the eighth column is not ours");
        assert_eq!(pitch(0x1000, (3, 8), (9, 1)), None, "rows that begin anywhere");
        assert_eq!(pitch(0x1000, (3, 8), (-8, 1)), None, "upside down");
        assert_eq!(pitch(0x1000, (3, 8), (4, 1)), None, "rows that overlap");
        assert_eq!(pitch(0x1000, (3, 8), (1, 4)), None, "columns");
    }

    #[test]
    fn a_buffer_holds_what_is_laid_into_it() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        let mut buffer = Buffer::new(&device, 24).unwrap();
        // SAFETY: nothing writes to the buffer.
        let grid = unsafe { DeviceGrid::of_buffer(&buffer, ValueType::I16, 3, 4) }.unwrap();
        assert_eq!((grid.layout.address(), grid.layout.strides), (buffer.address(), (4, 1)));
        for (rows, cols) in [(3, 5), (usize::MAX, 2)] {
            // SAFETY: as above.
            let error = unsafe { DeviceGrid::of_buffer(&buffer, ValueType::I16, rows, cols) }.err().unwrap();
            assert_eq!(error, ArrayError::Short { rows, cols, bytes: 24 });
        }
        assert_eq!(DeviceGridMut::<f32>::of_buffer(&mut buffer, 2, 3).unwrap().cols(), 3);
        assert!(DeviceGridMut::<f64>::of_buffer(&mut buffer, 2, 2).is_err());
    }

    #[test]
    fn what_is_no_array_is_refused() {
        let text = |made: Result<Layout, ArrayError>| made.err().unwrap().to_string();
        assert!(text(layout(0x1000, 4, (0, 5), (5, 1))).contains("0 x 5"));
        assert!(
            text(layout(0x1002, 4, (2, 5), (5, 1))).starts_with("the address 0x1002 is no multiple of the 4 bytes")
        );
        assert!(text(layout(0x1000, 4, (1 << 31, 1), (1, 1))).contains("fewer than 2^31 rows"));
        assert!(text(layout(0x1000, 8, (3, 2), (isize::MAX, 1))).contains("fewer than 2^31 rows"));
        assert!(text(layout(0x1000, 8, (3, 2), (-4000, 1))).contains("strides of (-4000, 1)"));
    }
}
