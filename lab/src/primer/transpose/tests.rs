//! Every rung and size of elements in the emulator, over shapes around every edge.

use std::sync::Arc;

use super::cases::Transpose;
use super::*;
use crate::primer::{Ask, Case, Elements, Run};
use halotile::exec::emulator::{EmulatedDevice, Order};

fn device() -> Arc<dyn Device> {
    Arc::new(EmulatedDevice::new(0, None))
}

fn ask(rows: usize, cols: usize, elements: Elements) -> Ask {
    Ask { size: [rows, cols, 0], elements, seed: 11 }
}

fn verify(device: &Arc<dyn Device>, rung: Rung, elements: Elements, rows: usize, cols: usize) {
    let case = Transpose::new(&ask(rows, cols, elements), rung);
    let mut run = case.begin(device, 1).unwrap();
    run.run().unwrap_or_else(|error| panic!("{} {elements} {rows} x {cols}: {error}", rung.name()));
    run.check().unwrap().unwrap_or_else(|wrong| panic!("{} {elements} {rows} x {cols}: {wrong}", rung.name()));
}

fn all(mut shapes: impl FnMut(Rung, Elements)) {
    for rung in Rung::ALL {
        for &elements in TRANSPOSE.elements {
            shapes(rung, elements);
        }
    }
}

#[test]
fn every_rung_turns_every_shape() {
    let device = device();
    let edges = [1, 31, 32, 33, 63, 64, 65];
    let mut shapes: Vec<(usize, usize)> = edges.iter().flat_map(|&rows| edges.map(|cols| (rows, cols))).collect();
    shapes.extend([(1, 300), (300, 1), (127, 129), (129, 127), (128, 128), (201, 303)]);
    all(|rung, elements| shapes.iter().for_each(|&(rows, cols)| verify(&device, rung, elements, rows, cols)));
}

/// Rows that are whole vectors of 16 bytes and end inside a tile; on one side, on the other, on both.
#[test]
fn whole_vectors_end_inside_a_tile() {
    let device = device();
    for &elements in TRANSPOSE.elements {
        for (rows, cols) in [(144, 176), (144, 175), (143, 176), (16, 48)] {
            verify(&device, Rung::Wide, elements, rows, cols);
        }
    }
}

/// Three strips, the last of them narrower, of three rows of tiles.
#[test]
fn strips_cover_the_matrix() {
    verify(&device(), Rung::Wide, Elements::F64, 130, 66 * 32 + 2);
}

#[test]
fn the_order_of_lanes_and_blocks_does_not_matter() {
    let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None).with_order(Order::Reverse));
    all(|rung, elements| verify(&device, rung, elements, 70, 100));
}

#[test]
fn a_wrong_element_is_found() {
    let device = device();
    let case = Transpose::new(&ask(5, 7, Elements::U16), Rung::Wide);
    let mut run = case.begin(&device, 2).unwrap();
    run.run().unwrap();
    // Row 3, column 4 of the result.
    let at = (3 * 5 + 4) * 2;
    let mut element = [0u8; 2];
    let result = &run.buffers.current().1;
    result.read(at, &mut element).unwrap();
    element[1] ^= 1;
    result.write(at, &element).unwrap();
    let wrong = run.check().unwrap().unwrap_err();
    assert!(wrong.starts_with("row 3, column 4 is 0x"), "{wrong}");
}

#[test]
fn slices_keep_their_bits() {
    let nan = f32::from_bits(0x7F80_0001);
    let turned = transpose(&device(), Rung::Padded, 2, 2, &[nan, 1.0, -0.0, 2.0]).unwrap();
    assert_eq!(turned.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [nan, -0.0, 1.0, 2.0].map(f32::to_bits));
}

#[test]
fn shapes_that_do_not_fit_are_errors() {
    let device = device();
    let error = transpose(&device, Rung::Wide, 2, 3, &[1u8; 5]).unwrap_err();
    assert_eq!(error.to_string(), "5 elements are no matrix of 2 x 3");
    assert!(matches!(transpose(&device, Rung::Wide, usize::MAX, 2, &[1u8; 2]), Err(TransposeError::Shape { .. })));
    assert!(transpose::<u8>(&device, Rung::Wide, 0, 3, &[]).unwrap().is_empty());
    for (rows, cols) in [(1 << 32, 1), (1, 1 << 32), ((1 << 32) - 1, (1 << 32) - 1)] {
        let error = Plan::new(Rung::Naive, 1, rows, cols).unwrap_err();
        assert_eq!(error.to_string(), format!("a matrix of {rows} x {cols} is too large to be transposed"));
    }
    // 4 GiB of bytes, and the longest row.
    for (rows, cols) in [(1 << 16, 1 << 16), (1, (1 << 32) - 1), ((1 << 32) - 1, 1)] {
        assert!(Rung::ALL.iter().all(|&rung| Plan::new(rung, 1, rows, cols).is_ok()));
    }
}

#[test]
fn a_matrix_too_large_for_the_device_takes_no_memory_of_the_host() {
    let case = Transpose::new(&ask(1 << 20, 1 << 20, Elements::F64), Rung::Wide);
    assert!(matches!(case.begin(&device(), 1), Err(DeviceError::OutOfMemory { .. })));
    let case = Transpose::new(&ask(usize::MAX, 2, Elements::F64), Rung::Wide);
    assert_eq!(case.bytes(2), usize::MAX);
}

#[test]
fn a_case_names_its_kernel_and_its_work() {
    all(|rung, elements| {
        let case = Transpose::new(&ask(3, 5, elements), rung);
        let item = if elements == Elements::F64 { "u64" } else { elements.name() };
        assert_eq!(case.kernel().unwrap().name, format!("primer_transpose_{}_{item}", rung.name()));
        assert_eq!(case.work(&device().limits()), crate::primer::Work::Bytes(30.0 * elements.bytes() as f64));
    });
}
