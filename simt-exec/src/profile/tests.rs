use super::*;

fn span(name: &'static str, device: &str, stream: u32, start: f64, seconds: f64, kind: SpanKind) -> Span {
    let track = Track::Device { device: device.into(), stream };
    Span { name: name.into(), track, start, seconds, host_seconds: 0.5, kind }
}

fn launch() -> SpanKind {
    SpanKind::Launch(Launch {
        grid: [7, 1, 1],
        block: [256, 1, 1],
        registers: Some(32),
        shared_static: None,
        shared_dynamic: 64,
        occupancy: Some(0.5),
    })
}

fn sample() -> Profile {
    let profile = Profile::new();
    let up = SpanKind::Copy { direction: Direction::HostToDevice, bytes: 1000 };
    // Two streams of one device, one of which goes on beside the other; a pause; another device; a thread.
    profile.add(span("kernel", "b", 2, 2.0, 3.0, launch()));
    profile.add(span("copy to device", "b", 1, 1.0, 2.0, up));
    profile.add(span("kernel", "b", 1, 3.0, 1.0, launch()));
    profile.add(span("copy to device", "b", 1, 8.0, 2.0, up));
    profile.add(span("fill", "a", 0, 0.0, 0.5, SpanKind::Fill { bytes: 64 }));
    let track = Track::Thread("main".into());
    profile.add(Span {
        name: "read".into(),
        track,
        start: 0.25,
        seconds: 9.0,
        host_seconds: 0.0,
        kind: SpanKind::Stage,
    });
    profile
}

#[test]
fn spans_come_by_their_start() {
    let starts: Vec<f64> = sample().spans().iter().map(|span| span.start).collect();
    assert_eq!(starts, [0.0, 0.25, 1.0, 2.0, 3.0, 8.0]);
}

#[test]
fn sums_are_by_name_and_busy_time_counts_once_what_goes_on_together() {
    let Summary { lines, devices } = Summary::new(&sample().spans());
    let told: Vec<_> = lines.iter().map(|line| (line.name.as_str(), line.calls, line.seconds, line.bytes)).collect();
    let expected = [
        ("copy to device", 2, 4.0, Some(2000)),
        ("kernel", 2, 4.0, None),
        ("fill", 1, 0.5, Some(64)),
        ("read", 1, 9.0, None),
    ];
    assert_eq!(told, expected);
    assert_eq!((lines[1].range, lines[1].host_seconds, lines[3].on_host), ((1.0, 3.0), 1.0, true));
    let [a, b] = devices.try_into().unwrap();
    assert_eq!((a.device.as_ref(), a.kernels, a.copies, a.busy, a.from_first_to_last), ("a", 0.0, 0.5, 0.5, 0.5));
    // From 1 to 5 and from 8 to 10.
    assert_eq!((b.kernels, b.copies, b.busy, b.from_first_to_last), (4.0, 4.0, 6.0, 9.0));
    assert_eq!(Summary::new(&[]), Summary::default());
}

#[test]
fn a_trace_has_a_process_for_each_device_and_a_thread_for_each_stream() {
    let mut json = Vec::new();
    write_trace(&sample().spans(), &mut json).unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
    let names = |what: &str| -> Vec<String> {
        let named = of("M").into_iter().filter(|event| event["name"] == what);
        named.map(|event| event["args"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("process_name"), ["host", "a", "b"]);
    assert_eq!(names("thread_name"), ["main", "own stream", "queue 1", "queue 2"]);
    let spans = of("X");
    assert_eq!(spans.len(), 6);
    let kernel = spans.iter().find(|event| event["ts"] == 2e6).unwrap();
    assert_eq!(
        (&kernel["dur"], &kernel["cat"], &kernel["args"]["grid"][0]),
        (&3e6.into(), &"kernel".into(), &7.into())
    );
    assert_eq!((&kernel["args"]["occupancy"], &kernel["args"]["shared_static_bytes"]), (&0.5.into(), &().into()));
    let copy = spans.iter().find(|event| event["ts"] == 1e6).unwrap();
    assert_eq!((&copy["args"]["bytes"], &copy["args"]["gigabytes_per_second"]), (&1000.into(), &5e-7.into()));
    assert_ne!((&kernel["pid"], &kernel["tid"]), (&copy["pid"], &copy["tid"]));
    assert_eq!(kernel["pid"], copy["pid"]);
}

#[test]
fn a_profile_of_nothing_is_a_trace() {
    let mut json = Vec::new();
    write_trace(&[], &mut json).unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().iter().all(|event| event["ph"] == "M"));
}

#[test]
fn a_moment_before_the_profile_is_its_beginning() {
    let before = Instant::now();
    let profile = Profile::new();
    assert_eq!(profile.at(before), 0.0);
    assert!(profile.now() >= 0.0);
}
