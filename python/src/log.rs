//! What the library tells of by `tracing`, to Python's `logging`, under the name `halotile`.
//!
//! It is told on threads that do not hold the GIL, so it waits here until the work is done and the caller has the GIL again. Nobody is
//! asked whether he wants to hear it: what is told is little.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

static WAITING: Mutex<Vec<(u8, String)>> = Mutex::new(Vec::new());

/// The most that waits: nobody reads thousands of lines.
const MOST: usize = 1000;

struct Keep;

impl<S: Subscriber> Layer<S> for Keep {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        // The numbers of Python's levels.
        let level = match *event.metadata().level() {
            Level::ERROR => 40,
            Level::WARN => 30,
            Level::INFO => 20,
            _ => 10,
        };
        let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MOST {
            waiting.push((level, text.0));
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
    let ours = Keep.with_filter(LevelFilter::DEBUG);
    // Stages of profiles are spans, of which nobody here hears.
    let _ = tracing_subscriber::registry().with(ours).try_init();
}

/// Hands what has been told to `logging`.
pub fn pass_on(py: Python<'_>) -> PyResult<()> {
    let lines = std::mem::take(&mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner));
    if lines.is_empty() {
        return Ok(());
    }
    let logger = py.import("logging")?.call_method1("getLogger", ("halotile",))?;
    for (level, line) in lines {
        logger.call_method1("log", (level, "%s", line))?;
    }
    Ok(())
}
