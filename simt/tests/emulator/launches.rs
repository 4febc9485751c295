//! What is refused before anything runs, progress, cancelling, and what a launch leaves behind.

use std::cell::Cell;
use std::ops::ControlFlow;

use simt::emulator::{self, LaunchError, Options};
use simt::global::{In, Out};
use simt::launch::LaunchConfig;
use simt::texture::Texture2d;
use simt::{kernel, thread};

use crate::support::{Device, config};

#[kernel]
unsafe fn copy(input: In<f32>, output: Out<f32>, n: u32, _texture: Texture2d<u8>) {
    if thread::index_x() < n {
        output.store(thread::index_x() as usize, input.load(thread::index_x() as usize));
    }
}

#[kernel]
unsafe fn fill(output: Out<u32>) {
    output.store(thread::index_x() as usize, thread::block_idx_x());
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let mut device = Device::new();
    let (floats, bytes) = (device.upload(&[1.0f32; 4]), device.upload(&[0u8; 16]));
    let texture = device.memory.texture_2d(bytes, emulator::TexelFormat::U8, 4, 4, 4).arg();
    let line = device.memory.texture_1d(bytes, emulator::TexelFormat::U8, 4).arg();
    let (input, output) = (floats.arg::<f32>(false), floats.arg::<f32>(true));
    for (arguments, message) in [
        (vec![input, output], "kernel copy takes 4 arguments, not 2"),
        (
            vec![floats.arg::<u32>(false), output, 4u32.into(), texture],
            "kernel copy takes In<f32> for input, not In<u32>",
        ),
        (vec![input, input, 4u32.into(), texture], "kernel copy takes Out<f32> for output, not In<f32>"),
        (vec![input, output, 4i32.into(), texture], "kernel copy takes u32 for n, not i32"),
        (vec![input, output, 4u32.into(), line], "kernel copy takes Texture2d for _texture, not Texture1d"),
        (vec![1.0f64.into(), output, 4u32.into(), texture], "kernel copy takes In<f32> for input, not f64"),
        (vec![input, output, texture, texture], "kernel copy takes u32 for n, not Texture2d"),
    ] {
        let error = device.try_launch(copy::ENTRY, LaunchConfig::linear(1, 4), &arguments).unwrap_err();
        assert!(matches!(error, LaunchError::Arguments(_)));
        assert_eq!(error.to_string(), message);
    }
    let off = bytes.slice(2, 8).arg::<f32>(true);
    let error = device.try_launch(copy::ENTRY, LaunchConfig::linear(1, 4), &[input, off, 4u32.into(), texture]);
    assert_eq!(error.unwrap_err().to_string(), "kernel copy: argument output: its address is not aligned for f32");
    device.memory.free(floats);
    let error = device.try_launch(copy::ENTRY, LaunchConfig::linear(1, 4), &[input, output, 4u32.into(), texture]);
    assert_eq!(error.unwrap_err().to_string(), "kernel copy: argument input: it is no live buffer of this memory");
}

#[test]
fn impossible_shapes_are_refused() {
    let mut device = Device::new();
    let output = device.fresh::<u32>(4);
    for (grid, block, shared, message) in [
        ([0, 1, 1], [1, 1, 1], 0, "kernel fill: a grid of 0 x 1 x 1 blocks has none"),
        ([1, 65536, 1], [1, 1, 1], 0, "kernel fill: a grid of 1 x 65536 x 1 blocks exceeds 2147483647 x 65535 x 65535"),
        (
            [1, 1, 1],
            [1025, 1, 1],
            0,
            "kernel fill: a block of 1025 x 1 x 1 threads: it takes 1 to 1024, and at most 64 along z",
        ),
        (
            [1, 1, 1],
            [65536, 65536, 1],
            0,
            "kernel fill: a block of 65536 x 65536 x 1 threads: it takes 1 to 1024, and at most 64 along z",
        ),
        (
            [1, 1, 1],
            [1, 1, 65],
            0,
            "kernel fill: a block of 1 x 1 x 65 threads: it takes 1 to 1024, and at most 64 along z",
        ),
        ([1, 1, 1], [1, 1, 1], 232_449, "kernel fill: 232449 bytes of dynamic shared memory, and the limit is 232448"),
    ] {
        let error = device.try_launch(fill::ENTRY, config(grid, block, shared), &[output.arg::<u32>(true)]);
        assert_eq!(error.unwrap_err().to_string(), message);
    }
}

#[test]
fn an_observer_sees_every_block_and_may_stop() {
    let mut device = Device::new();
    let output = device.fresh::<u32>(40);
    let seen = Cell::new(0);
    let observer = |done, total| {
        assert_eq!((done, total), (seen.get() + 1, 10));
        seen.set(done);
        if done == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = Options { observer: Some(&observer), ..Options::default() };
    let config = LaunchConfig::linear(10, 4);
    let result = emulator::launch(&mut device.memory, &fill::ENTRY, &config, &[output.arg::<u32>(true)], &options);
    assert_eq!(result.unwrap_err().to_string(), "kernel fill was stopped after 7 blocks");
    let written = device.download::<u32>(output);
    assert_eq!(written[27], 6);
    assert_eq!(written[28], 0xCDCD_CDCD);
}

#[test]
#[should_panic(expected = "called outside a launch")]
fn kernels_run_only_in_launches() {
    thread::thread_idx_x();
}

#[test]
fn launches_follow_each_other_on_one_device() {
    let mut device = Device::new();
    let output = device.fresh::<u32>(1024);
    for _ in 0..3 {
        let report = device.launch(fill::ENTRY, LaunchConfig::linear(1, 1024), &[output.arg::<u32>(true)]);
        assert_eq!((report.blocks, report.global_stores), (1, 1024));
    }
}

#[test]
fn a_device_can_move_to_another_thread() {
    let mut device = Device::new();
    let output = device.fresh::<u32>(64);
    let run = move |mut device: Device| {
        device.launch(fill::ENTRY, LaunchConfig::linear(2, 32), &[output.arg::<u32>(true)]);
        device
    };
    device = std::thread::spawn(move || run(device)).join().unwrap();
    device = run(device);
    assert_eq!(device.download::<u32>(output), [[0; 32], [1; 32]].concat());
}

/// Reads shared memory that was not written, which is poisoned anew for each block.
#[kernel]
unsafe fn read_poison(output: Out<u32>) {
    let memory = simt::shared::dynamic::<u32>();
    output.store(thread::block_idx_x() as usize, memory.load(0));
    memory.store(0, 1);
}

#[test]
fn shared_memory_is_new_in_each_block() {
    let mut device = Device::new();
    let output = device.fresh::<u32>(3);
    let options = Options { uninitialised: false, ..Options::default() };
    let arguments = [output.arg::<u32>(true)];
    let config = config([3, 1, 1], [1, 1, 1], 4);
    emulator::launch(&mut device.memory, &read_poison::ENTRY, &config, &arguments, &options).unwrap();
    assert_eq!(device.download::<u32>(output), [0xCDCD_CDCD; 3]);
}
