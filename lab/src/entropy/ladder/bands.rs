//! From a grid on the host to its entropy on the host as the ladders' sources do it: bands with halos, a thread a device, each copy
//! and each launch waited for before the next. The rungs use it, so that a rung's gain is its own; everything else
//! uses [`Entropy::stream`](halotile::entropy::Entropy::stream), where copies and launches overlap.
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

use halotile::entropy::{Error, Frame, Launcher, Real, Report, Task, allocate};
use halotile::exec::{Buffer, Device, DeviceError, Rows};
use halotile::grid::GridViewMut;
use halotile::observe::{Cancelled, Observer};
use halotile::part::{Axis, Part};
use rayon::prelude::*;

use super::Rung;
use super::launch::RungLauncher;

/// The work that all devices' threads share.
pub(super) struct Job<'a> {
    task: Task<'a>,
    rung: &'static Rung,
    observer: &'a dyn Observer,
    /// Set when one worker has failed: the others stop.
    failed: AtomicBool,
    /// Held by the device that copies its results back, where they do so one after another.
    turn: Option<Mutex<()>>,
}

impl<'a> Job<'a> {
    /// Work for a rung that is a kernel.
    pub fn new(task: Task<'a>, rung: &'static Rung, observer: &'a dyn Observer) -> Self {
        Self { task, rung, observer, failed: AtomicBool::new(false), turn: None }
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
pub(super) fn run<T: Real>(
    devices: &[Arc<dyn Device>],
    rung: &'static Rung,
    task: &Task<'_>,
    out: GridViewMut<'_, T>,
    observer: &dyn Observer,
) -> Result<Report, Error> {
    let job = Job::new(*task, rung, observer);
    let axis = axis(out.rows(), out.cols(), devices.len().max(1), task.size);
    side_by_side(&job, devices, Part::band(0, out), axis)
}

/// Fills `whole` on `devices`, with equal shares.
pub(super) fn side_by_side<T: Real>(
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
pub(super) type Share<'a> = Box<dyn FnOnce() -> Result<Report, Error> + Send + 'a>;

/// Runs all shares, each on a thread of its own, and adds up their reports.
pub(super) fn together(job: &Job<'_>, shares: Vec<Share<'_>>) -> Result<Report, Error> {
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
pub(super) fn axis(rows: usize, cols: usize, pieces: usize, size: usize) -> Axis {
    // The share of a piece's input that is its output.
    let useful = |len: usize| len as f64 / pieces as f64 / (len.div_ceil(pieces) + size - 1).min(len) as f64;
    if useful(rows) < OWN && useful(rows) < useful(cols) { Axis::Columns } else { Axis::Rows }
}

/// A device with a job's kernel, its table and buffers for a band.
pub(super) struct Worker<'j> {
    job: &'j Job<'j>,
    device: &'j Arc<dyn Device>,
    launcher: RungLauncher,
    cells: Buffer,
    out: Buffer,
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
        let Job { task, rung, .. } = job;
        let launcher = RungLauncher::new(rung, device, task)?;
        // A tenth stays free: the driver needs some of it, and rounds allocations up.
        let memory = device.free_memory()? / 10 * 9;
        let launch = device.limits().launch_cells as f64 / (task.size * task.size) as f64;
        // As many rows of `width` columns as there may be at a time.
        let height = |width: usize, rows: usize| {
            let (pitch, halo) = job.pitch_and_halo(&launcher, width);
            let input = pitch * launcher.cell_bytes() + launcher.bytes_per_row(pitch);
            let fits = memory.saturating_sub(2 * halo * input) / (input + pitch * size_of::<T>());
            fits.min((launch / width as f64) as usize).min(rows).min(launcher.rows_at_most())
        };
        let (mut rows, mut width) = (rows, cols);
        let (cells, out, band) = loop {
            let (tall, wide) = fit(rows, width, task.cells.rows(), task.cells.cols(), task.size, height);
            let (pitch, halo) = job.pitch_and_halo(&launcher, wide);
            match allocate::<T>(device, launcher.cell_bytes(), pitch, tall, halo) {
                Ok((cells, out)) => break (cells, out, (tall, wide)),
                // Another process may have taken memory meanwhile, or what is free is not in one piece.
                Err(DeviceError::OutOfMemory { .. }) if tall > 1 => (rows, width) = (tall.div_ceil(2), wide),
                Err(DeviceError::OutOfMemory { .. }) if wide > 1 => (rows, width) = (1, wide.div_ceil(2)),
                Err(error) => return Err(error.into()),
            }
        };
        tracing::debug!(device = device.name(), kernel = rung.name, rows = band.0, cols = band.1, "cells at a time");
        Ok(Self { job, device, launcher, cells, out, band })
    }

    /// Fills a part, band by band, and adds to the report.
    pub fn fill<T: Real>(&self, mut part: Part<'_, T>, report: &mut Report) -> Result<(), Error> {
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
        let (radius, grid) = (job.task.size / 2, job.task.cells);
        let around =
            |first: usize, len: usize, all: usize| first.saturating_sub(radius)..(first + len + radius).min(all);
        let rows: Range<usize> = around(band.top, band.rows(), grid.rows());
        let cols: Range<usize> = around(band.left, band.cols(), grid.cols());
        let pitch = self.launcher.pitch(cols.len());
        let frame = Frame {
            cells: &self.cells,
            out: &self.out,
            scratch: None,
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
            self.launcher.upload(&self.cells, pitch, grid.rect(rows, cols))?;
            // SAFETY: the buffers were made for such frames by this launcher, and are this worker's alone.
            unsafe { self.launcher.launch(&frame) }
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
    fn pitch_and_halo(&self, launcher: &RungLauncher, width: usize) -> (usize, usize) {
        let (halo, cells) = (self.task.size / 2, self.task.cells);
        (launcher.pitch((width + 2 * halo).min(cells.cols())), halo.min(cells.rows() - 1))
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

/// Writes something to every cell, in parallel; a long row too.
fn touch<T: Real>(mut part: GridViewMut<'_, T>) {
    let (cols, stride) = (part.cols(), part.stride());
    let pieces = |row: &mut [T]| row[..cols].par_chunks_mut(1 << 16).for_each(|piece| piece.fill(T::default()));
    part.as_strided_mut().par_chunks_mut(stride).for_each(pieces);
}
