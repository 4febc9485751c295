//! A profile as a trace: the JSON of chrome://tracing, which Perfetto opens as well.
//!
//! Format: "Trace Event Format" (Google, 2016), its JSON object form. Every device and the host are a process, every stream and
//! every thread of the host a thread of it; a span is a complete event ("X") in microseconds.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::{Span, SpanKind, Track};

/// An event. Fields that a kind of event does not have are left out.
#[derive(Serialize)]
struct Event<'a> {
    ph: &'static str,
    pid: usize,
    tid: usize,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    args: Args<'a>,
}

/// What is shown of an event that is clicked on.
#[derive(Serialize, Default)]
struct Args<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sort_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grid: Option<[u32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<[u32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    registers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_static_bytes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_dynamic_bytes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    occupancy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gigabytes_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_microseconds: Option<f64>,
}

/// Writes spans as a trace.
///
/// # Errors
/// Those of `out`.
///
/// ```
/// use simt_exec::profile::{Profile, Span, SpanKind, Track, write_trace};
///
/// let profile = Profile::new();
/// let track = Track::Thread("reader".into());
/// profile.add(Span { name: "read".into(), track, start: 0.5, seconds: 0.25, host_seconds: 0.0, kind: SpanKind::Stage });
/// let mut json = Vec::new();
/// write_trace(&profile.spans(), &mut json)?;
/// assert!(String::from_utf8_lossy(&json).contains(r#""name":"read","cat":"stage","ts":500000.0,"dur":250000.0"#));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_trace(spans: &[Span], mut out: impl Write) -> io::Result<()> {
    // The host is process 0; tracks come in their order, threads before devices.
    let mut tracks: BTreeMap<&Track, (usize, usize)> = spans.iter().map(|span| (&span.track, (0, 0))).collect();
    let (mut process, mut last) = (0, None);
    for (thread, (track, ids)) in tracks.iter_mut().enumerate() {
        if let Track::Device { device, .. } = track
            && last.replace(device) != Some(device)
        {
            process += 1;
        }
        *ids = (process, thread);
    }
    out.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n")?;
    let mut named = None;
    for (track, &(pid, tid)) in &tracks {
        let (process, thread) = match track {
            Track::Thread(name) => ("host", name.to_string()),
            Track::Device { device, stream: 0 } => (device.as_ref(), "own stream".to_owned()),
            Track::Device { device, stream } => (device.as_ref(), format!("queue {stream}")),
        };
        let meta = |name, args| Event { ph: "M", pid, tid, name, cat: None, ts: None, dur: None, args };
        if named.replace(pid) != Some(pid) {
            line(&mut out, &meta("process_name", Args { name: Some(process), ..Args::default() }))?;
            line(&mut out, &meta("process_sort_index", Args { sort_index: Some(pid), ..Args::default() }))?;
        }
        line(&mut out, &meta("thread_name", Args { name: Some(&thread), ..Args::default() }))?;
        line(&mut out, &meta("thread_sort_index", Args { sort_index: Some(tid), ..Args::default() }))?;
    }
    for span in spans {
        let (pid, tid) = tracks[&span.track];
        let (ts, dur) = (Some(span.start * 1e6), Some(span.seconds * 1e6));
        let (cat, args) = described(span);
        line(&mut out, &Event { ph: "X", pid, tid, name: &span.name, cat: Some(cat), ts, dur, args })?;
    }
    // A list must not end with a comma.
    let none = Args::default();
    let end = Event { ph: "M", pid: 0, tid: 0, name: "trace_end", cat: None, ts: None, dur: None, args: none };
    serde_json::to_writer(&mut out, &end)?;
    out.write_all(b"\n]}\n")
}

fn line(out: &mut impl Write, event: &Event<'_>) -> io::Result<()> {
    serde_json::to_writer(&mut *out, event)?;
    out.write_all(b",\n")
}

fn described(span: &Span) -> (&'static str, Args<'static>) {
    let host_microseconds = Some(span.host_seconds * 1e6);
    match span.kind {
        SpanKind::Stage => ("stage", Args::default()),
        SpanKind::Launch(launch) => {
            let args = Args {
                grid: Some(launch.grid),
                block: Some(launch.block),
                registers: launch.registers,
                shared_static_bytes: launch.shared_static,
                shared_dynamic_bytes: Some(launch.shared_dynamic),
                occupancy: launch.occupancy,
                host_microseconds,
                ..Args::default()
            };
            ("kernel", args)
        }
        SpanKind::Copy { bytes, .. } | SpanKind::Fill { bytes } => {
            let rate = (span.seconds > 0.0).then(|| bytes as f64 / span.seconds / 1e9);
            let args = Args { bytes: Some(bytes), gigabytes_per_second: rate, host_microseconds, ..Args::default() };
            (if matches!(span.kind, SpanKind::Fill { .. }) { "fill" } else { "copy" }, args)
        }
    }
}
