//! The kernels for shortest paths over the table of graphs, on emulated devices.
//!
//! Sizes are small, because the emulator is slow; they are on both sides of one, two and three tiles.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

use halotile::apsp::Matrix;
use halotile::apsp::device::{Report, SolveError};
use halotile::exec::emulator::{EmulatedDevice, Order};
use halotile::exec::{Device, DeviceError};
use halotile::observe::Observer;
use halotile_lab::apsp::{Kernel, solve};
use halotile_tests::apsp::{Case, SIZES, random, shapes};

fn emulated(count: usize) -> Vec<Arc<dyn Device>> {
    (0..count).map(|number| Arc::new(EmulatedDevice::new(number, None)) as Arc<dyn Device>).collect()
}

fn all(vertices: usize) -> Vec<Case> {
    random(vertices).into_iter().chain(shapes(vertices)).collect()
}

fn check(cases: &[Case], kernel: Kernel, devices: &[Arc<dyn Device>]) {
    for case in cases {
        let run = |matrix: &mut Matrix<i32>| {
            solve(matrix, kernel, devices, &()).unwrap();
        };
        case.check(run).unwrap_or_else(|wrong| panic!("{kernel} on {} devices: {wrong}", devices.len()));
    }
}

#[test]
fn naive() {
    SIZES.into_iter().filter(|&size| size <= 65).for_each(|size| check(&all(size), Kernel::Naive, &emulated(1)));
}

#[test]
fn blocked32() {
    SIZES.into_iter().filter(|&size| size <= 96).for_each(|size| check(&all(size), Kernel::Blocked32, &emulated(1)));
    check(&random(129), Kernel::Blocked32, &emulated(1));
}

#[test]
fn blocked64() {
    SIZES.into_iter().filter(|&size| size <= 96).for_each(|size| check(&all(size), Kernel::Blocked64, &emulated(1)));
    check(&random(129), Kernel::Blocked64, &emulated(1));
}

/// Three rows of tiles, so that of four devices one has none, and five of them on two and on four.
#[test]
fn blocked64_on_several_devices() {
    for devices in [2, 3, 4] {
        check(&random(130), Kernel::Blocked64, &emulated(devices));
    }
    for devices in [2, 4] {
        check(&random(257)[1..2], Kernel::Blocked64, &emulated(devices));
    }
    for vertices in [1, 65] {
        check(&all(vertices), Kernel::Blocked64, &emulated(2));
    }
}

/// Blocks and lanes may run in any order.
#[test]
fn other_orders() {
    for kernel in [Kernel::Naive, Kernel::Blocked32, Kernel::Blocked64] {
        for order in [Order::Reverse, Order::Shuffled(5)] {
            let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None).with_order(order));
            check(&random(65), kernel, &[device]);
        }
    }
}

/// What a run ends with. One that has not ended after a minute hangs.
fn ended(
    kernel: Kernel,
    vertices: usize,
    devices: Vec<Arc<dyn Device>>,
    observer: impl Observer + Send + 'static,
) -> Result<Report, SolveError> {
    let (tell, told) = mpsc::channel();
    let mut matrix = random(vertices)[1].weights(|weight| weight);
    std::thread::spawn(move || tell.send(solve(&mut matrix, kernel, &devices, &observer)));
    told.recv_timeout(Duration::from_secs(60)).expect("it ends")
}

#[test]
fn a_device_that_fails_ends_the_work_of_all() {
    for count in [1, 2, 3, 4] {
        for failing in 0..count {
            for launches in [0, 1, 4] {
                let mut devices = emulated(count);
                devices[failing] = Arc::new(EmulatedDevice::new(7, None).failing_after(launches));
                let end = ended(Kernel::Blocked64, 250, devices, ());
                let told = matches!(&end, Err(SolveError::Device(DeviceError::Driver { device, .. })) if device == "emulator:7");
                assert!(told, "{count} devices, number {failing} fails after {launches}: {end:?}");
            }
        }
    }
}

#[test]
fn too_little_memory_is_an_error_on_any_device() {
    let mut devices = emulated(3);
    devices[1] = Arc::new(EmulatedDevice::new(1, Some(20_000)));
    let end = ended(Kernel::Blocked64, 200, devices, ());
    assert!(matches!(end, Err(SolveError::Device(DeviceError::OutOfMemory { .. }))), "{end:?}");
}

/// Counts, and stops when so many vertices are done.
struct Until {
    most: u64,
    done: Arc<AtomicU64>,
}

impl Observer for Until {
    fn advance(&self, vertices: u64) {
        self.done.fetch_add(vertices, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.done.load(Relaxed) >= self.most
    }
}

#[test]
fn observers_hear_of_all_vertices_and_can_stop() {
    for (kernel, count) in [
        (Kernel::Naive, 1),
        (Kernel::Blocked32, 1),
        (Kernel::Blocked64, 1),
        (Kernel::Blocked64, 2),
        (Kernel::Blocked64, 3),
    ] {
        let done = Arc::new(AtomicU64::new(0));
        let until = |most| Until { most, done: Arc::clone(&done) };
        ended(kernel, 130, emulated(count), until(1000)).unwrap();
        assert_eq!(done.load(Relaxed), 130, "{kernel} on {count} devices");
        let end = ended(kernel, 130, emulated(count), until(0));
        assert!(matches!(end, Err(SolveError::Cancelled(_))), "{kernel} on {count} devices: {end:?}");
    }
    // On the way.
    let done = Arc::new(AtomicU64::new(0));
    let end = ended(Kernel::Blocked64, 200, emulated(2), Until { most: 64, done: Arc::clone(&done) });
    assert!(matches!(end, Err(SolveError::Cancelled(_))) && (64..200).contains(&done.load(Relaxed)), "{end:?}");
}

#[test]
fn rungs_say_what_they_cannot_do() {
    for kernel in [Kernel::Naive, Kernel::Blocked32] {
        let mut matrix = Matrix::<i32>::unreachable(3).unwrap();
        let error = solve(&mut matrix, kernel, &emulated(2), &()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("kernel {kernel} cannot do this: it runs on one device, and there are 2")
        );
    }
    let error = solve(&mut Matrix::<u16>::unreachable(3).unwrap(), Kernel::Blocked64, &emulated(1), &()).unwrap_err();
    assert_eq!(error.to_string(), "kernel blocked64 cannot do this: it takes 32-bit integers only");
}
