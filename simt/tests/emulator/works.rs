//! Indices, barriers, shared memory, atomics, constants, clocks, casts and vectors.

use simt::emulator::{self, Options};
use simt::global::{In, Out};
use simt::launch::LaunchConfig;
use simt::{clock, constant, kernel, shared, thread, warp};

use crate::support::{Device, ORDERS, config};

#[kernel]
unsafe fn all_indices(output: Out<u32>) {
    let threads = thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z();
    let block = thread::block_idx_x()
        + thread::grid_dim_x() * (thread::block_idx_y() + thread::grid_dim_y() * thread::block_idx_z());
    let local = thread::thread_idx_x()
        + thread::block_dim_x() * (thread::thread_idx_y() + thread::block_dim_y() * thread::thread_idx_z());
    let at = ((block * threads + local) * 8) as usize;
    let values = [
        thread::thread_idx_x(),
        thread::thread_idx_y(),
        thread::thread_idx_z(),
        thread::block_idx_x(),
        thread::block_idx_y(),
        thread::block_idx_z(),
        thread::index_x() * 1000 + thread::index_y(),
        warp::lane_id() * 1000 + thread::grid_dim_z(),
    ];
    for (i, value) in values.into_iter().enumerate() {
        output.store(at + i, value);
    }
}

#[test]
fn every_thread_knows_where_it_is() {
    for (grid, block) in
        [([5, 1, 1], [7, 1, 1]), ([2, 3, 1], [8, 5, 1]), ([2, 3, 4], [4, 3, 5]), ([1, 1, 1], [1, 1, 1])]
    {
        let mut device = Device::new();
        let threads: u32 = grid.iter().chain(&block).product();
        let output = device.fresh::<u32>(threads as usize * 8);
        let report = device.launch(all_indices::ENTRY, config(grid, block, 0), &[output.arg::<u32>(true)]);
        assert_eq!(report.threads, u64::from(threads));
        assert_eq!(report.global_stores, u64::from(threads) * 8);
        let mut expected = Vec::new();
        for b in 0..grid.iter().product::<u32>() {
            let [bx, by, bz] = [b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1]];
            for t in 0..block.iter().product::<u32>() {
                let [tx, ty, tz] = [t % block[0], t / block[0] % block[1], t / block[0] / block[1]];
                let global = (bx * block[0] + tx) * 1000 + by * block[1] + ty;
                expected.extend([tx, ty, tz, bx, by, bz, global, t % 32 * 1000 + grid[2]]);
            }
        }
        assert_eq!(device.download::<u32>(output), expected);
    }
}

shared! {
    static TILE: [u32; 256];
    static PAIR: [u64; 2];
}

/// Reverses each block of 256 in shared memory, static and dynamic, and adds block-wide counts.
#[kernel]
unsafe fn reverse(input: In<u32>, output: Out<u32>) {
    let (local, last) = (thread::thread_idx_x(), thread::block_dim_x() - 1);
    let at = thread::index_x() as usize;
    let tile = shared::array::<TILE>();
    let pair = shared::array::<PAIR>();
    let dynamic = shared::dynamic::<u32>();
    tile.store(local, input.load(at));
    if local < 2 {
        pair.store(local, u64::from(local) << 40);
    }
    thread::sync_threads();
    dynamic.slice(4, 256).store(local, tile.load(last - local) + (pair.load(1) >> 40) as u32);
    let odd = thread::sync_threads_count(local % 2 == 1 && local < 100);
    output.store(at, dynamic.load_at(4 * (local + 4)) + odd);
}

#[test]
fn shared_memory_and_barriers_connect_a_block() {
    for (block_order, lane_order) in ORDERS {
        let mut device = Device::new();
        let input: Vec<u32> = (0..1024).map(|i| i * 1000).collect();
        let (from, to) = (device.upload(&input), device.fresh::<u32>(1024));
        let options = Options { block_order, lane_order, ..Options::default() };
        let config = config([4, 1, 1], [256, 1, 1], 260 * 4);
        let arguments = [from.arg::<u32>(false), to.arg::<u32>(true)];
        let report = emulator::launch(&mut device.memory, &reverse::ENTRY, &config, &arguments, &options).unwrap();
        assert_eq!(report.static_shared_bytes, 1024 + 16);
        assert_eq!(report.barriers, 2048);
        let expected: Vec<u32> = (0..1024).map(|i| input[i / 256 * 256 + 255 - i % 256] + 1 + 50).collect();
        assert_eq!(device.download::<u32>(to), expected);
    }
}

shared! {
    static BINS: [u32; 16];
}

/// A histogram of each block by shared atomics, then of the grid by global ones; least, greatest, and the rest.
#[kernel]
unsafe fn histogram(input: In<u8>, bins: Out<u32>, extremes: Out<u32>, n: u32) {
    let (local, at) = (thread::thread_idx_x(), thread::index_x());
    let block = shared::array::<BINS>();
    if local < 16 {
        block.store(local, 0);
    }
    thread::sync_threads();
    if at < n {
        let value = u32::from(input.load(at as usize));
        block.atomic_add(value % 16, 1);
        extremes.atomic_min(0, value);
        extremes.atomic_max(1, value);
    }
    thread::sync_threads();
    if local < 16 {
        bins.atomic_add(local as usize, block.atomic_exchange(local, 7));
    }
}

#[test]
fn atomics_count() {
    let input: Vec<u8> = (0..1000u32).map(|i| (i * i % 251) as u8).collect();
    let mut expected = [0u32; 16];
    input.iter().for_each(|value| expected[usize::from(value % 16)] += 1);
    for (block_order, lane_order) in ORDERS {
        let mut device = Device::new();
        let from = device.upload(&input);
        let (bins, extremes) = (device.upload(&[0u32; 16]), device.upload(&[u32::MAX, 0]));
        let arguments = [from.arg::<u8>(false), bins.arg::<u32>(true), extremes.arg::<u32>(true), Into::into(1000u32)];
        let options = Options { block_order, lane_order, ..Options::default() };
        let config = LaunchConfig::linear(8, 128);
        emulator::launch(&mut device.memory, &histogram::ENTRY, &config, &arguments, &options).unwrap();
        assert_eq!(device.download::<u32>(bins), expected);
        assert_eq!(device.download::<u32>(extremes), [0, 249]);
    }
}

shared! {
    static CELL: [u32; 1];
}

/// Multiplies by compare and exchange, which only atomics of one word at a time make right.
#[kernel]
unsafe fn product(output: Out<u32>) {
    let cell = shared::array::<CELL>();
    if thread::thread_idx_x() == 0 {
        cell.store(0, 1);
    }
    thread::sync_threads();
    let factor = thread::thread_idx_x() % 3 + 1;
    let (mut old, mut total) = (1, 1);
    loop {
        let seen = cell.atomic_compare_exchange(0, old, old.wrapping_mul(factor));
        if seen == old {
            break;
        }
        old = seen;
    }
    loop {
        let seen = output.atomic_compare_exchange(0, total, total.wrapping_mul(factor));
        if seen == total {
            break;
        }
        total = seen;
    }
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        output.store(1, cell.load(0));
        output.store(2, output.atomic_exchange(0, 5));
    }
}

#[test]
fn compare_and_exchange_retries() {
    let mut device = Device::new();
    let output = device.upload(&[1u32, 0, 0]);
    device.launch(product::ENTRY, LaunchConfig::linear(1, 40), &[output.arg::<u32>(true)]);
    let expected = (0..40u32).fold(1u32, |product, i| product.wrapping_mul(i % 3 + 1));
    assert_eq!(device.download::<u32>(output), [5, expected, expected]);
}

constant! {
    static PRIMES: [u32; 5] = [2, 3, 5, 7, 11];
    static HALVES: [f64; 2] = [0.5, 1.5];
}

#[kernel]
unsafe fn tables(output: Out<f64>, scale: f64, offset: i32, large: u64, small: f32) {
    let i = thread::thread_idx_x();
    let value = f64::from(constant::load::<PRIMES>(i)) * scale + constant::load::<HALVES>(i % 2);
    output.store(i as usize, value + f64::from(offset) + (large >> 40) as f64 + f64::from(small));
}

#[test]
fn constants_and_values_of_every_type_arrive() {
    let mut device = Device::new();
    let output = device.fresh::<f64>(5);
    let arguments = [output.arg::<f64>(true), 10.0f64.into(), (-3i32).into(), (1u64 << 41).into(), 0.25f32.into()];
    let report = device.launch(tables::ENTRY, LaunchConfig::linear(1, 5), &arguments);
    assert_eq!(report.constant_loads, 10);
    assert_eq!(device.download::<f64>(output), [19.75, 30.75, 49.75, 70.75, 109.75]);
}

#[kernel]
unsafe fn clocks(output: Out<u64>) {
    let (cycles, nanoseconds) = (clock::cycles(), clock::nanoseconds());
    output.store(0, 1);
    output.store(1, 2);
    thread::block_fence();
    let after = clock::nanoseconds();
    output.store(0, clock::cycles() - cycles);
    output.store(1, u64::from(after >= nanoseconds));
}

#[test]
fn clocks_run_forward() {
    let mut device = Device::new();
    let output = device.fresh::<u64>(2);
    device.launch(clocks::ENTRY, LaunchConfig::linear(1, 1), &[output.arg::<u64>(true)]);
    assert_eq!(device.download::<u64>(output), [2, 1]);
}

shared! {
    static RAW: [u8; 1024];
}

/// Every element type, every width of access, and casts between them.
#[kernel]
unsafe fn widths(input: In<u8>, output: Out<u8>) {
    let i = thread::thread_idx_x();
    let at = i as usize;
    let raw = shared::array::<RAW>();
    let words = raw.cast::<u32>();
    words.store4(i * 4, input.cast::<u32>().load4(at * 4));
    thread::sync_threads();
    let mut sum = u64::from(raw.load(i)) + u64::from(raw.cast::<u16>().load(i)) + u64::from(words.load(i));
    sum = sum.wrapping_add(raw.cast::<u64>().load(i)).wrapping_add(raw.cast::<i8>().load(i) as u64);
    sum = sum.wrapping_add(raw.cast::<i16>().load(i) as u64).wrapping_add(raw.cast::<i64>().load(i) as u64);
    let four = words.load4(i * 4);
    let out = output.cast::<u32>();
    out.store4(at * 8, four);
    out.store2_if(true, at * 8 + 4, [sum as u32, (sum >> 32) as u32]);
    out.store2_if(false, at * 8 + 1_000_000, [0; 2]);
    out.store4_if(false, at * 8, [0; 4]);
    output.cast::<f32>().store(at * 8 + 6, raw.cast::<f32>().load(i));
    output.cast::<u16>().store(at * 16 + 14, 0xBEEF);
    output.cast::<i8>().store(at * 32 + 30, -1);
    output.store(at * 32 + 31, 1);
}

#[test]
fn every_width_of_access_sees_the_same_bytes() {
    let bytes: Vec<u8> = (0..1024u32).map(|i| (i * 7 + i / 256 * 3) as u8).collect();
    let mut device = Device::new();
    let (input, output) = (device.upload(&bytes), device.fresh::<u8>(64 * 32));
    let arguments = [input.arg::<u8>(false), output.arg::<u8>(true)];
    device.launch(widths::ENTRY, LaunchConfig::linear(1, 64), &arguments);
    let mut expected = Vec::new();
    for i in 0..64 {
        let piece = |bytes_each: usize| {
            let mut value = [0; 8];
            value[..bytes_each].copy_from_slice(&bytes[i * bytes_each..][..bytes_each]);
            u64::from_le_bytes(value)
        };
        let sum = (piece(1) + piece(2) + piece(4))
            .wrapping_add(piece(8))
            .wrapping_add(piece(1) as u8 as i8 as u64)
            .wrapping_add(piece(2) as u16 as i16 as u64)
            .wrapping_add(piece(8));
        expected.extend_from_slice(&bytes[i * 16..][..16]);
        expected.extend_from_slice(&sum.to_le_bytes());
        expected.extend_from_slice(&(piece(4) as u32).to_le_bytes());
        expected.extend_from_slice(&[0xEF, 0xBE, 0xFF, 1]);
    }
    assert_eq!(device.download::<u8>(output), expected);
}
