//! Right kernels that come close to what the detectors look for. None may be accused, in any order, and each
//! must give the right result.

use simt::emulator::{self, Options};
use simt::global::{In, Out};
use simt::launch::LaunchConfig;
use simt::warp::{self, FULL};
use simt::{kernel, shared, thread};

use crate::support::{Device, ORDERS, config};

shared! {
    static TILE: [u8; 18 * 18];
    static SUMS: [u32; 256];
    static LAST: [u32; 1];
}

/// The sum of the 3x3 neighbourhood, from a tile with a halo, two tiles a block.
#[kernel]
unsafe fn tiled(input: In<u8>, output: Out<u16>, rows: u32, columns: u32) {
    let tile = shared::array::<TILE>();
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    for part in 0..2 {
        let (left, top) = (thread::block_idx_x() * 16, (thread::block_idx_y() * 2 + part) * 16);
        let mut i = ty * 16 + tx;
        while i < 18 * 18 {
            let (x, y) = ((left + i % 18).wrapping_sub(1), (top + i / 18).wrapping_sub(1));
            let inside = x < columns && y < rows;
            tile.store(i, if inside { input.load((y * columns + x) as usize) } else { 0 });
            i += 256;
        }
        thread::sync_threads();
        let mut sum = 0;
        for dy in 0..3 {
            for dx in 0..3 {
                sum += u16::from(tile.load((ty + dy) * 18 + tx + dx));
            }
        }
        if left + tx < columns && top + ty < rows {
            output.store(((top + ty) * columns + left + tx) as usize, sum);
        }
        thread::sync_threads();
    }
}

#[test]
fn a_tiled_kernel_with_a_halo_is_clean() {
    let (rows, columns) = (45usize, 39usize);
    let cells: Vec<u8> = (0..rows * columns).map(|i| (i * 37 % 251) as u8).collect();
    let cell = |y: usize, x: usize| cells.get(y * columns + x).copied().filter(|_| x < columns && y < rows);
    let expected: Vec<u16> = (0..rows * columns)
        .map(|i| {
            let (y, x) = (i / columns, i % columns);
            let near = (0..9).filter_map(|k| cell((y + k / 3).checked_sub(1)?, (x + k % 3).checked_sub(1)?));
            near.map(u16::from).sum()
        })
        .collect();
    for (block_order, lane_order) in ORDERS {
        let mut device = Device::new();
        let (input, output) = (device.upload(&cells), device.fresh::<u16>(rows * columns));
        let arguments =
            [input.arg::<u8>(false), output.arg::<u16>(true), (rows as u32).into(), (columns as u32).into()];
        let options = Options { block_order, lane_order, ..Options::default() };
        let config = config([3, 2, 1], [16, 16, 1], 0);
        emulator::launch(&mut device.memory, &tiled::ENTRY, &config, &arguments, &options).unwrap();
        assert_eq!(device.download::<u16>(output), expected);
    }
}

/// A tree with barriers down to a warp, then without barriers but with `sync_warp`; then one block adds up all.
#[kernel]
unsafe fn reduce(input: In<u32>, partials: Out<u32>, counter: Out<u32>, total: Out<u32>) {
    let (sums, last) = (shared::array::<SUMS>(), shared::array::<LAST>());
    let i = thread::thread_idx_x();
    sums.store(i, input.load(thread::index_x() as usize));
    thread::sync_threads();
    let mut width = 128;
    while width >= 32 {
        if i < width {
            sums.store(i, sums.load(i) + sums.load(i + width));
        }
        thread::sync_threads();
        width /= 2;
    }
    if i < 32 {
        for delta in [16, 8, 4, 2, 1] {
            let value = sums.load(i) + if i < delta { sums.load(i + delta) } else { 0 };
            warp::sync_warp(FULL);
            sums.store(i, value);
            warp::sync_warp(FULL);
        }
    }
    if i == 0 {
        partials.store(thread::block_idx_x() as usize, sums.load(0));
        thread::device_fence();
        last.store(0, counter.atomic_add(0, 1));
    }
    thread::sync_threads();
    let blocks = thread::grid_dim_x();
    if last.load(0) == blocks - 1 && i < 32 {
        let mut sum = 0;
        let mut block = i;
        while block < blocks {
            sum += partials.load(block as usize);
            block += 32;
        }
        for mask in [16, 8, 4, 2, 1] {
            sum += warp::warp_shuffle_xor(FULL, sum, mask, 32).0;
        }
        if i == 0 {
            total.store(0, sum);
        }
    }
}

#[test]
fn a_reduction_in_one_pass_is_clean() {
    let input: Vec<u32> = (0..256 * 70).map(|i| i % 1000).collect();
    for (block_order, lane_order) in ORDERS {
        let mut device = Device::new();
        let from = device.upload(&input);
        let (partials, counter, total) = (device.fresh::<u32>(70), device.upload(&[0u32]), device.fresh::<u32>(1));
        let outputs = [partials, counter, total].map(|buffer| buffer.arg::<u32>(true));
        let arguments = [&[from.arg::<u32>(false)], &outputs[..]].concat();
        let options = Options { block_order, lane_order, ..Options::default() };
        let config = LaunchConfig::linear(70, 256);
        emulator::launch(&mut device.memory, &reduce::ENTRY, &config, &arguments, &options).unwrap();
        assert_eq!(device.download::<u32>(total), [input.iter().sum::<u32>()]);
    }
}

/// All threads write, fence, and count; the last block reads. `FENCE` 0 leaves out the fence.
#[kernel]
unsafe fn publish(data: Out<u32>, counter: Out<u32>, fence: u32) {
    let (last, i) = (shared::array::<LAST>(), thread::thread_idx_x());
    data.store(thread::index_x() as usize, i);
    if fence != 0 {
        thread::device_fence();
    }
    thread::sync_threads();
    if i == 0 {
        last.store(0, counter.atomic_add(0, 1));
    }
    thread::sync_threads();
    if last.load(0) == thread::grid_dim_x() - 1 {
        let mut sum = 0;
        for block in 0..thread::grid_dim_x() {
            sum += data.load((block * thread::block_dim_x() + i) as usize);
        }
        data.store(thread::index_x() as usize, sum);
    }
}

#[test]
fn what_is_published_by_a_fence_and_an_atomic_may_be_read_and_nothing_else() {
    for (block_order, lane_order) in ORDERS {
        for fence in [1u32, 0] {
            let mut device = Device::new();
            let (data, counter) = (device.fresh::<u32>(160), device.upload(&[0u32]));
            let arguments = [data.arg::<u32>(true), counter.arg::<u32>(true), fence.into()];
            let options = Options { block_order, lane_order, ..Options::default() };
            let config = LaunchConfig::linear(4, 40);
            let result = emulator::launch(&mut device.memory, &publish::ENTRY, &config, &arguments, &options);
            match (fence, result) {
                (0, Err(error)) => assert!(error.to_string().contains("race"), "{error}"),
                (0, Ok(_)) => panic!("without a fence it is a race"),
                (_, result) => {
                    result.unwrap();
                }
            }
        }
    }
}

/// As `publish`, with too little between write and count: 1, no barrier; 2, no barrier, and another thread fences.
#[kernel]
unsafe fn publish_too_early(data: Out<u32>, counter: Out<u32>, mistake: u32) {
    let (last, i) = (shared::array::<LAST>(), thread::thread_idx_x());
    data.store(thread::index_x() as usize, i);
    if mistake == 1 && i == 39 || mistake == 2 && i == 0 {
        thread::device_fence();
    }
    if i == 39 {
        last.store(0, counter.atomic_add(0, 1));
    }
    thread::sync_threads();
    if last.load(0) == 1 {
        data.load(if mistake == 1 { 19 } else { 39 });
    }
}

#[test]
fn what_is_not_published_is_a_race() {
    for (mistake, byte) in [(1u32, 4 * 19), (2, 4 * 39)] {
        let mut device = Device::new();
        let (data, counter) = (device.fresh::<u32>(80), device.upload(&[0u32]));
        let arguments = [data.arg::<u32>(true), counter.arg::<u32>(true), mistake.into()];
        let result = device.try_launch(publish_too_early::ENTRY, LaunchConfig::linear(2, 40), &arguments);
        let error = result.unwrap_err().to_string();
        assert!(error.contains(&format!("race at byte {byte} of global data: this thread reads")), "{error}");
    }
}

/// Lanes of a warp pass a baton through one word, with `sync_warp` each time (or not the last time); more often than a
/// stamp can count.
#[kernel]
unsafe fn baton(output: Out<u32>, rounds: u32, syncs: u32) {
    let (sums, lane) = (shared::array::<SUMS>(), warp::lane_id());
    if lane == 0 {
        sums.store(0, 0);
    }
    warp::sync_warp(FULL);
    for round in 0..rounds {
        if round % 32 == lane {
            sums.store(0, sums.load(0) + 1);
        }
        if round < syncs {
            warp::sync_warp(FULL);
        }
    }
    if lane == 31 {
        output.store(0, sums.load(0));
    }
}

#[test]
fn many_syncs_of_a_warp_are_clean() {
    let mut device = Device::new();
    let output = device.fresh::<u32>(1);
    let arguments = |syncs: u32| [output.arg::<u32>(true), 70_001u32.into(), syncs.into()];
    device.launch(baton::ENTRY, LaunchConfig::linear(1, 32), &arguments(70_001));
    assert_eq!(device.download::<u32>(output), [70_001]);
    let error = device.try_launch(baton::ENTRY, LaunchConfig::linear(1, 32), &arguments(70_000)).unwrap_err();
    assert!(error.to_string().contains("lane 31"), "{error}");
    assert!(error.to_string().contains("race at byte 0 of shared SUMS: this thread reads"), "{error}");
}

/// A row of each thread: read and written many times, by that thread alone.
#[kernel]
unsafe fn own_rows(data: Out<u8>, length: u32) {
    let row = (thread::index_x() * length) as usize;
    for i in 0..length as usize {
        data.store(row + i, i as u8);
    }
    for i in 1..length as usize {
        data.store(row + i, data.load(row + i) + data.load(row + i - 1));
    }
}

#[test]
fn neighbouring_bytes_of_different_threads_are_clean() {
    let mut device = Device::new();
    let data = device.fresh::<u8>(7 * 90);
    device.launch(own_rows::ENTRY, LaunchConfig::linear(3, 30), &[data.arg::<u8>(true), 7u32.into()]);
    assert_eq!(device.download::<u8>(data), [0, 1, 3, 6, 10, 15, 21].repeat(90));
}
