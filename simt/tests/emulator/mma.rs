//! Matrix products against the definition, and the mistakes that the emulator finds in them.

use simt::emulator::LaunchError;
use simt::global::{In, Out};
use simt::launch::LaunchConfig;
use simt::mma::{multiply_add_b1, multiply_add_u8};
use simt::{kernel, thread, warp};

use crate::support::Device;

#[kernel]
unsafe fn product(a: In<u8>, b: In<u8>, c: In<u32>, d: Out<u32>) {
    let (g, t) = ((warp::lane_id() / 4) as usize, (warp::lane_id() % 4) as usize);
    let word = |bytes: [u8; 4]| u32::from_le_bytes(bytes);
    // A is 16 x 32, row by row; B 32 x 8, C and D 16 x 8.
    let a_word = |row: usize, col: usize| word(std::array::from_fn(|i| a.load(32 * row + col + i)));
    let b_word = |row: usize| word(std::array::from_fn(|i| b.load(8 * (row + i) + g)));
    let fragments = [a_word(g, 4 * t), a_word(g + 8, 4 * t), a_word(g, 16 + 4 * t), a_word(g + 8, 16 + 4 * t)];
    let place = |i: usize| 8 * (g + 8 * (i / 2)) + 2 * t + i % 2;
    let sum =
        multiply_add_u8(fragments, [b_word(4 * t), b_word(16 + 4 * t)], std::array::from_fn(|i| c.load(place(i))));
    for (i, element) in sum.into_iter().enumerate() {
        d.store(place(i), element);
    }
}

#[kernel]
unsafe fn half_a_product(d: Out<u32>) {
    if thread::thread_idx_x() < 16 {
        d.store(0, multiply_add_u8([1; 4], [1; 2], [0; 4])[0]);
    }
}

#[test]
fn a_product_is_the_definition_s() {
    let a: Vec<u8> = (0..16 * 32).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let b: Vec<u8> = (0..32 * 8).map(|i: u32| (i.wrapping_mul(2_246_822_519) >> 23) as u8).collect();
    let c: Vec<u32> = (0..16 * 8).map(|i| u32::MAX - 1000 * i).collect();
    let mut device = Device::new();
    let d = device.fresh::<u32>(16 * 8);
    let (a_arg, b_arg) = (device.upload(&a).arg::<u8>(false), device.upload(&b).arg::<u8>(false));
    let c_arg = device.upload(&c).arg::<u32>(false);
    device.launch(product::ENTRY, LaunchConfig::linear(1, 32), &[a_arg, b_arg, c_arg, d.arg::<u32>(true)]);
    let expected: Vec<u32> = (0..16 * 8)
        .map(|i| {
            let (row, col) = (i / 8, i % 8);
            let products = (0..32).map(|k| u32::from(a[32 * row + k]) * u32::from(b[8 * k + col]));
            c[i].wrapping_add(products.sum())
        })
        .collect();
    assert_eq!(device.download::<u32>(d), expected);
}

#[kernel]
unsafe fn product_of_bits(a: In<u32>, b: In<u32>, c: In<u32>, d: Out<u32>) {
    let (g, t) = ((warp::lane_id() / 4) as usize, (warp::lane_id() % 4) as usize);
    // A is 16 x 256 bits, eight words a row; B has eight words a column.
    let fragments = [8 * g + t, 8 * (g + 8) + t, 8 * g + 4 + t, 8 * (g + 8) + 4 + t].map(|word| a.load(word));
    let of_b = [8 * g + t, 8 * g + 4 + t].map(|word| b.load(word));
    let place = |i: usize| 8 * (g + 8 * (i / 2)) + 2 * t + i % 2;
    let sum = multiply_add_b1(fragments, of_b, std::array::from_fn(|i| c.load(place(i))));
    for (i, element) in sum.into_iter().enumerate() {
        d.store(place(i), element);
    }
}

#[test]
fn a_product_of_bits_is_the_definition_s() {
    let a: Vec<u32> = (0..16 * 8).map(|i: u32| i.wrapping_mul(2_654_435_761).rotate_left(i)).collect();
    let b: Vec<u32> = (0..8 * 8).map(|i: u32| (i + 7).wrapping_mul(2_246_822_519).rotate_left(2 * i)).collect();
    let c: Vec<u32> = (0..16 * 8).map(|i| u32::MAX - 10 * i).collect();
    let mut device = Device::new();
    let d = device.fresh::<u32>(16 * 8);
    let [a_arg, b_arg, c_arg] = [&a, &b, &c].map(|words| device.upload(words).arg::<u32>(false));
    let args = [a_arg, b_arg, c_arg, d.arg::<u32>(true)];
    device.launch(product_of_bits::ENTRY, LaunchConfig::linear(1, 32), &args);
    let expected: Vec<u32> = (0..16 * 8)
        .map(|i| {
            let (row, col) = (i / 8, i % 8);
            let bit = |words: &[u32], first: usize, k: usize| words[first + k / 32] >> (k % 32) & 1;
            let common = |k: &usize| bit(&a, 8 * row, *k) & bit(&b, 8 * col, *k) == 1;
            c[i].wrapping_add((0..256).filter(common).count() as u32)
        })
        .collect();
    assert_eq!(device.download::<u32>(d), expected);
}

#[test]
fn a_product_without_all_lanes_is_reported() {
    let mut device = Device::new();
    let d = device.fresh::<u32>(1);
    let error = device.try_launch(half_a_product::ENTRY, LaunchConfig::linear(1, 32), &[d.arg::<u32>(true)]);
    let error: LaunchError = error.expect_err("lanes are missing");
    assert!(error.to_string().contains("a matrix product"), "{error}");
}
