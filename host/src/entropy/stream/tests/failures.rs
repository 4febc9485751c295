//! What can go wrong: devices that fail or have too little memory, files that break, values that are no levels, kernels that cannot stream,
//! and a caller who wants it to stop.

use super::*;

#[test]
fn a_device_that_fails_leaves_its_work_to_the_others() {
    let cells = grid(120, 90, 16);
    let entropy = Entropy::new().size(7);
    let run = |devices: Vec<Arc<dyn Device>>| {
        let mut out = Grid::<f32>::zeros(120, 90).unwrap();
        let report = entropy.compute_into(&Engine::Devices(devices), cells.view(), out.view_mut(), &());
        report.map(|report| (bits(&out), report.bands))
    };
    let (whole, bands) = run(emulated(1)).unwrap();
    for launches in [0, 1, 3] {
        let failing = || Arc::new(EmulatedDevice::new(7, None).failing_after(launches)) as Arc<dyn Device>;
        for devices in [vec![failing(), emulated(1).remove(0)], vec![failing(), failing(), emulated(1).remove(0)]] {
            let count = devices.len();
            let (got, done) = run(devices).unwrap();
            assert!(got == whole && done >= bands, "{launches} launches, {count} devices");
        }
        let error = run(vec![failing(), failing()]).unwrap_err();
        assert!(
            matches!(&error, Error::Device(DeviceError::Driver { device, .. }) if device == "emulator:7"),
            "{error}"
        );
    }
    // A raster's pieces come back in order, too.
    let raster = Blocks::new(cells.clone(), (16, 16));
    let devices: Vec<Arc<dyn Device>> =
        vec![Arc::new(EmulatedDevice::new(0, None).failing_after(2)), Arc::new(EmulatedDevice::new(1, None))];
    let (report, kept) = streamed(&entropy, &Engine::Devices(devices), &raster, (8, 90), None, usize::MAX);
    assert!(report.is_ok() && bits(&kept) == whole);
}

#[test]
fn a_device_with_too_little_memory_is_an_error() {
    let cells = grid(300, 300, 16);
    let mut out = Grid::<f32>::zeros(300, 300).unwrap();
    let run = |memory, out: &mut Grid<f32>| {
        let devices: Vec<Arc<dyn Device>> = vec![Arc::new(EmulatedDevice::new(0, Some(memory)))];
        Entropy::new().compute_into(&Engine::Devices(devices), cells.view(), out.view_mut(), &())
    };
    assert!(matches!(run(100, &mut out), Err(Error::Device(DeviceError::OutOfMemory { .. }))));
    // Little, but enough for small pieces.
    run(200_000, &mut out).unwrap();
    // The first plan needs more than there is.
    let overstating = EmulatedDevice::new(0, Some(200_000)).overstating(5_000_000);
    let engine = Engine::Devices(vec![Arc::new(overstating)]);
    Entropy::new().compute_into(&engine, cells.view(), out.view_mut(), &()).unwrap();
    assert_near(&out, &expected(&cells, 5, Edge::Shrink, None), "200,000 bytes");
}

#[test]
fn what_cannot_be_read_or_written_ends_the_work() {
    let cells = grid(400, 50, 16);
    for engine in [Engine::Cpu, Engine::Devices(emulated(2))] {
        let mut raster = Blocks::new(cells.clone(), (16, 50));
        let memory = Some(reserved((400, 50)) + 60_000);
        for room in [0, 1, 3] {
            let (result, _) = streamed(&Entropy::new(), &engine, &raster, (16, 50), memory, room);
            let error = result.unwrap_err();
            assert!(matches!(&error, Error::File(file) if file.file() == "kept"), "{error}");
        }
        for broken in [1, 200] {
            raster.broken = broken;
            let (result, _) = streamed(&Entropy::new(), &engine, &raster, (16, 50), memory, usize::MAX);
            let error = result.unwrap_err();
            assert!(matches!(&error, Error::File(file) if file.file() == "blocks"), "{error}");
        }
        let allowed = reserved((400, 50)) + 100;
        let tight = streamed(&Entropy::new(), &engine, &raster, (16, 50), Some(allowed), usize::MAX).0;
        assert!(matches!(tight, Err(Error::Memory { needed, .. }) if needed > allowed), "{tight:?}");
    }
}

/// Stops after so many cells.
struct Stop(AtomicU64, u64);
impl Observer for Stop {
    fn advance(&self, cells: u64) {
        self.0.fetch_add(cells, Relaxed);
    }
    fn cancelled(&self) -> bool {
        self.0.load(Relaxed) >= self.1
    }
}

#[test]
fn a_stop_reaches_everybody_and_every_cell_is_counted_once() {
    let cells = grid(300, 100, 16);
    for engine in [Engine::Cpu, Engine::Devices(emulated(2))] {
        for edge in [Edge::Shrink, Edge::Reflect] {
            let mut out = Grid::<f32>::zeros(300, 100).unwrap();
            let entropy = Entropy::new().edge(edge);
            let all = Stop(0.into(), u64::MAX);
            entropy.compute_into(&engine, cells.view(), out.view_mut(), &all).unwrap();
            assert_eq!(all.0.into_inner(), 300 * 100);
            let stopped = entropy.compute_into(&engine, cells.view(), out.view_mut(), &Stop(0.into(), 0));
            assert!(matches!(stopped, Err(Error::Cancelled(_))), "{stopped:?}");
        }
    }
}

/// Where the levels are given, the grid is not scanned first.
#[test]
fn a_value_that_is_no_level_is_found_on_the_way() {
    let mut cells = grid(90, 40, 9);
    cells.as_mut_slice()[61 * 40 + 7] = 9;
    cells.as_mut_slice()[61 * 40 + 8] = 12;
    let mut out = Grid::<f32>::zeros(90, 40).unwrap();
    let mut run = |levels| {
        Entropy::new().levels(levels).compute_into(&Engine::Devices(emulated(2)), cells.view(), out.view_mut(), &())
    };
    assert!(matches!(run(9), Err(Error::Value { row: 61, col: 7, value: 9, levels: 9 })));
    assert!(matches!(run(12), Err(Error::Value { row: 61, col: 8, value: 12, levels: 12 })));
    assert_eq!(run(13).unwrap().levels, 13);
}

/// An algorithm from outside the library that is never run.
struct Outside(&'static str, Place);

impl Algorithm for Outside {
    fn name(&self) -> &'static str {
        self.0
    }
    fn place(&self) -> Place {
        self.1
    }
    fn misfit(&self, _task: &Task<'_>) -> Option<String> {
        None
    }
    unsafe fn compute(
        &'static self,
        _: &Engine,
        _: &Task<'_>,
        _: Planes<'_>,
        _: &dyn Observer,
    ) -> Result<Report, Error> {
        panic!("{} has been run", self.0)
    }
    unsafe fn prepare(&'static self, _: &Arc<dyn Device>, _: &Task<'_>) -> Result<Box<dyn Launcher>, Error> {
        panic!("{} has been prepared", self.0)
    }
}

/// As for grids in memory; an algorithm from outside takes these only.
#[test]
fn a_kernel_that_cannot_stream_is_refused() {
    static ON_DEVICE: Outside = Outside("on device", Place::Device);
    static ANYWHERE: Outside = Outside("anywhere", Place::Both);
    static ON_CPU: Outside = Outside("on CPU", Place::Cpu);
    let raster = Blocks::new(grid(30, 30, 16), (16, 16));
    let run = |kernel: Kernel, engine: &Engine| {
        let entropy = Entropy::new().kernel(kernel);
        streamed(&entropy, engine, &raster, (16, 16), None, usize::MAX).0
    };
    let devices = Engine::Devices(emulated(1));
    for outside in [&ON_DEVICE, &ANYWHERE] {
        let refused = run(Kernel::Custom(Custom::new(outside)), &devices);
        assert!(matches!(refused, Err(Error::KernelMisfit { kernel, .. }) if kernel == outside.0));
    }
    let refused = run(Kernel::Custom(Custom::new(&ON_CPU)), &devices);
    assert!(matches!(refused, Err(Error::KernelOnDevice("on CPU"))));
    assert!(matches!(run(Kernel::Tiled, &Engine::Cpu), Err(Error::KernelOnCpu("tiled"))));
    assert!(run(Kernel::Tiled, &devices).is_ok());
}

#[test]
fn codes_that_are_none_and_wholes_that_are_too_small_are_refused() {
    use crate::entropy::Codes;
    let cells = [0u8, 1, 2, 3];
    let mut out = Grid::<f32>::zeros(2, 2).unwrap();
    let mut run = |levels, nodata, whole| {
        let codes = Codes { cells: GridView::new(&cells, 2, 2).unwrap(), levels, nodata };
        Entropy::new().part_of(whole).measure_codes_into(&Engine::Cpu, codes, vec![out.view_mut()], &())
    };
    assert!(matches!(run(3, None, None), Err(Error::Value { row: 1, col: 1, value: 3, levels: 3 })));
    assert!(run(3, Some(3), Some((2, 2))).is_ok());
    assert!(matches!(run(257, None, None), Err(Error::LevelsOfBytes(257))));
    assert!(matches!(run(65_537, None, None), Err(Error::Levels(65_537))));
    assert!(matches!(run(4, None, Some((1, 9))), Err(Error::Whole { .. })));
}
