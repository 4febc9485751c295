//! Kernels over arrays in a device's memory: how they are launched, and what becomes of the records that their blocks leave.
//!
//! Everything is put on a queue. What is only needed later, as whether an encoder met a number without a code, comes back when the
//! caller waits for the queue.

use std::sync::Arc;

use halotile_kernels::arrays as kernels;
use simt::launch::{Arg, KernelEntry, LaunchConfig};

use crate::exec::queue::{Queue, Readable, Returned, Source, Target, Writable};
use crate::exec::{Buffer, Device, DeviceError, DeviceGrid, DeviceGridMut, HostMemory, Layout};
use crate::raster::ValueType;

/// Cells that a thread should take at least, where that does not leave multiprocessors idle.
const EACH: usize = 16;

/// Bytes of memory for records and small tables come in multiples of this, so that a device's reserve mostly has them.
const SMALL: usize = 1 << 16;

/// A grid, and what hides some of its cells.
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

/// A number of rows, columns or cells, which is less than 2^31: so arrays are made.
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
        let mut args = vec![Arg::U32(kind(self.grid.value_type()))];
        args.extend(strides(self.layout().first, self.layout().strides));
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

/// A table on the device, put on the queue.
fn table<T: bytemuck::Pod>(queue: &mut Queue<'_>, device: &Arc<dyn Device>, data: &[T]) -> Result<Buffer, DeviceError> {
    let bytes: &[u8] = bytemuck::cast_slice(data);
    let buffer = small(device, bytes.len())?;
    let mut memory = device.host_memory(bytes.len().next_multiple_of(SMALL))?;
    memory[..bytes.len()].copy_from_slice(bytes);
    let (pitch, width) = (bytes.len(), bytes.len());
    queue.upload(&buffer, 0, pitch, Source { memory: Readable::Owned(memory), pitch, width, rows: 1 })?;
    Ok(buffer)
}

/// Has the first bytes of a buffer copied to the host, to be there when the queue has been waited for.
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

/// Which bytes occur.
pub(crate) struct Present {
    /// By their bits.
    pub bytes: [bool; 256],
    /// The mask hides a cell.
    pub hidden: bool,
}

/// Cells in an order in which as many as possible are neighbours: for those who do not ask where anything is.
struct Flat {
    first: usize,
    strides: (isize, isize),
    rows: usize,
    cols: usize,
}

impl Flat {
    fn of(layout: &Layout) -> Self {
        let &Layout { first, strides: (mut row, mut col), mut rows, mut cols, .. } = layout;
        let mut first = first as isize;
        for (stride, len) in [(&mut row, rows), (&mut col, cols)] {
            if *stride < 0 {
                first += *stride * (len as isize - 1);
                *stride = -*stride;
            }
        }
        if cols == 1 || (rows > 1 && row < col) {
            (rows, cols, row, col) = (cols, rows, col, row);
        }
        if rows > 1 && col == 1 && row == cols as isize && rows * cols < 1 << 31 {
            (rows, cols, row) = (1, rows * cols, 0);
        }
        Self { first: first as usize, strides: (row, col), rows, cols }
    }

    /// Columns before the first piece that begins at a multiple of the access, and pieces of a row; no pieces where rows do not allow it.
    fn pieces(&self) -> (usize, usize) {
        let piece = kernels::PRESENT_PIECE as usize;
        let (row, col) = self.strides;
        if (self.cols > 1 && col != 1) || (self.rows > 1 && row % piece as isize != 0) {
            return (self.cols, 0);
        }
        let head = (self.first.next_multiple_of(piece) - self.first).min(self.cols);
        (head, (self.cols - head) / piece)
    }
}

/// Finds which bytes occur.
pub(crate) fn present(queue: &mut Queue<'_>, cells: Cells<'_>) -> Result<Present, DeviceError> {
    let kernel = kernels::arrays_present::ENTRY;
    let layout = cells.layout();
    // A mask is walked with the grid, in the grid's own order.
    let Layout { first, strides: apart, rows, cols, .. } = *layout;
    let flat = match cells.mask {
        None => Flat::of(layout),
        Some(_) => Flat { first, strides: apart, rows, cols },
    };
    let (head, pieces) = if cells.mask.is_none() { flat.pieces() } else { (flat.cols, 0) };
    let blocks = blocks(cells.device(), &kernel, flat.rows * flat.cols)?;
    let bytes = (blocks * kernels::PRESENT_RECORD) as usize * 4;
    let found = small(cells.device(), bytes)?;
    let mut args = cells.buffers().to_vec();
    args.push(found.output::<u32>());
    args.extend(strides(flat.first, flat.strides));
    args.extend(cells.mask_args());
    args.extend([flat.rows, flat.cols, head, pieces].map(count));
    // SAFETY: grid and mask are of one shape and promise to hold their numbers; pieces begin where they should, as the memory does;
    // there is a record for every block.
    unsafe { queue.launch(&kernel, &config(blocks), &args) }?;
    fetch(queue, &found, bytes)?;
    let mut all = Present { bytes: [false; 256], hidden: false };
    for record in only::<u32>(queue.wait())?.chunks_exact(kernels::PRESENT_RECORD as usize) {
        for (byte, present) in all.bytes.iter_mut().enumerate() {
            *present |= record[byte / 32] >> (byte % 32) & 1 != 0;
        }
        all.hidden |= record[8] != 0;
    }
    Ok(all)
}

/// Which numbers occur.
pub(crate) struct Distinct {
    /// Keys, in no order; some of them, where they are more than there are codes.
    pub keys: Vec<u64>,
    /// How many there are, if not too many to be counted.
    pub count: usize,
    /// No data occurs.
    pub nodata: bool,
    /// Row and column of the first number, in reading order, that is not whole.
    pub fraction: Option<(usize, usize)>,
}

/// Finds which numbers of more than 8 bits occur. Floating-point numbers of the magnitude with the bits `large` and beyond are as good
/// as such that are not whole.
pub(crate) fn distinct(
    queue: &mut Queue<'_>,
    cells: Cells<'_>,
    numbers: &Numbers,
    large: u64,
) -> Result<Distinct, DeviceError> {
    let kernel = kernels::arrays_distinct::ENTRY;
    let device = cells.device();
    let (rows, cols) = (cells.grid.rows(), cells.grid.cols());
    // As many warps as the set has places to spare.
    let blocks = blocks(device, &kernel, rows * cols)?.min((1 << 16) / (kernels::ARRAYS_THREADS / 32) - 1);
    let places = Buffer::new(device, kernels::DISTINCT_PLACES as usize * 8)?;
    device.fill(&places, 0xFF)?;
    let list = small(device, kernels::DISTINCT_LIST as usize * 8)?;
    let counter = small(device, 4)?;
    device.fill(&counter, 0)?;
    // A kernel writes as much of the list as there is; the rest is copied too.
    device.fill(&list, 0)?;
    let bytes = (blocks * kernels::DISTINCT_RECORD) as usize * 8;
    let found = small(device, bytes)?;
    let mut args = cells.buffers().to_vec();
    args.extend([places.output::<u64>(), list.output::<u64>(), counter.output::<u32>(), found.output::<u64>()]);
    args.extend(cells.args());
    args.extend([rows, cols].map(count));
    args.extend([numbers.bounds.0, numbers.bounds.1].map(Arg::U64));
    args.extend(numbers.nodata_args());
    args.push(Arg::U64(large));
    // SAFETY: grid and mask are of one shape and promise to hold their numbers; set, list, counter and records have the lengths
    // that the kernel asks for, and the set is empty; there are not too many warps.
    unsafe { queue.launch(&kernel, &config(blocks), &args) }?;
    fetch(queue, &found, bytes)?;
    fetch(queue, &counter, 4)?;
    fetch(queue, &list, kernels::DISTINCT_LIST as usize * 8)?;
    let (fetched, _) = fetched(queue.wait())?;
    let word = |at: usize, i: usize| fetched[at].0.as_slice::<u64>()[i];
    let counted = fetched[1].0.as_slice::<u32>()[0] as usize;
    let mut keys: Vec<u64> = (0..counted.min(kernels::DISTINCT_LIST as usize)).map(|i| word(2, i)).collect();
    let (mut fraction, mut flags) = (u64::MAX, 0);
    for block in 0..blocks as usize {
        fraction = fraction.min(word(0, 2 * block));
        flags |= word(0, 2 * block + 1);
    }
    let last = flags & kernels::DISTINCT_LAST != 0;
    if last {
        keys.push(u64::MAX);
    }
    let place = |cell: u64| (cell as usize / cols, cell as usize % cols);
    Ok(Distinct {
        keys,
        count: counted + usize::from(last),
        nodata: flags & kernels::DISTINCT_NODATA != 0,
        fraction: (fraction != u64::MAX).then(|| place(fraction)),
    })
}

/// The smallest and the largest key of all numbers and of the finite ones, and whether there is no data.
pub(crate) fn extent(
    queue: &mut Queue<'_>,
    cells: Cells<'_>,
    numbers: &Numbers,
) -> Result<([u64; 4], bool), DeviceError> {
    let kernel = kernels::arrays_extent::ENTRY;
    let (rows, cols) = (cells.grid.rows(), cells.grid.cols());
    let blocks = blocks(cells.device(), &kernel, rows * cols)?;
    let bytes = (blocks * kernels::EXTENT_RECORD) as usize * 8;
    let found = small(cells.device(), bytes)?;
    let mut args = cells.buffers().to_vec();
    args.push(found.output::<u64>());
    args.extend(cells.args());
    args.extend([rows, cols].map(count));
    args.extend([numbers.bounds.0, numbers.bounds.1, numbers.finite.0, numbers.finite.1].map(Arg::U64));
    args.extend(numbers.nodata_args());
    // SAFETY: grid and mask are of one shape and promise to hold their numbers; there is a record for every block.
    unsafe { queue.launch(&kernel, &config(blocks), &args) }?;
    fetch(queue, &found, bytes)?;
    let mut extent = ([u64::MAX, 0, u64::MAX, 0], false);
    for record in only::<u64>(queue.wait())?.chunks_exact(kernels::EXTENT_RECORD as usize) {
        for i in 0..4 {
            extent.0[i] = if i % 2 == 0 { extent.0[i].min(record[i]) } else { extent.0[i].max(record[i]) };
        }
        extent.1 |= record[4] != 0;
    }
    Ok(extent)
}

/// A pass of a selection: see the kernel.
pub(crate) struct Digits<'a> {
    pub low: u64,
    pub span: u64,
    pub rest: u32,
    pub more: u32,
    pub prefixes: &'a [u64],
}

/// Adds to `counts` how many numbers there are of every digit, 2^`more` for each of the prefixes; whether there is no data.
pub(crate) fn digits(
    queue: &mut Queue<'_>,
    cells: Cells<'_>,
    numbers: &Numbers,
    digits: &Digits<'_>,
    counts: &mut [u64],
) -> Result<bool, DeviceError> {
    let kernel = kernels::arrays_digits::ENTRY;
    let device = cells.device();
    let (rows, cols) = (cells.grid.rows(), cells.grid.cols());
    let prefixes = table(queue, device, digits.prefixes)?;
    let counters = Buffer::new(device, (digits.prefixes.len() << digits.more) * 4)?;
    let mut without = false;
    // Counters have 32 bits.
    let band = ((1 << 31) / cols).max(1);
    for top in (0..rows).step_by(band) {
        let rows = band.min(rows - top);
        device.fill(&counters, 0)?;
        let blocks = blocks(device, &kernel, rows * cols)?;
        let missing = small(device, blocks as usize * 4)?;
        let mut args = cells.buffers().to_vec();
        args.extend([prefixes.input::<u64>(), counters.output::<u32>(), missing.output::<u32>()]);
        let below = |layout: &Layout| (layout.first as isize + top as isize * layout.strides.0) as usize;
        args.push(Arg::U32(kind(cells.grid.value_type())));
        args.extend(strides(below(cells.layout()), cells.layout().strides));
        match cells.mask {
            None => args.extend(cells.mask_args()),
            Some(mask) => {
                args.push(Arg::U32(kind(mask.value_type())));
                args.extend(strides(below(&mask.layout), mask.layout.strides));
            }
        }
        args.extend([rows, cols].map(count));
        args.extend([numbers.bounds.0, numbers.bounds.1].map(Arg::U64));
        args.extend(numbers.nodata_args());
        args.push(count(digits.prefixes.len()));
        args.extend([digits.low, digits.span].map(Arg::U64));
        args.extend([digits.rest, digits.more].map(Arg::U32));
        // SAFETY: grid and mask are of one shape and promise to hold their numbers; there are counters for all digits of all
        // prefixes and a word for every block.
        unsafe { queue.launch(&kernel, &config(blocks), &args) }?;
        fetch(queue, &counters, counters.bytes())?;
        fetch(queue, &missing, blocks as usize * 4)?;
        let (fetched, _) = fetched(queue.wait())?;
        let counted = fetched[0].0.as_slice::<u32>();
        counts.iter_mut().zip(counted).for_each(|(all, &cells)| *all += u64::from(cells));
        without |= fetched[1].0.as_slice::<u32>()[..blocks as usize].iter().any(|&met| met != 0);
    }
    Ok(without)
}

/// A step function on a device.
pub(crate) struct Encoder {
    starts: Buffer,
    codes: Buffer,
    steps: usize,
    /// What a cell gets that the mask hides.
    hidden: u8,
}

/// Rows and columns of a grid that become rows and columns of codes.
pub(crate) enum Places<'a> {
    /// So many, from a row and a column on.
    From(usize, usize),
    /// These; there may be some twice.
    Named(&'a [u32], &'a [u32]),
}

impl Encoder {
    /// Puts the codes on the device: `codes[i]` for keys from `starts[i]` on, which is 0 for the first.
    pub fn new(
        queue: &mut Queue<'_>,
        device: &Arc<dyn Device>,
        starts: &[u64],
        codes: &[u16],
        hidden: u8,
    ) -> Result<Self, DeviceError> {
        assert_eq!(starts.first(), Some(&0), "every key has a code");
        let (starts_there, codes_there) = (table(queue, device, starts)?, table(queue, device, codes)?);
        Ok(Self { starts: starts_there, codes: codes_there, steps: starts.len().min(codes.len()), hidden })
    }

    /// Puts the encoding of `rows` × `cols` cells on the queue: to `out`, rows `pitch` bytes apart. The next wait's
    /// [`misfit`] tells the first cell whose number has no code.
    pub fn encode(
        &self,
        queue: &mut Queue<'_>,
        cells: Cells<'_>,
        places: &Places<'_>,
        (rows, cols): (usize, usize),
        out: &Buffer,
        pitch: usize,
    ) -> Result<Encoding, DeviceError> {
        let kernel = kernels::arrays_encode::ENTRY;
        let device = cells.device();
        assert!(rows * pitch <= out.bytes() && cols <= pitch && pitch.is_multiple_of(4), "room for all codes");
        let (named, top, left) = match *places {
            Places::From(top, left) => {
                assert!(top + rows <= cells.grid.rows() && left + cols <= cells.grid.cols(), "cells of the grid");
                (None, top, left)
            }
            Places::Named(of_rows, of_cols) => {
                let inside = |places: &[u32], len: usize| places.iter().all(|&place| (place as usize) < len);
                assert!(inside(of_rows, cells.grid.rows()) && inside(of_cols, cells.grid.cols()), "cells of the grid");
                assert_eq!((of_rows.len(), of_cols.len()), (rows, cols), "a place for every row and column");
                (Some(table(queue, device, &[of_rows, of_cols].concat())?), 0, 0)
            }
        };
        let blocks = blocks(device, &kernel, rows * pitch)?;
        let misfits = small(device, blocks as usize * 8)?;
        let mut args = cells.buffers().to_vec();
        args.extend([self.starts.input::<u64>(), self.codes.input::<u16>()]);
        args.push(named.as_ref().unwrap_or(&self.starts).input::<u32>());
        args.extend([out.output::<u8>(), misfits.output::<u64>()]);
        args.extend(cells.args());
        args.extend([count(self.steps), Arg::U32(self.hidden.into()), count(cells.grid.cols())]);
        args.push(Arg::U32(u32::from(named.is_some())));
        args.extend([top, left, rows, cols, pitch].map(count));
        // SAFETY: grid and mask are of one shape and promise to hold their numbers; places are inside, as has just been checked, and
        // so is the room for codes; steps begin at 0; there is a word for every block.
        unsafe { queue.launch(&kernel, &config(blocks), &args) }?;
        fetch(queue, &misfits, blocks as usize * 8)?;
        Ok(Encoding { _named: named, _misfits: misfits })
    }
}

/// What an encoding uses, until it has been waited for.
pub(crate) struct Encoding {
    _named: Option<Buffer>,
    _misfits: Buffer,
}

/// Waits for a queue with encodings on it: the first cell, in reading order, whose number has no code, and the seconds that kernels
/// took.
pub(crate) fn wait_for_codes(queue: &mut Queue<'_>, cols: usize) -> Result<(Option<(usize, usize)>, f64), DeviceError> {
    let (fetched, seconds) = fetched(queue.wait())?;
    let misfits = fetched.iter().flat_map(|(memory, bytes)| &memory.as_slice::<u64>()[..bytes / 8]);
    let first = misfits.copied().min().filter(|&cell| cell != u64::MAX);
    Ok((first.map(|cell| (cell as usize / cols, cell as usize % cols)), seconds))
}

/// Where results are in a buffer: element `first` and on, rows `pitch` apart.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub first: usize,
    pub pitch: usize,
    pub rows: usize,
}

/// Puts a copy of results on the queue: to rows of `to` from `top` on.
pub(crate) fn place<T>(
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

/// Puts on the queue that results within `rim` of the edges (top, bottom, left, right) are made `value`, of which the low bits count.
pub(crate) fn rim<T>(
    queue: &mut Queue<'_>,
    out: &DeviceGridMut<'_, T>,
    rim: [usize; 4],
    value: u64,
) -> Result<(), DeviceError> {
    let kernel = kernels::arrays_rim::ENTRY;
    let layout = &out.layout;
    let mut args = vec![layout.memory.output::<u8>(), count(layout.bytes)];
    args.extend(strides(layout.first, layout.strides));
    args.extend([layout.rows, layout.cols].map(count));
    args.extend(rim.map(count));
    args.push(Arg::U64(value));
    let resident = layout.memory.device().resident_blocks(&kernel, kernels::ARRAYS_THREADS, 0)?;
    let blocks = layout.rows.min(resident as usize) as u32;
    // SAFETY: the grid promises its room.
    unsafe { queue.launch(&kernel, &config(blocks), &args) }
}
