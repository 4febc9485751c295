//! A queue of pieces between reader, workers and writer.
//!
//! ```text
//! reader ── put ──> ready ── take ──> workers ── finish ──> done ── next ──> writer
//!    ^                ^                  │                                     │
//!    │                └── give back ─────┘ (a device that failed)              │
//!    └──────────────────────────── memory ─────────────────────────────────────┘
//! ```
//!
//! Memory is bounded, so a reader that is ahead blocks, and so does every thread until it has what it needs. Pieces are
//! taken and written in their order, and finished in any. The obvious chain of channels cannot give back: when a
//! device fails, its pieces have to go to another, which may have found nothing left to do; so a worker that finds
//! nothing waits until all pieces are finished, and not until the reader is.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::piece::Piece;
use crate::entropy::Error;
use crate::exec::HostMemory;
use crate::observe::{Cancelled, Observer};
use crate::threads::Turns;

/// Memory for a piece: cells and results.
pub(super) struct Memory {
    pub input: HostMemory,
    pub output: HostMemory,
}

/// Pieces between reader, workers and writer.
pub(super) struct PieceQueue<'m, 'o> {
    state: Mutex<State<'m>>,
    changed: Condvar,
    /// How many pieces there are.
    total: usize,
    observer: &'o dyn Observer,
}

struct State<'m> {
    ready: VecDeque<Piece<'m>>,
    done: BTreeMap<usize, Piece<'m>>,
    memory: Vec<Memory>,
    finished: usize,
    written: usize,
    workers: usize,
    error: Option<Error>,
}

/// The work ended before it was done: the queue holds the reason.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stopped;

impl<'m, 'o> PieceQueue<'m, 'o> {
    /// A queue for so many pieces and workers.
    pub fn new(total: usize, workers: usize, observer: &'o dyn Observer) -> Self {
        let state = State {
            ready: VecDeque::new(),
            done: BTreeMap::new(),
            memory: Vec::new(),
            finished: 0,
            written: 0,
            workers,
            error: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), total, observer }
    }

    fn lock(&self) -> MutexGuard<'_, State<'m>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `get` returns something, or the work has ended.
    fn wait<R>(&self, mut get: impl FnMut(&mut State<'m>) -> Option<R>) -> Result<R, Stopped> {
        let mut turns = Turns::default();
        let mut state = self.lock();
        loop {
            if state.error.is_none() && self.observer.cancelled() {
                state.error = Some(Cancelled.into());
                self.changed.notify_all();
            }
            if state.error.is_some() {
                return Err(Stopped);
            }
            if let Some(got) = get(&mut state) {
                self.changed.notify_all();
                return Ok(got);
            }
            if rayon::current_thread_index().is_some() {
                // One of rayon's threads runs other jobs while it waits: with all of them blocked here, no thread would be left
                // for the jobs that the others spawn there.
                drop(state);
                turns.wait();
                state = self.lock();
            } else {
                // With a timeout: the observer does not notify when it wants to stop.
                let waited = self.changed.wait_timeout(state, Duration::from_millis(50));
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Ends the work for this reason, unless it has ended.
    pub fn fail(&self, error: Error) {
        self.lock().error.get_or_insert(error);
        self.changed.notify_all();
    }

    /// Why it ended before it was done.
    pub fn into_error(self) -> Option<Error> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).error
    }

    /// Memory for another piece, when there is some.
    pub fn acquire_memory(&self) -> Result<Memory, Stopped> {
        self.wait(|state| state.memory.pop())
    }

    /// The same without waiting.
    pub fn try_acquire_memory(&self) -> Option<Memory> {
        self.lock().memory.pop()
    }

    /// True when the work has ended before it is done.
    pub fn is_stopped(&self) -> bool {
        self.lock().error.is_some()
    }

    /// Memory that is free again.
    pub fn release_memory(&self, memory: Memory) {
        self.lock().memory.push(memory);
        self.changed.notify_all();
    }

    /// A piece is ready to be worked on.
    pub fn put(&self, piece: Piece<'m>) {
        self.lock().ready.push_back(piece);
        self.changed.notify_all();
    }

    /// The next piece to work on; `None` when all of them are finished.
    pub fn take(&self) -> Result<Option<Piece<'m>>, Stopped> {
        let total = self.total;
        self.wait(|state| match state.ready.pop_front() {
            None if state.finished < total => None,
            piece => Some(piece),
        })
    }

    /// The next piece to work on, without waiting.
    pub fn try_take(&self) -> Option<Piece<'m>> {
        let mut state = self.lock();
        if state.error.is_some() { None } else { state.ready.pop_front() }
    }

    /// A piece has its results.
    pub fn finish(&self, piece: Piece<'m>) {
        let mut state = self.lock();
        state.finished += 1;
        state.done.insert(piece.index, piece);
        self.changed.notify_all();
    }

    /// A worker that failed returns its pieces. If it was the last one, its error ends the work.
    pub fn retire_worker(&self, pieces: impl IntoIterator<Item = Piece<'m>>, error: Error) {
        let mut state = self.lock();
        for piece in pieces {
            // In front, where the writer waits for it.
            state.ready.push_front(piece);
        }
        state.workers -= 1;
        if state.workers == 0 {
            state.error.get_or_insert(error);
        } else if state.error.is_none() {
            tracing::warn!("{error}; the others go on without it");
        }
        self.changed.notify_all();
    }

    /// The next piece to write; `None` when all of them are written.
    pub fn next(&self) -> Result<Option<Piece<'m>>, Stopped> {
        let total = self.total;
        self.wait(|state| {
            if state.written == total {
                return Some(None);
            }
            let piece = state.done.remove(&state.written)?;
            state.written += 1;
            Some(Some(piece))
        })
    }
}
