//! What the library tells of by `tracing`, to Python's `logging`, under the name `halotile`.
//!
//! It is told on threads that do not hold the GIL, so it waits here until the work is done and the caller has the GIL again. What `logging` would
//! not hear is not even written: that would take as long as a small kernel.

use std::fmt::Write;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, dynamic_filter_fn};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

static WAITING: Mutex<Vec<(u8, String)>> = Mutex::new(Vec::new());

/// The most that waits: thousands of lines are of no use.
const MOST: usize = 1000;

/// Python's numbers of the levels, from the most talkative on.
const LEVELS: [u8; 4] = [10, 20, 30, 40];

/// The least level that `logging` hears.
static LEAST: AtomicU8 = AtomicU8::new(LEVELS[0]);

/// Python's number of a level.
fn number(level: Level) -> u8 {
    match level {
        Level::ERROR => 40,
        Level::WARN => 30,
        Level::INFO => 20,
        Level::DEBUG => 10,
        Level::TRACE => 0,
    }
}

struct LogLayer;

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MOST {
            waiting.push((number(*event.metadata().level()), text.0));
        }
    }
}

/// An event as a line.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let gap = if self.0.is_empty() { "" } else { " " };
        let written = match field.name() {
            "message" => write!(self.0, "{gap}{value:?}"),
            name => write!(self.0, "{gap}{name}={value:?}"),
        };
        // A string takes everything.
        written.expect("a string");
    }
}

/// Starts to listen. Another subscriber of this process is left alone.
pub fn listen() {
    // Stages of profiles are spans, which are not heard here.
    let heard =
        dynamic_filter_fn(|metadata, _| metadata.is_event() && number(*metadata.level()) >= LEAST.load(Relaxed));
    let ours = LogLayer.with_filter(heard.with_max_level_hint(LevelFilter::DEBUG));
    let _ = tracing_subscriber::registry().with(ours).try_init();
}

fn logger(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static LOGGER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let logger = LOGGER.get_or_try_init(py, || {
        let logging = py.import("logging")?;
        logging.call_method1("getLogger", ("halotile",)).map(Bound::unbind)
    });
    Ok(logger?.bind(py))
}

/// Asks `logging` what it would hear of what is told from now on.
pub fn update_level(py: Python<'_>) -> PyResult<()> {
    let logger = logger(py)?;
    // There is no level above errors.
    let mut least = u8::MAX;
    for level in LEVELS {
        if logger.call_method1("isEnabledFor", (level,))?.is_truthy()? {
            least = level;
            break;
        }
    }
    LEAST.store(least, Relaxed);
    Ok(())
}

/// Hands what has been told to `logging`.
pub fn flush(py: Python<'_>) -> PyResult<()> {
    let lines = std::mem::take(&mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner));
    for (level, line) in lines {
        logger(py)?.call_method1("log", (level, "%s", line))?;
    }
    Ok(())
}
