//! The CPU engine and every kernel in the emulator agree with the oracle on the whole table of cases.

use std::sync::Arc;

use halotile::entropy::{Base, Engine, Entropy, Error, Kernel, Place};
use halotile::exec::emulator::{EmulatedDevice, Order};
use halotile::exec::{Device, DeviceError};
use halotile::grid::{Grid, GridView};
use halotile::observe::Observer;
use halotile_lab::entropy::kernels;
use halotile_tests::cases::large;
use halotile_tests::runner::{Checked, check, checked, compare};

use crate::TABLE;

pub fn emulated(count: usize) -> Engine {
    let device = |i| Arc::new(EmulatedDevice::new(i, None)) as Arc<dyn Device>;
    Engine::Devices((0..count).map(device).collect())
}

/// Runs the table and fails with every case that is off, not only the first. Returns how many cases the kernel did.
fn all<T: halotile::entropy::Real + Into<f64>>(engine: &Engine, kernel: Option<Kernel>) -> usize {
    let mut done = 0;
    let mut wrong = Vec::new();
    for checked in TABLE.iter() {
        // Large windows on large grids take the emulator minutes in all kernels but one. The GPU test runs them all.
        let case = &checked.case;
        let updates = case.cells.as_slice().len() * case.size;
        if updates > 2_000_000 && kernel.is_some_and(|kernel| kernel != Kernel::Columns) {
            continue;
        }
        match check::<T>(engine, kernel, checked) {
            Ok(Some(_)) => done += 1,
            Ok(None) => {}
            Err(error) => wrong.push(format!("{error:#}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), TABLE.len(), wrong.join("\n"));
    done
}

#[test]
fn cpu() {
    assert_eq!(all::<f32>(&Engine::Cpu, None), TABLE.len());
    assert_eq!(all::<f64>(&Engine::Cpu, None), TABLE.len());
}

/// Windows of more than 255 rows and columns: the CPU engine takes them; of devices' kernels the columns kernel takes some, and says so of others.
#[test]
fn large_windows() {
    for checked in checked(large()) {
        check::<f32>(&Engine::Cpu, None, &checked).unwrap().expect("no kernel was asked for");
        check::<f64>(&Engine::Cpu, None, &checked).unwrap().expect("no kernel was asked for");
        let case = &checked.case;
        let entropy = Entropy::new().size(case.size).nodata(case.nodata.map(u16::from));
        let (rows, cols) = (case.cells.rows(), case.cells.cols());
        let mut out = Grid::<f64>::zeros(rows, cols).unwrap();
        let why = entropy.compute_into(&emulated(1), case.cells.view(), out.view_mut(), &()).unwrap_err().to_string();
        assert!(why.contains("has no kernel that can do this: it takes windows of up to 255 x 255"), "{why}");
        if case.size <= 1023 {
            check::<f32>(&emulated(1), None, &checked).unwrap().expect("a kernel is there");
            check::<f32>(&emulated(1), Some(Kernel::Columns), &checked).unwrap().expect("it fits");
            continue;
        }
        let mut out = Grid::<f32>::zeros(rows, cols).unwrap();
        let why = entropy.compute_into(&emulated(1), case.cells.view(), out.view_mut(), &()).unwrap_err().to_string();
        assert!(why.contains("this: it takes windows of up to 1023 x 1023, not 4095 x 4095"), "{why}");
    }
}

macro_rules! kernels {
    ($($test:ident $kernel:ident $real:ty, at least $least:literal;)*) => {$(
        #[test]
        fn $test() {
            let done = all::<$real>(&emulated(1), Some(Kernel::$kernel));
            assert!(done >= $least, "only {done} cases fit the kernel");
        }
    )*};
}
kernels! {
    naive Naive f32, at least 100;
    tiled Tiled f32, at least 100;
    histogram Histogram f32, at least 90;
    histogram_wide HistogramWide f32, at least 100;
    histogram_f64 HistogramF64 f64, at least 100;
    columns Columns f32, at least 70;
    adaptive Adaptive f32, at least 60;
    sliding Sliding f32, at least 50;
    sliding_narrow SlidingNarrow f32, at least 50;
    band Band f32, at least 45;
    band_counted BandCounted f32, at least 50;
    band_f64 BandF64 f64, at least 50;
    footprint Footprint f32, at least 50;
    tensor Tensor f32, at least 45;
    tensor_counted TensorCounted f32, at least 50;
    tensor_f64 TensorF64 f64, at least 50;
    measures Measures f32, at least 90;
    measures_f64 MeasuresF64 f64, at least 90;
    columns_measures ColumnsMeasures f32, at least 60;
    columns_measures_f64 ColumnsMeasuresF64 f64, at least 60;
    columns_sums ColumnsSums f32, at least 100;
    columns_sums_f64 ColumnsSumsF64 f64, at least 100;
}

/// The rungs that need no device, on the CPU; the plans with devices too, which such small grids leave to the CPU.
#[test]
fn rungs_on_the_cpu() {
    let mut ran = 0;
    for kernel in kernels().filter(|kernel| kernel.place() != Place::Device) {
        for engine in [Engine::Cpu, emulated(3)] {
            let done = all::<f32>(&engine, Some(kernel));
            assert!(done >= 50, "{kernel}: only {done} cases fit");
        }
        assert_eq!(all::<f64>(&Engine::Cpu, Some(kernel)), 0, "{kernel} computes in f32");
        ran += 1;
    }
    assert!(ran >= 8, "{ran} rungs");
}

/// Above its cut-off a plan does use its devices, and says so.
#[test]
fn plans_over_devices() {
    let cells = Grid::from_fn(405, 405, |r, c| ((r * r + 7 * c * c + r * c) % 16) as u8).unwrap();
    let expected = halotile::reference::entropy(cells.view(), 5, None);
    for kernel in ["v14", "v14-parallel", "v14-share"].map(|name| halotile_lab::entropy::kernel(name).unwrap()) {
        let mut out = Grid::<f32>::zeros(405, 405).unwrap();
        let entropy = Entropy::new().kernel(kernel);
        let report = entropy.compute_into(&emulated(2), cells.view(), out.view_mut(), &()).unwrap();
        compare(&out, &expected, false, 1e-5).unwrap();
        assert_eq!((report.kernel, report.levels), (Some(kernel), 16));
        assert!(report.bands >= 2 && report.kernel_seconds > 0.0, "{kernel}: {report:?}");
        assert_eq!(report.cpu_cells > 0, kernel.name() == "v14-share", "{report:?}");
    }
}

/// What is no work for a rung is refused in one way; where it runs too.
#[test]
fn rungs_on_the_cpu_say_what_they_do_not_do() {
    let cells = Grid::from_fn(6, 7, |r, c| (r * 7 + c) as u8).unwrap();
    let refused = |entropy: &Entropy, engine: &Engine| {
        let mut out = Grid::<f32>::zeros(6, 7).unwrap();
        entropy.compute_into(engine, cells.view(), out.view_mut(), &()).unwrap_err().to_string()
    };
    for kernel in kernels().filter(|kernel| kernel.place() != Place::Device) {
        let entropy = Entropy::new().kernel(kernel);
        let misfit = |what: &str| format!("kernel {kernel} cannot do this: {what}");
        assert_eq!(refused(&entropy, &Engine::Cpu), misfit("it takes up to 16 levels, and there are 42"));
        let sizes = refused(&entropy.clone().size(7), &Engine::Cpu);
        assert_eq!(sizes, misfit("it takes windows of 5 x 5, not 7 x 7"));
        let few = Grid::from_fn(6, 7, |_, c| c as u8).unwrap();
        let mut out = Grid::<f32>::zeros(6, 7).unwrap();
        let error = entropy.clone().nodata(3).compute_into(&Engine::Cpu, few.view(), out.view_mut(), &()).unwrap_err();
        assert_eq!(error.to_string(), misfit("it counts every cell, and there are nodata cells"));
        // A nodata value that no cell has is none.
        entropy.clone().nodata(99).compute_into(&Engine::Cpu, few.view(), out.view_mut(), &()).unwrap();
        let error = entropy.compute::<f64>(few.view()).unwrap_err();
        assert_eq!(error.to_string(), misfit("it computes in f32"));
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        let timed = entropy.resident::<f32>(&device, few.view(), 0).err().unwrap().to_string();
        assert!(timed.contains("function on the CPU") || timed.contains("plan over devices"), "{timed}");
        if kernel.place() == Place::Cpu {
            let wrong = format!("kernel {kernel} is a function on the CPU; choose the CPU engine");
            assert_eq!(refused(&entropy, &emulated(1)), wrong);
        } else {
            assert_eq!(
                refused(&entropy, &Engine::Devices(Vec::new())),
                misfit("it takes up to 16 levels, and there are 42")
            );
        }
    }
    assert_eq!(
        refused(&Entropy::new().kernel(Kernel::Tiled), &Engine::Cpu),
        "kernel tiled runs on a device (cuda, emulator), not in the CPU engine"
    );
}

#[test]
fn rungs_on_the_cpu_take_scattered_codes_and_units_and_can_be_stopped() {
    struct Stop;
    impl Observer for Stop {
        fn cancelled(&self) -> bool {
            true
        }
    }
    let codes = [11u8, 21, 31, 41, 52, 71, 82, 95];
    let cells = Grid::from_fn(30, 90, |r, c| codes[r * c % 8]).unwrap();
    let nats = halotile::reference::entropy(cells.view(), 5, None);
    let bits = Grid::from_fn(30, 90, |r, c| nats.row(r)[c] / 2f64.ln()).unwrap();
    for kernel in kernels().filter(|kernel| kernel.place() != Place::Device) {
        let entropy = Entropy::new().kernel(kernel).base(Base::Two);
        compare(&entropy.compute::<f32>(cells.view()).unwrap(), &bits, false, 1e-5).unwrap();
        let mut out = Grid::<f32>::zeros(30, 90).unwrap();
        let stopped = entropy.compute_into(&Engine::Cpu, cells.view(), out.view_mut(), &Stop);
        assert!(matches!(stopped, Err(Error::Cancelled(_))), "{kernel}");
    }
}

#[test]
fn three_devices_side_by_side() {
    assert_eq!(all::<f32>(&emulated(3), None), TABLE.len());
}

/// One device and several, one band and many: results are bit-identical.
#[test]
fn bands_and_devices_change_no_bit() {
    // In wide ones a few rows with their halos are more than the memory below, and so are codes of tiles for large windows.
    let large = |checked: &&Checked| {
        let case = &checked.case;
        let is_coded = case.cells.as_slice().iter().any(|&cell| cell > 15 && Some(cell) != case.nodata);
        case.cells.rows() > 12 && (61..1000).contains(&case.cells.cols()) && (case.size < 63 || !is_coded)
    };
    for checked in TABLE.iter().filter(large).step_by(5) {
        let case = &checked.case;
        let run = |engine: &Engine| {
            let mut out = Grid::<f32>::zeros(case.cells.rows(), case.cells.cols()).unwrap();
            let report = Entropy::new()
                .size(case.size)
                .nodata(case.nodata.map(u16::from))
                .compute_into(engine, case.cells.view(), out.view_mut(), &())
                .unwrap();
            (report.bands, out.into_vec().into_iter().map(f32::to_bits).collect::<Vec<_>>())
        };
        let whole = {
            let Engine::Devices(devices) = emulated(1) else { unreachable!("emulated devices are devices") };
            let mut out = Grid::<f32>::zeros(case.cells.rows(), case.cells.cols()).unwrap();
            let entropy = Entropy::new().size(case.size).nodata(case.nodata.map(u16::from));
            let mut resident = entropy.resident::<f32>(&devices[0], case.cells.view(), 0).unwrap();
            resident.launch().unwrap();
            resident.download(out.view_mut()).unwrap();
            out.into_vec().into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        assert!(run(&emulated(4)).1 == whole, "four devices: {}", case.name);
        // Memory for the table and a few rows with their halos.
        let halo = 2 * (case.size / 2).min(case.cells.rows() - 1);
        let pitch = case.cells.cols().next_multiple_of(4);
        let memory = 8 * (case.size * case.size + 1) + 2 * pitch * (halo + 5 * 5) + 2048;
        let small: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, Some(memory * 10 / 9)));
        let (bands, banded) = run(&Engine::Devices(vec![small]));
        assert!(bands > 1, "{} bands: {}", bands, case.name);
        assert!(banded == whole, "{bands} bands: {}", case.name);
    }
}

/// Base, levels and normalising are only a factor; the CPU engine and the devices must have the same one.
#[test]
fn units_and_normalising_scale_the_result() {
    let cells = Grid::from_fn(20, 150, |r, c| ((r * r + 3 * c) % 13) as u8).unwrap();
    let nats = halotile::reference::entropy(cells.view(), 7, None);
    let ln = |x: f64| x.ln();
    let units = [
        (Entropy::new().base(Base::Two), 1.0 / ln(2.0)),
        (Entropy::new().base(Base::Ten), 1.0 / ln(10.0)),
        (Entropy::new().levels(13).normalize(true), 1.0 / ln(13.0)),
        (Entropy::new().levels(256).base(Base::Two).normalize(true), 1.0 / ln(256.0)),
    ];
    for (entropy, factor) in units {
        let expected = Grid::from_fn(20, 150, |r, c| nats.row(r)[c] * factor).unwrap();
        let kernels = [Kernel::Tiled, Kernel::Histogram, Kernel::HistogramWide, Kernel::Columns];
        for kernel in kernels.map(Some) {
            let mut out = Grid::<f32>::zeros(20, 150).unwrap();
            let entropy = entropy.clone().size(7).kernel(kernel);
            entropy.compute_into(&emulated(1), cells.view(), out.view_mut(), &()).unwrap();
            compare(&out, &expected, false, 1e-5).unwrap();
        }
        compare(&entropy.clone().size(7).compute::<f64>(cells.view()).unwrap(), &expected, false, 1e-12).unwrap();
    }
}

/// Maps of many classes, of which a tile has few, many, or more than a plane of codes: whatever the survey finds, the bits are those of both kernels.
#[test]
fn a_survey_changes_no_bit() {
    let few = |r: usize, c: usize| 12 * (r / 40 % 3 + c / 150 % 3) + (r * r + c) % 12;
    let many = |r: usize, c: usize| (r * 37 + c * c * 11 + r * c) % 90;
    let mixed = |r: usize, c: usize| if c < 400 { many(r, c) } else { 3 * (c / 200) };
    let most = |r: usize, c: usize| (r * 101 + c * 7 + r * c) % 256;
    let check = |levels: usize, map: &dyn Fn(usize, usize) -> usize| {
        let cells = Grid::from_fn(130, 700, |r, c| map(r, c) as u8).unwrap();
        for (size, nodata) in [(21, None), (21, Some(4u16)), (37, None)] {
            let run = |kernel| {
                let mut out = Grid::<f32>::zeros(130, 700).unwrap();
                let entropy = Entropy::new().size(size).levels(levels).nodata(nodata).kernel(kernel);
                entropy.compute_into(&emulated(1), cells.view(), out.view_mut(), &()).unwrap();
                out.into_vec().into_iter().map(f32::to_bits).collect::<Vec<_>>()
            };
            let expected = halotile::reference::entropy(cells.view(), size, nodata.map(|nodata| nodata as u8));
            let histogram = run(Kernel::Histogram);
            let found = Grid::from_fn(130, 700, |r, c| f32::from_bits(histogram[r * 700 + c])).unwrap();
            compare(&found, &expected, false, 1e-5).unwrap();
            assert!(run(Kernel::Columns) == histogram, "columns, {levels} levels, {size}, {nodata:?}");
            assert!(run(Kernel::Adaptive) == histogram, "adaptive, {levels} levels, {size}, {nodata:?}");
        }
    };
    check(60, &few);
    check(90, &many);
    check(90, &mixed);
    check(256, &most);
}

/// Up to 64 classes of a map that is large enough are counted by their own codes or by those of tiles, as a survey finds.
#[test]
fn a_survey_of_few_classes_changes_no_bit() {
    let few = |r: usize, c: usize| 12 * ((r / 240 + c / 240) % 3) + (r * r + c) % 12;
    let many = |r: usize, c: usize| (r * 37 + c * c * 11 + r * c) % 36;
    let mixed = |r: usize, c: usize| if c < 300 { many(r, c) } else { c / 100 };
    for (map, size) in [(&few as &dyn Fn(usize, usize) -> usize, 33), (&few, 7), (&many, 7), (&mixed, 33)] {
        let cells = Grid::from_fn(725, 730, |r, c| map(r, c) as u8).unwrap();
        let run = |kernel| {
            let mut out = Grid::<f32>::zeros(725, 730).unwrap();
            let entropy = Entropy::new().size(size).levels(36).kernel(kernel);
            entropy.compute_into(&emulated(1), cells.view(), out.view_mut(), &()).unwrap();
            out.into_vec().into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        assert!(run(Kernel::Columns) == run(Kernel::Histogram), "{size}");
    }
}

/// Blocks and lanes in another order: a kernel that depends on it has a race.
#[test]
fn the_order_of_blocks_and_lanes_changes_no_bit() {
    let of_sixteen = [Kernel::Tiled, Kernel::Histogram, Kernel::Columns, Kernel::Sliding, Kernel::Tensor];
    for (kernel, levels) in of_sixteen.map(|kernel| (kernel, 16)).into_iter().chain([(Kernel::Columns, 40)]) {
        let cells = Grid::from_fn(30, 300, |r, c| ((r * 7 + c * c) % levels) as u8).unwrap();
        let run = |order| {
            let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None).with_order(order));
            let mut out = Grid::<f32>::zeros(30, 300).unwrap();
            let entropy = Entropy::new().kernel(kernel);
            entropy.compute_into(&Engine::Devices(vec![device]), cells.view(), out.view_mut(), &()).unwrap();
            out.into_vec()
        };
        let forward = run(Order::Forward);
        assert_eq!(run(Order::Reverse), forward, "{kernel}, {levels} levels");
        assert_eq!(run(Order::Shuffled(5)), forward, "{kernel}, {levels} levels");
    }
}

#[test]
fn a_stop_reaches_devices_and_one_failure_stops_the_others() {
    struct Stop;
    impl Observer for Stop {
        fn cancelled(&self) -> bool {
            true
        }
    }
    let cells = Grid::from_fn(40, 300, |r, c| ((r + c) % 16) as u8).unwrap();
    let mut out = Grid::<f32>::zeros(40, 300).unwrap();
    let stopped = Entropy::new().compute_into(&emulated(2), cells.view(), out.view_mut(), &Stop);
    assert!(matches!(stopped, Err(Error::Cancelled(_))));

    let small: Arc<dyn Device> = Arc::new(EmulatedDevice::new(1, Some(300)));
    let Engine::Devices(mut devices) = emulated(1) else { unreachable!("emulated devices are devices") };
    devices.push(small);
    let failed = Entropy::new().compute_into(&Engine::Devices(devices), cells.view(), out.view_mut(), &());
    assert!(matches!(failed, Err(Error::Device(DeviceError::OutOfMemory { .. }))), "{failed:?}");

    let refused = Entropy::new().compute_into(&Engine::Devices(Vec::new()), cells.view(), out.view_mut(), &());
    assert!(matches!(refused, Err(Error::NoDevices)), "{refused:?}");
}

/// A grid that is wide and flat is split by columns over devices, and where a device's memory does not hold whole rows.
#[test]
fn strips_of_columns_change_no_bit() {
    // The last number: bytes of memory for bands.
    for (rows, cols, size, memory) in
        [(10, 3000, 5, 4000), (1, 4000, 5, 2000), (30, 900, 21, 20_000), (6, 700, 255, 15_000)]
    {
        let cells = Grid::from_fn(rows, cols, |r, c| ((r * r + 7 * c * c + r * c) % 16) as u8).unwrap();
        let run = |engine: &Engine| {
            let mut out = Grid::<f32>::zeros(rows, cols).unwrap();
            let entropy = Entropy::new().size(size);
            let report = entropy.compute_into(engine, cells.view(), out.view_mut(), &()).unwrap();
            (report.bands, out.into_vec().into_iter().map(f32::to_bits).collect::<Vec<_>>())
        };
        let (_, whole) = run(&emulated(1));
        let (bands, split) = run(&emulated(4));
        // Windows that see all of the grid: every piece would have to be all of it.
        assert!((bands >= 4 || size == 255) && split == whole, "{bands} bands, {rows} x {cols}, window {size}");
        let memory = (8 * (size * size + 1) + memory + 1024) * 10 / 9;
        let small = (0..2).map(|i| Arc::new(EmulatedDevice::new(i, Some(memory))) as Arc<dyn Device>).collect();
        let (bands, banded) = run(&Engine::Devices(small));
        assert!(bands >= 2 && banded == whole, "{bands} bands, {rows} x {cols}, window {size}");
    }
}

#[test]
fn a_device_without_memory_for_a_single_cell_says_so() {
    // The table takes 104 bytes, rounded up; a cell with its halos 60.
    let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, Some(300)));
    let cells = Grid::from_fn(50, 1000, |r, c| ((r * c) % 16) as u8).unwrap();
    let mut out = Grid::<f32>::zeros(50, 1000).unwrap();
    let error =
        Entropy::new().compute_into(&Engine::Devices(vec![device]), cells.view(), out.view_mut(), &()).unwrap_err();
    assert!(matches!(error, Error::Device(DeviceError::OutOfMemory { .. })), "{error}");
}

/// Callers may be all of rayon's own threads: what devices have done there must not wait for them.
#[test]
fn callers_on_all_of_rayons_threads_do_not_wait_for_each_other() {
    use rayon::prelude::*;
    let cells = Grid::from_fn(20, 90, |r, c| ((r * 3 + c * c) % 16) as u8).unwrap();
    let expected = halotile::reference::entropy(cells.view(), 5, None);
    (0..4 * rayon::current_num_threads()).into_par_iter().for_each(|_| {
        let mut out = Grid::<f32>::zeros(20, 90).unwrap();
        Entropy::new().compute_into(&emulated(2), cells.view(), out.view_mut(), &()).unwrap();
        compare(&out, &expected, false, 2e-6).unwrap();
    });
}

#[test]
fn a_device_with_little_shared_memory_takes_the_narrow_kernel() {
    let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None).with_shared_per_block(64 * 1024));
    let cells = Grid::from_fn(9, 140, |r, c| ((r * 7 + c * c) % 16) as u8).unwrap();
    let mut out = Grid::<f32>::zeros(9, 140).unwrap();
    let report =
        Entropy::new().compute_into(&Engine::Devices(vec![device]), cells.view(), out.view_mut(), &()).unwrap();
    assert_eq!(report.kernel, Some(Kernel::SlidingNarrow));
    compare(&out, &halotile::reference::entropy(cells.view(), 5, None), false, 2e-6).unwrap();
}

#[test]
fn a_device_without_the_instructions_takes_the_kernel_before() {
    let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None).with_arch(75));
    let cells = Grid::from_fn(9, 140, |r, c| ((r * 7 + c * c) % 16) as u8).unwrap();
    let mut out = Grid::<f32>::zeros(9, 140).unwrap();
    let engine = Engine::Devices(vec![device]);
    let report = Entropy::new().compute_into(&engine, cells.view(), out.view_mut(), &()).unwrap();
    assert_eq!(report.kernel, Some(Kernel::Sliding));
    let asked = Entropy::new().kernel(Kernel::Tensor).compute_into(&engine, cells.view(), out.view_mut(), &());
    assert!(asked.unwrap_err().to_string().contains("compute capability 8.0, and the device has 7.5"));
}

#[test]
fn views_with_gaps_between_rows_are_read_and_written_in_place() {
    let backing: Vec<u8> = (0..40 * 31).map(|i| (i * i % 13) as u8).collect();
    let cells = GridView::with_stride(&backing[5..], 38, 20, 31).unwrap();
    let expected = halotile::reference::entropy(cells, 5, None);
    for engine in [Engine::Cpu, emulated(2)] {
        let mut out = vec![-1.0f32; 38 * 27];
        let view = halotile::grid::GridViewMut::with_stride(&mut out, 38, 20, 27).unwrap();
        Entropy::new().compute_into(&engine, cells, view, &()).unwrap();
        for (r, row) in out.chunks(27).enumerate() {
            for (c, &h) in row.iter().enumerate() {
                if c < 20 {
                    assert!((f64::from(h) - expected.row(r)[c]).abs() < 2e-6, "row {r}, column {c}");
                } else {
                    assert_eq!(h, -1.0, "row {r}: the gap was written");
                }
            }
        }
    }
}

/// The runner itself must be able to fail.
#[test]
fn the_runner_sees_wrong_results() {
    let cells = Grid::from_fn(6, 6, |r, c| (r * c % 5) as u8).unwrap();
    let expected = halotile::reference::entropy(cells.view(), 5, None);
    let mut got = Entropy::new().compute::<f32>(cells.view()).unwrap();
    assert!(compare(&got, &expected, false, 2e-6).is_ok());
    got.as_mut_slice()[20] += 1e-5;
    let error = compare(&got, &expected, false, 2e-6).unwrap_err().to_string();
    assert!(error.starts_with("row 3, column 2: "), "{error}");
    got.as_mut_slice()[20] = f32::NAN;
    assert!(compare(&got, &expected, false, 2e-6).is_err());
    assert!(compare(&Grid::from_vec(vec![-0.0f32], 1, 1).unwrap(), &Grid::zeros(1, 1).unwrap(), true, 1e-5).is_err());
}
