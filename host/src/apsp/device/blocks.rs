//! A matrix larger than the memory of the devices: blocked Floyd-Warshall again, over blocks that fit.
//!
//! ```text
//! for each pivot block k:
//!     the first device closes it, by the kernels for a matrix that fits
//!     all devices: blocks (k, j) and (i, k), products with it
//!     all devices: blocks (i, j), the lesser of themselves and (i, k) x (k, j)
//! ```
//!
//! Every one of these products is one job: three blocks are copied up, one down. A block of side S takes 4 S² bytes of the bus for each of them and
//! S³ relaxations of the device, so that from some thousand on the device is the bottleneck, as long as all overlaps: on each device a
//! thread copies the blocks of the next job, one launches, and one copies back those of the job before. The blocks of a job
//! are in a slot; slots are used in rotation.
//!
//! The matrix stays in host memory, and blocks are copied through page-locked pieces, or the bus would be idle. Bands of the matrix's rows
//! have a lock each, which a thread holds while it copies: jobs of one stage never write what others of it read, but blocks share rows.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Instant;

use halotile_kernels::apsp::tiled::{NONE, TILE, TILED_THREADS, TRANSPOSE_TILE};
use rayon::prelude::*;
use simt::launch::LaunchConfig;

use super::family::Family;
use super::{Report, SolveError, tiled};
use crate::apsp::{Distance, Matrix};
use crate::exec::queue::scope;
use crate::exec::staged;
use crate::exec::{Buffer, Device, DeviceError, Rows};
use crate::observe::{Cancelled, Observer};
use crate::threads::{Inherited, wait_until};

/// Rows of a band: few, so that there is little contention.
const BAND: usize = 8;
/// Jobs on a device at a time: one copied there, one computed, one copied back.
const SLOTS: usize = 3;
/// The largest side of a block: larger ones gain nothing, and a job should not last much longer than a second.
const LARGEST: usize = 24_576;
/// Sides of blocks are multiples of this: whole tiles, also of 16 bits.
const STEP: usize = 2 * TILE as usize;

/// The side of blocks that fit in a device's free memory, for so many vertices.
pub(super) fn side(family: &Family, vertices: usize, free: usize) -> Option<usize> {
    let fits = |side: &usize| SLOTS * Slot::bytes(family, *side) + tiled::bytes_of(family, *side) <= free;
    let most = LARGEST.min(vertices.next_multiple_of(STEP)) / STEP;
    let most = (1..most + 1).rev().map(|steps| steps * STEP).find(fits)?;
    // As many blocks as that takes, all of the same size.
    Some(vertices.div_ceil(vertices.div_ceil(most)).next_multiple_of(STEP))
}

/// Makes distances of weights, in place, in blocks of side `side`.
pub(super) fn solve<T: Distance>(
    matrix: &mut Matrix<T>,
    devices: &[Arc<dyn Device>],
    side: usize,
    observer: &dyn Observer,
) -> Result<Report, SolveError> {
    let (family, vertices, start) = (Family::of::<T>(), matrix.vertices(), Instant::now());
    let blocks = vertices.div_ceil(side);
    tracing::info!(side, blocks, "the matrix is worked on in blocks");
    let host = Host::new(matrix, side);
    let slots = |device: &Arc<dyn Device>| (0..SLOTS).map(|_| Slot::new(&family, device, side)).collect();
    let slots: Vec<Vec<Slot>> = devices.iter().map(slots).collect::<Result<_, _>>()?;
    for k in 0..blocks {
        host.close(k, &devices[..1], observer)?;
        let others = || (0..blocks).filter(move |&i| i != k);
        let panels: Vec<Job> = others()
            .flat_map(|i| {
                [
                    Job { result: (k, i), left: (k, k), right: (k, i) },
                    Job { result: (i, k), left: (i, k), right: (k, k) },
                ]
            })
            .collect();
        let job = |(i, j)| Job { result: (i, j), left: (i, k), right: (k, j) };
        let remainder: Vec<Job> = others().flat_map(|i| others().map(move |j| (i, j))).map(job).collect();
        host.products(&family, devices, &slots, &[panels, remainder], observer)?;
        observer.advance((vertices.min((k + 1) * side) - k * side) as u64);
    }
    // Copies overlap the work.
    Ok(Report { compute: start.elapsed().as_secs_f64(), copies: 0.0 })
}

/// The result becomes the lesser of itself and the product.
#[derive(Debug, Clone, Copy)]
struct Job {
    result: (usize, usize),
    left: (usize, usize),
    right: (usize, usize),
}

/// A job's blocks on a device.
struct Slot {
    result: Buffer,
    left: Buffer,
    right: Buffer,
    transposed: Buffer,
}

impl Slot {
    fn bytes(family: &Family, side: usize) -> usize {
        4 * side * side / family.lanes * 3 + 4 * side * side
    }

    fn new(family: &Family, device: &Arc<dyn Device>, side: usize) -> Result<Self, DeviceError> {
        let buffer = || {
            let buffer = Buffer::new(device, 4 * side * side / family.lanes)?;
            // Blocks at the end of the matrix are smaller: the rest is padding. A slot may later hold what a larger block has left
            // there, which is a path of that block's and not padding: see `Host::copy_to_device`.
            device.fill(&buffer, family.padding)?;
            Ok::<_, DeviceError>(buffer)
        };
        Ok(Self {
            result: buffer()?,
            left: buffer()?,
            right: buffer()?,
            transposed: Buffer::new(device, 4 * side * side)?,
        })
    }
}

/// The matrix, shared by the threads.
struct Host<'m, T> {
    bands: Vec<RwLock<&'m mut [T]>>,
    vertices: usize,
    pitch: usize,
    side: usize,
    /// Those that copy rows.
    pool: Inherited,
}

impl<'m, T: Distance> Host<'m, T> {
    fn new(matrix: &'m mut Matrix<T>, side: usize) -> Self {
        let (vertices, pitch) = (matrix.vertices(), matrix.pitch());
        let bands = matrix.cells_mut().chunks_mut(BAND * pitch).map(RwLock::new).collect();
        Self { bands, vertices, pitch, side, pool: Inherited::here() }
    }

    /// Rows or columns of block `i`.
    fn extent(&self, i: usize) -> std::ops::Range<usize> {
        i * self.side..self.vertices.min((i + 1) * self.side)
    }

    /// Reads the part of row `row` of a block.
    fn read<R>(&self, (i, j): (usize, usize), row: usize, read: impl FnOnce(&[T]) -> R) -> R {
        let row = i * self.side + row;
        let band = self.bands[row / BAND].read().unwrap_or_else(PoisonError::into_inner);
        read(&band[row % BAND * self.pitch..][self.extent(j)])
    }

    /// Writes it.
    fn write(&self, (i, j): (usize, usize), row: usize, cells: &[T]) {
        let row = i * self.side + row;
        let mut band = self.bands[row / BAND].write().unwrap_or_else(PoisonError::into_inner);
        band[row % BAND * self.pitch..][self.extent(j)].copy_from_slice(cells);
    }

    /// The first device closes pivot block `k`.
    fn close(&self, k: usize, devices: &[Arc<dyn Device>], observer: &dyn Observer) -> Result<(), SolveError> {
        /// Forwards cancellation, but no progress: vertices of this block are counted when all blocks have them.
        struct NoProgress<'a>(&'a dyn Observer);
        impl Observer for NoProgress<'_> {
            fn cancelled(&self) -> bool {
                self.0.cancelled()
            }
        }
        let size = self.extent(k).len();
        let mut block = Matrix::unreachable(size)?;
        block
            .par_rows_mut()
            .enumerate()
            .for_each(|(row, to)| self.read((k, k), row, |cells| to.copy_from_slice(cells)));
        tiled::solve(&mut block, devices, &NoProgress(observer))?;
        block.par_rows().enumerate().for_each(|(row, from)| self.write((k, k), row, from));
        Ok(())
    }

    /// Runs stages of jobs on all devices; all of a stage are done before one of the next begins.
    fn products(
        &self,
        family: &Family,
        devices: &[Arc<dyn Device>],
        slots: &[Vec<Slot>],
        stages: &[Vec<Job>],
        observer: &dyn Observer,
    ) -> Result<(), SolveError> {
        let failure = Mutex::new(None);
        for jobs in stages {
            let next = AtomicUsize::new(0);
            let fail = |error: SolveError| {
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                // No thread takes another job.
                next.store(jobs.len(), Relaxed);
            };
            let pipeline = Pipeline { host: self, family, jobs, next: &next, observer, fail: &fail };
            std::thread::scope(|threads| {
                let run = |(device, slots)| pipeline.run(threads, device, slots);
                let running: Vec<_> = devices.iter().zip(slots.iter().map(Vec::as_slice)).flat_map(run).collect();
                wait_until(|| running.iter().all(ScopedJoinHandle::is_finished));
            });
            if let Some(error) = failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Err(error);
            }
        }
        Ok(())
    }

    fn copy_to_device(
        &self,
        family: &Family,
        device: &Arc<dyn Device>,
        at: (usize, usize),
        to: &Buffer,
    ) -> Result<(), DeviceError> {
        let rows = self.rows(family, at);
        if rows.rows < self.side || rows.width < rows.pitch {
            device.fill(to, family.padding)?;
        }
        staged::upload_with(to, rows, |top, piece| {
            let copy = |(i, to): (usize, &mut [u8])| {
                self.read(at, top + i, |cells| to.copy_from_slice(bytemuck::cast_slice(cells)));
            };
            self.pool.run(|| piece.par_chunks_mut(rows.width).enumerate().for_each(copy));
        })
    }

    fn copy_to_host(&self, family: &Family, at: (usize, usize), from: &Buffer) -> Result<(), DeviceError> {
        let rows = self.rows(family, at);
        staged::download_with(from, rows, |top, piece| {
            let copy = |(i, from): (usize, &[u8])| self.write(at, top + i, bytemuck::cast_slice(from));
            self.pool.run(|| piece.par_chunks(rows.width).enumerate().for_each(copy));
        })
    }

    /// A block's rows in its buffer.
    fn rows(&self, family: &Family, (i, j): (usize, usize)) -> Rows {
        let (rows, cols) = (self.extent(i).len(), self.extent(j).len());
        Rows { start: 0, pitch: 4 * self.side / family.lanes, width: cols * size_of::<T>(), rows }
    }
}

/// The three threads of a device.
#[derive(Clone, Copy)]
struct Pipeline<'a, 'm, T> {
    host: &'a Host<'m, T>,
    family: &'a Family,
    jobs: &'a [Job],
    next: &'a AtomicUsize,
    observer: &'a dyn Observer,
    fail: &'a (dyn Fn(SolveError) + Sync),
}

impl<'a, T: Distance> Pipeline<'a, '_, T> {
    /// Starts them. Each ends when the one before it has, or when one has failed.
    fn run<'s>(
        self,
        threads: &'s Scope<'s, '_>,
        device: &'a Arc<dyn Device>,
        slots: &'a [Slot],
    ) -> [ScopedJoinHandle<'s, ()>; 3]
    where
        'a: 's,
        Self: 's,
    {
        let (free, empty) = sync_channel(SLOTS);
        let (uploaded, ready) = sync_channel(SLOTS);
        let (computed, done) = sync_channel(SLOTS);
        (0..slots.len()).for_each(|slot| free.send(slot).expect("the other end is here"));
        let guard = move |result: Result<(), SolveError>| result.unwrap_or_else(|error| (self.fail)(error));
        [
            threads.spawn(move || guard(self.upload(device, slots, &empty, &uploaded))),
            threads.spawn(move || guard(self.multiply(device, slots, &ready, &computed))),
            threads.spawn(move || guard(self.download(slots, &done, &free))),
        ]
    }

    fn upload(
        &self,
        device: &Arc<dyn Device>,
        slots: &[Slot],
        empty: &Receiver<usize>,
        uploaded: &SyncSender<(usize, Job)>,
    ) -> Result<(), SolveError> {
        while let Ok(slot) = empty.recv() {
            if self.observer.cancelled() {
                return Err(Cancelled.into());
            }
            let Some(&job) = self.jobs.get(self.next.fetch_add(1, Relaxed)) else { break };
            let Slot { result, left, right, .. } = &slots[slot];
            for (block, buffer) in [(job.result, result), (job.left, left), (job.right, right)] {
                self.host.copy_to_device(self.family, device, block, buffer)?;
            }
            if uploaded.send((slot, job)).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn multiply(
        &self,
        device: &Arc<dyn Device>,
        slots: &[Slot],
        ready: &Receiver<(usize, Job)>,
        computed: &SyncSender<(usize, Job)>,
    ) -> Result<(), SolveError> {
        let side = self.host.side as u32;
        let words = side / self.family.lanes as u32;
        scope(device, 0, 1, |queues| {
            let queue = &mut queues[0];
            while let Ok((slot, job)) = ready.recv() {
                let Slot { result, left, right, transposed } = &slots[slot];
                let grid = |x, y, threads| LaunchConfig { grid: [x, y, 1], block: [threads, 1, 1], shared_bytes: 0 };
                let transpose = [left.input::<u32>(), words.into(), transposed.output::<u32>(), side.into()];
                let blocks = grid(words / TRANSPOSE_TILE, side / TRANSPOSE_TILE, 256);
                // SAFETY: blocks are squares of `side` distances, in whole tiles; the transposed one has a word for each.
                unsafe { queue.launch(self.family.transpose, &blocks, &transpose) }?;
                let none = NONE.into();
                let phase3 = [
                    result.output::<u32>(),
                    words.into(),
                    transposed.input::<u32>(),
                    side.into(),
                    right.input::<u32>(),
                    words.into(),
                    side.into(),
                    (side / TILE).into(),
                    (words / TILE).into(),
                    0u32.into(),
                    0u32.into(),
                    none,
                    none,
                    none,
                    none,
                    // No next pivot: these are not written.
                    left.output::<u32>(),
                    left.output::<u32>(),
                ];
                let phase3_grid = grid(words / TILE, side / TILE, TILED_THREADS);
                // SAFETY: as above; the panels are as deep as a block's side, which is a multiple of 8.
                unsafe { queue.launch(self.family.phase3, &phase3_grid, &phase3) }?;
                queue.wait().result?;
                if computed.send((slot, job)).is_err() {
                    break;
                }
            }
            Ok(())
        })?
    }

    fn download(
        &self,
        slots: &[Slot],
        done: &Receiver<(usize, Job)>,
        free: &SyncSender<usize>,
    ) -> Result<(), SolveError> {
        while let Ok((slot, job)) = done.recv() {
            self.host.copy_to_host(self.family, job.result, &slots[slot].result)?;
            if free.send(slot).is_err() {
                // No job comes any more; those in flight are still taken.
                continue;
            }
        }
        Ok(())
    }
}
