//! Sums of a profile: by name, and how busy each device was.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Span, SpanKind, Track};

/// All spans of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The kernel, the kind of copy, the stage.
    pub name: String,
    /// True for what threads of the host did.
    pub on_host: bool,
    /// How often.
    pub calls: usize,
    /// Seconds of all calls.
    pub seconds: f64,
    /// Seconds of the shortest and the longest.
    pub range: (f64, f64),
    /// Seconds that threads took to start them.
    pub host_seconds: f64,
    /// Bytes moved, where that is known.
    pub bytes: Option<usize>,
}

/// What a device did. Its kernels and copies may go on at the same time, so that their sums exceed `busy`.
#[derive(Debug, Clone, PartialEq)]
pub struct Busy {
    /// The device.
    pub device: Arc<str>,
    /// Seconds of kernels.
    pub kernels: f64,
    /// Seconds of copies and fills.
    pub copies: f64,
    /// Seconds in which there was at least one.
    pub busy: f64,
    /// Seconds from the first beginning to the last end.
    pub from_first_to_last: f64,
}

/// Sums of a profile.
///
/// ```
/// use simt_exec::profile::{Profile, Span, SpanKind, Summary, Track};
///
/// let profile = Profile::new();
/// for start in [0.0, 2.0] {
///     let track = Track::Thread("reader".into());
///     profile.add(Span { name: "read".into(), track, start, seconds: 1.5, host_seconds: 0.0, kind: SpanKind::Stage });
/// }
/// let summary = Summary::new(&profile.spans());
/// assert_eq!((summary.lines[0].calls, summary.lines[0].seconds), (2, 3.0));
/// assert!(summary.devices.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// A line for each name, devices' before hosts', then by their seconds, the most first.
    pub lines: Vec<Line>,
    /// Every device that did something.
    pub devices: Vec<Busy>,
}

impl Summary {
    /// Of spans in the order of their start, as [`Profile::spans`](super::Profile::spans) gives them.
    pub fn new(spans: &[Span]) -> Self {
        let mut lines: BTreeMap<(bool, &str), Line> = BTreeMap::new();
        let mut devices: BTreeMap<&Arc<str>, Vec<&Span>> = BTreeMap::new();
        for span in spans {
            let on_host = matches!(span.track, Track::Thread(_));
            let line = lines.entry((on_host, span.name.as_ref())).or_insert_with(|| Line {
                name: span.name.clone().into_owned(),
                on_host,
                calls: 0,
                seconds: 0.0,
                range: (f64::INFINITY, 0.0),
                host_seconds: 0.0,
                bytes: None,
            });
            line.calls += 1;
            line.seconds += span.seconds;
            line.range = (line.range.0.min(span.seconds), line.range.1.max(span.seconds));
            line.host_seconds += span.host_seconds;
            if let Some(bytes) = span.kind.bytes() {
                *line.bytes.get_or_insert(0) += bytes;
            }
            if let Track::Device { device, .. } = &span.track {
                devices.entry(device).or_default().push(span);
            }
        }
        let mut lines: Vec<Line> = lines.into_values().collect();
        lines.sort_by(|a, b| a.on_host.cmp(&b.on_host).then(b.seconds.total_cmp(&a.seconds)));
        Self { lines, devices: devices.into_iter().map(|(device, spans)| busy(device, &spans)).collect() }
    }
}

/// The sums of a device's spans, which are in the order of their start.
fn busy(device: &Arc<str>, spans: &[&Span]) -> Busy {
    let sum = |kernels| {
        let those = spans.iter().filter(|span| matches!(span.kind, SpanKind::Launch(_)) == kernels);
        those.map(|span| span.seconds).sum()
    };
    let (mut busy, mut until) = (0.0, f64::NEG_INFINITY);
    for span in spans {
        busy += (span.end() - span.start.max(until)).max(0.0);
        until = until.max(span.end());
    }
    let first = spans.first().map_or(0.0, |span| span.start);
    Busy {
        device: Arc::clone(device),
        kernels: sum(true),
        copies: sum(false),
        busy,
        from_first_to_last: until.max(first) - first,
    }
}
