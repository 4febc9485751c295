//! The kernels for shortest paths on emulated devices: every type of distances, one to four devices, over the table of graphs.

use std::sync::Arc;

use halotile::apsp::device::{SolveError, solve};
use halotile::apsp::{Distance, Kernel, Matrix};
use halotile::exec::emulator::{EmulatedDevice, Order};
use halotile::exec::{Device, DeviceError};
use halotile::observe::Observer;
use halotile_tests::apsp::{Case, random, shapes};

fn devices(count: usize) -> Vec<Arc<dyn Device>> {
    (0..count).map(|i| Arc::new(EmulatedDevice::new(i, None)) as Arc<dyn Device>).collect()
}

fn run<T: Distance>(matrix: &mut Matrix<T>, devices: &[Arc<dyn Device>]) {
    solve(matrix, Kernel::Tiled, devices, &()).unwrap_or_else(|error| panic!("{error}"));
}

/// All types. In 16 bits only graphs whose distances fit.
fn check(case: &Case, devices: &[Arc<dyn Device>]) {
    case.check(|matrix| run(matrix, devices)).unwrap_or_else(|wrong| panic!("{wrong}"));
    let mut real = case.weights(|weight| weight as f32);
    run(&mut real, devices);
    case.compare(&real, 1e-6).unwrap_or_else(|wrong| panic!("f32: {wrong}"));
    if !case.name.starts_with("complete, heavy") {
        let mut short = case.weights(|weight| weight as u16);
        run(&mut short, devices);
        case.compare(&short, 0.0).unwrap_or_else(|wrong| panic!("u16: {wrong}"));
    }
}

#[test]
fn one_device() {
    for vertices in [1, 2, 64, 127, 128, 129, 257] {
        for case in random(vertices).into_iter().chain(shapes(vertices)) {
            check(&case, &devices(1));
        }
    }
}

#[test]
fn a_thousand_vertices() {
    let cases = shapes(1000);
    cases[3].check(|matrix| run(matrix, &devices(2))).unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
fn several_devices() {
    for vertices in [1, 130, 400] {
        for case in random(vertices).into_iter().chain(shapes(vertices)).step_by(3) {
            for count in 2..=4 {
                check(&case, &devices(count));
            }
        }
    }
}

#[test]
fn matrices_larger_than_memory() {
    let small = |i| Arc::new(EmulatedDevice::new(i, Some(4 << 20))) as Arc<dyn Device>;
    for vertices in [700, 769] {
        let cases: Vec<Case> = random(vertices).into_iter().chain(shapes(vertices)).collect();
        for (case, count) in [(&cases[0], 1), (&cases[3], 2), (&cases[9], 3)] {
            let devices: Vec<_> = (0..count).map(small).collect();
            check(case, &devices);
        }
    }
}

#[test]
fn the_order_of_blocks_and_lanes_does_not_matter() {
    let case = &random(260)[1];
    for order in [Order::Reverse, Order::Shuffled(5)] {
        let device = Arc::new(EmulatedDevice::new(0, None).with_order(order)) as Arc<dyn Device>;
        check(case, &[device]);
    }
}

#[test]
fn a_device_that_fails_ends_the_work_of_all() {
    let case = &random(400)[0];
    for failing in 0..3 {
        let device = |i: usize| {
            let device = EmulatedDevice::new(i, None);
            Arc::new(if i == failing { device.failing_after(5) } else { device }) as Arc<dyn Device>
        };
        let devices: Vec<_> = (0..3).map(device).collect();
        let failed = solve(&mut case.weights(|weight| weight), Kernel::Tiled, &devices, &());
        assert!(matches!(failed, Err(SolveError::Device(DeviceError::Driver { .. }))), "{failed:?}");
    }
}

#[test]
fn work_can_be_stopped() {
    struct Stop;
    impl Observer for Stop {
        fn cancelled(&self) -> bool {
            true
        }
    }
    let case = &random(300)[0];
    for count in [1, 3] {
        let stopped = solve(&mut case.weights(|weight| weight), Kernel::Tiled, &devices(count), &Stop);
        assert!(matches!(stopped, Err(SolveError::Cancelled(_))), "{stopped:?}");
    }
}

#[test]
fn sixteen_bits_take_their_instructions() {
    let old = Arc::new(EmulatedDevice::new(0, None).with_arch(80)) as Arc<dyn Device>;
    let misfit = solve(&mut random(3)[0].weights(|weight| weight as u16), Kernel::Tiled, &[old], &()).unwrap_err();
    let expected = "kernel tiled cannot do this: it needs compute capability 9.0, and emulator:0 has 8.0";
    assert_eq!(misfit.to_string(), expected);
}
