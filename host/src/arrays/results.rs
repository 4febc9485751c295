//! Copying results to an array in the device's memory.

use halotile_kernels::arrays as kernels;
use simt::launch::Arg;

use super::{blocks, config, count, strides};
use crate::exec::queue::Queue;
use crate::exec::{Buffer, DeviceError, DeviceGridMut};

/// Where results are in a buffer: element `first` and on, rows `pitch` apart.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub first: usize,
    pub pitch: usize,
    pub rows: usize,
}

/// Enqueues a copy of results: to rows of `to` from `top` on.
pub(crate) fn copy_results<T>(
    queue: &mut Queue<'_>,
    from: &Buffer,
    results: Rows,
    to: &DeviceGridMut<'_, T>,
    top: usize,
) -> Result<(), DeviceError> {
    let kernel = kernels::arrays_place::ENTRY;
    let layout = &to.layout;
    let Rows { first, pitch, rows } = results;
    assert!(top + rows <= layout.rows, "rows of the grid");
    assert!((first + (rows - 1) * pitch + layout.cols) * layout.bytes <= from.bytes(), "results of all cells");
    let start = (layout.first as isize + top as isize * layout.strides.0) as usize;
    let mut args = vec![from.input::<u8>(), layout.memory.output::<u8>(), count(layout.bytes)];
    args.extend([first, pitch].map(|number| Arg::U64(number as u64)));
    args.extend(strides(start, layout.strides));
    args.extend([rows, layout.cols].map(count));
    let blocks = blocks(to.layout.memory.device(), &kernel, rows * layout.cols)?;
    // SAFETY: the results are in the buffer, as has just been checked, and the grid promises its room.
    unsafe { queue.launch(&kernel, &config(blocks), &args) }
}

/// Enqueues setting the results within `border` of the edges (top, bottom, left, right) to `value`, of which the low bits count.
pub(crate) fn fill_border<T>(
    queue: &mut Queue<'_>,
    out: &DeviceGridMut<'_, T>,
    border: [usize; 4],
    value: u64,
) -> Result<(), DeviceError> {
    let kernel = kernels::arrays_rim::ENTRY;
    let layout = &out.layout;
    let mut args = vec![layout.memory.output::<u8>(), count(layout.bytes)];
    args.extend(strides(layout.first, layout.strides));
    args.extend([layout.rows, layout.cols].map(count));
    args.extend(border.map(count));
    args.push(Arg::U64(value));
    let resident = layout.memory.device().resident_blocks(&kernel, kernels::ARRAYS_THREADS, 0)?;
    let blocks = layout.rows.min(resident as usize) as u32;
    // SAFETY: the grid promises its room.
    unsafe { queue.launch(&kernel, &config(blocks), &args) }
}
