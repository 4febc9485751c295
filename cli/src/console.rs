//! Standard error: notes, and a progress bar where a person is looking.
//!
//! Every line of it begins with the program's name, also where the library is the one to speak, through `tracing`. A line that cannot be
//! written is lost: there is nowhere left to say so.

use std::io::{IsTerminal, Read, Seek, SeekFrom, Write};
use std::time::Duration;

use halotile::io::one_line;
use halotile::observe::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::Loudness;
use crate::interrupt::{self, Interrupted};
use crate::profile;

/// Writes `halotile: text` to stderr, as one line whatever the text holds.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "halotile: {}", one_line(text));
}

/// What the library tells, in lines like those of [`say`], with the level before it.
struct EventFormat;

impl<S, N> FormatEvent<S, N> for EventFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> std::fmt::Result {
        let mut text = String::new();
        context.format_fields(Writer::new(&mut text), event)?;
        writeln!(to, "halotile: {} {}", event.metadata().level(), one_line(&text))
    }
}

/// What the user sees of a run while it lasts.
pub struct Console {
    quiet: bool,
    verbose: bool,
    bar: ProgressBar,
}

const BYTES: &str = "{msg} {spinner} {bytes} ({bytes_per_sec})";
const STEPS: &str = "{msg} [{bar:12}] {pos}/{len}, {elapsed}";
const VERTICES: &str = "{msg} [{bar:12}] {human_pos}/{human_len} vertices, {eta} left";
const CELLS: &str = "{msg} [{bar:12}] {human_pos}/{human_len} cells, {rate}, {eta} left";

impl Console {
    /// Sets the level of tracing, and a bar up unless it would not be seen or would get between lines of tracing.
    pub fn new(loudness: Loudness) -> Self {
        let level = match (loudness.quiet, loudness.verbose) {
            (true, _) => tracing::Level::ERROR,
            (false, 0) => tracing::Level::WARN,
            (false, 1) => tracing::Level::INFO,
            (false, _) => tracing::Level::DEBUG,
        };
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .event_format(EventFormat)
            .with_filter(LevelFilter::from_level(level));
        tracing_subscriber::registry().with(lines).with(profile::layer()).init();
        let bar = if loudness.quiet || loudness.verbose > 0 || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
        };
        Self { quiet: loudness.quiet, verbose: loudness.verbose > 0, bar }
    }

    /// Tells something that the user did not ask for but may want to know.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.bar.suspend(|| say(text));
        }
    }

    /// Whether details are wanted.
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// From now on the bar counts bytes of an unknown total.
    pub fn bytes(&self, doing: &str) {
        self.stage(doing, None, BYTES);
    }

    /// From now on the bar counts cells.
    pub fn cells(&self, doing: &str, cells: u64) {
        self.stage(doing, Some(cells), CELLS);
    }

    /// From now on the bar counts vertices.
    pub fn vertices(&self, doing: &str, vertices: u64) {
        self.stage(doing, Some(vertices), VERTICES);
    }

    /// From now on the bar counts steps, each begun by [`step`](Self::step).
    pub fn steps(&self, steps: u64) {
        self.stage("", Some(steps), STEPS);
    }

    /// The next step begins, after `done` others.
    pub fn step(&self, doing: &str, done: u64) {
        self.bar.set_message(doing.to_owned());
        self.bar.set_position(done);
    }

    /// Does something, such as printing to stdout, that must not get into the bar.
    pub fn aside<T>(&self, what: impl FnOnce() -> T) -> T {
        self.bar.suspend(what)
    }

    fn stage(&self, doing: &str, length: Option<u64>, template: &str) {
        if self.bar.is_hidden() {
            return;
        }
        self.bar.reset();
        if let Ok(style) = ProgressStyle::with_template(template) {
            let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                // A bar is no place for an error.
                let _ = write!(out, "{:.1} Mcell/s", state.per_sec() / 1e6);
            };
            self.bar.set_style(style.with_key("rate", rate).progress_chars("=> "));
        }
        // The name of a file may be part of it.
        self.bar.set_message(one_line(doing));
        match length {
            Some(length) => self.bar.set_length(length),
            None => self.bar.unset_length(),
        }
        self.bar.enable_steady_tick(Duration::from_millis(200));
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// `inner` with its bytes counted, and stopped by Ctrl-C.
    pub fn watch<T>(&self, inner: T) -> Watched<'_, T> {
        Watched { inner, console: self, count: false }
    }

    /// The same with its bytes on the bar.
    pub fn count<T>(&self, inner: T) -> Watched<'_, T> {
        Watched { inner, console: self, count: true }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Observer for Console {
    // Shortest paths alone have stages, and count vertices.
    fn begin(&self, stage: &str, vertices: u64) {
        self.stage(stage, Some(vertices), VERTICES);
    }

    fn advance(&self, cells: u64) {
        self.bar.inc(cells);
    }

    fn cancelled(&self) -> bool {
        interrupt::requested()
    }
}

/// See [`Console::watch`].
pub struct Watched<'c, T> {
    inner: T,
    console: &'c Console,
    count: bool,
}

impl<T> Watched<'_, T> {
    /// What is being watched.
    pub fn into_inner(self) -> T {
        self.inner
    }

    fn check(&self) -> std::io::Result<()> {
        // `ErrorKind::Interrupted` would mean "try again".
        if interrupt::requested() { Err(std::io::Error::other(Interrupted)) } else { Ok(()) }
    }
}

impl<T: Read> Read for Watched<'_, T> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.check()?;
        let got = interrupt::waiting(|| self.inner.read(buffer))?;
        if self.count {
            self.console.advance(got as u64);
        }
        Ok(got)
    }
}

impl<T: Seek> Seek for Watched<'_, T> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.inner.seek(to)
    }
}

impl<T: Write> Write for Watched<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.check()?;
        interrupt::waiting(|| self.inner.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        interrupt::waiting(|| self.inner.flush())
    }
}
