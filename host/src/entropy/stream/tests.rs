//! The plan with grids and rasters, on the CPU and on emulated devices, whole and in pieces, with what can go wrong.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::plan::reserved;
use super::*;
use crate::codes::CodesMut;
use crate::entropy::{Algorithm, Custom, Launcher, Place, Planes, Task};
use crate::exec::DeviceError;
use crate::exec::emulator::EmulatedDevice;
use crate::grid::Grid;
use crate::io::FormatError;
use crate::measure::Edge;
use crate::reference;

fn grid(rows: usize, cols: usize, levels: usize) -> Grid<u8> {
    let mix = |r: usize, c: usize| (r * 2_654_435_761).wrapping_add(c * 40_503).wrapping_mul(0x9E37_79B9) >> 16;
    Grid::from_fn(rows, cols, |r, c| (mix(r, c) % levels) as u8).unwrap()
}

fn emulated(count: usize) -> Vec<Arc<dyn Device>> {
    (0..count).map(|i| Arc::new(EmulatedDevice::new(i, None)) as Arc<dyn Device>).collect()
}

/// Codes of a grid as a raster in blocks.
struct Blocks {
    cells: Grid<u8>,
    block: (usize, usize),
    nodata: Option<u8>,
    /// Rows from which on reading fails.
    broken: usize,
    /// The row that is to be asked for next, where only whole rows in their order may be.
    in_order: Option<AtomicUsize>,
}

impl Blocks {
    fn new(cells: Grid<u8>, block: (usize, usize)) -> Self {
        Self { cells, block, nodata: None, broken: usize::MAX, in_order: None }
    }
}

impl Cells for Blocks {
    fn name(&self) -> &str {
        "blocks"
    }
    fn rows(&self) -> usize {
        self.cells.rows()
    }
    fn cols(&self) -> usize {
        self.cells.cols()
    }
    fn block(&self) -> (usize, usize) {
        self.block
    }
    fn in_order(&self) -> bool {
        self.in_order.is_some()
    }
    fn bytes_per_cell(&self) -> usize {
        1
    }
    fn levels(&self) -> usize {
        16
    }
    fn nodata_code(&self) -> Option<u16> {
        self.nodata.map(u16::from)
    }
    fn read_into(&self, rows: Range<usize>, cols: Range<usize>, out: CodesMut<'_>) -> Result<(), FormatError> {
        let CodesMut::Bytes(mut out) = out else { panic!("16 levels are bytes") };
        if let Some(next) = &self.in_order {
            let before = next.swap(rows.end, Relaxed);
            assert!(cols == (0..self.cells.cols()) && rows.start == before, "rows {rows:?} after {before}");
        }
        if rows.end > self.broken {
            return Err(crate::io::write_failed("blocks", std::io::Error::other("broken")));
        }
        let cells = self.cells.view().rect(rows, cols);
        (0..cells.rows()).for_each(|r| out.row_mut(r).copy_from_slice(cells.row(r)));
        Ok(())
    }
}

/// A sink that keeps everything and checks what it is promised.
struct Keep<'a> {
    kept: &'a Mutex<Grid<f32>>,
    block: (usize, usize),
    whole_rows: bool,
    next: usize,
    /// Rectangles that it takes.
    room: usize,
    finished: &'a AtomicU64,
}

impl ResultSink<f32> for Keep<'_> {
    fn block(&self) -> (usize, usize) {
        self.block
    }
    fn whole_rows(&self) -> bool {
        self.whole_rows
    }
    fn write(&mut self, top: usize, left: usize, planes: &[GridView<'_, f32>]) -> Result<(), FormatError> {
        if self.room == 0 {
            return Err(crate::io::write_failed("kept", std::io::ErrorKind::StorageFull.into()));
        }
        self.room -= 1;
        let mut kept = self.kept.lock().unwrap();
        let (rows, cols) = (kept.rows(), kept.cols());
        let [view] = planes else { panic!("{} planes", planes.len()) };
        let (bottom, right) = (top + view.rows(), left + view.cols());
        assert!(
            top.is_multiple_of(self.block.0) && (bottom.is_multiple_of(self.block.0) || bottom == rows),
            "rows {top}..{bottom}"
        );
        assert!(
            left.is_multiple_of(self.block.1) && (right.is_multiple_of(self.block.1) || right == cols),
            "columns {left}..{right}"
        );
        assert!(!self.whole_rows || (left, right) == (0, cols));
        assert!(top * cols + left >= self.next, "out of order");
        self.next = top * cols + left + 1;
        for r in 0..view.rows() {
            kept.as_mut_slice()[(top + r) * cols..][left..right].copy_from_slice(view.row(r));
        }
        Ok(())
    }
    fn finish(self: Box<Self>) -> Result<(), FormatError> {
        self.finished.fetch_add(1, Relaxed);
        Ok(())
    }
}

/// Streams a raster; what has been kept.
fn streamed(
    entropy: &Entropy,
    engine: &Engine,
    cells: &Blocks,
    block: (usize, usize),
    memory: Option<usize>,
    room: usize,
) -> (Result<Report, Error>, Grid<f32>) {
    let poison = Grid::from_fn(cells.rows(), cells.cols(), |_, _| -1.0).unwrap();
    let (kept, finished) = (Mutex::new(poison), AtomicU64::new(0));
    let sink = Keep { kept: &kept, block, whole_rows: false, next: 0, room, finished: &finished };
    let result = entropy.stream(engine, cells, Box::new(sink), memory, &());
    assert_eq!(finished.load(Relaxed), u64::from(result.is_ok()));
    (result, kept.into_inner().unwrap())
}

/// The definition on a grid that is extended beyond its edge: the cells there are made first.
fn expected(cells: &Grid<u8>, size: usize, edge: Edge, nodata: Option<u8>) -> Grid<f64> {
    let (rows, cols, radius) = (cells.rows(), cells.cols(), size / 2);
    if !edge.extends() {
        let plain = reference::entropy(cells.view(), size, nodata);
        let inside = |at: usize, len: usize| at >= radius && at + radius < len;
        return Grid::from_fn(rows, cols, |r, c| match edge {
            Edge::Nodata if !inside(r, rows) || !inside(c, cols) => f64::NAN,
            _ => plain.row(r)[c],
        })
        .unwrap();
    }
    let seen = |at: usize, len: usize| edge.seen(at as isize - radius as isize, len).unwrap();
    let wide =
        Grid::from_fn(rows + 2 * radius, cols + 2 * radius, |r, c| cells.row(seen(r, rows))[seen(c, cols)]).unwrap();
    Grid::from_fn(rows, cols, |r, c| reference::entropy_at(wide.view(), size, nodata, r + radius, c + radius)).unwrap()
}

#[track_caller]
fn assert_near(got: &Grid<f32>, expected: &Grid<f64>, what: &str) {
    for (i, (&a, &b)) in got.as_slice().iter().zip(expected.as_slice()).enumerate() {
        let near = (f64::from(a) - b).abs() < 2e-6 || (a.is_nan() && b.is_nan());
        assert!(near, "{what}: row {}, column {}: {a}, not {b}", i / got.cols(), i % got.cols());
    }
}

fn bits(grid: &Grid<f32>) -> Vec<u32> {
    grid.as_slice().iter().map(|h| h.to_bits()).collect()
}

#[test]
fn every_edge_is_right_on_the_cpu_and_on_devices() {
    for (rows, cols) in [(1, 1), (1, 9), (9, 1), (2, 3), (7, 40), (40, 7), (33, 35)] {
        let cells = grid(rows, cols, 12);
        for (size, nodata) in [(1, None), (5, None), (5, Some(3)), (9, Some(3))] {
            for &edge in Edge::ALL {
                let expected = expected(&cells, size, edge, nodata);
                for engine in [Engine::Cpu, Engine::Devices(emulated(2))] {
                    let mut out = Grid::<f32>::zeros(rows, cols).unwrap();
                    let entropy = Entropy::new().size(size).nodata(nodata.map(u16::from)).edge(edge);
                    entropy.compute_into(&engine, cells.view(), out.view_mut(), &()).unwrap();
                    assert_near(&out, &expected, &format!("{rows} x {cols}, window {size}, {edge:?}, {nodata:?}"));
                }
            }
        }
    }
}

/// One device and several, rows and columns, the CPU in pieces of any size: bit-identical.
#[test]
fn who_does_it_and_in_which_pieces_changes_no_bit() {
    for (rows, cols) in [(150, 40), (10, 3000), (3000, 10), (70, 70)] {
        let cells = grid(rows, cols, 16);
        let entropy = Entropy::new();
        let whole = |engine: &Engine| {
            let mut out = Grid::<f32>::zeros(rows, cols).unwrap();
            let report = entropy.compute_into(engine, cells.view(), out.view_mut(), &()).unwrap();
            (bits(&out), report)
        };
        let (one, report) = whole(&Engine::Devices(emulated(1)));
        assert!(report.bands >= 3, "{rows} x {cols}: {report:?}");
        for count in 2..=4 {
            assert!(whole(&Engine::Devices(emulated(count))).0 == one, "{rows} x {cols} on {count}");
        }
        let (cpu, _) = whole(&Engine::Cpu);
        let raster = Blocks::new(cells.clone(), (8, 16));
        for block in [(1, 1), (16, 16), (32, 48)] {
            for memory in [None, Some(reserved((rows, cols)) + 120_000)] {
                let (report, kept) = streamed(&entropy, &Engine::Cpu, &raster, block, memory, usize::MAX);
                assert_eq!(report.unwrap().cpu_cells, rows * cols);
                assert!(bits(&kept) == cpu, "{rows} x {cols}, blocks {block:?}, {memory:?}");
                let (report, kept) =
                    streamed(&entropy, &Engine::Devices(emulated(2)), &raster, block, memory, usize::MAX);
                assert!(report.unwrap().bands > 0);
                assert!(bits(&kept) == one, "{rows} x {cols}, blocks {block:?}, {memory:?}, devices");
            }
        }
    }
}

/// Every measure in windows of every shape, with every edge, in pieces: what the oracle says, and the same on one device and three.
#[test]
fn measures_come_out_whoever_computes_them() {
    for (i, case) in crate::measure::cases::cases().iter().enumerate() {
        if case.updates() > 400_000 {
            continue;
        }
        let (rows, cols) = (case.cells.rows(), case.cells.cols());
        let edges = [case.edge, [Edge::Symmetric, Edge::Reflect, Edge::Replicate][i % 3]];
        for edge in edges {
            let case = crate::measure::cases::Case { edge, ..case.clone() };
            let entropy = Entropy::new()
                .footprint(case.footprint.clone())
                .measures(case.measures.clone())
                .edge(edge)
                .nodata(case.nodata.map(u16::from))
                .levels(case.levels)
                .base(case.base)
                .normalize(case.normalize)
                .min_valid(case.min_valid)
                .fill(case.fill);
            let expected = case.expected();
            let run = |engine: &Engine| {
                let mut outs: Vec<_> = expected.iter().map(|_| Grid::<f32>::zeros(rows, cols).unwrap()).collect();
                let views = outs.iter_mut().map(Grid::view_mut).collect();
                entropy.measure_into(engine, case.cells.view(), views, &()).unwrap();
                outs
            };
            let cpu = run(&Engine::Cpu);
            (0..expected.len()).for_each(|m| case.compare(m, cpu[m].view(), &expected[m]));
            if i % 4 != 0 || case.updates() > 40_000 {
                continue;
            }
            let one = run(&Engine::Devices(emulated(1)));
            (0..expected.len()).for_each(|m| case.compare(m, one[m].view(), &expected[m]));
            let three = run(&Engine::Devices(emulated(3)));
            assert!(one.iter().zip(&three).all(|(a, b)| bits(a) == bits(b)), "{}", case.name);
        }
    }
}

/// Flat grids are cut by columns, so that every device has some.
#[test]
fn all_devices_take_part() {
    for (rows, cols) in [(10, 4000), (4000, 10), (200, 200)] {
        let cells = grid(rows, cols, 16);
        let mut out = Grid::<f32>::zeros(rows, cols).unwrap();
        let report =
            Entropy::new().compute_into(&Engine::Devices(emulated(3)), cells.view(), out.view_mut(), &()).unwrap();
        assert!(report.bands >= 12, "{rows} x {cols}: {report:?}");
    }
}

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

/// Every row once, from top to bottom, also where memory is short and windows reach far.
#[test]
fn what_is_a_stream_is_read_once() {
    let cells = grid(900, 200, 16);
    for (size, block, memory) in [(5, (1, 1), None), (31, (64, 64), Some(300_000)), (31, (64, 64), Some(500_000))] {
        let entropy = Entropy::new().size(size);
        let mut out = Grid::<f32>::zeros(900, 200).unwrap();
        entropy.compute_into(&Engine::Cpu, cells.view(), out.view_mut(), &()).unwrap();
        let memory = memory.map(|memory| memory + reserved((900, 200)) + 200 * (size - 1));
        for edge in [Edge::Shrink, Edge::Reflect] {
            let mut raster = Blocks::new(cells.clone(), (1, 200));
            raster.in_order = Some(AtomicUsize::new(0));
            let entropy = entropy.clone().edge(edge);
            let (report, kept) = streamed(&entropy, &Engine::Cpu, &raster, block, memory, usize::MAX);
            report.unwrap();
            assert!(edge != Edge::Shrink || bits(&kept) == bits(&out), "{size} {block:?} {memory:?}");
        }
    }
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

/// A caller may be one of rayon's own threads, and so may all callers.
#[test]
fn callers_on_all_of_rayons_threads_do_not_wait_for_each_other() {
    use rayon::prelude::*;
    let cells = grid(60, 30, 16);
    let expected = expected(&cells, 5, Edge::Symmetric, None);
    (0..4 * rayon::current_num_threads()).into_par_iter().for_each(|i| {
        let engine = if i % 2 == 0 { Engine::Cpu } else { Engine::Devices(emulated(2)) };
        let mut out = Grid::<f32>::zeros(60, 30).unwrap();
        Entropy::new().edge(Edge::Symmetric).compute_into(&engine, cells.view(), out.view_mut(), &()).unwrap();
        assert_near(&out, &expected, "beside others");
    });
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

/// Views with gaps, as devices copy to them directly: no other cells change.
#[test]
fn targets_are_the_pieces_own_cells() {
    let coding = Coding { levels: 16, nodata: None, codes: None };
    let mut plan = Entropy::new().plan::<f32>((7, 20), &coding, &());
    plan.piece = (3, 8);
    let mut data = vec![0f32; 7 * 23];
    let view = GridViewMut::with_stride(&mut data, 7, 20, 23).unwrap();
    for (i, targets) in targets(&plan, Part::band(0, view)).into_iter().enumerate() {
        let (rows, cols) = plan.place(i);
        assert_eq!(targets.iter().map(|target| target.rows).sum::<usize>(), rows.len());
        for target in targets {
            assert_eq!(target.width, 4 * cols.len());
            let Writable::Borrowed(bytes) = target.memory else { panic!("not borrowed") };
            for row in bytes.chunks_mut(target.pitch).take(target.rows) {
                for value in bytemuck::cast_slice_mut::<u8, f32>(&mut row[..target.width]) {
                    *value += (i + 1) as f32;
                }
            }
        }
    }
    for (r, row) in data.chunks(23).enumerate() {
        for (c, &value) in row.iter().enumerate() {
            assert_eq!(value, if c < 20 { (r / 3 * 3 + c / 8 + 1) as f32 } else { 0.0 }, "row {r}, column {c}");
        }
    }
}

/// Codes in memory come out as the stream of the same codes does, and so does every part of them that has its halo, on the CPU and on
/// a device: bit-identical. Parts smaller than the window are what would change the unit of the sums.
#[test]
fn codes_in_memory_and_their_parts_are_what_the_stream_makes_of_them() {
    use crate::entropy::Codes;
    use crate::measure::{Footprint, Measure};
    let entropies = [
        Entropy::new(),
        Entropy::new().size(9),
        Entropy::new().size(7).base(super::super::Base::Two).levels(16).normalize(true),
        Entropy::new().size(5).edge(Edge::Nodata),
        Entropy::new().footprint(Footprint::disk(7).unwrap()).min_valid(0.5),
        Entropy::new().size(3).measures([Measure::Renyi(0.5)]),
    ];
    let engines = [Engine::Cpu, Engine::Devices(emulated(1))];
    for (entropy, engine) in entropies.iter().flat_map(|entropy| engines.iter().map(move |engine| (entropy, engine))) {
        for nodata in [None, Some(16)] {
            let (rows, cols) = (23, 37);
            let cells = grid(rows, cols, if nodata.is_some() { 17 } else { 16 });
            let blocks = Blocks { nodata, ..Blocks::new(cells, (8, 8)) };
            let (result, whole) = streamed(entropy, engine, &blocks, (8, 8), None, usize::MAX);
            result.unwrap();
            let codes = |rows: Range<usize>, cols: Range<usize>, whole| {
                let mut out = Grid::<f32>::from_fn(rows.len(), cols.len(), |_, _| -1.0).unwrap();
                let cells = blocks.cells.view().rect(rows, cols);
                let codes = Codes { cells, levels: 16, nodata };
                entropy.clone().part_of(whole).measure_codes_into(engine, codes, vec![out.view_mut()], &()).unwrap();
                out
            };
            let bits = |grid: &Grid<f32>| grid.as_slice().iter().map(|h| h.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&codes(0..rows, 0..cols, None)), bits(&whole), "{entropy:?}");
            // Single rows and columns among them.
            let halo = entropy.size / 2;
            for (r, c) in [(0..1, 0..1), (0..5, 30..37), (22..23, 0..37), (9..10, 17..19), (4..20, 8..30)] {
                let seen = |own: &Range<usize>, all| own.start.saturating_sub(halo)..(own.end + halo).min(all);
                let (seen_rows, seen_cols) = (seen(&r, rows), seen(&c, cols));
                let part = codes(seen_rows.clone(), seen_cols.clone(), Some((rows, cols)));
                let part = part.view();
                for row in r {
                    let got = &part.row(row - seen_rows.start)[c.start - seen_cols.start..][..c.len()];
                    let expected = &whole.row(row)[c.clone()];
                    let same = got.iter().zip(expected).all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(same, "{entropy:?}, row {row}, columns {c:?}: {got:?}, {expected:?}");
                }
            }
        }
    }
}

/// Windows of more than 255 rows and columns, whose halos are larger than the pieces: bit-identical to the grid in memory, in as
/// little memory as the error for less asks for.
#[test]
fn large_windows_are_the_same_in_pieces() {
    use crate::measure::{Footprint, Measure};
    let (rows, cols) = (310, 290);
    for (entropy, nodata) in [
        (Entropy::new().size(257), None),
        (Entropy::new().size(301).edge(Edge::Nodata), Some(16)),
        (Entropy::new().size(257).edge(Edge::Reflect), Some(16)),
        (Entropy::new().size(1001).measures([Measure::Simpson]), Some(3)),
        (Entropy::new().footprint(Footprint::disk(301).unwrap()).measures([Measure::Evenness]), None),
    ] {
        let raster =
            Blocks { nodata, ..Blocks::new(grid(rows, cols, if nodata == Some(16) { 17 } else { 16 }), (8, 16)) };
        let run = |memory| streamed(&entropy, &Engine::Cpu, &raster, (16, 16), memory, usize::MAX);
        let (whole, expected) = run(None);
        assert_eq!(whole.unwrap().cpu_cells, rows * cols);
        let Err(Error::Memory { needed, .. }) = run(Some(1 << 20)).0 else { panic!("{entropy:?}: 1 MiB is enough") };
        // F of 66,049 numbers, and more of a larger window.
        assert!(needed > reserved((rows, cols)) + 8 * 257 * 257, "{entropy:?}: {needed}");
        assert!(matches!(run(Some(needed - 1)).0, Err(Error::Memory { .. })), "{entropy:?}: less than {needed}");
        let (least, kept) = run(Some(needed));
        least.unwrap();
        assert!(bits(&kept) == bits(&expected), "{entropy:?} in {needed} bytes");
        let mut out = Grid::<f32>::zeros(rows, cols).unwrap();
        let in_memory = entropy.clone().nodata(nodata.map(u16::from)).levels(16);
        in_memory.compute_into(&Engine::Cpu, raster.cells.view(), out.view_mut(), &()).unwrap();
        assert!(bits(&kept) == bits(&out), "{entropy:?} in memory");
    }
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

/// More classes than bytes: a raster of them, read in pieces, and a grid of them in memory, with everything beyond the edges, against the
/// oracle; and both alike.
#[test]
fn many_classes_come_in_pieces_as_they_do_in_memory() {
    use crate::classes::Classes;
    use crate::classes::CodedRaster;
    use crate::classes::tests::Numbers;
    use crate::entropy::Codes;
    use crate::measure::{Footprint, Measure};
    let (rows, cols) = (61, 83);
    let value = |r: usize, c: usize| (r / 2 * 7919 + c / 3 * 104_729) % 907;
    let cells = Grid::from_fn(rows, cols, |r, c| value(r, c) as u16).unwrap();
    let disk = Footprint::disk(5).unwrap();
    let square = Footprint::square(5).unwrap();
    let devices = || Engine::Devices(emulated(2));
    for &edge in Edge::ALL {
        for (footprint, measures) in
            [(&square, vec![Measure::Shannon]), (&disk, vec![Measure::Richness, Measure::Shannon, Measure::Hill(0.5)])]
        {
            let entropy = Entropy::new().footprint(footprint.clone()).measures(measures.clone()).edge(edge).nodata(13);
            let windows = reference::Windows { edge, nodata: Some(13u16), ..reference::Windows::of(footprint) };
            let expected = reference::measures(cells.view(), &windows, &measures);
            // Devices have a kernel for the first alone.
            let engines = if measures.len() > 1 { vec![Engine::Cpu] } else { vec![Engine::Cpu, devices()] };
            for engine in engines {
                let mut outs: Vec<Grid<f32>> = measures.iter().map(|_| Grid::zeros(rows, cols).unwrap()).collect();
                let views = outs.iter_mut().map(Grid::view_mut).collect();
                let report = entropy.measure_into(&engine, cells.view(), views, &()).unwrap();
                let by_kernel = matches!(engine, Engine::Devices(_)).then_some(Kernel::Columns);
                assert!(report.levels > 500 && report.kernel == by_kernel);
                assert!(report.cpu_cells == if by_kernel.is_some() { 0 } else { rows * cols });
                for (out, expected) in outs.iter().zip(&expected) {
                    for (&got, &expected) in out.as_slice().iter().zip(expected.as_slice()) {
                        let near = (f64::from(got) - expected).abs() <= 2e-6 * expected.max(1.0);
                        assert!(near || got.is_nan() && expected.is_nan(), "{edge}, {got}, {expected}");
                    }
                }
                if measures.len() > 1 {
                    continue;
                }
                // As a raster whose numbers are scattered; the codes are other ones, and no data has its own.
                let scattered = Grid::from_fn(rows, cols, |r, c| value(r, c) as f32 * 70.0).unwrap();
                let values = crate::raster::Values::F32(scattered.as_slice().to_vec());
                let nodata = crate::io::Nodata::Whole(13 * 70);
                let raster = || Numbers::new(rows, cols, values.clone()).nodata(nodata);
                let (classes, _) = Classes::survey(&raster(), crate::raster::Raster::nodata(&raster()), &()).unwrap();
                assert_eq!((classes.levels(), classes.width()), (report.levels, 2));
                let coded = CodedRaster::new(Box::new(raster()), classes, None).unwrap();
                let kept = Mutex::new(Grid::from_fn(rows, cols, |_, _| -1.0).unwrap());
                let finished = AtomicU64::new(0);
                let sink = Keep {
                    kept: &kept,
                    block: (16, 16),
                    whole_rows: false,
                    next: 0,
                    room: usize::MAX,
                    finished: &finished,
                };
                let streamed = entropy.stream(&engine, &coded, Box::new(sink), Some(14 << 20), &()).unwrap();
                assert_eq!((streamed.levels, streamed.kernel), (report.levels, by_kernel));
                let bits = |grid: &Grid<f32>| grid.as_slice().iter().map(|h| h.to_bits()).collect::<Vec<_>>();
                assert!(bits(&kept.lock().unwrap()) == bits(&outs[0]), "{edge}");
            }
        }
    }
    // What does not come from sums devices have no counters for, and say so.
    let engine = devices();
    let mut out = Grid::<f32>::zeros(rows, cols).unwrap();
    let codes = Codes { cells: cells.view(), levels: 907, nodata: None };
    let most = Entropy::new().measures([Measure::Hill(f64::INFINITY)]);
    let error = most.measure_codes_into(&engine, codes, vec![out.view_mut()], &()).unwrap_err();
    assert!(matches!(error, Error::NoKernel { .. }) && error.is_for_cpu(), "{error}");
    // Few classes are bytes again.
    let few = Grid::from_fn(rows, cols, |r, c| (value(r, c) % 9 * 5000) as u16).unwrap();
    let report = Entropy::new().compute_into(&engine, few.view(), out.view_mut(), &()).unwrap();
    assert!(report.levels == 9 && report.kernel.is_some());
    let bytes = Grid::from_fn(rows, cols, |r, c| (value(r, c) % 9 * 20) as u8).unwrap();
    let mut expected = Grid::<f32>::zeros(rows, cols).unwrap();
    Entropy::new().compute_into(&engine, bytes.view(), expected.view_mut(), &()).unwrap();
    assert_eq!(expected, out);
    // Codes of words, of which bytes have enough: for every kernel, as bytes are.
    let words = Grid::from_fn(rows, cols, |r, c| (value(r, c) % 9) as u16).unwrap();
    let bytes = Grid::from_fn(rows, cols, |r, c| (value(r, c) % 9) as u8).unwrap();
    for measure in [Measure::Shannon, Measure::Simpson] {
        let entropy = Entropy::new().measures([measure]);
        let codes = Codes { cells: words.view(), levels: 9, nodata: Some(8) };
        entropy.measure_codes_into(&engine, codes, vec![out.view_mut()], &()).unwrap();
        let codes = Codes { cells: bytes.view(), levels: 9, nodata: Some(8) };
        entropy.measure_codes_into(&engine, codes, vec![expected.view_mut()], &()).unwrap();
        let bits = |grid: &Grid<f32>| grid.as_slice().iter().map(|h| h.to_bits()).collect::<Vec<_>>();
        assert!(bits(&expected) == bits(&out), "{measure}");
    }
}
