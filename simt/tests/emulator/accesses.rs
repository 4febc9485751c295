//! Counts of warps' accesses: kernels whose bank conflicts and sectors are known.

use simt::emulator::{self, AccessKind, Accesses, Options, Order, Space, Totals};
use simt::global::{In, Out};
use simt::launch::{Arg, KernelEntry, LaunchConfig};
use simt::{kernel, shared, thread, warp};

use crate::support::{Device, planted};

const SOURCE: &str = include_str!("accesses.rs");

shared! {
    static WORDS: [u32; 2048];
    static BYTES: [u8; 256];
    static DOUBLES: [f64; 64];
    static TILE: [u32; 1024];
    static PADDED: [u32; 1056];
}

fn counted(
    kernel: KernelEntry,
    config: LaunchConfig,
    lane_order: Order,
    arguments: &[Arg],
    device: &mut Device,
) -> Accesses {
    let options = Options { accesses: true, lane_order, ..Options::default() };
    let report = emulator::launch(&mut device.memory, &kernel, &config, arguments, &options);
    report.unwrap_or_else(|error| panic!("{error}")).accesses.expect("they were asked for")
}

/// The totals of the location in the line with this comment.
fn at(accesses: &Accesses, name: &str) -> Totals {
    let line = planted(SOURCE, name);
    let sites: Vec<_> = accesses.sites.iter().filter(|site| site.location.line == line).collect();
    assert_eq!(sites.len(), 1, "{name}: {sites:?}");
    assert!(sites[0].location.file.ends_with("accesses.rs"), "{}", sites[0].location);
    sites[0].totals
}

fn shared_totals(accesses: u64, wavefronts: u64, ideal_wavefronts: u64, max_wavefronts: u32) -> Totals {
    Totals { accesses, wavefronts, ideal_wavefronts, max_wavefronts, ..Totals::default() }
}

fn global_totals(accesses: u64, sectors: u64, max_sectors: u32) -> Totals {
    Totals { accesses, sectors, max_sectors, ..Totals::default() }
}

#[kernel]
unsafe fn strided(stride: u32, rounds: u32) {
    let words = shared::array::<WORDS>();
    for round in 0..rounds {
        words.store(stride * thread::thread_idx_x() + round, round); // planted: strided store
        words.load(stride * thread::thread_idx_x() + round); // planted: strided load
    }
}

#[test]
fn words_a_stride_apart_share_banks() {
    for (stride, degree) in [(1, 1), (2, 2), (3, 1), (32, 32), (12, 4)] {
        for order in [Order::Forward, Order::Reverse, Order::Shuffled(5)] {
            let config = LaunchConfig::linear(3, 32);
            // Neighbours overwrite each other's words between meetings where the stride is below the rounds: one round.
            let rounds: u32 = if stride > 4 { 5 } else { 1 };
            let got = counted(strided::ENTRY, config, order, &[u32::into(stride), rounds.into()], &mut Device::new());
            let times = 3 * u64::from(rounds);
            let expected = shared_totals(times, times * degree, times, degree as u32);
            assert_eq!(at(&got, "strided store"), expected, "stride {stride}");
            assert_eq!(at(&got, "strided load"), expected, "stride {stride}");
            assert_eq!(got.sum(Space::Shared, AccessKind::Read), expected);
            assert_eq!(got.sum(Space::Global, AccessKind::Read), Totals::default());
            assert_eq!(expected.bank_conflicts(), times * (degree - 1));
        }
    }
}

#[kernel]
unsafe fn of_all_widths() {
    let i = thread::thread_idx_x();
    let (words, bytes, doubles) = (shared::array::<WORDS>(), shared::array::<BYTES>(), shared::array::<DOUBLES>());
    words.store4(4 * i, [1; 4]); // planted: four words
    for k in 0..2 {
        bytes.store(32 * k + i, 1); // planted: every byte
        doubles.store(32 * k + i, 1.0); // planted: doubles
    }
    thread::sync_threads();
    words.load(77); // planted: broadcast
    bytes.load(i); // planted: bytes
    bytes.cast::<u16>().load(i); // planted: halves
    words.cast::<u8>().load(4 * i); // planted: bytes of words
    words.cast::<u8>().load(8 * i % 128); // planted: bytes of some words
    doubles.load(2 * i); // planted: doubles apart
}

#[test]
fn narrow_lanes_share_words_and_wide_ones_come_in_groups() {
    let got = counted(of_all_widths::ENTRY, LaunchConfig::linear(1, 32), Order::Forward, &[], &mut Device::new());
    for (name, accesses, wavefronts, ideal, most) in [
        ("four words", 1, 4, 4, 4),
        ("every byte", 2, 2, 2, 1),
        ("doubles", 2, 4, 4, 2),
        ("broadcast", 1, 1, 1, 1),
        ("bytes", 1, 1, 1, 1),
        ("halves", 1, 1, 1, 1),
        ("bytes of words", 1, 1, 1, 1),
        ("bytes of some words", 1, 1, 1, 1),
        ("doubles apart", 1, 4, 2, 4),
    ] {
        assert_eq!(at(&got, name), shared_totals(accesses, wavefronts, ideal, most), "{name}");
    }
    let widths: Vec<u32> = got.sites.iter().map(|site| site.bytes).collect();
    assert_eq!(widths, [16, 1, 8, 4, 1, 2, 1, 1, 8], "in the order of the source");
}

#[kernel]
unsafe fn columns() {
    let (row, column) = (thread::thread_idx_y(), thread::thread_idx_x());
    let (tile, padded) = (shared::array::<TILE>(), shared::array::<PADDED>());
    tile.store(32 * row + column, 1); // planted: rows
    padded.store(33 * row + column, 1); // planted: padded rows
    thread::sync_threads();
    tile.load(32 * column + row); // planted: columns
    padded.load(33 * column + row); // planted: padded columns
}

#[test]
fn a_column_lies_in_one_bank_unless_its_rows_are_padded() {
    let config = LaunchConfig { grid: [2, 1, 1], block: [32, 32, 1], shared_bytes: 0 };
    let got = counted(columns::ENTRY, config, Order::Forward, &[], &mut Device::new());
    assert_eq!(at(&got, "rows"), shared_totals(64, 64, 64, 1));
    assert_eq!(at(&got, "padded rows"), shared_totals(64, 64, 64, 1));
    assert_eq!(at(&got, "columns"), shared_totals(64, 64 * 32, 64, 32));
    assert_eq!(at(&got, "padded columns"), shared_totals(64, 64, 64, 1));
}

#[kernel]
unsafe fn copy(input: In<f32>, output: Out<f32>, stride: u32, offset: u32) {
    let i = (thread::index_x() * stride + offset) as usize;
    output.store(i, input.load(i));
}

#[test]
fn sectors_follow_stride_and_offset() {
    for (stride, offset, sectors) in
        [(1u32, 0u32, 4), (1, 1, 5), (1, 8, 4), (2, 0, 8), (8, 0, 32), (8, 1, 32), (31, 7, 32)]
    {
        let mut device = Device::new();
        let (input, output) = (device.upload(&[1f32; 8192]), device.fresh::<f32>(8192));
        let arguments = [input.arg::<f32>(false), output.arg::<f32>(true), stride.into(), offset.into()];
        let got = counted(copy::ENTRY, LaunchConfig::linear(4, 64), Order::Forward, &arguments, &mut device);
        let expected = global_totals(8, 8 * sectors, sectors as u32);
        assert_eq!(got.sum(Space::Global, AccessKind::Read), expected, "stride {stride}, offset {offset}");
        assert_eq!(got.sum(Space::Global, AccessKind::Write), expected, "stride {stride}, offset {offset}");
        assert_eq!(got.sum(Space::Shared, AccessKind::Write), Totals::default());
    }
}

#[test]
fn a_part_of_a_buffer_lies_where_it_lies() {
    let mut device = Device::new();
    let (input, output) = (device.upload(&[1f32; 100]), device.fresh::<f32>(100));
    let arguments = [input.slice(4, 256).arg::<f32>(false), output.arg::<f32>(true), 1u32.into(), 0u32.into()];
    let got = counted(copy::ENTRY, LaunchConfig::linear(1, 32), Order::Forward, &arguments, &mut device);
    assert_eq!(got.sum(Space::Global, AccessKind::Read), global_totals(1, 5, 5));
    assert_eq!(got.sum(Space::Global, AccessKind::Write), global_totals(1, 4, 4));
}

#[kernel]
unsafe fn in_turns(words: Out<u32>) {
    let (shared, i) = (shared::array::<WORDS>(), thread::thread_idx_x());
    // Lanes come at different times; a barrier, or a synchronisation of the warp, makes those behind it later ones.
    for round in 0..2 {
        if i < 16 || round == 1 {
            shared.store(32 * i, i); // planted: half, then all
        }
        thread::sync_threads();
    }
    for round in 0..2 {
        if i >= 8 || round == 1 {
            shared.load(32 * i); // planted: three quarters, then all
        }
        warp::warp_vote_ballot(warp::FULL, true);
    }
    // Here some lanes synchronise while others have gone ahead: they are together again afterwards.
    if i < 4 {
        warp::warp_vote_ballot(0b1111, true);
    }
    shared.load(32 * i); // planted: together
    words.atomic_add(0, 1);
}

#[test]
fn lanes_belong_together_between_meetings() {
    for order in [Order::Forward, Order::Reverse, Order::Shuffled(9)] {
        let mut device = Device::new();
        let arguments = [device.upload(&[0u32]).arg::<u32>(true)];
        let got = counted(in_turns::ENTRY, LaunchConfig::linear(1, 32), order, &arguments, &mut device);
        assert_eq!(at(&got, "half, then all"), shared_totals(2, 48, 2, 32));
        assert_eq!(at(&got, "three quarters, then all"), shared_totals(2, 56, 2, 32));
        assert_eq!(at(&got, "together"), shared_totals(1, 32, 1, 32));
        assert_eq!(got.sites.len(), 3, "atomic operations are left out");
    }
}

#[test]
fn nothing_is_counted_unasked() {
    let report = Device::new().launch(strided::ENTRY, LaunchConfig::linear(1, 32), &[1u32.into(), 1u32.into()]);
    assert_eq!(report.accesses, None);
}
