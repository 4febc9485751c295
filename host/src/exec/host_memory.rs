//! Host memory that a device copies to and from directly.
//!
//! A GPU copies by itself only from memory that the operating system does not move (page-locked, "pinned"). From any
//! other the driver first copies to such memory of its own, with one thread: a third of the bandwidth, and nothing overlaps
//! with it. Locking is slow (some 0.3 s for a gigabyte), so a device pools what it has allocated.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;
use rayon::prelude::*;

use super::{Device, DeviceError};
use crate::grid::{GridView, GridViewMut, ShapeError};

/// Kinds of host memory, which a GPU and the CPU reach at different speeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKind {
    /// Ordinary memory, which the operating system may move.
    Pageable,
    /// Page-locked: what a device copies to and from by itself.
    Pinned,
    /// Page-locked and write-combined, not cached: to be written sequentially and copied up. Reads by the CPU are very slow.
    WriteCombined,
    /// Page-locked, and kernels access it in place, over the bus ([`Mapped`](super::Mapped)).
    Mapped,
}

/// Bytes of host memory, aligned for every number. Made by [`Device::host_memory`] and [`Device::host_memory_of`].
pub struct HostMemory {
    address: NonNull<u8>,
    bytes: usize,
    /// Where it is returned to; `None` where it was allocated here.
    owner: Option<Box<dyn Owner>>,
}

/// Takes back memory that it has lent.
pub(super) trait Owner: Send + Sync {
    /// The memory is no longer used: its address and length.
    fn take_back(&self, address: NonNull<u8>, bytes: usize);
}

// SAFETY: it owns its memory, like a `Vec`.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Ordinary memory, all zero.
    pub fn plain(bytes: usize) -> Self {
        let words: Box<[u64]> = vec![0; bytes.div_ceil(8)].into_boxed_slice();
        let address = NonNull::from(Box::leak(words)).cast();
        Self { address, bytes, owner: None }
    }

    /// Memory allocated by `owner`, which takes it back when it is dropped.
    ///
    /// # Safety
    /// `address` is of `bytes` bytes, all of them written once, aligned to 8, that nothing else uses until `owner` has them
    /// back.
    pub(super) unsafe fn lent(address: NonNull<u8>, bytes: usize, owner: Box<dyn Owner>) -> Self {
        Self { address, bytes, owner: Some(owner) }
    }

    /// Its bytes as numbers; those at the end that make no whole number are left out.
    pub fn as_slice<T: Pod>(&self) -> &[T] {
        let whole = self.bytes / size_of::<T>() * size_of::<T>();
        bytemuck::cast_slice(&self[..whole])
    }

    /// Its bytes as numbers to be written; those at the end that make no whole number are left out.
    pub fn as_mut_slice<T: Pod>(&mut self) -> &mut [T] {
        let whole = self.bytes / size_of::<T>() * size_of::<T>();
        bytemuck::cast_slice_mut(&mut self[..whole])
    }
}

impl Deref for HostMemory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: it owns so many bytes, all of them initialised.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.bytes) }
    }
}

impl DerefMut for HostMemory {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.bytes) }
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        match &self.owner {
            Some(owner) => owner.take_back(self.address, self.bytes),
            None => {
                let words = self.bytes.div_ceil(8);
                let words = std::ptr::slice_from_raw_parts_mut(self.address.as_ptr().cast::<u64>(), words);
                // SAFETY: leaked in `plain` with this address and length.
                drop(unsafe { Box::from_raw(words) });
            }
        }
    }
}

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
