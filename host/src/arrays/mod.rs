//! Kernels over arrays in a device's memory: how they are launched, and how the records of their blocks are reduced.
//!
//! Everything is enqueued. What is only needed later, such as whether an encoder met a number without a code, is returned when the
//! caller waits for the queue.

use std::sync::Arc;

use halotile_kernels::arrays as kernels;
use simt::launch::{Arg, KernelEntry, LaunchConfig};

mod encode;
mod results;
mod scan;

pub(crate) use encode::{Encoder, Encoding, Selection, wait_for_codes};
pub(crate) use results::{Rows, copy_results, fill_border};
pub(crate) use scan::{Digits, PresenceScan, Present, digits, distinct, extent, present};

use crate::exec::queue::{Queue, Readable, Returned, Source, Target, Writable};
use crate::exec::{Buffer, Device, DeviceError, DeviceGrid, HostMemory, Layout};
use crate::numbers::ValueType;

/// Cells that a thread should take at least, where that does not leave multiprocessors idle.
const EACH: usize = 16;

/// Bytes of memory for records and small tables come in multiples of this, so that the device's free list mostly has them.
const SMALL: usize = 1 << 16;

/// A grid and its mask.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'a> {
    pub grid: &'a DeviceGrid<'a>,
    pub mask: Option<&'a DeviceGrid<'a>>,
}

/// What keys numbers of a type can have, and which are no data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    /// Of the least and the greatest that is no NaN.
    pub bounds: (u64, u64),
    /// Of the least and the greatest finite one.
    pub finite: (u64, u64),
    pub nodata: Option<u64>,
}

impl Numbers {
    fn nodata_args(&self) -> [Arg; 2] {
        [Arg::U32(u32::from(self.nodata.is_some())), Arg::U64(self.nodata.unwrap_or(0))]
    }
}

/// The number by which kernels know a type.
fn kind(values: ValueType) -> u32 {
    let signed = matches!(values, ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64);
    let real = if values.is_real() { kernels::ARRAYS_REAL } else { 0 };
    values.bytes() as u32 + if signed { kernels::ARRAYS_SIGNED } else { real }
}

/// A number of rows, columns or cells, which is less than 2^31 in every `DeviceGrid`.
fn count(number: usize) -> Arg {
    Arg::U32(number as u32)
}

fn strides(first: usize, (row, col): (isize, isize)) -> [Arg; 3] {
    [Arg::U64(first as u64), Arg::U64((row as i64).cast_unsigned()), Arg::U64((col as i64).cast_unsigned())]
}

impl<'a> Cells<'a> {
    fn layout(&self) -> &'a Layout {
        &self.grid.layout
    }

    pub fn device(&self) -> &'a Arc<dyn Device> {
        self.grid.device()
    }

    /// The two buffers.
    fn buffers(&self) -> [Arg; 2] {
        let mask = self.mask.map_or(self.layout(), |mask| &mask.layout);
        [self.layout().memory.input::<u8>(), mask.memory.input::<u8>()]
    }

    /// The strides of the mask, and its kind before them.
    fn mask_args(&self) -> Vec<Arg> {
        match self.mask {
            None => vec![Arg::U32(0), Arg::U64(0), Arg::U64(0), Arg::U64(0)],
            Some(mask) => {
                let mut args = vec![Arg::U32(kind(mask.value_type()))];
                args.extend(strides(mask.layout.first, mask.layout.strides));
                args
            }
        }
    }

    /// Kind and strides of both.
    fn args(&self) -> Vec<Arg> {
        self.args_of(None)
    }

    /// The same where kernels are given the grid's rows from the first on, so many numbers apart.
    fn args_of(&self, pitch: Option<usize>) -> Vec<Arg> {
        let mut args = vec![Arg::U32(kind(self.grid.value_type()))];
        let (first, all) = pitch.map_or((self.layout().first, self.layout().strides), |pitch| (0, (pitch as isize, 1)));
        args.extend(strides(first, all));
        args.extend(self.mask_args());
        args
    }
}

/// Blocks for so many cells.
fn blocks(device: &Arc<dyn Device>, kernel: &KernelEntry, cells: usize) -> Result<u32, DeviceError> {
    let resident = device.resident_blocks(kernel, kernels::ARRAYS_THREADS, 0)?;
    Ok(cells.div_ceil(kernels::ARRAYS_THREADS as usize * EACH).clamp(1, resident as usize) as u32)
}

fn config(blocks: u32) -> LaunchConfig {
    LaunchConfig::linear(blocks, kernels::ARRAYS_THREADS)
}

/// Memory of the device for something small.
fn small(device: &Arc<dyn Device>, bytes: usize) -> Result<Buffer, DeviceError> {
    Buffer::new(device, bytes.next_multiple_of(SMALL))
}

/// A table on the device; its upload is enqueued, and what is enqueued after it may read it.
pub(crate) fn table<T: bytemuck::Pod>(
    queue: &mut Queue<'_>,
    device: &Arc<dyn Device>,
    data: &[T],
) -> Result<Buffer, DeviceError> {
    let bytes: &[u8] = bytemuck::cast_slice(data);
    let buffer = small(device, bytes.len())?;
    let mut memory = device.host_memory(bytes.len().next_multiple_of(SMALL))?;
    memory[..bytes.len()].copy_from_slice(bytes);
    let (pitch, width) = (bytes.len(), bytes.len());
    queue.upload(&buffer, 0, pitch, Source { memory: Readable::Owned(memory), pitch, width, rows: 1 })?;
    Ok(buffer)
}

/// Enqueues a copy of the first bytes of a buffer to the host: valid when the queue has been waited for.
fn fetch(queue: &mut Queue<'_>, buffer: &Buffer, bytes: usize) -> Result<(), DeviceError> {
    let memory = buffer.device().host_memory(bytes.next_multiple_of(SMALL))?;
    let target = Target { memory: Writable::Owned(memory), pitch: bytes, width: bytes, rows: 1 };
    queue.download(buffer, 0, bytes, target)
}

/// What has been fetched, in its order, and its lengths in bytes; with the seconds that kernels took.
fn fetched(returned: Returned<'_>) -> Result<(Vec<(HostMemory, usize)>, f64), DeviceError> {
    let Returned { targets, seconds, result, .. } = returned;
    result?;
    let memory = |target: Target<'_>| match target.memory {
        Writable::Owned(memory) => Some((memory, target.width)),
        Writable::Borrowed(_) => None,
    };
    Ok((targets.into_iter().filter_map(memory).collect(), seconds))
}

/// The numbers of the one thing that has been fetched.
fn only<T: bytemuck::Pod>(returned: Returned<'_>) -> Result<Vec<T>, DeviceError> {
    let (fetched, _) = fetched(returned)?;
    Ok(fetched.iter().flat_map(|(memory, bytes)| bytemuck::cast_slice::<u8, T>(&memory[..*bytes]).to_vec()).collect())
}
