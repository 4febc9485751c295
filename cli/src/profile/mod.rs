//! `--profile`: what devices and threads did while a command ran, as sums on stderr and as a trace or a page.
//!
//! ```text
//! stages     what the library says of its threads
//! table      the sums, as text
//! page       the three pictures: shares, calls in their order, time
//! strips     the last two of them
//! ```
//!
//! There is one profile in a process, or none. Devices ask for it when they are opened ([`watch`]), threads by what they say through
//! `tracing` ([`stages`]).

mod page;
mod stages;
mod strips;
mod table;

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use halotile::exec::{Device, DeviceError};
use halotile::io::write_failed;
use halotile::profile::{Profile, Span, Summary, Track, stage, write_trace};

use crate::args::{Loudness, ProfileArgs};
use crate::interrupt;
use crate::outcome::{Done, Usage};
use crate::sink::{self, Sink};
use crate::source::is_dash;

pub use stages::layer;

static PROFILE: OnceLock<Arc<Profile>> = OnceLock::new();

/// Has the profile, if one is wanted, note what a device does.
pub fn watch(device: &dyn Device) -> Result<(), DeviceError> {
    PROFILE.get().map_or(Ok(()), |profile| device.profile(profile))
}

/// What a profile is written as.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Format {
    Trace,
    Page,
}

impl Format {
    fn of(path: &Path) -> Result<Self, Usage> {
        let name = sink::name_of(path);
        if is_dash(path) {
            return Err(Usage("a profile goes to a file, not to standard output; name one after --profile".to_owned()));
        }
        match path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("json") => Ok(Self::Trace),
            Some("html" | "htm") => Ok(Self::Page),
            _ => Err(Usage(format!(
                "{name}: a profile is a trace, .json, or a page, .html; end its name in one of them"
            ))),
        }
    }
}

/// What there is to tell in the end.
struct Report {
    /// The command.
    what: &'static str,
    spans: Vec<Span>,
    summary: Summary,
    /// Seconds from the beginning to the end.
    seconds: f64,
    /// Seconds of them in which the main thread was in a stage.
    in_stages: f64,
}

impl Report {
    fn new(what: &'static str, profile: &Profile) -> Self {
        let (seconds, spans) = (profile.now(), profile.spans());
        let main = |span: &&Span| matches!(&span.track, Track::Thread(name) if name.as_ref() == stages::MAIN);
        let (mut in_stages, mut until) = (0.0, 0.0f64);
        for span in spans.iter().filter(main) {
            in_stages += (span.end() - span.start.max(until)).max(0.0);
            until = until.max(span.end());
        }
        let summary = Summary::new(&spans);
        Self { what, spans, summary, seconds, in_stages }
    }
}

/// Runs a command, `what`, with a profile if one is wanted. The command has made sure that it is a file of its own ([`Roles`](crate::files::Roles)).
pub fn during(
    what: &'static str,
    args: &ProfileArgs,
    overwrite: bool,
    loudness: Loudness,
    run: impl FnOnce() -> anyhow::Result<Done>,
) -> anyhow::Result<Done> {
    let Some(path) = &args.profile else { return run() };
    let format = Format::of(path)?;
    let mut sink = Sink::create(path, overwrite)?;
    let profile = PROFILE.get_or_init(Arc::default);
    let done = run()?;
    let report = Report::new(what, profile);
    let mut bytes = Vec::new();
    match format {
        Format::Trace => write_trace(&report.spans, &mut bytes)?,
        Format::Page => bytes.extend(page::page(&report).into_bytes()),
    }
    let written = interrupt::waiting(|| sink.write_all(&bytes).and_then(|()| sink.flush()));
    written.map_err(|e| write_failed(&sink.name(), e))?;
    sink::commit([sink])?;
    if !loudness.quiet {
        // A line that cannot be written is lost, as all of stderr's are.
        let _ = std::io::stderr().write_all(table::text(&report).as_bytes());
    }
    Ok(done)
}

/// Does something as a stage of this thread.
pub fn staged<R>(name: &'static str, what: impl FnOnce() -> R) -> R {
    let _stage = stage(name);
    what()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_tells_the_format() {
        let of = |name: &str| Format::of(Path::new(name)).map_err(|error| error.to_string());
        assert_eq!(
            (of("a/b.json"), of("b.HTML"), of("b.htm")),
            (Ok(Format::Trace), Ok(Format::Page), Ok(Format::Page))
        );
        for name in ["b", "b.txt", "json"] {
            assert!(of(name).unwrap_err().starts_with(&format!("{name}: a profile is a trace")), "{name}");
        }
        assert!(of("-").unwrap_err().starts_with("a profile goes to a file"));
    }
}
