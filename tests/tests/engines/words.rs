//! Maps of more than 256 classes on emulated devices, as `halotile_tests::words` has them.

use std::sync::Arc;

use halotile::exec::Device;
use halotile::exec::emulator::{EmulatedDevice, Order};
use halotile_tests::words::check;

/// All of them are for GPUs. One in seven has each size with each kind of nodata once, and every map at least twice; by three tests, which
/// run side by side.
fn a_third(first: usize) {
    let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
    let (cases, worst) = check(&device, 7 * first, 21).unwrap();
    assert!(cases == 6 && worst < 2e-6, "{cases} cases, {worst}");
}

#[test]
fn maps_of_many_classes_1() {
    a_third(0);
}

#[test]
fn maps_of_many_classes_2() {
    a_third(1);
}

#[test]
fn maps_of_many_classes_3() {
    a_third(2);
}

/// A result that depended on who comes first would show.
#[test]
fn lanes_and_blocks_in_another_order() {
    let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None).with_order(Order::Reverse));
    assert!(check(&device, 0, 29).unwrap().0 > 3);
}
