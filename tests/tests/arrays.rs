//! Arrays in the memory of an emulated device, as `halotile_tests::arrays` asks for them.

use std::sync::Arc;

use halotile::exec::Device;
use halotile::exec::emulator::{EmulatedDevice, Order};
use halotile_tests::arrays::{Arrangement, check, check_case, check_errors};
use halotile_tests::runner::table;

fn emulated() -> Arc<dyn Device> {
    Arc::new(EmulatedDevice::new(0, None))
}

#[test]
fn every_type_in_every_arrangement() {
    assert!(check(&emulated(), 3).unwrap() >= 150);
}

/// A result that depended on who comes first would show.
#[test]
fn lanes_and_blocks_in_another_order() {
    let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None).with_order(Order::Reverse));
    assert!(check(&device, 17).unwrap() >= 20);
}

#[test]
fn errors_name_the_cell() {
    assert!(check_errors(&emulated()).unwrap() > 500);
}

/// The table of cases, device to device: in rows that kernels read and write themselves, where they can, and in others.
#[test]
fn the_table_of_cases() {
    let device = emulated();
    let mut done = 0;
    for (i, checked) in table().iter().enumerate() {
        // Large windows on large grids take the emulator minutes.
        if checked.case.cells.as_slice().len() * checked.case.size > 500_000 {
            continue;
        }
        let arrangement = if i % 2 == 0 { Arrangement::Rows } else { Arrangement::ALL[i % 9] };
        check_case::<f32>(&device, None, checked, arrangement).unwrap();
        check_case::<f64>(&device, None, checked, Arrangement::ALL[(i / 2) % 9]).unwrap();
        done += 1;
    }
    assert!(done > 90, "{done} cases");
}
