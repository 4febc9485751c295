//! The same numbers in a device's memory, in every arrangement of rows and columns.

use std::sync::Arc;

use anyhow::{Result, ensure};
use halotile::exec::{Buffer, Device, DeviceGrid, DeviceGridMut};
use halotile::grid::Grid;
use halotile::numbers::Real;

use super::Numbers;

/// How rows and columns lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// Row after row.
    Rows,
    /// Column after column.
    Columns,
    /// Row after row with so many numbers between them, from so many numbers into an allocation on.
    Padded(usize, usize),
    /// The last row first.
    Flipped,
    /// The last column first.
    Mirrored,
    /// Column after column, the last one first, and the last row first.
    ReversedColumns,
    /// Every other column, every third row.
    Strided,
}

impl Arrangement {
    pub const ALL: [Self; 9] = [
        Self::Rows,
        Self::Columns,
        Self::Padded(3, 0),
        Self::Padded(4, 4),
        Self::Padded(0, 1),
        Self::Flipped,
        Self::Mirrored,
        Self::ReversedColumns,
        Self::Strided,
    ];

    /// The place of the first number, strides, and how many numbers there is room for.
    fn layout(self, rows: usize, cols: usize) -> (usize, (isize, isize), usize) {
        let (r, c) = (rows as isize, cols as isize);
        match self {
            Self::Rows => (0, (c, 1), rows * cols),
            Self::Columns => (0, (1, r), rows * cols),
            Self::Padded(gap, start) => (start, (c + gap as isize, 1), start + rows * (cols + gap)),
            Self::Flipped => ((rows - 1) * cols, (-c, 1), rows * cols),
            Self::Mirrored => (cols - 1, (c, -1), rows * cols),
            Self::ReversedColumns => (rows * cols - 1, (-1, -r), rows * cols),
            Self::Strided => (0, (3 * 2 * c, 2), 6 * rows * cols),
        }
    }
}

/// An array on a device.
pub struct DeviceArray {
    buffer: Buffer,
    first: usize,
    strides: (isize, isize),
    bytes: usize,
}

impl DeviceArray {
    fn place(&self, row: usize, col: usize) -> usize {
        (self.first as isize + row as isize * self.strides.0 + col as isize * self.strides.1) as usize
    }

    /// Room for numbers of so many bytes; what is between them is `gap`.
    pub(crate) fn room(
        device: &Arc<dyn Device>,
        shape: (usize, usize),
        bytes: usize,
        arrangement: Arrangement,
        gap: u8,
    ) -> Result<Self> {
        let (first, strides, len) = arrangement.layout(shape.0, shape.1);
        let buffer = Buffer::from_slice(device, &vec![gap; len * bytes])?;
        Ok(Self { buffer, first, strides, bytes })
    }

    /// Numbers laid out like that.
    pub fn of(device: &Arc<dyn Device>, numbers: &Numbers, arrangement: Arrangement) -> Result<Self> {
        let (rows, cols, bytes) = (numbers.rows, numbers.cols, numbers.values.bytes());
        let mut there = Self::room(device, (rows, cols), bytes, arrangement, 0xEE)?;
        let (_, _, len) = arrangement.layout(rows, cols);
        let mut memory = vec![0xEE; len * bytes];
        for (i, number) in numbers.bytes().chunks(bytes).enumerate() {
            let at = there.place(i / cols, i % cols);
            memory[at * bytes..][..bytes].copy_from_slice(number);
        }
        there.buffer = Buffer::from_slice(device, &memory)?;
        Ok(there)
    }

    fn address(&self) -> u64 {
        self.buffer.address() + (self.first * self.bytes) as u64
    }

    /// It as a grid of numbers like those.
    pub fn grid(&self, numbers: &Numbers) -> Result<DeviceGrid<'_>> {
        let (rows, cols, device) = (numbers.rows, numbers.cols, self.buffer.device());
        // SAFETY: the buffer has room for the arrangement, and lives as long as the grid, unwritten.
        Ok(unsafe { DeviceGrid::new(device, self.address(), numbers.values, rows, cols, self.strides)? })
    }

    pub(crate) fn grid_mut<T: Real>(&mut self, (rows, cols): (usize, usize)) -> Result<DeviceGridMut<'_, T>> {
        // SAFETY: the buffer has room for the arrangement, in which no two numbers share a place, and it is borrowed as long as the grid.
        Ok(unsafe { DeviceGridMut::new(self.buffer.device(), self.address(), rows, cols, self.strides)? })
    }

    /// The results in it; an error where anything else has been written to.
    pub(crate) fn results<T: Real>(&self, (rows, cols): (usize, usize), gap: u8) -> Result<Grid<T>> {
        let memory = self.buffer.to_vec::<u8>()?;
        let mut taken = vec![false; memory.len() / self.bytes];
        let grid = Grid::from_fn(rows, cols, |r, c| {
            let at = self.place(r, c);
            taken[at] = true;
            bytemuck::pod_read_unaligned::<T>(&memory[at * self.bytes..][..self.bytes])
        });
        let outside = (0..taken.len())
            .find(|&at| !taken[at] && memory[at * self.bytes..][..self.bytes].iter().any(|&byte| byte != gap));
        ensure!(outside.is_none(), "number {outside:?} was written, and is no result");
        Ok(grid?)
    }
}
