//! Lanes that do not meet: barriers that some miss, warp operations whose masks do not fit, waits that never end.

use simt::emulator::{self, Absence, FaultKind, Options, SyncPoint};
use simt::global::Out;
use simt::launch::LaunchConfig;
use simt::warp::{self, FULL};
use simt::{kernel, shared, thread};

use crate::support::{Device, Source, config};

const HERE: Source =
    Source { file: "simt/tests/emulator/faults_meetings.rs", text: include_str!("faults_meetings.rs") };

shared! {
    static BYTES: [u8; 128];
}

#[kernel]
unsafe fn barrier_left(_output: Out<u32>) {
    if thread::thread_idx_x() % 4 != 3 {
        thread::sync_threads(); // planted: barrier_left
    }
}

#[kernel]
unsafe fn barriers_two(_output: Out<u32>) {
    if thread::thread_idx_x() < 32 {
        thread::sync_threads(); // planted: barriers_two
    } else {
        thread::sync_threads(); // planted: barriers_other
    }
}

#[kernel]
unsafe fn barrier_kinds(_output: Out<u32>) {
    let count = |_: bool| thread::sync_threads_count(true); // planted: barrier_kinds
    if thread::thread_idx_x() == 0 {
        count(true);
    }
    thread::sync_threads(); // planted: barrier_kinds_other
}

#[test]
fn barriers_that_some_lanes_miss_are_found() {
    let config = config([2, 1, 1], [8, 4, 2], 0);
    assert_eq!(
        HERE.message(barrier_left::ENTRY, config, "barrier_left"),
        "the thread waits in sync_threads, and thread (3, 0, 0) of the block has left the kernel"
    );
    let other = |name| format!("{}:{}:", HERE.file, HERE.line(name));
    let text = HERE.message(barriers_two::ENTRY, LaunchConfig::linear(1, 64), "barriers_two");
    let start = "the thread waits in sync_threads, and thread (32, 0, 0) of the block waits in sync_threads at ";
    assert_eq!(text, format!("{start}{}9", other("barriers_other")));
    let text = HERE.message(barrier_kinds::ENTRY, LaunchConfig::linear(1, 64), "barrier_kinds");
    let start = "the thread waits in sync_threads_count, and thread (1, 0, 0) of the block waits in sync_threads at ";
    assert_eq!(text, format!("{start}{}5", other("barrier_kinds_other")));
}

#[kernel]
unsafe fn lane_left(_output: Out<u32>) {
    if warp::lane_id() != 5 {
        warp::warp_shuffle_down(FULL, 1u32, 1, 32); // planted: lane_left
    }
}

#[kernel]
unsafe fn lane_elsewhere(_output: Out<u32>) {
    if warp::lane_id() < 30 {
        warp::sync_warp(FULL); // planted: lane_elsewhere
    } else {
        thread::sync_threads(); // planted: lane_elsewhere_other
    }
}

#[kernel]
unsafe fn masks_differ(_output: Out<u32>) {
    let mask = if warp::lane_id() < 2 { 0x3 } else { 0xFFFF_FFFE };
    warp::warp_vote_any(mask, true); // planted: masks_differ
}

#[kernel]
unsafe fn masks_nested(_output: Out<u32>) {
    let mask = if warp::lane_id() == 0 { 0x3 } else { 0x6 | u32::from(warp::lane_id() == 2) };
    if warp::lane_id() < 3 {
        warp::warp_vote_any(mask, true); // planted: masks_nested
    }
}

#[kernel]
unsafe fn not_in_mask(_output: Out<u32>) {
    warp::warp_vote_ballot(0x7FFF_FFFF, true); // planted: not_in_mask
}

#[kernel]
unsafe fn full_in_part(_output: Out<u32>) {
    warp::sync_warp(FULL); // planted: full_in_part
}

#[kernel]
unsafe fn source_out_of_mask(_output: Out<u32>) {
    if warp::lane_id() < 4 {
        warp::warp_shuffle_xor(0xF, 1.0f64, 4, 32); // planted: source_out_of_mask
    }
}

#[kernel]
unsafe fn odd_width(_output: Out<u32>) {
    warp::warp_shuffle_up(FULL, 1.0f64, 4, 12); // planted: odd_width
}

#[test]
fn warp_operations_that_cannot_meet_are_found() {
    let two = LaunchConfig::linear(1, 64);
    let other = |name| format!("{}:{}:", HERE.file, HERE.line(name));
    for (kernel, config, name, expected) in [
        (
            lane_left::ENTRY,
            two,
            "lane_left",
            "warp_shuffle_down with mask 0xffffffff names lane 5, which has left the kernel".to_owned(),
        ),
        (
            lane_elsewhere::ENTRY,
            two,
            "lane_elsewhere",
            format!(
                "sync_warp with mask 0xffffffff names lane 30, which waits in sync_threads at {}9",
                other("lane_elsewhere_other")
            ),
        ),
        (
            masks_differ::ENTRY,
            two,
            "masks_differ",
            "a warp vote with mask 0xfffffffe names lane 1, which has left the kernel".to_owned(),
        ),
        (
            masks_nested::ENTRY,
            two,
            "masks_nested",
            format!(
                "a warp vote with mask 0x00000003 names lane 1, which waits in a warp vote with mask 0x00000006 at {}9",
                other("masks_nested")
            ),
        ),
        (
            not_in_mask::ENTRY,
            two,
            "not_in_mask",
            "a warp vote with mask 0x7fffffff, which leaves out the calling lane".to_owned(),
        ),
        (
            full_in_part::ENTRY,
            LaunchConfig::linear(1, 16),
            "full_in_part",
            "sync_warp with mask 0xffffffff names lane 16, which does not exist in this block".to_owned(),
        ),
        (
            source_out_of_mask::ENTRY,
            two,
            "source_out_of_mask",
            "warp_shuffle_xor reads lane 4, which its mask 0x0000000f leaves out".to_owned(),
        ),
        (
            odd_width::ENTRY,
            two,
            "odd_width",
            "warp_shuffle_up with width 12, which is no power of two from 1 to 32".to_owned(),
        ),
    ] {
        assert_eq!(HERE.message(kernel, config, name), expected);
    }
}

#[test]
fn a_missed_meeting_names_both_lanes() {
    let mut device = Device::new();
    let output = device.fresh::<u32>(1);
    let fault = device.fault(lane_elsewhere::ENTRY, LaunchConfig::linear(1, 64), &[output.arg::<u32>(true)]);
    assert_eq!((fault.warp, fault.lane), (0, 0));
    let FaultKind::WarpMask { sync_point: SyncPoint::SyncWarp, mask: FULL, lane: 30, absence } = fault.kind else {
        panic!("{fault}");
    };
    assert!(matches!(absence, Absence::Waits { sync_point: SyncPoint::Barrier, mask: None, .. }));
}

/// Waits for another lane without a synchronisation point.
#[kernel]
unsafe fn spins(output: Out<u32>) {
    if thread::thread_idx_x() == 0 {
        while output.atomic_add(0, 0) == 0 {} // planted: spins
    }
    output.atomic_exchange(0, 1);
}

#[kernel]
unsafe fn spins_shared(_output: Out<u32>) {
    let bytes = shared::array::<BYTES>();
    bytes.store(thread::thread_idx_x(), 0);
    while bytes.load(thread::thread_idx_x()) == 0 {}
}

#[test]
fn endless_waits_end() {
    let mut device = Device::new();
    let output = device.upload(&[0u32]);
    let (two, options) = (LaunchConfig::linear(1, 2), Options { spin_limit: 1000, ..Options::default() });
    let arguments = [output.arg::<u32>(true)];
    let mut run = |kernel| emulator::launch(&mut device.memory, &kernel, &two, &arguments, &options).unwrap_err();
    let error = run(spins::ENTRY).to_string();
    assert!(error.contains(&format!(":{}:", HERE.line("spins"))), "{error}");
    assert!(
        error.ends_with("1000 accesses to memory without synchronising with another: it waits for what never comes")
    );
    assert!(run(spins_shared::ENTRY).to_string().contains("1000 accesses"));
}
