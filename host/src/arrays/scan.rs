//! Scans of an array: which numbers occur, the smallest and the largest, how many share the leading digits of their keys.

use halotile_kernels::arrays as kernels;
use simt::launch::Arg;

use super::{Cells, Numbers, blocks, config, count, fetch, fetched, kind, only, small, strides, table};
use crate::exec::queue::Queue;
use crate::exec::{Buffer, DeviceError, Layout};

/// Which bytes occur.
pub(crate) struct Present {
    /// By their bits.
    pub bytes: [bool; 256],
    /// What kernels took until this was known.
    pub seconds: f64,
}

/// A scan of which bytes occur, in flight.
pub(crate) struct PresenceScan {
    /// Records of the blocks, each of [`kernels::PRESENT_RECORD`] words.
    pub found: Buffer,
    /// How many of them.
    pub records: u32,
}

/// Cells in an order in which as many as possible are contiguous, for scans whose result does not depend on positions.
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
    PresenceScan::new(queue, cells)?.finish(queue)
}

impl PresenceScan {
    /// The records as the last arguments of a kernel that waits for a scan, and how many there are; without a scan it reads nothing of `instead`.
    pub fn args(scan: Option<&Self>, instead: &Buffer) -> [Arg; 2] {
        let (found, records) = scan.map_or((instead, 0), |scan| (&scan.found, scan.records));
        [found.input::<u32>(), Arg::U32(records)]
    }

    /// Enqueues the scan.
    pub fn new(queue: &mut Queue<'_>, cells: Cells<'_>) -> Result<Self, DeviceError> {
        let kernel = kernels::arrays_present::ENTRY;
        let layout = cells.layout();
        // A mask is read with the grid, in the grid's own order.
        let Layout { first, rows, cols, .. } = *layout;
        let flat = match cells.mask {
            None => Flat::of(layout),
            Some(_) => Flat { first, strides: layout.strides, rows, cols },
        };
        let (head, pieces) = if cells.mask.is_none() { flat.pieces() } else { (flat.cols, 0) };
        let blocks = blocks(cells.device(), &kernel, flat.rows * flat.cols)?;
        let found = small(cells.device(), bytes(blocks))?;
        let mut args = cells.buffers().to_vec();
        args.push(found.output::<u32>());
        args.extend(strides(flat.first, flat.strides));
        args.extend(cells.mask_args());
        args.extend([flat.rows, flat.cols, head, pieces].map(count));
        // SAFETY: grid and mask are of one shape and promise to hold their numbers; pieces begin where they should, as the memory does;
        // there is a record for every block.
        unsafe { queue.launch(&kernel, &config(blocks), &args) }?;
        Ok(Self { found, records: blocks })
    }

    /// Waits for it, and for what is behind it on the queue.
    pub fn finish(self, queue: &mut Queue<'_>) -> Result<Present, DeviceError> {
        fetch(queue, &self.found, bytes(self.records))?;
        let (fetched, seconds) = fetched(queue.wait())?;
        let (memory, bytes) = &fetched[0];
        // Word by word: a test of every flag of every block would take several times as long as the kernel.
        let mut all = [0; kernels::PRESENT_RECORD as usize];
        let words: &[u32] = bytemuck::cast_slice(&memory[..*bytes]);
        for record in words.as_chunks::<{ kernels::PRESENT_RECORD as usize }>().0 {
            all.iter_mut().zip(record).for_each(|(all, word)| *all |= word);
        }
        Ok(Present { bytes: std::array::from_fn(|byte| all[byte / 32] >> (byte % 32) & 1 != 0), seconds })
    }
}

/// The length of so many records of a scan.
fn bytes(records: u32) -> usize {
    (records * kernels::PRESENT_RECORD) as usize * 4
}

/// Which numbers occur.
pub(crate) struct Distinct {
    /// Keys, in no order; none where there are more than 65,536.
    pub keys: Vec<u64>,
    /// How many there are, if not too many to be counted.
    pub count: usize,
    /// No data occurs.
    pub nodata: bool,
    /// Row and column of the first number, in reading order, that is not whole.
    pub fraction: Option<(usize, usize)>,
}

/// Keys that are listed beside the set.
const LISTED: usize = kernels::DISTINCT_LIST as usize;

/// Finds which numbers of more than 8 bits occur. Floating-point numbers of the magnitude with the bits `large` and beyond are treated
/// as not whole.
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
    let places = Buffer::new(device, kernels::DISTINCT_SLOTS as usize * 8)?;
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
    // Where there are more than the list has room for, and not too many, they are all in the set.
    let mut keys: Vec<u64> = match counted {
        0..=LISTED => (0..counted).map(|i| word(2, i)).collect(),
        _ if counted <= kernels::DISTINCT_MOST as usize => {
            fetch(queue, &places, kernels::DISTINCT_SLOTS as usize * 8)?;
            only::<u64>(queue.wait())?.into_iter().filter(|&key| key != u64::MAX).collect()
        }
        _ => Vec::new(),
    };
    let (mut fraction, mut flags) = (u64::MAX, 0);
    for block in 0..blocks as usize {
        fraction = fraction.min(word(0, 2 * block));
        flags |= word(0, 2 * block + 1);
    }
    let last = flags & kernels::DISTINCT_LAST != 0;
    if last {
        keys.push(u64::MAX);
    }
    let position = |cell: u64| (cell as usize / cols, cell as usize % cols);
    Ok(Distinct {
        keys,
        count: counted + usize::from(last),
        nodata: flags & kernels::DISTINCT_NODATA != 0,
        fraction: (fraction != u64::MAX).then(|| position(fraction)),
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
        for (i, (all, &key)) in extent.0.iter_mut().zip(record).enumerate() {
            *all = if i % 2 == 0 { key.min(*all) } else { key.max(*all) };
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
    let mut has_nodata = false;
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
        has_nodata |= fetched[1].0.as_slice::<u32>()[..blocks as usize].iter().any(|&met| met != 0);
    }
    Ok(has_nodata)
}
