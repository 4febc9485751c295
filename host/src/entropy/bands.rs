//! From a grid on the host to its entropy on the host as the ladders' sources do it: bands with halos, a thread a device, each copy
//! and each launch waited for before the next. The rungs use it, so that a rung's gain is its own; everything else
//! uses [`stream`](super::stream), where copies and launches overlap.
//!
//! ```text
//! cut the output into a part for each device: bands of rows or, where those would be thin, strips of columns
//! for each device, on a thread of its own:
//!     cut its part into bands that its memory holds (and one launch should take), by rows or columns likewise;
//!     for each band:
//!         upload it with size / 2 halo cells on each of its four sides, run the kernel, download the band
//! ```
//!
//! A kernel clips windows at the edges of what it is given. Halo cells move those edges away from the cells that are kept, so a
//! band's result does not depend on where it was cut: one band or many, one device or several, rows or columns, the
//! result is bit-identical. (The table's unit depends on the whole grid's shape, never on a band's.)
//!
//! Rows are the obvious cut, and the cheaper one: whole rows are one piece of memory. But a band of h rows uploads and
//! computes with h + size − 1 of them, and of 10 × 10⁷ cells four devices would each upload most.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rayon::prelude::*;

use super::census::Coding;
use super::launch::{Prepared, Work, at_once};
use super::{Error, Kernel, Report};
use crate::exec::{Buffer, Device, DeviceError, Rows};
use crate::grid::{GridView, GridViewMut};
use crate::ladder::device::CellType;
use crate::numbers::Real;
use crate::observe::{Cancelled, Observer};
use crate::part::{Axis, Part};

/// A band on a device, as the kernels take it.
pub(crate) struct Frame<'a> {
    /// `rows` rows of `cols` cells, `stride` bytes apart (a multiple of 4, the bytes in between initialised).
    pub cells: &'a Buffer,
    /// `count` rows, `out_stride` elements apart (a multiple of 4).
    pub out: &'a Buffer,
    /// What [`Prepared::heads`] gave for a frame of this size or a larger one.
    pub heads: Option<&'a Buffer>,
    pub rows: u32,
    pub cols: u32,
    pub stride: u32,
    /// The first row to compute; `first + count` is at most `rows`.
    pub first: u32,
    pub count: u32,
    pub out_stride: u32,
}

/// The work that all devices' threads share.
pub(crate) struct Job<'a> {
    cells: GridView<'a, u8>,
    coding: &'a Coding,
    work: Work,
    kernel: Option<Kernel>,
    scale: f64,
    observer: &'a dyn Observer,
    /// Set when one worker has failed: the others stop.
    failed: AtomicBool,
    /// Held by the device that copies its results back, where they do so one after another.
    turn: Option<Mutex<()>>,
}

impl<'a> Job<'a> {
    pub fn new<T: Real>(
        cells: GridView<'a, u8>,
        coding: &'a Coding,
        size: usize,
        kernel: Option<Kernel>,
        scale: f64,
        observer: &'a dyn Observer,
    ) -> Self {
        let work = Work::new::<T>(cells, coding, size);
        Self { cells, coding, work, kernel, scale, observer, failed: AtomicBool::new(false), turn: None }
    }

    /// The same, but only one device at a time copies its results back.
    pub fn one_copy_at_a_time(mut self) -> Self {
        self.turn = Some(Mutex::new(()));
        self
    }
}

/// A job is the observer of its workers: each stops when the caller cancels, and when another one has failed.
impl Observer for Job<'_> {
    fn advance(&self, cells: u64) {
        self.observer.advance(cells);
    }

    fn cancelled(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.observer.cancelled()
    }
}

/// Fills `out` on `devices`, each with a part of it.
#[allow(clippy::too_many_arguments)]
pub(super) fn run<T: Real>(
    devices: &[Arc<dyn Device>],
    kernel: Option<Kernel>,
    cells: GridView<'_, u8>,
    coding: &Coding,
    size: usize,
    scale: f64,
    out: GridViewMut<'_, T>,
    observer: &dyn Observer,
) -> Result<Report, Error> {
    let job = Job::new::<T>(cells, coding, size, kernel, scale, observer);
    let axis = axis(out.rows(), out.cols(), devices.len().max(1), size);
    side_by_side(&job, devices, Part::band(0, out), axis)
}

/// Fills `whole` on `devices`, with equal shares.
pub(crate) fn side_by_side<T: Real>(
    job: &Job<'_>,
    devices: &[Arc<dyn Device>],
    whole: Part<'_, T>,
    axis: Axis,
) -> Result<Report, Error> {
    if devices.is_empty() {
        return Err(Error::NoDevices);
    }
    let each = whole.len(axis).div_ceil(devices.len());
    let worker = |(part, device): (Part<'_, T>, &Arc<dyn Device>)| -> Result<Report, Error> {
        let (rows, cols) = (part.rows(), part.cols());
        let mut report = Report::default();
        Worker::new::<T>(job, device, rows, cols)?.fill(part, &mut report)?;
        Ok(report)
    };
    let worker = &worker;
    let pairs = whole.cut(axis, each).into_iter().zip(devices);
    together(job, pairs.map(|pair| Box::new(move || worker(pair)) as Share<'_>).collect())
}

/// The work of one worker.
pub(crate) type Share<'a> = Box<dyn FnOnce() -> Result<Report, Error> + Send + 'a>;

/// Runs all shares, each on a thread of its own, and adds up their reports.
pub(crate) fn together(job: &Job<'_>, shares: Vec<Share<'_>>) -> Result<Report, Error> {
    let run = |share: Share<'_>| {
        let result = share();
        if result.is_err() {
            job.failed.store(true, Ordering::Relaxed);
        }
        result
    };
    let run = &run;
    let results: Vec<Result<Report, Error>> = std::thread::scope(|scope| {
        let threads: Vec<_> = shares.into_iter().map(|share| scope.spawn(move || run(share))).collect();
        // A caller that is one of rayon's threads runs other jobs while it waits: with all of them blocked here, no thread
        // would be left for the jobs that the workers spawn there, and no worker would ever be done.
        while rayon::current_thread_index().is_some() && !threads.iter().all(|thread| thread.is_finished()) {
            if rayon::yield_now() != Some(rayon::Yield::Executed) {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
        // A panic on a worker's thread is propagated.
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
    });
    // One worker's failure stops the others: the failure is the reason, not the cancellation that it caused.
    if let Some(error) = results.iter().filter_map(|result| result.as_ref().err()).find(|error| !error.is_cancelled()) {
        return Err(error.clone());
    }
    let mut total = Report::default();
    for result in results {
        let report = result?;
        total.kernel = total.kernel.or(report.kernel);
        total.bands += report.bands;
        total.cpu_cells += report.cpu_cells;
        // Devices work side by side.
        total.kernel_seconds = total.kernel_seconds.max(report.kernel_seconds);
    }
    Ok(total)
}

/// The least share of a device's input that should be output cells; the rest are halos.
const OWN: f64 = 0.8;

/// The share of `len` cells in those cells and the halos on both sides; 1 where there is no halo, because they are the
/// whole grid.
fn own(len: usize, all: usize, size: usize) -> f64 {
    if len >= all { 1.0 } else { len as f64 / (len + size - 1) as f64 }
}

/// The side along which a grid is best cut into `pieces` for windows of `size`: rows, unless they would mostly be halo, or too
/// few for all.
pub(crate) fn axis(rows: usize, cols: usize, pieces: usize, size: usize) -> Axis {
    // The share of a piece's input that is its output.
    let useful = |len: usize| len as f64 / pieces as f64 / (len.div_ceil(pieces) + size - 1).min(len) as f64;
    if useful(rows) < OWN && useful(rows) < useful(cols) { Axis::Columns } else { Axis::Rows }
}

/// A device with a job's kernel, its table and buffers for a band.
pub(crate) struct Worker<'j> {
    job: &'j Job<'j>,
    device: &'j Arc<dyn Device>,
    kernel: Kernel,
    prepared: Prepared,
    cells: Buffer,
    out: Buffer,
    heads: Option<Buffer>,
    /// Rows and columns of a band, at most.
    band: (usize, usize),
}

impl<'j> Worker<'j> {
    /// Makes the device ready for parts of up to `rows` × `cols` cells.
    pub fn new<T: Real>(
        job: &'j Job<'j>,
        device: &'j Arc<dyn Device>,
        rows: usize,
        cols: usize,
    ) -> Result<Self, Error> {
        let Job { work, scale, .. } = *job;
        let kernel = pick(job.kernel, &work, device)?;
        let prepared = Prepared::new(kernel, device, work, job.coding.nodata, scale, &mut at_once(device))?;
        // A tenth stays free: the driver needs some of it, and rounds allocations up.
        let memory = device.free_memory()? / 10 * 9;
        let launch = device.limits().launch_cells as f64 / kernel.cost(&work);
        // As many rows of `width` columns as there may be at a time.
        let cell_type = prepared.cell_type();
        let height = |width: usize, rows: usize| {
            let (pitch, halo) = job.pitch_and_halo(&prepared, width);
            let input = pitch * cell_type.bytes() + prepared.bytes_per_row(pitch);
            let fits = memory.saturating_sub(2 * halo * input) / (input + pitch * size_of::<T>());
            fits.min((launch / width as f64) as usize).min(rows).min(prepared.rows_at_most())
        };
        let (mut rows, mut width) = (rows, cols);
        let (cells, out, heads, band) = loop {
            let (tall, wide) = fit(rows, width, job.cells.rows(), job.cells.cols(), work.size, height);
            let (pitch, halo) = job.pitch_and_halo(&prepared, wide);
            let made = allocate::<T>(device, cell_type, pitch, tall, halo)
                .and_then(|(cells, out)| Ok((cells, out, prepared.heads(tall + 2 * halo, pitch)?)));
            match made {
                Ok((cells, out, heads)) => break (cells, out, heads, (tall, wide)),
                // Another process may have taken memory meanwhile, or what is free is not in one piece.
                Err(DeviceError::OutOfMemory { .. }) if tall > 1 => (rows, width) = (tall.div_ceil(2), wide),
                Err(DeviceError::OutOfMemory { .. }) if wide > 1 => (rows, width) = (1, wide.div_ceil(2)),
                Err(error) => return Err(error.into()),
            }
        };
        tracing::debug!(
            device = device.name(),
            kernel = kernel.name(),
            rows = band.0,
            cols = band.1,
            "cells at a time"
        );
        Ok(Self { job, device, kernel, prepared, cells, out, heads, band })
    }

    /// Fills a part, band by band, and adds to the report.
    pub fn fill<T: Real>(&self, mut part: Part<'_, T>, report: &mut Report) -> Result<(), Error> {
        report.kernel = Some(self.kernel);
        let (rows, cols) = (part.rows(), part.cols());
        for left in (0..cols).step_by(self.band.1) {
            let columns = left..cols.min(left + self.band.1);
            for top in (0..rows).step_by(self.band.0) {
                if self.job.cancelled() {
                    return Err(Cancelled.into());
                }
                let mut band = part.rect(top..rows.min(top + self.band.0), columns.clone());
                report.kernel_seconds += self.band(&mut band)?;
                report.bands += 1;
                self.job.advance(band.cells() as u64);
            }
        }
        Ok(())
    }

    /// Fills a band. Returns the seconds that the kernel took.
    fn band<T: Real>(&self, band: &mut Part<'_, T>) -> Result<f64, Error> {
        let Self { job, device, .. } = self;
        let radius = job.work.size / 2;
        let around =
            |first: usize, len: usize, all: usize| first.saturating_sub(radius)..(first + len + radius).min(all);
        let rows: Range<usize> = around(band.top, band.rows(), job.cells.rows());
        let cols: Range<usize> = around(band.left, band.cols(), job.cells.cols());
        let pitch = self.prepared.pitch(cols.len());
        let frame = Frame {
            cells: &self.cells,
            out: &self.out,
            heads: self.heads.as_ref(),
            rows: rows.len() as u32,
            cols: cols.len() as u32,
            stride: pitch as u32,
            first: (band.top - rows.start) as u32,
            count: band.rows() as u32,
            out_stride: pitch as u32,
        };
        // The halo columns on the left have results too, which are not those of their own windows.
        let skip = band.left - cols.start;
        // New memory costs a page fault every 4 KiB on its first write: more than the copy itself, if the
        // copy's one thread has to take them all. So all cores take them while the device works.
        let seconds = rayon::in_place_scope(|scope| {
            for (_, view) in band.views_mut() {
                scope.spawn(move |_| touch(view.reborrow()));
            }
            let cell_type = self.prepared.cell_type();
            upload(device, &self.cells, cell_type, pitch, job.cells.rect(rows, cols), job.coding)?;
            Ok::<_, Error>(self.prepared.launch(&frame)?)
        })?;
        let _turn = job.turn.as_ref().map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner));
        for (first, view) in band.views_mut() {
            let (rows, width) = (view.rows(), view.cols() * size_of::<T>());
            let stride = view.stride() * size_of::<T>();
            let start = (first * pitch + skip) * size_of::<T>();
            let target = bytemuck::cast_slice_mut(view.as_strided_mut());
            device.download(&self.out, Rows { start, pitch: pitch * size_of::<T>(), width, rows }, target, stride)?;
        }
        Ok(seconds)
    }
}

impl Job<'_> {
    /// Cells from a row to the next on a device for a band of `width` columns, and the halo rows on each side of it.
    fn pitch_and_halo(&self, prepared: &Prepared, width: usize) -> (usize, usize) {
        let halo = self.work.size / 2;
        (prepared.pitch((width + 2 * halo).min(self.cells.cols())), halo.min(self.cells.rows() - 1))
    }
}

/// Rows and columns of the bands into which up to `rows` × `cols` cells of a grid are cut, when `height` rows of so many columns
/// fit at a time: whole rows, unless they would mostly be halo; then the columns are halved as long as that helps.
fn fit(
    rows: usize,
    cols: usize,
    all_rows: usize,
    all_cols: usize,
    size: usize,
    height: impl Fn(usize, usize) -> usize,
) -> (usize, usize) {
    let useful = |width: usize| {
        let tall = height(width, rows);
        let rows_own = if tall >= rows { 1.0 } else { own(tall, all_rows, size) };
        rows_own * own(width, all_cols, size)
    };
    let mut width = cols;
    while width > 1 && useful(width) < OWN {
        let half = width.div_ceil(2);
        if useful(width) > 0.0 && useful(half) <= useful(width) {
            break;
        }
        width = half;
    }
    (height(width, rows).max(1), width)
}

/// The kernel asked for, if it fits, or the best one.
pub(super) fn pick(asked: Option<Kernel>, work: &Work, device: &Arc<dyn Device>) -> Result<Kernel, Error> {
    let limits = device.limits();
    match asked {
        Some(kernel) => match kernel.misfit(work, &limits) {
            None => Ok(kernel),
            Some(reason) => Err(Error::KernelMisfit { kernel: kernel.name(), reason }),
        },
        None => Kernel::choose(work, &limits).map_err(|reason| Error::NoKernel { device: device.name(), reason }),
    }
}

/// Buffers for a band of `band` rows and its halos.
pub(super) fn allocate<T>(
    device: &Arc<dyn Device>,
    cell_type: CellType,
    pitch: usize,
    band: usize,
    halo: usize,
) -> Result<(Buffer, Buffer), DeviceError> {
    let cells = Buffer::new(device, (band + 2 * halo) * pitch * cell_type.bytes())?;
    let out = Buffer::new(device, band * pitch * size_of::<T>())?;
    // Kernels load whole words, so the padding is read; and a cell that no kernel wrote shows as an absurd number.
    device.fill(&cells, 0)?;
    device.fill(&out, 0x7E)?;
    Ok((cells, out))
}

/// Writes something to every cell, in parallel; a long row too.
fn touch<T: Real>(mut part: GridViewMut<'_, T>) {
    let (cols, stride) = (part.cols(), part.stride());
    let pieces = |row: &mut [T]| row[..cols].par_chunks_mut(1 << 16).for_each(|piece| piece.fill(T::default()));
    part.as_strided_mut().par_chunks_mut(stride).for_each(pieces);
}

/// Copies a band to the device as cells of the kernel's type, with its codes where it has some.
pub(super) fn upload(
    device: &Arc<dyn Device>,
    to: &Buffer,
    cell_type: CellType,
    pitch: usize,
    band: GridView<'_, u8>,
    coding: &Coding,
) -> Result<(), Error> {
    let coded = coding.coded(band)?;
    let band = coded.view();
    let (cols, bytes) = (band.cols(), cell_type.bytes());
    let rows = Rows { start: 0, pitch: pitch * bytes, width: cols * bytes, rows: band.rows() };
    let packed = |cells: &[u8]| device.upload(to, rows, cells, cols * bytes);
    match cell_type {
        CellType::U8 => device.upload(to, rows, band.as_strided(), band.stride())?,
        CellType::I16 => packed(bytemuck::cast_slice(&convert(band, i16::from)))?,
        CellType::F64 => packed(bytemuck::cast_slice(&convert(band, f64::from)))?,
    }
    Ok(())
}

/// A copy of `band` with each cell converted.
fn convert<C: Default + Copy + Send>(band: GridView<'_, u8>, of: impl Fn(u8) -> C + Sync) -> Vec<C> {
    let mut converted = vec![C::default(); band.rows() * band.cols()];
    converted.par_chunks_mut(band.cols()).enumerate().for_each(|(r, row)| {
        for (cell, &value) in row.iter_mut().zip(band.row(r)) {
            *cell = of(value);
        }
    });
    converted
}
