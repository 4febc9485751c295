//! The plan with grids and rasters, on the CPU and on emulated devices, whole and in pieces.

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

mod codes;
mod failures;

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
