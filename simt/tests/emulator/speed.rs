//! What an emulated operation costs. `cargo test --release -p simt --test emulator -- --ignored --nocapture speed`

use std::time::Instant;

use simt::emulator::{self, Options};
use simt::global::{In, Out};
use simt::launch::{KernelEntry, LaunchConfig};
use simt::warp::{self, FULL};
use simt::{kernel, shared, thread};

use crate::support::Device;

shared! {
    static WORDS: [u32; 8192];
    static BYTES: [u8; 8192];
}

#[kernel]
unsafe fn empty(_input: In<u32>, _output: Out<u32>, _rounds: u32) {}

#[kernel]
unsafe fn load_only(input: In<u32>, output: Out<u32>, rounds: u32) {
    let mut sum = 0u32;
    for i in 0..rounds {
        sum = sum.wrapping_add(input.load(((thread::thread_idx_x() + i * 64) % 65536) as usize));
    }
    output.store(thread::index_x() as usize, sum);
}

#[kernel]
unsafe fn store_only(_input: In<u32>, output: Out<u32>, rounds: u32) {
    let first = thread::index_x() * rounds;
    for i in 0..rounds {
        output.store((first + i) as usize % 1_048_576, i);
    }
}

#[kernel]
unsafe fn shared_words(_input: In<u32>, _output: Out<u32>, rounds: u32) {
    let (words, i) = (shared::array::<WORDS>(), thread::thread_idx_x());
    for round in 0..rounds / 2 {
        words.store(i + 256 * (round % 32), round);
        words.load(i + 256 * (round % 32));
    }
}

#[kernel]
unsafe fn shared_bytes(_input: In<u32>, _output: Out<u32>, rounds: u32) {
    let (bytes, i) = (shared::array::<BYTES>(), thread::thread_idx_x());
    for round in 0..rounds / 2 {
        bytes.store(i + 256 * (round % 32), 1);
        bytes.load(i + 256 * (round % 32));
    }
}

#[kernel]
unsafe fn shared_all_read(_input: In<u32>, _output: Out<u32>, rounds: u32) {
    let (words, i) = (shared::array::<WORDS>(), thread::thread_idx_x());
    words.store(i, 1);
    thread::sync_threads();
    for round in 0..rounds {
        words.load(round % 256);
    }
}

#[kernel]
unsafe fn barriers(_input: In<u32>, _output: Out<u32>, rounds: u32) {
    for _ in 0..rounds {
        thread::sync_threads();
    }
}

#[kernel]
unsafe fn shuffles(_input: In<u32>, _output: Out<u32>, rounds: u32) {
    for _ in 0..rounds {
        warp::warp_shuffle_xor(FULL, 1u32, 1, 32);
    }
}

#[test]
#[ignore = "a measurement, of use in release builds only"]
fn speed() {
    let kernels: [(KernelEntry, u32, &str); 8] = [
        (empty::ENTRY, 1, "lane that does nothing"),
        (load_only::ENTRY, 2000, "load from an In<u32>"),
        (store_only::ENTRY, 16, "store to an Out<u32>"),
        (shared_words::ENTRY, 2000, "shared u32, load or store"),
        (shared_bytes::ENTRY, 2000, "shared u8, load or store"),
        (shared_all_read::ENTRY, 2000, "shared u32, load of what all lanes load"),
        (barriers::ENTRY, 200, "barrier"),
        (shuffles::ENTRY, 200, "shuffle"),
    ];
    for (kernel, rounds, what) in kernels {
        let times = [true, false].map(|on| {
            let mut device = Device::new();
            let (input, output) = (device.upload(&[1u32; 65536]), device.fresh::<u32>(1_048_576));
            let arguments = [input.arg::<u32>(false), output.arg::<u32>(true), rounds.into()];
            let options = Options { races: on, uninitialised: on, ..Options::default() };
            let config = LaunchConfig::linear(if rounds == 1 { 1024 } else { 16 }, 256);
            let mut best = f64::INFINITY;
            for _ in 0..5 {
                let start = Instant::now();
                emulator::launch(&mut device.memory, &kernel, &config, &arguments, &options).unwrap();
                let operations = u64::from(config.threads()) * u64::from(config.grid[0]) * u64::from(rounds);
                best = best.min(start.elapsed().as_nanos() as f64 / operations as f64);
            }
            best
        });
        println!("{what:>40}: {:6.2} ns, {:6.2} ns without race and unwritten checks", times[0], times[1]);
    }
}
