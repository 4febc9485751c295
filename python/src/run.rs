//! Work without the GIL, on threads of its own, that Ctrl-C stops.
//!
//! Python runs its signal handlers on its main thread and nowhere else, so the thread that was called does none of the work: it looks
//! for signals (and tells of progress) ten times a second, while another thread works. Where there is little to do the caller's thread
//! does it, because a signal can wait that long.
//!
//! Threads belong to this process. A child that was forked has none of them and would wait for them for ever, so pools are kept by the
//! process that started them. They are looked for with the GIL held, and whoever forks holds it too: the table is never locked in a
//! child that was just made.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use halotile::observe::Observer;
use halotile::threads::Threads;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

use crate::devices::cores;
use crate::error::Fault;
use crate::log;

/// Steps of work (cells, mostly) up to which nobody looks for signals: done in a few milliseconds.
const AT_ONCE: u64 = 1 << 18;

/// How often somebody looks for signals.
const LOOK: Duration = Duration::from_millis(100);

/// What the work tells and asks while it goes on.
#[derive(Default)]
pub struct Watch {
    stop: AtomicBool,
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

/// The threads for `asked` of them; as many as there are cores where nobody asks.
fn threads(asked: Option<usize>) -> PyResult<Threads> {
    static POOLS: Mutex<Option<HashMap<(u32, usize), Threads>>> = Mutex::new(None);
    let key = (std::process::id(), asked.unwrap_or_else(cores));
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let pools = pools.get_or_insert_default();
    if let Some(threads) = pools.get(&key) {
        return Ok(threads.clone());
    }
    // Those of a parent do not exist here; to drop them would be to wait for them.
    let threads = Threads::new(key.1).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    pools.insert(key, threads.clone());
    Ok(threads)
}

/// Does `work`, of so many steps, without the GIL, on `asked` threads. `progress` is called with how many of them are done, and how many
/// there are.
///
/// # Errors
/// What `work` says; what a signal handler raises (`KeyboardInterrupt`, mostly) or `progress`, once the work has stopped.
pub fn run<R: Send>(
    py: Python<'_>,
    steps: u64,
    asked: Option<usize>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Watch) -> Result<R, Fault> + Send,
) -> PyResult<R> {
    let threads = threads(asked)?;
    let watch = Watch::default();
    let (result, raised) = py.detach(|| {
        if steps <= AT_ONCE && progress.is_none() {
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
            while let Err(RecvTimeoutError::Timeout) = finished.recv_timeout(LOOK) {
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
    log::pass_on(py)?;
    match (result, raised) {
        (_, Some(raised)) => Err(raised),
        (Ok(result), None) => {
            if let Some(tell) = progress {
                tell.call1(py, (steps, steps))?;
            }
            Ok(result)
        }
        (Err(fault), None) if fault.is_cancelled() => Err(PyKeyboardInterrupt::new_err(())),
        (Err(fault), None) => Err(fault.into()),
    }
}
