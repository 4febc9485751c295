//! The kernels for use on any number of devices: rounds of `kernels::apsp::tiled` over rows of tiles that are dealt out.
//!
//! ```text
//! one device:         phase 1 of 0; round k: phase 2 of k, phase 3 of k, which also closes pivot k + 1
//! several, round k:   every worker has row panel k
//!                     every worker: column panel k of its own rows, then phase 3 of its own rows
//!                     meanwhile the owner of tile row k + 1: that row first, its pivot, row panel k + 1, sent to the others
//!                     barrier
//! ```
//!
//! Sending the pivot row a round ahead hides it: the others need it only after the barrier. The owner's row is put on a queue of higher priority than
//! the other, or it would wait for phase 3 of the owner's other rows. The source (see the module `apsp`) sends the row before the round
//! and has every worker compute the pivot itself.
//!
//! All the distances of a device's rows are in its memory throughout. Rows are dealt out in contiguous runs, as evenly as tiles allow: all take part until the
//! last round, so that the order does not matter.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use halotile_kernels::apsp::tiled::{NONE, PIVOTS, TILE, TILED_THREADS};
use simt::launch::{Arg, KernelEntry, LaunchConfig};

use super::family::{Family, tiles};
use super::{Report, SolveError, blocks, join};
use crate::apsp::{Distance, Matrix};
use crate::exec::queue::{Queue, scope};
use crate::exec::{Buffer, Device, DeviceError, Rows};
use crate::observe::{Cancelled, Observer};
use crate::threads::Inherited;

/// Relaxations after which the host waits for one device, so that progress shows and a stop takes effect: some milliseconds of the fastest.
const RELAXATIONS_PER_WAIT: f64 = 3e11;

const SIDE: usize = TILE as usize;

/// A device, its rows, and the buffers for them.
struct Worker {
    family: Family,
    device: Arc<dyn Device>,
    vertices: usize,
    /// Its rows of tiles.
    rows: Range<usize>,
    matrix: Buffer,
    /// Two of each, for even and odd rounds.
    column_panels: [Buffer; 2],
    row_panels: [Buffer; 2],
}

/// Bytes that a device takes for a whole matrix.
pub(super) fn bytes_of(family: &Family, vertices: usize) -> usize {
    bytes(family, vertices, tiles(vertices))
}

/// Bytes that a device takes for so many rows of tiles.
fn bytes(family: &Family, vertices: usize, rows: usize) -> usize {
    let pitch = family.pitch(vertices);
    4 * (rows * SIDE * pitch + 2 * PIVOTS as usize * (rows * SIDE + pitch))
}

/// Makes distances of weights, in place.
pub(super) fn solve<T: Distance>(
    matrix: &mut Matrix<T>,
    devices: &[Arc<dyn Device>],
    observer: &dyn Observer,
) -> Result<Report, SolveError> {
    let family = Family::of::<T>();
    let count = tiles(matrix.vertices());
    // More devices than rows of tiles are of no use.
    let shares = devices.len().min(count);
    let share = |i: usize| i * count / shares..(i + 1) * count / shares;
    let free: Vec<usize> = devices.iter().map(|device| device.free_memory()).collect::<Result<_, _>>()?;
    let needed = |i: usize| bytes(&family, matrix.vertices(), share(i).len());
    if let Some(i) = (0..shares).find(|&i| needed(i) > free[i]) {
        let least = free.iter().copied().min().unwrap_or(0);
        let device = devices[i].name();
        let none = DeviceError::OutOfMemory { device, wanted: needed(i), free: least };
        let side = blocks::side(&family, matrix.vertices(), least).ok_or(none)?;
        return blocks::solve(matrix, devices, side, observer);
    }
    let workers = (0..shares).map(|i| Worker::new(family, &devices[i], matrix.vertices(), share(i)));
    let workers: Vec<Worker> = workers.collect::<Result<_, _>>()?;
    match workers.as_slice() {
        [worker] => solve_on_one(worker, matrix, observer),
        workers => solve_on_several(workers, matrix, observer),
    }
}

fn solve_on_one<T: Distance>(
    worker: &Worker,
    matrix: &mut Matrix<T>,
    observer: &dyn Observer,
) -> Result<Report, SolveError> {
    let start = Instant::now();
    worker.copy_to_device(matrix)?;
    worker.compile()?;
    let uploaded = Instant::now();
    scope(&worker.device, 0, 1, |queues| worker.rounds(&mut queues[0], observer))??;
    let computed = Instant::now();
    let rows = worker.real_rows();
    let pitch = matrix.pitch();
    worker.copy_to_host(&mut matrix.cells_mut()[..rows.len() * pitch], pitch)?;
    Ok(Report {
        compute: (computed - uploaded).as_secs_f64(),
        copies: (uploaded - start + computed.elapsed()).as_secs_f64(),
    })
}

/// Several devices, a thread each.
fn solve_on_several<T: Distance>(
    workers: &[Worker],
    matrix: &mut Matrix<T>,
    observer: &dyn Observer,
) -> Result<Report, SolveError> {
    let (barrier, pool) = (Barrier::new(workers.len()), Inherited::here());
    let source = &*matrix;
    let run = |i: usize| {
        let start = Instant::now();
        let worker = &workers[i];
        let uploaded = pool.run(|| worker.copy_to_device(source)).and_then(|()| worker.compile());
        let copies = start.elapsed().as_secs_f64();
        let rounds = |queues: &mut [Queue<'_>]| -> Result<f64, SolveError> {
            uploaded?;
            barrier.wait()?;
            let start = Instant::now();
            let [lookahead, bulk] = queues else { unreachable!("two queues were asked for") };
            worker.rounds_on_several(i, workers, lookahead, bulk, &barrier, observer)?;
            Ok(start.elapsed().as_secs_f64())
        };
        let done = scope(&worker.device, 1, 2, rounds).map_err(SolveError::from).flatten();
        // The others would wait for this one for ever.
        done.map(|compute| Report { compute, copies }).inspect_err(|_| barrier.fail())
    };
    let reports = std::thread::scope(|threads| {
        let handles: Vec<_> = (0..workers.len()).map(|i| threads.spawn(move || run(i))).collect();
        join(handles)
    })?;
    let mut report = reports.into_iter().fold(Report::default(), |all, one| Report {
        compute: all.compute.max(one.compute),
        copies: all.copies.max(one.copies),
    });
    let start = Instant::now();
    let pitch = matrix.pitch();
    let mut rest = matrix.cells_mut();
    let mut parts = Vec::new();
    for worker in workers {
        let (own, others) = rest.split_at_mut(worker.real_rows().len() * pitch);
        parts.push((worker, own));
        rest = others;
    }
    let pool = &pool;
    std::thread::scope(|threads| {
        let copies: Vec<_> = parts
            .into_iter()
            .map(|(worker, own)| threads.spawn(move || Ok(pool.run(|| worker.copy_to_host(own, pitch))?)))
            .collect();
        join(copies)
    })?;
    report.copies += start.elapsed().as_secs_f64();
    Ok(report)
}

impl Worker {
    fn new(family: Family, device: &Arc<dyn Device>, vertices: usize, rows: Range<usize>) -> Result<Self, SolveError> {
        let misfit = |reason: String| SolveError::Misfit { kernel: crate::apsp::Kernel::Tiled, reason };
        let (arch, limits) = (family.phase3.arch, device.limits());
        if limits.arch < arch {
            let needs = format!("it needs compute capability {}.{}", arch / 10, arch % 10);
            let has = format!("{} has {}.{}", device.name(), limits.arch / 10, limits.arch % 10);
            return Err(misfit(format!("{needs}, and {has}")));
        }
        let pitch = family.pitch(vertices);
        let panel = |words: usize| Buffer::new(device, 4 * PIVOTS as usize * words);
        let column = || panel(rows.len() * SIDE);
        let worker = Self {
            family,
            device: Arc::clone(device),
            vertices,
            matrix: Buffer::new(device, 4 * rows.len() * SIDE * pitch)?,
            column_panels: [column()?, column()?],
            row_panels: [panel(pitch)?, panel(pitch)?],
            rows,
        };
        device.fill(&worker.matrix, family.padding)?;
        Ok(worker)
    }

    /// Its rows without padding.
    fn real_rows(&self) -> Range<usize> {
        self.rows.start * SIDE..self.vertices.min(self.rows.end * SIDE)
    }

    /// Words of a row.
    fn pitch(&self) -> usize {
        self.family.pitch(self.vertices)
    }

    fn copy_to_device<T: Distance>(&self, matrix: &Matrix<T>) -> Result<(), DeviceError> {
        let (rows, pitch) = (self.real_rows(), matrix.pitch() * size_of::<T>());
        let source: &[u8] = bytemuck::cast_slice(&matrix.cells()[rows.start * matrix.pitch()..]);
        self.device.upload(&self.matrix, self.rows_of::<T>(), source, pitch)
    }

    fn copy_to_host<T: Distance>(&self, target: &mut [T], pitch: usize) -> Result<(), DeviceError> {
        let target = bytemuck::cast_slice_mut(target);
        self.device.download(&self.matrix, self.rows_of::<T>(), target, pitch * size_of::<T>())
    }

    /// Where the rows that are the graph's lie in the matrix on the device.
    fn rows_of<T>(&self) -> Rows {
        let width = self.vertices * size_of::<T>();
        Rows { start: 0, pitch: 4 * self.pitch(), width, rows: self.real_rows().len() }
    }

    /// Has the driver compile the kernels, which it does on their first use: not part of the work.
    fn compile(&self) -> Result<(), DeviceError> {
        let Family { pivot, panels, phase3, .. } = self.family;
        [pivot, panels, phase3]
            .into_iter()
            .try_for_each(|kernel| self.device.resident_blocks(kernel, TILED_THREADS, 0).map(drop))
    }

    /// All rounds, on a single device.
    fn rounds(&self, queue: &mut Queue<'_>, observer: &dyn Observer) -> Result<(), SolveError> {
        let rounds = tiles(self.vertices);
        let work = (self.vertices as f64).powi(2) * f64::from(PIVOTS);
        self.pivot(queue, 0)?;
        let mut waited = 0;
        for k in 0..rounds {
            self.panels(queue, k, true, true)?;
            let next = (k + 1 < rounds).then_some(k + 1);
            self.phase3(queue, k, 0..self.rows.len(), next)?;
            let done = k + 1 - waited;
            if done as f64 * work >= RELAXATIONS_PER_WAIT || next.is_none() {
                queue.wait().result?;
                observer.advance(pivots(waited..k + 1, self.vertices));
                waited = k + 1;
            }
            if observer.cancelled() {
                return Err(Cancelled.into());
            }
        }
        Ok(())
    }

    /// All rounds, on several devices; this is number `i`.
    fn rounds_on_several(
        &self,
        i: usize,
        all: &[Worker],
        lookahead: &mut Queue<'_>,
        bulk: &mut Queue<'_>,
        barrier: &Barrier,
        observer: &dyn Observer,
    ) -> Result<(), SolveError> {
        let rounds = tiles(self.vertices);
        let count = self.rows.len();
        if self.rows.contains(&0) {
            self.pivot(lookahead, 0)?;
            self.send_row_panel(lookahead, i, all, 0)?;
        }
        lookahead.wait().result?;
        barrier.wait()?;
        for k in 0..rounds {
            self.panels(lookahead, k, false, true)?;
            bulk.follow(lookahead)?;
            let own = Some(k + 1).filter(|next| self.rows.contains(next));
            if let Some(next) = own {
                let at = next - self.rows.start;
                self.phase3(lookahead, k, at..at + 1, own)?;
                self.send_row_panel(lookahead, i, all, next)?;
                // All but that one.
                self.phase3(bulk, k, at + 1..at + count, None)?;
            } else {
                self.phase3(bulk, k, 0..count, None)?;
            }
            lookahead.wait().result?;
            bulk.wait().result?;
            if i == 0 {
                observer.advance(pivots(k..k + 1, self.vertices));
            }
            if observer.cancelled() {
                return Err(Cancelled.into());
            }
            barrier.wait()?;
        }
        Ok(())
    }

    /// Makes row panel `k` and sends it to the others.
    fn send_row_panel(&self, queue: &mut Queue<'_>, i: usize, all: &[Worker], k: usize) -> Result<(), DeviceError> {
        self.panels(queue, k, true, false)?;
        for (_, other) in all.iter().enumerate().filter(|&(j, _)| j != i) {
            // SAFETY: all workers live until all threads are done; until all have met, nothing writes this panel and nothing else uses the other's.
            unsafe { queue.send(&self.row_panels[k % 2], &other.row_panels[k % 2]) }?;
        }
        Ok(())
    }

    /// The first row of pivot tile `k` in this worker's matrix.
    fn pivot_row(&self, k: usize) -> u32 {
        if self.rows.contains(&k) { ((k - self.rows.start) * SIDE) as u32 } else { NONE }
    }

    fn pivot(&self, queue: &mut Queue<'_>, k: usize) -> Result<(), DeviceError> {
        let args = self.matrix_and_panels(k);
        self.launch(queue, self.family.pivot, [1, 1, 1], &args)
    }

    /// Makes the row panel, the column panel of the worker's own rows, or both.
    fn panels(&self, queue: &mut Queue<'_>, k: usize, row: bool, column: bool) -> Result<(), DeviceError> {
        let row_tiles = if row { self.family.tiles_per_row(self.vertices) } else { 0 };
        let blocks = row_tiles + if column { self.rows.len() as u32 } else { 0 };
        let mut args = self.matrix_and_panels(k);
        args.push(row_tiles.into());
        self.launch(queue, self.family.panels, [blocks, 1, 1], &args)
    }

    fn matrix_and_panels(&self, k: usize) -> Vec<Arg> {
        vec![
            self.matrix.output::<u32>(),
            (self.pitch() as u32).into(),
            self.pivot_row(k).into(),
            ((k * SIDE) as u32).into(),
            self.column_panels[k % 2].output::<u32>(),
            ((self.rows.len() * SIDE) as u32).into(),
            self.row_panels[k % 2].output::<u32>(),
        ]
    }

    /// Phase 3 of round `k` for some of the worker's rows of tiles, counted modulo their number, and the pivot tile of round `next` on the way.
    fn phase3(
        &self,
        queue: &mut Queue<'_>,
        k: usize,
        rows: Range<usize>,
        next: Option<usize>,
    ) -> Result<(), DeviceError> {
        if rows.is_empty() {
            return Ok(());
        }
        let words = self.family.tiles_per_row(self.vertices);
        let tile = |k: usize| (k / self.family.lanes) as u32;
        let own = self.pivot_row(k);
        // The tile row that makes the next pivot comes first.
        let first_row = match next {
            Some(next) if rows.len() == self.rows.len() => next - self.rows.start,
            _ => rows.start,
        };
        let args = [
            self.matrix.output::<u32>(),
            (self.pitch() as u32).into(),
            self.column_panels[k % 2].input::<u32>(),
            ((self.rows.len() * SIDE) as u32).into(),
            self.row_panels[k % 2].input::<u32>(),
            (self.pitch() as u32).into(),
            PIVOTS.into(),
            (self.rows.len() as u32).into(),
            words.into(),
            (first_row as u32).into(),
            next.map_or(0, tile).into(),
            if own == NONE { NONE } else { own / TILE }.into(),
            // A tile of two pivot columns also contains another.
            if self.family.lanes == 1 { k as u32 } else { NONE }.into(),
            next.map_or(NONE, |next| self.pivot_row(next)).into(),
            next.map_or(NONE, |next| (next * SIDE) as u32).into(),
            self.column_panels[(k + 1) % 2].output::<u32>(),
            self.row_panels[(k + 1) % 2].output::<u32>(),
        ];
        self.launch(queue, self.family.phase3, [words, rows.len() as u32, 1], &args)
    }

    fn launch(
        &self,
        queue: &mut Queue<'_>,
        kernel: &KernelEntry,
        grid: [u32; 3],
        args: &[Arg],
    ) -> Result<(), DeviceError> {
        let config = LaunchConfig { grid, block: [TILED_THREADS, 1, 1], shared_bytes: 0 };
        // SAFETY: the matrix is of whole tiles and has this worker's rows; panels have 128 rows, as long as the matrix is wide or high; launches
        // before, on this queue or one that it follows, have made what this one reads.
        unsafe { queue.launch(kernel, &config, args) }
    }
}

/// How many vertices rounds are.
fn pivots(rounds: Range<usize>, vertices: usize) -> u64 {
    (vertices.min(rounds.end * SIDE) - rounds.start * SIDE) as u64
}

/// A barrier of threads that a failing one releases, unlike `std::sync::Barrier`.
struct Barrier {
    count: usize,
    state: Mutex<BarrierState>,
    changed: Condvar,
}

#[derive(Default)]
struct BarrierState {
    arrived: usize,
    generation: usize,
    failed: bool,
}

impl Barrier {
    fn new(count: usize) -> Self {
        Self { count, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits until all threads have arrived. An error where one has failed.
    fn wait(&self) -> Result<(), Cancelled> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.arrived += 1;
        if state.arrived == self.count {
            state.arrived = 0;
            state.generation += 1;
            self.changed.notify_all();
        }
        let (generation, last) = (state.generation, state.arrived == 0);
        while !last && state.generation == generation && !state.failed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.failed { Err(Cancelled) } else { Ok(()) }
    }

    /// Releases all that wait, now and later, with an error.
    fn fail(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).failed = true;
        self.changed.notify_all();
    }
}
