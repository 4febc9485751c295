//! Every rung against the oracle, in the emulator.

use std::sync::Arc;

use super::launch::{Step, kernel};
use super::oracle::Truth;
use super::{Number, Operation, REDUCE, Reduction, Rung, reduce};
use crate::primer::{Ask, Elements};
use halotile::exec::emulator::{EmulatedDevice, Order};
use halotile::exec::{Buffer, Device, DeviceError};

fn device() -> Arc<dyn Device> {
    Arc::new(EmulatedDevice::new(0, None))
}

fn agrees<T: Number>(sizes: &[usize]) {
    let device = device();
    for &n in sizes {
        let numbers: Vec<T> = (0..n).map(|at| T::random(n as u64, at)).collect();
        let buffer = Buffer::from_slice(&device, &numbers).unwrap();
        let truth = Truth::of(n, |at| numbers[at]);
        for (rung, operation) in
            Rung::ALL.into_iter().flat_map(|rung| Operation::ALL.map(|operation| (rung, operation)))
        {
            let what = format!("{} {} of {n} {}", rung.name(), operation.name(), T::ELEMENTS);
            let mut reduction = Reduction::<T>::new(&device, rung, operation, n).unwrap();
            reduction.run(&buffer, 0).unwrap_or_else(|error| panic!("{what}: {error}"));
            let got = reduction.result().unwrap();
            truth.judge(operation, got, reduction.additions()).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
    }
}

const SIZES: [usize; 14] = [1, 2, 31, 32, 33, 255, 256, 257, 511, 512, 513, 1000, 4099, 20_005];

#[test]
fn integers_agree_with_the_oracle() {
    agrees::<i32>(&SIZES);
}

#[test]
fn single_precision_agrees_with_the_oracle() {
    agrees::<f32>(&SIZES);
}

#[test]
fn double_precision_agrees_with_the_oracle() {
    agrees::<f64>(&SIZES);
}

/// What lies beside the numbers would show in any sum.
fn reduces_parts<T: Number>(tiles: &[usize]) {
    let device = device();
    for first in 0..5 {
        for n in (1..8).chain(tiles.iter().copied()) {
            let inside = first..first + n;
            let numbers: Vec<T> = (0..n + 10)
                .map(|at| if inside.contains(&at) { T::random(1, at) } else { T::identity(Operation::Min) })
                .collect();
            let buffer = Buffer::from_slice(&device, &numbers).unwrap();
            let truth = Truth::of(n, |at| numbers[first + at]);
            for rung in [Rung::Reduce0, Rung::Reduce4, Rung::Reduce6, Rung::Reduce7] {
                let mut reduction = Reduction::<T>::new(&device, rung, Operation::Sum, n).unwrap();
                reduction.run(&buffer, first).unwrap();
                let verdict = truth.judge(Operation::Sum, reduction.result().unwrap(), reduction.additions());
                verdict.unwrap_or_else(|error| panic!("{} of {first}.. {n}: {error}", rung.name()));
            }
        }
    }
}

#[test]
fn numbers_may_begin_and_end_anywhere() {
    reduces_parts::<i32>(&[8191, 8192, 8193, 8195]);
    reduces_parts::<f64>(&[4095, 4096, 4097]);
}

#[test]
fn a_sum_has_the_same_bits_in_every_run_and_order_of_blocks() {
    let numbers: Vec<f32> = (0..30_000).map(|at| f32::random(3, at)).collect();
    let sums = [Order::Forward, Order::Reverse, Order::Shuffled(7)].map(|order| {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None).with_order(order));
        let buffers =
            [&numbers[..], &[1.0; 30_000], &numbers[..]].map(|data| Buffer::from_slice(&device, data).unwrap());
        Rung::ALL.map(|rung| {
            let mut reduction = Reduction::<f32>::new(&device, rung, Operation::Sum, numbers.len()).unwrap();
            // Other numbers in between: each run needs the ticket back, or it leaves the result of the run before.
            let [first, between, last] = buffers.each_ref().map(|buffer| {
                reduction.run(buffer, 0).unwrap();
                reduction.result().unwrap()
            });
            assert_eq!((first.to_bits(), between), (last.to_bits(), 30_000.0), "{}", rung.name());
            first.to_bits()
        })
    });
    assert_eq!(sums[0], sums[1]);
    assert_eq!(sums[0], sums[2]);
}

#[test]
fn no_numbers_give_the_identity() {
    let device = device();
    for rung in Rung::ALL {
        assert_eq!(reduce::<i32>(&device, rung, Operation::Sum, &[]).unwrap(), 0);
        assert_eq!(reduce::<f32>(&device, rung, Operation::Min, &[]).unwrap(), f32::INFINITY);
        assert_eq!(reduce::<f64>(&device, rung, Operation::Max, &[]).unwrap(), f64::NEG_INFINITY);
    }
}

/// NaN joins with nothing, and a sum of -0 is -0.
#[test]
fn special_numbers() {
    let device = device();
    for rung in Rung::ALL {
        let numbers = [f32::NAN, 2.0, -3.0, f32::NAN, 1.0];
        assert_eq!(reduce(&device, rung, Operation::Min, &numbers).unwrap(), -3.0, "{}", rung.name());
        assert_eq!(reduce(&device, rung, Operation::Max, &numbers).unwrap(), 2.0, "{}", rung.name());
        assert!(reduce(&device, rung, Operation::Sum, &numbers).unwrap().is_nan());
        assert!(reduce(&device, rung, Operation::Sum, &[-0.0f64; 3]).unwrap().is_sign_negative());
        assert_eq!(reduce(&device, rung, Operation::Sum, &[i32::MIN; 3]).unwrap(), i32::MIN);
    }
}

#[test]
#[should_panic(expected = "4 numbers from 2 on are not in a buffer of 20 bytes")]
fn numbers_beyond_the_buffer_are_refused() {
    let device = device();
    let buffer = Buffer::from_slice(&device, &[1i32; 5]).unwrap();
    let mut reduction = Reduction::<i32>::new(&device, Rung::Reduce0, Operation::Sum, 4).unwrap();
    let _ = reduction.run(&buffer, 2);
}

/// 132 multiprocessors with 8 blocks each, and more numbers than 32 bits count.
#[test]
fn launches_for_many_numbers() {
    let step = |count, blocks, threads| Step { count, blocks, threads };
    let steps = |rung: Rung| rung.steps::<f32>((1 << 33) + 1, 1056);
    assert_eq!(
        steps(Rung::Reduce0),
        [
            step((1 << 33) + 1, (1 << 25) + 1, 256),
            step((1 << 25) + 1, (1 << 17) + 1, 256),
            step((1 << 17) + 1, 513, 256),
            step(513, 3, 256),
            step(3, 1, 64),
        ]
    );
    assert_eq!(steps(Rung::Reduce5)[0], step((1 << 33) + 1, (1 << 24) + 1, 256));
    assert_eq!(steps(Rung::Reduce6), [step((1 << 33) + 1, 1056, 256), step(1056, 1, 256)]);
    assert_eq!(steps(Rung::Reduce7), [step((1 << 33) + 1, 1056, 256)]);
    assert_eq!(Rung::Reduce7.steps::<f64>(4097, 1056), [step(4097, 2, 256)]);
}

#[test]
fn additions_are_those_of_the_launches() {
    let device = device();
    let of = |rung, n| Reduction::<f32>::new(&device, rung, Operation::Sum, n).unwrap().additions();
    // 4 blocks of 256 threads, one of 64.
    assert_eq!(of(Rung::Reduce0, 1000), 8 + 6);
    // 2 blocks that load two; one of 64, or of 256 where that is a constant.
    assert_eq!((of(Rung::Reduce3, 1000), of(Rung::Reduce5, 1000)), (9 + 7, 9 + 9));
    // 2 blocks run at once: 40 rounds of 1024 numbers, then one for 2.
    assert_eq!(of(Rung::Reduce6, 40_960), 40 + 8 + 1 + 8);
    // 5 tiles for 2 blocks.
    assert_eq!(of(Rung::Reduce7, 5 * 8192), 2 + 3 + 3 + 2 + 8 + 8);
}

#[test]
fn every_kernel_is_there_and_has_its_own_name() {
    for rung in Rung::ALL {
        assert_eq!(rung.before(), Rung::ALL.into_iter().rfind(|&other| other < rung));
        for operation in Operation::ALL {
            for kernel in
                [kernel::<i32>(rung, operation), kernel::<f32>(rung, operation), kernel::<f64>(rung, operation)]
            {
                assert!(kernel.name.contains(rung.name()) && kernel.name.contains(operation.name()), "{}", kernel.name);
            }
        }
    }
    assert_eq!(halotile_lab_kernels::primer::reduce::KERNELS.len(), 72);
}

#[test]
fn cases_of_a_table_share_their_numbers() {
    let emulated = Arc::new(EmulatedDevice::new(0, None));
    let device: Arc<dyn Device> = Arc::<EmulatedDevice>::clone(&emulated);
    let free = device.free_memory().unwrap();
    let cases = (REDUCE.cases)(&Ask { size: [3000, 0, 0], elements: Elements::F64, seed: 1 });
    assert_eq!(cases.len(), 24);
    for case in &cases {
        let mut run = case.start(&device, 2).unwrap();
        run.run().unwrap();
        run.run().unwrap();
        run.check().unwrap().unwrap_or_else(|error| panic!("{case:?}: {error}"));
        assert!(free - device.free_memory().unwrap() <= case.bytes(2) + 1024, "{case:?}");
    }
    assert_eq!(free - device.free_memory().unwrap(), 2 * (3000usize * 8).next_multiple_of(256));
    drop(cases);
    assert_eq!(device.free_memory().unwrap(), free);
}

#[test]
fn a_device_without_memory_says_so() {
    let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, Some(10_000)));
    let error = reduce(&device, Rung::Reduce7, Operation::Sum, &[1i32; 5000]).unwrap_err();
    assert!(matches!(error, DeviceError::OutOfMemory { wanted: 20_000, .. }), "{error}");
}
