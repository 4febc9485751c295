//! Planted races, each on its own: which two threads, and which two lines.

use simt::emulator::{AccessKind, Fault, FaultKind, LaunchError, Options, TexelFormat};
use simt::global::{In, Out};
use simt::launch::{Arg, KernelEntry, LaunchConfig};
use simt::texture::Texture1d;
use simt::warp::{self, FULL};
use simt::{emulator, kernel, shared, thread};

use crate::support::{Device, planted};

fn line(name: &str) -> u32 {
    planted(include_str!("races.rs"), name)
}

/// Launches a kernel of one `Out<u32>` of 256 zeros.
fn fault(kernel: KernelEntry, config: LaunchConfig) -> Fault {
    let mut device = Device::new();
    let output = device.upload(&[0u32; 256]);
    device.fault(kernel, config, &[output.arg::<u32>(true)])
}

/// The lines of both accesses, their kinds, and the other thread.
fn accesses(fault: &Fault) -> ([u32; 2], [AccessKind; 2], [u32; 3]) {
    let FaultKind::Race { access, ref other, .. } = fault.kind else { panic!("{fault}") };
    let lines = [&fault.at, &other.at].map(|place| place.as_ref().expect("a place").line);
    (lines, [access, other.access], other.thread)
}

shared! {
    static TILE: [u32; 128];
    static BYTES: [u8; 128];
    static WIDE: [u64; 64];
}

/// Reads its neighbour's element without a barrier in between.
#[kernel]
unsafe fn missing_barrier(output: Out<u32>) {
    let (tile, i) = (shared::array::<TILE>(), thread::thread_idx_x());
    tile.store(i, i); // planted: missing_barrier_store
    let value = tile.load(i ^ 1); // planted: missing_barrier_load
    output.store(i as usize, value);
}

/// As before, over the border of a warp.
#[kernel]
unsafe fn missing_barrier_warps(output: Out<u32>) {
    let (tile, i) = (shared::array::<TILE>(), thread::thread_idx_x());
    tile.store(i, i); // planted: warps_store
    warp::sync_warp(FULL);
    let value = tile.load(i ^ 32); // planted: warps_load
    output.store(i as usize, value);
}

/// The barrier before the next round's writes is missing.
#[kernel]
unsafe fn missing_second_barrier(output: Out<u32>) {
    let (tile, i) = (shared::array::<TILE>(), thread::thread_idx_x());
    tile.store(i, i);
    thread::sync_threads();
    let value = tile.load(127 - i); // planted: second_load
    tile.store(i, value + 1); // planted: second_store
    output.store(i as usize, value);
}

/// All write one word.
#[kernel]
unsafe fn all_write(_output: Out<u32>) {
    shared::array::<TILE>().store(5, thread::thread_idx_x()); // planted: all_write
}

#[test]
fn races_on_shared_memory_name_both_threads_and_lines() {
    use AccessKind::{Read, Write};
    let (one, four) = (LaunchConfig::linear(1, 32), LaunchConfig::linear(1, 128));

    // Lane 0 runs first and reads what was not written; in the other orders it is a race.
    let mut device = Device::new();
    let output = device.upload(&[0u32; 256]);
    let options = Options { uninitialised: false, ..Options::default() };
    let arguments = [output.arg::<u32>(true)];
    let result = emulator::launch(&mut device.memory, &missing_barrier::ENTRY, &one, &arguments, &options);
    let LaunchError::Fault(found) = result.unwrap_err() else { panic!("a race is planted") };
    let lines = [line("missing_barrier_store"), line("missing_barrier_load")];
    assert_eq!(accesses(&found), (lines, [Write, Read], [0, 0, 0]));
    assert_eq!(
        found.to_string(),
        format!(
            "kernel missing_barrier, block (0, 0, 0), thread (1, 0, 0) (warp 0, lane 1), \
             simt/tests/emulator/races.rs:{}:10: race at byte 4 of shared TILE: this thread writes what thread (0, 0, 0) \
             of block (0, 0, 0) read at simt/tests/emulator/races.rs:{}:22, and nothing orders the two",
            lines[0], lines[1]
        )
    );

    let found = fault(missing_barrier_warps::ENTRY, LaunchConfig::linear(1, 64));
    assert!(matches!(found.kind, FaultKind::Uninitialised { .. }), "{found}");

    let found = fault(missing_second_barrier::ENTRY, four);
    let lines = [line("second_load"), line("second_store")];
    assert_eq!((found.thread, accesses(&found)), ([64, 0, 0], (lines, [Read, Write], [63, 0, 0])));

    let found = fault(all_write::ENTRY, one);
    assert_eq!(accesses(&found), ([line("all_write"); 2], [Write, Write], [0, 0, 0]));
}

/// Runs without the report of unwritten memory, which comes first where a reader is ahead of its writer.
fn race_only(kernel: KernelEntry, config: LaunchConfig) -> Result<(), Box<Fault>> {
    let mut device = Device::new();
    let output = device.upload(&[0u32; 256]);
    let options = Options { uninitialised: false, ..Options::default() };
    match emulator::launch(&mut device.memory, &kernel, &config, &[output.arg::<u32>(true)], &options) {
        Ok(_) => Ok(()),
        Err(LaunchError::Fault(fault)) => Err(fault),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn syncing_warps_does_not_order_other_warps() {
    let fault = race_only(missing_barrier_warps::ENTRY, LaunchConfig::linear(1, 64)).unwrap_err();
    let lines = [line("warps_store"), line("warps_load")];
    assert_eq!(accesses(&fault), (lines, [AccessKind::Write, AccessKind::Read], [0, 0, 0]));
    assert_eq!(fault.thread, [32, 0, 0]);
}

/// Neighbours within a warp, with something between store and load.
fn exchange(output: Out<u32>, between: impl Fn()) {
    let (tile, i) = (shared::array::<TILE>(), thread::thread_idx_x());
    tile.store(i, i);
    between();
    let value = tile.load(i ^ 1);
    between();
    tile.store(i, value);
    output.store(i as usize, value);
}

#[kernel]
unsafe fn with_sync_warp(output: Out<u32>) {
    exchange(output, || warp::sync_warp(FULL));
}

#[kernel]
unsafe fn with_vote(output: Out<u32>) {
    exchange(output, || {
        warp::warp_vote_any(FULL, true);
    });
}

#[kernel]
unsafe fn with_pair_sync(output: Out<u32>) {
    exchange(output, || warp::sync_warp(3 << (warp::lane_id() / 2 * 2)));
}

#[kernel]
unsafe fn with_half_sync(output: Out<u32>) {
    let odd = warp::lane_id() % 2;
    exchange(output, || warp::sync_warp(0x5555_5555 << odd));
}

#[test]
fn in_a_warp_only_sync_warp_orders_and_only_the_lanes_of_its_mask() {
    let config = LaunchConfig::linear(1, 64);
    race_only(with_sync_warp::ENTRY, config).unwrap();
    race_only(with_pair_sync::ENTRY, config).unwrap();
    for kernel in [with_vote::ENTRY, with_half_sync::ENTRY] {
        let fault = race_only(kernel, config).unwrap_err();
        assert_eq!((fault.thread, accesses(&fault).2), ([0, 0, 0], [1, 0, 0]), "{fault}");
    }
}

/// Three lanes of each warp read and sync with each other, and then one of them, in the last warp, writes.
#[kernel]
unsafe fn read_by_several(_output: Out<u32>) {
    let (tile, i) = (shared::array::<TILE>(), thread::thread_idx_x());
    if i == 9 {
        tile.store(0, 1);
    }
    thread::sync_threads();
    if i % 32 < 3 {
        tile.load(0);
        warp::sync_warp(7);
    }
    if i == thread::block_dim_x() - 30 {
        tile.store(0, 2); // planted: read_by_several
    }
}

/// All lanes read, vote (which orders nothing), and the first of them writes.
#[kernel]
unsafe fn written_by_reader(_output: Out<u32>) {
    let (tile, i) = (shared::array::<TILE>(), thread::thread_idx_x());
    tile.store(i, 1);
    warp::sync_warp(FULL);
    tile.load(0);
    warp::warp_vote_any(FULL, true);
    if i == 0 {
        tile.store(0, 2); // planted: written_by_reader
    }
}

#[test]
fn many_readers_are_remembered() {
    let found = race_only(written_by_reader::ENTRY, LaunchConfig::linear(1, 32)).unwrap_err();
    assert_eq!(found.at.as_ref().map(|at| at.line), Some(line("written_by_reader")), "{found}");
    race_only(read_by_several::ENTRY, LaunchConfig::linear(1, 32)).unwrap();
    let fault = race_only(read_by_several::ENTRY, LaunchConfig::linear(1, 64)).unwrap_err();
    assert_eq!(fault.at.as_ref().map(|at| at.line), Some(line("read_by_several")), "{fault}");
}

/// Neighbouring bytes of a word, and a word over them: only the last is a race.
#[kernel]
unsafe fn bytes_and_words(_output: Out<u32>) {
    let (bytes, i) = (shared::array::<BYTES>(), thread::thread_idx_x());
    bytes.store(i, 1);
    if i == 70 {
        bytes.cast::<u32>().load(1); // planted: bytes_and_words
    }
}

#[kernel]
unsafe fn wide_and_words(_output: Out<u32>) {
    let (wide, i) = (shared::array::<WIDE>(), thread::thread_idx_x());
    if i < 64 {
        wide.store(i, 1);
    } else if i == 70 {
        wide.cast::<u16>().load(21); // planted: wide_and_words
    }
}

#[test]
fn races_are_found_byte_by_byte() {
    for (kernel, offset, name) in
        [(bytes_and_words::ENTRY, 4, "bytes_and_words"), (wide_and_words::ENTRY, 42, "wide_and_words")]
    {
        let error = fault(kernel, LaunchConfig::linear(1, 128));
        let FaultKind::Race { offset: at, .. } = error.kind else { panic!("{error}") };
        assert_eq!((at, error.at.map(|at| at.line)), (offset, Some(line(name))));
    }
}

/// Bytes, then the words over them, then halves: of neighbours each time, which is no race. `and_more`: a look at one that is another's.
#[inline(always)]
fn parts_and_wholes(and_more: impl FnOnce(shared::Shared<u8>, u32)) {
    let (bytes, i) = (shared::array::<BYTES>(), thread::thread_idx_x());
    bytes.store(i, 1);
    thread::sync_threads();
    if i < 32 {
        bytes.cast::<u32>().store(i, 2); // planted: whole_word
    }
    thread::sync_threads();
    if i < 64 {
        bytes.cast::<u16>().store(i, 3); // planted: half
    }
    and_more(bytes, i);
}

#[kernel]
unsafe fn parts_apart(_output: Out<u32>) {
    parts_and_wholes(|_, _| {});
}

#[kernel]
unsafe fn half_of_another(_output: Out<u32>) {
    parts_and_wholes(|bytes, i| {
        if i == 70 {
            bytes.cast::<u16>().load(21); // planted: half_of_another
        }
    });
}

#[kernel]
unsafe fn byte_of_another(_output: Out<u32>) {
    parts_and_wholes(|bytes, i| {
        if i == 70 {
            bytes.load(43); // planted: byte_of_another
        }
    });
}

/// A word that was split and is whole again: its bytes have the record of the store to all of it.
#[kernel]
unsafe fn byte_of_anothers_word(_output: Out<u32>) {
    let (bytes, i) = (shared::array::<BYTES>(), thread::thread_idx_x());
    bytes.store(i, 1);
    thread::sync_threads();
    if i < 32 {
        bytes.cast::<u32>().store(i, 2); // planted: anothers_word
    } else if i == 70 {
        bytes.load(43); // planted: byte_of_anothers_word
    }
}

/// A word of which one half had a reader before: the halves stay apart.
#[kernel]
unsafe fn half_that_was_read(_output: Out<u32>) {
    let (bytes, i) = (shared::array::<BYTES>(), thread::thread_idx_x());
    bytes.store(i, 1);
    thread::sync_threads();
    if i == 3 {
        bytes.cast::<u16>().load(21); // planted: half_that_was_read
    }
    if i == 70 {
        bytes.cast::<u32>().load(10);
        bytes.cast::<u16>().store(21, 1); // planted: half_that_is_written
    }
}

#[test]
fn parts_of_words_have_records_of_their_own_and_wholes_one() {
    let four = LaunchConfig::linear(1, 128);
    race_only(parts_apart::ENTRY, four).unwrap();
    for (kernel, offset, lines, other) in [
        (half_of_another::ENTRY, 42, ["half", "half_of_another"], 21),
        (byte_of_another::ENTRY, 43, ["half", "byte_of_another"], 21),
        (byte_of_anothers_word::ENTRY, 43, ["anothers_word", "byte_of_anothers_word"], 10),
    ] {
        let found = fault(kernel, four);
        let FaultKind::Race { offset: at, .. } = found.kind else { panic!("{found}") };
        let [before, now] = lines.map(line);
        assert_eq!((at, accesses(&found).0, accesses(&found).2), (offset, [now, before], [other, 0, 0]), "{found}");
    }
    let found = fault(half_that_was_read::ENTRY, four);
    let lines = [line("half_that_was_read"), line("half_that_is_written")];
    assert_eq!(accesses(&found), ([lines[1], lines[0]], [AccessKind::Write, AccessKind::Read], [3, 0, 0]), "{found}");
}

/// Counts atomically, and reads plainly before the barrier.
#[kernel]
unsafe fn atomic_and_plain(output: Out<u32>) {
    let (tile, i) = (shared::array::<TILE>(), thread::thread_idx_x());
    if i == 0 {
        tile.store(0, 0);
    }
    thread::sync_threads();
    tile.atomic_add(0, 1);
    if i == 40 {
        output.store(0, tile.load(0)); // planted: atomic_and_plain
    }
}

/// Stores plainly, then counts atomically: another lane's atomic races with the store.
#[kernel]
unsafe fn plain_then_atomic(_output: Out<u32>) {
    let (tile, i) = (shared::array::<TILE>(), thread::thread_idx_x());
    if i == 0 {
        tile.store(0, 0);
    }
    tile.atomic_add(0, 1); // planted: plain_then_atomic
}

#[test]
fn atomics_race_with_everything_but_atomics() {
    use AccessKind::{Atomic, Read, Write};
    let config = LaunchConfig::linear(1, 64);
    let fault = race_only(atomic_and_plain::ENTRY, config).unwrap_err();
    assert_eq!(fault.at.as_ref().map(|at| at.line), Some(line("atomic_and_plain")));
    assert_eq!(accesses(&fault).1, [Read, Atomic]);
    let fault = race_only(plain_then_atomic::ENTRY, config).unwrap_err();
    assert_eq!((fault.at.as_ref().map(|at| at.line), fault.thread), (Some(line("plain_then_atomic")), [1, 0, 0]));
    assert_eq!(accesses(&fault).1, [Atomic, Write]);
}

/// Each block writes 32 elements, or 33 if it has that many threads, which is one too many.
#[kernel]
unsafe fn blocks_overlap(output: Out<u32>) {
    let i = (thread::block_idx_x() * 32 + thread::thread_idx_x()) as usize;
    output.store(i, 1); // planted: blocks_overlap
}

/// Reads what the block before wrote.
#[kernel]
unsafe fn blocks_read(output: Out<u32>) {
    let i = thread::index_x() as usize;
    output.store(i, 1); // planted: blocks_read_store
    if i >= 64 {
        output.load(i - 64); // planted: blocks_read_load
    }
}

/// Within a block: neighbours, a barrier missing.
#[kernel]
unsafe fn global_in_block(output: Out<u32>) {
    let i = thread::index_x() as usize;
    output.store(i, 1); // planted: global_in_block_store
    if thread::block_idx_x() == 0 {
        thread::sync_threads();
    }
    output.load(i ^ 2); // planted: global_in_block_load
}

/// Block 0 counts atomically, block 1 stores plainly.
#[kernel]
unsafe fn blocks_atomic(output: Out<u32>) {
    if thread::block_idx_x() == 0 {
        output.atomic_add(3, 1);
    } else {
        output.store(3, 1); // planted: blocks_atomic
    }
}

#[test]
fn races_on_global_memory_are_found_between_blocks_and_inside() {
    use AccessKind::{Atomic, Read, Write};
    let found = fault(blocks_overlap::ENTRY, LaunchConfig::linear(2, 33));
    assert_eq!((found.block, found.thread), ([1, 0, 0], [0, 0, 0]));
    assert_eq!(
        found.kind.to_string(),
        format!(
            "race at byte 128 of global output: this thread writes what thread (32, 0, 0) of block (0, 0, 0) wrote at \
             simt/tests/emulator/races.rs:{}:12, and nothing orders the two",
            line("blocks_overlap")
        )
    );
    let found = fault(blocks_read::ENTRY, LaunchConfig::linear(3, 64));
    let lines = [line("blocks_read_load"), line("blocks_read_store")];
    assert_eq!((found.block, accesses(&found)), ([1, 0, 0], (lines, [Read, Write], [0, 0, 0])));
    let found = fault(global_in_block::ENTRY, LaunchConfig::linear(2, 64));
    let lines = [line("global_in_block_store"), line("global_in_block_load")];
    assert_eq!((found.block, accesses(&found)), ([1, 0, 0], (lines, [Write, Read], [0, 0, 0])));
    let found = fault(blocks_atomic::ENTRY, LaunchConfig::linear(2, 1));
    assert_eq!(accesses(&found).1, [Write, Atomic]);
}

/// A global read in an early block and a write in a late one.
#[kernel]
unsafe fn late_write(output: Out<u32>) {
    output.load(7); // planted: late_write_load
    if thread::block_idx_x() == 3 {
        output.store(7, 1); // planted: late_write_store
    }
}

#[test]
fn reads_of_earlier_blocks_are_remembered() {
    let found = fault(late_write::ENTRY, LaunchConfig::linear(4, 1));
    let FaultKind::Race { ref other, .. } = found.kind else { panic!("{found}") };
    assert_eq!((found.block, other.block), ([3, 0, 0], [0, 0, 0]));
    assert_eq!(accesses(&found).0, [line("late_write_store"), line("late_write_load")]);
}

/// Reads through the read-only path what the launch writes.
#[kernel]
unsafe fn in_place(input: In<u32>, output: Out<u32>) {
    let i = thread::index_x() as usize;
    output.store(i, 1); // planted: in_place_store
    input.load(i); // planted: in_place_load
}

#[kernel]
unsafe fn in_place_texture(input: Texture1d<u32>, output: Out<u32>) {
    output.store(thread::index_x() as usize, input.fetch(0)); // planted: in_place_texture
}

#[test]
fn read_only_loads_of_what_the_launch_writes_are_found() {
    let mut device = Device::new();
    let buffer = device.upload(&[0u32; 64]);
    let both = |argument: Arg| [argument, buffer.arg::<u32>(true)];
    let arguments = both(buffer.arg::<u32>(false));
    let found = device.fault(in_place::ENTRY, LaunchConfig::linear(1, 64), &arguments);
    assert_eq!(
        found.kind.to_string(),
        format!(
            "a read-only load at byte 0 of global input, which thread (0, 0, 0) of block (0, 0, 0) wrote at \
             simt/tests/emulator/races.rs:{}:12 in the same launch",
            line("in_place_store")
        )
    );
    assert_eq!(found.at.map(|at| at.line), Some(line("in_place_load")));
    let texture = device.memory.texture_1d(buffer, TexelFormat::U32, 64);
    let found = device.try_launch(in_place_texture::ENTRY, LaunchConfig::linear(1, 64), &both(texture.arg()));
    let error = found.unwrap_err();
    assert!(matches!(error.fault().map(|fault| &fault.kind), Some(FaultKind::ReadOnly { .. })), "{error}");
}

/// A launch sees nothing of the launches before.
#[test]
fn launches_are_ordered() {
    let mut device = Device::new();
    let buffer = device.upload(&[0u32; 256]);
    for _ in 0..2 {
        device.launch(blocks_overlap::ENTRY, LaunchConfig::linear(2, 32), &[buffer.arg::<u32>(true)]);
        let arguments = [buffer.arg::<u32>(false), device.fresh::<u32>(64).arg::<u32>(true)];
        let error = device.try_launch(in_place::ENTRY, LaunchConfig::linear(1, 64), &arguments);
        error.unwrap();
    }
}

#[test]
fn the_race_detector_can_be_switched_off() {
    let mut device = Device::new();
    let output = device.upload(&[0u32; 256]);
    let options = Options { races: false, ..Options::default() };
    let arguments = [output.arg::<u32>(true)];
    for kernel in [all_write::ENTRY, blocks_atomic::ENTRY, late_write::ENTRY, missing_second_barrier::ENTRY] {
        let config = LaunchConfig::linear(if kernel.name == "late_write" { 4 } else { 1 }, 128);
        emulator::launch(&mut device.memory, &kernel, &config, &arguments, &options).unwrap();
    }
}
