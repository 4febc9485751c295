//! A worker that is a device: several pieces on it at a time, each in buffers and on a queue of its own, so that one is copied
//! there, another computed and a third copied back.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Plan;
use super::piece::{Input, Output, Piece};
use super::piece_queue::{PieceQueue, Stopped};
use crate::entropy::algorithm::Launcher as _;
use crate::entropy::choice::pick;
use crate::entropy::frame::{Frame, pitch};
use crate::entropy::launch::{Prepared, at_once};
use crate::entropy::{Error, Report};
use crate::exec::queue::{Queue, Returned, Source, Target, Writable, scope};
use crate::exec::{Buffer, Device, DeviceError};
use crate::numbers::Real;

/// Pieces on a device at a time, if there is room: one in flight in each direction, one between.
pub(super) const SLOTS: usize = 3;

/// Buffers for a piece.
struct Slot {
    cells: Buffer,
    out: Buffer,
    scratch: Option<Buffer>,
}

/// Works on pieces until there are none, or the device fails.
pub(super) fn work<T: Real>(plan: &Plan<'_>, device: &Arc<dyn Device>, piece_queue: &PieceQueue<'_, '_>) -> Report {
    let mut report = Report::default();
    let worker = match Worker::new::<T>(plan, device) {
        Ok(worker) => worker,
        Err(error) => {
            give_up(piece_queue, [], error);
            return report;
        }
    };
    report.kernel = Some(worker.prepared.kernel());
    let worked = scope(device, 0, plan.slots, |queues| worker.work::<T>(queues, piece_queue, &mut report));
    if let Err(error) = worked {
        give_up(piece_queue, [], error.into());
    }
    report
}

/// Leaves the work to others where the device failed; where the kernel or the task is at fault, they would fail too.
fn give_up<'m>(piece_queue: &PieceQueue<'m, '_>, pieces: impl IntoIterator<Item = Piece<'m>>, error: Error) {
    match error {
        Error::Device(
            DeviceError::Driver { .. } | DeviceError::OutOfMemory { .. } | DeviceError::HostMemory { .. },
        ) => {
            piece_queue.retire_worker(pieces, error);
        }
        error => piece_queue.fail(error),
    }
}

pub(super) struct Worker<'p> {
    plan: &'p Plan<'p>,
    prepared: Prepared,
    slots: Vec<Slot>,
}

impl<'p> Worker<'p> {
    pub fn new<T: Real>(plan: &'p Plan<'p>, device: &Arc<dyn Device>) -> Result<Self, Error> {
        let own = pick(plan.kernel, &plan.work, device)?;
        let prepared = Prepared::new(own, &plan.question(device), &mut at_once(device))?;
        let ((seen_rows, seen_cols), rows) = (plan.most_seen(), plan.piece.0);
        let slot = |_| {
            let cells = Buffer::new(device, seen_rows * pitch(seen_cols) * plan.width)?;
            let out = Buffer::new(device, plan.planes * rows * pitch(seen_cols) * size_of::<T>())?;
            // Kernels load whole words, so the padding is read; and a cell that no kernel wrote shows as an absurd number.
            device.fill(&cells, 0)?;
            device.fill(&out, 0x7E)?;
            let scratch = prepared.scratch(seen_rows, pitch(seen_cols))?;
            Ok::<_, Error>(Slot { cells, out, scratch })
        };
        let slots = (0..plan.slots.min(plan.pieces())).map(slot).collect::<Result<_, _>>()?;
        tracing::debug!(device = device.name(), kernel = own.kernel.name(), rows, cols = plan.piece.1, "pieces");
        Ok(Self { plan, prepared, slots })
    }

    fn work<'m, T: Real>(&self, queues: &mut [Queue<'m>], piece_queue: &PieceQueue<'m, '_>, report: &mut Report) {
        let mut free: Vec<usize> = (0..self.slots.len()).collect();
        let mut in_flight: VecDeque<(usize, Piece<'m>)> = VecDeque::new();
        loop {
            // With nothing in flight there is time to wait for a piece.
            let next = match (free.is_empty(), in_flight.is_empty()) {
                (true, _) => None,
                (false, false) => piece_queue.try_take(),
                (false, true) => match piece_queue.take() {
                    Ok(None) | Err(Stopped) => return,
                    Ok(piece) => piece,
                },
            };
            let failed = if let Some(mut piece) = next {
                let slot = free.pop().expect("there is a free one");
                let started = self.start::<T>(&mut queues[slot], &self.slots[slot], &mut piece);
                in_flight.push_back((slot, piece));
                started.err()
            } else {
                let Some((slot, mut piece)) = in_flight.pop_front() else { continue };
                let seconds = give_back(queues[slot].wait(), &mut piece);
                match seconds {
                    Ok(seconds) => {
                        report.kernel_seconds += seconds;
                        report.bands += 1;
                        self.plan.observer.advance(piece.cells() as u64);
                        piece_queue.finish(piece);
                        free.push(slot);
                        None
                    }
                    Err(error) => {
                        in_flight.push_front((slot, piece));
                        Some(error)
                    }
                }
            };
            if let Some(error) = failed {
                let pieces = in_flight.drain(..).rev().map(|(slot, mut piece)| {
                    // Only its memory is needed.
                    let _ = give_back(queues[slot].wait(), &mut piece);
                    piece
                });
                let pieces: Vec<_> = pieces.collect();
                give_up(piece_queue, pieces, error.into());
                return;
            }
        }
    }

    /// Enqueues a piece.
    fn start<'m, T: Real>(&self, queue: &mut Queue<'m>, slot: &Slot, piece: &mut Piece<'m>) -> Result<(), DeviceError> {
        let (rows, cols) = piece.seen_shape();
        let (first, skip) = piece.first();
        let (pitch, planes, count) = (pitch(cols), self.plan.planes, piece.rows.len());
        let width = piece.cols.len() * size_of::<T>();
        // Rows of codes, in bytes.
        let (source_pitch, row) = (piece.pitch * self.plan.width, pitch * self.plan.width);
        let Some(memory) = piece.input.take() else { return Ok(()) };
        // Rows without gaps are copied as one.
        let copied = if source_pitch == row { (row * rows, 1) } else { (cols * self.plan.width, rows) };
        queue.upload(&slot.cells, 0, row, Source { memory, pitch: source_pitch, width: copied.0, rows: copied.1 })?;
        let frame = Frame {
            cells: &slot.cells,
            out: &slot.out,
            scratch: slot.scratch.as_ref(),
            rows: rows as u32,
            cols: cols as u32,
            stride: pitch as u32,
            first: first as u32,
            count: count as u32,
            out_stride: pitch as u32,
        };
        self.prepared.launch_on(queue, &frame)?;
        let row = pitch * size_of::<T>();
        // The halo columns on the left have results too, which are not those of their own windows.
        let mut start = skip * size_of::<T>();
        match std::mem::replace(&mut piece.output, Output::InFlight) {
            Output::Pooled(memory) => {
                let memory = Writable::Owned(memory);
                queue.download(&slot.out, start, row, Target { memory, pitch: width, width, rows: planes * count })?;
            }
            Output::InPlace(targets) => {
                let mut targets = targets.into_iter();
                while let Some(target) = targets.next() {
                    let rows = target.rows;
                    let put = queue.download(&slot.out, start, row, target);
                    if put.is_err() {
                        // Another device will need them.
                        piece.output = Output::InPlace(targets.collect());
                        return put;
                    }
                    start += rows * row;
                }
            }
            Output::InFlight => {}
        }
        Ok(())
    }
}

/// Returns the queue's memory to a piece. Returns the seconds that its kernel took.
fn give_back<'m>(returned: Returned<'m>, piece: &mut Piece<'m>) -> Result<f64, DeviceError> {
    let Returned { sources, targets, seconds, result } = returned;
    for source in sources {
        piece.input = Input::from(source.memory);
    }
    let mut in_place = Vec::new();
    for target in targets {
        match target.memory {
            Writable::Owned(memory) => piece.output = Output::Pooled(memory),
            Writable::Borrowed(_) => in_place.push(target),
        }
    }
    if !in_place.is_empty() {
        if let Output::InPlace(rest) = std::mem::replace(&mut piece.output, Output::InFlight) {
            in_place.extend(rest);
        }
        piece.output = Output::InPlace(in_place);
    }
    result.map(|()| seconds)
}
