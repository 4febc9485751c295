//! The kernels for shortest paths on emulated devices: every type of distances, one to four devices, over the table of graphs.

use std::sync::Arc;

use halotile::apsp::device::SolveError;
use halotile::apsp::{Distance, Matrix};
use halotile::exec::emulator::{EmulatedDevice, Order};
use halotile::exec::{Device, DeviceError};
use halotile::observe::Observer;
use halotile_lab::apsp::{Kernel, solve};
use halotile_tests::apsp::{Case, random, shapes};

fn devices(count: usize) -> Vec<Arc<dyn Device>> {
    (0..count).map(|i| Arc::new(EmulatedDevice::new(i, None)) as Arc<dyn Device>).collect()
}

fn run<T: Distance>(matrix: &mut Matrix<T>, devices: &[Arc<dyn Device>]) {
    solve(matrix, Kernel::Tiled, devices, &()).unwrap_or_else(|error| panic!("{error}"));
}

fn check(case: &Case, devices: &[Arc<dyn Device>]) {
    let checked = case.check_types(false, |matrix| matrix.solve(Kernel::Tiled, devices).map_err(|e| e.to_string()));
    checked.unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
fn one_device() {
    for vertices in [1, 2, 64, 127, 128, 129, 257] {
        // Beyond a tile every other one.
        let step = if vertices > 129 { 2 } else { 1 };
        for case in random(vertices).into_iter().chain(shapes(vertices)).step_by(step) {
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
    for vertices in [1, 130, 300] {
        for case in random(vertices).into_iter().chain(shapes(vertices)).step_by(4) {
            for count in 2..=4 {
                check(&case, &devices(count));
            }
        }
    }
}

#[test]
fn matrices_larger_than_memory() {
    let small = |i| Arc::new(EmulatedDevice::new(i, Some(4 << 20))) as Arc<dyn Device>;
    let devices = |count| (0..count).map(small).collect::<Vec<_>>();
    // Three blocks, the last of them small.
    let cases: Vec<Case> = random(520).into_iter().chain(shapes(520)).collect();
    cases[0].check(|matrix| run(matrix, &devices(1))).unwrap_or_else(|wrong| panic!("{wrong}"));
    cases[9].check(|matrix| run(matrix, &devices(3))).unwrap_or_else(|wrong| panic!("{wrong}"));
    let mut short = cases[3].weights(|weight| weight as u16);
    run(&mut short, &devices(2));
    cases[3].compare(&short, 0.0).unwrap_or_else(|wrong| panic!("{wrong}"));
    let nothing = Arc::new(EmulatedDevice::new(0, Some(1 << 20))) as Arc<dyn Device>;
    let failed = solve(&mut cases[0].weights(|weight| weight), Kernel::Tiled, &[nothing], &());
    assert!(matches!(failed, Err(SolveError::Device(DeviceError::OutOfMemory { .. }))), "{failed:?}");
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
