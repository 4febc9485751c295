//! Maps of more than 256 classes on emulated devices, as `halotile_tests::words` has them.

use std::sync::Arc;

use halotile::exec::Device;
use halotile::exec::emulator::{EmulatedDevice, Order};
use halotile_tests::words::check;

#[test]
fn maps_of_many_classes() {
    let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
    // All of them are for GPUs. One in seven has each size with each kind of nodata once, and every map at least twice.
    let (cases, worst) = check(&device, 7).unwrap();
    assert!(cases == 18 && worst < 2e-6, "{cases} cases, {worst}");
}

/// A result that depended on who comes first would show.
#[test]
fn lanes_and_blocks_in_another_order() {
    let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None).with_order(Order::Reverse));
    assert!(check(&device, 29).unwrap().0 > 3);
}
