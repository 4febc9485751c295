//! A window and its measures as the kernels for measures take them: tables, runs and formulas in buffers on a device.

use halotile_kernels::entropy as kernels;
use simt::launch::Arg;

use super::frame::Frame;
use super::kernels::Put;
use crate::exec::{Buffer, DeviceError};
use crate::measure::window::{Plane, Quantity, Reach, Run, Window};

/// Bytes of the counters of a block.
pub(super) fn counter_bytes(counters: u32) -> u32 {
    counters * kernels::MEASURES_THREADS * 2
}

/// The part of the table of F in shared memory.
pub(super) struct Near {
    /// Entries, all or none; or copies.
    pub entries: u32,
    /// Dynamic shared memory of a block, the counters included.
    pub bytes: u32,
}

impl Near {
    /// For a table that lies in as many copies in shared memory as there is room for.
    pub fn copied(entries: u32, room: u32) -> Self {
        // A copy for each lane of half a warp: 8-byte accesses are served half a warp at a time, and then without conflicts. Or one: neighbouring windows
        // have similar counts, whose entries lie side by side in different banks, or are the same. With fewer copies than lanes neither holds.
        let copies = [16, 1].into_iter().find(|copies| 8 * entries * copies <= room && entries > 1).unwrap_or(0);
        Self { entries: copies, bytes: 8 * entries * copies }
    }

    /// For a table of `entries` (0 where no measure needs it).
    pub fn of(entries: u32, counters: u32, shared_per_block: u32) -> Self {
        let (counters, table) = (counter_bytes(counters), 8 * entries);
        // Beyond this the table would cost more occupancy than it gains.
        let all = counters + table + kernels::MEASURES_STATIC;
        let near = table <= counters.max(16 * 1024) / 2 && all <= shared_per_block;
        let (entries, table) = if near { (entries, table) } else { (0, 0) };
        Self { entries, bytes: counters + table }
    }
}

/// The buffers, and the numbers that belong to them.
pub(super) struct Program {
    table: Buffer,
    runs: Buffer,
    planes: Buffer,
    orders: Buffer,
    /// Runs and planes.
    lengths: [u32; 2],
    centre: [u32; 2],
    reach: Reach,
    rule: u32,
    least: u32,
    /// Entries of F.
    entries: u32,
    /// F in units of the table's entries.
    unit: f64,
    height: u32,
}

impl Program {
    /// Copies the window to the device as buffers, by `put`.
    pub fn new(window: &Window, put: Put<'_>) -> Result<Self, DeviceError> {
        let shape = window.footprint();
        let runs: Vec<u32> = window.runs.iter().map(word).collect();
        let planes: Vec<u64> = window.planes.iter().flat_map(words).collect();
        // A buffer has at least one element.
        let orders = if window.orders.is_empty() { &[0.0][..] } else { &window.orders };
        let logs = if window.logs.is_empty() { &[0][..] } else { &window.logs };
        let steps = logs.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).chain([0]);
        let table: Vec<u64> = logs.iter().copied().chain(steps).collect();
        Ok(Self {
            table: put(bytemuck::cast_slice(&table))?,
            runs: put(bytemuck::cast_slice(&runs))?,
            planes: put(bytemuck::cast_slice(&planes))?,
            orders: put(bytemuck::cast_slice(orders))?,
            lengths: [runs.len() as u32, window.planes.len() as u32],
            centre: [(shape.rows() / 2) as u32, (shape.cols() / 2) as u32],
            reach: window.reach,
            rule: if window.complete { kernels::MEASURES_COMPLETE } else { 0 }
                | if window.fill { kernels::MEASURES_FILL } else { 0 },
            least: window.least,
            entries: logs.len() as u32,
            unit: 1.0 / window.units,
            height: shape.rows() as u32,
        })
    }

    /// Rows of the window.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The arguments of a launch. `numbers` are counters, nodata, entries in shared memory and rows of a block.
    pub fn args(&self, frame: &Frame<'_>, f64: bool, numbers: [u32; 4]) -> Vec<Arg> {
        let Reach { top, bottom, left, right } = self.reach;
        let mut args = self.buffers(frame, f64, Some(&self.runs));
        args.extend(self.lengths.into_iter().chain(self.centre).map(Arg::U32));
        args.extend([top, bottom, left, right].map(|at| Arg::U32((at as i32).cast_unsigned())));
        args.extend([self.rule, self.least, self.entries].map(Arg::U32));
        args.extend(numbers.map(Arg::U32));
        args.push(Arg::F64(self.unit));
        args
    }

    /// The same for the columns kernels. `numbers` are the window's side, nodata, copies of the table in shared memory and rows of a block.
    pub fn args_of_columns(&self, frame: &Frame<'_>, scratch: &Buffer, f64: bool, numbers: [u32; 4]) -> Vec<Arg> {
        let mut args = self.buffers(frame, f64, None);
        args.insert(5, scratch.input::<u32>());
        args.extend([self.lengths[1], self.rule, self.least, self.entries()].map(Arg::U32));
        args.extend(numbers.map(Arg::U32));
        args.push(Arg::F64(self.unit));
        args
    }

    /// The table of F.
    pub fn table(&self) -> Arg {
        self.table.input::<u64>()
    }

    /// Entries of F; one where no measure needs it.
    pub fn entries(&self) -> u32 {
        self.entries.max(1)
    }

    /// The arguments of the kernel that makes results of parts. `numbers` are the window's side, nodata, whether cells are words, and where parts begin.
    pub fn args_of_parts(&self, frame: &Frame<'_>, words: Arg, f64: bool, numbers: [u32; 4]) -> Vec<Arg> {
        let mut args = self.buffers(frame, f64, None);
        args.insert(2, words);
        args.extend([self.lengths[1], self.rule, self.least, self.entries()].map(Arg::U32));
        args.extend(numbers.map(Arg::U32));
        args.push(Arg::F64(self.unit));
        args
    }

    /// The arguments that all begin with.
    fn buffers(&self, frame: &Frame<'_>, f64: bool, runs: Option<&Buffer>) -> Vec<Arg> {
        let Frame { cells, out, rows, cols, stride, first, count, out_stride, .. } = *frame;
        let mut args = vec![
            cells.input::<u8>(),
            if f64 { out.output::<f64>() } else { out.output::<f32>() },
            self.table.input::<u64>(),
        ];
        args.extend(runs.map(Buffer::input::<u32>));
        args.extend([self.planes.input::<u64>(), self.orders.input::<f64>()]);
        args.extend([rows, cols, stride, first, count, out_stride].map(Arg::U32));
        args
    }
}

/// A run as the kernel unpacks it.
fn word(run: &Run) -> u32 {
    u32::from(run.col) | u32::from(run.first) << 8 | u32::from(run.last) << 16
}

/// A plane as the kernel reads it.
fn words(plane: &Plane) -> [u64; kernels::MEASURES_WORDS as usize] {
    let formula = match plane.quantity {
        Quantity::Shannon => kernels::MEASURES_SHANNON,
        Quantity::Evenness => kernels::MEASURES_EVENNESS,
        Quantity::Simpson => kernels::MEASURES_SIMPSON,
        Quantity::Classes => kernels::MEASURES_CLASSES,
        Quantity::Squares => kernels::MEASURES_SQUARES,
        Quantity::Most => kernels::MEASURES_MOST,
        Quantity::Power => kernels::MEASURES_POWER,
        Quantity::Near => kernels::MEASURES_NEAR,
        Quantity::Steep => kernels::MEASURES_STEEP,
    };
    let number = if plane.scale.is_none() { kernels::MEASURES_NUMBER } else { 0 };
    let scale = plane.scale.unwrap_or(1.0);
    [u64::from(formula + number), scale.to_bits(), plane.order.to_bits(), plane.table as u64]
}

#[cfg(test)]
mod tests;
