//! Arrays in the memory of an emulated device. What they give is compared with the streaming plan's, and the oracle's, in the tests over all engines.

use std::sync::Arc;

use crate::classes::Classes;
use crate::entropy::{Entropy, Kernel};
use crate::exec::emulator::EmulatedDevice;
use crate::exec::{Buffer, Device, DeviceGrid, DeviceGridMut};
use crate::io::Nodata;
use crate::numbers::ValueType;

/// Results for an array of bytes in rows of `cols`, as bits.
fn measured(entropy: &Entropy, cells: &[u8], cols: usize, classes: Option<&Classes>) -> Vec<u32> {
    let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
    let (rows, strides) = (cells.len() / cols, (cols as isize, 1));
    let theirs = Buffer::from_slice(&device, cells).unwrap();
    let out = Buffer::new(&device, cells.len() * 4).unwrap();
    // SAFETY: the buffers outlive the grids, and nothing else uses them.
    let (grid, place) = unsafe {
        (
            DeviceGrid::new(&device, theirs.address(), ValueType::U8, rows, cols, strides).unwrap(),
            DeviceGridMut::<f32>::new(&device, out.address(), rows, cols, strides).unwrap(),
        )
    };
    entropy.measure_on_device(&grid, classes, None, vec![place], &()).unwrap();
    out.to_vec().unwrap()
}

/// Arrays whose nodata is a byte far above the levels: kernels that take it as it is give the bits of those for which codes are made.
#[test]
fn nodata_far_above_the_levels_changes_no_bit() {
    let at = |nodata: u8| -> Vec<u8> {
        let cell = |i: usize| if i.is_multiple_of(7) { nodata } else { 1 + (i * i / 3 % 11) as u8 };
        (0..40 * 160).map(cell).collect()
    };
    for (size, kernel) in [(5, None), (9, None), (9, Some(Kernel::Histogram)), (5, Some(Kernel::Measures))] {
        let run = |nodata: u8, by_classes: bool| {
            let classes = Classes::identity(12, Some(Nodata::Whole(nodata.into()))).unwrap();
            let entropy = Entropy::new().size(size).kernel(kernel).nodata(Some(nodata.into()));
            measured(&entropy, &at(nodata), 160, by_classes.then_some(&classes))
        };
        let near = run(12, false);
        assert!(near.iter().any(|&bits| f32::from_bits(bits).is_nan()) && near.iter().any(|&bits| bits > 0));
        for (nodata, by_classes) in [(12, true), (255, false), (255, true), (16, true), (0, false), (0, true)] {
            assert!(run(nodata, by_classes) == near, "{size}, {kernel:?}, nodata {nodata}, by classes: {by_classes}");
        }
    }
}

/// Two bytes mean nodata, and one of them is its own code: both are nodata.
#[test]
fn two_bytes_of_nodata_are_both_not_counted() {
    let cells: Vec<u8> = (0..8 * 16).map(|i| [0, 1, 2, 3, 255][(i * 7 + i / 16) % 5]).collect();
    let one = cells.iter().map(|&cell| if cell == 3 { 255 } else { cell }).collect::<Vec<_>>();
    assert!(cells.contains(&3) && cells.contains(&255));
    let classes = Classes::parse("0\n1\n2\n*, nodata\n", "list", None).unwrap();
    let run = |cells: &[u8]| measured(&Entropy::new(), cells, 16, Some(&classes));
    assert!(run(&cells) == run(&one));
}
