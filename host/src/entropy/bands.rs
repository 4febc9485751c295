//! From a grid on the host to its entropy on the host, by way of devices: bands with halos.
//!
//! ```text
//! for each device, on a thread of its own, with its share of the rows:
//!     as many rows at a time as its memory holds (and one launch should take):
//!         upload the band with size / 2 halo rows on each side, run the kernel, download the band
//! ```
//!
//! A kernel clips windows at the edges of what it is given. Halo rows move those edges away from the rows that are kept, so a
//! band's result does not depend on where it was cut: one band or many, one device or several, the
//! result is the same bit for bit. (The table's unit depends on the whole grid's shape, never on a band's.)

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::census::Coding;
use super::launch::{Prepared, Work};
use super::{Error, Kernel, Report};
use crate::cpu::Real;
use crate::exec::{Buffer, Device, DeviceError};
use crate::grid::{GridView, GridViewMut};
use crate::observe::{Cancelled, Observer};

/// A band on a device, as the kernels take it.
pub(super) struct Frame<'a> {
    /// `rows` rows of `cols` cells, `stride` bytes apart (a multiple of 4, the bytes in between initialised).
    pub cells: &'a Buffer,
    /// `count` rows, `out_stride` elements apart (a multiple of 4).
    pub out: &'a Buffer,
    pub rows: u32,
    pub cols: u32,
    pub stride: u32,
    /// The first row to compute; `first + count` is at most `rows`.
    pub first: u32,
    pub count: u32,
    pub out_stride: u32,
}

/// What every device's thread works on.
struct Job<'a> {
    cells: GridView<'a, u8>,
    coding: &'a Coding,
    work: Work,
    kernel: Option<Kernel>,
    scale: f64,
    observer: &'a dyn Observer,
    /// Set when one device has failed: the others need not finish.
    failed: AtomicBool,
}

/// Fills `out` on `devices`, each with a share of the rows.
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
    let work = Work::new::<T>(cells, coding, size);
    let job = Job { cells, coding, work, kernel, scale, observer, failed: AtomicBool::new(false) };
    if devices.is_empty() {
        return Err(Error::NoDevices);
    }
    let share = cells.rows().div_ceil(devices.len());
    let results: Vec<Result<Report, Error>> = std::thread::scope(|scope| {
        let threads: Vec<_> = out
            .into_bands(share)
            .into_iter()
            .zip(devices)
            .enumerate()
            .map(|(i, (part, device))| {
                let job = &job;
                scope.spawn(move || {
                    let result = run_share(job, device, i * share, part);
                    if result.is_err() {
                        job.failed.store(true, Ordering::Relaxed);
                    }
                    result
                })
            })
            .collect();
        // A panic on a device's thread is one here too.
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
    });
    // One device's failure stops the others: it, and not their having been stopped, is the reason.
    if let Some(error) = results.iter().filter_map(|result| result.as_ref().err()).find(|error| !error.is_cancelled()) {
        return Err(error.clone());
    }
    let mut total = Report::default();
    for result in results {
        let report = result?;
        total.kernel = report.kernel;
        total.bands += report.bands;
        // Devices work side by side.
        total.kernel_seconds = total.kernel_seconds.max(report.kernel_seconds);
    }
    Ok(total)
}

/// One device's rows: `out` is rows `top`.. of the result.
fn run_share<T: Real>(
    job: &Job<'_>,
    device: &Arc<dyn Device>,
    top: usize,
    mut out: GridViewMut<'_, T>,
) -> Result<Report, Error> {
    let Job { cells, coding, work, scale, observer, ref failed, .. } = *job;
    let limits = device.limits();
    let kernel = pick(job.kernel, &work, device)?;
    let prepared = Prepared::new(kernel, device, work, coding.nodata, scale)?;

    let (rows, cols, radius) = (cells.rows(), cells.cols(), work.size / 2);
    let pitch = pitch_of(cols);
    let halo = radius.min(rows - 1);
    let row_bytes = pitch * (1 + size_of::<T>());
    let fits = |bytes: usize| bytes.saturating_sub(2 * halo * pitch) / row_bytes;
    // A tenth stays free: the driver needs some of it, and rounds allocations up.
    let mut band = fits(device.free_memory()? / 10 * 9)
        .min((limits.launch_cells as f64 / (cols as f64 * kernel.cost(&work))) as usize)
        .clamp(1, out.rows().min(prepared.rows_at_most()));
    let (device_cells, device_out) = loop {
        match allocate::<T>(device, pitch, band, halo) {
            Ok(buffers) => break buffers,
            // Somebody else may have taken memory meanwhile, or what is free is not in one piece.
            Err(DeviceError::OutOfMemory { .. }) if band > 1 => band = band.div_ceil(2),
            Err(error) => return Err(error.into()),
        }
    };
    tracing::debug!(device = device.name(), kernel = kernel.name(), band, "rows at a time");

    let mut report = Report { kernel: Some(kernel), ..Report::default() };
    let mut done = 0;
    while done < out.rows() {
        if observer.cancelled() || failed.load(Ordering::Relaxed) {
            return Err(Cancelled.into());
        }
        let count = band.min(out.rows() - done);
        let first = top + done;
        let (above, below) = (first.saturating_sub(radius), (first + count + radius).min(rows));
        let frame = Frame {
            cells: &device_cells,
            out: &device_out,
            rows: (below - above) as u32,
            cols: cols as u32,
            stride: pitch as u32,
            first: (first - above) as u32,
            count: count as u32,
            out_stride: pitch as u32,
        };
        let mut part = out.reborrow().band(done..done + count);
        // Fresh memory costs a page fault every 4 KiB when it is first written: more than the copy itself, if the
        // copy's one thread has to take them all. So all cores take them while the device works.
        let seconds = rayon::in_place_scope(|scope| {
            scope.spawn(|_| touch(part.reborrow()));
            upload(device, &device_cells, pitch, cells.band(above..below), coding)?;
            prepared.launch(&frame)
        })?;
        report.kernel_seconds += seconds;
        report.bands += 1;
        let stride = part.stride() * size_of::<T>();
        let width = cols * size_of::<T>();
        let target = bytemuck::cast_slice_mut(part.as_strided_mut());
        device.download(&device_out, pitch * size_of::<T>(), target, stride, width, count)?;
        observer.advance((count * cols) as u64);
        done += count;
    }
    Ok(report)
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

/// Cells from a row to the next on a device.
pub(super) fn pitch_of(cols: usize) -> usize {
    // Whole sectors of 32 bytes where a row has many; a narrow grid would pay too much for its padding.
    cols.next_multiple_of(if cols >= 256 { 32 } else { 4 })
}

/// Buffers for a band of `band` rows and its halos.
pub(super) fn allocate<T>(
    device: &Arc<dyn Device>,
    pitch: usize,
    band: usize,
    halo: usize,
) -> Result<(Buffer, Buffer), DeviceError> {
    let cells = Buffer::new(device, (band + 2 * halo) * pitch)?;
    let out = Buffer::new(device, band * pitch * size_of::<T>())?;
    // Kernels load whole words, so the padding is read; and a cell that no kernel wrote shows as an absurd number.
    device.fill(&cells, 0)?;
    device.fill(&out, 0x7E)?;
    Ok((cells, out))
}

/// Writes something to every cell, in parallel.
fn touch<T: Real>(mut part: GridViewMut<'_, T>) {
    let (cols, stride) = (part.cols(), part.stride());
    part.as_strided_mut().par_chunks_mut(stride).for_each(|row| row[..cols].fill(T::default()));
}

/// Copies a band to the device, by its codes where it has some.
pub(super) fn upload(
    device: &Arc<dyn Device>,
    to: &Buffer,
    pitch: usize,
    band: GridView<'_, u8>,
    coding: &Coding,
) -> Result<(), DeviceError> {
    let (rows, cols) = (band.rows(), band.cols());
    let Some(codes) = &coding.codes else {
        return device.upload(to, pitch, band.as_strided(), band.stride(), cols, rows);
    };
    let coded = recode(band, codes);
    device.upload(to, pitch, &coded, cols, cols, rows)
}

/// A copy of `band` with every value replaced by its code.
pub(super) fn recode(band: GridView<'_, u8>, codes: &[u8; 256]) -> Vec<u8> {
    let mut coded = vec![0; band.rows() * band.cols()];
    coded.par_chunks_mut(band.cols()).enumerate().for_each(|(r, row)| {
        for (code, &value) in row.iter_mut().zip(band.row(r)) {
            *code = codes[usize::from(value)];
        }
    });
    coded
}
