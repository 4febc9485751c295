//! One mistake a kernel, none of them a race: bounds, alignment, unwritten memory, panics.

use simt::emulator::{self, FaultKind, Options, TexelFormat};
use simt::global::{In, Out};
use simt::launch::LaunchConfig;
use simt::texture::Texture1d;
use simt::{constant, kernel, shared, thread};

use crate::support::{Device, Source, config};

const HERE: Source = Source { file: "simt/tests/emulator/faults.rs", text: include_str!("faults.rs") };

#[kernel]
unsafe fn store_beyond(output: Out<u32>) {
    if thread::index_x() < 101 {
        output.store(thread::index_x() as usize, 1); // planted: store_beyond
    }
}

#[test]
fn a_whole_message_reads_well() {
    let mut device = Device::new();
    let output = device.fresh::<u32>(100);
    let fault = device.fault(store_beyond::ENTRY, config([3, 1, 1], [40, 1, 2], 0), &[output.arg::<u32>(true)]);
    assert_eq!((fault.block, fault.thread, fault.warp, fault.lane), ([0, 0, 0], [0, 0, 1], 1, 8));
    assert!(matches!(fault.kind, FaultKind::Race { .. }), "threads 0 and 40 store the same: {fault}");

    let fault = device.fault(store_beyond::ENTRY, config([3, 1, 1], [40, 1, 1], 0), &[output.arg::<u32>(true)]);
    let (file, line) = (HERE.file, HERE.line("store_beyond"));
    assert_eq!(
        fault.to_string(),
        format!(
            "kernel store_beyond, block (2, 0, 0), thread (20, 0, 0) (warp 0, lane 20), {file}:{line}:16: \
             index 100 is outside the 100 elements of global output"
        )
    );
}

#[kernel]
unsafe fn load_beyond(input: In<u8>, output: Out<u8>) {
    let value = input.load(thread::index_x() as usize + 3); // planted: load_beyond
    output.store(thread::index_x() as usize, value);
}

#[kernel]
unsafe fn load_huge(input: In<u32>, output: Out<u32>) {
    output.store(0, input.load(usize::MAX)); // planted: load_huge
}

#[kernel]
unsafe fn load_four(input: In<u32>, output: Out<u32>) {
    output.store(0, input.load4(8)[0]); // planted: load_four
}

#[kernel]
unsafe fn load_four_off(input: In<u32>, output: Out<u32>) {
    output.store(0, input.load4(2)[0]); // planted: load_four_off
}

#[kernel]
unsafe fn cast_beyond(input: In<u8>, output: Out<u8>) {
    output.store(0, input.cast::<u64>().load(1) as u8); // planted: cast_beyond
}

#[kernel]
unsafe fn cast_off(input: In<u8>, output: Out<u8>) {
    output.store(0, input.cast::<u32>().load(0) as u8); // planted: cast_off
}

#[test]
fn indices_into_buffers_are_checked() {
    let mut device = Device::new();
    let (input, output) = (device.upload(&[7u32; 10]), device.fresh::<u32>(10));
    let one = LaunchConfig::linear(1, 1);
    let words = [input.arg::<u32>(false), output.arg::<u32>(true)];
    let bytes = [input.slice(0, 10).arg::<u8>(false), output.arg::<u8>(true)];
    let off = [input.slice(2, 30).arg::<u8>(false), output.arg::<u8>(true)];
    for (kernel, config, arguments, name, expected) in [
        (
            load_beyond::ENTRY,
            LaunchConfig::linear(1, 8),
            bytes,
            "load_beyond",
            "index 10 is outside the 10 elements of global input",
        ),
        (
            load_huge::ENTRY,
            one,
            words,
            "load_huge",
            "index 18446744073709551615 is outside the 10 elements of global input",
        ),
        (load_four::ENTRY, one, words, "load_four", "indices 8..12 are outside the 10 elements of global input"),
        (
            load_four_off::ENTRY,
            one,
            words,
            "load_four_off",
            "an access of 16 bytes at byte 8 of global input: its address 0x700000000008 is no multiple of 16",
        ),
        (cast_beyond::ENTRY, one, bytes, "cast_beyond", "index 1 is outside the 1 elements of global input"),
        (
            cast_off::ENTRY,
            one,
            off,
            "cast_off",
            "an access of 4 bytes at byte 0 of global input: its address 0x700000000002 is no multiple of 4",
        ),
    ] {
        assert_eq!(HERE.message_of(&mut device, kernel, config, &arguments, name), expected);
    }
}

shared! {
    static SMALL: [u32; 8];
    static BYTES: [u8; 64];
    static LARGE: [u64; 6200];
    static MEDIUM: [u64; 5000];
    static SECOND: [u64; 5000];
}

constant! {
    static TABLE: [f32; 3] = [1.0, 2.0, 3.0];
}

#[kernel]
unsafe fn shared_beyond(_output: Out<u32>) {
    shared::array::<SMALL>().store(thread::thread_idx_x(), 1); // planted: shared_beyond
}

#[kernel]
unsafe fn dynamic_beyond(_output: Out<u32>) {
    shared::dynamic::<u16>().store(thread::thread_idx_x(), 1); // planted: dynamic_beyond
}

#[kernel]
unsafe fn slice_beyond(_output: Out<u32>) {
    shared::array::<SMALL>().slice(6, thread::thread_idx_x()); // planted: slice_beyond
}

#[kernel]
unsafe fn slice_element(_output: Out<u32>) {
    shared::array::<SMALL>().slice(6, 2).store(thread::thread_idx_x(), 1); // planted: slice_element
}

#[kernel]
unsafe fn offset_beyond(_output: Out<u32>) {
    let small = shared::array::<SMALL>();
    if thread::thread_idx_x() == 0 {
        small.store(7, 1);
    }
    thread::sync_threads();
    small.load_at(28 + thread::thread_idx_x()); // planted: offset_beyond
}

#[kernel]
unsafe fn offset_off(_output: Out<u32>) {
    shared::array::<BYTES>().slice(3, 60).cast::<u32>().store(1, 1); // planted: offset_off
}

#[kernel]
unsafe fn shared_four_off(_output: Out<u32>) {
    shared::array::<SMALL>().store4(2, [0; 4]); // planted: shared_four_off
}

#[kernel]
unsafe fn constant_beyond(_output: Out<u32>) {
    constant::load::<TABLE>(thread::thread_idx_x()); // planted: constant_beyond
}

#[kernel]
unsafe fn too_much(_output: Out<u32>) {
    shared::array::<LARGE>(); // planted: too_much
}

#[kernel]
unsafe fn too_much_together(_output: Out<u32>) {
    shared::array::<MEDIUM>();
    shared::array::<SECOND>(); // planted: too_much_together
}

#[kernel]
unsafe fn medium(_output: Out<u32>) {
    shared::array::<MEDIUM>(); // planted: medium
}

#[test]
fn indices_into_shared_and_constant_memory_are_checked() {
    let (one, nine) = (LaunchConfig::linear(1, 1), LaunchConfig::linear(1, 9));
    for (kernel, config, name, expected) in [
        (shared_beyond::ENTRY, nine, "shared_beyond", "index 8 is outside the 8 elements of shared SMALL"),
        (
            dynamic_beyond::ENTRY,
            config([1, 1, 1], [9, 1, 1], 17),
            "dynamic_beyond",
            "index 8 is outside the 8 elements of shared (dynamic)",
        ),
        (slice_beyond::ENTRY, nine, "slice_beyond", "indices 6..9 are outside the 8 elements of shared SMALL"),
        (
            slice_element::ENTRY,
            nine,
            "slice_element",
            "index 2 is outside the 2 elements of shared SMALL (from its byte 24 on)",
        ),
        (offset_beyond::ENTRY, nine, "offset_beyond", "bytes 29..33 are outside the 32 bytes of shared SMALL"),
        (
            offset_off::ENTRY,
            one,
            "offset_off",
            "an access of 4 bytes at byte 7 of shared BYTES: its address 0x7 is no multiple of 4",
        ),
        (
            shared_four_off::ENTRY,
            one,
            "shared_four_off",
            "an access of 16 bytes at byte 8 of shared SMALL: its address 0x8 is no multiple of 16",
        ),
        (constant_beyond::ENTRY, nine, "constant_beyond", "index 3 is outside the 3 elements of constant TABLE"),
        (
            too_much::ENTRY,
            one,
            "too_much",
            "shared array LARGE makes 49600 bytes of shared memory a block, and the limit is 49152",
        ),
        (
            too_much_together::ENTRY,
            one,
            "too_much_together",
            "shared array SECOND makes 80000 bytes of shared memory a block, and the limit is 49152",
        ),
        (
            medium::ENTRY,
            config([1, 1, 1], [1, 1, 1], 200_000),
            "medium",
            "shared array MEDIUM makes 240000 bytes of shared memory a block, and the limit is 232448",
        ),
    ] {
        assert_eq!(HERE.message(kernel, config, name), expected);
    }
}

#[kernel]
unsafe fn read_unwritten_shared(_output: Out<u32>) {
    let bytes = shared::array::<BYTES>();
    bytes.store(0, 1);
    bytes.store(1, 1);
    bytes.store(3, 1);
    bytes.cast::<u16>().load(0);
    bytes.cast::<u32>().load(0); // planted: read_unwritten_shared
}

#[kernel]
unsafe fn read_after_block(_output: Out<u32>) {
    let small = shared::array::<SMALL>();
    if thread::block_idx_x() == 0 {
        small.store(3, 1);
    }
    small.load(3); // planted: read_after_block
}

#[kernel]
unsafe fn read_unwritten_global(input: In<u32>, output: Out<u32>) {
    output.store(0, input.load(0));
    output.store(1, input.cast::<u64>().load(1) as u32); // planted: read_unwritten_global
}

#[kernel]
unsafe fn fetch_unwritten(texture: Texture1d<u32>, output: Out<u32>) {
    output.store(0, texture.fetch(-1));
    output.store(0, texture.fetch(3)); // planted: fetch_unwritten
}

#[kernel]
unsafe fn add_unwritten(output: Out<u32>) {
    output.store(0, 1);
    output.atomic_add(0, 1);
    output.atomic_add(1, 1); // planted: add_unwritten
}

#[test]
fn reads_of_what_nobody_wrote_are_found() {
    let one = LaunchConfig::linear(1, 1);
    assert_eq!(
        HERE.message(read_unwritten_shared::ENTRY, one, "read_unwritten_shared"),
        "a read at byte 2 of shared BYTES, which nothing has written"
    );
    assert_eq!(
        HERE.message(read_after_block::ENTRY, LaunchConfig::linear(2, 1), "read_after_block"),
        "a read at byte 12 of shared SMALL, which nothing has written"
    );
    let mut device = Device::new();
    let input = device.fresh::<u32>(4);
    device.memory.write(input, 0, &[1; 12]);
    let output = device.fresh::<u32>(2);
    let arguments = [input.arg::<u32>(false), output.arg::<u32>(true)];
    assert_eq!(
        HERE.message_of(&mut device, read_unwritten_global::ENTRY, one, &arguments, "read_unwritten_global"),
        "a read at byte 12 of global input, which nothing has written"
    );
    let texture = device.memory.texture_1d(input, TexelFormat::U32, 4);
    let arguments = [texture.arg(), output.arg::<u32>(true)];
    assert_eq!(
        HERE.message_of(&mut device, fetch_unwritten::ENTRY, one, &arguments, "fetch_unwritten"),
        "a read at byte 12 of texture texture, which nothing has written"
    );
    let output = device.fresh::<u32>(2);
    assert_eq!(
        HERE.message_of(&mut device, add_unwritten::ENTRY, one, &[output.arg::<u32>(true)], "add_unwritten"),
        "a read at byte 4 of global output, which nothing has written"
    );
}

#[test]
fn the_detectors_can_be_switched_off() {
    let mut device = Device::new();
    let output = device.fresh::<u32>(2);
    let (one, options) = (LaunchConfig::linear(1, 1), Options { uninitialised: false, ..Options::default() });
    let arguments = [output.arg::<u32>(true)];
    for kernel in [add_unwritten::ENTRY, read_unwritten_shared::ENTRY] {
        emulator::launch(&mut device.memory, &kernel, &one, &arguments, &options).unwrap();
    }
}

#[kernel]
unsafe fn panics(_output: Out<u32>) {
    let table = [1, 2, 3];
    thread::sync_threads();
    let i = thread::index_x() as usize;
    assert!(table[i] > 0); // planted: panics
}

#[kernel]
unsafe fn panics_with_words(_output: Out<u32>) {
    panic!("no such case: {}", thread::index_x()); // planted: panics_with_words
}

#[test]
fn panics_become_faults() {
    assert_eq!(
        HERE.message(panics::ENTRY, LaunchConfig::linear(1, 64), "panics"),
        "panic: index out of bounds: the len is 3 but the index is 3"
    );
    assert_eq!(
        HERE.message(panics_with_words::ENTRY, LaunchConfig::linear(1, 64), "panics_with_words"),
        "panic: no such case: 0"
    );
}

struct CountsDrops<'a>(&'a std::cell::Cell<u32>);

impl Drop for CountsDrops<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

thread_local! {
    static DROPS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

#[kernel]
unsafe fn owns(output: Out<u32>) {
    DROPS.with(|drops| {
        let _guard = CountsDrops(drops);
        thread::sync_threads();
        output.store(100 + thread::thread_idx_x() as usize, 1);
        thread::sync_threads();
    });
}

/// After a fault all lanes are unwound, and the device goes on as before.
#[test]
fn a_fault_leaves_nothing_behind() {
    let mut device = Device::new();
    let output = device.fresh::<u32>(100);
    let arguments = [output.arg::<u32>(true)];
    for round in 1..4 {
        let error = device.try_launch(owns::ENTRY, LaunchConfig::linear(1, 50), &arguments).unwrap_err();
        assert!(matches!(error.fault().map(|fault| &fault.kind), Some(FaultKind::OutOfBounds { .. })), "{error}");
        assert_eq!(DROPS.get(), 50 * round);
        let report = device.launch(store_beyond::ENTRY, LaunchConfig::linear(2, 50), &arguments);
        assert_eq!(report.global_stores, 100);
        assert!(device.download::<u32>(output).iter().all(|&value| value == 1));
    }
}
