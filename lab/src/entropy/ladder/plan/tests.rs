//! The plans on emulated devices, with and without the cut-off.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use simt::launch::{Arg, Constant, KernelEntry, LaunchConfig};

use super::*;
use halotile::exec::emulator::EmulatedDevice;
use halotile::exec::{Buffer, DeviceError, Limits, Rows, TexelFormat, TextureShape};
use halotile::grid::{Grid, GridViewMut};
use halotile::observe::Observer;
use halotile::reference;

const NAMES: [&str; 3] = ["v14", "v14-parallel", "v14-share"];

fn plan(name: &str) -> &'static PlanRung {
    let rung = RUNGS.iter().find(|rung| rung.name == name).unwrap();
    let How::Plan(plan) = &rung.how else { panic!("{name} is no plan") };
    plan
}

fn emulated(count: usize) -> Vec<Arc<dyn Device>> {
    (0..count).map(|i| Arc::new(EmulatedDevice::new(i, None)) as Arc<dyn Device>).collect()
}

fn grid(rows: usize, cols: usize) -> Grid<u8> {
    Grid::from_fn(rows, cols, |r, c| ((r * r + 7 * c * c + r * c) % 16) as u8).unwrap()
}

fn run(
    name: &str,
    devices: &[Arc<dyn Device>],
    cells: &Grid<u8>,
    cut_off: usize,
    observer: &dyn Observer,
) -> (Result<Report, Error>, Grid<f32>) {
    let mut out = Grid::from_fn(cells.rows(), cells.cols(), |_, _| f32::NAN).unwrap();
    let task = Task { cells: cells.view(), scale: 1.0, observer };
    let report = plan(name).run(devices, &task, Part::band(0, out.view_mut()), cut_off);
    (report, out)
}

/// The largest difference from the definition.
fn off(cells: &Grid<u8>, out: &Grid<f32>) -> f64 {
    let expected = reference::entropy(cells.view(), 5, None);
    let differences = expected.as_slice().iter().zip(out.as_slice()).map(|(a, &b)| (a - f64::from(b)).abs());
    // NaN, which no comparison lets through, is what a cell holds that was not written.
    differences.fold(0.0, |worst, d| if d <= worst { worst } else { d })
}

/// Counts cells.
#[derive(Default)]
struct Count(AtomicUsize);
impl Observer for Count {
    fn advance(&self, cells: u64) {
        self.0.fetch_add(cells as usize, Ordering::Relaxed);
    }
}

#[test]
fn every_plan_is_right_on_any_number_of_devices_by_rows_and_by_columns() {
    for (rows, cols) in [(150, 40), (40, 150), (10, 400), (400, 10), (1, 300), (300, 1), (7, 7), (1, 1)] {
        let cells = grid(rows, cols);
        for name in NAMES {
            for count in [1, 2, 3] {
                let observer = Count::default();
                let (report, out) = run(name, &emulated(count), &cells, 0, &observer);
                let (report, what) = (report.unwrap(), format!("{name}, {rows} x {cols} on {count}"));
                assert!(off(&cells, &out) < 1e-5, "{what}: {} off", off(&cells, &out));
                assert!(report.bands > 0 && report.kernel_seconds > 0.0, "{what}: {report:?}");
                assert_eq!(observer.0.into_inner(), rows * cols, "{what}");
                // Every worker gets a first piece, as long as there are any.
                let length = if share::axis(rows, cols, count + 1) == Axis::Rows { rows } else { cols };
                assert_eq!(report.cpu_cells > 0, name == "v14-share" && length >= 16 * (count + 1), "{what}");
            }
        }
    }
}

/// One device and several, rows and columns: for one kernel results are bit-identical.
#[test]
fn how_devices_share_a_grid_changes_no_bit() {
    for (rows, cols) in [(150, 40), (11, 500), (500, 11)] {
        let cells = grid(rows, cols);
        let whole = run("v14", &emulated(1), &cells, 0, &()).1;
        for name in ["v14", "v14-parallel"] {
            assert!(run(name, &emulated(3), &cells, 0, &()).1 == whole, "{name}, {rows} x {cols}");
        }
    }
}

#[test]
fn small_grids_and_machines_without_a_device_take_v12() {
    let cells = grid(60, 70);
    let mut v12 = Grid::<f32>::zeros(60, 70).unwrap();
    let task = Task { cells: cells.view(), scale: 1.0, observer: &() };
    super::v12(&task, Part::band(0, v12.view_mut())).unwrap();
    for name in NAMES {
        for (devices, cut_off, by_v12) in [(0, 0, true), (2, 60 * 70 + 1, true), (2, 60 * 70, false)] {
            let (report, out) = run(name, &emulated(devices), &cells, cut_off, &());
            let report = report.unwrap();
            assert_eq!((report.cpu_cells == 60 * 70, report.bands == 0), (by_v12, by_v12), "{name}");
            assert!(!by_v12 || out == v12, "{name}");
        }
    }
}

#[test]
fn the_devices_run_v7() {
    for name in NAMES {
        let devices: Vec<_> = (0..2).map(|i| Arc::new(EmulatedDevice::new(i, None).counting())).collect();
        let shared: Vec<_> = devices.iter().map(|device| Arc::clone(device) as Arc<dyn Device>).collect();
        run(name, &shared, &grid(40, 40), 0, &()).0.unwrap();
        let launched: Vec<_> = devices.iter().flat_map(|device| device.take_counted()).collect();
        assert!(!launched.is_empty() && launched.iter().all(|launch| launch.kernel == "ladder_v7"), "{name}");
    }
}

#[test]
fn one_failure_stops_the_others_and_is_the_reason() {
    let cells = grid(200, 60);
    for name in NAMES {
        for at in 0..3 {
            let mut devices = emulated(3);
            devices[at] = Arc::new(EmulatedDevice::new(at, Some(100)));
            let (result, _) = run(name, &devices, &cells, 0, &());
            assert!(matches!(result, Err(Error::Device(DeviceError::OutOfMemory { .. }))), "{name}: {result:?}");
        }
    }
}

/// The CPU, which would do everything by itself, is stopped by a device's failure.
#[test]
fn a_failure_is_not_waited_out() {
    struct Slow(AtomicUsize);
    impl Observer for Slow {
        fn advance(&self, cells: u64) {
            self.0.fetch_add(cells as usize, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(40));
        }
    }
    let (cells, observer) = (grid(1000, 20), Slow(0.into()));
    let devices: Vec<Arc<dyn Device>> = vec![Arc::new(EmulatedDevice::new(0, Some(100)))];
    assert!(run("v14-share", &devices, &cells, 0, &observer).0.is_err());
    // It has 40 ms a piece, of which there are 60, to notice.
    assert!(observer.0.load(Ordering::Relaxed) < 10_000);
}

#[test]
fn a_stop_reaches_every_worker() {
    /// Stops after so many cells.
    struct Stop(AtomicUsize, usize);
    impl Observer for Stop {
        fn advance(&self, cells: u64) {
            self.0.fetch_add(cells as usize, Ordering::Relaxed);
        }
        fn cancelled(&self) -> bool {
            self.0.load(Ordering::Relaxed) >= self.1
        }
    }
    let cells = grid(400, 60);
    for name in NAMES {
        for cut_off in [0, usize::MAX] {
            let (result, _) = run(name, &emulated(2), &cells, cut_off, &Stop(0.into(), 0));
            assert!(matches!(result, Err(Error::Cancelled(_))), "{name}: {result:?}");
        }
    }
    let (result, _) = run("v14-share", &emulated(2), &cells, 0, &Stop(0.into(), 1));
    assert!(matches!(result, Err(Error::Cancelled(_))), "{result:?}");
}

/// How many copies back are in flight.
#[derive(Default)]
struct Copies {
    now: Mutex<usize>,
    changed: Condvar,
    most: AtomicUsize,
    /// A copy waits until so many are in flight, or for a while.
    wait_for: usize,
}

/// An emulated device whose copies back are watched.
struct Watched(EmulatedDevice, Arc<Copies>);

impl Device for Watched {
    fn profile(&self, profile: &Arc<halotile::profile::Profile>) -> Result<(), DeviceError> {
        self.0.profile(profile)
    }
    fn download(&self, from: &Buffer, rows: Rows, target: &mut [u8], target_pitch: usize) -> Result<(), DeviceError> {
        let copies = &self.1;
        let mut now = copies.now.lock().unwrap();
        *now += 1;
        copies.most.fetch_max(*now, Ordering::Relaxed);
        copies.changed.notify_all();
        let patience = Duration::from_millis(if copies.wait_for > 1 { 20_000 } else { 30 });
        let enough = |_: &mut usize| copies.most.load(Ordering::Relaxed) < copies.wait_for.max(2);
        let (mut now, _) = copies.changed.wait_timeout_while(now, patience, enough).unwrap();
        *now -= 1;
        drop(now);
        self.0.download(from, rows, target, target_pitch)
    }

    fn name(&self) -> String {
        self.0.name()
    }
    fn limits(&self) -> Limits {
        self.0.limits()
    }
    fn free_memory(&self) -> Result<usize, DeviceError> {
        self.0.free_memory()
    }
    fn allocate(&self, bytes: usize) -> Result<u64, DeviceError> {
        self.0.allocate(bytes)
    }
    fn release(&self, address: u64) {
        self.0.release(address);
    }
    fn fill(&self, buffer: &Buffer, byte: u8) -> Result<(), DeviceError> {
        self.0.fill(buffer, byte)
    }
    fn upload(&self, to: &Buffer, rows: Rows, source: &[u8], source_pitch: usize) -> Result<(), DeviceError> {
        self.0.upload(to, rows, source, source_pitch)
    }
    fn create_texture(&self, buffer: &Buffer, format: TexelFormat, shape: TextureShape) -> Result<u64, DeviceError> {
        self.0.create_texture(buffer, format, shape)
    }
    fn destroy_texture(&self, handle: u64) {
        self.0.destroy_texture(handle);
    }
    unsafe fn launch_with(
        &self,
        kernel: &KernelEntry,
        config: &LaunchConfig,
        args: &[Arg],
        constants: &[Constant],
    ) -> Result<f64, DeviceError> {
        // SAFETY: the caller's promise is the one asked for.
        unsafe { self.0.launch_with(kernel, config, args, constants) }
    }
    fn resident_blocks(&self, kernel: &KernelEntry, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError> {
        self.0.resident_blocks(kernel, threads, shared_bytes)
    }
}

#[test]
fn results_come_back_one_after_another_or_side_by_side() {
    let cells = grid(90, 30);
    for (name, wait_for, most) in [("v14", 1, 1), ("v14-parallel", 3, 3)] {
        let copies = Arc::new(Copies { wait_for, ..Copies::default() });
        let device = |i| Arc::new(Watched(EmulatedDevice::new(i, None), Arc::clone(&copies))) as Arc<dyn Device>;
        let devices: Vec<_> = (0..3).map(device).collect();
        let (report, out) = run(name, &devices, &cells, 0, &());
        assert!(report.is_ok() && off(&cells, &out) < 1e-5, "{name}");
        assert_eq!(copies.most.load(Ordering::Relaxed), most, "{name}");
    }
}

/// A caller may be one of rayon's own threads, and so may all callers.
#[test]
fn callers_on_all_of_rayons_threads_do_not_wait_for_each_other() {
    use rayon::prelude::*;
    let cells = grid(60, 30);
    (0..4 * rayon::current_num_threads()).into_par_iter().for_each(|i| {
        let (report, out) = run(NAMES[i % 3], &emulated(2), &cells, 0, &());
        assert!(report.is_ok() && off(&cells, &out) < 1e-5);
    });
}

#[test]
fn a_view_with_gaps_is_filled_in_place_by_columns_too() {
    let cells = grid(9, 200);
    let expected = reference::entropy(cells.view(), 5, None);
    for name in NAMES {
        let mut out = vec![-1.0f32; 9 * 230];
        let view = GridViewMut::with_stride(&mut out, 9, 200, 230).unwrap();
        let task = Task { cells: cells.view(), scale: 2.0, observer: &() };
        plan(name).run(&emulated(3), &task, Part::band(0, view), 0).unwrap();
        for (r, row) in out.chunks(230).enumerate() {
            for (c, &h) in row.iter().enumerate() {
                let right = if c < 200 { (f64::from(h) / 2.0 - expected.row(r)[c]).abs() < 1e-5 } else { h == -1.0 };
                assert!(right, "{name}: row {r}, column {c}: {h}");
            }
        }
    }
}
