//! Buffers, limits, poison and textures.

use simt::emulator::{ALIGNMENT, Memory, OutOfMemory, POISON, TexelFormat};
use simt::global::Out;
use simt::launch::LaunchConfig;
use simt::texture::{Texture1d, Texture2d};
use simt::{kernel, thread};

use crate::support::Device;

#[test]
fn memory_has_a_limit_and_gives_back() {
    let mut memory = Memory::new(Some(1024));
    assert_eq!(memory.bytes_free(), 1024);
    let first = memory.alloc(1).unwrap();
    assert_eq!(memory.bytes_free(), 1024 - ALIGNMENT);
    let second = memory.alloc(768).unwrap();
    assert!(first.address().is_multiple_of(256) && second.address().is_multiple_of(256));
    let error = memory.alloc(1).unwrap_err();
    assert_eq!(error, OutOfMemory { wanted: 1, free: 0 });
    assert_eq!(error.to_string(), "the emulated device has no memory for 1 bytes: 0 are free");
    memory.free(second);
    assert_eq!(memory.bytes_free(), 768);
    assert_eq!(memory.alloc(usize::MAX).unwrap_err().wanted, usize::MAX);
    let empty = memory.alloc(0).unwrap();
    assert_eq!(memory.bytes(empty), []);
    memory.free(empty);
}

#[test]
fn new_memory_is_poisoned_and_copies_go_where_they_should() {
    let mut memory = Memory::new(None);
    let buffer = memory.alloc(100).unwrap();
    assert!(memory.bytes(buffer).iter().all(|&byte| byte == POISON));
    memory.write(buffer, 10, &[1, 2, 3]);
    let mut copy = [0; 5];
    memory.read(buffer, 9, &mut copy);
    assert_eq!(copy, [POISON, 1, 2, 3, POISON]);
    memory.write(buffer.slice(50, 10), 9, &[9]);
    assert_eq!(memory.bytes(buffer.slice(58, 3)), [POISON, 9, POISON]);
}

#[test]
#[should_panic(expected = "outside a buffer of 100 bytes")]
fn copies_beyond_the_end_panic() {
    let mut memory = Memory::new(None);
    let buffer = memory.alloc(100).unwrap();
    memory.write(buffer, 99, &[1, 2]);
}

#[test]
#[should_panic(expected = "no live buffer")]
fn freed_buffers_are_gone() {
    let mut memory = Memory::new(None);
    let buffer = memory.alloc(100).unwrap();
    memory.free(buffer);
    memory.bytes(buffer);
}

#[kernel]
unsafe fn fetches(bytes: Texture2d<u8>, words: Texture1d<u32>, reals: Texture2d<f32>, output: Out<f32>) {
    let (x, y) = (thread::thread_idx_x() as i32 - 1, thread::thread_idx_y() as i32 - 1);
    let at = (thread::thread_idx_y() * thread::block_dim_x() + thread::thread_idx_x()) as usize;
    output.store(at * 3, f32::from(bytes.fetch(x, y)));
    output.store(at * 3 + 1, words.fetch(x + 10 * y) as f32);
    output.store(at * 3 + 2, reals.fetch(x, y));
}

#[test]
fn textures_give_zero_outside() {
    let mut device = Device::new();
    // Three rows of four, with a pitch of 8 bytes and 20 bytes.
    let bytes = device.upload(&(1..=24u8).collect::<Vec<_>>());
    let words = device.upload(&(1..=24u32).collect::<Vec<_>>());
    let reals = device.upload(&(1..=15u32).map(|i| i as f32 / 2.0).collect::<Vec<_>>());
    let arguments = [
        device.memory.texture_2d(bytes, TexelFormat::U8, 4, 3, 8).arg(),
        device.memory.texture_1d(words, TexelFormat::U32, 20).arg(),
        device.memory.texture_2d(reals, TexelFormat::F32, 4, 3, 20).arg(),
    ];
    let output = device.fresh::<f32>(6 * 5 * 3);
    let arguments = [&arguments[..], &[output.arg::<f32>(true)]].concat();
    let config = crate::support::config([1, 1, 1], [6, 5, 1], 0);
    let report = device.launch(fetches::ENTRY, config, &arguments);
    assert_eq!(report.texture_fetches, 90);
    let mut expected = Vec::new();
    for y in -1..4 {
        for x in -1..5 {
            let inside = (0..4).contains(&x) && (0..3).contains(&y);
            let line = x + 10 * y;
            expected.push(if inside { (y * 8 + x + 1) as f32 } else { 0.0 });
            expected.push(if (0..20).contains(&line) { (line + 1) as f32 } else { 0.0 });
            expected.push(if inside { (y * 5 + x + 1) as f32 / 2.0 } else { 0.0 });
        }
    }
    assert_eq!(device.download::<f32>(output), expected);
}

#[test]
fn a_texture_needs_its_buffer() {
    let mut device = Device::new();
    let buffer = device.upload(&[0u8; 32]);
    let words = device.upload(&[0u32; 8]);
    let output = device.fresh::<f32>(3);
    let texture = device.memory.texture_2d(buffer, TexelFormat::U8, 4, 3, 8);
    let [line, reals] = [
        device.memory.texture_1d(words, TexelFormat::U32, 8),
        device.memory.texture_2d(words, TexelFormat::F32, 2, 2, 8),
    ];
    let arguments = [texture.arg(), line.arg(), reals.arg(), output.arg::<f32>(true)];
    device.launch(fetches::ENTRY, LaunchConfig::linear(1, 1), &arguments);
    device.memory.free(buffer);
    let error = device.try_launch(fetches::ENTRY, LaunchConfig::linear(1, 1), &arguments).unwrap_err();
    assert_eq!(error.to_string(), "kernel fetches: argument bytes: the buffer of the texture was freed");
    device.memory.free_texture(texture);
    let error = device.try_launch(fetches::ENTRY, LaunchConfig::linear(1, 1), &arguments).unwrap_err();
    assert_eq!(error.to_string(), "kernel fetches: argument bytes: it is no live texture of this memory");
}
