//! Arrays in the memory of an emulated device, as `halotile_tests::arrays` asks for them.

use std::sync::Arc;

use halotile::classes::{BinRule, Classes};
use halotile::entropy::{Engine, Entropy, Error, Kernel, Report};
use halotile::exec::emulator::{EmulatedDevice, Order};
use halotile::exec::{Buffer, Device, DeviceError, DeviceGrid, DeviceGridMut};
use halotile::grid::Grid;
use halotile::io::Nodata;
use halotile::measure::{Edge, Measure};
use halotile::numbers::ValueType;
use halotile::profile::Profile;
use halotile_tests::arrays::{Arrangement, check, check_case, check_errors};

use crate::TABLE;

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
    for (i, checked) in TABLE.iter().enumerate() {
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

/// 16 levels, without any pattern that a window would repeat.
fn cells(rows: usize, cols: usize) -> Grid<u8> {
    Grid::from_fn(rows, cols, |r, c| ((r * r + 7 * c * c + r * c / 3) % 16) as u8).unwrap()
}

/// Runs over numbers in rows on a device, one array of `planes` planes for the results.
fn run(
    device: &Arc<dyn Device>,
    entropy: &Entropy,
    (cells, values): (&Buffer, ValueType),
    classes: Option<&Classes>,
    (rows, cols): (usize, usize),
    planes: usize,
) -> Result<(Report, Vec<u32>), Error> {
    let out = Buffer::from_slice(device, &vec![0x7Eu8; planes * rows * cols * 4])?;
    let plane = |i: usize| out.address() + (i * rows * cols * 4) as u64;
    let strides = (cols as isize, 1);
    // SAFETY: the buffers are that long, outlive the grids, and nothing else uses them.
    let (grid, outs) = unsafe {
        let out = |i| DeviceGridMut::<f32>::new(device, plane(i), rows, cols, strides).unwrap();
        (DeviceGrid::new(device, cells.address(), values, rows, cols, strides).unwrap(), (0..planes).map(out).collect())
    };
    let report = entropy.measure_on_device(&grid, classes, None, outs, &())?;
    drop(grid);
    Ok((report, out.to_vec()?))
}

/// What the host's memory gives on the same device.
fn expected(device: &Arc<dyn Device>, entropy: &Entropy, cells: &Grid<u8>, planes: usize) -> Vec<u32> {
    let (rows, cols) = (cells.rows(), cells.cols());
    let mut outs: Vec<_> = (0..planes).map(|_| Grid::<f32>::zeros(rows, cols).unwrap()).collect();
    let views = outs.iter_mut().map(Grid::view_mut).collect();
    entropy.measure_into(&Engine::Devices(vec![Arc::clone(device)]), cells.view(), views, &()).unwrap();
    outs.iter().flat_map(|out| out.as_slice()).map(|h| h.to_bits()).collect()
}

/// The kernels that are launched for an array of these numbers; the results are those of the same cells in the host's memory.
fn launches(
    cells: &Grid<u8>,
    values: ValueType,
    entropy: &Entropy,
    planes: usize,
    classes: Option<&Classes>,
) -> Vec<String> {
    let device = emulated();
    let profile = Arc::new(Profile::default());
    let bytes = match values {
        ValueType::U8 => Buffer::from_slice(&device, cells.as_slice()).unwrap(),
        _ => Buffer::from_slice(&device, &cells.as_slice().iter().map(|&c| f32::from(c)).collect::<Vec<_>>()).unwrap(),
    };
    let expected = expected(&device, entropy, cells, planes);
    device.profile(&profile).unwrap();
    let shape = (cells.rows(), cells.cols());
    let (_, got) = run(&device, entropy, (&bytes, values), classes, shape, planes).unwrap();
    assert!(got == expected, "{values:?}, {entropy:?}");
    let spans = profile.spans();
    let names = spans.iter().map(|span| span.name.to_string());
    names.filter(|name| name.contains('_')).collect()
}

/// Bytes in rows as kernels read them take two launches and no copy; what is said of other arrays is true of them as well.
#[test]
fn arrays_are_read_and_written_where_they_are() {
    let cells = cells(40, 64);
    let launches = |values: ValueType, entropy: &Entropy, planes: usize, classes: Option<&Classes>| {
        launches(&cells, values, entropy, planes, classes)
    };
    let entropy = Entropy::new().levels(16);
    let classes = Classes::identity(16, None).unwrap();
    assert_eq!(launches(ValueType::U8, &entropy, 1, None), ["arrays_present", "entropy_sliding"]);
    assert_eq!(launches(ValueType::U8, &entropy, 1, Some(&classes)), ["arrays_present", "entropy_sliding"]);
    assert_eq!(
        launches(ValueType::F32, &entropy, 1, Some(&classes)),
        // They may be NaN, and there is a code for it.
        ["arrays_encode", "entropy_sliding"].map(str::to_owned)
    );
    // Planes of one array are written at once.
    let two = entropy.clone().measures(vec![Measure::Shannon, Measure::Simpson]);
    assert_eq!(
        launches(ValueType::U8, &two, 2, None),
        ["arrays_present", "entropy_tensor", "entropy_tensor_measures"].map(str::to_owned)
    );
    let all = entropy.clone().measures(vec![Measure::Shannon, Measure::Renyi(2.0)]);
    assert_eq!(launches(ValueType::U8, &all, 2, None), ["arrays_present", "entropy_measures"]);
    let reflected = entropy.clone().edge(Edge::Reflect);
    assert_eq!(
        launches(ValueType::U8, &reflected, 1, None),
        ["arrays_present", "arrays_encode", "entropy_sliding", "arrays_place"].map(str::to_owned)
    );
    let border = entropy.clone().edge(Edge::Nodata);
    assert_eq!(launches(ValueType::U8, &border, 1, None), ["arrays_present", "entropy_sliding", "arrays_rim"]);
}

/// Where the kernel that takes any bytes is the one, it does not wait until they are known; and it does nothing where they are too many.
#[test]
fn a_guess_is_not_waited_for_and_may_be_wrong() {
    let entropy = Entropy::new();
    let few = cells(512, 480);
    assert_eq!(launches(&few, ValueType::U8, &entropy, 1, None), ["arrays_present", "entropy_tensor"]);
    let classes = Classes::identity(16, None).unwrap();
    let given = launches(&few, ValueType::U8, &entropy, 1, Some(&classes));
    assert_eq!(given, ["arrays_present", "entropy_tensor"]);
    // Nodata may occur in it or not, and be any byte; with classes it is one that is its own code.
    let nodata = entropy.clone().nodata(3);
    assert_eq!(launches(&few, ValueType::U8, &nodata, 1, None), ["arrays_present", "entropy_tensor_counted"]);
    let classes = Classes::identity(15, Some(Nodata::Whole(15))).unwrap();
    let below = |top: u8| few.as_slice().iter().map(|&cell| cell.min(top)).collect();
    let counted = launches(&Grid::from_vec(below(14), 512, 480).unwrap(), ValueType::U8, &entropy, 1, Some(&classes));
    assert_eq!(counted, ["arrays_present", "entropy_tensor_counted"]);
    for code in [3, 77, 255] {
        let mut holes = few.clone();
        holes.as_mut_slice().iter_mut().skip(7).step_by(13).for_each(|cell| *cell = code);
        let entropy = Entropy::new().nodata(u16::from(code));
        assert_eq!(launches(&holes, ValueType::U8, &entropy, 1, None), ["arrays_present", "entropy_tensor_counted"]);
        assert_eq!(launches(&few, ValueType::U8, &entropy, 1, None), ["arrays_present", "entropy_tensor_counted"]);
        let small = entropy.size(3);
        assert_eq!(launches(&holes, ValueType::U8, &small, 1, None), ["arrays_present", "entropy_tensor_3_counted"]);
    }
    let small = entropy.clone().size(3);
    assert_eq!(launches(&few, ValueType::U8, &small, 1, None), ["arrays_present", "entropy_tensor_3"]);

    // One cell too many, wherever it is.
    for at in [0, 100_003, 512 * 480 - 1] {
        let mut many = few.clone();
        many.as_mut_slice()[at] = 16;
        let mut names = launches(&many, ValueType::U8, &entropy, 1, None);
        // Band by band.
        names.dedup();
        assert_eq!(names, ["arrays_present", "entropy_tensor", "entropy_tensor_many"], "cell {at}");
        let device = emulated();
        let bytes = Buffer::from_slice(&device, many.as_slice()).unwrap();
        for (levels, classes) in [(Some(16), None), (None, Some(Classes::identity(16, None).unwrap()))] {
            let entropy = Entropy::new().levels(levels);
            let error = run(&device, &entropy, (&bytes, ValueType::U8), classes.as_ref(), (512, 480), 1).unwrap_err();
            let (row, col) = (at / 480, at % 480);
            let error = error.to_string();
            assert!(error.contains(&format!("row {row}, column {col}")), "{error}");
        }
    }
    // Fewer levels than the kernel takes.
    let device = emulated();
    let bytes = Buffer::from_slice(&device, few.as_slice()).unwrap();
    let error = run(&device, &Entropy::new().levels(9), (&bytes, ValueType::U8), None, (512, 480), 1).unwrap_err();
    assert!(matches!(error, Error::Value { levels: 9, .. }), "{error}");
    let (report, _) = run(&device, &entropy, (&bytes, ValueType::U8), None, (512, 480), 1).unwrap();
    let largest = usize::from(*few.as_slice().iter().max().unwrap());
    assert_eq!((report.levels, report.bands, report.kernel), (largest + 1, 1, Some(Kernel::Tensor)));
}

/// Several launches, and codes of some rows at a time: bit-identical.
#[test]
fn bands_change_no_bit() {
    let shape = (420, 200);
    let cells = cells(shape.0, shape.1);
    let words: Vec<i32> = cells.as_slice().iter().map(|&cell| i32::from(cell)).collect();
    let classes = Classes::identity(16, None).unwrap();
    for edge in [Edge::Shrink, Edge::Symmetric, Edge::Nodata] {
        let entropy = Entropy::new().levels(16).size(21).edge(edge).measures(vec![Measure::Hill(f64::INFINITY)]);
        let plenty = emulated();
        let expected = expected(&plenty, &entropy, &cells, 1);
        let there = Buffer::from_slice(&plenty, &words).unwrap();
        let (report, got) = run(&plenty, &entropy, (&there, ValueType::I32), Some(&classes), shape, 1).unwrap();
        assert!(report.bands > 1 && got == expected, "{edge:?}: {report:?}");
        // The least memory that it does with.
        let mut most = 0;
        for kilobytes in (960..1600).step_by(16) {
            if most > report.bands {
                break;
            }
            let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, Some(kilobytes << 10)));
            let there = Buffer::from_slice(&device, &words).unwrap();
            match run(&device, &entropy, (&there, ValueType::I32), Some(&classes), shape, 1) {
                Ok((report, got)) => {
                    assert!(got == expected, "{edge:?} in {kilobytes} KiB: {report:?}");
                    most = most.max(report.bands);
                }
                Err(Error::Device(DeviceError::OutOfMemory { .. })) => assert_eq!(most, 0, "{kilobytes} KiB"),
                Err(error) => panic!("{error}"),
            }
        }
        assert!(most > report.bands, "{edge:?}: {most} bands");
    }
}

#[test]
fn arrays_that_do_not_belong_together_are_refused() {
    let (device, other) = (emulated(), emulated());
    let (here, there) =
        (Buffer::from_slice(&device, &[0u8; 64]).unwrap(), Buffer::from_slice(&other, &[0u8; 64]).unwrap());
    let out = Buffer::new(&device, 64).unwrap();
    let grid = |buffer: &Buffer, values, rows, cols| {
        // SAFETY: the buffers are long enough, and nothing writes to them.
        unsafe { DeviceGrid::new(buffer.device(), buffer.address(), values, rows, cols, (cols as isize, 1)).unwrap() }
    };
    let place = |buffer: &Buffer, rows, cols| {
        // SAFETY: the buffers are long enough, and nothing else uses them.
        unsafe { DeviceGridMut::<f32>::new(buffer.device(), buffer.address(), rows, cols, (cols as isize, 1)).unwrap() }
    };
    let cells = grid(&here, ValueType::U8, 2, 4);
    let classes = Classes::identity(16, None).unwrap();
    let refused = |mask: Option<DeviceGrid<'_>>, classes: Option<&Classes>, outs| {
        Entropy::new().measure_on_device(&cells, classes, mask.as_ref(), outs, &()).unwrap_err().to_string()
    };
    let elsewhere = "an array is in the memory of emulator:0, and another one in that of emulator:0";
    assert_eq!(refused(None, None, vec![place(&there, 2, 4)]), elsewhere);
    let mask = |buffer: &Buffer, rows, cols| Some(grid(buffer, ValueType::U8, rows, cols));
    assert_eq!(refused(mask(&there, 2, 4), Some(&classes), vec![place(&out, 2, 4)]), elsewhere);
    let shape = "the mask: the mask has 4 rows and 2 columns, and the array has 2 and 4; crop or resample one of them";
    assert_eq!(refused(mask(&here, 4, 2), Some(&classes), vec![place(&out, 2, 4)]), shape);
    let bins = Classes::bins_on(&cells, mask(&here, 4, 2).as_ref(), 3, BinRule::Quantile, None);
    assert_eq!(bins.unwrap_err().to_string(), shape);
    let needs = "an array that is not of bytes, or has a mask, needs classes";
    assert_eq!(refused(mask(&here, 2, 4), None, vec![place(&out, 2, 4)]), needs);
    assert_eq!(refused(None, None, vec![place(&out, 4, 2)]), "the output is 4 x 2 and the grid 2 x 4");
    assert_eq!(refused(None, None, vec![]), "there are from 1 to 64 measures at a time, not 0");
    let full = Classes::identity(256, None).unwrap();
    let power = Entropy::new().measures([Measure::Hill(1.5)]);
    let outs = vec![place(&out, 2, 4)];
    let no_room = power.measure_on_device(&cells, Some(&full), mask(&here, 2, 4).as_ref(), outs, &()).unwrap_err();
    assert!(
        no_room.to_string().ends_with("no measures that need powers of counts or the largest of them"),
        "{no_room}"
    );
    assert!(
        Entropy::new()
            .measure_on_device(&cells, Some(&full), mask(&here, 2, 4).as_ref(), vec![place(&out, 2, 4)], &())
            .is_ok()
    );
}

/// Levels that are given are checked, and the cell is named as it is for a grid in the host's memory.
#[test]
fn levels_are_checked() {
    let device = emulated();
    let mut numbers = cells(9, 16).into_vec();
    (numbers[3 * 16 + 5], numbers[7 * 16]) = (200, 99);
    let there = Buffer::from_slice(&device, &numbers).unwrap();
    let host = Grid::from_vec(numbers, 9, 16).unwrap();
    for (levels, nodata) in [(16, None), (100, None), (99, Some(200)), (16, Some(200))] {
        let entropy = Entropy::new().levels(levels).nodata(nodata);
        let mut out = Grid::<f32>::zeros(9, 16).unwrap();
        let engine = Engine::Devices(vec![Arc::clone(&device)]);
        let expected = entropy.compute_into(&engine, host.view(), out.view_mut(), &()).unwrap_err();
        let got = run(&device, &entropy, (&there, ValueType::U8), None, (9, 16), 1).unwrap_err();
        assert_eq!(got.to_string(), expected.to_string());
    }
    let entropy = Entropy::new().levels(100).nodata(200);
    let (report, got) = run(&device, &entropy, (&there, ValueType::U8), None, (9, 16), 1).unwrap();
    assert_eq!((report.levels, got == expected(&device, &entropy, &host, 1)), (100, true));
}
