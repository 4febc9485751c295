//! Grids in page-locked host memory, which a device copies to and from directly.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;
use rayon::prelude::*;
use simt_exec::{Device, DeviceError, HostMemory};

use crate::grid::{GridView, GridViewMut, ShapeError};

/// A grid in memory that a device copies to and from directly, at the bandwidth of the bus.
///
/// ```
/// use std::sync::Arc;
/// use halotile::exec::{Device, PinnedGrid, emulator::EmulatedDevice};
/// let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
/// let mut cells = PinnedGrid::<u8>::zeros(&device, 3, 4)?;
/// cells.view_mut().row_mut(2)[1] = 7;
/// assert_eq!(cells.view().row(2), [0, 7, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PinnedGrid<T> {
    memory: HostMemory,
    rows: usize,
    cols: usize,
    cell: PhantomData<T>,
}

/// Why there is no such grid.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum PinnedError {
    /// It would have no cell, or too many.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The device could not allocate the memory.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl<T: Pod> PinnedGrid<T> {
    /// A grid of zeros, page-locked for `device` (and every other of its kind).
    ///
    /// # Errors
    /// [`PinnedError`]: no rows or columns, or memory that cannot be page-locked.
    pub fn zeros(device: &Arc<dyn Device>, rows: usize, cols: usize) -> Result<Self, PinnedError> {
        if rows == 0 || cols == 0 {
            return Err(ShapeError::Empty { rows, cols }.into());
        }
        let bytes = rows.checked_mul(cols).and_then(|cells| cells.checked_mul(size_of::<T>()));
        let mut memory = device.host_memory(bytes.ok_or(ShapeError::Memory { rows, cols })?)?;
        memory.par_chunks_mut(1 << 22).for_each(|chunk| chunk.fill(0));
        Ok(Self { memory, rows, cols, cell: PhantomData })
    }

    /// Borrows the grid.
    pub fn view(&self) -> GridView<'_, T> {
        GridView::new(self.memory.as_slice(), self.rows, self.cols).expect("the shape has been checked")
    }

    /// Borrows the grid to write it.
    pub fn view_mut(&mut self) -> GridViewMut<'_, T> {
        GridViewMut::new(self.memory.as_mut_slice(), self.rows, self.cols).expect("the shape has been checked")
    }
}
