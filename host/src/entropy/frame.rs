//! A band of a grid in a device's memory, as kernels take it.

use std::sync::Arc;

use crate::exec::{Buffer, Device, DeviceError};

/// A band on a device, as the kernels take it.
pub struct Frame<'a> {
    /// `rows` rows of `cols` cells, `stride` cells apart, all of the memory initialised.
    pub cells: &'a Buffer,
    /// Room for `count` rows, `out_stride` elements apart.
    pub out: &'a Buffer,
    /// What [`Launcher::scratch`](super::Launcher::scratch) gave for a frame of this size or a larger one, or as much as this frame needs.
    pub scratch: Option<&'a Buffer>,
    /// Rows of cells, halos among them.
    pub rows: u32,
    /// Columns.
    pub cols: u32,
    /// Cells from a row to the next.
    pub stride: u32,
    /// The first row to compute; `first + count` is at most `rows`.
    pub first: u32,
    /// Rows to compute.
    pub count: u32,
    /// Elements from a row of results to the next.
    pub out_stride: u32,
}

/// Cells from a row of `cols` cells to the next on a device: whole sectors of 32 bytes where a row has many; a
/// narrow grid would pay too much for its padding.
pub fn pitch(cols: usize) -> usize {
    cols.next_multiple_of(if cols >= 256 { 32 } else { 4 })
}

/// Buffers for a band of `band` rows and its halos.
pub fn allocate<T>(
    device: &Arc<dyn Device>,
    cell_bytes: usize,
    pitch: usize,
    band: usize,
    halo: usize,
) -> Result<(Buffer, Buffer), DeviceError> {
    let cells = Buffer::new(device, (band + 2 * halo) * pitch * cell_bytes)?;
    let out = Buffer::new(device, band * pitch * size_of::<T>())?;
    // Kernels load whole words, so the padding is read; and a cell that no kernel wrote shows as an absurd number.
    device.fill(&cells, 0)?;
    device.fill(&out, 0x7E)?;
    Ok((cells, out))
}
