//! The streaming plan: from cells read piece by piece to results written piece by piece, in bounded memory, with reading, computing
//! and writing overlapped.
//!
//! ```text
//! cut the output into pieces (shape)
//! one thread reads    the cells that a piece's windows see        (load)
//! one a device, or    computes a piece: on a device copied there, computed and copied back on one of
//! one for the CPU     several queues, so that copies and kernels of different pieces overlap      (device)
//! one thread writes   finished pieces, in their order             (store)
//! ```
//!
//! Between them pieces wait in a queue (`piece_queue`), from which a worker that is free takes the next one: a device that is slower than another takes
//! fewer, and when one fails the others take over what it had. A kernel clips windows at the edges of what it is given.
//! Halo cells move those edges away from the cells that are kept, so that a piece's results do not depend on where it was cut,
//! nor on the worker that computed it: they are bit-identical.
//!
//! The same plan serves grids in memory. There "reading" is copying to memory that devices copy from directly, by all cores,
//! unless the grid is in such memory already ([`PinnedGrid`](crate::exec::PinnedGrid)): then nothing is copied but by the
//! devices.

use std::ops::Range;
use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};

mod arrays;
mod device;
mod load;
mod piece;
mod piece_queue;
mod shape;
mod store;
#[cfg(test)]
mod tests;

use load::CellSource;
use piece::{Input, Output, Piece};
use piece_queue::{Memory, PieceQueue, Stopped};
use shape::{Requirements, TooLarge, seen_along};
use store::Destination;

use super::census::{Coding, WordCoding};
use super::choice::pick;
use super::frame::pitch;
use super::kernels::{Question, Work, scratch_cols};
use super::{BYTE_LEVELS, Engine, Entropy, Error, Kernel, Report};
use crate::codes::{self, Code};
use crate::cpu;
use crate::exec::queue::{Target, Writable};
use crate::exec::{Buffer, Device, DeviceError, HostMemory};
use crate::grid::{GridView, GridViewMut};
use crate::measure::Edge;
use crate::measure::window::{Reach, Window};
use crate::numbers::Real;
use crate::observe::{Cancelled, Observer};
use crate::part::{Axis, LARGE_BAND, LARGE_STRIP, Part, SMALL};
use crate::profile::stage;
use crate::raster::{Cells, ResultSink};
use crate::threads::{Inherited, wait_until};

/// Cells of a piece, where nothing requires another number: a launch and a copy of so many take far longer than to start them.
const CELLS: usize = 1 << 22;

/// Memory for pieces where no limit was given.
const MEMORY: usize = 4 << 30;

/// Bytes that are left on a device beside the buffers, where it has more than a thousand times as many.
const SPARE: usize = 2 << 20;

/// A device that reports so much memory, and several times what the buffers take, is not tested for really having it.
const PLENTY: usize = 256 << 20;

/// Memory that is not for pieces: the program, its threads and their temporary allocations, which are small for
/// a small grid.
fn reserved((rows, cols): (usize, usize)) -> usize {
    const PROGRAM: usize = 12 << 20;
    const TEMPORARY: usize = 84 << 20;
    PROGRAM + rows.saturating_mul(cols).saturating_mul(64).min(TEMPORARY)
}

/// What is computed, by any worker.
struct Plan<'a> {
    /// Rows and columns of the output.
    grid: (usize, usize),
    /// Rows and columns of the whole grid that it is of, with what lies beyond the edges: they decide the unit of the sums and the kernel.
    extended: (usize, usize),
    /// Rows and columns that a window reaches on each side.
    radius: (usize, usize),
    edge: Edge,
    size: usize,
    levels: usize,
    nodata: Option<u16>,
    /// Bytes of a code.
    width: usize,
    /// Bytes on a device for a cell that is seen: its code, and what kernels make first.
    seen_bytes: usize,
    scale: f64,
    kernel: Option<Kernel>,
    work: Work,
    /// What is measured where; `None` for Shannon's entropy in squares.
    window: Option<Window>,
    /// Results of a cell.
    planes: usize,
    /// Rows and columns of a piece; the last ones may be smaller.
    piece: (usize, usize),
    /// Pieces in flight at a time.
    in_flight: usize,
    /// Pieces on a device at a time.
    slots: usize,
    observer: &'a dyn Observer,
}

impl Plan<'_> {
    /// Pieces side by side.
    fn across(&self) -> usize {
        self.grid.1.div_ceil(self.piece.1)
    }

    fn pieces(&self) -> usize {
        self.grid.0.div_ceil(self.piece.0) * self.across()
    }

    /// Rows and columns of a piece.
    fn place(&self, index: usize) -> (Range<usize>, Range<usize>) {
        let along = |i: usize, each: usize, all: usize| i * each..all.min((i + 1) * each);
        let (row, col) = (index / self.across(), index % self.across());
        (along(row, self.piece.0, self.grid.0), along(col, self.piece.1, self.grid.1))
    }

    /// The rows and columns that the windows of these rows and columns see.
    fn seen(&self, rows: &Range<usize>, cols: &Range<usize>) -> (Range<isize>, Range<isize>) {
        let along = |own: &Range<usize>, radius: usize, all: usize| {
            let seen = own.start as isize - radius as isize..(own.end + radius) as isize;
            if self.edge.extends() { seen } else { seen.start.max(0)..seen.end.min(all as isize) }
        };
        (along(rows, self.radius.0, self.grid.0), along(cols, self.radius.1, self.grid.1))
    }

    /// The most rows and columns that a piece sees.
    fn most_seen(&self) -> (usize, usize) {
        let along = |own: usize, radius: usize, all: usize| seen_along(own, all, 2 * radius, self.edge.extends());
        (along(self.piece.0, self.radius.0, self.grid.0), along(self.piece.1, self.radius.1, self.grid.1))
    }

    /// Results so near to the top, bottom, left and right are nodata, and nothing else writes them.
    fn border(&self) -> Option<[usize; 4]> {
        let (rows, cols) = self.radius;
        (self.edge == Edge::Nodata && self.window.is_none()).then_some([rows, rows, cols, cols])
    }
}

/// The workers.
enum Workers<'a> {
    Cpu,
    Devices(&'a [Arc<dyn Device>]),
}

impl<'a> Workers<'a> {
    fn new(engine: &'a Engine) -> Result<Self, Error> {
        match engine {
            Engine::Cpu => Ok(Self::Cpu),
            Engine::Devices(devices) if devices.is_empty() => Err(Error::NoDevices),
            Engine::Devices(devices) => Ok(Self::Devices(devices)),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Cpu => 1,
            Self::Devices(devices) => devices.len(),
        }
    }

    /// Pieces in flight: those with the workers, one that is read and one that is written.
    fn in_flight(&self) -> usize {
        match self {
            Self::Cpu => 3,
            Self::Devices(devices) => devices.len() * device::SLOTS + 2,
        }
    }

    /// The memory that the workers copy to and from fastest.
    fn memory(&self, bytes: usize) -> HostMemory {
        let locked = match self {
            Self::Devices(devices) if bytes > 0 => devices.first(),
            _ => None,
        };
        let locked = locked.and_then(|device| {
            device.host_memory(bytes).inspect_err(|error| tracing::debug!("copies take a detour: {error}")).ok()
        });
        locked.unwrap_or_else(|| HostMemory::plain(bytes))
    }
}

impl Entropy {
    /// The entropy of every cell of a raster, by `engine`, to a sink, in bounded memory: at no time is there more of either
    /// than a few pieces, `memory` bytes with all that the program takes (the CUDA driver's own memory not counted; 4 GiB
    /// where nothing is given, and far less where that is enough).
    ///
    /// Levels and nodata are those of `cells`. The observer is notified of finished cells and may stop the work. After an error the
    /// sink has received some of the results.
    ///
    /// # Errors
    /// Those of [`compute_into`](Self::compute_into); a file that cannot be read or written; a limit to memory in which not even
    /// small pieces fit. A device that fails on the way is left out with a warning, unless it was the last one.
    pub fn stream<T: Real>(
        &self,
        engine: &Engine,
        cells: &dyn Cells,
        sink: Box<dyn ResultSink<T> + '_>,
        memory: Option<usize>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        self.validate()?;
        let workers = Workers::new(engine)?;
        self.check_place(matches!(workers, Workers::Devices(_)))?;
        if let Some(kernel @ Kernel::Custom(_)) = self.kernel {
            let reason = "it takes grids in memory".into();
            return Err(Error::KernelMisfit { kernel: kernel.name(), reason });
        }
        let (levels, nodata) = (cells.levels(), cells.nodata_code());
        let grid = (cells.rows(), cells.cols());
        self.check_whole(grid)?;
        let mut plan = match codes::width(levels, nodata) {
            1 => {
                let coding = Coding { levels, nodata: nodata.and_then(u8::of), codes: None };
                self.plan::<T>(grid, &coding, observer)
            }
            _ => self.plan_words::<T>(grid, WordCoding::below(levels, nodata), observer),
        };
        // What is read passes through as it was stored, and blocks that two pieces share are kept; what is written is
        // compressed from a copy.
        let temporary = (2 * cells.bytes_per_cell(), 2 * size_of::<T>() * plan.planes);
        let overlap = 2 * plan.radius.0;
        let kept = if cells.in_order() { overlap * grid.1 * plan.width } else { 0 };
        let file =
            File { block: sink.block(), whole_rows: sink.whole_rows(), in_order: cells.in_order(), temporary, kept };
        plan.cut::<T>(&workers, file, memory.unwrap_or(MEMORY))?;
        let report = match plan.width {
            1 => {
                run::<T, u8>(&plan, &workers, CellSource::raster(cells, overlap), Destination::Sink(sink), None, None)?
            }
            _ => {
                run::<T, u16>(&plan, &workers, CellSource::raster(cells, overlap), Destination::Sink(sink), None, None)?
            }
        };
        Ok(Report { levels: self.levels.unwrap_or(levels), ..report })
    }

    /// The plan for codes of 16 bits.
    fn plan_words<'o, T: Real>(
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

    fn plan<'o, T: Real>(&self, grid: (usize, usize), coding: &Coding, observer: &'o dyn Observer) -> Plan<'o> {
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
struct File {
    block: (usize, usize),
    whole_rows: bool,
    /// Rows are read in order, each once: in full width if at all possible.
    in_order: bool,
    /// Bytes for a cell seen and a cell of output of the piece being read and written.
    temporary: (usize, usize),
    /// Bytes that are kept from piece to piece.
    kept: usize,
}

impl Plan<'_> {
    /// What a kernel is made ready for on a device.
    fn question<'a>(&'a self, device: &'a Arc<dyn Device>) -> Question<'a> {
        Question { device, work: self.work, nodata: self.nodata, scale: self.scale, window: self.window.as_ref() }
    }

    /// Chooses the shape of pieces.
    fn cut<T: Real>(&mut self, workers: &Workers<'_>, file: File, memory: usize) -> Result<(), Error> {
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
            memory: memory.saturating_sub(reserved + file.kept),
            device: None,
            cells,
            rows_at_most,
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
                let needed = host.unwrap_or(wanted).saturating_add(reserved + file.kept);
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

/// The entropy of a grid in memory. It is `unchecked` where it has not been checked that its cells match the coding.
pub(super) fn in_memory<T: Real>(
    entropy: &Entropy,
    engine: &Engine,
    cells: GridView<'_, u8>,
    coding: &Coding,
    unchecked: bool,
    mut outs: Vec<GridViewMut<'_, T>>,
    observer: &dyn Observer,
) -> Result<Report, Error> {
    let workers = Workers::new(engine)?;
    let mut plan = entropy.plan::<T>((cells.rows(), cells.cols()), coding, observer);
    plan.cut::<T>(
        &workers,
        File { block: (1, 1), whole_rows: false, in_order: false, temporary: (0, 0), kept: 0 },
        usize::MAX,
    )?;
    let directly = |memory: &[u8]| match &workers {
        Workers::Cpu => false,
        Workers::Devices(devices) => devices.iter().all(|device| device.copies_directly(memory)),
    };
    let in_place = (coding.codes.is_none() && !plan.edge.extends() && directly(cells.as_strided())).then_some(cells);
    let from = CellSource::Grid { cells, codes: coding.codes.as_deref(), below: unchecked.then_some(coding.levels) };
    if let [out] = &mut outs[..]
        && directly(bytemuck::cast_slice(out.as_strided_mut()))
    {
        let targets = outs.pop().map(|out| targets(&plan, Part::band(0, out)));
        return run::<T, u8>(&plan, &workers, from, Destination::InPlace, in_place, targets);
    }
    run::<T, u8>(&plan, &workers, from, Destination::Grids(outs), in_place, None)
}

/// The same of words.
pub(super) fn words_in_memory<T: Real>(
    entropy: &Entropy,
    engine: &Engine,
    cells: GridView<'_, u16>,
    codes: WordCoding,
    outs: Vec<GridViewMut<'_, T>>,
    observer: &dyn Observer,
) -> Result<Report, Error> {
    let workers = Workers::new(engine)?;
    let mut plan = entropy.plan_words::<T>((cells.rows(), cells.cols()), codes, observer);
    let file = File { block: (1, 1), whole_rows: false, in_order: false, temporary: (0, 0), kept: 0 };
    plan.cut::<T>(&workers, file, usize::MAX)?;
    let from = CellSource::Grid { cells, codes: None, below: None };
    run::<T, u16>(&plan, &workers, from, Destination::Grids(outs), None, None)
}

/// Where each piece's results are to be, in the pieces' order.
fn targets<'m, T: Real>(plan: &Plan<'_>, out: Part<'m, T>) -> Vec<Vec<Target<'m>>> {
    let bands = out.cut(Axis::Rows, plan.piece.0).into_iter();
    let pieces = bands.flat_map(|band| {
        // Cutting by columns would make a part of each row, also where nothing is cut.
        if plan.across() == 1 { vec![band] } else { band.cut(Axis::Columns, plan.piece.1) }
    });
    let target = |view: GridViewMut<'m, T>| {
        let (rows, width, pitch) = (view.rows(), view.cols() * size_of::<T>(), view.stride() * size_of::<T>());
        Target { memory: Writable::Borrowed(bytemuck::cast_slice_mut(view.into_strided())), pitch, width, rows }
    };
    pieces.map(|piece| piece.into_views().into_iter().map(target).collect()).collect()
}

/// Reads, computes and stores all pieces. Where cells are `in_place` they need not be read, where `targets` are given results need
/// not be stored: devices copy directly.
fn run<'m, T: Real, C: Code>(
    plan: &Plan<'_>,
    workers: &Workers<'_>,
    from: CellSource<'_, C>,
    to: Destination<'_, T>,
    in_place: Option<GridView<'m, u8>>,
    targets: Option<Vec<Vec<Target<'m>>>>,
) -> Result<Report, Error> {
    let queue = PieceQueue::new(plan.pieces(), workers.count(), plan.observer);
    let threads = Inherited::here();
    let report = std::thread::scope(|scope| {
        let (queue, threads) = (&queue, &threads);
        let reading =
            move || Guard(queue).during(|| read::<T, C>(plan, workers, &from, in_place, targets, queue, threads));
        let writing = move || Guard(queue).during(|| write(plan, to, queue, threads));
        let beside = [start(scope, queue, reading), start(scope, queue, writing)];
        let are_finished = || beside.iter().flatten().all(ScopedJoinHandle::is_finished);
        let report = match workers {
            // On the caller's thread, whose rayon pool does the work.
            Workers::Cpu => Guard(queue).during(|| compute::<T, C>(plan, queue)),
            Workers::Devices(devices) => {
                let work = |device| move || Guard(queue).during(|| device::work::<T>(plan, device, queue));
                let threads: Vec<_> = devices.iter().filter_map(|device| start(scope, queue, work(device))).collect();
                wait_until(|| threads.iter().all(|thread| thread.is_finished()) && are_finished());
                let mut total = Report::default();
                for thread in threads {
                    // A panic on a worker's thread is propagated.
                    let report = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    total.kernel = total.kernel.or(report.kernel);
                    total.bands += report.bands;
                    // Devices work side by side.
                    total.kernel_seconds = total.kernel_seconds.max(report.kernel_seconds);
                }
                total
            }
        };
        wait_until(are_finished);
        for thread in beside.into_iter().flatten() {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        report
    });
    match queue.into_error() {
        Some(error) => Err(error),
        None => Ok(report),
    }
}

/// Starts a thread. Where the system starts none, for which [`std::thread::Scope::spawn`] would panic, the work ends.
fn start<'s, R: Send + 's>(
    scope: &'s Scope<'s, '_>,
    queue: &PieceQueue<'_, '_>,
    work: impl FnOnce() -> R + Send + 's,
) -> Option<ScopedJoinHandle<'s, R>> {
    let started = std::thread::Builder::new().spawn_scoped(scope, work);
    started.map_err(|error| queue.fail(Error::Threads(error.to_string()))).ok()
}

/// Ends the work when one of the threads panics: the others would wait for it for ever.
struct Guard<'d, 'm, 'o>(&'d PieceQueue<'m, 'o>);

impl Guard<'_, '_, '_> {
    fn during<R>(self, work: impl FnOnce() -> R) -> R {
        let result = work();
        std::mem::forget(self);
        result
    }
}

impl Drop for Guard<'_, '_, '_> {
    fn drop(&mut self) {
        self.0.fail(Cancelled.into());
    }
}

/// The reader: makes pieces and fills their input.
fn read<'m, T: Real, C: Code>(
    plan: &Plan<'_>,
    workers: &Workers<'_>,
    from: &CellSource<'_, C>,
    in_place: Option<GridView<'m, u8>>,
    targets: Option<Vec<Vec<Target<'m>>>>,
    queue: &PieceQueue<'m, '_>,
    threads: &Inherited,
) {
    let (rows, cols) = plan.most_seen();
    let input_bytes = if in_place.is_some() { 0 } else { rows * pitch(cols) * size_of::<C>() };
    let output_bytes = if targets.is_some() { 0 } else { plan.planes * plan.piece.0 * plan.piece.1 * size_of::<T>() };
    let mut targets = targets.map(Vec::into_iter);
    // Pieces that need no memory need not wait for any.
    let mut to_make = if input_bytes + output_bytes == 0 { usize::MAX } else { plan.in_flight };
    for index in 0..plan.pieces() {
        let memory = if to_make > 0 {
            to_make -= 1;
            queue
                .try_acquire_memory()
                .unwrap_or_else(|| Memory { input: workers.memory(input_bytes), output: workers.memory(output_bytes) })
        } else {
            match queue.acquire_memory() {
                Ok(memory) => memory,
                Err(Stopped) => return,
            }
        };
        let (rows, cols) = plan.place(index);
        let seen = plan.seen(&rows, &cols);
        let (input, pitch) = match in_place {
            Some(cells) => {
                let range = |seen: &Range<isize>| seen.start as usize..seen.end as usize;
                (Input::InPlace(cells.rect(range(&seen.0), range(&seen.1)).as_strided()), cells.stride())
            }
            None => (Input::Pooled(memory.input), pitch(seen.1.len())),
        };
        let output = match targets.as_mut().and_then(Iterator::next) {
            Some(targets) => Output::InPlace(targets),
            None => Output::Pooled(memory.output),
        };
        let mut piece = Piece { index, rows, cols, seen, pitch, input, output };
        let begun = stage("read piece");
        if let Err(error) = threads.run(|| from.load(&mut piece, plan.grid, plan.edge)) {
            return queue.fail(error);
        }
        drop(begun);
        queue.put(piece);
    }
}

/// The CPU engine as a worker.
fn compute<T: Real, C: Code>(plan: &Plan<'_>, queue: &PieceQueue<'_, '_>) -> Report {
    let mut report = Report::default();
    while let Ok(Some(mut piece)) = queue.take() {
        let (first, own) = (piece.first(), (piece.rows.len(), piece.cols.len()));
        let Some((cells, planes)) = piece.both::<T, C>(plan.planes) else {
            unreachable!("only devices copy directly");
        };
        let task = cpu::Task {
            cells,
            grid: plan.extended,
            rows: first.0..first.0 + own.0,
            cols: first.1..first.1 + own.1,
            size: plan.size,
            levels: plan.levels,
            nodata: plan.nodata.and_then(C::of),
            scale: plan.scale,
        };
        let watch = Watch(queue, plan.observer);
        let _stage = stage("compute piece");
        if let Err(error) = cpu::run_codes(&task, plan.window.as_ref(), planes, &watch) {
            queue.fail(error.into());
            break;
        }
        report.cpu_cells += own.0 * own.1;
        queue.finish(piece);
    }
    report
}

/// Stops the CPU engine when the work has ended.
struct Watch<'d, 'm, 'o>(&'d PieceQueue<'m, 'o>, &'o dyn Observer);

impl Observer for Watch<'_, '_, '_> {
    fn advance(&self, cells: u64) {
        self.1.advance(cells);
    }

    fn cancelled(&self) -> bool {
        self.0.is_stopped() || self.1.cancelled()
    }
}

/// The writer: stores finished pieces in their order.
fn write<T: Real>(plan: &Plan<'_>, mut to: Destination<'_, T>, queue: &PieceQueue<'_, '_>, threads: &Inherited) {
    loop {
        let mut piece = match queue.next() {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            Err(Stopped) => return,
        };
        let begun = stage("store piece");
        if let Err(error) = threads.run(|| to.store(&mut piece, plan.planes, plan.grid, plan.border())) {
            return queue.fail(error);
        }
        drop(begun);
        let input = match piece.input {
            Input::Pooled(input) => input,
            Input::InPlace(_) | Input::InFlight => HostMemory::plain(0),
        };
        let output = match piece.output {
            Output::Pooled(output) => output,
            Output::InPlace(_) | Output::InFlight => HostMemory::plain(0),
        };
        queue.release_memory(Memory { input, output });
    }
    if let Err(error) = threads.run(|| to.finish()) {
        queue.fail(error);
    }
}
