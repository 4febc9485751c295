//! Shuffles and votes against direct models, with full and partial masks and warps.

use simt::emulator::Options;
use simt::global::Out;
use simt::launch::LaunchConfig;
use simt::scalar::{Scalar, Shuffle};
use simt::warp::{self, FULL};
use simt::{emulator, kernel, thread};

use crate::support::{Device, ORDERS};

/// One shuffle of mode `mode`; what came and whether from inside.
fn shuffle<T: Shuffle>(mode: u32, value: T, operand: u32, width: u32) -> (T, bool) {
    match mode {
        0 => warp::warp_shuffle_idx(FULL, value, operand, width),
        1 => warp::warp_shuffle_up(FULL, value, operand, width),
        2 => warp::warp_shuffle_down(FULL, value, operand, width),
        _ => warp::warp_shuffle_xor(FULL, value, operand, width),
    }
}

fn shuffle_all<T: Shuffle + Scalar>(output: Out<T>, inside: Out<u8>, mode: u32, width: u32, value: T) {
    let lane = warp::lane_id();
    for operand in 0..32 {
        // Half of the lanes ask for another operand than the rest.
        let operand = if lane < 16 { operand } else { (operand * 5 + 1) % 32 };
        let (got, from_inside) = shuffle(mode, value, operand, width);
        let at = (operand_index(lane, operand) * 32 + lane) as usize;
        output.store(at, got);
        inside.store(at, u8::from(from_inside));
    }
}

/// Undoes the second operand's scattering: 5 * 13 = 1 modulo 32.
fn operand_index(lane: u32, operand: u32) -> u32 {
    if lane < 16 { operand } else { operand.wrapping_sub(1).wrapping_mul(13) % 32 }
}

#[kernel]
unsafe fn shuffle_u32(output: Out<u32>, inside: Out<u8>, mode: u32, width: u32) {
    shuffle_all(output, inside, mode, width, 100 + warp::lane_id());
}
#[kernel]
unsafe fn shuffle_f32(output: Out<f32>, inside: Out<u8>, mode: u32, width: u32) {
    shuffle_all(output, inside, mode, width, 0.5 + warp::lane_id() as f32);
}
#[kernel]
unsafe fn shuffle_u64(output: Out<u64>, inside: Out<u8>, mode: u32, width: u32) {
    shuffle_all(output, inside, mode, width, u64::from(warp::lane_id()) << 33 | 5);
}
#[kernel]
unsafe fn shuffle_f64(output: Out<f64>, inside: Out<u8>, mode: u32, width: u32) {
    shuffle_all(output, inside, mode, width, 1e300 / (1.0 + f64::from(warp::lane_id())));
}

/// Where a lane reads, in words other than the emulator's: by segment and place in it. (A butterfly whose operand
/// is at least the width leaves its segment, downwards only; then the model speaks of lanes.)
fn model(mode: u32, lane: i64, operand: i64, width: i64) -> (i64, bool) {
    let (segment, place) = (lane / width, lane % width);
    let source = match mode {
        0 => operand % width,
        1 => place - operand,
        2 => place + operand,
        _ => (lane ^ operand) - segment * width,
    };
    let inside = source < width && (mode == 3 || source >= 0);
    if inside { (segment * width + source, true) } else { (lane, false) }
}

#[test]
fn shuffles_follow_the_definition_in_every_mode_width_and_type() {
    for mode in 0..4u32 {
        for width in [1u32, 2, 4, 8, 16, 32] {
            let mut device = Device::new();
            let inside = device.fresh::<u8>(1024);
            let (a, b) = (device.fresh::<u32>(1024), device.fresh::<f32>(1024));
            let (c, d) = (device.fresh::<u64>(1024), device.fresh::<f64>(1024));
            let rest = [inside.arg::<u8>(true), Into::into(mode), Into::into(width)];
            for (kernel, output) in [
                (shuffle_u32::ENTRY, a.arg::<u32>(true)),
                (shuffle_f32::ENTRY, b.arg::<f32>(true)),
                (shuffle_u64::ENTRY, c.arg::<u64>(true)),
                (shuffle_f64::ENTRY, d.arg::<f64>(true)),
            ] {
                let arguments = [&[output], &rest[..]].concat();
                device.launch(kernel, LaunchConfig::linear(1, 32), &arguments);
                for (i, flag) in device.download::<u8>(inside).into_iter().enumerate() {
                    let (lane, row) = (i as i64 % 32, i as i64 / 32);
                    let operand = if lane < 16 { row } else { (row * 5 + 1) % 32 };
                    let (source, from_inside) = model(mode, lane, operand, i64::from(width));
                    let context = format!("mode {mode}, width {width}, lane {lane}, operand {operand}");
                    assert_eq!(flag != 0, from_inside, "{context}");
                    match kernel.name {
                        "shuffle_u32" => assert_eq!(device.download::<u32>(a)[i], 100 + source as u32, "{context}"),
                        "shuffle_f32" => assert_eq!(device.download::<f32>(b)[i], 0.5 + source as f32, "{context}"),
                        "shuffle_u64" => assert_eq!(device.download::<u64>(c)[i], (source as u64) << 33 | 5),
                        _ => assert_eq!(device.download::<f64>(d)[i], 1e300 / (1.0 + source as f64)),
                    }
                }
            }
        }
    }
}

/// Votes of all lanes, of odd and even ones apart, and of the last warp, which is not full.
#[kernel]
unsafe fn votes(output: Out<u32>) {
    let i = thread::thread_idx_x();
    let lane = warp::lane_id();
    let whole = if i < 32 { FULL } else { 0xFF };
    let half = whole & if lane.is_multiple_of(2) { 0x5555_5555 } else { 0xAAAA_AAAA };
    let result = [
        warp::warp_vote_ballot(whole, lane.is_multiple_of(3)),
        warp::warp_vote_ballot(half, lane.is_multiple_of(3)),
        u32::from(warp::warp_vote_all(half, lane.is_multiple_of(2))),
        u32::from(warp::warp_vote_any(half, lane == 4)),
        warp::warp_shuffle_xor(half, lane, 2, 32).0,
    ];
    for (k, value) in result.into_iter().enumerate() {
        output.store(i as usize * 5 + k, value);
    }
}

#[test]
fn votes_count_the_lanes_of_their_mask() {
    for (block_order, lane_order) in ORDERS {
        let mut device = Device::new();
        let output = device.fresh::<u32>(40 * 5);
        let options = Options { block_order, lane_order, ..Options::default() };
        let config = LaunchConfig::linear(1, 40);
        emulator::launch(&mut device.memory, &votes::ENTRY, &config, &[output.arg::<u32>(true)], &options).unwrap();
        let thirds = (0..32).filter(|lane: &u32| lane.is_multiple_of(3)).fold(0u32, |bits, lane| bits | 1 << lane);
        for (i, row) in device.download::<u32>(output).chunks(5).enumerate() {
            let (even, whole) = (i % 2 == 0, if i < 32 { FULL } else { 0xFF });
            let half = whole & if even { 0x5555_5555 } else { 0xAAAA_AAAA };
            let expected = [thirds & whole, thirds & half, u32::from(even), u32::from(even), (i as u32 % 32) ^ 2];
            assert_eq!(row, expected, "thread {i}");
        }
    }
}

/// Sums of each warp, by halving.
#[kernel]
unsafe fn warp_sums(output: Out<f32>) {
    let mut sum = (thread::index_x() + 1) as f32;
    for delta in [16, 8, 4, 2, 1] {
        sum += warp::warp_shuffle_down(FULL, sum, delta, 32).0;
    }
    if warp::lane_id() == 0 {
        output.store(thread::index_x() as usize / 32, sum);
    }
}

#[test]
fn warps_reduce() {
    let mut device = Device::new();
    let output = device.fresh::<f32>(8);
    let report = device.launch(warp_sums::ENTRY, LaunchConfig::linear(2, 128), &[output.arg::<f32>(true)]);
    assert_eq!(report.warp_operations, 256 * 5);
    let expected: Vec<f32> = (0..8).map(|w| (0..32).map(|i| (w * 32 + i + 1) as f32).sum()).collect();
    assert_eq!(device.download::<f32>(output), expected);
}
