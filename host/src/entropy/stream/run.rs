//! The work on all pieces of a plan: a reader, the workers and a writer side by side, each a thread.
//!
//! Pieces go from one to the next through the queue of pieces, and their memory goes back there. The first error of any of them ends the work of all,
//! and so does a panic, which the others would wait for.

use std::ops::Range;
use std::thread::{Scope, ScopedJoinHandle};

use super::load::CellSource;
use super::piece::{Input, Output, Piece};
use super::piece_queue::{Memory, PieceQueue, Stopped};
use super::plan::Plan;
use super::store::Destination;
use super::{Workers, device};
use crate::codes::Code;
use crate::cpu;
use crate::entropy::frame::pitch;
use crate::entropy::{Error, Report};
use crate::exec::HostMemory;
use crate::exec::queue::Target;
use crate::grid::GridView;
use crate::numbers::Real;
use crate::observe::{Cancelled, Observer};
use crate::profile::stage;
use crate::threads::{Inherited, wait_until};

/// Reads, computes and stores all pieces. Where cells are `in_place` they need not be read, where `targets` are given results need
/// not be stored: devices copy directly.
pub(super) fn run<'m, T: Real, C: Code>(
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
