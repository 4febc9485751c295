//! What is to be computed, and in which pieces.
//!
//! ```text
//! Entropy::plan   from a question and a grid's shape: what a window reaches, the kernel's work, results of a cell
//! Plan::cut       the shape of pieces, and how many are in flight, such that they fit in the host's memory and in every device's
//! ```
//!
//! What a device says of its free memory is less than true where kernels are still to be loaded. So where it is short the buffers are allocated
//! once as a test, and the plan is made again for less until they are there.

use std::ops::Range;
use std::sync::Arc;

use super::shape::{Requirements, TooLarge, seen_along};
use super::{Workers, device};
use crate::codes::BYTE_LEVELS;
use crate::entropy::census::{Coding, WordCoding};
use crate::entropy::choice::pick;
use crate::entropy::frame::pitch;
use crate::entropy::kernels::{Question, Work, scratch_cols};
use crate::entropy::{Entropy, Error, Kernel};
use crate::exec::{Buffer, Device, DeviceError};
use crate::measure::Edge;
use crate::measure::window::{Reach, Window};
use crate::numbers::Real;
use crate::observe::Observer;
use crate::part::{LARGE_BAND, LARGE_STRIP, SMALL};

/// Cells of a piece, where nothing requires another number: a launch and a copy of so many take far longer than to start them.
const CELLS: usize = 1 << 22;

/// Bytes that are left on a device beside the buffers, where it has more than a thousand times as many.
const SPARE: usize = 2 << 20;

/// A device that reports so much memory, and several times what the buffers take, is not tested for really having it.
const PLENTY: usize = 256 << 20;

/// Memory that is not for pieces: the program, its threads and their temporary allocations, which are small for
/// a small grid.
pub(super) fn reserved((rows, cols): (usize, usize)) -> usize {
    const PROGRAM: usize = 12 << 20;
    const TEMPORARY: usize = 84 << 20;
    PROGRAM + rows.saturating_mul(cols).saturating_mul(64).min(TEMPORARY)
}

/// What is computed, by any worker.
pub(super) struct Plan<'a> {
    /// Rows and columns of the output.
    pub(super) grid: (usize, usize),
    /// Rows and columns of the whole grid that it is of, with what lies beyond the edges: they decide the unit of the sums and the kernel.
    pub(super) extended: (usize, usize),
    /// Rows and columns that a window reaches on each side.
    pub(super) radius: (usize, usize),
    pub(super) edge: Edge,
    pub(super) size: usize,
    pub(super) levels: usize,
    pub(super) nodata: Option<u16>,
    /// Bytes of a code.
    pub(super) width: usize,
    /// Bytes on a device for a cell that is seen: its code, and what kernels make first.
    pub(super) seen_bytes: usize,
    pub(super) scale: f64,
    pub(super) kernel: Option<Kernel>,
    pub(super) work: Work,
    /// What is measured where; `None` for Shannon's entropy in squares.
    pub(super) window: Option<Window>,
    /// Results of a cell.
    pub(super) planes: usize,
    /// Rows and columns of a piece; the last ones may be smaller.
    pub(super) piece: (usize, usize),
    /// Pieces in flight at a time.
    pub(super) in_flight: usize,
    /// Pieces on a device at a time.
    pub(super) slots: usize,
    pub(super) observer: &'a dyn Observer,
}

impl Plan<'_> {
    /// Pieces side by side.
    pub(super) fn across(&self) -> usize {
        self.grid.1.div_ceil(self.piece.1)
    }

    pub(super) fn pieces(&self) -> usize {
        self.grid.0.div_ceil(self.piece.0) * self.across()
    }

    /// Rows and columns of a piece.
    pub(super) fn place(&self, index: usize) -> (Range<usize>, Range<usize>) {
        let along = |i: usize, each: usize, all: usize| i * each..all.min((i + 1) * each);
        let (row, col) = (index / self.across(), index % self.across());
        (along(row, self.piece.0, self.grid.0), along(col, self.piece.1, self.grid.1))
    }

    /// The rows and columns that the windows of these rows and columns see.
    pub(super) fn seen(&self, rows: &Range<usize>, cols: &Range<usize>) -> (Range<isize>, Range<isize>) {
        let along = |own: &Range<usize>, radius: usize, all: usize| {
            let seen = own.start as isize - radius as isize..(own.end + radius) as isize;
            if self.edge.extends() { seen } else { seen.start.max(0)..seen.end.min(all as isize) }
        };
        (along(rows, self.radius.0, self.grid.0), along(cols, self.radius.1, self.grid.1))
    }

    /// The most rows and columns that a piece sees.
    pub(super) fn most_seen(&self) -> (usize, usize) {
        let along = |own: usize, radius: usize, all: usize| seen_along(own, all, 2 * radius, self.edge.extends());
        (along(self.piece.0, self.radius.0, self.grid.0), along(self.piece.1, self.radius.1, self.grid.1))
    }

    /// Results so near to the top, bottom, left and right are nodata, and nothing else writes them.
    pub(super) fn border(&self) -> Option<[usize; 4]> {
        let (rows, cols) = self.radius;
        (self.edge == Edge::Nodata && self.window.is_none()).then_some([rows, rows, cols, cols])
    }
}

impl Entropy {
    /// The plan for codes of 16 bits.
    pub(super) fn plan_words<'o, T: Real>(
        &self,
        grid: (usize, usize),
        WordCoding { levels, nodata, span }: WordCoding,
        observer: &'o dyn Observer,
    ) -> Plan<'o> {
        let coding = Coding { levels, nodata: None, codes: None };
        let plan = self.plan::<T>(grid, &coding, observer);
        let work = plan.work.of_words(nodata.is_some(), span);
        Plan { nodata, width: size_of::<u16>(), work, ..plan }
    }

    pub(super) fn plan<'o, T: Real>(
        &self,
        grid: (usize, usize),
        coding: &Coding,
        observer: &'o dyn Observer,
    ) -> Plan<'o> {
        let whole = self.whole.unwrap_or(grid);
        let window = self.window();
        let reaches = |Reach { top, bottom, left, right }: Reach| {
            (bottom.max(-top).max(0).unsigned_abs(), right.max(-left).max(0).unsigned_abs())
        };
        let radius = window.as_ref().map_or((self.size / 2, self.size / 2), |window| reaches(window.reach));
        let more = |radius: usize| if self.edge.extends() { 2 * radius } else { 0 };
        let extended = (whole.0 + more(radius.0), whole.1 + more(radius.1));
        let work = match &window {
            Some(window) => Work::of_window::<T>(extended, coding, window),
            None => Work::of_shape::<T>(extended, coding, self.size),
        };
        Plan {
            grid,
            extended,
            radius,
            edge: self.edge,
            size: self.size,
            levels: coding.levels,
            nodata: coding.nodata.map(u16::from),
            width: 1,
            seen_bytes: 1,
            scale: self.scale(),
            kernel: self.kernel,
            work,
            planes: self.measures.len(),
            window,
            piece: grid,
            in_flight: 1,
            slots: device::SLOTS,
            observer,
        }
    }
}

/// What a file requires of pieces.
pub(super) struct File {
    pub(super) block: (usize, usize),
    pub(super) whole_rows: bool,
    /// Pieces that are narrower than the grid are no higher than a block: what is kept is for so many rows.
    pub(super) low: bool,
    /// Rows are read in order, each once: in full width if at all possible.
    pub(super) in_order: bool,
    /// Bytes for a cell seen and a cell of output of the piece being read and written.
    pub(super) temporary: (usize, usize),
    /// Bytes that are kept from piece to piece.
    pub(super) kept: usize,
}

impl Plan<'_> {
    /// What a kernel is made ready for on a device.
    pub(super) fn question<'a>(&'a self, device: &'a Arc<dyn Device>) -> Question<'a> {
        Question { device, work: self.work, nodata: self.nodata, scale: self.scale, window: self.window.as_ref() }
    }

    /// Chooses the shape of pieces.
    pub(super) fn cut<T: Real>(&mut self, workers: &Workers<'_>, file: File, memory: usize) -> Result<(), Error> {
        let Workers::Devices(devices) = workers else { return self.shape::<T>(workers, &file, memory, None) };
        // A tenth stays free: the driver needs some of it, and rounds allocations up.
        let table = 8 * (self.size * self.size + 1);
        let least = || -> Result<usize, Error> {
            let memory = devices.iter().map(|device| device.free_memory()).collect::<Result<Vec<_>, _>>()?;
            Ok((memory.into_iter().min().unwrap_or(0) / 10 * 9).saturating_sub(table))
        };
        let (mut free, mut refused) = (least()?, None);
        loop {
            let shaped = self.shape::<T>(workers, &file, memory, Some(free));
            // The driver's error for the smallest pieces says more than the plan's after it.
            shaped.map_err(|error| refused.unwrap_or(error))?;
            if self.on_device::<T>().saturating_mul(4).max(PLENTY) <= free {
                return Ok(());
            }
            // Where memory is short the driver overstates it: kernels that it has not loaded yet take some, and so does every
            // allocation beyond what was asked for. So the buffers are allocated once as a test.
            let tried = devices.iter().try_for_each(|device| {
                let worker = device::Worker::new::<T>(self, device)?;
                // Streams and launches take some too.
                Buffer::new(device, SPARE.min(device.limits().memory >> 10))?;
                drop(worker);
                Ok::<_, Error>(())
            });
            match tried {
                Err(error @ Error::Device(DeviceError::OutOfMemory { .. })) => {
                    let fewer = self.on_device::<T>().min(free).min(least()?) / 2;
                    tracing::debug!(free, fewer, "the device has less memory than it says: planning again");
                    (free, refused) = (fewer, Some(error));
                }
                // Other errors of a device are reported when it works.
                _ => return Ok(()),
            }
        }
    }

    /// Bytes that the buffers of a device take.
    fn on_device<T: Real>(&self) -> usize {
        let ((rows, cols), slots) = (self.most_seen(), self.slots.min(self.pieces()));
        let result = size_of::<T>() * self.planes;
        slots * pitch(cols).saturating_mul(rows * self.seen_bytes + result * self.piece.0)
    }

    /// Bytes that the CPU engine takes for large windows, with pieces of any size: F of all numbers of cells, the shape and its copies, and
    /// what a thread keeps of a tile.
    fn of_large_window(&self) -> usize {
        if self.size <= SMALL {
            return 0;
        }
        // Of whole windows, of which the grid may have but a part.
        let (rows, cols) = (self.size.min(self.extended.0), self.size.min(self.extended.1));
        // A tile of more levels has a histogram.
        let planes = (self.levels + usize::from(self.nodata.is_some())).min(BYTE_LEVELS + 1);
        // Words are renumbered, in a copy of bytes or of words.
        let seen = |len: usize, all: usize| (len + self.size).min(all);
        let copies = 3 * seen(LARGE_BAND, self.extended.0) * seen(LARGE_STRIP, self.extended.1);
        let tile = planes * (4 * LARGE_STRIP + 2 * (LARGE_STRIP + self.size)) + (self.width - 1) * copies;
        8 * rows * cols + 4 * self.size * self.size + rayon::current_num_threads() * tile
    }

    /// The shape of pieces such that `free` bytes of every device hold some.
    fn shape<T: Real>(
        &mut self,
        workers: &Workers<'_>,
        file: &File,
        memory: usize,
        free: Option<usize>,
    ) -> Result<(), Error> {
        let (result, reserved) = (size_of::<T>() * self.planes, reserved(self.grid) + self.of_large_window());
        let (mut cells, mut rows_at_most, mut seen) = ((CELLS, 1 << 18), usize::MAX, self.width);
        let narrow_at_most = if file.low { file.block.0 } else { usize::MAX };
        if let Workers::Devices(devices) = workers {
            // Kernels count rows and cells in 32 bits.
            rows_at_most = 1 << 19;
            for device in *devices {
                let launch = device.limits().launch_cells;
                let own = pick(self.kernel, &self.work, device).ok();
                let cost = self.kernel.and(own).map_or(1.0, |own| own.cost(&self.work));
                cells = (cells.0.min((launch as f64 / cost) as usize).max(1), cells.1.min(launch >> 10));
                // A cell, and its share of what kernels make first for a row.
                let cols = self.grid.1.clamp(1, scratch_cols(&self.work));
                let first = own.map_or(0, |own| own.scratch_bytes(&self.work, cols).div_ceil(cols));
                seen = seen.max(self.width + first);
            }
        }
        self.seen_bytes = seen;
        let mut requirements = Requirements {
            grid: self.grid,
            halo: (2 * self.radius.0, 2 * self.radius.1),
            extends: self.edge.extends(),
            block: file.block,
            whole_rows: file.whole_rows,
            bytes: (self.width, result),
            temporary: file.temporary,
            in_flight: workers.in_flight(),
            memory: memory.saturating_sub(reserved.saturating_add(file.kept)),
            device: None,
            cells,
            rows_at_most: (rows_at_most, narrow_at_most.min(rows_at_most)),
            pieces: 4 * workers.count(),
        };
        // Rows are padded to a multiple of 32 cells where they are long.
        let on_device = |slots: usize| free.map(|free| ((seen, result), (free / slots / 16 * 15).saturating_sub(256)));
        // The first that has room for a piece. A device may have one at a time; rows that are to be read once are cut last of all.
        let mut attempts = vec![(device::SLOTS, workers.in_flight(), file.in_order)];
        if file.in_order {
            attempts.extend([
                (device::SLOTS, 2, true),
                (device::SLOTS, 1, true),
                (device::SLOTS, workers.in_flight(), false),
            ]);
        }
        attempts.push((1, workers.in_flight(), false));
        let mut chosen = Ok(self.piece);
        for (slots, in_flight, whole_rows) in attempts {
            requirements.device = on_device(slots);
            (requirements.in_flight, requirements.whole_rows) = (in_flight, file.whole_rows || whole_rows);
            (self.slots, self.in_flight) = (slots, in_flight);
            chosen = requirements.choose();
            if chosen.is_ok() {
                break;
            }
        }
        self.piece = chosen.map_err(|TooLarge { host, device: wanted }| match (host, workers) {
            (None, Workers::Devices(devices)) => {
                let device = devices.first().map_or_else(String::new, |device| device.name());
                DeviceError::OutOfMemory { device, wanted, free: free.unwrap_or(0) }.into()
            }
            (host, _) => {
                let needed = host.unwrap_or(wanted).saturating_add(reserved).saturating_add(file.kept);
                Error::Memory { needed, allowed: memory }
            }
        })?;
        tracing::debug!(
            rows = self.piece.0,
            cols = self.piece.1,
            pieces = self.pieces(),
            in_flight = self.in_flight,
            "pieces"
        );
        Ok(())
    }
}
