//! Work without the GIL, on threads of its own, that Ctrl-C stops.
//!
//! Python runs its signal handlers on its main thread and nowhere else, so the thread that was called does none of the work: it looks
//! for signals (and tells of progress) ten times a second, while another thread works. Where there is little to do the caller's thread
//! waits for it, because a signal can wait that long.
//!
//! Python may end while a thread that is not joined still works here: work in flight is stopped first, because what it reads and writes,
//! and the thread that called, would be gone before it.
//!
//! Threads belong to this process. A child that was forked has none of them and would wait for them for ever, so it starts its own. Pools
//! are looked for with the GIL held, and a thread that forks holds it too: they are never locked in a child that was just made.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use halotile::observe::Observer;
use halotile::threads::Threads;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PySystemExit};
use pyo3::prelude::*;

use crate::devices::cores;
use crate::error::Fault;
use crate::log;

/// Operations up to which signals are not looked for: done in a few milliseconds.
const AT_ONCE: u64 = 1 << 22;

/// An estimate of the work.
#[derive(Debug, Clone, Copy)]
pub struct WorkEstimate {
    /// What progress counts: cells, mostly.
    pub steps: u64,
    /// What takes a nanosecond or so of one thread, roughly.
    pub operations: u64,
}

impl From<u64> for WorkEstimate {
    /// Steps that are as much work as a cell in a small window.
    fn from(steps: u64) -> Self {
        Self { steps, operations: steps.saturating_mul(16) }
    }
}

/// The flags that stop the work in flight in a process. Changed with the GIL held, as pools are.
struct RunningWork {
    process: u32,
    stops: Vec<Arc<AtomicBool>>,
    /// Python is about to end.
    ending: bool,
}

static RUNNING: Mutex<RunningWork> = Mutex::new(RunningWork { process: 0, stops: Vec::new(), ending: false });

/// Calls `work` with this process's flags.
fn with_running<R>(work: impl FnOnce(&mut RunningWork) -> R) -> R {
    let mut all = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if all.process != process {
        // What a parent does is not done here.
        *all = RunningWork { process, stops: Vec::new(), ending: false };
    }
    work(&mut all)
}

/// Work that can be stopped; until it is dropped, with the GIL held, also where the work panics.
struct Stoppable(Arc<AtomicBool>);

impl Stoppable {
    fn new(stop: &Arc<AtomicBool>) -> Self {
        with_running(|all| all.stops.push(Arc::clone(stop)));
        Self(Arc::clone(stop))
    }
}

impl Drop for Stoppable {
    fn drop(&mut self) {
        with_running(|all| all.stops.retain(|stop| !Arc::ptr_eq(stop, &self.0)));
    }
}

/// The longest that the end of Python waits for work in flight.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Stops the work in flight, and waits until it has ended: for when Python ends.
#[pyfunction]
pub fn end(py: Python<'_>) {
    with_running(|all| {
        all.ending = true;
        all.stops.iter().for_each(|stop| stop.store(true, Relaxed));
    });
    let start = Instant::now();
    while with_running(|all| !all.stops.is_empty()) && start.elapsed() < SHUTDOWN_TIMEOUT {
        // A thread that is done needs the GIL to say so.
        py.detach(|| std::thread::sleep(Duration::from_millis(2)));
    }
}

/// How often signals are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What the work tells and asks while it goes on.
#[derive(Default)]
pub struct Watch {
    /// By itself, so that emulated devices can have it.
    pub stop: Arc<AtomicBool>,
    done: AtomicU64,
}

impl Observer for Watch {
    fn begin(&self, _: &str, _: u64) {
        self.done.store(0, Relaxed);
    }

    fn advance(&self, steps: u64) {
        self.done.fetch_add(steps, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

/// Threads that wait for the next call.
struct Pools {
    /// The process that they belong to.
    process: u32,
    /// As many as there are cores.
    all: Option<Threads>,
    /// Another number of them, the last that was asked for. One that was asked for before ends when nothing works on it any more.
    other: Option<Threads>,
}

/// The threads for `asked` of them; as many as there are cores where no number is asked for.
fn threads(asked: Option<usize>) -> PyResult<Threads> {
    static POOLS: Mutex<Pools> = Mutex::new(Pools { process: 0, all: None, other: None });
    let (process, cores) = (std::process::id(), cores());
    let count = asked.unwrap_or(cores);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if pools.process != process {
        // Those of a parent do not exist here; to drop them could be to wait for them.
        std::mem::forget(std::mem::replace(&mut *pools, Pools { process, all: None, other: None }));
    }
    let kept = if count == cores { &mut pools.all } else { &mut pools.other };
    if let Some(threads) = kept.as_ref().filter(|threads| threads.count() == count) {
        return Ok(threads.clone());
    }
    let threads = Threads::new(count).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    *kept = Some(threads.clone());
    Ok(threads)
}

/// Does `work`, of this estimate, without the GIL, on `asked` threads. `progress` is called with how many steps are done, and how many there
/// are.
///
/// # Errors
/// What `work` says; what a signal handler raises (`KeyboardInterrupt`, mostly) or `progress`, once the work has stopped.
pub fn run<R: Send>(
    py: Python<'_>,
    estimate: impl Into<WorkEstimate>,
    asked: Option<usize>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Watch) -> Result<R, Fault> + Send,
) -> PyResult<R> {
    let WorkEstimate { steps, operations } = estimate.into();
    let threads = threads(asked)?;
    let watch = Watch::default();
    log::update_level(py)?;
    let stoppable = Stoppable::new(&watch.stop);
    let (result, raised) = py.detach(|| {
        if operations <= AT_ONCE && progress.is_none() {
            return (threads.run(|| work(&watch)), None);
        }
        let (done, finished) = channel::<()>();
        let (watch, threads) = (&watch, &threads);
        std::thread::scope(|scope| {
            let worker = scope.spawn(move || {
                // Dropped when the work has ended, also by a panic.
                let _done = done;
                threads.run(|| work(watch))
            });
            let mut raised = None;
            while let Err(RecvTimeoutError::Timeout) = finished.recv_timeout(POLL_INTERVAL) {
                let looked = Python::attach(|py| {
                    py.check_signals()?;
                    progress
                        .map_or(Ok(()), |tell| tell.call1(py, (watch.done.load(Relaxed).min(steps), steps)).map(drop))
                });
                if let Err(error) = looked {
                    raised.get_or_insert(error);
                    watch.stop.store(true, Relaxed);
                }
            }
            (worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), raised)
        })
    });
    drop(stoppable);
    let ending = with_running(|all| all.ending);
    log::flush(py)?;
    match (result, raised) {
        (_, Some(raised)) => Err(raised),
        (Ok(result), None) => {
            if let Some(tell) = progress {
                tell.call1(py, (steps, steps))?;
            }
            Ok(result)
        }
        // Threads end by it without a word.
        (Err(fault), None) if fault.is_cancelled() && ending => Err(PySystemExit::new_err(())),
        (Err(fault), None) if fault.is_cancelled() => Err(PyKeyboardInterrupt::new_err(())),
        (Err(fault), None) => Err(fault.into()),
    }
}
